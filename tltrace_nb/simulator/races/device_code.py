"""A device function, all planned by TileLang, as a Python generator that makes its accesses and its synchronisation.

In: one kernel of the module that ``schedule.planned`` gives. Out: :class:`DeviceProgram`, whose ``run`` every strand of
a CTA runs. It computes no contents but those that decide what is accessed or waited for; other statements are left out.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from types import GeneratorType
from typing import Any

from tvm import DataType, tirx

from tltrace_nb.base.gpus import Gpu
from tltrace_nb.core.compile.active_threads import LaunchShape
from tltrace_nb.core.compile.ir import Expr, Stmt, children, flatten, op_name, post_order_visit, walk
from tltrace_nb.simulator.errors import UnsupportedError
from tltrace_nb.simulator.expressions import Expressions
from tltrace_nb.simulator.program import NAMES, ProgramWriter
from tltrace_nb.simulator.races.descriptors import Descriptor
from tltrace_nb.simulator.races.operators import (
    ACTING,
    ALL_REDUCE,
    DeviceOperators,
    asked,
    is_pointer,
    pointer_data,
    product_registers,
)
from tltrace_nb.simulator.races.shadow import READ, WRITE
from tltrace_nb.simulator.races.slicing import Slice
from tltrace_nb.simulator.source_lines import Lines
from tltrace_nb.simulator.statements import Statements
from tltrace_nb.simulator.uniformity import LOCAL_SCOPES
from tltrace_nb.simulator.vectors import by_element, lanes_of
from tltrace_nb.simulator.writing import Place

FILE = "<race check>"
_MOST_GRANULE = 16
"""Bytes that a thread accesses at most at a time, aligned."""


@dataclass(frozen=True, slots=True)
class Site:
    """A place in the device function that accesses memory or registers, or uses an mbarrier: which, of what name."""

    statement: Stmt
    name: str
    way: str


@dataclass(frozen=True, slots=True)
class MemoryUse:
    """A buffer that the program asks its strand for. ``start``: its first byte in shared memory."""

    name: str
    scope: str
    dtype: str
    bits: int
    start: int
    watched: bool
    valued: bool


@dataclass(frozen=True)
class DeviceProgram:
    """A device function, ``func``, compiled.

    ``barriers``: the buffers of mbarriers, with how many they have; ``granule``: bytes of a place of shared memory.
    """

    func: Any
    run: Callable[[Any], GeneratorType[Any, None, None]]
    source: str
    shape: LaunchShape
    strands: tuple[tuple[int, ...], ...]
    sites: tuple[Site, ...]
    memories: tuple[MemoryUse, ...]
    barriers: tuple[tuple[str, int], ...]
    scalars: tuple[Any, ...]
    shared_bytes: int
    granule: int


def compile_device(func: Any, gpu: Gpu) -> DeviceProgram:
    """Compile a device function. Raises ``UnsupportedError`` where it uses what race checks do not know."""
    return DeviceWriter(func, gpu).device_program()


def launch_shape(func: Any) -> LaunchShape:
    """The launch of a device function."""
    zero, one = tirx.IntImm("int32", 0), tirx.IntImm("int32", 1)
    found: dict[str, tuple[Any, Any]] = {}
    for s, _ in walk(func.body):
        if isinstance(s, tirx.AttrStmt) and s.attr_key == "thread_extent":
            found[str(s.node.thread_tag)] = s.node.var, s.value
    blocks = [found.get(f"blockIdx.{axis}", (zero, one)) for axis in "xyz"]
    threads = [found.get(f"threadIdx.{axis}", (zero, one)) for axis in "xyz"]
    x, y, z = (int(extent) for _, extent in threads)
    return LaunchShape(
        tuple(v for v, _ in blocks), tuple(e for _, e in blocks), tuple(v for v, _ in threads), (x, y, z), (x, y, z),
        (1, 1, 1), func.body,
    )  # fmt: skip


class DeviceWriter(ProgramWriter):
    """The text of a device function while it is made."""

    def __init__(self, func: Any, gpu: Gpu):
        shape = launch_shape(func)
        name = str(func.attrs["global_symbol"]) if "global_symbol" in func.attrs else "main"
        self.func = func
        self._memory_uses: dict[tuple[Any, str], int] = {}
        self._barrier_uses: dict[Any, int] = {}
        products = (data for s, _ in walk(func.body) for data in product_registers(s))
        self._registers = {data: i for i, data in enumerate(dict.fromkeys(products))}
        self._held: dict[Stmt, tuple[int, ...]] = {}
        self.sites: list[Site] = []
        self.sizes: set[int] = set()
        """Bytes that one thread accesses at a time, as far as accesses are of shared memory."""
        self.statement: Stmt = None
        self._find_memory(func)
        self.slice = Slice(func.body, self._acts, self._asks)
        super().__init__(name, shape, gpu, self._is_needed, {}, [], {}, Lines("", {}))
        self.expressions: DeviceExpressions = DeviceExpressions(self)
        self.statements = DeviceStatements(self)
        self.operators = DeviceOperators(self)
        self.tiles = self.operators  # type: ignore[assignment]

    def device_program(self) -> DeviceProgram:
        """Write the whole function."""
        head = self.begun()
        for buffer, use in self._buffers.items():
            head.append(f"    b{use.number} = {self.registers_text(buffer, '(c.n, )')}")
        head += [f"    m{i} = c.memory({i})" for i in self._memory_uses.values()]
        head += [f"    q{i} = c.barriers({i})" for i in self._barrier_uses.values()]
        head += [f"    s{i} = c.scalars[{i}]" for i in range(len(self._scalars))]
        source = "\n".join([*head, *self._lines, "    return", "    yield"])
        namespace = {**NAMES, "Descriptor": Descriptor, **self._constants}
        try:
            exec(compile(source, FILE, "exec"), namespace)
        except SyntaxError as error:  # TileLang's passes may take a loop away and leave its break
            raise self.unsupported(f"a loop that TileLang takes away ({error.msg})", None) from None
        run: Callable[[Any], GeneratorType[Any, None, None]] = namespace["run"]
        memories = tuple(self._memory_of(data, dtype) for data, dtype in self._memory_uses)
        barriers = tuple((str(data.name), self._barrier_sizes[data]) for data in self._barrier_uses)
        granule = math.gcd(*self.sizes, _MOST_GRANULE)
        return DeviceProgram(
            self.func, run, source, self._shape, self.thread_groups.ids, tuple(self.sites), memories, barriers,
            tuple(self._scalars), self._shared_bytes, granule,
        )  # fmt: skip

    def unsupported(self, what: str, _: Any) -> UnsupportedError:
        """The error that says why there is no check."""
        return UnsupportedError(f"it has {what}")

    # ---- memory

    def _find_memory(self, func: Any) -> None:
        """Where buffers lie, and which are watched."""
        self._start: dict[Any, int] = {}
        self._scope: dict[Any, str] = {p: "global" for p in func.params if str(p.dtype) == "handle"}
        self._barrier_sizes: dict[Any, int] = {}
        self._shared_bytes = 0
        for s, _ in walk(func.body):
            if type(s).__name__ == "AllocBuffer":
                buffer = s.buffer
                scope = str(buffer.scope())
                self._scope[buffer.data] = scope
                if "barrier" in scope:
                    self._barrier_sizes[buffer.data] = int(buffer.shape[0])
                elif scope.startswith("shared"):
                    self._start[buffer.data] = self._shared_bytes
                    bits = DataType(str(buffer.dtype)).bits * DataType(str(buffer.dtype)).lanes
                    self._shared_bytes += -(-_product(buffer.shape) * bits // 8)
            elif isinstance(s, tirx.Bind) and str(s.var.dtype) == "handle":
                call = s.value
                if op_name(tirx.Evaluate(call)) != "tirx.handle_add_byte_offset" or call.args[0] not in self._start:
                    continue
                self._start[s.var] = self._start[call.args[0]] + int(call.args[1])
                self._scope[s.var] = "shared"
        loaded: set[Any] = set()
        stored: list[Any] = []
        for s, _ in walk(func.body):
            if isinstance(s, tirx.BufferStore):
                stored.append(s.buffer.data)
            for node in _nodes(s):
                if isinstance(node, tirx.BufferLoad):
                    loaded.add(node.buffer.data)
                elif isinstance(node, tirx.Call) and "atomic" in str(getattr(node.op, "name", "")):
                    stored += [pointer_data(arg) for arg in node.args[:1] if is_pointer(arg)]
        self._both = {data for data in stored if data in loaded or stored.count(data) > 1}

    def scope_of(self, data: Any) -> str:
        """The scope of a buffer's data: global, shared, or what it was allocated with."""
        scope = self._scope.get(data, "")
        return "shared" if scope.startswith("shared") and "barrier" not in scope else scope

    def is_watched(self, data: Any) -> bool:
        """Whether accesses to a buffer are looked at: shared memory, tensors that are both written and read."""
        scope = self.scope_of(data)
        return scope == "shared" or (scope == "global" and data in self._both)

    def memory(self, data: Any, dtype: str, node: Any) -> str:
        """A memory's name."""
        if data not in self._start and self.scope_of(data) != "global":
            raise self.unsupported(f"memory of the scope {self.scope_of(data)!r}", node)
        return f"m{self._memory_uses.setdefault((data, dtype.split('x', maxsplit=1)[0]), len(self._memory_uses))}"

    def _memory_of(self, data: Any, dtype: str) -> MemoryUse:
        bits = int(DataType(dtype).bits)
        valued = data in self.slice.needed
        return MemoryUse(
            str(data.name), self.scope_of(data), dtype, bits, self._start.get(data, 0), self.is_watched(data), valued
        )

    def barrier(self, e: Any, place: Place) -> str:
        """The text of one mbarrier."""
        if not isinstance(e, tirx.BufferLoad) or e.buffer.data not in self._barrier_sizes:
            raise self.unsupported("a barrier that is no element of a barrier buffer", e)
        if "cluster" in str(e.buffer.scope()):
            raise self.unsupported("barriers of a cluster", e)
        number = self._barrier_uses.setdefault(e.buffer.data, len(self._barrier_uses))
        return f"q{number}[{self.same(e.indices[0], place)}]"

    def buffer(self, buffer: Any, node: Any) -> str:
        """The name of a buffer in registers; those of the same data are one."""
        known = next((b for b in self._buffers if b.data.same_as(buffer.data)), buffer)
        if str(known.dtype) != str(buffer.dtype):
            raise self.unsupported(f"{buffer.name} being seen as {buffer.dtype} and as another type", node)
        return super().buffer(known, node)

    def site(self, name: Any, way: str) -> int:
        """A number for an access by the statement that is being written."""
        self.sites.append(Site(self.statement, str(name), way))
        return len(self.sites)

    # ---- what has an effect

    def _is_needed(self, buffer: Any) -> bool:
        return buffer.data in self.slice.needed

    def _acts(self, s: Stmt) -> bool:
        if isinstance(s, tirx.Evaluate):
            name = op_name(s)
            if any(part in name for part in ACTING):
                return True
        if isinstance(s, tirx.BufferStore) and self.is_watched(s.buffer.data):
            return True
        return any(
            (isinstance(node, tirx.BufferLoad) and self.is_watched(node.buffer.data))
            or (isinstance(node, tirx.StringImm) and str(node.value).startswith(ALL_REDUCE))
            for node in _nodes(s)
        )

    def _asks(self, s: Stmt) -> list[Expr]:
        if isinstance(s, tirx.Evaluate):
            return asked(s.value, self.is_watched)
        found: list[Expr] = []
        if isinstance(s, tirx.BufferStore) and self.is_watched(s.buffer.data):
            found.extend(s.indices)
        for node in _nodes(s):
            if isinstance(node, tirx.BufferLoad) and self.is_watched(node.buffer.data):
                found.extend(node.indices)
            elif isinstance(node, tirx.Call) and str(getattr(node.op, "name", "")).endswith("if_then_else"):
                found.append(node.args[0])
            elif isinstance(node, tirx.Select):
                found.append(node.condition)
            elif isinstance(node, tirx.Call) and is_pointer(node) and self.is_watched(pointer_data(node)):
                found.append(node.args[2])
        return found

    def number_of(self, data: Any) -> int:
        """The number of registers that products read or write."""
        return self._registers[data]

    def held(self, s: Stmt) -> tuple[int, ...]:
        """The registers of products that statements inside use."""
        if not self._registers:
            return ()
        if s not in self._held:
            found: set[int] = set()
            for child in children(s):
                found.update(self.held(child))
            if isinstance(s, (tirx.BufferStore, tirx.Bind, tirx.Evaluate)) and not _is_product(s):
                used = [n.buffer.data for n in _nodes(s) if isinstance(n, tirx.BufferLoad)]
                used += [s.buffer.data] if isinstance(s, tirx.BufferStore) else []
                found.update(self._registers[data] for data in used if data in self._registers)
            self._held[s] = tuple(sorted(found))
        return self._held[s]


