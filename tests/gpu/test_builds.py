"""Traced and untraced builds side by side, in one process and across two: names and outputs never mix."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

import pytest
import tilelang.language as T
import torch

from tltrace_nb import TraceError, trace
from tltrace_nb.base.errors import CapacityError, NotTracedError, SlotsError

N = 256


@trace.jit(out_idx=[-1])
def scaled(name: str, factor: float) -> Any:
    @T.prim_func
    def scale(A: T.Tensor((N,), "float32"), B: T.Tensor((N,), "float32")):
        with T.Kernel(4, threads=64) as bx, trace.range(name, payload=bx):
            for i in T.Parallel(64):
                B[bx * 64 + i] = A[bx * 64 + i] * factor

    return scale


@trace.jit
def eager_add(A, B, block: int = 64):
    M = T.const("M")
    A: T.Tensor[[M], T.float32]
    B: T.Tensor[[M], T.float32]
    C = T.empty((M,), "float32")
    with T.Kernel(T.ceildiv(M, block), threads=block) as bx, trace.range("add", payload=bx):
        for i in T.Parallel(block):
            C[bx * block + i] = A[bx * block + i] + B[bx * block + i]
    return C


@pytest.fixture
def ones() -> torch.Tensor:
    return torch.ones(N, device="cuda")


def test_alternating_builds_never_swap_names(ones: torch.Tensor) -> None:
    for _ in range(3):
        for name, factor in (("double", 2.0), ("triple", 3.0)):
            for traced in (True, False):
                seen = len(trace.history)
                with trace.tracing(traced):
                    assert torch.equal(scaled(name, factor)(ones), ones * factor)
                if traced:
                    assert set(trace.last.events["name"]) == {name}
                else:
                    assert len(trace.history) == seen


def test_the_eager_style_traces_too(ones: torch.Tensor) -> None:
    with trace.tracing():
        assert torch.equal(eager_add(ones, ones), ones * 2)
    assert trace.last.events["payload"].tolist() == [0, 1, 2, 3]
    with trace.tracing(False):
        assert torch.equal(eager_add(ones, ones), ones * 2)


def test_ctas_choose_rows(ones: torch.Tensor) -> None:
    with trace.tracing(ctas=[1, 3]):
        scaled("some", 2.0)(ones)
    assert trace.last.events["cta"].tolist() == [1, 3]
    assert trace.last.events["payload"].tolist() == [1, 3]


@pytest.mark.parametrize(("keep", "kept"), [("first", [0, 1, 2, 3]), ("last", [60, 61, 62, 63])])
def test_what_does_not_fit_is_counted(keep: str, kept: list[int]) -> None:
    @trace.jit(out_idx=[-1])
    def counting() -> Any:
        @T.prim_func
        def count(B: T.Tensor((64,), "int32")):
            with T.Kernel(1, threads=32):
                for i in T.serial(64):
                    trace.record("step", payload=i)
                    B[i] = i

        return count

    with trace.tracing(max_events=4, keep=keep):
        assert counting()().tolist() == list(range(64))
    captured = trace.last
    assert captured.events["payload"].tolist() == kept
    (loss,) = captured.losses.to_dict("records")
    assert (loss["executed"], loss["recorded"], loss["lost"], loss["max_events"]) == (64, 4, 60, 64)
    assert "max_events=64" in repr(captured)


def test_a_budget_is_kept_and_checked_before_the_launch(ones: torch.Tensor) -> None:
    with trace.tracing(budget=100):
        scaled("big", 2.0)(ones)
    assert trace.last.events["cta"].tolist() == [0]
    with trace.tracing(budget=70), pytest.raises(CapacityError, match=r"scale.*over the budget"):
        scaled("big", 2.0)(ones)


def test_foreign_slots_are_refused(ones: torch.Tensor) -> None:
    with trace.tracing():
        kernel = scaled("ours", 2.0)
    with pytest.raises(SlotsError, match=r"scale.*int64"):
        trace.decode(kernel, torch.zeros(3, 3, dtype=torch.int64))


def test_slots_of_another_kernel_of_the_same_shape_are_refused(ones: torch.Tensor) -> None:
    with trace.tracing():
        ours, theirs = scaled("ours", 2.0), scaled("theirs", 2.0)
        theirs(ones)
        slots = trace.last.slots
    assert [e.name for e in trace.decode(theirs, slots)] == ["theirs"] * 4
    with pytest.raises(SlotsError, match=r"scale.*another kernel"):
        trace.decode(ours, slots)


def test_an_untraced_kernel_is_refused(ones: torch.Tensor) -> None:
    with trace.tracing(False):
        kernel = scaled("plain", 2.0)
    with pytest.raises(NotTracedError, match="without tracing"):
        trace.decode(kernel, torch.zeros(1, 1, 8, dtype=torch.int64))
    with trace.tracing(), pytest.raises(TraceError, match="without tracing"):
        trace.run(kernel, (ones,), stem="never")


PROGRAM = """
    import sys, tilelang, torch
    import tilelang.language as T
    from tltrace_nb import trace
    from tltrace_nb.core.compile import entries

    trace.enable()

    @trace.jit(out_idx=[-1])
    def resumed():
        @T.prim_func
        def square(A: T.Tensor((64,), "float32"), B: T.Tensor((64,), "float32")):
            with T.Kernel(2, threads=32) as bx:
                with trace.range("square-jit", lane="l", payload=bx):
                    for i in T.Parallel(32):
                        B[bx * 32 + i] = A[bx * 32 + i] * A[bx * 32 + i]
        return square

    @tilelang.jit(out_idx=trace.out_idx(1))
    def again():
        @T.prim_func
        def square(A: T.Tensor((64,), "float32"), B: T.Tensor((64,), "float32")):
            with T.Kernel(2, threads=32) as bx:
                with trace.range("square-finalize", lane="l", payload=bx):
                    for i in T.Parallel(32):
                        B[bx * 32 + i] = A[bx * 32 + i] * A[bx * 32 + i]
        return trace.finalize(square)

    entries = len(list(entries.cache_dir().glob("[0-9a-f]*"))) if entries.cache_dir().exists() else 0
    a = torch.full((64,), 3.0, device="cuda")
    resumed()(a)
    events = trace.last.events
    print("cached" if entries else "compiled", sorted(set(events["name"])), events["payload"].tolist())
    kernel = again()
    out, slots = kernel(a)
    print([(e.name, e.payload) for e in trace.decode(kernel, slots)], out[0].item())
"""


def test_a_kernel_from_the_disk_cache_decodes_in_another_process(tmp_path: Path) -> None:
    script = tmp_path / "program.py"
    script.write_text(textwrap.dedent(PROGRAM))
    outputs = []
    for _ in range(2):
        done = subprocess.run(
            [sys.executable, str(script)],
            capture_output=True,
            text=True,
            check=True,
            env={**os.environ, "TLTRACE_CACHE_DIR": str(tmp_path / "cache"), "PYTHONPATH": os.pathsep.join(sys.path)},
        )
        outputs.append([line for line in done.stdout.splitlines() if line.startswith(("compiled", "cached", "["))])
    assert outputs[0][0] == "compiled ['square-jit'] [0, 1]"
    assert outputs[1][0] == "cached ['square-jit'] [0, 1]"
    assert outputs[0][1] == outputs[1][1] == "[('square-finalize', 0), ('square-finalize', 1)] 9.0"
