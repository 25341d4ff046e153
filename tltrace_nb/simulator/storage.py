"""The memory of one CTA, made when it starts: shared memory, fragments, barriers.

In: a program's buffers and the arrays of the kernel's parameters. Out: a function that makes CTAs for the engine.
Buffers of the same data are views of one storage, as ``T.reshape`` and ``T.view`` make them.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from tvm import tirx
from tvm.arith import Analyzer

from tltrace_nb.core.compile.ir import substitute
from tltrace_nb.data.rasterised import block_indices
from tltrace_nb.data.sites import Rasterisation
from tltrace_nb.simulator.barriers import Mbarrier
from tltrace_nb.simulator.engine import Engine
from tltrace_nb.simulator.errors import UnsupportedError
from tltrace_nb.simulator.memory import Array, View, dtype_of
from tltrace_nb.simulator.pointers import Addresses
from tltrace_nb.simulator.program import BufferUse, Program
from tltrace_nb.simulator.thread_group import Cta, ThreadGroup
from tltrace_nb.simulator.unwritten import Watch

Lanes = tuple[Array, Array, Array, Array]


def number(e: Any, scalars: dict[Any, int]) -> int:
    """An integer expression's value, given those of its variables; ``ValueError`` if one is missing."""
    if isinstance(e, (int, tirx.IntImm)):
        return int(e)
    known = {v: tirx.const(n, str(v.dtype)) for v, n in scalars.items()}
    value = Analyzer().simplify(substitute(e, known))
    if not isinstance(value, tirx.IntImm):
        raise ValueError(f"the extent {e} does not follow from the inputs")
    return int(value)


