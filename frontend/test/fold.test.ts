import assert from "node:assert/strict";
import { test } from "node:test";
import { fold, usualAnchor } from "../src/fold";
import { eventsOf, type Made } from "./build";

/** Four iterations of 100 cycles on two CTAs, the later one 10 cycles slower to multiply; in one a load is missing. */
const LOOP: Made[] = [0, 1].flatMap((cta) =>
  [0, 1, 2, 3].flatMap((k) => [
    ...(cta && k === 2 ? [] : [{ name: "load", cta, thread: 0, start: 100 * k + 20, duration: 30 }]),
    { name: "wait", cta, thread: 128, start: 100 * k, duration: 40 },
    { name: "mma", cta, thread: 128, start: 100 * k + 40, duration: 50 + 10 * cta },
  ]),
);

test("iterations of all CTAs are laid over each other", () => {
  const events = eventsOf(LOOP);
  const folded = fold(events, events.names.indexOf("wait"))!;
  assert.equal(folded.iterations, 6);
  assert.equal(folded.period[1], 100);
  const bars = folded.rows.flatMap(({ label, bars }) =>
    bars.map((bar) => [label, events.names[bar.name], bar] as const),
  );
  assert.deepEqual(
    bars.map(([label, name, { start, end }]) => [label, name, start[1], end[1]]),
    [
      ["t0 main", "load", 20, 50],
      ["t128 main", "wait", 0, 40],
      ["t128 main", "mma", 40, 95],
    ],
  );
});

test("the spread is over all of them, and what some lack is a share", () => {
  const events = eventsOf(LOOP);
  const folded = fold(events, events.names.indexOf("wait"))!;
  const of = (name: string) => folded.rows.flatMap(({ bars }) => bars).find((bar) => events.names[bar.name] === name)!;
  assert.deepEqual(of("mma").end, [90, 95, 100]);
  assert.equal(of("load").share, 5 / 6);
});

test("several of one name in an iteration are told apart", () => {
  const twice = LOOP.flatMap((made) => (made.name === "load" ? [made, { ...made, start: made.start + 35 }] : [made]));
  const events = eventsOf(twice);
  const folded = fold(events, events.names.indexOf("wait"))!;
  const loads = folded.rows.flatMap(({ bars }) => bars).filter((bar) => events.names[bar.name] === "load");
  assert.deepEqual(
    loads.map(({ start }) => start[1]),
    [20, 55],
  );
});

test("without a name that is there twice on a lane there is no iteration", () => {
  const events = eventsOf([{ name: "a", start: 0, duration: 5 }]);
  assert.equal(fold(events, 0), null);
});

test("an iteration begins with what the busiest lane has most of", () => {
  const events = eventsOf([...LOOP, { name: "mma", cta: 0, thread: 128, start: 500, duration: 3 }]);
  assert.equal(events.names[usualAnchor(events)], "mma");
});
