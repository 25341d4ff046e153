"""Generated programs are valid Python: every form of statement in every other, and expressions of any depth."""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import tilelang.language as T
from tvm import tirx

from tltrace_nb.base.gpus import preset
from tltrace_nb.core.compile.ir import op_name, sequence, walk
from tltrace_nb.core.runtime.virtual import VirtualKernel, compile_virtual, simulate
from tltrace_nb.simulator.errors import UnsupportedError
from tltrace_nb.simulator.fragments import Spread
from tltrace_nb.simulator.liveness import needed_data
from tltrace_nb.simulator.predicates import as_branches
from tltrace_nb.simulator.program import Program, compile_launch
from tltrace_nb.simulator.source_lines import Lines

ONE, TRUE = tirx.IntImm("int32", 1), tirx.IntImm("bool", 1)


def donor() -> Any:
    """A kernel of two roles that has one of each form of statement; its parts are put together anew."""

    @T.prim_func
    def donor(A: T.Tensor((64, 64), "float16"), N: T.Tensor((1,), "int32"), C: T.Tensor((64, 64), "float32")):
        with T.Kernel(1, threads=256):
            tx = T.get_thread_binding()
            tile = T.alloc_shared((64, 64), "float16")
            sums = T.alloc_fragment((64, 64), "float32")
            row = T.alloc_fragment((64,), "float32")
            count = T.alloc_var("int32", init=0)
            ready = T.alloc_barrier(128)
            if tx < 128:
                T.copy(A, tile)
                T.barrier_arrive(ready[0])
            else:
                T.barrier_wait(ready[0], 0)
                T.clear(sums)
                T.gemm(tile, tile, sums)
                T.reduce_sum(sums, row, dim=1)
                for i, j in T.Parallel(64, 64):
                    sums[i, j] = sums[i, j] + row[i]
                T.copy(sums, C)
            T.sync_threads()
            while count < N[0]:
                count = count + 1
            twice = N[0] * N[0]
            T.device_assert(twice >= 0)
            C[tx % 64, 0] = T.if_then_else(tx > twice, T.cast(A[tx % 64, 0], "float32"), 1.0)

    return donor


@pytest.fixture(scope="module")
def kernel() -> VirtualKernel:
    return compile_virtual(donor(), "h200")


def simple(kernel: VirtualKernel) -> dict[str, Any]:
    """One statement of each form that holds no other, and nothing at all."""
    found = {"nothing": sequence([])}
    for s, _ in walk(kernel.shapes[0].body):
        if isinstance(s, (tirx.Evaluate, tirx.BufferStore, tirx.Bind)) and not op_name(s).startswith("__tlt"):
            found.setdefault(op_name(s) or type(s).__name__, s)
        elif isinstance(s, tirx.For) and s.kind == tirx.ForKind.PARALLEL:
            found.setdefault("T.Parallel", s)
    return found


def containers(kernel: VirtualKernel) -> dict[str, Callable[[Any], Any]]:
    """One maker of each form of statement that holds another."""
    shape = kernel.shapes[0]
    data = next(b for b in kernel.ready.buffer_map.values() if str(b.name) == "N")
    thread, loaded = shape.thread_vars[0], tirx.BufferLoad(data, [0])

    def loop(kind: int, extent: Any = ONE, step: Any = None) -> Callable[[Any], Any]:
        return lambda s: tirx.For(tirx.Var("i", "int32"), tirx.IntImm("int32", 0), extent, kind, s, step=step)

    def branch(condition: Any, *, other: bool = False) -> Callable[[Any], Any]:
        return lambda s: tirx.IfThenElse(condition, s, s if other else None)

    def block(s: Any) -> Any:
        return tirx.SBlockRealize([], loaded > 0, tirx.SBlock([], [], [], "", s))

    kinds = tirx.ForKind
    return {
        "sequence": lambda s: sequence([s, s]),
        "serial": loop(kinds.SERIAL),
        "unrolled": loop(kinds.UNROLLED),
        "vectorized": loop(kinds.VECTORIZED),
        "of unknown extent": loop(kinds.SERIAL, loaded),
        "of another extent in each thread": loop(kinds.SERIAL, thread % 4),
        "if": branch(loaded > 0),
        "if and else": branch(loaded > 0, other=True),
        "if in some threads": branch(thread % 32 < loaded),
        "if and else in some threads": branch(thread % 32 < loaded, other=True),
        "role": branch(thread < 128),
        "roles": branch(thread < 128, other=True),
        "while": lambda s: tirx.While(loaded < 0, s),
        "while in some threads": lambda s: tirx.While(thread < loaded, s),
        "attribute": lambda s: tirx.AttrStmt(tirx.IntImm("int32", 0), "tl.assume", TRUE, s),
        "block with a predicate": block,
    }


