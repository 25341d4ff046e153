"""How long work takes on one SM: throughput and latency per unit, in cycles.

In: a :class:`~tltrace_nb.base.gpus.Gpu` and a piece of :class:`Work`. Out: ``cycles``, for which the unit is
busy, and ``latency``, after which the last of it can be used. Who waits for which of the two is the engine's business:
a thread that needs a value waits for both, a store holds its issuer for the first, an asynchronous copy for neither.

What is from data sheets and what is calibrated
-----------------------------------------------
Throughputs are the data sheet's; nothing was fitted to the tensor cores, which reach that rate: 256 cycles for
128×128×32 halves, 512 for twice the depth, and the recorded ranges differ by 268. Calibrated with the H200 traces in
``datasets`` and ``tests/recorded`` (medians of ranges, each of which holds one marker of 24 cycles;
``tests/simulator/test_costs.py``):

========================================================  ==========  ======================================
what the trace holds                                        cycles    what it sets
========================================================  ==========  ======================================
``mma`` 128×128×32, 128×128×64, ``PV`` 64×64×64           338 584 178  ``latencies.wgmma`` 50
``wait full``, ``wait empty``, phase complete                 79, 85  ``latencies.mbarrier`` 55
``load`` of one TMA copy, of three                           95, 135  ``latencies.tma_issue`` 44, and 27 a copy
first ``load`` to first ``mma``, 16 and 32 KiB              771, 972  ``latencies.tma`` 310, 64 bytes per cycle
one load and a store of each thread                         302..322  ``latencies.load`` 320, with ``add``
``add`` (one float4 a thread), ``max`` of the row softmax    459, 750  and ``max``, which take longer
``mma`` 64×64×64 of operands that threads wrote                   267  ``latencies.proxy_fence`` 35
``store`` of ``row_sum``, 8 stores a thread                       124  ``STORE_ISSUE`` 12
``wait`` of ``cluster``                                           714  ``latencies.cluster_barrier`` 690
between two launches                                         5,140 ns  ``launch_latency_ns``
``store`` of a 128×128 accumulator as halves                    3217  ``scatter_bytes_per_cycle`` 20.4
``store`` of ``attention``: 32 divisions a thread                1937  ``DIVISION_OPERATIONS`` 27
========================================================  ==========  ======================================

No constant was set by the ranges ``softmax`` of attention, ``exp`` and ``store`` of the row softmax, ``reduce`` and
``mainloop``: what those do is counted from the layouts that TileLang infers (``fragments``), as ``costing`` says.

Known to be missed: a store that finds the memory pipe empty returns early (72 rows of 128 take 1,130 cycles, not
1,810); ``mma.sync`` on Hopper stays below this rate; power makes the clock of a GEMM lower than that of an elementwise
kernel.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from tltrace_nb.base.gpus import Gpu

SECTOR_BYTES = 32
"""What global memory moves at the least (guide, "Device Memory Accesses")."""
FETCHED_BYTES = 64
"""What device memory moves at the least (measured: strides of 64 bytes take as long as strides of 128)."""
LINE_BYTES = 128
"""What one access of a warp to L1 covers (guide, "Global Memory")."""
VECTOR_BYTES = 16
"""The most that one thread loads or stores at a time (guide, "Device Memory Accesses")."""
DIVISION_OPERATIONS = 27
"""CUDA operations of one IEEE float32 division, beside one of the SFU (calibrated, see above)."""

DRAM_EFFICIENCY = 0.87
"""What memory delivers of its peak (measured: 134 MB copied at 4.16 TB/s, of 4.8)."""

STORE_DRAIN = 0.2
"""How much longer than their issue the memory pipe needs for stores (calibrated: 580 to 790 cycles behind a 128×128
tile, 144 behind one of 64×64)."""


STORE_ISSUE = 12
"""Cycles from one store of a thread to its next (calibrated: 8 of them are ``store`` of ``row_sum``)."""


class Unit(StrEnum):
    """A part of an SM that does one kind of work at a time, and what ``Work`` counts for it."""

    TENSOR = "tensor"
    """Amount: flop, 2 for a multiply-add. ``dtype``: the operands', as TileLang spells it."""
    CUDA = "cuda"
    """Amount: operations of single threads, 1 for a multiply-add. ``dtype``: the result's; none is float32."""
    SFU = "sfu"
    """Amount: results of single threads (exp2, log2, sin, rsqrt, reciprocal)."""
    SHARED = "shared"
    """Amount: bytes, one more time for every bank conflict. ``dtype="shuffle"``: 4 bytes a lane that is shuffled;
    ``"line"``: 128 for each line of global memory that a warp looks up in L1, which is the same memory."""
    GLOBAL = "global"
    """Amount: bytes of the sectors touched. ``dtype``: the way, ``WAYS``; none is a load."""
    ISSUE = "issue"
    """Amount: instructions of warps. ``dtype="tma"``: TMA copies that one thread issues as a group; ``"store"``: stores
    of one thread, each with its condition and address."""
    BARRIER = "barrier"
    """Amount: threads that arrive. ``dtype``: ``"named"``, ``"mbarrier"``; none is ``__syncthreads``."""


@dataclass(frozen=True, slots=True)
class Work:
    """An amount of work for one unit. What is counted, and what ``dtype`` may be, says the unit."""

    unit: Unit
    amount: float
    dtype: str = ""


