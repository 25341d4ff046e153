import assert from "node:assert/strict";
import { test } from "node:test";
import { Events } from "../src/events";
import { Scene } from "../src/scene";
import { type Made, wireOf } from "./build";

const TWO: Made[] = [
  { name: "split", start: 0, duration: 100, launch: 1 },
  { name: "split", start: 10, duration: 110, launch: 2, sm: 3 },
  { name: "sum", start: 20, duration: 40, launch: 3 },
];

/** Launches 1 and 2 are of one kernel, of which the later is shown at first; 3 of another. */
function scene(saved = {}): Scene {
  const wire = wireOf(TWO, [], "5");
  wire.header.launches = [1, 2, 3].map((launch) => ({
    launch,
    kernel: launch < 3 ? "split" : "sum",
    group: launch < 3 ? 0 : 1,
    why: String(launch),
    of: launch < 3 ? 100 : 1,
    begin_ns: null,
  }));
  return new Scene(new Events(wire), wire.header, saved);
}

const labels = (one: Scene) => one.rows.strips.map((strip) => strip.node.label);
const starts = (one: Scene) => one.events.lanes.map((lane) => one.axis.startOf(one.events.rowStart[lane.row]));

test("of the launches of one kernel the last is shown, and every other kernel's", () => {
  assert.deepEqual(labels(scene()), ["launch 2 · split · SM 3 · CTA 0 · t0", "launch 3 · sum · SM 0 · CTA 0 · t0"]);
});

test("launches stand one after the other, with a gap, and none over another", () => {
  const [, second, third] = starts(scene());
  const { sections } = scene().axis;
  assert.equal(second, 15 - sections[0].from + sections[0].zero);
  assert.ok(third > sections[0].to);
  assert.ok(sections[1].from - sections[0].to < 0.1 * (sections[1].to - sections[0].from));
});

test("each launch counts from its own start", () => {
  const one = scene();
  const [first, second] = one.axis.sections;
  assert.equal(one.axis.label(first.zero + 50, 10), "50");
  assert.equal(one.axis.label(second.zero + 50, 10), "50");
});

test("ticks stand at round times of each launch", () => {
  const one = scene();
  const texts = one.axis.ticks(one.axis.whole, 50).map((time) => one.axis.label(time, 50));
  assert.deepEqual(texts, ["0", "50", "100", "50"]);
});

test("another launch is chosen: its lanes and its time are there, and nothing else of it", () => {
  const one = scene();
  one.set({ hiddenLaunches: [2, 3] });
  assert.equal(one.axis.sections.length, 1);
  assert.deepEqual(labels(one), ["launch 1 · split · SM 0 · CTA 0 · t0"]);
  one.set({ query: "split" });
  assert.equal(one.matches?.length, 1);
});

test("launch= finds the events of one", () => {
  const one = scene({ hidden_launches: [] });
  one.set({ query: "launch=3" });
  assert.deepEqual(
    [...(one.matches ?? [])].map((i) => one.events.name(i)),
    ["sum"],
  );
});
