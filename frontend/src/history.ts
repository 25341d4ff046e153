// Back and forth through what a view looked like and what was selected.

import type { Scene } from "./scene";
import type { State } from "./state";

interface Moment {
  readonly state: State;
  readonly selected: Uint32Array | null;
}

type Kind = "moved" | "query" | "other";

const MOST = 200;
/** Steps of one movement, and letters of one word, follow each other so soon. */
const PAUSE_MS = { moved: 700, query: 3000, other: 0 } as const;

export class History {
  private readonly moments: Moment[];
  private at = 0;
  private last: { kind: Kind; time: number } = { kind: "other", time: 0 };
  private recalling = false;

  constructor(private readonly scene: Scene) {
    this.moments = [this.now];
    for (const change of ["moved", "state", "selection"] as const) scene.on(change, () => this.note());
  }

  private get now(): Moment {
    return { state: this.scene.state, selected: this.scene.selected };
  }

  private note(): void {
    if (this.recalling) return;
    const { now, moments } = this;
    const kind = difference(moments[this.at], now);
    if (kind === null) return;
    const time = performance.now();
    const goesOn = kind === this.last.kind && time - this.last.time < PAUSE_MS[kind] && this.at > 0;
    this.last = { kind, time };
    if (!goesOn) this.at++;
    moments.splice(this.at, Number.POSITIVE_INFINITY, now);
    if (moments.length > MOST) moments.shift();
    this.at = moments.length - 1;
  }

  /** One step back (-1) or forth (1); says so where there is none. */
  go(by: -1 | 1): void {
    const next = this.moments[this.at + by];
    if (!next) {
      this.scene.say(by < 0 ? "nothing to undo" : "nothing to redo");
      return;
    }
    this.at += by;
    this.last = { kind: "other", time: 0 };
    this.recalling = true;
    this.scene.recall(next.state, next.selected);
    this.recalling = false;
    this.moments[this.at] = this.now; // the same in new objects
  }
}

/** What two moments differ in; null where they do not. */
function difference(a: Moment, b: Moment): Kind | null {
  const keys = (Object.keys(a.state) as (keyof State)[]).filter((key) => a.state[key] !== b.state[key]);
  if (!keys.length && a.selected === b.selected) return null;
  if (a.selected !== b.selected) return "other";
  if (keys.every((key) => key === "span" || key === "scroll")) return "moved";
  return keys.every((key) => key === "query") ? "query" : "other";
}
