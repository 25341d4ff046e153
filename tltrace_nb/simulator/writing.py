"""What the parts that write a program ask of each other, and where in it they stand.

Statements hold expressions and tile operators, nests hold statements: each part knows the others through the
:class:`Writer` alone, and implements one of the protocols below.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from typing import Any, Protocol

from tltrace_nb.base.gpus import Gpu
from tltrace_nb.core.compile.ir import Expr, Stmt
from tltrace_nb.data.sites import Rasterisation
from tltrace_nb.simulator.costing import Tally
from tltrace_nb.simulator.costs import Unit
from tltrace_nb.simulator.errors import UnsupportedError
from tltrace_nb.simulator.fragments import Spread
from tltrace_nb.simulator.nest_traffic import Access
from tltrace_nb.simulator.register_reuse import InHand
from tltrace_nb.simulator.thread_groups import ThreadGroups
from tltrace_nb.simulator.traffic import Touched
from tltrace_nb.simulator.uniformity import Varying

THREAD_AHEAD, TILE_AHEAD = 16, 8
"""Iterations of a loop whose loads compilers issue together: of single elements (measured: 64 of one load take 1,190
cycles), of tiles (measured: those of 8 KiB with 256 threads take 163 cycles each)."""


@dataclass(frozen=True, slots=True)
class Place:
    """Where code stands.

    ``masks``: names of the masks around it, the innermost last; ``thread_groups``: those that come here; ``grid``: the
    loop variables of the parallel nest by axis, empty outside; ``nest``: its number; ``loop``: depth in ``masks`` of
    the innermost loop's own mask, -1 if lanes leave it together.
    """

    masks: tuple[str, ...] = ()
    grid: tuple[Any, ...] = ()
    thread_groups: tuple[int, ...] = (0,)
    loop: int = -1
    nest: str = ""

    @property
    def mask(self) -> str:
        """The mask that holds here."""
        return self.masks[-1] if self.masks else "True"

    def under(self, mask: str) -> Place:
        """The same place under one more mask."""
        return replace(self, masks=(*self.masks, mask))


class ExpressionWriter(Protocol):
    """The part that writes expressions."""

    def __call__(self, e: Expr, place: Place) -> str: ...
    def index(self, indices: Any, place: Place) -> str: ...
    def parts(self, indices: Any, place: Place) -> str | None: ...
    def shape(self, place: Place) -> str: ...


class StatementWriter(Protocol):
    """The part that writes statements."""

    def __call__(self, statement: Stmt, place: Place) -> Place: ...
    def spend(self, place: Place) -> None: ...


class NestWriter(Protocol):
    """The part that writes nests of parallel loops."""

    def __call__(self, loop: Any, place: Place) -> None: ...


class AtomicWriter(Protocol):
    """The part that writes atomic updates of single elements."""

    def __call__(self, name: str, call: Any, place: Place) -> str | None: ...
    def pointer(self, e: Any) -> tuple[Any, list[Expr]]: ...


class TileWriter(Protocol):
    """The part that writes operators."""

    followed: bool
    """Whether another load follows the one that is written."""

    @property
    def atomics(self) -> AtomicWriter: ...
    def operator(self, name: str, call: Any, place: Place) -> None: ...
    def wrote(self, buffer: Any) -> None: ...
    def exchange(self, *buffers: Any, operands: bool = False) -> None: ...
    def together(self, place: Place, write: Callable[[], None]) -> None: ...
    def count(self, extents: list[Expr], place: Place) -> str: ...


class CallWriter(Protocol):
    """The part that writes calls of the author's functions."""

    def value(self, call: Any, place: Place) -> str: ...
    def statement(self, call: Any, place: Place) -> None: ...


