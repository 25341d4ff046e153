"""Which buffers' contents decide what a kernel does: the rest need not be computed when only time is asked for.

In: the body of a launch. Out: the data of buffers that conditions, loop bounds, addresses, barriers or payloads read,
directly or through other buffers.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tvm import tirx

from tltrace_nb.core.compile.ir import READ, REGION, WRITTEN, Expr, Stmt, is_region, op_name, post_order_visit, walk
from tltrace_nb.simulator.intrinsics import OTHER_TRACERS, PRINTS


def needed_data(body: Stmt) -> Callable[[Any], bool]:
    """Tells for a buffer whether its contents matter."""
    wanted: set[Any] = set()
    flows: list[tuple[set[Any], set[Any]]] = []
    bound: dict[Any, Expr] = {s.var: s.value for s, _ in walk(body) if isinstance(s, tirx.Bind)}

    def read(e: Expr) -> set[Any]:
        """The data that an expression depends on."""
        found: set[Any] = set()

        def visit(node: Any) -> None:
            if isinstance(node, tirx.BufferLoad):
                found.add(node.buffer.data)
            elif isinstance(node, tirx.Var):
                found.update(read(bound[node]) if node in bound else {node})  # a pointer's own data

        if not isinstance(e, (int, float)):
            post_order_visit(e, visit)
        return found

    def addresses(e: Expr) -> None:
        """Want what the indices of loads inside an expression depend on."""

        def visit(node: Any) -> None:
            if isinstance(node, tirx.BufferLoad):
                for index in node.indices:
                    wanted.update(read(index))

        if not isinstance(e, (int, float)):
            post_order_visit(e, visit)

    for s, _ in walk(body):
        match s:
            case tirx.BufferStore():
                flows.append(({s.buffer.data}, read(s.value)))
                for index in s.indices:
                    wanted.update(read(index))
                addresses(s.value)
            case tirx.IfThenElse() | tirx.While():
                wanted.update(read(s.condition))
            case tirx.For():
                wanted.update(read(s.min) | read(s.extent))
            case tirx.Bind():
                addresses(s.value)
                if str(s.var.dtype) == "handle":
                    wanted.update(read(s.value))
            case tirx.Evaluate() if isinstance(s.value, tirx.Call):
                _call(op_name(s), s.value, wanted, flows, read, addresses)
    for s, _ in walk(body):
        # What a branch writes depends on the condition, which is wanted already.
        if isinstance(s, tirx.IfThenElse):
            addresses(s.condition)
    size = -1
    while size != len(wanted):
        size = len(wanted)
        for written, sources in flows:
            if written & wanted:
                wanted |= sources
    return lambda buffer: buffer.data in wanted


def _call(
    name: str,
    call: Any,
    wanted: set[Any],
    flows: list[tuple[set[Any], set[Any]]],
    read: Callable[[Any], set[Any]],
    addresses: Callable[[Any], None],
) -> None:
    if name.startswith("__tlt_record"):
        wanted.update(read(call.args[4]))
        for rest in call.args[5:]:
            wanted.update(read(rest))
        return
    if name.startswith(("__tlt_", PRINTS, *OTHER_TRACERS)):
        return
    addresses(call)
    written: set[Any] = set()
    sources: set[Any] = set()
    for arg in call.args:
        if not isinstance(arg, tirx.Call) or str(arg.op.name) not in (REGION, "tl.access_ptr", "tirx.address_of"):
            sources |= read(arg)
            continue
        data = arg.args[0].buffer.data
        access = int(arg.args[1]) if is_region(arg) else READ | WRITTEN
        if access & READ:
            sources.add(data)
        if access & WRITTEN:
            written.add(data)
    if "reducer_update" in name:
        written.add(call.args[0].buffer.data)
    if written:
        flows.append((written, sources | written))
    else:
        wanted |= sources
