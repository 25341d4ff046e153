"""Operators as lines of Python: tiles, and what leads to barriers and atomics.

In: a call and its place. Out: a call of ``tiles`` for what it does, and a ``yield`` for what it costs. ``OPERATORS``
below is the list of what is known; anything else is refused before the kernel runs.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from tvm import tirx

from tltrace_nb.core.compile.ir import Expr, Stmt, is_region, op_name, walk
from tltrace_nb.simulator.atomics import Atomics
from tltrace_nb.simulator.barrierops import BARRIERS, BarrierOperators
from tltrace_nb.simulator.costs import Unit
from tltrace_nb.simulator.intrinsics import OTHER_TRACERS, PRINTS
from tltrace_nb.simulator.randoms import GENERATOR
from tltrace_nb.simulator.tiles import REDUCTIONS
from tltrace_nb.simulator.uniformity import LOCAL_SCOPES
from tltrace_nb.simulator.writing import TILE_AHEAD, Place, Writer

NOTHING = (
    "fence_proxy_async", "tma_store_arrive", "tma_store_wait", "set_max_nreg", "no_set_max_nreg", "call_extern",
    "warpgroup_fence_operand", "annotate_producer_reg_dealloc", "annotate_consumer_reg_alloc", "sync_warp", "pdl_sync",
    "pdl_trigger", "warpgroup_arrive", "warpgroup_commit_batch",
)  # fmt: skip
"""Fences and hints, which change nothing here."""


class TileOperators:
    """The operator part of a program's writer."""

    def __init__(self, writer: Writer):
        self._w = writer
        self._barriers = BarrierOperators(writer)
        self.atomics = Atomics(writer)
        self.followed = False
        """Whether the next statement is a plain copy into shared memory, whose bytes come at the same time."""
        self._coming: list[int] = []
        self._written: set[Any] = set()

    def operator(self, name: str, call: Any, place: Place) -> None:
        """Write one operator."""
        if name.startswith("tileop.") and (method := OPERATORS.get(bare := name.removeprefix("tileop."))):
            getattr(self, method)(bare, call, place)
        elif name in BARRIERS:
            self._barriers(name, call, place)
        elif name.startswith("atomic_") and (text := self.atomics(name, call, place)):
            self._w.line(text)
            self._w.statements.spend(place)
        elif name == "tvm_thread_allreduce":
            self._reduce_threads(call, place)
        elif name == "ptx_cp_async":
            self._copy_by_thread(call, place)
        elif name == "reducer_update":
            self._reducer_update(call, place)
        elif name.startswith("device_assert"):
            message = str(call.args[1].value) if len(call.args) > 1 else "device_assert"
            asked = self._w.expressions(call.args[0], place)
            self._w.line(f"c.check_lanes({asked}, {place.mask}, {message!r})")
        elif name == "call_extern" and str(call.args[0].value) == "__nanosleep":
            self._w.line(f"c.t += {self._w.same(call.args[1], place)} * c.engine.gpu.clock_ghz")
        elif name == "rng_init" and not place.grid:
            if str(call.args[3].value) != GENERATOR:
                raise self._w.unsupported(f"the generator {call.args[3].value}", call)
            given = ", ".join(self._w.expressions(e, place) for e in call.args[:3])
            self._w.line(f"c.random.init({place.mask}, {given})")
        elif name == "call_extern" and str(call.args[0].value).startswith(PRINTS):
            self._print(call, place)
        elif name == "call_extern" and not str(call.args[0].value).startswith(OTHER_TRACERS):
            self._w.calls.statement(call, place)
        elif name not in NOTHING:
            raise self._w.unsupported(f"the operation {name}", call)

    def _print(self, call: Any, place: Place) -> None:
        """``T.print``."""
        w = self._w
        message, *rest = call.args[1:]
        given = "".join(f"{_quoted(e) or w.expressions(e, place)}, " for e in rest)
        dtype = str(rest[-1].dtype) if rest else ""
        w.line(f"c.print({bool(place.grid)}, {place.mask}, {_quoted(message)}, ({given}), {dtype!r})")
        w.tally.take()

    # ---- parts of a call

    def box(self, region: Any, place: Place) -> tuple[Any, str, list[Expr]]:
        """(buffer, text of the box, extents) of a region argument."""
        w = self._w
        if isinstance(region, tirx.BufferLoad):
            load, extents = region, [tirx.IntImm("int32", 1)] * len(region.indices)
        elif is_region(region):
            load, extents = region.args[0], list(region.args[2:])
        else:
            raise w.unsupported(f"a tile given as {type(region).__name__}", region)
        if any(w.varying(i) for i in load.indices):
            raise w.unsupported("a tile whose place depends on the thread", region)
        starts = w.expressions.index(load.indices, place)
        sizes = w.expressions.index(extents, place)
        if str(load.buffer.scope()) in LOCAL_SCOPES:
            raise w.unsupported(f"a tile operator on {load.buffer.name} of scope {load.buffer.scope()}", region)
        w.tally.take()
        w.await_loads([load.buffer])
        return load.buffer, f"({w.buffer(load.buffer, region)}, ({starts}), ({sizes}))", extents

    def wrote(self, buffer: Any) -> None:
        """Threads wrote shared memory: before it is read, TileLang has them wait for each other."""
        if str(buffer.scope()).startswith("shared"):
            self._written.add(buffer.data)

    def exchange(self, *buffers: Any, operands: bool = False) -> None:
        """Let the threads wait for each other if one of these buffers was written since; ``operands`` of products."""
        written = {b.data for b in buffers} & self._written
        if written:
            self._w.line(f"c.exchange({operands})")
            self._written.clear()

    def together(self, place: Place, write: Callable[[], None]) -> None:
        """What all thread groups that come here do once, together."""
        w = self._w
        if place.mask != "True":
            w.line(f"whole({place.mask})")
        if len(place.thread_groups) == 1:
            write()
            return
        meet = f"yield Meet({w.number()}, {place.thread_groups!r})"
        w.line(meet)
        with w.block(f"if c.index == c.first({place.thread_groups!r})"):
            write()
        w.line(meet)

    def _moved(self, source: Any, target: Any, extents: list[Expr], place: Place, way: str = "") -> str:
        w = self._w
        count = self.count(extents, place)
        sizes = f"{w.item_bytes(source)}, {w.item_bytes(target)}"
        spread = w.spreads.get(source.data, w.spreads.get(target.data))
        layout = "None" if spread is None else w.named(spread)
        scopes = f"{str(source.scope())!r}, {str(target.scope())!r}"
        return f"c.copied({count}, {scopes}, {sizes}, {way!r}, {layout}, {w.warps(place)})"

    def count(self, extents: list[Expr], place: Place) -> str:
        """The text of the number of elements."""
        if all(isinstance(e, tirx.IntImm) for e in extents):
            return str(math.prod(int(e) for e in extents))
        return "(" + " * ".join(self._w.same(e, place) for e in extents) + ")"

    # ---- handlers

    def _copy(self, name: str, call: Any, place: Place) -> None:
        w = self._w
        notes = dict(call.annotations or {})
        regions = _same_extents(call.args[0], call.args[1])
        (source, from_box, extents), (target, to_box, _) = (self.box(region, place) for region in regions)
        scopes = str(source.scope()), str(target.scope())
        args = f"({to_box}, {from_box})" if w.needed(target) else None
        inward = scopes[0] == "global" and scopes[1].startswith("shared")
        if name == "tma_copy" and inward:
            if "barrier" not in notes:
                raise w.unsupported("tma_copy into shared memory without a barrier", call)
            barrier = self._barriers.element(notes["barrier"], place)
            arrives = int(notes.get("emit_arrive", 0))
            size = f"{self.count(extents, place)} * {w.item_bytes(target)}"
            cost = self._moved(source, target, extents, place, "tma")
            elected = f" and c.index == c.first({place.thread_groups!r})" if len(place.thread_groups) > 1 else ""
            with w.block(f"if {place.mask} is not False{elected}"):
                w.line(f"yield c.tma({cost}, {barrier}, {size}, {arrives}, {args})")
            if arrives:
                w.arrives(notes["barrier"].buffer, place.thread_groups)
            w.tally.take()
            return
        is_async = inward and (name == "async_copy" or int(notes.get("no_implicit_async_commit_wait", 0)))

        def write() -> None:
            if is_async and w.gpu.latencies.cp_async:
                w.line(f"yield c.cp_async({self._moved(source, target, extents, place, 'cp.async')}, {args})")
                if name == "async_copy":
                    w.line("c.commit()")
                return
            if args:
                w.line(f"move{args}")
            way = "cp.async" if inward and w.gpu.latencies.cp_async else ""
            cost = self._moved(source, target, extents, place, way)
            self.exchange(source)
            if not way:
                self.wrote(target)
            number = w.loaded(target) if scopes[0] == "global" else None
            if number is None and inward and self.followed:
                number = -w.number()
                self._coming.append(number)
            if w.ahead:
                cost = f"(c.later({cost}) if {w.ahead} % {TILE_AHEAD} else {cost})"
            w.line(f"yield {cost}" if number is None else f"yield c.load({number}, {cost})")
            if inward and not self.followed:
                for coming in self._coming:
                    w.line(f"c.await_load({coming})")
                self._coming.clear()

        self.together(place, write)
        w.tally.take()

    def _reduce_threads(self, call: Any, place: Place) -> None:
        """``tvm_thread_allreduce``: one value out of those of all threads along some axes of the block."""
        w = self._w
        value, condition, result = call.args[1:4]
        combiners = {"Add": "np.add", "Max": "np.fmax", "Min": "np.fmin"}
        if len(place.thread_groups) > 1 or w.combiner not in combiners or int(call.args[0]) != 1:
            raise w.unsupported("this reduction over threads", call)
        along = tuple("zyx".index(axis) for axis in w.thread_axes(call.args[4:]))
        given = f"{w.expressions(value, place)}, {w.expressions(condition, place)}"
        got = f"over_threads({combiners[w.combiner]}, {given}, {w.block_shape()!r}, {along!r})"
        index = w.expressions.index(result.indices, place)
        w.line(f"{w.buffer(result.buffer, call)}.put({got}, {place.mask}, {index})")
        w.tally.take()
        w.line(f"yield c.lanes({w.constant({(Unit.SHARED, 'shuffle'): 20.0})}, c.n, c.warps)")

    def _copy_by_thread(self, call: Any, place: Place) -> None:
        """``ptx_cp_async``: every thread starts a copy of a few neighbours. What arrives is there at once."""
        w = self._w
        (target, to), (source, at) = (self.atomics.pointer(arg) for arg in call.args[:2])
        mask = place.mask
        if len(call.args) > 3:
            mask = w.assign(f"both({mask}, {w.expressions(call.args[3], place)})")
        names = w.buffer(target, call), w.buffer(source, call)
        for step in range(int(call.args[2]) if w.needed(target) else 0):
            here, there = ([*indices[:-1], indices[-1] + step] for indices in (to, at))
            got = f"{names[1]}.gather({mask}, {w.expressions.index(there, place)})"
            w.line(f"{names[0]}.scatter({got}, {mask}, {w.expressions.index(here, place)})")
        w.tally.take()
        size = int(call.args[2]) * w.item_bytes(target)
        work = {(Unit.GLOBAL, "cp.async" if w.gpu.latencies.cp_async else "load"): float(size)}
        w.line(f"yield c.cp_async(c.lanes({w.constant(work)}, c.n, c.warps), None)")

    def _gemm(self, name: str, call: Any, place: Place) -> None:
        w = self._w
        a, b, c = (self.box(arg, place) for arg in call.args[:3])
        for buffer, _, _ in (a, b, c):
            if "tmem" in str(buffer.scope()):
                raise w.unsupported("tensor memory", call)
        left, right = bool(call.args[3].value), bool(call.args[4].value)
        m, n, k = (int(x) for x in call.args[5:8])
        clear = w.expressions(call.args[9], place)
        dtype = str(a[0].dtype).removeprefix("custom[").removesuffix("]")
        waits = int(dict(call.annotations or {}).get("wg_wait", 0)) >= 0 and name == "gemm"

        def write() -> None:
            self.exchange(a[0], b[0], operands=True)
            if w.needed(c[0]):
                w.line(f"product({a[1]}, {b[1]}, {c[1]}, {left}, {right}, {clear})")
            price = f"c.product({m}, {n}, {k}, {dtype!r}, {w.warps(place)}, {w.spilled})"
            w.line(f"yield {price}" if waits else f"yield c.wgmma({price})")

        self.together(place, write)
        w.tally.take()

    def _sparse_gemm(self, _: str, call: Any, place: Place) -> None:
        """Half of the left operand is stored, with the places of its elements beside it."""
        w = self._w
        a, places, b, c = (self.box(arg, place) for arg in call.args[:4])
        if bool(call.args[4].value) or bool(call.args[5].value):
            raise w.unsupported("sparse products with a transposed left operand", call)
        m, n, k = (int(x) for x in call.args[7:10])
        clear = w.expressions(call.args[11], place)

        def write() -> None:
            if w.needed(c[0]):
                w.line(f"sparse_product({a[1]}, {places[1]}, {b[1]}, {c[1]}, {bool(call.args[6].value)}, {clear})")
            w.line(f"yield c.product({m}, {n}, {k // 2}, {str(a[0].dtype)!r}, {w.warps(place)}, {w.spilled})")

        self.together(place, write)
        w.tally.take()

    def _simple(self, name: str, call: Any, place: Place) -> None:
        """Operators on one or two tiles that are done when the thread group goes on."""
        w = self._w
        if name in ("reducer_init", "fill"):
            target, text, extents = self.box(call.args[0], place)
            source = target
            if name == "fill":
                value = w.same(call.args[1], place)
            else:
                given = len(call.args) > 1
                value = w.expressions(call.args[1], place) if given else w.identity(target, call)
            done = f"fill({text}, {value})"
        elif name.startswith("atomic"):
            target, text, extents = self.box(call.args[1], place)
            value = call.args[0]
            is_tile = isinstance(value, tirx.BufferLoad) or is_region(value)
            source, operand, extents = (
                self.box(value, place) if is_tile else (target, w.expressions(value, place), extents)
            )
            done = f"accumulate({text}, {operand}, {name.removeprefix('atomic')!r})"
        else:
            source, from_box, extents = self.box(call.args[0], place)
            target, to_box, _ = self.box(call.args[1], place)
            if name == "reduce":
                kind = str(call.args[2].value)
                if kind not in REDUCTIONS:
                    raise w.unsupported(f"the reduction {kind}", call)
                nan = bool(int(dict(call.annotations or {}).get("nan_propagate", 0)))
                how = f"{kind!r}, {int(call.args[3])}, {bool(call.args[4].value)}, {nan}"
                done = f"reduce({from_box}, {to_box}, {how})"
            elif name in ("cumsum", "cummax"):
                done = f"scan({from_box}, {to_box}, {name!r}, {int(call.args[2])}, {bool(call.args[3].value)})"
            elif name == "im2col":
                rest = ", ".join(w.expressions(x, place) for x in call.args[2:8])
                done = f"im2col({from_box}, {to_box}, {rest})"
                extents = list(call.args[1].args[2:])
            elif name == "transpose":
                done = f"transpose({from_box}, {to_box})"
            else:
                done = f"move({to_box}, {from_box})"
        w.tally.take()
        work = self._work(name, source, target)
        spread = w.spreads.get(source.data)

        def write() -> None:
            if w.needed(target):
                w.line(done)
            count = self.count(extents, place)
            self.exchange(source)
            self.wrote(target)
            if name == "reduce" and spread is not None:
                axis = int(call.args[3]) - len(extents) + spread.threads.ndim
                w.line(f"yield c.reduced({count}, {axis}, {w.item_bytes(source)}, {w.named(spread)})")
            elif work:
                w.line(f"yield c.lanes({w.constant(work)}, {count}, {w.warps(place)})")

        self.together(place, write)

    def _work(self, name: str, source: Any, target: Any) -> dict[tuple[Unit, str], float]:
        """What one element costs."""
        w = self._w
        if name in ("fill", "reducer_init") and str(target.scope()).startswith("local"):
            return {}  # the compiler folds it into what comes next (measured: "clear" is no longer than a marker)
        work: dict[tuple[Unit, str], float] = {(Unit.CUDA, ""): 1.0}
        for buffer, way in ((source, "load"), (target, "store")):
            scope = str(buffer.scope())
            if (name in ("fill", "reducer_init") and way == "load") or (name == "reduce" and way == "store"):
                continue
            if scope == "global":
                work[Unit.GLOBAL, way] = work.get((Unit.GLOBAL, way), 0.0) + w.item_bytes(buffer)
            elif scope.startswith("shared"):
                work[Unit.SHARED, ""] = work.get((Unit.SHARED, ""), 0.0) + w.item_bytes(buffer)
        if name == "reduce":
            work[Unit.SHARED, "shuffle"] = 4.0 / 8
        return work

    def _reducer_update(self, call: Any, place: Place) -> None:
        w = self._w
        load, value = call.args
        lanes = w.expressions.shape(place)
        index = w.expressions.index(load.indices, place)
        op = w.reducer_op(load.buffer, call)
        if w.needed(load.buffer):
            name = w.buffer(load.buffer, call)
            w.line(f"atomic({name}, {op!r}, {w.expressions(value, place)}, {place.mask}, {lanes}, False, {index})")
        else:
            w.expressions(value, place)
        w.statements.spend(place)


