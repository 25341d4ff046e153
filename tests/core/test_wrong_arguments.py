"""Whatever is passed to a public function, it is served, or one line names the argument, what came and what may come.

The public surface is what the reference has entries for: a function that comes there needs a row here.
"""

from __future__ import annotations

import copy
import dataclasses
import importlib
import inspect
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tilelang.language as T
import torch
from fake_trace import pipeline as frames_of
from recordings import RECORDED
from synthetic import Rec, build, span, table

import tltrace_nb
from tltrace_nb import Timeline, Trace, analysis, datasets, distributed
from tltrace_nb.base import gpus as machine
from tltrace_nb.base.checks import short
from tltrace_nb.core.api import TraceSwitch
from tltrace_nb.core.compile import markers
from tltrace_nb.core.compile.auto.options import AutoOptions
from tltrace_nb.core.compile.options import TraceOptions
from tltrace_nb.core.large import LargeTrace
from tltrace_nb.core.runtime.kept import Policy
from tltrace_nb.core.runtime.virtual import simulate
from tltrace_nb.data.kineto import Recording
from tltrace_nb.data.tracefile import TraceFileError, TraceMeta
from tltrace_nb.explorer.explorer import Explorer

ROOT = Path(__file__).parents[2]


def nothing(*_: Any) -> None:
    """A function."""


WRONG: Mapping[str, Any] = {
    "none": None, "true": True, "negative": -1, "zero": 0, "half": 0.5, "nan": float("nan"), "huge": 10**30,
    "empty": "", "word": "nonsense", "broken": "(", "lone": "\ud800", "bytes": b"x", "list": [], "nones": [None],
    "dict": {}, "object": object(), "array": np.zeros((2, 2)), "function": nothing,
    "frame": frames_of().events[:0],
}  # fmt: skip
"""What is tried for each argument."""
TEXTS = "empty word broken lone"
NUMBERS = "zero half huge"
CYCLES = "none zero half"


@dataclass(frozen=True)
class Row:
    """How a function is called rightly, and which of ``WRONG`` are right for an argument, by name.

    ``free``: arguments that may be anything. ``make``: what is called, made anew for each call. ``inner``: values that
    are right as such, and wrong for this kernel or trace, as the error says in other words. ``named``: the name that an
    error has for an argument.
    """

    make: Callable[[], Callable[..., Any]]
    right: Mapping[str, Any] = field(default_factory=dict)
    served: Mapping[str, str] = field(default_factory=dict)
    free: tuple[str, ...] = ()
    inner: Mapping[str, str] = field(default_factory=dict)
    named: Mapping[str, str] = field(default_factory=dict)


