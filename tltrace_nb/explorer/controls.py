"""The controls of an explorer: what ``ipywidgets.interact`` makes of abbreviations, with the values that stay fixed.

In: the parameters of a builder and what the caller gave for them. Out: :class:`Controls`.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from numbers import Real
from typing import Any

import ipywidgets

_WORD = {"description_width": "initial"}


@dataclass(frozen=True, slots=True)
class Controls:
    """``widgets``: the controls by parameter, in order; ``fixed``: the parameters without one; ``own``: made here."""

    widgets: Mapping[str, Any]
    fixed: Mapping[str, Any]
    own: tuple[Any, ...]

    @property
    def chosen(self) -> dict[str, Any]:
        """The values of the controls now."""
        return {name: widget.value for name, widget in self.widgets.items()}

    @property
    def values(self) -> dict[str, Any]:
        """The values of all parameters now."""
        return {**self.fixed, **self.chosen}

    def observe(self, moved: Callable[[object], None]) -> None:
        """Have ``moved`` called when a value changes."""
        for widget in set(self.widgets.values()):  # one may be several parameters
            widget.observe(moved, "value")

    def close(self, moved: Callable[[object], None]) -> None:
        """End the controls that were made here, and no longer listen to the others."""
        for widget in set(self.widgets.values()):
            widget.unobserve(moved, "value")
        for widget in self.own:
            close(widget)


def controls(name: str, signature: inspect.Signature, given: Mapping[str, Any]) -> Controls:
    """Controls for what was given of the parameters of the builder ``name``.

    A tuple ``(low, high[, step])`` makes a slider, a list a menu (of ascending numbers: a slider that stops at them), a
    dictionary a menu of names, a bool a check box; a widget is used as it is. Any other value is passed as it is.
    Raises ``TypeError`` for a parameter that the builder does not have or that it needs, and ``ValueError`` for what
    makes no control.
    """
    _check_names(name, signature, given)
    widgets, fixed, own = {}, {}, []
    for parameter, abbreviation in given.items():
        if isinstance(abbreviation, ipywidgets.fixed):
            fixed[parameter] = abbreviation.value
        elif isinstance(abbreviation, ipywidgets.ValueWidget):
            widgets[parameter] = abbreviation
        elif isinstance(abbreviation, bool | tuple | list | dict | range):
            known = signature.parameters.get(parameter)
            default = inspect.Parameter.empty if known is None else known.default
            widgets[parameter] = _control(parameter, abbreviation, default)
            own.append(widgets[parameter])
        elif isinstance(abbreviation, ipywidgets.Widget):
            raise ValueError(f"{parameter}: a {type(abbreviation).__name__} has no value; give a slider or a menu")
        else:
            fixed[parameter] = abbreviation
    return Controls(widgets, fixed, tuple(own))


def menu(name: str, options: Sequence[tuple[str, Any]], value: Any) -> Any:
    """A menu of labelled values."""
    return ipywidgets.Dropdown(options=options, value=value, description=name, style=_WORD)


def close(widget: Any) -> None:
    """End a widget with what it brought along: ipywidgets leaves its layout and its style open."""
    parts = [getattr(widget, part, None) for part in ("layout", "style")]
    widget.close()
    for part in parts:
        if isinstance(part, ipywidgets.Widget):
            part.close()


def _check_names(name: str, signature: inspect.Signature, given: Mapping[str, Any]) -> None:
    known = signature.parameters
    takes = f"{name} takes {', '.join(known) or 'no parameters'}"
    any_name = any(each.kind is each.VAR_KEYWORD for each in known.values())
    if not any_name and (unknown := [each for each in given if each not in known]):
        raise TypeError(f"explore: {name} has no parameter {unknown[0]!r}; {takes}")
    needed = [
        each.name
        for each in known.values()
        if each.default is each.empty
        and each.kind not in (each.VAR_POSITIONAL, each.VAR_KEYWORD)
        and each.name not in given
    ]
    if needed:
        raise TypeError(
            f"explore: {name} needs {', '.join(needed)}: give a value, or a list or range of values; {takes}"
        )


def _control(name: str, abbreviation: Any, default: Any) -> Any:
    options = list(abbreviation) if isinstance(abbreviation, list | range) else []
    steps = len(options) > 1 and all(isinstance(each, Real) for each in options)
    if steps and all(a < b for a, b in pairwise(options)):
        start = default if default in options else options[0]
        return ipywidgets.SelectionSlider(options=options, value=start, description=name, style=_WORD)
    try:
        widget = ipywidgets.interactive.widget_from_abbrev(abbreviation, default)
    except (ValueError, TypeError) as error:
        raise ValueError(f"{name}={abbreviation!r} makes no control: {error}") from error
    if widget is None or not getattr(widget, "options", True):
        raise ValueError(
            f"{name}={abbreviation!r} makes no control: give (low, high) or (low, high, step) for a slider, or a list "
            "of values"
        )
    widget.description = name
    widget.style.description_width = "initial"
    return widget
