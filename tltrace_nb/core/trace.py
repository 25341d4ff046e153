"""A trace as its reader has it: the frames of one launch, and what shows, analyses and exports them.

In: what :class:`~tltrace_nb.data.trace_data.TraceData` takes, or a ``.tltrace`` file. Out: :class:`Trace`, which adds
one method for each view, analysis and file format; each calls the function of that name in its own package.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal

from tltrace_nb.base.checks import checked
from tltrace_nb.data.trace_data import TraceData, a_trace
from tltrace_nb.data.tracefile import TraceFileError, TraceMeta
from tltrace_nb.render.options import LIMIT, PAGE_EVENTS, ViewOptions

if TYPE_CHECKING:
    from pathlib import Path

    import pandas as pd

    from tltrace_nb.analysis.table import Table
    from tltrace_nb.base.gpus import Gpu
    from tltrace_nb.core.compile.options import Ctas
    from tltrace_nb.data.decode import Decoded
    from tltrace_nb.export.parquet import Frame
    from tltrace_nb.render.options import Color, Time, View
    from tltrace_nb.widget.display import Renderer
    from tltrace_nb.widget.pair import Pair
    from tltrace_nb.widget.timeline import Timeline

__all__ = ["Trace", "TraceFileError", "TraceMeta"]


class Trace(TraceData):
    """The events of one launch.

    ``slots`` is ``int64[num_cta, num_writers, words]``: a NumPy array, a tensor of any device, or a function that
    returns one; it is fetched when first looked at. The frames' columns are those of ``data.columns``. Frames are made
    once and are the caller's to extend; a write to one changes neither the slots nor another column.

    Example::

        trace = load("gemm.tltrace")
        trace.events.query("name == 'mma'").duration.describe()
        trace.show()
    """

    def figure(
        self,
        *,
        ctas: Ctas | None = None,
        events: pd.DataFrame | None = None,
        limit: int = LIMIT,
        time: Time = "auto",
        height: int | None = None,
        title: str | None = None,
        view: View = "thread",
        color: Color = "name",
    ) -> Any:
        """The timeline as a Plotly figure.

        ``ctas``: only these CTAs: ids, a range, a slice with an end, or a count (the first so many of the trace); ids
        that the trace does not have are passed over. ``events``: only these rows of ``events``, with their index.
        ``limit``: the most events drawn one by one; above it the first CTAs that fit are drawn whole and the other
        events are merged into at most a quarter as many bars, a row per name; title and legend say so.
        ``time``: the unit of the axis, ``"cycles"`` of the SM since each CTA's entry, ``"ns"`` since the first CTA's
        entry, or ``"auto"``: cycles for one CTA, ns for several where they are known. ``height``: pixels (default: by
        the number of rows, 240 to 1200). ``title``: stands over it (default: the kernel's name; ``""`` for none).
        ``view``: what a lane is, a ``"thread"`` (and lane name), a ``"cta"``, a ``"name"``, or an ``"sm"``, which draws
        the CTAs as they came and went. ``color``: what a colour is, the ``"name"``, or on a scale the ``"payload"``,
        the ``"duration"`` or the CTA's ``"wave"``.

        Raises ``ValueError`` for another ``time``, ``view`` or ``color``, for ``"ns"`` and ``view="sm"`` where no clock
        rate is known, for a ``limit`` below 1, for ``ctas`` of which the trace has none, and for ``events`` that are
        not rows of this trace; ``TypeError`` for values of another type; ``ModuleNotFoundError`` where Plotly is not
        installed.

        >>> trace.figure(ctas=range(4, 8), time="cycles").update_layout(width=1200)
        """
        from tltrace_nb.widget.figure import figure

        options = ViewOptions(
            ctas=ctas, events=events, limit=limit, time=time, height=height, title=title, view=view, color=color
        )
        return figure(self, options)

    def timeline(self, **options: Any) -> Timeline:
        """The timeline as a widget, with Python on the other end of it; see ``tltrace_nb.Timeline`` for the options.

        What is selected in one of a trace's timelines is selected in all, those that ``show`` made included.

        >>> timeline = trace.timeline(ctas=8)
        >>> timeline.selection.groupby("name").duration.describe()
        """
        from tltrace_nb.widget.timeline import Timeline

        return Timeline(self, **options)

    def show(
        self,
        *,
        renderer: Renderer | None = None,
        ctas: Ctas | None = None,
        events: pd.DataFrame | None = None,
        limit: int = LIMIT,
        time: Time = "auto",
        height: int | None = None,
        title: str | None = None,
        view: View = "thread",
        color: Color = "name",
    ) -> None:
        """Show the timeline under the cell; outside a notebook print a summary and how to get a file.

        ``renderer``: ``"timeline"`` (default), the widget, or ``"plotly"``, the figure, which alone has ``limit``,
        ``view`` and ``color`` and is taken for the last two. The other options and the errors are those of ``figure``.

        >>> trace.show(ctas=[0, 5])
        >>> trace.show(view="sm", color="wave")
        >>> trace.show(events=trace.events.query("name == 'mma'"))
        """
        from tltrace_nb.widget.display import show

        options = ViewOptions(
            ctas=ctas, events=events, limit=limit, time=time, height=height, title=title, view=view, color=color
        )
        show(self, options, renderer=renderer)

    def to_html(
        self,
        path: str | os.PathLike[str],
        title: str = "",
        *,
        ctas: Ctas | None = None,
        events: pd.DataFrame | None = None,
        limit: int = LIMIT,
        time: Time = "auto",
        height: int | None = None,
        most: int | None = PAGE_EVENTS,
    ) -> Path:
        """Write the timeline as one HTML file that needs no network, over what is there, and return its path.

        ``title``: heads the page (default: the kernel's name). ``most``: events in the page; of more it has whole CTAs
        from the beginning, the end and between, and says so (``None``: all). The other options and the errors are those
        of ``figure``, and ``OSError`` where the file cannot be written. Without Plotly there is a still picture.

        >>> trace.to_html("gemm.html", ctas=8)
        """
        from tltrace_nb.widget.html import write_html

        options = ViewOptions(title=title, ctas=ctas, events=events, limit=limit, time=time, height=height)
        return write_html(self, path, options, most=most)

    def to_svg(
        self,
        path: str | os.PathLike[str],
        title: str | None = None,
        *,
        ctas: Ctas | None = None,
        events: pd.DataFrame | None = None,
        limit: int = LIMIT,
        time: Time = "auto",
        width: int = 1200,
    ) -> Path:
        """Write the timeline as a still picture, ``width`` pixels wide and as high as its rows; returns the path.

        The other options and the errors are those of ``figure``, and ``OSError`` where the file cannot be written.

        >>> trace.to_svg("gemm.svg", ctas=2)
        """
        from tltrace_nb.export.picture import write_svg

        options = ViewOptions(title=title, ctas=ctas, events=events, limit=limit, time=time)
        return write_svg(self, path, options, width=width)

    def to_png(
        self,
        path: str | os.PathLike[str],
        title: str | None = None,
        *,
        ctas: Ctas | None = None,
        events: pd.DataFrame | None = None,
        limit: int = LIMIT,
        time: Time = "auto",
        width: int = 1200,
    ) -> Path:
        """The picture of ``to_svg`` as pixels, two to each of the SVG's where that gives no more than 40 million.

        Raises what ``to_svg`` raises, and ``ModuleNotFoundError`` where resvg_py or its font is not installed.

        >>> trace.to_png("gemm.png", ctas=2)
        """
        from tltrace_nb.export.picture import write_png

        options = ViewOptions(title=title, ctas=ctas, events=events, limit=limit, time=time)
        return write_png(self, path, options, width=width)

    def to_perfetto(self, path: str | os.PathLike[str], *, within: Any = None) -> Path:
        """Write Perfetto's format (for ui.perfetto.dev), gzipped where ``path`` ends in ``.gz``; returns the path.

        SM, CTA, track and sub-track nest; ranges that cross are on sub-tracks. Times are whole ns, the exact cycles and
        the payloads are arguments. ``within``: the profile of the program by ``torch.profiler``, as
        ``tltrace_nb.profile`` takes it, which has several traces in one; the file is that profile, and the trace inside
        of its kernel.

        Raises ``OSError`` where the file cannot be written, and with ``within`` what ``tltrace_nb.profile`` raises and
        ``ValueError`` where the profile does not have this launch.

        >>> trace.to_perfetto("gemm.pftrace")
        """
        if within is not None:
            from tltrace_nb.export.perfetto_profile import write_within

            return write_within(self, within, path)
        from tltrace_nb.export.perfetto import write_perfetto

        return write_perfetto(self, path)

    def to_chrome(self, path: str | os.PathLike[str]) -> Path:
        """Write Chrome's JSON trace events, gzipped where ``path`` ends in ``.gz``; returns the path.

        An SM is a process, a sub-track a thread; times are µs with three decimals. Raises ``OSError`` where the file
        cannot be written.

        >>> trace.to_chrome("gemm.json.gz")
        """
        from tltrace_nb.export.chrome import write_chrome

        return write_chrome(self, path)

    def to_parquet(self, path: str | os.PathLike[str], frame: Frame = "events") -> Path:
        """Write one frame, ``"events"``, ``"ctas"``, ``"flows"``, ``"sites"`` or ``"losses"``, as Parquet.

        Units are in the columns' metadata, ``meta`` in the schema's. Raises ``ValueError`` for another ``frame``,
        ``ModuleNotFoundError`` where pyarrow is not installed, ``OSError`` where the file cannot be written.

        >>> trace.to_parquet("gemm.parquet")
        """
        from tltrace_nb.export.parquet import write_parquet

        return write_parquet(self, path, frame)

    # ---- what the events say: frames with the columns of analysis.columns, with notes and a figure

    def summary(self) -> Table:
        """Per name count, durations in cycles, share of the CTAs' time, overlap; ``analysis.columns.SUMMARY``."""
        from tltrace_nb.analysis.summary import summary

        return summary(self)

    def nesting(self) -> Table:
        """Per path of nested ranges count, total and self time, over all CTAs; ``analysis.columns.NESTING``.

        >>> trace.nesting().figure()  # a flame graph
        """
        from tltrace_nb.analysis.nesting import nesting

        return nesting(self)

    def occupancy(
        self, *, registers: int | None = None, shared: int | None = None, gpu: str | Gpu | None = None
    ) -> Table:
        """CTAs and warps resident per SM over time, and what it could hold; as ``analysis.occupancy.occupancy``."""
        from tltrace_nb.analysis.occupancy import occupancy

        return occupancy(self, registers=registers, shared=shared, gpu=gpu)

    def waves(
        self,
        by: Literal["wave", "sm", "launch"] = "wave",
        *,
        registers: int | None = None,
        shared: int | None = None,
        gpu: str | Gpu | None = None,
    ) -> Table:
        """Waves, tail, imbalance and quantisation loss; as ``analysis.waves.waves``."""
        from tltrace_nb.analysis.waves import waves

        return waves(self, by, registers=registers, shared=shared, gpu=gpu)

    def waits(self, names: str | Iterable[str] = (), *, each: bool = False) -> Table:
        """Blocked cycles by what waited, barrier and producer; as ``analysis.waits.waits``.

        >>> trace.waits("wait *").figure()
        """
        from tltrace_nb.analysis.waits import waits

        return waits(self, names, each=each)

    def critical_path(self, *, barriers: str | Iterable[str] = ()) -> Table:
        """The chain of ranges that bounds each CTA, and the slack of the others; as ``analysis.critical_path``."""
        from tltrace_nb.analysis.critical_path import critical_path

        return critical_path(self, barriers=barriers)

    def pipeline(
        self,
        producer: str | None = None,
        consumer: str | None = None,
        *,
        wait: str | Iterable[str] = (),
        flight: float | None = None,
        passing: float | None = None,
    ) -> Table:
        """Per iteration issue, readiness, use and bubble, in cycles; as ``analysis.pipeline.pipeline``."""
        from tltrace_nb.analysis.pipeline import pipeline

        return pipeline(self, producer, consumer, wait=wait, flight=flight, passing=passing)

    def roofline(
        self,
        *,
        flop: float | Mapping[str, float] | None = None,
        bytes: float | Mapping[str, float] | None = None,
        dtype: str = "fp16",
        gpu: str | Gpu | None = None,
    ) -> Table:
        """Achieved and attainable flop per second, of the launch and of names; as ``analysis.roofline.roofline``.

        >>> trace.roofline(flop={"mma": 2 * 128 * 128 * 32}, bytes=a.nbytes + b.nbytes + c.nbytes)
        """
        from tltrace_nb.analysis.roofline import roofline

        return roofline(self, flop=flop, bytes=bytes, dtype=dtype, gpu=gpu)

    def overhead(self, cost: float | None = None) -> Table:
        """Per name what its own records take, at ``cost`` cycles each; as ``analysis.corrected.overhead``."""
        from tltrace_nb.analysis.corrected import overhead

        return overhead(self, cost)

    def corrected(self, cost: float | None = None) -> Trace:
        """This trace with ``cost`` cycles taken out for every record, as its ``meta.note`` then says.

        By default the cost is that of the GPU's model. Raises ``ValueError`` where no cost is known or it is negative,
        and for a trace that is corrected already.
        """
        from tltrace_nb.analysis.corrected import corrected

        return CorrectedTrace(self, *corrected(self, cost))

    @checked(other=a_trace)
    def beside(self, other: Trace, **options: Any) -> Pair:
        """Two linked timelines over each other on one time axis, this one above, to be shown under the cell.

        ``options`` as ``timeline``, for both; ``.figure(**view)`` is both as a Plotly figure. Raises ``TypeError``
        where ``other`` is no trace, and where they are drawn what ``Timeline`` raises.

        >>> before.beside(after, ctas=1)
        """
        from tltrace_nb.widget.pair import Pair

        return Pair(self, other, options)

    def __repr__(self) -> str:
        from tltrace_nb.data import headline

        return headline.text(self)

    def _repr_html_(self) -> str:
        from tltrace_nb.data import headline

        return headline.html(self)


class CorrectedTrace(Trace):
    """A trace whose frames are without the cost of its records; ``meta.note`` says so. It is computed, not recorded:
    ``slots`` are those of the trace that it was made of, and ``save`` refuses."""

    def __init__(self, recorded: TraceData, frames: Decoded, cost: float) -> None:
        said = f"the cost of its markers, {cost:g} cycles a record, is taken out of these times"
        note = f"{recorded.meta.note}; {said}" if recorded.meta.note else said
        super().__init__(recorded.slots, recorded.table, replace(recorded.meta, note=note))
        self._frames = frames

    def corrected(self, cost: float | None = None) -> Trace:  # noqa: ARG002 (as that of a trace)
        """Refuse: what is taken out twice is too much."""
        raise ValueError("this trace is corrected already: correct the one that it was made of")

    def save(self, path: str | os.PathLike[str]) -> None:
        """Refuse: a file holds what was recorded."""
        raise ValueError(
            f"{path}: a corrected trace is computed, save the one that it was made of and correct that again"
        )
