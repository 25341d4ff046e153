// The aggregate table of a selection.

import type { Axis } from "./axis";
import type { Events } from "./events";

export interface NameStats {
  readonly name: number;
  readonly count: number;
  /** Ranges only; `undefined` where there are instants alone. */
  readonly total?: number;
  readonly mean?: number;
  readonly p50?: number;
  readonly p99?: number;
  /** Of the total of all names. */
  readonly share?: number;
}

/** Per name, the longest total first, in the unit of `axis`. Quantiles are interpolated, as pandas does it. */
export function statistics(events: Events, axis: Axis, positions: Iterable<number>): NameStats[] {
  const counts = new Map<number, number>();
  const durations = new Map<number, number[]>();
  for (const i of positions) {
    const name = events.nameCode(i);
    counts.set(name, (counts.get(name) ?? 0) + 1);
    if (events.isInstant(i)) continue;
    const list = durations.get(name);
    const length = axis.line(events.laneOf(i)).rate * events.duration[i];
    if (list) list.push(length);
    else durations.set(name, [length]);
  }
  const totals = new Map([...durations].map(([name, list]) => [name, list.reduce((a, b) => a + b, 0)]));
  const all = [...totals.values()].reduce((a, b) => a + b, 0);
  const rows = [...counts].map(([name, count]): NameStats => {
    const list = durations.get(name);
    if (!list) return { name, count };
    const sorted = Float64Array.from(list).sort();
    const total = totals.get(name)!;
    return {
      name,
      count,
      total,
      mean: total / list.length,
      p50: quantile(sorted, 0.5),
      p99: quantile(sorted, 0.99),
      share: all > 0 ? total / all : 0,
    };
  });
  return rows.sort((a, b) => (b.total ?? -1) - (a.total ?? -1) || b.count - a.count || a.name - b.name);
}

export function quantile(sorted: Float64Array, share: number): number {
  const at = share * (sorted.length - 1);
  const low = Math.floor(at);
  const high = Math.min(low + 1, sorted.length - 1);
  return sorted[low] + (sorted[high] - sorted[low]) * (at - low);
}
