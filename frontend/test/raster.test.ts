import assert from "node:assert/strict";
import { test } from "node:test";
import type { Events } from "../src/events";
import { hit, neighbour } from "../src/hit";
import { build, Levels } from "../src/levels";
import { type Inks, Raster, SHADES } from "../src/raster";
import { crowd, eventsOf, randomEvents } from "./build";

// Pixels that say what they are: the code, and how full.
const INKS: Inks = {
  body: Uint32Array.from({ length: 256 }, (_, code) => 1000 + code),
  edge: Uint32Array.from({ length: 256 }, (_, code) => 1000 + code),
  shade: Uint32Array.from({ length: 256 * SHADES }, (_, n) => 1000 + Math.floor(n / SHADES)),
};
const SILENT = { least: 1e9, bar: () => {}, point: () => {} };

function prepared(seed: number, count: number, longest: number): Events {
  return coded(eventsOf(randomEvents(seed, count, longest)));
}

function coded(events: Events): Events {
  for (let i = 0; i < events.count; i++) events.code[i] = events.nameCode(i);
  return events;
}

function line(
  events: Events,
  row: number,
  cycle: number,
  scale: number,
  width: number,
): { pixels: number[]; looked: number } {
  const pixels = new Uint32Array(width);
  const looked = new Raster(events, new Levels(events)).paint(pixels, row, { cycle, scale, width }, INKS, SILENT);
  return { pixels: [...pixels].map((pixel) => (pixel ? pixel - 1000 : -1)), looked };
}

const rowsOf = (events: Events) => Array.from({ length: events.rowLane.length }, (_, row) => row);

test("no event is invisible, and no pixel is painted where none is, at any zoom", () => {
  for (let seed = 0; seed < 60; seed++) {
    const events = seed % 3 ? prepared(seed, 200, seed % 2 ? 4 : 60) : coded(crowd(seed));
    const width = 100;
    for (const scale of [width / (events.cycles + 1), 0.3, 1, 7.3]) {
      const cycle = scale < 0.2 ? 0 : (seed * 31) % 500;
      for (const row of rowsOf(events)) {
        const { pixels } = line(events, row, cycle, scale, width);
        const near = new Uint8Array(width + 4);
        for (let i = events.rowStart[row]; i < events.rowStart[row + 1]; i++) {
          const from = (events.start[i] - cycle) * scale;
          const to = (events.end(i) - cycle) * scale;
          for (let x = Math.max(Math.floor(from) - 1, 0); x <= Math.min(Math.ceil(to) + 1, width); x++) near[x] = 1;
          const first = Math.floor(from);
          if (to <= 0 || first < 1 || first >= width - 1) continue;
          assert.ok(
            [first - 1, first, first + 1].some((x) => pixels[x] >= 0),
            `seed ${seed}: event ${i} has no pixel`,
          );
        }
        pixels.forEach((code, x) => {
          if (code >= 0) assert.ok(near[x], `seed ${seed}: pixel ${x} is painted without an event`);
        });
      }
    }
  }
});

test("an event that covers a pixel alone gives it its colour", () => {
  for (let seed = 0; seed < 40; seed++) {
    const events = prepared(seed, 150, 80);
    const [scale, width] = [2.7, 200];
    for (const row of rowsOf(events)) {
      const { pixels } = line(events, row, 40, scale, width);
      for (let i = events.rowStart[row]; i < events.rowStart[row + 1]; i++) {
        const from = Math.ceil((events.start[i] - 40) * scale) + 1;
        const to = Math.floor((events.end(i) - 40) * scale) - 1;
        for (let x = Math.max(from, 0); x < Math.min(to, width); x++) assert.equal(pixels[x], events.code[i]);
      }
    }
  }
});

