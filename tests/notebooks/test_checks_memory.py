"""What lesson 4 says to right answers and to typical wrong ones."""

import numpy as np
import pytest

from tltrace_nb.course import memory as checks


@pytest.mark.parametrize(
    ("stride", "item_bytes", "sectors"), [(1, 4, 4), (4, 2, 8), (8, 4, 32), (3, 4, 12), (1, 2, 2), (64, 4, 32)]
)
def test_sectors_follow_from_stride_and_size(stride, item_bytes, sectors) -> None:
    for answer in (sectors, float(sectors), np.int64(sectors)):
        assert checks.sectors_of_a_warp(answer, stride, item_bytes).right


@pytest.mark.parametrize(
    ("answer", "why"),
    [(16, "of 4 bytes"), (2, "neighbours"), (32, "for every thread"), (256, "those are bytes"), (7, "how many bytes")],
)
def test_other_numbers_of_sectors_are_told_apart(answer, why) -> None:
    verdict = checks.sectors_of_a_warp(answer, stride=4, item_bytes=2)
    assert verdict.state == "wrong"
    assert why in verdict.why


@pytest.mark.parametrize(("width", "ways"), [(32, 32), (33, 1), (34, 2), (36, 4), (48, 16)])
def test_ways_follow_from_the_width_of_a_row(width, ways) -> None:
    assert checks.ways_of_the_conflict(ways, width).right
    assert checks.ways_of_the_conflict(np.int64(ways), width).right


@pytest.mark.parametrize(
    ("answer", "why"), [(16, "how many banks"), (1, "rows of 33"), (32, "without padding"), (5, "modulo 32")]
)
def test_other_numbers_of_ways_are_told_apart(answer, why) -> None:
    verdict = checks.ways_of_the_conflict(answer, width=34)
    assert verdict.state == "wrong"
    assert why in verdict.why


def test_nothing_is_no_answer() -> None:
    assert checks.sectors_of_a_warp(None, 4, 2).state == "unanswered"
    assert checks.ways_of_the_conflict(None, 34).state == "unanswered"
    assert checks.swizzle(None, None).state == "unanswered"
