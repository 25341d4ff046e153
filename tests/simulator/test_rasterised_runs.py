"""The virtual GPU hands out blocks as a card does where ``T.use_swizzle`` reorders the grid."""

from __future__ import annotations

from typing import Any

import pytest
import tilelang.language as T
import torch
from kernels import panels, rasterised
from kernels.rasterised import NO_SPECIALISATION, gemm

from tltrace_nb import trace
from tltrace_nb.core.compile.options import TraceOptions
from tltrace_nb.core.runtime.virtual import simulate
from tltrace_nb.core.trace import Trace
from tltrace_nb.simulator.errors import DeadlockError, UnsupportedError

DEVICES = [
    pytest.param("a100", None, id="sm_80"),
    pytest.param("h200", None, id="sm_90a specialised"),
    pytest.param("h200", NO_SPECIALISATION, id="sm_90a unspecialised"),
]
GRIDS = [
    pytest.param((4, 4, 3, "row"), id="4x4 row"),
    pytest.param((4, 4, 3, "column"), id="4x4 column"),
    pytest.param((7, 5, 3, "row"), id="7x5 row"),
    pytest.param((7, 5, 3, "column"), id="7x5 column"),
    pytest.param((3, 2, 9, "row"), id="panel beyond the grid, row"),
    pytest.param((3, 2, 9, "column"), id="panel beyond the grid, column"),
    pytest.param((1, 6, 2, "row"), id="one column"),
    pytest.param((6, 1, 2, "column"), id="one row"),
]


def whole(captured: Trace, ctas: int, events: int) -> None:
    """Every event is there, in the row of its block."""
    assert captured.losses.empty
    rows = captured.events
    assert len(rows) == events
    assert not rows["truncated"].any()
    assert sorted(captured.ctas["cta"]) == list(range(ctas))
    place = rows["block_z"] * 10000 + rows["block_y"] * 100 + rows["block_x"]
    assert (rows["payload"] == place).all()


def product(columns: int, rows: int) -> tuple[Any, Any, Any]:
    a, b = rasterised.operands(columns, rows)("cpu")
    return a, b, (a.float() @ b.float()).half()


@pytest.mark.some(6)
@pytest.mark.parametrize(("gpu", "pass_configs"), DEVICES)
@pytest.mark.parametrize("grid", GRIDS)
def test_a_product_over_a_reordered_grid(grid: tuple[int, int, int, str], gpu: str, pass_configs: Any) -> None:
    columns, rows, *_ = grid
    a, b, wanted = product(columns, rows)
    c, captured = simulate(gemm(*grid), [a, b], gpu=gpu, pass_configs=pass_configs)
    torch.testing.assert_close(c, wanted, rtol=1e-2, atol=0.1)
    whole(captured, columns * rows, columns * rows * 5)


@pytest.mark.parametrize("pass_configs", [None, NO_SPECIALISATION], ids=["specialised", "unspecialised"])
@pytest.mark.parametrize(("panel", "order"), [(2, "row"), (4, "row"), (4, "column"), (20, "column")])
def test_a_product_in_clusters(panel: int, order: str, pass_configs: Any) -> None:
    a, b, wanted = product(6, 5)
    kernel = gemm(6, 5, panel, order, cluster=(2, 1, 1))
    c, captured = simulate(kernel, [a, b], gpu="h200", pass_configs=pass_configs)
    torch.testing.assert_close(c, wanted, rtol=1e-2, atol=0.1)
    whole(captured, 30, 150)


@pytest.mark.wide
def test_a_large_grid() -> None:
    a, b, wanted = product(64, 64)
    c, captured = simulate(gemm(64, 64, 3), [a, b], gpu="h200")
    torch.testing.assert_close(c, wanted, rtol=1e-2, atol=0.1)
    whole(captured, 4096, 4096 * 5)


@pytest.mark.parametrize("order", ["row", "column"])
def test_planes_are_reordered_one_by_one(order: str) -> None:
    a = torch.rand(3, 5, 4, 128)
    b, captured = simulate(rasterised.deep(4, 5, 3, 2, order), [a], gpu="a100")
    assert torch.equal(b, a * 2)
    whole(captured, 60, 60)


def test_a_persistent_kernel() -> None:
    a = torch.rand(20, 128)
    b, captured = simulate(rasterised.persistent(20, 3, 3, 2), [a], gpu="a100")
    assert torch.equal(b, a * 2)
    whole(captured, 9, 20)


def test_two_launches_of_which_one_is_reordered() -> None:
    a = torch.rand(4, 3, 128)
    (b, c), captured = simulate(rasterised.two_launches(3, 4, 3), [a], gpu="a100")
    assert torch.equal(b, a * 2)
    assert torch.equal(c, a * 2 + 1)
    whole(captured, 24, 24)
    first = captured.events.query("name == 'first'")
    assert first["payload"].tolist() == [y * 100 + x for y in range(4) for x in range(3)]


