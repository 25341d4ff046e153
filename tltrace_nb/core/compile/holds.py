"""Which markers a statement of the scheduled kernel holds: those whose operators are all in it, in one iteration.

In: a statement of the scheduled PrimFunc, the statements around it, the anchors on its operators. Out: for each marker
a :class:`Hold`. A marker holds on to what is between it and its operators (loops, conditions of the author's), and
stays within what was around it; ``compile.guards`` tells the two apart.
"""

from __future__ import annotations

import itertools
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from tvm import tirx
from tvm.arith import Analyzer
from tvm.ir import Range, structural_equal

from tltrace_nb.core.compile.anchors import ANCHOR, LEAF, Anchor, Mode, Trail, is_leaf
from tltrace_nb.core.compile.guards import Condition, Whose, is_true, match, simplifier
from tltrace_nb.core.compile.ir import Expr, Stmt, children, flatten, post_order_visit, uses, walk
from tltrace_nb.core.compile.numbering import is_site, site_id

ROLE_SCOPE = "kWarpSpecializationScope"
"""Attribute that TileLang puts around the branch of a warp-specialised kernel."""

PRODUCER, CONSUMER = "producer", "consumer"


def role_scopes(func: Any) -> int:
    """How many branches by role a PrimFunc has."""
    return sum(isinstance(s, tirx.AttrStmt) and s.attr_key == ROLE_SCOPE for s, _ in walk(func.body))


Key = tuple[int, Mode]
"""A site and how it stands to its operators."""

Above = tuple[Stmt, ...]
"""The statements around a statement, outermost first."""


@dataclass(frozen=True, slots=True)
class Hold:
    """One marker as a statement holds it.

    ``leaves``: the operators of those that hold it. ``whose``: the conditions around the statement, innermost first, as
    they are to the marker; ``predicate``: that of a
    block inside the statement under which the marker records; ``outside``: it records outside of such a block;
    ``roles``: the roles in whose branches the operators are, empty if they are in none; ``climbed``: whether what holds
    those branches together is between marker and operators.
    """

    anchor: Anchor
    whose: tuple[Whose, ...]
    leaves: frozenset[int]
    predicate: Expr | None = None
    outside: bool = False
    roles: frozenset[str] = frozenset()
    climbed: bool = False

    @property
    def records(self) -> bool:
        """Whether the marker records here, or at another of its operators."""
        return self.anchor.leaf < 0 or self.anchor.leaf in self.leaves

    @property
    def exact(self) -> bool:
        """Whether nothing around the statement is between the marker and its operators."""
        return not {Whose.INNER, Whose.UNKNOWN} & set(self.whose)

    def with_iteration_of(self, other: Hold) -> bool:
        """Whether two statements hold a marker in the same iteration, so that one range may go around both."""
        a, b = self.predicate, other.predicate
        alike = a is b if a is None or b is None else bool(structural_equal(a, b))
        return alike and _same_iteration(self.anchor, other.anchor)


Holds = dict[Key, Hold]


