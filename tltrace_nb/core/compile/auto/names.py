"""What an operator of a kernel does, in words: ``copy A → A_shared``, ``gemm A_shared·B_shared``, ``pipeline k``.

In: a statement of the unscheduled PrimFunc. Out: :class:`Operator`, for those that automatic markers tell of.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import tilelang  # noqa: F401  (puts the tvm that TileLang bundles on the path)
from tvm import tirx

from tltrace_nb.core.compile.anchors import is_pipelined
from tltrace_nb.core.compile.auto.sync import WGMMA, arrived_at, awaited
from tltrace_nb.core.compile.ir import READ, WRITTEN, Stmt, is_region, loads, op_name, walk

_TILE_OPERATOR = "tl.tileop."
_GLOBAL, _SHARED = "global", "shared"
_MOST_NAMES = 3

_KIND_AND_VERB = {
    "copy": ("copy", "copy"),
    "tma_copy": ("copy", "copy"),
    "async_copy": ("copy", "copy"),
    "im2col": ("copy", "im2col"),
    "transpose": ("copy", "transpose"),
    "gemm": ("gemm", "gemm"),
    "wgmma_gemm": ("gemm", "gemm"),
    "tcgen05_gemm": ("gemm", "gemm"),
    "gemm_sp": ("gemm", "gemm"),
    "fill": ("fill", "fill"),
    "reduce": ("reduce", "reduce"),
    "cumsum": ("reduce", "cumsum"),
    "cummax": ("reduce", "cummax"),
    "reducer_init": ("reduce", "initialise"),
    "finalize_reducer": ("reduce", "finalise"),
    "finalize_reducer_v2": ("reduce", "finalise"),
    "atomicadd": ("atomic", "atomic add"),
    "atomicmax": ("atomic", "atomic max"),
    "atomicmin": ("atomic", "atomic min"),
}
"""Of TileLang's operators: the kind, one of ``options.KINDS``, and the verb. Others are of the kind ``other``."""


@dataclass(frozen=True, slots=True)
class Operator:
    """One operator: its kind (``options.KINDS``), its name, and the buffers that it reads and writes."""

    kind: str
    name: str
    reads: tuple[Any, ...] = ()
    writes: tuple[Any, ...] = ()

    @property
    def ends_product(self) -> bool:
        """Whether it waits for tensor cores."""
        return self.name == f"wait {WGMMA}"

    @property
    def touches_global(self) -> bool:
        """Whether it reads or writes global memory."""
        return any(buffer.scope() == _GLOBAL for buffer in (*self.reads, *self.writes))

    @property
    def fills(self) -> tuple[Any, ...]:
        """The shared buffers that it fills from global memory, which the scheduler may do asynchronously."""
        if self.kind != "copy" or not any(buffer.scope() == _GLOBAL for buffer in self.reads):
            return ()
        return tuple(buffer for buffer in self.writes if buffer.scope().startswith(_SHARED))


def operator(statement: Stmt) -> Operator | None:
    """The operator that a statement is; ``None`` for statements that are none (stores, scalars, branches)."""
    if isinstance(statement, tirx.For):
        return _loop(statement)
    if not isinstance(statement, tirx.Evaluate):
        return None
    if (subject := awaited(statement)) is not None:
        return Operator("wait", f"wait {subject}")
    if (subject := arrived_at(statement)) is not None:
        return Operator("arrive", f"arrive {subject}")
    name = op_name(statement)
    if name.startswith(_TILE_OPERATOR):
        return _tile_operator(statement.value, name.removeprefix(_TILE_OPERATOR))
    if name.startswith("tl.atomic_"):
        verb = " ".join(name.removeprefix("tl.").split("_")[:2])
        target = loads(statement.value.args[0])[-1:]  # what comes before it are its indices
        return Operator("atomic", f"{verb} {joined(target)}", (), tuple(target))
    return None


def joined(buffers: Iterable[Any], by: str = " + ") -> str:
    """The names of some buffers, each once, the first few."""
    names = list(dict.fromkeys(str(buffer.name) for buffer in buffers))
    return by.join(names[:_MOST_NAMES] + ["…"] * (len(names) > _MOST_NAMES))


def _loop(loop: Any) -> Operator | None:
    if loop.thread_binding is not None:
        return None
    if loop.kind == tirx.ForKind.PARALLEL:
        reads, writes = _accesses(loop)
        return Operator("parallel", _sentence("parallel", joined(reads), joined(writes)), reads, writes)
    if loop.kind in (tirx.ForKind.SERIAL, tirx.ForKind.UNROLLED):
        return Operator("loop", f"{'pipeline' if is_pipelined(loop) else 'loop'} {loop.loop_var.name}")
    return None


def _tile_operator(call: Any, operation: str) -> Operator:
    kind, verb = _KIND_AND_VERB.get(operation, ("other", operation.replace("_", " ")))
    if operation == "reduce":
        how = next((str(argument.value) for argument in call.args if isinstance(argument, tirx.StringImm)), "")
        verb = f"{verb} {how}".rstrip()
    reads, writes = _regions(call)
    if kind == "gemm":
        factors = tuple(buffer for buffer in reads if not any(buffer.same_as(other) for other in writes))
        return Operator(kind, f"{verb} {joined(factors, '·')}", reads, writes)
    return Operator(kind, _sentence(verb, joined(reads), joined(writes)), reads, writes)


def _sentence(verb: str, source: str, target: str) -> str:
    if source and target and source != target:
        return f"{verb} {source} → {target}"
    return f"{verb} {target or source}".rstrip()


def _regions(call: Any) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
    """The buffers of a tile operator's regions: those it reads and those it writes."""
    reads: list[Any] = []
    writes: list[Any] = []
    for argument in call.args:
        if is_region(argument):
            access = int(argument.args[1])
            reads += [argument.args[0].buffer] * bool(access & READ)
            writes += [argument.args[0].buffer] * bool(access & WRITTEN)
        else:
            reads += loads(argument)
    return tuple(reads), tuple(writes)


def _accesses(loop: Stmt) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
    """The buffers that a data-parallel loop reads alone, and those it writes, in program order.

    A call that acts writes what its first argument addresses.
    """
    reads: list[Any] = []
    writes: list[Any] = []
    for statement, _ in walk(loop):
        if isinstance(statement, tirx.BufferStore):
            writes.append(statement.buffer)
            reads += [buffer for e in (statement.value, *statement.indices) for buffer in loads(e)]
        elif isinstance(statement, tirx.Evaluate) and isinstance(statement.value, tirx.Call):
            first, *others = (loads(argument) for argument in statement.value.args or [[]])
            writes += first[-1:]
            reads += [*first[:-1], *(buffer for found in others for buffer in found)]
        elif isinstance(statement, tirx.Bind):
            reads += loads(statement.value)
        elif isinstance(statement, tirx.IfThenElse):
            reads += loads(statement.condition)
    return tuple(b for b in reads if not any(b.same_as(w) for w in writes)), tuple(writes)
