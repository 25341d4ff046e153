"""Exceptions on their way through TVM: an interrupt stays one, and an error that lost its name says where it was.

In: a build. Out: its exceptions. TVM calls Python from its passes, and of an exception of a kind that it does not know
it keeps the message alone: Ctrl-C in such a pass, or an alarm's ``TimeoutError()``, comes out as ``RuntimeError('')``.
"""

from __future__ import annotations

import contextlib
import traceback
from collections.abc import Iterator

import tilelang  # noqa: F401  (brings tvm_ffi, set up)
from tvm_ffi import register_error

register_error("KeyboardInterrupt", KeyboardInterrupt)  # what TVM offers for exceptions that are to keep their kind


@contextlib.contextmanager
def named_errors(kernel: str) -> Iterator[None]:
    """Within, an error without a word gets a note of where it was raised."""
    try:
        yield
    except RuntimeError as error:
        frames = traceback.extract_tb(error.__traceback__)
        python = [frame for frame in frames if frame.filename.endswith(".py")]
        if not str(error) and python:
            where = f"{python[-1].filename}:{python[-1].lineno}, in {python[-1].name}"
            error.add_note(
                f"kernel {kernel}: Python code that TVM had called raised an exception without a message at {where}, "
                "and TVM did not keep its kind; a signal handler of the program may have raised it, such as an alarm's"
            )
        raise
