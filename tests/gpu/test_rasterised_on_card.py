"""Reordered grids on the card: every record in its own CTA's slot, and block indices that are the kernel's."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import tilelang
import torch
from kernels import rasterised
from kernels.rasterised import NO_SPECIALISATION, gemm, operands
from kernels.tracks import tracks

from tltrace_nb.core.compile import numbering
from tltrace_nb.core.compile.compilation import Compilation
from tltrace_nb.core.compile.options import TraceOptions
from tltrace_nb.core.runtime.jit import compile_traced
from tltrace_nb.core.runtime.virtual import compile_virtual
from tltrace_nb.core.trace import Trace

SPECIALISED = [pytest.param(None, id="specialised"), pytest.param(NO_SPECIALISATION, id="plain")]
ON_HOPPER = pytest.mark.skipif(
    not torch.cuda.is_available() or torch.cuda.get_device_capability() < (9, 0), reason="clusters need sm_90"
)


def run(func: Any, inputs: tuple[Any, ...], pass_configs: Any = None, **options: Any) -> tuple[Any, Trace]:
    """The outputs of the second run, and its trace; both are those of the untraced kernel, bit by bit."""
    how = Compilation(out_idx=[-1], pass_configs=pass_configs)
    kernel = compile_traced(func, how, TraceOptions.of(**options), lambda _: None)
    for _ in range(2):
        result, trace = kernel.run(inputs)
    plain = tilelang.compile(numbering.strip(func), out_idx=[-1], pass_configs=pass_configs)
    assert torch.equal(result, plain(*inputs))
    return result, trace


def whole(trace: Trace, ctas: int, events: int) -> None:
    assert trace.losses.empty, trace.losses
    assert len(trace.events) == events
    assert not trace.events["truncated"].any()
    assert trace.ctas["cta"].tolist() == list(range(ctas))
    place = trace.events["block_z"] * 10000 + trace.events["block_y"] * 100 + trace.events["block_x"]
    assert (trace.events["payload"] == place).all()


@pytest.mark.parametrize("pass_configs", SPECIALISED)
@pytest.mark.parametrize("order", ["row", "column"])
@pytest.mark.parametrize(("columns", "rows"), [(4, 4), (7, 5), (64, 64)])
def test_a_product_over_a_reordered_grid(columns: int, rows: int, order: str, pass_configs: Any) -> None:
    a, b = operands(columns, rows)("cuda")
    c, trace = run(gemm(columns, rows, 3, order), (a, b), pass_configs)
    torch.testing.assert_close(c.float(), a.float() @ b.float(), rtol=1e-2, atol=0.1)
    whole(trace, columns * rows, columns * rows * 5)


@ON_HOPPER
@pytest.mark.parametrize("pass_configs", SPECIALISED)
@pytest.mark.parametrize(("panel", "order"), [(2, "row"), (4, "row"), (4, "column"), (20, "column")])
def test_a_product_in_clusters(panel: int, order: str, pass_configs: Any) -> None:
    a, b = operands(6, 5)("cuda")
    _, trace = run(gemm(6, 5, panel, order, cluster=(2, 1, 1)), (a, b), pass_configs)
    whole(trace, 30, 150)


@pytest.mark.parametrize("order", ["row", "column"])
def test_planes_are_reordered_one_by_one(order: str) -> None:
    a = torch.rand(3, 5, 4, 128, device="cuda")
    b, trace = run(rasterised.deep(4, 5, 3, 2, order), (a,))
    assert torch.equal(b, a * 2)
    whole(trace, 60, 60)


def test_a_grid_known_at_run_time() -> None:
    a = torch.rand(7, 3, 128, device="cuda")
    b, trace = run(rasterised.dynamic(3, 2), (a,))
    assert torch.equal(b, a * 2)
    whole(trace, 21, 21)


@pytest.mark.parametrize("ctas", [[0], [1, 4, 7, 10], [0, 3, 11]], ids=["one", "in steps", "some"])
def test_some_ctas_are_those_that_are_asked_for(ctas: list[int]) -> None:
    func, a = rasterised.deep(3, 4, 1, 3), torch.rand(1, 4, 3, 128, device="cuda")
    _, trace = run(func, (a,), ctas=ctas)
    assert trace.events["cta"].tolist() == ctas
    assert trace.losses.empty
    _, everything = run(func, (a,))
    of_all = everything.events.set_index("cta")["payload"]
    assert trace.events["payload"].tolist() == of_all[ctas].tolist()


def test_ctas_are_handed_out_by_the_hardware_s_id() -> None:
    """What ``cta`` is for: the first wave are the lowest ids."""
    a, b = operands(64, 64)("cuda")
    _, trace = run(gemm(64, 64, 3), (a, b))
    first = trace.ctas.nsmallest(torch.cuda.get_device_properties(0).multi_processor_count, "start_ns")
    assert np.median(first["cta"]) < 4096 / 4


@pytest.mark.parametrize("pass_configs", SPECIALISED)
@pytest.mark.parametrize("order", ["row", "column"])
def test_the_virtual_gpu_has_the_same_blocks_in_the_same_ctas(order: str, pass_configs: Any) -> None:
    major, minor = torch.cuda.get_device_capability()
    if (major, minor) != (9, 0):
        pytest.skip(f"the model is an H200, this card is sm_{major}{minor}")
    func = gemm(7, 5, 3, order)
    _, real = run(func, operands(7, 5)("cuda"), pass_configs)
    _, virtual = compile_virtual(func, "h200", pass_configs=pass_configs).run(operands(7, 5)("cpu"))
    assert tracks(virtual) == tracks(real)
    blocks = ["cta", "block_x", "block_y", "block_z"]
    assert virtual.ctas[blocks].equals(real.ctas[blocks])


def test_a_swizzle_in_a_branch_is_the_virtual_gpu_s_too() -> None:
    """Its payloads are what the kernel has; its block columns say that they cannot be told."""
    func = rasterised.in_a_branch(3, 4, 3)
    a, flag = torch.rand(4, 3, 128, device="cuda"), (torch.arange(12).reshape(4, 3) % 2).int().cuda()
    kernel = compile_traced(func, Compilation(), TraceOptions(), lambda _: None)
    _, real = kernel.run((a, flag, torch.zeros(4, 3, 128, device="cuda")))
    _, virtual = compile_virtual(func, "h200").run((a.cpu(), flag.cpu(), torch.zeros(4, 3, 128)))
    assert tracks(virtual) == tracks(real)
    assert real.losses.empty
    assert (real.ctas[["block_x", "block_y", "block_z"]] == -1).all(axis=None)
