"""The timeline in a notebook: an anywidget that draws in the browser, with Python on the other end of it.

In: a trace, or a frame of events. Out: :class:`Timeline`. All events are in the browser, drawn by
``static/timeline.js`` (built from ``frontend/src``), so that moving and zooming ask nothing of Python; what comes back
are positions of the selected events, and what the view looks like.
"""

from __future__ import annotations

import gzip
import json
from dataclasses import asdict, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, cast
from uuid import uuid4

import anywidget
import numpy as np
import pandas as pd
import traitlets
from IPython.display import display

from tltrace_nb.base.checks import (
    a,
    called,
    checked,
    flag,
    mapping,
    number,
    one_of,
    optional,
    pixels,
    short,
    text,
    wrong,
)
from tltrace_nb.base.words import clean
from tltrace_nb.data.notes import notes_of
from tltrace_nb.data.trace_data import TraceData
from tltrace_nb.render.colors import Names
from tltrace_nb.render.frames import frames
from tltrace_nb.render.lanes import of_events, selected
from tltrace_nb.render.launches import of_traces, together
from tltrace_nb.render.options import TIMES, ViewOptions
from tltrace_nb.widget.front import LOADER, SCRIPT, STILL, saved_html
from tltrace_nb.widget.html import page_html
from tltrace_nb.widget.linked import Link, link_of
from tltrace_nb.widget.notebook import notebook_shell, still
from tltrace_nb.widget.overlays import OVERLAYS, bands
from tltrace_nb.widget.runs import from_runs, to_runs
from tltrace_nb.widget.shown import note
from tltrace_nb.widget.wire import encode, said_of
from tltrace_nb.widget.wire import unit as unit_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from tltrace_nb.core.compile.options import Ctas
    from tltrace_nb.data.frames import TraceLike
    from tltrace_nb.render.options import Time

SAVED_BYTES = 2_000_000
"""Most bytes of events that go into the widget's state, which a notebook may save."""
_WORTH_PACKING = 12 * SAVED_BYTES
"""Columns above it are not even packed to see whether they are small enough."""
ABOVE = "<!-- the timeline, as far as it is saved, is above -->"
"""The widget's output where it is not the widget."""
_ROWS = """a query such as "name == 'mma'", a mask, rows of the frame, or a function from it to one of these"""
THEMES = ("auto", "light", "dark")
KEYWORDS = ("ctas", "events", "time", "height", "title", "theme", "view", "save", "beside", "before", "layout")
VIEW_KEYS = (
    "unit", "span", "scroll", "color_by", "arrows", "query", "filter", "hidden_names", "hidden_launches", "ghost",
    "align", "collapsed", "hidden", "pinned", "order",
)  # fmt: skip


