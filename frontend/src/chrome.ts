// Events as Chrome's JSON trace events, which Perfetto opens, too. They are laid out as by `tltrace_nb.export.chrome`: an SM
// is a process, a track a thread of it, notes are a process of their own, and what crosses is on tracks that nest.

import { Axis } from "./axis";
import type { Events, Lane } from "./events";
import type { Remark } from "./remarks";
import type { Scene } from "./scene";

type Event = Readonly<Record<string, unknown>>;
interface Place {
  readonly pid: number;
  readonly tid: number;
}
interface Step {
  readonly i: number;
  readonly ends: boolean;
}

/** The events at `positions`, the arrows between them, and the notes, as the text of a file. */
export function chromeTrace(scene: Scene, positions: Iterable<number>, remarks: readonly Remark[]): string {
  const { events, header, state } = scene;
  const unit = header.ns ? "ns" : "cycles";
  const axis = new Axis(events, unit, null, null, header.launches, new Set(state.hiddenLaunches));
  const byLane = new Map<Lane, number[]>();
  let first = 0;
  for (const i of positions) {
    const lane = events.laneOf(i);
    const list = byLane.get(lane);
    if (list) list.push(i);
    else byLane.set(lane, [i]);
    first = Math.min(first, Number(axis.origin) + axis.startOf(i));
  }
  /** µs of a time of the axis; no file has times below zero. */
  const stamp = (time: number) => Math.max(Math.round(Number(axis.origin) + time - first), 0) / 1000;
  const lanes = [...byLane].sort(([a], [b]) => a.index - b.index);
  const names = [...new Set([...byLane.keys()].sort(bySm).map(processName))];
  const found = names.flatMap((name, n) => named("process", { pid: n + 1, tid: 0 }, name, n + 1));
  const arrows = arrowsOf(events, new Set([...byLane.values()].flat()));
  let tid = 0;
  for (const [lane, own] of lanes) {
    for (const [sub, steps] of nested(events, own).entries()) {
      const place = { pid: names.indexOf(processName(lane)) + 1, tid: ++tid };
      found.push(...named("thread", place, threadName(lane, sub), tid));
      for (const { i, ends } of steps) {
        const at = { ts: stamp(ends ? axis.endOf(i) : axis.startOf(i)), ...place };
        const joined = (arrows.get(i) ?? [])
          .filter((each) => each.atEnd === ends)
          .map(({ arrow }) => ({ ...arrow, ...at }));
        // An arrow belongs to the slice that is open where it stands.
        found.push(...(ends ? [...joined, { ph: "E", ...at }] : [{ ...begin(events, i), ...at }, ...joined]));
      }
    }
  }
  found.push(...notes(scene, axis, remarks, stamp, names.length + 1));
  const otherData = {
    kernel: header.title,
    gpu: header.device,
    trust: header.badge?.why ?? "",
    time_unit: header.ns ? "ns" : "cycles, the clock rate being unknown; readers call them ns",
  };
  return JSON.stringify({ displayTimeUnit: "ns", otherData, traceEvents: found });
}

function bySm(a: Lane, b: Lane): number {
  return (a.launch ?? a.rank ?? 0) - (b.launch ?? b.rank ?? 0) || a.sm - b.sm;
}

function processName({ rank, launch, sm }: Lane): string {
  const part = rank !== null ? `rank ${rank}` : launch !== null ? `launch ${launch}` : "";
  return [part, sm >= 0 ? `SM ${sm}` : "SM unknown"].filter(Boolean).join(" · ");
}

function threadName({ cta, thread, name, group, role }: Lane, sub: number): string {
  const more = [...new Set([group, role])].filter((word) => word && word !== "default").join(", ");
  return `CTA ${cta} · t${thread} · ${name}${more ? ` (${more})` : ""}${sub ? ` · row ${sub + 1}` : ""}`;
}

function named(what: "process" | "thread", place: Place, name: string, rank: number): Event[] {
  return [
    { ph: "M", name: `${what}_name`, ...place, args: { name } },
    { ph: "M", name: `${what}_sort_index`, ...place, args: { sort_index: rank } },
  ];
}

