"""The cost model against recorded H200 ranges, and what it refuses."""

from functools import cache
from importlib.resources import files
from pathlib import Path

import pytest

from tltrace_nb import load
from tltrace_nb.base.gpus import preset
from tltrace_nb.simulator.costs import (
    DIVISION_OPERATIONS,
    DRAM_EFFICIENCY,
    Unit,
    Work,
    cycles,
    device_bytes_per_cycle,
    latency,
)

H200 = preset("h200")
RECORDED = Path(str(files("tltrace_nb").joinpath("datasets", "h200")))


@cache
def events(name):
    return load(RECORDED / f"{name}.tltrace").events


def median(trace, name):
    found = events(trace)
    return found.loc[found["name"] == name, "duration"].median()


def from_load_to(trace, name):
    """Median over the CTAs: from the producer's first load to the consumer's first use of it."""
    both = events(trace)[events(trace)["name"].isin(["load", name])]
    first = both.groupby(["cta", "name"], observed=True).start.min()
    return (first.xs(name, level="name") - first.xs("load", level="name")).median()


def busy(unit, amount, dtype=""):
    return cycles(H200, Work(unit, amount, dtype))


def wait(unit, amount=1.0, dtype=""):
    return latency(H200, Work(unit, amount, dtype))


def whole(unit, amount, dtype=""):
    return busy(unit, amount, dtype) + wait(unit, amount, dtype)


MARKER = H200.latencies.marker


def product(m, n, k):
    return MARKER + whole(Unit.TENSOR, 2 * m * n * k, "float16")


def issued(copies):
    return MARKER + whole(Unit.ISSUE, copies, "tma")


def filled(copies, kibibytes):
    """Issue of the copies, their way, the wait for their barrier."""
    return issued(copies) + whole(Unit.GLOBAL, kibibytes * 1024, "tma") + whole(Unit.BARRIER, 1, "mbarrier")


def divided(threads, each):
    return busy(Unit.CUDA, threads * each * DIVISION_OPERATIONS) + busy(Unit.SFU, threads * each)


def reduced_over_warps(threads=128):
    """TileLang's reduction over four warps: two rounds through shared memory, five of shuffles."""
    exchange = 2 * whole(Unit.BARRIER, threads) + whole(Unit.SHARED, 4 * threads) + wait(Unit.CUDA)
    return 2 * exchange + 5 * (whole(Unit.SHARED, 4 * threads, "shuffle") + wait(Unit.CUDA))


def accumulator_bytes(elements, item_bytes):
    """Sectors of an accumulator in registers: a warp stores eight rows of eight elements at a time (PTX ISA, wgmma)."""
    assert 8 * item_bytes <= 32
    return elements // 64 * 8 * 32


def softmax_of_attention(rows=64, columns=64, threads=128):
    """Per element a maximum, a multiply-add, a sum, a cast, and a multiplication of the output; one exp2."""
    shuffles = 2 * 2 * (whole(Unit.SHARED, 4 * threads, "shuffle") + wait(Unit.CUDA))
    return MARKER + 5 * busy(Unit.CUDA, rows * columns) + whole(Unit.SFU, rows * columns) + shuffles


def reduce_of_row_sum(rows=32, columns=128):
    """A tile from shared memory; a row is a warp with four values a lane: their sum, then five shuffles and sums."""
    lanes = rows * columns // 4
    shuffles = 5 * busy(Unit.SHARED, 4 * lanes, "shuffle") + wait(Unit.SHARED, 1, "shuffle")
    sums = busy(Unit.CUDA, rows * columns + 5 * lanes)
    return MARKER + whole(Unit.SHARED, 4 * rows * columns) + sums + shuffles


