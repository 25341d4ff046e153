"""The ``.tltrace`` file: a zip of ``meta.json`` and ``slots.npy``.

In: slots, :class:`SiteTable` and :class:`TraceMeta`, or a path. Out: a file, or the three again.

The raw record is what is kept; decoding it again with a newer version gives the better frames. A file may come from
anywhere: nothing is unpickled, and what it would take in memory is known before it is taken (``data.file_cost``). ::

    meta.json   {"format": "tltrace", "version": 1, "meta": {…}, "table": {…}, "shape": [num_cta, num_writers, words]}
    slots.npy   int64, little-endian, C order
"""

from __future__ import annotations

import contextlib
import dataclasses
import itertools
import json
import math
import os
import zipfile
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any, Literal

import numpy as np
import numpy.typing as npt

from tltrace_nb.base.checks import short
from tltrace_nb.base.errors import TraceError
from tltrace_nb.base.files import replacing
from tltrace_nb.base.words import clean
from tltrace_nb.data import slots as layout
from tltrace_nb.data.chosen import IDS, Chosen, Cut, Sample
from tltrace_nb.data.file_cost import Cost, CostError, most
from tltrace_nb.data.notes import Note, notes_of
from tltrace_nb.data.reading import place_blocks
from tltrace_nb.data.sites import SiteTable

FORMAT = "tltrace"
FILE_VERSION = 1
META, SLOTS = "meta.json", "slots.npy"

META_LIMIT = 16 << 20
"""Bytes of ``meta.json``; a kernel with 10,000 sites needs 2 MB."""
META_SMALL, META_FACTOR = 1 << 20, 64
"""Bytes of ``meta.json`` that any file may have, and how often its own size above that; text packs six times."""
NPY_HEADER_LIMIT = 4096
"""Bytes in front of the numbers in ``slots.npy``."""
COMPRESSION = 1
"""zlib level: clocks hardly compress further at a higher one, which is several times slower."""

_FASTEST_GHZ = 1000
"""No clock rate that a file states is above this."""


class TraceFileError(TraceError, ValueError):
    """A file is not a trace that this library reads; the message names it, what is wrong, and what to do."""


OF_A_GRAPH = "captured in a CUDA graph: the events of its last replay; trace.refresh() reads those of a later one"
"""The note of such a trace."""
BELIEVED = 1.05
"""Slowdown up to which a trace is called undisturbed."""


def believable(slowdown: float, noise: float) -> bool:
    """Whether a slowdown is at most ``BELIEVED``, or within twice the noise."""
    return slowdown <= max(BELIEVED, 1 + 2 * abs(noise - 1))


@dataclass(frozen=True, slots=True)
class TraceMeta:
    """Where a trace comes from. ``captured`` is an ISO time, ``grids`` the launches' actual extents (x, y, z).

    ``resources``: registers per thread and bytes of shared memory per CTA of each launch; ``work``: the flop of all
    launches and the bytes of the tensors that they read and write. Both are ``None`` where not known. ``clock_ghz`` is
    the clock rate of a virtual GPU's SMs; ``None`` where it follows from the readings. ``slowdown`` is traced over
    untraced time and the untraced kernel's over itself (the noise), where ``trace.overhead`` has measured them.
    ``notes`` is what readers have written on the trace.
    """

    kernel: str = ""
    device: Literal["cuda", "virtual"] = "cuda"
    gpu: str = ""
    driver: str = ""
    cuda: str = ""
    versions: dict[str, str] = field(default_factory=dict)
    source: str = ""
    source_hash: str = ""
    command: str = ""
    captured: str = ""
    grids: tuple[tuple[int, int, int], ...] | None = None
    resources: tuple[tuple[int, int], ...] | None = None
    work: tuple[float, float] | None = None
    note: str = ""
    clock_ghz: float | None = None
    slowdown: tuple[float, float] | None = None
    notes: tuple[Note, ...] = ()

    @property
    def replayed(self) -> bool:
        """Whether the launch was captured in a CUDA graph, and ran when that was launched."""
        return OF_A_GRAPH in self.note


