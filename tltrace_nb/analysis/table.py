"""A result: a frame that says what it cannot tell, and draws itself.

In: the columns that an analysis computed, and its notes. Out: :class:`Table`. ``attrs["notes"]`` holds the notes, for
every result and nowhere else; ``attrs["analysis"]`` names the module that draws it.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping, Sequence
from html import escape
from typing import TYPE_CHECKING, Any

import pandas as pd

if TYPE_CHECKING:
    import plotly.graph_objects as go


class Table(pd.DataFrame):
    """A frame of one analysis. Rows chosen from it (``query``, ``[...]``) are again one, and draw as the whole does.

    >>> waits = trace.waits()
    >>> waits.notes
    >>> waits.query("producer == 'load'").figure()
    """

    @property
    def _constructor(self) -> Callable[..., Table]:
        return Table

    @property
    def notes(self) -> tuple[str, ...]:
        """What the analysis could not tell from this trace, and why, a sentence each."""
        return tuple(self.attrs.get("notes", ()))

    def figure(self) -> go.Figure:
        """The result as a Plotly figure, with the notes under it.

        Raises ``ValueError`` for a frame that is no longer a result: grouped, joined, or without its columns.
        """
        analysis = self.attrs.get("analysis")
        if analysis is None:
            raise ValueError(
                "this frame is no result of an analysis any more: call figure() on what the trace returned"
            )
        module = importlib.import_module(f"tltrace_nb.analysis.{analysis}")
        try:
            drawing: go.Figure = module.figure(self)
        except KeyError as error:
            raise ValueError(
                f"{analysis}: the column {error} is gone; draw the result with all of its columns"
            ) from None
        return drawing

    def _repr_html_(self) -> str:
        """The frame, and its notes under it."""
        shown: str = pd.DataFrame._repr_html_(self)  # type: ignore[attr-defined]
        return shown + "".join(f"<p><em>{escape(note)}</em></p>" for note in self.notes)


def table(
    analysis: str,
    schema: Mapping[str, str],
    cells: Mapping[str, Any] | pd.DataFrame,
    notes: Sequence[str] = (),
    **attrs: Any,
) -> Table:
    """The result of ``analysis`` (its module's name): the columns of ``schema`` in their order, and the notes."""
    result = Table(pd.DataFrame({column: cells[column] for column in schema}, copy=False))
    result.attrs = {"analysis": analysis, "notes": tuple(dict.fromkeys(notes))}
    result.attrs.update(attrs.items())
    return result