def _quoted(e: Any) -> str:
    """The text of a constant string, nothing for anything else."""
    return repr(str(e.value)) if isinstance(e, tirx.StringImm) else ""


def _same_extents(source: Any, target: Any) -> tuple[Any, Any]:
    """Both regions of a copy with the extents of the one that is nearer to the threads, as TileLang iterates."""
    if not (is_region(source) and is_region(target)):
        return source, target
    base, other = source, target
    if _nearness(source) < _nearness(target):
        base, other = target, source
    kept, changed = (
        [i for i, e in enumerate(r.args[2:]) if not isinstance(e, tirx.IntImm) or int(e) != 1] for r in (base, other)
    )
    if len(kept) != len(changed):
        return source, target
    args = list(other.args)
    for i, j in zip(changed, kept, strict=True):
        args[2 + i] = base.args[2 + j]
    moved = tirx.Call(other.dtype, other.op, args, other.annotations)
    return (source, moved) if base is source else (moved, target)


def _nearness(region: Any) -> int:
    scope = str(region.args[0].buffer.scope())
    return 0 if scope == "global" else 1 if scope.startswith("shared") else 2


OPERATORS: dict[str, str] = {
    "copy": "_copy",
    "tma_copy": "_copy",
    "async_copy": "_copy",
    "gemm": "_gemm",
    "wgmma_gemm": "_gemm",
    "gemm_sp": "_sparse_gemm",
    "wgmma_gemm_sp": "_sparse_gemm",
    **dict.fromkeys(
        (
            "fill", "reduce", "cumsum", "cummax", "transpose", "im2col", "atomicadd", "atomicmax", "atomicmin",
            "reducer_init", "finalize_reducer_v2",
        ),
        "_simple",
    ),
}  # fmt: skip
"""Every tile operator that is known, by TileLang's name, and the method that writes it."""


def loaded_fragments(body: Stmt) -> dict[Any, int]:
    """The data of fragments that are copied from global memory, numbered: threads go on before such a load is done."""
    found: dict[Any, int] = {}
    for statement, _ in walk(body):
        if op_name(statement) == "tl.tileop.copy":
            source, target = (_buffer_of(arg) for arg in statement.value.args[:2])
            scopes = [buffer is not None and str(buffer.scope()) for buffer in (source, target)]
            if scopes == ["global", "local.fragment"]:
                found.setdefault(target.data, len(found))
    return found


def is_plain_load(s: Stmt) -> bool:
    """Whether a statement is a copy from global into shared memory that threads wait for."""
    if op_name(s) != "tl.tileop.copy" or int(dict(s.value.annotations or {}).get("no_implicit_async_commit_wait", 0)):
        return False
    source, target = (_buffer_of(arg) for arg in s.value.args[:2])
    scopes = [str(b.scope()) if b is not None else "" for b in (source, target)]
    return scopes[0] == "global" and scopes[1].startswith("shared")


def _buffer_of(region: Any) -> Any:
    load = region.args[0] if is_region(region) else region
    return load.buffer if isinstance(load, tirx.BufferLoad) else None
