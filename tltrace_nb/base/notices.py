"""What is said beside the program's own output.

In: a line. Out: the line on a stream, or nothing where the stream takes none: on a full disk, at a terminal that is
gone. That is no reason for a program to fail that has done its work.
"""

from __future__ import annotations

import contextlib
import functools
import sys
from typing import TextIO


def say(line: str, stream: TextIO | None, end: str = "\n") -> None:
    """Print a line of ours."""
    with contextlib.suppress(OSError, ValueError):  # ValueError: it is closed
        print(line, end=end, file=stream, flush=True)


@functools.cache
def say_once(sentence: str) -> None:
    """Print ``[tltrace] sentence`` on stderr, unless this process has said it before."""
    say(f"[tltrace] {sentence}", sys.stderr)
