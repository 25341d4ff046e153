// Draws the lanes, their labels and the time axis on a canvas. Everything here is in device pixels.

import { arrow } from "./arrow";
import { tickStep } from "./axis";
import { css } from "./color";
import { context2d } from "./dom";
import { type Lane, lowerBound } from "./events";
import { AXIS, FONT, type Frame, type Placed, Places, placed, stuck, xOf } from "./frame";
import { fitted, Ruler, type Texts } from "./label";
import { Collected } from "./notes";
import type { Scene } from "./scene";
import type { Theme } from "./theme";
import { GAP, LABEL, ROW, UNDER } from "./tree";
import { arrowShows } from "./walk";

/** How opaque the run before is. */
const GHOSTLY = 0.5;
/** How opaque an arrow between dimmed events is. */
const PALE = 0.15;
/** Most arrows of a frame; more cannot be followed. */
const MOST_ARROWS = 1200;
/** Height of the letters on bars, in pixels. */
const LETTERS = 11;

/** Strips that have the canvas between two heights, and what is to be written on their bars. */
interface Part {
  readonly strips: readonly Placed[];
  readonly from: number;
  readonly to: number;
  readonly notes: Collected;
}

export class Picture {
  private readonly context: CanvasRenderingContext2D;
  private readonly lines = document.createElement("canvas");
  private readonly lineContext: CanvasRenderingContext2D;
  private image: ImageData | null = null;
  private readonly ruler: Ruler;
  /** Events and bins that the last frame looked at. */
  looked = 0;

  constructor(
    canvas: HTMLCanvasElement,
    private readonly scene: Scene,
    private readonly texts: Texts,
  ) {
    this.context = context2d(canvas);
    this.lineContext = context2d(this.lines);
    this.ruler = new Ruler(this.context);
  }

  draw(frame: Frame, theme: Theme): void {
    const { context, scene } = this;
    const { ratio } = frame;
    const px = (value: number) => Math.round(value * ratio);
    const [width, height, left, top] = [frame.width, frame.height, frame.gutter, AXIS].map(px);
    const shown = placed(scene, frame);
    const split = AXIS + scene.rows.pinnedHeight;
    const pinned = scene.rows.pinned.length;
    context.setTransform(1, 0, 0, 1, 0, 0);
    context.fillStyle = css(theme.ground);
    context.fillRect(0, 0, width, height);
    this.looked = 0;
    const parts: Part[] = [
      { strips: shown.slice(pinned), from: split, to: frame.height, notes: this.collected(ratio) },
      { strips: shown.slice(0, pinned), from: AXIS, to: split, notes: this.collected(ratio) },
    ].filter(({ strips }) => strips.length);
    for (const part of parts) this.part(part, frame, theme);
    const arrows = scene.state.arrows === "all" && scene.events.flowSrc.length > 0;
    if (arrows) {
      context.save();
      clip(context, left, top, width - left, height - top);
      this.arrows(shown, frame, theme);
      context.restore();
    }
    for (const { from, to, notes } of parts) {
      context.save();
      clip(context, left, px(from), width - left, px(to) - px(from));
      this.labels(notes, theme, frame, arrows);
      context.restore();
    }
    if (pinned) {
      context.fillStyle = theme.soft;
      context.fillRect(0, px(split) - 1, width, Math.max(1, px(1)));
    }
    const heads = stuck(scene);
    this.bands(heads, theme, frame);
    this.names(heads, frame, theme);
    this.axis(frame, theme);
    if (!scene.events.count) this.nothing(frame, theme);
  }

  /** Strips that are pinned, or those that are scrolled, but for what is written on their bars. */
  private part({ strips: shown, from, to, notes }: Part, frame: Frame, theme: Theme): void {
    const { context } = this;
    const { ratio } = frame;
    const [top, bottom, left, width] = [from, to, frame.gutter, frame.width].map((value) => Math.round(value * ratio));
    context.save();
    clip(context, 0, top, width, bottom - top);
    this.bands(shown, theme, frame);
    this.grid(frame, theme);
    this.names(shown, frame, theme);
    clip(context, left, top, width - left, bottom - top);
    this.bars(shown, frame, notes);
    this.ghosts(shown, frame);
    this.torn(notes, theme, ratio);
    this.points(notes, theme, ratio);
    context.restore();
  }

