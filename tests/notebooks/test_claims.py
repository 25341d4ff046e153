"""What the lessons say, computed from what shows it; `docs/explanation/claims.md` has these tests beside each claim."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
from handed_in import handed_in, lesson
from tilelang.engine.lower import lower_with_context

from tltrace_nb import datasets, trace
from tltrace_nb.base.gpus import preset
from tltrace_nb.core.compile import schedule
from tltrace_nb.core.compile.lowering import prepare
from tltrace_nb.core.compile.options import TraceOptions
from tltrace_nb.core.compile.plans import BarePlan
from tltrace_nb.core.compile.schedule import Scheduler, pass_context
from tltrace_nb.course import given

ROOT = Path(__file__).parents[2]
MEASURED = json.loads((ROOT / "benchmarks/results/2026-12-01-h200-lessons.json").read_text(encoding="utf-8"))["points"]
PTXAS = json.loads((ROOT / "benchmarks/results/2026-12-01-ptxas-lessons.json").read_text(encoding="utf-8"))["points"]
SWEPT = json.loads((ROOT / "benchmarks/results/2026-11-30-h200-sweeps.json").read_text(encoding="utf-8"))
PAGE = Path(__file__).parents[2] / "docs" / "explanation" / "claims.md"


def recorded(name: str) -> Any:
    """A trace of an H200."""
    return datasets.load(f"h200/{name}")


def measured(key: str, what: str = "launch_ns") -> float:
    """A figure of `benchmarks/lessons.py` on an H200."""
    return float(MEASURED[key][what])


def us(key: str, digits: int = 1) -> str:
    """A launch in µs, as a lesson has it."""
    return f"{measured(key) / 1000:.{digits}f}"


def durations(captured: Any, name: str) -> pd.Series:
    """The cycles of the ranges of that name."""
    return captured.events.loc[captured.events["name"] == name, "duration"]


def says(number: int, *texts: str) -> None:
    """The prose of a lesson has these words, however its lines are broken."""
    prose = " ".join(" ".join(cell.source for cell in lesson(number).cells if cell.cell_type == "markdown").split())
    for text in texts:
        assert text in prose, text


def modelled(build: Any, *arguments: Any, inputs: tuple[Any, ...], device: str = "virtual:h200") -> Any:
    """The trace of a lesson's kernel on the virtual GPU."""
    with trace.tracing(device=device, max_events=128):
        kernel = build(*arguments)
    return kernel.run(inputs)[1]


def span(captured: Any) -> float:
    """Nanoseconds from the first CTA's entry to the last one's exit."""
    return float(captured.ctas["end_ns"].max() - captured.ctas["start_ns"].min())


def test_1_four_times_the_numbers_take_a_quarter_longer() -> None:
    double = handed_in(1, "double", given=True)
    short, long = (
        durations(modelled(double, 4096, chunk, inputs=(torch.ones(4096),)), "double").median() for chunk in (256, 1024)
    )
    assert 1.2 < long / short < 1.3
    says(1, "A quarter longer or so, for four times the work.")


def test_1_ranges_differ_on_the_gpu_and_it_places_ctas_in_its_own_way() -> None:
    first = recorded("first_trace")
    ranges = durations(first, "double")
    says(1, f"they last {ranges.min()} to {ranges.max()} cycles", f"CTA 0 ran on SM {first.ctas.sm.iloc[0]}")
    says(1, f"at {first.ctas.clock_ghz.median():.2f} GHz")


def test_2_all_threads_of_a_warp_leave_the_loop_together() -> None:
    walks = recorded("payloads_and_lanes")
    (moment,) = walks.events.query("name == 'done'").start.unique()
    step = durations(walks, "step").median()
    says(2, f"in one moment, at cycle {moment:,}", f"Its `step` is shorter, {step:.0f} cycles")


def test_3_a_diverged_warp_goes_through_its_arms_one_after_the_other() -> None:
    arms = recorded("branch_by_lane").events.query("lane == 'arms'")
    for _, both in arms.groupby("warp"):
        first, second = both.sort_values("start").itertuples()
        assert first.end <= second.start
    says(3, "On the GPU the `second` comes first")


def test_3_a_multiplication_takes_four_cycles() -> None:
    arm = durations(recorded("branch_by_lane"), "first").median()
    assert round(arm / 64) == 4
    says(3, f"take {arm:.0f} cycles, 4 for each of 64")


