"""The GPUs that can be simulated, and how many CTAs fit on one of their SMs.

In: a preset's name, or a :class:`Gpu` that somebody changed with ``dataclasses.replace``; the :class:`Footprint` of a
kernel. Out: constants for ``costs`` and the engine; an :class:`Occupancy`.

Where the figures come from, named beside each of them:

* *guide*: CUDA C++ Programming Guide, "Technical Specifications per Compute Capability" and "Arithmetic Instructions";
* *header*: ``cuda_occupancy.h`` of CUDA 13.0, NVIDIA's occupancy calculator;
* *sheet*: the data sheet or whitepaper of that GPU, dense rates;
* *Luo*: Luo et al., Benchmarking and Dissecting the Nvidia Hopper GPU Architecture, arXiv:2402.13499, tables IV and V;
* *Dewing*: the latency table of github.com/markdewing/AI_kernels (V100: L2 221, memory 460; RTX 4090: 296, 636);
* *measured*: the H200 traces in ``datasets`` and ``benchmarks/results``, see ``costs`` for how;
* *estimate*: no source found; the order of magnitude is right.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from enum import StrEnum
from typing import Any

from tltrace_nb.base.checks import a, checked, wrong

KIBIBYTE = 1024
WARP = 32
"""Threads of a warp, on every GPU of NVIDIA's (guide)."""
BARRIERS_PER_CTA = 16
"""Named barriers of one CTA (PTX ISA, ``bar``)."""
_MAY_BE_ZERO = ("barriers_per_sm", "shared_reserved", "launch_latency_ns", "cta_launch_cycles", "dispatch_cycles")


@dataclass(frozen=True, slots=True)
class TensorRates:
    """What the tensor cores of one SM do at best, in flop per cycle (a multiply-add is 2), dense. 0: cannot."""

    fp16: float
    """Half operands, float32 accumulators."""
    bf16: float = 0
    tf32: float = 0
    fp8: float = 0
    int8: float = 0
    fp64: float = 0


@dataclass(frozen=True, slots=True)
class Latencies:
    """How long after its issue one operation is done, in cycles, beyond the time that its throughput takes."""

    load: float
    """A load from global memory: between a hit in L2 and a miss."""
    tma: float
    """A TMA copy, from the end of its issue to the phase of its mbarrier. 0: the architecture has none."""
    cp_async: float
    """An asynchronous copy of the Ampere kind: a load, then a write to shared memory. 0: has none."""
    shared: float
    """A load from shared memory."""
    mma: float
    """A dependent ``mma.sync`` (estimate on every GPU: 25 to 33 for m16n8k16)."""
    wgmma: float
    """Fences, descriptors, commit and wait around the ``wgmma`` of one tile. 0: the architecture has none."""
    arithmetic: float = 4
    """A dependent add or multiply-add (Jia et al. 2018, arXiv:1804.06826: 4 cycles since Volta)."""
    sfu: float = 36
    """A dependent special function, with what keeps small numbers exact (measured: a chain of exp2 and a
    multiplication takes 40 cycles a turn)."""
    shuffle: float = 23
    """A dependent warp shuffle (estimate: 22 to 24)."""
    barrier: float = 22
    """``__syncthreads`` when the last thread arrives (estimate, one warp)."""
    named_barrier: float = 22
    """``bar.sync`` on a part of the CTA: the same unit."""
    cluster_barrier: float = 690
    """A barrier of all CTAs of a cluster, or of the grid (measured: "wait" of ``cluster``, 714, less a marker)."""
    miss: float = 216
    """What comes from memory rather than from L2, later (Luo, H800: 479 less 263)."""
    proxy_fence: float = 0
    """``fence.proxy.async``, between a thread's writes to shared memory and a ``wgmma`` that reads them."""
    mbarrier: float = 55
    """A wait on an mbarrier whose phase is complete (measured: "wait full" 79 and "wait empty" 85, less a marker)."""
    tma_issue: float = 44
    """Expecting the bytes on the mbarrier, and the address arithmetic, before a group of TMA copies (measured)."""
    marker: float = 24
    """A record of this package (measured: ``benchmarks/results/README.md``, 24.1)."""


