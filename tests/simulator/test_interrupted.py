"""A virtual run that ends early, by Ctrl-C or by an error, leaves what it recorded in ``trace.last``."""

import _thread
import io
from collections.abc import Callable
from typing import Any

import ipywidgets
import pytest
import tilelang.language as T
import torch
import tqdm.auto
import tqdm.notebook
import tqdm.std
from kernels import BY_NAME
from source_lines import line_of

from tltrace_nb import trace
from tltrace_nb.core.compile.compilation import Compilation
from tltrace_nb.core.runtime.jit import VirtualTracedKernel
from tltrace_nb.core.runtime.virtual import compile_virtual
from tltrace_nb.simulator import progress
from tltrace_nb.simulator.errors import MemoryAccessError, SimulationError, StepLimitError


def _tiles() -> Any:
    @T.prim_func
    def tiles(A: T.Tensor((64, 32), "float32"), fatal: T.int32, B: T.Tensor((64, 32), "float32")):
        with T.Kernel(64, threads=32) as bx:
            row = T.alloc_shared((32,), "float32")
            with trace.range("whole", payload=bx):
                with trace.range("load", payload=bx):
                    if bx != fatal:
                        T.copy(A[bx, 0:32], row)  # load
                with trace.range("store", payload=bx):
                    T.copy(row, B[bx, 0:32])  # store

    return tiles


A = torch.ones(64, 32)


def _stop_after(count: int) -> Callable[[int, int], None]:
    """A progress callback that sends Ctrl-C to the main thread once so many CTAs are done."""

    def tick(done: int, total: int) -> None:
        if done == count:
            _thread.interrupt_main()

    return tick


def test_after_ctrl_c_the_last_trace_holds_what_was_recorded_and_the_next_run_works() -> None:
    kernel = compile_virtual(_tiles(), "classroom")
    with pytest.raises(KeyboardInterrupt) as caught:
        kernel.run([A, -1], started=trace.captured, progress=_stop_after(10))
    (note,) = caught.value.__notes__
    assert note.startswith("kernel tiles")
    assert note.endswith("interrupted after 10 of 64 CTAs; what was recorded until then is in trace.last")
    assert trace.last is not None
    events = trace.last.events
    done = events[~events.truncated]
    assert done[done.name == "whole"].payload.tolist() == list(range(10))
    begun = events[events.truncated]
    assert len(begun) > 0
    assert set(begun.name) <= {"whole", "load", "store"}
    assert trace.last.losses.unfinished.sum() > 0
    outputs, again = kernel.run([A, -1])
    assert (outputs == 1).all()
    assert len(again.events) == 3 * 64
    assert not again.events.truncated.any()


def test_ctrl_c_in_the_middle_of_a_cta_says_which_line_was_running(monkeypatch: pytest.MonkeyPatch) -> None:
    kernel = compile_virtual(_tiles(), "classroom")
    calls = iter(range(100))

    def interrupted(*_: Any) -> Any:
        if next(calls) == 5:
            raise KeyboardInterrupt
        return original(*_)

    original = kernel.programs[0].run.__globals__["move"]
    monkeypatch.setitem(kernel.programs[0].run.__globals__, "move", interrupted)
    with pytest.raises(KeyboardInterrupt) as caught:
        kernel.run([A, -1])
    (note,) = caught.value.__notes__
    assert note.startswith("kernel tiles, CTA (")
    assert f", {line_of(__file__, 'load')}: interrupted after " in note


def test_after_an_error_the_last_trace_holds_what_was_recorded() -> None:
    with pytest.raises(MemoryAccessError, match=r"CTA \(40, 0, 0\), warp 0 \(threads 0..31\), .*row\[0\]") as caught:
        trace.simulate(_tiles(), A, 40, gpu="classroom")
    assert f", {line_of(__file__, 'store')}: reads" in str(caught.value)
    assert trace.last is caught.value.trace
    assert trace.last.events.payload.max() >= 40
    cut = trace.last.events[trace.last.events.truncated]
    assert cut[cut.payload == 40].name.tolist() == ["whole", "store"]


def _endless(yields: bool) -> Any:
    @T.prim_func
    def endless(A: T.Tensor((64,), "int32"), B: T.Tensor((64,), "int32")):
        with T.Kernel(1, threads=32):
            row = T.alloc_shared((64,), "int32")
            with trace.range("spin"):
                while A[0] > 0:  # while
                    if yields:
                        T.copy(A, row)
            B[0] = row[0]

    return endless


@pytest.mark.parametrize("yields", [True, False])
def test_an_endless_loop_is_found_and_the_range_around_it_is_there(yields: bool) -> None:
    with pytest.raises(
        StepLimitError, match=r"kernel endless, CTA \(0, 0, 0\), .*not done after 1,000 iterations"
    ) as caught:
        trace.simulate(_endless(yields), torch.ones(64, dtype=torch.int32), step_limit=1000)
    assert f", {line_of(__file__, 'while')}: " in str(caught.value)
    assert trace.last is not None
    assert trace.last.events.name.tolist() == ["spin"]
    assert trace.last.events.truncated.all()


