// Several launches on one axis: each has a section of it, one after the other, and counts its time from its own start.

import type { Events } from "./events";
import type { Span, Unit } from "./span";
import type { LaunchFacts } from "./wire";

/** The part of the axis that a launch takes; `zero` is where its own time 0 is. */
export interface Section extends Span {
  readonly launch: number;
  readonly zero: number;
}

/** The gap between two launches, at most, as a share of the time of all: it may be seconds, and they microseconds. */
const GAP = 0.04;
/** Time 0 belongs to a launch whose events begin no later than this share of their length. */
const NEAR = 0.25;

/** The launches that are not hidden, in their order; in ns, a gap that is known and short is as it was. */
export function sections(
  events: Events,
  unit: Unit,
  launches: readonly LaunchFacts[],
  hidden: ReadonlySet<number>,
): Section[] {
  const spans = spansOf(events, unit);
  const shown = launches.flatMap((facts) => {
    const span = spans.get(facts.launch);
    return span && !hidden.has(facts.launch) ? [{ facts, ...span }] : [];
  });
  const most = GAP * shown.reduce((sum, { from, to }) => sum + to - from, 0);
  let at = shown.length ? shown[0].from : 0;
  return shown.map(({ facts, from, to }, n) => {
    if (n > 0) {
      const before = shown[n - 1];
      const [begin, end] = [facts.begin_ns, before.facts.begin_ns];
      const known = unit === "ns" && begin !== null && end !== null ? begin + from - (end + before.to) : most;
      at += known > 0 ? Math.min(known, most) : most;
    }
    const section = { launch: facts.launch, from: at, to: at + to - from, zero: at - from };
    at = section.to;
    return section;
  });
}

/** From the first begin to the last end of every launch, in its own time. */
function spansOf(events: Events, unit: Unit): Map<number, Span> {
  const found = new Map<number, Span>();
  const origin = Number(events.origin);
  for (let row = 0; row < events.rowLane.length; row++) {
    const [first, end] = [events.rowStart[row], events.rowStart[row + 1]];
    const { launch, nsOffset, nsRate } = events.lanes[events.rowLane[row]];
    if (first === end || launch === null) continue;
    const [offset, rate] = unit === "ns" ? [nsOffset, nsRate] : [origin, 1];
    const known = found.get(launch);
    const [from, to] = [offset + rate * events.start[first], offset + rate * events.lastEnd(row)];
    found.set(launch, { from: Math.min(known?.from ?? from, from), to: Math.max(known?.to ?? to, to) });
  }
  for (const [launch, { from, to }] of found)
    if (from > 0 && from <= NEAR * (to - from)) found.set(launch, { from: 0, to });
  return found;
}

/** The section that a time of the axis is in, or in front of which it is. */
export function sectionAt(sections: readonly Section[], time: number): Section {
  return sections.findLast((each) => each.from <= time) ?? sections[0];
}
