// The canvases of a view, and when they are drawn: at most once in a frame of the browser, and only what has changed.

import { h } from "./dom";
import { AXIS, type Frame } from "./frame";
import type { Texts } from "./label";
import { Minimap } from "./minimap";
import { Overlay } from "./overlay";
import { Picture } from "./picture";
import type { Scene } from "./scene";
import { onThemeChange, type Theme, themeOf } from "./theme";
import type { Tip } from "./tip";
import { Transition } from "./transition";

const LEAST_GUTTER = 108;
const MOST_GUTTER = 230;
const SCROLLBAR = 14;

export class Drawing {
  readonly map = h("canvas", { class: "tlt-map", "aria-hidden": "true" });
  readonly base = h("canvas", { "aria-hidden": "true" });
  readonly over = h("canvas", { "aria-hidden": "true" });
  private readonly spacer = h("div");
  readonly scroll = h("div", { class: "tlt-scroll", "aria-hidden": "true", tabindex: "-1" }, this.spacer);
  readonly overlay: Overlay;
  /** Milliseconds that the last frame and the last hover took on the main thread. */
  readonly spent = { frame: 0, overlay: 0, looked: 0 };
  frame: Frame = { width: 0, height: 0, gutter: 0, ratio: 1 };
  theme: Theme;
  private readonly picture: Picture;
  private readonly minimap: Minimap;
  private at: { x: number; y: number } | null = null;
  private asked = 0;
  private barAt = 0;
  private stale = { frame: true, map: true };
  /** What is drawn while the events move on from the view before. */
  private moving: { transition: Transition; picture: Picture } | null = null;

  /** `root` is in the page; `stage`, in it, gets the canvases under what it has. */
  constructor(
    private readonly root: HTMLElement,
    private readonly stage: HTMLElement,
    private readonly scene: Scene,
    private readonly texts: Texts,
    private readonly tip: Tip,
    private readonly signal: AbortSignal,
  ) {
    stage.prepend(this.base, this.over, this.scroll);
    stage.before(this.map);
    this.theme = themeOf(root);
    this.picture = new Picture(this.base, scene, texts);
    this.overlay = new Overlay(this.over, scene);
    this.minimap = new Minimap(this.map, scene, () => this.ask());
    this.minimap.listen(() => this.frame.gutter, signal);
    scene.on("frame", () => this.redraw());
    scene.on("codes", () => this.ink());
    for (const type of ["pointerdown", "keydown", "wheel"] as const)
      root.addEventListener(type, () => this.arrive(), { signal, passive: true, capture: true });
    // The scrollbar's own answer to being set must not undo what came after.
    const scrolled = () => {
      if (Math.abs(this.scroll.scrollTop - this.barAt) > 1) scene.scrollTo(this.scroll.scrollTop);
    };
    this.scroll.addEventListener("scroll", scrolled, { signal, passive: true });
    onThemeChange(() => this.retheme(), signal);
    const seen = new IntersectionObserver((entries) => entries.some((entry) => entry.isIntersecting) && this.redraw());
    seen.observe(stage);
    signal.addEventListener("abort", () => {
      seen.disconnect();
      cancelAnimationFrame(this.asked);
    });
    this.retheme();
  }

  /** Let the events come from where they were in another view. */
  moveFrom(before: Scene): void {
    const transition = Transition.of(this.scene, before, this.theme);
    if (transition) this.moving = { transition, picture: new Picture(this.base, transition.scene, this.texts) };
  }

  /** Stop where the events are now: whoever points at one means that. */
  private arrive(): void {
    if (!this.moving) return;
    this.moving = null;
    this.redraw();
  }

  private retheme(): void {
    this.theme = themeOf(this.root);
    const { style } = this.root;
    for (const key of ["ink", "soft", "line", "accent", "warn", "head"] as const)
      style.setProperty(`--tlt-${key}`, this.theme[key]);
    style.colorScheme = this.theme.dark ? "dark" : "light";
    this.ink();
    this.redraw();
  }

  private ink(): void {
    this.scene.paint.ink(this.theme);
    this.scene.ghost?.ink(this.theme);
    this.stale.map = true;
  }

  /** Draw everything anew, soon. */
  redraw(): void {
    this.stale.frame = true;
    this.ask();
  }

  /** Draw what is over the lanes anew, soon. */
  ask(): void {
    if (this.asked || this.signal.aborted) return;
    this.asked = requestAnimationFrame(() => {
      this.asked = 0;
      this.draw();
    });
  }

  /** The pointer is there, or gone. */
  pointed(x: number | null, y: number): void {
    this.at = x === null ? null : { x, y };
    this.ask();
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
      this.minimap.count(this.signal, this.theme);
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
}
