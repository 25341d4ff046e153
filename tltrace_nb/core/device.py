"""The device helper: CUDA functions that record (``device.cuh``), and the TIR calls that invoke them.

In: TIR expressions of a lowering. Out: the CUDA text that a traced kernel imports, and calls to its functions. The
words written here are those of ``core.slots``.

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

from importlib.resources import files
from typing import Any

import tilelang  # noqa: F401  (puts the tvm that TileLang bundles on the path)
from tvm import tirx
from tvm.ir import Op

from tltrace_nb.core.ir import Expr, Stmt
from tltrace_nb.core.sites import Keep, SiteTable
from tltrace_nb.core.slots import HEADER_RECORDS, RECORD_BYTES, STATE_DONE, STATE_OPEN

PREFIX = "__tlt_"
"""Begins the names of all that tracing adds to a kernel."""

CURSOR = "__tlt_cursor"
SLOTS = "slots"
NUM_CTA = "__tlt_num_cta"

ENTER = "__tlt_enter"
LEAVE = "__tlt_leave"
RECORD = "__tlt_record"


def record_name(keep: Keep, beside: bool) -> str:
    """The device function that records; ``beside``: with the clock of the record directly before it."""
    return RECORD + ("_ring" if keep is Keep.LAST else "") + ("_beside" if beside else "")


def _helper() -> str:
    """The text of ``device.cuh`` behind the layout's numbers, once per translation unit and with a final newline."""
    numbers = {
        "HEADER_RECORDS": HEADER_RECORDS,
        "RECORD_BYTES": RECORD_BYTES,
        "STATE_OPEN": f"{STATE_OPEN:#x}u",
        "STATE_DONE": f"{STATE_DONE:#x}u",
    }
    defines = "\n".join(f"#define __TLT_{name} {value}" for name, value in numbers.items())
    body = files("tltrace_nb.core").joinpath("device.cuh").read_text(encoding="utf-8").strip()
    return f"\n#ifndef __TLT_HELPER\n#define __TLT_HELPER\n{defines}\n{body}\n#endif\n"


HELPER = _helper()
"""The CUDA text that a traced kernel imports."""


def cursor_buffer() -> Any:
    """The cursor: ``uint32[4]``, local."""
    return tirx.decl_buffer((4,), "uint32", name=CURSOR, scope="local")


def boundary_call(name: str, cursor: Any, slots: Any, *, row: Expr, writer: Expr, table: SiteTable) -> Stmt:
    """``__tlt_enter`` or ``__tlt_leave``. ``row`` and ``writer`` are -1 in CTAs and threads that do not record."""
    ring = tirx.IntImm("bool", int(table.keep is Keep.LAST))
    tag = [tirx.IntImm("uint32", table.tag)] if name == ENTER else []
    return _call(name, _address(cursor), _address(slots), row, writer, len(table.writers), table.capacity, ring, *tag)


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
    """The payload widened to 32 bits: int32, uint32, float32 or bool."""
    dtype = str(payload.dtype)
    if dtype in ("float16", "bfloat16"):
        return tirx.Cast("float32", payload)
    if dtype in ("int8", "int16", "uint8", "uint16"):
        return tirx.Cast("int32", payload)
    return payload


def _call(name: str, *args: Any) -> Stmt:
    converted = [tirx.IntImm("int32", a) if isinstance(a, int) else a for a in args]
    return tirx.Evaluate(tirx.Call("handle", Op.get("tirx.call_extern"), [tirx.StringImm(name), *converted]))


def _address(buffer: Any) -> Expr:
    first = tirx.BufferLoad(buffer, [0] * len(buffer.shape))
    return tirx.Call("handle", Op.get("tirx.address_of"), [first])