  private collected(ratio: number): Collected {
    return new Collected(Math.round(13 * ratio), this.scene.events);
  }

  private bands(shown: readonly Placed[], theme: Theme, { width, ratio }: Frame): void {
    const { context } = this;
    for (const { strip, y } of shown) {
      const [top, bottom] = [Math.round(y * ratio), Math.round((y + strip.height) * ratio)];
      if (strip.body < LABEL) continue; // many folded ones, close together
      if (strip.kind !== "lane") {
        context.fillStyle = theme.head;
        context.fillRect(0, top, Math.round(width * ratio), bottom - top);
      }
      context.fillStyle = theme.line;
      context.fillRect(0, bottom - 1, Math.round(width * ratio), 1);
    }
  }

  private grid(frame: Frame, theme: Theme): void {
    const { context } = this;
    context.fillStyle = theme.band;
    for (const x of this.tickPlaces(frame).map(([, x]) => x))
      context.fillRect(
        x,
        Math.round(AXIS * frame.ratio),
        Math.max(1, Math.round(frame.ratio)),
        frame.height * frame.ratio,
      );
    context.fillStyle = theme.soft; // where one launch ends and the next begins
    for (const { from } of this.scene.axis.sections.slice(1))
      context.fillRect(Math.round(xOf(from, this.scene.span, frame) * frame.ratio), 0, 1, frame.height * frame.ratio);
  }

  private bars(shown: readonly Placed[], frame: Frame, notes: Collected): void {
    const { context, scene } = this;
    const { ratio } = frame;
    const left = Math.round(frame.gutter * ratio);
    const width = Math.round(frame.width * ratio) - left;
    if (width <= 0) return;
    const bars: { top: number; height: number; rows: number[] }[] = [];
    for (const { strip, y } of shown) {
      if (strip.kind === "head") continue;
      const lanes = strip.node.lanes;
      const count = strip.kind === "summary" ? 1 : lanes[0].rows;
      for (let n = 0; n < count; n++) {
        const room = strip.body < LABEL ? 0 : 3;
        const top = strip.kind === "summary" ? y + room : y + GAP / 2 + n * ROW + 1;
        const bottom = strip.kind === "summary" ? y + strip.body - 1 - room : top + ROW - 2;
        const rows = strip.kind === "summary" ? this.folded(lanes) : [lanes[0].row + n];
        bars.push({ top: Math.round(top * ratio), height: Math.round(bottom * ratio) - Math.round(top * ratio), rows });
      }
    }
    if (!bars.length) return;
    const pixels = this.pixels(width, bars.length);
    bars.forEach(({ top, height, rows }, n) => {
      const line = pixels.subarray(n * width, (n + 1) * width);
      for (const row of rows) {
        const { offset, rate } = scene.axis.line(scene.events.lanes[scene.events.rowLane[row]]);
        const scale = (width * rate) / (scene.span.to - scene.span.from);
        const cycle = (scene.span.from - offset) / rate;
        notes.at(left, top, height, rows.length > 1, row, scale);
        this.looked += scene.raster.paint(line, row, { cycle, scale, width }, scene.paint.inks, notes);
      }
    });
    this.lineContext.putImageData(this.image!, 0, 0, 0, 0, width, bars.length);
    context.imageSmoothingEnabled = false;
    bars.forEach(({ top, height }, n) => {
      context.drawImage(this.lines, 0, n, width, 1, left, top, width, height);
    });
  }

