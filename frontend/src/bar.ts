// Over the lanes: title, search, and the choices. Under them: the legend.

import type { Unit } from "./axis";
import { css } from "./color";
import { differences } from "./difference";
import { h } from "./dom";
import { lightHint } from "./facts";
import { clean, count, duration, number, percent, short } from "./format";
import { COLOR_BY, type ColorBy } from "./paint";
import type { Tool } from "./pointer";
import { HELP } from "./query";
import type { Scene } from "./scene";
import { ARROWS, type Arrows } from "./state";

const MOST_CHIPS = 40;
/** The search box is as wide as what is typed into it, within these bounds. */
const [LEAST_CHARS, MOST_CHARS] = [12, 48];
const TOOLS: readonly (readonly [Tool, string, string])[] = [
  ["select", "Select", "a drag selects an area (V)"],
  ["pan", "Move", "a drag moves the view (H)"],
  ["measure", "Measure", "a drag measures (M)"],
];

export interface Choices {
  tool(): Tool;
  use(tool: Tool): void;
  help(): void;
  /** Show the lines of the kernel, or hide them. */
  lines(): void;
  /** Show how durations are spread, or hide it. */
  aggregate(): void;
  /** Draw this over the lanes; nothing for the empty text. */
  over(which: string): void;
  /** What can be drawn over the lanes. */
  readonly overs: readonly string[];
  /** Offer what can be taken away, near a button. */
  save(near: HTMLElement): void;
  /** Give the keyboard back to the lanes. */
  home(): void;
}

export class Bar {
  readonly root: HTMLElement;
  readonly search = h("input", {
    type: "search",
    placeholder: "search  /",
    "aria-label": "Search events",
    title: HELP.map(([typed, finds]) => `${typed}   ${finds}`).join("\n"),
    spellcheck: "false",
  });
  private readonly filter = button("Filter", "hide what does not match");
  private readonly found = h("span", { class: "tlt-found", role: "status" });
  private readonly previous = button("↑", "previous match (Shift N)");
  private readonly next = button("↓", "next match (N)");
  private readonly colors: HTMLSelectElement;
  private readonly arrows: HTMLSelectElement;
  private readonly over: HTMLSelectElement;
  private readonly unit: HTMLSelectElement;
  private readonly tools: HTMLButtonElement[];
  private readonly folded = button("Fold", "collapse or open all groups");
  private readonly hidden = button("", "show the hidden lanes again");
  /** What goes into the menu where the row has no room, the first first. */
  private readonly spare: HTMLElement[];
  /** All that stands in the row, as far as there is room. */
  private readonly items: HTMLElement[];
  private readonly more = button("…", "more tools");
  private readonly overflow = h("div", { class: "tlt-more", role: "group", "aria-label": "More tools", hidden: true });
  /** What the row was arranged for. */
  private arranged = "";

