"""Each statement of a scheduled kernel, and each line that runs it, knows the author's line."""

import pytest
import tilelang.language as T
import torch
from source_lines import line_of

from tltrace_nb import trace
from tltrace_nb.core.runtime.virtual import compile_virtual, simulate
from tltrace_nb.simulator.errors import DeadlockError, MemoryAccessError, SimulationError, UnsupportedError

F32 = "float32"


def _gemm(marked: bool):
    @T.prim_func
    def gemm(
        A: T.Tensor((128, 256), "float16"), B: T.Tensor((256, 128), "float16"), C: T.Tensor((128, 128), "float32")
    ):
        with T.Kernel(1, threads=128):
            a = T.alloc_shared((128, 32), "float16")
            b = T.alloc_shared((32, 128), "float16")
            c = T.alloc_fragment((128, 128), "float32")
            T.clear(c)  # clear
            for k in T.Pipelined(8, num_stages=3):
                token = trace.range_start("load", payload=k) if marked else None  # marker
                T.copy(A[0, k * 32], a)  # load a
                T.copy(B[k * 32, 0], b)  # load b
                trace.range_end(token)
                T.gemm(a, b, c)  # product
            T.copy(c, C)  # store

    return gemm


def _line_that_runs(marked: bool, gpu: str, text: str, count: int) -> list[str]:
    """The author's line for each line of the generated code with a text in it."""
    (program,) = compile_virtual(_gemm(marked), gpu).programs
    source = program.source.splitlines()
    assert len(source) == len(program.lines)
    found = [line for line, code in zip(program.lines, source, strict=True) if text in code]
    assert len(found) == count
    return found


@pytest.mark.some(1)
@pytest.mark.parametrize("marked", [False, True])
def test_lines_survive_automatic_warp_specialisation(marked: bool) -> None:
    a, b, product = (line_of(__file__, comment) for comment in ("load a", "load b", "product"))
    assert _line_that_runs(marked, "h200", "fill(", 1) == [line_of(__file__, "clear")]
    assert _line_that_runs(marked, "h200", "c.tma(", 2) == [a, b]
    assert _line_that_runs(marked, "h200", "product(", 2) == [product, product]
    assert _line_that_runs(marked, "h200", "move(", 1) == [line_of(__file__, "store")]
    # TileLang's own: the producer waits before it loads, the consumer before it multiplies, and arrives after it.
    assert _line_that_runs(marked, "h200", "yield Wait(", 2) == [f"near {a}", f"near {product}"]
    assert _line_that_runs(marked, "h200", "c.arrive(", 1) == [f"near {product}"]


@pytest.mark.some(1)
@pytest.mark.parametrize("marked", [False, True])
def test_lines_survive_pipelining(marked: bool) -> None:
    a, b, product = (line_of(__file__, comment) for comment in ("load a", "load b", "product"))
    assert _line_that_runs(marked, "a100", "c.cp_async(", 6) == [a, b] * 3
    assert set(_line_that_runs(marked, "a100", "yield c.product(", 3)) == {product}
    assert set(_line_that_runs(marked, "a100", "c.copies(", 3)) == {f"near {product}"}


def test_markers_are_at_their_own_line() -> None:
    assert set(_line_that_runs(True, "h200", "c.recorder.record(", 2)) == {line_of(__file__, "marker")}


def test_arrivals_are_noted_with_their_lines_and_thread_groups() -> None:
    (program,) = compile_virtual(_gemm(False), "h200").programs
    ((tma, consumer),) = program.arrivals.values()
    assert (tma.line, tma.thread_groups) == (line_of(__file__, "load b"), (0,))
    assert (consumer.line, consumer.thread_groups) == (f"near {line_of(__file__, 'product')}", (1,))


def test_what_is_not_supported_is_named_with_its_line() -> None:
    @T.prim_func
    def unknown(A: T.Tensor((128,), "float32"), B: T.Tensor((128,), "float32")):
        with T.Kernel(1, threads=128):
            tx = T.get_thread_binding()
            if A[tx] > 0.0:
                B[tx] = T.call_extern("float32", "somebodys_function", A[tx])  # unknown

    with pytest.raises(UnsupportedError) as caught:
        compile_virtual(unknown)
    assert str(caught.value).startswith(
        f"kernel unknown, {line_of(__file__, 'unknown')}: the virtual GPU does not know"
    )


def test_a_macro_is_named_by_the_line_inside_of_it() -> None:
    @T.macro
    def shifted(s, A, tx):
        s[tx + 1] = A[tx]  # inside

    @T.prim_func
    def uses_macro(A: T.Tensor((128,), "float32"), B: T.Tensor((128,), "float32")):
        with T.Kernel(1, threads=128):
            s = T.alloc_shared((128,), "float32")
            tx = T.get_thread_binding()
            shifted(s, A, tx)
            B[tx] = s[tx]

    with pytest.raises(MemoryAccessError) as caught:
        simulate(uses_macro, [torch.ones(128)])
    assert str(caught.value).endswith(f", {line_of(__file__, 'inside')}: writes s[128], outside of shape [128]")


def test_threads_that_meet_at_different_named_barriers_are_named() -> None:
    @T.prim_func
    def apart(A: T.Tensor((256,), "float32"), B: T.Tensor((256,), "float32")):
        with T.Kernel(1, threads=256):
            tx = T.get_thread_binding()
            if tx < 128:
                T.sync_threads(3, 256)  # three
            else:
                T.sync_threads(4, 256)  # four
            B[tx] = A[tx]

    with pytest.raises(DeadlockError) as caught:
        simulate(apart, [torch.ones(256)])
    for number, comment in ((3, "three"), (4, "four")):
        waits = f"waits for named barrier {number}, to which 128 of 256 threads have come"
        assert f", {line_of(__file__, comment)}: {waits}\n" in str(caught.value)


def test_a_barrier_that_nobody_arrives_at_is_said() -> None:
    @T.prim_func
    def alone(A: T.Tensor((128,), "float32"), B: T.Tensor((128,), "float32")):
        with T.Kernel(1, threads=128):
            full = T.alloc_barrier(arrive_count=[128])
            tx = T.get_thread_binding()
            T.mbarrier_wait_parity(full[0], 0)  # alone
            B[tx] = A[tx]

    with pytest.raises(DeadlockError, match="nobody can go on in one CTA") as caught:
        simulate(alone, [torch.ones(128)])
    assert f", {line_of(__file__, 'alone')}: waits for parity 0 of mbarrier full[0]" in str(caught.value)
    assert "; nothing in the kernel arrives there\n" in str(caught.value)


def test_a_condition_on_which_threads_should_agree_is_named() -> None:
    @T.prim_func
    def split(A: T.Tensor((128,), "float32"), B: T.Tensor((128,), "float32")):
        with T.Kernel(1, threads=128):
            tx = T.get_thread_binding()
            if A[tx] > 63.0:  # split
                T.sync_threads()
            B[tx] = A[tx]

    with pytest.raises(SimulationError, match="disagree on a condition") as caught:
        simulate(split, [torch.arange(128.0)])
    assert f", {line_of(__file__, 'split')}: threads" in str(caught.value)
