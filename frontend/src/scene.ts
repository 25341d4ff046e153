// What a view shows and what can be done to it. No drawing and no DOM here: the parts of the view listen.

import { type Area, inside } from "./area";
import { Axis, type Span, type Unit } from "./axis";
import { type Events, HIDDEN, type Lane } from "./events";
import type { Ghost } from "./ghost";
import { neighbour } from "./hit";
import type { Levels } from "./levels";
import { Marks } from "./marks";
import type { Paint } from "./paint";
import type { Raster } from "./raster";
import { ARROWS, restore, type Saved, type State, save } from "./state";
import { foldedAtFirst, HEAD, type Node, PLAIN, Rows, siblings, tree, UNDER } from "./tree";
import { arrowsFrom, arrowsTo, firstInView, onNextLane } from "./walk";
import type { Header, LaunchFacts } from "./wire";

/** "moved": the part in view; "codes": what events are painted as; "state": what else a view looks like. */
export type Change = "codes" | "frame" | "hover" | "focus" | "selection" | "moved" | "state" | "message";

/** A length that is measured, and the lane on which, whose clock it goes by. */
export interface Measured extends Span {
  readonly lane: Lane | null;
}

export class Scene {
  readonly marks: Marks;
  readonly paint: Paint;
  readonly levels: Levels;
  readonly raster: Raster;
  readonly roots: Node[];
  readonly units: readonly Unit[];
  state: State;
  axis: Axis;
  span: Span;
  rows: Rows;
  /** Height of the part of the view that scrolls. */
  viewHeight = 300;
  hovered = -1;
  focused = -1;
  area: Area | null = null;
  /** A length that is measured, without selecting. */
  measured: Measured | null = null;
  /** What a query, or a selection, could not do. */
  message = "";
  /** Whether the query makes no sense; the message says why. */
  wrong = false;
  private readonly listeners = new Map<Change, Set<() => void>>();

  constructor(
    readonly events: Events,
    readonly header: Header,
    saved: Saved,
    readonly ghost: Ghost | null = null,
  ) {
    this.marks = new Marks(events, header);
    ({ paint: this.paint, levels: this.levels, raster: this.raster } = this.marks);
    this.roots = tree(events.lanes);
    this.units = header.ns ? ["cycles", "ns"] : ["cycles"];
    const severalCtas = events.lanes.some(
      (lane) => lane.cta !== events.lanes[0].cta || lane.rank !== events.lanes[0].rank,
    );
    const hiddenLaunches = hiddenAtFirst(header.launches);
    const shown = this.roots.filter((root) => !hiddenLaunches.includes(root.lanes[0].launch ?? 0));
    const plain: State = {
      unit: header.ns && severalCtas ? "ns" : "cycles",
      span: null,
      scroll: 0,
      colorBy: "name",
      arrows: events.flowSrc.length <= 200 ? "all" : "hovered",
      query: "",
      filter: false,
      hiddenNames: [],
      hiddenLaunches,
      ghost: true,
      align: "cta",
      lanes: { ...PLAIN, collapsed: new Set(foldedAtFirst(shown, events.count)) },
    };
    this.state = restore(plain, saved, this.units);
    ghost?.follow(this.state, events);
    this.axis = this.newAxis();
    this.span = this.spanOf(this.state);
    this.rows = this.newRows();
    this.marks.colorBy(this.state.colorBy, this.axis);
    this.search();
  }

  /** Positions of the selected events; null when nothing is selected. */
  get selected(): Uint32Array | null {
    return this.marks.selected;
  }

  /** Positions of the events that the query finds; null where there is no query. */
  get matches(): Uint32Array | null {
    return this.marks.matches;
  }

  /** The run before, where it is to be seen: in this unit, and wanted. */
  get beside(): Ghost | null {
    const { ghost, state } = this;
    return ghost && state.ghost && ghost.has(state.unit) ? ghost : null;
  }

