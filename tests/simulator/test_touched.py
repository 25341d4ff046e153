"""What single threads' accesses cost: sectors of global memory, banks of shared memory, and arms of branches."""

# ruff: noqa: SIM117 (TileLang turns each statement into one of the kernel's)

import numpy as np
import pytest
import tilelang.language as T

from tltrace_nb import datasets, trace

THREADS = 128


def reads(stride, turns=8):
    @T.prim_func
    def reads(A: T.Tensor((THREADS * turns * stride,), "float32"), B: T.Tensor((THREADS,), "float32")):
        with T.Kernel(1, threads=THREADS):
            tx = T.get_thread_binding()
            total = T.alloc_var("float32", init=0.0)
            with trace.range("read"):
                for i in T.serial(turns):
                    total = total + A[(i * THREADS + tx) * stride]
                B[tx] = total

    return reads


def neighbours(turns=8):
    @T.prim_func
    def neighbours(A: T.Tensor((THREADS * turns,), "float32"), B: T.Tensor((THREADS,), "float32")):
        with T.Kernel(1, threads=THREADS):
            tx = T.get_thread_binding()
            total = T.alloc_var("float32", init=0.0)
            with trace.range("read"):
                for i in T.serial(turns):
                    total = total + A[tx * turns + i]
                B[tx] = total

    return neighbours


def column(width, same=False):
    """A warp reads a column of a tile, or all of its threads the same word."""

    @T.prim_func
    def column(A: T.Tensor((THREADS,), "float32"), B: T.Tensor((THREADS,), "float32")):
        with T.Kernel(1, threads=THREADS):
            tx = T.get_thread_binding()
            tile = T.alloc_shared((32, width), "float32")
            for i in T.serial(8):
                tile[i * 4 + tx // 32, tx % 32] = A[tx]
            T.sync_threads()
            total = T.alloc_var("float32", init=0.0)
            with trace.range("read"):
                for i in T.serial(8):
                    total = total + tile[0 if same else tx % 32, i * 4 + tx // 32]
            B[tx] = total

    return column


def branch(every, rounds=64):
    @T.prim_func
    def branch(A: T.Tensor((THREADS,), "float32"), B: T.Tensor((THREADS,), "float32")):
        with T.Kernel(1, threads=THREADS):
            tx = T.get_thread_binding()
            x = T.alloc_var("float32")
            x = A[tx]
            with trace.group("warps", per="warp"):
                with trace.range("whole"):
                    if tx // every % 2 == 0:
                        with trace.range("even", lane="arms"):
                            for _ in T.serial(rounds):
                                x = x * 1.01
                    else:
                        with trace.range("odd", lane="arms"):
                            for _ in T.serial(rounds):
                                x = x * 0.99
            B[tx] = x

    return branch


def cycles(kernel, size, name="read"):
    trace.simulate(kernel, np.ones(size, np.float32), out_idx=[-1])
    events = trace.last.events
    return int(events.loc[events["name"] == name, "duration"].max())


def test_strided_reads_take_longer_until_every_thread_has_a_sector_of_its_own() -> None:
    took = {stride: cycles(reads(stride), THREADS * 8 * stride) for stride in (1, 2, 4, 8, 16, 32)}
    more = {stride: took[stride] - took[1] for stride in took}
    assert more[2] == THREADS * 8 * 4 / 64  # as many bytes again, at 64 a cycle
    assert (more[4], more[8], more[16]) == (3 * more[2], 7 * more[2], 7 * more[2])
    assert more[32] > 10 * more[2]  # a line for each, to look up


def test_the_longest_of_strided_reads_takes_as_long_as_on_a_card() -> None:
    card = datasets.load("h200/strides").events.set_index("payload")["duration"]
    assert cycles(reads(32), THREADS * 8 * 32) == pytest.approx(card[32], rel=0.05)
    assert cycles(reads(1), THREADS * 8) == pytest.approx(card[1], rel=0.15)


def test_bank_conflicts_cost_what_they_cost_on_a_card() -> None:
    with_conflicts, without = (datasets.load(f"h200/{name}").events for name in ("transpose", "transpose_padded"))
    card = [e.loc[e["name"] == "write", "duration"].median() for e in (with_conflicts, without)]
    here = [cycles(column(width), THREADS) for width in (32, 33)]
    assert here[0] - here[1] == pytest.approx(card[0] - card[1], rel=0.05)


def test_a_sector_that_a_thread_comes_back_to_is_fetched_once() -> None:
    assert cycles(neighbours(), THREADS * 8) == cycles(reads(1), THREADS * 8)


@pytest.mark.parametrize(("width", "ways"), [(32, 32), (33, 1), (34, 2), (48, 16)])
def test_threads_that_ask_one_bank_for_different_words_take_turns(width, ways) -> None:
    free = cycles(column(33), THREADS)
    warps, turns = THREADS // 32, 8
    assert cycles(column(width), THREADS) - free == (ways - 1) * warps * turns


def test_threads_that_ask_for_the_same_word_get_it_at_once() -> None:
    assert cycles(column(32, same=True), THREADS) == cycles(column(33), THREADS)


@pytest.mark.parametrize("every", [1, 2, 16])
def test_lanes_of_a_warp_that_go_different_ways_go_one_after_the_other(every) -> None:
    cycles(branch(every), THREADS, "whole")
    arms = trace.last.events.query("lane == 'arms'")
    for _, warp in arms.groupby("warp"):
        even, odd = (warp[warp["name"] == name] for name in ("even", "odd"))
        assert even["end"].max() <= odd["start"].min()


@pytest.mark.parametrize("every", [32, 64])
def test_warps_that_go_different_ways_go_at_the_same_time(every) -> None:
    assert cycles(branch(every), THREADS, "whole") < 0.6 * cycles(branch(1), THREADS, "whole")
    trace.simulate(branch(every), np.ones(THREADS, np.float32), out_idx=[-1])
    arms = trace.last.events.query("lane == 'arms'")
    assert not arms.duplicated("warp").any()
    assert arms["start"].max() < arms["end"].min()


@pytest.mark.parametrize("every", [1, 16, 32, 64])
def test_whatever_way_threads_go_their_results_are_right(every) -> None:
    got = trace.simulate(branch(every, rounds=1), np.ones(THREADS, np.float32), out_idx=[-1])
    expected = np.where(np.arange(THREADS) // every % 2 == 0, 1.01, 0.99)
    np.testing.assert_allclose(got, expected, rtol=1e-6)


def counted(bound_first):
    @T.prim_func
    def counted(Turns: T.Tensor((1,), "int32"), B: T.Tensor((THREADS,), "float32")):
        with T.Kernel(1, threads=THREADS):
            x = T.alloc_fragment((THREADS,), "float32")
            turns = T.alloc_var("int32")
            T.clear(x)
            if bound_first:
                turns = Turns[0]
                for _ in T.serial(turns):
                    for j in T.Parallel(THREADS):
                        x[j] = x[j] * 0.5 + 1.0
            else:
                for _ in T.serial(Turns[0]):
                    for j in T.Parallel(THREADS):
                        x[j] = x[j] * 0.5 + 1.0
            T.copy(x, B)

    return counted


def test_a_loops_bound_is_read_once_and_not_in_every_turn() -> None:
    cycles = []
    for bound_first in (True, False):
        trace.simulate(counted(bound_first), np.full(1, 50, np.int32), out_idx=[-1])
        cycles.append(int(trace.last.ctas["duration"].item()))
    assert cycles[0] == cycles[1]
