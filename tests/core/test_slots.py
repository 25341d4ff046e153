"""The layout of the slots buffer."""

from __future__ import annotations

import numpy as np
import pytest

from tltrace_nb.data import slots as layout


@pytest.mark.parametrize("capacity", [0, 1, 7, 4096])
def test_slot_capacity_is_the_inverse_of_slot_words(capacity: int) -> None:
    assert layout.slot_capacity(layout.slot_words(capacity)) == capacity


def test_a_record_is_16_bytes_and_the_header_three_records() -> None:
    assert layout.RECORD.itemsize == layout.RECORD_BYTES == 16
    assert layout.HEADER.itemsize == layout.HEADER_RECORDS * layout.RECORD_BYTES


def test_slots_bytes_is_the_size_of_the_array() -> None:
    slots = np.zeros((3, 2, layout.slot_words(5)), np.int64)
    assert layout.slots_bytes(3, 2, 5) == slots.nbytes


def test_header_words_are_little_endian_halves() -> None:
    slots = np.zeros((1, 1, layout.slot_words(0)), np.int64)
    slots[0, 0] = [layout.STATE_DONE << 32 | 9, 64 << 32 | 5 << 16 | 131, 10, 11, 12, 13]
    head = layout.headers(slots)[0, 0]
    assert [int(head[name]) for name in layout.HEADER.names or ()] == [9, layout.STATE_DONE, 131, 5, 64, 10, 11, 12, 13]


def test_a_record_holds_clock_site_and_payload_bits() -> None:
    slots = np.zeros((1, 1, layout.slot_words(2)), np.int64)
    slots[0, 0, 8:] = [-5, 7 << 32 | 3]
    assert layout.records(slots)[0, 0].tolist() == [(0, 0, 0), (-5, 3, 7)]


def test_records_are_a_view() -> None:
    slots = np.zeros((2, 1, layout.slot_words(2)), np.int64)
    layout.records(slots)["clock"][1, 0, 0] = 4
    assert slots[1, 0, 6] == 4


def test_parts_of_a_larger_buffer_can_be_read() -> None:
    slots = np.zeros((4, 2, layout.slot_words(2)), np.int64)
    slots[2, 1, 0] = 3
    part = slots[::2, 1:]
    assert layout.headers(part)["executed"].tolist() == [[0], [3]]
    assert layout.records(part).shape == (2, 1, 2)