class DeviceStatements(Statements):
    """The statement part: what has no effect is left out, and nothing costs time."""

    _w: DeviceWriter

    def __init__(self, writer: DeviceWriter):
        super().__init__(writer)
        self._d = writer

    def _write(self, statement: Stmt, place: Place) -> Place:
        d, s = self._d, statement
        d.statement = s
        held = d.held(s)
        if held and (not d.slice.matters(s) or isinstance(s, (tirx.BufferStore, tirx.Bind, tirx.Evaluate))):
            d.line(f"c.use({held!r}, {d.site('', 'uses')})")
        if not d.slice.matters(s) and not op_name(s).endswith(_LEAVING):
            return place
        if isinstance(s, tirx.AttrStmt):
            return self(s.body, place)
        if isinstance(s, tirx.Bind):
            if d.slice.is_needed(s):
                if lanes_of(s.value) > 1:
                    raise d.unsupported("a vector that decides what is accessed", s)
                d.line(f"{d.define(s.var)} = {d.expressions(s.value, place)}")
            else:
                d.expressions.reads(s.value, place)
            return place
        return super()._write(s, place)

    def spend(self, _: Place) -> None:
        """Nothing costs time."""
        self._d.tally.take()

    def _meet(self, s: Any, place: Place) -> None:
        pass

    def _load_ahead(self, loop: Any, place: Place) -> None:
        pass

    def _is_at_once(self, _: Any) -> bool:
        return False

    def _loads_ahead(self, _: Any) -> bool:
        return False

    def _store(self, s: Any, place: Place) -> None:
        d = self._d
        if d.operators.reduces(s.value, place):
            if d.slice.is_needed(s):
                raise d.unsupported("a reduction that decides what is accessed", s)
            return
        if d.slice.is_needed(s):
            for part in flatten(by_element(s, d.func)):
                if isinstance(part, tirx.Bind):
                    if d.varying(part.value):
                        d.varying.variables.add(part.var)
                    d.line(f"{d.define(part.var)} = {d.expressions(part.value, place)}")
                else:
                    self._put(part, place)
        else:
            d.expressions.reads(s.value, place)
        if d.is_watched(s.buffer.data):
            d.operators.touch(WRITE, s.buffer.data, str(s.buffer.dtype), s.indices, s.buffer, place, "writes")

    def _put(self, s: Any, place: Place) -> None:
        d = self._d
        value = d.expressions(s.value, place)
        if str(s.buffer.scope()) in LOCAL_SCOPES:
            d.line(f"{d.buffer(s.buffer, s)}.put({value}, {place.mask}, {d.expressions.index(s.indices, place)})")
            return
        (index,) = s.indices
        memory = d.memory(s.buffer.data, str(s.buffer.dtype), s)
        d.line(f"c.put({memory}, {value}, {place.mask}, {d.expressions(index, place)})")


