import assert from "node:assert/strict";
import { test } from "node:test";
import { Axis } from "../src/axis";
import { ink, luminance, parse, sequential } from "../src/color";
import { clean, duration, payloadText, payloadValue, percent } from "../src/format";
import { fromRuns, toRuns } from "../src/ids";
import { fitted, type Ruler } from "../src/label";
import { quantile, statistics } from "../src/stats";
import { eventsOf } from "./build";

test("payloads are exact, a float in the digits of 32 bits", () => {
  const cases: [number, boolean, string][] = [
    [3, false, "3"],
    [-2147483648, false, "-2147483648"],
    [2147483647, true, "2147483647"],
    [Math.fround(0.1), true, "0.1"],
    [0.1, true, "0.1"],
    [Number.NaN, true, "nan"],
    [Number.POSITIVE_INFINITY, true, "inf"],
    [Number.NEGATIVE_INFINITY, true, "-inf"],
    [2.5, true, "2.5"],
    [Math.fround(1e-7), true, "1e-07"],
    [8589934592, true, "8589935000.0"],
    [Math.fround(1e20), true, "1e+20"],
    [-0, true, "0"],
    [Math.fround(3.4028234663852886e38), true, "3.4028235e+38"],
    [Math.fround(1.17549435e-38), true, "1.1754944e-38"],
  ];
  for (const [value, float, text] of cases) assert.equal(payloadValue(value, float), text);
  assert.equal(payloadValue(undefined, true), "");
  assert.equal(payloadValue(9007199254740993n, false), "9007199254740993");
});

test("the end of a payload is said where it differs", () => {
  assert.deepEqual(
    [payloadText("1", "1"), payloadText("1", "2"), payloadText("", "2"), payloadText("", "")],
    ["1", "1 → 2", "2", ""],
  );
});

test("names are one line, without controls, and not endless", () => {
  assert.equal(clean("a\n\tb\u0000\u202ec"), "a b\ufffd\ufffdc");
  assert.equal(clean("x".repeat(10_000), 40).length, 40);
  assert.equal(clean(""), "(unnamed)");
  assert.equal(clean("<b>مرحبا</b>🚀"), "<b>مرحبا</b>🚀");
});

test("lengths are in the unit that suits them", () => {
  assert.deepEqual(
    [
      duration(1, "cycles"),
      duration(1234.4, "cycles"),
      duration(12.34, "ns"),
      duration(12345, "ns"),
      duration(2.5e6, "ns"),
    ],
    ["1 cycle", "1,234 cycles", "12.3 ns", "12.35 µs", "2.500 ms"],
  );
  assert.equal(percent(0.5), "50.0 %");
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