@dataclass(frozen=True, slots=True)
class Gpu:
    """One model of a GPU, a value: ``replace(preset("h200"), name="mine", sms=16)`` is a student's own.

    Sizes are bytes, rates are per cycle of ``clock_ghz`` and, unless they say otherwise, per SM.
    """

    name: str
    architecture: str
    """What TileLang schedules for, such as ``sm_90a``."""
    sms: int
    clock_ghz: float
    tensor: TensorRates
    latencies: Latencies
    hbm_bytes_per_second: float
    """Peak of the device memory, all SMs together."""
    l2_bytes_per_cycle: float
    """What all SMs together can read from L2."""
    l2_bytes: int
    """Capacity of the L2."""
    shared_per_sm: int
    shared_per_cta: int
    """The most that one CTA may ask for (guide: opt-in maximum)."""
    cuda_flop_per_cycle: float
    """float32 on the CUDA cores, a multiply-add counted as 2 (guide)."""
    fp64_flop_per_cycle: float
    """float64 on the CUDA cores (guide)."""
    int32_per_cycle: float = 64
    """Integer results (guide: 64 from 7.5 to 9.0)."""
    sfu_per_cycle: float = 16
    """exp2, log2, sin, rsqrt, reciprocal: results (guide: 16 since 5.0)."""
    shared_bytes_per_cycle: float = 128
    """32 banks of 4 bytes (guide)."""
    global_bytes_per_cycle: float = 64
    """What one SM moves to and from L2 (measured: the first tile of 32 KiB comes 230 cycles after one of 16 KiB)."""
    scatter_bytes_per_cycle: float = 20.4
    """32-byte sectors that one SM writes when every warp store touches eight rows (measured on the H200)."""
    tma_issue_cycles: float = 27
    """One more TMA copy in a group that one thread issues (measured)."""
    barrier_threads_per_cycle: float = 16
    """Threads that arrive at ``__syncthreads`` (guide, "Synchronization Instruction", 7.x and 8.x)."""
    registers_per_sm: int = 65536
    """32-bit (guide), and as many for one CTA."""
    registers_per_thread: int = 255
    """The most that one thread may have (guide)."""
    register_unit: int = 256
    """Registers are given to warps in units of this many (header)."""
    shared_reserved: int = KIBIBYTE
    """Shared memory that the driver keeps for itself in every CTA (guide, 8.0 and later)."""
    shared_unit: int = 128
    """Shared memory is given to CTAs in units of this many bytes (header)."""
    max_threads_per_cta: int = 1024
    max_threads_per_sm: int = 2048
    max_warps: int = 64
    """Per SM, as the threads."""
    max_ctas_per_sm: int = 32
    barriers_per_sm: int = 0
    """Named barriers that the CTAs of an SM share (header: 64 on 9.0). 0: they do not limit."""
    warp_size: int = WARP
    schedulers: int = 4
    """Warp schedulers, each with its quarter of the registers (header: 4 sub-partitions from 7.0)."""
    launch_latency_ns: float = 5100
    """From the host's call to the first CTA (measured: between the launches of ``two_launches``)."""
    cta_launch_cycles: float = 200
    """From a place becoming free on an SM to the first instruction of the CTA that takes it (estimate)."""
    dispatch_cycles: float = 1.15
    """Between two CTAs that the block scheduler starts (measured: 32,768 CTAs that do next to nothing take 20.1 µs,
    16,384 take 10.3)."""
    mma_sync: float = 1.0
    """What ``mma.sync`` reaches of the tensor cores' rate; 1 where there is nothing else."""
    timer_step_ns: int = 32
    """Steps of ``%globaltimer`` (measured on the H200; older GPUs take larger ones, of about 1 µs)."""

    def __post_init__(self) -> None:
        for field in fields(self):
            value = getattr(self, field.name)
            if isinstance(value, int | float) and (value < 0 or (value == 0 and field.name not in _MAY_BE_ZERO)):
                raise ValueError(f"{field.name}={value!r}: a GPU needs a positive number there")
        if self.max_warps * self.warp_size != self.max_threads_per_sm:
            raise ValueError(
                f"max_warps={self.max_warps} and max_threads_per_sm={self.max_threads_per_sm} do not agree: "
                f"a warp has {self.warp_size} threads"
            )

    @property
    def wgmma(self) -> bool:
        """Whether matrix products run as ``wgmma``, asynchronously, one warp group together."""
        return self.latencies.wgmma > 0


