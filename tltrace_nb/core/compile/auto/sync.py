"""What in TileLang's IR waits for others, and what lets others go on.

In: a statement. Out: what it waits for or arrives at, as text. Used for the author's own barriers and for those that
the scheduler adds.
"""

from __future__ import annotations

from typing import Any

from tltrace_nb.core.compile.ir import Stmt, loads, op_name, walk

WGMMA, BLOCK = "wgmma", "block"

_WAITS = {
    "tl.mbarrier_wait_parity": "",
    "tirx.ptx_wait_barrier": "",
    "tirx.ptx_wait_group": "cp.async",
    "tl.wait_wgmma": WGMMA,
    "tl.warpgroup_wait": WGMMA,
    "tl.tma_store_wait": "TMA store",
    "tl.cluster_sync": "cluster",
    "tl.cluster_wait": "cluster",
    "tl.named_barrier_sync": "named barrier",
    "tl.named_barrier_wait": "named barrier",
    "tl.sync_grid": "grid",
    "tl.sync_warp": "warp",
    "tl.pdl_sync": "launch before",
    "tirx.tvm_storage_sync": BLOCK,
}
_ARRIVALS = {
    "tirx.ptx_arrive_barrier": "",
    "tl.ptx_arrive_cluster_barrier": "",
    "tl.ptx_cp_async_barrier_noinc": "",
    "tl.tcgen05_mma_arrive": "",
    "tl.cluster_arrive": "cluster",
    "tl.named_barrier_arrive": "named barrier",
    "tl.pdl_trigger": "launch behind",
}
"""Operations, each with what it is about; where that is empty, it is the barrier in the first argument."""


def awaited(statement: Stmt) -> str | None:
    """What a call waits for, ``None`` for a statement that is no wait."""
    return _subject(statement, _WAITS)


def arrived_at(statement: Stmt) -> str | None:
    """What a call arrives at, ``None`` for a statement that is no arrival."""
    return _subject(statement, _ARRIVALS)


def waits(statement: Stmt) -> bool:
    """Whether anything in a statement waits."""
    return any(awaited(inner) is not None for inner, _ in walk(statement))


def arrives(statement: Stmt) -> bool:
    """Whether anything in a statement arrives."""
    return any(arrived_at(inner) is not None for inner, _ in walk(statement))


def _subject(statement: Stmt, about: dict[str, str]) -> str | None:
    subject = about.get(op_name(statement))
    if subject != "":
        return subject
    barriers: list[Any] = [buffer for argument in statement.value.args for buffer in loads(argument)]
    return str(barriers[0].name) if barriers else "barrier"
