"""What the virtual GPU does with each thing that the IR can say: the tables that ``refusals`` checks a kernel against.

In: nothing. Out: tables. A field of a node, an attribute, an annotation of a block, a loop or a call, and an argument
of an operator is executed (``DONE``), or passed over for a stated reason (other text), or may only be there with some
values (:class:`Only`). What the tables do not name is refused.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from tvm import tirx

from tltrace_nb.simulator.intrinsics import BITS, BY_BLOCK, BY_WARP, INTEGER, SHUFFLES, SIMPLE, SPECIAL

DONE = "executed"


@dataclass(frozen=True, slots=True)
class Only:
    """Something that is executed, or does not matter, for some of its values."""

    right: Callable[[Any], bool]
    what: str


Decision = str | Only

_ABSENT = Only(lambda value: value is None, "nothing")
_EMPTY = Only(lambda value: not len(value), "nothing")
_FALSE = Only(lambda value: isinstance(value, (int, tirx.IntImm)) and not int(value), "0")
_NEAREST = Only(lambda notes: all(str(how) == "rn" for how in dict(notes or {}).values()), "rounding to nearest")
_TYPE = "what a value is, not what happens"

_PAIR: dict[str, Decision] = {"a": DONE, "b": DONE}
_BINARY = (
    "Add", "Sub", "Mul", "Div", "Mod", "FloorDiv", "FloorMod", "Min", "Max", "EQ", "NE", "LT", "LE", "GT", "GE", "And",
    "Or",
)  # fmt: skip

NODES: Mapping[str, Mapping[str, Decision]] = {
    # statements
    "SeqStmt": {"seq": DONE},
    "SBlockRealize": {"iter_values": _EMPTY, "predicate": DONE, "block": DONE},
    "SBlock": {
        "iter_vars": _EMPTY,
        "reads": "follows from the body",
        "writes": "follows from the body",
        "name_hint": "for people",
        "alloc_buffers": "a buffer is made when it is first used",
        "match_buffers": _EMPTY,
        "annotations": "see INNER_BLOCKS and LAUNCH",
        "init": _ABSENT,
        "body": DONE,
    },
    "AttrStmt": {"node": "see ATTRIBUTES", "attr_key": DONE, "value": "see ATTRIBUTES", "body": DONE},
    "Bind": {"var": DONE, "value": DONE},
    "BufferStore": {"buffer": DONE, "value": DONE, "indices": DONE, "predicate": _ABSENT},
    "IfThenElse": {"condition": DONE, "then_case": DONE, "else_case": DONE},
    "For": {
        "loop_var": DONE,
        "min": DONE,
        "extent": DONE,
        "kind": DONE,
        "body": DONE,
        "thread_binding": DONE,
        "annotations": "see LOOPS",
        "step": DONE,
    },
    "While": {"condition": DONE, "body": DONE},
    "AssertStmt": {"condition": DONE, "error_kind": "for people", "message_parts": DONE},
    "Evaluate": {"value": DONE},
    "AllocBuffer": {"buffer": "made when it is first used", "annotations": _EMPTY},
    "DeclBuffer": {"buffer": "made when it is first used"},
    # expressions
    **dict.fromkeys(_BINARY, _PAIR),
    "IntImm": {"value": DONE},
    "FloatImm": {"value": DONE},
    "StringImm": {"value": DONE},
    "Var": {"name": "for people", "type_annotation": _TYPE},
    "SizeVar": {"name": "for people", "type_annotation": _TYPE},
    "Not": {"a": DONE},
    "Cast": {"value": DONE, "annotations": _NEAREST},
    "Select": {"condition": DONE, "true_value": DONE, "false_value": DONE},
    "BufferLoad": {"buffer": DONE, "indices": DONE, "predicate": _ABSENT},
    "Call": {"op": DONE, "args": "see OPERATORS", "annotations": "see OPERATORS"},
    "Ramp": {"base": DONE, "stride": DONE, "lanes": DONE},
    "Broadcast": {"value": DONE, "lanes": DONE},
    "Shuffle": {"vectors": DONE, "indices": DONE},
}
"""Every kind of node, and what happens to each of its fields. Besides, all have a type, and a span for messages."""

ATTRIBUTES: Mapping[str, Decision] = {
    "thread_extent": "the launch has its extents",
    "kWarpSpecializationScope": "which role a branch is: the branch itself says which threads; footprint reads it",
    "kCustomWarpSpecialization": "keeps TileLang's scheduler away, which has run",
    "warp_specialize": "which role a branch is: the branch itself says which threads take it",
    "tl.ws_op_id": "names an operator for TileLang's scheduler, which has run",
    "tl.ws_pipeline_depth": "asks TileLang's scheduler for stages, which has run",
    "tl.assume": "a promise of the author's",
    "tl.assume_requires_runtime_check": "a promise that the host checks before the launch",
    "threadblock_swizzle_pattern": DONE,
    "async_scope": "copies within may end late; they are waited for before what they bring is read",
    "reduce_scope": DONE,
    "tl.min_blocks_per_sm": "limits registers: changes speed, not values",
    "pragma_unroll_explicit": "the compiler's way to write a loop",
    "pragma_auto_unroll_max_step": "the compiler's way to write a loop",
    "pragma_unroll_factor": "the compiler's way to write a loop",
    "pragma_import_c": "its functions are compiled for the host, or refused, where they are called",
}
"""Keys of attributes."""

LAUNCH: Mapping[str, Decision] = {
    "tl.launch_threads": DONE,
    "barrier_init": DONE,
    "reducer_info_v2": DONE,
    "cluster_dims": DONE,
    "safe_value_map": DONE,
    "layout_map": "where elements lie, not what they are",
    "pragma_import_c": "its functions are compiled for the host, or refused, where they are called",
    "l2_hit_ratio_map": "asks the cache to keep a buffer: changes speed, not values",
    "tl.ws_schedule": "TileLang's scheduler has carried it out",
    "tl.non_restrict_params": "forbids the compiler to assume something: buffers may be the same memory here anyway",
    "tl.smem_alignment_map": "where shared memory begins",
}
"""Annotations of the block around a launch."""

INNER_BLOCKS: Mapping[str, Decision] = {
    key: reason for key, reason in LAUNCH.items() if reason is not DONE
} | {"lexical_alloc_scope": "how long registers are held"}  # fmt: skip
"""Annotations of the other blocks: what is executed is executed for the whole launch, and refused in a part of it."""

LOOPS: Mapping[str, Decision] = {
    "num_stages": "TileLang's scheduler has made the pipeline, or has left the loop as it is",
    "tl_pipeline_order": "TileLang's scheduler has made the pipeline",
    "tl_pipeline_stage": "TileLang's scheduler has made the pipeline",
    "tl_pipelined_num_stages": "how deep the pipeline is that TileLang's scheduler has made",
    "tl.ws_op_id": "names an operator for TileLang's scheduler, which has run",
    "parallel_async_without_async_commit_wait": "copies within end late; what waits for them is there, too",
    "parallel_prefer_async": "copies within may end late; TileLang waits for them",
    "parallel_loop_layout": "which thread does what, not what is done",
    "coalesced_width": "which thread does what, not what is done",
    "pragma_unroll_explicit": "the compiler's way to write a loop",
    "pragma_unroll_factor": "the compiler's way to write a loop",
}
"""Annotations of loops."""

_SCHEDULED: dict[str, Decision] = {
    "tl.pipeline_mbar_phase_expr": "the waits that TileLang's scheduler wrote have the phase",
    "tl.ws_op_id": "names an operator for TileLang's scheduler, which has run",
}
_SHAPED: dict[str, Decision] = {
    **_SCHEDULED,
    "coalesced_width": "which thread does what, not what is done",
    "parallel_loop_layout": "which thread does what, not what is done",
}
_COPY: dict[str, Decision] = {
    **_SHAPED,
    "eviction_policy": "asks the cache: changes speed, not values",
    "disable_tma": "which instruction copies; the model prices a plain copy",
    "prefer_instruction": "which instruction copies; the model prices a plain copy",
    "is_tma_copy": "the operator is tma_copy",
    "no_implicit_async_commit_wait": DONE,
    "tma_descriptor_base_is_device_bound": "who makes the descriptor",
}
_TMA: dict[str, Decision] = {**_COPY, "barrier": DONE, "emit_arrive": DONE}
_GEMM: dict[str, Decision] = {
    **_SCHEDULED,
    "wg_wait": DONE,
    "k_pack": "how other makers' GPUs hold operands",
    "is_wgmma": "which instruction multiplies",
    "use_2cta": _FALSE,
    "is_tcgen05": _FALSE,
}
_REDUCE: dict[str, Decision] = {
    **_SCHEDULED,
    "batch": "how many reductions share a barrier",
    "nan_propagate": DONE,
    "enable_fadd2": "whether two sums go together",
}
_ATOMIC: dict[str, Decision] = {
    **_SHAPED,
    "memory_order": "atomics come one after the other here, and their writes are seen at once",
    "use_tma": "which instruction adds",
}


@dataclass(frozen=True, slots=True)
class Operator:
    """An operator's arguments by name in their order, the last ``more`` ones (if any may follow), its annotations."""

    arguments: Mapping[str, Decision]
    annotations: Mapping[str, Decision]
    more: Decision | None = None


