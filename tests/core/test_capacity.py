"""How many records a writer has room for, and how many CTAs: what the loops need, cut to what the budget holds."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
import tilelang.language as T
from hypothesis import given
from hypothesis import strategies as st
from synthetic import Rec, build, instant, table

from tltrace_nb import trace
from tltrace_nb.base.errors import CapacityError
from tltrace_nb.core.compile import lowering, schedule
from tltrace_nb.core.compile.capacity import Room, Wanted, room, sampled
from tltrace_nb.core.compile.options import DEFAULT_BUDGET, DEFAULT_MAX_EVENTS, TraceOptions
from tltrace_nb.core.compile.schedule import Scheduler
from tltrace_nb.core.trace import Trace
from tltrace_nb.data.chosen import CtaRuns, Cut, Run, Sample, chosen_from_json
from tltrace_nb.data.decode import decode
from tltrace_nb.data.left_out import cut_note, left_out, slots_rows
from tltrace_nb.data.slots import slots_bytes
from tltrace_nb.render.text import loss_text

BLOCK = 32


def capacity(turns: Callable[[Any, Any, Any], Any]) -> int:
    """The room for a loop around one instant; ``turns`` gets a dimension, loaded numbers and the block index."""
    n = T.dynamic("n")

    @T.prim_func
    def looped(A: T.Tensor((n,), "float32"), Counts: T.Tensor((4,), "int32"), Small: T.Tensor((4,), "uint8")):
        with T.Kernel(T.ceildiv(n, BLOCK), threads=BLOCK) as bx:
            for i in T.serial(turns(n, (Counts, Small), bx)):
                trace.record("turn", payload=i)

    target = schedule.resolve_target({"kind": "cuda", "arch": "sm_80"})
    with target:
        return lowering.prepare(looped, Scheduler(target), TraceOptions.of()).table.capacity


@pytest.mark.parametrize(
    ("turns", "records"),
    [
        (lambda n, memory, bx: 7, 7),
        (lambda n, memory, bx: T.min(T.ceildiv(n, BLOCK), 8), 8),
        (lambda n, memory, bx: T.min(memory[0][0], 5), 5),
        (lambda n, memory, bx: memory[0][0] % 4 + 1, 4),
        (lambda n, memory, bx: T.cast(memory[1][0], "int32"), 255),
    ],
    ids=["constant", "least of a dimension", "least of a loaded number", "remainder", "small type"],
)
def test_a_loop_that_a_constant_bounds_has_room_for_all_its_turns(turns: Callable[..., Any], records: int) -> None:
    assert capacity(turns) == records


@pytest.mark.parametrize(
    "turns",
    [
        lambda n, memory, bx: n,
        lambda n, memory, bx: T.ceildiv(n, BLOCK),
        lambda n, memory, bx: memory[0][0],
        lambda n, memory, bx: T.ceildiv(memory[0][0], BLOCK),
        lambda n, memory, bx: T.ceildiv((bx + 1) * 64, BLOCK),
    ],
    ids=["dimension", "part of a dimension", "loaded number", "part of a loaded number", "index in a dynamic grid"],
)
def test_a_loop_that_only_the_run_bounds_has_the_default(turns: Callable[..., Any]) -> None:
    assert capacity(turns) == DEFAULT_MAX_EVENTS


# ---- which CTAs have room


def row_bytes(records: int) -> int:
    """Of one CTA with one writer."""
    return slots_bytes(1, 1, records)


def of(*launches: int | None, records: int | None = 2, sms: int = 4, writers: int = 1, **options: Any) -> Room:
    """Room for launches of so many CTAs."""
    wanted = [Wanted(ctas, (1, 1, 1), records) for ctas in launches]
    return room("k", wanted, writers, TraceOptions.of(**options), sms)


def test_what_fits_is_whole() -> None:
    assert of(100, budget=100 * row_bytes(2)) == Room(2, None)


def test_many_ctas_of_many_records_are_cut_to_the_default_budget() -> None:
    found = of(16383, records=1280, sms=132)
    assert isinstance(found.ctas, Cut)
    (most,) = found.ctas.most
    assert slots_bytes(most, 1, found.capacity) <= DEFAULT_BUDGET < slots_bytes(most + 1, 1, found.capacity)
    assert (found.capacity, found.note) == (1280, "")


def test_a_grid_of_the_run_is_cut_when_it_is_known() -> None:
    found = of(None, budget=10 * row_bytes(2))
    assert found.ctas == Cut((10,), ((1, 1, 1),), 4)


def test_small_launches_are_whole_beside_large_ones() -> None:
    found = of(1000, 3, 500, budget=103 * row_bytes(2))
    assert found.ctas == Cut((50, 3, 50), ((1, 1, 1),) * 3, 4)


def test_where_not_one_cta_has_room_a_wave_has_with_fewer_records() -> None:
    found = of(1000, records=1 << 32, budget=4 * row_bytes(50))
    assert (found.capacity, found.ctas) == (50, Cut((4,), ((1, 1, 1),), 4))
    assert found.note.startswith("room for 50 of the 4,294,967,296 records that a writer may make")


def test_a_ring_made_smaller_stays_a_power_of_two() -> None:
    assert of(1000, records=1 << 20, budget=4 * row_bytes(50), keep="last").capacity == 32


def test_the_author_s_ctas_stay_and_have_fewer_records() -> None:
    found = of(1000, records=100, budget=8 * row_bytes(20), ctas=8)
    assert (found.capacity, found.ctas) == (20, CtaRuns.of(range(8)))
    assert f"budget={8 * row_bytes(100)}" in found.note


def test_the_author_s_records_stay_and_fewer_ctas_have_them() -> None:
    found = of(1000, records=100, budget=8 * row_bytes(50), max_events=50)
    assert (found.capacity, found.ctas) == (50, Cut((8,), ((1, 1, 1),), 4))


def test_a_count_of_ctas_is_at_most_so_many_of_each_launch() -> None:
    assert of(8, 100, ctas=64).ctas == CtaRuns.of(range(64))
    assert of(8, ctas=64).ctas is None
    assert of(8, 64, ctas=64).ctas is None


# ---- samples


def sample(*launches: int | None, sms: int = 132, **options: Any) -> Sample:
    found = of(*launches, sms=sms, ctas="sample", **options).ctas
    assert isinstance(found, Sample)
    return found


def test_a_launch_of_sixteen_thousand_ctas_is_sampled_unless_the_author_says_otherwise() -> None:
    assert of(16384, sms=132) == Room(2, sample(16384))
    assert of(16383, sms=132).ctas is None
    assert of(16384, sms=132, ctas=range(16384)).ctas is None


def test_a_sample_is_the_first_wave_and_one_in_seventeen_of_the_others() -> None:
    assert sample(16384).of_launch(0, (16384, 1, 1)).ids().tolist() == [
        *range(132),
        *range(132 + 16251 % 17, 16384, 17),
    ]


@pytest.mark.parametrize("sms", [108, 132, 148])
@pytest.mark.parametrize("total", [160, 1024, 4096, 16384])
def test_a_sample_has_ctas_of_every_wave(total: int, sms: int) -> None:
    ids = sample(total, sms=sms).of_launch(0, (total, 1, 1)).ids()
    assert set(ids // sms) == set(range(-(-total // sms)))


def test_a_launch_of_one_wave_is_whole() -> None:
    assert sample(16384, 100).of_launch(1, (100, 1, 1)) == CtaRuns.of(range(100))
    assert of(100, sms=132, ctas="sample").ctas is None


def test_a_sample_takes_whole_clusters() -> None:
    ids = sampled([Wanted(1024, (2, 1, 1), 2, unit=2)], fitting=1024, sms=131)
    assert ids is not None
    chosen = ids.of_launch(0, (1024, 1, 1)).ids()
    assert (chosen[::2] % 2 == 0).all()
    assert (chosen[1::2] == chosen[::2] + 1).all()


@given(
    total=st.integers(1, 50_000),
    fitting=st.integers(1, 50_000),
    sms=st.integers(1, 150),
    unit=st.sampled_from([1, 2, 4]),
)
def test_a_sample_fits_or_is_none(total: int, fitting: int, sms: int, unit: int) -> None:
    total, fitting = total * unit, fitting * unit
    taken = sampled([Wanted(total, (unit, 1, 1), 2, unit)], fitting, sms)
    if taken is None:
        assert fitting < min(total, -(-sms // unit) * unit + unit)
    else:
        ids = taken.of_launch(0, (total, 1, 1)).ids()
        assert 0 < len(ids) <= fitting
        assert ids[-1] == total - 1


def test_a_sample_without_room_is_cut_as_any_launch() -> None:
    assert of(1000, sms=132, ctas="sample", budget=100 * row_bytes(2)).ctas == Cut((100,), ((1, 1, 1),), 132)


def test_a_sample_of_a_grid_of_the_run_is_taken_when_it_is_known() -> None:
    taken = sample(None, sms=4)
    assert taken.of_launch(0, (40, 1, 1)) == CtaRuns((Run(0, 1, 4), Run(4, 17, 3)))
    assert taken.of_launch(0, (3, 1, 1)) == CtaRuns.of(range(3))


def test_a_sample_is_read_back_from_a_table() -> None:
    taken = sample(16384, 100)
    assert chosen_from_json(taken.to_json()) == taken


def test_limits_of_the_author_that_cannot_be_met_are_refused() -> None:
    with pytest.raises(CapacityError, match="kernel k: slots of 8 CTAs x 1 writers x 50 events"):
        of(1000, records=100, budget=8 * row_bytes(49), ctas=8, max_events=50)


# ---- what is said of those left out


def test_a_cut_trace_says_what_it_left_out_and_how_to_get_it() -> None:
    of_twelve = table(instant(0, "i"), grid=(100, 1, 1), capacity=1)
    of_twelve = replace(of_twelve, ctas=Cut((12,), ((1, 1, 1),), 4), version=2)
    cut = Trace(build(of_twelve, [Rec(row, 0, 1100, 0) for row in range(12)], rows=12), of_twelve)
    assert cut.events["cta"].tolist() == [*range(4), *range(15, 96, 23), *range(96, 100)]
    assert cut.losses.attrs["ctas_left_out"] == (88, 100, 100 * row_bytes(1))
    assert f"CTAs left out: 88 of 100 (budget={100 * row_bytes(1)} holds all, ctas= chooses)" in repr(cut)
    assert "incomplete: CTAs left out: 88 of 100" in loss_text(cut.losses)
    assert not cut.whole


def test_a_sample_says_that_it_is_one() -> None:
    chosen = Sample((CtaRuns((Run(0, 1, 2), Run(2, 5, 2))),))
    sampled_table = replace(table(instant(0, "i"), grid=(20, 1, 1), capacity=1), ctas=chosen, version=3)
    trace = Trace(build(sampled_table, [Rec(row, 0, 1100, 0) for row in range(4)], rows=4), sampled_table)
    assert trace.events["cta"].tolist() == [0, 1, 2, 7]
    assert "incomplete: CTAs left out: 16 of 20 (a sample; ctas=range(20) traces all)" in loss_text(trace.losses)
    note = cut_note(sampled_table, ((20, 1, 1),))
    assert note.startswith(
        "4 of 20 CTAs are traced: the first wave and one in 5 behind it; the others run the untraced"
    )


def test_the_note_says_which_ctas_are_there() -> None:
    cut = replace(table(grid=(100, 1, 1)), ctas=Cut((12,), ((1, 1, 1),), 4))
    note = cut_note(cut, ((100, 1, 1),))
    assert note.startswith("12 of 100 CTAs are traced: the first 4, the last 4 and 4 between; budget=")


def test_a_run_that_fits_after_all_leaves_nothing_out() -> None:
    cut = replace(table(grid=(None, 1, 1)), ctas=Cut((12,), ((1, 1, 1),), 4))
    assert cut_note(cut, ((12, 1, 1),)) == ""
    assert left_out(cut, ((12, 1, 1),)) is None
    assert slots_rows(cut, ((100, 1, 1),)) == slots_rows(cut, ((12, 1, 1),)) == 12
    assert slots_rows(cut, ((5, 1, 1),)) == 5


def test_ctas_that_a_grid_of_the_run_lacks_are_no_loss() -> None:
    eight = table(instant(0, "i"), grid=(None, 1, 1), ctas=tuple(range(8)), capacity=1)
    slots = build(eight, [Rec(row, 0, 1100, 0) for row in range(3)], rows=8, absent=[(row, 0) for row in range(3, 8)])
    frames = decode(slots, eight, grids=((3, 1, 1),))
    assert (frames.events["cta"].tolist(), len(frames.losses)) == ([0, 1, 2], 0)
