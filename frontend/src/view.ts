// One view: its elements, what they listen to, and when they are drawn. `close` leaves nothing behind.

import { Spoken } from "./access";
import { Aggregate } from "./aggregate";
import { Bands, type Over } from "./bands";
import { Bar, Legend } from "./bar";
import { chromeTrace } from "./chrome";
import { copyText, h, SUPPRESS } from "./dom";
import { Events } from "./events";
import { asText } from "./facts";
import { asPng, download, pictureOf, rowsOf, taken } from "./files";
import { AXIS, type Frame } from "./frame";
import { Ghost } from "./ghost";
import { help } from "./help";
import { History } from "./history";
import { fromRuns, toRuns } from "./ids";
import { type Desk, press } from "./keys";
import { Texts } from "./label";
import { Launches } from "./launches";
import { Lines } from "./lines";
import { measuredText } from "./measure";
import { type Entry, Menu } from "./menu";
import { Minimap } from "./minimap";
import { Overlay } from "./overlay";
import { COLOR_BY } from "./paint";
import { Panel } from "./panel";
import { Picture } from "./picture";
import { Pointer, type Tool } from "./pointer";
import { type Remark, Remarks } from "./remarks";
import { Scene } from "./scene";
import { type Saved, save } from "./state";
import { STYLE } from "./style";
import { onThemeChange, type Theme, themeOf } from "./theme";
import { Hint, Tip } from "./tip";
import { Transition } from "./transition";
import type { Wire } from "./wire";

export interface Options {
  /** Height of the lanes in pixels; by default by the number of lanes, up to 560. */
  readonly height?: number | null;
  readonly theme?: "auto" | "light" | "dark";
  readonly view?: Saved;
  /** Told, a moment later, how the view was changed. */
  onView?(view: Required<Saved>): void;
  /** What can be drawn over the lanes, by name; `onOver` is asked for what is not there. */
  readonly overs?: Readonly<Record<string, Over | null>>;
  onOver?(which: string): void;
  /** Notes on the lanes, and who is told when a reader changes them. */
  readonly remarks?: readonly Remark[];
  onRemarks?(remarks: readonly Remark[]): void;
  /** Asked for a page of what is selected, or of everything; where there is nobody who makes one, it is not offered. */
  onPage?(): void;
  /** Told which events are selected: runs of positions in the frame, (first, how many) as uint32. */
  onSelection?(runs: Uint32Array): void;
}

const USUAL_HEIGHT = [110, 560] as const;
const LEAST_GUTTER = 108;
const MOST_GUTTER = 230;
const SCROLLBAR = 14;
const LATER_MS = 200;

export class View {
  readonly scene: Scene;
  /** Milliseconds that the last frame and the last hover took on the main thread. */
  readonly spent = { frame: 0, overlay: 0, looked: 0 };
  private readonly ending = new AbortController();
  private readonly root: HTMLElement;
  private readonly stage: HTMLElement;
  private readonly map = h("canvas", { class: "tlt-map", "aria-hidden": "true" });
  private readonly base = h("canvas", { "aria-hidden": "true" });
  private readonly over = h("canvas", { "aria-hidden": "true" });
  private readonly spacer = h("div");
  private readonly scroll = h("div", { class: "tlt-scroll", "aria-hidden": "true", tabindex: "-1" }, this.spacer);
  private readonly hint = new Hint();
  private readonly tip: Tip;
  private readonly menu: Menu;
  private readonly note = h("div", { class: "tlt-note tlt-warn", role: "alert", hidden: true });
  private readonly verdict = h("div", { class: "tlt-note tlt-verdict", role: "status", hidden: true });
  private readonly words = h("div", { class: "tlt-instead", role: "alert", hidden: true });
  private readonly picture: Picture;
  private readonly overlay: Overlay;
  private readonly history: History;
  private readonly minimap: Minimap;
  private readonly bar: Bar;
  private readonly legend: Legend;
  private readonly launches: Launches;
  private readonly panel: Panel;
  private readonly lines: Lines;
  private readonly aggregate: Aggregate;
  private readonly remarks: Remarks;
  private readonly spoken: Spoken;
  private readonly texts: Texts;
  private theme: Theme;
  private frame: Frame = { width: 0, height: 0, gutter: 0, ratio: 1 };
  private tool: Tool = "select";
  private at: { x: number; y: number } | null = null;
  private helping: HTMLElement | null = null;
  private asked = 0;
  private barAt = 0;
  private stale = { frame: true, map: true };
  private later = 0;
  /** While Python's wishes are carried out: they are not told back. */
  private quiet = false;
  private changed = false;
  /** What is drawn while the events move on from the view before. */
  private moving: { transition: Transition; picture: Picture } | null = null;

