// Another run of the same kernel, each of its iterations moved to where that iteration begins in this one.

import { type Events, type Lane, upperBound } from "./events";
import { usualAnchor } from "./fold";
import { quantile } from "./stats";

export interface Aligned {
  /** The events of the other run at the times of this one. What an iteration there has more than here is cut off. */
  readonly events: Events;
  /** The name that an iteration begins with, and cycles from one to the next: there and here, the median. */
  readonly name: string;
  readonly before: number;
  readonly now: number;
}

/** Where iterations begin, in cycles since the CTA's entry. */
interface Begins {
  readonly before: Float64Array;
  readonly now: Float64Array;
}

/** Null where no CTA of both has two events of the name that iterations begin with. */
export function aligned(before: Events, now: Events): Aligned | null {
  const anchor = usualAnchor(now);
  const name = now.names[anchor];
  const theirs = before.names.indexOf(name);
  if (anchor < 0 || theirs < 0) return null;
  const byCta = new Map<string, Begins>();
  const [old, own] = [beginsOf(before, theirs), beginsOf(now, anchor)];
  for (const [key, begins] of old) if (own.has(key)) byCta.set(key, { before: begins, now: own.get(key)! });
  if (!byCta.size) return null;
  const lines = new Map(now.lanes.map((lane) => [keyOf(lane), lane]));
  const start = new Float64Array(before.count);
  const duration = new Float64Array(before.count);
  const origin = [before, now].map((events) => Number(events.origin));
  let cycles = now.cycles;
  for (const lane of before.lanes) {
    const begins = byCta.get(keyOf(lane));
    for (let i = before.rowStart[lane.row]; i < before.rowStart[lane.row + lane.rows]; i++) {
      const [from, to] = [before.start[i] + origin[0], before.end(i) + origin[0]];
      const [left, right] = begins ? moved(begins, from, to) : [from, to];
      start[i] = left - origin[1];
      duration[i] = right - left;
      cycles = Math.max(cycles, right - origin[1]);
    }
  }
  const lanes = before.lanes.map((lane) => {
    const { nsOffset, nsRate } = lines.get(keyOf(lane)) ?? lane;
    return { ...lane, nsOffset, nsRate };
  });
  const events = before.at(start, duration, { origin: now.origin, cycles, lanes });
  const period = (all: Iterable<Float64Array>) =>
    quantile(Float64Array.from([...all].flatMap((each) => gaps(each))).sort(), 0.5);
  const both = [...byCta.values()];
  return {
    events,
    name,
    before: period(both.map((each) => each.before)),
    now: period(both.map((each) => each.now)),
  };
}

/** Where a range is put: as far behind the begin of its iteration as it was, and no further than to the next. */
function moved({ before, now }: Begins, from: number, to: number): [number, number] {
  const last = Math.min(before.length, now.length) - 1;
  const put = (time: number, k: number) => {
    const begin = k < 0 ? 0 : now[k];
    return Math.min(begin + time - (k < 0 ? 0 : before[k]), k < last ? now[k + 1] : Number.POSITIVE_INFINITY);
  };
  const iteration = (time: number) => Math.min(upperBound(before, time, 0, before.length) - 1, last);
  const k = iteration(from);
  const within = k >= last || to <= before[k + 1];
  return [put(from, k), put(to, within ? k : iteration(to))];
}

/** By CTA, where the events of a name begin on the first of its lanes that has two. */
function beginsOf(events: Events, name: number): Map<string, Float64Array> {
  const found = new Map<string, Float64Array>();
  for (const lane of events.lanes) {
    if (found.has(keyOf(lane))) continue;
    const starts: number[] = [];
    for (let i = events.rowStart[lane.row]; i < events.rowStart[lane.row + lane.rows]; i++)
      if (events.nameCode(i) === name) starts.push(events.start[i] + Number(events.origin));
    if (starts.length > 1) found.set(keyOf(lane), Float64Array.from(starts).sort());
  }
  return found;
}

function gaps(begins: Float64Array): number[] {
  return Array.from(begins.subarray(1), (begin, k) => begin - begins[k]);
}

function keyOf({ rank, cta }: Lane): string {
  return `${rank}|${cta}`;
}
