"""Exceptions on their way through TVM: an interrupt stays one, and an error that lost its name says where it was.

In: a build. Out: its exceptions. TVM calls Python from its passes, and of an exception of a kind that it does not know
it keeps the message alone: Ctrl-C in such a pass, ``sys.exit`` in the handler of a signal, or an alarm's
``TimeoutError()`` came out as ``RuntimeError('')``. These three are known from here on.
"""

from __future__ import annotations

import contextlib
import traceback
from collections.abc import Iterator

import tilelang  # noqa: F401  (brings tvm_ffi, set up)
from tvm_ffi import register_error

for _kind in (KeyboardInterrupt, SystemExit, TimeoutError):
    register_error(_kind)  # what TVM offers for exceptions that are to keep their kind


@contextlib.contextmanager
def named_errors(kernel: str) -> Iterator[None]:
    """Within, an error without a word says where it was raised, and an exit keeps its code."""
    try:
        yield
    except SystemExit as stop:
        if hasattr(stop, "__tvm_ffi_error__") and isinstance(stop.code, str):  # TVM makes text of it
            stop.code = _code(stop.code)
        raise
    except RuntimeError as error:
        frames = traceback.extract_tb(error.__traceback__)
        python = [frame for frame in frames if frame.filename.endswith(".py")]
        if not str(error) and python:
            where = f"{python[-1].filename}:{python[-1].lineno}, in {python[-1].name}"
            said = f"Python code that TVM had called raised an exception without a message at {where}"
            why = "TVM did not keep its kind; a signal handler of the program may have raised it"
            error.args = (f"kernel {kernel}: {said}, and {why}",)
        raise


def _code(text: str) -> int | str | None:
    """The code of an exit from its text."""
    if text in {"", "None"}:
        return None
    return int(text) if text.removeprefix("-").isdecimal() else text
