"""Everything that the IR can say is executed, passed over for a reason, or refused; and nothing is left undecided."""

from __future__ import annotations

from typing import Any

import pytest
import tilelang.language as T
import torch
from kernels import REFERENCES, Reference, builds
from tvm import tirx

from tltrace_nb.core.compile import numbering
from tltrace_nb.core.compile.ir import ROOT_BLOCK, ir_transform, post_order_visit
from tltrace_nb.core.compile.schedule import schedule
from tltrace_nb.core.runtime.virtual import compile_virtual, simulate
from tltrace_nb.simulator.decisions import ATTRIBUTES, DONE, INNER_BLOCKS, LAUNCH, LOOPS, NODES, OPERATORS, Only
from tltrace_nb.simulator.errors import UnsupportedError

REFUSED = {"Let", "PrimExpr", "ProducerLoad", "Reduce", "Stmt"}
"""Kinds of nodes that the virtual GPU does not execute: what TileLang makes no use of, and the abstract ones."""
TABLES = {"ATTRIBUTES": ATTRIBUTES, "LAUNCH": LAUNCH, "INNER_BLOCKS": INNER_BLOCKS, "LOOPS": LOOPS}


def kinds() -> dict[str, set[str]]:
    """Every kind of statement and expression that TVM has, and its own fields."""
    found = {}
    for kind in vars(tirx).values():
        info = getattr(kind, "__tvm_ffi_type_info__", None)
        if isinstance(kind, type) and info is not None and issubclass(kind, (tirx.Stmt, tirx.PrimExpr)):
            found[kind.__name__] = {field.name for field in info.fields} - {"dtype", "span"}
    return found


def test_every_kind_of_node_is_decided() -> None:
    assert set(kinds()) - REFUSED == set(NODES)


@pytest.mark.parametrize("kind", sorted(set(kinds()) - REFUSED))
def test_every_field_of_a_node_is_decided(kind: str) -> None:
    inherited = kinds()["Var"] if kind == "SizeVar" else set()
    assert kinds()[kind] | inherited == set(NODES[kind])


def test_every_decision_has_its_reason() -> None:
    tables = [*TABLES.values(), *NODES.values()]
    tables += [part for o in OPERATORS.values() for part in (o.arguments, o.annotations)]
    for decision in (d for table in tables for d in table.values()):
        assert isinstance(decision, Only) or decision == DONE or len(decision.split()) > 1


@pytest.mark.some(40)
@pytest.mark.parametrize(
    ("reference", "architecture"),
    [pytest.param(r, a, id=f"{r}-{a}") for r in REFERENCES for a in r.architectures],
)
def test_nothing_in_the_references_is_undecided(reference: Reference, architecture: str) -> None:
    target = builds.target_of(architecture)
    with target:
        func = schedule(numbering.strip(reference.build()), target, reference.pass_configs)
    undecided: set[tuple[str, str]] = set()

    def look(what: str, keys: Any, table: Any) -> None:
        undecided.update((what, key) for key in keys if key not in table)

    def visit(node: Any) -> None:
        look("node", [type(node).__name__], NODES)
        match node:
            case tirx.AttrStmt():
                look("attribute", [node.attr_key], ATTRIBUTES)
            case tirx.SBlock():
                look("block", node.annotations, LAUNCH if node.name_hint == ROOT_BLOCK else INNER_BLOCKS)
            case tirx.For():
                look("loop", node.annotations, LOOPS)
            case tirx.Call():
                name = str(node.op.name).removeprefix("tirx.").removeprefix("tl.")
                look("operator", [name], OPERATORS)
                if name in OPERATORS:
                    look(f"annotation of {name}", node.annotations or {}, OPERATORS[name].annotations)
                    many = len(node.args) > len(OPERATORS[name].arguments) and OPERATORS[name].more is None
                    look("arguments of", [name] if many else [], ())

    post_order_visit(func.body, visit)
    assert undecided == set()


