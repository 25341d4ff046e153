"""Barriers and waits as lines of Python.

In: a call and its place. Out: a ``yield`` of what the thread group waits for, or a call that arrives.
"""

from __future__ import annotations

from typing import Any

from tvm import tirx

from tltrace_nb.simulator.writing import Place, Writer

BARRIERS = (
    "mbarrier_wait_parity", "ptx_arrive_barrier", "ptx_arrive_barrier_expect_tx", "mbarrier_expect_tx",
    "ptx_cp_async_barrier_noinc", "ptx_commit_group", "ptx_wait_group", "wait_wgmma", "warpgroup_wait",
    "tvm_storage_sync", "named_barrier_arrive", "cluster_sync", "sync_grid", "cluster_arrive", "cluster_wait",
)  # fmt: skip
"""Every operator on barriers that is known."""


class BarrierOperators:
    """The barrier operators of a program's writer."""

    def __init__(self, writer: Writer):
        self._w = writer

    def element(self, e: Any, place: Place) -> str:
        """The text of one mbarrier."""
        w = self._w
        if not isinstance(e, tirx.BufferLoad) or not str(e.buffer.scope()).startswith("shared"):
            raise w.unsupported("a barrier that is no element of a barrier buffer", e)
        if str(e.buffer.scope()) == "shared.cluster_barrier":
            raise w.unsupported("barriers of a cluster", e)
        (index,) = e.indices
        return f"{w.barriers(e.buffer, e)}[{w.same(index, place)}]"

    def __call__(self, name: str, call: Any, place: Place) -> None:
        """Write one operator."""
        w = self._w
        args = call.args
        if name == "mbarrier_wait_parity":
            if place.mask != "True":
                w.line(f"whole({place.mask})")
            w.tally.take()
            barrier, parity = self.element(args[0], place), w.same(args[1], place)
            w.statements.spend(place)  # nothing hides the arithmetic of the stage and its parity
            w.line(f"yield Wait({barrier}, {parity})")
        elif name == "ptx_arrive_barrier":
            w.line(f"c.arrive({self.element(args[0], place)}, {place.mask})")
            w.arrives(args[0].buffer, place.thread_groups)
        elif name in ("ptx_arrive_barrier_expect_tx", "mbarrier_expect_tx"):
            arrives = place.mask if name.startswith("ptx") else "False"
            size = w.same(args[1], place)
            w.line(f"c.arrive({self.element(args[0], place)}, {arrives}, {size}, {place.mask})")
            if name.startswith("ptx"):
                w.arrives(args[0].buffer, place.thread_groups)
        elif name == "ptx_cp_async_barrier_noinc":
            w.line(f"c.arrive_after_copies({self.element(args[0], place)}, {place.mask})")
            w.arrives(args[0].buffer, place.thread_groups)
        elif name == "ptx_commit_group":
            w.line("c.commit()")
        elif name == "ptx_wait_group":
            w.line(f"yield c.copies({w.expressions(args[0], place)})")
        elif name in ("wait_wgmma", "warpgroup_wait"):
            w.line(f"yield c.products({w.expressions(args[0], place)})")
        elif name == "tvm_storage_sync":
            if str(args[0].value) == "warp":
                return
            rest = [w.expressions(a, place) for a in args[1:3]] + ["0", "0"]
            w.line(f"yield c.sync({rest[0]}, {rest[1]}, {place.mask})")
        elif name == "named_barrier_arrive":
            number, count = (w.expressions(a, place) for a in args[:2])
            w.line(f"c.named_arrive({number}, {count}, {place.mask})")
        elif name in ("cluster_sync", "sync_grid", "cluster_arrive", "cluster_wait"):
            if name == "cluster_arrive":
                return  # its other half waits
            w.line(f"yield c.sync_{'grid' if name == 'sync_grid' else 'cluster'}()")
        w.tally.take()
