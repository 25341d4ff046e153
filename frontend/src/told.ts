// Python's end: what a reader changes is told there, what comes from there is carried out and not told back.

import { fromRuns, toRuns } from "./ids";
import type { Scene } from "./scene";
import { type Saved, save } from "./state";

const LATER_MS = 200;

export interface Listener {
  /** Told, a moment later, how the view was changed. */
  onView?(view: Required<Saved>): void;
  /** Told which events are selected: runs of positions in the frame, (first, how many) as uint32. */
  onSelection?(runs: Uint32Array): void;
}

export class Told {
  private later = 0;
  /** While Python's wishes are carried out. */
  private quiet = false;
  private changed = false;

  /** `settled` is called a moment after anything was changed, and at first. */
  constructor(
    private readonly scene: Scene,
    private readonly listener: Listener,
    private readonly settled: () => void,
    signal: AbortSignal,
  ) {
    scene.on("selection", () => this.tellSelection());
    for (const change of ["state", "moved"] as const)
      scene.on(change, () => {
        this.changed ||= !this.quiet;
        this.soon();
      });
    signal.addEventListener("abort", () => clearTimeout(this.later));
    this.soon();
  }

  private soon(): void {
    clearTimeout(this.later);
    this.later = window.setTimeout(() => {
      this.settled();
      if (this.changed) this.listener.onView?.(save(this.scene.state));
      this.changed = false;
    }, LATER_MS);
  }

  private tellSelection(): void {
    if (this.quiet || !this.listener.onSelection) return;
    const { selected, events } = this.scene;
    try {
      this.listener.onSelection(selected ? toRuns(selected.map((i) => events.id[i])) : new Uint32Array(0));
    } catch (error) {
      this.scene.say((error as Error).message);
    }
  }

  /** Take over a saved view. */
  setView(saved: Saved): void {
    const now = save(this.scene.state);
    if (JSON.stringify(now) === JSON.stringify({ ...now, ...saved })) return;
    this.quiet = true;
    this.scene.restore(saved);
    this.quiet = false;
  }

  /** Select these runs of positions in the frame. */
  setSelection(runs: Uint8Array): void {
    const { scene } = this;
    const positions = fromRuns(runs)
      .map((id) => scene.events.positionOf(id))
      .sort();
    if (sameNumbers(positions, scene.selected ?? new Uint32Array(0))) return;
    this.quiet = true;
    scene.area = null;
    scene.select(positions.length ? positions : null);
    this.quiet = false;
  }
}

function sameNumbers(a: Uint32Array, b: Uint32Array): boolean {
  return a.length === b.length && a.every((value, i) => value === b[i]);
}
