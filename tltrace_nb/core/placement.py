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
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any

from tvm import tirx
from tvm.arith import Analyzer
from tvm.ir import structural_equal
from tvm.tirx.stmt_functor import ir_transform

from tltrace_nb.core.anchors import ANCHOR, CARRIER, LEAF, Anchor, Mode, is_leaf
from tltrace_nb.core.auto.sync import arrives, waits
from tltrace_nb.core.ir import (
    Stmt,
    children,
    flatten,
    post_order_visit,
    rebuild,
    sequence,
    uses,
    walk,
    with_block,
)
from tltrace_nb.core.numbering import MarkedKernel, is_site, site_id, site_statement
from tltrace_nb.core.sites import EventKind

ROLE_SCOPE = "kWarpSpecializationScope"
"""Attribute that TileLang puts around the branch of a warp-specialised kernel; no range reaches over it."""

_Key = tuple[int, Mode]
_Body = tuple[Stmt, frozenset[_Key]]
"""A body and the anchors that a body around it has placed."""


def place(scheduled: Any, marked: MarkedKernel) -> Any:
    """Turn the anchors of a scheduled PrimFunc into ``__tlt_site`` statements."""
    placer = _Placer(end_of={s.range: s.id for s in marked.sites if s.kind is EventKind.RANGE_END})
    return scheduled.with_body(placer.body(scheduled.body, frozenset()))


def without_anchors(func: Any) -> Any:
    """The PrimFunc without anchors and sites, in a normal form that ``same_schedule`` compares.

    Block access regions are dropped: they follow from the body, and TileLang computes them once per pass.
    """

    def visit(statement: Stmt) -> Stmt:
        if is_site(statement):
            return sequence([])
        bare = _bare(statement) if is_leaf(statement) else rebuild(statement, visit)
        return with_block(bare, reads=[], writes=[]) if isinstance(bare, tirx.SBlock) else bare

    return func.with_body(visit(func.body))


def same_schedule(anchored: Any, bare: Any) -> bool:
    """Whether two scheduled PrimFuncs are the same but for anchors and sites."""
    return bool(structural_equal(without_anchors(anchored), without_anchors(bare), map_free_vars=True))


def sites_in(func: Any) -> set[int]:
    """The sites that a PrimFunc holds, as statements or as anchors; a range's anchor stands for its begin alone."""
    found = {site_id(s) for s, _ in walk(func.body) if is_site(s)}
    for statement, _ in walk(func.body):
        if is_leaf(statement):
            found |= {anchor.site for anchor in _anchors(statement).values()}
    return found


@dataclass(frozen=True, slots=True)
class _Record:
    """A site that is to record at some place, with the payload of that place."""

    site: int
    payload: Any
    condition: Any


_Records = tuple[_Record, ...]


@dataclass(slots=True)
class _Edges:
    """What is to record at the two edges of one statement."""

    front: list[_Record] = field(default_factory=list)
    back: list[_Record] = field(default_factory=list)

    def take(self) -> tuple[_Records, _Records]:
        """Both, in the order of the author's markers, and nothing left."""
        front, back = (tuple(sorted(records, key=lambda record: record.site)) for records in (self.front, self.back))
        self.front, self.back = [], []
        return front, back


@dataclass(frozen=True, slots=True)
class _Placer:
    end_of: dict[int, int]

    def body(self, statement: Stmt, placed: frozenset[_Key], front: _Records = (), back: _Records = ()) -> Stmt:
        """Place in a body all anchors that no body around it has placed, and the records handed in at its two edges."""
        return self._bodies([(statement, placed)], front, back)[0]

    def _bodies(self, bodies: list[_Body], front: _Records = (), back: _Records = ()) -> list[Stmt]:
        """Place in adjacent bodies that TileLang has made out of one of the author's, as if they were one still."""
        parts = [flatten(body) for body, _ in bodies]
        statements = [statement for part in parts for statement in part]
        placed = [keys for part, (_, keys) in zip(parts, bodies, strict=True) for _ in part]
        holds = [_open(_held(s), keys) for s, keys in zip(statements, placed, strict=True)]
        edges = [_Edges() for _ in statements]
        here = [set(keys) for keys in placed]
        authored = [i for i, hold in enumerate(holds) if hold is not None]
        if authored:
            edges[authored[0]].front += front
            edges[authored[-1]].back += back
        for key in sorted({key for hold in holds if hold for key in hold}):
            for run in _runs(key, holds):
                marked = _beside(key[1], run, holds, statements)
                if marked:
                    self._mark(holds[run[0]][key], edges[marked[0]].front, edges[marked[-1]].back)  # type: ignore[index]
                    for i in run:
                        here[i].add(key)
        done = [
            self._with_edges(inner, edge)
            for inner, edge in zip(
                self._insides(statements, [frozenset(keys) for keys in here], edges), edges, strict=True
            )
        ]
        remaining = iter(done)
        return [sequence(itertools.islice(remaining, len(part))) for part in parts]

    def _insides(self, statements: list[Stmt], placed: list[frozenset[_Key]], edges: list[_Edges]) -> Iterator[Stmt]:
        """The statements with their own bodies placed."""
        for group in _split_guards(statements):
            if len(group) == 1:
                (i,) = group
                yield self._inside(statements[i], placed[i], edges[i])
                continue
            bodies = self._bodies([(_guard(statements[i]).then_case, placed[i]) for i in group])
            for i, body in zip(group, bodies, strict=True):
                yield self._around_guard(statements[i], body, edges[i])

    def _around_guard(self, statement: Stmt, body: Stmt, edges: _Edges) -> Stmt:
        """A statement with another body under its ``if``, and its records around that ``if``."""
        if not isinstance(statement, tirx.IfThenElse):
            return rebuild(statement, lambda inner: self._around_guard(inner, body, edges))
        return self._with_edges(rebuild(statement, lambda _: body), edges)

    def _inside(self, statement: Stmt, placed: frozenset[_Key], edges: _Edges) -> Stmt:
        """One statement with its body placed. A block is no step of the program: records go to the operators in it."""
        if is_leaf(statement):
            return _bare(statement)
        if not _is_block(statement):
            return rebuild(statement, lambda body: self.body(body, placed))
        front, back = edges.take()
        if isinstance(statement, tirx.SBlockRealize):
            block = rebuild(statement.block, lambda body: self.body(body, placed, front, back))
            return rebuild(statement, lambda _: block)
        return rebuild(statement, lambda body: self.body(body, placed, front, back))

    def _with_edges(self, statement: Stmt, edges: _Edges) -> Stmt:
        front, back = edges.take()
        return sequence([*map(_statement, front), statement, *map(_statement, back)])

    def _mark(self, anchor: Anchor, front: list[_Record], back: list[_Record]) -> None:
        end = None if anchor.mode in (Mode.BEFORE, Mode.AFTER) else self.end_of.get(anchor.site)
        alone_behind = anchor.mode is not Mode.BEFORE and end is None
        (back if alone_behind else front).append(_Record(anchor.site, anchor.payload, anchor.condition))
        if end is not None:
            back.append(_Record(end, anchor.payload, anchor.condition))