  private newAxis(): Axis {
    const { unit } = this.state;
    const room = this.header.room?.[unit];
    const hidden = new Set(this.state.hiddenLaunches);
    const span = room ? { from: room[0], to: room[1] } : null;
    return new Axis(this.events, unit, this.beside?.shown, span, this.header.launches, hidden);
  }

  private newRows(): Rows {
    const { hiddenLaunches, lanes } = this.state;
    const roots = this.roots.filter((root) => !hiddenLaunches.includes(root.lanes[0].launch ?? 0));
    return new Rows(roots, lanes, this.beside ? UNDER : 0);
  }

  on(change: Change, listener: () => void): void {
    const known = this.listeners.get(change);
    if (known) known.add(listener);
    else this.listeners.set(change, new Set([listener]));
  }

  private tell(...changes: Change[]): void {
    for (const change of changes) for (const listener of this.listeners.get(change) ?? []) listener();
  }

  say(message: string): void {
    this.message = message;
    this.tell("message");
  }

  // Time

  private spanOf(state: State): Span {
    if (!state.span) return this.axis.all;
    const origin = Number(this.axis.origin);
    return this.axis.fit({ from: state.span[0] - origin, to: state.span[1] - origin });
  }

  /** Show this part of the axis. */
  look(span: Span): void {
    this.span = this.axis.fit(span);
    const origin = Number(this.axis.origin);
    this.state = { ...this.state, span: [this.span.from + origin, this.span.to + origin] };
    this.tell("frame", "moved");
  }

  zoom(factor: number, share = 0.5): void {
    this.look(this.axis.zoom(this.span, factor, share));
  }

  /** Move by a share of the width. */
  pan(share: number): void {
    const by = (this.span.to - this.span.from) * share;
    this.look({ from: this.span.from + by, to: this.span.to + by });
  }

  showAll(): void {
    this.span = this.axis.all;
    this.state = { ...this.state, span: null };
    this.tell("frame", "moved");
  }

  /** The brushed area, else the focused event, else the selected ones, else everything. */
  showSelection(): void {
    const chosen = this.focused >= 0 ? [this.focused] : (this.selected ?? []);
    if (this.area) this.look(withRoom(this.area.span));
    else if (chosen.length) {
      this.look(withRoom(this.spanOfEvents(chosen)));
      this.bring(this.events.laneOf(chosen[0]));
    } else this.showAll();
  }

  spanOfEvents(positions: Iterable<number>): Span {
    let from = Number.POSITIVE_INFINITY;
    let to = Number.NEGATIVE_INFINITY;
    for (const i of positions) {
      from = Math.min(from, this.axis.startOf(i));
      to = Math.max(to, this.axis.endOf(i));
    }
    return { from, to };
  }

  // Lanes

  scrollTo(top: number): void {
    const most = Math.max(this.rows.height - this.viewHeight, 0);
    const scroll = Math.round(Math.min(Math.max(top, 0), most));
    if (scroll === this.state.scroll) return;
    this.state = { ...this.state, scroll };
    this.tell("frame", "moved");
  }

  /** Change what the reader has done to the lanes. */
  arrange(lanes: Partial<State["lanes"]>): void {
    this.state = { ...this.state, lanes: { ...this.state.lanes, ...lanes } };
    this.rows = this.newRows();
    this.area = null;
    this.scrollTo(this.state.scroll);
    this.tell("frame", "state");
  }

  toggle(list: "collapsed" | "hidden" | "pinned", key: string): void {
    const now = this.state.lanes[list] as Iterable<string>;
    const next = [...now].filter((each) => each !== key);
    if (next.length === [...now].length) next.push(key);
    this.arrange({ [list]: list === "pinned" ? next : new Set(next) });
  }

  /** Collapse all branches of the first step, or open everything. */
  fold(closed: boolean): void {
    const keys = closed ? this.roots.map((node) => node.key) : [];
    this.arrange({ collapsed: new Set(keys) });
  }