@cache
def trace() -> Trace:
    of = table(*span(0, "a"), *span(2, "b"), flows=(("a", "b"),), grid=(2, 1, 1))
    records = [Rec(cta, 0, 1010 + 10 * n, site, n // 2) for cta in range(2) for n, site in enumerate([0, 1, 2, 3])]
    return Trace(build(of, records, rows=2), of, TraceMeta("kernel", "cuda", "NVIDIA H200", grids=((2, 1, 1),)))


def large() -> LargeTrace:
    return tltrace_nb.load(RECORDED / "add.tltrace", lazily=True)


def switch() -> TraceSwitch:
    return TraceSwitch()


def timeline() -> Timeline:
    return Timeline(trace())


@cache
def func() -> Any:
    @T.prim_func
    def copy(A: T.Tensor((128,), "float32"), B: T.Tensor((128,), "float32")):
        with T.Kernel(1, threads=128), tltrace_nb.trace.range("copy"):
            T.copy(A, B)

    return copy


def in_a_kernel(call: Callable[..., Any]) -> Callable[..., Any]:
    """What a call does inside of a kernel that is being built."""

    def build(**arguments: Any) -> Any:
        @T.prim_func
        def kernel(A: T.Tensor((128,), "float32")):
            with T.Kernel(1, threads=128):
                call(**arguments)
                A[0] = 1.0

        return kernel

    return build


def closed(token: Any) -> None:
    markers.close_range(token)


def entered(scope: Any) -> None:
    with scope:
        pass


def opened(name: Any = "a", lane: Any = "main", payload: Any = None) -> None:
    markers.close_range(markers.open_range(name, lane, payload))


def settled(call: Callable[..., Any]) -> Callable[..., Any]:
    """A ``with`` block of a call."""

    def settle(**arguments: Any) -> None:
        with call(**arguments):
            pass

    return settle


@cache
def explorer() -> Explorer:
    return tltrace_nb.explore(lambda n: trace(), n=(1, 2))


@cache
def jitted() -> Any:
    """A builder, without parameters."""

    @tltrace_nb.trace.jit
    def copy() -> Any:
        return func()

    return copy


@cache
def lowered() -> Any:
    return switch().lower(func())


def explored(builder: Any, **options: Any) -> None:
    tltrace_nb.explore(builder, **options).close()


def set_device(device: Any) -> None:
    switch().device = device


SHOWN = {"title": f"none {TEXTS}", "height": "none", "ctas": "none huge", "events": "none"}
PICTURED = {key: value for key, value in SHOWN.items() if key != "height"}
GPU = {"registers": "none zero", "shared": "none zero", "gpu": "none"}
WORK = f"none dict {NUMBERS}"
ONE = (torch.zeros(128),)
OUT_IDX = {"out_idx": "zero empty list nones array huge"}
PAYLOAD = "none true negative zero half nan"
AUTO = "none true"

A, C = "tltrace_nb.analysis.", "tltrace_nb.core."
TR, SW, TL, GA = "tltrace_nb.Trace.", C + "api.TraceSwitch.", "tltrace_nb.Timeline.", "tltrace_nb.distributed.Gathered."
LA = C + "large.LargeTrace."


def of_trace(name: str, right: Mapping[str, Any] = {}, **served: str) -> Row:
    return Row(lambda: getattr(trace(), name), right, served)


def of_switch(name: str, right: Mapping[str, Any] = {}, free: tuple[str, ...] = (), **served: str) -> Row:
    return Row(lambda: getattr(switch(), name), right, served, free)


OUT = "out.html"
PROFILED = Recording("profile.json", (), {}, {})
ROWS: dict[str, Row] = {
    # ---- traces
    "tltrace_nb.load": Row(lambda: tltrace_nb.load, {"path": "t.tltrace"}, {"limit": "none huge", "lazily": "true"}),
    LA + "__init__": Row(lambda: LargeTrace, {"path": str(RECORDED / "add.tltrace")}),
    LA + "summary": Row(lambda: large().summary),
    LA + "trace": Row(lambda: large().trace, {}, {"ctas": "none huge", "between": "none", "most": "none huge"}),
    TR + "__init__": Row(
        lambda: Trace, {"slots": trace().slots, "table": trace().table}, {"slots": "array function", "meta": "none"}
    ),
    TR + "refresh": Row(lambda: trace),
    TR + "notes": Row(lambda: lambda notes: setattr(copy.copy(trace()), "notes", notes), {"notes": trace().notes}),
    TR + "save": of_trace("save", {"path": OUT}, path="word broken"),
    TR + "figure": of_trace("figure", limit="huge", **SHOWN),
    TR + "timeline": of_trace("timeline"),
    TR + "show": of_trace("show", limit="huge", renderer="none", **SHOWN),
    TR + "to_html": of_trace("to_html", {"path": OUT}, path="word broken", limit="huge", most="none huge", **SHOWN),
    TR + "to_svg": of_trace("to_svg", {"path": OUT}, path="word broken", limit="huge", **PICTURED),
    TR + "to_png": of_trace("to_png", {"path": OUT}, path="word broken", limit="huge", **PICTURED),
    TR + "to_perfetto": of_trace("to_perfetto", {"path": OUT}, path="word broken", within="none"),
    "tltrace_nb.profile": Row(lambda: tltrace_nb.profile, {"prof": PROFILED, "traces": trace()}, {"traces": "list"}),
    C + "profile.Profile.figure": Row(lambda: tltrace_nb.profile(PROFILED, trace()).figure, {}, {"launch": "none"}),
    C + "profile.Profile.to_perfetto": Row(
        lambda: tltrace_nb.profile(PROFILED, trace()).to_perfetto, {"path": OUT}, {"path": "word broken"}
    ),
    TR + "to_chrome": of_trace("to_chrome", {"path": OUT}, path="word broken"),
    TR + "to_parquet": of_trace("to_parquet", {"path": OUT}, path="word broken"),
    TR + "summary": of_trace("summary"),
    TR + "occupancy": of_trace("occupancy", **GPU),
    TR + "waves": of_trace("waves", **GPU),
    TR + "nesting": of_trace("nesting"),
    TR + "waits": of_trace("waits", names="list", each="true"),
    TR + "critical_path": of_trace("critical_path", barriers="list"),
    TR + "pipeline": of_trace(
        "pipeline", {"producer": "a", "consumer": "b"}, wait="list", flight=CYCLES, passing=CYCLES
    ),
    TR + "roofline": of_trace("roofline", flop=WORK, bytes=WORK, gpu="none"),
    TR + "overhead": of_trace("overhead", cost=CYCLES),
    TR + "corrected": of_trace("corrected", cost=CYCLES),
    TR + "beside": of_trace("beside", {"other": trace()}),
    # ---- analyses
    A + "summary.summary": Row(lambda: analysis.summary.summary, {"trace": trace()}),
    A + "occupancy.occupancy": Row(lambda: analysis.occupancy.occupancy, {"trace": trace()}, GPU),
    A + "waves.waves": Row(lambda: analysis.waves.waves, {"trace": trace()}, GPU),
    A + "nesting.nesting": Row(lambda: analysis.nesting.nesting, {"trace": trace()}),
    A + "waits.waits": Row(lambda: analysis.waits.waits, {"trace": trace()}, {"names": "list", "each": "true"}),
    A + "critical_path.critical_path": Row(
        lambda: analysis.critical_path.critical_path, {"trace": trace()}, {"barriers": "list"}
    ),
    A + "pipeline.pipeline": Row(
        lambda: analysis.pipeline.pipeline,
        {"trace": trace(), "producer": "a", "consumer": "b"},
        {"wait": "list", "flight": CYCLES, "passing": CYCLES},
    ),
    A + "roofline.roofline": Row(
        lambda: analysis.roofline.roofline, {"trace": trace()}, {"flop": WORK, "bytes": WORK, "gpu": "none"}
    ),
    A + "corrected.overhead": Row(lambda: analysis.corrected.overhead, {"trace": trace()}, {"cost": CYCLES}),
    A + "corrected.corrected": Row(lambda: analysis.corrected.corrected, {"trace": trace()}, {"cost": CYCLES}),
    A + "table.Table.figure": Row(lambda: trace().summary().figure),
    "tltrace_nb.compare": Row(lambda: tltrace_nb.compare, {"a": trace(), "b": trace()}, {"least": NUMBERS}),
    "tltrace_nb.compute_flows": Row(
        lambda: tltrace_nb.compute_flows,
        {"events": trace().rows, "flows": [("a", "b")]},
        {"events": "list", "flows": "list"},
    ),
    # ---- views
    TL + "__init__": Row(
        lambda: Timeline,
        {"source": trace()},
        SHOWN
        | {"source": "frame", "view": "none dict", "save": "true", "beside": "none frame", "before": "none frame"},
    ),
    TL + "replace": Row(lambda: timeline().replace, {"source": trace()}, {"source": "frame", "title": f"none {TEXTS}"}),
    TL + "select": Row(lambda: timeline().select, {"rows": None}, {"rows": "none frame function"}),
    TL + "select_labels": Row(lambda: timeline().select_labels, {"labels": trace().events.index}),
    TL + "on_select": Row(lambda: timeline().on_select, {"callback": print}, {"callback": "function"}),
    TL + "zoom_to": Row(
        lambda: timeline().zoom_to,
        {"start": 0, "end": 10**31},
        {"start": "negative zero half huge", "end": "half huge"},
    ),
    TL + "show": Row(lambda: timeline().show, {"what": None}, {"what": "none frame", "title": TEXTS}),
    TL + "close": Row(lambda: timeline().close),
    "tltrace_nb.widget.pair.Pair.figure": Row(lambda: trace().beside(trace()).figure),
    "tltrace_nb.explore": Row(
        lambda: explored,
        {"builder": jitted()},
        {
            "builder": "function",
            "height": "none",
            "inputs": "none function list nones array frame",
            "gpu": "none",
            "facts": "list",
        },
    ),
    "tltrace_nb.explorer.explorer.Explorer.wait": Row(lambda: explorer().wait, {}, {"timeout": f"none {NUMBERS}"}),
    "tltrace_nb.explorer.explorer.Explorer.close": Row(lambda: explorer().close),
    # ---- the switch
    SW + "model": of_switch("model"),
    SW + "enable": of_switch(
        "enable",
        output="word broken",
        device="none",
        max_events="none huge",
        ctas="none huge",
        budget="huge",
        auto=AUTO,
        keep_launches="none huge",
    ),
    SW + "disable": of_switch("disable"),
    SW + "tracing": Row(
        lambda: settled(switch().tracing), {}, {"enabled": "true", "output": "none word broken", "everywhere": "true"}
    ),
    SW + "device": Row(lambda: set_device, {"device": "auto"}),
    SW + "group": Row(
        lambda: in_a_kernel(lambda **a: entered(switch().group(**a))),
        {"name": "g"},
        {"name": "word broken", "lead": "zero huge"},
    ),
    SW + "range": Row(
        lambda: in_a_kernel(lambda **a: entered(switch().range(**a))),
        {"name": "a"},
        {"name": "word broken", "lane": "word broken", "payload": PAYLOAD},
    ),
    SW + "range_start": Row(
        lambda: in_a_kernel(lambda **a: closed(switch().range_start(**a))),
        {"name": "a"},
        {"name": "word broken", "lane": "word broken", "payload": PAYLOAD},
    ),
    SW + "range_end": Row(lambda: in_a_kernel(switch().range_end), {"tok": None}, {"tok": "none"}),
    SW + "record": Row(
        lambda: in_a_kernel(switch().record),
        {"name": "a"},
        {"name": "word broken", "lane": "word broken", "payload": PAYLOAD},
    ),
    SW + "dag": Row(
        lambda: in_a_kernel(switch().dag),
        {"src_name": "a", "dst_name": "b"},
        {"src_name": "word broken", "dst_name": "word broken"},
    ),
    "tltrace_nb.RangeScope.__init__": Row(
        lambda: in_a_kernel(lambda **a: entered(markers.RangeScope(**a))),
        {"name": "a"},
        {"name": "word broken", "lane": "word broken", "payload": PAYLOAD},
    ),
    C + "compile.markers.GroupScope.__init__": Row(
        lambda: in_a_kernel(lambda **a: entered(markers.GroupScope(**a))),
        {"name": "g"},
        {"name": "word broken", "lead": "zero huge"},
    ),
    "tltrace_nb.open_range": Row(
        lambda: in_a_kernel(opened), {"name": "a"}, {"name": "word broken", "lane": "word broken", "payload": PAYLOAD}
    ),
    "tltrace_nb.close_range": Row(lambda: in_a_kernel(tltrace_nb.close_range), {"token": None}, {"token": "none"}),
    SW + "auto": of_switch("auto", {"kernel": func()}, on="true", ignore="list dict"),
    SW + "jit": of_switch("jit", func="none function", auto=AUTO),
    SW + "out_idx": of_switch("out_idx", {"n_outputs": 1}, n_outputs="zero", traced="none true"),
    SW + "finalize": of_switch(
        "finalize",
        {"primfunc": func(), "traced": True},
        traced="none true",
        max_events="none huge",
        pass_configs="none dict",
    ),
    SW + "lower": of_switch("lower", {"primfunc": func()}, max_events="none huge", pass_configs="none dict"),
    SW + "strip": of_switch("strip", {"primfunc": func()}),
    SW + "since": of_switch("since", {"launches": 0}, launches="zero huge"),
    SW + "launched": of_switch("launched", since="zero huge"),
    SW + "clear": of_switch("clear"),
    SW + "captured": of_switch("captured", {"launch": trace()}, free=("pinned",)),
    SW + "run": of_switch(
        "run",
        {"compiled": lambda *_: None, "inputs": (), "stem": "s"},
        compiled="function",
        inputs="list nones array frame",
        stem="word broken",
    ),
    SW + "simulate": Row(
        lambda: lambda kernel, **options: switch().simulate(kernel, *ONE, **options),
        {"kernel": func()},
        {
            "out_idx": "none negative",
            "functional": "true",
            "every_cta": "true",
            "auto": AUTO,
            "step_limit": "none huge",
        },
        inner=OUT_IDX,
    ),
    SW + "overhead": Row(
        lambda: switch().overhead, {"kernel": None, "inputs": ()}, inner={"inputs": "list nones array dict frame"}
    ),
    SW + "aligned": Row(lambda: settled(switch().aligned)),
    SW + "gather": Row(lambda: switch().gather, inner={"trace": "none"}),
    SW + "decode": Row(
        lambda: switch().decode, {"compiled": lowered(), "slots": trace().slots}, inner={"slots": "array frame"}
    ),
    SW + "dump": of_switch(
        "dump",
        {"events": trace(), "compiled": lowered(), "stem": "s"},
        stem="word broken",
        events="list",
        free=("compiled",),
    ),
    SW + "export_html": of_switch(
        "export_html",
        {"events": trace(), "path": OUT, "compiled": lowered()},
        events="list",
        path="word broken",
        title=TEXTS,
        sm_clock_ghz="none half huge",
        free=("compiled",),
    ),
    SW + "show": of_switch("show", trace="none"),
    # ---- options
    C + "compile.options.TraceOptions.of": Row(
        lambda: TraceOptions.of, {}, {"max_events": "none huge", "ctas": "none huge", "budget": "huge", "auto": AUTO}
    ),
    C + "compile.options.TraceOptions.with_max_events": Row(
        lambda: TraceOptions().with_max_events, {"max_events": 1}, {"max_events": "none huge"}
    ),
    C + "compile.options.TraceOptions.with_auto": Row(lambda: TraceOptions().with_auto, {"auto": None}, {"auto": AUTO}),
    C + "compile.auto.options.AutoOptions.of": Row(
        lambda: AutoOptions.of, {"auto": "light"}, {"auto": AUTO, "ignore": "list dict"}, ("argument",)
    ),
    C + "compile.auto.options.AutoOptions.wants": Row(
        lambda: AutoOptions().wants, {"kind": "copy", "name": "a"}, {"kind": TEXTS, "name": TEXTS}
    ),
    C + "compile.auto.options.AutoOptions.names": Row(
        lambda: AutoOptions().names, {"kind": "copy", "name": "a"}, {"kind": TEXTS, "name": TEXTS}
    ),
    C + "runtime.kept.Policy.of": Row(
        lambda: Policy.of, {"spec": None}, {"spec": "none huge"}, named={"spec": "keep_launches"}
    ),
    # ---- the rest
    "tltrace_nb.datasets.names": Row(lambda: datasets.names),
    "tltrace_nb.datasets.load": Row(lambda: datasets.load, {"name": "h200/gemm"}),
    "tltrace_nb.distributed.gather": Row(
        lambda: distributed.gather,
        {"trace": trace()},
        {
            "clock": "none",
            "folder": "none word broken",
            "timeout": "half huge",
            "block": "none",
            "launches": "none dict",
            "arrows": "none dict",
        },
    ),
    "tltrace_nb.distributed.aligned": Row(
        lambda: settled(distributed.aligned), {}, {"clock": "none", "timeout": "half huge"}
    ),
    "tltrace_nb.base.gpus.preset": Row(lambda: machine.preset, {"name": "h200"}),
    "tltrace_nb.base.gpus.occupancy": Row(
        lambda: machine.occupancy, {"gpu": machine.preset("h200"), "footprint": machine.Footprint(128, 0, 0)}
    ),
    "tltrace_nb.core.runtime.virtual.simulate": Row(
        lambda: simulate,
        {"func": func(), "inputs": ONE},
        {
            "options": "none",
            "out_idx": "none negative",
            "functional": "true",
            "every_cta": "true",
            "pass_configs": "none dict",
        },
        inner=OUT_IDX | {"inputs": "list nones array frame"},
    ),
}
"""Every public function, by the name of its entry in the reference."""
PASSED_ON = {
    GA + "timeline", GA + "show", GA + "figure", GA + "to_html", GA + "save", "tltrace_nb.AnnoToken.__init__",
    "tltrace_nb.magic.TraceMagics.tltrace", SW + "__init__", C + "profile.Profile.__init__",
    "tltrace_nb.explorer.explorer.Explorer.__init__",
}  # fmt: skip
"""Those that pass all of their arguments on to one that has a row, or are not called by users."""


def entry(name: str) -> Any:
    """What an entry of the reference is of; ``None`` for an attribute of instances."""
    parts = name.split(".")
    for end in range(len(parts), 0, -1):
        try:
            found = importlib.import_module(".".join(parts[:end]))
        except ImportError:
            continue
        for part in parts[end:]:
            found = getattr(found, part, None)
        return found
    raise AssertionError(name)


def public() -> Iterator[tuple[str, tuple[str, ...]]]:
    """The functions, methods and properties to be set that the reference has entries for, with their parameters.

    Plain data (dataclasses, enums, errors) is made by nobody but us.
    """
    text = "\n".join(path.read_text() for path in sorted((ROOT / "docs" / "reference").glob("*.md")))
    for name in dict.fromkeys(re.findall(r"^::: (\S+)", text, re.MULTILINE)):
        found = entry(name)
        members = {f"{name}.{each}": getattr(found, each) for each in getattr(found, "__all__", ())}
        if inspect.isclass(found) and not issubclass(found, BaseException):
            plain = dataclasses.is_dataclass(found)
            members = {
                f"{name}.{key}": getattr(value, "__func__", value)
                for key, value in written_here(found).items()
                if key[0] != "_" or (key == "__init__" and not plain)
            }
        for at, value in (members or {name: found}).items():
            if inspect.isfunction(value):
                kinds = inspect.signature(value).parameters.values()
                yield at, tuple(p.name for p in kinds if p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD))
            elif isinstance(value, property) and value.fset is not None:
                yield at, ("self", at.rpartition(".")[2])


def written_here(found: type) -> dict[str, Any]:
    """What a class has of its own and of those classes of ours that it extends."""
    bases = [base for base in reversed(found.__mro__) if base.__module__.startswith("tltrace_nb")]
    return {key: value for base in bases for key, value in vars(base).items()}


SURFACE = {name.replace("tltrace_nb.core.trace.Trace.", TR): names for name, names in public()}


def test_every_public_function_has_a_row() -> None:
    assert set(SURFACE) - PASSED_ON == set(ROWS)
    assert set(SURFACE) >= PASSED_ON


@pytest.mark.parametrize("name", ROWS)
def test_a_wrong_argument_is_named_with_what_came_and_what_may_come(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    trace().save("t.tltrace")
    row, bad = ROWS[name], []
    arguments = [each for each in SURFACE[name] if each not in ("self", "cls", *row.free)]
    assert {*row.right, *row.served} <= {*arguments, *row.free}
    for argument in arguments:
        for label, value in WRONG.items():
            told, name_ = said(row, argument, value), row.named.get(argument, argument)
            served, inner = (label in of.get(argument, "").split() for of in (row.served, row.inner))
            as_it_should = is_clear(told) if inner else told is None if served else fits(told, name_, value)
            if not as_it_should:
                bad.append(f"{argument}: {label} gives {type(told).__name__}: {told}")
    assert not bad, "\n".join(bad)


def said(row: Row, argument: str, value: Any) -> Exception | None:
    """The error of a call in which one argument is this value."""
    try:
        row.make()(**{**row.right, argument: value})
    except distributed.GatherError:  # there is no process group, and nothing else was wrong
        return None
    except Exception as error:
        return error
    return None


def is_clear(error: Exception | None) -> bool:
    """Whether an error is of the kind for wrong arguments, in one line."""
    return isinstance(error, ValueError | TypeError | tltrace_nb.TraceError) and "\n" not in str(error)


def fits(error: Exception | None, argument: str, value: Any) -> bool:
    """Whether an error says in one line which argument is wrong, what came and what may come."""
    told = str(error)
    if isinstance(error, OSError | TraceFileError) and isinstance(value, str):
        return value in told or short(value) in told  # it may be the name of a file, which is not there
    named = re.search(rf"\b{argument}\b", told) is not None
    whole = isinstance(value, int) and f"{value:,}" in told
    part = not isinstance(value, str | float | int) and re.search(rf"\b{argument}[=[]", told) is not None
    what = short(value) in told or whole or part
    return is_clear(error) and named and bool(what) and len(told) < 2000