test("a dense row takes in each bin the colour that has most time", () => {
  const events = prepared(11, 3000, 4);
  for (const row of rowsOf(events).slice(0, 3)) {
    const level = build(events, row, 64);
    const time = new Map<number, Map<number, number>>();
    for (let i = events.rowStart[row]; i < events.rowStart[row + 1]; i++) {
      if (events.duration[i] >= 64) continue;
      const bin = Math.floor(events.start[i] / 64);
      const own = time.get(bin) ?? new Map<number, number>();
      time.set(bin, own.set(events.code[i], (own.get(events.code[i]) ?? 0) + Math.max(events.duration[i], 1)));
    }
    assert.equal(level.at.length, time.size);
    level.at.forEach((at, n) => {
      const own = time.get(Math.floor(at / 64))!;
      assert.equal(own.get(level.code[n]), Math.max(...own.values()));
      assert.equal(
        level.busy[n],
        [...own.values()].reduce((a, b) => a + b),
      );
    });
  }
});

test("a frame looks at few events, however many there are", () => {
  for (const count of [1000, 10_000, 100_000]) {
    const events = eventsOf(Array.from({ length: count }, (_, i) => ({ start: 20 * i, duration: 5 + (i % 14) })));
    const { looked } = line(events, 0, 0, 300 / events.cycles, 300);
    assert.ok(looked <= 4 * 300 + 2, `${count} events: ${looked}`);
  }
});

test("what ended before the view begins is not at its edge", () => {
  const events = eventsOf([
    { start: 97, instant: true },
    { start: 110, duration: 4 },
  ]);
  for (let i = 0; i < events.count; i++) events.code[i] = 0;
  assert.deepEqual(new Set(line(events, 0, 97.6, 10, 100).pixels), new Set([-1]));
  assert.deepEqual(new Set(line(events, 0, 114.2, 10, 100).pixels), new Set([-1]));
  assert.equal(line(events, 0, 97, 10, 100).pixels[0], 0);
  assert.equal(line(events, 0, 113.9, 10, 100).pixels[0], 0);
});

test("a filtered event is not painted and not hit", () => {
  const events = prepared(1, 1, 1);
  events.code[0] = 255;
  assert.deepEqual(new Set(line(events, 0, events.start[0] - 5, 1, 20).pixels), new Set([-1]));
  assert.equal(hit(events, 0, events.start[0], 10), -1);
});

test("the pointer finds the event that it is on, else the nearest within reach", () => {
  const events = eventsOf([
    { start: 10, duration: 10 },
    { start: 40, duration: 10 },
  ]);
  const at = (cycle: number) => hit(events, 0, cycle, 3);
  assert.deepEqual([5, 8, 10, 19, 22, 25, 38, 45, 54].map(at), [-1, 0, 0, 0, 0, -1, 1, 1, -1]);
});

test("the pointer finds every event by its middle", () => {
  for (let seed = 0; seed < 30; seed++) {
    const events = prepared(seed, 200, 50);
    for (let i = 0; i < events.count; i++) {
      const row = events.rowOf(i);
      if (events.duration[i] > 1) assert.equal(hit(events, row, events.start[i] + events.duration[i] / 2, 0.1), i);
    }
  }
});

test("the pointer finds what spans it in a shared row, however many began since and have ended", () => {
  const past = Array.from({ length: 300 }, (_, n) => ({ start: 10 + n, duration: 60 }));
  const events = eventsOf([...Array.from({ length: 60 }, () => ({ start: 0, duration: 5000 })), ...past]);
  assert.equal(events.end(hit(events, events.rowLane.length - 1, 4000, 0.1)), 5000);
});

test("next and previous walk all events of a lane by start, and back", () => {
  const events = prepared(8, 80, 300);
  const starts = (i: number, step: 1 | -1) => {
    const seen = [i];
    for (;;) {
      const next = neighbour(events, i, step);
      if (next === i) return seen;
      i = next;
      seen.push(i);
    }
  };
  const order = Array.from({ length: events.count }, (_, i) => i).sort(
    (a, b) => events.start[a] - events.start[b] || a - b,
  );
  assert.deepEqual(starts(order[0], 1), order);
  assert.deepEqual(starts(order[order.length - 1], -1), [...order].reverse());
});
