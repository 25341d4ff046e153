"""TIR statements as the body of a Python generator: one thread group's way through the kernel.

In: a statement and its :class:`~tltrace_nb.simulator.expressions.Place`. Out: lines of Python. What takes time or waits
is a ``yield``; conditions on which lanes differ become masks.
"""

from __future__ import annotations

import itertools
from dataclasses import replace
from typing import Any

from tvm import tirx

from tltrace_nb.core.compile.device import ENTER, LEAVE, RECORD
from tltrace_nb.core.compile.ir import Stmt, buffer_loads, flatten, op_name, post_order_visit, uses, walk
from tltrace_nb.core.compile.swizzle import is_swizzle
from tltrace_nb.simulator.costing import Tally
from tltrace_nb.simulator.costs import Unit
from tltrace_nb.simulator.tileops import is_plain_load
from tltrace_nb.simulator.uniformity import LOCAL_SCOPES, PARALLEL
from tltrace_nb.simulator.writing import THREAD_AHEAD, Place, Writer

_SHORT = 16
"""Iterations of a loop that compilers unroll and whose loads they then issue together."""


class Statements:
    """The statement part of a program's writer."""

    def __init__(self, writer: Writer):
        self._w = writer
        self._loops = 0

    def __call__(self, statement: Stmt, place: Place) -> Place:
        """Write a statement; gives the place for what follows, from which thread groups may be gone."""
        with self._w.origin(statement):
            return self._write(statement, place)

    def _write(self, statement: Stmt, place: Place) -> Place:
        w = self._w
        s: Any = statement
        if isinstance(s, (tirx.Bind, tirx.BufferStore)):
            self._meet(s, place)
        match s:
            case tirx.SeqStmt():
                for inner, following in itertools.zip_longest(s.seq, s.seq[1:]):
                    w.tiles.followed = following is not None and is_plain_load(following)
                    place = self(inner, place)
            case tirx.SBlockRealize():
                return self(s.block, place)
            case tirx.SBlock():
                return self(s.body, place)
            case tirx.AttrStmt() if is_swizzle(s):
                return self._rasterised(s, place)
            case tirx.AttrStmt():
                if s.attr_key == "reduce_scope":
                    w.combiner = type(s.node.result[0]).__name__
                return self(s.body, place)
            case tirx.Bind() if str(s.var.dtype) == "handle":
                if place.grid or w.varying(s.value):
                    raise w.unsupported("pointers that differ from thread to thread", s)
                w.point(s.var, w.expressions(s.value, place), place)
            case tirx.Bind():
                if w.is_data(s.value):
                    w.data.add(s.var)
                value = w.expressions(s.value, place)
                copied = value.startswith("sliced(") or isinstance(s.value, tirx.BufferLoad)
                w.line(f"{w.define(s.var)} = {f'np.array({value})[()]' if copied and place.grid else value}")
            case tirx.BufferStore():
                self._store(s, place)
            case tirx.IfThenElse():
                return self._branch(s, place)
            case tirx.For() | tirx.While():
                self._loops += 1
                with w.touched.turns(s):
                    (self._loop if isinstance(s, tirx.For) else self._while)(s, place)
                self._loops -= 1
            case tirx.AssertStmt():
                message = "".join(str(part.value) for part in s.message_parts)
                w.line(f"c.check({w.expressions(s.condition, place)}, {message!r})")
            case tirx.Evaluate():
                return self._evaluate(s, place)
            case _ if type(s).__name__ in ("AllocBuffer", "DeclBuffer"):
                pass
            case _:
                raise w.unsupported(f"statements of the kind {type(s).__name__}", s)
        return place

    def _rasterised(self, s: Any, place: Place) -> Place:
        """``T.use_swizzle``: other block indices from here on; in a branch or a loop, to its end."""
        w = self._w
        found, inner = w.swizzle(s)
        if not found.known:
            clusters = (
                "" if found.cluster == 1 else " of clusters that are not along x alone, or do not divide the panel"
            )
            raise w.unsupported(f"the block order {found.function or s.value}{clusters}", s)
        w.line(f"c.rasterise({w.named(found)})")
        place = self(s.body, place)
        if inner:
            w.line("c.rasterise(None)")
        return place

    def spend(self, place: Place) -> None:
        """Let the time pass that the statements since the last call take."""
        w = self._w
        work = w.tally.take()
        if w.vector is not None:
            for (unit, kind), amount in work.items():
                w.vector.add(unit, amount, kind)
            return
        if place.grid or not work:
            for (unit, kind), amount in work.items():
                w.nest_tally.add(unit, amount, kind)
            return
        if any(unit in (Unit.GLOBAL, Unit.SHARED) for unit, _ in work):
            cost = f"c.lanes({w.constant(work)}, c.n, c.warps)"
            ahead = w.ahead and (Unit.GLOBAL, "load") in work
            w.line(f"yield c.later({cost}) if {w.ahead} % {THREAD_AHEAD} else {cost}" if ahead else f"yield {cost}")
        else:
            of = w.gpu.latencies
            chain = sum(n * (of.sfu if unit is Unit.SFU else of.arithmetic) for (unit, _), n in work.items())
            w.line(f"c.issue({max(2.0, chain)!r}, {sum(work.values())!r})")

    # ---- kinds

    def _meet(self, s: Any, place: Place) -> None:
        """Let thread groups that go the same way meet before shared memory, where TileLang will synchronise them."""
        together = len(place.thread_groups) > 1 and not place.grid and place.masks in ((), ("alive",))
        if together and any(str(b.scope()).startswith("shared") for b in buffers_of(s)):
            self._w.line(f"yield Meet({self._w.number()}, {place.thread_groups!r})")

    def _store(self, s: Any, place: Place) -> None:
        """A store. What it costs is counted whether or not its contents matter."""
        w = self._w
        local = str(s.buffer.scope()) in LOCAL_SCOPES
        value = w.expressions(s.value, place)
        if not local:
            self._count_store(s, place)
        parts = None if local else w.expressions.parts(s.indices, place)
        index = w.expressions.index(s.indices, place) if parts is None else ""
        if w.needed(s.buffer):
            name = w.buffer(s.buffer, s)
            if not local and place.grid and not place.masks:
                self._check_conflict(s, place)
            varies = w.varying(s.value) or any(w.varying(i) for i in s.indices)
            if local:
                w.line(f"{name}.put({value}, {place.mask}, {index})")
            elif parts is not None:
                shape = w.expressions.shape(place)
                w.line(f"put_sliced({name}, {value}, {place.mask}, {parts}, {len(place.grid)}, {shape})")
            elif not varies and place.mask == "True":
                w.line(f"{name}.put({value}, {index})")
            else:
                w.line(f"{name}.scatter({value}, {place.mask}, {index})")
        elif w.has_side_effects(s.value):
            w.line(value)
        self.spend(place)

    def _count_store(self, s: Any, place: Place) -> None:
        """Count a store; out of a fragment over all of a nest, with the sectors that its layout makes warps touch."""
        w = self._w
        loops = [v for v in place.grid if v is not None]
        whole = [
            w.spreads[load.buffer.data]
            for load in buffer_loads(s.value)
            if load.buffer.data in w.spreads
            and len(load.indices) == len(loops)
            and all(any(uses(index, [v]) for index in load.indices) for v in loops)
        ]
        if str(s.buffer.scope()) != "global" or not whole:
            w.count_access(s.buffer, "store", s.indices, bool(place.grid))
            return
        traffic = whole[0].traffic(w.item_bytes(s.buffer))
        way = "scatter" if traffic.scattered else "store"
        w.tally.add(Unit.GLOBAL, traffic.bytes / whole[0].threads.size, way)

    def _check_conflict(self, s: Any, place: Place) -> None:
        """Refuse an update of one element by several iterations of T.Parallel: on a GPU they race."""
        used = [v for index in s.indices for v in variables(index)]
        loops = (v for v in place.grid if v is not None and self._w.extents.get(v) != 1)
        if all(v in used for v in loops):
            return
        if any(b.data.same_as(s.buffer.data) for b in buffers_of(s.value)):
            raise self._w.unsupported("iterations of T.Parallel that update the same element", s)

    def _branch(self, s: Any, place: Place) -> Place:
        w = self._w
        split = None if place.grid else w.thread_groups.split(s.condition)
        if split is not None and w.thread_groups.is_split(s):
            return self._roles(s, place, split)
        asked = w.assign(w.expressions(s.condition, place))
        self.spend(place)
        if not w.varying(s.condition):
            self.either(asked, s, place)
            return place
        if w.thread_groups.waits(s):
            self.either(f"agreed({asked})", s, place)
            return place
        self.by_mask(asked, s, place)
        return place

    def by_mask(self, asked: str, s: Any, place: Place) -> None:
        """A branch that some lanes take and some do not."""
        w = self._w
        for then, test in ((True, "both"), (False, "without")):
            if not then and s.else_case is None:
                continue
            mask = w.assign(f"{test}({place.mask}, {asked})")
            self._case(f"if {mask} is not False", s, then, place.under(mask))

    def either(self, asked: str, s: Any, place: Place) -> None:
        """A branch that all lanes take the same way."""
        self._case(f"if {asked}", s, True, place)
        if s.else_case is not None:
            self._case("else", s, False, place)

    def _roles(self, s: Any, place: Place, truth: tuple[bool, ...]) -> Place:
        """A branch that sends whole thread groups one way or the other."""
        w = self._w
        left = place.thread_groups
        word = "if"
        for case, wanted in ((s.then_case, True), (s.else_case, False)):
            going = tuple(i for i in place.thread_groups if truth[i] is wanted)
            if case is None or not going:
                continue
            self._case(f"{word} c.index in {going!r}", s, wanted, replace(place, thread_groups=going))
            if w.returns(case):
                left = tuple(i for i in left if i not in going)
            word = "elif"
        return replace(place, thread_groups=left or place.thread_groups)

    def _case(self, header: str, branch: Any, then: bool, place: Place) -> None:
        with self._w.block(header), self._w.in_hand.case(branch.condition, then):
            self(branch.then_case if then else branch.else_case, place)

    def _loop(self, s: Any, place: Place) -> None:
        w = self._w
        if s.kind == PARALLEL and s.thread_binding is None:
            w.nests(s, place)
            return
        if s.thread_binding is not None:
            tag = str(s.thread_binding.thread_tag)
            if not tag.startswith("threadIdx.") or not w.is_whole_axis(tag[-1], s):
                raise w.unsupported(f"loops bound to {tag} of another extent than the launch's", s)
            w.line(f"{w.define(s.loop_var)} = c.thread({tag!r})")
            w.varying.variables.add(s.loop_var)
            w.thread_loops[s.loop_var] = tag[-1]
            self(s.body, place)
            return
        if not place.grid and w.vector is None and self._is_at_once(s):
            self._at_once(s, place)
            return
        self._load_ahead(s, place)
        by_lane = w.varying(s.extent) or w.varying(s.min)
        low, extent = (w.expressions(e, place) if by_lane else w.same(e, place) for e in (s.min, s.extent))
        step = 1 if s.step is None else w.same(s.step, place)
        self.spend(place)  # the bounds are read once, not in every turn
        name = w.define(s.loop_var)
        inner = replace(place, loop=-1)
        w.in_hand.note_unrolled(s)
        if by_lane:
            count, first = w.assign(extent), w.assign(low)
            turn, mask = w.temporary(), w.temporary()
            w.line(f"{mask} = {place.mask}")
            with w.block(f"for {turn} in range(0, int(np.max({count})), {step})"):
                w.line(f"{mask} = both({mask}, {turn} < {count})")
                w.line(f"if {mask} is False: break")
                w.line(f"{name} = {first} + {turn}")
                self._turn(s.body, replace(place.under(mask), loop=len(place.masks)))
            return
        if w.varying.breaks(s.body):
            mask = w.assign(place.mask)
            inner = replace(place.under(mask), loop=len(place.masks))
        around, w.ahead = w.ahead, name if self._loads_ahead(s) else ""
        try:
            self._turns(s, inner, name, low, extent, step)
        finally:
            w.ahead = around

    def _turns(self, s: Any, inner: Place, name: str, low: str, extent: str, step: Any) -> None:
        """The iterations of a loop that all lanes take the same number of."""
        w = self._w
        bounds = f"{extent}" if low == "0" and step == 1 else f"{low}, {low} + {extent}, {step}"
        with w.block(f"for {name} in range({bounds})"):
            if inner.loop < 0:
                self(s.body, inner)
                return
            w.line(f"if {inner.mask} is False: break")
            self._turn(s.body, inner)

    def _loads_ahead(self, loop: Any) -> bool:
        """Whether compilers issue the loads of several turns together: nothing in them waits, nor hangs on a load."""
        inside = [s for s, _ in walk(loop.body)]
        stored = {s.buffer.data for s in inside if isinstance(s, tirx.BufferStore)}
        loads = [load for s in inside if isinstance(s, (tirx.BufferStore, tirx.Bind)) for load in buffer_loads(s.value)]
        memory = [load for load in loads if str(load.buffer.scope()) == "global"]
        return (
            not any(isinstance(s, (tirx.While, tirx.IfThenElse)) for s in inside)
            and not any(isinstance(s, tirx.For) and s.kind != PARALLEL for s in inside)
            and not any(_waits(s) for s in inside)
            and not any(load.buffer.data in stored or buffer_loads(i) for load in memory for i in load.indices)
        )

    def _is_at_once(self, loop: Any) -> bool:
        """Whether the loads of all turns are on their way together: a vector, or a short loop without anything else."""
        inside = [s for s, _ in walk(loop.body)]
        loads = [load for s in inside if isinstance(s, (tirx.BufferStore, tirx.Bind)) for load in buffer_loads(s.value)]
        return (
            isinstance(loop.extent, tirx.IntImm)
            and isinstance(loop.min, tirx.IntImm)
            and int(loop.min) == 0
            and loop.step is None
            and (loop.kind == tirx.ForKind.VECTORIZED or int(loop.extent) <= _SHORT)
            and not any(isinstance(s, (tirx.For, tirx.While, tirx.Evaluate)) for s in inside)
            and not any(buffer_loads(index) for load in loads for index in load.indices)
            and not self._w.thread_groups.waits(loop.body)
            and not self._w.varying.breaks(loop.body)
        )

    def _at_once(self, loop: Any, place: Place) -> None:
        """A loop whose turns are done together: what they cost is spent behind it."""
        w = self._w
        self.spend(place)
        w.vector = Tally()
        with w.block(f"for {w.define(loop.loop_var)} in range({int(loop.extent)})"):
            self(loop.body, replace(place, loop=-1))
        work, w.vector = w.vector.take(), None
        for (unit, kind), amount in work.items():
            w.tally.add(unit, amount * int(loop.extent), kind)
        self.spend(place)

    def _load_ahead(self, loop: Any, place: Place) -> None:
        """Count once, before a loop, what it loads from places that it neither moves nor writes, as a compiler does."""
        if place.grid:
            return
        inside = [statement for statement, _ in walk(loop)]
        own = [s.loop_var for s in inside if isinstance(s, tirx.For)] + [
            s.var for s in inside if isinstance(s, tirx.Bind)
        ]
        stored = {s.buffer.data for s in inside if isinstance(s, tirx.BufferStore)}
        for statement in inside:
            if not isinstance(statement, (tirx.BufferStore, tirx.Bind)):
                continue
            for load in buffer_loads(statement.value):
                if load.buffer.data not in stored and not any(uses(index, own) for index in load.indices):
                    self._w.count_access(load.buffer, "load", load.indices)
        self.spend(place)

    def _while(self, s: Any, place: Place) -> None:
        w = self._w
        by_lane = w.varying(s.condition) or w.varying.breaks(s.body)
        mask = w.assign(place.mask) if by_lane else ""
        inner = replace(place.under(mask), loop=len(place.masks)) if by_lane else replace(place, loop=-1)
        with w.block("while True"):
            w.line("c.step()")
            asked = w.expressions(s.condition, inner)
            if by_lane:
                w.line(f"{mask} = both({mask}, {asked})")
                w.line(f"if {mask} is False: break")
            else:
                w.line(f"if not {w.decided(asked)}: break")
            self.spend(inner)
            if by_lane:
                self._turn(s.body, inner)
            else:
                self(s.body, inner)

    def _evaluate(self, s: Any, place: Place) -> Place:
        w = self._w
        if not isinstance(s.value, tirx.Call):
            return place
        name = op_name(s)
        if name.startswith("__tlt_"):
            self._recording(name, s.value, place)
            return place
        name = name.removeprefix("tirx.").removeprefix("tl.")
        if name == "thread_return":
            self._leave_lanes(place, None)
            return place
        if name in ("loop_break", "break_loop", "continue_loop"):
            if place.grid:
                raise w.unsupported("leaving a loop from inside of T.Parallel", s)
            turn = name == "continue_loop"
            if place.loop < 0:
                w.line("continue" if turn else "break")
            else:
                self._leave_lanes(place, place.loop + turn)
            return place
        w.tiles.operator("call_extern" if "extern" in str(s.value.op.name) else name, s.value, place)
        return place

    def _turn(self, body: Stmt, place: Place) -> None:
        """One iteration of a loop that lanes leave by themselves; one that they leave early has a mask of its own."""
        if any(op_name(s).endswith("continue_loop") for s, _ in walk(body)):
            place = place.under(self._w.assign(place.mask))
        self(body, place)

    def _leave_lanes(self, place: Place, loop: int | None) -> None:
        """The active lanes leave what has its mask at that depth: a loop or its turn; without a depth, the kernel."""
        w = self._w
        gone = w.assign(place.mask)
        for mask in place.masks[loop or 0 :]:
            w.line(f"{mask} = without({mask}, {gone})")
        if loop is None:
            w.line("if alive is False: return")

    def _recording(self, name: str, call: Any, place: Place) -> None:
        w = self._w
        args = call.args
        if name == ENTER:
            row, writer = (w.expressions(a, place) for a in args[3:5])
            ring = bool(args[7].value)
            w.line(f"c.recorder.enter(c, {row}, {writer}, {int(args[6])}, {ring})")
        elif name == LEAVE:
            w.line(f"c.recorder.leave(c, {place.mask})")
        elif name.startswith(RECORD):
            ring = "_ring" in name
            rest = args[6 if ring else 5 :]
            mine = w.expressions(rest[0], place) if len(rest) else "True"
            bits = w.dtype(str(args[4].dtype), call)
            beside = name.endswith("_beside")
            w.tally.take()
            payload = w.expressions(args[4], place)
            loads = any(unit is Unit.GLOBAL for unit, _ in w.tally.take())
            w.line(f"c.recorder.record(c, {int(args[3])}, {payload}, {bits}, {mine}, {place.mask}, {beside})")
            if loads and not self._loops:  # in a loop, compilers load it before the marker comes
                w.line("c.await_payload()")
        else:
            raise w.unsupported(f"the function {name}", call)
        w.tally.take()


def _waits(s: Stmt) -> bool:
    """Whether loads are not moved across a statement: any operator, a marker, too, but copies of fragments."""
    name = op_name(s)
    return bool(name) and (name != "tl.tileop.copy" or any(str(b.scope()).startswith("shared") for b in buffers_of(s)))


def buffers_of(s: Stmt) -> list[Any]:
    """The buffers that a statement loads and stores."""
    found: list[Any] = []

    def visit(node: Any) -> None:
        if isinstance(node, (tirx.BufferLoad, tirx.BufferStore)):
            found.append(node.buffer)

    post_order_visit(s, visit)
    return found


def variables(e: Any) -> list[Any]:
    """The variables of an expression."""
    found: list[Any] = []
    if not isinstance(e, (int, float)):
        post_order_visit(e, lambda node: found.append(node) if isinstance(node, tirx.Var) else None)
    return found


def ends_with_return(s: Stmt) -> bool:
    """Whether a branch always leaves the kernel."""
    steps = flatten(s)
    return bool(steps) and op_name(steps[-1]).endswith("thread_return")
