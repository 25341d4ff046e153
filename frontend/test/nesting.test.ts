import assert from "node:assert/strict";
import { test } from "node:test";
import cases from "../../tests/widget/nesting.json";
import { Axis } from "../src/axis";
import { type Nesting, nest, type Path, widthOf } from "../src/nesting";
import { eventsOf, type Made, randomEvents } from "./build";

/** By the text of a path: count, total and self. */
function told(made: readonly Made[], wanted: (i: number) => boolean = () => true): Record<string, number[]> {
  const events = eventsOf(made);
  const found: Record<string, number[]> = {};
  const add = (paths: Iterable<Path>, before: string) => {
    for (const path of paths) {
      const text = before + events.names[path.name];
      found[text] = [path.count, path.total, path.self];
      add(path.inside.values(), `${text} / `);
    }
  };
  add(nest(events, new Axis(events, "cycles"), wanted).roots, "");
  return found;
}

for (const [name, { ranges, paths }] of Object.entries(cases))
  test(`${name}, in Python, too`, () => {
    const made = ranges.map(([name, start, duration]) => ({ name, start, duration }) as Made);
    assert.deepEqual(told(made), paths);
  });

test("all CTAs, threads and lanes count together", () => {
  const places = [{}, { cta: 1 }, { thread: 32 }, { lane: "side" }];
  const made = places.flatMap((place) => [
    { name: "loop", start: 0, duration: 10, ...place },
    { name: "mma", start: 2, duration: 6, ...place },
  ]);
  assert.deepEqual(told(made), { loop: [4, 40, 16], "loop / mma": [4, 24, 24] });
});

test("what is not wanted encloses nothing", () => {
  const made = [
    { name: "loop", start: 0, duration: 10 },
    { name: "mma", start: 2, duration: 6 },
  ];
  assert.deepEqual(
    told(made, (i) => i === 1),
    { mma: [1, 6, 6] },
  );
});

test("instants are in no path", () => {
  const events = eventsOf([
    { name: "loop", start: 0, duration: 10 },
    { name: "here", start: 3, instant: true },
  ]);
  const nesting: Nesting = nest(events, new Axis(events, "cycles"), () => true);
  assert.deepEqual(
    [0, 1].map((i) => nesting.of(i)?.name ?? null),
    [events.names.indexOf("loop"), null],
  );
});

test("own times add up to the whole where nothing crosses", () => {
  const events = eventsOf(
    randomEvents(3, 200, 6).map((made, n) => ({ ...made, start: 10 * n, duration: (made.duration ?? 0) % 10 })),
  );
  const { roots } = nest(events, new Axis(events, "cycles"), () => true);
  const whole = Array.from({ length: events.count }, (_, i) => events.duration[i]).reduce((a, b) => a + b, 0);
  assert.equal(
    roots.reduce((sum, path) => sum + widthOf(path), 0),
    whole,
  );
});
