"""A launch compiled for many CTAs at once, and whether it can be.

In: what ``simulator.program`` takes. Out: a :class:`Program` whose function runs one thread group of many CTAs, or the
reason why there is none. Everything that the function calls is known here to work on many CTAs, or the launch has none:
a list of names decides that, so that what is new in ``simulator`` is refused until it is added.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import CodeType
from typing import Any

from tvm import tirx

from tltrace_nb.base.gpus import Gpu
from tltrace_nb.core.compile.active_threads import LaunchShape
from tltrace_nb.core.compile.device import RECORD
from tltrace_nb.core.compile.ir import Expr, Stmt, buffer_loads, walk
from tltrace_nb.simulator import bits
from tltrace_nb.simulator import values as of_one
from tltrace_nb.simulator.batch import memory, tiles, values, warps
from tltrace_nb.simulator.errors import UnsupportedError
from tltrace_nb.simulator.expressions import Expressions
from tltrace_nb.simulator.fragments import Spread
from tltrace_nb.simulator.intrinsics import INFIX, SIMPLE, SPECIAL
from tltrace_nb.simulator.liveness import needed_data
from tltrace_nb.simulator.memory import converted
from tltrace_nb.simulator.program import NAMES, Program, ProgramWriter, compile_launch
from tltrace_nb.simulator.source_lines import Lines
from tltrace_nb.simulator.statements import Statements
from tltrace_nb.simulator.uniformity import LOCAL_SCOPES
from tltrace_nb.simulator.unwritten import stored
from tltrace_nb.simulator.writing import Place

_BY_ELEMENT = (
    "both", "without", "whole", "choose", "negated", "least", "most", "quotient", "remainder", "wrapped", "apply",
    "reinterpreted", "rsqrt", "sigmoid", "erf", "directed", "fused",
)  # fmt: skip
"""Functions of ``simulator.values`` that take an axis more as they are."""
_HERE: dict[str, Any] = {
    "Registers": memory.Registers,
    "converted": converted,
    **{name: getattr(of_one, name) for name in _BY_ELEMENT},
    **{name: f for name, f in vars(bits).items() if callable(f) and name[0] != "_"},
    **{name: getattr(values, name) for name in (
        "agreed", "uniform", "nonzero", "narrowed", "axis", "cell", "sliced", "put_sliced", "atomic")},
    **{name: getattr(tiles, name) for name in ("move", "fill", "product", "reduce", "scan", "transpose")},
    **{name: getattr(warps, name) for name in ("shuffled", "over_threads", "by_block", "by_warp")},
}  # fmt: skip
"""Functions of generated code for many CTAs."""
_METHODS = (
    "n", "ctas", "index", "first", "threads_x", "threads_y", "threads_z", "ids", "warps", "block_x", "block_y",
    "block_z", "cta", "block", "view", "barriers", "scalars", "t", "engine", "gpu", "clock_ghz", "lanes", "later",
    "issue", "copied", "reduced", "wgmma", "products", "copies", "commit", "cp_async", "tma", "load", "await_load",
    "exchange", "arrive", "arrive_after_copies", "sync", "named_arrive", "rasterise", "check", "check_lanes", "step",
    "thread", "get", "put", "gather", "scatter",
)  # fmt: skip
"""Attributes of thread groups and of memory that generated code for many CTAs uses."""
_PYTHON = ("np", "Meet", "Wait", "range", "int", "float", "max")
_NUMPY = re.findall(r"np\.(\w+)", " ".join([*SPECIAL.values(), *SIMPLE.values()]))
_KNOWN = frozenset(
    [*_HERE, *_METHODS, *_PYTHON, *_NUMPY, "array", "add", "fmax", "fmin", "count_nonzero", "all", "any"]
)
_CONSTANT = re.compile(r"[ko]\d+|d_\w+")


def unknown_names(code: CodeType) -> set[str]:
    """What a compiled function uses that is not known to work on many CTAs."""
    inner = (unknown_names(c) for c in code.co_consts if isinstance(c, CodeType))
    used = (n for n in code.co_names if n not in _KNOWN and not _CONSTANT.fullmatch(n))
    return set(used).union(*inner)


class BatchWriter(ProgramWriter):
    """The text of a program that many CTAs run together."""

    names: Mapping[str, Any] = {**NAMES, **_HERE}

    def __init__(self, *args: Any):
        super().__init__(*args)
        self.expressions = _Expressions(self)
        self.statements = _Statements(self)

    def decided(self, asked: str) -> str:
        """A condition on which all lanes agree, as Python decides by it."""
        return f"agreed({asked})"

    def same(self, e: Expr, place: Place) -> str:
        """An operand on which all threads that come here agree."""
        text = self.expressions(e, place)
        return text if isinstance(e, (int, tirx.IntImm)) else f"uniform({text})"

    def registers_text(self, buffer: Any, lanes: str) -> str:
        """What makes a ``local`` buffer."""
        return super().registers_text(buffer, f"{lanes[:-1]}c.ctas, )")


class _Expressions(Expressions):
    _beside_lanes = False
    """Whether the expression is an operand beside others that differ by lane."""

    def __call__(self, e: Expr, place: Place) -> str:
        beside, self._beside_lanes = self._beside_lanes, False
        is_array = not isinstance(e, (int, float)) and self._w.varying(e)
        self._beside_lanes = is_array and not isinstance(e, tirx.BufferLoad)
        try:
            text = super().__call__(e, place)
        finally:
            self._beside_lanes = beside
        if not beside or is_array or isinstance(e, (int, float, tirx.IntImm)) or not str(e.dtype).startswith("int"):
            return text
        return f"narrowed({text}, {self._w.dtype(str(e.dtype), e)})"

    def shape(self, place: Place) -> str:
        """The shape of the lanes of all CTAs."""
        return f"{super().shape(place)[:-1]}c.ctas, )"

    def _infix(self, kind: str, e: Any, place: Place) -> str:
        text = super()._infix(kind, e, place)
        if kind not in ("FloorDiv", "FloorMod") or isinstance(e.b, (int, tirx.IntImm)) or self._w.varying(e):
            return text
        return f"({self(e.a, place)} {INFIX[kind]} nonzero({self(e.b, place)}))"

    def _cast(self, e: Any, place: Place) -> str:
        text = super()._cast(e, place)
        return text if text.startswith("converted(") else f"converted({text}, {self._w.dtype(str(e.dtype), e)})"

    def _bufferload(self, e: Any, place: Place) -> str:
        if str(e.buffer.scope()) in LOCAL_SCOPES or any(self._w.varying(i) for i in e.indices):
            return super()._bufferload(e, place)
        self._w.count_access(e.buffer, "load", e.indices, bool(place.grid))
        return f"cell({self._w.buffer(e.buffer, e)}, {place.mask}, ({self.index(e.indices, place)}))"

    def _choice(self, condition: Expr, a: Expr, b: Expr, place: Place) -> str:
        asked = self._w.assign(self(condition, place))
        if self._is_plain(a) and self._is_plain(b):
            return f"choose({asked}, {self(a, place)}, {self(b, place)})"
        return self.by_mask(asked, a, b, place)


class _Statements(Statements):
    def _branch(self, s: Any, place: Place) -> Place:
        w = self._w
        if w.varying(s.condition) or (not place.grid and w.thread_groups.is_split(s)):
            return super()._branch(s, place)
        asked = w.assign(w.expressions(s.condition, place))
        self.spend(place)
        if place.grid or _only_stores(s):
            self.by_mask(asked, s, place)
        else:
            self.either(f"agreed({asked})", s, place)
        return place

    def _recording(self, name: str, call: Any, place: Place) -> None:
        """Nothing is recorded; what a payload reads may be an error."""
        w = self._w
        if name.startswith(RECORD) and buffer_loads(call.args[4]):
            w.line(w.expressions(call.args[4], place))
        w.tally.take()


def _only_stores(branch: Stmt) -> bool:
    """Whether CTAs may go through a branch together although some do not take it."""
    return not any(isinstance(s, (tirx.For, tirx.While, tirx.Evaluate)) for s, _ in walk(branch))


@dataclass(frozen=True)
class Batched:
    """A launch whose CTAs can be run together. ``times``: its program without values; ``stored``: what it may write."""

    values: Program
    times: Program
    stored: frozenset[Any]


def compile_batched(
    name: str,
    shape: LaunchShape,
    gpu: Gpu,
    annotations: Any,
    parameters: Sequence[Any],
    spreads: Mapping[Any, Spread],
    lines: Lines,
) -> Batched | str:
    """Compile a launch for many CTAs at once, arguments as ``compile_launch``; or why CTAs are to run one by one."""
    if math.prod(shape.cluster) > 1:
        return "clusters"
    needed = needed_data(shape.body)
    try:
        program = BatchWriter(name, shape, gpu, lambda _: True, annotations, parameters, spreads, lines).program()
    except UnsupportedError as error:
        return str(error)
    if unknown := unknown_names(program.run.__code__):
        return f"it uses {', '.join(sorted(unknown))}"
    written = frozenset(stored(shape.body))
    views = Counter(use.buffer.data for use in program.buffers if use.scope == "global")
    for use in program.buffers:
        if use.scope == "global" and use.buffer.data in written:
            if views[use.buffer.data] > 1:
                return f"it writes {use.buffer.name}, which it sees in several ways"
            if needed(use.buffer):
                return f"it writes {use.buffer.name}, by which it decides"
    times = compile_launch(name, shape, gpu, needed, annotations, parameters, spreads, lines)
    return Batched(program, times, written)
