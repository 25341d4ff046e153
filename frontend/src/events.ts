// All events of a trace as flat columns, in drawing order: lane by lane, row by row, by start.

import { MOST_ROWS, stack } from "./stack";
import { INSTANT, type Numbers, PAYLOAD, PAYLOAD_END, TRUNCATED, type Wire } from "./wire";

/** One track: a thread's lane. `row` is the number of its first row among all rows. */
export interface Lane {
  readonly index: number;
  /** The process under torchrun that it is of; `null` where there is but one. */
  readonly rank: number | null;
  /** The launch that it is of; `null` where there is but one. */
  readonly launch: number | null;
  /** The kernel of that launch; empty where there is but one. */
  readonly kernel: string;
  readonly cta: number;
  readonly block: readonly [number, number, number];
  readonly thread: number;
  readonly sm: number;
  readonly group: string;
  readonly role: string;
  readonly name: string;
  readonly row: number;
  readonly rows: number;
  readonly ctaCycles: number;
  /** ns = nsOffset + nsRate * cycles since the origin. */
  readonly nsOffset: number;
  readonly nsRate: number;
}

/** Codes of events that a filter hides. */
export const HIDDEN = 255;

export class Events {
  readonly count: number;
  /** Cycles since `origin`. Exact. */
  readonly start: Float64Array;
  readonly duration: Numbers;
  readonly site: Numbers;
  readonly flags: Numbers;
  readonly payload: Numbers | BigInt64Array;
  readonly payloadEnd: Numbers | BigInt64Array;
  /** Position in the frame in Python, by position here. */
  readonly id: Uint32Array;
  readonly lanes: Lane[];
  /** Events of row r are rowStart[r] .. rowStart[r + 1]. */
  readonly rowStart: Uint32Array;
  readonly rowLane: Uint32Array;
  /** What an event is painted as: a number of a colour, or HIDDEN. Written by paint codes, read by drawing. */
  readonly code: Uint8Array;
  readonly siteName: Numbers;
  readonly siteSource: Numbers;
  readonly names: string[];
  readonly sources: string[];
  readonly origin: bigint;
  /** Ends of all events: the least start is 0. */
  readonly cycles: number;
  readonly flowSrc: Uint32Array;
  readonly flowDst: Uint32Array;
  private inverse: Uint32Array | null = null;
  private busyRows: Float64Array | null = null;
  private latestEnds = new Map<number, Float64Array>();

  constructor(wire: Wire) {
    const { header } = wire;
    const count = header.events;
    const gap = wire.get("gap");
    const duration = wire.get("duration");
    const first = wire.get("lane_first");
    const perLane = wire.get("lane_count");
    const start = new Float64Array(count);
    const row = new Uint8Array(count);
    const rows = new Uint8Array(perLane.length);
    let most = 1;
    for (let lane = 0, i = 0; lane < perLane.length; lane++) {
      const from = i;
      const to = i + perLane[lane];
      for (let at = first[lane]; i < to; i++) {
        at += gap[i];
        start[i] = at;
      }
      rows[lane] = stack(start, duration, from, to, row);
      most = Math.max(most, rows[lane]);
    }
    this.count = count;
    this.names = header.names;
    this.sources = header.sources;
    this.origin = BigInt(header.origin);
    this.siteName = wire.get("site_name");
    this.siteSource = wire.get("site_source");
    this.lanes = lanesOf(wire, rows);
    const total = this.lanes.reduce((sum, lane) => sum + lane.rows, 0);
    this.rowStart = new Uint32Array(total + 1);
    this.rowLane = new Uint32Array(total);
    for (const lane of this.lanes) this.rowLane.fill(lane.index, lane.row, lane.row + lane.rows);
    const place = most > 1 ? this.placeByRow(perLane, row) : null;
    if (!place) for (let lane = 0, i = 0; lane < perLane.length; lane++) this.rowStart[lane + 1] = i += perLane[lane];

    this.start = moved(start, place);
    this.duration = moved(duration, place);
    this.site = moved(wire.get("site"), place);
    this.flags = moved(wire.get("flags"), place);
    this.payload = moved(wire.columns.get("payload")!, place);
    this.payloadEnd = moved(payloadEnds(wire), place);
    if (sameValues(this.payload, this.payloadEnd)) this.payloadEnd = this.payload;
    const id = wire.find("id");
    const positions = id ? Uint32Array.from(id) : Uint32Array.from({ length: count }, (_, i) => i);
    this.id = moved(positions, place);
    this.code = new Uint8Array(count);
    let cycles = 0;
    for (let i = 0; i < count; i++) cycles = Math.max(cycles, this.start[i] + this.duration[i]);
    this.cycles = cycles;
    [this.flowSrc, this.flowDst] = flowsOf(wire, place);
  }