  /**
   * A view at the end of `host`; or in place of `before`, with that one's state, and its events as the run before.
   * `compared` is the run before of a view that begins with one.
   */
  constructor(
    host: HTMLElement,
    wire: Wire,
    private readonly options: Options,
    before: View | null = null,
    compared: Wire | null = null,
  ) {
    const { signal } = this.ending;
    const saved = before?.scene.events.count ? save(before.scene.state) : (options.view ?? {});
    const other = compared && new Ghost(new Events(compared), compared.header, {});
    const scene = new Scene(new Events(wire), wire.header, saved, before?.asGhost() ?? other);
    this.scene = scene;
    this.texts = new Texts(scene.events);
    this.tip = new Tip(scene, this.texts);
    this.stage = h(
      "div",
      {
        class: "tlt-stage",
        tabindex: "0",
        role: "application",
        "aria-roledescription": "timeline",
        "aria-label": `Lanes of ${wire.header.title || "the trace"}; press ? for the keys`,
      },
      this.base,
      this.over,
      this.scroll,
      this.tip.root,
      this.hint.root,
    );
    this.spoken = new Spoken(scene, this.texts);
    this.bar = new Bar(
      scene,
      {
        tool: () => this.tool,
        use: (tool) => this.use(tool),
        help: () => this.help(),
        save: (near) => this.offerFiles(near),
        lines: () => this.lines.toggle(),
        aggregate: () => this.aggregate.toggle(),
        over: (which) => this.choose(which),
        overs: Object.keys(options.overs ?? {}),
        home: () => this.stage.focus(),
      },
      signal,
    );
    this.legend = new Legend(scene, signal);
    this.launches = new Launches(scene, signal);
    this.panel = new Panel(scene, this.texts, this.actions(signal));
    this.lines = new Lines(scene);
    this.aggregate = new Aggregate(scene);
    const noted = (bands: Bands | null, told: readonly Remark[] | null) => {
      this.overlay.remarks = bands;
      if (told) this.options.onRemarks?.(told);
      this.ask();
    };
    this.remarks = new Remarks(scene, noted, () => this.stage.focus());
    const losses = wire.header.losses
      ? h("div", { class: "tlt-note tlt-warn", role: "note" }, wire.header.losses)
      : null;
    this.root = h(
      "div",
      {
        class: "tlt",
        tabindex: "-1",
        "data-theme": options.theme ?? "auto",
        role: "region",
        "aria-label": `Timeline of ${wire.header.title || "a trace"}`,
      },
      h("style", {}, STYLE),
      this.bar.root,
      losses,
      this.launches.root,
      this.note,
      this.verdict,
      this.words,
      this.map,
      this.stage,
      this.legend.root,
      this.panel.root,
      this.remarks.root,
      this.lines.root,
      this.aggregate.root,
      this.spoken.live,
      this.spoken.table,
    );
    const [least, most] = USUAL_HEIGHT;
    const wanted = options.height ?? Math.min(Math.max(scene.rows.height + AXIS + 1, least), most);
    this.stage.style.height = before ? before.heightOver(wanted) : `${wanted}px`;
    const focused = before?.root.contains(focusedIn(before.root));
    if (before) before.root.replaceWith(this.root);
    else host.append(this.root);
    this.bar.fit();
    this.theme = themeOf(this.root);
    this.picture = new Picture(this.base, scene, this.texts);
    this.overlay = new Overlay(this.over, scene);
    this.history = new History(scene);
    this.remarks.set(options.remarks ?? []);
    this.menu = new Menu(this.stage, scene, () => this.stage.focus());
    this.minimap = new Minimap(this.map, scene, () => this.ask());
    new Pointer(
      this.stage,
      scene,
      {
        frame: () => this.frame,
        tool: () => this.tool,
        moved: (x, y) => this.pointed(x, y),
        hint: () => this.hint.show(),
        menu: (strip, x, y) => this.menu.open(strip, x, y),
      },
      signal,
    );
    this.minimap.listen(() => this.frame.gutter, signal);
    this.listen(signal);
    this.retheme();
    if (before) this.moveOn(before);
    if (focused) this.stage.focus({ preventScroll: true });
    this.later = window.setTimeout(() => this.spoken.list(), LATER_MS);
  }