  constructor(
    private readonly scene: Scene,
    private readonly to: Choices,
    signal: AbortSignal,
  ) {
    const { header, state } = scene;
    this.colors = choice(
      "Colour by",
      COLOR_BY.map((by) => [by, `colour: ${by}`]),
      state.colorBy,
    );
    this.arrows = choice(
      "Arrows",
      ARROWS.map((each) => [each, `arrows: ${each}`]),
      state.arrows,
    );
    this.over = choice("Over the lanes", [["", "over: nothing"], ...to.overs.map((each) => [each, each] as const)], "");
    this.unit = choice(
      "Unit of time",
      scene.units.map((unit) => [unit, unit]),
      state.unit,
    );
    this.tools = TOOLS.map(([, text, title]) => button(text, title));
    const badge = header.badge;
    const lines = button("Lines", "lines of the kernel, with their time (O)");
    const stats = button("Stats", "durations of all CTAs, time by nesting, the average iteration (I)");
    const save = button("Save", "copy or save the picture, save the rows");
    const [all, help] = [
      button("Fit", "show everything (0, or double click beside all events)"),
      button("?", "keys and mouse"),
    ];
    const title = h("span", { class: "tlt-title", dir: "auto", title: header.title }, header.title);
    const device = header.device ? h("span", { class: "tlt-device" }, header.device) : null;
    const counted = h("span", { class: "tlt-count" }, count(scene.events.count, "event"));
    const search = h("span", { class: "tlt-group tlt-search" }, this.search, this.previous, this.next, this.filter);
    const arrows = scene.events.flowSrc.length ? this.arrows : null;
    const unit = scene.units.length > 1 ? this.unit : null;
    const drags = h("span", { class: "tlt-group", role: "group", "aria-label": "What a drag does" }, ...this.tools);
    const folds = scene.roots.length > 1 || scene.roots.some((node) => node.children.length);
    const whole = h("span", { class: "tlt-group" }, folds ? this.folded : null, all, save, help);
    const panels = h("span", { class: "tlt-group", role: "group", "aria-label": "Under the lanes" }, lines, stats);
    const worn = badge
      ? h("span", { class: badge.warns ? "tlt-badge tlt-warns" : "tlt-badge", title: badge.why }, badge.text)
      : null;
    const there = <T>(elements: readonly (T | null)[]) => elements.filter((each) => each !== null);
    const over = to.overs.length ? this.over : null;
    this.spare = there([
      device,
      panels,
      over,
      counted,
      arrows,
      this.colors,
      drags,
      unit,
      this.hidden,
      this.found,
      whole,
    ]);
    this.items = there([
      header.title ? title : null,
      worn,
      device,
      counted,
      h("span", { class: "tlt-grow" }),
      search,
      this.found,
      this.hidden,
      this.colors,
      arrows,
      over,
      unit,
      drags,
      panels,
      whole,
    ]);
    this.more.setAttribute("aria-expanded", "false");
    this.root = h(
      "div",
      { class: "tlt-bar", role: "toolbar", "aria-label": "Timeline tools" },
      ...this.items,
      this.more,
      this.overflow,
    );
    const on = (element: HTMLElement, type: string, act: (event: Event) => void) =>
      element.addEventListener(type, act, { signal });
    on(this.search, "input", () => scene.set({ query: this.search.value }));
    on(this.search, "keydown", (event) => this.searchKey(event as KeyboardEvent));
    on(this.previous, "click", () => scene.nextMatch(-1));
    on(this.next, "click", () => scene.nextMatch(1));
    on(this.filter, "click", () => scene.set({ filter: !scene.state.filter }));
    on(this.colors, "change", () => scene.set({ colorBy: this.colors.value as ColorBy }));
    on(this.arrows, "change", () => scene.set({ arrows: this.arrows.value as Arrows }));
    on(this.over, "change", () => to.over(this.over.value));
    on(this.unit, "change", () => scene.set({ unit: this.unit.value as Unit }));
    this.tools.forEach((element, n) => {
      on(element, "click", () => to.use(TOOLS[n][0]));
    });
    on(this.folded, "click", () => scene.fold(scene.state.lanes.collapsed.size === 0));
    on(this.hidden, "click", () => scene.arrange({ hidden: new Set() }));
    on(all, "click", () => scene.showAll());
    on(help, "click", () => to.help());
    on(lines, "click", () => to.lines());
    on(stats, "click", () => to.aggregate());
    on(save, "click", () => to.save(save));
    on(this.more, "click", () => this.open(Boolean(this.overflow.hidden)));
    this.show();
  }

  /** Open the menu of what the row has no room for, or close it. */
  private open(wanted: boolean): void {
    this.overflow.hidden = !wanted;
    this.more.setAttribute("aria-expanded", String(wanted));
  }

  /** Close the menu, unless what is meant is in it. Returns whether it was open. */
  closeMore(unless: Node | null = null): boolean {
    if (this.overflow.hidden || this.overflow.contains(unless) || this.more.contains(unless)) return false;
    this.open(false);
    return true;
  }

  /** Put everything into one row, and what has no room there into the menu. */
  fit(): void {
    const { root, items, more, overflow, spare } = this;
    const texts = [this.found, this.hidden, this.folded].map((each) => each.textContent);
    const key = [root.clientWidth, this.search.style.width, ...texts].join("|");
    if (!root.clientWidth || key === this.arranged) return;
    this.arranged = key;
    const home = root.getRootNode() as Document | ShadowRoot;
    const focused = home.activeElement;
    for (const item of items) if (item.parentNode !== root) root.insertBefore(item, this.placeOf(item));
    more.hidden = true;
    root.classList.remove("tlt-tight");
    const fits = () => root.scrollWidth <= root.clientWidth;
    for (const item of spare) {
      if (fits()) break;
      more.hidden = false;
      overflow.append(item);
    }
    root.classList.toggle("tlt-tight", !fits());
    if (more.hidden) this.open(false);
    if (!(focused instanceof HTMLElement) || !root.contains(focused) || focused === home.activeElement) return;
    focused.focus({ preventScroll: true }); // it was moved
    if (focused !== home.activeElement) this.to.home(); // into the menu, which is closed
  }