_H200 = Gpu(
    name="h200",
    architecture="sm_90a",
    sms=132,  # sheet
    clock_ghz=1.83,  # sheet: 989.4 Tflop/s over 132 SMs of 4,096 a cycle; measured 1.72 to 1.81 in GEMMs, 1.97 without
    tensor=TensorRates(fp16=4096, bf16=4096, tf32=2048, fp8=8192, int8=8192, fp64=256),  # sheet
    latencies=Latencies(
        load=320,  # measured (ranges of one load: 280 to 430); Luo on an H800: 263 from L2, 479 from memory
        tma=310,  # measured: from the first load to the first product
        cp_async=350,  # load and shared
        shared=29,  # Luo
        mma=32,
        wgmma=50,  # measured ("mma", "PV")
        proxy_fence=35,  # measured ("mma" of the dequantising GEMM, less that of the others and a barrier)
    ),
    hbm_bytes_per_second=4.8e12,  # sheet
    l2_bytes_per_cycle=4472,  # Luo, H800
    l2_bytes=50 << 20,  # sheet
    mma_sync=0.3,  # measured: tiles of 128×128 by one and by two warps
    shared_per_sm=228 * KIBIBYTE,  # guide, 9.0
    shared_per_cta=227 * KIBIBYTE,
    cuda_flop_per_cycle=256,
    fp64_flop_per_cycle=128,
    barriers_per_sm=64,
)

_A100 = Gpu(
    name="a100",  # SXM4, 80 GB
    architecture="sm_80",
    sms=108,  # sheet
    clock_ghz=1.41,  # sheet, boost
    tensor=TensorRates(fp16=2048, bf16=2048, tf32=1024, int8=4096, fp64=128),  # sheet: 312, 312, 156, 624, 19.5 T
    latencies=Latencies(load=364, tma=0, cp_async=393, shared=29, mma=25, wgmma=0),  # Luo: L2 262, memory 466
    hbm_bytes_per_second=2.039e12,  # sheet
    l2_bytes_per_cycle=5120,  # sheet (whitepaper, p. 35)
    l2_bytes=40 << 20,  # sheet
    shared_per_sm=164 * KIBIBYTE,  # guide, 8.0
    shared_per_cta=163 * KIBIBYTE,
    cuda_flop_per_cycle=128,
    fp64_flop_per_cycle=64,
)

_RTX4090 = Gpu(
    name="rtx4090",
    architecture="sm_89",
    sms=128,  # sheet
    clock_ghz=2.52,  # sheet, boost
    tensor=TensorRates(fp16=512, bf16=512, tf32=256, fp8=1024, int8=2048),  # sheet: 165, 165, 83, 330, 661 T
    latencies=Latencies(load=466, tma=0, cp_async=496, shared=30, mma=33, wgmma=0),  # Dewing; Luo: shared
    hbm_bytes_per_second=1.008e12,  # sheet
    l2_bytes_per_cycle=1620,  # estimate
    l2_bytes=72 << 20,  # sheet
    shared_per_sm=100 * KIBIBYTE,  # guide, 8.9
    shared_per_cta=99 * KIBIBYTE,
    cuda_flop_per_cycle=256,
    fp64_flop_per_cycle=4,
    max_threads_per_sm=1536,
    max_warps=48,
    max_ctas_per_sm=24,
)

_T4 = Gpu(
    name="t4",
    architecture="sm_75",
    sms=40,  # sheet
    clock_ghz=1.59,  # sheet, boost
    tensor=TensorRates(fp16=1024, int8=2048),  # sheet: 65, 130 T
    latencies=Latencies(load=340, tma=0, cp_async=0, shared=19, mma=33, wgmma=0),  # est.: Dewing's V100
    hbm_bytes_per_second=0.32e12,  # sheet
    l2_bytes_per_cycle=800,  # estimate
    l2_bytes=4 << 20,  # sheet
    shared_per_sm=64 * KIBIBYTE,  # guide, 7.5
    shared_per_cta=64 * KIBIBYTE,
    cuda_flop_per_cycle=128,
    fp64_flop_per_cycle=4,
    shared_reserved=0,
    shared_unit=256,
    max_threads_per_sm=1024,
    max_warps=32,
    max_ctas_per_sm=16,
)

PRESETS = {
    gpu.name: gpu
    for gpu in (
        _H200,
        replace(_H200, name="h100", hbm_bytes_per_second=3.35e12),  # sheet: SXM5, the same die
        _A100,
        _RTX4090,
        _T4,
        # For teaching: an H200's SM four times, its share of L2 and memory, and a cycle that is a nanosecond.
        replace(
            _H200,
            name="classroom",
            sms=4,
            clock_ghz=1.0,
            hbm_bytes_per_second=80e9,
            l2_bytes_per_cycle=4472 * 4 / 132,
            l2_bytes=(50 << 20) * 4 // 132,
        ),
    )
}