def write_trace(path: str | os.PathLike[str], slots: npt.NDArray[np.int64], table: SiteTable, meta: TraceMeta) -> None:
    """Write a trace; ``path`` is replaced only when the whole file is on disk."""
    description = {
        "format": FORMAT,
        "version": FILE_VERSION,
        "meta": dataclasses.asdict(meta),
        "table": json.loads(table.to_json()),
        "shape": list(slots.shape),
    }
    with (
        replacing(path) as partial,
        zipfile.ZipFile(partial, "w", zipfile.ZIP_DEFLATED, compresslevel=COMPRESSION) as archive,
    ):
        archive.writestr(META, json.dumps(description, indent=1, sort_keys=True))
        with archive.open(SLOTS, "w", force_zip64=True) as member:
            np.lib.format.write_array(member, np.ascontiguousarray(slots, "<i8"), version=(1, 0), allow_pickle=False)


def read_trace(
    path: str | os.PathLike[str], limit: int | None = None
) -> tuple[npt.NDArray[np.int64], SiteTable, TraceMeta]:
    """Read a trace that takes at most ``limit`` bytes of memory, slots and frames (``None``: as ``file_cost.most``).

    Raises ``TraceFileError`` for anything but a sound file, and ``OSError`` where the path cannot be opened.
    """
    with Path(path).open("rb") as file, naming(path), zipfile.ZipFile(file) as archive:
        size = os.fstat(file.fileno()).st_size
        table, meta, shape = described(archive, size)
        cost = Cost.of(table, shape, most(size) if limit is None else limit)
        with archive.open(SLOTS) as member:
            check_header(member, shape)
            slots = cost.read(member).reshape(shape)
        place_blocks(slots, table, meta.grids)  # raises where its rows are not CTAs of the launches
        return slots, table, meta


def files_at(path: Path) -> list[Path]:
    """``path``, or the trace files in it where it is a folder. Raises ``TraceFileError`` for one without any."""
    files = sorted(path.glob("*.tltrace")) if path.is_dir() else [path]
    if not files:
        raise TraceFileError(f"{path}: there is no .tltrace file in this folder")
    return files


def nbytes(shape: tuple[int, int, int]) -> int:
    """Bytes of slots of this shape."""
    return math.prod(shape) * np.dtype(np.int64).itemsize


def described(archive: zipfile.ZipFile, size: int) -> tuple[SiteTable, TraceMeta, tuple[int, int, int]]:
    """What an opened file of ``size`` bytes says of its slots, before they are read: table, origin, shape.

    Raises ``TraceFileError`` where that is not sound, or the slots' size is another.
    """
    names = sorted(member.filename for member in archive.infolist())
    if names != sorted((META, SLOTS)):
        raise TraceFileError(f"it holds {short(names)}, not {META} and {SLOTS}; was it saved by Trace.save?")
    if any(member.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED) for member in archive.infolist()):
        raise TraceFileError("it is packed in a way that Trace.save does not use; save the trace again")
    text, most_text = archive.getinfo(META).file_size, min(META_LIMIT, max(META_SMALL, META_FACTOR * size))
    if text > most_text:
        raise TraceFileError(f"{META} is {text:,} bytes, more than {most_text:,}; it is no trace, do not trust it")
    table, meta, shape = _describe(archive.read(META))
    promised, found = nbytes(shape), archive.getinfo(SLOTS).file_size
    if not promised < found <= promised + NPY_HEADER_LIMIT:
        raise TraceFileError(f"{SLOTS} is {found:,} bytes where its table means {promised:,}; save the trace again")
    return table, meta, shape


_UNSOUND = (zipfile.BadZipFile, zlib.error, EOFError, OSError, RuntimeError, NotImplementedError)
"""What ``zipfile`` raises for damaged files: also seeks to nowhere, and passwords."""
_FOREIGN = (ValueError, TypeError, LookupError, ArithmeticError, AttributeError, RecursionError)
"""What parsers raise for contents that ``Trace.save`` does not write."""
_SAID = 400
"""Most characters of what is said of a file, some of which may come from it."""


