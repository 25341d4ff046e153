"""Which kernel of a profile a traced launch is, and where in it its CTAs stand."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from kineto_form import CLOCKS, START, Program, launched
from synthetic import Rec, build, span, table

import tltrace_nb
from tltrace_nb.analysis.placing import Placed, place
from tltrace_nb.core.trace import Trace
from tltrace_nb.data import slots as layout
from tltrace_nb.data.kineto import recording
from tltrace_nb.data.sites import Launch
from tltrace_nb.data.tracefile import TraceMeta


def placed(program: Program, traces: list[Trace], folder: Path) -> list[Placed]:
    return place(traces, recording("prof", program.write(folder / "profile.json")))


def starts(found: list[Placed]) -> list[int | None]:
    """When the kernels started, in ns behind the program's begin."""
    return [None if each.kernel is None else each.kernel.start - START for each in found]


def reason(program: Program, trace: Trace, folder: Path) -> str:
    (found,) = placed(program, [trace], folder)
    assert found.kernel is None
    return found.reason


def kernels(program: Program, trace: Trace, times: list[int], *, lead: int = 600) -> None:
    """Kernels like that of ``trace``, whose CTAs enter at these times."""
    for at in times:
        program.around(trace, at, lead=lead)


# ---- by the call


def test_of_equal_kernels_it_is_the_one_whose_call_had_not_returned_when_the_trace_says_it_was_called(
    tmp_path: Path,
) -> None:
    program, trace = Program(), launched("add", 300_000)
    kernels(program, trace, [100_000, 200_000, 300_000, 400_000, 500_000])
    assert starts(placed(program, [trace], tmp_path)) == [299_400]


def test_a_kernel_that_waited_in_a_queue_is_that_of_its_call_not_of_its_time(tmp_path: Path) -> None:
    program, traces = (
        Program(),
        [launched("add", at, called=called) for at, called in ((500_000, 10_000), (600_000, 30_000))],
    )
    for trace, at, called in ((traces[0], 500_000, 15_000), (traces[1], 600_000, 35_000)):
        program.around(trace, at, call=program.call(called))
    assert starts(placed(program, traces, tmp_path)) == [499_400, 599_400]


def test_calls_of_several_threads_are_told_apart_by_the_gpu_s_clock(tmp_path: Path) -> None:
    """Two threads call at the same time, so that the times of their calls alone do not tell whose kernel is whose."""
    program = Program()
    traces = [
        launched("add", 500_000, called=10_000),
        launched("add", 600_000, called=11_000),
        launched("add", 900_000),
    ]
    second, first = program.call(12_000, 9_000, thread=1), program.call(14_000, 9_000, thread=2)
    program.around(traces[1], 600_000, call=second)
    program.around(traces[0], 500_000, call=first)
    program.around(traces[2], 900_000)
    found = placed(program, traces, tmp_path)
    assert starts(found) == [499_400, 599_400, 899_400]


def test_a_trace_that_knows_only_the_second_of_its_call_is_found_where_its_ctas_fit(tmp_path: Path) -> None:
    program = Program()
    times = [300_000, 340_000, 500_000]
    traces = [launched("add", at) for at in times]
    kernels(program, traces[0], [300_000, 340_000, 420_000, 500_000, 640_000])
    old = [
        Trace(each.slots, each.table, replace(each.meta, captured=each.meta.captured[:19] + "+00:00"))
        for each in traces
    ]
    assert starts(placed(program, old, tmp_path)) == [299_400, 339_400, 499_400]


def test_where_several_kernels_fit_none_is_guessed(tmp_path: Path) -> None:
    program, trace = Program(), launched("add", 300_000)
    kernels(program, trace, [300_000, 400_000, 500_000])
    old = Trace(trace.slots, trace.table, replace(trace.meta, captured=trace.meta.captured[:19] + "+00:00"))
    assert reason(program, old, tmp_path) == "it may be any of 3 kernels in the profile"


def test_a_launch_that_contradicts_the_clocks_of_the_others_is_not_placed(tmp_path: Path) -> None:
    program = Program()
    traces = [launched("add", at) for at in (300_000, 400_000, 500_000)]
    late = launched("add", 650_000, called=580_000)
    kernels(program, late, [300_000, 400_000, 500_000, 600_000])
    found = placed(program, [*traces, late], tmp_path)
    assert starts(found) == [299_400, 399_400, 499_400, None]
    assert found[-1].reason == "by the GPU's clock it ran at another time than the kernel that its call launched"


