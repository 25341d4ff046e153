// Which event is under a point.

import { type Events, HIDDEN, lowerBound, upperBound } from "./events";

/**
 * The event of `row` that covers `cycle`, else the nearest whose edge is within `reach` cycles; -1 for none. Where events
 * share the last row of a crowded lane, the one that started last.
 */
export function hit(events: Events, row: number, cycle: number, reach: number): number {
  const from = events.rowStart[row];
  const to = events.rowStart[row + 1];
  const after = upperBound(events.start, cycle, from, to);
  let best = -1;
  let distance = reach;
  const consider = (i: number) => {
    if (events.code[i] === HIDDEN) return;
    const before = events.start[i] - cycle;
    const behind = cycle - events.end(i);
    const away = Math.max(before, behind, 0);
    if (away < distance || (away === distance && best < 0)) {
      best = i;
      distance = away;
    }
  };
  const back = events.isCrowded(row) ? 64 : 8;
  for (let i = after - 1; i >= Math.max(from, after - back); i--) consider(i);
  for (let i = after; i < Math.min(to, after + 8); i++) consider(i);
  return best;
}

/** The visible neighbour of event `i` on its lane, by start: `step` is 1 or -1. Stays where there is none. */
export function neighbour(events: Events, i: number, step: 1 | -1): number {
  const lane = events.laneOf(i);
  let best = i;
  for (let row = lane.row; row < lane.row + lane.rows; row++) {
    const from = events.rowStart[row];
    const to = events.rowStart[row + 1];
    const at = events.start[i];
    let n = step > 0 ? lowerBound(events.start, at, from, to) : upperBound(events.start, at, from, to) - 1;
    while (n >= from && n < to && (events.code[n] === HIDDEN || !follows(events, i, n, step))) n += step;
    if (n < from || n >= to) continue;
    if (best === i || follows(events, n, best, step)) best = n;
  }
  return best;
}

/** Whether `b` comes after `a` (before it, for `step` -1), by start and then by position. */
function follows(events: Events, a: number, b: number, step: 1 | -1): boolean {
  const apart = events.start[b] - events.start[a] || b - a;
  return apart * step > 0;
}