def compiled(kernel: VirtualKernel, body: Any, functional: bool) -> Program:
    """A program of a body; as ``compile_virtual`` makes it."""
    shape = replace(kernel.shapes[0], body=as_branches(body))
    needed = (lambda _: True) if functional else needed_data(shape.body)
    spreads: dict[Any, Spread] = {}
    parameters = list(kernel.ready.buffer_map.values())
    return compile_launch(
        "nested", shape, preset("h200"), needed, kernel.annotations[0], parameters, spreads, Lines("", {})
    )


@pytest.mark.parametrize("functional", [True, False])
def test_every_form_of_statement_nests_in_every_other(kernel: VirtualKernel, functional: bool) -> None:
    makers = containers(kernel)
    inner = simple(kernel)
    assert {"nothing", "T.Parallel", "BufferStore", "Bind", "tl.tileop.copy", "tl.tileop.gemm"} <= set(inner)
    some = [inner[name] for name in ("nothing", "BufferStore", "tl.tileop.copy")]
    bodies = [outer(statement) for outer in makers.values() for statement in inner.values()]
    bodies += [o(m(statement)) for o, m, statement in itertools.product(makers.values(), makers.values(), some)]
    made = 0
    for body in bodies:
        try:
            compiled(kernel, body, functional)
        except UnsupportedError:
            continue  # refused with a reason; a SyntaxError is not
        made += 1
    assert made > 0.8 * len(bodies)


def test_a_branch_in_which_nothing_is_to_be_computed_is_a_branch(kernel: VirtualKernel) -> None:
    makers = containers(kernel)
    source = compiled(kernel, makers["if and else"](makers["roles"](sequence([]))), functional=False).source
    assert source.count("pass") == 4


def test_a_loop_with_a_step_goes_up_to_its_extent(kernel: VirtualKernel) -> None:
    """As TVM's C does; no front end of TileLang's writes such a loop, but a pass may."""
    store = simple(kernel)["BufferStore"]
    low, extent, step = (tirx.IntImm("int32", n) for n in (3, 10, 4))
    body = tirx.For(tirx.Var("i", "int32"), low, extent, tirx.ForKind.SERIAL, store, step=step)
    (turns,) = re.findall(r"in (range\(.*\)):", compiled(kernel, body, functional=True).source)
    assert list(eval(turns)) == [3, 7, 11]


@pytest.mark.parametrize("terms", [50, 400])
def test_long_sums_have_their_value(terms: int) -> None:
    @T.prim_func
    def long_sum(A: T.Tensor((1000,), "float32"), B: T.Tensor((2,), "float32")):
        with T.Kernel(1, threads=1):
            B[0] = sum((A[i] for i in range(terms)), start=T.float32(0))
            B[1] = T.float32(0)

    a = np.arange(1000, dtype=np.float32)
    outputs, _ = simulate(long_sum, [a])
    assert outputs.tolist() == [a[:terms].sum(), 0]


def test_code_that_is_nested_deeper_than_python_nests_is_refused(kernel: VirtualKernel) -> None:
    body = next(s for name, s in simple(kernel).items() if name == "BufferStore")
    for _ in range(21):
        body = containers(kernel)["of unknown extent"](body)
    with pytest.raises(UnsupportedError, match="nested so deeply"):
        compiled(kernel, body, functional=True)


def test_no_loop_is_left_from_inside_of_a_parallel_one() -> None:
    @T.prim_func
    def leaves(A: T.Tensor((64,), "float32")):
        with T.Kernel(1, threads=64):
            for _ in T.serial(4):
                for i in T.Parallel(64):
                    if A[i] > 0:
                        T.loop_break()
                    A[i] = A[i] + 1.0

    with pytest.raises(UnsupportedError, match=r"leaving a loop from inside of T\.Parallel"):
        compile_virtual(leaves)