def test_the_same_kernel_is_not_that_of_two_launches(tmp_path: Path) -> None:
    program, trace = Program(), launched("add", 300_000)
    program.around(trace, 300_000)
    found = placed(program, [trace, launched("add", 300_000)], tmp_path)
    assert [each.reason for each in found] == ["another traced launch fits the same kernel in the profile"] * 2


# ---- CUDA graphs


def test_a_replay_is_found_by_the_gpu_s_clock_once_a_launch_beside_the_graph_tells_it(tmp_path: Path) -> None:
    program = Program()
    direct = launched("add", 200_000)
    replayed = [launched(name, at, called=-900_000, graph=True) for name, at in (("add", 700_000), ("gemm", 710_000))]
    program.around(direct, 200_000)
    for replay in (500_000, 600_000, 700_000):
        call = program.call(replay - 30_000, name="cudaGraphLaunch")
        program.around(replayed[0], replay, call=call)
        program.around(replayed[1], replay + 10_000, call=call)
    assert starts(placed(program, [direct, *replayed], tmp_path)) == [199_400, 699_400, 709_400]


def test_replays_alone_cannot_be_told_apart_and_the_reason_says_what_helps(tmp_path: Path) -> None:
    program = Program()
    replayed = launched("add", 700_000, called=-900_000, graph=True)
    for replay in (600_000, 700_000):
        program.around(replayed, replay, call=program.call(replay - 30_000, name="cudaGraphLaunch"))
    assert reason(program, replayed, tmp_path) == (
        "it may be any of 2 kernels in the profile: launch its kernel without a graph, too, while the profile is "
        "recorded, so that the clocks can be compared"
    )


def test_the_only_replay_is_found(tmp_path: Path) -> None:
    program, replayed = Program(), launched("add", 700_000, called=-900_000, graph=True)
    program.around(replayed, 700_000, call=program.call(650_000, name="cudaGraphLaunch"))
    assert starts(placed(program, [replayed], tmp_path)) == [699_400]


def test_a_launch_beside_the_graph_is_none_of_its_replays(tmp_path: Path) -> None:
    program, direct = Program(), launched("add", 700_000)
    program.around(direct, 700_000, call=program.call(685_000, name="cudaGraphLaunch"))
    assert reason(program, direct, tmp_path) == "the profile has 1 such kernel, none launched when it was called"


# ---- what cannot be


def test_a_kernel_that_the_profile_lacks_is_said(tmp_path: Path) -> None:
    program = Program()
    program.around(launched("add", 300_000), 300_000)
    words = "the profile has no kernel of that name: was it launched while the profile was recorded?"
    assert reason(program, launched("gemm", 300_000), tmp_path) == words


def test_a_kernel_of_another_grid_is_another(tmp_path: Path) -> None:
    program, trace = Program(), launched("add", 300_000)
    program.kernel("add_kernel", 299_000, 9_000, grid=(9, 1, 1), block=(128, 1, 1))
    assert reason(program, trace, tmp_path) == "the profile has 1 kernel of that name, none with this grid"


def test_ctas_that_take_longer_than_the_kernel_are_not_its_own(tmp_path: Path) -> None:
    program, trace = Program(), launched("gemm", 300_000)
    program.kernel("gemm_kernel", 300_000, 4_000, grid=(8, 8, 1), block=(128, 1, 1))
    assert reason(program, trace, tmp_path) == "its CTAs took 11.78 µs, the kernel in the profile 4.00 µs"


def test_a_trace_of_the_virtual_gpu_has_no_place(tmp_path: Path) -> None:
    program, trace = Program(), launched("add", 300_000)
    program.around(trace, 300_000)
    trace.meta = replace(trace.meta, device="virtual")
    assert "virtual GPU" in reason(program, trace, tmp_path)


def test_a_graph_that_was_not_launched_is_said(tmp_path: Path) -> None:
    program, trace = Program(), launched("add", 300_000, graph=True)
    program.around(launched("add", 300_000), 300_000)
    trace.slots[:] = 0
    assert reason(program, trace, tmp_path) == "none of its CTAs has recorded a time before the graph was launched"


# ---- the alignment


@pytest.mark.parametrize(("lead", "tail"), [(0, 0), (0, 1500), (1500, 0), (600, 700), (40, 90)])
def test_the_error_bounds_how_far_the_ctas_are_from_their_place(lead: int, tail: int, tmp_path: Path) -> None:
    program, trace = Program(), launched("gemm", 300_000)
    program.around(trace, 300_000, lead=lead, tail=tail)
    (found,) = placed(program, [trace], tmp_path)
    assert abs(found.shift - (START + 300_000)) <= found.error
    assert found.play == lead + tail
    assert found.error <= (lead + tail) // 2 + found.launch.step


