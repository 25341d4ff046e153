"""The layout of the ``slots`` buffer: the one place where its words and bits are defined.

In: ``int64[num_cta, num_writers, words]``, written by the device helper (``compile.device``) or the virtual GPU.
Out: NumPy views of it, without copies.

A slot is the row of one writer in one CTA. It is made of 16-byte records; the first three are the header::

    record 0   markers executed (u32) | state (u32)        SM id (u16) | kernel tag (u16) | linear thread id (u32)
    record 1   clock64 at entry                            globaltimer at entry, ns
    record 2   clock64 at exit                             globaltimer at exit, ns
    record 3…  clock64                                     site id (u32) | payload bits (u32)

Little-endian: the first of two u32 is the low half of the int64 word. The tag is ``SiteTable.tag``: slots tell whose
they are. ``markers executed`` is never clamped, so ``executed - capacity`` records are lost when it exceeds the
capacity. With ``keep="last"`` the records form a ring: marker number ``n`` lies at position ``n % capacity``.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

RECORD_BYTES = 16
RECORD_WORDS = 2
HEADER_RECORDS = 3

STATE_OPEN = 0x544C5401
"""The writer entered the kernel ('TLT', 1) and has not left it."""
STATE_DONE = 0x544C5402
"""The writer left the kernel; its count and exit clocks are valid."""
STATE_STUCK = 0x544C5403
"""The writer never leaves: its exit clocks say when nobody could go on. Only the virtual GPU knows that."""

HEADER = np.dtype(
    [
        ("executed", "<u4"),
        ("state", "<u4"),
        ("sm", "<u2"),
        ("tag", "<u2"),
        ("thread", "<u4"),
        ("entry_clock", "<i8"),
        ("entry_ns", "<i8"),
        ("exit_clock", "<i8"),
        ("exit_ns", "<i8"),
    ]
)
RECORD = np.dtype([("clock", "<i8"), ("site", "<u4"), ("payload", "<u4")])


def slot_words(capacity: int) -> int:
    """Int64 words of one slot that holds ``capacity`` records."""
    return RECORD_WORDS * (HEADER_RECORDS + capacity)


def slot_capacity(words: int) -> int:
    """Records that a slot of ``words`` int64 words holds; the inverse of ``slot_words``."""
    return words // RECORD_WORDS - HEADER_RECORDS


def slots_bytes(num_cta: int, num_writers: int, capacity: int) -> int:
    """Bytes of the whole buffer."""
    return num_cta * num_writers * RECORD_BYTES * (HEADER_RECORDS + capacity)


def headers(slots: npt.NDArray[np.int64]) -> npt.NDArray[np.void]:
    """The headers as ``HEADER[num_cta, num_writers]``, a view."""
    head = np.ascontiguousarray(slots)[..., : RECORD_WORDS * HEADER_RECORDS]
    return np.ascontiguousarray(head).view(HEADER)[..., 0]


def records(slots: npt.NDArray[np.int64]) -> npt.NDArray[np.void]:
    """The records as ``RECORD[num_cta, num_writers, capacity]``, a view when ``slots`` is contiguous."""
    return np.ascontiguousarray(slots).view(RECORD)[..., HEADER_RECORDS:]


def forget_unfinished(slots: npt.NDArray[np.int64]) -> None:
    """Zero the records of writers that never left the kernel, in place: without a count nobody knows which are theirs.

    For slots that were not zeroed before the launch; the header stays, so that the writer counts as unfinished.
    """
    head = RECORD_WORDS * HEADER_RECORDS
    opened = ((slots[..., 0] >> 32) == STATE_OPEN) | ((slots[..., 0] >> 32) == STATE_STUCK)
    if opened.any():
        slots[opened, head:] = 0


def span_ns(slots: npt.NDArray[np.int64]) -> float | None:
    """From the first entry to the last exit of all writers, in ns; ``None`` where none has left yet."""
    head = headers(slots)
    done = head["state"] == STATE_DONE
    if not done.any():
        return None
    return float(head["exit_ns"][done].max() - head["entry_ns"][done].min())