  /** The rows of lanes that are one, the busiest first: what takes less time is painted over it and seen. */
  private folded(lanes: readonly Lane[]): number[] {
    const { busy } = this.scene.events;
    const rows = lanes.flatMap(({ row, rows }) => Array.from({ length: rows }, (_, r) => row + r));
    return rows.sort((a, b) => busy[b] - busy[a] || a - b);
  }

  /** The run before, thin and pale at the foot of the strips. */
  private ghosts(shown: readonly Placed[], frame: Frame): void {
    const { context, scene } = this;
    const ghost = scene.beside;
    const strips = shown.filter(({ strip }) => strip.kind !== "head");
    const { ratio } = frame;
    const left = Math.round(frame.gutter * ratio);
    const width = Math.round(frame.width * ratio) - left;
    if (!ghost || width <= 0 || !strips.length) return;
    const scale = width / (scene.span.to - scene.span.from);
    const pixels = this.pixels(width, strips.length);
    strips.forEach(({ strip }, n) => {
      const line = pixels.subarray(n * width, (n + 1) * width);
      for (const lane of strip.node.lanes) ghost.paint(line, lane, scene.axis, scene.span.from, scale);
    });
    this.lineContext.putImageData(this.image!, 0, 0, 0, 0, width, strips.length);
    context.imageSmoothingEnabled = false;
    context.globalAlpha = GHOSTLY;
    strips.forEach(({ strip, y }, n) => {
      const [top, bottom] = [y + strip.height - UNDER, y + strip.height - 2].map((value) => Math.round(value * ratio));
      context.drawImage(this.lines, 0, n, width, 1, left, top, width, bottom - top);
    });
    context.globalAlpha = 1;
  }

  /** Cleared pixels of `height` lines. */
  private pixels(width: number, height: number): Uint32Array {
    const { image, lines } = this;
    if (!image || image.width !== width || image.height < height) {
      lines.width = width;
      lines.height = Math.max(height, 64);
      this.image = this.lineContext.createImageData(width, lines.height);
    }
    const pixels = new Uint32Array(this.image!.data.buffer);
    pixels.fill(0, 0, width * height);
    return pixels;
  }

  /** A range that never ended: its right edge is torn off. */
  private torn(notes: Collected, theme: Theme, ratio: number): void {
    const { context, scene } = this;
    const step = 4 * ratio;
    context.fillStyle = css(theme.ground);
    context.beginPath();
    for (const { i, to, from, top, height } of notes.bars) {
      if (!scene.events.isTruncated(i)) continue;
      const depth = Math.min(step, (to - from) / 2);
      context.moveTo(to + 1, top);
      for (let y = 0, n = 0; y <= height + step; y += step / 1.5, n++)
        context.lineTo(to - (n % 2 ? depth : 0), top + Math.min(y, height));
      context.lineTo(to + 1, top + height);
      context.closePath();
    }
    context.fill();
  }

  private points(notes: Collected, theme: Theme, ratio: number): void {
    const { context, scene } = this;
    for (const { i, from, top, height, room } of notes.points) {
      const size = Math.min(Math.max(room, 2 * ratio), 4.5 * ratio);
      const [x, y] = [from + 0.5, top + height / 2];
      context.fillStyle = css(scene.paint.colorOf(i));
      context.strokeStyle = theme.ink;
      context.lineWidth = ratio * 0.75;
      context.beginPath();
      if (scene.events.isInstant(i)) {
        context.moveTo(x, y - size);
        context.lineTo(x + size, y);
        context.lineTo(x, y + size);
        context.lineTo(x - size, y);
        context.closePath();
      } else context.rect(x - ratio, top, 2 * ratio, height);
      context.fill();
      context.stroke();
    }
  }

