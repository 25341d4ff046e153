"""Vector clocks, barriers and shadow memory: what orders two accesses, and what does not."""

from __future__ import annotations

import numpy as np
import pytest

from tltrace_nb.simulator.races.barriers import Phased
from tltrace_nb.simulator.races.clocks import COPIES, PRODUCTS, Clocks
from tltrace_nb.simulator.races.descriptors import Descriptor, spans
from tltrace_nb.simulator.races.shadow import ELSEWHERE, READ, UPDATE, WRITE, Conflict, Shadow

PLACE = slice(0, 1)


class Memory:
    """One place that two warps access."""

    def __init__(self) -> None:
        self.clocks = Clocks(2, 1)
        self.found: list[Conflict] = []
        self.shadow = Shadow(4, self.clocks, self.found.append)
        self.site = 0

    def access(self, kind: int, warp: int) -> None:
        """A warp accesses it, by a statement of its own."""
        self.site += 1
        self.shadow.access(kind, PLACE, warp, warp, self.clocks.known[warp, warp], self.site)

    def meet(self) -> None:
        """Both warps at a barrier."""
        both = np.arange(2)
        self.clocks.acquire(both, self.clocks.release(both))


@pytest.fixture
def memory() -> Memory:
    return Memory()


@pytest.mark.parametrize(
    ("first", "second", "races"),
    [(WRITE, READ, 1), (READ, WRITE, 1), (WRITE, WRITE, 1), (READ, READ, 0), (UPDATE, UPDATE, 0), (UPDATE, READ, 1),
     (WRITE, UPDATE, 1), (READ, UPDATE, 1)],
)  # fmt: skip
def test_two_warps_race_if_one_writes_and_not_both_are_atomic(
    memory: Memory, first: int, second: int, races: int
) -> None:
    memory.access(first, 0)
    memory.access(second, 1)
    assert len(memory.found) == races


def test_a_warp_does_not_race_with_itself(memory: Memory) -> None:
    for kind in (WRITE, READ, WRITE, UPDATE):
        memory.access(kind, 0)
    assert memory.found == []


def test_a_barrier_orders_what_is_before_it_with_what_is_behind(memory: Memory) -> None:
    memory.access(WRITE, 0)
    memory.meet()
    memory.access(READ, 1)
    assert memory.found == []
    memory.access(WRITE, 0)
    assert [(c.first, c.first_agent, c.second, c.second_agent) for c in memory.found] == [(2, 1, 3, 0)]


def test_a_write_is_ordered_with_every_reader(memory: Memory) -> None:
    memory.access(READ, 0)
    memory.access(READ, 1)
    memory.access(WRITE, 1)
    assert [c.first_agent for c in memory.found] == [0]


def test_what_stores_to_one_place_in_one_statement_stores_the_same(memory: Memory) -> None:
    for warp in (0, 1):
        memory.shadow.access(WRITE, PLACE, warp, warp, 1, 7)
    assert memory.found == []


def test_asynchronous_work_is_done_when_it_has_been_waited_for(memory: Memory) -> None:
    clocks, work = memory.clocks, memory.clocks.work(COPIES, 0)
    memory.shadow.access(WRITE, PLACE, 0, work, 1, 1)
    memory.access(READ, 0)
    assert [c.first_agent for c in memory.found] == [work]
    memory.found.clear()
    clocks.finish(COPIES, 0, 1)
    memory.access(READ, 0)
    assert memory.found == []
    memory.access(READ, 1)  # the other warp has not heard of it
    assert len(memory.found) == 1


def test_a_product_sees_what_a_proxy_fence_has_made_visible(memory: Memory) -> None:
    memory.access(WRITE, 0)
    memory.meet()
    work = memory.clocks.work(PRODUCTS, 1)
    memory.shadow.access(READ, PLACE, 1, work, 1, 8, asynchronous=True)
    assert [c.unfenced for c in memory.found] == [True]
    memory.found.clear()
    memory.clocks.fence(np.array([1]))
    memory.shadow.access(READ, PLACE, 1, work, 1, 9, asynchronous=True)
    assert memory.found == []


def test_a_tensor_races_with_what_another_cta_did() -> None:
    found: list[Conflict] = []
    tensor = Shadow(5000, Clocks(1, 0), found.append, paged=True)
    places = np.array([4500])
    tensor.access(WRITE, places, 0, 0, 1, 1)
    tensor.next_cta(Clocks(1, 0))
    tensor.access(READ, places, 0, 0, 1, 2)
    assert [(c.first_agent, c.place) for c in found] == [(ELSEWHERE, 4500)]


def test_an_mbarrier_tells_what_those_know_who_arrived_in_the_phase() -> None:
    clocks = Clocks(2, 1)
    barrier = Phased("b", clocks.transfers(0), count=1, pending=1)
    barrier.arrive(clocks.release(np.array([0])), 1, expected=64)
    assert not barrier.passed(0)
    barrier.receive(64)
    assert barrier.passed(0)
    told = barrier.done[0]
    assert told is not None
    clocks.acquire(np.array([1]), told)
    assert clocks.known[1, 0] == 1
    assert clocks.known[1, clocks.transfers(0)] == 1


def test_a_descriptor_covers_whole_atoms() -> None:
    tile = Descriptor(2048 + 32, layout=1, leading=16, stride=1024)  # 64 rows of 128 bytes, the second slice of K
    assert spans(tile, 64, True, 2) == ((2048, 2048 + 8192),)
    columns = Descriptor(0, layout=1, leading=4096, stride=1024)  # 128 columns of halves: two panels, 32 rows of K
    assert spans(columns, 128, False, 2) == ((0, 2048), (4096, 4096 + 2048))
    bare = Descriptor(0, layout=0, leading=1024, stride=128)  # core matrices of 128 bytes
    assert spans(bare, 64, True, 2) == ((0, 2048),)
