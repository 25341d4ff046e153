import assert from "node:assert/strict";
import { test } from "node:test";
import { Axis, tickStep, ticks } from "../src/axis";
import { Events } from "../src/events";
import { Scene } from "../src/scene";
import { save } from "../src/state";
import { arrowShows, arrowsFrom, arrowsTo } from "../src/walk";
import { type Made, wireOf } from "./build";

function scene(made: readonly Made[], flows: readonly (readonly [number, number])[] = [], saved = {}): Scene {
  const wire = wireOf(made, flows);
  return new Scene(new Events(wire), wire.header, saved);
}

const LOOP: Made[] = Array.from({ length: 12 }, (_, i) => ({
  name: i % 2 ? "mma" : "load",
  start: 100 * i,
  duration: 60,
  cta: i % 3,
  sm: 5 - (i % 3),
  thread: i % 2 ? 128 : 0,
  payload: i,
  end: i,
}));

test("SMs ascend, then CTAs, then threads", () => {
  const labels = scene(LOOP).rows.strips.map((strip) => strip.node.label);
  assert.deepEqual(labels.slice(0, 4), ["SM 3 · CTA 2", "t0", "t128", "SM 4 · CTA 1"]);
});

test("a thread with lanes of several names has a head of its own", () => {
  const labels = scene([
    { start: 0, lane: "tma" },
    { start: 0, lane: "main" },
  ]).rows.strips.map((strip) => [strip.kind, strip.node.label]);
  assert.deepEqual(labels, [
    ["head", "SM 0 · CTA 0 · t0"],
    ["lane", "main"],
    ["lane", "tma"],
  ]);
});

test("collapsing takes the lanes of a branch together, and opening brings them back", () => {
  const one = scene(LOOP);
  const before = one.rows.height;
  one.toggle("collapsed", one.rows.strips[0].node.key);
  assert.deepEqual(
    one.rows.strips.slice(0, 2).map((strip) => strip.kind),
    ["summary", "head"],
  );
  one.toggle("collapsed", one.rows.strips[0].node.key);
  assert.equal(one.rows.height, before);
});

test("a hidden lane is counted, and shown again", () => {
  const one = scene(LOOP);
  one.toggle("hidden", one.rows.strips[1].node.key);
  assert.deepEqual([one.rows.hiddenCount, one.rows.strips.length], [1, 8]);
  one.arrange({ hidden: new Set() });
  assert.equal(one.rows.strips.length, 9);
});

test("a pinned lane stands over the others as well", () => {
  const one = scene(LOOP);
  one.toggle("pinned", one.rows.strips[4].node.key);
  assert.deepEqual(
    one.rows.pinned.map((strip) => strip.node.label),
    ["t0"],
  );
  assert.equal(one.rows.strips.length, 9);
});

test("a lane moves among its siblings", () => {
  const one = scene(LOOP);
  one.move(one.rows.strips[0].node.key, 1);
  assert.deepEqual(
    one.rows.strips.filter((strip) => strip.depth === 0).map((strip) => strip.node.label),
    ["SM 4 · CTA 1", "SM 3 · CTA 2", "SM 5 · CTA 0"],
  );
});

test("100,000 lanes are laid out, and only those in view are touched", () => {
  const made = Array.from({ length: 100_000 }, (_, i) => ({
    start: 0,
    duration: 1,
    cta: i >> 2,
    sm: (i >> 2) % 132,
    thread: (i % 4) * 32,
  }));
  const one = scene(made);
  one.fold(false);
  assert.equal(one.rows.strips.filter((strip) => strip.kind === "lane").length, 100_000);
  const middle = one.rows.height / 2;
  const shown = one.rows.between(middle, middle + 600);
  assert.ok(shown.length > 20 && shown.length < 40);
  assert.ok(shown[0].top <= middle && shown[0].top + shown[0].height > middle);
});

/** A launch on all SMs of a card: two threads of a CTA on each. */
const GRID: Made[] = Array.from({ length: 132 }, (_, sm) =>
  [0, 128].map((thread) => ({ start: sm, duration: 500, cta: 2 * sm, sm, thread })),
).flat();

