"""Which CTAs are traced: the same in a kernel, in a table and in a frame."""

from __future__ import annotations

import ctypes
import math
import shutil
import subprocess
import tracemalloc
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from synthetic import Rec, build, instant, table

from tltrace_nb.core.compile.options import TraceOptions
from tltrace_nb.core.trace import Trace
from tltrace_nb.data.chosen import CtaRuns, Cut, Grid, Run, chosen_from_json
from tltrace_nb.render.lanes import selected

OF = table(instant(0, "i"), grid=(4, 1, 1))
TRACE = Trace(build(OF, [Rec(cta, 0, 1001, 0) for cta in range(4)], rows=4), OF)
SMS = 132
ids_ = st.sets(st.integers(0, 200), min_size=1)


@given(ids_)
def test_ids_come_back_in_order(ids: set[int]) -> None:
    assert list(CtaRuns.of(ids)) == sorted(ids)


@given(st.integers(0, 50), st.integers(-5, 50), st.integers(-7, 7).filter(bool))
def test_a_range_is_one_run(start: int, stop: int, step: int) -> None:
    chosen = CtaRuns.of(range(start, stop, step))
    assert list(chosen) == sorted(range(start, stop, step))
    assert len(chosen.runs) <= 1


@given(ids_, st.integers(0, 210))
def test_a_smaller_grid_has_fewer_of_them(ids: set[int], total: int) -> None:
    assert list(CtaRuns.of(ids).below(total)) == sorted(each for each in ids if each < total)


@given(st.integers(1, 5), st.integers(1, 6), st.integers(1, 6), st.integers(0, 60))
def test_blocks_are_cut_within(width: int, count: int, gap: int, total: int) -> None:
    chosen = CtaRuns((Run(3, width + gap, count, width),))
    assert list(chosen.below(total)) == [each for each in chosen if each < total]


@pytest.mark.parametrize("chosen", [CtaRuns.of([0, 5, 131]), Cut((7, 9), ((2, 1, 1), (1, 1, 1)), SMS)])
def test_a_choice_survives_json(chosen: CtaRuns | Cut) -> None:
    assert chosen_from_json(chosen.to_json()) == chosen


def test_a_list_of_earlier_versions_is_read() -> None:
    assert chosen_from_json([0, 5, 131]) == CtaRuns.of([0, 5, 131])


some_ranges = st.lists(st.builds(range, st.integers(0, 60), st.integers(0, 90), st.integers(1, 9)), max_size=5)


@given(some_ranges)
def test_ranges_are_joined(ranges: list[range]) -> None:
    assert list(CtaRuns.of_ranges(ranges)) == sorted({id_ for each in ranges for id_ in each})


@given(some_ranges, st.integers(0, 3))
def test_long_ranges_are_joined_as_ranges(ranges: list[range], gap: int) -> None:
    long = range(100 + gap, 10**9)
    chosen = CtaRuns.of_ranges([range(90, 101), long, *(range(each.start, each.stop) for each in ranges)])
    ids = {id_ for each in ranges for id_ in range(each.start, each.stop)} | {*range(90, 101)}
    assert len(chosen.runs) <= 7
    assert list(chosen.below(101)) == sorted(ids)
    assert chosen.rows == len(ids | {100 + gap}) - 1 + len(long)


@given(some_ranges, st.integers(0, 100))
def test_it_is_told_which_ids_are_chosen(ranges: list[range], far: int) -> None:
    chosen = CtaRuns.of_ranges([*ranges, range(200 + far, 10**10, 7)])
    ids = np.array([*range(150), 10**8 + far])
    listed = {id_ for each in ranges for id_ in each}
    assert chosen.among(ids).tolist() == [
        each in listed or each in range(200 + far, 10**10, 7) for each in ids.tolist()
    ]


@pytest.mark.parametrize("ctas", [50_000_000, range(10**15), slice(10**12), [0, 10**9], range(0, 10**18, 2)])
def test_however_many_ctas_are_asked_for_none_is_listed(ctas: Any) -> None:
    tracemalloc.start()
    rows = selected(TRACE, ctas=ctas)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert len(rows)
    assert TraceOptions.of(ctas=ctas).ctas.rows <= 2**31
    assert peak < 2**24


