"""After scheduling: anchors become statements again, around the operators where the scheduler put them.

In: the scheduled PrimFunc with anchored operators. Out: the scheduled PrimFunc with a ``__tlt_site(site, payload)``
statement at every place where a marker records, and with everything else as if there had never been anchors.

A range is placed around the longest run of neighbouring statements whose operators all belong to it and to one
iteration of it. Where the scheduler has torn a range apart (copies moved ahead, roles split), each part gets its own
begin and end. Statements that the scheduler made (barrier waits, commits) belong to a range when they stand between its
operators.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from tvm import tirx
from tvm.ir import structural_equal
from tvm.tirx.stmt_functor import ir_transform

from tltrace_nb.base.errors import PlacementError
from tltrace_nb.core.compile.anchors import ANCHOR, CARRIER, LEAF, Mode, is_leaf
from tltrace_nb.core.compile.auto.sync import arrives, waits
from tltrace_nb.core.compile.guards import is_true
from tltrace_nb.core.compile.holds import (
    CONSUMER,
    ROLE_SCOPE,
    Above,
    Hold,
    Holder,
    Holds,
    Key,
    in_body,
    joined_roles,
    noted_calls,
    read,
)
from tltrace_nb.core.compile.ir import Expr, Stmt, children, flatten, rebuild, sequence, uses, walk, with_block
from tltrace_nb.core.compile.numbering import MarkedKernel, is_site, site_id, site_statement
from tltrace_nb.core.compile.payloads import with_true_payloads

_Body = tuple[Stmt, frozenset[Key], Above]
"""A body, the anchors that a body around it has placed, and the statements around it."""


def place(scheduled: Any, marked: MarkedKernel) -> Any:
    """Turn the anchors of a scheduled PrimFunc into ``__tlt_site`` statements.

    Raises ``PlacementError`` for a marker that could only be placed under a condition or in a loop in which it does not
    stand, and ``PayloadError`` as ``with_true_payloads``.
    """
    placer = _Placer(marked, marked.end_of, Holder.of(scheduled, marked.end_of))
    placed = scheduled.with_body(placer.body(scheduled.body, frozenset(), ()))
    placed = with_true_payloads(placed, marked)
    return placed.with_body(_without_notes(placed.body))


def without_anchors(func: Any) -> Any:
    """The PrimFunc without anchors and sites, in a normal form that ``same_schedule`` compares.

    Block access regions are dropped: they follow from the body, and TileLang computes them once per pass.
    """

    def visit(statement: Stmt) -> Stmt:
        if is_site(statement):
            return sequence([])
        bare = _bare(statement) if is_leaf(statement) else rebuild(statement, visit)
        if isinstance(bare, (tirx.IfThenElse, tirx.For)) and not any(map(flatten, children(bare))):
            return sequence([])  # nothing but markers stood there, or nothing at all
        return with_block(bare, reads=[], writes=[]) if isinstance(bare, tirx.SBlock) else bare

    return func.with_body(visit(func.body))


def same_schedule(anchored: Any, bare: Any) -> bool:
    """Whether two scheduled PrimFuncs are the same but for anchors and sites."""
    return bool(structural_equal(without_anchors(anchored), without_anchors(bare), map_free_vars=True))


def leaves_in(func: Any) -> set[int]:
    """The numbers of the author's operators that a PrimFunc with anchors holds."""
    trails = (read(statement)[0] for statement, _ in walk(func.body) if is_leaf(statement))
    return {trail.number for trail in trails if trail is not None}


def leaves_of_producer(func: Any) -> set[int]:
    """The numbers of the author's operators that a PrimFunc with anchors holds in the producer's branch alone."""
    found: dict[bool, set[int]] = {True: set(), False: set()}
    for statement, above in walk(func.body):
        trail = read(statement)[0] if is_leaf(statement) else None
        if trail is not None:
            found[_in_producer(statement, above)].add(trail.number)
    return found[True] - found[False]


def _in_producer(statement: Stmt, above: Above) -> bool:
    around = (*above, statement)
    return any(
        isinstance(outer, tirx.AttrStmt) and outer.attr_key == ROLE_SCOPE and inner.same_as(branch.then_case)
        for outer, branch, inner in zip(around, around[1:], around[2:], strict=False)
        if isinstance(branch, tirx.IfThenElse)
    )


def is_peeled(func: Any) -> bool:
    """Whether iterations of a pipelined loop with anchors in it stand outside of the loop."""
    notes = [read(statement) for statement, _ in walk(func.body) if is_leaf(statement)]
    return any(
        isinstance(anchor.loops[trail.outside], tirx.IntImm)
        for trail, anchors in notes
        for anchor in anchors
        if trail is not None and 0 <= trail.outside < len(anchor.loops)
    )