@dataclass(frozen=True, slots=True)
class Holder:
    """What the statements of one scheduled PrimFunc hold."""

    values: dict[Any, Expr]
    ranges: tuple[tuple[Any, Range], ...]
    role: Expr | None
    end_of: Mapping[int, int]
    known: dict[tuple[Stmt, Above], Holds | None] = field(default_factory=dict)

    @classmethod
    def of(cls, func: Any, end_of: Mapping[int, int]) -> Holder:
        """For a scheduled PrimFunc with anchors; ``end_of`` has the site of each range's end."""
        statements = [statement for statement, _ in walk(func.body)]
        extents = [s for s in statements if isinstance(s, tirx.AttrStmt) and s.attr_key == "thread_extent"]
        scopes = [s.body for s in statements if isinstance(s, tirx.AttrStmt) and s.attr_key == ROLE_SCOPE]
        return cls(
            {s.var: s.value for s in statements if isinstance(s, tirx.Bind)},
            tuple((s.node.var, Range(0, s.value)) for s in extents),
            next((branch.condition for branch in scopes if isinstance(branch, tirx.IfThenElse)), None),
            end_of,
        )

    def held(self, statement: Stmt, above: Above) -> Holds | None:
        """The markers that all operators in a statement hold; ``None`` if no operator in it is the author's."""
        key = (statement, above)
        if key not in self.known:
            holds = self._held(statement, above)
            if holds and not is_leaf(statement):
                standing = [site_id(s) for s, _ in walk(statement) if is_site(s)]
                holds = {key: hold for key, hold in holds.items() if self._passes_none(key, standing)}
            self.known[key] = holds
        return self.known[key]

    def _passes_none(self, key: Key, standing: list[int]) -> bool:
        """Whether a marker at the edges of a statement keeps its place among those that stand in it as statements."""
        site, mode = key
        end = self.end_of.get(site)
        first = site if mode is not Mode.AFTER else -1
        last = sys.maxsize if mode is Mode.BEFORE else site if end is None or mode is Mode.AFTER else end
        return all(first < other < last for other in standing)

    def _held(self, statement: Stmt, above: Above) -> Holds | None:
        if is_leaf(statement):
            return self._on_leaf(statement, above)
        inner = (*above, statement)
        parts = [holds for holds in (self.held(child, inner) for child in children(statement)) if holds is not None]
        if not parts:
            return None
        if isinstance(statement, tirx.For):
            return {k: _climb(h) for k, h in _common(parts).items() if not _turns_with(h, statement.loop_var)}
        if isinstance(statement, tirx.While):
            return {k: _climb(_out(h)) for k, h in _common(parts).items() if h.whose[0] is Whose.INNER}
        if isinstance(statement, tirx.IfThenElse):
            return self._out_of_branches(statement, inner)
        if isinstance(statement, tirx.SBlockRealize) and not is_true(statement.predicate):
            return {k: _out_of_block(h, statement.predicate) for k, h in _common(parts).items()}
        return _common(parts)

    def _out_of_branches(self, statement: Any, inner: Above) -> Holds:
        branches = [self.held(case, inner) for case in children(statement)]
        parts = [holds for holds in branches if holds is not None]
        keys = dict.fromkeys(key for holds in parts for key in holds)
        if any(holds[key].whose[0] is Whose.ROLE for holds in parts for key in keys if key in holds):
            roles = self._roles_of(statement.condition)
            named = []
            for case, role in zip(children(statement), roles, strict=False):
                # The scheduler may have moved operators in front of those that hold a marker into the branch.
                held = [self.held(s, in_body(case, inner)) for s in flatten(case)]
                united = _united([holds for holds in held if holds])
                named.append({k: replace(_out(h), roles=frozenset([role]), climbed=False) for k, h in united.items()})
            united = _united(named)
            return {key: _by_role(statement.condition, hold, named, key) for key, hold in united.items()}
        return {k: _climb(_out(h)) for k, h in _common(parts).items() if h.whose[0] is Whose.INNER}

    def _roles_of(self, condition: Expr) -> tuple[str, str]:
        """The roles of the two branches of one of the scheduler's conditions on the role."""
        first = _simplified(condition)
        is_producer = self.role is not None and bool(structural_equal(first, _simplified(self.role)))
        return (PRODUCER, CONSUMER) if is_producer else (CONSUMER, PRODUCER)

    def _on_leaf(self, leaf: Stmt, above: Above) -> Holds | None:
        trail, anchors = read(leaf)
        if trail is None:
            return None
        if not anchors:
            return {}
        conditions = self._conditions(leaf, above)
        loops = [
            (s.loop_var, Range.from_min_extent(s.min, s.extent))
            for s in above
            if isinstance(s, tirx.For) and s.thread_binding is None
        ]
        found = match(trail.guards, conditions, simplifier(self.values, [*self.ranges, *loops]))
        return {
            (anchor.site, anchor.mode): Hold(
                anchor,
                tuple(_whose(f, c, anchor, trail) for f, c in _inside_out(found, conditions)),
                frozenset([trail.number]),
            )
            for anchor in anchors
        }

    def _conditions(self, leaf: Stmt, above: Above) -> list[Condition]:
        """The conditions around an operator, outermost first."""
        found = []
        for outer, inner in itertools.pairwise((*above, leaf)):
            if isinstance(outer, tirx.While):
                found.append(Condition(None))
            elif isinstance(outer, tirx.IfThenElse):
                truth = outer.condition if inner.same_as(outer.then_case) else tirx.Not(outer.condition)
                found.append(Condition(truth, role=self._is_role(truth)))
            elif isinstance(outer, tirx.SBlockRealize) and not is_true(outer.predicate):
                found.append(Condition(outer.predicate))
        return found

    def _is_role(self, condition: Expr) -> bool:
        if self.role is None:
            return False
        either = (_simplified(self.role), _simplified(tirx.Not(self.role)))
        return any(structural_equal(_simplified(condition), role) for role in either)


def in_body(body: Stmt, above: Above) -> Above:
    """What is around the statements of a body, given what is around the body."""
    return (*above, body) if isinstance(body, tirx.SeqStmt) else above


