// The words on a bar: its name and, beside it, its payload.

import type { Events } from "./events";
import { clean, payloadText, payloadValue } from "./format";

const MEASURED = 20_000;
const NAME_CHARS = 120;

/** Texts of events; the same for the bar, the hover and the table. */
export class Texts {
  private readonly names: (string | undefined)[] = [];
  private readonly float: boolean;

  constructor(private readonly events: Events) {
    this.float = events.payload instanceof Float64Array;
  }

  name(i: number): string {
    const code = this.events.nameCode(i);
    this.names[code] ??= clean(this.events.names[code], NAME_CHARS);
    return this.names[code];
  }

  payload(i: number): string {
    return payloadText(this.begin(i), this.end(i));
  }

  begin(i: number): string {
    return payloadValue(this.events.payloadOf(i), this.float);
  }

  end(i: number): string {
    return payloadValue(this.events.payloadEndOf(i), this.float);
  }
}

/** Widths of texts, by font. */
export class Ruler {
  private readonly fonts = new Map<string, Map<string, number>>();
  private known = new Map<string, number>();

  constructor(private readonly context: CanvasRenderingContext2D) {}

  use(font: string): void {
    this.known = this.fonts.get(font) ?? new Map();
    this.fonts.set(font, this.known);
    this.context.font = font;
  }

  width(text: string): number {
    let width = this.known.get(text);
    if (width === undefined) {
      if (this.known.size > MEASURED) this.known.clear();
      width = this.context.measureText(text).width;
      this.known.set(text, width);
    }
    return width;
  }

  /** `text`, or as much of it as is at most `room` wide with an ellipsis; empty where not even a letter fits. */
  elide(text: string, room: number): string {
    if (this.width(text) <= room) return text;
    const letters = Array.from(text);
    let low = 0;
    let high = letters.length - 1;
    while (low < high) {
      const middle = (low + high + 1) >>> 1;
      if (this.context.measureText(`${letters.slice(0, middle).join("")}…`).width <= room) low = middle;
      else high = middle - 1;
    }
    return low > 0 ? `${letters.slice(0, low).join("")}…` : "";
  }
}

export interface Words {
  readonly name: string;
  readonly payload: string;
  /** Where the payload begins, from the left of the text. */
  readonly at: number;
}

/** What of a name and a payload stands in `room`: both, the payload with part of the name, or the payload alone. */
export function fitted(name: string, payload: string, room: number, gap: number, ruler: Ruler): Words | null {
  if (!payload) {
    const text = ruler.elide(name, room);
    return text ? { name: text, payload: "", at: 0 } : null;
  }
  const own = ruler.width(payload);
  if (own > room) {
    const text = ruler.elide(name, room);
    return text && text.length > 2 ? { name: text, payload: "", at: 0 } : null;
  }
  const text = ruler.elide(name, room - own - gap);
  if (text.length > 2 || text === name) return { name: text, payload, at: ruler.width(text) + gap };
  return { name: "", payload, at: 0 };
}
