"""A payload must mean in its place what it meant to the author: the checks before scheduling and after placement.

In: a PrimFunc with ``__tlt_site`` statements. Out: nothing, or a ``PayloadError`` with the source line.

A payload is read where its operator ended up. There a variable may be out of scope, a local variable may be set only in
the other role, and an element of a fragment belongs to some other thread; none of these may be recorded silently wrong.
"""

from __future__ import annotations

import itertools
from dataclasses import replace
from typing import Any

from tvm import tirx

from tltrace_nb.base.errors import PayloadError
from tltrace_nb.core.compile.anchors import is_pipelined, leaf_numbers, with_lets_inlined, written_buffers
from tltrace_nb.core.compile.definitions import UNSET, Reaching, reaching
from tltrace_nb.core.compile.holds import CONSUMER, PRODUCER, ROLE_SCOPE, read, role_scopes
from tltrace_nb.core.compile.ir import Stmt, children, loads, post_order_visit, rebuild, sequence, walk
from tltrace_nb.core.compile.numbering import MarkedKernel, is_site, site_id, site_roles, site_statement

_FRAGMENT = "local.fragment"
_GLOBAL = "global"


def with_true_payloads(placed: Any, marked: MarkedKernel) -> Any:
    """The placed PrimFunc without the records whose payload has another value there than where the author reads it.

    That is where the scheduler has put a part of a range, or the marker of one role, on a way on which a variable was
    not set, or was set otherwise. Raises ``PayloadError`` where nothing would be left of a marker, and for the first
    payload that cannot be read where its marker records.
    """
    moved = role_scopes(placed) > role_scopes(marked.func)
    kept = _without_false_parts(placed, marked) if moved else placed
    _check_scopes(kept, marked)
    return kept


def without_payload(marked: MarkedKernel, site: int) -> MarkedKernel:
    """The kernel with another payload at one site, and at the other end of its range: zero."""
    chosen = {site, marked.sites[site].range} if marked.sites[site].range >= 0 else {site}

    def visit(statement: Stmt) -> Stmt:
        if is_site(statement) and {site_id(statement), marked.sites[site_id(statement)].range} & chosen:
            return site_statement(site_id(statement), tirx.IntImm("int32", 0))
        return rebuild(statement, visit)

    return replace(marked, func=marked.func.with_body(visit(marked.func.body)))


def _without_false_parts(placed: Any, marked: MarkedKernel) -> Any:
    body = marked.func.body
    written = {buffer.data for statement, _ in walk(body) for buffer in written_buffers(statement)}
    read_by = {
        site_id(s): [b for b in loads(s.value.args[2]) if b.data in written] for s, _ in walk(body) if is_site(s)
    }
    if not any(read_by.values()):
        return placed
    intended = reaching(body, leaf_numbers(body).get)
    meant = dict(zip((site_id(s) for s, _ in walk(body) if is_site(s)), intended, strict=True))
    found = {role: reaching(placed.body, _noted_number, role) for role in (PRODUCER, CONSUMER)}
    places = [(site_id(s), _roles_at(s, above)) for s, above in walk(placed.body) if is_site(s)]

    def is_false(place: int) -> bool:
        site, roles = places[place]
        return any(
            _stores(found[role][place], buffer) != _stores(meant[site], buffer)
            for buffer in read_by[site]
            for role in roles
        )

    false = {place for place in range(len(places)) if is_false(place)}
    false |= {place for part in _parts(places, marked) if false & set(part) for place in part}
    left = {site for place, (site, _) in enumerate(places) if place not in false}
    for site in (marked.sites[places[place][0]] for place in sorted(false)):
        if site.id not in left:
            raise PayloadError(
                f"kernel {marked.name}, {site.source}: the payload of {site.name!r} reads "
                f"{read_by[site.id][0].name!r}, which is set otherwise, or not at all, where TileLang's scheduler puts "
                "the operator; give an expression of loop indices, block indices or kernel parameters"
            )
    count = itertools.count()

    def visit(statement: Stmt) -> Stmt:
        if is_site(statement):
            return sequence([]) if next(count) in false else statement
        return rebuild(statement, visit)

    return placed.with_body(visit(placed.body)) if false else placed


