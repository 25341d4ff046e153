// The run before: where it is drawn, what room the axis makes for it, and how events come from there.

import assert from "node:assert/strict";
import { test } from "node:test";
import { Events } from "../src/events";
import { Ghost } from "../src/ghost";
import { Scene } from "../src/scene";
import type { themeOf } from "../src/theme";
import { Transition } from "../src/transition";
import { GAP, ROW, UNDER } from "../src/tree";
import { type Made, randomEvents, wireOf } from "./build";

const THEME: ReturnType<typeof themeOf> = {
  dark: false,
  ground: [255, 255, 255],
  band: "#eee",
  head: "#ddd",
  ink: "#000",
  soft: "#777",
  line: "#ccc",
  accent: "#00f",
  warn: "#f00",
};

function ghostOf(made: readonly Made[], origin = "0"): Ghost {
  const wire = wireOf(made, [], origin);
  return new Ghost(new Events(wire), wire.header, {});
}

function sceneOf(made: readonly Made[], ghost: Ghost | null, origin = "0"): Scene {
  const wire = wireOf(made, [], origin);
  return new Scene(new Events(wire), wire.header, {}, ghost);
}

function painted(scene: Scene, ghost: Ghost): boolean[] {
  const line = new Uint32Array(10);
  ghost.ink(THEME);
  ghost.paint(line, scene.events.lanes[0], scene.axis, 0, 0.1);
  return Array.from(line, (pixel) => pixel !== 0);
}

const BEFORE: Made[] = [{ start: 20, duration: 20, sm: 3 }];

test("the axis has room for both runs, and only as long as the ghost is shown", () => {
  const scene = sceneOf([{ start: 0, duration: 10 }], ghostOf([{ start: 0, duration: 100 }]));
  assert.equal(scene.axis.whole.to, 100);
  scene.set({ ghost: false });
  assert.equal(scene.axis.whole.to, 10);
  assert.deepEqual(scene.span, scene.axis.all);
  scene.set({ ghost: true });
  assert.equal(scene.axis.whole.to, 100);
});

test("a lane is higher by the ghost's strip", () => {
  const made = [{ start: 0, duration: 10 }];
  const scene = sceneOf(made, ghostOf(BEFORE));
  assert.equal(scene.rows.strips[0].height, ROW + GAP + UNDER);
  scene.set({ ghost: false });
  assert.equal(scene.rows.strips[0].height, ROW + GAP);
  assert.equal(sceneOf(made, null).rows.strips[0].height, ROW + GAP);
});

test("a lane's ghost is the lane of the same CTA, thread and name, on whichever SM it was", () => {
  const ghost = ghostOf(BEFORE);
  const scene = sceneOf([{ start: 0, duration: 10, sm: 1 }], ghost);
  assert.deepEqual(painted(scene, ghost), [0, 0, 1, 1, 0, 0, 0, 0, 0, 0].map(Boolean));
  assert.equal(ghost.laneOf(sceneOf([{ start: 0, cta: 7 }], null).events.lanes[0]), undefined);
});

test("times of runs that are counted from different origins are brought together", () => {
  const ghost = ghostOf([{ start: 0, duration: 20 }], "1030");
  const scene = sceneOf([{ start: 0, duration: 10 }], ghost, "1000");
  assert.deepEqual(painted(scene, ghost), [0, 0, 0, 1, 1, 0, 0, 0, 0, 0].map(Boolean));
  assert.deepEqual([scene.axis.whole.from, scene.axis.whole.to], [0, 50]);
});

test("a name that is hidden is hidden in the ghost, too", () => {
  const ghost = ghostOf([{ name: "a", start: 20, duration: 20 }]);
  const scene = sceneOf([{ name: "a", start: 0, duration: 10 }], ghost);
  scene.set({ hiddenNames: ["a"] });
  assert.ok(!painted(scene, ghost).includes(true));
});

test("there is no ghost in a unit that its run does not have", () => {
  assert.ok(ghostOf(BEFORE).has("cycles"));
  assert.ok(!ghostOf(BEFORE).has("ns"));
});

test("a view that is saved says whether the ghost is shown", () => {
  const scene = sceneOf([{ start: 0 }], ghostOf(BEFORE));
  scene.restore({ ghost: false });
  assert.equal(scene.beside, null);
});

test("it is painted where its iterations are put, in the colours that it had", () => {
  const loop = (period: number) => [0, 1, 2].map((k) => ({ start: k * period, duration: 10 }));
  const ghost = ghostOf(loop(20));
  const scene = sceneOf(loop(40), ghost);
  assert.deepEqual(painted(scene, ghost), [1, 0, 1, 0, 1, 0, 0, 0, 0, 0].map(Boolean));
  scene.set({ align: "iteration" });
  const line = new Uint32Array(10);
  ghost.paint(line, scene.events.lanes[0], scene.axis, 0, 0.1);
  assert.deepEqual(
    Array.from(line, (pixel) => pixel !== 0),
    [1, 0, 0, 0, 1, 0, 0, 0, 1, 0].map(Boolean),
  );
});

// The way from the one to the other

function transition(to: Scene, before: Scene, reduced = false): Transition | null {
  globalThis.matchMedia = (() => ({ matches: reduced })) as never;
  return Transition.of(to, before, THEME);
}

test("events begin where they were and end where they are", () => {
  const before: Made[] = [
    { start: 0, duration: 10 },
    { start: 20, duration: 10 },
  ];
  const after: Made[] = [
    { start: 100, duration: 4 },
    { start: 200, duration: 6 },
  ];
  const to = sceneOf(after, ghostOf(before));
  const moving = transition(to, sceneOf(before, null));
  assert.ok(moving);
  assert.deepEqual([...moving.scene.events.start], [0, 20]);
  assert.deepEqual([...moving.scene.events.duration], [10, 10]);
  assert.ok(moving.step(performance.now() + 100));
  for (const [i, [from, end]] of [
    [0, 100],
    [20, 200],
  ].entries()) {
    assert.ok(moving.scene.events.start[i] > from && moving.scene.events.start[i] < end);
  }
  assert.ok(!moving.step(performance.now() + 10_000));
  assert.deepEqual([...to.events.start], [100, 200]);
});

test("on the way a row stays in order and free of overlaps", () => {
  for (let seed = 0; seed < 20; seed++) {
    const before = randomEvents(seed, 40, 30, 2);
    const to = sceneOf(randomEvents(seed + 100, 60, 30, 2), ghostOf(before));
    const moving = transition(to, sceneOf(before, null));
    assert.ok(moving);
    for (const ms of [0, 60, 150, 300]) {
      moving.step(performance.now() + ms);
      const { start, duration, rowStart, rowLane } = moving.scene.events;
      for (let row = 0; row < rowLane.length; row++)
        for (let i = rowStart[row] + 1; i < rowStart[row + 1]; i++) {
          assert.ok(start[i] >= start[i - 1]);
          assert.ok(start[i] >= start[i - 1] + duration[i - 1] - 1e-6);
        }
    }
  }
});

test("nothing moves for who wants no motion, from no events, or from another unit", () => {
  const before = sceneOf(BEFORE, null);
  assert.equal(transition(sceneOf(BEFORE, ghostOf(BEFORE)), before, true), null);
  assert.equal(transition(sceneOf(BEFORE, null), before), null);
  assert.equal(transition(sceneOf([], ghostOf(BEFORE)), before), null);
});
