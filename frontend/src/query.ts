// What is typed into the search box: words of the name, and conditions such as payload>=3, dur=100..200, lane:main.

import type { Events } from "./events";

export type Predicate = (i: number) => boolean;

type Field =
  | "payload"
  | "duration"
  | "start"
  | "end"
  | "cta"
  | "sm"
  | "launch"
  | "thread"
  | "lane"
  | "group"
  | "role"
  | "source"
  | "kind";

const FIELDS: Readonly<Record<string, Field>> = {
  payload: "payload",
  p: "payload",
  duration: "duration",
  dur: "duration",
  start: "start",
  end: "end",
  cta: "cta",
  sm: "sm",
  launch: "launch",
  thread: "thread",
  t: "thread",
  lane: "lane",
  group: "group",
  role: "role",
  source: "source",
  kind: "kind",
};
const TEXT: ReadonlySet<Field> = new Set(["lane", "group", "role", "source", "kind"]);
const TERM = /(-?)(?:([a-z_]+)\s*(>=|<=|!=|=|>|<|:)\s*("[^"]*"?|\S+)?|("[^"]*"?|\S+))/gi;

/** What can be typed, and what it finds. */
export const HELP: readonly (readonly [string, string])[] = [
  ["load", "part of a name"],
  ["load tile", "both, in any order"],
  ['"load tile"', "these words together"],
  ["-load", "all but these"],
  ["payload>=3", "a number: = != > >= < <="],
  ["dur=100..200", "from, to"],
  ["cta=0 sm= thread= launch= start> end<", "more numbers; times in cycles"],
  ["lane:main", "part of a text"],
  ["role: group: source: kind:", "more texts"],
];

/**
 * Whether an event matches all terms of `text`; null for an empty query. Times are in cycles, as in the frame. Throws an
 * Error that says what is wrong with a term.
 */
export function parseQuery(text: string, events: Events): Predicate | null {
  const tests: Predicate[] = [];
  for (const [whole, minus, key, operator, raw] of text.matchAll(TERM)) {
    const words = whole.slice(minus.length);
    const field = key === undefined ? undefined : FIELDS[key.toLowerCase()];
    if (!words.replaceAll('"', "")) continue; // it is still being typed
    const test = field ? condition(field, operator, unquoted(raw ?? ""), events) : name(unquoted(words), events);
    if (key !== undefined && !field && !events.names.some(contains(words)))
      throw new Error(
        `there is no ${key} to search by: ${Object.keys(FIELDS)
          .filter((each) => each.length > 1)
          .join(", ")}`,
      );
    tests.push(minus ? (i) => !test(i) : test);
  }
  if (!tests.length) return null;
  return (i) => tests.every((test) => test(i));
}

function unquoted(text: string): string {
  return text.replace(/^"([^"]*)"?$/, "$1");
}

function contains(part: string): (text: string) => boolean {
  const wanted = part.toLowerCase();
  return (text) => text.toLowerCase().includes(wanted);
}

function name(part: string, events: Events): Predicate {
  const fits = events.names.map(contains(part));
  return (i) => fits[events.nameCode(i)];
}

function condition(field: Field, operator: string, value: string, events: Events): Predicate {
  if (!value) throw new Error(`${field}${operator} of what? ${TEXT.has(field) ? `${field}:word` : example(field)}`);
  if (TEXT.has(field)) {
    const read = textOf(field, events);
    const fits = contains(value);
    const has: Predicate = (i) => fits(read(i));
    if (operator === "!=") return (i) => !has(i);
    if (operator === ":" || operator === "=") return has;
    throw new Error(`${field} is text: write ${field}:${value}`);
  }
  const read = numberOf(field, events);
  const [low, high] = range(value, field);
  switch (operator) {
    case ">":
      return (i) => read(i) > high;
    case ">=":
      return (i) => read(i) >= low;
    case "<":
      return (i) => read(i) < low;
    case "<=":
      return (i) => read(i) <= high;
    case "!=":
      return (i) => !(read(i) >= low && read(i) <= high);
    default:
      return Number.isNaN(low) ? (i) => Number.isNaN(read(i)) : (i) => read(i) >= low && read(i) <= high;
  }
}

function range(text: string, field: string): [number, number] {
  const parts = text.split("..");
  const ends = parts.map((part) =>
    Number(part.replace(/^-?inf$/i, (inf) => (inf[0] === "-" ? "-Infinity" : "Infinity"))),
  );
  const wrong = parts.length > 2 || parts.some((part, n) => !part || (Number.isNaN(ends[n]) && !/^nan$/i.test(part)));
  if (wrong) throw new Error(`${field} is a number: write ${example(field)}, not ${text}`);
  return [ends[0], ends[ends.length - 1]];
}

function example(field: string): string {
  return `${field}=3, ${field}>3 or ${field}=3..5`;
}

function textOf(field: Field, events: Events): (i: number) => string {
  if (field === "source") return (i) => events.source(i);
  if (field === "kind") return (i) => (events.isInstant(i) ? "instant" : "range");
  if (field === "lane") return (i) => events.laneOf(i).name;
  if (field === "group") return (i) => events.laneOf(i).group;
  return (i) => events.laneOf(i).role;
}

function numberOf(field: Field, events: Events): (i: number) => number {
  const origin = Number(events.origin);
  switch (field) {
    // An event without payload is on neither side of a number.
    case "payload":
      return (i) => {
        const value = events.payloadOf(i);
        return value === undefined ? Number.POSITIVE_INFINITY * 0 : Number(value);
      };
    case "duration":
      return (i) => events.duration[i];
    case "start":
      return (i) => origin + events.start[i];
    case "end":
      return (i) => origin + events.end(i);
    case "cta":
      return (i) => events.laneOf(i).cta;
    case "launch":
      return (i) => events.laneOf(i).launch ?? 1;
    case "sm":
      return (i) => events.laneOf(i).sm;
    default:
      return (i) => events.laneOf(i).thread;
  }
}
