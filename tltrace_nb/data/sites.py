"""What a traced kernel records: its sites, its writers, and the table that travels with it.

In: nothing (plain data). Out: :class:`SiteTable`, which ``lowering`` fills and ``decode`` reads.

A *site* is one marker in one kernel. Records on the device carry only a site's id, so names, lanes and
groups have no bit-field limits. A *writer* is one thread that records. The table is stored as JSON in an
attribute of the PrimFunc, so that a kernel restored from a disk cache in another process still decodes.
"""

from __future__ import annotations

import dataclasses
import enum
import hashlib
import json
import math
from dataclasses import dataclass
from typing import Any

from tltrace_nb.data.chosen import Chosen, CtaRuns, Grid, Sample, chosen_from_json

TABLE_ATTRIBUTE = "tltrace.table"
"""Name of the PrimFunc attribute that holds the site table as JSON."""

TABLE_VERSION = 3
"""The latest version of a table: its ``ctas`` may be a sample.

Version 2 has runs and cuts, version 1 no more than ids."""


def table_version(ctas: Chosen | None) -> int:
    """The first version that can say which CTAs are traced."""
    return 1 if ctas is None else 3 if isinstance(ctas, Sample) else 2


ENTRY_POINT = "default"
"""Group of the markers that stand in no ``trace.group``; its lead is thread 0."""


class EventKind(enum.IntEnum):
    """What a record of a site means."""

    RANGE_BEGIN = 0
    RANGE_END = 1
    INSTANT = 2


class PayloadType(enum.StrEnum):
    """How the 32 raw bits of a payload are to be read."""

    NONE = "none"
    INT32 = "int32"
    UINT32 = "uint32"
    FLOAT32 = "float32"
    BOOL = "bool"


class Keep(enum.StrEnum):
    """Which records survive when a writer executes more markers than its slots hold."""

    FIRST = "first"
    LAST = "last"


@dataclass(frozen=True, slots=True)
class Site:
    """One marker in one kernel.

    ``id`` is dense and in order of appearance. ``range`` is the id of the range's begin site (its own id for a
    begin, -1 for an instant): an end closes a begin of the same range. ``source`` is ``file:line``.
    """

    id: int
    kind: EventKind
    name: str
    lane: str
    group: str
    payload: PayloadType
    source: str
    range: int = -1


@dataclass(frozen=True, slots=True)
class Writer:
    """One thread of a CTA that records: its group, its role and its linear hardware id (x fastest)."""

    index: int
    group: str
    role: str | None
    thread: int


ROW, COLUMN = "rasterization2DRow", "rasterization2DColumn"
"""TileLang's device functions for ``T.use_swizzle``, by the direction of their panels."""


@dataclass(frozen=True, slots=True)
class Rasterisation:
    """How a kernel maps CTAs to block indices (``T.use_swizzle``): TileLang's device function and its panels.

    ``panel`` is in blocks, ``cluster`` the CTAs of a cluster along x. ``function`` is empty where a kernel has several
    patterns, or one that does not hold in all of it.
    """

    function: str
    panel: int
    cluster: int = 1

    @property
    def known(self) -> bool:
        """Whether block indices can be told from CTAs."""
        return self.function in (ROW, COLUMN) and self.cluster > 0 < self.panel and self.panel % self.cluster == 0


@dataclass(frozen=True, slots=True)
class Launch:
    """One kernel of a PrimFunc. ``grid`` has ``None`` where an extent is known only at run time.

    Its CTAs are the rows ``first_row ...`` of the slots; ``first_row`` is 0 for the first (and usually only) launch.
    ``rasterisation`` is ``None`` where the kernel's block indices are the hardware's.
    """

    name: str
    grid: tuple[int | None, int | None, int | None]
    block: tuple[int, int, int]
    first_row: int = 0
    rasterisation: Rasterisation | None = None


