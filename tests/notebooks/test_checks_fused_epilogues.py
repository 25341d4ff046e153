"""What lesson 16 says to right answers and to typical wrong ones."""

import pytest

from tltrace_nb.course import fused_epilogues as checks

ONCE = 512 * 512 * 4


@pytest.mark.parametrize("answer", [2 * ONCE, float(2 * ONCE), str(2 * ONCE), [2 * ONCE], 2.1e6])
def test_a_matrix_that_need_not_exist_is_neither_written_nor_read(answer) -> None:
    assert checks.saved(answer, 512, 512, 4).right


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        (ONCE, "C once"),
        (2 * 512 * 512, "how many bytes has one"),
        (3 * ONCE, "D is moved in both cases"),
        (7, "need not exist"),
        ("?", "one number"),
    ],
)
def test_other_bytes_are_told_what_they_are(answer, why) -> None:
    verdict = checks.saved(answer, 512, 512, 4)
    assert verdict.state == "wrong"
    assert why in verdict.why


def test_nothing_is_no_answer() -> None:
    assert checks.saved(None, 512, 512, 4).state == "unanswered"
    assert checks.fused(None, None, None).state == "unanswered"