  // From one run to the next

  private asGhost(): Ghost | null {
    const { events, header, state, ghost } = this.scene;
    return events.count ? new Ghost(events, header, state) : ghost;
  }

  /** The height of the stage, or `wanted` where that is more. */
  private heightOver(wanted: number): string {
    return `${Math.max(Number.parseFloat(this.stage.style.height), wanted)}px`;
  }

  private moveOn(before: View): void {
    const { scene } = this;
    this.tool = before.tool;
    this.use(this.tool);
    const transition = Transition.of(scene, before.scene, this.theme);
    if (transition) this.moving = { transition, picture: new Picture(this.base, transition.scene, this.texts) };
    before.close();
    this.draw();
  }

  /** Stop where the events are now: whoever points at one means that. */
  private arrive(): void {
    if (!this.moving) return;
    this.moving = null;
    this.redraw();
  }

  /** Show these words in place of everything else; for the empty text, everything else. */
  say(words: string): void {
    this.words.textContent = words;
    this.words.hidden = !words;
    this.root.classList.toggle("tlt-speaks", Boolean(words));
  }

  private listen(signal: AbortSignal): void {
    const { scene, stage } = this;
    scene.on("frame", () => this.redraw());
    scene.on("hover", () => {
      this.legend.measure(scene.measured ? measuredText(scene, scene.measured) : "");
      this.ask();
    });
    scene.on("focus", () => {
      this.panel.show();
      this.lines.mark();
      this.aggregate.follow();
      this.spoken.say();
      this.bar.show();
      this.ask();
    });
    scene.on("selection", () => {
      this.panel.aggregate();
      this.lines.mark();
      this.aggregate.show();
      this.tellSelection();
    });
    let { unit } = scene.state;
    scene.on("state", () => {
      if (unit !== scene.state.unit) this.panel.aggregate();
      unit = scene.state.unit;
      this.bar.show();
      this.legend.show();
      this.launches.show();
      this.lines.show();
      this.aggregate.show();
      this.soon();
    });
    scene.on("moved", () => this.soon());
    scene.on("codes", () => {
      scene.paint.ink(this.theme);
      scene.ghost?.ink(this.theme);
      this.stale.map = true;
    });
    scene.on("message", () => {
      this.note.textContent = scene.message;
      this.note.hidden = !scene.message;
    });
    this.keepFocus(signal);
    this.root.addEventListener("keydown", (event) => this.key(event), { signal });
    this.root.addEventListener(
      "pointerdown",
      (event) => {
        if (!this.menu.holds(event.target as Node)) this.menu.close();
        this.bar.closeMore(event.target as Node);
      },
      { signal },
    );
    for (const type of ["pointerdown", "keydown", "wheel"] as const)
      this.root.addEventListener(type, () => this.arrive(), { signal, passive: true, capture: true });
    // The scrollbar's own answer to being set must not undo what came after.
    const scrolled = () => {
      if (Math.abs(this.scroll.scrollTop - this.barAt) > 1) scene.scrollTo(this.scroll.scrollTop);
    };
    this.scroll.addEventListener("scroll", scrolled, { signal, passive: true });
    onThemeChange(() => this.retheme(), signal);
    const sizes = new ResizeObserver(() => {
      this.bar.fit();
      this.redraw();
    });
    sizes.observe(stage);
    const seen = new IntersectionObserver((entries) => entries.some((entry) => entry.isIntersecting) && this.redraw());
    seen.observe(stage);
    signal.addEventListener("abort", () => {
      sizes.disconnect();
      seen.disconnect();
    });
  }

