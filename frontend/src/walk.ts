// From one event to the next, for the keys: across lanes, along arrows, into the view.

import type { Axis, Span } from "./axis";
import { type Events, HIDDEN, type Lane, lowerBound } from "./events";
import { hit } from "./hit";
import { DIM } from "./paint";
import type { State } from "./state";
import type { Rows } from "./tree";

/** What is in view, as far as the keys go through it. */
interface Sight {
  readonly events: Events;
  readonly axis: Axis;
  readonly rows: Rows;
  readonly focused: number;
  readonly span: Span;
  readonly state: State;
  readonly viewHeight: number;
}

/** The visible event of `lane` that is nearest to a time of the axis; -1 for none. */
function nearest({ events, axis }: Sight, lane: Lane, time: number): number {
  const { offset, rate } = axis.line(lane);
  const cycle = (time - offset) / rate;
  let best = -1;
  let distance = Number.POSITIVE_INFINITY;
  for (let row = lane.row; row < lane.row + lane.rows; row++) {
    const near = hit(events, row, cycle, distance);
    if (near < 0) continue;
    const away = Math.max(events.start[near] - cycle, cycle - events.end(near), 0);
    if (away < distance) [best, distance] = [near, away];
  }
  return best;
}

/** An event at the time of the focused one on the next lane below (1) or above (-1) that has any; -1 for none. */
export function onNextLane(scene: Sight, by: 1 | -1): number {
  const { events, axis, focused } = scene;
  const lane = events.laneOf(focused);
  const strips = scene.rows.strips.filter((strip) => strip.kind === "lane");
  const time = (axis.startOf(focused) + axis.endOf(focused)) / 2;
  for (let n = strips.findIndex((strip) => strip.node.lanes[0] === lane) + by; n >= 0 && n < strips.length; n += by) {
    const near = nearest(scene, strips[n].node.lanes[0], time);
    if (near >= 0) return near;
  }
  return -1;
}

/** The first event in view on the first lane in view, folded or not, that has one; -1 for none. */
export function firstInView(scene: Sight): number {
  const { axis, rows, span, state, viewHeight } = scene;
  for (const strip of rows.between(state.scroll, state.scroll + viewHeight)) {
    if (strip.kind === "head") continue;
    for (const lane of strip.node.lanes) {
      const near = nearest(scene, lane, span.from);
      if (near >= 0 && axis.endOf(near) >= span.from && axis.startOf(near) <= span.to) return near;
    }
  }
  return -1;
}

/** Where the visible arrows that leave event `i` lead to. */
export function arrowsFrom(events: Events, i: number): number[] {
  const { flowSrc, flowDst } = events;
  const found: number[] = [];
  const first = lowerBound(flowSrc, i, 0, flowSrc.length);
  for (let n = first; n < flowSrc.length && flowSrc[n] === i; n++) found.push(flowDst[n]);
  return found.filter((dst) => arrowShows(events, i, dst) !== "not");
}

/** Where the visible arrows that reach event `i` come from. */
export function arrowsTo(events: Events, i: number): number[] {
  const { flowSrc, flowDst } = events;
  const found: number[] = [];
  for (let n = 0; n < flowDst.length; n++) if (flowDst[n] === i) found.push(flowSrc[n]);
  return found.filter((src) => arrowShows(events, src, i) !== "not");
}

/** How an arrow is drawn: not where an end is hidden, pale where both ends are dimmed. */
export function arrowShows({ code }: Events, src: number, dst: number): "not" | "pale" | "plain" {
  if (code[src] === HIDDEN || code[dst] === HIDDEN) return "not";
  return code[src] >= DIM && code[dst] >= DIM ? "pale" : "plain";
}
