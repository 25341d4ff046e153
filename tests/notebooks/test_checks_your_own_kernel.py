"""What lesson 10 says to right answers and to typical wrong ones."""

import pytest
from checks import your_own_kernel as checks
from planned import GHZ, Span, Stay, planned

OPERATORS = planned(
    [
        Span("loop k", 0, 900),
        *(Span("copy X → x", 300 * k, 300 * k + 50, payload=k) for k in range(3)),
        *(Span("parallel x → x", 300 * k + 60, 300 * k + 280, payload=k) for k in range(3)),
        Span("reduce sum x → s", 900, 1300),
    ]
)


def turns(payload=lambda k: k, name="scale", length=200, each=4, after=2000):
    """Two CTAs with four turns of ``squares`` each, then turns of another range."""
    spans = []
    for cta in range(2):
        spans += [Span("squares", 250 * k, 250 * k + 200, cta, payload=k) for k in range(4)]
        spans += [Span(name, 1000 + 250 * k, 1000 + 250 * k + length, cta, payload=payload(k)) for k in range(each)]
    return planned(spans, [Stay(cta, 0, after // GHZ) for cta in range(2)])


BEFORE = turns()


def whole(names=("squares", "scale"), length=600):
    """Two CTAs that do each part once."""
    spans = [Span(name, 300 * i, 300 * i + 200, cta) for cta in range(2) for i, name in enumerate(names)]
    return planned(spans, [Stay(cta, 0, length // GHZ) for cta in range(2)])


def test_the_slowest_operator_has_the_largest_total() -> None:
    assert checks.slowest("parallel x → x", OPERATORS).right


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        ("loop k", "encloses"),
        (["loop k"], "as a string"),
        ("reduce sum x → s", "total, not at mean"),
        ("copy X → x", "Who waits"),
        ("gemm", "one of the names"),
        (3, "one of the names"),
    ],
)
def test_another_operator_is_told_why_it_is_not_the_slowest(answer, why) -> None:
    verdict = checks.slowest(answer, OPERATORS)
    assert verdict.state == "wrong"
    assert why in verdict.why


def test_a_range_in_each_turn_with_the_turn_as_payload_is_right() -> None:
    assert checks.scale_is_marked(BEFORE).right


@pytest.mark.parametrize(
    ("trace", "why"),
    [
        (turns(name="Scale"), "names are taken as written"),
        (turns(each=1), "around the whole loop"),
        (turns(payload=lambda _: None), "no payload"),
        (turns(payload=lambda _: 7), "not the number of the turn"),
        (turns(length=4), "very short"),
    ],
)
def test_a_marker_in_the_wrong_place_is_told_where_it_stands(trace, why) -> None:
    verdict = checks.scale_is_marked(trace)
    assert verdict.state == "wrong"
    assert why in verdict.why


def test_a_kernel_that_reads_once_is_faster() -> None:
    assert checks.faster(whole(), BEFORE).right


@pytest.mark.parametrize(
    ("after", "why"),
    [
        (BEFORE, "old kernel"),
        (turns(), "in turns"),
        (whole(names=("squares", "rest")), "range scale is missing"),
        (whole(length=1900), "read again"),
        (3.8, "give the trace"),
    ],
)
def test_a_kernel_that_is_not_the_one_asked_for_is_told_what_is_missing(after, why) -> None:
    verdict = checks.faster(after, BEFORE)
    assert verdict.state == "wrong"
    assert why in verdict.why


def test_without_an_answer_it_is_the_students_turn() -> None:
    unmarked = planned([Span("squares", 0, 100, payload=0)])
    for verdict in (
        checks.slowest(None, OPERATORS),
        checks.scale_is_marked(unmarked),
        checks.faster(None, BEFORE),
    ):
        assert verdict.state == "unanswered"
