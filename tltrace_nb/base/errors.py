"""What can go wrong, as exceptions that say what, where and what to do.

In: nothing. Out: exception classes; every message names the kernel and, where there is one, ``file:line``.
"""

from __future__ import annotations

import contextlib
import functools
import traceback
from types import TracebackType

_SHELL = "IPython"
_HIDDEN = frozenset({_SHELL, "tltrace_nb", "tilelang", "tvm", "tvm_ffi", "contextlib", "functools"})
"""Packages whose frames say nothing to the author of a kernel."""


class TraceError(Exception):
    """Base of all errors of this package."""

    def _render_traceback_(self) -> list[str]:
        """How IPython draws it: with the author's own frames only, for the message has the rest."""
        return _drawn(self, own_frames(_in_the_cell(self.__traceback__)))


def shorten(error: Exception) -> None:
    """Have IPython draw what others raised as it draws errors of this package; ``%tb`` shows all of it."""
    if not hasattr(error, "_render_traceback_"):
        with contextlib.suppress(AttributeError):  # an exception with slots
            error._render_traceback_ = functools.partial(_shortened, error)  # type: ignore[attr-defined]


def _shortened(error: Exception) -> list[str]:
    """An error with the author's frames alone, and the next time with all."""
    error._render_traceback_ = functools.partial(_drawn, error, error.__traceback__)  # type: ignore[attr-defined]
    left_out = "(lines of TileLang and tltrace_nb are left out: %tb shows them)"
    return [*_drawn(error, own_frames(_in_the_cell(error.__traceback__))), left_out]


def _drawn(error: Exception, shown: TracebackType | None) -> list[str]:
    from IPython import get_ipython

    shown = shown or error.__traceback__
    shell = get_ipython()
    if shell is None:  # IPython's classes without a running one
        return traceback.format_exception(type(error), error, shown)
    lines: list[str] = shell.InteractiveTB.structured_traceback(type(error), error, shown, tb_offset=0)
    return lines


def own_frames(traceback: TracebackType | None) -> TracebackType | None:
    """The traceback without the frames of the packages that are hidden; the same where there is none of those."""
    if traceback is None:
        return None
    rest = own_frames(traceback.tb_next)
    if _package(traceback) in _HIDDEN or "__name__" not in traceback.tb_frame.f_globals:  # TVM makes frames up
        return rest
    if rest is traceback.tb_next:
        return traceback
    return TracebackType(rest, traceback.tb_frame, traceback.tb_lasti, traceback.tb_lineno)


def _in_the_cell(traceback: TracebackType | None) -> TracebackType | None:
    """The traceback from below IPython's last frame on: above stand IPython and the line of a cell magic."""
    top = each = traceback
    while each is not None:
        if _package(each) == _SHELL:
            top = each.tb_next
        each = each.tb_next
    return top


def _package(traceback: TracebackType) -> str:
    return str(traceback.tb_frame.f_globals.get("__name__")).partition(".")[0]


class MarkerError(TraceError, ValueError):
    """A marker is malformed or stands where no marker can stand."""


class TokenError(MarkerError):
    """A range token is foreign, used twice, or its range is never ended."""


class PayloadError(TraceError, TypeError, ValueError):
    """A payload does not fit 32 bits, or cannot be read where its marker records."""


class PlacementError(MarkerError):
    """A marker cannot be kept in place through TileLang's scheduler."""


class NameTakenError(TraceError, ValueError):
    """A kernel has a name of its own that tracing needs."""


class CapacityError(TraceError, MemoryError):
    """The slots would exceed the memory budget."""


class SlotsError(TraceError, ValueError):
    """A slots tensor does not belong to the kernel it is decoded with."""


class NotTracedError(TraceError, ValueError):
    """The kernel given was built without tracing."""


class DeviceError(TraceError, RuntimeError):
    """A traced kernel is to run where it cannot."""


class VersionError(TraceError, RuntimeError):
    """TileLang's pass pipeline is not the one that this library knows."""
