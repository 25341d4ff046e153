"""A program under ``torch.profiler``, for ``tltrace run --torch-profiler``.

In: a block that runs the program. Out: its profile, with NVTX ranges, and the file of it and of the traces.
"""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tltrace_nb.core.runtime.dumps import free_base, in_words

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tltrace_nb.core.trace import Trace

SUFFIX = ".pftrace.gz"


@contextlib.contextmanager
def profiling() -> Iterator[Any]:
    """Profile the block; a process that is forked in it goes on without."""
    import torch

    process = os.getpid()
    prof = torch.profiler.profile()
    prof.start()
    try:
        with _nvtx_told():
            yield prof
    finally:
        if os.getpid() == process:
            prof.stop()


@contextlib.contextmanager
def _nvtx_told() -> Iterator[None]:
    """Within, ranges of ``torch.cuda.nvtx`` are the profiler's, too, which records no NVTX by itself."""
    import torch

    nvtx: Any = torch.cuda.nvtx
    push, pop = nvtx.range_push, nvtx.range_pop
    open_ = threading.local()

    def range_push(msg: str) -> Any:
        depth = push(msg)
        told: Any = torch.profiler.record_function(str(msg))
        vars(open_).setdefault("ranges", []).append(told.__enter__())
        return depth

    def range_pop() -> Any:
        if vars(open_).get("ranges"):
            open_.ranges.pop().__exit__(None, None, None)
        return pop()

    nvtx.range_push, nvtx.range_pop = range_push, range_pop
    try:
        yield
    finally:
        nvtx.range_push, nvtx.range_pop = push, pop


def write(prof: Any, traces: Sequence[Trace], folder: str, stem: str) -> Iterator[str]:
    """Write the profile with the traces in it to ``folder``, and say where, and which launches are not in it."""
    from tltrace_nb.core.profile import profile

    try:
        both = profile(prof, traces)
        with free_base(Path(folder), f"{stem}-profile", SUFFIX) as base:
            path = both.to_perfetto(f"{base}{SUFFIX}")
    except Exception as error:  # whatever it is, the program has ended
        yield f"the profile could not be written: {in_words(error)}"
        return
    found = int(both.launches["correlation"].notna().sum())
    yield f"{path}: the profile, with {found} of {len(both.launches)} traced launches in it"
    yield from dict.fromkeys(both.notes)