@contextlib.contextmanager
def naming(path: str | os.PathLike[str]) -> Iterator[None]:
    """Turn what goes wrong inside into a ``TraceFileError`` that begins with the path."""
    name = os.fspath(path)

    def of(problem: object) -> TraceFileError:
        return TraceFileError(f"{name}: {clean(str(problem), _SAID)}")

    try:
        yield
    except TraceFileError as error:
        raise of(error) from error
    except CostError as error:
        raise of(f"{error}; if you trust it: tltrace_nb.load(path, limit={error.enough})") from None
    except MemoryError as error:
        raise of("there is not the memory to open it; do not trust it, or free some") from error
    except _UNSOUND as error:
        found = clean(str(error), _SAID // 2)
        raise of(
            f"not a sound .tltrace file ({found}); it is another kind of file, or was cut off: copy or save it again"
        ) from error
    except _FOREIGN as error:
        found = clean(str(error), _SAID // 2)
        raise of(f"{found}; save it again with this version of tltrace_nb") from error


def _describe(text: bytes) -> tuple[SiteTable, TraceMeta, tuple[int, int, int]]:
    """Read ``meta.json``."""
    raw: Any = json.loads(text)
    if not isinstance(raw, dict) or raw.get("format") != FORMAT:
        raise TraceFileError(f"{META} is not that of a trace; was it saved by Trace.save?")
    if raw.get("version") != FILE_VERSION:
        raise TraceFileError(
            f"file version {short(raw.get('version'))}, this library reads {FILE_VERSION}; upgrade tltrace_nb"
        )
    table = SiteTable.from_json(json.dumps(raw.get("table")))
    _check(table)
    match raw.get("shape"):
        case [int(rows), int(writers), int(words)] if (
            rows >= 0 and writers == len(table.writers) and (writers == 0 or words == layout.slot_words(table.capacity))
        ):
            return table, _meta(raw.get("meta")), (rows, writers, words)
        case other:
            raise TraceFileError(f"slots of shape {short(other)} do not fit the site table; save the trace again")


def _check(table: SiteTable) -> None:
    """Refuse a table whose values are not of the types that its classes state."""
    numbers: list[object] = [table.capacity, *_chosen(table.ctas)]
    words: list[object] = [
        table.kernel,
        table.source,
        table.source_hash,
        table.note,
        *(name for flow in table.flows for name in flow),
    ]
    for site in table.sites:
        numbers += [site.id, site.range]
        words += [site.name, site.lane, site.group, site.source]
    for writer in table.writers:
        numbers += [writer.index, writer.thread]
        words += [writer.group, writer.role or ""]
    for launch in table.launches:
        numbers += [launch.first_row, *(1 if extent is None else extent for extent in launch.grid), *launch.block]
        words.append(launch.name)
        if launch.rasterisation is not None:
            words.append(launch.rasterisation.function)
            numbers += [launch.rasterisation.panel, launch.rasterisation.cluster]
    small = all(isinstance(number, int) and -1 <= number < 1 << 31 for number in numbers)
    dense = [site.id for site in table.sites] == list(range(len(table.sites)))
    shaped = all(len(launch.grid) == len(launch.block) == 3 for launch in table.launches)
    fits = table.capacity >= 0 and _in_order(table.ctas, len(table.launches))
    fits &= _few([tuple(1 if extent is None else extent for extent in launch.grid) for launch in table.launches])
    if not (small and dense and shaped and fits and all(isinstance(word, str) for word in words)):
        raise TraceFileError(f"the site table in {META} is damaged; save the trace again")


def _chosen(ctas: Chosen | None) -> list[object]:
    """The numbers of a choice of CTAs."""
    if isinstance(ctas, Cut):
        return [*ctas.most, ctas.sms, *(extent for cluster in ctas.clusters for extent in cluster)]
    if isinstance(ctas, Sample):
        return [number for runs in ctas.launches for number in _chosen(runs)]
    runs = () if ctas is None else ctas.runs
    return [number for run in runs for number in (run.start, run.stride, run.count, run.width, run.last)]


def _in_order(ctas: Chosen | None, launches: int) -> bool:
    """Whether a choice of CTAs, whose numbers are such, can be one."""
    if isinstance(ctas, Cut):
        extents = [extent for cluster in ctas.clusters for extent in cluster]
        return len(ctas.most) == len(ctas.clusters) == launches and min([1, *ctas.most, *extents]) == 1
    if isinstance(ctas, Sample):
        return len(ctas.launches) == launches and all(runs.runs and _in_order(runs, 1) for runs in ctas.launches)
    runs = () if ctas is None else ctas.runs
    apart = all(one.last < other.start for one, other in itertools.pairwise(runs))
    return apart and all(
        run.start >= 0 and min(run.count, run.width) > 0 and run.stride >= (run.width if run.count > 1 else 1)
        for run in runs
    )


def _meta(raw: Any) -> TraceMeta:
    """Check the fields of a ``TraceMeta``; those of a later version are passed over."""
    if not isinstance(raw, dict):
        raise TraceFileError(f"{META} says nothing of where the trace comes from; save it again")
    known = {each.name for each in dataclasses.fields(TraceMeta)}
    values = {name: value for name, value in raw.items() if name in known}
    grids, resources, work, slowdown = (values.pop(name, None) for name in ("grids", "resources", "work", "slowdown"))
    notes = values.pop("notes", None) or ()
    versions, ghz = values.pop("versions", {}), values.pop("clock_ghz", None)
    wrong = [name for name, value in values.items() if not isinstance(value, str)]
    if wrong or values.get("device", "cuda") not in ("cuda", "virtual") or not isinstance(versions, dict):
        raise TraceFileError(f"{META} has unreadable fields: {wrong or ['device, or versions']}; save the trace again")
    if ghz is not None and not (type(ghz) in (int, float) and 0 < ghz < _FASTEST_GHZ):
        raise TraceFileError(f"{META} has an unreadable clock rate: {short(ghz)}; save the trace again")
    try:
        if grids is not None:
            grids = tuple((int(x), int(y), int(z)) for x, y, z in grids)
            if not _few(grids):
                raise ValueError("more CTAs than there are ids, or fewer than none")
        if resources is not None:
            resources = tuple((int(registers), int(shared)) for registers, shared in resources)
        if work is not None:
            work = (float(work[0]), float(work[1]))
        if slowdown is not None:
            slowdown = (_ratio(slowdown[0]), _ratio(slowdown[1]))
        notes = notes_of(notes)
    except (TypeError, ValueError, LookupError, OverflowError) as error:
        found = f"{grids!r}, {resources!r}, {work!r}, {slowdown!r}, {notes!r}"[:200]
        fields = "grids, resources, work, slowdown or notes"
        raise TraceFileError(f"{META} has unreadable {fields}: {found}; save the trace again") from error
    texts = {str(name): str(value) for name, value in versions.items()}
    numbers = {
        "grids": grids,
        "resources": resources,
        "work": work,
        "clock_ghz": ghz,
        "slowdown": slowdown,
        "notes": notes,
    }
    return TraceMeta(**values, versions=texts, **numbers)


def _few(grids: Sequence[tuple[int, ...]]) -> bool:
    """Whether launches of these grids have a number of CTAs that can be."""
    return all(extent >= 0 for grid in grids for extent in grid) and sum(map(math.prod, grids)) < IDS


def _ratio(raw: Any) -> float:
    """Check a ratio of two times. Raises ``ValueError`` for anything else."""
    if type(raw) not in (int, float) or not 0 < raw < math.inf:
        raise ValueError(f"{raw!r} is no ratio of times")
    return float(raw)


def check_header(member: IO[bytes], shape: tuple[int, int, int]) -> None:
    """Read the header of ``slots.npy``. Raises ``TraceFileError`` for another shape or type than what is expected."""
    if np.lib.format.read_magic(member) != (1, 0):
        raise TraceFileError(f"{SLOTS} is not in NumPy's format 1.0; save the trace again")
    try:
        found, fortran, dtype = np.lib.format.read_array_header_1_0(member, max_header_size=NPY_HEADER_LIMIT)
    except (zipfile.BadZipFile, zlib.error, EOFError, OSError):
        raise
    except Exception as error:  # NumPy takes it for Python text, which fails in any of its ways
        raise TraceFileError(f"the header of {SLOTS} is damaged; copy or save it again") from error
    if found != shape or fortran or dtype != np.dtype("<i8"):
        raise TraceFileError(
            f"{SLOTS} is {dtype}{list(found)}, expected int64{list(shape)} in C order; save the trace again"
        )
