// The run before: its events, to be drawn thin under the lanes of the present one and to move on from.

import { type Aligned, aligned } from "./align";
import { Axis, type Unit } from "./axis";
import type { Events, Lane } from "./events";
import { type Looks, Marks } from "./marks";
import type { Notes } from "./raster";
import type { State } from "./state";
import type { Theme } from "./theme";
import type { Header } from "./wire";

const NO_NOTES: Notes = { least: Number.POSITIVE_INFINITY, bar() {}, point() {} };
type Followed = Looks & Pick<State, "unit" | "align">;
const PLAIN: Followed = {
  unit: "cycles",
  align: "cta",
  colorBy: "name",
  query: "",
  filter: false,
  hiddenNames: [],
  hiddenLaunches: [],
};

export class Ghost {
  private marks: Marks;
  private byKey: ReadonlyMap<string, Lane>;
  private looks: Followed | null = null;
  private theme: Theme | null = null;
  private iterations: Aligned | null | undefined;

  /** `events` are those of the run, at its own times. */
  constructor(
    readonly events: Events,
    private readonly header: Header,
    looks: Partial<Followed>,
  ) {
    this.marks = new Marks(events, header);
    this.byKey = lanesOf(events);
    this.follow({ ...PLAIN, ...looks, align: "cta" }, null);
  }

  /** The events where they are drawn. */
  get shown(): Events {
    return this.marks.events;
  }

  /** How its iterations are brought together with those of the run that it is compared with, if they are. */
  get aligned(): Aligned | null {
    return this.iterations && this.shown === this.iterations.events ? this.iterations : null;
  }

  /** Whether its events have times in `unit`. */
  has(unit: Unit): boolean {
    return unit === "cycles" || this.header.ns;
  }

  /** The lane that stood where `lane` stands now, whichever SM its CTA is on. */
  laneOf(lane: Lane): Lane | undefined {
    return this.byKey.get(keyOf(lane));
  }

  /** Colour and hide as `looks` say, and stand where they say beside the events of `now`. */
  follow(looks: Followed, now: Events | null): void {
    if (now && this.iterations === undefined && looks.align === "iteration")
      this.iterations = aligned(this.events, now);
    const events = looks.align === "iteration" ? (this.iterations?.events ?? this.events) : this.events;
    if (events !== this.shown) {
      this.marks = new Marks(events, this.header);
      this.byKey = lanesOf(events);
      this.looks = null;
    }
    const { unit, align, colorBy, query, filter, hiddenNames } = looks;
    const before = this.looks;
    this.looks = { unit, align, colorBy, query, filter, hiddenNames, hiddenLaunches: [] };
    const axis = new Axis(events, this.has(unit) ? unit : "cycles");
    if (unit !== before?.unit || colorBy !== before.colorBy) this.marks.colorBy(colorBy, axis);
    if (query !== before?.query || filter !== before.filter || hiddenNames !== before.hiddenNames)
      this.marks.search(this.looks, axis);
    if (!before && this.theme) this.ink(this.theme);
  }

  ink(theme: Theme): void {
    this.theme = theme;
    this.marks.paint.ink(theme);
  }

  /** Paint what stood where `lane` stands into a line of pixels; `from` is the time at its first, on `axis`. */
  paint(line: Uint32Array, lane: Lane, axis: Axis, from: number, pixelsPerUnit: number): void {
    const mine = this.laneOf(lane);
    if (!mine) return;
    const { offset, rate } = axis.lineOf(this.shown, mine);
    const view = { cycle: (from - offset) / rate, scale: pixelsPerUnit * rate, width: line.length };
    const { raster, paint } = this.marks;
    for (let row = mine.row; row < mine.row + mine.rows; row++) raster.paint(line, row, view, paint.inks, NO_NOTES);
  }
}

function lanesOf(events: Events): ReadonlyMap<string, Lane> {
  return new Map(events.lanes.map((lane) => [keyOf(lane), lane]));
}

function keyOf(lane: Lane): string {
  return `${lane.rank}|${lane.cta}|${lane.thread}|${lane.name}`;
}