@pytest.mark.parametrize(
    ("trace", "name", "modelled"),
    [
        ("gemm", "mma", product(128, 128, 32)),
        ("gemm_3", "mma", product(128, 128, 32)),
        ("persistent", "mma", product(128, 128, 64)),
        ("specialised_gemm", "mma", product(128, 128, 64)),
        ("attention", "PV", product(64, 64, 64)),
        ("gemm", "load", issued(3)),
        ("persistent", "load", issued(3)),
        ("specialised_gemm", "load", issued(3)),
        ("attention", "load K", issued(1)),
        ("row_sum", "load", issued(1)),
        ("gemm", "store", MARKER + busy(Unit.GLOBAL, accumulator_bytes(128 * 128, 2), "scatter")),
        ("persistent", "store", MARKER + busy(Unit.GLOBAL, accumulator_bytes(128 * 128, 2), "scatter")),
        (
            "attention",
            "store",
            MARKER + divided(128, 32) + busy(Unit.GLOBAL, accumulator_bytes(64 * 64, 2), "scatter"),
        ),
        ("attention", "softmax", softmax_of_attention()),
        ("row_sum", "reduce", reduce_of_row_sum()),
        (
            "softmax",
            "exp",
            MARKER + 3 * busy(Unit.CUDA, 512) + whole(Unit.SFU, 512) + reduced_over_warps(),
        ),
        (
            "softmax",
            "store",
            MARKER + divided(128, 4) + wait(Unit.SFU) + 4 * wait(Unit.CUDA) + busy(Unit.GLOBAL, 2048, "store"),
        ),
        (
            "softmax",
            "max",  # what is left of the load's latency 37 cycles after its issue, then the reduction
            MARKER + whole(Unit.GLOBAL, 2048) - 37 + reduced_over_warps(),
        ),
        (
            "add",
            "add",
            MARKER + whole(Unit.GLOBAL, 2 * 2048) + whole(Unit.CUDA, 512) + busy(Unit.GLOBAL, 2048, "store"),
        ),
    ],
)
def test_a_range_takes_as_long_as_on_the_h200(trace, name, modelled):
    assert modelled == pytest.approx(median(trace, name), rel=0.25)


@pytest.mark.parametrize(
    ("trace", "name", "modelled"),
    [
        ("gemm", "mma", filled(3, 16)),
        ("gemm_3", "mma", filled(3, 16)),
        ("dynamic_gemm", "mma", filled(3, 16)),
        ("row_sum", "reduce", filled(1, 16)),
        ("persistent", "mma", filled(3, 32)),
        ("specialised_gemm", "mma", filled(3, 32)),
    ],
)
def test_the_first_tile_arrives_as_on_the_h200(trace, name, modelled):
    assert modelled == pytest.approx(from_load_to(trace, name), rel=0.25)


def test_twice_the_depth_takes_as_much_longer_as_on_the_h200():
    longer = median("persistent", "mma") - median("gemm", "mma")
    assert product(128, 128, 64) - product(128, 128, 32) == pytest.approx(longer, rel=0.25)


def test_a_complete_barrier_is_passed_as_on_the_h200():
    waits = events("specialised_gemm")
    shortest = waits.loc[waits["name"] == "wait full", "duration"].min()
    assert MARKER + whole(Unit.BARRIER, 1, "mbarrier") == pytest.approx(shortest, rel=0.25)


@pytest.mark.parametrize(
    ("dtype", "rate"),
    [
        ("float16", 4096),
        ("bfloat16", 4096),
        ("float32", 2048),
        ("custom[tfloat32]", 2048),
        ("float8_e4m3fn", 8192),
        ("float8_e5m2", 8192),
        ("int8", 8192),
        ("uint8", 8192),
        ("float64", 256),
    ],
)
def test_a_product_runs_at_the_rate_of_its_operands(dtype, rate):
    assert busy(Unit.TENSOR, 2**20, dtype) == 2**20 / rate


@pytest.mark.parametrize(
    ("gpu", "dtype"), [("t4", "bfloat16"), ("t4", "float32"), ("a100", "float8_e4m3"), ("h200", "")]
)
def test_operands_that_tensor_cores_do_not_take_are_refused(gpu, dtype):
    with pytest.raises(ValueError, match=f"tensor cores of {gpu} do not multiply"):
        cycles(preset(gpu), Work(Unit.TENSOR, 1, dtype))


@pytest.mark.parametrize(("dtype", "per_cycle"), [("", 128), ("float32", 128), ("int32", 64), ("float64", 64)])
def test_cuda_operations_run_at_the_rate_of_their_type(dtype, per_cycle):
    assert busy(Unit.CUDA, 6400, dtype) == 6400 / per_cycle


def test_a_way_to_global_memory_that_there_is_not_lists_the_right_ones():
    with pytest.raises(ValueError, match=r"there are: load, store, scatter, cp\.async, tma"):
        cycles(H200, Work(Unit.GLOBAL, 128, "cpasync"))


@pytest.mark.parametrize(("gpu", "way"), [("a100", "tma"), ("t4", "cp.async")])
def test_a_way_that_the_architecture_lacks_is_refused(gpu, way):
    with pytest.raises(ValueError, match=f"{gpu} .* has no {way} copies"):
        latency(preset(gpu), Work(Unit.GLOBAL, 128, way))


def test_issue_is_shared_by_the_schedulers():
    assert busy(Unit.ISSUE, 8) == 2


def test_a_mma_is_waited_for_where_there_is_no_wgmma():
    assert latency(preset("a100"), Work(Unit.TENSOR, 1, "float16")) == preset("a100").latencies.mma


def test_all_sms_share_the_memory():
    assert device_bytes_per_cycle(H200) * H200.clock_ghz == pytest.approx(DRAM_EFFICIENCY * 4800)