@T.macro
def _noted_loop(A):
    for i in T.serial(8, annotations={"never_heard_of": 1}):
        A[i] = 1.0


@T.macro
def _noted_copy(A):
    tile = T.alloc_shared((64,), "float32")
    T.copy(A, tile, annotations={"never_heard_of": 1})


@T.macro
def _gathering_copy(A):
    tile = T.alloc_shared((64,), "float32")
    T.copy(A, tile, annotations={"is_gather4": True})


@T.macro
def _noted_block(A):
    T.sblock_attr({"never_heard_of": 1})
    A[0] = 1.0


@T.macro
def _attribute(A):
    with T.attr(0, "never_heard_of", 1):
        A[0] = 1.0


@pytest.mark.parametrize(
    ("construct", "named"),
    [
        (_noted_loop, "loops annotated with never_heard_of"),
        (_noted_copy, r"tileop\.copy with never_heard_of"),
        (_gathering_copy, r"tileop\.copy with is_gather4"),
        (_noted_block, "annotated with never_heard_of"),
        (_attribute, "the attribute never_heard_of"),
    ],
)
def test_what_nobody_decided_on_is_refused_with_its_line(construct: Any, named: str) -> None:
    @T.prim_func
    def refused(A: T.Tensor((64,), "float32")):
        with T.Kernel(1, threads=64):
            construct(A)

    with pytest.raises(UnsupportedError, match=rf"kernel refused, .*test_decisions\.py:\d+: .*{named}"):
        compile_virtual(refused)


def changed(func: Any, kind: str, change: Any) -> Any:
    """A PrimFunc with nodes of a kind replaced, as no front end writes them."""
    return func.with_body(ir_transform(func.body, None, change, [f"tirx.{kind}"]))


def numbered() -> Any:
    @T.prim_func
    def numbered(A: T.Tensor((16,), "int32")):
        with T.Kernel(1, threads=1):
            for i in T.serial(10):
                A[i] = i + 1

    return numbered


def test_a_store_with_a_predicate_is_refused() -> None:
    def predicated(s: Any) -> Any:
        value, never = tirx.Broadcast(s.value, 4), tirx.Broadcast(tirx.IntImm("bool", 0), 4)
        return tirx.BufferStore(s.buffer, value, [tirx.Ramp(s.indices[0], 1, 4)], never)

    func = changed(numbered(), "BufferStore", predicated)
    with pytest.raises(UnsupportedError, match="a BufferStore whose predicate is not nothing"):
        compile_virtual(func)


def test_a_loop_around_a_kernel_is_refused() -> None:
    @T.prim_func
    def repeated(A: T.Tensor((64,), "float32")):
        for _ in T.serial(3):
            with T.Kernel(1, threads=64):
                tx = T.get_thread_binding()
                A[tx] = A[tx] + 1.0

    with pytest.raises(UnsupportedError, match=r"a For outside of T\.Kernel"):
        compile_virtual(repeated)


@pytest.mark.parametrize("nan", [False, True])
def test_a_maximum_gives_way_to_nan_where_it_is_asked_to(nan: bool) -> None:
    @T.prim_func
    def largest(A: T.Tensor((4, 64), "float16"), B: T.Tensor((4,), "float16")):
        with T.Kernel(1, threads=64):
            values = T.alloc_fragment((4, 64), "float16")
            most = T.alloc_fragment((4,), "float16")
            T.copy(A, values)
            T.reduce_max(values, most, dim=1, nan_propagate=nan)
            T.copy(most, B)

    a = torch.arange(256, dtype=torch.float16).reshape(4, 64)
    a[2, 5] = float("nan")
    b, _ = simulate(largest, [a])
    wanted = a.nan_to_num(-1).amax(1)
    wanted[2] = float("nan") if nan else wanted[2]
    torch.testing.assert_close(b, wanted, equal_nan=True)