def _parts(places: list[tuple[int, Any]], marked: MarkedKernel) -> list[tuple[int, int]]:
    """The places of begin and end of each part of each range: they alternate in program order."""
    found: list[tuple[int, int]] = []
    for sites in marked.end_of.items():
        begins, ends = ([place for place, (site, _) in enumerate(places) if site == wanted] for wanted in sites)
        found += zip(begins, ends, strict=False)
    return found


def _stores(reached: Reaching | None, buffer: Any) -> frozenset[int] | None:
    """The operators whose stores may be in a buffer; ``None`` where nobody comes."""
    return None if reached is None else reached.get(buffer.data, frozenset([UNSET]))


def _roles_at(site: Stmt, above: tuple[Stmt, ...]) -> frozenset[str]:
    """The roles that record at a site: those named, the one in whose branch it stands, else the consumer."""
    around = [*above, site]
    for i, outer in enumerate(above):
        if (
            isinstance(outer, tirx.AttrStmt)
            and outer.attr_key == ROLE_SCOPE
            and isinstance(outer.body, tirx.IfThenElse)
        ):
            return frozenset([PRODUCER if around[i + 2].same_as(outer.body.then_case) else CONSUMER])
    return site_roles(site) or frozenset([CONSUMER])


def _noted_number(leaf: Stmt) -> int | None:
    trail, _ = read(leaf)
    return None if trail is None else trail.number


def _check_scopes(placed: Any, marked: MarkedKernel) -> None:
    """Raise ``PayloadError`` for the first payload that cannot be read where its marker records."""
    in_scope: set[Any] = set(placed.params)
    for buffer in placed.buffer_map.values():
        for e in (*buffer.shape, *buffer.strides):
            post_order_visit(e, lambda node: in_scope.add(node) if isinstance(node, tirx.Var) else None)
        in_scope.add(buffer.data)

    def visit(statement: Stmt, scope: set[Any]) -> None:
        if is_site(statement):
            _check(statement, scope)
        inner_scope = scope | _defined_for_children(statement)
        for child in children(statement):
            visit(child, inner_scope if not isinstance(statement, tirx.SeqStmt) else scope)
            if isinstance(child, tirx.Bind):
                scope.add(child.var)
            if isinstance(child, (tirx.AllocBuffer, tirx.DeclBuffer)):
                scope.add(child.buffer.data)

    def _check(statement: Stmt, scope: set[Any]) -> None:
        site, payload = marked.sites[site_id(statement)], statement.value.args[2]
        where = f"kernel {marked.name}, {site.source}: the payload of {site.name!r}"
        for buffer in loads(payload):
            _check_buffer(where, buffer)
        unknown: list[Any] = []
        post_order_visit(payload, lambda n: unknown.append(n) if isinstance(n, tirx.Var) and n not in scope else None)
        if unknown:
            raise PayloadError(
                f"{where} uses {unknown[0].name!r}, which does not reach the place where TileLang's scheduler puts the "
                "operator; give an expression of loop indices, block indices or kernel parameters"
            )

    visit(placed.body, in_scope)


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


def _check_buffer(where: str, buffer: Any) -> None:
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


def _defined_for_children(statement: Stmt) -> set[Any]:
    if isinstance(statement, tirx.For):
        return {statement.loop_var}
    if isinstance(statement, tirx.AttrStmt) and statement.attr_key == "thread_extent":
        return {statement.node.var}
    if isinstance(statement, tirx.SBlock):
        return {b.data for b in statement.alloc_buffers} | {v.var for v in statement.iter_vars}
    return set()
