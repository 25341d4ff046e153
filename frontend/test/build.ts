// Events made by hand, and from there the wire that Python would have sent.

import { Events } from "../src/events";
import { type ColumnSpec, type Header, INSTANT, PAYLOAD, PAYLOAD_END, Wire } from "../src/wire";

export interface Made {
  readonly name?: string;
  readonly start: number;
  readonly duration?: number;
  readonly rank?: number;
  readonly launch?: number;
  readonly cta?: number;
  readonly thread?: number;
  readonly sm?: number;
  readonly lane?: string;
  readonly payload?: number;
  readonly end?: number;
  readonly instant?: boolean;
}

const PALETTE = Array.from({ length: 24 }, (_, i) => `#${(i * 10 + 16).toString(16)}4080`);

/** The wire of some events, and of arrows between them (positions in the given order). */
export function wireOf(made: readonly Made[], flows: readonly (readonly [number, number])[] = [], origin = "0"): Wire {
  const key = (event: Made) =>
    `${event.rank ?? event.launch ?? 0}|${event.cta ?? 0}|${event.thread ?? 0}|${event.lane ?? "main"}`;
  const lanes = [...new Set(made.map(key))].sort();
  const number = new Map(lanes.map((lane, n) => [lane, n]));
  const order = made
    .map((_, i) => i)
    .sort((i, j) => {
      const [a, b] = [made[i], made[j]];
      return number.get(key(a))! - number.get(key(b))! || a.start - b.start || (b.duration ?? 0) - (a.duration ?? 0);
    });
  const events = order.map((i) => made[i]);
  const names = [...new Set(made.map((event) => event.name ?? "a"))];
  const laneNames = [...new Set(made.map((event) => event.lane ?? "main"))];
  const ofLane = new Map<string, Made[]>(lanes.map((lane) => [lane, []]));
  for (const event of events) ofLane.get(key(event))!.push(event);
  const first = lanes.map((lane) => ofLane.get(lane)![0]);
  const columns: Record<string, number[]> = {
    gap: events.map((event, i) => (i > 0 && key(events[i - 1]) === key(event) ? event.start - events[i - 1].start : 0)),
    duration: events.map((event) => event.duration ?? 0),
    site: events.map((event) => names.indexOf(event.name ?? "a")),
    flags: events.map(
      (event) =>
        (event.instant ? INSTANT : 0) |
        (event.payload === undefined ? 0 : PAYLOAD) |
        (event.end === undefined ? 0 : PAYLOAD_END),
    ),
    payload: events.map((event) => event.payload ?? 0),
    change: events.map((event) => (event.end === undefined ? 0 : event.end - (event.payload ?? 0))),
    id: order,
    site_name: names.map((_, i) => i),
    site_source: names.map(() => 0),
    lane_first: first.map((event) => event.start),
    lane_count: lanes.map((lane) => ofLane.get(lane)!.length),
    ...(made.some((event) => event.rank !== undefined) ? { lane_rank: first.map((event) => event.rank ?? 0) } : {}),
    ...(made.some((event) => event.launch) ? { lane_launch: first.map((event) => event.launch ?? 0) } : {}),
    lane_cta: first.map((event) => event.cta ?? 0),
    lane_block_x: first.map((event) => event.cta ?? 0),
    lane_block_y: first.map(() => 0),
    lane_block_z: first.map(() => 0),
    lane_thread: first.map((event) => event.thread ?? 0),
    lane_sm: first.map((event) => event.sm ?? 0),
    lane_group: first.map(() => 0),
    lane_role: first.map(() => 0),
    lane_lane: first.map((event) => laneNames.indexOf(event.lane ?? "main")),
    lane_cta_cycles: first.map(() => 1000),
    flow_src: flows.map(([src]) => order.indexOf(src)),
    flow_dst: flows.map(([, dst]) => order.indexOf(dst)),
  };
  const specs: ColumnSpec[] = [];
  const bytes: number[] = [];
  for (const [name, values] of Object.entries(columns)) {
    const least = values.reduce((a, b) => Math.min(a, b), 0);
    specs.push({ name, code: "int", width: 4, least: String(least), length: values.length });
    for (let plane = 0; plane < 4; plane++)
      for (const value of values) bytes.push(Math.floor((value - least) / 256 ** plane) % 256);
  }
  const header: Header = {
    version: 1,
    title: "made",
    device: "",
    badge: null,
    room: null,
    losses: "",
    light: [],
    launches: [],
    events: made.length,
    origin,
    ns: false,
    palette: PALETTE,
    names,
    name_color: names.map((_, i) => i),
    sources: ["k.py:1"],
    code: {},
    groups: ["default"],
    roles: [""],
    lane_names: laneNames,
    columns: specs,
  };
  return new Wire(header, Uint8Array.from(bytes));
}

export function eventsOf(made: readonly Made[], flows: readonly (readonly [number, number])[] = []): Events {
  return new Events(wireOf(made, flows));
}

/** A generator of repeatable whole numbers below `n`. */
export function dice(seed: number): (n: number) => number {
  let state = seed >>> 0;
  return (n) => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return Math.floor((state / 2 ** 32) * n);
  };
}

export function randomEvents(seed: number, count: number, longest = 40, lanes = 1): Made[] {
  const roll = dice(seed);
  return Array.from({ length: count }, () => ({
    name: "abcd"[roll(4)],
    start: roll(count * 12),
    duration: roll(5) ? roll(longest) : roll(3),
    thread: roll(lanes) * 32,
  }));
}

/** A lane with many events at a time, among them long ones that begin early. */
export function crowd(seed: number): Events {
  const roll = dice(seed);
  const made = Array.from({ length: 400 }, () => ({
    start: roll(60),
    duration: roll(8) ? roll(20) : 200 + roll(3000),
  }));
  return eventsOf([...made, ...randomEvents(seed, 300, 30)]);
}
