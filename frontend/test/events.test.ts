import assert from "node:assert/strict";
import { test } from "node:test";
import vectors from "../../tests/widget/rows.json";
import { Axis } from "../src/axis";
import { eventsBetween } from "../src/events";
import { MOST_ROWS } from "../src/stack";
import { bytesOf, Wire } from "../src/wire";
import { crowd, dice, eventsOf, randomEvents, wireOf } from "./build";

function rows(made: Parameters<typeof eventsOf>[0]): number[] {
  const events = eventsOf(made);
  const byId: number[] = [];
  for (let i = 0; i < events.count; i++) byId[events.id[i]] = events.rowOf(i) - events.laneOf(i).row;
  return byId;
}

for (const [name, made] of Object.entries(vectors))
  test(`${name}, in Python, too`, () => {
    const events = made.map(([start, duration]) => ({ start, duration, instant: !duration }));
    assert.deepEqual(
      rows(events),
      made.map(([, , row]) => row),
    );
  });

test("no event of a row covers another, but in the last row of a crowded lane", () => {
  for (let seed = 0; seed < 40; seed++) {
    const events = eventsOf(randomEvents(seed, 120, 200, 2));
    for (let row = 0; row < events.rowLane.length; row++) {
      if (events.isCrowded(row)) continue;
      for (let i = events.rowStart[row] + 1; i < events.rowStart[row + 1]; i++)
        assert.ok(events.start[i] >= events.start[i - 1] + Math.max(events.duration[i - 1], 1));
    }
  }
});

test("a crowd at one time fills the last row, and every event is there", () => {
  const events = eventsOf(Array.from({ length: 500 }, () => ({ start: 7, duration: 3 })));
  assert.equal(events.rowLane.length, MOST_ROWS);
  assert.deepEqual(
    [...events.id].sort((a, b) => a - b),
    Array.from({ length: 500 }, (_, i) => i),
  );
});

test("what a part of a row touches is found in every row, also where its events overlap", () => {
  for (let seed = 0; seed < 20; seed++) {
    const events = crowd(seed);
    const roll = dice(seed + 100);
    assert.ok(events.isCrowded(events.rowLane.length - 1));
    for (let row = 0; row < events.rowLane.length; row++) {
      const all = Array.from(
        { length: events.rowStart[row + 1] - events.rowStart[row] },
        (_, n) => events.rowStart[row] + n,
      );
      for (let n = 0; n < 20; n++) {
        const from = roll(3500);
        const to = from + roll(60);
        const wanted = all.filter((i) => events.start[i] < to && events.end(i) >= from);
        assert.deepEqual([...eventsBetween(events, row, from, to)], wanted);
      }
      assert.equal(events.lastEnd(row), Math.max(...all.map((i) => events.end(i))));
    }
  }
});

test("the axis reaches to the end of an event that many later ones hide in a shared row", () => {
  const late = Array.from({ length: 2000 }, (_, n) => ({ start: 100 + n, duration: 60 }));
  const events = eventsOf([...Array.from({ length: 60 }, () => ({ start: 0, duration: 50_000 })), ...late]);
  assert.ok(new Axis(events, "ns").whole.to >= 50_000);
});

test("every event keeps what it is through the reordering by rows", () => {
  const made = randomEvents(3, 300, 300, 3);
  const events = eventsOf(made);
  for (let i = 0; i < events.count; i++) {
    const own = made[events.id[i]];
    assert.deepEqual(
      [events.name(i), events.start[i], events.duration[i], events.laneOf(i).thread],
      [own.name, own.start, own.duration, own.thread],
    );
    assert.equal(events.positionOf(events.id[i]), i);
  }
});

test("arrows keep their ends through the reordering, sorted by where they leave", () => {
  const made = randomEvents(5, 100, 200, 2);
  const flows = Array.from({ length: 40 }, (_, i) => [(i * 37) % 100, (i * 53) % 100] as const);
  const events = eventsOf(made, flows);
  const seen = Array.from(events.flowSrc, (src, n) => `${events.id[src]}>${events.id[events.flowDst[n]]}`);
  assert.deepEqual(seen.sort(), flows.map(([src, dst]) => `${src}>${dst}`).sort());
  assert.deepEqual(
    [...events.flowSrc],
    [...events.flowSrc].sort((a, b) => a - b),
  );
});

test("memory stays below 64 bytes an event", () => {
  const made = Array.from({ length: 20000 }, (_, i) => ({ start: 10 * i, duration: 5, payload: i, end: i + 1 }));
  const events = eventsOf(made);
  events.positionOf(3);
  assert.ok(events.bytes / events.count < 64, `${events.bytes / events.count}`);
});

test("a view into the middle of a buffer is read from there", () => {
  const bytes = Uint8Array.from([9, 9, 1, 2, 3, 9]);
  assert.deepEqual([...bytesOf(new DataView(bytes.buffer, 2, 3))], [1, 2, 3]);
  assert.deepEqual([...bytesOf(bytes.buffer)], [...bytes]);
});

test("data of another format, or cut short, is an error in words", () => {
  const { header } = wireOf([{ start: 0 }]);
  assert.throws(() => new Wire({ ...header, version: 99 }, new Uint8Array(0)), /format 99.*run the cell again/);
  assert.throws(() => new Wire(header, new Uint8Array(3)), /ends in the middle of column gap/);
});

test("no events make no lanes", () => {
  const events = eventsOf([]);
  assert.deepEqual([events.count, events.lanes.length, events.cycles], [0, 0, 0]);
});

test("wide whole numbers are exact", () => {
  const { header } = wireOf([{ start: 0, payload: 1, end: 1 }]);
  const least = -(2n ** 63n);
  const columns = header.columns.map((spec) =>
    spec.name === "payload" ? { ...spec, width: 8, least: String(least) } : { ...spec, width: 0 },
  );
  const wire = new Wire({ ...header, columns }, Uint8Array.from([255, 0, 0, 0, 0, 0, 0, 128]));
  assert.equal(wire.columns.get("payload")![0], 255n);
});