def _statement(record: _Record) -> Stmt:
    site = site_statement(record.site, record.payload)
    always = isinstance(record.condition, tirx.IntImm) and bool(record.condition.value)
    return site if always else tirx.IfThenElse(record.condition, site, None)


def _open(hold: dict[_Key, Anchor] | None, placed: frozenset[_Key]) -> dict[_Key, Anchor] | None:
    """The anchors of a statement that are still to be placed."""
    return None if hold is None else {key: anchor for key, anchor in hold.items() if key not in placed}


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


def _is_block(statement: Stmt) -> bool:
    return isinstance(statement, (tirx.SBlockRealize, tirx.SBlock)) or (
        isinstance(statement, tirx.AttrStmt) and statement.attr_key != ROLE_SCOPE
    )


def _runs(key: _Key, holds: list[dict[_Key, Anchor] | None]) -> Iterator[list[int]]:
    """Runs of statements that all hold one anchor in one iteration; the scheduler's own may stand between."""
    run: list[int] = []
    for i, hold in enumerate(holds):
        if hold is None:
            continue
        anchor = hold.get(key)
        if run and (anchor is None or not _same_iteration(holds[run[0]][key], anchor)):  # type: ignore[index]
            yield list(range(run[0], run[-1] + 1))
            run = []
        if anchor is not None:
            run.append(i)
    if run:
        yield list(range(run[0], run[-1] + 1))


def _beside(mode: Mode, run: list[int], holds: list[dict[_Key, Anchor] | None], statements: list[Stmt]) -> list[int]:
    """The statements that an anchor of a run of operators marks: the run, or the scheduler's own next to it."""
    if mode is Mode.WAITS:
        first = next((i + 1 for i in range(run[0] - 1, -1, -1) if holds[i] is not None), 0)
        return [i for i in range(first, run[0]) if waits(statements[i])]
    if mode is Mode.ARRIVALS:
        last = next((i for i in range(run[-1] + 1, len(holds)) if holds[i] is not None), len(holds))
        return [i for i in range(run[-1] + 1, last) if arrives(statements[i])]
    return run


def _held(statement: Stmt) -> dict[_Key, Anchor] | None:
    """The anchors that all operators in a statement hold, in one iteration; ``None`` if no operator is the author's."""
    if is_leaf(statement):
        anchors = _anchors(statement)
        return anchors if anchors or _is_tagged(statement) else None
    if isinstance(statement, tirx.AttrStmt) and statement.attr_key == ROLE_SCOPE:
        return {} if any(_held(s) is not None for s in children(statement)) else None
    parts = [held for held in map(_held, children(statement)) if held is not None]
    if not parts:
        return None
    common = {
        key: anchor
        for key, anchor in parts[0].items()
        if all(key in other and _same_iteration(anchor, other[key]) for other in parts[1:])
    }
    if isinstance(statement, tirx.For):
        variable = [statement.loop_var]
        return {k: a for k, a in common.items() if not any(uses(e, variable) for e in (a.payload, *a.loops))}
    if isinstance(statement, (tirx.IfThenElse, tirx.While)):
        return {k: replace(a, guards=a.guards - 1) for k, a in common.items() if a.guards > 0}
    return common


def _same_iteration(a: Anchor, b: Anchor) -> bool:
    return len(a.loops) == len(b.loops) and all(
        structural_equal(x, y) or Analyzer().can_prove_equal(x, y) for x, y in zip(a.loops, b.loops, strict=True)
    )


def _calls(leaf: Stmt) -> list[Any]:
    found: list[Any] = []
    post_order_visit(
        leaf, lambda n: found.append(n) if isinstance(n, tirx.Call) and LEAF in (n.annotations or {}) else None
    )
    return found


def _is_tagged(leaf: Stmt) -> bool:
    return bool(_calls(leaf))


def _anchors(leaf: Stmt) -> dict[_Key, Anchor]:
    anchors = {}
    for call in _calls(leaf):
        for name, value in call.annotations.items():
            if name.startswith(ANCHOR) and name != LEAF:
                anchor = Anchor.from_annotation(name, value)
                anchors[anchor.site, anchor.mode] = anchor
    return anchors


def _bare(leaf: Stmt) -> Stmt:
    """The leaf without annotations of ours and without carriers."""
    if not _calls(leaf):
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
