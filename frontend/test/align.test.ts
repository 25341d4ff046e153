// Another run, iteration by iteration at the times of this one.

import assert from "node:assert/strict";
import { test } from "node:test";
import { aligned } from "../src/align";
import { Events } from "../src/events";
import { Ghost } from "../src/ghost";
import { Scene } from "../src/scene";
import { eventsOf, type Made, randomEvents, wireOf } from "./build";

/** Iterations of so many cycles each: a wait, and behind it a product until the next. */
function loop(periods: readonly number[], begin = 0, cta = 0): Made[] {
  let at = begin;
  return periods.flatMap((period) => {
    const made = [
      { name: "wait", start: at, duration: 10, cta },
      { name: "mma", start: at + 10, duration: period - 10, cta },
    ];
    at += period;
    return made;
  });
}

function moved(before: readonly Made[], now: readonly Made[]): [string, number, number][] {
  const { events } = aligned(eventsOf(before), eventsOf(now))!;
  return Array.from({ length: events.count }, (_, i) => [events.name(i), events.start[i], events.duration[i]]);
}

test("each iteration begins where that iteration begins now, and keeps its own length", () => {
  assert.deepEqual(moved(loop([40, 40, 40], 5), loop([60, 80, 60], 20)), [
    ["wait", 20, 10],
    ["mma", 30, 30],
    ["wait", 80, 10],
    ["mma", 90, 30],
    ["wait", 160, 10],
    ["mma", 170, 30],
  ]);
});

test("what an iteration has more than now is cut off where the next begins; the last is whole", () => {
  assert.deepEqual(moved(loop([100, 100]), loop([30, 30])), [
    ["wait", 0, 10],
    ["mma", 10, 20],
    ["wait", 30, 10],
    ["mma", 40, 90],
  ]);
});

test("what is before the first iteration stays with the entry of the CTA", () => {
  const fill = { name: "fill", start: 0, duration: 8 };
  const found = moved([fill, ...loop([50, 50], 20)], [fill, ...loop([50, 50], 90)]);
  assert.deepEqual(found.slice(0, 2), [
    ["fill", 0, 8],
    ["wait", 90, 10],
  ]);
});

test("a range around iterations is around them still", () => {
  const around = (made: Made[], duration: number) => [{ name: "all", start: 0, duration }, ...made];
  const { events } = aligned(eventsOf(around(loop([40, 40]), 80)), eventsOf(around(loop([100, 100]), 200)))!;
  const all = Array.from({ length: events.count }, (_, i) => i).find((i) => events.name(i) === "all")!;
  assert.deepEqual([events.start[all], events.duration[all]], [0, 140]);
});

test("every CTA is aligned by itself, and says what an iteration takes here and there", () => {
  const before = [...loop([40, 40, 40]), ...loop([40, 40, 40], 7, 1)];
  const now = [...loop([60, 60, 60]), ...loop([60, 60, 60], 30, 1)];
  const found = aligned(eventsOf(before), eventsOf(now))!;
  const { events } = found;
  const begins = Array.from({ length: events.count }, (_, i) => i).filter((i) => events.name(i) === "wait");
  assert.deepEqual(
    begins.map((i) => events.start[i]),
    [0, 60, 120, 30, 90, 150],
  );
  assert.deepEqual([found.name, found.before, found.now], ["wait", 40, 60]);
});

test("without a name that is twice on a lane in both there is nothing to align by", () => {
  assert.equal(aligned(eventsOf(loop([40])), eventsOf(loop([40]))), null);
  assert.equal(aligned(eventsOf([{ name: "other", start: 0, duration: 5 }]), eventsOf(loop([40, 40]))), null);
});

test("rows stay in order and free of overlaps", () => {
  for (let seed = 0; seed < 30; seed++) {
    const found = aligned(eventsOf(randomEvents(seed, 60, 30, 2)), eventsOf(randomEvents(seed + 50, 60, 30, 2)));
    const { start, duration, rowStart, rowLane } = found!.events;
    for (let row = 0; row < rowLane.length; row++)
      for (let i = rowStart[row] + 1; i < rowStart[row + 1]; i++) {
        assert.ok(duration[i] >= 0);
        assert.ok(start[i] >= start[i - 1] + (found!.events.isCrowded(row) ? 0 : duration[i - 1]));
      }
  }
});

test("a view draws the run before as it is aligned, and the axis has room for that", () => {
  const before = wireOf(loop([400, 400]), [], "1000");
  const now = wireOf(loop([60, 60]), [], "1020");
  const scene = new Scene(new Events(now), now.header, {}, new Ghost(new Events(before), before.header, {}));
  assert.equal(scene.axis.whole.to, 800 - 20);
  scene.set({ align: "iteration" });
  assert.deepEqual([...scene.beside!.shown.start], [0, 10, 60, 70]);
  assert.equal(scene.axis.whole.to, 460);
  scene.set({ align: "cta" });
  assert.equal(scene.axis.whole.to, 780);
  scene.restore({ align: "iteration" });
  assert.equal(scene.axis.whole.to, 460);
});