def _operator(arguments: str, annotations: Mapping[str, Decision] | None = None, more: Decision | None = None,
              **others: Decision) -> Operator:  # fmt: skip
    """Arguments that are executed, but for ``others``."""
    return Operator({name: others.get(name, DONE) for name in arguments.split()}, annotations or {}, more)


_POLICY = "which warp computes what"
_PART = "the same as in the tile's region"
_HINT = "asks for registers, or orders what is in order here"
_MASK = "threads outside of it are not there"

OPERATORS: Mapping[str, Operator] = {
    "region": _operator("first access", more=DONE),
    "tileop.copy": _operator("source target", _COPY),
    "tileop.async_copy": _operator("source target", _COPY),
    "tileop.tma_copy": _operator("source target", _TMA),
    "tileop.fill": _operator("target value", _SCHEDULED),
    "tileop.gemm": _operator(
        "A B C transpose_A transpose_B M N K policy clear mbar row column",
        _GEMM, policy=_POLICY, mbar=_FALSE, row=_PART, column=_PART,
    ),
    "tileop.wgmma_gemm": _operator(
        "A B C transpose_A transpose_B M N K policy clear mbar row column",
        _GEMM, policy=_POLICY, mbar=_FALSE, row=_PART, column=_PART,
    ),
    "tileop.gemm_sp": _operator(
        "A E B C transpose_A transpose_E transpose_B M N K policy clear", _GEMM, policy=_POLICY
    ),
    "tileop.wgmma_gemm_sp": _operator(
        "A E B C transpose_A transpose_E transpose_B M N K policy clear", _GEMM, policy=_POLICY
    ),
    "tileop.reduce": _operator("source target kind axis clear", _REDUCE),
    "tileop.cumsum": _operator("source target axis reverse", _SCHEDULED),
    "tileop.cummax": _operator("source target axis reverse", _SCHEDULED),
    "tileop.transpose": _operator("source target", _SCHEDULED),
    "tileop.im2col": _operator(
        "image target step channel_step kernel stride dilation pad",
        {**_SCHEDULED, "eviction_policy": "asks the cache: changes speed, not values",
         "barrier": "the tile is there when the next statement comes",
         "emit_arrive": _FALSE},
    ),
    "tileop.atomicadd": _operator("value target", _ATOMIC),
    "tileop.atomicmax": _operator("value target", _ATOMIC),
    "tileop.atomicmin": _operator("value target", _ATOMIC),
    "tileop.reducer_init": _operator("reducer", _SCHEDULED, more=DONE),
    "reducer_update": _operator("element value"),
    "tileop.finalize_reducer_v2": _operator(
        "reducer target", {**_SCHEDULED, "batch": "how many reductions share a barrier"}
    ),
    # barriers, fences, hints
    "mbarrier_wait_parity": _operator("barrier parity"),
    "ptx_arrive_barrier": _operator("barrier"),
    "ptx_arrive_barrier_expect_tx": _operator("barrier bytes"),
    "mbarrier_expect_tx": _operator("barrier bytes"),
    "ptx_cp_async_barrier_noinc": _operator("barrier"),
    "ptx_commit_group": _operator(""),
    "ptx_wait_group": _operator("left"),
    "wait_wgmma": _operator("left"),
    "warpgroup_wait": _operator("left"),
    "tvm_storage_sync": _operator("scope", more=DONE),
    "named_barrier_arrive": _operator("barrier threads"),
    "cluster_sync": _operator(""),
    "cluster_arrive": _operator(""),
    "cluster_wait": _operator(""),
    "sync_grid": _operator(""),
    "sync_warp": _operator("", more=_MASK),
    "fence_proxy_async": _operator("", more=_HINT),
    "tma_store_arrive": _operator(""),
    "tma_store_wait": _operator("", more="a store has its effect at once"),
    "set_max_nreg": _operator("", more=_HINT),
    "no_set_max_nreg": _operator(""),
    "annotate_producer_reg_dealloc": _operator("", more=_HINT),
    "annotate_consumer_reg_alloc": _operator("", more=_HINT),
    "warpgroup_fence_operand": _operator("", more=_HINT),
    "warpgroup_arrive": _operator(""),
    "warpgroup_commit_batch": _operator(""),
    "pdl_sync": _operator(""),
    "pdl_trigger": _operator(""),
    "thread_return": _operator(""),
    "loop_break": _operator(""),
    "break_loop": _operator(""),
    "continue_loop": _operator(""),
    # elements and threads
    "access_ptr": _operator("first extent access", extent="tells how far it may go", access="tells what it is for"),
    "tvm_access_ptr": _operator("type data offset extent access", type=_TYPE, extent="tells how far it may go",
                                access="tells what it is for"),
    "type_annotation": _operator(""),
    "address_of": _operator("element"),
    "tvm_tuple": _operator("", more=DONE),
    "tvm_thread_allreduce": _operator("count value condition result", more=DONE),
    "ptx_cp_async": _operator("target source elements", more=DONE),
    **{f"atomic_{kind}{ret}_elem_op": _operator("target value", _ATOMIC, more=_ATOMIC["memory_order"])
       for kind in ("add", "max", "min", "or", "addx2", "addx4") for ret in ("", "_ret")},
    "atomic_load_elem_op": _operator("source", _ATOMIC, more=_ATOMIC["memory_order"]),
    "atomic_store_elem_op": _operator("target value", _ATOMIC, more=_ATOMIC["memory_order"]),
    "device_assert": _operator("condition"),
    "device_assert_with_msg": _operator("condition message"),
    "call_extern": _operator("name", more=DONE),
    "call_pure_extern": _operator("name", more=DONE),
    "rng_init": _operator("seed sequence offset generator"),
    "rng_rand": _operator(""),
    "rng_rand_float": _operator("distribution"),
    "if_then_else": _operator("condition then other"),
    "infinity": _operator("type", type=_TYPE),
    "reinterpret": _operator("value"),
    "large_uint_imm": _operator("low high"),
    "clamp": _operator("value low high"),
    "likely": _operator("value"),
    "tvm_static_handle": _operator("value"),
    "__ldg": _operator("element"),
    "bitwise_not": _operator("value"),
    "fma": _operator("a b c", more=DONE),
    "ieee_fmaf": _operator("a b c", more=DONE),
    "all_of": _operator("first count"),
    "any_of": _operator("first count"),
    "activemask": _operator(""),
    "get_lane_idx": _operator("", more=DONE),
    "get_warp_idx": _operator("", more=DONE),
    "get_warp_idx_sync": _operator("", more=DONE),
    "get_warp_group_idx": _operator("", more=DONE),
    "tl_shuffle_elect": _operator("threads"),
    "block_rank_in_cluster": _operator(""),
    **{name: _operator("mask value lane width", more="the width again", mask=_MASK) for name in SHUFFLES},
    **{name: _operator("mask value", mask=_MASK) for name in BY_WARP if name.endswith("_sync")},
    **{name: _operator("value") for name in BY_WARP if not name.endswith("_sync")},
    **{name: _operator("value") for name in BY_BLOCK},
    **{name: _operator("a b") for name in BITS},
    **{name: _operator("", more=DONE) for name in (*SPECIAL, *SIMPLE, *INTEGER)},
}  # fmt: skip
"""Operators by their names without ``tl.`` and ``tirx.``. One that is not here is refused where it is written."""