  /** What a tool that comes back into the row stands before. */
  private placeOf(item: HTMLElement): HTMLElement {
    const later = this.items.slice(this.items.indexOf(item) + 1);
    return later.find((each) => each.parentNode === this.root) ?? this.more;
  }

  /** What is drawn over the lanes now, be it one of those that can be asked for or another. */
  showOver(which: string): void {
    if (![...this.over.options].some(({ value }) => value === which))
      this.over.append(h("option", { value: which }, which));
    this.over.value = which;
  }

  private searchKey(event: KeyboardEvent): void {
    event.stopPropagation(); // no key of the notebook, or of the lanes
    if (event.key === "Enter") this.scene.nextMatch(event.shiftKey ? -1 : 1);
    else if (event.key === "Escape") {
      this.scene.set({ query: "" });
      this.to.home();
    } else return;
    event.preventDefault();
  }

  /** Everything as the scene has it. */
  show(): void {
    const { state, matches } = this.scene;
    if (this.search.value !== state.query) this.search.value = state.query;
    this.search.style.width = `${Math.min(Math.max(state.query.length, LEAST_CHARS) + 4, MOST_CHARS)}ch`;
    this.search.setAttribute("aria-invalid", String(this.scene.wrong));
    this.colors.value = state.colorBy;
    this.arrows.value = state.arrows;
    this.unit.value = state.unit;
    press(this.filter, state.filter);
    TOOLS.forEach(([tool], n) => {
      press(this.tools[n], tool === this.to.tool());
    });
    this.folded.textContent = state.lanes.collapsed.size ? "Unfold" : "Fold";
    const hidden = this.scene.rows.hiddenCount;
    this.hidden.hidden = hidden === 0;
    this.hidden.textContent = `show ${number(hidden)} hidden`;
    const at = matches?.indexOf(this.scene.focused) ?? -1;
    this.found.textContent = matches
      ? at >= 0
        ? `${number(at + 1)} of ${number(matches.length)}`
        : `${number(matches.length)} found`
      : "";
    this.found.hidden = !matches;
    for (const element of [this.previous, this.next]) element.disabled = !matches?.length;
    this.fit();
  }
}

/** Names with their colours, each a switch; or the scale of what is coloured. */
export class Legend {
  readonly root = h("div", {
    class: "tlt-legend",
    role: "group",
    "aria-label": "Names: click hides one, Alt click shows it alone",
  });
  private readonly counts: Uint32Array;
  /** Of the mean duration of a name, against the run before. */
  private readonly changes: ReadonlyMap<string, string>;
  private readonly chips = new Map<string, HTMLElement>();
  private readonly scales = h("span");
  private readonly measured = h("span", { class: "tlt-measured", role: "status", hidden: true });
  private readonly rest = h("span", { class: "tlt-count" });
  /** Shows and hides the run before. */
  private readonly before = h(
    "button",
    { type: "button", class: "tlt-before", title: "the run before, thin under each lane" },
    h("span", { class: "tlt-swatch" }),
    "previous run",
  );
  /** Brings it together CTA by CTA, or iteration by iteration. */
  private readonly align = h("button", {
    type: "button",
    class: "tlt-align",
    title: "the previous run begins each iteration where this one does; what it has more of one is cut off",
  });

  constructor(
    private readonly scene: Scene,
    signal: AbortSignal,
  ) {
    const { events } = scene;
    this.changes = scene.ghost ? differences(scene.ghost.events, events) : new Map();
    this.counts = new Uint32Array(events.names.length);
    for (let i = 0; i < events.count; i++) this.counts[events.nameCode(i)]++;
    const order = events.names.map((_, n) => n).filter((n) => this.counts[n]);
    order.sort((a, b) => this.counts[b] - this.counts[a] || a - b);
    for (const n of order.slice(0, MOST_CHIPS)) this.chips.set(events.names[n], this.chip(n, signal));
    this.before.addEventListener("click", () => scene.set({ ghost: !scene.state.ghost }), { signal });
    this.align.addEventListener("click", () => this.alignOther(), { signal });
    const hint = lightHint(scene.header);
    this.root.append(
      this.scales,
      ...this.chips.values(),
      ...(scene.ghost ? [this.before, this.align] : []),
      this.rest,
      hint && h("span", { class: "tlt-light", role: "note" }, hint),
      this.measured,
    );
    this.show();
  }