test("a large launch opens folded by SM, all of it at once", () => {
  const { rows, state } = scene(GRID);
  assert.deepEqual([rows.strips.length, new Set(rows.strips.map(({ kind }) => kind)).size], [132, 1]);
  assert.ok(rows.height <= 560 && rows.strips.every(({ height }) => height >= 4));
  assert.equal(state.lanes.collapsed.size, 132);
  assert.equal(scene(LOOP).state.lanes.collapsed.size, 0);
});

test("a launch with more events than a frame can look at does not open folded", () => {
  const made = Array.from({ length: 800 }, (_, n) =>
    GRID.slice(0, 132).map((each) => ({ ...each, start: 600 * n })),
  ).flat();
  assert.equal(scene(made).state.lanes.collapsed.size, 0);
});

test("a large launch opens as it was saved", () => {
  assert.equal(scene(GRID, [], { collapsed: [] }).rows.strips.length, 3 * 132);
});

test("an opened branch of a folded launch has its full height", () => {
  const one = scene(GRID);
  one.toggle("collapsed", one.rows.strips[17].node.key);
  assert.deepEqual(
    one.rows.strips.slice(17, 20).map(({ label, height }) => [label, height]),
    [
      ["SM 17 · CTA 34", 20],
      ["t0", 22],
      ["t128", 22],
    ],
  );
});

test("lanes without branches are folded, too, where there are many", () => {
  const one = scene(GRID.filter(({ thread }) => thread === 0));
  assert.ok(one.rows.height <= 560);
  one.toggle("collapsed", one.rows.strips[5].node.key);
  assert.equal(one.rows.strips[5].kind, "lane");
});

test("with ranks, their SMs are folded, not the ranks", () => {
  const one = scene([...GRID.map((each) => ({ ...each, rank: 0 })), ...GRID.map((each) => ({ ...each, rank: 1 }))]);
  assert.deepEqual(
    one.rows.strips.slice(0, 2).map(({ kind, label }) => [kind, label]),
    [
      ["head", "rank 0"],
      ["summary", "SM 0 · CTA 0"],
    ],
  );
});

test("the head of a branch that is cut off stays in sight, and leaves with the branch", () => {
  const { rows } = scene(GRID, [], { collapsed: [] }); // heads of 20 and two lanes of 22
  const labels = (scroll: number) => rows.stuck(scroll).map(({ label }) => label);
  assert.deepEqual(
    [0, 1, 30, 44, 45, 64, 65].map((y) => labels(y)[0] ?? ""),
    ["", "SM 0 · CTA 0", "SM 0 · CTA 0", "SM 0 · CTA 0", "", "", "SM 1 · CTA 2"],
  );
});

test("heads in heads stay in sight together", () => {
  const two = [0, 1].flatMap((rank) => GRID.map((each) => ({ ...each, rank })));
  const { rows } = scene(two, [], { collapsed: [] });
  assert.deepEqual(
    rows.stuck(30).map(({ label }) => label),
    ["rank 0", "SM 0 · CTA 0"],
  );
});

test("a pinned lane says where it is from", () => {
  const one = scene(LOOP);
  const lane = one.rows.strips.find(({ kind }) => kind === "lane")!;
  one.toggle("pinned", lane.node.key);
  assert.deepEqual(
    one.rows.pinned.map(({ label }) => label),
    ["SM 3 · CTA 2 · t0"],
  );
});

test("a query selects by words, numbers, ranges and text", () => {
  const one = scene(LOOP);
  const found = (query: string) => {
    one.set({ query });
    return one.matches ? [...one.matches].map((i) => Number(one.events.payload[i])) : null;
  };
  assert.deepEqual(found("mma payload>=7"), [7, 9, 11]);
  assert.deepEqual(found("payload=3..5"), [3, 4, 5]);
  assert.deepEqual(found("-mma cta=0"), [0, 6]);
  assert.deepEqual(found("start>900 dur=60"), [10, 11]);
  assert.deepEqual(found('"load" thread:0 sm=5'), [0, 6]);
  assert.deepEqual(found("nothing"), []);
  assert.equal(found("  "), null);
});

