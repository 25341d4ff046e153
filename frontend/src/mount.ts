// Shows a timeline in an element, from the columns alone.

import { h } from "./dom";
import { type Options, View } from "./view";
import { bytesOf, type Header, Wire } from "./wire";

/** What `tltrace_nb.widget.wire.encode` gives: the header, and the columns as bytes or as base64 of their gzip. */
export interface Data {
  readonly header: string | Header;
  readonly columns: ArrayBuffer | ArrayBufferView | string;
  /** Another run, thin under the lanes, with which this one is compared. */
  readonly before?: Data | null;
}

/**
 * Show a timeline in `element`. Resolves to the view; `view.close()` takes it away. An error is shown in words, too.
 * With `before`, the new view takes that one's place and goes on from it.
 */
export async function mount(
  element: HTMLElement,
  data: Data,
  options: Options = {},
  before: View | null = null,
): Promise<View> {
  try {
    const compared = data.before ? await wireOf(data.before) : null;
    return new View(element, await wireOf(data), options, before, compared);
  } catch (error) {
    showError(element, error as Error);
    throw error;
  }
}

async function wireOf({ header, columns }: Data): Promise<Wire> {
  const bytes = typeof columns === "string" ? await unpack(columns) : bytesOf(columns);
  return new Wire(typeof header === "string" ? JSON.parse(header) : header, bytes);
}

export function showError(element: HTMLElement, error: Error): void {
  element.append(h("div", { class: "tlt-error", role: "alert" }, `The timeline cannot be shown: ${error.message}`));
}

async function unpack(base64: string): Promise<Uint8Array> {
  return inflate(Uint8Array.from(atob(base64), (c) => c.charCodeAt(0)));
}

/** The bytes of a gzip. */
export async function inflate(packed: Uint8Array): Promise<Uint8Array> {
  if (typeof DecompressionStream === "undefined") throw new Error("this browser cannot unpack gzip; a newer one can");
  const stream = new Blob([packed as BlobPart]).stream().pipeThrough(new DecompressionStream("gzip"));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}
