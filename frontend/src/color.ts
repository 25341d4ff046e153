// Colours as numbers: mixing, contrast, scales, and what a pixel of an ImageData holds.

export type Rgb = readonly [number, number, number];

export function parse(color: string): Rgb {
  if (color.startsWith("#")) {
    const hex = color.length === 4 ? [...color.slice(1)].map((c) => c + c).join("") : color.slice(1, 7);
    return [0, 2, 4].map((at) => Number.parseInt(hex.slice(at, at + 2), 16)) as unknown as Rgb;
  }
  const parts = color.match(/[\d.]+/g)?.map(Number) ?? [];
  return parts.length >= 3 ? [parts[0], parts[1], parts[2]] : [255, 255, 255];
}

/** `a` with `share` (0 to 1) of `b` in it. */
export function mix(a: Rgb, b: Rgb, share: number): Rgb {
  return a.map((value, i) => Math.round(value + (b[i] - value) * share)) as unknown as Rgb;
}

export function css([r, g, b]: Rgb): string {
  return `#${((1 << 24) | (r << 16) | (g << 8) | b).toString(16).slice(1)}`;
}

/** Relative luminance as WCAG has it, 0 to 1. */
export function luminance(color: Rgb): number {
  const [r, g, b] = color.map((value) => {
    const v = value / 255;
    return v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
}

/** Black or white, whichever is read more easily on `color`. */
export function ink(color: Rgb): string {
  return luminance(color) > 0.18 ? "#111111" : "#ffffff";
}

/** An opaque pixel as a little-endian word. */
export function pixel([r, g, b]: Rgb): number {
  return ((255 << 24) | (b << 16) | (g << 8) | r) >>> 0;
}

// Stops of scales that people with any common colour blindness read: cividis (one direction) and blue to orange (signs).
const CIVIDIS = ["#00224e", "#35456c", "#666970", "#948e77", "#c8b866", "#fee838"].map(parse);
const SIGNED = ["#0b4f8a", "#56b4e9", "#c9ccd1", "#e69f00", "#a34700"].map(parse);

function scale(stops: readonly Rgb[], share: number): Rgb {
  const at = Math.min(Math.max(share, 0), 1) * (stops.length - 1);
  const low = Math.min(Math.floor(at), stops.length - 2);
  return mix(stops[low], stops[low + 1], at - low);
}

/** `steps` colours from low to high, without the darkest, which a dark ground would swallow. */
export function sequential(steps: number): Rgb[] {
  return Array.from({ length: steps }, (_, i) => scale(CIVIDIS, 0.2 + (0.8 * i) / (steps - 1)));
}

/** `steps` colours from negative over grey to positive. */
export function diverging(steps: number): Rgb[] {
  return Array.from({ length: steps }, (_, i) => scale(SIGNED, i / (steps - 1)));
}
