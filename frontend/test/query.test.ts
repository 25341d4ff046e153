import assert from "node:assert/strict";
import { test } from "node:test";
import { HELP, parseQuery } from "../src/query";
import { eventsOf } from "./build";

const NAMES = ["load tile", "load", "mma k=1", "store"];
const events = eventsOf(NAMES.map((name, n) => ({ name, start: 100 * n, duration: 10 * n, payload: n })));

function found(query: string): string[] {
  const fits = parseQuery(query, events);
  assert.ok(fits, `${query} asks for nothing`);
  return NAMES.filter((_, n) => fits(events.positionOf(n)));
}

test("words are parts of names, together where they are quoted, and none with a minus", () => {
  assert.deepEqual(found("load"), ["load tile", "load"]);
  assert.deepEqual(found("tile load"), ["load tile"]);
  assert.deepEqual(found('"load tile"'), ["load tile"]);
  assert.deepEqual(found("-load"), ["mma k=1", "store"]);
});

test("conditions are numbers and texts", () => {
  assert.deepEqual(found("dur > 10"), ["mma k=1", "store"]);
  assert.deepEqual(found("payload=1..2"), ["load", "mma k=1"]);
  assert.deepEqual(found("lane:main -payload>=1"), ["load tile"]);
});

test("a condition without a value says what it takes", () => {
  for (const query of ["dur>", "dur >", "duration>=", "-dur<", "p="])
    assert.throws(() => parseQuery(query, events), /=3/);
  assert.throws(() => parseQuery("lane:", events), /lane: of what\? lane:word/);
});

test("a condition on what there is not is an error that says what there is", () => {
  for (const query of ["foo:3", "-foo:3", "foo>", "mma foo = 3"])
    assert.throws(() => parseQuery(query, events), /there is no foo to search by: payload, duration, .*source, kind/);
});

test("a name that reads like a condition is a name", () => {
  assert.deepEqual(found("k=1"), ["mma k=1"]);
  assert.deepEqual(found('"foo:3"'), []);
});

test("a quote that is not closed yet reaches to the end, and a lone one asks for nothing", () => {
  assert.deepEqual(found('"load ti'), ["load tile"]);
  assert.equal(parseQuery('"', events), null);
});

test("all that the help says can be typed", () => {
  for (const [typed] of HELP)
    for (const one of typed.split(/ (?=\w+[>:<=])/))
      parseQuery(/[a-z]$/.test(one) ? one : `${one}1`.replace(/"1$/, '"'), events);
});
