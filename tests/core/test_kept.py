"""Which of many launches stay: per kernel and shape, within the budgets, and at what cost."""

from __future__ import annotations

import copy
import gc
import math
import tracemalloc
from collections.abc import Hashable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest

from tltrace_nb.core.runtime import kept as kept_module
from tltrace_nb.core.runtime.kept import Kept, Policy, Section
from tltrace_nb.core.runtime.stopwatch import Stopwatch
from tltrace_nb.core.trace import Trace
from tltrace_nb.data.sites import SiteTable

BUDGET = 1000
TABLE = SiteTable(kernel="k", sites=(), writers=(), flows=(), launches=(), capacity=0)


@dataclass(eq=False)
class Fake:
    """A launch that takes ``took`` ns, which the device says when it is ``done``."""

    took: float = 1.0
    key: Hashable = ("k", ())
    device_bytes: int = 10
    host_bytes: int = 0
    graph: bool = False
    timed: bool = True
    done: bool = True
    waited: int = 0
    copied: int = 0
    number: int = field(default=-1)

    def ns(self, wait: bool) -> float | None:
        self.waited += wait and not self.done
        self.done = self.done or wait
        return self.took if self.done else None

    def trace(self) -> Any:
        return self

    @property
    def slots(self) -> None:
        self.copied += 1
        self.host_bytes += self.device_bytes
        self.device_bytes = 0

    @property
    def table(self) -> SiteTable:
        return TABLE


def ran(*launches: Fake, policy: Any = None, budget: int = BUDGET) -> Kept:
    """What stays of launches, numbered in their order."""
    kept = Kept()
    for number, launch in enumerate(launches):
        launch.number = number
        kept.add(launch, Section(1, Policy.of(policy)), budget)
    return kept


def stays(kept: Kept) -> list[int]:
    return [launch.number for launch in kept.since()]  # type: ignore[attr-defined]


TOOK = [5.0, 3, 9, 4, 2, 9, 1, 2]


@pytest.mark.parametrize(
    ("policy", "expected"),
    [
        (None, [0, 2, 7]),
        ("first", [0]),
        ("last", [7]),
        ("slowest", [2]),
        ("all", list(range(8))),
        (3, [5, 6, 7]),
        ("3", [5, 6, 7]),
        ("every 3", [0, 3, 6]),
        ("slowest, every 3", [0, 2, 3, 6]),
        (["first", 2], [0, 6, 7]),
    ],
    ids=str,
)
def test_a_policy_says_which_launches_stay(policy: Any, expected: list[int]) -> None:
    assert stays(ran(*(Fake(took) for took in TOOK), policy=policy)) == expected


@pytest.mark.parametrize(
    "policy", ["fastest", "", "every", "every 0", 0, -1, True, ["first", "never"], 2.5, "first last"]
)
def test_another_policy_is_refused_with_the_right_ones(policy: Any) -> None:
    with pytest.raises((ValueError, TypeError), match="keep_launches=.*'slowest'|not iterable"):
        Policy.of(policy)


def test_each_kernel_and_shape_has_its_own() -> None:
    launches = [Fake(took, key=("k", (shape,))) for took, shape in [(1, 8), (7, 16), (3, 8), (2, 16), (2, 8), (1, 16)]]
    assert stays(ran(*launches)) == [0, 1, 2, 4, 5]
    assert stays(ran(*launches, policy="slowest")) == [1, 2]


