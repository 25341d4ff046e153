"""Which of the conditions around an operator are whose, once TileLang has scheduled the kernel.

In: the conditions that stood around an operator in the author's kernel, which ride on it in a form that the scheduler
rewrites but cannot prove away, and the conditions that stand around it now. Out: for each condition that stands around
it now the condition of the author's that it is, if it is one.

TileLang proves conditions, peels them off with an iteration, and adds its own, for the iterations of a pipeline that do
not exist and for the roles of a specialised kernel. Counting them tells nothing. A condition is therefore taken along
in parts, ``a < b + 1`` as ``("LT", a, ("Add", b, 1))``: inside its own ``if`` the simplifier would prove it, variables
and loads it rewrites as it does those of the ``if``.
"""

from __future__ import annotations

import enum
import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import tilelang  # noqa: F401  (puts the tvm that TileLang bundles on the path)
from tvm import tirx
from tvm.arith import Analyzer
from tvm.ir import Op, structural_equal

from tltrace_nb.core.compile.ir import Expr

_WHILE = "while"
_OPAQUE = "opaque"
_TRUTH = "truth"
_TUPLE = Op.get("tirx.tvm_tuple")
_BINARY: dict[str, Callable[[Expr, Expr], Expr]] = {
    kind.__name__: kind
    for kind in (
        tirx.LT, tirx.LE, tirx.GT, tirx.GE, tirx.EQ, tirx.NE, tirx.And, tirx.Or,
        tirx.Add, tirx.Sub, tirx.Mul, tirx.Div, tirx.Mod, tirx.FloorDiv, tirx.FloorMod, tirx.Min, tirx.Max,
    )
}  # fmt: skip


class Whose(enum.Enum):
    """What a condition around an operator is to a marker that rides on the operator.

    ``INNER``: it stands between marker and operator, so the marker records outside of it. ``OUTER``: it is around both.
    ``ROLE``: the scheduler's, for the threads of one role. ``UNKNOWN``: it may be either.
    """

    INNER = "inner"
    OUTER = "outer"
    ROLE = "role"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Condition:
    """What holds where an operator is, as the scheduled kernel has it: ``None`` for that of a ``while`` loop.

    ``role``: whether it tells the roles of a specialised kernel apart.
    """

    holds: Expr | None
    role: bool = False


def encoded(condition: Expr | None, opaque: bool = False) -> Expr:
    """A condition in the form in which it rides on an operator; ``None`` for that of a ``while`` loop.

    ``opaque``: only that there is one, as reading what it reads would be work for the scheduler.
    """
    if condition is None:
        return _tuple(_WHILE)
    if opaque:
        return _tuple(_OPAQUE)
    return _parts(condition)


def _parts(e: Expr) -> Expr:
    kind = type(e).__name__
    if kind in _BINARY:
        return _tuple(kind, _parts(e.a), _parts(e.b))
    if kind == "Not":
        return _tuple(kind, _parts(e.a))
    if kind == "Cast":
        return _tuple(kind, tirx.StringImm(str(e.dtype)), _parts(e.value))
    return _tuple(_TRUTH, tirx.Cast("int32", e)) if str(e.dtype) == "bool" else e


def match(
    guards: Sequence[Expr], conditions: Sequence[Condition], simplified: Callable[[Expr], Expr]
) -> list[int | Whose | None]:
    """For each condition the index of the author's guard that it is, both from the outermost in; ``None`` for none.

    ``guards`` are ``encoded``. The order is kept, as many as possible are matched, and of two that are the same the
    outer one is taken. A guard without condition is gone if it is always true. If it is not, the conditions in its
    place are ``Whose.UNKNOWN``, but for guards that nobody can prove and that are as many as the conditions.
    """
    authors = [_condition(guard) for guard in guards]
    same = [[_same(author, condition, simplified) for condition in conditions] for author in authors]
    found: list[int | Whose | None] = [*_longest(same)] if guards else [None] * len(conditions)
    matched = [(g, c) for c, g in enumerate(found) if isinstance(g, int)]
    for (g0, c0), (g1, c1) in itertools.pairwise([(-1, -1), *matched, (len(guards), len(conditions))]):
        missing = [g for g in range(g0 + 1, g1) if not _always(authors[g], simplified)]
        left = [c for c in range(c0 + 1, c1) if not conditions[c].role]
        hidden = all(isinstance(authors[g], str) for g in missing) and len(missing) == len(left)
        for i, c in enumerate(left if missing else ()):
            found[c] = missing[i] if hidden else Whose.UNKNOWN
    return found