class DeviceExpressions(Expressions):
    """The expression part: loads of watched memory are accesses."""

    def __init__(self, writer: DeviceWriter):
        super().__init__(writer)
        self._d = writer

    def _bufferload(self, e: Any, place: Place) -> str:
        d = self._d
        if str(e.buffer.scope()) in LOCAL_SCOPES:
            return f"{d.buffer(e.buffer, e)}.get({self.index(e.indices, place)})"
        if d.is_watched(e.buffer.data):
            d.operators.touch(READ, e.buffer.data, str(e.buffer.dtype), e.indices, e.buffer, place, "reads")
        (index,) = e.indices
        memory = d.memory(e.buffer.data, str(e.buffer.dtype), e)
        return d.assign(f"c.get({memory}, {self(index, place)})")

    def reads(self, e: Any, place: Place) -> None:
        """Make the accesses of an expression whose value nobody needs."""
        d = self._d
        if isinstance(e, (int, float)) or not any(
            isinstance(n, tirx.BufferLoad) and d.is_watched(n.buffer.data) for n in _nodes_of(e)
        ):
            return
        name = str(getattr(getattr(e, "op", None), "name", ""))
        if name.endswith("if_then_else") or isinstance(e, tirx.Select):
            condition, a, b = e.args if name else (e.condition, e.true_value, e.false_value)
            asked_ = d.assign(self(condition, place))
            for test, value in (("both", a), ("without", b)):
                mask = d.assign(f"{test}({place.mask}, {asked_})")
                with d.block(f"if {mask} is not False"):
                    self.reads(value, place.under(mask))
            return
        if isinstance(e, tirx.BufferLoad):
            if d.is_watched(e.buffer.data):
                d.operators.touch(READ, e.buffer.data, str(e.buffer.dtype), e.indices, e.buffer, place, "reads")
            return
        parts = e.args if isinstance(e, tirx.Call) else [getattr(e, f) for f in _OPERANDS if hasattr(e, f)]
        for part in parts:
            if not isinstance(part, tirx.StringImm):
                self.reads(part, place)


_OPERANDS = ("a", "b", "value", "condition", "true_value", "false_value", "vectors")
_LEAVING = ("thread_return", "loop_break", "break_loop", "continue_loop")


def _is_product(s: Stmt) -> bool:
    name = op_name(s)
    return "wgmma" in name or "warpgroup" in name


def _product(shape: Any) -> int:
    size = 1
    for extent in shape:
        size *= int(extent)
    return size


def _nodes(s: Stmt) -> list[Any]:
    """The nodes of the expressions of a statement that holds no others."""
    if isinstance(s, tirx.BufferStore):
        return [*_nodes_of(s.value), *(node for index in s.indices for node in _nodes_of(index))]
    return _nodes_of(s.value) if isinstance(s, (tirx.Bind, tirx.Evaluate)) else []


def _nodes_of(e: Expr) -> list[Any]:
    found: list[Any] = []
    if not isinstance(e, (int, float)):
        post_order_visit(e, found.append)
    return found