def test_an_asynchronous_copy_that_fails_names_the_line_that_started_it() -> None:
    @T.prim_func
    def early(A: T.Tensor((128, 64), "float16"), B: T.Tensor((128, 64), "float16")):
        with T.Kernel(1, threads=128):
            barrier = T.alloc_barrier(arrive_count=[1])
            tx = T.get_thread_binding()
            if tx < 64:
                T.mbarrier_arrive(barrier[0])  # arrives 64 times
            T.mbarrier_wait_parity(barrier[0], 0)
            B[tx, 0] = A[tx, 0]

    with pytest.raises(
        SimulationError, match="one arrival too many in phase 0 of mbarrier barrier.0., made for 1"
    ) as found:
        compile_virtual(early).run([torch.zeros(128, 64).half()])
    assert str(found.value).startswith(
        f"kernel early, CTA (0, 0, 0), warp group 0 (threads 0..127), {line_of(__file__, 'arrives 64 times')}: "
    )


# ---- progress


class _Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


class _Clock:
    def __init__(self, step: float):
        self.now, self.step = 0.0, step

    def __call__(self) -> float:
        self.now += self.step
        return self.now


def _written(monkeypatch: pytest.MonkeyPatch, stream: io.StringIO, seconds_per_look: float) -> str:
    """What a run writes to stderr when every look at the clock finds so much time gone."""
    for module, name in ((tqdm.std, "time"), (progress, "monotonic")):
        monkeypatch.setattr(module, name, _Clock(seconds_per_look))
    monkeypatch.setattr("sys.stderr", stream)
    trace.simulate(_tiles(), A, -1, gpu="classroom")
    return stream.getvalue()


def test_a_long_run_shows_a_bar_that_goes_when_it_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    text = _written(monkeypatch, _Terminal(), 0.2)
    assert "tiles:" in text
    assert "/64 [" in text
    assert not text.rsplit("\r", 2)[1].strip()


def test_a_short_run_shows_none(monkeypatch: pytest.MonkeyPatch) -> None:
    assert not _written(monkeypatch, _Terminal(), 1e-6)


def test_a_log_gets_none(monkeypatch: pytest.MonkeyPatch) -> None:
    assert not _written(monkeypatch, io.StringIO(), 0.2)


def test_kernels_of_trace_jit_show_one_too(monkeypatch: pytest.MonkeyPatch) -> None:
    stream = _Terminal()
    for module, name in ((tqdm.std, "time"), (progress, "monotonic")):
        monkeypatch.setattr(module, name, _Clock(0.2))
    monkeypatch.setattr("sys.stderr", stream)
    reference = BY_NAME["softmax"]
    virtual = compile_virtual(reference.build(), "classroom")
    VirtualTracedKernel(None, virtual, Compilation(out_idx=list(reference.out_idx)), trace.captured)(
        *reference.inputs("cpu")
    )
    assert "/64 [" in stream.getvalue()


@pytest.mark.parametrize("done", [True, False])
def test_a_bar_in_a_notebook_leaves_no_widget_behind_unless_it_tells_of_an_end_too_early(
    done: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    open_widgets = ipywidgets.widgets.widget._instances
    monkeypatch.setattr(tqdm.auto, "tqdm", tqdm.notebook.tqdm)
    monkeypatch.setattr(tqdm.notebook, "display", lambda _: None)
    monkeypatch.setattr(progress, "SHOWN_AFTER", 0)
    before = len(open_widgets)
    with progress.progress_bar("kernel") as told:
        told(1, 2)
        assert len(open_widgets) > before
        told(2 if done else 1, 2)
    assert (len(open_widgets) == before) == done


def test_a_short_run_makes_no_widget(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tqdm.auto, "tqdm", None)
    with progress.progress_bar("kernel") as told:
        told(1, 1)


def test_progress_is_told_while_no_cta_ends() -> None:
    seen: list[tuple[int, int]] = []
    with pytest.raises(StepLimitError):
        compile_virtual(_endless(True)).run(
            [torch.ones(64, dtype=torch.int32)], progress=lambda *now: seen.append(now), step_limit=2000
        )
    assert seen
    assert set(seen) == {(0, 1)}


def test_trace_run_keeps_what_was_recorded_too() -> None:
    virtual = VirtualTracedKernel(
        None, compile_virtual(_tiles(), "classroom"), Compilation(out_idx=[-1]), trace.captured
    )
    with pytest.raises(MemoryAccessError) as caught:
        trace.run(virtual, (A, 40), stem="cut")
    assert trace.last is caught.value.trace
    before = trace.launches
    assert trace.run(virtual, (A, -1), stem="whole").shape == (64, 32)
    assert trace.last.events.payload.nunique() == 64
    assert len(trace.since(before)) == 1
