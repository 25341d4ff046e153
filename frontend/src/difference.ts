// How much longer or shorter the ranges of each name are than in the run before.

import type { Events } from "./events";
import { percent } from "./format";

/** A smaller change is none. */
const LEAST = 0.005;

/** By name: the change of the mean duration in cycles as text, such as −12 %; empty where there is none to tell. */
export function differences(before: Events, now: Events): Map<string, string> {
  const old = means(before);
  const found = new Map<string, string>();
  for (const [name, mean] of means(now)) {
    const was = old.get(name);
    if (was === undefined) found.set(name, "new");
    else if (was > 0 && Math.abs(mean / was - 1) >= LEAST)
      found.set(name, `${mean > was ? "+" : "−"}${percent(Math.abs(mean / was - 1))}`);
  }
  return found;
}

/** The mean duration of the ranges of each name, in cycles. */
function means(events: Events): Map<string, number> {
  const total = new Float64Array(events.names.length);
  const count = new Uint32Array(events.names.length);
  for (let i = 0; i < events.count; i++) {
    if (events.isInstant(i)) continue;
    total[events.nameCode(i)] += events.duration[i];
    count[events.nameCode(i)]++;
  }
  return new Map(events.names.flatMap((name, n) => (count[n] ? [[name, total[n] / count[n]] as const] : [])));
}
