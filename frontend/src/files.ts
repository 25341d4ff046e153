// What a reader takes away: the picture that is seen, and rows of events.

import { css } from "./color";
import { context2d } from "./dom";
import { HIDDEN } from "./events";
import { number } from "./format";
import { FONT, type Frame } from "./frame";
import type { Texts } from "./label";
import type { Scene } from "./scene";
import type { Theme } from "./theme";

const MOST_ROWS = 200_000;
const [LINE, PAD, SWATCH] = [22, 10, 11];
const COLUMNS = ["name", "kind", "launch", "cta", "thread", "lane", "sm", "start", "duration", "payload", "source"];

/** The lanes as they are drawn now, under the title and over the names with their colours. */
export function pictureOf(
  layers: readonly HTMLCanvasElement[],
  scene: Scene,
  frame: Frame,
  theme: Theme,
): HTMLCanvasElement {
  const { ratio, width, height } = frame;
  const canvas = document.createElement("canvas");
  const context = context2d(canvas);
  context.font = `${12}px ${FONT}`;
  const names = legend(scene, width - 2 * PAD, (text) => context.measureText(text).width);
  const rows = names.length ? names[names.length - 1].row + 1 : 0;
  canvas.width = Math.round(width * ratio);
  canvas.height = Math.round((LINE + 8 + height + rows * LINE + 6) * ratio);
  context.scale(ratio, ratio);
  context.fillStyle = css(theme.ground);
  context.fillRect(0, 0, width, canvas.height);
  context.textBaseline = "middle";
  context.fillStyle = theme.ink;
  context.font = `600 13px ${FONT}`;
  const { title, device, badge } = scene.header;
  context.fillText([title, device, badge?.text].filter(Boolean).join(" · "), PAD, (LINE + 8) / 2, width - 2 * PAD);
  for (const layer of layers) context.drawImage(layer, 0, LINE + 8, width, height);
  context.font = `12px ${FONT}`;
  for (const { n, x, row } of names) {
    const y = LINE + 8 + height + 3 + (row + 0.5) * LINE;
    context.fillStyle = scene.paint.nameCss(n);
    context.fillRect(PAD + x, y - SWATCH / 2, SWATCH, SWATCH);
    context.fillStyle = theme.ink;
    context.fillText(scene.events.names[n], PAD + x + SWATCH + 5, y);
  }
  return canvas;
}

/** Where the names of the events stand under a picture; none where colours are not those of names. */
function legend(scene: Scene, width: number, wide: (text: string) => number): { n: number; x: number; row: number }[] {
  if (scene.state.colorBy !== "name") return [];
  const { events, state } = scene;
  const there = new Set<number>();
  for (let i = 0; i < events.count; i++) there.add(events.nameCode(i));
  let [x, row] = [0, 0];
  return [...there]
    .filter((n) => !state.hiddenNames.includes(events.names[n]))
    .sort((a, b) => a - b)
    .map((n) => {
      const own = SWATCH + 5 + wide(events.names[n]) + 16;
      if (x > 0 && x + own > width) [x, row] = [0, row + 1];
      const place = { n, x, row };
      x += own;
      return place;
    });
}

/** The positions of the selected events, or of all that are not hidden, as they are in Python; and what is left out, in words. */
export function taken({ events, selected }: Scene): { positions: number[]; note: string } {
  const visible = () => Array.from({ length: events.count }, (_, i) => i).filter((i) => events.code[i] !== HIDDEN);
  const all = [...(selected ?? visible())].sort((a, b) => events.id[a] - events.id[b]);
  const note =
    all.length > MOST_ROWS ? `the first ${number(MOST_ROWS)} of ${number(all.length)} events were saved` : "";
  return { positions: all.slice(0, MOST_ROWS), note };
}

/** Events as CSV with times in cycles. */
export function rowsOf({ events }: Scene, texts: Texts, positions: readonly number[]): string {
  const lines = positions.map((i) => {
    const lane = events.laneOf(i);
    return [
      texts.name(i),
      events.isInstant(i) ? "instant" : "range",
      lane.launch ?? 1,
      lane.cta,
      lane.thread,
      lane.name,
      lane.sm,
      String(events.origin + BigInt(events.start[i])),
      events.duration[i],
      events.payloadOf(i) ?? "",
      events.source(i),
    ]
      .map(cell)
      .join(",");
  });
  return [COLUMNS.join(","), ...lines, ""].join("\n");
}

function cell(value: unknown): string {
  const text = String(value);
  return /[",\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

/** Hand a file to the reader. */
export function download(content: Blob, name: string): void {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(content);
  link.download = name.replace(/[^\w.-]+/g, "_");
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}

export async function asPng(canvas: HTMLCanvasElement): Promise<Blob> {
  return new Promise((resolve, reject) => {
    canvas.toBlob((blob) => (blob ? resolve(blob) : reject(new Error("this picture is too large"))), "image/png");
  });
}
