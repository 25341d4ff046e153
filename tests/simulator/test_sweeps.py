"""The model moves as the card does when one thing changes: directions that the sweeps on an H200 have."""

import statistics
import sys
from pathlib import Path

import pytest
import tilelang.language as T
import torch

sys.path.append(str(Path(__file__).resolve().parents[2] / "benchmarks"))
import sweep_kernels as kernels
import sweeps

from tltrace_nb import trace
from tltrace_nb.base.gpus import preset
from tltrace_nb.core.runtime.virtual import compile_virtual
from tltrace_nb.simulator.device_memory import DeviceMemory


def simulated(func):
    return compile_virtual(func, "h200", functional=False).run(sweeps.tensors(func, "cpu"))[1]


def micros(func):
    return sweeps.spans(simulated(func))["span_ns"] / 1e3


def cycles(func):
    (found,) = sweeps.spans(simulated(func))["ranges"].values()
    return found


def test_one_warp_has_a_quarter_of_the_special_functions():
    one, four = (cycles(kernels.exponentials(threads)) for threads in (32, 128))
    assert one / four == pytest.approx(17626 / 4652, rel=0.1)


def test_warps_hide_each_others_latency_until_the_schedulers_are_full():
    few, full, over = (cycles(kernels.chain(threads)) for threads in (32, 512, 1024))
    assert few == full
    assert over / full == pytest.approx(2, rel=0.02)


def test_more_threads_take_longer_only_as_far_as_memory_does():
    times = [micros(kernels.chunks(threads, 132)) for threads in (32, 128, 512)]
    assert times == sorted(times)
    assert times[-1] < 4 * times[0]  # sixteen times the work


def test_lanes_that_part_take_both_ways_and_warps_do_not():
    together, lanes = (micros(kernels.diverging(parted, turns=64)) for parted in ("nobody", "lanes"))
    assert lanes > 1.05 * together


def test_fewer_threads_than_a_warp_group_multiply_slowly():
    times = [micros(kernels.gemm(m=512, n=512, k=512, threads=threads)) for threads in (128, 64, 32)]
    assert times[0] * 2 < times[1] < times[2]


def test_accumulators_that_do_not_fit_are_told():
    assert "spill" in simulated(kernels.gemm(m=128, n=128, k=64, threads=32)).meta.note
    assert "spill" not in simulated(kernels.gemm(m=128, n=128, k=64, threads=128)).meta.note


def test_larger_tiles_read_less_from_l2():
    times = [micros(kernels.gemm(bm=tile, bn=tile, k=256)) for tile in (64, 128)]
    assert times[1] < 0.7 * times[0]


def test_what_fits_into_l2_does_not_come_from_memory():
    gpu = preset("h200")

    def rate(footprint):
        memory = DeviceMemory(gpu)
        memory.launch(footprint, 1.0)
        return footprint / memory.serve(0.0, footprint, footprint, waits=False) * gpu.clock_ghz

    small, large = rate(8 << 20), rate(128 << 20)
    assert small == pytest.approx(gpu.l2_bytes_per_cycle * gpu.clock_ghz)
    assert large == pytest.approx(4160, rel=0.02)  # GB/s, as a copy of 134 MB has on the card


def test_ctas_are_handed_out_one_after_the_other():
    many, few = (micros(kernels.elementwise(block=block)) for block in (128, 1024))
    assert many > 2 * few


def test_what_neighbours_load_comes_from_l2_once():
    @T.prim_func
    def one(A: T.Tensor((1 << 22,), "float32"), B: T.Tensor((1 << 22,), "float32")):
        with T.Kernel(4096, threads=128) as bx:
            trace.record("begin")
            for i in T.Parallel(1024):
                B[bx * 1024 + i] = A[bx * 1024 + i]

    assert micros(kernels.stencil()) < 1.3 * micros(one)


def test_narrow_tiles_of_a_plane_look_up_more_lines():
    wide, narrow = (micros(kernels.stencil(rows=rows, columns=columns)) for rows, columns in ((8, 128), (128, 8)))
    assert narrow > 1.5 * wide


def test_padding_of_a_power_of_two_leaves_bank_conflicts():
    times = [micros(kernels.transposed(padding)) for padding in (1, 16, 0)]
    assert times == sorted(times)
    assert times[2] > 2 * times[0]


def test_a_loop_without_waits_loads_ahead_and_one_with_a_marker_does_not():
    def summed(marked):
        @T.prim_func
        def summed(A: T.Tensor((64, 128), "float32"), B: T.Tensor((128,), "float32")):
            with T.Kernel(1, threads=128):
                tx = T.get_thread_binding()
                x = T.alloc_var("float32")
                x = 0.0
                with trace.range("all"):
                    for k in T.serial(64):
                        if marked:
                            trace.record("turn")
                        x = x + A[k, tx]
                B[tx] = x

        return summed

    assert cycles(summed(True)) > 3 * cycles(summed(False))


def test_a_sweep_is_judged_by_what_the_card_tells_apart():
    sweep = sweeps.Sweep("some", "gemm", {})
    same = sweeps.Compared(sweep, (("a", 10.0, 1.0), ("b", 10.5, 2.0)))
    right = sweeps.Compared(sweep, (("a", 10.0, 1.0), ("b", 20.0, 2.0), ("c", 30.0, 9.0)))
    wrong = sweeps.Compared(sweep, (("a", 10.0, 3.0), ("b", 20.0, 2.0), ("c", 30.0, 1.0)))
    flat = sweeps.Compared(sweep, (("a", 10.0, 1.0), ("b", 20.0, 1.0)))
    assert same.alike
    assert right.spearman == 1
    assert right.best_found
    assert wrong.spearman == -1
    assert not wrong.best_found
    assert flat.spearman == 0


def test_every_point_of_the_recorded_sweeps_has_a_time():
    assert statistics.mean("error" in entry for entry in sweeps_recorded()["points"].values()) == 0
    assert {point.key for point in sweeps.points()} == {*sweeps_recorded()["points"]}


def sweeps_recorded():
    import json

    return json.loads((sweeps.ROOT / "benchmarks" / "results" / "2026-11-30-h200-sweeps.json").read_text())


def test_tensors_of_a_point_fit_its_parameters():
    func = kernels.chunks(32, 4)
    assert [tuple(t.shape) for t in sweeps.tensors(func, "cpu")] == [(64, 128), (128,)]
    assert all(isinstance(t, torch.Tensor) for t in sweeps.tensors(func, "cpu"))
