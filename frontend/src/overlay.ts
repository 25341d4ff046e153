// What follows the pointer and the reader's choice, on a canvas over the lanes: cheap to draw again.

import { arrow } from "./arrow";
import type { Span } from "./axis";
import type { Bands } from "./bands";
import { context2d } from "./dom";
import { duration } from "./format";
import { AXIS, FONT, type Frame, middleOf, type Placed, Places, placed, stuck, xOf } from "./frame";
import type { Scene } from "./scene";
import type { Theme } from "./theme";
import { ROW } from "./tree";
import { arrowsFrom, arrowsTo } from "./walk";

export class Overlay {
  /** What is drawn over the lanes on demand. */
  bands: Bands | null = null;
  /** The notes on the lanes. */
  remarks: Bands | null = null;
  private readonly context: CanvasRenderingContext2D;

  constructor(
    canvas: HTMLCanvasElement,
    private readonly scene: Scene,
  ) {
    this.context = context2d(canvas);
  }

  /** `pointer`: the x of the pointer in CSS pixels, or null. */
  draw(frame: Frame, theme: Theme, pointer: number | null): void {
    const { context, scene } = this;
    const { ratio, width, height, gutter } = frame;
    context.setTransform(1, 0, 0, 1, 0, 0);
    context.clearRect(0, 0, width * ratio, height * ratio);
    const shown = placed(scene, frame);
    context.save();
    context.beginPath();
    context.rect(gutter * ratio, 0, (width - gutter) * ratio, height * ratio);
    context.clip();
    if (scene.area) this.area(scene.area.span, scene.area.lanes, frame, theme);
    if (scene.measured) this.area(scene.measured, null, frame, theme);
    if (pointer !== null && pointer > gutter) {
      context.fillStyle = theme.soft;
      context.globalAlpha = 0.5;
      context.fillRect(Math.round(pointer * ratio), AXIS * ratio, Math.max(1, Math.round(ratio)), height * ratio);
      context.globalAlpha = 1;
    }
    context.beginPath();
    context.rect(gutter * ratio, AXIS * ratio, (width - gutter) * ratio, (height - AXIS) * ratio);
    context.clip();
    this.bands?.draw(context, shown, frame, theme);
    this.remarks?.draw(context, shown, frame, theme);
    if (scene.state.arrows !== "none" && scene.events.flowSrc.length) this.arrows(shown, frame, theme);
    if (scene.hovered >= 0) this.outline(scene.hovered, shown, frame, theme.ink, 1.5);
    if (scene.focused >= 0) this.outline(scene.focused, shown, frame, theme.accent, 2.5);
    context.restore();
    for (const { strip, y } of stuck(scene)) context.clearRect(0, y * ratio, width * ratio, strip.height * ratio);
    const length = scene.measured ?? scene.area?.span;
    if (length) this.length(length, frame, theme);
  }

  private area(span: Span, lanes: readonly [number, number] | null, frame: Frame, theme: Theme): void {
    const { context, scene } = this;
    const { ratio, height } = frame;
    const [from, to] = [span.from, span.to].map((time) => xOf(time, scene.span, frame) * ratio);
    const offset = AXIS + scene.rows.pinnedHeight - scene.state.scroll;
    const top = lanes ? (offset + lanes[0]) * ratio : AXIS * ratio;
    const bottom = lanes ? (offset + lanes[1]) * ratio : height * ratio;
    context.strokeStyle = theme.accent;
    context.lineWidth = 1.5 * ratio;
    context.strokeRect(from, top, to - from, bottom - top);
    // Where ticks are, not over bars, whose colours must stay what they are.
    context.fillStyle = theme.accent;
    context.globalAlpha = 0.2;
    context.fillRect(from, 0, to - from, AXIS * ratio);
    context.globalAlpha = 1;
  }

  /** How long what is brushed or measured is, in the margin of the axis, where it hides no tick. */
  private length({ from, to }: Span, { gutter, ratio }: Frame, theme: Theme): void {
    const { context, scene } = this;
    context.fillStyle = theme.accent;
    context.fillRect(0, 0, gutter * ratio - 1, (AXIS - 1) * ratio);
    context.font = `600 ${11 * ratio}px ${FONT}`;
    context.fillStyle = theme.dark ? "#111111" : "#ffffff";
    context.textAlign = "left";
    context.textBaseline = "middle";
    context.fillText(duration(to - from, scene.axis.unit), 8 * ratio, (AXIS / 2) * ratio);
  }

  /** The arrows of the hovered and the focused event. */
  private arrows(shown: readonly Placed[], frame: Frame, theme: Theme): void {
    const { context, scene } = this;
    const places = new Places(scene, shown, frame);
    context.strokeStyle = context.fillStyle = theme.accent;
    for (const i of new Set([scene.hovered, scene.focused])) {
      if (i < 0) continue;
      const pairs = [
        ...arrowsFrom(scene.events, i).map((to) => [i, to]),
        ...arrowsTo(scene.events, i).map((from) => [from, i]),
      ];
      for (const [src, dst] of pairs.slice(0, 100)) {
        const [from, to] = [places.end(src), places.start(dst)];
        if (from && to) arrow(context, from, to, frame.ratio);
      }
    }
  }

  private outline(i: number, shown: readonly Placed[], frame: Frame, color: string, wide: number): void {
    const { context, scene } = this;
    const { ratio } = frame;
    const row = scene.events.rowOf(i);
    const lane = scene.events.lanes[scene.events.rowLane[row]];
    const [from, to] = [scene.axis.startOf(i), scene.axis.endOf(i)].map((time) => xOf(time, scene.span, frame) * ratio);
    for (const each of shown) {
      if (each.strip.kind === "head" || !each.strip.node.lanes.includes(lane)) continue;
      const middle = middleOf(each, row) * ratio;
      const half = (Math.min(ROW, each.strip.body) / 2 - 0.5) * ratio;
      context.strokeStyle = color;
      context.lineWidth = wide * ratio;
      context.strokeRect(Math.round(from), middle - half, Math.max(Math.round(to - from), 2 * ratio), 2 * half);
    }
  }
}
