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
  const first = events.firstEndingFrom(row, cycle - reach);
  const crowded = events.isCrowded(row);
  let best = -1;
  let distance = reach;
  for (let i = after - 1; i >= first; i--) {
    if (events.code[i] === HIDDEN) continue;
    const away = Math.max(cycle - events.end(i), 0);
    if (away < distance || (away === distance && best < 0)) [best, distance] = [i, away];
    if (!crowded || away === 0) break; // in other rows, those before it end earlier
  }
  for (let i = after; i < to && events.start[i] - cycle <= distance; i++) {
    if (events.code[i] === HIDDEN) continue;
    return best >= 0 && events.start[i] - cycle === distance ? best : i;
  }
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
