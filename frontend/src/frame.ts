// Where things are on the canvas: strips from the top, times from the left.

import type { Span } from "./axis";
import type { Scene } from "./scene";
import { GAP, HEAD, ROW, type Strip } from "./tree";

export const FONT = "system-ui, -apple-system, 'Segoe UI', sans-serif";
export const AXIS = 26;

/** Where things stand, in CSS pixels, and device pixels per CSS pixel. */
export interface Frame {
  readonly width: number;
  readonly height: number;
  readonly gutter: number;
  readonly ratio: number;
}

/** A strip and the y of its top on the canvas, in CSS pixels. */
export interface Placed {
  readonly strip: Strip;
  readonly y: number;
}

/** The strips in view: the pinned ones, then those scrolled to. */
export function placed(scene: Scene, frame: Frame): Placed[] {
  const { rows, state } = scene;
  const top = AXIS + rows.pinnedHeight;
  const pinned = rows.pinned.map((strip) => ({ strip, y: AXIS + strip.top }));
  const inView = rows.between(state.scroll, state.scroll + frame.height - top);
  return [...pinned, ...inView.map((strip) => ({ strip, y: top + strip.top - state.scroll }))];
}

/** The heads that stay in sight over the strips that are scrolled. */
export function stuck({ rows, state }: Scene): Placed[] {
  const top = AXIS + rows.pinnedHeight;
  return rows.stuck(state.scroll).map((strip, n) => ({ strip, y: top + n * HEAD }));
}

/** The y of the middle of a row of a strip. */
export function middleOf({ strip, y }: Placed, row: number): number {
  if (strip.kind !== "lane") return y + strip.body / 2;
  return y + GAP / 2 + (row - strip.node.lanes[0].row + 0.5) * ROW;
}

/** The x of a time, in CSS pixels. */
export function xOf(time: number, span: Span, frame: Frame): number {
  return frame.gutter + ((time - span.from) / (span.to - span.from)) * (frame.width - frame.gutter);
}

/** The time at `x` CSS pixels. */
export function timeAt(x: number, span: Span, frame: Frame): number {
  return span.from + ((x - frame.gutter) / (frame.width - frame.gutter)) * (span.to - span.from);
}

/** Where events are on the canvas, in device pixels; nowhere for those that pinned strips and heads in sight cover. */
export class Places {
  private readonly byLane = new Map<number, Placed>();
  private readonly covered: number;

  constructor(
    private readonly scene: Scene,
    shown: readonly Placed[],
    private readonly frame: Frame,
  ) {
    for (const each of shown)
      if (each.strip.kind !== "head") for (const lane of each.strip.node.lanes) this.byLane.set(lane.index, each);
    const over = scene.rows.pinnedHeight + stuck(scene).length * HEAD;
    this.covered = over ? AXIS + over + ROW / 4 : 0;
  }

  start(i: number): { x: number; y: number } | null {
    return this.at(i, this.scene.axis.startOf(i));
  }

  end(i: number): { x: number; y: number } | null {
    return this.at(i, this.scene.axis.endOf(i));
  }

  private at(i: number, time: number): { x: number; y: number } | null {
    const row = this.scene.events.rowOf(i);
    const strip = this.byLane.get(this.scene.events.rowLane[row]);
    if (!strip) return null;
    const { ratio } = this.frame;
    const y = middleOf(strip, row);
    if (y < this.covered && !this.scene.rows.pinned.includes(strip.strip)) return null;
    return { x: xOf(time, this.scene.span, this.frame) * ratio, y: y * ratio };
  }
}
