"""Traces to export: random ones, as markers in any order would leave them, and awkward ones by hand."""

from __future__ import annotations

import struct
from importlib.resources import files
from pathlib import Path
from typing import Any

from hypothesis import strategies as st
from synthetic import Rec, build, instant, span, table

from tltrace_nb.core.trace import Trace, TraceMeta
from tltrace_nb.data.sites import PayloadType, SiteTable, Writer

RECORDED = sorted(Path(str(files("tltrace_nb").joinpath("datasets", "h200"))).glob("*.tltrace"))

NAMES = st.text(st.characters(), max_size=8)
"""Any characters, lone surrogates and controls included."""

HOSTILE = (
    "</script><script>alert(1)</script>",
    "\u202eright to left\u202c",
    "🚀👩\u200d🔬",
    "x" * 10_000,
    "\ud800 lone",
    'quotes " \\ and \x00\x1b[31m controls',
    "",
)


def bits(value: float) -> int:
    return int(struct.unpack("<I", struct.pack("<f", value))[0])


INT32_LEAST, INT32_MOST, UINT32_MOST = 0x8000_0000, 0x7FFF_FFFF, 0xFFFF_FFFF
PAYLOADS = st.one_of(
    st.integers(0, UINT32_MOST),
    st.sampled_from(
        [0, 1, INT32_LEAST, INT32_MOST, UINT32_MOST, *map(bits, (float("inf"), -float("inf"), float("nan"), -0.0, 0.1))]
    ),
)


@st.composite
def random_traces(draw: Any) -> Trace:
    """Ranges that nest, cross, touch, have no length or never end, and instants, by two writers of up to three CTAs."""
    names = draw(st.lists(NAMES, min_size=4, max_size=4))
    types = draw(st.lists(st.sampled_from(list(PayloadType)), min_size=5, max_size=5))
    lanes = draw(st.lists(st.sampled_from(["main", "tma"]), min_size=4, max_size=4))
    sites = (
        *span(0, names[0], lane=lanes[0], payload=types[0], end_payload=types[4]),
        *span(2, names[1], lane=lanes[1], payload=types[1]),
        *span(4, names[2], lane=lanes[2], payload=types[2]),
        instant(6, names[3], lane=lanes[3], payload=types[3]),
    )
    writers = (Writer(0, "default", None, 0), Writer(1, "math", "consumer", 128))
    rows = draw(st.integers(1, 3))
    clock = draw(st.sampled_from([1000, 2**53 - 5000]))
    records = []
    for row in range(rows):
        for writer in range(2):
            now = clock
            for site, step, payload in draw(
                st.lists(st.tuples(st.integers(0, 6), st.sampled_from([0, 0, 1, 3, 250]), PAYLOADS), max_size=14)
            ):
                now += step
                records.append(Rec(row, writer, now, site, payload))
    of = table(*sites, writers=writers, grid=(rows, 1, 1), flows=((names[0], names[1]), (names[1], names[2])))
    measured = draw(st.booleans())
    last = clock + 9000 if measured else clock + 4000
    slots = build(of, records, rows=rows, exit_=last, sm={row: row % 2 for row in range(rows)})
    if not measured:  # a timer that stands still tells no rate
        slots[..., 3] = slots[..., 5] = 7
    return Trace(slots, of, TraceMeta("kernel", device=draw(st.sampled_from(["cuda", "virtual"])), gpu="a GPU"))


def made(of: SiteTable, *records: tuple[int, int, int], **options: Any) -> Trace:
    """A trace of one writer of one CTA: (clock, site, payload)."""
    return Trace(build(of, [Rec(0, 0, *record) for record in records], **options), of, TraceMeta("kernel"))
