// What a view looks like, as it is kept in Python and in pages: plain values, nothing about the data.

import type { Unit } from "./axis";
import { COLOR_BY, type ColorBy } from "./paint";
import type { Arrangement } from "./tree";

export type Arrows = "all" | "hovered" | "none";
export const ARROWS: readonly Arrows[] = ["all", "hovered", "none"];

/** What is brought together with the run before: the entries of CTAs, or the begins of iterations. */
export type Align = "cta" | "iteration";
export const ALIGN: readonly Align[] = ["cta", "iteration"];

export interface State {
  readonly unit: Unit;
  /** The part in view in `unit`, absolute; null for all. */
  readonly span: readonly [number, number] | null;
  /** Pixels that the lanes are scrolled by. */
  readonly scroll: number;
  readonly colorBy: ColorBy;
  readonly arrows: Arrows;
  readonly query: string;
  /** Whether the query hides what does not match. */
  readonly filter: boolean;
  readonly hiddenNames: readonly string[];
  /** Numbers of the launches that are not shown. */
  readonly hiddenLaunches: readonly number[];
  /** Whether the run before is drawn under the lanes, where there is one. */
  readonly ghost: boolean;
  readonly align: Align;
  readonly lanes: Arrangement;
}

/** The form that is saved. Every key is optional: what is missing stays as it is. */
export interface Saved {
  unit?: string;
  span?: [number, number] | null;
  scroll?: number;
  color_by?: string;
  arrows?: string;
  query?: string;
  filter?: boolean;
  hidden_names?: string[];
  hidden_launches?: number[];
  ghost?: boolean;
  align?: string;
  collapsed?: string[];
  hidden?: string[];
  pinned?: string[];
  order?: Record<string, string[]>;
}

export function save(state: State): Required<Saved> {
  const { lanes } = state;
  return {
    unit: state.unit,
    span: state.span ? [state.span[0], state.span[1]] : null,
    scroll: state.scroll,
    color_by: state.colorBy,
    arrows: state.arrows,
    query: state.query,
    filter: state.filter,
    hidden_names: [...state.hiddenNames],
    hidden_launches: [...state.hiddenLaunches],
    ghost: state.ghost,
    align: state.align,
    collapsed: [...lanes.collapsed],
    hidden: [...lanes.hidden],
    pinned: [...lanes.pinned],
    order: Object.fromEntries([...lanes.order].map(([key, keys]) => [key, [...keys]])),
  };
}

/** `state` with what `saved` says; values that make no sense are passed over. */
export function restore(state: State, saved: Saved, units: readonly Unit[]): State {
  const one = <T extends string>(value: string | undefined, of: readonly T[], otherwise: T): T =>
    of.includes(value as T) ? (value as T) : otherwise;
  const { lanes } = state;
  return {
    unit: one(saved.unit, units, state.unit),
    span: saved.span === undefined ? state.span : saved.span,
    scroll: saved.scroll ?? state.scroll,
    colorBy: one(saved.color_by, COLOR_BY, state.colorBy),
    arrows: one(saved.arrows, ARROWS, state.arrows),
    query: saved.query ?? state.query,
    filter: saved.filter ?? state.filter,
    hiddenNames: saved.hidden_names ?? state.hiddenNames,
    hiddenLaunches: saved.hidden_launches ?? state.hiddenLaunches,
    ghost: saved.ghost ?? state.ghost,
    align: one(saved.align, ALIGN, state.align),
    lanes: {
      collapsed: saved.collapsed ? new Set(saved.collapsed) : lanes.collapsed,
      hidden: saved.hidden ? new Set(saved.hidden) : lanes.hidden,
      pinned: saved.pinned ?? lanes.pinned,
      order: saved.order ? new Map(Object.entries(saved.order)) : lanes.order,
    },
  };
}
