// The time of ranges by the ranges that enclose them: over all lanes, what has the same path counts together. What encloses
// what is decided as `tltrace_nb.analysis.nesting` has it.

import type { Axis } from "./axis";
import type { Events, Lane } from "./events";

/** The names of ranges that enclose each other, from the outermost to `name`. Times are in the unit of the axis. */
export interface Path {
  readonly name: number;
  readonly above: Path | null;
  /** By their names. */
  readonly inside: Map<number, Path>;
  count: number;
  total: number;
  /** The part of the total in which no range inside was open. */
  self: number;
}

export interface Nesting {
  readonly roots: readonly Path[];
  /** The path of each event; null for those that are not `wanted`, and for instants. */
  of(i: number): Path | null;
}

/** The paths of the ranges that are `wanted`; what is not encloses nothing. */
export function nest(events: Events, axis: Axis, wanted: (i: number) => boolean): Nesting {
  const roots = new Map<number, Path>();
  const paths: Path[] = [];
  const number = new Map<Path, number>();
  const pathOf = new Int32Array(events.count).fill(-1);
  for (const lane of events.lanes) {
    const { rate } = axis.line(lane);
    const open: { path: Path; end: number; until: number }[] = [];
    for (const i of inOrder(events, lane, wanted)) {
      const [start, end] = [events.start[i], events.end(i)];
      while (open.length && (open[open.length - 1].end < end || open[open.length - 1].end <= start)) open.pop();
      const outer = open.length ? open[open.length - 1] : null;
      if (outer) {
        outer.path.self -= rate * Math.max(end - Math.max(start, outer.until), 0);
        outer.until = Math.max(outer.until, end);
      }
      const siblings = outer ? outer.path.inside : roots;
      const name = events.nameCode(i);
      let path = siblings.get(name);
      if (!path) {
        path = { name, above: outer?.path ?? null, inside: new Map(), count: 0, total: 0, self: 0 };
        siblings.set(name, path);
        number.set(path, paths.push(path) - 1);
      }
      path.count++;
      path.total += rate * (end - start);
      path.self += rate * (end - start);
      pathOf[i] = number.get(path)!;
      open.push({ path, end, until: start });
    }
  }
  return { roots: largestFirst(roots.values()), of: (i) => paths[pathOf[i]] ?? null };
}

/** Paths side by side, the one with most time first. */
export function largestFirst(paths: Iterable<Path>): Path[] {
  return [...paths].sort((a, b) => b.total - a.total || a.name - b.name);
}

/** How wide a path is drawn: as its own time and what is inside it. That is its total, but where that crosses. */
export function widthOf({ self, inside }: Path): number {
  let width = self;
  for (const each of inside.values()) width += widthOf(each);
  return width;
}

/** The wanted ranges of a lane by their start, of those at once the longest first. */
function inOrder(events: Events, lane: Lane, wanted: (i: number) => boolean): number[] {
  const found: number[] = [];
  for (let i = events.rowStart[lane.row]; i < events.rowStart[lane.row + lane.rows]; i++)
    if (!events.isInstant(i) && wanted(i)) found.push(i);
  if (lane.rows === 1) return found;
  const { start, duration, id } = events;
  return found.sort((a, b) => start[a] - start[b] || duration[b] - duration[a] || id[a] - id[b]);
}
