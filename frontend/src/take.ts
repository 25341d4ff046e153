// What can be taken away from a view: its picture, its rows, a file for Perfetto, and where Python makes one a page.

import { chromeTrace } from "./chrome";
import { asPng, download, rowsOf, taken } from "./files";
import type { Texts } from "./label";
import type { Entry } from "./menu";
import type { Remark } from "./remarks";
import type { Scene } from "./scene";

/** What is taken beside the events. */
export interface Seen {
  /** The lanes as they are drawn now. */
  picture(): HTMLCanvasElement;
  readonly texts: Texts;
  readonly remarks: readonly Remark[];
  /** Asks for a page of what is selected, or of everything. */
  readonly onPage?: () => void;
}

/** What is offered. */
export function offers(scene: Scene, { picture, texts, remarks, onPage }: Seen): Entry[] {
  const { selected, header } = scene;
  const name = header.title || "timeline";
  const fail = (error: Error) => scene.say(error.message);
  const save = (text: (positions: readonly number[]) => string, type: string, suffix: string) => {
    const { positions, note } = taken(scene);
    download(new Blob([text(positions)], { type }), name + suffix);
    if (note) scene.say(note);
  };
  const rows = () => save((positions) => rowsOf(scene, texts, positions), "text/csv", ".csv");
  const trace = () => save((positions) => chromeTrace(scene, positions, remarks), "application/json", ".json");
  const entries: Entry[] = [
    ["Copy the picture", () => copy(asPng(picture())).then(() => scene.say(""), fail)],
    ["Save the picture", () => asPng(picture()).then((blob) => download(blob, `${name}.png`), fail)],
    [selected ? "Save the selected rows" : "Save the rows", rows],
    [selected ? "Save the selection for Perfetto" : "Save for Perfetto", trace],
  ];
  if (onPage) entries.push([selected ? "Save a page of the selection" : "Save as a page", onPage]);
  return entries;
}

async function copy(picture: Promise<Blob>): Promise<void> {
  if (!navigator.clipboard?.write) throw new Error("this page may not write to the clipboard: save the picture");
  await navigator.clipboard.write([new ClipboardItem({ "image/png": picture })]);
}