def sites_in(func: Any) -> set[int]:
    """The sites that record in a PrimFunc, as statements or as anchors; a range's anchor stands for its begin alone."""
    found = {site_id(s) for s, _ in walk(func.body) if is_site(s)}
    notes = [read(statement) for statement, _ in walk(func.body) if is_leaf(statement)]
    leaves = {trail.number for trail, _ in notes if trail is not None}
    return found | {
        anchor.site for _, anchors in notes for anchor in anchors if anchor.leaf < 0 or anchor.leaf in leaves
    }


@dataclass(frozen=True, slots=True, eq=False)
class _Record:
    """A site that is to record at some place, with the payload of that place.

    ``roles``: the roles that record it in code that both run, empty for what the place alone decides. ``outside``: it
    stands outside of a block whose predicate its operators are under. ``loops`` has the iteration, as an anchor's.
    """

    site: int
    payload: Any
    condition: Any
    roles: frozenset[str] = frozenset()
    outside: bool = False
    loops: tuple[Expr, ...] = ()

    def precedes(self, other: _Record) -> bool:
        """Whether the author's marker stands in front of another in one iteration of the loops around both."""
        same = all(structural_equal(x, y) for x, y in zip(self.loops, other.loops, strict=False))
        return same and self.site < other.site


_Records = tuple[_Record, ...]


@dataclass(slots=True)
class _Edges:
    """What is to record at the two edges of one statement."""

    front: list[_Record] = field(default_factory=list)
    back: list[_Record] = field(default_factory=list)

    def take(self, inside: bool = False) -> tuple[_Records, _Records]:
        """Both, in the order of the author's markers, and nothing left; ``inside``: but those outside of a block."""
        taken = []
        for records in (self.front, self.back):
            taken.append(tuple(sorted((r for r in records if not (inside and r.outside)), key=lambda r: r.site)))
            records[:] = [r for r in records if inside and r.outside]
        front, back = taken
        return front, back


