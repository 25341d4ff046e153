"""What lesson 7 says to right answers and to typical wrong ones."""

import numpy as np
import pytest
from planned import Stay, planned

from tltrace_nb.core.trace import TraceMeta
from tltrace_nb.course import occupancy_and_waves as checks


def launch(ctas, each=1000, sms=4, per_sm=2):
    """So many CTAs of ``each`` ns on the classroom GPU, two at a time on each of its four SMs."""
    stays = []
    for cta in range(ctas):
        wave, place = divmod(cta, sms * per_sm)
        stays.append(Stay(place % sms, wave * (each + 100), wave * (each + 100) + each))
    meta = TraceMeta(
        "kernel", device="virtual", gpu="classroom model", grids=((ctas, 1, 1),), resources=((56, 100 * 1024),)
    )
    return planned([], stays, threads=128, meta=meta)


TWENTY_ONE = launch(21)
CUTS = {(8, 9): launch(8, 4500), (9, 8): launch(9, 4000), (24, 3): launch(24, 1700), (72, 1): launch(72, 700)}


@pytest.mark.parametrize("answer", [(3, 3), [3.0, 3], np.array([3, 3])])
def test_the_last_wave_holds_what_the_full_ones_left(answer) -> None:
    assert checks.last_wave(answer, TWENTY_ONE).right


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        ((2, 3), "left over"),
        ((6, 3), "count CTA slots, not SMs"),
        ((5, 3), "8 at a time"),
        ((3, 5), "taken, not empty"),
        ((3, 0), "that the full waves left"),
        ((2.5, 0), "two numbers"),
        (3, "two numbers"),
    ],
)
def test_a_wrong_last_wave_is_told_what_it_counts(answer, why) -> None:
    verdict = checks.last_wave(answer, TWENTY_ONE)
    assert verdict.state == "wrong"
    assert why in verdict.why


@pytest.mark.parametrize("answer", [2, 2.0, "2"])
def test_as_many_fit_as_the_scarcest_resource_allows(answer) -> None:
    assert checks.fit(answer, TWENTY_ONE).right


@pytest.mark.parametrize(
    ("answer", "why"),
    [(2.25, "rounded"), (16, "by their threads"), (1, "more fit"), (9, "the least"), ("few", "one number")],
)
def test_a_wrong_occupancy_is_told_what_was_forgotten(answer, why) -> None:
    verdict = checks.fit(answer, TWENTY_ONE)
    assert verdict.state == "wrong"
    assert why in verdict.why


def test_one_full_wave_is_the_best_cut() -> None:
    assert checks.cut((8, 9), lambda: CUTS).right


@pytest.mark.parametrize(
    ("answer", "why"),
    [((9, 8), "last wave leaves"), ((72, 1), "each CTA pays"), ((24, 3), "no tail"), ((16, 4), "one of the cuts")],
)
def test_a_worse_cut_is_told_what_it_loses(answer, why) -> None:
    verdict = checks.cut(answer, lambda: CUTS)
    assert verdict.state == "wrong"
    assert why in verdict.why


def test_without_an_answer_it_is_the_students_turn_and_nothing_runs() -> None:
    for verdict in (
        checks.last_wave(None, TWENTY_ONE),
        checks.fit(None, TWENTY_ONE),
        checks.cut(None, lambda: pytest.fail("ran")),
    ):
        assert verdict.state == "unanswered"
