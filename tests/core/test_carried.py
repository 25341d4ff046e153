"""A kernel with markers in the hands of those who know nothing of them: it builds as if it had none."""

from __future__ import annotations

import pickle
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import tilelang
import tilelang.language as T
from kernels import builds
from tilelang.layout import make_swizzled_layout

from tltrace_nb import trace
from tltrace_nb.base.errors import MarkerError
from tltrace_nb.core.compile.carried import has_markers, strip, with_markers
from tltrace_nb.core.compile.numbering import read_sites

N = 256


def gemm(marked: bool) -> Any:
    """A pipelined product with ranges around its steps; unmarked with the same statements."""

    def build() -> Any:
        @T.prim_func
        def gemm(A: T.Tensor((N, N), "float16"), B: T.Tensor((N, N), "float16"), C: T.Tensor((N, N), "float16")):
            with T.Kernel(N // 64, N // 64, threads=128) as (bx, by):
                A_shared = T.alloc_shared((64, 32), "float16")
                B_shared = T.alloc_shared((32, 64), "float16")
                C_local = T.alloc_fragment((64, 64), "float32")
                T.annotate_layout({A_shared: make_swizzled_layout(A_shared)})
                T.clear(C_local)
                for k in T.Pipelined(N // 32, num_stages=2):
                    if marked:
                        copy = trace.range_start("copy", payload=k)
                    T.copy(A[by * 64, k * 32], A_shared)
                    T.copy(B[k * 32, bx * 64], B_shared)
                    if marked:
                        trace.range_end(copy)
                        mma = trace.range_start("mma", payload=k)
                    T.gemm(A_shared, B_shared, C_local)
                    if marked:
                        trace.range_end(mma)
                T.copy(C_local, C[by * 64, bx * 64])

        return gemm

    return build()


@pytest.mark.parametrize("architecture", ["sm_80", "sm_90a"])
def test_a_marked_kernel_becomes_the_code_of_the_unmarked(architecture: str) -> None:
    target = builds.target_of(architecture)
    with target:
        sources = [tilelang.lower(gemm(marked), target=target).kernel_source for marked in (True, False)]
    assert sources[0] == sources[1]


def test_tilelang_can_name_it_as_a_cached_kernel() -> None:
    assert gemm(True).script(show_meta=True) == gemm(True).script(show_meta=True)


def test_stripped_it_is_the_unmarked_kernel_to_the_letter() -> None:
    assert strip(gemm(True)).script(show_meta=True) == gemm(False).script(show_meta=True)


def test_its_markers_are_found() -> None:
    assert [site.name for site in read_sites(gemm(True)).sites] == ["copy", "copy", "mma", "mma"]
    assert has_markers(gemm(True))
    assert not has_markers(strip(gemm(True)))


def test_its_markers_keep_what_it_was_given_since() -> None:
    renamed = gemm(True).with_attr("global_symbol", "other").with_attr("tilelang_out_idx", [2])
    inside = with_markers(renamed)
    assert inside.attrs["global_symbol"] == "other"
    assert [int(i) for i in inside.attrs["tilelang_out_idx"]] == [2]
    assert len(read_sites(renamed).sites) == 4


def test_a_kernel_that_was_changed_since_says_that_its_markers_are_lost() -> None:
    changed = gemm(True).with_body(strip(elsewhere()).body)
    with pytest.raises(MarkerError, match=r"kernel gemm.*changed after it had been built"):
        read_sites(changed)
    assert strip(changed).body.same_as(changed.body)


def elsewhere() -> Any:
    @T.prim_func
    def elsewhere(A: T.Tensor((N,), "float32")):
        with T.Kernel(1, threads=128):
            A[0] = T.float32(0)

    return elsewhere


def test_an_automatically_marked_kernel_builds_as_the_unmarked() -> None:
    target = builds.target_of("sm_90a")
    marked = trace.auto(gemm(False), on="all")
    assert len(read_sites(marked).sites) > 4
    with target:
        sources = [tilelang.lower(func, target=target).kernel_source for func in (marked, gemm(False))]
    assert sources[0] == sources[1]


def test_its_markers_come_through_a_pickle() -> None:
    assert len(read_sites(pickle.loads(pickle.dumps(gemm(True)))).sites) == 4


def test_a_process_without_this_package_unpickles_it(tmp_path: Path) -> None:
    (tmp_path / "kernel").write_bytes(pickle.dumps(gemm(True)))
    code = (
        "import pickle, sys, pathlib, tilelang\n"
        "func = pickle.loads(pathlib.Path('kernel').read_bytes())\n"
        "print(func.attrs['global_symbol'], any(name.startswith('tltrace') for name in sys.modules))"
    )
    ran = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert ran.stdout.split() == ["gemm", "False"]
