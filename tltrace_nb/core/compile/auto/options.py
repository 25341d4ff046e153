"""What automatic markers are asked for: which operators, and which not.

In: short strings, as the author writes them. Out: :class:`AutoOptions`, hashable, a part of ``TraceOptions``.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any, Union

from tltrace_nb.base.checks import checked, text, wrong

LIGHT, ALL = "light", "all"

KINDS = ("copy", "gemm", "reduce", "fill", "parallel", "atomic", "wait", "arrive", "loop", "other")
"""What automatic markers tell apart: tile operators by what they do, data-parallel loops (``parallel``), waits for and
arrivals at barriers and groups, those of TileLang's scheduler too, and serial and pipelined loops."""

Auto = Union[bool, str, Iterable[str], "AutoOptions", None]
"""What ``auto=`` takes: yes or no, ``on=`` alone, or all of it."""

_IS_PATTERN = re.compile(r"[\s*?\[]")


@dataclass(frozen=True, slots=True)
class AutoOptions:
    """Which operators get automatic markers; each entry is a preset, a kind, or a pattern of names.

    ``on``: ``"light"`` (default) marks everything, but in an innermost loop only what is cheap there, copies between
    global and shared memory as ranges, products and the arrival of asynchronous copies as instants. ``"all"`` gives
    every operator, wait and arrival a range. Or kinds, such as ``"copy"``, and patterns of names, such as
    ``"gemm A_shared*"``. ``ignore``: kinds and patterns that are left out again.
    """

    on: tuple[str, ...] = (LIGHT,)
    ignore: tuple[str, ...] = ()

    @classmethod
    def of(cls, auto: Auto, ignore: str | Iterable[str] = (), *, argument: str = "auto") -> AutoOptions | None:
        """Options from plain values, ``None`` for no automatic markers; strings may list several, ``"copy, gemm"``.

        Raises ``ValueError`` or ``TypeError`` for what is none of them, naming the right ones and the ``argument``.
        """
        if isinstance(auto, AutoOptions):
            return auto
        if auto is None or auto is False:
            return None
        if auto is True:
            auto = LIGHT
        return cls(_entries(argument, auto, (LIGHT, ALL, *KINDS)), _entries("ignore", ignore, KINDS))

    @property
    def light(self) -> bool:
        """Whether expensive places are to be marked lightly."""
        return LIGHT in self.on

    @checked(kind=text, name=text)
    def wants(self, kind: str, name: str) -> bool:
        """Whether an operator of this kind and name is asked for."""
        everything = LIGHT in self.on or ALL in self.on
        return (everything or _matches(self.on, kind, name)) and not _matches(self.ignore, kind, name)

    @checked(kind=text, name=text)
    def names(self, kind: str, name: str) -> bool:
        """Whether an operator is asked for by its kind or name, not by a preset alone."""
        return _matches(self.on, kind, name)


def _matches(entries: tuple[str, ...], kind: str, name: str) -> bool:
    return any(entry == kind or fnmatchcase(name, entry) for entry in entries)


def _entries(option: str, given: Any, right: tuple[str, ...]) -> tuple[str, ...]:
    if isinstance(given, bytes):
        wrong(option, given, _way(right), TypeError)
    try:
        entries = given.split(",") if isinstance(given, str) else list(given)
    except TypeError:
        wrong(option, given, _way(right), TypeError)
    found = []
    for entry in entries:
        text = entry.strip() if isinstance(entry, str) else ""
        if text not in right and not _IS_PATTERN.search(text):
            wrong(option, entry, _way(right))
        found.append(text)
    if LIGHT in right and not found:
        wrong(option, given, _way(right))
    return tuple(dict.fromkeys(found))


def _way(right: tuple[str, ...]) -> str:
    return f"{', '.join(map(repr, right))}, several of them, or a pattern of names such as 'copy A*'"


WAYS = _way((LIGHT, ALL, *KINDS))
"""What ``on=`` takes, in words."""
