// One view: its elements, what they listen to, and when they are drawn. `close` leaves nothing behind.

import { Spoken } from "./access";
import { Aggregate } from "./aggregate";
import { Bands, type Over } from "./bands";
import { Bar, Legend } from "./bar";
import { copyText, h } from "./dom";
import { Drawing } from "./drawing";
import { Events } from "./events";
import { asText } from "./facts";
import { pictureOf } from "./files";
import { focusedIn, isSpare, keepFocus } from "./focus";
import { AXIS, type Frame } from "./frame";
import { Ghost } from "./ghost";
import { help } from "./help";
import { History } from "./history";
import { type Desk, press } from "./keys";
import { Texts } from "./label";
import { Launches } from "./launches";
import { Lines } from "./lines";
import { measuredText } from "./measure";
import { Menu } from "./menu";
import type { Overlay } from "./overlay";
import { COLOR_BY } from "./paint";
import { Panel } from "./panel";
import { Pointer, type Tool } from "./pointer";
import { type Remark, Remarks } from "./remarks";
import { Scene } from "./scene";
import { type Saved, save } from "./state";
import { STYLE } from "./style";
import { offers } from "./take";
import type { Theme } from "./theme";
import { Hint, Tip } from "./tip";
import { type Listener, Told } from "./told";
import type { Wire } from "./wire";

export interface Options extends Listener {
  /** Height of the lanes in pixels; by default by the number of lanes, up to 560. */
  readonly height?: number | null;
  readonly theme?: "auto" | "light" | "dark";
  readonly view?: Saved;
  /** What can be drawn over the lanes, by name; `onOver` is asked for what is not there. */
  readonly overs?: Readonly<Record<string, Over | null>>;
  onOver?(which: string): void;
  /** Notes on the lanes, and who is told when a reader changes them. */
  readonly remarks?: readonly Remark[];
  onRemarks?(remarks: readonly Remark[]): void;
  /** Asked for a page of what is selected, or of everything; where there is nobody who makes one, it is not offered. */
  onPage?(): void;
}

const USUAL_HEIGHT = [110, 560] as const;

export class View {
  readonly scene: Scene;
  private readonly ending = new AbortController();
  private readonly root: HTMLElement;
  private readonly stage: HTMLElement;
  private readonly hint = new Hint();
  private readonly tip: Tip;
  private readonly menu: Menu;
  private readonly note = h("div", { class: "tlt-note tlt-warn", role: "alert", hidden: true });
  private readonly verdict = h("div", { class: "tlt-note tlt-verdict", role: "status", hidden: true });
  private readonly words = h("div", { class: "tlt-instead", role: "alert", hidden: true });
  private readonly drawing: Drawing;
  private readonly history: History;
  private readonly bar: Bar;
  private readonly legend: Legend;
  private readonly launches: Launches;
  private readonly panel: Panel;
  private readonly lines: Lines;
  private readonly aggregate: Aggregate;
  private readonly remarks: Remarks;
  private readonly spoken: Spoken;
  private readonly texts: Texts;
  private readonly told: Told;
  private tool: Tool = "select";
  private helping: HTMLElement | null = null;

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
        save: (near) => this.offer(near),
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
    this.drawing = new Drawing(this.root, this.stage, scene, this.texts, this.tip, signal);
    this.history = new History(scene);
    this.remarks.set(options.remarks ?? []);
    this.menu = new Menu(this.stage, scene, () => this.stage.focus());
    new Pointer(
      this.stage,
      scene,
      {
        frame: () => this.frame,
        tool: () => this.tool,
        moved: (x, y) => this.drawing.pointed(x, y),
        hint: () => this.hint.show(),
        menu: (strip, x, y) => this.menu.open(strip, x, y),
      },
      signal,
    );
    this.listen(signal);
    if (before) this.moveOn(before);
    if (focused) this.stage.focus({ preventScroll: true });
    this.told = new Told(scene, options, () => this.spoken.list(), signal);
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
    this.tool = before.tool;
    this.use(this.tool);
    this.drawing.moveFrom(before.scene);
    before.close();
    this.draw();
  }

  /** Show these words in place of everything else; for the empty text, everything else. */
  say(words: string): void {
    this.words.textContent = words;
    this.words.hidden = !words;
    this.root.classList.toggle("tlt-speaks", Boolean(words));
  }

  private listen(signal: AbortSignal): void {
    const { scene, stage } = this;
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
    });
    scene.on("message", () => {
      this.note.textContent = scene.message;
      this.note.hidden = !scene.message;
    });
    keepFocus(this.root, stage, this.drawing.scroll, signal);
    this.root.addEventListener("keydown", (event) => this.key(event), { signal });
    this.root.addEventListener(
      "pointerdown",
      (event) => {
        if (!this.menu.holds(event.target as Node)) this.menu.close();
        this.bar.closeMore(event.target as Node);
      },
      { signal },
    );
    const sizes = new ResizeObserver(() => {
      this.bar.fit();
      this.drawing.redraw();
    });
    sizes.observe(stage);
    signal.addEventListener("abort", () => sizes.disconnect());
  }

  /** Take everything away. */
  close(): void {
    this.ending.abort();
    this.hint.close();
    this.root.remove();
  }

  // What is drawn

  get frame(): Frame {
    return this.drawing.frame;
  }

  get theme(): Theme {
    return this.drawing.theme;
  }

  /** Milliseconds that the last frame and the last hover took on the main thread. */
  get spent(): Drawing["spent"] {
    return this.drawing.spent;
  }

  private get overlay(): Overlay {
    return this.drawing.overlay;
  }

  private ask(): void {
    this.drawing.ask();
  }

  /** Draw now what has changed. */
  draw(): void {
    this.drawing.draw();
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
    this.drawing.redraw();
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

  private offer(near: HTMLElement): void {
    const picture = () => {
      this.draw();
      const { base, over } = this.drawing;
      return pictureOf([base, over], this.scene, this.frame, this.theme);
    };
    const { onPage } = this.options;
    const seen = { picture, texts: this.texts, remarks: this.remarks.all, onPage: onPage && (() => onPage()) };
    const left = near.getBoundingClientRect().left - this.stage.getBoundingClientRect().left;
    this.menu.show(offers(this.scene, seen), left - 120, 0);
  }

  /** Take over a saved view; it is not told back. */
  setView(saved: Saved): void {
    this.told.setView(saved);
  }

  /** Select these runs of positions in the frame; it is not told back. */
  setSelection(runs: Uint8Array): void {
    this.told.setSelection(runs);
  }
}
