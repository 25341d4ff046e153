"""What ``torch.profiler`` recorded of a program: host threads, GPU streams, and which call launched which kernel.

In: a ``torch.profiler.profile`` that has ended, or the Chrome trace that it exported. Out: :class:`Recording`. Torch is
not imported: the profile writes its own file, which is read.

The file is Kineto's (https://github.com/pytorch/kineto, ``libkineto/src/output_json.cpp``): times are µs with three
decimals since ``baseTimeNanoseconds``, which is a Unix time; what a GPU did and the call that asked for it have the
same ``correlation``.
"""

from __future__ import annotations

import gzip
import json
import os
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from functools import cached_property
from pathlib import Path
from typing import Any

from tltrace_nb.base.attached import attached
from tltrace_nb.base.checks import file, short, wrong
from tltrace_nb.base.errors import TraceError

KERNEL = "kernel"
ON_GPU = frozenset({KERNEL, "gpu_memcpy", "gpu_memset"})
"""Categories of what a GPU did."""
CALLS = frozenset({"cuda_runtime", "cuda_driver"})
"""Categories of the host's calls of CUDA."""
_EXPORT = "export_chrome_trace"
_MAY = "a torch.profiler.profile that has ended, or the name of a file that its export_chrome_trace wrote"
_GZIP = b"\x1f\x8b"
_FAR = 1 << 61
"""ns beyond which no time is."""
_FACTS = ("deviceProperties", "cuda_driver_version", "cuda_runtime_version", "cupti_version", "schemaVersion")
"""What a profile says of its machine and of itself."""
_LENGTH, _INSTANT, _META = "X", "i", "M"


class ProfileError(TraceError, ValueError):
    """A profile cannot be read; the message says which, what is wrong, and what to do."""


Line = tuple[str, str]
"""Process and thread, or GPU and stream, as the profiler names them."""


@dataclass(frozen=True, slots=True)
class Span:
    """Something that took from ``start`` to ``end``, in ns since 1970, on a line; an instant where they are the same.

    ``category`` is Kineto's: ``cpu_op``, ``user_annotation``, ``cuda_runtime``, ``kernel``, …
    """

    line: Line
    category: str
    name: str
    start: int
    end: int
    args: Mapping[str, Any]

    @property
    def correlation(self) -> int | None:
        """What a call of CUDA and what it asked a GPU for have in common."""
        number = self.args.get("correlation")
        return number if isinstance(number, int) and number > 0 else None

    def whole(self, name: str) -> int | None:
        """An argument that is a whole number."""
        value = self.args.get(name)
        return value if isinstance(value, int) and not isinstance(value, bool) else None

    def extents(self, name: str) -> tuple[int, ...] | None:
        """An argument that is three whole numbers, such as ``grid``."""
        value = self.args.get(name)
        return tuple(value) if isinstance(value, list) and all(isinstance(each, int) for each in value) else None


@dataclass(frozen=True, eq=False)
class Recording:
    """A profile: its spans by time, the longer first, and what its lines are called.

    ``processes`` and ``lines`` are names in the order in which the profiler wants them shown.
    """

    source: str
    spans: tuple[Span, ...]
    processes: Mapping[str, str]
    lines: Mapping[Line, str]
    facts: Mapping[str, Any] = field(default_factory=dict)

    @cached_property
    def calls(self) -> Mapping[int, Span]:
        """The host's calls of CUDA by their correlation."""
        return {each.correlation: each for each in self.spans if each.category in CALLS and each.correlation}

    @cached_property
    def kernels(self) -> tuple[Span, ...]:
        """The kernels that ran on GPUs."""
        return tuple(each for each in self.spans if each.category == KERNEL)

    def call_of(self, span: Span) -> Span | None:
        """The call that asked for what a GPU did, where the profiler has it."""
        return None if span.correlation is None else self.calls.get(span.correlation)

    @property
    def start(self) -> int:
        """The first time in it, ns since 1970."""
        return min((each.start for each in self.spans), default=0)


def recording(name: str, prof: Any) -> Recording:
    """Read a profile. ``name`` is that of the argument, for the errors.

    Raises ``TypeError`` for what is neither a profile nor the name of a file, ``ProfileError`` for a profile that has
    not ended or cannot be exported again and for a file that is no Chrome trace or cannot be read, ``OSError`` where
    there is no temporary file.
    """
    if isinstance(prof, Recording):
        return prof
    if callable(getattr(prof, _EXPORT, None)) and not isinstance(prof, type):
        kept = attached(prof, _Kept)
        if kept.recording is None:
            kept.recording = _parsed(f"{name}={short(prof)}", _exported(name, prof))
        return kept.recording
    if not isinstance(prof, str | os.PathLike):
        wrong(name, prof, _MAY, TypeError)
    path = Path(file(name, prof))
    source = f"{name}={str(path)!r}"
    try:
        data = path.read_bytes()
    except OSError as error:
        raise ProfileError(f"{source}: {error.strerror or error}") from error
    return _parsed(source, data)


