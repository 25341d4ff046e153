"""What goes wrong on the virtual GPU is said: what, in which kernel, CTA and thread group, and who waits for what."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable

import numpy as np
import pytest
import tilelang.language as T
import torch
from kernels import BY_NAME
from source_lines import line_of

from tltrace_nb import trace as tl
from tltrace_nb.base.gpus import preset
from tltrace_nb.core.compile.options import TraceOptions
from tltrace_nb.core.runtime.virtual import compile_virtual, simulate
from tltrace_nb.core.trace import Trace
from tltrace_nb.data.slots import STATE_STUCK, headers
from tltrace_nb.simulator.errors import (
    DeadlockError,
    MemoryAccessError,
    SimulationError,
    UnsupportedError,
)


def _deadlock():
    @T.prim_func
    def deadlock(A: T.Tensor((256,), "float32"), B: T.Tensor((256,), "float32")):
        with T.Kernel(2, threads=256):
            full = T.alloc_barrier(arrive_count=[128])
            empty = T.alloc_barrier(arrive_count=[128])
            tx = T.get_thread_binding()
            with tl.range("whole"):
                if tx < 128:
                    T.mbarrier_wait_parity(full[0], 0)  # first waits
                    T.mbarrier_arrive(empty[0])  # first arrives
                else:
                    T.mbarrier_wait_parity(empty[0], 0)  # second waits
                    T.mbarrier_arrive(full[0])  # second arrives
            B[tx] = A[tx]

    return deadlock


def test_a_deadlock_says_who_waits_for_what_and_keeps_what_was_recorded() -> None:
    with pytest.raises(DeadlockError) as caught:
        simulate(_deadlock(), [torch.zeros(256)])
    first, second = "warp group 0 (threads 0..127)", "warp group 1 (threads 128..255)"
    assert str(caught.value).splitlines()[0].startswith("kernel deadlock: deadlock after ")
    reports = [
        f"CTA (1, 0, 0), {me}, {line_of(__file__, f'{who} waits')}: waits for parity 0 of mbarrier {barrier} (phase "
        f"0, 0 of 128 arrived); arrivals come from {other} at {line_of(__file__, f'{whom} arrives')}"
        for me, who, barrier, other, whom in (
            (first, "first", "full[0]", second, "second"),
            (second, "second", "empty[0]", first, "first"),
        )
    ]
    assert all(f"  {report}\n" in str(caught.value) for report in reports)
    kept = caught.value.trace
    assert isinstance(kept, Trace)
    assert (headers(kept.slots)["state"] == STATE_STUCK).any()
    assert kept.events.truncated.all()


def _one_waits_longer():
    @T.prim_func
    def one_waits_longer(A: T.Tensor((256,), "float32"), B: T.Tensor((256,), "float32")):
        with T.Kernel(1, threads=256):
            tx = T.get_thread_binding()
            full = T.alloc_barrier(arrive_count=[256])
            if tx < 128:
                with tl.group("early", lead=0), tl.range("wait"):
                    T.mbarrier_wait_parity(full[0], 0)
            else:
                with tl.group("late", lead=128):
                    for _ in T.serial(100):
                        B[tx] = A[tx] + B[tx]
                    with tl.range("wait"):
                        T.mbarrier_wait_parity(full[0], 0)

    return one_waits_longer


def test_a_wait_that_hangs_lasts_until_nobody_can_go_on() -> None:
    with pytest.raises(DeadlockError) as caught:
        simulate(_one_waits_longer(), [torch.zeros(256), torch.zeros(256)])
    early, late = caught.value.trace.events.sort_values("start").itertuples()
    assert early.end >= late.start > early.start + 1000
    assert abs(early.end - late.end) <= 1


def test_a_deadlock_says_how_long_the_launch_ran() -> None:
    with pytest.raises(DeadlockError) as caught:
        simulate(_deadlock(), [torch.zeros(256)], gpu=dataclasses.replace(preset("h200"), launch_latency_ns=1e9))
    said = re.search(r"deadlock after ([\d,]+) cycles", str(caught.value))
    assert said is not None
    assert int(said[1].replace(",", "")) < 10_000


def _unwritten():
    @T.prim_func
    def unwritten(A: T.Tensor((64, 64), "float32"), B: T.Tensor((64, 64), "float32")):
        with T.Kernel(3, threads=64) as bx:
            tile = T.alloc_shared((64, 64), "float32")
            if bx < 2:
                T.copy(A, tile)
            for i, j in T.Parallel(64, 64):
                B[i, j] = tile[i, j] * 2.0

    return unwritten


def test_reading_unwritten_shared_memory_is_an_error_unless_told_otherwise() -> None:
    with pytest.raises(MemoryAccessError, match=r"kernel unwritten, CTA \(2, 0, 0\), warps 0..1 .*tile\[0, 0\]"):
        simulate(_unwritten(), [torch.ones(64, 64)])
    simulate(_unwritten(), [torch.ones(64, 64)], uninitialised="zero")


def _out_of_bounds():
    @T.prim_func
    def out_of_bounds(A: T.Tensor((100,), "float32"), B: T.Tensor((128,), "float32")):
        with T.Kernel(1, threads=128):
            tx = T.get_thread_binding()
            B[tx] = A[tx] + 1.0

    return out_of_bounds


def test_global_accesses_are_guarded_as_tilelang_guards_them_or_else_checked() -> None:
    outputs, _ = simulate(_out_of_bounds(), [torch.ones(100)])
    assert outputs.tolist() == [2.0] * 100 + [1.0] * 28
    with pytest.raises(MemoryAccessError, match=r"out_of_bounds, CTA \(0, 0, 0\).*A\[100\]"):
        simulate(_out_of_bounds(), [torch.ones(100)], pass_configs={"tl.disable_safe_memory_legalize": True})


def _unsupported():
    @T.prim_func
    def unsupported(A: T.Tensor((128,), "float32"), B: T.Tensor((128,), "float32")):
        with T.Kernel(1, threads=128):
            tx = T.get_thread_binding()
            B[tx] = T.call_extern("float32", "somebodys_function", A[tx])

    return unsupported


def test_what_is_unknown_is_named_before_anything_runs() -> None:
    with pytest.raises(UnsupportedError, match="kernel unsupported.*call_extern.*somebodys_function"):
        compile_virtual(_unsupported())


def test_too_much_shared_memory_is_an_error() -> None:
    small = dataclasses.replace(preset("h200"), name="small", shared_per_cta=1024)
    with pytest.raises(SimulationError, match=r"gemm, .*gemm.py:\d+: .* bytes of shared memory.*A_shared 24,576"):
        simulate(BY_NAME["gemm_3"].build(), BY_NAME["gemm_3"].inputs("cpu"), gpu=small)


def test_wrong_inputs_are_named() -> None:
    kernel = compile_virtual(BY_NAME["add"].build())
    with pytest.raises(TypeError, match=r"kernel add takes 2 inputs \(A, B\), got 1"):
        kernel.run([torch.zeros(4096)], out_idx=[-1])
    with pytest.raises(TypeError, match=r"kernel add takes 3 inputs .*, got 2; outputs .* are named in out_idx"):
        kernel.run([torch.zeros(4096)] * 2, out_idx=[])
    with pytest.raises(ValueError, match=r"kernel add: B has the shape \[4096\], got \[4095\]"):
        kernel.run([torch.zeros(4096), torch.zeros(4095)])
    with pytest.raises(TypeError, match="kernel add: A is float32, got float64"):
        kernel.run([torch.zeros(4096, dtype=torch.float64), torch.zeros(4096)])
    with pytest.raises(ValueError, match="gpu='h300': give one of"):
        compile_virtual(BY_NAME["add"].build(), "h300")


def test_arrays_go_in_and_come_out_as_tensors_do() -> None:
    a = np.arange(4096, dtype=np.float32)
    outputs, _ = simulate(BY_NAME["add"].build(), [a, a])
    assert isinstance(outputs, np.ndarray)
    assert np.array_equal(outputs, a + a)
    given = np.zeros_like(a)
    outputs, _ = simulate(BY_NAME["add"].build(), [a, a, given])
    assert outputs is None
    assert np.array_equal(given, a + a)


@pytest.mark.parametrize("name", ["gemm_3", "attention", "histogram", "specialised_gemm"])
def test_two_runs_are_the_same(name: str) -> None:
    reference = BY_NAME[name]
    kernel = compile_virtual(reference.build(), pass_configs=reference.pass_configs)
    first, second = (kernel.run(reference.inputs("cpu"), list(reference.out_idx))[1] for _ in range(2))
    assert np.array_equal(first.slots, second.slots)
    again = compile_virtual(reference.build(), pass_configs=reference.pass_configs)
    third = again.run(reference.inputs("cpu"), list(reference.out_idx))[1]
    assert np.array_equal(first.slots, third.slots)


def test_the_last_records_survive_in_a_ring() -> None:
    reference = BY_NAME["payload_loop"]
    everything, kept = (
        simulate(reference.build(), reference.inputs("cpu"), options=options)[1]
        for options in (TraceOptions(), TraceOptions.of(4, keep="last"))
    )
    assert kept.events.payload.tolist() == everything.events.payload.tolist()[-2:]
    assert int(headers(kept.slots)["executed"][0, 0]) == 8


def test_waves_of_ctas_take_turns_on_the_sms() -> None:
    reference = BY_NAME["softmax"]
    *_, trace = simulate(reference.build(), reference.inputs("cpu"), gpu="classroom")
    ctas = trace.ctas
    assert sorted(ctas.sm.unique()) == [0, 1, 2, 3]
    assert (ctas.groupby("sm").size() == 16).all()
    *_, narrow = simulate(
        reference.build(),
        reference.inputs("cpu"),
        gpu=dataclasses.replace(preset("classroom"), max_ctas_per_sm=1),
    )
    assert narrow.ctas.end_ns.max() > ctas.end_ns.max()


def test_an_interrupted_run_keeps_what_was_recorded() -> None:
    reference = BY_NAME["softmax"]
    kernel = compile_virtual(reference.build(), "classroom")
    kept: list[Trace] = []

    def interrupt(done: int, total: int) -> None:
        assert total == 64
        if done == 10:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        kernel.run(reference.inputs("cpu"), started=kept.append, progress=interrupt)
    (trace,) = kept
    assert int((headers(trace.slots)["state"] != 0).sum()) >= 10
    assert len(trace.events) > 30


def _racing():
    @T.prim_func
    def racing(A: T.Tensor((32, 32), "float32"), B: T.Tensor((32,), "float32")):
        with T.Kernel(1, threads=32):
            total = T.alloc_fragment((32,), "float32")
            T.clear(total)
            for i, j in T.Parallel(32, 32):
                total[i] = total[i] + A[i, j]
            T.copy(total, B)

    return racing


def test_iterations_that_race_are_refused() -> None:
    with pytest.raises(UnsupportedError, match="kernel racing, .*T.Parallel that update the same element: total"):
        compile_virtual(_racing())


def _without_clear():
    @T.prim_func
    def without_clear(A: T.Tensor((64, 64), "float16"), C: T.Tensor((64, 64), "float32")):
        with T.Kernel(1, threads=128):
            a = T.alloc_shared((64, 64), "float16")
            c = T.alloc_fragment((64, 64), "float32")
            T.copy(A, a)
            T.gemm(a, a, c)  # product
            T.copy(c, C)

    return without_clear


def _half_written():
    @T.prim_func
    def half_written(A: T.Tensor((8, 8), "float32"), B: T.Tensor((8, 8), "float32")):
        with T.Kernel(1, threads=32):
            f = T.alloc_fragment((8, 8), "float32")
            for i, j in T.Parallel(8, 4):
                f[i, j] = A[i, j]
            for i, j in T.Parallel(8, 8):
                B[i, j] = f[i, j]  # element

    return half_written


def _reads_output():
    @T.prim_func
    def reads_output(A: T.Tensor((64,), "float32"), B: T.Tensor((64,), "float32")):
        with T.Kernel(1, threads=32):
            for i in T.Parallel(64):
                B[i] = B[i] + A[i]  # sum

    return reads_output


@pytest.mark.parametrize(
    ("build", "inputs", "comment", "element"),
    [
        (_without_clear, [torch.ones(64, 64).half()], "product", "c[0, 0]"),
        (_half_written, [torch.ones(8, 8)], "element", "f[0, 4]"),
        (_reads_output, [torch.ones(64)], "sum", "B[0]"),
    ],
)
def test_reading_what_nobody_wrote_is_an_error_in_every_memory(
    build: Callable, inputs: list[torch.Tensor], comment: str, element: str
) -> None:
    with pytest.raises(MemoryAccessError) as caught:
        simulate(build(), inputs)
    assert f", {line_of(__file__, comment)}: reads {element} before anything was written there; " in str(caught.value)
    simulate(build(), inputs, uninitialised="zero")


def test_an_output_that_is_passed_may_be_read() -> None:
    b = torch.ones(64)
    simulate(_reads_output(), [torch.ones(64), b])
    assert (b == 2).all()
