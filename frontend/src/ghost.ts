// The run before: its events, to be drawn thin under the lanes of the present one and to move on from.

import type { Axis, Unit } from "./axis";
import type { Events, Lane } from "./events";
import type { Notes } from "./raster";
import { Scene } from "./scene";
import type { Saved, State } from "./state";
import type { Theme } from "./theme";
import type { Header } from "./wire";

const NO_NOTES: Notes = { least: Number.POSITIVE_INFINITY, bar() {}, point() {} };

export class Ghost {
  /** A scene that nobody listens to, for the colours and the levels of detail. */
  private readonly scene: Scene;
  private readonly byKey: ReadonlyMap<string, Lane>;

  constructor(
    readonly events: Events,
    private readonly header: Header,
    saved: Saved,
  ) {
    this.scene = new Scene(events, header, saved);
    this.byKey = new Map(events.lanes.map((lane) => [keyOf(lane), lane]));
  }

  /** Whether its events have times in `unit`. */
  has(unit: Unit): boolean {
    return unit === "cycles" || this.header.ns;
  }

  /** The lane that stood where `lane` stands now, whichever SM its CTA is on. */
  laneOf(lane: Lane): Lane | undefined {
    return this.byKey.get(keyOf(lane));
  }

  /** Colour and hide as `state` says. */
  follow(state: State): void {
    const { colorBy, query, filter, hiddenNames } = state;
    this.scene.set({ colorBy, query, filter, hiddenNames });
  }

  ink(theme: Theme): void {
    this.scene.paint.ink(theme);
  }

  /** Paint what stood where `lane` stands into a line of pixels; `from` is the time at its first, on `axis`. */
  paint(line: Uint32Array, lane: Lane, axis: Axis, from: number, pixelsPerUnit: number): void {
    const mine = this.laneOf(lane);
    if (!mine) return;
    const { offset, rate } = axis.lineOf(this.events, mine);
    const view = { cycle: (from - offset) / rate, scale: pixelsPerUnit * rate, width: line.length };
    const { raster, paint } = this.scene;
    for (let row = mine.row; row < mine.row + mine.rows; row++) raster.paint(line, row, view, paint.inks, NO_NOTES);
  }
}

function keyOf(lane: Lane): string {
  return `${lane.rank}|${lane.cta}|${lane.thread}|${lane.name}`;
}
