"""The way of a trace through the package, from ``@trace.jit`` to the columns that a browser draws.

In: nothing; the kernel runs on the virtual GPU, whose files count as one. Out: the files in the order in which a
function of theirs is called for the first time, how often a file comes again (its caller goes on, or a helper is called
anew), and which calls lead upward, into a file from which the caller was called. ``python benchmarks/way.py``
"""

from __future__ import annotations

import itertools
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

import numpy as np
import tilelang.language as T

import tltrace_nb
from tltrace_nb import Timeline, trace

PACKAGE = Path(tltrace_nb.__file__).parent


@dataclass
class Way:
    """The files of the functions that are called, each function once, in order; ``upward``: called by a file that the
    called one has called, step by step, itself."""

    files: list[str] = field(default_factory=list)
    upward: list[tuple[str, str]] = field(default_factory=list)


def file_of(code: CodeType) -> str | None:
    """The file of some code in the package; the virtual GPU is one."""
    path = Path(code.co_filename)
    if not path.is_relative_to(PACKAGE) or path.is_relative_to(PACKAGE / "base"):
        return None
    return next(iter(path.relative_to(PACKAGE).parts)) if "simulator" in path.parts else str(path.relative_to(PACKAGE))


@contextmanager
def followed() -> Iterator[Way]:
    """The way of what is done within."""
    way, known = Way(), set()

    def on_call(frame: FrameType, event: str, _: Any) -> None:
        code = frame.f_code
        if event != "call" or code in known or code.co_name.startswith("<"):
            return
        known.add(code)
        file = file_of(code)
        if file is None:
            return
        way.files.append(file)
        callers: list[str] = []
        outer = frame.f_back
        while outer is not None:
            found = file_of(outer.f_code)
            if found is not None and callers[-1:] != [found]:
                callers.append(found)
            outer = outer.f_back
        if file in callers[1:] and file != callers[0]:
            way.upward.append((callers[0], file))

    sys.setprofile(on_call)
    try:
        yield way
    finally:
        sys.setprofile(None)


def main() -> None:
    """Print the way, and how many files and returns it has."""

    @trace.jit(out_idx=[-1])
    def doubled(n: int) -> Any:
        @T.prim_func
        def kernel(A: T.Tensor((n,), "float32"), B: T.Tensor((n,), "float32")):
            with T.Kernel(T.ceildiv(n, 128), threads=128) as bx:
                a = T.alloc_fragment((128,), "float32")
                with trace.range("copy", payload=bx):
                    T.copy(A[bx * 128 : bx * 128 + 128], a)
                with trace.range("double"):
                    for i in T.Parallel(128):
                        B[bx * 128 + i] = a[i] * 2

        return kernel

    with followed() as way, trace.tracing(device="virtual"):
        doubled(512)(np.ones(512, np.float32))
        Timeline(trace.last)
    steps = [file for file, _ in itertools.groupby(way.files)]
    print(*dict.fromkeys(steps), sep="\n")
    print(f"{len(set(steps))} files, {len(steps) - len(set(steps))} returns to a file already left; upward:")
    print(*(f"  {caller} calls {file}" for caller, file in dict.fromkeys(way.upward)), sep="\n")


if __name__ == "__main__":
    main()
