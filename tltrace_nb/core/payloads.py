"""A payload must mean in its place what it meant to the author: the checks before scheduling and after placement.

In: a PrimFunc with ``__tlt_site`` statements. Out: nothing, or a ``PayloadError`` with the source line.

A payload is read where its operator ended up. There a variable may be out of scope, a local variable may be set only in
the other role, and an element of a fragment belongs to some other thread; none of these may be recorded silently wrong.
"""

from __future__ import annotations

from typing import Any

from tvm import tirx

from tltrace_nb.core.anchors import is_pipelined, with_lets_inlined, written_buffers
from tltrace_nb.core.errors import PayloadError
from tltrace_nb.core.ir import Stmt, children, loads, post_order_visit, walk
from tltrace_nb.core.numbering import MarkedKernel, is_site, site_id
from tltrace_nb.core.placement import ROLE_SCOPE

_FRAGMENT = "local.fragment"
_GLOBAL = "global"


def check_payloads(placed: Any, marked: MarkedKernel) -> None:
    """Raise ``PayloadError`` for the first payload that cannot be read where its marker records."""
    writers = _writers_of_locals(placed)
    in_scope: set[Any] = set(placed.params)
    for buffer in placed.buffer_map.values():
        for e in (*buffer.shape, *buffer.strides):
            post_order_visit(e, lambda node: in_scope.add(node) if isinstance(node, tirx.Var) else None)
        in_scope.add(buffer.data)

    def visit(statement: Stmt, scope: set[Any], branch: Any) -> None:
        if is_site(statement):
            _check(statement, scope, branch)
        inner_scope = scope | _defined_for_children(statement)
        for child in children(statement):
            if (
                isinstance(statement, tirx.AttrStmt)
                and statement.attr_key == ROLE_SCOPE
                and isinstance(child, tirx.IfThenElse)
            ):
                for case in children(child):
                    visit(case, set(inner_scope), case)
                continue
            visit(child, inner_scope if not isinstance(statement, tirx.SeqStmt) else scope, branch)
            if isinstance(child, tirx.Bind):
                scope.add(child.var)
            if isinstance(child, (tirx.AllocBuffer, tirx.DeclBuffer)):
                scope.add(child.buffer.data)

    def _check(statement: Stmt, scope: set[Any], branch: Any) -> None:
        site, payload = marked.sites[site_id(statement)], statement.value.args[2]
        where = f"kernel {marked.name}, {site.source}: the payload of {site.name!r}"
        for buffer in loads(payload):
            _check_buffer(where, buffer, branch, writers)
        unknown: list[Any] = []
        post_order_visit(payload, lambda n: unknown.append(n) if isinstance(n, tirx.Var) and n not in scope else None)
        if unknown:
            raise PayloadError(
                f"{where} uses {unknown[0].name!r}, which does not reach the place where TileLang's scheduler puts the "
                "operator; give an expression of loop indices, block indices or kernel parameters"
            )

    visit(placed.body, in_scope, None)


def check_moving_payloads(marked: MarkedKernel) -> None:
    """Raise ``PayloadError`` for a payload in a pipelined loop that reads memory which that loop writes.

    The scheduler moves operators to other iterations. A loop variable in their payload moves with them, memory does
    not.
    """

    def visit(statement: Stmt, written: set[Any]) -> None:
        if is_pipelined(statement):
            written = written | {buffer.data for inner, _ in walk(statement) for buffer in written_buffers(inner)}
        if is_site(statement):
            changed = [buffer for buffer in loads(statement.value.args[2]) if buffer.data in written]
            if changed:
                site = marked.sites[site_id(statement)]
                raise PayloadError(
                    f"kernel {marked.name}, {site.source}: the payload of {site.name!r} reads {changed[0].name!r}, "
                    "which the pipelined loop around it writes: TileLang moves operators to other iterations, where it "
                    "has another value; give an expression of loop indices, block indices or memory that the loop only "
                    "reads"
                )
        for child in children(statement):
            visit(child, written)

    visit(with_lets_inlined(marked.func.body), set())


def _check_buffer(where: str, buffer: Any, branch: Any, writers: dict[Any, list[Any]]) -> None:
    scope = buffer.scope()
    if scope == _FRAGMENT:
        raise PayloadError(
            f"{where} reads the fragment {buffer.name!r}, whose elements are spread over the threads; "
            "record an index, or a value of a T.alloc_var"
        )
    if scope.startswith("shared"):
        raise PayloadError(
            f"{where} reads the shared buffer {buffer.name!r}, for which TileLang would add a barrier to the kernel; "
            "record an index, or a value of a T.alloc_var that is set where the kernel has synchronised"
        )
    if scope == _GLOBAL and buffer.dtype.bits < 8:
        raise PayloadError(
            f"{where} reads {buffer.name!r}, whose elements of {buffer.dtype} are packed; record an index"
        )
    if scope.startswith("local") and branch is not None:
        branches = writers.get(buffer.data, [])
        if not any(other is None or other.same_as(branch) for other in branches):
            raise PayloadError(
                f"{where} reads {buffer.name!r}, which is set only in the other role of this warp-specialised kernel; "
                "give an expression of loop indices, block indices or kernel parameters"
            )


def _defined_for_children(statement: Stmt) -> set[Any]:
    if isinstance(statement, tirx.For):
        return {statement.loop_var}
    if isinstance(statement, tirx.AttrStmt) and statement.attr_key == "thread_extent":
        return {statement.node.var}
    if isinstance(statement, tirx.SBlock):
        return {b.data for b in statement.alloc_buffers} | {v.var for v in statement.iter_vars}
    return set()


def _writers_of_locals(func: Any) -> dict[Any, list[Any]]:
    """For each local buffer the role branches that store to it; ``None`` stands for code outside the branches."""
    found: dict[Any, list[Any]] = {}

    def visit(statement: Stmt, branch: Any) -> None:
        for buffer in written_buffers(statement):
            found.setdefault(buffer.data, []).append(branch)
        if (
            isinstance(statement, tirx.AttrStmt)
            and statement.attr_key == ROLE_SCOPE
            and isinstance(statement.body, tirx.IfThenElse)
        ):
            for case in children(statement.body):
                visit(case, case)
            return
        for child in children(statement):
            visit(child, branch)

    visit(func.body, None)
    return found
