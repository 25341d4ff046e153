// The anywidget: a model in Python's kernel, and any number of views of it.
//
// Traits: `header` (JSON text) and `columns` (gzip of the columns; empty where they are too large to be saved in a
// notebook, then they are asked for by a message), `view`, `selected` (runs of ids), `height`, `theme`, `still` (class
// of the still picture that stands in for the view, and is hidden while there is one), `instead` (said in place of the
// events), `before_header` and `before_columns` (the same of another run, to compare with), `over` (what is drawn over the lanes) and `overs` (what Python can be asked to draw there). When `header` or `columns` change, the view moves on to these events.

import type { Over } from "./bands";
import { download } from "./files";
import { inflate, mount, showError } from "./mount";
import type { Remark } from "./remarks";
import type { Saved } from "./state";
import type { View } from "./view";
import { bytesOf, type Header } from "./wire";

interface Traits {
  header: string;
  columns: DataView | ArrayBuffer;
  view: Saved;
  selected: DataView | ArrayBuffer;
  height: number | null;
  theme: "auto" | "light" | "dark";
  still: string;
  instead: string;
  over: Over | undefined;
  before_header: string | undefined;
  before_columns: DataView | ArrayBuffer | undefined;
  remarks: Remark[] | undefined;
  overs: string[] | undefined;
}

/** What is used of anywidget's model. */
export interface Model {
  get<K extends keyof Traits>(key: K): Traits[K];
  set<K extends keyof Traits>(key: K, value: Traits[K]): void;
  save_changes(): void;
  send(content: unknown): void;
  on(event: string, handler: (...values: never[]) => void): void;
  off(event: string, handler: (...values: never[]) => void): void;
}

const PATIENCE_MS = 60_000;

async function render({ model, el }: { model: Model; el: HTMLElement }): Promise<() => void> {
  const ending = new AbortController();
  const { signal } = ending;
  const still = new Still(el, model.get("still"));
  signal.addEventListener("abort", () => still.show());
  const listen = (event: string, handler: (...values: never[]) => void) => {
    model.on(event, handler);
    signal.addEventListener("abort", () => model.off(event, handler));
  };
  let view: View | null = null;
  let loading = new AbortController();
  /** The events as the model has them now, in place of those shown. What is still on its way is given up. */
  const load = async () => {
    loading.abort();
    loading = new AbortController();
    const mine = AbortSignal.any([signal, loading.signal]);
    let bytes: Uint8Array;
    if (model.get("columns").byteLength) still.hide();
    try {
      bytes = await columnsOf(model, mine);
    } catch (error) {
      if (mine.aborted) return;
      if (!view) showError(el, error as Error);
      still.show();
      return;
    }
    if (mine.aborted) return;
    still.hide();
    const header: Header = JSON.parse(model.get("header"));
    const options = {
      height: model.get("height"),
      theme: model.get("theme"),
      view: model.get("view"),
      onView: (saved: Required<Saved>) => {
        model.set("view", saved);
        model.save_changes();
      },
      overs: Object.fromEntries((model.get("overs") ?? []).map((which) => [which, null])),
      onOver: (which: string) => model.send({ kind: "over", which }),
      remarks: model.get("remarks") ?? [],
      onRemarks: (remarks: readonly Remark[]) => {
        model.set("remarks", [...remarks]);
        model.save_changes();
      },
      onPage: () => model.send({ kind: "page" }),
      onSelection: (runs: Uint32Array) => {
        model.set("selected", new DataView(runs.buffer));
        model.save_changes();
      },
    };
    const compared = bytesOf(model.get("before_columns") ?? new ArrayBuffer(0));
    const other = compared.length
      ? { header: model.get("before_header") ?? "", columns: await inflate(compared) }
      : null;
    view = await mount(el, { header, columns: bytes, before: other }, options, view);
    if (signal.aborted) view.close();
    view.setSelection(bytesOf(model.get("selected")));
    view.say(model.get("instead"));
    view.setOver(model.get("over") ?? null);
  };
  // The first paint must not wait for the caller, nor an error be lost in it.
  const open = () =>
    load().catch((error) => {
      still.show();
      console.error(error);
    });
  // A notebook may set one trait after the other: both are there once it is done.
  let asked = 0;
  const reload = () => {
    clearTimeout(asked);
    asked = window.setTimeout(open);
  };
  signal.addEventListener("abort", () => {
    clearTimeout(asked);
    view?.close();
  });
  listen("msg:custom", ((content: { kind?: string; name?: string }, buffers: (DataView | ArrayBuffer)[]) => {
    if (content.kind === "page")
      download(new Blob([bytesOf(buffers[0]) as BlobPart], { type: "text/html" }), `${content.name}.html`);
  }) as never);
  listen("change:header", reload);
  listen("change:columns", reload);
  listen("change:instead", () => view?.say(model.get("instead")));
  listen("change:over", () => view?.setOver(model.get("over") ?? null));
  listen("change:remarks", () => view?.setRemarks(model.get("remarks") ?? []));
  listen("change:view", () => view?.setView(model.get("view")));
  listen("change:selected", () => view?.setSelection(bytesOf(model.get("selected"))));
  open();
  return () => ending.abort();
}

/** The columns: from the saved state, else from Python. */
async function columnsOf(model: Model, signal: AbortSignal): Promise<Uint8Array> {
  const saved = bytesOf(model.get("columns"));
  if (saved.length) return inflate(saved);
  return new Promise((resolve, reject) => {
    const timer = setTimeout(
      () => reject(new Error("its events are in Python, which does not answer: run the cell again")),
      PATIENCE_MS,
    );
    const answer = (content: { kind?: string }, buffers: (DataView | ArrayBuffer)[]) => {
      if (content.kind !== "columns") return;
      model.off("msg:custom", answer as never);
      clearTimeout(timer);
      resolve(bytesOf(buffers[0]));
    };
    model.on("msg:custom", answer as never);
    signal.addEventListener("abort", () => {
      clearTimeout(timer);
      model.off("msg:custom", answer as never);
      reject(new Error("closed"));
    });
    model.send({ kind: "columns" });
  });
}

/** The picture that stands for the view where nothing runs. It is not needed while there is a view. */
class Still {
  private readonly rule = document.createElement("style");

  constructor(
    private readonly el: HTMLElement,
    name: string,
  ) {
    if (!/^[\w-]+$/.test(name)) return;
    const output = `.jp-OutputArea-child:has(> .jp-OutputArea-output > .${name})`;
    this.rule.textContent = `.${name}, ${output} { display: none !important; }`;
  }

  hide(): void {
    const root = this.el.getRootNode();
    if (!this.rule.isConnected) (root instanceof ShadowRoot ? root : document.head).append(this.rule);
  }

  show(): void {
    this.rule.remove();
  }
}

export const widget = { render };
