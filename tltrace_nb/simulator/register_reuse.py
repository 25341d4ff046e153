"""Which elements of global memory a thread has in a register, because it loaded or stored them before.

In: the loads and stores of a program in their order, and the branches and unrolled loops around them. Out: whether a
load goes to memory. A compiler sees the same; what it cannot know, such as whether two pointers are apart, is left out.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from tvm import tirx
from tvm.arith import Analyzer
from tvm.ir import structural_equal

from tltrace_nb.core.compile.ir import Expr, substitute, uses

UNROLLED = 32
"""The longest loop of which every turn's elements are known to stay in registers."""


@dataclass(frozen=True)
class _Held:
    """An element, by its flat index, and the cases of branches in which it came into its register."""

    data: Any
    place: Expr
    conditions: tuple[tuple[Expr, bool], ...]


class InHand:
    """What the threads of a launch hold, while its program is written."""

    def __init__(self) -> None:
        self._held: list[_Held] = []
        self._conditions: tuple[tuple[Expr, bool], ...] = ()
        self._unrolled: dict[Any, int] = {}
        self._analyzer = Analyzer()

    def __call__(self, buffer: Any, way: str, indices: list[Expr]) -> bool:
        """Note a "load" or a "store" of an element; whether it is a load that finds its element in a register."""
        places = self._places(buffer, indices)
        known = all(any(self._holds(held, buffer, place) for held in self._held) for place in places)
        if way == "store":
            self._held = [h for h in self._held if not h.data.same_as(buffer.data) or self._apart(h.place, places)]
        if way == "store" or not known:
            self._held += [_Held(buffer.data, place, self._conditions) for place in places]
        return known and way != "store"

    @contextlib.contextmanager
    def case(self, condition: Expr, then: bool) -> Iterator[None]:
        """One case of a branch: what threads load there, they hold only where it is the case."""
        self._conditions = (*self._conditions, (condition, then))
        try:
            yield
        finally:
            self._conditions = self._conditions[:-1]

    def note_unrolled(self, loop: Any) -> None:
        """A loop that compilers unroll: each of its turns has registers of its own."""
        few = isinstance(loop.extent, tirx.IntImm) and int(loop.extent) <= UNROLLED
        if loop.kind == tirx.ForKind.UNROLLED and few:
            self._unrolled[loop.loop_var] = int(loop.extent)

    def _holds(self, held: _Held, buffer: Any, place: Expr) -> bool:
        return (
            held.data.same_as(buffer.data)
            and structural_equal(held.place, place)
            and all(self._is_the_case(condition, then) for condition, then in held.conditions)
        )

    def _is_the_case(self, condition: Expr, then: bool) -> bool:
        return any(then is truth and structural_equal(condition, here) for here, truth in self._conditions)

    def _apart(self, place: Expr, others: list[Expr]) -> bool:
        return all(self._analyzer.can_prove(place != other) for other in others)

    def _places(self, buffer: Any, indices: list[Expr]) -> list[Expr]:
        """Flat indices: one, or those of all turns of an unrolled loop."""
        flat: Expr = tirx.IntImm("int32", 0)
        for index, extent in zip(indices, buffer.shape if len(indices) > 1 else [1], strict=True):
            flat = flat * extent + _narrow(index)
        loop = next((v for v in self._unrolled if uses(flat, [v])), None)
        turns: list[dict[Any, int]] = [{}] if loop is None else [{loop: t} for t in range(self._unrolled[loop])]
        return [self._analyzer.simplify(substitute(flat, turn)) for turn in turns]


def _narrow(e: Any) -> Any:
    """An index as 32-bit arithmetic, without casts of integers; for comparing indices, not for computing them."""
    match e:
        case tirx.Cast() if "int" in str(e.value.dtype):
            return _narrow(e.value)
        case tirx.IntImm():
            return tirx.IntImm("int32", (int(e) + 2**31) % 2**32 - 2**31)
        case tirx.Add() | tirx.Sub() | tirx.Mul():
            return type(e)(_narrow(e.a), _narrow(e.b))
        case _:
            kind, of, lanes = str(e.dtype).partition("x")
            return e if kind == "int32" else tirx.Cast(f"int32{of}{lanes}", e)
