"""What decides how TileLang builds a kernel decides it for the traced one too, and tells kept kernels apart."""

from __future__ import annotations

import contextlib
import linecache
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import tilelang
import tvm_ffi
from tilelang.transform import PassConfigKey

from tltrace_nb import trace
from tltrace_nb.base.errors import DeviceError
from tltrace_nb.core.compile.cache import Build
from tltrace_nb.core.compile.compilation import Compilation
from tltrace_nb.core.compile.options import TraceOptions
from tltrace_nb.core.runtime.jit import prepare_build

HOST = {"kind": "c", "mcpu": "cortex-m7"}
SM_90A = {"kind": "cuda", "arch": "sm_90a"}
POSTPROCESSING = "tilelang_callback_cuda_postproc"

SOURCE = """
def build(T, trace, name="copy"):
    @T.prim_func
    def copy(A: T.Tensor((256,), "float32"), B: T.Tensor((256,), "float32")):
        with T.Kernel(2, threads=128) as bx:
            with trace.range(name, payload=bx):
                T.copy(A[bx * 128 : bx * 128 + 128], B[bx * 128 : bx * 128 + 128])

    return copy
"""


def copy(lines_above: int = 0, name: str = "copy", file: str = "copies.py") -> Any:
    """A kernel with a range, so many lines down its file."""
    import tilelang.language as T

    text = "\n" * lines_above + SOURCE
    linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
    space: dict[str, Any] = {}
    exec(compile(text, file, "exec"), space)
    return space["build"](T, trace, name)


def built(func: Any | None = None, **how: Any) -> Build:
    return prepare_build(copy() if func is None else func, Compilation(**{"target": SM_90A, **how}), TraceOptions())


@contextlib.contextmanager
def postprocessing(function: Callable[..., str]) -> Iterator[None]:
    tilelang.register_cuda_postproc(function)
    try:
        yield
    finally:
        tvm_ffi.registry.remove_global_func(POSTPROCESSING)


# ---- the key


def test_lines_above_a_kernel_do_not_decide_its_key_and_its_table_has_them() -> None:
    here, lower = built(copy()), built(copy(lines_above=7))
    assert here.key() == lower.key()
    lines = [[int(site.source.rpartition(":")[2]) for site in each.lowering.table.sites] for each in (here, lower)]
    assert [line + 7 for line in lines[0]] == lines[1]
    assert here.lowering.table.tag == lower.lowering.table.tag


def test_the_file_of_a_kernel_does_not_decide_its_key() -> None:
    assert built(copy()).key() == built(copy(file="moved.py")).key()


def test_a_marker_of_another_name_makes_another_key() -> None:
    assert built(copy()).key() != built(copy(name="load")).key()


CHANGES: dict[str, dict[str, Any]] = {
    "target": {"target": {"kind": "cuda", "arch": "sm_80"}},
    "target_host": {"target_host": HOST},
    "out_idx": {"out_idx": [1]},
    "compile_flags": {"compile_flags": ["-lineinfo"]},
    "pass_configs": {"pass_configs": {PassConfigKey.TL_ENABLE_FAST_MATH: True}},
    "execution_backend": {"execution_backend": "cython"},
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_what_the_builder_says_is_in_the_key(change: dict[str, Any]) -> None:
    assert built(**change).key() != built().key()


def test_a_pass_config_is_one_however_it_is_written() -> None:
    name = PassConfigKey.TL_ENABLE_FAST_MATH
    assert built(pass_configs={name: True}).key() == built(pass_configs={name.value: True}).key()
    assert built(pass_configs={}).key() == built(pass_configs=None).key()


VARIABLES = {
    "TILELANG_LAYOUT_COST_MODEL": "io-aware",
    "TILELANG_EXECUTION_BACKEND": "cython",
    "TILELANG_KERNEL_CACHE_USE_LIB_STAMP": "1",
}


@pytest.mark.parametrize(("name", "value"), VARIABLES.items(), ids=VARIABLES)
def test_what_the_environment_says_is_in_the_key(monkeypatch: pytest.MonkeyPatch, name: str, value: str) -> None:
    before = built().key()
    monkeypatch.setenv(name, value)
    assert built().key() != before


def test_the_authors_postprocessing_is_in_the_key() -> None:
    def longer(code: str, _: Any) -> str:
        return code + "\n// one"

    def other(code: str, _: Any) -> str:
        return code + "\n// another"

    keys = [built().key()]
    for function in (longer, other, longer):
        with postprocessing(function):
            keys.append(built().key())
    assert keys[1] == keys[3]
    assert len(set(keys)) == 3


# ---- the build


def test_the_environment_names_the_target_and_the_backend(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TILELANG_DEFAULT_TARGET", '{"kind": "cuda", "arch": "sm_80"}')
    monkeypatch.setenv("TILELANG_EXECUTION_BACKEND", "cython")
    context = built(target=None).context
    assert context.target.attrs["arch"] == "sm_80"
    assert context.execution_backend.name == "cython"


def test_the_builder_goes_before_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TILELANG_DEFAULT_TARGET", '{"kind": "cuda", "arch": "sm_80"}')
    monkeypatch.setenv("TILELANG_EXECUTION_BACKEND", "cython")
    context = built(execution_backend="tvm_ffi").context
    assert context.target.attrs["arch"] == "sm_90a"
    assert context.execution_backend.name == "tvm_ffi"


def test_the_host_is_the_one_asked_for() -> None:
    context = built(target_host=HOST).context
    assert [target.attrs["mcpu"] for target in (context.target_host, context.target.host)] == ["cortex-m7"] * 2


def test_the_layout_cost_model_of_the_environment_reaches_the_passes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TILELANG_LAYOUT_COST_MODEL", "io-aware")
    assert built().pass_configs["tl.layout_cost_model"] == "io-aware"
    assert built(pass_configs={"tl.layout_cost_model": "register-count"}).pass_configs == {
        "tl.layout_cost_model": "register-count"
    }


def test_flags_that_tilelang_has_folded_in_are_not_doubled() -> None:
    func = copy().with_attr("tilelang_compile_flags", ["-lineinfo"])
    assert built(func).compile_flags == built(func, compile_flags=["-lineinfo"]).compile_flags == ["-lineinfo"]
    assert built(func, compile_flags="-O2").compile_flags == ["-lineinfo", "-O2"]


def test_a_target_without_cuda_source_is_refused_by_name() -> None:
    with pytest.raises(DeviceError, match=r"kernel copy.*cpu backend"):
        built(target="c")