# ---- cut to fit


def cut(total: int, most: int, cluster: Grid = (1, 1, 1), sms: int = SMS) -> CtaRuns:
    return Cut((most,), (cluster,), sms).of_launch(0, (total, 1, 1))


def test_a_grid_that_has_room_is_whole() -> None:
    assert list(cut(100, 100)) == list(range(100))


def test_of_many_waves_the_first_third_the_last_and_a_spread_between_are_taken() -> None:
    first, between, last = cut(16384, 12288).runs
    assert (first, last) == (Run(0, 1, 4096), Run(12288, 1, 4096))
    assert between == Run(4097, 2, 4096)


def test_where_two_thirds_hold_a_cta_for_each_sm_there_is_one() -> None:
    assert cut(10_000, 200).runs[0] == Run(0, 1, SMS)
    assert cut(10_000, 150).runs[0] == Run(0, 1, 100)


@pytest.mark.parametrize("most", [1, 2, 3])
def test_of_very_few_the_first_comes_first_and_the_last_second(most: int) -> None:
    assert list(cut(1000, most)) == [[0], [0, 999], [0, 1, 999]][most - 1]


sizes = st.integers(1, 3000)


@given(sizes, sizes, st.integers(1, 4), st.integers(1, 200))
def test_a_cut_fills_its_rows_with_whole_clusters_and_no_cta_twice(waves: int, most: int, of: int, sms: int) -> None:
    total = waves * of
    ids = list(cut(total, most, (of, 1, 1), sms))
    assert ids == sorted(set(ids))
    assert 0 <= ids[0] <= ids[-1] < total
    whole = most // of * of if most >= of else most
    assert len(ids) == min(total, whole if total > most else total)
    if most >= of:
        _, counts = np.unique(np.array(ids) // of, return_counts=True)
        assert (counts == of).all()


@pytest.mark.parametrize(
    ("cluster", "grid"), [((1, 2, 1), (6, 40, 2)), ((2, 2, 1), (6, 40, 2)), ((1, 1, 2), (4, 3, 40))]
)
def test_clusters_along_other_axes_stay_whole(cluster: Grid, grid: Grid) -> None:
    ids = np.array(list(Cut((60,), (cluster,), 8).of_launch(0, grid)))
    x, y, z = ids % grid[0], ids // grid[0] % grid[1], ids // (grid[0] * grid[1])
    _, counts = np.unique(np.stack([x // cluster[0], y // cluster[1], z // cluster[2]]), axis=1, return_counts=True)
    assert (counts == math.prod(cluster)).all()


@pytest.fixture(scope="module")
def device_cut(tmp_path_factory: pytest.TempPathFactory) -> ctypes._CFuncPtr:
    """The device function that tells a CTA its row, compiled for the host."""
    compiler = shutil.which("c++") or shutil.which("g++")
    if compiler is None:
        pytest.skip("needs a C++ compiler")
    text = files("tltrace_nb.core.compile").joinpath("device.cuh").read_text(encoding="utf-8")
    start = text.index("static __device__ __forceinline__ int __tlt_cut")
    body = text[start : text.index("\n}\n", start) + 3].replace("static __device__ __forceinline__", 'extern "C"')
    folder: Path = tmp_path_factory.mktemp("cut")
    (folder / "cut.cpp").write_text(body)
    subprocess.run([compiler, "-shared", "-fPIC", "-o", folder / "cut.so", folder / "cut.cpp"], check=True)
    function = ctypes.CDLL(str(folder / "cut.so")).__tlt_cut
    function.restype = ctypes.c_int
    return function


@given(waves=st.integers(1, 300), most=st.integers(1, 300), of=st.integers(1, 4), sms=st.integers(1, 200))
def test_a_kernel_finds_the_rows_that_decoding_expects(
    device_cut: ctypes._CFuncPtr, waves: int, most: int, of: int, sms: int
) -> None:
    total = waves * of
    rows = {cta: row for row, cta in enumerate(cut(total, most, (of, 1, 1), sms))}
    assert [device_cut(cta, total, most, of, sms) for cta in range(total)] == [rows.get(c, -1) for c in range(total)]
