// One row of the timeline as one line of pixels. It is stretched to the row's height by whoever draws it.
//
// An event of a pixel or more covers the pixels from its rounded start to its rounded end. Shorter ones are gathered by
// pixel: it takes the colour that has most time in it, paler the less of the pixel is taken, and is painted over longer
// events that share it. So no event is invisible, and none moves by more than a pixel.

import { type Events, HIDDEN, lowerBound } from "./events";
import { type Levels, Tally } from "./levels";

/** What codes look like: pixels of ImageData, per code. */
export interface Inks {
  readonly body: Uint32Array;
  readonly edge: Uint32Array;
  /** SHADES pixels per code, from pale to full. */
  readonly shade: Uint32Array;
}

export const SHADES = 8;
/** Pixels up to which a loop is faster than a call of `fill`. */
const SHORT = 24;

/** The part of a row that is in view: the cycle at pixel 0, and pixels per cycle. */
export interface Window {
  readonly cycle: number;
  readonly scale: number;
  readonly width: number;
}

/** Who is told of events that get more than their pixels: text on a bar, a mark for an instant. */
export interface Notes {
  /** Width in pixels from which `bar` is called. */
  readonly least: number;
  /** An event, its first pixel and the one after its last; either may be outside of the view. */
  bar(i: number, from: number, to: number): void;
  /** An event of no duration, and its pixel. Not called where events are too dense to be looked at one by one. */
  point(i: number, at: number): void;
}

export class Raster {
  private readonly tally = new Tally();
  private readonly columns: number[] = [];
  private readonly colors: number[] = [];
  private column = -1;

  constructor(
    private readonly events: Events,
    private readonly levels: Levels,
  ) {}

  /** Paint `row` into `line`, which has a pixel per column. Returns how many events or bins it looked at. */
  paint(line: Uint32Array, row: number, view: Window, inks: Inks, notes: Notes): number {
    const { events } = this;
    const { cycle, scale, width } = view;
    const last = cycle + width / scale;
    const from = events.firstEndingFrom(row, cycle);
    const to = lowerBound(events.start, last, from, events.rowStart[row + 1]);
    const most = 2 * width;
    let looked = to - from;
    const one = (i: number) => {
      const code = events.code[i];
      if (code === HIDDEN) return;
      const x = (events.start[i] - cycle) * scale;
      const length = events.duration[i] * scale;
      if (x + length < 0) return; // in a shared row, an event that ends before the view may follow one that does not
      if (length < 1) {
        if (length === 0 && looked <= most) notes.point(i, Math.floor(x));
        this.gather(Math.max(Math.floor(x), 0), code, Math.max(events.duration[i], 1), inks, scale, width);
        return;
      }
      const a = Math.round(x);
      const b = Math.max(Math.round(x + length), a + 1);
      const ink = inks.body[code];
      const end = Math.min(b, width);
      if (b - a > SHORT) line.fill(ink, Math.max(a, 0), end);
      else for (let x = Math.max(a, 0); x < end; x++) line[x] = ink;
      if (a >= 0 && a < width && length >= 3) line[a] = inks.edge[code];
      if (b - a >= notes.least) notes.bar(i, a, b);
    };
    if (looked <= most || scale >= 1) {
      for (let i = from; i < to; i++) one(i);
    } else {
      const level = this.levels.of(row, 1 / scale);
      const firstLong = lowerBound(level.long, from, 0, level.long.length);
      const lastLong = lowerBound(level.long, to, firstLong, level.long.length);
      for (let n = firstLong; n < lastLong; n++) one(level.long[n]);
      this.flush(inks, scale);
      const firstBin = lowerBound(level.at, cycle - level.size, 0, level.at.length);
      let bin = firstBin;
      for (; bin < level.at.length && level.at[bin] < last; bin++) {
        const x = Math.floor((level.at[bin] - cycle) * scale);
        this.gather(Math.max(x, 0), level.code[bin], level.busy[bin], inks, scale, width);
      }
      looked = lastLong - firstLong + bin - firstBin;
    }
    this.flush(inks, scale);
    for (let n = 0; n < this.columns.length; n++) line[this.columns[n]] = this.colors[n];
    this.columns.length = this.colors.length = 0;
    return looked;
  }

  private gather(column: number, code: number, time: number, inks: Inks, scale: number, width: number): void {
    if (column >= width) return;
    if (column !== this.column) {
      this.flush(inks, scale);
      this.column = column;
    }
    this.tally.add(code, time);
  }

  private flush(inks: Inks, scale: number): void {
    if (this.tally.empty) return;
    const share = Math.min(this.tally.total * scale, 1);
    this.columns.push(this.column);
    this.colors.push(inks.shade[this.tally.dominant * SHADES + Math.min(Math.floor(share * SHADES), SHADES - 1)]);
    this.tally.clear();
    this.column = -1;
  }
}