@dataclass(frozen=True, slots=True)
class _Placer:
    marked: MarkedKernel
    end_of: dict[int, int]
    holder: Holder

    def body(
        self, statement: Stmt, placed: frozenset[Key], above: Above, front: _Records = (), back: _Records = ()
    ) -> Stmt:
        """Place in a body all anchors that no body around it has placed, and the records handed in at its two edges."""
        return self._bodies([(statement, placed, above)], front, back)[0]

    def _bodies(self, bodies: list[_Body], front: _Records = (), back: _Records = ()) -> list[Stmt]:
        """Place in adjacent bodies that TileLang has made out of one of the author's, as if they were one still."""
        parts = [flatten(body) for body, _, _ in bodies]
        statements = [statement for part in parts for statement in part]
        around = [
            (keys, in_body(body, above)) for part, (body, keys, above) in zip(parts, bodies, strict=True) for _ in part
        ]
        holds = [_open(self.holder.held(s, above), keys) for s, (keys, above) in zip(statements, around, strict=True)]
        edges = [_Edges() for _ in statements]
        here = [set(keys) for keys, _ in around]
        authored = [i for i, hold in enumerate(holds) if hold is not None]
        if authored:
            edges[authored[0]].front += front
            edges[authored[-1]].back += back
        for key in sorted({key for hold in holds if hold for key in hold}):
            for run in _runs(key, holds):
                marked = _beside(key[1], run, holds, statements)
                if marked:
                    own = [hold[key] for hold in (holds[i] for i in run) if hold and key in hold]
                    if any(hold.records for hold in own):
                        self._check(key, own, around[run[0]][1])
                        self._mark(own, edges[marked[0]].front, edges[marked[-1]].back)
                    for i in run:
                        here[i].add(key)
        _put_in_order(edges, self.end_of)
        inner = [(frozenset(k), above) for k, (_, above) in zip(here, around, strict=True)]
        remaining = iter(list(zip(self._insides(statements, inner, edges), edges, strict=True)))
        return [_between(itertools.islice(remaining, len(part))) for part in parts]

    def _insides(
        self, statements: list[Stmt], around: list[tuple[frozenset[Key], Above]], edges: list[_Edges]
    ) -> Iterator[Stmt]:
        """The statements with their own bodies placed."""
        for group in _split_guards(statements):
            if len(group) == 1:
                (i,) = group
                yield self._inside(statements[i], *around[i], edges[i])
                continue
            bodies = [_guarded(statements[i], *around[i]) for i in group]
            for i, body in zip(group, self._bodies(bodies), strict=True):
                yield self._around_guard(statements[i], body, edges[i])

    def _around_guard(self, statement: Stmt, body: Stmt, edges: _Edges) -> Stmt:
        """A statement with another body under its ``if``, and its records around that ``if``."""
        if not isinstance(statement, tirx.IfThenElse):
            return rebuild(statement, lambda inner: self._around_guard(inner, body, edges))
        return _between([(rebuild(statement, lambda _: body), edges)])

    def _inside(self, statement: Stmt, placed: frozenset[Key], above: Above, edges: _Edges) -> Stmt:
        """One statement with its body placed. A block is no step of the program: records go to the operators in it."""
        if is_leaf(statement):
            return statement
        inner = (*above, statement)
        if not _is_block(statement):
            return rebuild(statement, lambda body: self.body(body, placed, inner))
        front, back = edges.take(inside=True)
        if isinstance(statement, tirx.SBlockRealize):
            within = (*inner, statement.block)
            block = rebuild(statement.block, lambda body: self.body(body, placed, within, front, back))
            return rebuild(statement, lambda _: block)
        return rebuild(statement, lambda body: self.body(body, placed, inner, front, back))

    def _mark(self, holds: list[Hold], front: list[_Record], back: list[_Record]) -> None:
        anchor = holds[0].anchor
        end = None if anchor.mode in (Mode.BEFORE, Mode.AFTER) else self.end_of.get(anchor.site)
        alone_behind = anchor.mode is not Mode.BEFORE and end is None
        roles, outside = joined_roles(holds), any(hold.outside for hold in holds)
        if anchor.site not in self.end_of and CONSUMER in roles:
            roles = frozenset()  # an instant of all threads is one event
        condition = anchor.condition
        if anchor.mode in (Mode.WAITS, Mode.ARRIVALS) and holds[0].predicate is not None:
            # The scheduler waits for an iteration that does not exist, too.
            condition = holds[0].predicate if is_true(condition) else tirx.And(condition, holds[0].predicate)
        record = _Record(anchor.site, anchor.payload, condition, roles, outside, anchor.loops)
        (back if alone_behind else front).append(record)
        if end is not None:
            back.append(replace(record, site=end))

    def _check(self, key: Key, holds: list[Hold], above: Above) -> None:
        """Raise ``PlacementError`` where a marker would record under a condition or in a loop that it is not in."""
        loops = [s for s in above if isinstance(s, tirx.For) and s.thread_binding is None and not _runs_once(s)]
        in_loop = any(not uses_any(hold.anchor.loops, loop.loop_var) for loop in loops for hold in holds)
        if key[1] in (Mode.WAITS, Mode.ARRIVALS) or (not in_loop and all(hold.exact for hold in holds)):
            return
        site = self.marked.sites[key[0]]
        raise PlacementError(
            f"kernel {self.marked.name}, {site.source}: TileLang's scheduler leaves no place for {site.name!r} outside "
            f"of {'a loop' if in_loop else 'a condition'} in which it does not stand; put the marker into it, around "
            "the operators there"
        )


def _put_in_order(edges: list[_Edges], end_of: Mapping[int, int]) -> None:
    """Move records behind an operator that follow one in front of the next over what the scheduler put between them.

    A range that the scheduler has torn apart goes on in front of the next: its end stays, and its begin moves nothing.
    """
    begun: set[int] = set()
    marked = [edge for edge in edges if edge.front or edge.back]
    for edge, following in itertools.pairwise(marked):
        begun |= {record.site for record in edge.front}
        new = [record for record in following.front if record.site not in begun]
        going_on = {end_of.get(record.site) for record in following.front}
        ends = [record for record in edge.back if record.site not in going_on]
        late = [record for record in ends if any(other.precedes(record) for other in new)]
        following.front += late
        edge.back[:] = [record for record in edge.back if record not in late]


def _between(statements: Iterable[tuple[Stmt, _Edges]]) -> Stmt:
    """Statements with the records at their edges, those between two of them in the order of the author's markers.

    A marker that is a statement still is between the two like any other.
    """
    result: list[Stmt] = []
    waiting: list[tuple[int, Stmt]] = []

    def flush() -> None:
        result.extend(statement for _, statement in sorted(waiting, key=lambda item: item[0]))
        waiting.clear()

    for statement, edges in statements:
        front, back = edges.take()
        waiting += [(record.site, _statement(record)) for record in front]
        if is_site(statement):
            waiting.append((site_id(statement), statement))
        else:
            flush()
            result.append(statement)
        waiting += [(record.site, _statement(record)) for record in back]
    flush()
    return sequence(result)


def _runs_once(loop: Any) -> bool:
    """Whether a loop has a single iteration, as TileLang knows: its variable is replaced by its value."""
    return isinstance(loop.extent, tirx.IntImm) and int(loop.extent) <= 1