def _always(author: Any, simplified: Callable[[Expr], Expr]) -> bool:
    return not isinstance(author, str) and is_true(simplified(author))


def is_true(condition: Expr) -> bool:
    """Whether a condition is the constant."""
    return isinstance(condition, tirx.IntImm) and bool(condition.value)


def _longest(same: list[list[bool]]) -> list[int | None]:
    """The longest common subsequence of guards (rows) and conditions (columns); columns' partners, early rows first."""
    rows, columns = len(same), len(same[0]) if same else 0
    best = [[0] * (columns + 1) for _ in range(rows + 1)]
    for g in range(rows - 1, -1, -1):
        for c in range(columns - 1, -1, -1):
            best[g][c] = 1 + best[g + 1][c + 1] if same[g][c] else max(best[g + 1][c], best[g][c + 1])
    found: list[int | None] = [None] * columns
    g = c = 0
    while g < rows and c < columns:
        if same[g][c]:
            found[c] = g
            g, c = g + 1, c + 1
        elif best[g][c + 1] >= best[g + 1][c]:
            c += 1
        else:
            g += 1
    return found


def _same(author: Any, condition: Condition, simplified: Callable[[Expr], Expr]) -> bool:
    if isinstance(author, str) or condition.holds is None:
        return isinstance(author, str) and author == _WHILE and condition.holds is None
    if isinstance(author, tirx.EQ) and isinstance(author.a, tirx.IntImm) and isinstance(author.b, tirx.IntImm):
        # Inside of an ``if`` on equality the scheduler puts the one side for the other.
        holds = condition.holds
        sides = (holds.a, holds.b) if isinstance(holds, tirx.EQ) else ()
        return any(isinstance(side, tirx.IntImm) and int(side) == int(author.a) == int(author.b) for side in sides)
    return bool(structural_equal(simplified(author), simplified(condition.holds)))


def _condition(guard: Any) -> Any:
    """The condition that an ``encoded`` one stands for, or ``_WHILE`` or ``_OPAQUE``."""
    kind = str(guard.args[0].value)
    return kind if kind in (_WHILE, _OPAQUE) else decoded(guard)


def decoded(e: Any) -> Any:
    """The expression that was ``encoded``; any other as it is."""
    if not (isinstance(e, tirx.Call) and e.op.same_as(_TUPLE)):
        return e
    name, parts = str(e.args[0].value), e.args[1:]
    if name in _BINARY:
        return _BINARY[name](*map(decoded, parts))
    if name == "Not":
        return tirx.Not(decoded(parts[0]))
    if name == "Cast":
        return tirx.Cast(str(parts[0].value), decoded(parts[1]))
    (truth,) = parts
    return truth.value if isinstance(truth, tirx.Cast) else truth != 0


def _tuple(name: str, *parts: Expr) -> Expr:
    return tirx.Call("handle", _TUPLE, [tirx.StringImm(name), *parts])


def simplifier(values: dict[Any, Expr], ranges: Sequence[tuple[Any, Any]]) -> Callable[[Expr], Expr]:
    """A function that writes conditions in one form: with ``values`` for variables, simplified within ``ranges``."""
    analyzer = Analyzer()
    for variable, extent in ranges:
        analyzer.bind(variable, extent)

    def simplified(condition: Expr) -> Expr:
        return analyzer.simplify(tirx.stmt_functor.substitute(condition, values) if values else condition)

    return simplified