def test_each_section_counts_from_its_beginning() -> None:
    kept = Kept()
    launches = [Fake(took) for took in (9, 1, 2, 3)]
    for number, launch in enumerate(launches):
        launch.number = number
        kept.add(launch, Section(number // 2), BUDGET)
    assert stays(kept) == [0, 1, 2, 3]
    assert [launch.number for launch in kept.since(2)] == [2, 3]  # type: ignore[attr-defined]


def test_pinned_launches_stay_whatever_the_policy() -> None:
    kept = ran(*(Fake() for _ in range(3)), policy="last")
    for number in range(3, 6):
        kept.add(Fake(number=number), Section(1, Policy.of("last")), BUDGET, pinned=True)
    assert stays(kept) == [3, 4, 5]


def test_adding_waits_for_nothing_and_reading_waits() -> None:
    launches = [Fake(took, done=False) for took in TOOK * 3]
    kept = ran(*launches)
    assert sum(launch.waited for launch in launches) == 0
    assert stays(kept) == [0, 2, 23]
    assert sum(launch.waited for launch in launches) > 0


def test_a_launch_whose_time_is_never_known_is_not_the_slowest() -> None:
    assert stays(ran(Fake(1), Fake(math.nan), Fake(2), Fake(1))) == [0, 2, 3]


def test_what_is_known_of_a_kernel_is_counted_over_all_launches() -> None:
    kept = ran(*(Fake(took) for took in TOOK))
    (found,) = kept.launched()
    assert (found.kernel, found.launches, found.median_ns) == ("k", 8, 3.5)
    assert [why for why, _ in found.kept] == ["first", "slowest", "last"]
    assert kept.launched(8) == []
    assert [why for why, _ in ran(Fake(), policy="first,last").launched()[0].kept] == ["first, last"]
    assert [why for why, _ in ran(*(Fake() for _ in range(3)), policy="every 2").launched()[0].kept] == ["1", "last"]


def test_a_median_of_very_many_is_of_an_even_part() -> None:
    (found,) = ran(*(Fake(float(n)) for n in range(10_000))).launched()
    assert found.median_ns == pytest.approx(5000, rel=0.01)


# ---- memory


def test_beyond_the_budget_the_oldest_are_copied_to_the_host() -> None:
    launches = [Fake(key=("k", (n,)), device_bytes=400) for n in range(5)]
    kept = ran(*launches)
    assert sum(launch.device_bytes for launch in launches) <= BUDGET
    assert [launch.copied for launch in launches] == [1, 1, 1, 0, 0]
    assert stays(kept) == [0, 1, 2, 3, 4]


def test_launches_that_do_not_stay_are_not_copied() -> None:
    launches = [Fake(took, device_bytes=400) for took in (1, 9, *[2] * 20)]
    assert stays(ran(*launches)) == [0, 1, 21]
    assert [n for n, launch in enumerate(launches) if launch.copied] == [0]


def test_the_newest_launch_is_left_alone() -> None:
    launches = [Fake(device_bytes=5 * BUDGET, done=False) for _ in range(3)]
    kept = ran(*launches)
    assert [launch.copied for launch in launches] == [1, 0, 0]
    assert launches[2].waited == 0
    assert stays(kept) == [0, 2]


def test_nothing_is_copied_or_waited_for_while_a_graph_is_captured() -> None:
    before = [Fake(device_bytes=900, done=False), *(Fake(device_bytes=900, graph=True, key=("g", n)) for n in range(3))]
    kept = ran(*before)
    assert [(launch.copied, launch.waited) for launch in before] == [(0, 0)] * 4
    assert stays(kept) == [0, 3]


def test_what_all_take_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kept_module, "HOST_BUDGET", 5000)
    assert stays(ran(*(Fake(device_bytes=500) for _ in range(100)), policy="all")) == list(range(90, 100))


def test_what_was_made_of_slots_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kept_module, "HOST_BUDGET", 5000)
    launches = [Fake(device_bytes=200) for _ in range(10)]
    kept = ran(*launches, policy="all")
    for number in (7, 8):
        launches[number].host_bytes += 2000  # decoded
    kept.add(Fake(device_bytes=200, number=10), Section(1, Policy.of("all")), BUDGET)
    assert stays(kept) == [6, 7, 8, 9, 10]


def test_the_newest_launch_stays_however_large() -> None:
    assert stays(ran(Fake(), Fake(device_bytes=3 * kept_module.HOST_BUDGET))) == [1]


def test_traces_that_were_looked_at_are_let_go_for_others(monkeypatch: pytest.MonkeyPatch, recorded: Trace) -> None:
    kept = Kept()
    monkeypatch.setattr(kept_module, "HOST_BUDGET", 4 * recorded.nbytes)
    policy = Section(1, Policy.of("all"))
    for _ in range(3):
        kept.add(kept_module.launch_of(copy.copy(recorded)), policy, recorded.nbytes)
    assert len(kept.since()) == 3
    for trace in kept.since():
        _ = trace.events
    kept.add(kept_module.launch_of(copy.copy(recorded)), policy, recorded.nbytes)
    assert kept.count == 4
    assert len(kept.since()) == 1