def uses_any(expressions: tuple[Expr, ...], variable: Any) -> bool:
    """Whether any of the expressions uses a variable."""
    return any(uses(e, [variable]) for e in expressions)


def _statement(record: _Record) -> Stmt:
    site = site_statement(record.site, record.payload, roles=record.roles)
    return site if is_true(record.condition) else tirx.IfThenElse(record.condition, site, None)


def _open(hold: Holds | None, placed: frozenset[Key]) -> Holds | None:
    """The anchors of a statement that are to be placed at its edges or further in.

    Not so those that no body around it has left out, and those in the branches of the roles where nothing between
    marker and operators holds the branches together: each role records those by itself.
    """
    if hold is None:
        return None
    return {key: h for key, h in hold.items() if key not in placed and (h.climbed or not h.roles)}


def _split_guards(statements: list[Stmt]) -> Iterator[list[int]]:
    """The statements one by one, but together the neighbouring ``if`` that TileLang made of one of the author's."""
    group: list[int] = []
    for i, statement in enumerate(statements):
        if group and not _shares_guard(statements[group[0]], statement):
            yield group
            group = []
        group.append(i)
    if group:
        yield group


def _shares_guard(a: Stmt, b: Stmt) -> bool:
    first, second = _guard(a), _guard(b)
    return first is not None and second is not None and bool(structural_equal(first.condition, second.condition))


def _guard(statement: Stmt) -> Any:
    """The ``if`` without ``else`` that a statement is, or that is all there is in a block; else ``None``."""
    if isinstance(statement, tirx.IfThenElse):
        return statement if statement.else_case is None else None
    inner = [s for body in children(statement) for s in flatten(body)] if _is_block(statement) else []
    return _guard(inner[0]) if len(inner) == 1 else None


def _guarded(statement: Stmt, placed: frozenset[Key], above: Above) -> _Body:
    """The body of the ``_guard`` of a statement."""
    inner = (*above, statement)
    if isinstance(statement, tirx.IfThenElse):
        return statement.then_case, placed, inner
    (body,) = children(statement)
    return _guarded(next(s for s in (body, *flatten(body)) if not isinstance(s, tirx.SeqStmt)), placed, inner)


def _is_block(statement: Stmt) -> bool:
    return isinstance(statement, (tirx.SBlockRealize, tirx.SBlock)) or (
        isinstance(statement, tirx.AttrStmt) and statement.attr_key != ROLE_SCOPE
    )


def _runs(key: Key, holds: list[Holds | None]) -> Iterator[list[int]]:
    """Runs of statements that all hold one anchor in one iteration; the scheduler's own may stand between."""
    run: list[int] = []
    for i, hold in enumerate(holds):
        if hold is None:
            continue
        own = hold.get(key)
        if run and (own is None or not holds[run[0]][key].with_iteration_of(own)):  # type: ignore[index]
            yield list(range(run[0], run[-1] + 1))
            run = []
        if own is not None:
            run.append(i)
    if run:
        yield list(range(run[0], run[-1] + 1))


def _beside(mode: Mode, run: list[int], holds: list[Holds | None], statements: list[Stmt]) -> list[int]:
    """The statements that an anchor of a run of operators marks: the run, or the scheduler's own next to it."""
    if mode is Mode.WAITS:
        first = next((i + 1 for i in range(run[0] - 1, -1, -1) if holds[i] is not None), 0)
        return [i for i in range(first, run[0]) if waits(statements[i])]
    if mode is Mode.ARRIVALS:
        last = next((i for i in range(run[-1] + 1, len(holds)) if holds[i] is not None), len(holds))
        return [i for i in range(run[-1] + 1, last) if arrives(statements[i])]
    return run


def _without_notes(statement: Stmt) -> Stmt:
    """The statement with its operators as they were before they bore anything of ours."""
    return _bare(statement) if is_leaf(statement) else rebuild(statement, _without_notes)


def _bare(leaf: Stmt) -> Stmt:
    """The leaf without annotations of ours and without carriers."""
    if not noted_calls(leaf):
        return leaf

    def clean(node: Any) -> Any:
        if not isinstance(node, tirx.Call) or LEAF not in (node.annotations or {}):
            return None
        if node.args and isinstance(node.args[0], tirx.StringImm) and node.args[0].value == CARRIER:
            return node.args[1]
        kept = {name: value for name, value in node.annotations.items() if not name.startswith(ANCHOR)}
        return tirx.Call(node.dtype, node.op, node.args, kept)

    cleaned = ir_transform(leaf, None, clean, ["tirx.Call"])
    return sequence(s for s in flatten(cleaned)) if not isinstance(cleaned, tirx.For) else _drop_nops(cleaned)


def _drop_nops(statement: Stmt) -> Stmt:
    return rebuild(statement, _drop_nops)
