"""What lesson 15 says to right answers and to typical wrong ones."""

import pytest

from tltrace_nb.base.gpus import preset
from tltrace_nb.course import registers as checks


@pytest.mark.parametrize("answer", [192, 192.0, "192", [192]])
def test_a_tile_takes_a_register_for_each_number(answer) -> None:
    assert checks.accumulators(answer, (192, 128), 128).right


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        (768, "those are bytes"),
        (96, "in fp16"),
        (192 * 128, "How many threads"),
        (232, "40 others"),
        (255, "how many numbers"),
        ("many", "how many numbers"),
    ],
)
def test_other_registers_are_told_what_they_count(answer, why) -> None:
    verdict = checks.accumulators(answer, (192, 128), 128)
    assert verdict.state == "wrong"
    assert why in verdict.why


@pytest.mark.parametrize("answer", [2, "2", 65536 // (256 * 128)])
def test_registers_have_room_for_two_ctas(answer) -> None:
    assert checks.ctas(answer, preset("h200"), 256, 128).right


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        (8, "by threads"),
        (512, "counts threads"),
        (256, "were alone"),
        (3, "has one such CTA"),
        ("?", "has one such CTA"),
    ],
)
def test_other_ctas_are_told_what_they_count(answer, why) -> None:
    verdict = checks.ctas(answer, preset("h200"), 256, 128)
    assert verdict.state == "wrong"
    assert why in verdict.why


def test_nothing_is_no_answer() -> None:
    assert checks.accumulators(None, (192, 128), 128).state == "unanswered"
    assert checks.ctas(None, preset("h200"), 256, 128).state == "unanswered"
    assert checks.without_spills(None, None).state == "unanswered"
