"""One launch, compiled: a Python generator function that every thread group of every CTA runs.

In: the launch of a scheduled, recording PrimFunc, and the GPU. Out: :class:`Program`: the function, the buffers that it
asks its thread group for, and which threads form a thread group. Compiling is also the check of what is supported: it
goes over the whole body, so :class:`~tltrace_nb.simulator.errors.UnsupportedError` comes before the first CTA runs.

A thread group is a set of threads that go the same way wherever they wait: the warp groups of a specialised kernel, and
all threads of a plain one. It is found from the conditions on thread indices around everything that waits.
"""

from __future__ import annotations

import contextlib
import sys
import textwrap
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import GeneratorType
from typing import Any

import numpy as np
from tvm import tirx

from tltrace_nb.base.gpus import WARP, Gpu
from tltrace_nb.core.compile.active_threads import LaunchShape
from tltrace_nb.core.compile.ir import Expr, Stmt, op_name, post_order_visit, walk
from tltrace_nb.core.compile.swizzle import is_inner, pattern
from tltrace_nb.data.sites import Rasterisation
from tltrace_nb.simulator import bits, tiles, values, warps
from tltrace_nb.simulator.calls import DeviceCalls
from tltrace_nb.simulator.costing import Tally
from tltrace_nb.simulator.costs import Unit
from tltrace_nb.simulator.errors import UnsupportedError, unsupported
from tltrace_nb.simulator.expressions import Expressions
from tltrace_nb.simulator.fragments import Spread
from tltrace_nb.simulator.memory import Registers, dtype_of
from tltrace_nb.simulator.nest_traffic import Access
from tltrace_nb.simulator.nests import Nests
from tltrace_nb.simulator.packed import PACKED
from tltrace_nb.simulator.pointers import POINTED, behind_pointers
from tltrace_nb.simulator.register_reuse import InHand
from tltrace_nb.simulator.source_lines import Lines
from tltrace_nb.simulator.spills import spilled
from tltrace_nb.simulator.statements import Statements, ends_with_return
from tltrace_nb.simulator.thread_groups import ThreadGroups, accesses
from tltrace_nb.simulator.tileops import TileOperators, loaded_fragments
from tltrace_nb.simulator.traffic import Touched
from tltrace_nb.simulator.uniformity import LOCAL_SCOPES, Varying
from tltrace_nb.simulator.writing import Place
from tltrace_nb.simulator.yields import Meet, Wait

_MOST_LOOPS, _MOST_LEVELS = 20, 99
"""What Python nests at most: loops in one another, and levels of indentation."""
_RECURSION = 20_000
"""Calls in one another while a program is written."""
FILE = "<virtual GPU>"
"""The file name of generated code, in tracebacks."""
BARRIER_SCOPES = ("shared.barrier", "shared.cluster_barrier")
BARRIER_INIT_CYCLES = 100
"""Making mbarriers, a fence, and the barrier behind it (measured: the first marker comes 36 to 72 ns later)."""
_IDENTITIES: dict[str, Callable[[Any], str]] = {
    "sum": lambda _: "0",
    "max": lambda t: "float('-inf')" if t.kind not in "iu" else str(np.iinfo(t).min),
    "min": lambda t: "float('inf')" if t.kind not in "iu" else str(np.iinfo(t).max),
}
NAMES: dict[str, Any] = {
    "np": np,
    "Meet": Meet,
    "Wait": Wait,
    "Registers": Registers,
    **{n: f for module in (values, bits, warps, tiles) for n, f in vars(module).items() if callable(f) and n[0] != "_"},
}


@dataclass(frozen=True)
class BufferUse:
    """A buffer that the program asks its thread group for: view number ``number`` of the storage of ``data``."""

    number: int
    buffer: Any
    scope: str


@dataclass(frozen=True, slots=True)
class Arrival:
    """A place in the kernel where some of its thread groups arrive at barriers of one buffer."""

    line: str
    thread_groups: tuple[int, ...]


@dataclass(frozen=True)
class Program:
    """A compiled launch. ``thread_groups`` are the linear ids of each thread group's threads, ascending.

    ``launch_line`` is the author's ``file:line`` of ``T.Kernel``, ``lines`` those (or "near" them) of every line of
    ``source``; ``arrivals`` are those at the barriers of each buffer, by its number.
    """

    run: Callable[[Any], GeneratorType[Any, None, None]]
    source: str
    launch_line: str
    lines: tuple[str, ...]
    arrivals: dict[int, tuple[Arrival, ...]]
    shape: LaunchShape
    thread_groups: tuple[tuple[int, ...], ...]
    buffers: tuple[BufferUse, ...]
    barriers: tuple[BufferUse, ...]
    scalars: tuple[Any, ...]
    private: frozenset[Any]
    spreads: Mapping[Any, Spread]


