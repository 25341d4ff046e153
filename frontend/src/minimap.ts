// The whole trace in a strip: per column, the share of each colour, and a window where the view is.

import type { Span } from "./axis";
import { css, mix } from "./color";
import { context2d } from "./dom";
import { HIDDEN } from "./events";
import { DIM } from "./paint";
import type { Scene } from "./scene";
import type { Theme } from "./theme";

export const MAP_HEIGHT = 34;
const COLUMNS = 600;
/** Events counted in one go, so that nothing waits for a long trace. */
const SLICE = 400_000;

export class Minimap {
  private readonly context: CanvasRenderingContext2D;
  private readonly still = document.createElement("canvas");
  private time = new Float32Array(0);
  private job = 0;

  constructor(
    private readonly canvas: HTMLCanvasElement,
    private readonly scene: Scene,
    private readonly redraw: () => void,
  ) {
    this.context = context2d(canvas);
  }

  /** Count again what there is, a slice at a time; `redraw` is called as it grows. */
  count(signal: AbortSignal, theme: Theme): void {
    const { events, axis } = this.scene;
    const job = ++this.job;
    const time = new Float32Array(COLUMNS * 256);
    const { from, to } = axis.all;
    const scale = COLUMNS / (to - from);
    let row = 0;
    const go = () => {
      if (signal.aborted || job !== this.job) return;
      let counted = 0;
      for (; row < events.rowLane.length && counted < SLICE; row++) {
        const { offset, rate } = axis.line(events.lanes[events.rowLane[row]]);
        const end = events.rowStart[row + 1];
        for (let i = events.rowStart[row]; i < end; i++) {
          if (events.code[i] !== HIDDEN) {
            const x = (offset + rate * events.start[i] - from) * scale;
            add(time, events.code[i], x, x + rate * events.duration[i] * scale);
          }
        }
        counted += end - events.rowStart[row];
      }
      this.time = time;
      this.paint(theme);
      this.redraw();
      if (row < events.rowLane.length) setTimeout(go, 0);
    };
    go();
  }

  private paint(theme: Theme): void {
    const { still, scene, time } = this;
    still.width = COLUMNS;
    still.height = MAP_HEIGHT;
    const context = context2d(still);
    let most = 0;
    const sums = new Float32Array(COLUMNS);
    for (let x = 0; x < COLUMNS; x++) {
      for (let code = 0; code < 256; code++) sums[x] += time[x * 256 + code];
      most = Math.max(most, sums[x]);
    }
    const used = Array.from({ length: 255 }, (_, code) => code).filter((code) => {
      for (let x = 0; x < COLUMNS; x++) if (time[x * 256 + code] > 0) return true;
      return false;
    });
    for (let x = 0; x < COLUMNS; x++) {
      let y = MAP_HEIGHT;
      for (const code of used) {
        const share = time[x * 256 + code];
        if (share === 0) continue;
        const high = Math.max((share / most) * (MAP_HEIGHT - 4), 1);
        const full = scene.paint.colors[code % DIM];
        context.fillStyle = css(mix(full, theme.ground, code >= DIM ? 0.8 : 0.1));
        context.fillRect(x, y - high, 1, high);
        y -= high;
      }
    }
  }

  draw(width: number, gutter: number, ratio: number, theme: Theme): void {
    const { context, canvas } = this;
    const [w, h, left] = [width, MAP_HEIGHT, gutter].map((value) => Math.round(value * ratio));
    if (canvas.width !== w || canvas.height !== h) [canvas.width, canvas.height] = [w, h];
    context.fillStyle = css(theme.ground);
    context.fillRect(0, 0, w, h);
    context.imageSmoothingEnabled = false;
    if (this.still.width === COLUMNS) context.drawImage(this.still, left, 0, w - left, h);
    const [from, to] = this.window(w, left);
    context.fillStyle = css(theme.ground);
    context.globalAlpha = 0.6;
    context.fillRect(left, 0, from - left, h);
    context.fillRect(to, 0, w - to, h);
    context.globalAlpha = 1;
    context.strokeStyle = theme.accent;
    context.lineWidth = Math.max(1, ratio);
    context.strokeRect(from + 0.5, 0.5, Math.max(to - from - 1, 2), h - 1);
    context.fillStyle = theme.soft;
    context.font = `${10.5 * ratio}px system-ui, sans-serif`;
    context.textBaseline = "middle";
    context.fillText("overview", 8 * ratio, h / 2);
    context.fillStyle = theme.line;
    context.fillRect(left - 1, 0, 1, h);
  }

  private window(width: number, left: number): [number, number] {
    const { axis, span } = this.scene;
    const { from, to } = axis.all;
    const at = (time: number) => left + Math.min(Math.max((time - from) / (to - from), 0), 1) * (width - left);
    return [at(span.from), at(span.to)];
  }

  /** Dragging moves the window; outside of it, it first jumps there. */
  listen(gutter: () => number, signal: AbortSignal): void {
    const { canvas, scene } = this;
    let grabbed = 0;
    const timeAt = (event: PointerEvent) => {
      const box = canvas.getBoundingClientRect();
      const left = gutter() * (box.width / canvas.offsetWidth || 1); // larger where it is presented
      const { from, to } = scene.axis.all;
      return from + ((event.clientX - box.left - left) / Math.max(box.width - left, 1)) * (to - from);
    };
    const move = (event: PointerEvent) => {
      const width = scene.span.to - scene.span.from;
      const from = timeAt(event) - grabbed;
      scene.look({ from, to: from + width } satisfies Span);
    };
    canvas.addEventListener(
      "pointerdown",
      (event) => {
        const time = timeAt(event);
        const { from, to } = scene.span;
        grabbed = time >= from && time <= to ? time - from : (to - from) / 2;
        canvas.setPointerCapture(event.pointerId);
        move(event);
      },
      { signal },
    );
    canvas.addEventListener(
      "pointermove",
      (event) => event.buttons & 1 && canvas.hasPointerCapture(event.pointerId) && move(event),
      { signal },
    );
    canvas.addEventListener("dblclick", () => scene.showAll(), { signal });
  }
}

/** Add an event from column `x0` to `x1` to the columns that it covers, as far as it covers them. */
function add(time: Float32Array, code: number, x0: number, x1: number): void {
  const first = Math.max(Math.floor(x0), 0);
  const last = Math.min(Math.floor(x1), COLUMNS - 1);
  if (first === last) {
    time[first * 256 + code] += Math.max(x1 - x0, 1e-4);
    return;
  }
  for (let x = first; x <= last; x++) time[x * 256 + code] += Math.min(x1, x + 1) - Math.max(x0, x);
}
