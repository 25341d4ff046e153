// The bars and marks of a frame that get more than their pixels.

import type { Events } from "./events";
import type { Notes } from "./raster";

/** Most texts and marks of a frame; a screen has room for fewer that can be read. */
const MOST_LABELS = 1500;

export interface Noted {
  readonly i: number;
  readonly from: number;
  readonly to: number;
  readonly top: number;
  readonly height: number;
  /** Pixels to the next event on the row. */
  readonly room: number;
}

/** Bars and points of a frame, with where they are. */
export class Collected implements Notes {
  readonly bars: Noted[] = [];
  readonly points: Noted[] = [];
  private left = 0;
  private top = 0;
  private height = 0;
  private summary = false;
  private row = 0;
  private scale = 1;

  constructor(
    readonly least: number,
    private readonly events: Events,
  ) {}

  /** What follows is of this row, `scale` pixels a cycle, drawn here. */
  at(left: number, top: number, height: number, summary: boolean, row: number, scale: number): void {
    [this.left, this.top, this.height, this.summary, this.row, this.scale] = [left, top, height, summary, row, scale];
  }

  bar(i: number, from: number, to: number): void {
    if (!this.summary && this.bars.length < MOST_LABELS) this.bars.push(this.noted(i, from, to));
  }

  point(i: number, at: number): void {
    if (!this.summary && this.points.length < MOST_LABELS) this.points.push(this.noted(i, at, at + 1));
  }

  private noted(i: number, from: number, to: number): Noted {
    const { events, left, top, height } = this;
    const last = i + 1 >= events.rowStart[this.row + 1];
    const room = last ? Number.POSITIVE_INFINITY : (events.start[i + 1] - events.start[i]) * this.scale;
    return { i, from: from + left, to: to + left, top, height, room };
  }
}
