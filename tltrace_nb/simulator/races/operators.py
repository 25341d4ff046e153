"""Operations of device functions as lines of Python: accesses, asynchronous work, barriers.

In: a call and its place. Out: calls of the strand, ``c``. ``ACTING`` has the names of what is known; of anything else
that has a pointer to watched memory, a race check says that it does not know it.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, Protocol

from tvm import DataType, tirx

from tltrace_nb.base.gpus import WARP
from tltrace_nb.core.compile.ir import Expr, Stmt, op_name
from tltrace_nb.simulator.races.barriers import ALL_CTAS
from tltrace_nb.simulator.races.clocks import COPIES, PRODUCTS, STORES
from tltrace_nb.simulator.races.descriptors import UNIT
from tltrace_nb.simulator.races.shadow import READ, UPDATE, WRITE
from tltrace_nb.simulator.writing import Place, Writer

ALL_REDUCE = "tl::AllReduce"
ACTING = (
    "tvm_storage_sync", "named_barrier_arrive", "mbarrier", "arrive_barrier", "ptx_init_barrier", "barrier_noinc",
    "ptx_commit_group", "ptx_wait_group", "ptx_cp_async", "ptx_ldmatrix", "ptx_stmatrix", "tma_load", "tma_store",
    "tma_reduce", "descriptor", "ptx_wgmma", "warpgroup_commit_batch", "warpgroup_wait", "wait_wgmma",
    "fence_proxy_async", "atomic", "cluster", "sync_grid", "loop_break", "continue_loop", "break_loop",
    "thread_return", "AllReduce", "call_extern", "access_ptr", "tl::", "stg", "sts", "address_of", "syncthreads",
)  # fmt: skip
"""Parts of the names of operations that synchronise or access memory."""
_NOTHING = (
    "prefetch_tma_descriptor", "fence_barrier_init", "cluster_arrive", "debug_print", "device_assert", "nanosleep",
)  # fmt: skip
_PRODUCT = re.compile(r"m64n(\d+)k(\d+)")
_SCAN = re.compile(r"tl::Cum(?:Sum|Max)(?:1D|2D<(?P<threads>\d+), (?P<axis>[01]))")
_REDUCE = re.compile(r"tl::AllReduce<[^,]+, (\d+), (\d+)(?:, (\d+))?(?:, ([^,]+?))?(?:, (\d+), (\d+))?>::run")


def is_pointer(e: Any) -> bool:
    """Whether an argument is a pointer into a buffer."""
    return isinstance(e, tirx.Call) and str(getattr(e.op, "name", "")) == "tirx.tvm_access_ptr"


def pointer_data(e: Any) -> Any:
    """The data that it points into."""
    return e.args[1]


def pointer_dtype(e: Any) -> str:
    """The type of the elements that it points to."""
    return str(e.args[0].dtype)


def asked(call: Any, is_watched: Callable[[Any], bool]) -> list[Expr]:
    """What an operation evaluates: positions of pointers to watched memory, barriers, and its numbers."""
    name = str(getattr(call.op, "name", ""))
    only_pointers = any(part in name for part in ("atomic", "matrix", "tma_", "extern"))
    found: list[Expr] = []
    for arg in call.args:
        if isinstance(arg, tirx.Call) and str(getattr(arg.op, "name", "")) == "tirx.handle_add_byte_offset":
            found.append(arg.args[1])
            arg = arg.args[0]
        if is_pointer(arg):
            if is_watched(pointer_data(arg)):
                found.append(arg.args[2])
        elif isinstance(arg, tirx.BufferLoad):
            found.extend(arg.indices)
        elif (
            isinstance(arg, tirx.PrimExpr) and not only_pointers and str(arg.dtype).startswith(("int", "uint", "bool"))
        ):
            found.append(arg)
    return found


def product_registers(s: Stmt) -> list[Any]:
    """The data of the registers that a wgmma reads or writes."""
    if "ptx_wgmma" not in op_name(s):
        return []
    args = s.value.args
    return [a for a in args if isinstance(a, tirx.Var) and str(a.dtype) == "handle" and "desc" not in str(a.name)]


class Device(Writer, Protocol):
    """What operators ask of a device function's writer besides what they ask of any."""

    sizes: set[int]

    def memory(self, data: Any, dtype: str, node: Any) -> str: ...
    def barrier(self, e: Any, place: Place) -> str: ...
    def site(self, name: Any, way: str) -> int: ...
    def is_watched(self, data: Any) -> bool: ...
    def scope_of(self, data: Any) -> str: ...
    def number_of(self, data: Any) -> int: ...


