"""What is relied on where TileLang is not public; ``compile.upstream`` says it in words."""

from __future__ import annotations

import ast
import importlib
import inspect
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from tilelang import tvm
from tilelang.jit import JITImpl, JITKernel

import tltrace_nb
from tltrace_nb.core.compile import dumps, upstream

PACKAGE = Path(tltrace_nb.__file__).parent
PUBLIC = {
    "tilelang",
    "tilelang.cache",
    "tilelang.jit",
    "tilelang.jit.kernel",
    "tilelang.language",
    "tilelang.profiler",
    "tilelang.tvm",
}


def imported(module: Path) -> Iterator[str]:
    """The modules of TileLang that a module imports."""
    for node in ast.walk(ast.parse(module.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name.partition(".")[0] == "tilelang")
        elif isinstance(node, ast.ImportFrom) and (node.module or "").partition(".")[0] == "tilelang":
            yield str(node.module)


def test_no_other_module_enters_tilelang_where_it_is_not_public() -> None:
    inside = PACKAGE / "core" / "compile" / "upstream.py"
    found = {
        f"{path.relative_to(PACKAGE)}: {name}"
        for path in PACKAGE.rglob("*.py")
        if path != inside
        for name in imported(path)
        if name not in PUBLIC
    }
    assert found == set()


def test_all_that_is_entered_is_used() -> None:
    text = "".join(path.read_text(encoding="utf-8") for path in PACKAGE.rglob("*.py") if path.name != "upstream.py")
    assert [name for name in upstream.__all__ if name not in text] == []


@pytest.mark.parametrize(
    ("function", "names"),
    [
        (JITKernel.__init__, {"func", "out_idx", "verbose", "pass_configs", "compile_flags", "backend_context"}),
        (upstream.create_backend_context, {"target", "target_host", "execution_backend"}),
        (
            JITKernel.from_database,
            {"func", "host_kernel_source", "device_kernel_source", "kernel_lib_path", "params", "target", "out_idx"},
        ),
        (upstream.TVMFFIKernelCache._generate_key, {"func", "out_idx", "execution_backend", "args"}),
        (
            importlib.import_module("tilelang.cache").cached,
            {"func", "out_idx", "target", "target_host", "execution_backend", "pass_configs"},
        ),
    ],
    ids=lambda value: getattr(value, "__qualname__", ""),
)
def test_a_function_takes_what_it_is_given(function: object, names: set[str]) -> None:
    assert names <= inspect.signature(function).parameters.keys()  # type: ignore[arg-type]


@pytest.mark.parametrize("name", ["LayoutInference", "MakePackedAPI", "LayoutVisual"])
def test_the_pipeline_calls_the_passes_that_it_is_opened_at_by_name(name: str) -> None:
    assert f"tilelang.transform.{name}()" in inspect.getsource(
        upstream.cuda_pipeline
    ) or f"{name}(" in inspect.getsource(upstream.cuda_pipeline)


def test_every_compilation_calls_one_function_by_its_global_name() -> None:
    cache, jit = (importlib.import_module(f"tilelang.{name}") for name in ("cache", "jit"))  # functions hide them
    assert cache.cached is jit.cached
    assert "cached(" in inspect.getsource(jit.compile)


def test_builders_and_tuners_keep_their_kernels_where_they_are_looked_for() -> None:
    fields = {*inspect.get_annotations(JITImpl), *vars(JITImpl), *inspect.getsource(JITImpl).split()}
    assert any("_kernel_cache" in field for field in fields)
    assert any("_call_form_cache" in field for field in fields)
    assert "_tuner_cache" in inspect.getsource(upstream.AutoTuneImpl)


def test_there_is_no_builder_and_no_launch_outside_of_a_kernel() -> None:
    assert upstream.Builder.current() is None
    assert upstream.KernelLaunchFrame.Current() is None


def test_the_builder_logs_the_program_of_a_failing_kernel_and_nothing_else_as_critical() -> None:
    builder = inspect.getmodule(upstream.Builder)
    assert builder.logger.name == dumps.BUILDER
    source = inspect.getsource(builder)
    assert len(re.findall(r"logger\.(?:fatal|critical)\(", source)) == source.count("Failed to build prim_func") == 1


def test_a_target_without_a_host_gets_one() -> None:
    context = upstream.create_backend_context({"kind": "cuda", "arch": "sm_90a"}, None, "auto")
    assert context.target.host is not None
    assert tvm.target.Target.current(allow_none=True) is None