  /** Move a branch or lane among its siblings. */
  move(key: string, by: 1 | -1): void {
    const { parent, keys } = siblings(this.roots, key, this.state.lanes);
    const at = keys.indexOf(key);
    const to = at + by;
    if (at < 0 || to < 0 || to >= keys.length) return;
    [keys[at], keys[to]] = [keys[to], keys[at]];
    this.arrange({ order: new Map(this.state.lanes.order).set(parent, keys) });
  }

  /** Bring `lane` into view, opening what hides it. */
  reveal(lane: Lane): void {
    const above = ancestors(this.roots, lane);
    const { collapsed, hidden, pinned } = this.state.lanes;
    if (above.some((key) => pinned.includes(key))) return;
    if (above.some((key) => collapsed.has(key) || hidden.has(key)))
      this.arrange({
        collapsed: new Set([...collapsed].filter((key) => !above.includes(key))),
        hidden: new Set([...hidden].filter((key) => !above.includes(key))),
      });
    this.bring(lane);
  }

  /** Scroll to the strip that shows `lane`, be it that of a collapsed branch. */
  private bring(lane: Lane): void {
    const strip = this.rows.showing(lane);
    if (!strip) return;
    const under = strip.top - strip.depth * HEAD; // heads that stay in sight are over it
    if (under < this.state.scroll) this.scrollTo(under);
    else if (strip.top + strip.height > this.state.scroll + this.viewHeight)
      this.scrollTo(strip.top + strip.height - this.viewHeight);
  }

  // Single events

  hover(i: number): void {
    if (i === this.hovered) return;
    this.hovered = i;
    this.tell("hover");
  }

  /** Make `i` the event that the details are about; -1 for none. `follow`: bring it into view. */
  focus(i: number, follow = true): void {
    this.focused = i;
    if (i >= 0 && follow) {
      this.reveal(this.events.laneOf(i));
      const [from, to] = [this.axis.startOf(i), this.axis.endOf(i)];
      const width = this.span.to - this.span.from;
      const outside = from >= this.span.to || to <= this.span.from;
      const cut = from < this.span.from || to > this.span.to;
      if (outside || (cut && to - from < width)) {
        const middle = (from + to) / 2;
        this.look({ from: middle - width / 2, to: middle + width / 2 });
      }
    }
    this.tell("focus");
  }

  /** The next or previous event on the lane of the focused one; where none is focused, the first. */
  step(by: 1 | -1): void {
    this.focus(this.focused >= 0 ? neighbour(this.events, this.focused, by) : this.first);
  }

  /** Where the keys begin: at the first selected event, else at the first in view; -1 for none. */
  private get first(): number {
    return this.selected?.find((i) => this.events.code[i] !== HIDDEN) ?? firstInView(this);
  }

  /** To the lane above or below, at the same time. */
  stepLane(by: 1 | -1): void {
    const next = this.focused >= 0 ? onNextLane(this, by) : this.first;
    if (next >= 0) this.focus(next);
  }

  /** Along an arrow that leaves (1) or reaches (-1) the focused event. */
  jump(direction: 1 | -1): void {
    const next = direction > 0 ? arrowsFrom(this.events, this.focused) : arrowsTo(this.events, this.focused);
    if (next.length) this.focus(next[0]);
    else
      this.say(
        this.focused < 0 ? "focus an event first" : `no arrow ${direction > 0 ? "leaves" : "reaches"} this event`,
      );
  }

  // Selection

  /** Select what touches the area, as far as it is not filtered out. */
  brush(area: Area | null, done: boolean): void {
    this.area = area;
    if (done) this.select(area ? inside(this, area) : null);
    this.tell("hover");
  }

  select(positions: Uint32Array | null): void {
    this.marks.select(positions);
    this.tell("codes");
    this.tell("selection", "frame");
  }

  clearSelection(): void {
    this.area = null;
    this.measured = null;
    if (this.selected) this.select(null);
    this.focus(-1);
    this.tell("hover");
  }

