// Measuring: edges of events attract the pointer, and what is between them is said in full.

import { count, duration } from "./format";
import { hit } from "./hit";
import type { Measured, Scene } from "./scene";

/** The begin or end of an event of these rows that is within `reach` of a time, both on the axis; else the time. */
export function snapped(scene: Scene, rows: readonly number[], time: number, reach: number): number {
  let best = time;
  let distance = reach;
  for (const row of rows) {
    const { offset, rate } = scene.axis.line(scene.events.lanes[scene.events.rowLane[row]]);
    const found = hit(scene.events, row, (time - offset) / rate, reach / rate);
    if (found < 0) continue;
    for (const edge of [scene.axis.startOf(found), scene.axis.endOf(found)])
      if (Math.abs(edge - time) < distance) [best, distance] = [edge, Math.abs(edge - time)];
  }
  return best;
}

/** From where to where, and how long that is in cycles and in ns, as far as these are known. */
export function measuredText(scene: Scene, { from, to, lane }: Measured): string {
  const { axis, header } = scene;
  const ends = [from, to].map((time) => axis.label(time, 1)).join(" → ");
  const length = to - from;
  if (!lane || !header.ns) return `${ends} · ${duration(length, axis.unit)}`;
  const cycles = axis.unit === "ns" ? length / lane.nsRate : length;
  const ns = axis.unit === "ns" ? length : length * lane.nsRate;
  return `${ends} · ${count(Math.round(cycles), "cycle")} · ${duration(ns, "ns")}`;
}