class Writer(Protocol):
    """The text of a program while it is made; ``program.ProgramWriter`` is one."""

    gpu: Gpu
    spreads: Mapping[Any, Spread]
    """The layouts of the fragments, by their data."""
    needed: Callable[[Any], bool]
    """Whether a buffer's contents matter."""
    varying: Varying
    tally: Tally
    nest_tally: Tally
    vector: Tally | None
    in_hand: InHand
    touched: Touched
    nest_accesses: list[Access]
    """Those of the nest of T.Parallel that is being written."""
    ahead: str
    """The variable of the loop whose loads are issued together, several turns at once; empty outside of one."""
    starts: dict[Any, str]
    extents: dict[Any, int]
    combiner: str
    data: set[Any]
    thread_loops: dict[Any, str]
    thread_groups: ThreadGroups
    spilled: int
    """Registers of a thread that are written to memory and read again at every product."""

    @property
    def expressions(self) -> ExpressionWriter: ...
    @property
    def statements(self) -> StatementWriter: ...
    @property
    def tiles(self) -> TileWriter: ...
    @property
    def nests(self) -> NestWriter: ...
    @property
    def calls(self) -> CallWriter: ...

    def line(self, text: str) -> None:
        """Append a line."""

    def origin(self, statement: Stmt) -> AbstractContextManager[None]:
        """Lines within come from this statement."""

    def block(self, header: str) -> AbstractContextManager[None]:
        """Lines within are the body of a compound statement: the only way to write one, so that none lacks a body."""

    def number(self) -> int:
        """A fresh number."""

    def temporary(self) -> str:
        """A fresh name."""

    def assign(self, text: str) -> str:
        """Evaluate now, under a fresh name."""

    def constant(self, work: dict[tuple[Unit, str], float]) -> str:
        """A name for counted work."""

    def named(self, value: Any) -> str:
        """A name for an object that the program uses as it is."""

    def dtype(self, name: str, node: Any) -> str:
        """A name for a NumPy type."""

    def unsupported(self, what: str, node: Any) -> UnsupportedError:
        """The error that names what and where."""

    def define(self, var: Any) -> str:
        """A variable's name, where it gets its value."""

    def variable(self, var: Any) -> str:
        """A variable's name, where it is used."""

    def buffer(self, buffer: Any, node: Any) -> str:
        """A buffer's name."""

    def point(self, pointer: Any, address: str, place: Place) -> None:
        """Let a pointer have an address: the buffers behind it are there from here on."""

    def barriers(self, buffer: Any, node: Any) -> str:
        """A barrier buffer's name."""

    def arrives(self, buffer: Any, thread_groups: tuple[int, ...]) -> None:
        """Note that the thread groups arrive here at a barrier of this buffer."""

    def swizzle(self, attribute: Stmt) -> tuple[Rasterisation, bool]:
        """The pattern of a ``T.use_swizzle``, and whether it holds for a branch or a loop alone."""

    def parameter(self, data: Any, node: Any) -> Any:
        """The kernel's parameter with this data."""

    def registers_text(self, buffer: Any, lanes: str) -> str:
        """What makes a ``local`` buffer."""

    def is_data(self, e: Expr) -> bool:
        """Whether a value depends on what memory holds, and not on indices alone."""

    def decided(self, asked: str) -> str:
        """A condition on which all lanes agree, as Python decides by it."""

    def same(self, e: Expr, place: Place) -> str:
        """An operand on which all threads that come here agree."""

    def warps(self, place: Place) -> int:
        """The warps of all thread groups that come here."""

    def item_bytes(self, buffer: Any) -> float:
        """Bytes of one element."""

    def count_access(self, buffer: Any, way: str, indices: Any = None, nested: bool = False) -> None:
        """Count one element's load or store; with ``indices``, of an element that the thread may have in hand.

        ``nested``: in T.Parallel, whose accesses are looked at together.
        """

    def loaded(self, buffer: Any) -> int | None:
        """The number under which thread groups keep when a fragment's load is done; ``None`` if nothing loads it."""

    def await_loads(self, buffers: Iterable[Any]) -> None:
        """Wait for the loads of fragments that come to be used."""

    def thread_axes(self, variables: Any) -> list[str]:
        """The axes of these thread indices, x, y, z."""

    def is_whole_axis(self, axis: str, loop: Any) -> bool:
        """Whether a loop has as many turns as the block has threads along an axis."""

    def block_shape(self) -> tuple[int, int, int]:
        """The block's extents, z, y, x."""

    def returns(self, s: Stmt) -> bool:
        """Whether a branch always leaves the kernel."""

    def has_side_effects(self, e: Expr) -> bool:
        """Whether a value may not be skipped."""

    def nest_registers(self, loop: Any) -> list[Any]:
        """The ``local`` buffers that a parallel loop nest writes: each of its iterations has its own."""

    def reducer_op(self, buffer: Any, node: Any) -> str:
        """How a reducer combines: add, max, min."""

    def identity(self, buffer: Any, node: Any) -> str:
        """The text of the value that a reducer starts from."""
