"""Automatic markers that cannot be kept in place are left out; those of the author are refused.

In: a PrimFunc with automatic markers among its placeholders, and its schedule without them. Out: the most of them that
TileLang's schedule has places for, and a note of what was left out.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tltrace_nb.core.compile.carried import is_marker
from tltrace_nb.core.compile.dry_run import Placed, placed
from tltrace_nb.core.compile.ir import Stmt, rebuild, sequence, walk
from tltrace_nb.core.compile.markers import Flow, Marker, Over, read_marker
from tltrace_nb.core.compile.schedule import Scheduler


def with_most_markers(func: Any, bare: Any, scheduler: Scheduler) -> tuple[Placed, str]:
    """The kernel with as few automatic markers left out as possible, and a note on those, empty where all stay.

    Raises what ``placed`` raises for the kernel without automatic markers.
    """
    automatic = [marker for marker in _markers(func) if marker.automatic]
    ranges = list(dict.fromkeys(marker.range for marker in automatic))

    def only(kept: list[int]) -> Any:
        return _without(func, set(ranges) - set(kept))

    def tried(kept: list[int]) -> Placed | None:
        try:
            return placed(only(kept), bare, scheduler)
        except Exception:  # TileLang's errors are of many kinds, and without the markers it may have none
            return None

    kept, found = ranges, tried(ranges)
    if found is None:
        placed(only([]), bare, scheduler)  # the author's own have places
        kept = _most(ranges, lambda some: tried(some) is not None)
        found = placed(only(kept), bare, scheduler)
    silent = {m.range for i, m in enumerate(_markers(only(kept))) if m.automatic and i not in found.sites}
    if silent:
        kept = [number for number in kept if number not in silent]
        found = placed(only(kept), bare, scheduler)
    gone = [m for m in automatic if m.range not in kept and m.over is Over.STATEMENTS]
    names = list(dict.fromkeys(f"{marker.name} ({marker.source})" for marker in gone))
    note = f"automatic markers left out, as TileLang's schedule has no place for them: {', '.join(names)}"
    return found, note if names else ""


def _most(numbers: list[int], works: Callable[[list[int]], bool]) -> list[int]:
    """As many of the numbers as work together, found by halving."""
    if not numbers or works(numbers):
        return numbers
    if len(numbers) == 1:
        return []
    middle = len(numbers) // 2
    first = _most(numbers[:middle], works)
    second = _most(numbers[middle:], lambda some: works([*first, *some]))
    return [*first, *second]


def _markers(func: Any) -> list[Marker]:
    """The markers of a PrimFunc in order of appearance, as its sites are numbered."""
    found = [read_marker(statement)[0] for statement, _ in walk(func.body) if is_marker(statement)]
    return [marker for marker in found if not isinstance(marker, Flow)]


def _without(func: Any, numbers: set[int]) -> Any:
    """The PrimFunc without some of its automatic markers, and without arrows that have lost an end by that."""
    if not numbers:
        return func
    names = {marker.name for marker in _markers(func) if not (marker.automatic and marker.range in numbers)}

    def goes(found: Marker | Flow) -> bool:
        lost = not {found.src, found.dst} <= names if isinstance(found, Flow) else found.range in numbers
        return found.automatic and lost

    def visit(statement: Stmt) -> Stmt:
        if is_marker(statement):
            return sequence([]) if goes(read_marker(statement)[0]) else statement
        return rebuild(statement, visit)

    return func.with_body(visit(func.body))