test("a wrong query is an error in words and matches nothing", () => {
  const one = scene(LOOP);
  one.set({ query: "payload>many" });
  assert.match(one.message, /payload is a number: write payload=3/);
  one.set({ query: "lane>3" });
  assert.match(one.message, /lane is text: write lane:3/);
});

test("an event without payload is on neither side of a number", () => {
  const one = scene([{ start: 0 }, { start: 10, payload: 0, end: 0 }]);
  for (const query of ["payload>-1", "payload<1", "payload=0"]) {
    one.set({ query });
    assert.equal(one.matches!.length, 1, query);
  }
});

test("a filter hides what does not match, from the selection too", () => {
  const one = scene(LOOP);
  one.set({ query: "mma", filter: true });
  one.brush({ span: one.axis.all, lanes: null }, true);
  assert.equal(one.selected!.length, 6);
});

test("a hidden name is not selected", () => {
  const one = scene(LOOP);
  one.set({ hiddenNames: ["mma"] });
  one.brush({ span: one.axis.all, lanes: null }, true);
  assert.ok([...one.selected!].every((i) => one.events.name(i) === "load"));
});

test("an area takes what touches its time and its lanes", () => {
  const one = scene(LOOP);
  const first = one.rows.strips[1]; // t0 of CTA 2: events 2 and 8
  one.brush({ span: { from: 250, to: 255 }, lanes: [first.top + 4, first.top + 8] }, true);
  assert.deepEqual(
    [...one.selected!].map((i) => one.events.id[i]),
    [2],
  );
});

test("next match goes round", () => {
  const one = scene(LOOP);
  one.set({ query: "mma" });
  const seen = Array.from({ length: 7 }, () => {
    one.nextMatch(1);
    return one.events.id[one.focused];
  });
  assert.deepEqual(seen, [1, 3, 5, 7, 9, 11, 1]);
});

test("an arrow leads to its event, and back", () => {
  const one = scene(LOOP, [[0, 3]]);
  one.focus(one.events.positionOf(0));
  one.jump(1);
  assert.equal(one.events.id[one.focused], 3);
  one.jump(-1);
  assert.equal(one.events.id[one.focused], 0);
  one.jump(-1);
  assert.match(one.message, /no arrow reaches this event/);
});

test("an arrow leads to no event that is hidden, and is pale between events that are dimmed", () => {
  const one = scene(LOOP, [
    [0, 3],
    [0, 2],
    [2, 4],
  ]);
  const shows = () => Array.from(one.events.flowSrc, (src, n) => arrowShows(one.events, src, one.events.flowDst[n]));
  const at = (id: number) => one.events.positionOf(id);
  assert.deepEqual(shows(), ["plain", "plain", "plain"]);
  one.select(Uint32Array.of(at(3)));
  assert.deepEqual(shows().sort(), ["pale", "pale", "plain"]);
  one.set({ hiddenNames: ["load"] });
  assert.deepEqual(shows(), ["not", "not", "not"]);
  one.set({ hiddenNames: ["mma"] });
  assert.deepEqual(arrowsFrom(one.events, at(0)), [at(2)]);
  one.set({ hiddenNames: [], query: "mma", filter: true });
  assert.deepEqual(arrowsTo(one.events, at(3)), []);
});

test("what is hidden is neither focused nor hovered", () => {
  const one = scene(LOOP);
  one.focus(one.events.positionOf(1));
  one.hover(one.events.positionOf(3));
  one.set({ hiddenNames: ["load"] });
  assert.ok(one.focused >= 0 && one.hovered >= 0);
  one.set({ hiddenNames: ["mma"] });
  assert.deepEqual([one.focused, one.hovered], [-1, -1]);
});

test("the lane below is reached past events that are hidden", () => {
  const hidden = Array.from({ length: 9 }, (_, n) => ({ name: "hide", start: 100 + 5 * n, duration: 3, cta: 1 }));
  const one = scene([{ start: 100, duration: 50 }, { start: 0, duration: 9, cta: 1 }, ...hidden]);
  one.set({ hiddenNames: ["hide"] });
  one.focus(one.events.positionOf(0));
  one.stepLane(1);
  assert.equal(one.events.id[one.focused], 1);
});

