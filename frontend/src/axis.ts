// Time on the screen: the unit, the part in view, and where ticks stand.

import type { Events, Lane } from "./events";
import { number, UNITS } from "./format";
import { type Section, sectionAt, sections } from "./sections";
import type { Span, Unit } from "./span";
import type { LaunchFacts } from "./wire";

export type { Span, Unit } from "./span";

/** How cycles of a lane map to the axis: offset + rate * cycles. */
export interface Line {
  readonly offset: number;
  readonly rate: number;
}

const SAME: Line = { offset: 0, rate: 1 };
/** Time 0, where CTAs enter, is part of the whole where the events begin no later than this share of their length. */
const NEAR = 0.25;
/** The least that a view shows, in units of the axis. */
const LEAST = 8;
const FAR = 2 ** 40;

export class Axis {
  readonly whole: Span;
  /** What stands before the axis's own zero, for labels. */
  readonly origin: bigint;
  /** The launches that are shown, where there are several: each counts its own time. */
  readonly sections: readonly Section[];
  private readonly shifts: ReadonlyMap<number, number>;

  /** The axis has room for `events`, for those of `beside`, and for `room`, a part of the axis of other events. */
  constructor(
    private readonly events: Events,
    readonly unit: Unit,
    beside: Events | null = null,
    room: Span | null = null,
    launches: readonly LaunchFacts[] = [],
    hidden: ReadonlySet<number> = new Set(),
  ) {
    this.sections = sections(events, unit, launches, hidden);
    const before = unit === "cycles" ? Number(events.origin) : 0;
    this.shifts = new Map(this.sections.map(({ launch, zero }) => [launch, zero + before]));
    if (this.sections.length) {
      this.origin = 0n;
      this.whole = { from: this.sections[0].from, to: this.sections[this.sections.length - 1].to };
    } else if (unit === "cycles") {
      this.origin = events.origin;
      const offset = beside ? Number(beside.origin - events.origin) : 0;
      const own = join({ from: 0, to: events.cycles }, beside && { from: offset, to: offset + beside.cycles });
      const origin = Number(events.origin);
      this.whole = withZero(join(own, room && { from: room.from - origin, to: room.to - origin }), -origin);
    } else {
      // Nanoseconds are counted from the first event where they are so many that a double has no digits left for it.
      const { from, to } = join(join(extentNs(events), beside && extentNs(beside)), room);
      const base = Math.abs(from) < FAR ? 0 : Math.floor(from);
      this.origin = BigInt(base);
      this.whole = withZero({ from: from - base, to: to - base }, -base);
    }
  }

  line(lane: Lane): Line {
    const shift = lane.launch === null ? 0 : (this.shifts.get(lane.launch) ?? 0);
    if (this.unit === "ns") return { offset: lane.nsOffset - Number(this.origin) + shift, rate: lane.nsRate };
    return shift ? { offset: shift, rate: 1 } : SAME;
  }

  /** The same for a lane of other events, which may be counted from another origin. */
  lineOf(other: Events, lane: Lane): Line {
    return this.unit === "cycles" ? { offset: Number(other.origin - this.origin), rate: 1 } : this.line(lane);
  }

  startOf(i: number): number {
    const { offset, rate } = this.line(this.events.laneOf(i));
    return offset + rate * this.events.start[i];
  }

  endOf(i: number): number {
    const { offset, rate } = this.line(this.events.laneOf(i));
    return offset + rate * this.events.end(i);
  }

  /** All events, with a little room on both sides. */
  get all(): Span {
    const { from, to } = this.whole;
    const room = Math.max((to - from) * 0.01, 0.5);
    return { from: from - room, to: to + room };
  }

  /** `span` with a width that makes sense, and no further from the events than its own width. */
  fit(span: Span): Span {
    const all = this.all;
    const most = (all.to - all.from) * 1.2;
    const width = Math.min(Math.max(span.to - span.from, Math.min(LEAST, most)), most);
    const middle = (span.from + span.to) / 2;
    let from = width === span.to - span.from ? span.from : middle - width / 2;
    from = Math.min(Math.max(from, all.from - width * 0.8), all.to - width * 0.2);
    return { from, to: from + width };
  }

  /** `span` made `factor` times as wide, with the point at `share` of it staying where it is. */
  zoom(span: Span, factor: number, share: number): Span {
    const width = span.to - span.from;
    const most = (this.all.to - this.all.from) * 1.2;
    const next = Math.min(Math.max(width * factor, Math.min(LEAST, most)), most);
    const from = span.from + share * (width - next);
    return this.fit({ from, to: from + next });
  }

  /** Where ticks stand in `span`: at round times of the launch, or of all. */
  ticks(span: Span, step: number): number[] {
    if (!this.sections.length) return ticks(span, step, this.origin);
    return this.sections.flatMap(({ from, to, zero }) => {
      const [low, high] = [Math.max(from, span.from), Math.min(to, span.to)];
      return low < high ? ticks({ from: low - zero, to: high - zero }, step, 0n).map((time) => time + zero) : [];
    });
  }

  /** A time of the axis as text, with the digits that a step of `step` needs. */
  label(time: number, step: number): string {
    const value = this.sections.length ? time - sectionAt(this.sections, time).zero : time;
    if (this.unit === "cycles") return number(this.origin + BigInt(Math.round(value)));
    const { size, unit } = UNITS.find((each) => step >= each.size) ?? UNITS[2];
    const digits = Math.max(0, Math.min(3, Math.ceil(-Math.log10(step / size) - 1e-9)));
    return `${number((Number(this.origin) + value) / size, digits)} ${unit}`;
  }
}

function join(a: Span, b: Span | null): Span {
  return b ? { from: Math.min(a.from, b.from), to: Math.max(a.to, b.to) } : a;
}

/** `span`, from time 0 at `zero` where that is near. */
function withZero({ from, to }: Span, zero: number): Span {
  return zero < from && from - zero <= NEAR * (to - from) ? { from: zero, to } : { from, to };
}

function extentNs(events: Events): Span {
  let from = Number.POSITIVE_INFINITY;
  let to = Number.NEGATIVE_INFINITY;
  for (let row = 0; row < events.rowLane.length; row++) {
    const first = events.rowStart[row];
    const end = events.rowStart[row + 1];
    if (first === end) continue;
    const { nsOffset, nsRate } = events.lanes[events.rowLane[row]];
    from = Math.min(from, nsOffset + nsRate * events.start[first]);
    to = Math.max(to, nsOffset + nsRate * events.lastEnd(row));
  }
  return from <= to ? { from, to } : { from: 0, to: 1 };
}

/** A round step, such that at most `most` ticks stand in a span. */
export function tickStep(span: Span, most: number, whole: boolean): number {
  const rough = (span.to - span.from) / Math.max(most, 1);
  const size = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((n) => n * size).find((n) => n >= rough) ?? 10 * size;
  return whole ? Math.max(1, Math.round(step)) : step;
}

/** Multiples of `step` in `span`, counted from `-origin`, so that labels are round. */
export function ticks(span: Span, step: number, origin: bigint): number[] {
  const shift = Number(origin % BigInt(Math.max(1, Math.round(step))));
  const found: number[] = [];
  const first = Math.ceil((span.from + shift) / step);
  const last = Math.floor((span.to + shift) / step);
  for (let n = 0; n <= last - first; n++) found.push((first + n) * step - shift);
  return found;
}
