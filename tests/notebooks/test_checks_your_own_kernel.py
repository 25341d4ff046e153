"""What lesson 10 says to right answers and to typical wrong ones."""

import pytest
from planned import Span, planned

from tltrace_nb.course import your_own_kernel as checks

OPERATORS = planned(
    [
        Span("loop k", 0, 900),
        *(Span("copy X → x", 300 * k, 300 * k + 50, payload=k) for k in range(3)),
        *(Span("parallel x → x", 300 * k + 60, 300 * k + 280, payload=k) for k in range(3)),
        Span("reduce sum x → s", 900, 1300),
    ]
)


def test_the_slowest_operator_has_the_largest_total() -> None:
    assert checks.slowest("parallel x → x", OPERATORS).right


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        ("loop k", "encloses"),
        (["loop k"], "as a string"),
        ("reduce sum x → s", "total, not at mean"),
        ("copy X → x", "Which operator waits"),
        ("gemm", "one of the names"),
        (3, "one of the names"),
    ],
)
def test_another_operator_is_told_why_it_is_not_the_slowest(answer, why) -> None:
    verdict = checks.slowest(answer, OPERATORS)
    assert verdict.state == "wrong"
    assert why in verdict.why


def test_without_an_answer_it_is_the_students_turn() -> None:
    assert checks.slowest(None, OPERATORS).state == "unanswered"
    assert checks.faster(None, None).state == "unanswered"
