"""Two accesses to one element that nothing orders are found: by which threads, at which lines, and what is missing."""

from __future__ import annotations

from typing import Any

import pytest
import tilelang.language as T
import torch
from kernels import REFERENCES, Reference
from race_kernels import (
    NO_BARRIERS_ADDED,
    copied,
    counted,
    exchange,
    halves,
    handed_on,
    in_turns,
    neighbours,
    scanned,
    specialised,
)
from source_lines import line_of

from tltrace_nb import trace
from tltrace_nb.core.runtime.virtual import simulate
from tltrace_nb.explorer.facts import facts_of, table_html
from tltrace_nb.simulator.errors import RaceError
from tltrace_nb.simulator.races import kernel as kernel_races

KERNELS = __file__.replace("test_races", "race_kernels")


def races(kernel: Any, *inputs: torch.Tensor, out_idx: Any = None, gpu: str = "h200", added: bool = True) -> list[Any]:
    """The races of a run; ``added``: whether TileLang may add barriers."""
    configs = None if added else NO_BARRIERS_ADDED
    try:
        simulate(kernel, list(inputs), out_idx=out_idx, gpu=gpu, races="error", pass_configs=configs)
    except RaceError as error:
        return list(error.races)
    return []


def product(**how: Any) -> list[Any]:
    return races(specialised(**how), halves(128, 256), halves(256, 128))


def test_a_kernel_with_all_its_barriers_has_no_race() -> None:
    assert product() == []
    assert races(exchange(), torch.ones(128), added=False) == []
    assert races(in_turns(), torch.ones(2, 128), added=False) == []
    assert races(copied(), torch.ones(512), gpu="a100", added=False) == []


def test_a_stage_that_is_given_free_before_the_product_has_read_it() -> None:
    first, second = product(arrive="before")
    assert first.element == "a[0, 0, 0]"
    assert str(first.first) == (f"an MMA of warp group 0 (threads 0..127) reads it ({line_of(KERNELS, 'product')})")
    assert str(first.second) == (f"a TMA copy that mbarrier loaded[0] counts writes it ({line_of(KERNELS, 'load A')})")
    assert first.missing == (
        "a wait of the copy for an mbarrier at which these threads arrive when they have waited for the MMA"
    )
    assert (second.element, second.second.source) == ("b[0, 0, 0]", line_of(KERNELS, "load B"))


def test_a_stage_that_is_reused_without_a_wait() -> None:
    found = product(empty_wait=False)
    assert {race.element for race in found} >= {"a[0, 0, 0]", "b[0, 0, 0]"}
    assert {race.second.source for race in found} <= {line_of(KERNELS, w) for w in ("load A", "load B", "product")}


def test_a_product_of_what_a_copy_has_not_delivered() -> None:
    waits = [race for race in product(loaded_wait=False) if race.missing == "a wait for mbarrier loaded[0]"]
    assert {(race.first.source, race.second.source) for race in waits} == {
        (line_of(KERNELS, load), line_of(KERNELS, "product")) for load in ("load A", "load B")
    }


def test_a_deleted_barrier_where_tilelang_adds_none() -> None:
    (race,) = races(exchange(sync=False), torch.ones(128), added=False)
    assert race.element == "s[127]"
    assert str(race.first) == f"warp 3 (threads 96..127) writes it ({line_of(KERNELS, 'give')})"
    assert str(race.second) == f"warp 0 (threads 0..31) reads it ({line_of(KERNELS, 'take')})"
    assert race.missing == "T.sync_threads() between them"


def test_what_tilelang_adds_counts() -> None:
    assert races(exchange(sync=False), torch.ones(128)) == []


def test_memory_that_is_written_again_before_all_have_read_it() -> None:
    (race,) = races(in_turns(second_sync=False), torch.ones(2, 128), added=False)
    assert (race.first.does, race.second.does) == ("reads it", "writes it")


def test_a_cp_async_copy_that_nobody_waited_for() -> None:
    found = races(copied(wait=False), torch.ones(512), gpu="a100", added=False)
    assert found[0].first.who.startswith("a cp.async copy of warp ")
    assert found[0].missing.startswith("a wait for the copy (T.ptx_wait_group)")


def test_ctas_that_read_what_others_write() -> None:
    (race,) = races(neighbours(shift=128), torch.ones(1024), out_idx=[])
    assert race.first.who == "another CTA"
    assert races(neighbours(shift=0), torch.ones(1024), out_idx=[]) == []


