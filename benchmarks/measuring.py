"""How long a function takes, and how much memory it adds, each time in a process of its own.

In: a function of no arguments. Out: :class:`Cost`. The process is forked, so it finds what its parent has made and pays
for nothing but the function; what it leaves behind, caches included, ends with it.
"""

from __future__ import annotations

import os
import pickle
import platform
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True, slots=True)
class Cost:
    """Seconds by the clock and of the processor, the most bytes resident beyond those before, and what came of it."""

    seconds: float
    busy: float
    bytes: int
    result: Any


def measured(function: Callable[[], Any], repeats: int = 1) -> Cost:
    """The cost of ``function``: the best time and the least memory of some runs. What it returns must be picklable.

    Raises ``RuntimeError`` with the child's words where it fails.
    """
    costs = [_once(function) for _ in range(repeats)]
    return Cost(
        min(cost.seconds for cost in costs),
        min(cost.busy for cost in costs),
        min(cost.bytes for cost in costs),
        costs[-1].result,
    )


def machine() -> str:
    """The machine's processors and memory, and its load now."""
    memory = next(line for line in Path("/proc/meminfo").read_text().splitlines() if line.startswith("MemTotal"))
    gigabytes = int(memory.split()[1]) * 1024 / 1e9
    load = "/".join(f"{each:.1f}" for each in os.getloadavg())
    python = f"Python {platform.python_version()}"
    return f"{os.cpu_count()} cores, {gigabytes:.0f} GB, {platform.machine()}, {python}, load {load}"


def _once(function: Callable[[], Any]) -> Cost:
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(read)
        try:
            answer: Any = _cost(function)
        except BaseException as error:
            answer = f"{type(error).__name__}: {error}"
        with os.fdopen(write, "wb") as file:
            pickle.dump(answer, file)
        os._exit(0)
    os.close(write)
    with os.fdopen(read, "rb") as file:
        told = file.read()
    os.waitpid(child, 0)
    answer = pickle.loads(told) if told else "it was killed"
    if isinstance(answer, str):
        raise RuntimeError(answer)
    return answer


def _cost(function: Callable[[], Any]) -> Cost:
    before = resident("VmRSS")
    Path("/proc/self/clear_refs").write_text("5")  # the high-water mark begins anew
    worked, began = time.process_time(), time.perf_counter()
    result = function()
    seconds, busy = time.perf_counter() - began, time.process_time() - worked
    return Cost(seconds, busy, max(resident("VmHWM") - before, 0), result)


def resident(which: str = "VmHWM") -> int:
    """Bytes resident in this process, now (``VmRSS``) or at most (``VmHWM``)."""
    line = next(line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith(which))
    return int(line.split()[1]) * 1024