def compile_launch(
    name: str,
    shape: LaunchShape,
    gpu: Gpu,
    needed: Callable[[Any], bool],
    annotations: Any,
    parameters: Sequence[Any],
    spreads: Mapping[Any, Spread],
    lines: Lines,
    source: str = "",
) -> Program:
    """Compile a launch. ``needed`` tells which buffers' contents matter, ``parameters`` are the kernel's buffers.

    ``spreads`` are the layouts of the fragments, by their data, ``lines`` tells where statements come from, and
    ``source`` is the CUDA source that the kernel imports. Raises ``UnsupportedError`` naming the kernel, the line and
    what it uses.
    """
    with _deep_expressions():
        return ProgramWriter(name, shape, gpu, needed, annotations, parameters, spreads, lines, source).program()


@contextlib.contextmanager
def _deep_expressions() -> Iterator[None]:
    """Follow expressions as deep as TVM does: a Python loop in a builder may have written a sum of hundreds."""
    before = sys.getrecursionlimit()
    sys.setrecursionlimit(max(before, _RECURSION))
    try:
        yield
    finally:
        sys.setrecursionlimit(before)


class ProgramWriter:
    """The text of a program while it is made, and what its parts ask each other."""

    names: Mapping[str, Any] = NAMES
    """What generated code may use."""

    def __init__(
        self,
        name: str,
        shape: LaunchShape,
        gpu: Gpu,
        needed: Callable[[Any], bool],
        annotations: Any,
        parameters: Sequence[Any],
        spreads: Mapping[Any, Spread],
        lines: Lines,
        source: str | None = None,
    ):
        self.gpu = gpu
        self.spreads = spreads
        self.spilled = spilled(shape, spreads, gpu)
        self.needed = needed
        self.varying = Varying(shape)
        self.tally, self.nest_tally = Tally(), Tally()
        self.vector: Tally | None = None
        self.in_hand = InHand()
        self.touched = Touched(shape)
        self.ahead = ""
        self.nest_accesses: list[Access] = []
        self.starts: dict[Any, str] = {}
        self.extents: dict[Any, int] = {}
        self.combiner = ""
        self.data: set[Any] = set()
        self.thread_loops: dict[Any, str] = {}
        self.expressions = Expressions(self)
        self.statements = Statements(self)
        self.tiles = TileOperators(self)
        self.nests = Nests(self)
        self.calls = DeviceCalls(self, source)
        self._name, self._shape, self._annotations = name, shape, annotations
        self._lines: list[str] = []
        self._origins: list[str] = []
        self._author_lines = lines
        self._here = lines.launch
        self._arrivals: dict[int, list[Arrival]] = {}
        self._depth = 1
        self._nested = 0
        self._numbers = 0
        self._variables: dict[Any, str] = {}
        self._buffers: dict[Any, BufferUse] = {}
        self._constants: dict[str, Any] = {}
        self._scalars: list[Any] = []
        self._loaded = loaded_fragments(shape.body)
        self._pointers = behind_pointers(shape.body)
        self._parameters = {buffer.data: buffer for buffer in parameters}
        self.thread_groups = ThreadGroups(shape, self._evaluate)
        self.varying = Varying(shape, self.thread_groups.is_split)

    def begun(self) -> list[str]:
        """Write all statements; the first lines of the function, which declares next what they use."""
        shape = self._shape
        for axis, var in zip("xyz", shape.block_vars, strict=True):
            if isinstance(var, tirx.Var):
                self._variables[var] = f"c.block_{axis}"
        for axis, var, extent in zip("xyz", shape.thread_vars, shape.block, strict=True):
            if isinstance(var, tirx.Var):
                self._variables[var] = f"t{axis}" if extent > 1 else "0"
        returns = any(op_name(s).endswith("thread_return") for s, _ in walk(shape.body))
        place = Place(masks=("alive",) if returns else (), thread_groups=tuple(range(len(self.thread_groups.ids))))
        self.statements(shape.body, place)
        return ["def run(c):", *(f"    t{axis} = c.threads_{axis}" for axis in "xyz"), "    alive = True"]

    def program(self) -> Program:
        """Write the whole launch."""
        head = self.begun()
        uses = list(self._buffers.values())
        for use in uses:
            if use.scope in LOCAL_SCOPES:
                head.append(f"    b{use.number} = {self.registers_text(use.buffer, '(c.n, )')}")
            elif use.scope in BARRIER_SCOPES:
                head.append(f"    b{use.number} = c.barriers({use.number})")
            elif use.scope != POINTED:
                head.append(f"    b{use.number} = c.view({use.number})")
        head += [f"    s{i} = c.scalars[{i}]" for i in range(len(self._scalars))]
        if any(use.scope in BARRIER_SCOPES for use in uses):
            head.append(f"    c.t += {BARRIER_INIT_CYCLES}")
        source = "\n".join([*head, *self._lines, "    return", "    yield"])
        lines = (*(self._here for _ in head), *self._origins, self._here, self._here)
        arrivals = {number: tuple(dict.fromkeys(found)) for number, found in self._arrivals.items()}
        namespace = {**self.names, **self._constants}
        exec(compile(source, FILE, "exec"), namespace)
        memory = tuple(u for u in uses if u.scope not in (*LOCAL_SCOPES, *BARRIER_SCOPES, POINTED))
        barriers = tuple(u for u in uses if u.scope in BARRIER_SCOPES)
        run: Callable[[Any], GeneratorType[Any, None, None]] = namespace["run"]
        scalars = tuple(self._scalars)
        private = self.thread_groups.private()
        return Program(
            run, source, self._here, lines, arrivals, self._shape, self.thread_groups.ids, memory, barriers, scalars,
            private, self.spreads,
        )  # fmt: skip

    # ---- text

    def line(self, text: str) -> None:
        """Append a line."""
        self._lines.append("    " * self._depth + text)
        self._origins.append(self._here)

    @contextlib.contextmanager
    def origin(self, statement: Stmt) -> Iterator[None]:
        """Lines within come from this statement."""
        around, self._here = self._here, self._author_lines.statements.get(statement, self._here)
        try:
            yield
        finally:
            self._here = around

    @contextlib.contextmanager
    def block(self, header: str) -> Iterator[None]:
        """Lines within are the body of a compound statement: the only way to write one, so that none lacks a body."""
        loop = header.startswith(("for ", "while "))
        self.line(f"{header}:")
        self._depth += 1
        self._nested += loop
        if self._nested > _MOST_LOOPS or self._depth > _MOST_LEVELS:
            raise self.unsupported("code that is nested so deeply", header)
        before = len(self._lines)
        try:
            yield
            if len(self._lines) == before:
                self.line("pass")
        finally:
            self._depth -= 1
            self._nested -= loop

    def number(self) -> int:
        """A fresh number."""
        self._numbers += 1
        return self._numbers

    def temporary(self) -> str:
        """A fresh name."""
        return f"x{self.number()}"

    def assign(self, text: str) -> str:
        """Evaluate now, under a fresh name."""
        name = self.temporary()
        self.line(f"{name} = {text}")
        return name

    def constant(self, work: dict[tuple[Unit, str], float]) -> str:
        """A name for counted work."""
        name = f"k{self.number()}"
        self._constants[name] = tuple(work.items())
        return name

    def named(self, value: Any) -> str:
        """A name for an object that the program uses as it is."""
        name = next((n for n, known in self._constants.items() if known is value), f"o{self.number()}")
        self._constants[name] = value
        return name

    def dtype(self, name: str, node: Any) -> str:
        """A name for a NumPy type."""
        found = dtype_of(name)
        if found is None:
            raise self.unsupported(f"values of the type {name}", node)
        key = f"d_{name}".replace("[", "_").replace("]", "_")
        self._constants[key] = found
        return key

    def unsupported(self, what: str, node: Any) -> UnsupportedError:
        """The error that names what and where."""
        return UnsupportedError(unsupported(self._name, self._here, what, node))

    # ---- names

    def define(self, var: Any) -> str:
        """A variable's name, where it gets its value."""
        if var not in self._variables:
            self._variables[var] = f"v{self.number()}"
        return self._variables[var]

    def variable(self, var: Any) -> str:
        """A variable's name, where it is used."""
        if var not in self._variables:
            self._variables[var] = f"s{len(self._scalars)}"
            self._scalars.append(var)
        return self._variables[var]

    def buffer(self, buffer: Any, node: Any) -> str:
        """A buffer's name."""
        if buffer not in self._buffers:
            scope = str(buffer.scope())
            if scope not in ("global", "shared", "shared.dyn", "local.fragment", "local.reducer", *LOCAL_SCOPES,
                             *BARRIER_SCOPES):  # fmt: skip
                raise self.unsupported(f"memory of the scope {scope}", node)
            if scope not in BARRIER_SCOPES:
                self.dtype(str(buffer.dtype), node)
            if any(str(b.dtype) != str(buffer.dtype) and {str(b.dtype), str(buffer.dtype)} & {*PACKED}
                   for b in self._buffers if b.data.same_as(buffer.data)):  # fmt: skip
                raise self.unsupported(f"{buffer.name} being seen as {buffer.dtype} and as another type", node)
            scope = POINTED if buffer.data in self._pointers else scope
            self._buffers[buffer] = BufferUse(len(self._buffers), buffer, scope)
        return f"b{self._buffers[buffer].number}"

    def point(self, pointer: Any, address: str, place: Place) -> None:
        """Let a pointer have an address: the buffers behind it are there from here on."""
        for buffer in self._pointers[pointer]:
            if str(buffer.scope()) != "global" or str(buffer.dtype) in PACKED:
                raise self.unsupported(f"pointers to {buffer.dtype} in memory of the scope {buffer.scope()}", buffer)
            shape, strides = (self.expressions.index(extents, place) for extents in (buffer.shape, buffer.strides))
            about = f"{self.dtype(str(buffer.dtype), buffer)}, {str(buffer.name)!r}"
            self.line(f"{self.buffer(buffer, buffer)} = c.cta.memory.view({address}, ({shape}), ({strides}), {about})")

    def barriers(self, buffer: Any, node: Any) -> str:
        """A barrier buffer's name."""
        return self.buffer(buffer, node)

    def arrives(self, buffer: Any, thread_groups: tuple[int, ...]) -> None:
        """Note that the thread groups arrive here at a barrier of this buffer."""
        self._arrivals.setdefault(self._buffers[buffer].number, []).append(Arrival(self._here, thread_groups))

    def swizzle(self, attribute: Stmt) -> tuple[Rasterisation, bool]:
        """The pattern of a ``T.use_swizzle``, and whether it holds for a branch or a loop alone."""
        above = next(above for s, above in walk(self._shape.body) if s.same_as(attribute))
        return pattern(attribute, self._annotations), is_inner(above)

    def parameter(self, data: Any, node: Any) -> Any:
        """The kernel's parameter with this data."""
        if data not in self._parameters:
            raise self.unsupported("a pointer that is no parameter's", node)
        return self._parameters[data]

    def registers_text(self, buffer: Any, lanes: str) -> str:
        """What makes a ``local`` buffer."""
        shape = tuple(int(e) for e in buffer.shape)
        return f"Registers({shape!r}, {self.dtype(str(buffer.dtype), buffer)}, {lanes}, {str(buffer.name)!r})"

    # ---- facts

    def is_data(self, e: Expr) -> bool:
        """Whether a value depends on what memory holds, and not on indices alone."""
        if isinstance(e, (int, float)):
            return False
        found = False

        def visit(node: Any) -> None:
            nonlocal found
            found = found or isinstance(node, tirx.BufferLoad) or node in self.data

        post_order_visit(e, visit)
        return found

    def decided(self, asked: str) -> str:
        """A condition on which all lanes agree, as Python decides by it."""
        return asked

    def same(self, e: Expr, place: Place) -> str:
        """An operand on which all threads that come here agree."""
        text = self.expressions(e, place)
        return f"uniform({text})" if self.varying(e) else text

    def warps(self, place: Place) -> int:
        """The warps of all thread groups that come here."""
        return len({thread // WARP for i in place.thread_groups for thread in self.thread_groups.ids[i]})

    def item_bytes(self, buffer: Any) -> float:
        """Bytes of one element."""
        found = dtype_of(str(buffer.dtype))
        return 0.5 if str(buffer.dtype) in PACKED else 1 if found is None else found.itemsize

    def count_access(self, buffer: Any, way: str, indices: Any = None, nested: bool = False) -> None:
        """Count one element's load or store; with ``indices``, of an element that the thread may have in hand.

        ``nested``: in T.Parallel, whose accesses are looked at together.
        """
        scope = str(buffer.scope())
        if nested and (scope == "global" or scope.startswith("shared")):
            self.nest_accesses.append(Access(buffer, way, tuple(indices), self.item_bytes(buffer)))
        elif scope == "global":
            if indices is not None and self.in_hand(buffer, way, list(indices)):
                return
            sectors = self.touched.sectors(buffer, way, list(indices), self.item_bytes(buffer)) if indices else None
            moved, scattered, more = sectors or (self.item_bytes(buffer), False, 0.0)
            if more:
                self.tally.add(Unit.GLOBAL, more, "fetch")
            self.tally.add(Unit.GLOBAL, moved, "scatter" if scattered and way == "store" else way)
        elif scope.startswith("shared"):
            words = self.touched.words(buffer, list(indices), self.item_bytes(buffer)) if indices else None
            self.tally.add(Unit.SHARED, self.item_bytes(buffer) if words is None else words)

    def loaded(self, buffer: Any) -> int | None:
        """The number under which thread groups keep when a fragment's load is done; ``None`` if nothing loads it."""
        return self._loaded.get(buffer.data)

    def await_loads(self, buffers: Iterable[Any]) -> None:
        """Wait for the loads of fragments that come to be used."""
        for number in sorted({n for b in buffers if (n := self.loaded(b)) is not None}):
            self.line(f"c.await_load({number})")

    def thread_axes(self, variables: Any) -> list[str]:
        """The axes of these thread indices, x, y, z."""
        by_name = dict(zip(self._shape.thread_vars, "xyz", strict=True))
        names = {v: by_name[v] for v in variables if v in by_name}
        return [names.get(v) or self.thread_loops.get(v, "x") for v in variables]

    def is_whole_axis(self, axis: str, loop: Any) -> bool:
        """Whether a loop has as many turns as the block has threads along an axis."""
        extent = self._shape.block["xyz".index(axis)]
        return isinstance(loop.extent, tirx.IntImm) and int(loop.extent) == extent and int(loop.min) == 0

    def block_shape(self) -> tuple[int, int, int]:
        """The block's extents, z, y, x."""
        x, y, z = self._shape.block
        return z, y, x

    def returns(self, s: Stmt) -> bool:
        """Whether a branch always leaves the kernel."""
        return ends_with_return(s)

    def has_side_effects(self, e: Expr) -> bool:
        """Whether a value may not be skipped."""
        found: list[str] = []
        post_order_visit(e, lambda n: found.append(str(n.op.name)) if isinstance(n, tirx.Call) else None)
        return any("atomic" in name or "rng" in name for name in found)

    def nest_registers(self, loop: Any) -> list[Any]:
        """The ``local`` buffers that a parallel loop nest writes: each of its iterations has its own."""
        held = {
            s.buffer.data: s.buffer
            for s, _ in walk(loop.body)
            if isinstance(s, tirx.BufferStore) and str(s.buffer.scope()) in LOCAL_SCOPES
        }
        if held:
            inside = accesses(loop)
            for data, buffer in held.items():
                if accesses(self._shape.body).count(data) != inside.count(data):
                    raise self.unsupported(f"{buffer.name} being written in T.Parallel and used outside of it", loop)
        return list(held.values())

    def reducer_op(self, buffer: Any, node: Any) -> str:
        """How a reducer combines: add, max, min."""
        return {"sum": "add"}.get(kind := self._reducer_kind(buffer, node), kind)

    def identity(self, buffer: Any, node: Any) -> str:
        """The text of the value that a reducer starts from."""
        return _IDENTITIES[self._reducer_kind(buffer, node)](dtype_of(str(buffer.dtype)))

    def _reducer_kind(self, buffer: Any, node: Any) -> str:
        info = dict(self._annotations.get("reducer_info_v2", {}) or {})
        given = info.get(buffer.data)
        text = str(given["op"] if given is not None and "op" in given else given)
        for kind in _IDENTITIES:
            if kind in text:
                return kind
        raise self.unsupported(f"the reducer {text}", node)

    def _evaluate(self, e: Expr, names: dict[Any, str], scope: dict[str, Any]) -> Any:
        """An expression's value now, while nothing runs."""
        kept, self._variables = self._variables, names
        lines, self._lines = self._lines, []
        origins, self._origins = self._origins, []
        try:
            text = self.expressions(e, Place())
            before = textwrap.dedent("\n".join(self._lines))
            known = {**NAMES, **self._constants, **scope}
            exec(f"{before}\nanswer = {text}", known)
        except UnsupportedError:
            return None
        finally:
            self._variables, self._lines, self._origins = kept, lines, origins
            self.tally.take()
        return known["answer"]
