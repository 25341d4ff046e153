// Which events a brushed area touches.

import type { Axis, Span } from "./axis";
import { type Events, eventsBetween } from "./events";
import { GAP, ROW, type Rows, type Strip } from "./tree";

/** An area that was brushed: times of the axis, and pixels from the top of the lanes (null for all lanes). */
export interface Area {
  readonly span: Span;
  readonly lanes: readonly [number, number] | null;
}

/** What lies under an area: the events, where their times are, and which rows are shown. */
interface Shown {
  readonly events: Events;
  readonly axis: Axis;
  readonly rows: Rows;
}

/** Positions, ascending, of the events that the area touches, as far as they are not filtered out. */
export function inside({ events, axis, rows }: Shown, { span, lanes }: Area): Uint32Array {
  const found: number[] = [];
  const take = (row: number) => {
    const { offset, rate } = axis.line(events.lanes[events.rowLane[row]]);
    for (const i of eventsBetween(events, row, (span.from - offset) / rate, (span.to - offset) / rate)) found.push(i);
  };
  for (const strip of lanes ? rows.between(lanes[0], lanes[1]) : rows.strips) {
    if (strip.kind === "head") continue;
    for (const lane of strip.node.lanes)
      for (let row = lane.row; row < lane.row + lane.rows; row++)
        if (strip.kind === "summary" || !lanes || touches(strip, row - lane.row, lanes)) take(row);
  }
  return Uint32Array.from(found).sort();
}

function touches(strip: Strip, row: number, [from, to]: readonly [number, number]): boolean {
  const top = strip.top + GAP / 2 + row * ROW;
  return top < to && top + ROW > from;
}