def test_a_trace_says_what_it_holds_on_the_host(recorded: Trace) -> None:
    slots = recorded.host_bytes
    assert slots == recorded.nbytes > 0
    frames = (recorded.events, recorded.ctas, recorded.flows, recorded.sites, recorded.losses)
    assert recorded.host_bytes == slots + sum(frame.memory_usage(index=False).sum() for frame in frames)


@pytest.mark.wide
def test_ten_thousand_launches_leave_no_more_than_ten() -> None:
    def grown(count: int) -> int:
        tracemalloc.start()
        kept = Kept()
        section = Section()
        for n in range(count):
            kept.add(Fake(took=n % 97), section, BUDGET)
        gc.collect()
        size, _ = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        assert kept.count == count
        return size

    assert grown(20_000) < grown(10_000) + 10_000


def test_clear_forgets_all() -> None:
    kept = ran(Fake())
    kept.clear()
    assert (stays(kept), kept.launched()) == ([], [])


# ---- traces that exist already, and the clock


def test_a_trace_is_its_own_launch(recorded: Trace) -> None:
    kept = Kept()
    for _ in range(3):
        kept.add(kept_module.launch_of(recorded), Section(), BUDGET)
    (found,) = kept.launched()
    assert (found.kernel, found.launches) == ("add", 3)
    assert found.median_ns == pytest.approx((recorded.ctas.end_ns.max() - recorded.ctas.start_ns.min()), abs=64)


def test_a_run_that_has_not_ended_has_no_time_yet() -> None:
    launch = kept_module.launch_of(Trace(np.zeros((1, 0, 6), np.int64), TABLE))
    assert launch.ns(False) is None
    assert math.isnan(launch.ns(True) or 0)


@pytest.fixture
def recorded() -> Trace:
    from recordings import RECORDED

    from tltrace_nb import load

    return load(RECORDED / "add.tltrace")


class Event:
    """A CUDA event on a stream that has come as far as ``now``."""

    now = 0
    made = 0

    def __init__(self) -> None:
        Event.made += 1
        self.at = -1

    def record(self) -> None:
        self.at = Event.now

    def query(self) -> bool:
        return Event.now > self.at

    def synchronize(self) -> None:
        Event.now = max(Event.now, self.at + 1)

    def elapsed_time(self, other: Event) -> float:
        assert self.query()
        assert other.query()
        return float(other.at - self.at)


def test_a_timing_is_read_later_and_its_events_are_used_again() -> None:
    watch = Stopwatch(Event)
    timing = watch.start()
    Event.now += 3
    timing.stop()
    assert timing.ns(False) is None
    assert timing.ns(True) == timing.ns(False) == 3e6
    made = Event.made
    watch.start().stop()
    assert Event.made == made


def test_the_sections_that_launched_last_stay(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kept_module, "SECTIONS", 3)
    kept, outer = Kept(), Section(1)
    launches = [Fake() for _ in range(8)]
    for number, launch in enumerate(launches[:6]):
        if number % 2:
            kept.add(launch, outer, BUDGET)  # the program's own, between blocks
        else:
            kept.add(launch, Section(2 + number), BUDGET)
    assert kept.launches() == [launches[each] for each in (1, 2, 4, 5)]
    for number, launch in enumerate(launches[6:]):
        kept.add(launch, Section(20 + number), BUDGET)
    assert kept.launches() == [launches[each] for each in (1, 5, 6, 7)]
    assert kept.count == 8


# ---- the launches like one


def test_launches_like_one_are_those_of_its_kernel_and_shape_by_their_numbers() -> None:
    mine, others = [Fake() for _ in range(3)], [Fake(key=("k", (2,))) for _ in range(2)]
    kept = ran(mine[0], others[0], mine[1], others[1], mine[2], policy="all")
    assert kept.alike(mine[1]) == {1: mine[0], 2: mine[1], 3: mine[2]}  # type: ignore[arg-type, comparison-overlap]
    assert kept.alike(others[1]) == {1: others[0], 2: others[1]}  # type: ignore[arg-type, comparison-overlap]


def test_a_launch_that_did_not_stay_has_a_number_all_the_same() -> None:
    launches = [Fake(took=each) for each in (1.0, 1, 5, 1, 1)]
    kept = ran(*launches)
    assert list(kept.alike(launches[4])) == [1, 3, 5]  # type: ignore[arg-type]


def test_nothing_is_like_a_launch_that_is_not_there() -> None:
    assert ran(Fake()).alike(Fake()) == {}  # type: ignore[arg-type]