  /** Fills `rowStart`; where each event of the wire goes. */
  private placeByRow(perLane: Numbers, row: Uint8Array): Uint32Array {
    const place = new Uint32Array(row.length);
    const next = new Uint32Array(MOST_ROWS);
    for (let lane = 0, from = 0; lane < perLane.length; lane++) {
      const { row: firstRow, rows } = this.lanes[lane];
      const to = from + perLane[lane];
      next.fill(0);
      for (let i = from; i < to; i++) next[row[i]]++;
      for (let r = 0, at = from; r < rows; r++) {
        const size = next[r];
        next[r] = at;
        at += size;
        this.rowStart[firstRow + r + 1] = at;
      }
      for (let i = from; i < to; i++) place[i] = next[row[i]]++;
      from = to;
    }
    return place;
  }

  end(i: number): number {
    return this.start[i] + this.duration[i];
  }

  name(i: number): string {
    return this.names[this.siteName[this.site[i]]];
  }

  nameCode(i: number): number {
    return this.siteName[this.site[i]];
  }

  source(i: number): string {
    return this.sources[this.siteSource[this.site[i]]];
  }

  isInstant(i: number): boolean {
    return (this.flags[i] & INSTANT) !== 0;
  }

  isTruncated(i: number): boolean {
    return (this.flags[i] & TRUNCATED) !== 0;
  }

  payloadOf(i: number): number | bigint | undefined {
    return this.flags[i] & PAYLOAD ? this.payload[i] : undefined;
  }

  payloadEndOf(i: number): number | bigint | undefined {
    return this.flags[i] & PAYLOAD_END ? this.payloadEnd[i] : undefined;
  }

  /** The row (of all rows) that event `i` is in. */
  rowOf(i: number): number {
    return upperBound(this.rowStart, i, 0, this.rowStart.length) - 1;
  }

  laneOf(i: number): Lane {
    return this.lanes[this.rowLane[this.rowOf(i)]];
  }

  /**
   * The first event of row `row` that ends at `cycle` or later; the row's end where none does. In the shared row of a
   * crowded lane, some after it may end earlier.
   */
  firstEndingFrom(row: number, cycle: number): number {
    const from = this.rowStart[row];
    const to = this.rowStart[row + 1];
    if (this.isCrowded(row)) return from + lowerBound(this.latest(row), cycle, 0, to - from);
    let i = upperBound(this.start, cycle, from, to);
    while (i > from && this.end(i - 1) >= cycle) i--;
    return i;
  }

  /** Cycles that the events of each row take. */
  get busy(): Float64Array {
    if (this.busyRows) return this.busyRows;
    const found = new Float64Array(this.rowLane.length);
    for (let row = 0; row < found.length; row++)
      for (let i = this.rowStart[row]; i < this.rowStart[row + 1]; i++) found[row] += this.duration[i];
    this.busyRows = found;
    return found;
  }

  /** When the last event of a row ends that is not empty. */
  lastEnd(row: number): number {
    const last = this.rowStart[row + 1] - 1;
    return this.isCrowded(row) ? this.latest(row)[last - this.rowStart[row]] : this.end(last);
  }

  /** For every event of a row, the latest end of it and of those before it: it never falls, so it can be searched. */
  private latest(row: number): Float64Array {
    let known = this.latestEnds.get(row);
    if (!known) {
      const from = this.rowStart[row];
      known = new Float64Array(this.rowStart[row + 1] - from);
      for (let n = 0, end = Number.NEGATIVE_INFINITY; n < known.length; n++)
        known[n] = end = Math.max(end, this.end(from + n));
      this.latestEnds.set(row, known);
    }
    return known;
  }

  /** Whether events of a row may overlap: they share the last row of a lane that has too many at a time. */
  isCrowded(row: number): boolean {
    const lane = this.lanes[this.rowLane[row]];
    return row - lane.row === MOST_ROWS - 1;
  }

  /** The position here of the event at a position in the frame. */
  positionOf(id: number): number {
    if (!this.inverse) {
      this.inverse = new Uint32Array(this.count);
      for (let i = 0; i < this.count; i++) this.inverse[this.id[i]] = i;
    }
    return this.inverse[id];
  }

  /** The same events at other times, which may change while they keep the order of their rows; and on other clocks. */
  at(
    start: Float64Array,
    duration: Float64Array,
    clocks: Partial<Pick<Events, "origin" | "cycles" | "lanes">> = {},
  ): Events {
    const own = { start, duration, code: new Uint8Array(this.count), latestEnds: new Map(), ...clocks };
    return Object.assign(Object.create(Events.prototype) as Events, this, own);
  }

  /** The times have changed. */
  retimed(): void {
    this.latestEnds.clear();
  }

