// Level of detail: what a row looks like when many of its events share a pixel.
//
// At level m a row is cut into bins of 2^m cycles. Events shorter than a bin are gathered by bin, with the code that
// takes most time in it; longer ones are listed as they are. For a view whose pixel is at least a bin and less than two,
// both lists together have at most four entries a pixel, however many events there are. Levels are made when a view first
// needs them, exactly, from the events.

import { type Events, HIDDEN } from "./events";

export interface Level {
  readonly size: number;
  /** Per bin that is not empty: start of its first event, its dominant code, cycles taken. */
  readonly at: Float64Array;
  readonly code: Uint8Array;
  readonly busy: Float32Array;
  /** Events of at least a bin's length. */
  readonly long: Uint32Array;
}

const KEPT = 2;

export class Levels {
  private readonly kept = new Map<number, Level[]>();

  constructor(private readonly events: Events) {}

  /** Forget everything: the codes have changed. */
  clear(): void {
    this.kept.clear();
  }

  /** The level of `row` for `cycles` (at least 1) to a pixel. */
  of(row: number, cycles: number): Level {
    const size = 2 ** Math.max(0, Math.floor(Math.log2(cycles)));
    const known = this.kept.get(row) ?? [];
    let level = known.find((each) => each.size === size);
    if (!level) {
      level = build(this.events, row, size);
      this.kept.set(row, [level, ...known].slice(0, KEPT));
    }
    return level;
  }

  get bytes(): number {
    let sum = 0;
    for (const levels of this.kept.values())
      for (const each of levels)
        sum += each.at.byteLength + each.code.byteLength + each.busy.byteLength + each.long.byteLength;
    return sum;
  }
}

export function build(events: Events, row: number, size: number): Level {
  const { start, duration, code } = events;
  const tally = new Tally();
  const at: number[] = [];
  const codes: number[] = [];
  const busy: number[] = [];
  const long: number[] = [];
  let bin = Number.NaN;
  const flush = () => {
    if (tally.empty) return;
    codes.push(tally.dominant);
    busy.push(tally.total);
    tally.clear();
  };
  for (let i = events.rowStart[row]; i < events.rowStart[row + 1]; i++) {
    if (code[i] === HIDDEN) continue;
    if (duration[i] >= size) {
      long.push(i);
      continue;
    }
    const own = Math.floor(start[i] / size);
    if (own !== bin) {
      flush();
      bin = own;
      at.push(start[i]);
    }
    tally.add(code[i], Math.max(duration[i], 1));
  }
  flush();
  return {
    size,
    at: Float64Array.from(at),
    code: Uint8Array.from(codes),
    busy: Float32Array.from(busy),
    long: Uint32Array.from(long),
  };
}

/** Time per code, and which code has most; the least code where several do. */
export class Tally {
  private readonly time = new Float64Array(256);
  private readonly seen: number[] = [];
  total = 0;

  add(code: number, time: number): void {
    if (this.time[code] === 0) this.seen.push(code);
    this.time[code] += time;
    this.total += time;
  }

  get empty(): boolean {
    return this.seen.length === 0;
  }

  get dominant(): number {
    let best = this.seen[0];
    for (const code of this.seen) {
      if (this.time[code] > this.time[best] || (this.time[code] === this.time[best] && code < best)) best = code;
    }
    return best;
  }

  clear(): void {
    for (const code of this.seen) this.time[code] = 0;
    this.seen.length = 0;
    this.total = 0;
  }
}