def test_4_time_follows_lines_and_not_sectors() -> None:
    cycles = recorded("strides").events.set_index("payload")["duration"]
    at = np.arange(1024) * 4
    sectors, lines = ({s: len(np.unique(at * s // size)) for s in cycles.index} for size in (32, 128))
    assert sectors[8] == sectors[16]
    says(4, f"{cycles[8]} cycles become {cycles[16]}")
    per_line = [(cycles[2 * s] - cycles[s]) / (lines[2 * s] - lines[s]) for s in (1, 2, 4, 8, 16)]
    assert (round(min(per_line), 1), round(max(per_line), 1)) == (0.7, 1.1)
    says(4, "between 0.7 and 1.1 cycles for each")


def test_4_a_conflict_of_32_ways_costs_31_cycles() -> None:
    slow, fast = (durations(recorded(name), "write").median() for name in ("transpose", "transpose_padded"))
    more = slow - fast
    says(4, f"The GPU needed {more:.0f} more.", f"takes 31 cycles more, {32 * 31} in all")


def test_4_the_detour_through_shared_memory_pays_without_conflicts() -> None:
    keys = ("directly", "through_shared pad=0", "through_shared pad=1")
    cycles = [measured(f"4/{key} n=64", "cta_cycles") for key in keys]
    assert cycles[2] < cycles[0] < cycles[1]
    says(4, f"takes {cycles[0] + 0.1:,.0f}, {cycles[1]:,.0f} and {cycles[2] + 0.1:,.0f} cycles")
    direct, conflicts, padded = (us(f"4/{key} n=4096", 0) for key in keys)
    says(4, f"{direct} µs directly, {conflicts} µs through shared memory, {padded} µs with padding")


def test_5_each_stage_brings_less_than_the_one_before() -> None:
    took = [recorded(f"pipeline_{stages}").ctas.duration.median() for stages in (1, 2, 3, 4)]
    says(5, "{:,.0f}, {:,.0f}, {:,.0f} and {:,.0f} cycles".format(*took))
    saved = -np.diff(took)
    assert (np.diff(saved) < 0).all()


def test_5_loads_run_ahead_by_a_stage_less_than_there_are() -> None:
    for stages in (1, 2, 3, 4):
        steady = recorded(f"pipeline_{stages}").pipeline().query("iteration > 0")
        assert steady.ahead.max() == stages - 1


def cuda_of_lesson_6(pass_configs: dict[str, Any]) -> str:
    """The CUDA source of lesson 6's GEMM for a Hopper GPU."""
    matmul = trace.jit(out_idx=[-1], pass_configs=pass_configs)(handed_in(6, "matmul", given=True))
    with trace.tracing(device="virtual"):
        kernel = matmul(4)
    target = schedule.resolve_target({"kind": "cuda", "arch": "sm_90a"})
    with target, pass_context(pass_configs):
        low = prepare(kernel.source, Scheduler(target, pass_configs), TraceOptions())
        context = schedule.context_with(low.at_boundary, target, at_device=BarePlan(low, target).at_device)
        return str(lower_with_context(low.anchored, context).kernel_source)


def test_6_one_role_copies_with_cp_async_and_both_multiply_with_wgmma() -> None:
    one, two = cuda_of_lesson_6({"tl.disable_warp_specialized": True}), cuda_of_lesson_6({})
    assert "tl::wgmma" in one
    assert "cp_async" in one
    assert "tma_load" not in one
    assert "tl::wgmma" in two
    assert "tma_load" in two
    assert "cp_async" not in two
    says(6, "On Hopper that is **`wgmma`**")


def test_6_registers_move_from_the_producer_to_the_consumer() -> None:
    source = cuda_of_lesson_6({})
    (kept,), (given) = re.findall(r"reg_dealloc<(\d+)>", source), re.findall(r"reg_alloc<(\d+)>", source)
    says(6, f"the producer keeps {kept} registers a thread, so that a consumer's thread may have {given[0]}")


def test_6_the_mma_is_longer_where_threads_copy() -> None:
    together, split = (durations(recorded(name), "mma").mean() for name in ("roles_together", "roles_split"))
    says(6, f"its MMA is longer, {together:.0f} cycles on average", f"the same MMA takes {split:.0f}")


def test_7_one_cta_more_takes_nearly_twice_as_long() -> None:
    full, more = span(recorded("waves_full")), span(recorded("waves_one_more"))
    says(7, f"{more / full:.1f} times as long on the GPU ({full:,.0f} and {more:,.0f} ns)")


def test_7_chains_in_a_thread_hide_latency_with_one_cta_on_an_sm() -> None:
    decay = handed_in(7, "decay", given=True)

    def took(chains: int) -> float:
        counts = torch.full((4,), 256, dtype=torch.int32)
        inputs = (torch.randn(4, 128 * chains), counts)
        return span(modelled(decay, 200, 128, chains, inputs=inputs, device="virtual:classroom"))

    assert took(4) < 2 * took(1)
    says(7, "Four times the work takes less than twice the time, with one CTA on an SM.")


def test_7_more_ctas_on_an_sm_bring_less_and_less() -> None:
    took = [us(f"7/shared_kib={kib}", 2) for kib in (200, 100, 56, 26)]
    says(7, f"take {took[0]}, {took[1]}, {took[2]} and {took[3]} µs")


def test_7_four_chains_are_nearly_free_on_the_gpu() -> None:
    one, two, four, eight = (us(f"7/one CTA an SM, chains={chains}", 2) for chains in (1, 2, 4, 8))
    says(7, f"one, two and four chains take {one}, {two} and {four} µs", f"Eight take {eight}.")


def test_8_an_even_cut_is_faster_than_the_longest_first() -> None:
    cut, first = (us(f"8/{name}") for name in ("dealt out", "one CTA each, longest first"))
    assert float(cut) < float(first)
    says(8, f"the cut takes {cut} µs and one CTA each, *longest first*, {first}")


def test_8_schedules_that_take_the_longest_first_have_the_models_order() -> None:
    names = (
        "one CTA each, longest first",
        "from a queue, longest first",
        "in turn, ploughed",
        "in turn, longest first",
    )
    took = [us(f"8/{name}") for name in names]
    assert took == sorted(took, key=float)
    says(8, f"one CTA each {took[0]}, the queue {took[1]}", f"reversed {took[2]}, round-robin {took[3]}")


def test_8_longest_first_was_no_better_than_shortest_first_on_the_gpu() -> None:
    long, short = (us(f"8/one CTA each, {order}") for order in ("longest first", "shortest first"))
    assert float(short) < float(long)
    says(8, f"{long} against {short} µs")


def test_8_a_persistent_kernel_is_faster_on_the_gpu_where_it_saves_a_table() -> None:
    each, stay = us("8/polynomials, a CTA a piece"), us("8/polynomials, persistent, 3 CTAs an SM")
    says(8, f"the two take {each} and {stay} µs")


def test_8_ctas_behind_the_first_wave_start_in_the_order_of_their_numbers() -> None:
    late = recorded("balance_one_cta_each").ctas.query("cta >= 132").sort_values("cta")
    assert np.diff(late.start_ns).min() > -64, "two steps of the timer"
    says(8, f"launch of 297 CTAs below, the {len(late)} behind the first wave start in it")


def test_8_half_of_the_gpu_is_idle_when_the_longest_document_comes_last() -> None:
    launch = recorded("balance_one_cta_each").waves("launch", registers=42, shared=200 * 1024).iloc[0]
    assert launch.idle == pytest.approx(0.5, abs=0.05)
    says(8, "is about the same: a half")


def test_8_nearly_half_of_a_tile_is_its_store() -> None:
    gemm = recorded("persistent")
    tile, store = gemm.events.query("name == 'tile' and thread == 128").duration, durations(gemm, "store")
    assert 0.4 < store.median() / tile.median() < 0.5
    says(8, "Nearly half of each tile is a store during which nothing is loaded.")


def test_8_an_even_cut_is_faster_than_the_shortest_first() -> None:
    assert span(recorded("balance_dealt_out")) < span(recorded("balance_one_cta_each"))
    says(8, "Both say that an even cut beats the documents *shortest first*.")


def test_8_ctas_that_stay_load_their_table_less_often() -> None:
    polynomials = handed_in(8, "polynomials", given=True)
    inputs = (torch.rand(64, 1024), torch.rand(16 * 1024))
    each, stay = (span(modelled(polynomials, ctas, 64, inputs=inputs, device="virtual:classroom")) for ctas in (64, 12))
    assert stay < 0.5 * each


def test_9_tensor_cores_do_4096_operations_a_cycle() -> None:
    dense_fp16, sms, ghz = 989.4e12, 132, 1.83  # NVIDIA's data sheet of the H100 and H200 SXM
    assert dense_fp16 / sms / (ghz * 1e9) == pytest.approx(4096, rel=0.01)
    assert preset("h200").sms == sms


def test_9_one_buffer_is_enough_on_the_gpu_too() -> None:
    none, one, two = (measured(f"9/stages={stages}", "cta_cycles") for stages in (0, 1, 2))
    assert one < 1.05 * two
    says(9, f"take {none:,.0f}, {one:,.0f} and {two:,.0f} cycles")


def test_9_ctas_that_share_an_sm_are_done_sooner_than_one_after_the_other() -> None:
    one, two, three = (us(f"9/stages=0, {each} CTAs an SM", 2) for each in (1, 2, 3))
    assert float(three) < 2 * float(one)
    says(9, f"take {one}, {two} and {three} µs")


def test_9_a_mask_makes_the_longest_cta_longer() -> None:
    full, causal = (recorded(name).ctas.duration.max() for name in ("flash_attention", "flash_causal"))
    says(9, f"The causal launch is the longer one on the GPU, too, by {100 * (causal / full - 1):.0f} %")


def test_10_a_record_takes_some_25_cycles() -> None:
    said = (PAGE.parents[2] / "benchmarks" / "results" / "README.md").read_text(encoding="utf-8")
    found = re.search(r"cycles per marker with payload, one an iteration \| ([\d.]+)", said)
    assert found is not None
    says(10, f"A record takes its thread some {float(found[1]):.0f} cycles")


def test_10_the_gpu_overlaps_the_two_loads_of_an_iteration() -> None:
    mean = durations(recorded("own_kernel"), "parallel scale + W → x").mean()
    says(10, f"so that they overlap: some {mean:.0f}.")


def test_10_one_read_is_three_times_as_fast_on_the_gpu() -> None:
    twice, wide, once = (us(f"10/{name}", 2) for name in ("twice", "twice, bk=1024", "once"))
    assert round(float(twice) / float(once)) == 3
    says(10, f"`twice` takes {twice} µs, with `bk=1024` {wide}, and `once` {once}: three times as fast")


def test_11_bandwidth_grows_with_the_bytes_under_way() -> None:
    stream = handed_in(11, "stream", given=True)

    def rate(ctas: int, chunk: int, numbers: int = 1 << 16) -> float:
        inputs = (torch.zeros(numbers),)
        return 8 * numbers / span(modelled(stream, numbers, ctas, chunk, inputs=inputs, device="virtual:classroom"))

    assert rate(4, 256) > 1.8 * rate(4, 128)
    assert rate(8, 128) == pytest.approx(rate(4, 256), rel=0.1)
    assert rate(32, 1024, 1 << 18) < 80, "the peak, of a tensor that does not fit L2"


def test_11_memory_delivers_what_was_measured() -> None:
    from tltrace_nb.simulator.costs import DRAM_EFFICIENCY

    assert pytest.approx(4.16e12 / preset("h200").hbm_bytes_per_second, abs=0.01) == DRAM_EFFICIENCY
    says(11, "stay at 86 % of the data sheet's bandwidth")


def test_12_shuffles_beat_a_tree_and_a_tree_beats_one_thread() -> None:
    took = [
        durations(modelled(handed_in(12, name, given=True), 256, inputs=(torch.ones(256),)), "sum").max()
        for name in ("shuffled", "tree", "one_thread")
    ]
    assert took == sorted(took)


def smooth(barriers: str, **options: Any) -> Any:
    """The trace of lesson 13's kernel with these barriers, its result checked."""
    source = handed_in(13, "smooth", given=True)
    a = expected = torch.randn(256, generator=torch.Generator().manual_seed(0))
    for _ in range(8):
        expected = 0.5 * (expected + expected.roll(-1))
    with trace.tracing(device="virtual:h200"):
        kernel = source(8, barriers)
    found = trace.simulate(kernel.source, a) if options.get("planned") else kernel.run((a,))[0]
    assert torch.allclose(found, expected, atol=1e-5)
    return trace.last if options.get("planned") else kernel.run((a,))[1]


def test_13_a_kernel_with_a_race_has_the_right_result() -> None:
    assert "race on S[32]: warp 0" in smooth("acd").meta.note
    says(13, "the element `S[32]`", "warp 0 reads, because its last thread, 31, reads the number of its neighbour, 32")


def test_13_tilelang_adds_the_barriers_that_are_missing() -> None:
    assert "race" in smooth("").meta.note
    assert "race" not in smooth("", planned=True).meta.note
    says(13, "TileLang sees that and adds barriers by itself.")


def slow(**options: int) -> float:
    """The launch of lesson 14's kernel in ns."""
    zeros = torch.zeros(128, 2048).half(), torch.zeros(2048, 128).half()
    return span(modelled(lambda *sizes: given.slow(*sizes, **options), 128, 128, 2048, inputs=zeros))


@pytest.mark.wide
def test_14_three_times_as_long_as_it_could_and_more_slots_change_nothing() -> None:
    before = slow()
    zeros = torch.zeros(128, 2048).half(), torch.zeros(2048, 128).half()
    assert round(before / span(modelled(given.ring_of_slots, 128, 128, 2048, inputs=zeros))) == 3
    assert slow(slots=8) == before
    assert 0.5 * before < slow(step=64) < 0.9 * before


def operations_a_cycle(bm: int, bn: int, threads: int) -> float:
    """Of lesson 15's kernel on one tile: operations of an MMA over its cycles."""
    inputs = torch.zeros(bm, 128).half(), torch.zeros(128, bn).half()
    t = modelled(handed_in(15, "gemm", given=True), bm, bn, 128, bm, bn, threads, inputs=inputs)
    return float(2 * bm * bn * 32 / durations(t, "mma").median())


@pytest.mark.wide
def test_15_larger_tiles_are_faster_until_their_accumulators_spill() -> None:
    small, large, spilling, shared = (
        operations_a_cycle(*each) for each in ((64, 64, 128), (128, 128, 128), (128, 256, 128), (128, 256, 256))
    )
    assert small < large < shared
    assert large / spilling == pytest.approx(1.9, abs=0.1)
    says(15, "why does 128×256 take almost twice as long?")


def test_15_ptxas_spills_what_does_not_fit_and_serialises_wgmma() -> None:
    fits, spills, shared = (
        PTXAS[f"15/{tile}, {m}x512"]
        for tile, m in (
            ("128x128, 128 threads", "128x128"),
            ("128x256, 128 threads", "128x256"),
            ("128x256, 256 threads", "128x256"),
        )
    )
    assert (fits["spilled"], fits["wgmma serialised"]) == (shared["spilled"], shared["wgmma serialised"]) == (0, False)
    assert spills["wgmma serialised"]
    says(15, f"{spills['registers']} registers a thread", f"{spills['spilled']:,} bytes of spill stores")


def swept(key: str) -> str:
    """A launch of `benchmarks/sweeps.py` on an H200 in µs, less an empty one, as a lesson has it."""
    return f"{SWEPT['points'][key]['warm'] - SWEPT['empty']['warm']:.1f}"


def test_15_a_gemm_on_the_gpu_with_large_tiles_and_with_few_threads() -> None:
    small, large, few = map(swept, ("gemm tile/128x128x128", "gemm tile/128x256x256", "gemm threads/64"))
    says(
        15,
        f"took {small} µs with tiles of 128×128 and 128 threads, and {large} µs with tiles of 128×256 and 256 threads",
        f"With 128×128 and 64 threads, which again are 256 accumulators for each, it took {few} µs",
    )


def test_15_warps_and_parallel_instructions_fill_the_same_gaps() -> None:
    def rate(threads: int, each: int) -> float:
        t = modelled(handed_in(15, "chains", given=True), threads, each, inputs=(torch.zeros(threads * each),))
        return float(threads * each / durations(t, "chains").max())

    assert rate(128, 1) < rate(128, 2) < rate(128, 4) < rate(512, 1)


@pytest.mark.wide
def test_16_the_activation_takes_more_than_a_third_and_less_the_larger_k_is() -> None:
    def share(k: int) -> float:
        a, b, c = torch.zeros(512, k).half(), torch.zeros(k, 512).half(), torch.zeros(512, 512)
        launches = (
            modelled(handed_in(16, "gemm", given=True), 512, 512, k, inputs=(a, b), device="virtual:classroom"),
            modelled(
                handed_in(16, "activation", given=True), 512, 512, inputs=(c, c[0].clone()), device="virtual:classroom"
            ),
        )
        first, second = map(span, launches)
        return second / (first + second)

    assert share(128) > 1 / 3
    assert share(1024) < 1 / 5
    says(16, "Less than a hundredth of the operations, and more than a third of the time.")


def test_each_claim_of_the_table_names_a_test_a_recording_or_a_source() -> None:
    rows = [line.split("|")[1:-1] for line in PAGE.read_text(encoding="utf-8").splitlines() if line.startswith("| ")]
    named = {name for row in rows for name in re.findall(r"`(test_\w+)`", row[-1])}
    tests = {name for name in globals() if re.match(r"test_\d", name)}
    assert named == tests
    for row in rows[1:]:
        assert re.search(r"`test_|https://|`h200/", row[-1]), row
