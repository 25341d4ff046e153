"""How fragments lie over threads, and what reductions and copies of them cost for it."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from kernels import BY_NAME
from tvm import tirx

from tltrace_nb.base.gpus import preset
from tltrace_nb.core.runtime.virtual import compile_virtual
from tltrace_nb.simulator.costing import UNITS, Pricing
from tltrace_nb.simulator.costs import Unit
from tltrace_nb.simulator.fragments import Spread, Traffic, spread_of

H200 = preset("h200")


def spreads_of(kernel, gpu="h200"):
    (program,) = compile_virtual(BY_NAME[kernel].build(), gpu).programs
    return {str(data.name): spread for data, spread in program.spreads.items()}


def test_four_lanes_share_a_row_of_a_wgmma_accumulator():
    accumulator = spreads_of("gemm_3")["C_local"]
    assert (accumulator.workers, accumulator.values, accumulator.copies) == (128, 128, 1)
    assert (accumulator.sharing(1), accumulator.rows(1)) == (4, 4)


def test_an_accumulator_goes_to_global_memory_scattered_over_rows():
    """A warp stores eight rows of eight elements at a time (PTX ISA, wgmma): one sector a row while they are halves."""
    accumulator = spreads_of("gemm_3")["C_local"]
    assert accumulator.traffic(2) == Traffic(128 * 128 * 2 * 2, accesses=64, scattered=True)
    assert accumulator.traffic(4) == Traffic(128 * 128 * 4, accesses=64, scattered=True)


def test_a_row_over_the_whole_cta_is_moved_in_whole_lines():
    row = spreads_of("softmax")["x"]
    assert (row.sharing(1), row.rows(1)) == (128, 1)
    assert row.traffic(4) == Traffic(512 * 4, accesses=1, scattered=False)


def test_what_all_threads_need_all_threads_hold():
    highest = spreads_of("softmax")["highest"]
    assert (highest.values, highest.copies) == (1, 128)


def test_a_layout_in_operations_that_are_not_known_is_left_out() -> None:
    class Odd:
        thread = tirx.log2(tirx.Var("_i", "float32"))

        def get_input_shape(self) -> list[int]:
            return [4]

    assert spread_of(Odd()) is None


@given(st.integers(0, 5), st.integers(0, 3), st.sampled_from([1, 2, 4, 8]), st.randoms(use_true_random=False))
def test_sectors_are_those_that_each_access_of_a_warp_touches(rows, log_groups, item_bytes, random):
    """Against one access after the other, for rows of blocks that belong to random threads."""
    width = max(1, 16 // item_bytes)
    groups = 2**log_groups
    owners = np.array([[random.randrange(0, 96) for _ in range(groups)] for _ in range(rows + 1)])
    owners[:, 1::2] += 96  # neighbours never belong to one thread, so no access is wider than a block
    spread = Spread(np.repeat(owners, width, axis=1), 1, 1)
    touched = set()
    turns = dict.fromkeys(range(192), 0)
    for row in range(rows + 1):
        for group in range(groups):
            thread = owners[row, group]
            for byte in range(group * width * item_bytes, (group + 1) * width * item_bytes):
                touched.add((thread // 32, turns[thread], row, byte // 32))
            turns[thread] += 1
    assert spread.traffic(item_bytes).bytes == 32 * len(touched)


def cost_of(spread, count):
    cost = Pricing(H200).reduced(count, 1, 4, spread)
    return {UNITS[unit]: cycles for unit, cycles in cost.parts}, cost.latency


def rows_over(sharing):
    """A fragment of 32 rows by 128 columns over 128 threads, so many of which share a row."""
    row, column = np.indices((32, 128))
    return Spread(row % (128 // sharing) * sharing + column // (128 // sharing), 32, 1)


@pytest.mark.parametrize(("sharing", "shuffles"), [(1, 0), (4, 2), (32, 5)])
def test_threads_of_one_warp_reduce_with_one_shuffle_for_every_halving(sharing, shuffles):
    spread = rows_over(sharing)
    busy, _ = cost_of(spread, 32 * 128)
    assert busy.get(Unit.SHARED, 0) == shuffles * spread.rows(1) * 128 * 4 / H200.shared_bytes_per_cycle
    assert not busy.get(Unit.BARRIER)


def test_threads_of_several_warps_meet_twice_for_every_halving_beyond_a_warp():
    row = spreads_of("softmax")["x"]
    busy, latency = cost_of(row, 512)
    assert busy[Unit.BARRIER] == 2 * 2 * 128 / H200.barrier_threads_per_cycle
    assert latency > 4 * H200.latencies.barrier + 5 * H200.latencies.shuffle - busy[Unit.SHARED]