def test_a_grid_known_at_run_time() -> None:
    a = torch.rand(7, 3, 128)
    b, captured = simulate(rasterised.dynamic(3, 2), [a], gpu="a100")
    assert torch.equal(b, a * 2)
    whole(captured, 21, 21)


@pytest.mark.parametrize("ctas", [[0], [1, 4, 7, 10], [0, 3, 11]], ids=["one", "in steps", "some"])
def test_some_ctas_are_named_by_the_hardware_s_id(ctas: list[int]) -> None:
    a = torch.rand(1, 4, 3, 128)
    _, captured = simulate(rasterised.deep(3, 4, 1, 3), [a], gpu="a100", options=TraceOptions.of(ctas=ctas))
    assert captured.events["cta"].tolist() == ctas
    blocks = [panels.row(3, 1, (cta % 3, cta // 3, 0), (3, 4, 1)) for cta in ctas]
    assert captured.events["payload"].tolist() == [y * 100 + x for x, y, _ in blocks]
    assert captured.losses.empty


def test_ctas_run_in_the_hardware_s_order() -> None:
    """The first CTAs to start are those of the lowest ids, whatever blocks they have."""
    a = torch.rand(1, 4, 3, 128)
    _, captured = simulate(rasterised.deep(3, 4, 1, 3), [a], gpu="a100")
    assert captured.ctas.sort_values("start_ns", kind="stable")["cta"].tolist() == list(range(12))
    assert captured.ctas["block_y"].tolist() != sorted(captured.ctas["block_y"])


def test_what_stands_before_the_swizzle_has_the_hardware_s_indices() -> None:
    @T.prim_func
    def late(A: T.Tensor((4, 3, 128), "float32"), B: T.Tensor((4, 3, 128), "float32")):
        with T.Kernel(3, 4, threads=128) as (bx, by):
            tx = T.get_thread_binding()
            trace.record("before", payload=by * 100 + bx)
            B[by, bx, tx] = A[by, bx, tx]
            T.use_swizzle(panel_size=3)
            trace.record("behind", payload=by * 100 + bx)

    _, captured = simulate(late, [torch.rand(4, 3, 128)], gpu="a100")
    before = captured.events.query("name == 'before'")
    behind = captured.events.query("name == 'behind'")
    assert (before["payload"] == before["cta"] // 3 * 100 + before["cta"] % 3).all()
    assert (behind["payload"] == behind["block_y"] * 100 + behind["block_x"]).all()


def test_a_swizzle_in_a_branch_holds_to_its_end() -> None:
    a, flag = torch.rand(4, 3, 128), torch.arange(12, dtype=torch.int32).reshape(4, 3) % 2
    out = torch.zeros(4, 3, 128)
    _, captured = simulate(rasterised.in_a_branch(3, 4, 3), [a, flag, out], gpu="a100")
    assert captured.losses.empty
    blocks = [panels.row(3, 1, (cta % 3, cta // 3, 0), (3, 4, 1)) for cta in range(12) if cta % 2]
    inside, behind = (captured.events.query(f"name == {name!r}") for name in ("reordered", "behind"))
    assert inside["payload"].tolist() == [y * 100 + x for x, y, _ in blocks]
    assert behind["payload"].tolist() == [cta // 3 * 100 + cta % 3 for cta in range(12)]
    assert (captured.events[["block_x", "block_y", "block_z"]] == -1).all(axis=None)
    assert "block_x, block_y and block_z are not known" in captured.meta.note


@pytest.mark.parametrize(
    ("kernel", "what"),
    [
        pytest.param(lambda: gemm(4, 4, 3, "mlx"), "the block order rasterization2DMLX", id="another target's"),
        pytest.param(lambda: gemm(4, 4, 3, cluster=(2, 1, 1)), "do not divide the panel", id="half a cluster"),
        pytest.param(lambda: gemm(4, 4, 2, cluster=(1, 2, 1)), "not along x alone", id="clusters along y"),
    ],
)
def test_an_order_that_no_card_has_is_refused_as_tilelang_refuses_it(kernel: Any, what: str) -> None:
    a, b, _ = product(4, 4)
    with pytest.raises(UnsupportedError, match=rf"rasterised\.py:\d+.*{what}"):
        simulate(kernel(), [a, b], gpu="h200")


def test_reports_name_the_block_as_the_kernel_has_it() -> None:
    @T.prim_func
    def stuck(A: T.Tensor((4, 4), "float32")):
        with T.Kernel(4, 4, threads=128) as (bx, by):
            T.use_swizzle(panel_size=4)
            full = T.alloc_barrier(arrive_count=[128])
            with trace.range("wait"):
                if by * 4 + bx == 4:
                    T.mbarrier_wait_parity(full[0], 0)

    with pytest.raises(DeadlockError, match=r"CTA \(0, 1, 0\)"):
        simulate(stuck, [torch.zeros(4, 4)], gpu="h200")