  /** What is written on bars and points; where arrows may cross it, on a ground of the bar's colour. */
  private labels(notes: Collected, theme: Theme, { ratio, gutter, width }: Frame, grounded: boolean): void {
    const { context, scene, texts, ruler } = this;
    const [pad, gap] = [4 * ratio, 5 * ratio];
    const [left, right] = [gutter * ratio, width * ratio];
    ruler.use(`${LETTERS * ratio}px ${FONT}`);
    context.textAlign = "left";
    context.textBaseline = "middle";
    let style = "";
    const write = (i: number, from: number, room: number, y: number, color: string, ground = "") => {
      const words = fitted(texts.name(i), texts.payload(i), room, gap, ruler);
      if (!words) return;
      if (ground) {
        const wide = words.payload ? words.at + ruler.width(words.payload) : ruler.width(words.name);
        context.fillStyle = style = ground;
        context.fillRect(from - ratio, y - (LETTERS / 2) * ratio, wide + 2 * ratio, LETTERS * ratio);
      }
      if (style !== color) context.fillStyle = style = color;
      if (words.name) context.fillText(words.name, from, y);
      if (words.payload) {
        context.fillText(words.payload, from + words.at, y);
        if (words.name) context.fillRect(from + words.at - gap / 2 - ratio / 4, y - 4 * ratio, ratio / 2, 8 * ratio);
      }
    };
    const tall = LETTERS * ratio; // below it they would stand on those of the rows beside
    for (const { i, from, to, top, height } of notes.bars) {
      if (height < tall) continue;
      const inset = to - from < 6 * pad ? pad / 2 : pad;
      const begin = Math.max(from, left) + inset;
      const room = Math.min(to, right) - begin - inset + ratio;
      if (room < 7 * ratio) continue;
      const ground = grounded ? scene.paint.barOf(i, theme) : "";
      write(i, begin, room, top + height / 2 + ratio / 2, scene.paint.textOn(i, theme), ground);
    }
    for (const { i, from, top, height, room } of notes.points) {
      if (height < tall) continue;
      const begin = from + 8 * ratio;
      const limit = Math.min(from + room - 2 * ratio, right);
      if (limit - begin > 10 * ratio) write(i, begin, limit - begin, top + height / 2 + ratio / 2, theme.ink);
    }
  }

  private arrows(shown: readonly Placed[], frame: Frame, theme: Theme): void {
    const { scene } = this;
    const { flowSrc, flowDst } = scene.events;
    const place = new Places(scene, shown, frame);
    let drawn = 0;
    this.context.strokeStyle = this.context.fillStyle = theme.soft;
    for (const { strip } of shown) {
      if (strip.kind === "head") continue;
      for (const lane of strip.node.lanes) {
        const [first, end] = [lane.row, lane.row + lane.rows].map((row) => scene.events.rowStart[row]);
        for (let n = lowerBound(flowSrc, first, 0, flowSrc.length); n < flowSrc.length && flowSrc[n] < end; n++) {
          const from = place.end(flowSrc[n]);
          const to = place.start(flowDst[n]);
          if (!from || !to || Math.max(from.x, to.x) < 0 || Math.min(from.x, to.x) > frame.width * frame.ratio)
            continue;
          const shows = arrowShows(scene.events, flowSrc[n], flowDst[n]);
          if (shows === "not") continue;
          if (drawn++ > MOST_ARROWS) break;
          this.context.globalAlpha = shows === "pale" ? PALE : 1;
          arrow(this.context, from, to, frame.ratio);
        }
      }
    }
    this.context.globalAlpha = 1;
  }

