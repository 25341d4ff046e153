// The run before: its events, to be drawn thin under the lanes of the present one and to move on from.

import { Axis, type Unit } from "./axis";
import type { Events, Lane } from "./events";
import { type Looks, Marks } from "./marks";
import type { Notes } from "./raster";
import type { Theme } from "./theme";
import type { Header } from "./wire";

const NO_NOTES: Notes = { least: Number.POSITIVE_INFINITY, bar() {}, point() {} };
const PLAIN: Looks & { unit: Unit } = {
  unit: "cycles",
  colorBy: "name",
  query: "",
  filter: false,
  hiddenNames: [],
  hiddenLaunches: [],
};

export class Ghost {
  private readonly marks: Marks;
  private readonly byKey: ReadonlyMap<string, Lane>;
  private looks: (Looks & { unit: Unit }) | null = null;

  constructor(
    readonly events: Events,
    private readonly header: Header,
    looks: Partial<Looks & { unit: Unit }>,
  ) {
    this.marks = new Marks(events, header);
    this.byKey = new Map(events.lanes.map((lane) => [keyOf(lane), lane]));
    this.follow({ ...PLAIN, ...looks });
  }

  /** Whether its events have times in `unit`. */
  has(unit: Unit): boolean {
    return unit === "cycles" || this.header.ns;
  }

  /** The lane that stood where `lane` stands now, whichever SM its CTA is on. */
  laneOf(lane: Lane): Lane | undefined {
    return this.byKey.get(keyOf(lane));
  }

  /** Colour and hide as `looks` say. */
  follow({ unit, colorBy, query, filter, hiddenNames }: Looks & { unit: Unit }): void {
    const before = this.looks;
    this.looks = { unit, colorBy, query, filter, hiddenNames, hiddenLaunches: [] };
    const axis = new Axis(this.events, this.has(unit) ? unit : "cycles");
    if (unit !== before?.unit || colorBy !== before.colorBy) this.marks.colorBy(colorBy, axis);
    if (query !== before?.query || filter !== before.filter || hiddenNames !== before.hiddenNames)
      this.marks.search(this.looks, axis);
  }

  ink(theme: Theme): void {
    this.marks.paint.ink(theme);
  }

  /** Paint what stood where `lane` stands into a line of pixels; `from` is the time at its first, on `axis`. */
  paint(line: Uint32Array, lane: Lane, axis: Axis, from: number, pixelsPerUnit: number): void {
    const mine = this.laneOf(lane);
    if (!mine) return;
    const { offset, rate } = axis.lineOf(this.events, mine);
    const view = { cycle: (from - offset) / rate, scale: pixelsPerUnit * rate, width: line.length };
    const { raster, paint } = this.marks;
    for (let row = mine.row; row < mine.row + mine.rows; row++) raster.paint(line, row, view, paint.inks, NO_NOTES);
  }
}

function keyOf(lane: Lane): string {
  return `${lane.rank}|${lane.cta}|${lane.thread}|${lane.name}`;
}
