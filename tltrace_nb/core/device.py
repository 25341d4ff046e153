"""The device helper: CUDA functions that record, and the TIR calls that invoke them.

In: TIR expressions of a lowering. Out: the CUDA text that a traced kernel imports, and calls to its functions. The words
written here are those of ``core.slots``.

A record costs one predicated 16-byte store: no branch, no memory clobber. Every thread bumps its cursor; threads that do
not write have an ``end`` of 0, so the same comparison that guards the capacity keeps them silent. Markers that stand side
by side read the clock once: nothing happens between them, and on Hopper a reading costs as much as the store. The cursor
is a local array that inlining turns into registers:

=====  ========================================  ==============================================
word   ``keep="first"``                          ``keep="last"``
=====  ========================================  ==============================================
0      index of the next record in the slots     markers executed so far
1      end of this writer's records, 0: silent   index of this writer's first record, 0: silent
2, 3   the clock read last, low and high half    the same
=====  ========================================  ==============================================
"""

from __future__ import annotations

from typing import Any

import tilelang  # noqa: F401  (puts the tvm that TileLang bundles on the path)
from tvm import tirx
from tvm.ir import Op

from tltrace_nb.core.ir import Expr, Stmt
from tltrace_nb.core.sites import Keep, SiteTable
from tltrace_nb.core.slots import HEADER_RECORDS, RECORD_BYTES, STATE_DONE, STATE_OPEN

CURSOR = "__tlt_cursor"
SLOTS = "slots"
NUM_CTA = "__tlt_num_cta"

ENTER = "__tlt_enter"
LEAVE = "__tlt_leave"
RECORD = "__tlt_record"

def record_name(keep: Keep, beside: bool) -> str:
    """The device function that records; ``beside``: with the clock of the record directly before it."""
    return RECORD + ("_ring" if keep is Keep.LAST else "") + ("_beside" if beside else "")


def _record(name: str, *, ring: bool, fresh: bool) -> str:
    """CUDA text of one recording function.

    All of it is one assembly statement, which the compiler counts as one instruction when it decides on unrolling a loop;
    it is volatile, and the compiler keeps volatile assembly in order.
    """
    clock = "=r" if fresh else "r"
    read = r"mov.u64 now, %%clock64;\n\tmov.b64 {%1, %2}, now;\n\t" if fresh else ""
    outputs, inputs = (['"+r"(cursor[0])'], ['"r"(cursor[1])', '"l"(slots)', '"r"(site)', '"r"(__tlt_bits(payload))'])
    words = [f'"{clock}"(cursor[{i}])' for i in (2, 3)]
    if fresh:
        outputs += words
    else:
        inputs = [*words, *inputs]
    index = r"and.b32 index, %0, %8;\n\tadd.u32 index, index, %3;\n\t" if ring else r"mov.u32 index, %0;\n\t"
    speaks = "setp.ne.u32 p, %3, 0;" if ring else "setp.lt.u32 p, %0, %3;"
    inputs += ['"r"((unsigned)mine)', *(['"r"(mask)'] if ring else [])]
    mask = "unsigned mask, " if ring else ""
    return rf"""template <typename Payload>
static __device__ __forceinline__ void {name}(unsigned* __restrict__ cursor, int64_t* __restrict__ slots, unsigned site, Payload payload, {mask}bool mine = true) {{
  asm volatile(
      "{{\n\t.reg .pred p;\n\t.reg .b64 now, at;\n\t.reg .b32 index;\n\t"
      "{speaks}\n\tsetp.ne.and.u32 p, %7, 0, p;\n\t{index}"
      "mad.wide.u32 at, index, {RECORD_BYTES}, %4;\n\t{read}"
      "@p st.global.v4.b32 [at], {{%1, %2, %5, %6}};\n\t"
      "add.u32 %0, %0, %7;\n\t}}"
      : {", ".join(outputs)} : {", ".join(inputs)});
}}"""


_SIGNATURE = "unsigned* __restrict__ cursor, int64_t* __restrict__ slots, int row, int writer, int writers, int capacity"

# The clock is read by volatile assembly right before the store, and the compiler keeps volatile assembly in order.
HELPER = f"""
// __tlt_ device helper of tltrace_nb
#ifndef __TLT_HELPER
#define __TLT_HELPER
static __device__ __forceinline__ unsigned long long __tl_now() {{
  unsigned long long now;
  asm volatile("mov.u64 %0, %%clock64;" : "=l"(now));
  return now;
}}
static __device__ __forceinline__ unsigned long long __tlt_global_ns() {{
  unsigned long long now;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
  return now;
}}
static __device__ __forceinline__ int __tl_thread_idx_x() {{ return threadIdx.x; }}
template <typename Integer>
static __device__ __forceinline__ unsigned __tlt_bits(Integer value) {{ return (unsigned)value; }}
static __device__ __forceinline__ unsigned __tlt_bits(float value) {{ return __float_as_uint(value); }}
static __device__ __forceinline__ void __tlt_enter({_SIGNATURE}, bool ring, unsigned tag) {{
  bool silent = row < 0 || writer < 0;
  unsigned header = ((unsigned)row * writers + writer) * (unsigned)({HEADER_RECORDS} + capacity);
  unsigned first = header + {HEADER_RECORDS};
  cursor[0] = ring ? 0u : first;
  cursor[1] = silent ? 0u : ring ? first : first + capacity;
  if (silent) return;
  unsigned sm;
  asm volatile("mov.u32 %0, %%smid;" : "=r"(sm));
  unsigned thread = threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
  longlong2* record = reinterpret_cast<longlong2*>(slots) + header;
  record[0] = make_longlong2((long long)((unsigned long long){STATE_OPEN:#x}u << 32), (long long)((unsigned long long)thread << 32 | tag << 16 | sm));
  record[1] = make_longlong2((long long)__tl_now(), (long long)__tlt_global_ns());
}}
static __device__ __forceinline__ void __tlt_leave({_SIGNATURE}, bool ring) {{
  if (row < 0 || writer < 0) return;
  unsigned header = ((unsigned)row * writers + writer) * (unsigned)({HEADER_RECORDS} + capacity);
  unsigned executed = ring ? cursor[0] : cursor[0] - header - {HEADER_RECORDS};
  longlong2* record = reinterpret_cast<longlong2*>(slots) + header;
  record[2] = make_longlong2((long long)__tl_now(), (long long)__tlt_global_ns());
  record[0].x = (long long)((unsigned long long){STATE_DONE:#x}u << 32 | executed);
}}
{_record("__tlt_record", ring=False, fresh=True)}
{_record("__tlt_record_beside", ring=False, fresh=False)}
{_record("__tlt_record_ring", ring=True, fresh=True)}
{_record("__tlt_record_ring_beside", ring=True, fresh=False)}
#endif
"""


def cursor_buffer() -> Any:
    """The cursor: ``uint32[4]``, local."""
    return tirx.decl_buffer((4,), "uint32", name=CURSOR, scope="local")


def boundary_call(
    name: str, cursor: Any, slots: Any, *, row: Expr, writer: Expr, table: SiteTable
) -> Stmt:
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
