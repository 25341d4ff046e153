"""What is said once in a process, beside the program's own output.

In: a sentence. Out: one line on stderr, the first time.
"""

from __future__ import annotations

import functools
import sys


@functools.cache
def say_once(sentence: str) -> None:
    """Print ``[tltrace] sentence`` on stderr, unless this process has said it before."""
    print(f"[tltrace] {sentence}", file=sys.stderr)
