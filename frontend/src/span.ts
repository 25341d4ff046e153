// A part of the time on the screen, and the units that it is in.

export type Unit = "cycles" | "ns";

/** A part of the axis, in its unit. */
export interface Span {
  readonly from: number;
  readonly to: number;
}
