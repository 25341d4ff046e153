// From a source line to its cell, in a notebook of JupyterLab or Notebook 7. Nothing of theirs is called: the cell is found by
// the number of its prompt, the line by what it said when the kernel was built. Where either is another now, that is said.

import { h } from "./dom";
import { clean } from "./format";

const CELL = /^In \[(\d+)\]:(\d+)$/;
/** An editor draws its lines when it comes into sight. */
const PATIENCE_MS = 1500;
const MARKED_MS = 4000;

/** `text` as a button that goes to the line of `source`, which said `code`; the text alone where that is no cell of a notebook here. */
export function sourceButton(
  near: Element,
  text: string,
  source: string,
  code: string,
  say: (words: string) => void,
): HTMLElement | string {
  const notebook = near.closest(".jp-Notebook");
  if (!notebook || !CELL.test(source)) return text;
  const button = h("button", { type: "button", class: "tlt-source", title: "go to this line of the cell" }, text);
  button.addEventListener("click", async () => say(await goTo(notebook, source, code)));
  return button;
}

/** Scroll to the line and mark it for a while; returns what is wrong, or nothing. */
async function goTo(notebook: Element, source: string, code: string): Promise<string> {
  const [, number, line] = CELL.exec(source)!;
  const cells = [...notebook.querySelectorAll(".jp-CodeCell")].filter(
    (cell) => cell.querySelector(".jp-InputPrompt")?.textContent?.trim() === `[${number}]:`,
  );
  if (!cells.length) return `there is no cell In [${number}] now, or it is not loaded: scroll through the notebook`;
  cells[0].scrollIntoView({ block: "center" });
  const until = performance.now() + PATIENCE_MS;
  for (;;) {
    const found = cells.map((cell) => lineOf(cell, Number(line), code)).find((each) => each);
    if (found) {
      found.scrollIntoView({ block: "center" });
      found.animate([{ background: "#f0a500aa" }, { background: "transparent" }], MARKED_MS);
      return "";
    }
    if (performance.now() > until) return `cell In [${number}] has changed since: line ${line} was ${clean(code, 80)}`;
    await new Promise((done) => setTimeout(done, 50));
  }
}

/** The element of a line, if it says what it did; of several that do, the one at its place. */
function lineOf(cell: Element, line: number, code: string): Element | undefined {
  const lines = [...cell.querySelectorAll(".cm-line")];
  if (!code) return lines[line - 1];
  const same = lines.filter((each) => each.textContent?.trim().startsWith(code));
  return same.find((each) => lines.indexOf(each) === line - 1) ?? same[0];
}
