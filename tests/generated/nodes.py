"""The source of a generated kernel as data: expressions, statements, launches. Nothing here knows TileLang.

Integers are int32. A name is a loop's variable, a block or thread index (``bx``, ``by``, ``tx``), a run-time variable
(``Variable``), a value (``Let``), a macro's parameter, or the dynamic extent ``n``.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from dataclasses import dataclass, field

# ---- expressions


@dataclass(frozen=True)
class Int:
    """A constant."""

    value: int


@dataclass(frozen=True)
class Name:
    """The value of a name."""

    name: str


@dataclass(frozen=True)
class Flag:
    """``F[index]``: an integer from 0 to 4 that only the run knows."""

    index: Expr


@dataclass(frozen=True)
class Op:
    """``a op b``; comparisons, ``and`` and ``or`` give a bool."""

    op: str
    a: Expr
    b: Expr


Expr = Int | Name | Flag | Op

# ---- statements: control


@dataclass(frozen=True)
class If:
    """``other`` is ``None`` for an ``if`` without ``else``."""

    condition: Expr
    then: Body
    other: Body | None = None


@dataclass(frozen=True)
class For:
    """``kind``: serial, unroll or pipelined (with ``stages``)."""

    kind: str
    var: str
    extent: Expr
    body: Body
    stages: int = 0


@dataclass(frozen=True)
class While:
    """The body makes the condition false at some time."""

    condition: Expr
    body: Body


@dataclass(frozen=True)
class Break:
    """Leave the innermost loop."""


@dataclass(frozen=True)
class Continue:
    """Go on with the innermost loop's next turn."""


@dataclass(frozen=True)
class Return:
    """``T.thread_return()``."""


@dataclass(frozen=True)
class Call:
    """A macro of the kernel's, expanded here. Its parameters are names in its body."""

    macro: str
    arguments: tuple[Expr, ...]


# ---- statements: variables and work


@dataclass(frozen=True)
class Variable:
    """``name = T.alloc_var("int32", init=...)``; without ``init`` it has no value yet."""

    name: str
    init: int | None = 0


@dataclass(frozen=True)
class Set:
    """Assign to a variable."""

    name: str
    value: Expr


@dataclass(frozen=True)
class Let:
    """``name = value``, a value that never changes."""

    name: str
    value: Expr


@dataclass(frozen=True)
class Load:
    """``T.copy(tensor[row, 0], tile)``: outside the tensor it reads zeros."""

    tensor: str
    row: Expr
    tile: str


@dataclass(frozen=True)
class Save:
    """``T.copy(tile, tensor[row, 0])``: nothing is written outside the tensor."""

    tile: str
    tensor: str
    row: Expr


@dataclass(frozen=True)
class Move:
    """``T.copy(source, target)`` between tiles of one shape."""

    source: str
    target: str


@dataclass(frozen=True)
class Fill:
    """``T.fill`` (``T.clear`` for zero)."""

    tile: str
    value: int


@dataclass(frozen=True)
class Add:
    """``T.Parallel``: target = target + source * factor, element by element; a vector is spread over the columns."""

    target: str
    source: str
    factor: int = 1


@dataclass(frozen=True)
class Sum:
    """``T.reduce_sum(source, target, dim=1)``."""

    source: str
    target: str


@dataclass(frozen=True)
class Product:
    """``T.gemm(a, b, target)``."""

    a: str
    b: str
    target: str


@dataclass(frozen=True)
class Store:
    """Each thread for itself: ``tensor[cta, slot, tx] = value``."""

    tensor: str
    slot: int
    value: Expr


@dataclass(frozen=True)
class Sync:
    """``T.cluster_sync()``."""


# ---- statements: markers


@dataclass(frozen=True)
class Range:
    """``with trace.range(...)``."""

    name: str
    payload: Expr | None
    body: Body
    lane: str = "main"


@dataclass(frozen=True)
class Start:
    """``token = trace.range_start(...)``."""

    token: str
    payload: Expr | None
    lane: str = "main"