class DeviceOperators:
    """The operator part."""

    def __init__(self, writer: Device):
        self._w = writer
        self._descriptors: dict[Any, tuple[str, str, Any]] = {}

    def touch(self, kind: int, data: Any, dtype: str, indices: Any, buffer: Any, place: Place, way: str) -> None:
        """Access the elements at some indices, which may be those of a vector."""
        w = self._w
        if len(indices) != 1:
            raise w.unsupported("an access with several indices", buffer)
        (index,) = indices
        count, stride = int(DataType(dtype).lanes), 1
        if isinstance(index, tirx.Ramp):
            count, stride, index = int(index.lanes), int(index.stride), index.base
        self._access(kind, data, dtype, w.expressions(index, place), count, stride, place, way, buffer)

    def _access(
        self, kind: int, data: Any, dtype: str, index: str, count: Any, stride: int, place: Place, way: str, node: Any
    ) -> None:
        w = self._w
        memory = w.memory(data, dtype, node)
        together = int(count) if stride == 1 else 1
        w.sizes.add(max(1, together * int(DataType(dtype).bits) // 8))
        w.line(f"c.touch({kind}, {memory}, {place.mask}, {index}, {count}, {stride}, {w.site(data.name, way)})")

    def reduces(self, value: Any, place: Place) -> bool:
        """Write ``tl::AllReduce`` if a value is one."""
        w = self._w
        if not isinstance(value, tirx.Call) or not _extern(value).startswith(ALL_REDUCE):
            return False
        found = _REDUCE.match(_extern(value))
        if found is None:
            raise w.unsupported("this reduction", value)
        threads, scale, first, barrier, values, stride = found.groups()
        widths = []
        width = int(threads) // 2
        while width >= max(32, int(scale)) and int(threads) > int(scale):
            widths.append(width)
            width //= 2
        if not widths:
            return True
        named = re.search(r"NamedBarrier<(\d+)>", barrier or "")
        names = (1, 2, int(named[1])) if named else (0, 0, 0)
        pointer = next((a for a in value.args if is_pointer(a) and w.is_watched(pointer_data(a))), None)
        if pointer is None:
            raise w.unsupported("a reduction without a workspace", value)
        name = pointer_data(pointer).name
        memory = w.memory(pointer_data(pointer), pointer_dtype(pointer), value)
        sites = w.site(name, "writes"), w.site(name, "reads")
        w.sizes.add(int(DataType(pointer_dtype(pointer)).bits) // 8)
        how = (int(first or 0), int(values or 1), int(stride or 0), *sites)
        index = w.expressions(pointer.args[2], place)
        w.line(f"yield from c.all_reduce({memory}, {index}, {tuple(widths)!r}, {names!r}, {how!r})")
        return True

    def operator(self, name: str, call: Any, place: Place) -> None:
        """Write one operation."""
        if any(part in name for part in _NOTHING) or any(part in _extern(call) for part in _NOTHING):
            return
        if self.reduces(call, place):
            return
        if (scan := _SCAN.match(_extern(call))) is not None:
            self._scan(scan, call, place)
            return
        for known, method in _METHODS.items():
            if name.startswith(known):
                getattr(self, method)(name, call, place)
                return
        if any(is_pointer(arg) and self._w.is_watched(pointer_data(arg)) for arg in call.args) or _extern(call):
            raise self._w.unsupported(f"the operation {_extern(call) or name}", call)

    def _scan(self, found: re.Match[str], call: Any, place: Place) -> None:
        """Write ``T.cumsum`` or ``T.cummax``: each warp goes along lines of its own, as in TileLang's ``scan.h``."""
        w = self._w
        source, target, *sizes = call.args[1:]
        if not (is_pointer(source) and is_pointer(target) and all(isinstance(n, tirx.IntImm) for n in sizes)):
            raise w.unsupported("this scan", call)
        flat = found["axis"] is None  # one line, along which the first warp goes
        height, width, *strides = (1, *map(int, sizes)) if flat else map(int, sizes)
        warps = 1 if flat else int(found["threads"]) // WARP
        steps = [(stride, 1) for stride in strides or (width, width)]
        lines, length = height, width
        if found["axis"] == "0":
            lines, length, steps = width, height, [(1, stride) for stride, _ in steps]
        for kind, pointer, (apart, step), way in (
            (READ, source, steps[0], "reads"),
            (WRITE, target, steps[1], "writes"),
        ):
            data, dtype = pointer_data(pointer), pointer_dtype(pointer)
            if not w.is_watched(data):
                continue
            w.sizes.add(max(1, int(DataType(dtype).bits) // 8))
            begin = w.expressions(pointer.args[2], place)
            how = (lines, length, apart, step, warps)
            w.line(f"c.scan({kind}, {w.memory(data, dtype, call)}, {begin}, {how!r}, {w.site(data.name, way)})")

    def atomics(self, name: str, call: Any, _: Place) -> str | None:
        """Refuse an atomic whose result is used."""
        raise self._w.unsupported(f"{name} whose result decides what is accessed", call)

    # ---- accesses

    def _atomic(self, name: str, call: Any, place: Place) -> None:
        w = self._w
        pointer = call.args[0]
        if "load" in name or not is_pointer(pointer):
            return
        if w.is_watched(pointer_data(pointer)):
            count = 2 if "x2" in name else 4 if "x4" in name else 1
            index = w.expressions(pointer.args[2], place)
            dtype = pointer_dtype(pointer)
            self._access(UPDATE, pointer_data(pointer), dtype, index, count, 1, place, "updates", call)
        for arg in call.args[1:]:
            if isinstance(arg, tirx.PrimExpr):
                w.expressions.reads(arg, place)  # type: ignore[attr-defined]

    def _matrix(self, name: str, call: Any, place: Place) -> None:
        """``ldmatrix`` and ``stmatrix``: eight lanes give the rows of each matrix, of 16 bytes."""
        w = self._w
        pointer = self._in_shared(call)
        lanes = 8 * int(call.args[1])
        mask = place.mask if lanes >= 32 else w.assign(f"both({place.mask}, c.ids % 32 < {lanes})")
        dtype = pointer_dtype(pointer)
        index = w.expressions(pointer.args[2], place)
        kind, way = (READ, "reads") if "ldmatrix" in name else (WRITE, "writes")
        where = place.under(mask) if mask != place.mask else place
        self._access(kind, pointer_data(pointer), dtype, index, _elements(16, dtype), 1, where, way, call)

    def _copy(self, _: str, call: Any, place: Place) -> None:
        w = self._w
        target = call.args[0]
        if not is_pointer(target):
            raise w.unsupported("a copy to no buffer", call)
        mask = place.mask
        if len(call.args) > 3:
            mask = w.assign(f"both({mask}, {w.expressions(call.args[3], place)})")
        memory = w.memory(pointer_data(target), pointer_dtype(target), call)
        index = w.expressions(target.args[2], place)
        site = w.site(pointer_data(target).name, "copies to")
        w.sizes.add(int(call.args[2]) * int(DataType(pointer_dtype(target)).bits) // 8)
        with w.block(f"if {mask} is not False"):
            w.line(f"c.copy({memory}, {mask}, {index}, {int(call.args[2])}, {site})")

    def _transfer(self, _: str, call: Any, place: Place) -> None:
        w = self._w
        barrier = next((a for a in call.args if isinstance(a, tirx.BufferLoad)), None)
        pointer = self._in_shared(call)
        if barrier is None or pointer is None:
            raise w.unsupported("this TMA copy", call)
        dtype, count = pointer_dtype(pointer), int(pointer.args[3])
        memory = w.memory(pointer_data(pointer), dtype, call)
        site = w.site(pointer_data(pointer).name, "copies to")
        size = count * int(DataType(dtype).bits) // 8
        index = w.expressions(pointer.args[2], place)
        name = w.barrier(barrier, place)
        w.line(f"c.transfer({memory}, {place.mask}, {index}, {count}, {size}, {name}, {site})")

    def _bulk_store(self, _: str, call: Any, place: Place) -> None:
        w = self._w
        pointer = self._in_shared(call)
        if pointer is None:
            raise w.unsupported("this TMA copy", call)
        memory = w.memory(pointer_data(pointer), pointer_dtype(pointer), call)
        index = w.expressions(pointer.args[2], place)
        site = w.site(pointer_data(pointer).name, "copies from")
        w.line(f"c.bulk_store({memory}, {place.mask}, {index}, {int(pointer.args[3])}, {site})")

    def _in_shared(self, call: Any) -> Any:
        """The argument that points into shared memory, ``None`` if there is none."""
        pointers = (arg for arg in call.args if is_pointer(arg))
        return next((arg for arg in pointers if self._w.scope_of(pointer_data(arg)) == "shared"), None)

    # ---- products

    def _describe(self, _: str, call: Any, place: Place) -> None:
        w = self._w
        load, pointer = call.args[:2]
        layout, leading, stride = (int(a) for a in call.args[2:5])
        further = "0"
        if isinstance(pointer, tirx.Call) and str(pointer.op.name) == "tirx.handle_add_byte_offset":
            pointer, further = pointer.args[0], w.expressions(pointer.args[1], place)
        if not is_pointer(pointer):
            raise w.unsupported("a matrix that is not in shared memory", call)
        dtype = pointer_dtype(pointer)
        memory = w.memory(pointer_data(pointer), dtype, call)
        name = f"d{w.number()}"
        self._descriptors[load.buffer.data] = name, memory, pointer
        start = f"{memory}.start + ({w.expressions(pointer.args[2], place)}) * {int(DataType(dtype).bits)} // 8"
        start = f"{start} + {further}"
        w.line(f"{name} = Descriptor({start}, {layout}, {leading * UNIT}, {stride * UNIT})")

    def _advance(self, _: str, call: Any, place: Place) -> None:
        w = self._w
        name = self._descriptors[call.args[0].buffer.data][0]
        w.line(f"{name} = {name}.moved({w.expressions(call.args[1], place)})")

    def _multiply(self, name: str, call: Any, place: Place) -> None:
        w = self._w
        args = call.args
        shape = _PRODUCT.match(str(args[0].value))
        if shape is None or "_sp" in name or not name.endswith(("_ss", "_rs")):
            raise w.unsupported("this product", call)
        sides = []
        if name.endswith("_ss"):
            sides.append((args[6], args[7], 64, bool(args[1].value)))
            sides.append((args[8], args[9], int(shape[1]), bool(args[2].value)))
        else:
            sides.append((args[7], args[8], int(shape[1]), bool(args[1].value)))
        texts = []
        for data, offset, rows, along_k in sides:
            descriptor, memory, pointer = self._descriptors[data]
            moved = f"{descriptor}.moved(({w.expressions(offset, place)}) * {UNIT})"
            texts.append(f"({memory}, {moved}, {rows}, {along_k}), ")
            site = w.site(pointer_data(pointer).name, "multiplies")
        w.line(f"c.multiply(({''.join(texts)}), {place.mask}, {site - len(sides) + 1})")
        for data in product_registers(tirx.Evaluate(call)):
            w.line(f"c.hold({w.number_of(data)}, {w.site(data.name, 'multiplies')})")

    # ---- waits and barriers

    def _close(self, name: str, _: Any, place: Place) -> None:
        self._w.line(f"c.close({_kind(name)}, {place.mask})")

    def _finish(self, name: str, call: Any, place: Place) -> None:
        left = self._w.same(call.args[0], place) if call.args else "0"
        self._w.line(f"c.finish({_kind(name)}, {left}, {place.mask})")

    def _fence(self, _: str, __: Any, place: Place) -> None:
        self._w.line(f"c.fence({place.mask})")

    def _sync(self, _: str, call: Any, place: Place) -> None:
        w = self._w
        if isinstance(call.args[0], tirx.StringImm) and str(call.args[0].value) == "warp":
            return
        rest = [w.same(a, place) for a in call.args[1:3]] + ["0", "0"]
        w.line(f"yield c.sync({rest[0]}, {rest[1]}, {place.mask})")

    def _sync_all(self, _: str, __: Any, place: Place) -> None:
        self._w.line(f"yield c.sync({ALL_CTAS}, 0, {place.mask})")

    def _come(self, _: str, call: Any, place: Place) -> None:
        number, count = (self._w.same(a, place) for a in call.args[:2])
        self._w.line(f"yield c.come({number}, {count}, {place.mask})")

    def _make(self, _: str, call: Any, place: Place) -> None:
        w = self._w
        w.line(f"c.make({w.barrier(call.args[0], place)}, {int(call.args[1])}, {place.mask})")

    def _arrive(self, name: str, call: Any, place: Place) -> None:
        w = self._w
        if name == "ptx_arrive_barrier" and len(call.args) > 1:
            raise w.unsupported("an arrival in another CTA", call)
        barrier = w.barrier(call.args[0], place)
        size = w.same(call.args[1], place) if "expect_tx" in name else "0"
        site = w.site(barrier, "arrives at")
        w.line(f"c.arrive({barrier}, {place.mask}, {size}, {not name.startswith('mbarrier')}, {site})")

    def _arrive_after(self, _: str, call: Any, place: Place) -> None:
        w = self._w
        barrier = w.barrier(call.args[0], place)
        w.line(f"c.arrive_after_copies({barrier}, {place.mask}, {w.site(barrier, 'arrives at')})")

    def _wait(self, _: str, call: Any, place: Place) -> None:
        w = self._w
        barrier, parity = w.barrier(call.args[0], place), w.same(call.args[1], place)
        w.line(f"yield c.wait({barrier}, {parity}, {place.mask}, {w.site(barrier, 'waits for')})")


_METHODS = {
    "atomic": "_atomic",
    "ptx_ldmatrix": "_matrix",
    "ptx_stmatrix": "_matrix",
    "ptx_cp_async_barrier_noinc": "_arrive_after",
    "ptx_cp_async": "_copy",
    "tma_load": "_transfer",
    "tma_store_arrive": "_close",
    "tma_store_wait": "_finish",
    "tma_store": "_bulk_store",
    "tma_reduce": "_bulk_store",
    "initialize_wgmma_descriptor": "_describe",
    "increase_descriptor_offset": "_advance",
    "ptx_wgmma": "_multiply",
    "ptx_commit_group": "_close",
    "ptx_wait_group": "_finish",
    "warpgroup_commit_batch": "_close",
    "warpgroup_wait": "_finish",
    "wait_wgmma": "_finish",
    "fence_proxy_async": "_fence",
    "tvm_storage_sync": "_sync",
    "cluster_sync": "_sync_all",
    "cluster_wait": "_sync_all",
    "sync_grid": "_sync_all",
    "named_barrier_arrive": "_come",
    "ptx_init_barrier_thread_count": "_make",
    "ptx_arrive_barrier": "_arrive",
    "mbarrier_expect_tx": "_arrive",
    "mbarrier_wait_parity": "_wait",
}
"""The method that writes an operation, by the beginning of its name; the first that fits."""


def _kind(name: str) -> int:
    return STORES if name.startswith("tma_store") else COPIES if name.startswith("ptx") else PRODUCTS


def _elements(size: int, dtype: str) -> int:
    return size * 8 // int(DataType(dtype).bits)


def _extern(call: Any) -> str:
    """The name of the function that a call of an external one calls."""
    if "extern" not in str(getattr(call.op, "name", "")):
        return ""
    return str(call.args[0].value)