class Timeline(anywidget.AnyWidget):
    """The events of a trace on lanes: SM, CTA, thread, lane; ``?`` in the view lists its keys.

    ``source``: a ``Trace``; a list of them, which are launches on one time axis; or a frame of events with the columns
    name, lane, cta, thread, start and end; see ``columns.EVENTS`` for these and for the others, which are used where
    they are there.
    ``ctas``, ``events``: what of it is shown, as in ``Trace.show``.
    ``time``: the unit of the axis at first, ``"cycles"``, ``"ns"`` or ``"auto"``: ns for several CTAs or ranks.
    ``height``: of the lanes, in pixels (default: by their number, up to 560).
    ``title``: stands over them (default: the kernel's name).
    ``theme``: ``"auto"`` follows the notebook; or ``"light"``, ``"dark"``.
    ``view``: what ``view`` of another timeline was.
    ``beside``: a trace for which the axis has room, too, and whose names have their colours here (``Trace.beside``).
    ``before``: another run to compare with: it is thin under the lanes, in cycles CTA by CTA, or iteration by iteration
    with ``view={"align": "iteration"}``, and the legend says by how much each name has changed.
    ``save``: put the events into the widget's state, and so into a notebook that is saved with it, also where they take
    more than 2 MB. ``layout``: as all ipywidgets have it.

    Raises ``TypeError`` for another keyword or a source of another type, and ``ValueError`` for wrong values and for
    columns that are missing or of the wrong type.

    >>> timeline = Timeline(trace)
    >>> timeline  # brush an area in it, then:
    >>> timeline.selection.groupby("name").duration.describe()
    """

    _esm = LOADER

    _link: Link | None = None
    _owns_layout = False

    script = traitlets.Bytes().tag(sync=True)
    """The front end, packed, for the loader. In a Jupyter notebook it is sent on demand, and so not saved each time."""
    header = traitlets.Unicode().tag(sync=True)
    """What the events are: JSON, see ``wire``."""
    columns = traitlets.Bytes().tag(sync=True)
    """The events, packed; empty where they are sent on demand, so that no large state is saved."""
    selected = traitlets.Bytes().tag(sync=True, from_json=lambda buffer, _: bytes(buffer))
    """Positions of the selected events in the frame, as runs."""
    view = traitlets.Dict().tag(sync=True)
    """What the view looks like: a dictionary that can be saved, and assigned to this or another timeline's ``view``.

    Keys are those of ``VIEW_KEYS``; assign some of them to change those alone.
    """
    height = traitlets.Int(None, allow_none=True).tag(sync=True)
    """Height of the lanes in pixels, when a view is opened."""
    theme = traitlets.Enum(THEMES, "auto").tag(sync=True)
    """Whether a view is light or dark, when it is opened."""
    still = traitlets.Unicode().tag(sync=True)
    """Class of the still picture that a view stands in for."""
    before_header = traitlets.Unicode().tag(sync=True)
    before_columns = traitlets.Bytes().tag(sync=True)
    """Another run, as ``header`` and ``columns``, that is drawn thin under the lanes; empty where there is none."""
    over = traitlets.Dict().tag(sync=True)
    """What is drawn over the lanes; see ``show``."""
    overs = traitlets.List(list(OVERLAYS)).tag(sync=True)
    """What the view can ask to have drawn there."""
    remarks: traitlets.List[dict[str, Any]] = traitlets.List().tag(sync=True)
    """Notes on the lanes, each a dictionary with the fields of ``data.notes.Note``; those of the trace at first."""
    instead = traitlets.Unicode().tag(sync=True)
    """Words that a view shows in place of the events, such as why there are none; empty: it shows the events."""

    @checked(
        time=one_of(TIMES),
        height=optional(pixels),
        title=optional(text),
        theme=one_of(THEMES),
        view=optional(mapping),
        save=flag,
    )
    def __init__(
        self,
        source: TraceLike | Sequence[TraceData] | pd.DataFrame,
        *,
        ctas: Ctas | None = None,
        events: pd.DataFrame | None = None,
        time: Time = "auto",
        height: int | None = None,
        title: str | None = None,
        theme: str = "auto",
        view: Mapping[str, Any] | None = None,
        save: bool = False,
        beside: TraceLike | None = None,
        before: TraceLike | None = None,
        **layout: Any,
    ) -> None:
        self._owns_layout = "layout" not in layout
        wrong = set(layout) - {"layout"}
        if wrong:
            raise TypeError(f"Timeline takes no keyword {min(wrong)!r}; it takes {', '.join(KEYWORDS)}")
        self._trace = (
            together(of_traces(cast("Sequence[TraceData]", source)))
            if isinstance(source, list | tuple)
            else frames(cast("TraceLike", source))
        )
        beside = None if beside is None else frames(beside, "beside")
        before = None if before is None else frames(before, "before")
        self._shown = selected(self._trace, events, ctas)
        traces = [each for each in (self._trace, beside, before) if each is not None]
        self._names = Names.of(*traces)
        self._save, self._title = save, title
        if beside is not None and ctas is not None:  # the axis has room for what is shown of it
            beside = of_events(beside, selected(beside, None, ctas))
        wire = encode(self.shown, title=title, names=self._names, beside=beside, **said_of(self._trace))
        packed = _packed(wire.columns, save)
        self._columns = b"" if packed else wire.columns
        other = None if before is None else encode(before, names=self._names)
        if other is not None and time == "auto":
            time = "cycles"
        unit = unit_of(wire.aligned, self._shown, time)
        super().__init__(
            header=wire.header,
            columns=packed,
            height=height,
            theme=theme,
            script=SCRIPT if notebook_shell() is None else b"",
            before_header=other.header if other else "",
            before_columns=gzip.compress(other.columns, 6, mtime=0) if other else b"",
            remarks=[asdict(note) for note in getattr(self._trace.meta, "notes", ())],
            view={"unit": unit} | _checked(view or {}),
            still=f"{STILL}-{uuid4().hex}",
            **layout,
        )
        self.on_msg(self._answer)
        self._join()

    @property
    def units(self) -> tuple[str, ...]:
        """The units of time that the axis can have: cycles, and ns where the trace is aligned."""
        return ("cycles", "ns") if json.loads(self.header)["ns"] else ("cycles",)

    @property
    def shown(self) -> TraceLike:
        """The part of the trace that is shown, as the frames that views draw."""
        return of_events(self._trace, self._shown)

    @checked(title=optional(text))
    def replace(self, source: TraceLike | pd.DataFrame, *, title: str | None = None) -> None:
        """Show another run in place of this one, as all of its events; ``source`` and ``title`` as at first.

        The events move to where they are now, and where they were stays as a ghost under the lanes. What the view
        looks like stays, but for the unit of time where there were no events before; nothing is selected. Errors as
        those of ``Timeline``.

        >>> timeline.replace(matmul_with_three_stages)
        """
        trace = frames(source)
        names = self._names | Names.of(trace)
        wire = encode(trace, title=title, names=names, **said_of(trace))
        if self._link is not None:
            self._link.remove(self)
        self._link = None
        first = self._shown.empty
        self._trace, self._shown, self._names, self._title = trace, trace.events, names, title
        self.__dict__.pop("_texts", None)
        packed = _packed(wire.columns, self._save)
        self._columns = b"" if packed else wire.columns
        with self.hold_sync():  # one message: a view must not see the header of one run and the columns of another
            self.header, self.columns, self.selected, self.instead = wire.header, packed, b"", ""
            self.over, self.before_header, self.before_columns = {}, "", b""
            if first:
                self.view = {"unit": unit_of(wire.aligned, trace.events, "auto")}
        self._join()

    @property
    def selection(self) -> pd.DataFrame:
        """The selected rows of the frame of events, none when nothing is selected; always as the view has it now."""
        return self._shown.iloc[from_runs(self.selected)]

    def select(self, rows: str | pd.DataFrame | pd.Series[Any] | Callable[[pd.DataFrame], Any] | None) -> pd.DataFrame:
        """Select events, in all linked views, and return them.

        ``rows`` is a query as ``DataFrame.query`` has it, a mask, a function from the frame to one of these, a frame of
        rows (by its index), or ``None`` for none. Raises ``TypeError`` for something else, and ``ValueError`` for a
        query that pandas does not understand.

        >>> timeline.select("name == 'mma' and payload >= 3")
        """
        frame = self._shown
        if callable(rows):
            rows = rows(frame)
        if rows is None:
            positions = np.zeros(0, np.int64)
        elif isinstance(rows, str):
            positions = frame.index.get_indexer(_found(frame, rows).index)
        elif isinstance(rows, pd.DataFrame):
            positions = frame.index.get_indexer(rows.index)
        elif isinstance(rows, pd.Series) and pd.api.types.is_bool_dtype(rows.dtype):
            positions = np.flatnonzero(rows.reindex(frame.index, fill_value=False).fillna(False).to_numpy(bool))
        else:
            wrong("rows", rows, _ROWS, TypeError)
        self.selected = to_runs(positions[positions >= 0])
        return self.selection

    @checked(labels=a(pd.Index, "an Index of row labels"))
    def select_labels(self, labels: pd.Index[Any]) -> None:
        """Select the rows with these labels, as far as this view shows them."""
        positions = self._shown.index.get_indexer(labels)
        self.selected = to_runs(positions[positions >= 0])

    @checked(callback=called("a function of the selected rows"))
    def on_select(self, callback: Callable[[pd.DataFrame], Any]) -> Callable[[], None]:
        """Call ``callback`` with the selected rows whenever the selection changes; returns what ends that."""

        def changed(_: object) -> None:
            callback(self.selection)

        self.observe(changed, "selected")
        return lambda: self.unobserve(changed, "selected")

    def zoom_to(self, start: float | pd.DataFrame, end: float | None = None) -> None:
        """Show the time from ``start`` to ``end``, in the unit of the axis, or the time of some rows of the frame.

        Raises ``ValueError`` where there are no rows, or where ``end`` is not after ``start``.

        >>> timeline.zoom_to(1000, 2500)
        >>> timeline.zoom_to(timeline.selection)
        """
        if isinstance(start, pd.DataFrame):
            if start.empty or not start.index.isin(self._shown.index).all():
                wrong("start", start, "a time, or rows of the frame that is shown, at least one")
            first, length = ("start_ns", "duration_ns") if self.view["unit"] == "ns" else ("start", "duration")
            rows = self._shown.loc[start.index]
            low, high = float(rows[first].min()), float((rows[first] + rows[length]).max())
            room = max((high - low) * 0.05, 0.5)
            low, high = low - room, high + room
        else:
            low = number(may="a time, or rows of the frame")("start", start)
            high = number(may="a time after the start")("end", end)
        if not high > low:
            wrong("end", end, f"a time after the start, {short(start)}")
        self.view = self.view | {"span": [low, high]}

    @checked(title=text)
    def show(self, what: str | pd.DataFrame | None, title: str = "") -> None:
        """Draw bands over the lanes: the critical path, waits with their cause, waves, or the rows of any frame.

        ``what``: ``"critical path"``, ``"waits"``, ``"waves"`` (where CTAs take each other's slots, and when SMs have
        none), a frame, or ``None`` for nothing any more. A frame needs the columns ``start`` and ``end``, in cycles
        since the CTA's entry, and ``cta``; a row whose end is its start is a mark. ``thread`` keeps a band to the lanes
        of one, ``lane`` to those of that name, and ``name`` is written on it. ``title`` stands over the lanes. Raises
        ``ValueError`` for another text and for a frame without these columns, ``TypeError`` for something else.

        >>> timeline.show("waits")
        >>> timeline.show(trace.waits("wait *", each=True).query("blocked > 500"), "long waits")
        """
        if what is None:
            self.over = {}
        elif isinstance(what, str):
            self.over = OVERLAYS[one_of(tuple(OVERLAYS))("what", what)](self._trace)
        else:
            self.over = bands(what, title)

    def _join(self) -> None:
        """Follow the other views of the trace, and begin with what is selected there."""
        self._link = link_of(self._trace)
        self._link.add(self)

    def close(self) -> None:
        """End the widget and all its views. Displaying it again opens it anew."""
        if self._link is not None:
            self._link.remove(self)
            self._link = None
        super().close()
        if self._owns_layout:
            self.layout.close()  # else every timeline would leave one behind

    @traitlets.validate("view")
    def _view_is_known(self, proposal: Any) -> dict[str, Any]:
        return {**self.view, **_checked(proposal["value"])}

    @traitlets.observe("remarks")
    def _keep_remarks(self, _: object) -> None:
        """What is written in a view is the trace's."""
        if isinstance(self._trace, TraceData):
            self._trace.meta = replace(self._trace.meta, notes=notes_of(self.remarks))

    @traitlets.observe("selected")
    def _share(self, _: object) -> None:
        if self._link is not None:
            self._link.share(self, self._shown.index[from_runs(self.selected)])

    def _answer(self, _: object, content: Any, __: object) -> None:
        if content == {"kind": "columns"}:
            self.send({"kind": "columns"}, buffers=[self._columns])
        if content == {"kind": "script"}:
            self.send({"kind": "script"}, buffers=[SCRIPT])
        if content == {"kind": "page"}:
            self._send_page()
        if isinstance(content, dict) and content.get("kind") == "over":
            self.show(content.get("which") or None)

    def _send_page(self) -> None:
        """A page of what is selected, or of everything that is shown."""
        chosen = self.selection if self.selected else self._shown
        title = json.loads(self.header)["title"]
        text = page_html(self._trace, chosen, ViewOptions(title=title, time=self.view["unit"], height=self.height))
        self.send({"kind": "page", "name": title or "timeline"}, buffers=[text.encode()])

    @cached_property
    def _texts(self) -> dict[str, str]:
        """The view as ``text/plain`` and ``text/html``, for where nothing runs."""
        unit: Time = "ns" if self.view["unit"] == "ns" and "ns" in self.units else "cycles"
        room = json.loads(self.header).get("room")
        options = ViewOptions(time=unit, title=self._title)
        return still(self.shown, options, room=room[unit] if room else None)

    def __repr__(self) -> str:
        return f"Timeline of {self._texts['text/plain']}"

    def _widget_bundle(self) -> tuple[dict[str, Any], dict[str, Any]]:
        return cast("tuple[dict[str, Any], dict[str, Any]]", super()._repr_mimebundle_())

    def _repr_mimebundle_(self, **_: Any) -> Any:
        data, metadata = self._widget_bundle()
        return {**data, **self._texts}, metadata

    def _ipython_display_(self) -> None:
        """Two outputs: one that is saved, which a view hides as long as there is one, and the widget.

        A single output would show nothing in a notebook that is opened without a kernel: JupyterLab takes the widget's
        form of it, and finds no model.
        """
        shell = notebook_shell()
        if shell is None:
            print(repr(self))
            return
        if self.comm is None:
            del self._repr_mimebundle_  # close() has put None over it
            if self._owns_layout:
                self.layout.open()
            self.open()
            self._join()
        front = note(self, shell, brings=bool(self.columns))
        data, metadata = self._widget_bundle()
        options = {"height": self.height, "theme": self.theme, "view": self.view, "remarks": self.remarks}
        saved = saved_html(self._texts["text/html"], self.still, self.header, self.columns, options, front=front)
        display({**self._texts, "text/html": saved}, raw=True)  # type: ignore[no-untyped-call]
        display({**data, "text/html": ABOVE}, metadata=metadata, raw=True)  # type: ignore[no-untyped-call]


def _packed(columns: bytes, save: bool) -> bytes:
    """The columns as gzip where that may be saved in a notebook, else nothing."""
    if len(columns) > _WORTH_PACKING and not save:
        return b""
    level = 6 if len(columns) < SAVED_BYTES else 1  # the cell waits for it
    packed = gzip.compress(columns, level, mtime=0)
    return packed if save or len(packed) <= SAVED_BYTES else b""


def _checked(view: Mapping[str, Any]) -> dict[str, Any]:
    wrong = set(view) - set(VIEW_KEYS)
    if wrong:
        raise ValueError(f"a view has no {min(wrong)!r}; it has {', '.join(VIEW_KEYS)}")
    return dict(view)


def _found(frame: pd.DataFrame, query: str) -> pd.DataFrame:
    """The rows that a query selects."""
    try:
        found = frame.query(query)
    except Exception as error:  # pandas reads it as Python, which fails in any of its ways
        wrong("rows", query, f"{_ROWS} ({clean(str(error), 80)})")
    if not isinstance(found, pd.DataFrame):
        wrong("rows", query, _ROWS)
    return found