def read(leaf: Stmt) -> tuple[Trail | None, list[Anchor]]:
    """Where an operator stood, ``None`` for one that is the scheduler's, and the anchors that it bears."""
    trail, anchors = None, []
    for call in noted_calls(leaf):
        for name, value in call.annotations.items():
            if name == LEAF:
                trail = Trail.from_annotation(value)
            elif name.startswith(ANCHOR):
                anchors.append(Anchor.from_annotation(name, value))
    return trail, anchors


def noted_calls(leaf: Stmt) -> list[Any]:
    """The calls in an operator that bear annotations of ours."""
    found: list[Any] = []
    post_order_visit(
        leaf, lambda n: found.append(n) if isinstance(n, tirx.Call) and LEAF in (n.annotations or {}) else None
    )
    return found


def _whose(found: int | Whose | None, condition: Condition, anchor: Anchor, trail: Trail) -> Whose:
    """What a condition is to an anchor, given which of the author's it is."""
    if isinstance(found, Whose):
        return found if anchor.guards < len(trail.guards) else Whose.OUTER
    if found is not None:
        return Whose.OUTER if found < anchor.guards else Whose.INNER
    if condition.role:
        return Whose.ROLE
    # The scheduler's own: an iteration of a pipeline may be missing.
    return Whose.INNER if 0 <= len(anchor.loops) <= trail.outside else Whose.OUTER


def _inside_out(found: list[int | Whose | None], conditions: list[Condition]) -> Any:
    return zip(reversed(found), reversed(conditions), strict=True)


def _out(hold: Hold) -> Hold:
    return replace(hold, whose=hold.whose[1:])


def _out_of_block(hold: Hold, predicate: Expr) -> Hold:
    if hold.whose[0] is Whose.INNER:
        return replace(_climb(_out(hold)), outside=True)
    return replace(_out(hold), predicate=predicate)


def _climb(hold: Hold) -> Hold:
    return replace(hold, climbed=True) if hold.roles else hold


def _turns_with(hold: Hold, variable: Any) -> bool:
    return any(uses(e, [variable]) for e in (hold.anchor.payload, hold.anchor.condition, *hold.anchor.loops))


def _common(parts: list[Holds]) -> Holds:
    """What all parts hold, in one iteration and under the same conditions."""
    first, *rest = parts
    found = {}
    for key, hold in first.items():
        others = [part[key] for part in rest if key in part]
        if len(others) == len(rest) and all(hold.with_iteration_of(other) for other in others):
            found[key] = _joined([hold, *others])
    return found


def _united(parts: list[Holds]) -> Holds:
    """What any part holds, if all that hold it do so in one iteration."""
    found = {}
    for key in dict.fromkeys(key for part in parts for key in part):
        first, *others = [part[key] for part in parts if key in part]
        if all(first.with_iteration_of(other) for other in others):
            found[key] = _joined([first, *others])
    return found


def _by_role(condition: Expr, hold: Hold, branches: list[Holds], key: Key) -> Hold:
    """A hold of two roles, in which a payload of the author's thread index is that of each role's own."""
    if not all(key in branch for branch in branches) or len(branches) == 1:
        return hold
    first, second = (branch[key].anchor.payload for branch in branches)
    if structural_equal(first, second):
        return hold
    return replace(hold, anchor=replace(hold.anchor, payload=tirx.Select(condition, first, second)))


def _joined(holds: list[Hold]) -> Hold:
    """Several parts' hold on one marker; where a condition is not the same to all of them, it is unknown."""
    whose = tuple(
        labels[0] if len(set(labels)) == 1 else Whose.UNKNOWN for labels in zip(*(h.whose for h in holds), strict=True)
    )
    return replace(
        holds[0],
        leaves=frozenset().union(*(hold.leaves for hold in holds)),
        whose=whose,
        outside=any(h.outside for h in holds),
        roles=joined_roles(holds),
        climbed=any(h.climbed for h in holds),
    )


def joined_roles(holds: list[Hold]) -> frozenset[str]:
    """The roles that record a marker around several statements; what is in no branch, the consumer records."""
    roles = frozenset().union(*(hold.roles for hold in holds))
    return roles | {CONSUMER} if roles and not all(hold.roles for hold in holds) else roles


def _same_iteration(a: Anchor, b: Anchor) -> bool:
    return len(a.loops) == len(b.loops) and all(
        structural_equal(x, y) or Analyzer().can_prove_equal(x, y) for x, y in zip(a.loops, b.loops, strict=True)
    )


def _simplified(condition: Expr) -> Expr:
    return Analyzer().simplify(condition)
