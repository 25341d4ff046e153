import assert from "node:assert/strict";
import { test } from "node:test";
import vectors from "../../tests/widget/texts.json";
import { Axis } from "../src/axis";
import { ink, luminance, parse, sequential } from "../src/color";
import { clean, count, duration, moment, number, payloadText, payloadValue, percent, short } from "../src/format";
import { fromRuns, toRuns } from "../src/ids";
import { fitted, type Ruler } from "../src/label";
import { quantile, statistics } from "../src/stats";
import { eventsOf } from "./build";

/** JSON has no words for these. */
const real = (value: number | string) => Number(value);

test("numbers, times, payloads and names are written as Python writes them", () => {
  for (const [value, digits, text] of vectors.number) assert.equal(number(real(value), Number(digits)), text);
  for (const [value, noun, text] of vectors.count) assert.equal(count(Number(value), String(noun)), text);
  for (const [share, text] of vectors.percent) assert.equal(percent(real(share)), text);
  for (const [ns, text] of vectors.duration) assert.equal(duration(real(ns), "ns"), text);
  for (const [ns, text] of vectors.moment) assert.equal(moment(real(ns)), text);
  for (const [value, float, text] of vectors.payload)
    assert.equal(payloadValue(float ? real(value as number) : BigInt(value), Boolean(float)), text);
  for (const [begin, end, text] of vectors.change) assert.equal(payloadText(begin, end), text);
  for (const [name, chars, text] of vectors.clean) assert.equal(clean(String(name), Number(chars)), text);
});

test("there is no text where there is no payload", () => {
  assert.equal(payloadValue(undefined, true), "");
});

test("a name is not endless", () => {
  assert.equal(clean("x".repeat(10_000), 40).length, 40);
});

test("cycles that were measured on the screen are written in full where they are many", () => {
  const texts = [1, 2.5, 2, 1234.4].map((value) => duration(value, "cycles"));
  assert.deepEqual(texts, ["1 cycle", "2.5 cycles", "2 cycles", "1,234 cycles"]);
});

test("numbers of a scale have no more digits than they need", () => {
  assert.deepEqual(
    [0, 100, 2.5, 1 / 3, 1e30].map((value) => short(value, 3)),
    ["0", "100", "2.5", "0.333", "1e+30"],
  );
});

test("text is black on light colours and white on dark ones", () => {
  assert.deepEqual(
    [ink(parse("#f0e442")), ink(parse("#0072b2")), ink(parse("#fff"))],
    ["#111111", "#ffffff", "#111111"],
  );
});

test("a scale only grows lighter, so that it is read without colour", () => {
  const light = sequential(32).map(luminance);
  assert.deepEqual(
    light,
    [...light].sort((a, b) => a - b),
  );
});

/** A ruler of letters one wide. */
const RULER = {
  width: (text: string) => text.length,
  elide: (text: string, room: number) =>
    text.length <= room ? text : room < 2 ? "" : `${text.slice(0, Math.floor(room) - 1)}…`,
} as unknown as Ruler;

test("the payload stays on the bar when the name no longer fits", () => {
  const text = (room: number) => {
    const words = fitted("softmax", "12", room, 1, RULER);
    return words && [words.name, words.payload].filter(Boolean).join("|");
  };
  assert.deepEqual([12, 8, 6, 4, 2, 1].map(text), ["softmax|12", "soft…|12", "so…|12", "12", "12", null]);
});

test("the table of a selection is that of pandas", () => {
  const events = eventsOf([
    { name: "a", start: 0, duration: 10 },
    { name: "a", start: 20, duration: 20 },
    { name: "a", start: 50, duration: 60 },
    { name: "b", start: 200, duration: 10 },
    { name: "c", start: 300, instant: true },
  ]);
  const [a, b, c] = statistics(events, new Axis(events, "cycles"), [0, 1, 2, 3, 4]);
  assert.deepEqual(
    { ...a, share: undefined },
    { name: 0, count: 3, total: 90, mean: 30, p50: 20, p99: 20 + 40 * 0.98, share: undefined },
  );
  assert.deepEqual([a.share, b.share], [0.9, 0.1]);
  assert.deepEqual(c, { name: 2, count: 1 });
  assert.equal(quantile(Float64Array.of(5), 0.99), 5);
});

test("runs of ids come back", () => {
  const ids = Uint32Array.of(9, 3, 4, 5, 100, 8);
  const runs = toRuns(ids);
  assert.deepEqual([...runs], [3, 3, 8, 2, 100, 1]);
  assert.deepEqual([...fromRuns(new Uint8Array(runs.buffer))], [3, 4, 5, 8, 9, 100]);
  assert.deepEqual([...fromRuns(new Uint8Array(0))], []);
});