  /** Bytes held for the events. */
  get bytes(): number {
    const columns = new Set<ArrayBufferView>([
      this.start,
      this.duration,
      this.site,
      this.flags,
      this.payload,
      this.payloadEnd,
      this.id,
      this.code,
      this.rowStart,
      this.rowLane,
      this.flowSrc,
      this.flowDst,
    ]);
    if (this.inverse) columns.add(this.inverse);
    for (const ends of this.latestEnds.values()) columns.add(ends);
    return [...columns].reduce((sum, column) => sum + column.byteLength, 0);
  }
}

/** The events of a row, but for hidden ones, that touch the cycles `from`..`to`, which is itself not part of it. */
export function* eventsBetween(events: Events, row: number, from: number, to: number): Generator<number> {
  const first = events.firstEndingFrom(row, from);
  const last = lowerBound(events.start, to, first, events.rowStart[row + 1]);
  for (let i = first; i < last; i++) if (events.code[i] !== HIDDEN && events.end(i) >= from) yield i;
}

/** The first index in `from`..`to` whose value is above `value`. */
export function upperBound(values: { readonly [i: number]: number }, value: number, from: number, to: number): number {
  while (from < to) {
    const middle = (from + to) >>> 1;
    if (values[middle] > value) to = middle;
    else from = middle + 1;
  }
  return from;
}

/** The first index in `from`..`to` whose value is at least `value`. */
export function lowerBound(values: { readonly [i: number]: number }, value: number, from: number, to: number): number {
  while (from < to) {
    const middle = (from + to) >>> 1;
    if (values[middle] >= value) to = middle;
    else from = middle + 1;
  }
  return from;
}

function lanesOf(wire: Wire, rows: Uint8Array): Lane[] {
  const { header } = wire;
  const column = (name: string) => wire.get(`lane_${name}`);
  const [cta, x, y, z] = ["cta", "block_x", "block_y", "block_z"].map(column);
  const [thread, sm, group, role] = ["thread", "sm", "group", "role"].map(column);
  const [name, ctaCycles] = ["lane", "cta_cycles"].map(column);
  const rank = wire.find("lane_rank");
  const launch = wire.find("lane_launch");
  const kernels = new Map(header.launches.map((facts) => [facts.launch, facts.kernel]));
  const offset = wire.find("lane_ns_offset");
  const rate = wire.find("lane_ns_rate");
  let row = 0;
  return Array.from(rows, (own, index) => {
    const lane = {
      index,
      rank: rank ? rank[index] : null,
      launch: launch ? launch[index] : null,
      kernel: (launch && kernels.get(launch[index])) || "",
      cta: cta[index],
      block: [x[index], y[index], z[index]] as const,
      thread: thread[index],
      sm: sm[index],
      group: header.groups[group[index]],
      role: header.roles[role[index]],
      name: header.lane_names[name[index]],
      row,
      rows: own,
      ctaCycles: ctaCycles[index],
      nsOffset: offset ? offset[index] : 0,
      nsRate: rate ? rate[index] : 1,
    };
    row += own;
    return lane;
  });
}

function moved<T extends Numbers | BigInt64Array>(values: T, place: Uint32Array | null): T {
  if (!place) return values;
  const target = new (values.constructor as new (length: number) => T)(values.length);
  for (let i = 0; i < values.length; i++) target[place[i]] = values[i];
  return target;
}

function payloadEnds(wire: Wire): Numbers | BigInt64Array {
  const begin = wire.columns.get("payload")!;
  const change = wire.columns.get("change");
  if (change) {
    const big = begin instanceof BigInt64Array || change instanceof BigInt64Array;
    if (big) return BigInt64Array.from(begin as ArrayLike<bigint>, (value, i) => BigInt(value) + BigInt(change[i]));
    const ends = new Float64Array(begin.length);
    for (let i = 0; i < ends.length; i++) ends[i] = Number(begin[i]) + Number(change[i]);
    return ends.every((value) => value === (value | 0)) ? Int32Array.from(ends) : ends;
  }
  const ends = Float64Array.from(begin as Float64Array);
  const words = new Uint32Array(ends.buffer);
  const low = wire.get("change_low");
  const high = wire.get("change_high");
  for (let i = 0; i < ends.length; i++) {
    words[2 * i] ^= low[i];
    words[2 * i + 1] ^= high[i];
  }
  return ends;
}

function sameValues(a: Numbers | BigInt64Array, b: Numbers | BigInt64Array): boolean {
  for (let i = 0; i < a.length; i++) if (!Object.is(a[i], b[i])) return false;
  return true;
}

/** Arrows as positions of events, sorted by their source. */
function flowsOf(wire: Wire, place: Uint32Array | null): [Uint32Array, Uint32Array] {
  const [src, dst] = ["flow_src", "flow_dst"].map((name) => {
    const ends = Uint32Array.from(wire.get(name));
    return place ? ends.map((i) => place[i]) : ends;
  });
  const order = Uint32Array.from(src, (_, i) => i).sort((a, b) => src[a] - src[b] || dst[a] - dst[b]);
  return [order.map((i) => src[i]), order.map((i) => dst[i])];
}