def test_what_ctas_hand_on_is_ordered_by_their_meeting() -> None:
    given = torch.zeros(512), torch.zeros(512)
    assert races(handed_on(meet=True), *given, out_idx=[]) == []
    assert {race.first.who for race in races(handed_on(meet=False), *given, out_idx=[])} == {"another CTA"}


def test_updates_race_unless_they_are_atomic() -> None:
    numbers = torch.ones(128, dtype=torch.int32)
    assert races(counted(atomic=True), numbers) == []
    assert races(counted(atomic=False), numbers) != []


def test_a_race_is_a_note_unless_it_is_to_be_an_error_or_nothing() -> None:
    given = halves(128, 256), halves(256, 128)
    trace.simulate(specialised(arrive="before"), *given)
    noted = "race on a[0, 0, 0]: an MMA of warp group 0"
    assert noted in trace.last.meta.note
    assert noted in repr(trace.last)
    assert noted in trace.last._repr_html_()
    assert noted in table_html(facts_of(trace.last))
    trace.simulate(specialised(arrive="before"), *given, races="off")
    assert trace.last.meta.note == ""
    with pytest.raises(RaceError, match=r"kernel specialised:\n  race on a\[0, 0, 0\]"):
        trace.simulate(specialised(arrive="before"), *given, races="error")


def test_races_are_found_without_values_too() -> None:
    trace.simulate(specialised(arrive="before"), halves(128, 256), halves(256, 128), functional=False)
    assert "race on a[0, 0, 0]" in trace.last.meta.note


def test_what_cannot_be_checked_is_said() -> None:
    @T.prim_func
    def counted(A: T.Tensor((1,), "int32"), B: T.Tensor((128,), "int32")):
        with T.Kernel(1, threads=128):
            s = T.alloc_shared((128,), "int32")
            tx = T.get_thread_binding()
            s[T.atomic_add(A[0], 1, return_prev=True)] = tx
            B[tx] = s[tx]

    _, found = simulate(counted, [torch.zeros(1, dtype=torch.int32)])
    assert found.meta.note.startswith("not checked for races: ")


@pytest.mark.parametrize("dim", [0, 1])
@pytest.mark.parametrize("added", [True, False])
def test_a_scan_is_ordered_by_the_barriers_around_it(dim: int, added: bool) -> None:
    found = races(scanned(dim), torch.ones(16, 128), added=added)
    assert {(race.element.partition("[")[0], race.first.does) for race in found} == (
        set() if added else {("s", "writes it")}
    )


@pytest.mark.some(4)
@pytest.mark.parametrize("reference", REFERENCES, ids=str)
def test_no_reference_has_a_race(reference: Reference) -> None:
    for architecture in reference.architectures:
        gpu = {"sm_80": "a100", "sm_90a": "h200"}[architecture]
        inputs = list(reference.inputs("cpu"))
        configs = reference.pass_configs or None
        out_idx = list(reference.out_idx)
        _, found = simulate(
            reference.build(), inputs, out_idx=out_idx, gpu=gpu, functional=False, races="error", pass_configs=configs
        )
        assert "races" not in found.meta.note


def _again(elsewhere: bool = False) -> Any:
    if elsewhere:

        @T.prim_func
        def again(A: T.Tensor((128,), "float32"), B: T.Tensor((128,), "float32")):
            with T.Kernel(1, threads=128):
                tx = T.get_thread_binding()
                s = T.alloc_shared((128,), "float32")
                s[tx] = A[tx]
                B[tx] = s[127 - tx]  # there

        return again

    @T.prim_func
    def again(A: T.Tensor((128,), "float32"), B: T.Tensor((128,), "float32")):
        with T.Kernel(1, threads=128):
            tx = T.get_thread_binding()
            s = T.alloc_shared((128,), "float32")
            s[tx] = A[tx]
            B[tx] = s[127 - tx]  # here

    return again


def test_kernels_that_are_alike_are_planned_once_and_tell_their_own_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    plans: list[Any] = []
    own = kernel_races.planned
    monkeypatch.setattr(kernel_races, "planned", lambda *given: plans.append(given) or own(*given))
    assert races(_again(), torch.ones(128)) == []
    first = len(plans)
    assert races(_again(), torch.ones(128)) == []
    assert len(plans) == first
    for elsewhere, line in ((False, "here"), (True, "there"), (False, "here")):  # other pass configs: another plan
        (race,) = races(_again(elsewhere), torch.ones(128), added=False)
        assert race.second.source == line_of(__file__, line)
