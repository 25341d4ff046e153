"""From what a statement does to what it costs: operations counted while code is made, priced when it runs.

In: a :class:`Tally` per lane of a statement. Out: :class:`Cost`, what the engine takes: how long which unit of the SM
is busy, the bytes that pass the device's memory, and the latency after which the thread group goes on.
"""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass, field

from tltrace_nb.base.gpus import Gpu
from tltrace_nb.simulator.costs import Unit, Work, cycles, latency
from tltrace_nb.simulator.fragments import Spread, Traffic

UNITS: tuple[Unit, ...] = tuple(Unit)


@dataclass(frozen=True, slots=True)
class Cost:
    """What one piece of work asks of the SM and the device. ``parts``: (index of the unit, cycles that it is busy).

    ``flop``: what it does on tensor cores, and on CUDA cores in floating point, an operation there counting 1.
    """

    parts: tuple[tuple[int, float], ...]
    bytes: float
    latency: float
    flop: float = 0.0


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

    def counted(self, work: tuple[tuple[tuple[Unit, str], float], ...], count: int) -> Cost:
        """A statement that so many lanes execute."""
        key = (work, count)
        if key not in self._known:
            self._known[key] = self.of(tuple(Work(unit, amount * count, dtype) for (unit, dtype), amount in work))
        return self._known[key]

    def of(self, works: tuple[Work, ...], waits: bool = True) -> Cost:
        """Works that go on side by side in different units, whose latencies follow each other."""
        key = (works, waits)
        if key not in self._known:
            busy: Counter[int] = Counter()
            after: dict[Unit, float] = {}
            for work in works:
                if not work.amount:
                    continue
                busy[UNITS.index(work.unit)] += cycles(self.gpu, work)  # type: ignore[assignment]
                stores = work.unit is Unit.GLOBAL and work.dtype in ("store", "scatter")
                if not stores:
                    after[work.unit] = max(after.get(work.unit, 0.0), latency(self.gpu, work))
            moved = sum(w.amount for w in works if w.unit is Unit.GLOBAL)
            flop = sum(w.amount for w in works if w.unit is Unit.TENSOR or _floats(w))
            self._known[key] = Cost(tuple(sorted(busy.items())), moved, sum(after.values()) if waits else 0.0, flop)
        return self._known[key]

    def product(self, m: int, n: int, k: int, dtype: str) -> Cost:
        """A matrix product of tiles. Types that no tensor core takes are counted on the CUDA cores."""
        key = ("product", m, n, k, dtype)
        if key not in self._known:
            try:
                self._known[key] = self.of((Work(Unit.TENSOR, 2.0 * m * n * k, dtype),))
            except ValueError:
                self._known[key] = self.of((Work(Unit.CUDA, 1.0 * m * n * k, dtype),))
        return self._known[key]

    def copied(
        self,
        count: int,
        source: str,
        target: str,
        read: float,
        written: float,
        way: str = "",
        spread: Spread | None = None,
    ) -> Cost:
        """A tile of ``count`` elements moved between scopes, of ``read`` and ``written`` bytes each.

        ``spread`` is the layout of the fragment on one side, from which the sectors follow that are touched.
        """
        key = ("copied", count, source, target, read, written, way, id(spread))
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
            self._known[key] = self.of(tuple(works))
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
            self._known[key] = Cost(tuple(sorted(busy.items())), 0.0, exchanges * chain + overlapped, 1.0 * count)
        return self._known[key]


def _traffic(spread: Spread | None, count: int, item_bytes: float) -> Traffic:
    """What ``count`` elements of a fragment, or of shared memory, move to or from global memory."""
    if spread is None:
        return Traffic(math.ceil(count * item_bytes), 0, False)
    whole, part = spread.traffic(item_bytes), count / spread.threads.size
    return Traffic(math.ceil(whole.bytes * part), math.ceil(whole.accesses * part), whole.scattered)