WAYS = ("load", "store", "scatter", "cp.async", "tma", "fetch")
"""How bytes go to or from global memory. ``scatter`` is a store whose warps touch many lines, as ``Spread.traffic``;
``fetch`` is what memory moves along with a load, for it moves two sectors at a time."""

_TENSOR_PREFIXES = (
    ("float8", "fp8"),
    ("e4m3", "fp8"),
    ("e5m2", "fp8"),
    ("float16", "fp16"),
    ("bfloat16", "bf16"),
    ("float32", "tf32"),
    ("tfloat32", "tf32"),
    ("custom[tfloat32]", "tf32"),
    ("float64", "fp64"),
    ("int8", "int8"),
    ("uint8", "int8"),
    ("int4", "int8"),
    ("uint4", "int8"),
)
"""How the names of operand types begin, and the rate that holds for them. int4 is unpacked to int8 first."""


def cycles(gpu: Gpu, work: Work) -> float:
    """For how long the work keeps its unit busy, on one SM with nothing else running.

    GLOBAL is the SM's own limit; ``device_bytes_per_cycle`` is what all SMs share.
    Raises ``ValueError`` for a ``dtype`` that the unit does not know or that the GPU has no tensor cores for.
    """
    match work.unit:
        case Unit.TENSOR:
            return work.amount / tensor_rate(gpu, work.dtype)
        case Unit.CUDA:
            return work.amount / _operations_per_cycle(gpu, work.dtype)
        case Unit.SFU:
            return work.amount / gpu.sfu_per_cycle
        case Unit.SHARED:
            return work.amount / gpu.shared_bytes_per_cycle
        case Unit.GLOBAL:
            if work.dtype == "fetch":
                return 0.0
            scattered = _way(gpu, work.dtype) == "scatter"
            return work.amount / (gpu.scatter_bytes_per_cycle if scattered else gpu.global_bytes_per_cycle)
        case Unit.ISSUE:
            each = {"tma": gpu.tma_issue_cycles, "store": STORE_ISSUE}.get(work.dtype, 1 / gpu.schedulers)
            return work.amount * each
        case Unit.BARRIER:
            return 0.0 if work.dtype == "mbarrier" else work.amount / gpu.barrier_threads_per_cycle


def latency(gpu: Gpu, work: Work) -> float:
    """How long after its throughput time the last of the work is done.

    For TENSOR on an architecture with ``wgmma`` it is the fixed cost of one tile, issue and wait included. For a store
    it is how long the memory pipe goes on after the last one was issued, for which only the CTA's exit waits (measured:
    580 to 790 cycles behind a 128×128 tile, 144 behind one of 64×64).
    """
    of = gpu.latencies
    match work.unit:
        case Unit.TENSOR:
            return of.wgmma if gpu.wgmma else of.mma
        case Unit.CUDA:
            return of.arithmetic
        case Unit.SFU:
            return of.sfu
        case Unit.SHARED:
            return {"shuffle": of.shuffle, "line": 0.0}.get(work.dtype, of.shared)
        case Unit.GLOBAL:
            match _way(gpu, work.dtype):
                case "tma":
                    return of.tma
                case "cp.async":
                    return of.cp_async
                case "store" | "scatter":
                    return STORE_DRAIN * cycles(gpu, work)
                case "fetch":
                    return 0.0
                case _:
                    return of.load
        case Unit.ISSUE:
            return of.tma_issue if work.dtype == "tma" else of.arithmetic
        case Unit.BARRIER:
            return {"named": of.named_barrier, "mbarrier": of.mbarrier}.get(work.dtype, of.barrier)


def device_bytes_per_cycle(gpu: Gpu) -> float:
    """What the device memory moves per cycle of the SMs, for all of them together."""
    return DRAM_EFFICIENCY * gpu.hbm_bytes_per_second / (gpu.clock_ghz * 1e9)


def tensor_rate(gpu: Gpu, dtype: str) -> float:
    """Flop per cycle of one SM's tensor cores on operands of a type. ``ValueError`` where they do not take it."""
    for prefix, name in _TENSOR_PREFIXES:
        if dtype.startswith(prefix) and (rate := float(getattr(gpu.tensor, name))):
            return rate
    known = [prefix for prefix, name in _TENSOR_PREFIXES if getattr(gpu.tensor, name)]
    raise ValueError(f"the tensor cores of {gpu.name} do not multiply {dtype or 'operands of no type'}: {known}")


def _operations_per_cycle(gpu: Gpu, dtype: str) -> float:
    if dtype.startswith("float64"):
        return gpu.fp64_flop_per_cycle / 2
    return gpu.int32_per_cycle if dtype.startswith(("int", "uint", "bool")) else gpu.cuda_flop_per_cycle / 2


def _way(gpu: Gpu, dtype: str) -> str:
    way = dtype or "load"
    if way not in WAYS:
        raise ValueError(f"{dtype!r} is no way to global memory; there are: {', '.join(WAYS)}")
    if (way == "tma" and not gpu.latencies.tma) or (way == "cp.async" and not gpu.latencies.cp_async):
        raise ValueError(f"{gpu.name} ({gpu.architecture}) has no {way} copies")
    return way