def preset(name: str) -> Gpu:
    """The model of that name. Raises ``ValueError`` that lists the right ones."""
    return a_gpu("name", name)


def a_gpu(name: str, value: Any) -> Gpu:
    """A model, or that of a name; what the argument ``name`` takes."""
    if isinstance(value, Gpu):
        return value
    may = f"one of {', '.join(map(repr, PRESETS))}, or a tltrace_nb.base.gpus.Gpu"
    if not isinstance(value, str):
        wrong(name, value, may, TypeError)
    if value.lower() not in PRESETS:
        wrong(name, value, may)
    return PRESETS[value.lower()]


class Limit(StrEnum):
    """What keeps one more CTA off an SM."""

    REGISTERS = "registers"
    SHARED = "shared memory"
    THREADS = "threads"
    CTAS = "CTAs"
    BARRIERS = "barriers"


@dataclass(frozen=True, slots=True)
class Footprint:
    """What one CTA takes: threads, registers per thread, bytes of shared memory, named barriers."""

    threads: int
    registers: int
    shared: int
    barriers: int = 0


@dataclass(frozen=True, slots=True)
class Occupancy:
    """CTAs and warps that one SM holds at once. ``fraction`` is of the warps that it could hold."""

    ctas: int
    warps: int
    limited_by: str
    """What is used up: ``Limit`` values, several joined by "and"."""
    fraction: float


@checked(gpu=a_gpu, footprint=a(Footprint, "the Footprint of a CTA"))
def occupancy(gpu: Gpu, footprint: Footprint) -> Occupancy:
    """How many such CTAs fit on an SM at once, by the rules of ``cuda_occupancy.h``.

    Registers go to warps, in units, out of the quarter that belongs to the warp's scheduler; a CTA is admitted as if it
    took whole rounds of the four. Shared memory goes to CTAs, in units, with what the driver reserves.
    Raises ``ValueError`` for a footprint that does not fit at all, saying which limit it misses and by how much.
    """
    _check(gpu, footprint)
    warps = -(-footprint.threads // gpu.warp_size)
    places = {Limit.THREADS: gpu.max_warps // warps, Limit.CTAS: gpu.max_ctas_per_sm}
    if footprint.registers:
        quarter = gpu.registers_per_sm // gpu.schedulers
        places[Limit.REGISTERS] = quarter // _registers_of_warp(gpu, footprint) * gpu.schedulers // warps
    if shared := _up(footprint.shared + gpu.shared_reserved, gpu.shared_unit):
        places[Limit.SHARED] = gpu.shared_per_sm // shared
    if footprint.barriers and gpu.barriers_per_sm:
        places[Limit.BARRIERS] = gpu.barriers_per_sm // footprint.barriers
    ctas = min(places.values())
    limited = " and ".join(limit for limit in Limit if places.get(limit) == ctas)
    return Occupancy(ctas, ctas * warps, limited, ctas * warps / gpu.max_warps)


def _check(gpu: Gpu, footprint: Footprint) -> None:
    if footprint.threads < 1 or min(footprint.registers, footprint.shared, footprint.barriers) < 0:
        raise ValueError(f"{footprint}: a CTA has at least one thread and takes no negative amounts")
    rounds = _up(-(-footprint.threads // gpu.warp_size), gpu.schedulers)
    for what, asked, most in (
        ("threads", footprint.threads, gpu.max_threads_per_cta),
        ("registers per thread", footprint.registers, gpu.registers_per_thread),
        ("registers", rounds * _registers_of_warp(gpu, footprint), gpu.registers_per_sm),
        ("bytes of shared memory", footprint.shared, gpu.shared_per_cta),
        ("barriers", footprint.barriers, BARRIERS_PER_CTA),
    ):
        if asked > most:
            raise ValueError(
                f"the CTA takes {asked:,} {what}, {asked - most:,} more than the {most:,} that {gpu.name} has for one"
            )


def _registers_of_warp(gpu: Gpu, footprint: Footprint) -> int:
    return _up(footprint.registers * gpu.warp_size, gpu.register_unit)


def _up(amount: int, unit: int) -> int:
    return -(-amount // unit) * unit
