"""Which block a CTA is: the hardware's order, and that of ``T.use_swizzle``."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path

import numpy as np
import pytest
import tilelang
from hypothesis import given
from hypothesis import strategies as st
from kernels import BY_NAME, builds, panels, rasterised
from kernels.source import recording_body, untraced
from synthetic import Rec, build, instant, table
from tvm import tirx

from tltrace_nb.core.compile import device, lowering
from tltrace_nb.core.compile.carried import with_markers
from tltrace_nb.core.compile.options import TraceOptions
from tltrace_nb.core.compile.schedule import Scheduler
from tltrace_nb.data.decode import decode
from tltrace_nb.data.rasterised import UNKNOWN, block_indices
from tltrace_nb.data.sites import COLUMN, ROW, Launch, Rasterisation, SiteTable

AS_WRITTEN = {ROW: panels.row, COLUMN: panels.column}
extents = st.integers(1, 13)


@st.composite
def cases(draw: st.DrawFn) -> tuple[tuple[int, int, int], Rasterisation]:
    """A grid and a pattern that TileLang takes for it: clusters divide the grid's width and the panel."""
    cluster = draw(st.sampled_from([1, 1, 2, 3, 4]))
    grid = (draw(st.integers(1, 6)) * cluster, draw(extents), draw(st.integers(1, 3)))
    return grid, Rasterisation(draw(st.sampled_from([ROW, COLUMN])), draw(st.integers(1, 15)) * cluster, cluster)


def every_cta(grid: tuple[int, int, int]) -> np.ndarray:
    return np.arange(grid[0] * grid[1] * grid[2])


# ---- the mapping


@given(case=cases())
def test_blocks_are_those_of_tilelang_s_template(case: tuple[tuple[int, int, int], Rasterisation]) -> None:
    (width, height, depth), pattern = case
    found = block_indices(every_cta(case[0]), case[0], pattern).T.tolist()
    written = AS_WRITTEN[pattern.function]
    hardware = [(x, y, z) for z in range(depth) for y in range(height) for x in range(width)]
    thickness = pattern.panel // pattern.cluster
    assert found == [list(written(thickness, pattern.cluster, block, case[0])) for block in hardware]


@given(case=cases())
def test_every_block_belongs_to_one_cta(case: tuple[tuple[int, int, int], Rasterisation]) -> None:
    grid, pattern = case
    x, y, z = block_indices(every_cta(grid), grid, pattern)
    assert sorted((x + grid[0] * (y + grid[1] * z)).tolist()) == every_cta(grid).tolist()


def test_a_large_grid_is_mapped_without_overflow() -> None:
    grid, last = (40_000, 40_000, 1), np.array([40_000 * 40_000 - 1])
    found = block_indices(last, grid, Rasterisation(ROW, 7))
    assert tuple(found[:, 0]) == panels.row(7, 1, (39_999, 39_999, 0), grid)


def test_without_a_pattern_blocks_are_the_hardware_s() -> None:
    assert block_indices(np.arange(12), (3, 2, 2), None).T.tolist() == [
        [x, y, z] for z in range(2) for y in range(2) for x in range(3)
    ]


@pytest.mark.parametrize(
    "pattern",
    [
        Rasterisation("rasterization2DSpiral", 3),
        Rasterisation("", 0),
        Rasterisation(ROW, 0),
        Rasterisation(ROW, -3),
        Rasterisation(COLUMN, 3, 2),
        Rasterisation(ROW, 4, 0),
        Rasterisation(ROW, 4, 4),
    ],
    ids=["unknown function", "several", "no panel", "negative", "half a cluster", "no cluster", "wider than the grid"],
)
def test_what_cannot_be_told_is_not_guessed(pattern: Rasterisation) -> None:
    assert (block_indices(np.arange(6), (3, 2, 1), pattern) == UNKNOWN).all()


def test_tilelang_has_no_other_orders() -> None:
    names = {ROW, COLUMN, f"{ROW}WithCluster", f"{COLUMN}WithCluster"}
    source = (Path(tilelang.__file__).parent / "src/tl_templates/cuda/threadblock_swizzle.h").read_text(
        encoding="utf-8"
    )
    assert {word.split("()")[0] for word in source.split() if word.startswith("rasterization2D")} == names