  /** Whatever is clicked, the lanes have the keys, but for a box that is typed into: else a notebook would have them. */
  private keepFocus(signal: AbortSignal): void {
    const { root, stage } = this;
    let byHand = false;
    root.addEventListener("pointerdown", () => (byHand = true), { signal, capture: true });
    root.addEventListener("keydown", () => (byHand = false), { signal, capture: true });
    // Some notebooks look at keys before they go down to the element; the window is asked before these.
    window.addEventListener("keydown", (event) => this.letSave(event), { signal, capture: true });
    for (const type of ["click", "change"] as const)
      root.addEventListener(
        type,
        ({ target }) => {
          const focused = focusedIn(root);
          const elsewhere = focused === null || !root.contains(focused);
          const done = focused === (target as Element).closest(type === "click" ? "button" : "select");
          // What takes no focus itself hands it on to the root; there it stays as long as words are marked.
          const plain = focused === root && getSelection()?.isCollapsed !== false;
          if (byHand && (elsewhere || done || plain || focused === this.scroll)) stage.focus({ preventScroll: true });
        },
        { signal },
      );
  }

  /** Saving is the notebook's, also from here: for this one key the mark is away by which its shortcuts are kept out. */
  private letSave(event: KeyboardEvent): void {
    if (!(event.ctrlKey || event.metaKey) || event.key.toLowerCase() !== "s") return;
    if (!event.composedPath().includes(this.root)) return;
    const marked = [this.root, ...this.root.querySelectorAll(`[${SUPPRESS}]`)];
    for (const element of marked) element.removeAttribute(SUPPRESS);
    setTimeout(() => {
      for (const element of marked) element.setAttribute(SUPPRESS, "true");
    });
  }

  /** Take everything away. */
  close(): void {
    this.ending.abort();
    cancelAnimationFrame(this.asked);
    clearTimeout(this.later);
    this.hint.close();
    this.root.remove();
  }

  // Drawing

  private retheme(): void {
    this.theme = themeOf(this.root);
    const { style } = this.root;
    for (const key of ["ink", "soft", "line", "accent", "warn", "head"] as const)
      style.setProperty(`--tlt-${key}`, this.theme[key]);
    style.colorScheme = this.theme.dark ? "dark" : "light";
    this.scene.paint.ink(this.theme);
    this.scene.ghost?.ink(this.theme);
    this.stale.map = true;
    this.redraw();
  }

  private redraw(): void {
    this.stale.frame = true;
    this.ask();
  }

  private ask(): void {
    if (this.asked || this.ending.signal.aborted) return;
    this.asked = requestAnimationFrame(() => {
      this.asked = 0;
      this.draw();
    });
  }

  /** Draw now what has changed. */
  draw(): void {
    const { clientWidth, clientHeight } = this.stage;
    if (clientWidth === 0 || clientHeight === 0) return;
    const began = performance.now();
    if (this.stale.frame) this.drawFrame(clientWidth, clientHeight);
    const drawn = performance.now();
    this.overlay.draw(this.frame, this.theme, this.at?.x ?? null);
    this.tip.show(this.at, this.frame);
    const done = performance.now();
    if (this.stale.frame) Object.assign(this.spent, { frame: done - began, looked: this.picture.looked });
    this.spent.overlay = done - drawn;
    this.stale.frame = false;
    if (this.moving) this.redraw();
  }

  private drawFrame(clientWidth: number, height: number): void {
    const { scene } = this;
    const ratio = (window.devicePixelRatio || 1) * this.scale;
    const body = Math.max(height - AXIS - scene.rows.pinnedHeight, 0);
    const scrolls = scene.rows.height > body;
    const width = clientWidth - (scrolls ? SCROLLBAR : 0);
    const gutter = Math.round(Math.min(Math.max(width * 0.2, LEAST_GUTTER), MOST_GUTTER));
    this.frame = { width, height, gutter, ratio };
    scene.viewHeight = body;
    scene.scrollTo(scene.state.scroll);
    this.scroll.hidden = !scrolls;
    if (scrolls) {
      this.scroll.style.top = `${AXIS + scene.rows.pinnedHeight}px`;
      this.spacer.style.height = `${scene.rows.height}px`;
      if (Math.abs(this.scroll.scrollTop - scene.state.scroll) > 1) this.scroll.scrollTop = scene.state.scroll;
      this.barAt = this.scroll.scrollTop;
    }
    for (const canvas of [this.base, this.over]) {
      const [w, h] = [Math.round(width * ratio), Math.round(height * ratio)];
      if (canvas.width === w && canvas.height === h) continue;
      [canvas.width, canvas.height] = [w, h];
      canvas.style.width = `${width}px`;
      canvas.style.height = `${height}px`;
    }
    if (this.stale.map) {
      this.stale.map = false;
      this.minimap.count(this.ending.signal, this.theme);
    }
    if (this.moving && !this.moving.transition.step(performance.now())) this.moving = null;
    (this.moving?.picture ?? this.picture).draw(this.frame, this.theme);
    this.minimap.draw(clientWidth, gutter, ratio, this.theme);
    this.root.dataset.drawn = "";
  }

