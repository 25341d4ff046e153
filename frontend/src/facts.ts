// All that is known of one event, in words: for the hover, the details, the table and the clipboard.

import type { Events } from "./events";
import { clean, count, duration, moment, payloadText, percent } from "./format";
import type { Texts } from "./label";
import type { Header } from "./wire";

/** How one comes by the durations that the light set of automatic markers leaves out. */
const DURATIONS = "durations: --on all";

export interface Fact {
  readonly key: string;
  readonly value: string;
}

/** What the legend says of names that are moments only for being cheap to record; empty where there are none. */
export function lightHint({ light }: Header): string {
  return light.length ? `◆ a moment, as --auto records it · ${DURATIONS}` : "";
}

export function factsOf(i: number, events: Events, texts: Texts, { ns, light }: Header): Fact[] {
  const lane = events.laneOf(i);
  const start = events.origin + BigInt(events.start[i]);
  const cycles = events.duration[i];
  const at = (time: number) => moment(lane.nsOffset + lane.nsRate * time);
  const track = [`thread ${lane.thread}`, `lane ${clean(lane.name, 40)}`];
  if (lane.group) track.push(`group ${clean(lane.group, 40)}`);
  if (lane.role) track.push(`role ${clean(lane.role, 40)}`);
  const facts: Fact[] = [];
  const add = (key: string, value: string) => value && facts.push({ key, value });
  add("payload", payloadText(texts.begin(i), texts.end(i)));
  add("start", [count(start, "cycle"), ns ? at(events.start[i]) : ""].filter(Boolean).join(" · "));
  if (events.isInstant(i)) add("duration", light.includes(events.name(i)) ? `instant · ${DURATIONS}` : "instant");
  else {
    const share = lane.ctaCycles > 0 ? `${percent(cycles / lane.ctaCycles)} of the CTA` : "";
    add(
      "duration",
      [count(cycles, "cycle"), ns ? duration(lane.nsRate * cycles, "ns") : "", share].filter(Boolean).join(" · "),
    );
  }
  if (events.isTruncated(i)) add("state", "begun, never ended");
  add("rank", lane.rank === null ? "" : String(lane.rank));
  add("launch", lane.launch === null ? "" : String(lane.launch));
  add("CTA", `${lane.cta} (${lane.block.join(", ")})${lane.sm >= 0 ? ` · SM ${lane.sm}` : ""}`);
  add("track", track.join(" · "));
  if (events.source(i)) add("source", clean(events.source(i)));
  return facts;
}

/** One sentence for a screen reader. */
export function sentence(i: number, events: Events, texts: Texts, header: Header): string {
  const facts = factsOf(i, events, texts, header).map(({ key, value }) => `${key} ${value}`);
  return [clean(texts.name(i)), ...facts].join(", ");
}

/** Lines for the clipboard. */
export function asText(i: number, events: Events, texts: Texts, header: Header): string {
  return [texts.name(i), ...factsOf(i, events, texts, header).map(({ key, value }) => `${key}\t${value}`)].join("\n");
}