  private names(shown: readonly Placed[], frame: Frame, theme: Theme): void {
    const { context, ruler } = this;
    const { ratio, gutter, height } = frame;
    const [left, top] = [gutter, AXIS].map((value) => Math.round(value * ratio));
    context.save();
    clip(context, 0, top, left, height * ratio - top);
    context.textAlign = "left";
    context.textBaseline = "middle";
    let free = 0;
    for (const [n, { strip, y }] of shown.entries()) {
      const dense = strip.body < LABEL;
      const cramped = shown.slice(n, n + LABEL).some((next) => next.strip.body >= LABEL && next.y < y + LABEL);
      if (dense && (y < free || cramped)) continue;
      free = y + LABEL;
      const indent = 8 + Math.min(strip.depth, 4) * 12;
      const half = strip.kind === "lane" ? (GAP + ROW) / 2 : (dense ? LABEL : strip.body) / 2;
      const middle = Math.round((y + half) * ratio);
      const leaf = strip.kind === "lane";
      ruler.use(`${leaf ? "" : "600 "}${11 * ratio}px ${FONT}`);
      context.fillStyle = leaf ? theme.soft : theme.ink;
      if (!leaf) triangle(context, (indent + 3) * ratio, middle, 3.5 * ratio, strip.kind === "head");
      const begin = (indent + (leaf ? 0 : 12)) * ratio;
      const text = ruler.elide(strip.label, left - begin - 8 * ratio);
      context.fillText(text, begin, middle + ratio / 2);
    }
    context.restore();
    context.fillStyle = theme.line;
    context.fillRect(left - 1, 0, 1, height * ratio);
  }

  private axis(frame: Frame, theme: Theme): void {
    const { context, scene, ruler } = this;
    const { ratio } = frame;
    const [left, top, width] = [frame.gutter, AXIS, frame.width].map((value) => Math.round(value * ratio));
    context.fillStyle = css(theme.ground);
    context.fillRect(0, 0, width, top);
    ruler.use(`${10.5 * ratio}px ${FONT}`);
    context.textAlign = "left";
    context.textBaseline = "middle";
    const step = this.step(frame);
    const ticks = this.tickPlaces(frame);
    ticks.forEach(([time, x], n) => {
      context.fillStyle = theme.soft;
      context.fillRect(x, top - 5 * ratio, Math.max(1, Math.round(ratio)), 5 * ratio);
      const text = scene.axis.label(time, step);
      const next = ticks[n + 1]?.[1] ?? width; // near, where one launch ends and the next begins
      if (x + ruler.width(text) + 6 * ratio <= next) context.fillText(text, x + 4 * ratio, top / 2);
    });
    context.fillStyle = theme.soft;
    const unit = scene.axis.unit === "ns" ? `ns since ${this.first} CTA` : "cycles since CTA entry";
    context.fillText(ruler.elide(unit, left - 16 * ratio), 8 * ratio, top / 2);
    context.fillStyle = theme.line;
    context.fillRect(0, top - 1, width, 1);
  }

  /** Whose CTA the axis counts from. */
  private get first(): string {
    return this.scene.axis.sections.length > 1 ? "each launch's first" : "the first";
  }

  private nothing(frame: Frame, theme: Theme): void {
    const { context, ruler } = this;
    ruler.use(`${13 * frame.ratio}px ${FONT}`);
    context.fillStyle = theme.soft;
    context.textAlign = "center";
    context.fillText("no events", ((frame.width + frame.gutter) / 2) * frame.ratio, (frame.height / 2) * frame.ratio);
  }

  private step(frame: Frame): number {
    const whole = this.scene.axis.unit === "cycles";
    return tickStep(this.scene.span, Math.max((frame.width - frame.gutter) / 110, 1), whole);
  }

  private tickPlaces(frame: Frame): [time: number, x: number][] {
    const { axis, span } = this.scene;
    return axis.ticks(span, this.step(frame)).map((time) => [time, Math.round(xOf(time, span, frame) * frame.ratio)]);
  }
}

function clip(context: CanvasRenderingContext2D, x: number, y: number, width: number, height: number): void {
  context.beginPath();
  context.rect(x, y, width, height);
  context.clip();
}

function triangle(context: CanvasRenderingContext2D, x: number, y: number, size: number, open: boolean): void {
  context.beginPath();
  if (open) {
    context.moveTo(x - size, y - size / 2);
    context.lineTo(x + size, y - size / 2);
    context.lineTo(x, y + size);
  } else {
    context.moveTo(x - size / 2, y - size);
    context.lineTo(x - size / 2, y + size);
    context.lineTo(x + size, y);
  }
  context.closePath();
  context.fill();
}