test("everything begins with time 0, unless the events are far from it", () => {
  const span = (made: Made[], origin: string) => {
    const wire = wireOf(made, [], origin);
    const { axis } = new Scene(new Events(wire), wire.header, {});
    return [axis.all.from + Number(axis.origin), axis.all.to + Number(axis.origin)];
  };
  const soon = span([{ start: 0, duration: 1000 }], "150");
  assert.ok(soon[0] < 0 && soon[1] > 1150);
  const late = span([{ start: 0, duration: 1000 }], "50000");
  assert.ok(late[0] > 49_900);
});

test("focusing an event opens the branch that hides it", () => {
  const one = scene(LOOP);
  one.fold(true);
  one.focus(one.events.positionOf(7));
  assert.ok(one.rows.showing(one.events.laneOf(one.focused))!.kind === "lane");
});

test("a view is saved and restored", () => {
  const one = scene(LOOP);
  one.look({ from: 100, to: 300 });
  one.set({ colorBy: "payload", query: "mma", filter: true, hiddenNames: ["load"], arrows: "none" });
  one.toggle("collapsed", one.rows.strips[0].node.key);
  one.toggle("pinned", one.rows.strips[3].node.key);
  one.move(one.rows.strips[0].node.key, 1);
  const saved = JSON.parse(JSON.stringify(save(one.state)));
  assert.deepEqual(save(scene(LOOP, [], saved).state), saved);
  const other = scene(LOOP);
  other.restore(saved);
  assert.deepEqual(save(other.state), saved);
});

test("a saved view that makes no sense is passed over", () => {
  const one = scene(LOOP, [], { color_by: "smell", unit: "hours" });
  assert.deepEqual([one.state.colorBy, one.state.unit], ["name", "cycles"]);
});

test("zooming keeps the time under the pointer", () => {
  const one = scene(LOOP);
  const at = () => one.span.from + 0.3 * (one.span.to - one.span.from);
  const before = at();
  for (let n = 0; n < 20; n++) one.zoom(0.8, 0.3);
  assert.ok(Math.abs(at() - before) < 1e-6);
});

test("zooming ends at some cycles, and at the whole trace", () => {
  const one = scene(LOOP);
  for (let n = 0; n < 200; n++) one.zoom(0.5);
  assert.ok(one.span.to - one.span.from >= 8);
  for (let n = 0; n < 200; n++) one.zoom(2);
  assert.ok(one.span.to - one.span.from < 3000);
});

test("ticks are round in absolute cycles, however large", () => {
  const wire = wireOf([{ start: 0, duration: 1000 }], [], String(2n ** 60n));
  const axis = new Axis(new Events(wire), "cycles");
  const step = tickStep(axis.whole, 5, true);
  const labels = ticks(axis.whole, step, axis.origin).map((time) => axis.label(time, step));
  assert.ok(labels.length >= 3);
  for (const label of labels) assert.equal(BigInt(label.replaceAll(",", "")) % BigInt(step), 0n);
});

test("the axis has room for another trace's times, given in absolute cycles", () => {
  const events = new Events(wireOf([{ start: 0, duration: 100 }], [], "50"));
  assert.deepEqual(new Axis(events, "cycles").whole, { from: 0, to: 100 });
  assert.deepEqual(new Axis(events, "cycles", null, { from: 20, to: 400 }).whole, { from: -50, to: 350 });
});

test("the rank is the outermost lane, and CTAs of the same number stay apart", () => {
  const one = scene([
    { start: 0, duration: 9, rank: 1, cta: 0 },
    { start: 0, duration: 9, rank: 0, cta: 0 },
    { start: 0, duration: 9, rank: 0, cta: 1 },
  ]);
  assert.deepEqual(
    one.rows.strips.map((strip) => [strip.kind, strip.node.label]),
    [
      ["head", "rank 0 · SM 0"],
      ["lane", "CTA 0 · t0"],
      ["lane", "CTA 1 · t0"],
      ["lane", "rank 1 · SM 0 · CTA 0 · t0"],
    ],
  );
});