class Layout:
    """What is the same in all CTAs of a launch."""

    def __init__(
        self,
        name: str,
        program: Program,
        arrays: dict[Any, Array],
        written: dict[Any, Array],
        scalars: dict[Any, int],
        grid: tuple[int, int, int],
        annotations: dict[str, Any],
        tracked: bool,
        guarded: bool,
        watch: Watch | None = None,
    ):
        """``tracked``: reading what nobody has written is an error; in a CTA's own memory not while one watches."""
        self.name, self.program, self.grid = name, program, grid
        self._watch = watch
        self.cluster = _cluster(annotations)
        self._scalars = scalars
        self._indices: dict[Rasterisation | None, Array] = {}
        self._counts = {d: [int(c) for c in counts] for d, counts in annotations.get("barrier_init", {}).items()}
        fallbacks = {d: float(v) for d, v in dict(annotations.get("safe_value_map", {})).items()}
        kinds: dict[Any, set[str]] = {}
        for use in program.buffers:
            kinds.setdefault(use.buffer.data, set()).add(str(use.buffer.dtype))
        self._tracked = {d for d, names in kinds.items() if len(names) == 1} if tracked else set()
        self._memory = Addresses(arrays.values(), guarded)
        self._global: dict[int, View] = {}
        for use in program.buffers:
            if use.scope == "global":
                array = self._as(use, arrays[use.buffer.data])
                fallback = fallbacks.get(use.buffer.data, 0)
                valid = self._valid(use, written.get(use.buffer.data)) if use.buffer.data in self._tracked else None
                told = watch is not None and use.buffer.data in watch.outputs
                self._global[use.number] = View(
                    array, str(use.buffer.name), guarded, valid, fallback, zeroed=True,
                    log=None if watch is None else watch.see, told=told,
                )  # fmt: skip
        self._sizes: dict[Any, int] = {}
        for use in program.buffers:
            if use.scope != "global":
                size = math.prod(self._shape(use.buffer)) * self._dtype(use).itemsize
                size += number(use.buffer.elem_offset, scalars) * self._dtype(use).itemsize
                self._sizes[use.buffer.data] = max(size, self._sizes.get(use.buffer.data, 0))
        x, y, _ = program.shape.block
        self._lanes: list[Lanes] = []
        for thread_group in program.thread_groups:
            ids = np.array(thread_group, dtype=np.int32)
            self._lanes.append((ids, ids % x, ids // x % y, ids // (x * y)))
        self._uses = {u.number: u for u in (*program.buffers, *program.barriers)}
        self.values = tuple(scalars[v] if v in scalars else _missing(name, v) for v in program.scalars)

    def make_cta(self, engine: Engine, cta_number: int) -> Cta:
        """A CTA with memory of its own."""
        x, y, z = self._blocks(None)[:, cta_number].tolist()
        block = (x, y, z)
        cx, cy, cz = self.cluster
        cluster = (block[0] // cx, block[1] // cy, block[2] // cz)
        rank = block[0] % cx + cx * (block[1] % cy + cy * (block[2] % cz))

        def blocks(pattern: Rasterisation) -> tuple[int, int, int]:
            x, y, z = self._blocks(pattern)[:, cta_number].tolist()
            return x, y, z

        cta = Cta(self.name, cta_number, block, cluster, rank, blocks, self._memory)
        store: dict[Any, tuple[Array, Array | None]] = {}
        barriers: dict[Any, list[Mbarrier]] = {}

        def view(thread_group: ThreadGroup, index: int) -> View:
            if index in self._global:
                return self._global[index]
            use = self._uses[index]
            data = use.buffer.data
            own = data in self.program.private and use.scope == "local.fragment"
            key = (data, thread_group.index if own else -1)
            if key not in store:
                tracked = data in self._tracked and self._watch is None
                dtype = self._dtype(use)
                size = self._sizes[data]
                raw = np.zeros(size, np.uint8) if self._watch is None else self._watch.memory(size, dtype)
                store[key] = raw, np.zeros(self._sizes[data] // dtype.itemsize, bool) if tracked else None
            raw, valid = store[key]
            log = None if self._watch is None or own else self._watch.see
            return View(self._as(use, raw), str(use.buffer.name), False, self._valid(use, valid), log=log)

        def barrier(index: int) -> list[Mbarrier]:
            use = self._uses[index]
            data = use.buffer.data
            if data not in barriers:
                barriers[data] = self._mbarriers(engine, use)
            return barriers[data]

        for i, lanes in enumerate(self._lanes):
            cta.thread_groups.append(ThreadGroup(engine, cta, i, lanes, self.values, view, barrier))
        cta.left = len(cta.thread_groups)
        return cta

    def _mbarriers(self, engine: Engine, use: BufferUse) -> list[Mbarrier]:
        counts = self._counts.get(use.buffer.data) or [1] * int(use.buffer.shape[0])
        names = [f"{use.buffer.name}[{i}]" for i in range(len(counts))]
        return [Mbarrier(n, c, engine.release, use.number) for n, c in zip(names, counts, strict=True)]

    def _blocks(self, pattern: Rasterisation | None) -> Array:
        """The block indices of all CTAs, ``int64[3, n]``."""
        if pattern not in self._indices:
            self._indices[pattern] = block_indices(np.arange(math.prod(self.grid)), self.grid, pattern)
        return self._indices[pattern]

    def _start(self, use: BufferUse) -> int:
        """Where in its storage a buffer begins, in elements."""
        return number(use.buffer.elem_offset, self._scalars)

    def _shape(self, buffer: Any) -> tuple[int, ...]:
        return tuple(number(e, self._scalars) for e in buffer.shape)

    def _dtype(self, use: BufferUse) -> np.dtype[Any]:
        found = dtype_of(str(use.buffer.dtype))
        assert found is not None
        return found

    def _as(self, use: BufferUse, raw: Array) -> Array:
        """A storage as a buffer sees it."""
        shape, dtype = self._shape(use.buffer), self._dtype(use)
        if raw.dtype == dtype and raw.shape == shape:
            return raw
        flat = raw.reshape(-1).view(dtype)
        start = self._start(use)
        return flat[start : start + math.prod(shape)].reshape(shape)

    def _valid(self, use: BufferUse, valid: Array | None) -> Array | None:
        if valid is None:
            return None
        start, shape = self._start(use), self._shape(use.buffer)
        return valid[start : start + math.prod(shape)].reshape(shape)


def _cluster(annotations: dict[str, Any]) -> tuple[int, int, int]:
    x, y, z = (*(int(n) for n in annotations.get("cluster_dims", ())), 1, 1, 1)[:3]
    return x, y, z


def _missing(name: str, variable: Any) -> Callable[[], int]:
    raise UnsupportedError(f"kernel {name}: {variable.name} is computed on the host, outside of the kernel's launch")