  private chip(n: number, signal: AbortSignal): HTMLElement {
    const name = this.scene.events.names[n];
    const swatch = h("span", { class: "tlt-swatch" });
    swatch.style.background = this.scene.paint.nameCss(n);
    const change = this.changes.get(name);
    const chip = h(
      "button",
      { type: "button" },
      swatch,
      h("bdi", {}, clean(name, 60)),
      h("span", { class: "tlt-count" }, number(this.counts[n])),
      change ? h("span", { class: "tlt-change", title: "mean duration, against the run before" }, change) : null,
    );
    chip.addEventListener("click", (event) => this.click(name, event.altKey), { signal });
    return chip;
  }

  private click(name: string, alone: boolean): void {
    const { hiddenNames } = this.scene.state;
    const others = this.scene.events.names.filter((each, n) => each !== name && this.counts[n]);
    if (alone)
      this.scene.set({
        hiddenNames: hiddenNames.length === others.length && !hiddenNames.includes(name) ? [] : others,
      });
    else if (hiddenNames.includes(name)) this.scene.set({ hiddenNames: hiddenNames.filter((each) => each !== name) });
    else this.scene.set({ hiddenNames: [...hiddenNames, name] });
  }

  private alignOther(): void {
    const { scene } = this;
    scene.set({ align: scene.state.align === "cta" ? "iteration" : "cta" });
    if (scene.state.align === "iteration" && !scene.ghost?.aligned) {
      scene.set({ align: "cta" });
      scene.say("no name is there twice on a lane of a CTA in both runs: there are no iterations to bring together");
    }
  }

  /** What is measured, in words. */
  measure(text: string): void {
    this.measured.textContent = text;
    this.measured.hidden = !text;
  }

  show(): void {
    const { paint, state, events } = this.scene;
    const swatches = state.colorBy === "name";
    for (const [name, chip] of this.chips) {
      press(chip, !state.hiddenNames.includes(name));
      (chip.firstChild as HTMLElement).hidden = !swatches;
    }
    press(this.before, state.ghost);
    press(this.align, state.align === "iteration");
    this.align.hidden = !this.scene.beside;
    this.align.textContent = alignment(this.scene);
    const rest = events.names.filter((_, n) => this.counts[n]).length - this.chips.size;
    const ramp = paint.scale ? [this.ramp(paint.scale.low, paint.scale.high)] : [];
    this.scales.replaceChildren(...ramp);
    this.scales.hidden = !ramp.length;
    this.rest.textContent = rest > 0 ? `and ${number(rest)} more names` : "";
    this.root.hidden = !events.count;
  }

  private ramp(low: number, high: number): HTMLElement {
    const bar = h("span", { class: "tlt-ramp" });
    const steps = this.scene.paint.colors.slice(0, 32);
    bar.style.background = `linear-gradient(to right, ${steps.map(css).join(",")})`;
    const { colorBy, unit } = this.scene.state;
    const text = (value: number) => (colorBy === "duration" ? duration(value, unit) : short(value, 3));
    const line = h("span", { class: "tlt-count" }, `${colorBy} ${text(low)}`);
    const whole = h("span", {}, line, " ", bar, " ", h("span", { class: "tlt-count" }, text(high)));
    whole.style.cssText = "display:inline-flex;align-items:center;gap:5px;padding-right:10px";
    return whole;
  }
}

/** What the iterations of both runs take, where they are brought together. */
function alignment({ ghost }: Scene): string {
  const found = ghost?.aligned;
  if (!found) return "per iteration";
  const { name, before, now } = found;
  const change = before > 0 ? `, ${now > before ? "+" : "−"}${percent(Math.abs(now / before - 1))}` : "";
  const [was, is] = [before, now].map((cycles) => duration(cycles, "cycles"));
  return `per iteration, from ${clean(name, 30)} to the next: ${was} → ${is}${change}`;
}

function button(text: string, title: string): HTMLButtonElement {
  return h("button", { type: "button", title, "aria-label": text.length === 1 && title }, text);
}

function press(element: HTMLElement, pressed: boolean): void {
  element.setAttribute("aria-pressed", String(pressed));
}

function choice(label: string, options: readonly (readonly [string, string])[], value: string): HTMLSelectElement {
  const select = h(
    "select",
    { "aria-label": label, title: label },
    ...options.map(([key, text]) => h("option", { value: key }, text)),
  );
  select.value = value;
  return select;
}
