"""Mutants of device functions: each without one synchronisation, or with it at another place.

In: the device functions that TileLang plans for a reference. Out: :class:`Mutant`, and what a race check says of it.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from kernels import Reference
from tvm import tirx

from tltrace_nb.base.gpus import a_gpu
from tltrace_nb.core.compile.ir import Stmt, flatten, op_name, rebuild, sequence, walk
from tltrace_nb.core.runtime.virtual import compile_virtual
from tltrace_nb.simulator.binding import bind
from tltrace_nb.simulator.races.check import check
from tltrace_nb.simulator.races.device_code import compile_device
from tltrace_nb.simulator.storage import number

GPUS = {"sm_80": "a100", "sm_90a": "h200"}
KINDS = {
    "tvm_storage_sync": "sync_threads", "mbarrier_wait": "mbarrier wait", "ptx_arrive_barrier": "mbarrier arrive",
    "barrier_noinc": "mbarrier arrive", "ptx_wait_group": "cp.async wait", "ptx_commit_group": "cp.async commit",
    "warpgroup_wait": "wgmma wait", "warpgroup_commit": "wgmma commit", "fence_proxy": "proxy fence",
    "tma_store_wait": "bulk store wait",
}  # fmt: skip
"""Kinds of synchronisation, by a part of their operations' names."""
_BACK = ("mbarrier arrive", "cp.async commit", "wgmma commit")
"""What stands behind what it tells of, and is moved before it; all else is moved behind what it protects."""


def kind(s: Stmt) -> str:
    """The kind of a synchronisation, empty for other statements."""
    name = op_name(s)
    return next((said for part, said in KINDS.items() if part in name), "")


@dataclass(frozen=True)
class Mutant:
    """A device function that lacks, or has elsewhere, the synchronisation of a number among all of it."""

    kind: str
    how: str
    number: int
    func: Any


class Subject:
    """One reference on one architecture, and how to check functions in place of its own."""

    def __init__(self, reference: Reference, architecture: str):
        self.name = f"{reference.name} {architecture}"
        self.gpu = a_gpu("gpu", GPUS[architecture])
        kernel = compile_virtual(
            reference.build(), self.gpu, functional=False, pass_configs=reference.pass_configs or None
        )
        bound = bind(kernel.name, kernel.ready, list(reference.inputs("cpu")), list(reference.out_idx))
        self._arrays = {str(data.name): array for data, array in bound.arrays.items()}
        self._scalars = {str(var.name): value for var, value in bound.scalars.items()}
        self._grids = [tuple(number(e, bound.scalars) for e in shape.grid) for shape in kernel.shapes]
        self.functions = [program.func for program in kernel.checked.programs]

    def is_caught(self, changed: dict[int, Any]) -> bool:
        """Whether races are found, or threads that wait for ever, with other functions in place of some."""
        functions = [changed.get(i, func) for i, func in enumerate(self.functions)]
        programs = [compile_device(func, self.gpu) for func in functions]
        found = check(programs, self._arrays, self._scalars, self._grids)
        assert found.unknown in ("", "threads wait for ever"), found.unknown
        return bool(found.conflicts or found.unknown)

    def mutants(self, how: str) -> Iterator[tuple[int, Mutant]]:
        """All mutants, ``drop`` or ``move``, with the number of the function."""
        for i, func in enumerate(self.functions):
            for n, statement in enumerate(syncs(func)):
                other = dropped(func, [statement]) if how == "drop" else moved(func, statement)
                if other is not None:
                    yield i, Mutant(kind(statement), how, n, other)


def syncs(func: Any) -> list[Stmt]:
    """The synchronisation of a function, in order."""
    return [s for s, _ in walk(func.body) if kind(s)]


def dropped(func: Any, gone: Sequence[Stmt]) -> Any:
    """A function without some statements."""

    def visit(s: Stmt) -> Stmt:
        if any(s.same_as(one) for one in gone):
            return tirx.Evaluate(tirx.IntImm("int32", 0))
        return rebuild(s, visit)

    return func.with_body(visit(func.body))


def moved(func: Any, one: Stmt) -> Any:
    """A function with a statement on the other side of the nearest access beside it; ``None`` if there is none."""
    back = kind(one) in _BACK
    found = False

    def visit(s: Stmt) -> Stmt:
        nonlocal found
        if not isinstance(s, tirx.SeqStmt):
            return rebuild(s, visit)
        steps = flatten(s)
        at = next((i for i, step in enumerate(steps) if step.same_as(one)), None)
        if at is None:
            return rebuild(s, visit)
        beside = range(at - 1, -1, -1) if back else range(at + 1, len(steps))
        over = next((i for i in beside if _accesses(steps[i])), None)
        if over is None:
            return s
        found = True
        rest = [step for step in steps if not step.same_as(one)]
        rest.insert(over, one)
        return sequence(rest)

    body = visit(func.body)
    return func.with_body(body) if found else None


def covered(subject: Subject, i: int, mutant: Mutant) -> str:
    """Why a mutant changes nothing, empty if nothing says so: another synchronisation does the same."""
    every = syncs(subject.functions[i])
    gone = every[mutant.number]
    if mutant.how == "move" and "expect_tx" in op_name(gone):
        return "a phase ends with its bytes, whether they are announced before or behind the copies' begin"
    if mutant.kind == "sync_threads" and _before_reduction(subject.functions[i], gone):
        return "a reduction begins with a barrier"
    for other in every:
        if other.same_as(gone):
            continue
        if not subject.is_caught({i: dropped(subject.functions[i], [other])}) and subject.is_caught(
            {i: dropped(subject.functions[i], [gone, other])}
        ):
            return f"{kind(other)} {every.index(other)} orders the same"
    return ""


def _accesses(s: Stmt) -> bool:
    """Whether a statement accesses shared memory, or starts what does."""
    names = ("wgmma", "ldmatrix", "stmatrix", "cp_async", "tma_", "atomic")
    for inner, _ in walk(s):
        name = op_name(inner)
        if any(part in name for part in names) and "descriptor" not in name and not kind(inner):
            return True
        if isinstance(inner, (tirx.BufferStore, tirx.Evaluate)) and (_reduces(inner) or "shared.dyn" in _scopes(inner)):
            return True
    return False


def _reduces(s: Stmt) -> bool:
    """Whether a statement is a reduction by way of shared memory, which begins with a barrier."""
    found = re.search(r"tl::AllReduce<[^,]+, (\d+)", str(s))
    return found is not None and int(found[1]) > 32


def _scopes(s: Any) -> str:
    """The scopes of the buffers that a statement loads and stores."""
    found = [str(s.buffer.scope())] if isinstance(s, tirx.BufferStore) else []
    if not kind(s):
        tirx.stmt_functor.post_order_visit(
            s.value, lambda n: found.append(str(n.buffer.scope())) if isinstance(n, tirx.BufferLoad) else None
        )
    return " ".join(found)


def _before_reduction(func: Any, one: Stmt) -> bool:
    """Whether the next thing behind a barrier is a reduction that begins with one."""
    leaves = [s for s, _ in walk(func.body) if isinstance(s, (tirx.Evaluate, tirx.BufferStore))]
    behind = itertools.islice(itertools.dropwhile(lambda s: not s.same_as(one), leaves), 1, None)
    following = next((s for s in behind if _accesses(s) or kind(s)), None)
    return following is not None and _reduces(following)