  /** How much larger than it says everything is: for presenting. */
  private get scale(): number {
    const { stage } = this;
    return stage.offsetWidth ? stage.getBoundingClientRect().width / stage.offsetWidth : 1;
  }

  // Hovering

  private pointed(x: number | null, y: number): void {
    this.at = x === null ? null : { x, y };
    this.ask();
  }

  // Hands

  /** Keys on the lanes, and those on a control for which it has no use itself. None goes on to the notebook. */
  private key(event: KeyboardEvent): void {
    if (!event.ctrlKey && !event.metaKey && !event.altKey) event.stopPropagation();
    if (event.target !== this.stage && event.target !== this.root && !isSpare(event)) return;
    const desk: Desk = {
      search: () => this.bar.search.focus(),
      help: () => this.help(),
      copy: () => this.copy(),
      go: (by) => this.history.go(by),
      present: () => this.present(),
      remark: () => this.remarks.begin(),
      lines: () => this.lines.toggle(),
      aggregate: () => this.aggregate.toggle(),
      leave: () => this.leave(),
      use: (tool) => this.use(tool),
      nextColor: () =>
        this.scene.set({ colorBy: COLOR_BY[(COLOR_BY.indexOf(this.scene.state.colorBy) + 1) % COLOR_BY.length] }),
    };
    if (!press(event, this.scene, desk)) return;
    event.preventDefault();
    event.stopPropagation();
  }

  private use(tool: Tool): void {
    this.tool = tool;
    if (tool !== "measure") this.scene.measured = null;
    this.stage.style.cursor = tool === "pan" ? "grab" : tool === "measure" ? "crosshair" : "";
    this.bar.show();
    this.ask();
  }

  private leave(): void {
    const { scene } = this;
    if (this.bar.closeMore()) return;
    if (this.helping) this.help();
    else if (scene.selected || scene.area || scene.measured || scene.focused >= 0) scene.clearSelection();
    else this.stage.blur();
  }

  /** Larger, without search, for those who look from afar; and back. */
  private present(): void {
    this.root.classList.toggle("tlt-present");
    this.bar.fit();
    this.redraw();
  }

  private help(): void {
    if (this.helping) {
      this.helping.remove();
      this.helping = null;
      this.stage.focus();
      return;
    }
    this.helping = help(() => this.help());
    this.helping.addEventListener("keydown", (event) => {
      event.stopPropagation();
      if (event.key === "Escape" || event.key === "?") this.help();
    });
    this.root.append(this.helping);
    this.helping.focus();
  }

  private actions(signal: AbortSignal): HTMLElement[] {
    const make = (text: string, act: () => void) => {
      const button = h("button", { type: "button" }, text);
      button.addEventListener("click", act, { signal });
      return button;
    };
    return [
      make("Zoom to it", () => this.scene.showSelection()),
      make("Copy", () => this.copy()),
      make("Clear", () => this.scene.clearSelection()),
    ];
  }

  private copy(): void {
    const { focused, selected, events, header } = this.scene;
    const parts = focused >= 0 ? [asText(focused, events, this.texts, header)] : [];
    if (selected) parts.push(this.panel.asText());
    const text = parts.join("\n\n");
    if (!text) return;
    copyText(text, this.root).catch(() => this.scene.say("this page may not write to the clipboard"));
  }

  // What is drawn over the lanes

  private choose(which: string): void {
    const known = this.options.overs?.[which];
    if (known || !which) this.setOver(known ?? null);
    if (!known) this.options.onOver?.(which);
  }

  /** Draw these bands over the lanes, and say what they come to; null for none. */
  setOver(over: Over | null): void {
    const shown = over?.which ? over : null;
    this.overlay.bands = shown && new Bands(shown, this.scene);
    this.verdict.textContent = shown?.words ?? "";
    this.verdict.hidden = !shown?.words;
    this.bar.showOver(shown?.which ?? "");
    this.ask();
  }

