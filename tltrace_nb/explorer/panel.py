"""A few lines of HTML in a notebook, which change. An anywidget, so that every notebook has it.

In: HTML of ours. Out: :class:`Panel`.
"""

from __future__ import annotations

import anywidget
import traitlets

_ESM = """
export default {
  render({ model, el }) {
    const root = document.createElement("div");
    root.className = "tlt-x";
    root.setAttribute("aria-live", "polite");
    const show = () => {
      root.innerHTML = model.get("html");
      root.classList.toggle("tlt-x-busy", model.get("busy"));
    };
    show();
    el.append(root);
    // Notebook 7 takes arrow keys from a slider, unless the focused element itself says that it wants them.
    const quiet = ({ target }) => target.setAttribute("data-lm-suppress-shortcuts", "true");
    setTimeout(() => root.closest(".tlt-explorer")?.addEventListener("focusin", quiet));
    model.on("change:html", show);
    model.on("change:busy", show);
    return () => {
      model.off("change:html", show);
      model.off("change:busy", show);
      root.remove();
    };
  },
};
"""
_CSS = """
.tlt-x { font: 12px/1.45 system-ui, -apple-system, "Segoe UI", sans-serif; font-variant-numeric: tabular-nums;
  color: inherit; padding: 2px 4px; position: relative; min-height: 1.5em; }
.tlt-x-busy > * { opacity: 0.45 !important; transition: opacity 0.2s 0.3s; }
.tlt-x-busy::after { content: "running …"; position: absolute; right: 4px; top: 2px; visibility: hidden;
  animation: tlt-x-late 0s 0.4s forwards; }
@keyframes tlt-x-late { to { visibility: visible; } }
.tlt-x p { margin: 0; opacity: 0.75; }
.tlt-x p.tlt-x-line { opacity: 1; font-size: 13px; font-weight: 600; }
.tlt-x-facts { display: flex; flex-wrap: wrap; gap: 6px 40px; }
.tlt-x-facts > div { min-width: 0; }
.tlt-x dl { display: grid; grid-template-columns: max-content 1fr; gap: 1px 12px; margin: 0; }
.tlt-x dt { opacity: 0.65; font-weight: 400; }
.tlt-x dd { margin: 0; }
.tlt-x table { border-collapse: collapse; margin: 0; font: inherit; }
.tlt-x th, .tlt-x td { padding: 1px 14px 1px 0; text-align: right; border: 0; background: none; color: inherit; }
.tlt-x th { font-weight: 400; opacity: 0.65; }
.tlt-x th:first-child, .tlt-x td:first-child { text-align: left; overflow-wrap: anywhere; }
.tlt-x-meter { position: relative; height: 8px; margin: 5px 0; border-radius: 2px; overflow: hidden;
  background: rgba(128, 128, 128, 0.2); }
.tlt-x-meter i, .tlt-x-meter b { position: absolute; left: 0; top: 0; bottom: 0; }
.tlt-x-meter i { background: rgba(86, 180, 233, 0.4); }
.tlt-x-meter b { background: #0072b2; }
"""


class Panel(anywidget.AnyWidget):
    """Shows ``html``; while ``busy``, after a moment, pale and with a word of it."""

    _esm = _ESM
    _css = _CSS

    html = traitlets.Unicode().tag(sync=True)
    busy = traitlets.Bool().tag(sync=True)