@dataclass(frozen=True)
class End:
    """``trace.range_end(token)``."""

    token: str


@dataclass(frozen=True)
class Record:
    """``trace.record(...)``."""

    name: str
    payload: Expr | None
    lane: str = "main"


@dataclass(frozen=True)
class Group:
    """``with trace.group(...)``; ``per`` is group, warp or thread."""

    name: str
    lead: int
    per: str
    body: Body


Control = If | For | While | Break | Continue | Return | Call
Work = Variable | Set | Let | Load | Save | Move | Fill | Add | Sum | Product | Store | Sync
Mark = Range | Start | End | Record | Group
Stmt = Control | Work | Mark
Body = tuple[Stmt, ...]

# ---- the kernel


@dataclass(frozen=True)
class Tile:
    """A shared buffer or a fragment."""

    name: str
    scope: str
    shape: tuple[int, ...]
    dtype: str = "float32"


@dataclass(frozen=True)
class Tensor:
    """A parameter. ``dynamic``: its first extent is the run-time value ``n``, here ``shape[0]``."""

    name: str
    shape: tuple[int, ...]
    dtype: str = "float32"
    output: bool = False
    dynamic: bool = False


@dataclass(frozen=True)
class Macro:
    """A ``@T.macro`` of scalar parameters, inside the kernel's builder."""

    name: str
    parameters: tuple[str, ...]
    body: Body


@dataclass(frozen=True)
class Launch:
    """``with T.Kernel(*grid, threads=threads)``. ``swizzle`` is (panel size, order), ``cluster`` the x extent of one.

    ``dynamic``: the grid's first extent is written ``T.ceildiv(n, ROWS)``.
    """

    grid: tuple[int, ...]
    threads: int
    tiles: tuple[Tile, ...]
    body: Body
    swizzle: tuple[int, str] | None = None
    cluster: int = 1
    dynamic: bool = False


@dataclass(frozen=True)
class Kernel:
    """A PrimFunc of one launch or more. Flags are the contents of ``F``."""

    tensors: tuple[Tensor, ...]
    flags: tuple[int, ...]
    launches: tuple[Launch, ...]
    macros: tuple[Macro, ...] = ()
    name: str = "kernel"
    seed: int | None = field(default=None, compare=False)


ROWS = 16
"""Rows of a tile of the tensor ``A``."""

BLOCKS = ("bx", "by", "bz")


def bodies(statement: Stmt) -> tuple[Body, ...]:
    """The bodies of a statement."""
    match statement:
        case If(_, then, other):
            return (then,) if other is None else (then, other)
        case For() | While() | Range() | Group():
            return (statement.body,)
    return ()


def with_bodies(statement: Stmt, new: tuple[Body, ...]) -> Stmt:
    """The statement with other bodies, as many as it has."""
    match statement:
        case If():
            return dataclasses.replace(statement, then=new[0], other=new[1] if len(new) > 1 else None)
        case For() | While() | Range() | Group():
            return dataclasses.replace(statement, body=new[0])
    return statement


def walk(body: Body, above: tuple[Stmt, ...] = ()) -> Iterator[tuple[Stmt, tuple[Stmt, ...]]]:
    """Every statement of a body with those around it, outermost first, in the order of the source."""
    for statement in body:
        yield statement, above
        for inner in bodies(statement):
            yield from walk(inner, (*above, statement))


def statements(kernel: Kernel) -> Iterator[tuple[Stmt, tuple[Stmt, ...]]]:
    """The same for a kernel, its macros last."""
    for launch in kernel.launches:
        yield from walk(launch.body)
    for macro in kernel.macros:
        yield from walk(macro.body)


def names(e: Expr | None) -> set[str]:
    """The names that an expression reads."""
    match e:
        case Name(name):
            return {name}
        case Flag(index):
            return {"F"} | names(index)
        case Op(_, a, b):
            return names(a) | names(b)
    return set()