class _Kept:
    """What a profile has told: torch exports one only once."""

    recording: Recording | None = None


def _exported(name: str, prof: Any) -> bytes:
    with tempfile.TemporaryDirectory(prefix="tltrace-") as folder:
        path = Path(folder) / "profile.json"
        try:
            getattr(prof, _EXPORT)(str(path))
        except Exception as error:  # assertions, attribute and runtime errors, by the version of torch
            said = " ".join(str(error).split()) or type(error).__name__
            raise ProfileError(
                f"{name}={short(prof)} could not be exported: {said}. Give a profile that has ended, behind its with "
                "block; of one that was exported already, give that file"
            ) from error
        return path.read_bytes()


def _parsed(source: str, data: bytes) -> Recording:
    try:
        text = gzip.decompress(data) if data.startswith(_GZIP) else data
        raw = json.loads(text, parse_float=Decimal)
        events = raw["traceEvents"] if isinstance(raw, dict) else raw
        base = int(raw.get("baseTimeNanoseconds", 0)) if isinstance(raw, dict) else 0
        return _recording(source, raw if isinstance(raw, dict) else {}, list(events), base)
    except (
        ValueError,
        LookupError,
        TypeError,
        ArithmeticError,
        AttributeError,
        RecursionError,
        EOFError,
        OSError,
    ) as error:
        raise ProfileError(
            f"{source}: this is no Chrome trace of torch.profiler: {short(str(error))}; write one with "
            "prof.export_chrome_trace(path)"
        ) from error


def _recording(source: str, raw: Mapping[str, Any], events: list[dict[str, Any]], base: int) -> Recording:
    spans = [_span(event, base) for event in events if event.get("ph") in (_LENGTH, _INSTANT)]
    spans = [span for span in spans if span.line != ("", "")]
    spans.sort(key=lambda span: (span.start, -span.end, span.category in ON_GPU))
    processes: dict[str, dict[str, Any]] = {}
    lines: dict[Line, dict[str, Any]] = {}
    for event in events:
        if event.get("ph") != _META:
            continue
        args, pid, tid = event.get("args", {}), str(event["pid"]), str(event.get("tid", ""))
        what, _, key = str(event["name"]).partition("_")
        about = processes.setdefault(pid, {}) if what == "process" else lines.setdefault((pid, tid), {})
        about[key] = next(iter(args.values()), "")
    of_processes = {span.line[0]: processes.get(span.line[0], {}) for span in spans}
    ranks = {pid: rank for rank, (pid, _) in enumerate(sorted(of_processes.items(), key=_order))}
    of_lines = {span.line: lines.get(span.line, {}) for span in spans}
    facts = {name: raw[name] for name in _FACTS if name in raw}
    return Recording(
        source,
        tuple(spans),
        {pid: _process_name(pid, about) for pid, about in sorted(of_processes.items(), key=_order)},
        {
            line: str(about.get("name") or line[1]).strip()
            for line, about in sorted(of_lines.items(), key=lambda entry: (ranks[entry[0][0]], *_order(entry)))
        },
        facts,
    )


def _order(entry: tuple[Any, Mapping[str, Any]]) -> tuple[float, str]:
    """Where the profiler wants a process or a thread; GPUs come behind the host."""
    index = entry[1].get("sort_index", 0)
    return (float(index) if isinstance(index, int | Decimal) else 0.0), str(entry[0])


def _process_name(pid: str, about: Mapping[str, Any]) -> str:
    """The name of a process with what the profiler says of it, such as ``python · GPU 0``."""
    parts = dict.fromkeys(str(about.get(key, "")).strip() for key in ("name", "labels"))
    return " · ".join(filter(None, parts)) or pid


def _span(event: Mapping[str, Any], base: int) -> Span:
    start = base + _ns(event["ts"])
    length = _ns(event.get("dur", 0)) if event["ph"] == _LENGTH else 0
    line = str(event.get("pid", "")), str(event.get("tid", ""))
    args = {str(key): _plain(value) for key, value in event.get("args", {}).items()}
    return Span(line, str(event.get("cat", "")), str(event.get("name", "")), start, start + max(length, 0), args)


def _plain(value: Any) -> Any:
    return float(value) if isinstance(value, Decimal) else value


def _ns(micros: Any) -> int:
    """µs, which the file has with three decimals, as ns."""
    ns = round(Decimal(micros) * 1000)
    if abs(ns) > _FAR:
        raise ValueError(f"a time of {micros} µs")
    return ns
