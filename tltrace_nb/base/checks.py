"""What arguments may be, and what is said of one that may not: one line with its name, what came and what may come.

In: the name and the value of an argument. Out: the value as the function takes it, or ``ValueError`` or ``TypeError``.
A *check* is a function of the two; :func:`checked` runs those of a function whenever it is called.
"""

from __future__ import annotations

import contextlib
import functools
import inspect
import math
import operator
import os
import reprlib
from collections.abc import Callable, Iterable, Mapping
from pathlib import PurePath
from typing import Any, NoReturn, ParamSpec, TypeVar

Check = Callable[[str, Any], Any]
P = ParamSpec("P")
R = TypeVar("R")

_PLAIN = (PurePath, str, bytes, int, float, type(None), list, tuple, dict, set, frozenset, range, slice)
"""Types whose values are told; of others the type is."""
_CHARS = 60


class _Short(reprlib.Repr):
    """Values in a few characters."""

    def __init__(self) -> None:
        super().__init__()
        self.maxlist = self.maxtuple = self.maxdict = self.maxset = 4
        self.maxstring = self.maxlong = self.maxother = _CHARS

    def repr1(self, x: Any, level: int) -> str:
        return super().repr1(x, level) if isinstance(x, _PLAIN) else f"<{type(x).__name__}>"


def short(value: Any) -> str:
    """The value on a part of a line, whatever it is: what came, as a message says it."""
    with contextlib.suppress(Exception):  # a whole number of 5,000 digits has no repr
        return _Short().repr(value).encode("utf-8", "backslashreplace").decode()
    return f"<{type(value).__name__}>"


def wrong(name: str, value: Any, may: str, error: type[Exception] = ValueError) -> NoReturn:
    """Raise ``error``, which says that ``value`` came and ``may`` may come."""
    raise error(f"{name}={short(value)}: give {may}") from None


def checked(**checks: Check) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Have a function's arguments checked when it is called; defaults are right."""

    def decorate(function: Callable[P, R]) -> Callable[P, R]:
        signature = inspect.signature(function)
        assert checks.keys() <= signature.parameters.keys(), function

        @functools.wraps(function)
        def call(*args: P.args, **kwargs: P.kwargs) -> R:
            bound = signature.bind(*args, **kwargs)
            for name in bound.arguments.keys() & checks.keys():
                value = bound.arguments[name]
                if value is not signature.parameters[name].default:
                    bound.arguments[name] = checks[name](name, value)
            return function(*bound.args, **bound.kwargs)

        return call

    return decorate


# ---- checks


def whole(least: int, may: str | None = None, most: int | None = None) -> Check:
    """A whole number, at least ``least`` and at most ``most``."""
    described = may or f"a whole number, at least {least}" + ("" if most is None else f" and at most {most}")

    def check(name: str, value: Any) -> int:
        if isinstance(value, bool) or not hasattr(value, "__index__"):
            wrong(name, value, described, TypeError)
        with contextlib.suppress(TypeError):  # an array has an index, if it is of one element
            number = operator.index(value)
            if number < least or (most is not None and number > most):
                wrong(name, value, described)
            return number
        wrong(name, value, described, TypeError)

    return check


def number(
    least: float = -math.inf, may: str | None = None, *, above: float = -math.inf, most: float = math.inf
) -> Check:
    """A finite number, at least ``least``, more than ``above`` and at most ``most``."""
    bound = f", more than {above}" if above > -math.inf else f", at least {least}" if least > -math.inf else ""
    described = may or f"a number{bound}"

    def check(name: str, value: Any) -> float:
        if isinstance(value, bool | str | bytes) or not (hasattr(value, "__float__") or hasattr(value, "__index__")):
            wrong(name, value, described, TypeError)
        try:
            real = float(value)
        except TypeError:
            wrong(name, value, described, TypeError)
        except (ValueError, OverflowError):
            wrong(name, value, described)
        if not (math.isfinite(real) and least <= real <= most and real > above):
            wrong(name, value, described)
        return real

    return check


def one_of(options: Iterable[str]) -> Check:
    """One of a few words."""
    words = tuple(map(str, options))
    described = f"one of {', '.join(map(repr, words))}"

    def check(name: str, value: Any) -> Any:
        if not isinstance(value, str):
            wrong(name, value, described, TypeError)
        if value not in words:
            wrong(name, value, described)
        return value

    return check


def a(types: type | tuple[type, ...], may: str) -> Check:
    """A value of a type."""

    def check(name: str, value: Any) -> Any:
        if not isinstance(value, types):
            wrong(name, value, may, TypeError)
        return value

    return check


def called(may: str = "a function") -> Check:
    """Something that can be called."""

    def check(name: str, value: Any) -> Any:
        if not callable(value):
            wrong(name, value, may, TypeError)
        return value

    return check


def optional(check: Check) -> Check:
    """The same, or ``None``."""

    def check_or_none(name: str, value: Any) -> Any:
        return None if value is None else check(name, value)

    return check_or_none


def listed(check: Check, may: str) -> Check:
    """Several values, each of which passes ``check``, as a tuple."""

    def check_each(name: str, value: Any) -> tuple[Any, ...]:
        if isinstance(value, str | bytes | Mapping):
            wrong(name, value, may, TypeError)
        try:
            values = tuple(value)
        except TypeError:
            wrong(name, value, may, TypeError)
        return tuple(check(f"{name}[{place}]", each) for place, each in enumerate(values))

    return check_each


text = a(str, "text")
cycles = number(0, "cycles, not negative", most=1 << 50)
flag = a(bool, "True or False")
mapping = a(Mapping, "a dictionary")
pixels = whole(10, "pixels, 10 to 100000", 100_000)
NAMES = "a name, a pattern such as 'wait *', or a list of them"


def names(name: str, value: Any) -> tuple[str, ...]:
    """A name or several, as a tuple."""
    return (value,) if isinstance(value, str) else listed(a(str, NAMES), NAMES)(name, value)


def file(name: str, value: Any) -> Any:
    """The name of a file, or of a folder."""
    described = "the name of a file"
    if not isinstance(value, str | os.PathLike):
        wrong(name, value, described, TypeError)
    try:
        encoded = os.fsencode(value)
    except UnicodeEncodeError:
        wrong(name, value, described)
    if not encoded or b"\0" in encoded:
        wrong(name, value, described)
    return value


def stem(name: str, value: Any) -> Any:
    """The name of a file without its folder and its extension."""
    described = "the name of a file, without folder and extension"
    if not isinstance(value, str):
        wrong(name, value, described, TypeError)
    if not value or "/" in value or value in {".", ".."}:
        wrong(name, value, described)
    return file(name, value)


def tensors(name: str, value: Any) -> tuple[Any, ...]:
    """The inputs of a kernel, as a tuple; one alone is a tuple of one."""
    return (value,) if hasattr(value, "shape") else listed(lambda _, each: each, "a tuple of tensors")(name, value)
