"""The controls again, for notebooks that have no ipywidgets but anywidgets (marimo).

In: controls of ipywidgets. Out: :class:`Strip`, which shows them and follows them, as they follow it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

import anywidget
import ipywidgets
import traitlets

_ESM = """
const make = (tag, attributes, ...children) => {
  const element = Object.assign(document.createElement(tag), attributes);
  element.append(...children);
  return element;
};
export default {
  render({ model, el }) {
    const fields = model.get("fields").map((field) => {
      const { name, kind, labels } = field;
      const shown = make("output", {});
      const input =
        kind === "menu"
          ? make("select", {}, ...labels.map((label, value) => make("option", { value }, label)))
          : make("input", { type: { check: "checkbox", text: "text" }[kind] ?? "range" });
      if (kind === "range") Object.assign(input, { min: field.low, max: field.high, step: field.step });
      if (kind === "steps") Object.assign(input, { min: 0, max: labels.length - 1, step: 1 });
      const show = () => {
        const value = model.get("values")[name];
        if (kind === "check") input.checked = value;
        else input.value = value;
        shown.textContent = kind === "steps" ? labels[value] : kind === "range" ? value : "";
      };
      const tell = () => {
        const value = kind === "check" ? input.checked : kind === "text" ? input.value : Number(input.value);
        model.set("values", { ...model.get("values"), [name]: value });
        model.save_changes();
        show();
      };
      input.addEventListener(kind === "range" || kind === "steps" ? "input" : "change", tell);
      show();
      return { show, root: make("label", {}, make("span", {}, field.label), input, shown) };
    });
    const root = make("div", { className: "tlt-x-strip" }, ...fields.map((field) => field.root));
    const follow = () => fields.forEach((field) => field.show());
    model.on("change:values", follow);
    el.append(root);
    return () => {
      model.off("change:values", follow);
      root.remove();
    };
  },
};
"""
_CSS = """
.tlt-x-strip { display: flex; flex-wrap: wrap; gap: 6px 28px; padding: 4px; color: inherit;
  font: 13px/1.5 system-ui, -apple-system, "Segoe UI", sans-serif; }
.tlt-x-strip label { display: inline-flex; align-items: center; gap: 8px; }
.tlt-x-strip input[type=range] { width: 130px; }
.tlt-x-strip output { min-width: 2.5em; font-variant-numeric: tabular-nums; }
.tlt-x-strip select, .tlt-x-strip input[type=text] { font: inherit; color: inherit; background: transparent;
  border: 1px solid rgba(128, 128, 128, 0.5); border-radius: 4px; padding: 1px 4px; }
.tlt-x-strip option { color: black; background: white; }
"""


@dataclass(frozen=True, slots=True)
class Field:
    """One control: ``menu`` and ``steps`` of ``labels`` have positions as value, a ``range`` a number."""

    name: str
    label: str
    kind: str
    labels: tuple[str, ...] = ()
    low: float = 0
    high: float = 0
    step: float = 1


class Strip(anywidget.AnyWidget):
    """Mirrors ``controls``, widgets of ipywidgets by name, both ways."""

    _esm = _ESM
    _css = _CSS

    fields: Any = traitlets.List().tag(sync=True)
    values: Any = traitlets.Dict().tag(sync=True)

    def __init__(self, controls: Mapping[str, Any]) -> None:
        self._controls = dict(controls)
        fields = [asdict(field_of(name, widget)) for name, widget in controls.items()]
        super().__init__(fields=fields, values=self._now())
        for widget in controls.values():
            widget.observe(self._follow, "value")

    def close(self) -> None:
        """End the strip; the controls stay."""
        for widget in self._controls.values():
            widget.unobserve(self._follow, "value")
        self._controls = {}
        super().close()

    def _now(self) -> dict[str, Any]:
        return {name: getattr(widget, _trait(widget)) for name, widget in self._controls.items()}

    def _follow(self, _: object) -> None:
        self.values = self._now()

    @traitlets.observe("values")
    def _told(self, change: Any) -> None:
        for name, value in change["new"].items():
            widget = self._controls.get(name)
            if widget is not None and getattr(widget, _trait(widget)) != value:
                setattr(widget, _trait(widget), value)


def field_of(name: str, widget: Any) -> Field:
    """What a control of ipywidgets looks like here. Raises ``TypeError`` for one that has no counterpart."""
    label = widget.description or name
    if _chooses(widget):
        kind = "steps" if isinstance(widget, ipywidgets.SelectionSlider) else "menu"
        return Field(name, label, kind, tuple(widget.get_state("_options_labels")["_options_labels"]))
    if isinstance(widget.value, bool):
        return Field(name, label, "check")
    if isinstance(widget.value, int | float) and hasattr(widget, "max"):
        return Field(name, label, "range", low=widget.min, high=widget.max, step=getattr(widget, "step", None) or 1)
    if isinstance(widget.value, str):
        return Field(name, label, "text")
    raise TypeError(f"{name}: this notebook shows no {type(widget).__name__}; give a range, a list or a dictionary")


def _trait(widget: Any) -> str:
    """The trait that a field shows: the position in a menu, else the value."""
    return "index" if _chooses(widget) else "value"


def _chooses(widget: Any) -> bool:
    return isinstance(widget, ipywidgets.ValueWidget) and "index" in widget.traits()
