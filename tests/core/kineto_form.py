"""Programs as ``torch.profiler`` records them, and traces as their kernels left them.

In: calls and kernels with their times. Out: Kineto's JSON, with the fields, categories, processes and threads that it
writes for a program on a GPU (``libkineto/src/output_json.cpp``), and recorded traces at other times of its clock.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from tltrace_nb import datasets
from tltrace_nb.core.trace import Trace
from tltrace_nb.data import slots as layout
from tltrace_nb.data.tracefile import OF_A_GRAPH

BASE = 1_790_857_026_000_000_000
"""``baseTimeNanoseconds``."""
START = BASE + 5_260_665_515_604_281
"""When the programs begin, in ns since 1970."""
CLOCKS = 131_072
"""What the profiler's clock is ahead of ``%globaltimer``, in ns."""
HOST = 4242


def launched(name: str, at: int, *, called: int | None = None, graph: bool = False, clocks: int = CLOCKS) -> Trace:
    """A recorded trace as if its first CTA had entered ``at`` ns behind ``START``, its call begun ``called`` ns behind
    that (by default 20 µs before its entry; a graph captured it then)."""
    trace = datasets.load(f"h200/{name}")
    slots = trace.slots.copy()
    head = slots[..., : layout.RECORD_WORDS * layout.HEADER_RECORDS].view(layout.HEADER)
    shift = START + at - clocks - int(head["entry_ns"].min())
    head["entry_ns"] += shift
    head["exit_ns"] += shift
    when = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(
        microseconds=(START + (at - 20_000 if called is None else called)) // 1000
    )
    note = OF_A_GRAPH if graph else ""
    return Trace(slots, trace.table, replace(trace.meta, captured=when.isoformat(timespec="microseconds"), note=note))


def span_of(trace: Trace) -> int:
    """ns from the first CTA's entry to the last one's exit."""
    return round(float(trace.ctas["end_ns"].max()))


@dataclass
class Program:
    """What a profiler saw, call by call; times are ns behind ``START``."""

    events: list[dict[str, Any]] = field(default_factory=list)
    correlation: int = 100

    def span(
        self, category: str, name: str, start: int, took: int, *, process: Any = HOST, thread: Any = HOST, **args: Any
    ) -> None:
        self.events.append(
            {
                "ph": "X", "cat": category, "name": name, "pid": process, "tid": thread,
                "ts": us(START - BASE + start), "dur": us(took), "args": args,
            }
        )  # fmt: skip

    def call(self, start: int, took: int = 5_000, name: str = "cuLaunchKernel", thread: int = HOST) -> int:
        """A call that launches something; its correlation."""
        self.correlation += 1
        category = "cuda_driver" if name.startswith("cu") and not name.startswith("cuda") else "cuda_runtime"
        self.span(category, name, start, took, thread=thread, cbid=307, correlation=self.correlation)
        self.flow("s", HOST, thread, start)
        return self.correlation

    def flow(self, phase: str, process: Any, thread: Any, at: int) -> None:
        event = {"ph": phase, "id": self.correlation, "pid": process, "tid": thread, "ts": us(START - BASE + at)}
        self.events.append(event | {"cat": "ac2g", "name": "ac2g"} | ({"bp": "e"} if phase == "f" else {}))

    def kernel(
        self,
        name: str,
        start: int,
        took: int,
        *,
        grid: Any,
        block: Any,
        stream: int = 7,
        device: int = 0,
        call: int | None = None,
    ) -> None:
        """A kernel on a stream, launched by ``call``, or by one of its own 15 µs before."""
        correlation = self.call(start - 15_000) if call is None else call
        self.span(
            "kernel", name, start, took, process=device, thread=stream, queued=0, device=device, context=1,
            stream=stream, correlation=correlation, grid=list(grid), block=list(block), **{
                "External id": 17, "registers per thread": 64, "shared memory": 0, "blocks per SM": 0.060606062,
                "warps per SM": 0.24242425, "est. achieved occupancy %": 2,
            },
        )  # fmt: skip
        self.flow("f", device, stream, start)

    def around(self, trace: Trace, at: int, *, lead: int = 600, tail: int = 700, number: int = 0, **more: Any) -> None:
        """The kernel of a trace that was ``launched`` at this time, so much longer before and behind its CTAs."""
        launch, grid = trace.table.launches[number], (trace.meta.grids or ())[number]
        name = f"{trace.table.kernel}_kernel" + (f"_{number}" if number else "")
        self.kernel(name, at - lead, span_of(trace) + lead + tail, grid=grid, block=launch.block, **more)

    def write(self, path: Path) -> Path:
        """Kineto's file."""
        named: dict[Any, str] = {HOST: "python"} | {each["pid"]: "python" for each in self.events}
        about = []
        for number, (process, name) in enumerate(named.items()):
            labels = f"GPU {process}" if process != HOST else "CPU"
            for what, args in (
                ("process_name", {"name": name}),
                ("process_labels", {"labels": labels}),
                ("process_sort_index", {"sort_index": 5_000_000 + number if process != HOST else process}),
            ):
                about.append({"ph": "M", "name": what, "ts": us(0), "pid": process, "tid": 0, "args": args})
        for process, thread in sorted({(each["pid"], each["tid"]) for each in self.events}, key=str):
            name = f"thread {thread} (python)" if process == HOST else f"stream {thread} "
            about.append(
                {"ph": "M", "name": "thread_name", "ts": us(0), "pid": process, "tid": thread, "args": {"name": name}}
            )
            about.append(
                {
                    "ph": "M",
                    "name": "thread_sort_index",
                    "ts": us(0),
                    "pid": process,
                    "tid": thread,
                    "args": {"sort_index": thread},
                }
            )
        end = {"ph": "i", "s": "g", "name": "Record Window End", "pid": "", "tid": "", "ts": us(START - BASE)}
        file = {
            "schemaVersion": 1,
            "deviceProperties": [{"id": 0, "name": "NVIDIA H200", "numSms": 132}],
            "displayTimeUnit": "ms",
            "baseTimeNanoseconds": BASE,
            "traceEvents": [*about, *self.events, end],
            "traceName": "profile.json",
        }
        path.write_text(json.dumps(file))
        return path


def us(ns: int) -> float:
    """As the profiler writes it: µs with three decimals."""
    return float(f"{ns // 1000}.{ns % 1000:03}")
