"""The device helper: CUDA functions that record (``device.cuh``), and the TIR calls that invoke them.

In: TIR expressions of a lowering. Out: the CUDA text that a traced kernel imports, and calls to its functions. The
words written here are those of ``data.slots``.

A record costs one predicated 16-byte store: no branch, no memory clobber. Every thread bumps its cursor; threads that
do not write have an ``end`` of 0, so the same comparison that guards the capacity keeps them silent. Markers that stand
side by side read the clock once: nothing happens between them, and on Hopper a reading costs as much as the store. The
cursor is a local array that inlining turns into registers:

=====  ========================================  ==============================================
word   ``keep="first"``                          ``keep="last"``
=====  ========================================  ==============================================
0      index of the next record in the slots     markers executed so far
1      end of this writer's records, 0: silent   index of this writer's first record, 0: silent
2, 3   the clock read last, low and high half    the same
=====  ========================================  ==============================================
"""

from __future__ import annotations

import math
import re
import struct
from importlib.resources import files
from typing import Any

import tilelang  # noqa: F401  (puts the tvm that TileLang bundles on the path)
from tvm import tirx
from tvm.arith import Analyzer
from tvm.ir import Op

from tltrace_nb.core.compile.active_threads import LaunchShape
from tltrace_nb.core.compile.ir import Expr, Stmt, ir_transform
from tltrace_nb.data.chosen import Cut
from tltrace_nb.data.sites import Keep, SiteTable
from tltrace_nb.data.slots import HEADER_RECORDS, RECORD_BYTES, STATE_DONE, STATE_OPEN

PREFIX = "__tlt_"
"""Begins the names of all that tracing adds to a kernel."""

CURSOR = "__tlt_cursor"
SLOTS = "__tlt_slots"
NUM_CTA = "__tlt_num_cta"

ENTER = "__tlt_enter"
LEAVE = "__tlt_leave"
RECORD = "__tlt_record"
BLOCK = "__tlt_block_"
"""Begins the names of the functions that give the hardware's block index, one per axis."""
ROW = "__tlt_row"


def record_name(keep: Keep, beside: bool) -> str:
    """The device function that records; ``beside``: with the clock of the record directly before it."""
    return RECORD + ("_ring" if keep is Keep.LAST else "") + ("_beside" if beside else "")


_FOR_AUTHORS = {
    "__tl_now": "unsigned long long __tl_now() { return __tlt_now(); }",
    "__tl_thread_idx_x": "int __tl_thread_idx_x() { return threadIdx.x; }",
}
"""Functions that the helper has for authors alone."""


def helper(authors: str) -> str:
    """The CUDA text that a traced kernel imports, once per translation unit, with a final newline.

    It is ``device.cuh`` behind the layout's numbers, and what authors may call, but for what their own imported sources
    define. It is to come before those, whose macros then do not reach it.
    """
    numbers = {
        "HEADER_RECORDS": HEADER_RECORDS,
        "RECORD_BYTES": RECORD_BYTES,
        "STATE_OPEN": f"{STATE_OPEN:#x}u",
        "STATE_DONE": f"{STATE_DONE:#x}u",
    }
    defines = "\n".join(f"#define __TLT_{name} {value}" for name, value in numbers.items())
    body = files("tltrace_nb.core.compile").joinpath("device.cuh").read_text(encoding="utf-8").strip()
    extra = "\n".join(
        f"static __device__ __forceinline__ {function}"
        for name, function in _FOR_AUTHORS.items()
        if not re.search(rf"\b{name}\s*\([^()]*\)\s*\{{", authors)
    )
    return f"\n#ifndef __TLT_HELPER\n#define __TLT_HELPER\n{defines}\n{body}\n{extra}\n#endif\n"


HELPER = helper("")
"""The helper of a kernel whose author imports no source."""


def cursor_buffer() -> Any:
    """The cursor: ``uint32[4]``, local."""
    return tirx.decl_buffer((4,), "uint32", name=CURSOR, scope="local")


def cta_id(shape: LaunchShape) -> Expr:
    """The executing CTA's linear id, x fastest, as the hardware counts: a kernel may redefine its own ``blockIdx``."""
    x, y, z = (
        _value(var.dtype, BLOCK + axis)
        if isinstance(var, tirx.Var) and not _is_one(extent)
        else tirx.IntImm("int32", 0)
        for axis, var, extent in zip("xyz", shape.block_vars, shape.grid, strict=True)
    )
    return Analyzer().simplify(x + shape.grid[0] * (y + shape.grid[1] * z))


