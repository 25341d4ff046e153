"""What a program says of itself: the comment lines at its top.

In: the path of a script. Out: :class:`Program`. ``README.md`` describes the lines.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path

SCRIPTS = Path(__file__).with_name("scripts")

AUTO, MARKED = "auto", "marked"
"""What a prediction is of: markers that ``--auto`` sets, or the author's own."""


@dataclass(frozen=True, slots=True)
class Count:
    """A number, or at least that number."""

    least: int
    exact: bool

    @classmethod
    def of(cls, text: str) -> Count:
        return cls(int(text.removesuffix("+")), not text.endswith("+"))

    def allows(self, number: int) -> bool:
        return number == self.least if self.exact else number >= self.least

    def __str__(self) -> str:
        return f"{self.least}" if self.exact else f"{self.least} or more"


@dataclass(frozen=True, slots=True)
class Prediction:
    """What a trace of a kernel holds: ``ctas``, and events by a pattern of their names; ``launches`` of it there are.

    ``kind`` is ``AUTO`` or ``MARKED``. A kernel that is launched with several grids has a prediction for each.
    """

    kind: str
    kernel: str
    launches: Count
    ctas: Count
    events: tuple[tuple[str, Count], ...]

    def differences(self, ctas: int, names: dict[str, int]) -> list[str]:
        """What a trace with so many CTAs and so many events by name has otherwise; empty when it is as predicted."""
        found = [] if self.ctas.allows(ctas) else [f"ctas: {ctas}, not {self.ctas}"]
        for pattern, count in self.events:
            number = sum(n for name, n in names.items() if fnmatchcase(name, pattern))
            if not count.allows(number):
                found.append(f"{pattern!r}: {number}, not {count}")
        return found


@dataclass(frozen=True, slots=True)
class Program:
    """A script: whether it also takes a device, how it is started, how it ends, its kernels, what it predicts."""

    path: Path
    either: bool
    module: bool
    arguments: tuple[str, ...]
    exit: int
    varies: tuple[str, ...]
    builds: tuple[str, ...]
    predictions: tuple[Prediction, ...]

    @property
    def name(self) -> str:
        return self.path.stem

    @property
    def marked(self) -> bool:
        """Whether the author has set markers."""
        return any(prediction.kind == MARKED for prediction in self.predictions)

    def __str__(self) -> str:
        return self.name


class HeaderError(ValueError):
    """A header that cannot be read; the message names the file and the line."""


def programs(names: tuple[str, ...] = ()) -> list[Program]:
    """The programs of these names, by default all, in alphabetical order. Raises ``KeyError`` for an unknown one."""
    found = {path.stem: path for path in sorted(SCRIPTS.glob("*.py"))}
    return [read(found[name]) for name in names or found]


def read(path: Path) -> Program:
    """Read the header of a script."""
    given: dict[str, list[str]] = {"device": [], "run": [], "exit": [], "varies": [], "build": []}
    predictions = []
    for number, line in _lines(path):
        key, colon, value = line.partition(":")
        kind, _, kernel = key.partition(" ")
        try:
            if kind in (AUTO, MARKED) and kernel and colon:
                predictions.append(_prediction(kind, kernel, value))
            elif key in given and colon:
                given[key].append(value.strip())
            else:
                raise ValueError(f"{key!r} is none of {', '.join(given)}, 'auto KERNEL', 'marked KERNEL'")
        except ValueError as error:
            raise HeaderError(f"{path}:{number}: {error}") from None
    if given["device"] not in (["card"], ["either"]):
        raise HeaderError(f"{path}: say '# device: card' or '# device: either'")
    words = shlex.split(" ".join(given["run"]))
    return Program(
        path=path,
        either=given["device"] == ["either"],
        module=words[:1] == ["-m"],
        arguments=tuple(words),
        exit=int(given["exit"][0]) if given["exit"] else 0,
        varies=tuple(given["varies"]),
        builds=tuple(given["build"]),
        predictions=tuple(predictions),
    )


def _lines(path: Path) -> Iterator[tuple[int, str]]:
    """The comment lines before the first line that is none, without their ``#``."""
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        if not line.startswith("#"):
            return
        yield number, line.removeprefix("#").strip()


def _prediction(kind: str, kernel: str, text: str) -> Prediction:
    counts = {}
    for item in shlex.split(text):
        name, equals, count = item.rpartition("=")
        if not equals:
            raise ValueError(f"{item!r} is not NAME=COUNT")
        counts[name] = Count.of(count)
    launches, ctas = counts.pop("launches", Count(1, False)), counts.pop("ctas", Count(1, False))
    return Prediction(kind, kernel, launches, ctas, tuple(counts.items()))