@dataclass(frozen=True, slots=True)
class SiteTable:
    """All that is needed to read the slots of one kernel.

    ``capacity`` is in records per writer, the header not counted. ``ctas`` says which CTAs of each launch are traced,
    in the order of their rows, or is ``None`` when every CTA is. ``flows`` are the (source, destination) names of
    ``trace.dag``. ``note`` says what of the kernel is not marked although it was asked for. ``reasons`` are the sites
    that cannot record, or may be silent while others pass them, each with the reason. ``light`` are the names of the
    operators that automatic markers record a moment of, to be cheap, and ``--on all`` would record as ranges; ``full``
    those of automatic markers that the light set does not have at all.
    ``code`` is what stood on the lines of the sites' sources when the kernel was built, as far as it was known.
    """

    kernel: str
    sites: tuple[Site, ...]
    writers: tuple[Writer, ...]
    flows: tuple[tuple[str, str], ...]
    launches: tuple[Launch, ...]
    capacity: int
    keep: Keep = Keep.FIRST
    ctas: Chosen | None = None
    max_events: int | None = None
    source: str = ""
    source_hash: str = ""
    note: str = ""
    reasons: tuple[tuple[int, str], ...] = ()
    light: tuple[str, ...] = ()
    full: tuple[str, ...] = ()
    code: tuple[tuple[str, str], ...] = ()
    version: int = 1

    @property
    def tag(self) -> int:
        """16 bits that tell this kernel's slots from another's, wherever in a file the kernel stands."""
        return int.from_bytes(hashlib.sha256(self.without_lines().to_json().encode()).digest()[:2], "little")

    def without_lines(self) -> SiteTable:
        """The table of the same kernel wherever it stands: without the names and lines of files."""
        sites = tuple(dataclasses.replace(site, source="") for site in self.sites)
        return dataclasses.replace(self, sites=sites, source="", note="", code=())

    def to_json(self) -> str:
        """The table as JSON text; ``from_json`` is its inverse."""
        fields = dataclasses.asdict(self)
        if self.ctas is not None:
            if isinstance(self.ctas, CtaRuns) and self.version == 1:
                fields["ctas"] = list(self.ctas)
            else:
                fields["ctas"] = self.ctas.to_json()
        for name in (
            "note",
            "reasons",
            "light",
            "full",
            "code",
        ):  # tables of earlier versions have none, and the text decides the tag
            if not fields[name]:
                del fields[name]
        for launch in fields["launches"]:
            if launch["rasterisation"] is None:
                del launch["rasterisation"]
        return json.dumps(fields, sort_keys=True)

    @classmethod
    def from_json(cls, text: str) -> SiteTable:
        """Read a table back.

        Raises ``ValueError`` when the text is not a site table of a version that this library reads.
        """
        try:
            raw: dict[str, Any] = json.loads(text)
            if raw["version"] not in range(1, TABLE_VERSION + 1):
                raise ValueError(
                    f"site table version {raw['version']}, this library reads up to {TABLE_VERSION}: upgrade tltrace_nb"
                )
            if raw["version"] == 1 and isinstance(raw["ctas"], dict):
                raise ValueError("a site table of version 1 lists its CTAs, and this one describes them")
            return cls(
                **{
                    **raw,
                    "sites": tuple(
                        Site(**{**s, "kind": EventKind(s["kind"]), "payload": PayloadType(s["payload"])})
                        for s in raw["sites"]
                    ),
                    "writers": tuple(Writer(**w) for w in raw["writers"]),
                    "flows": tuple((str(a), str(b)) for a, b in raw["flows"]),
                    "reasons": tuple((int(site), str(reason)) for site, reason in raw.get("reasons", ())),
                    "code": tuple((str(source), str(text)) for source, text in raw.get("code", ())),
                    **{key: tuple(str(name) for name in raw.get(key, ())) for key in ("light", "full")},
                    "launches": tuple(map(_launch, raw["launches"])),
                    "keep": Keep(raw["keep"]),
                    "ctas": chosen_from_json(raw["ctas"]),
                }
            )
        except (LookupError, TypeError, AttributeError, json.JSONDecodeError) as error:
            raise ValueError(f"not a site table of tltrace_nb: {error}") from error


def _launch(raw: dict[str, Any]) -> Launch:
    """A launch out of its JSON."""
    pattern = raw.get("rasterisation")
    shapes = {"grid": tuple(raw["grid"]), "block": tuple(raw["block"])}
    return Launch(**{**raw, **shapes, "rasterisation": None if pattern is None else Rasterisation(**pattern)})


def table_rows(table: SiteTable) -> int | None:
    """Rows of the slots; ``None`` when they follow from a grid that is known only at run time."""
    rows = [launch_rows(table.ctas, number, launch.grid) for number, launch in enumerate(table.launches)]
    return None if None in rows else sum(each or 0 for each in rows)


def launch_rows(chosen: Chosen | None, number: int, grid: tuple[int | None, int | None, int | None]) -> int | None:
    """Rows of one launch; ``None`` when they follow from a grid that is known only at run time."""
    x, y, z = grid
    if x is None or y is None or z is None:
        return chosen.rows if isinstance(chosen, CtaRuns) else None
    return x * y * z if chosen is None else chosen.of_launch(number, (x, y, z)).rows


def is_whole(table: SiteTable, grids: tuple[Grid, ...] | None) -> bool:
    """Whether every CTA of these launches was to record: neither did the author choose some, nor had some no room."""
    if table.ctas is None:
        return True
    return grids is not None and rows_at(table, grids) == sum(math.prod(grid) for grid in grids)


def rows_at(table: SiteTable, grids: tuple[Grid, ...]) -> int:
    """Rows that launches of these grids fill."""
    return sum(
        math.prod(grid) if table.ctas is None else table.ctas.of_launch(number, grid).rows
        for number, grid in enumerate(grids)
    )