  // What is coloured, dimmed and hidden

  set(
    change: Partial<
      Pick<
        State,
        "unit" | "colorBy" | "arrows" | "query" | "filter" | "hiddenNames" | "hiddenLaunches" | "ghost" | "align"
      >
    >,
  ): void {
    const before = this.state;
    this.state = { ...before, ...change };
    const moved = this.state.unit !== before.unit || this.state.hiddenLaunches !== before.hiddenLaunches;
    if (moved) {
      this.state = { ...this.state, span: null };
      this.area = this.measured = null;
    }
    this.ghost?.follow(this.state, this.events);
    if (moved || this.state.ghost !== before.ghost || this.state.align !== before.align) {
      this.axis = this.newAxis();
      this.span = this.spanOf(this.state);
      this.rows = this.newRows();
    }
    if (this.state.colorBy !== before.colorBy || this.state.unit !== before.unit) {
      this.marks.colorBy(this.state.colorBy, this.axis);
      this.tell("codes");
    }
    const { query, filter, hiddenNames, hiddenLaunches } = this.state;
    const same = query === before.query && filter === before.filter && hiddenNames === before.hiddenNames;
    if (!same || hiddenLaunches !== before.hiddenLaunches) this.search();
    this.scrollTo(this.state.scroll);
    this.tell("frame", "state");
  }

  nextArrows(): void {
    this.set({ arrows: ARROWS[(ARROWS.indexOf(this.state.arrows) + 1) % ARROWS.length] });
  }

  /** To the next match in time after the focused event; round at the end. */
  nextMatch(by: 1 | -1): void {
    const { matches } = this;
    if (!matches?.length) return;
    const at = this.focused < 0 ? -1 : matches.indexOf(this.focused);
    const next = at < 0 ? (by > 0 ? 0 : matches.length - 1) : (at + by + matches.length) % matches.length;
    this.focus(matches[next]);
  }

  private search(): void {
    const { events } = this;
    const wrong = this.marks.search(this.state, this.axis);
    this.message = wrong ?? "";
    this.wrong = wrong !== null;
    this.tell("codes", "message");
    const gone = (i: number) => i >= 0 && events.code[i] === HIDDEN;
    if (gone(this.hovered)) this.hover(-1);
    if (gone(this.focused)) this.focus(-1);
  }

  /** Go back to a state of before, and to what was selected then. */
  recall(state: State, selected: Uint32Array | null): void {
    this.restore(save(state));
    this.area = null;
    if (selected !== this.selected) this.select(selected);
  }

  /** Take over what was saved. */
  restore(saved: Saved): void {
    const next = restore(this.state, saved, this.units);
    const { unit, colorBy, arrows, query, filter, hiddenNames, hiddenLaunches, ghost, align } = next;
    this.set({ unit, colorBy, arrows, query, filter, hiddenNames, hiddenLaunches, ghost, align });
    this.arrange(next.lanes);
    this.state = { ...this.state, span: next.span };
    this.span = this.spanOf(this.state);
    this.scrollTo(next.scroll);
    this.tell("frame");
  }
}

/** Of launches of one kernel and shape the last is shown. */
function hiddenAtFirst(launches: readonly LaunchFacts[]): number[] {
  const last = new Map(launches.map(({ group, launch }) => [group, launch]));
  return launches.filter(({ group, launch }) => last.get(group) !== launch).map(({ launch }) => launch);
}

function withRoom({ from, to }: Span): Span {
  const room = Math.max((to - from) * 0.05, 0.5);
  return { from: from - room, to: to + room };
}

function ancestors(roots: readonly Node[], lane: Lane): string[] {
  const keys: string[] = [];
  let nodes = roots;
  for (;;) {
    const node = nodes.find((each) => each.lanes.includes(lane));
    if (!node) return keys;
    keys.push(node.key);
    nodes = node.children;
  }
}
