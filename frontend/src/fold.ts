// The average iteration: all CTAs and all iterations laid over each other, from one event of a name to the next.

import { type Events, HIDDEN, type Lane, upperBound } from "./events";
import { quantile } from "./stats";

/** The 10th, 50th and 90th percentile of a time, in cycles since the iteration's begin. */
export type Spread = readonly [number, number, number];

export interface FoldedBar {
  readonly name: number;
  readonly start: Spread;
  readonly end: Spread;
  /** The share of all iterations that have it. */
  readonly share: number;
}

export interface Folded {
  /** Cycles from one iteration to the next. */
  readonly period: Spread;
  readonly iterations: number;
  readonly rows: readonly { readonly label: string; readonly bars: readonly FoldedBar[] }[];
}

/** What is in fewer iterations is no part of an average one. */
const LEAST_SHARE = 0.5;

/**
 * The iterations that begin with events of the name `anchor`, those on the first lane of each CTA that has any. Null where no
 * CTA has two.
 */
export function fold(events: Events, anchor: number): Folded | null {
  const ctas = new Map<string, Lane[]>();
  for (const lane of events.lanes) {
    const key = `${lane.rank}|${lane.launch}|${lane.cta}`;
    const known = ctas.get(key);
    if (known) known.push(lane);
    else ctas.set(key, [lane]);
  }
  const periods: number[] = [];
  const found = new Map<string, { label: string; name: number; starts: number[]; ends: number[] }>();
  for (const lanes of ctas.values()) {
    const begins = lanes.map((lane) => startsOn(events, lane, anchor)).find((starts) => starts.length > 1);
    if (!begins) continue;
    for (let k = 1; k < begins.length; k++) periods.push(begins[k] - begins[k - 1]);
    for (const lane of lanes) gather(events, lane, begins, found);
  }
  if (!periods.length) return null;
  const rows = new Map<string, FoldedBar[]>();
  for (const { label, name, starts, ends } of found.values()) {
    const share = starts.length / periods.length;
    if (share < LEAST_SHARE) continue;
    const bar = { name, start: spread(starts), end: spread(ends), share: Math.min(share, 1) };
    rows.set(label, [...(rows.get(label) ?? []), bar]);
  }
  const ordered = [...rows].map(([label, bars]) => ({ label, bars: bars.sort((a, b) => a.start[1] - b.start[1]) }));
  return { period: spread(periods), iterations: periods.length, rows: ordered };
}

function startsOn(events: Events, lane: Lane, name: number): Float64Array {
  const starts: number[] = [];
  for (let i = events.rowStart[lane.row]; i < events.rowStart[lane.row + lane.rows]; i++)
    if (events.nameCode(i) === name && events.code[i] !== HIDDEN) starts.push(events.start[i]);
  return Float64Array.from(starts).sort();
}

/** Add the ranges of a lane, each by the iteration in which it begins and how many of its name were before it there. */
function gather(
  events: Events,
  lane: Lane,
  begins: Float64Array,
  found: Map<string, { label: string; name: number; starts: number[]; ends: number[] }>,
): void {
  const label = [lane.role || (lane.group !== "default" ? lane.group : ""), `t${lane.thread}`, lane.name]
    .join(" ")
    .trim();
  const positions: number[] = [];
  for (let i = events.rowStart[lane.row]; i < events.rowStart[lane.row + lane.rows]; i++)
    if (events.code[i] !== HIDDEN && !events.isInstant(i)) positions.push(i);
  positions.sort((a, b) => events.start[a] - events.start[b] || a - b);
  let window = -1;
  let seen = new Map<number, number>();
  for (const i of positions) {
    const at = upperBound(begins, events.start[i], 0, begins.length) - 1;
    if (at < 0 || at >= begins.length - 1) continue;
    if (at !== window) [window, seen] = [at, new Map()];
    const name = events.nameCode(i);
    const nth = seen.get(name) ?? 0;
    seen.set(name, nth + 1);
    const key = `${label}|${name}|${nth}`;
    const known = found.get(key) ?? { label, name, starts: [], ends: [] };
    known.starts.push(events.start[i] - begins[at]);
    known.ends.push(events.end(i) - begins[at]);
    found.set(key, known);
  }
}

function spread(values: readonly number[]): Spread {
  const sorted = Float64Array.from(values).sort();
  return [quantile(sorted, 0.1), quantile(sorted, 0.5), quantile(sorted, 0.9)];
}

/** The name to begin an iteration with: the one of the lane with most ranges that has most of them, the first of several. */
export function usualAnchor(events: Events): number {
  let best = { lane: null as Lane | null, count: 0 };
  for (const lane of events.lanes) {
    let count = 0;
    for (let i = events.rowStart[lane.row]; i < events.rowStart[lane.row + lane.rows]; i++)
      if (events.code[i] !== HIDDEN && !events.isInstant(i)) count++;
    if (count > best.count) best = { lane, count };
  }
  if (!best.lane) return -1;
  const counts = new Map<number, number>();
  for (let i = events.rowStart[best.lane.row]; i < events.rowStart[best.lane.row + best.lane.rows]; i++)
    if (events.code[i] !== HIDDEN && !events.isInstant(i))
      counts.set(events.nameCode(i), (counts.get(events.nameCode(i)) ?? 0) + 1);
  return [...counts].reduce((most, each) => (each[1] > most[1] ? each : most))[0];
}
