// The way from the run before to this one: for a moment the events stand between where they were and where they are.
//
// The n-th event of a row comes from the n-th event of the row that stood there before. Both rows are in order of time
// and free of overlaps, so every step between them is, too, and is drawn as any row is. Events that the row did not have
// grow from its end.

import type { Span } from "./axis";
import type { Ghost } from "./ghost";
import { Scene } from "./scene";
import { save } from "./state";
import type { Theme } from "./theme";

const LASTS_MS = 320;
/** Events above which a step would take longer than a frame. */
const MOST_EVENTS = 40_000;

export class Transition {
  /** What is drawn meanwhile. */
  readonly scene: Scene;
  private readonly fromStart: Float64Array;
  private readonly fromDuration: Float64Array;
  private readonly began = performance.now();

  /** `from`: the part of the axis that was in view, in the unit of `to`. */
  private constructor(
    private readonly to: Scene,
    ghost: Ghost,
    private readonly from: Span,
    theme: Theme,
  ) {
    const { events } = to;
    this.fromStart = new Float64Array(events.count);
    this.fromDuration = new Float64Array(events.count);
    this.place(ghost);
    const moving = events.at(this.fromStart.slice(), this.fromDuration.slice());
    this.scene = new Scene(moving, to.header, save(to.state), ghost);
    this.scene.paint.ink(theme);
  }

  /** `null` where there is nothing to move, or where the reader wants no motion. */
  static of(to: Scene, before: Scene, theme: Theme): Transition | null {
    const { ghost } = to;
    const moves = !matchMedia("(prefers-reduced-motion: reduce)").matches && to.events.count <= MOST_EVENTS;
    if (!moves || !ghost || !to.events.count || before.state.unit !== to.state.unit) return null;
    const shift = Number(before.axis.origin - to.axis.origin);
    return new Transition(to, ghost, { from: before.span.from + shift, to: before.span.to + shift }, theme);
  }

  /** Where the events were, in cycles of the lanes where they are now. */
  private place(ghost: Ghost): void {
    const { events, axis } = this.to;
    const old = ghost.events;
    for (const lane of events.lanes) {
      const was = ghost.laneOf(lane);
      const line = axis.line(lane);
      const oldLine = was ? axis.lineOf(old, was) : line;
      const rate = oldLine.rate / line.rate;
      const shift = (oldLine.offset - line.offset) / line.rate;
      for (let r = 0; r < lane.rows; r++) {
        const [first, end] = [events.rowStart[lane.row + r], events.rowStart[lane.row + r + 1]];
        const known = was && r < was.rows;
        const [oldFirst, oldEnd] = known ? [old.rowStart[was.row + r], old.rowStart[was.row + r + 1]] : [0, 0];
        let last = known && oldEnd > oldFirst ? Number.NEGATIVE_INFINITY : events.start[first];
        for (let i = first; i < end; i++) {
          const j = oldFirst + i - first;
          if (j < oldEnd) {
            this.fromStart[i] = shift + rate * old.start[j];
            this.fromDuration[i] = rate * old.duration[j];
            last = Math.max(last, this.fromStart[i] + this.fromDuration[i]);
          } else this.fromStart[i] = last;
        }
      }
    }
  }

  /** Take `scene` to where it is at `now`; false once it has arrived. */
  step(now: number): boolean {
    const share = Math.min((now - this.began) / LASTS_MS, 1);
    if (share >= 1) return false;
    const way = 1 - (1 - share) ** 3;
    const { scene, to, fromStart, fromDuration, from } = this;
    const { start, duration } = scene.events;
    for (let i = 0; i < start.length; i++) {
      start[i] = fromStart[i] + (to.events.start[i] - fromStart[i]) * way;
      duration[i] = fromDuration[i] + (to.events.duration[i] - fromDuration[i]) * way;
    }
    scene.events.retimed();
    scene.levels.clear();
    scene.state = to.state;
    scene.rows = to.rows;
    scene.viewHeight = to.viewHeight;
    scene.span = {
      from: from.from + (to.span.from - from.from) * way,
      to: from.to + (to.span.to - from.to) * way,
    };
    return true;
  }
}