/** What begins an event, or is an instant. */
function begin(events: Events, i: number): Event {
  const instant = events.isInstant(i);
  const [payload, end] = [events.payloadOf(i), events.payloadEndOf(i)];
  const args = {
    start_cycles: Number(events.origin + BigInt(events.start[i])),
    source: events.source(i),
    ...(payload === undefined ? {} : { payload: plain(payload) }),
    ...(instant ? {} : { duration_cycles: events.duration[i] }),
    ...(instant || end === undefined || Object.is(end, payload) ? {} : { payload_end: plain(end) }),
    ...(events.isTruncated(i) ? { truncated: true } : {}),
  };
  return { ...(instant ? { ph: "i", s: "t" } : { ph: "B" }), name: events.name(i), args };
}

/** A payload as JSON has it, which has no NaN and no infinities. */
function plain(value: number | bigint): number | string {
  const number = Number(value);
  return Number.isFinite(number) ? number : String(number);
}

/** Begins and ends of ranges, and instants, of a lane, on as many tracks as it takes for each to nest. */
function nested(events: Events, own: number[]): Step[][] {
  const { start, duration, id } = events;
  const tracks: { steps: Step[]; open: number[] }[] = [{ steps: [], open: [] }];
  own.sort((a, b) => start[a] - start[b] || duration[b] - duration[a] || id[a] - id[b]);
  for (const i of own) {
    for (const { steps, open } of tracks)
      while (open.length && events.end(open[open.length - 1]) <= start[i]) steps.push({ i: open.pop()!, ends: true });
    const top = ({ open }: { open: number[] }) => open[open.length - 1];
    const around = tracks.filter((each) => each.open.length && events.end(top(each)) >= events.end(i));
    let track = around.sort((a, b) => start[top(b)] - start[top(a)])[0] ?? tracks.find(({ open }) => !open.length);
    if (!track) {
      track = { steps: [], open: [] };
      tracks.push(track);
    }
    track.steps.push({ i, ends: false });
    if (!events.isInstant(i)) track.open.push(i);
  }
  for (const { steps, open } of tracks) while (open.length) steps.push({ i: open.pop()!, ends: true });
  return tracks.map(({ steps }) => steps);
}

/** What stands at the begin or the end of events for the arrows between those that are `there`: from begin to begin, in order. */
function arrowsOf(events: Events, there: ReadonlySet<number>): Map<number, { arrow: Event; atEnd: boolean }[]> {
  const found = new Map<number, { arrow: Event; atEnd: boolean }[]>();
  const add = (i: number, arrow: Event, atEnd: boolean) => {
    found.set(i, [...(found.get(i) ?? []), { arrow, atEnd }]);
  };
  events.flowSrc.forEach((src, n) => {
    const dst = events.flowDst[n];
    if (!there.has(src) || !there.has(dst)) return;
    const arrow = { cat: "dag", name: "dag", id: n + 1 };
    add(src, { ph: "s", ...arrow }, false);
    add(dst, { ph: "f", bp: "e", ...arrow }, !events.isInstant(dst) && events.start[dst] < events.start[src]);
  });
  return found;
}

/** Notes on the CTAs that are there, on rows on which none overlap. */
function notes(
  { events }: Scene,
  axis: Axis,
  remarks: readonly Remark[],
  stamp: (time: number) => number,
  pid: number,
): Event[] {
  const free: number[] = [];
  const found: Event[] = [];
  const placed = remarks.flatMap((remark) => {
    const lane = events.lanes.find(({ cta }) => cta === remark.cta);
    if (!lane) return [];
    const { offset, rate } = axis.line(lane);
    const [from, to] = [remark.start, remark.end].map((cycles) =>
      stamp(offset + rate * (cycles - Number(events.origin))),
    );
    return [{ remark, from, to: Math.max(from, to) }];
  });
  placed.sort((a, b) => a.from - b.from || a.to - b.to);
  for (const { remark, from, to } of placed) {
    const known = free.findIndex((since) => since < from || (since === from && from < to));
    const row = known < 0 ? free.length : known;
    const place = { pid, tid: row + 1 };
    if (known < 0) found.push(...named("thread", place, row ? `notes · row ${row + 1}` : "notes", row + 1));
    free[row] = to;
    const { cta, thread, start, end, text } = remark;
    const args = { cta, start_cycles: start, duration_cycles: end - start, ...(thread >= 0 ? { thread } : {}) };
    if (to > from) found.push({ ph: "B", name: text, ts: from, ...place, args }, { ph: "E", ts: to, ...place });
    else found.push({ ph: "i", s: "t", name: text, ts: from, ...place, args });
  }
  return found.length ? [...named("process", { pid, tid: 0 }, "notes", 0), ...found] : found;
}
