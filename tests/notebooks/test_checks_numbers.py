"""What the checks take for a number, and that nothing which a student may write makes one fail."""

import numpy as np
import pytest
import torch
from handed_in import handed_in

from tltrace_nb import datasets
from tltrace_nb.course import (
    first_trace,
    flash_attention,
    memory,
    occupancy_and_waves,
    payloads_and_lanes,
    persistent_kernels,
    software_pipelining,
    threads_and_divergence,
    warp_specialisation,
    your_own_kernel,
)
from tltrace_nb.course.numbers import number

THROUGH_SHARED = handed_in(4, "through_shared", given=True)
LENGTHS = [4, 6, 8, 12, 16, 18, 24, 32, 64]
ODD = [
    "",
    "three",
    "12 CTAs",
    float("nan"),
    float("inf"),
    -1,
    0,
    10**400,
    1j,
    True,
    [],
    [1, 2, 3],
    ["a", None],
    (float("nan"), float("inf")),
    (10**400, -1),
    {},
    {"answer": 3},
    {1, 2},
    np.arange(4),
    torch.arange(2),
    torch.tensor(float("nan")),
    len,
]


def recorded(name):
    """A trace that comes with the package, recorded on an H200."""
    return datasets.load(f"h200/{name}")


PIPELINES = {stages: recorded(f"pipeline_{stages}") for stages in (1, 2, 3)}
BRANCHES = {1: recorded("branch_by_lane"), 32: recorded("branch_by_warp")}
CHECKS = {
    "ctas": lambda answer: first_trace.number_of_ctas(answer, recorded("first_trace")),
    "nanoseconds": lambda answer: first_trace.nanoseconds_of_cta_5(answer, recorded("first_trace")),
    "load and store": first_trace.load_and_store,
    "walk": lambda answer: payloads_and_lanes.longest_walk(answer, recorded("payloads_and_lanes")),
    "highest": lambda answer: payloads_and_lanes.highest_of_the_walk_from_7(answer, recorded("payloads_and_lanes")),
    "steps": payloads_and_lanes.counted_steps,
    "boundary": lambda answer: threads_and_divergence.smallest_without_divergence(answer, BRANCHES),
    "arms": lambda answer: threads_and_divergence.sum_of_the_arms(answer, BRANCHES[1]),
    "arranged": threads_and_divergence.arranged,
    "sectors": lambda answer: memory.sectors_of_a_warp(answer, 4, 2),
    "ways": lambda answer: memory.ways_of_the_conflict(answer, 34),
    "swizzle": lambda answer: memory.swizzle(answer, THROUGH_SHARED),
    "newest": lambda answer: software_pipelining.newest_load(answer, PIPELINES[3]),
    "stages": lambda answer: software_pipelining.fewest_stages(answer, PIPELINES),
    "fit": lambda answer: software_pipelining.most_stages(answer, 128, 64, 2, 232_448),
    "launch": lambda answer: warp_specialisation.launch(answer, recorded("roles_split")),
    "slots": lambda answer: warp_specialisation.enough_stages(answer, {2: recorded("roles_by_hand")}),
    "arrivals": lambda answer: warp_specialisation.arrivals(answer, recorded("roles_by_hand"), lambda: None),
    "last wave": lambda answer: occupancy_and_waves.last_wave(answer, recorded("waves_one_more")),
    "cut": lambda answer: occupancy_and_waves.cut(answer, lambda: {(264, 256): recorded("waves_full")}),
    "order": lambda answer: persistent_kernels.order(answer, LENGTHS, 4),
    "bounds": lambda answer: persistent_kernels.bounds(answer, LENGTHS, 4),
    "slack": lambda answer: flash_attention.may_be_slow(answer, recorded("flash_attention")),
    "softmax": lambda answer: flash_attention.half_the_softmax(answer, recorded("flash_attention")),
    "causal": lambda answer: flash_attention.causal(answer, recorded("flash_causal"), recorded("flash_attention")),
    "slowest": lambda answer: your_own_kernel.slowest(answer, recorded("own_kernel")),
    "marked": your_own_kernel.scale_is_marked,
    "faster": lambda answer: your_own_kernel.faster(answer, None),
}


@pytest.mark.parametrize("answer", [3, 3.0, "3", [3], (3,), np.int64(3), np.array([3]), torch.tensor(3)])
def test_a_number_is_one_in_any_form(answer) -> None:
    assert number(answer) == 3


@pytest.mark.parametrize("answer", ["", "three", [3, 4], [], None, 10**400, torch.arange(2), np.arange(2), len])
def test_other_things_are_no_number(answer) -> None:
    assert number(answer) is None


@pytest.mark.parametrize("name", CHECKS)
def test_odd_answers_are_wrong_and_no_check_fails_over_them(name) -> None:
    for answer in ODD:
        assert CHECKS[name](answer).state == "wrong", answer
