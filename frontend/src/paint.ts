// What events are painted as: a code per event, and the pixels of each code.

import type { Axis } from "./axis";
import { css, diverging, ink, mix, parse, pixel, type Rgb, sequential } from "./color";
import { type Events, HIDDEN } from "./events";
import { type Inks, SHADES } from "./raster";
import type { Theme } from "./theme";
import { PAYLOAD } from "./wire";

export type ColorBy = "name" | "payload" | "duration" | "lane";
export const COLOR_BY: readonly ColorBy[] = ["name", "payload", "duration", "lane"];

/** Codes above it are those below it, dimmed. */
export const DIM = 128;
const STEPS = 32;
/** The code of an event without payload, where payloads are coloured. */
const NONE = STEPS;
const GREY: Rgb = [150, 154, 160];

/** Bits of `marks`, a byte per event. */
export const FILTERED = 1;
export const SELECTED = 2;
export const MATCHED = 4;

/** What the coloured quantity reaches from and to, for the legend. */
export interface Scale {
  readonly low: number;
  readonly high: number;
  readonly signed: boolean;
}

export class Paint {
  colors: Rgb[] = [];
  inks: Inks = { body: new Uint32Array(256), edge: new Uint32Array(256), shade: new Uint32Array(256 * SHADES) };
  scale: Scale | null = null;
  readonly marks: Uint8Array;
  private by: ColorBy = "name";
  /** Units of the axis to a cycle, by lane. */
  private rates = new Float64Array(0);

  constructor(
    private readonly events: Events,
    private readonly palette: readonly string[],
    private readonly nameColor: readonly number[],
  ) {
    this.marks = new Uint8Array(events.count);
  }

  /** Choose by what events are coloured; durations are those on `axis`. */
  colorBy(by: ColorBy, axis: Axis): void {
    const { events } = this;
    this.by = by;
    this.rates = Float64Array.from(events.lanes, (lane) => axis.line(lane).rate);
    this.scale = by === "payload" ? payloadScale(events) : by === "duration" ? durationScale(events, this.rates) : null;
    const steps = this.scale?.signed ? diverging(STEPS) : sequential(STEPS);
    this.colors = this.scale ? [...steps, GREY] : this.palette.map(parse);
  }

  /** Write the code of every event. `dim`: events without one of these marks are dimmed (0: none is). */
  code(dim: number): void {
    const { events, marks } = this;
    const { code } = events;
    const own = this.plainCode();
    for (let row = 0; row < events.rowLane.length; row++) {
      const lane = events.rowLane[row];
      for (let i = events.rowStart[row]; i < events.rowStart[row + 1]; i++) {
        if (marks[i] & FILTERED) code[i] = HIDDEN;
        else code[i] = own(i, lane) + (dim && !(marks[i] & dim) ? DIM : 0);
      }
    }
  }

  private plainCode(): (i: number, lane: number) => number {
    const { events, nameColor, scale } = this;
    if (this.by === "lane") return (_, lane) => lane % 8;
    if (!scale) return (i) => nameColor[events.siteName[events.site[i]]];
    if (this.by === "duration") {
      const low = Math.log2(scale.low);
      const wide = Math.max(Math.log2(scale.high) - low, 1e-9);
      return (i, lane) => step((Math.log2(Math.max(events.duration[i], 1) * this.rates[lane]) - low) / wide);
    }
    const wide = Math.max(scale.high - scale.low, 1e-9);
    return (i) => {
      const value = Number(events.payload[i]);
      return events.flags[i] & PAYLOAD && !Number.isNaN(value) ? step((value - scale.low) / wide) : NONE;
    };
  }

  /** The pixels of all codes on the ground of `theme`. */
  ink(theme: Theme): void {
    const { body, edge, shade } = this.inks;
    const { ground } = theme;
    this.colors.forEach((full, n) => {
      for (const code of [n, n + DIM]) {
        const color = code === n ? full : mix(full, ground, 0.8);
        body[code] = pixel(color);
        edge[code] = pixel(mix(color, theme.dark ? ground : [0, 0, 0], code === n ? 0.4 : 0.15));
        for (let s = 0; s < SHADES; s++)
          shade[code * SHADES + s] = pixel(mix(ground, color, 0.6 + (0.4 * s) / (SHADES - 1)));
      }
    });
  }

  colorOf(i: number): Rgb {
    return this.colors[this.events.code[i] % DIM];
  }

  /** The colour of the bar of event `i` on the ground of `theme`. */
  barOf(i: number, theme: Theme): string {
    const full = this.colorOf(i);
    return css(this.events.code[i] >= DIM ? mix(full, theme.ground, 0.8) : full);
  }

  /** Whether text on event `i` is black or white. */
  textOn(i: number, theme: Theme): string {
    return this.events.code[i] >= DIM ? theme.soft : ink(this.colorOf(i));
  }

  nameRgb(name: number): Rgb {
    return parse(this.palette[this.nameColor[name]]);
  }

  nameCss(name: number): string {
    return css(this.nameRgb(name));
  }
}

function step(share: number): number {
  return Math.min(Math.max(Math.floor(share * STEPS), 0), STEPS - 1);
}

function payloadScale(events: Events): Scale {
  let low = Number.POSITIVE_INFINITY;
  let high = Number.NEGATIVE_INFINITY;
  for (let i = 0; i < events.count; i++) {
    const value = Number(events.payload[i]);
    if (!(events.flags[i] & PAYLOAD) || !Number.isFinite(value)) continue;
    low = Math.min(low, value);
    high = Math.max(high, value);
  }
  if (low > high) return { low: 0, high: 1, signed: false };
  if (low >= 0 || high <= 0) return { low, high, signed: false };
  const most = Math.max(-low, high); // grey is zero
  return { low: -most, high: most, signed: true };
}

function durationScale(events: Events, rates: Float64Array): Scale {
  let low = Number.POSITIVE_INFINITY;
  let high = Number.NEGATIVE_INFINITY;
  for (let row = 0; row < events.rowLane.length; row++)
    for (let i = events.rowStart[row]; i < events.rowStart[row + 1]; i++) {
      if (events.isInstant(i)) continue;
      const length = Math.max(events.duration[i], 1) * rates[events.rowLane[row]];
      low = Math.min(low, length);
      high = Math.max(high, length);
    }
  return low <= high ? { low, high, signed: false } : { low: 1, high: 1, signed: false };
}