  /** Take over notes that were written elsewhere. */
  setRemarks(remarks: readonly Remark[]): void {
    this.remarks.set(remarks);
  }

  // What is taken away

  private offerFiles(near: HTMLElement): void {
    const box = near.getBoundingClientRect();
    const stage = this.stage.getBoundingClientRect();
    const { selected, header } = this.scene;
    const name = header.title || "timeline";
    const fail = (error: Error) => this.scene.say(error.message);
    const picture = () => {
      this.draw();
      return asPng(pictureOf([this.base, this.over], this.scene, this.frame, this.theme));
    };
    const entries: Entry[] = [
      ["Copy the picture", () => this.copyPicture(picture()).catch(fail)],
      ["Save the picture", () => picture().then((blob) => download(blob, `${name}.png`), fail)],
      [selected ? "Save the selected rows" : "Save the rows", () => this.saveRows(name)],
      [selected ? "Save the selection for Perfetto" : "Save for Perfetto", () => this.saveTrace(name)],
    ];
    const { onPage } = this.options;
    if (onPage) entries.push([selected ? "Save a page of the selection" : "Save as a page", () => onPage()]);
    this.menu.show(entries, box.left - stage.left - 120, 0);
  }

  private async copyPicture(picture: Promise<Blob>): Promise<void> {
    if (!navigator.clipboard?.write) throw new Error("this page may not write to the clipboard: save the picture");
    await navigator.clipboard.write([new ClipboardItem({ "image/png": picture })]);
    this.scene.say("");
  }

  private saveRows(name: string): void {
    const { positions, note } = taken(this.scene);
    download(new Blob([rowsOf(this.scene, this.texts, positions)], { type: "text/csv" }), `${name}.csv`);
    if (note) this.scene.say(note);
  }

  private saveTrace(name: string): void {
    const { positions, note } = taken(this.scene);
    const text = chromeTrace(this.scene, positions, this.remarks.all);
    download(new Blob([text], { type: "application/json" }), `${name}.json`);
    if (note) this.scene.say(note);
  }

  // Python's end

  /** After a moment without further change, list what is in view and tell how the view was changed. */
  private soon(): void {
    clearTimeout(this.later);
    this.changed ||= !this.quiet;
    this.later = window.setTimeout(() => {
      this.spoken.list();
      if (this.changed) this.options.onView?.(save(this.scene.state));
      this.changed = false;
    }, LATER_MS);
  }

  /** Take over a saved view; it is not told back. */
  setView(saved: Saved): void {
    if (JSON.stringify(save(this.scene.state)) === JSON.stringify({ ...save(this.scene.state), ...saved })) return;
    this.quiet = true;
    this.scene.restore(saved);
    this.quiet = false;
  }

  private tellSelection(): void {
    if (this.quiet || !this.options.onSelection) return;
    const { selected, events } = this.scene;
    try {
      this.options.onSelection(selected ? toRuns(selected.map((i) => events.id[i])) : new Uint32Array(0));
    } catch (error) {
      this.scene.say((error as Error).message);
    }
  }

  /** Select these runs of positions in the frame; it is not told back. */
  setSelection(runs: Uint8Array): void {
    const { scene } = this;
    const ids = fromRuns(runs);
    const positions = ids.map((id) => scene.events.positionOf(id)).sort();
    if (sameNumbers(positions, scene.selected ?? new Uint32Array(0))) return;
    this.quiet = true;
    scene.area = null;
    scene.select(positions.length ? positions : null);
    this.quiet = false;
  }
}

/** The element under `root` that has the focus, be it in a shadow tree. */
function focusedIn(root: HTMLElement): Element | null {
  return (root.getRootNode() as Document | ShadowRoot).activeElement;
}

/** Whether a button, of no menu and no dialog, has no use for a key. */
function isSpare({ target, key }: KeyboardEvent): boolean {
  const button = (target as Element).closest("button");
  return button !== null && !button.closest("[role=menu], [role=dialog]") && !["Enter", " ", "Tab"].includes(key);
}

function sameNumbers(a: Uint32Array, b: Uint32Array): boolean {
  return a.length === b.length && a.every((value, i) => value === b[i]);
}