def boundary_call(name: str, cursor: Any, slots: Any, *, row: Expr, writer: Expr, table: SiteTable) -> Stmt:
    """``__tlt_enter`` or ``__tlt_leave``. ``row`` and ``writer`` are -1 in CTAs and threads that do not record."""
    ring = tirx.IntImm("bool", int(table.keep is Keep.LAST))
    tag = [tirx.IntImm("uint32", table.tag)] if name == ENTER else []
    return _call(name, _address(cursor), _address(slots), row, writer, len(table.writers), table.capacity, ring, *tag)


def cut_row(cta: Expr, cut: Cut, launch: int) -> Expr:
    """The row of a CTA, -1 without one, in a launch of which only the device knows the grid."""
    x_y_z = cut.clusters[launch]
    return _value("int32", ROW, cta, *(tirx.IntImm("int32", n) for n in (cut.most[launch], *x_y_z, cut.sms)))


def record_call(
    cursor: Any, slots: Any, site: int, payload: Expr, *, mine: Expr | None, beside: bool, capacity: int, keep: Keep
) -> Stmt:
    """One record of a site; ``mine`` tells the site's writers from others that pass, ``None`` where only they do.

    ``beside``: take the clock of the record directly before it.
    """
    args: list[Any] = [_address(cursor), _address(slots), tirx.IntImm("uint32", site), as_word(payload)]
    if keep is Keep.LAST:
        args.append(tirx.IntImm("uint32", capacity - 1))
    if mine is not None:
        args.append(mine)
    return _call(record_name(keep, beside), *args)


def as_word(payload: Expr) -> Expr:
    """The payload widened to 32 bits (int32, uint32, float32, bool), in a form to which TileLang adds no statement."""
    if isinstance(payload, tirx.FloatImm):  # infinity would bring a header with it
        return tirx.IntImm("uint32", struct.unpack("<I", struct.pack("<f", payload.value))[0])
    payload = ir_transform(tirx.Evaluate(payload), None, _plain, _REWRITTEN).value
    dtype = str(payload.dtype)
    if dtype in ("float16", "bfloat16"):
        return tirx.Cast("float32", payload)
    if dtype in ("int8", "int16", "uint8", "uint16"):
        return tirx.Cast("int32", payload)
    return payload


def _call(name: str, *args: Any) -> Stmt:
    converted = [tirx.IntImm("int32", a) if isinstance(a, int) else a for a in args]
    return tirx.Evaluate(tirx.Call("handle", Op.get("tirx.call_extern"), [tirx.StringImm(name), *converted]))


def _plain(node: Any) -> Any:
    """One node of a payload in a form that later passes leave alone.

    A load that they cannot prove to lie inside its buffer they would guard, and with it the record; ours reads 0 there.
    For a rounded division, or a choice between two values, they would put a variable in front of the record.
    """
    if isinstance(node, tirx.BufferLoad) and node.buffer.scope() == "global":
        return _load(node)
    if isinstance(node, (tirx.FloorDiv, tirx.FloorMod)) and str(node.dtype) == "int32":
        name = "__tlt_floordiv" if isinstance(node, tirx.FloorDiv) else "__tlt_floormod"
        return _value(node.dtype, name, node.a, node.b)
    if isinstance(node, tirx.Call) and getattr(node.op, "name", "") == "tirx.if_then_else":
        return tirx.Select(*node.args)
    return None


_REWRITTEN = ["tirx.BufferLoad", "tirx.FloorDiv", "tirx.FloorMod", "tirx.Call"]


def _load(load: Any) -> Expr:
    buffer = load.buffer
    strides = list(buffer.strides)
    if not strides:
        strides = [math.prod([1, *buffer.shape[axis + 1 :]]) for axis in range(len(buffer.shape))]
    at: Expr = tirx.IntImm("int64", 0)
    inside: Expr = tirx.IntImm("bool", 1)
    for index, extent, stride in zip(load.indices, buffer.shape, strides, strict=True):
        at = at + tirx.Cast("int64", index) * tirx.Cast("int64", stride)
        inside = tirx.all(inside, index >= 0, index < extent)
    value = _value(load.dtype, "__tlt_load", buffer.access_ptr("r", extent=1), at)
    analyzer = Analyzer()
    return tirx.Select(analyzer.simplify(inside), value, tirx.const(0, load.dtype))


def _value(dtype: Any, name: str, *args: Any) -> Expr:
    return tirx.Call(dtype, Op.get("tirx.call_pure_extern"), [tirx.StringImm(name), *args])


def _is_one(extent: Expr) -> bool:
    return isinstance(extent, tirx.IntImm) and int(extent) == 1


def _address(buffer: Any) -> Expr:
    if buffer.scope() == "global":
        return buffer.access_ptr("rw", extent=1)
    first = tirx.BufferLoad(buffer, [0] * len(buffer.shape))
    return tirx.Call("handle", Op.get("tirx.address_of"), [first])