# ---- frames


def test_frames_have_the_kernel_s_block_indices_and_the_hardware_s_cta() -> None:
    grid, pattern = (3, 4, 1), Rasterisation(ROW, 3)
    of = table(instant(0, "i"), launches=(Launch("k", grid, (32, 1, 1), 0, pattern),))
    frames = decode(build(of, [Rec(row, 0, 1100, 0, row) for row in range(12)], rows=12), of)
    wanted = [panels.row(3, 1, (cta % 3, cta // 3, 0), grid) for cta in range(12)]
    for frame in (frames.events, frames.ctas):
        assert frame["cta"].tolist() == list(range(12))
        assert list(zip(frame["block_x"], frame["block_y"], frame["block_z"], strict=True)) == wanted


def test_some_ctas_are_those_of_the_hardware_s_order() -> None:
    of = table(instant(0, "i"), launches=(Launch("k", (3, 4, 1), (32, 1, 1), 0, Rasterisation(ROW, 3)),), ctas=(1, 10))
    events = decode(build(of, [Rec(row, 0, 1100, 0) for row in range(2)], rows=2), of).events
    assert events[["cta", "block_x", "block_y"]].to_numpy().tolist() == [[1, 0, 1], [10, 1, 3]]


def test_only_the_launch_with_a_pattern_is_reordered() -> None:
    launches = (Launch("a", (2, 2, 1), (32, 1, 1)), Launch("b", (2, 2, 1), (32, 1, 1), 4, Rasterisation(ROW, 2)))
    of = table(instant(0, "i"), launches=launches)
    ctas = decode(build(of, [], rows=8), of).ctas
    hardware, reordered = [[0, 0], [1, 0], [0, 1], [1, 1]], [[0, 0], [0, 1], [1, 0], [1, 1]]
    assert ctas[["block_x", "block_y"]].to_numpy().tolist() == [*hardware, *reordered]


def test_unknown_patterns_leave_the_block_s_columns_without_an_index() -> None:
    launch = Launch("k", (2, 2, 1), (32, 1, 1), 0, Rasterisation("rasterization2DSpiral", 3))
    frames = decode(build(of := table(instant(0, "i"), launches=(launch,)), [Rec(3, 0, 1100, 0)], rows=4), of)
    assert frames.events[["cta", "block_x", "block_y", "block_z"]].to_numpy().tolist() == [[3, -1, -1, -1]]


# ---- the table


def test_a_table_keeps_the_pattern() -> None:
    of = table(launches=(Launch("k", (6, 2, 1), (32, 1, 1), 0, Rasterisation(COLUMN, 4, 2)),))
    assert SiteTable.from_json(of.to_json()) == of


def test_a_table_without_a_pattern_is_written_as_before() -> None:
    plain = table(launches=(Launch("k", (6, 2, 1), (32, 1, 1)),))
    assert list(json.loads(plain.to_json())["launches"][0]) == ["block", "first_row", "grid", "name"]
    swizzled = dataclasses.replace(
        plain, launches=(dataclasses.replace(plain.launches[0], rasterisation=Rasterisation(ROW, 4)),)
    )
    assert swizzled.tag != plain.tag


def test_a_pattern_that_is_none_is_refused() -> None:
    raw = json.loads(table().to_json())
    raw["launches"][0]["rasterisation"] = {"function": ROW, "sheets": 3}
    with pytest.raises(ValueError, match="sheets"):
        SiteTable.from_json(json.dumps(raw))


# ---- the kernel


def prepared(func: object, architecture: str = "sm_90a", **options: object) -> lowering.Lowering:
    target = builds.target_of(architecture)
    with target:
        return lowering.prepare(func, Scheduler(target), TraceOptions.of(**options))


@pytest.mark.parametrize(
    ("name", "pattern"),
    [
        ("rasterised_gemm", Rasterisation(ROW, 3)),
        ("rasterised_gemm_unspecialised", Rasterisation(COLUMN, 3)),
        ("rasterised_cluster_gemm", Rasterisation(ROW, 4, 2)),
        ("gemm_3", None),
    ],
)
def test_the_pattern_is_read_off_the_kernel(name: str, pattern: Rasterisation | None) -> None:
    reference = BY_NAME[name]
    (launch,) = builds.prepared(reference, "sm_90a").table.launches
    assert launch.rasterisation == pattern


def test_tilelang_counts_the_panels_of_clusters_in_clusters() -> None:
    """What ``panel`` and ``cluster`` are the template's arguments for."""
    assert "tl::rasterization2DRowWithCluster<2, 2>()" in builds.stripped("rasterised_cluster_gemm", "sm_90a").cuda


def test_each_launch_has_its_own_pattern() -> None:
    first, second = prepared(rasterised.two_launches(3, 4, 3)).table.launches
    assert (first.rasterisation, second.rasterisation) == (None, Rasterisation(ROW, 3))


def test_a_pattern_in_a_branch_is_said_not_to_be_known() -> None:
    table = prepared(rasterised.in_a_branch(3, 4, 3)).table
    assert table.launches[0].rasterisation == Rasterisation("", 0)
    assert table.note == (
        "in_a_branch reorders its blocks by a swizzle in a part of it: block_x, block_y and block_z are not known (-1)"
    )


def test_a_pattern_that_tilelang_may_learn_is_said_not_to_be_known() -> None:
    func = with_markers(rasterised.deep(3, 4, 1, 3))

    def another(statement: object) -> object:
        if isinstance(statement, tirx.AttrStmt) and statement.attr_key == "threadblock_swizzle_pattern":
            call = statement.value
            args = [tirx.StringImm("rasterization2DSpiral"), *call.args[1:]]
            return tirx.AttrStmt(
                statement.node, statement.attr_key, tirx.Call(call.dtype, call.op, args), statement.body
            )
        return None

    func = func.with_body(tirx.stmt_functor.ir_transform(func.body, None, another, ["tirx.AttrStmt"]))
    table = prepared(func).table
    assert table.launches[0].rasterisation == Rasterisation("rasterization2DSpiral", 3)
    assert table.note.startswith("deep reorders its blocks by rasterization2DSpiral with panels of 3: ")


@pytest.mark.parametrize("name", ["rasterised_gemm", "rasterised_persistent", "rasterised_launches"])
def test_no_boundary_of_ours_reads_a_block_index_that_the_kernel_redefines(name: str) -> None:
    source = builds.traced(BY_NAME[name], "sm_90a").cuda.replace(device.HELPER, "")
    boundaries = [line for line in source.split("\n") if "__tlt_enter(" in line or "__tlt_leave(" in line]
    assert len(boundaries) >= 2
    assert not [line for line in boundaries if "blockIdx" in line]
    assert all("__tlt_block_x()" in line for line in boundaries)


@pytest.mark.some(2)
@pytest.mark.parametrize("name", ["rasterised_gemm", "two_dimensional_grid", "dynamic_gemm", "add", "split_k"])
def test_the_cta_is_counted_with_no_more_terms_than_the_grid_has_axes(name: str) -> None:
    """What it costs: no special register is read for an axis of one block."""
    lowered = builds.prepared(BY_NAME[name], "sm_80")
    source = builds.generated(lowered, BY_NAME[name], "sm_80").cuda.replace(device.HELPER, "")
    enter = next(line for line in source.split("\n") if "__tlt_enter(" in line)
    (grid,) = lowered.grids
    axes = {axis for axis, extent in zip("xyz", grid, strict=True) if str(extent) != "1"}
    assert {axis for axis in "xyz" if f"__tlt_block_{axis}()" in enter} == axes


@pytest.mark.some(2)
@pytest.mark.parametrize(
    "options",
    [
        TraceOptions.of(ctas=[0]),
        TraceOptions.of(ctas=[1, 4, 7]),
        TraceOptions.of(ctas=[0, 2, 3]),
        TraceOptions.of(keep="last"),
    ],
    ids=["one", "in steps", "some", "ring"],
)
def test_no_option_touches_a_reordered_kernel(options: TraceOptions) -> None:
    for name in ("rasterised_gemm", "rasterised_deep"):
        for architecture in ("sm_80", "sm_90a"):
            source = builds.traced(BY_NAME[name], architecture, options).cuda
            assert untraced(recording_body(source)) == builds.stripped(name, architecture).cuda
