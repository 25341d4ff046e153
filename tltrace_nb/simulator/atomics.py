"""Atomic updates of single elements as lines of Python.

In: a call ``atomic_*`` and its place. Out: the text of a call of ``values.atomic``.
"""

from __future__ import annotations

from typing import Any

from tvm import tirx

from tltrace_nb.core.compile.ir import Expr
from tltrace_nb.simulator.costs import Unit
from tltrace_nb.simulator.writing import Place, Writer

_ATOMICS = ("add", "max", "min", "or", "and", "load", "store", "exch", "addx2", "addx4")


class Atomics:
    """The atomic operators of a program's writer."""

    def __init__(self, writer: Writer):
        self._w = writer

    def __call__(self, name: str, call: Any, place: Place) -> str | None:
        """The text of an atomic update of single elements, ``None`` if it is not one that is known."""
        w = self._w
        parts = name.removeprefix("atomic_").split("_")
        returns = "ret" in parts
        pointer = call.args[0]
        if parts[0] not in _ATOMICS:
            return None
        buffer, indices = self.pointer(pointer)
        target = w.buffer(buffer, call)
        index = w.expressions.index(indices, place)
        lanes = w.expressions.shape(place)
        w.tally.add(Unit.GLOBAL if str(buffer.scope()) == "global" else Unit.SHARED, w.item_bytes(buffer))
        if parts[0] == "load":
            return f"{target}.gather({place.mask}, {index})"
        if parts[0] in ("addx2", "addx4"):
            source, at = self.pointer(call.args[1])
            if returns:
                return None
            for step in range(int(parts[0][-1])):
                last = [*indices[:-1], indices[-1] + step]
                value = w.expressions(tirx.BufferLoad(source, [*at[:-1], at[-1] + step]), place)
                if w.needed(buffer):
                    moved = w.expressions.index(last, place)
                    w.line(f"atomic({target}, 'add', {value}, {place.mask}, {lanes}, False, {moved})")
            return "pass"
        value = w.expressions(call.args[1], place)
        if parts[0] == "store":
            return f"{target}.scatter({value}, {place.mask}, {index})"
        if not w.needed(buffer) and not returns:
            return "pass"
        return f"atomic({target}, {parts[0]!r}, {value}, {place.mask}, {lanes}, {returns}, {index})"

    def pointer(self, e: Any) -> tuple[Any, list[Expr]]:
        """(buffer, indices) of a pointer to an element."""
        if isinstance(e, tirx.Call) and str(e.op.name) in ("tl.access_ptr", "tirx.address_of"):
            e = e.args[0]
        if not isinstance(e, tirx.BufferLoad):
            raise self._w.unsupported("a pointer that is no element of a buffer", e)
        return e.buffer, list(e.indices)
