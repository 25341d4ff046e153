"""Which values differ from thread to thread: what becomes an array of lanes, and which conditions become masks.

In: the body of a launch. Out: :class:`Varying`, the variables and registers that may hold different values in the
threads of one thread group. Anything else is one number. ``splits`` tells of a branch that
sends whole thread groups one way or the other.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tvm import tirx

from tltrace_nb.core.compile.active_threads import LaunchShape
from tltrace_nb.core.compile.ir import Expr, Stmt, children, op_name, post_order_visit

LOCAL_SCOPES = ("local", "local.var")
PARALLEL = tirx.ForKind.PARALLEL

POINTERS = ("tl.access_ptr", "tirx.address_of")
"""Operators that give a pointer to an element."""
_BY_THREAD = (
    "get_lane_idx", "get_warp_idx", "get_warp_idx_sync", "get_warp_group_idx", "tl_shuffle_elect", "shfl",
    "warp_shuffle", "_ret_elem_op", "any_sync", "all_sync", "ballot", "warp_reduce",
    "activemask", "match_a", "rng_rand",
)  # fmt: skip


class Varying:
    """The variables and ``local`` buffers whose values differ by lane; the body is gone over until it settles."""

    def __init__(self, shape: LaunchShape, splits: Callable[[Any], bool] = lambda _: False):
        self._splits = splits
        self.variables: set[Any] = {
            v
            for v, extent in zip(shape.thread_vars, shape.block, strict=True)
            if isinstance(v, tirx.Var) and extent > 1
        }
        self.buffers: set[Any] = set()
        size = -1
        while size != len(self.variables) + len(self.buffers):
            size = len(self.variables) + len(self.buffers)
            self._visit(shape.body, False)

    def __call__(self, e: Expr) -> bool:
        """Whether an expression's value may differ from lane to lane."""
        found = False

        def visit(node: Any) -> None:
            nonlocal found
            if isinstance(node, tirx.Var):
                found = found or node in self.variables
            elif isinstance(node, tirx.BufferLoad):
                found = found or node.buffer.data in self.buffers
            elif isinstance(node, tirx.Call):
                name = str(getattr(node.op, "name", ""))
                found = found or any(part in name for part in _BY_THREAD)

        if not isinstance(e, (int, float)):
            post_order_visit(e, visit)
        return found

    def _visit(self, s: Stmt, masked: bool) -> None:
        if isinstance(s, (tirx.Evaluate, tirx.Bind, tirx.BufferStore)):
            self.buffers |= _handed_over(s.value)
        match s:
            case tirx.BufferStore():
                local = str(s.buffer.scope()) in LOCAL_SCOPES
                if local and (masked or self(s.value) or any(self(i) for i in s.indices)):
                    self.buffers.add(s.buffer.data)
            case tirx.Bind():
                if self(s.value):
                    self.variables.add(s.var)
            case tirx.Evaluate() if op_name(s).endswith("tvm_thread_allreduce"):
                self.buffers.add(s.value.args[3].buffer.data)
            case tirx.IfThenElse():
                inner = masked or (self(s.condition) and not self._splits(s))
                for child in children(s):
                    self._visit(child, inner)
            case tirx.While():
                self._visit(s.body, masked or self(s.condition) or self.breaks(s.body))
            case tirx.For():
                by_lane = s.kind == PARALLEL or self(s.extent) or self(s.min)
                if s.kind == PARALLEL or self(s.min):
                    self.variables.add(s.loop_var)
                self._visit(s.body, masked or by_lane or self.breaks(s.body))
            case _:
                for child in children(s):
                    self._visit(child, masked)

    def breaks(self, s: Stmt, masked: bool = False) -> bool:
        """Whether some lanes may leave a loop before others."""
        if isinstance(s, tirx.IfThenElse):
            masked = masked or (self(s.condition) and not self._splits(s))
        if isinstance(s, (tirx.For, tirx.While)):
            return False
        if op_name(s).endswith(("loop_break", "break_loop", "continue_loop")):
            return masked
        return any(self.breaks(child, masked) for child in children(s))


def _handed_over(e: Expr) -> set[Any]:
    """The ``local`` buffers to which an expression hands a function a pointer: it may store anything there."""
    found: set[Any] = set()

    def visit(node: Any) -> None:
        if isinstance(node, tirx.Call) and "call_" in str(getattr(node.op, "name", "")):
            for arg in node.args:
                if str(getattr(getattr(arg, "op", None), "name", "")) in POINTERS:
                    buffer = getattr(arg.args[0], "buffer", None)
                    found.update({buffer.data} if buffer is not None and str(buffer.scope()) in LOCAL_SCOPES else ())

    if not isinstance(e, (int, float)):
        post_order_visit(e, visit)
    return found
