"""From what a statement does to what it costs: operations counted while code is made, priced when it runs.

In: a :class:`Tally` per lane of a statement. Out: :class:`Cost`, what the engine takes: how long which unit of the SM
is busy, the bytes that pass the device's memory, and the latency after which the thread group goes on.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from tltrace_nb.base.gpus import WARP, Gpu
from tltrace_nb.simulator.costs import Unit, Work, cycles, latency
from tltrace_nb.simulator.fragments import Spread, Traffic

UNITS: tuple[Unit, ...] = tuple(Unit)
_BY_SCHEDULER = (UNITS.index(Unit.CUDA), UNITS.index(Unit.SFU))
"""Units of which each scheduler of an SM has its part, for its own warps."""
WGMMA_ROWS = 64
"""Rows of one ``wgmma`` (PTX ISA)."""
REGISTER_BYTES = 4
SPILL_CYCLES = 16
"""Cycles of a warp for one register that is written to memory and read again (calibrated: a product of 128×128×32 with
32 threads, of whose 512 accumulators 297 do not fit, takes 15,400)."""


@dataclass(frozen=True, slots=True)
class Cost:
    """What one piece of work asks of the SM and the device. ``parts``: (index of the unit, cycles that it is busy).

    ``drain``: how long stores go on behind it. ``fetched``: the bytes that memory moves where the L2 has none of them.
    ``flop``: what it does on tensor cores, and
    on CUDA cores in floating point, an operation there counting 1. ``least``: what it takes at least, before its
    ``latency``, with all units free: its warps may be too few to keep every scheduler busy.
    """

    parts: tuple[tuple[int, float], ...]
    bytes: float
    latency: float
    fetched: float = 0.0
    flop: float = 0.0
    least: float = 0.0
    drain: float = 0.0


@dataclass(slots=True)
class Tally:
    """What one lane does in a statement: (unit, kind) to amount."""

    work: Counter[tuple[Unit, str]] = field(default_factory=Counter)

    def add(self, unit: Unit, amount: float, dtype: str = "") -> None:
        """Count an operation."""
        self.work[unit, dtype] += amount  # type: ignore[assignment]

    def take(self) -> dict[tuple[Unit, str], float]:
        """What was counted, and start again."""
        taken: dict[tuple[Unit, str], float] = dict(self.work)
        self.work.clear()
        return taken


def _floats(work: Work) -> bool:
    return work.unit is Unit.CUDA and (not work.dtype or "float" in work.dtype)


class Pricing:
    """Costs on one GPU."""

    def __init__(self, gpu: Gpu):
        self.gpu = gpu
        self._known: dict[object, Cost] = {}

    def counted(self, work: tuple[tuple[tuple[Unit, str], float], ...], count: int, warps: int) -> Cost:
        """A statement that so many lanes execute, of so many warps."""
        key = (work, count, warps)
        if key not in self._known:
            works = tuple(Work(unit, amount * count, dtype) for (unit, dtype), amount in work)
            self._known[key] = self.of(works, min(warps, -(-count // WARP)))
        return self._known[key]

    def later(self, cost: Cost) -> Cost:
        """Work whose latency has passed: a load that was issued together with one before it."""
        key = ("later", cost)
        if key not in self._known:
            self._known[key] = replace(cost, latency=0.0)
        return self._known[key]

    def of(self, works: tuple[Work, ...], warps: int) -> Cost:
        """Works of so many warps, side by side in different units, whose latencies follow each other."""
        key = (works, warps)
        if key not in self._known:
            busy: Counter[int] = Counter()
            after: dict[Unit, float] = {}
            drain = 0.0
            for work in works:
                if not work.amount:
                    continue
                busy[UNITS.index(work.unit)] += cycles(self.gpu, work)  # type: ignore[assignment]
                stores = work.unit is Unit.GLOBAL and work.dtype in ("store", "scatter")
                if stores:
                    drain = max(drain, latency(self.gpu, work))
                else:
                    after[work.unit] = max(after.get(work.unit, 0.0), latency(self.gpu, work))
            for unit in _BY_SCHEDULER:  # while the last warp waits for its results, the first has gone on
                hidden = busy[unit] * (1 - min(1.0, self.gpu.schedulers / max(warps, 1)))
                if UNITS[unit] in after:
                    after[UNITS[unit]] = max(0.0, after[UNITS[unit]] - hidden)
            fetched = sum(w.amount for w in works if w.unit is Unit.GLOBAL)
            moved = sum(w.amount for w in works if w.unit is Unit.GLOBAL and w.dtype != "fetch")
            flop = sum(w.amount for w in works if w.unit is Unit.TENSOR or _floats(w))
            self._known[key] = Cost(
                tuple(sorted(busy.items())), moved, sum(after.values()), fetched, flop, self._alone(busy, warps), drain
            )
        return self._known[key]

    def _alone(self, busy: Mapping[int, float], warps: int) -> float:
        """What schedulers of their own take for so many warps: the busiest has as many more than its share."""
        schedulers = self.gpu.schedulers
        most = -(-warps // schedulers) * schedulers / max(warps, 1)
        return most * max((busy.get(unit, 0.0) for unit in _BY_SCHEDULER), default=0.0)

    def product(self, m: int, n: int, k: int, dtype: str, warps: int, spilled: int) -> Cost:
        """A matrix product of tiles by so many warps. Types that no tensor core takes are counted on the CUDA cores.

        ``spilled``: registers of a thread that do not fit. Whole warp groups multiply with ``wgmma`` where the GPU has
        it and the tile has 64 rows, all others with ``mma.sync``.
        """
        key = ("product", m, n, k, dtype, warps, spilled)
        if key not in self._known:
            try:
                cost = self.of((Work(Unit.TENSOR, 2.0 * m * n * k, dtype),), warps)
            except ValueError:
                self._known[key] = self.of((Work(Unit.CUDA, 1.0 * m * n * k, dtype),), warps)
                return self._known[key]
            rest = warps % self.gpu.schedulers
            ((tensor, busy),) = cost.parts
            if self.gpu.wgmma and not rest and m >= WGMMA_ROWS:
                least = busy
            else:
                busy /= self.gpu.mma_sync
                most = -(-warps // self.gpu.schedulers) * self.gpu.schedulers / warps
                least = most * busy
            stack = 2.0 * REGISTER_BYTES * WARP * warps * spilled
            parts = ((tensor, busy), (UNITS.index(Unit.SHARED), cycles(self.gpu, Work(Unit.SHARED, stack))))
            self._known[key] = replace(
                cost, parts=parts if spilled else parts[:1], least=least + SPILL_CYCLES * spilled
            )
        return self._known[key]

    def copied(
        self,
        count: int,
        source: str,
        target: str,
        read: float,
        written: float,
        way: str,
        spread: Spread | None,
        warps: int,
    ) -> Cost:
        """A tile of ``count`` elements moved between scopes, of ``read`` and ``written`` bytes each.

        ``spread`` is the layout of the fragment on one side, from which the sectors follow that are touched.
        """
        key = ("copied", count, source, target, read, written, way, id(spread), warps)
        if key not in self._known:
            works = []
            if source == "global":
                works.append(Work(Unit.GLOBAL, _traffic(spread, count, read).bytes, way))
            elif source.startswith("shared"):
                works.append(Work(Unit.SHARED, float(count * read)))
            if target == "global":
                traffic = _traffic(spread, count, written)
                works.append(Work(Unit.GLOBAL, traffic.bytes, "scatter" if traffic.scattered else "store"))
                works.append(Work(Unit.ISSUE, float(traffic.accesses), "store"))
            elif target.startswith("shared") and not way:
                works.append(Work(Unit.SHARED, float(count * written)))
            if not works or read != written:
                works.append(Work(Unit.CUDA, float(count)))
            self._known[key] = self.of(tuple(works), warps)
        return self._known[key]

    def reduced(self, count: int, axis: int, item_bytes: int, spread: Spread) -> Cost:
        """A fragment of ``count`` elements reduced along an axis, as TileLang's ``AllReduce`` does it.

        Each thread combines what it holds. Then halves of the threads that share a row exchange their results, row by
        row: through shared memory between two barriers while they are in different warps, with shuffles within one.
        """
        key = ("reduced", count, axis, item_bytes, id(spread))
        if key not in self._known:
            rows, threads = spread.rows(axis), spread.workers
            halvings = max(0, spread.sharing(axis) - 1).bit_length()
            shuffles = min(halvings, 5) * rows
            exchanges = (halvings - min(halvings, 5)) * rows
            through = Work(Unit.SHARED, 4.0 * threads, "shuffle")
            meet, exchanged = Work(Unit.BARRIER, float(threads)), Work(Unit.SHARED, 2.0 * item_bytes * threads)
            combine = Work(Unit.CUDA, 1.0 * threads)
            busy: Counter[int] = Counter()
            for work, times in (
                (Work(Unit.CUDA, 1.0 * count), 1),
                (combine, shuffles + exchanges),
                (through, shuffles),
                (meet, 2 * exchanges),
                (exchanged, exchanges),
            ):
                busy[UNITS.index(work.unit)] += times * cycles(self.gpu, work)  # type: ignore[assignment]
            chain = 2 * latency(self.gpu, meet) + latency(self.gpu, exchanged) + latency(self.gpu, combine)
            # Rows do not depend on each other: their shuffles overlap. Their exchanges use the same memory in turn.
            step = latency(self.gpu, through) + latency(self.gpu, combine)
            overlapped = max(0.0, min(halvings, 5) * step - shuffles * cycles(self.gpu, through))
            least = self._alone(busy, -(-threads // WARP))
            self._known[key] = Cost(
                tuple(sorted(busy.items())), 0.0, exchanges * chain + overlapped, 0.0, 1.0 * count, least
            )
        return self._known[key]


def _traffic(spread: Spread | None, count: int, item_bytes: float) -> Traffic:
    """What ``count`` elements of a fragment, or of shared memory, move to or from global memory."""
    if spread is None:
        return Traffic(math.ceil(count * item_bytes), 0, False)
    whole, part = spread.traffic(item_bytes), count / spread.threads.size
    return Traffic(math.ceil(whole.bytes * part), math.ceil(whole.accesses * part), whole.scattered)