def test_launches_close_by_narrow_each_other_s_error(tmp_path: Path) -> None:
    """One kernel ends with its CTAs and the other begins with them: both say the same of the clocks."""
    program = Program()
    traces = [launched("add", 300_000), launched("gemm", 320_000)]
    program.around(traces[0], 300_000, lead=1400, tail=0)
    program.around(traces[1], 320_000, lead=0, tail=1400)
    found = placed(program, traces, tmp_path)
    assert all(each.error <= 3 * each.launch.step for each in found)
    assert all(abs(each.shift - START - at) <= each.error for each, at in zip(found, (300_000, 320_000), strict=True))


def test_clocks_that_drift_are_followed(tmp_path: Path) -> None:
    """The GPU's clock loses 5 ns in a million: after a second that is several times the play of a kernel."""
    program, traces = Program(), []
    for at in range(0, 1_000_000_000, 50_000_000):
        trace = launched("add", at, clocks=CLOCKS + at // 200_000)
        program.around(trace, at, lead=500, tail=500)
        traces.append(trace)
    found = placed(program, traces, tmp_path)
    assert all(each.kernel is not None for each in found)
    for each, at in zip(found, range(0, 1_000_000_000, 50_000_000), strict=True):
        assert abs(each.shift - START - at) <= each.error <= 600


def test_each_gpu_has_a_clock_of_its_own(tmp_path: Path) -> None:
    program = Program()
    traces = [launched("add", 300_000), launched("gemm", 310_000, clocks=CLOCKS + 130_000)]
    program.around(traces[0], 300_000, device=0)
    program.around(traces[1], 310_000, device=1)
    found = placed(program, traces, tmp_path)
    assert starts(found) == [299_400, 309_400]
    assert all(abs(each.shift - START - at) <= each.error for each, at in zip(found, (300_000, 310_000), strict=True))


# ---- several kernels in one trace


def two_kernels() -> Trace:
    """A trace of two kernels of a CTA each, the second 8,000 ns behind the first, at 600 µs."""
    launches = (Launch("kernel_0", (1, 1, 1), (128, 1, 1)), Launch("kernel_1", (1, 1, 1), (128, 1, 1), first_row=1))
    of = table(*span(0, "a"), launches=launches)
    slots = build(of, [Rec(0, 0, 2000, 0), Rec(0, 0, 3000, 1), Rec(1, 0, 2000, 0), Rec(1, 0, 3000, 1)], rows=2)
    head = slots[..., :6].view(layout.HEADER)[..., 0]
    for row, at in enumerate((600_000, 608_000)):
        took = head["exit_ns"][row] - head["entry_ns"][row]
        head["entry_ns"][row] = START + at - CLOCKS
        head["exit_ns"][row] = head["entry_ns"][row] + took
    when = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=(START + 570_000) // 1000)
    meta = TraceMeta("kernel", "cuda", "NVIDIA H200", captured=when.isoformat(timespec="microseconds"))
    return Trace(slots, of, replace(meta, grids=((1, 1, 1), (1, 1, 1))))


def test_each_kernel_of_a_trace_is_found_and_all_have_one_axis(tmp_path: Path) -> None:
    program, trace = Program(), two_kernels()
    for at, name in ((600_000, "kernel_kernel"), (608_000, "kernel_kernel_1")):
        program.kernel(name, at - 600, 4500 + 1200, grid=(1, 1, 1), block=(128, 1, 1), call=program.call(at - 25_000))
    first, second = placed(program, [trace], tmp_path)
    assert starts([first, second]) == [599_400, 607_400]
    assert first.shift == second.shift
    assert abs(first.shift - (START + 600_000)) <= first.error


def test_a_trace_one_of_whose_kernels_is_missing_has_no_place(tmp_path: Path) -> None:
    program, trace = Program(), two_kernels()
    program.kernel("kernel_kernel", 599_400, 5700, grid=(1, 1, 1), block=(128, 1, 1), call=program.call(575_000))
    profile = tltrace_nb.profile(program.write(tmp_path / "p.json"), trace)
    missing = "the profile has no kernel of that name: was it launched while the profile was recorded?"
    assert list(profile.launches["reason"]) == ["another kernel of its trace is not in the profile", missing]
    assert b"inside kernel_kernel" not in profile.to_perfetto(tmp_path / "p.pftrace").read_bytes()
