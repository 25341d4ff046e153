// What the events of a run are painted as: by what they are coloured, and which are hidden, found, or selected.

import type { Axis } from "./axis";
import type { Events } from "./events";
import { Levels } from "./levels";
import { FILTERED, MATCHED, Paint, SELECTED } from "./paint";
import { parseQuery } from "./query";
import { Raster } from "./raster";
import type { State } from "./state";
import type { Header } from "./wire";

/** What a reader has asked to see of the events. */
export type Looks = Pick<State, "colorBy" | "query" | "filter" | "hiddenNames" | "hiddenLaunches">;

export class Marks {
  readonly paint: Paint;
  readonly levels: Levels;
  readonly raster: Raster;
  /** Positions of the selected events; null when nothing is selected. */
  selected: Uint32Array | null = null;
  /** Positions of the events that the query finds, in order of time; null where there is no query. */
  matches: Uint32Array | null = null;
  private filter = false;

  constructor(
    readonly events: Events,
    header: Header,
  ) {
    this.paint = new Paint(events, header.palette, header.name_color);
    this.levels = new Levels(events);
    this.raster = new Raster(events, this.levels);
  }

  /** Search, filter and hide; returns what is wrong with the query, or null. */
  search({ query, filter, hiddenNames, hiddenLaunches }: Looks, axis: Axis): string | null {
    const { events, paint } = this;
    const away = new Set(hiddenLaunches);
    const hidden = new Set(hiddenNames.map((name) => events.names.indexOf(name)));
    let test = null;
    let wrong: string | null = null;
    try {
      test = parseQuery(query, events);
    } catch (error) {
      wrong = (error as Error).message;
    }
    const found: number[] = [];
    for (let row = 0; row < events.rowLane.length; row++) {
      const { launch } = events.lanes[events.rowLane[row]];
      const gone = launch !== null && away.has(launch);
      for (let i = events.rowStart[row]; i < events.rowStart[row + 1]; i++) {
        const fits = test?.(i) ?? false;
        const out = gone || hidden.has(events.nameCode(i)) || (filter && test !== null && !fits);
        paint.marks[i] = (paint.marks[i] & SELECTED) | (out ? FILTERED : 0) | (fits ? MATCHED : 0);
        if (fits && !out) found.push(i);
      }
    }
    this.matches = test ? byStart(found, (i) => axis.startOf(i)) : null;
    this.filter = filter;
    this.recode();
    return wrong;
  }

  select(positions: Uint32Array | null): void {
    this.selected = positions;
    const { marks } = this.paint;
    for (let i = 0; i < marks.length; i++) marks[i] &= ~SELECTED;
    if (positions) for (const i of positions) marks[i] |= SELECTED;
    this.recode();
  }

  /** Choose by what events are coloured; durations are those on `axis`. */
  colorBy(by: State["colorBy"], axis: Axis): void {
    this.paint.colorBy(by, axis);
    this.recode();
  }

  private recode(): void {
    const searching = this.matches !== null && !this.filter;
    this.paint.code(searching ? MATCHED : this.selected ? SELECTED : 0);
    this.levels.clear();
  }
}

function byStart(positions: readonly number[], start: (i: number) => number): Uint32Array {
  const times = Float64Array.from(positions, start);
  const order = Uint32Array.from(positions, (_, n) => n).sort((a, b) => times[a] - times[b] || a - b);
  return order.map((n) => positions[n]);
}
