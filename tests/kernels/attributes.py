"""What programs do with a kernel that TileLang has compiled: its public attributes, each used in a way that compares.

In: a kernel, or its profiler. Out: by attribute, a function whose results are equal for the traced and the untraced.
"""

from __future__ import annotations

import contextlib
import io
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import tilelang.language as T
import torch
from tvm.ir import structural_equal

from tltrace_nb import trace

SIZE, BLOCK = 1024, 128


def doubled_sum() -> Any:
    """Two inputs, one output, a range with payload: ``C = (A + B) * 2``."""

    @T.prim_func
    def doubled_sum(A: T.Tensor((SIZE,), "float32"), B: T.Tensor((SIZE,), "float32"), C: T.Tensor((SIZE,), "float32")):
        with T.Kernel(SIZE // BLOCK, threads=BLOCK) as bx, trace.range("sum", payload=bx):
            for i in T.Parallel(BLOCK):
                C[bx * BLOCK + i] = (A[bx * BLOCK + i] + B[bx * BLOCK + i]) * 2.0

    return doubled_sum


def expected(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    return (a + b) * 2


def public(thing: Any) -> set[str]:
    """The public attributes of an object, those of its classes included."""
    return {name for name in dir(thing) if not name.startswith("_")}


class Same:
    """A PrimFunc, equal to one of the same structure."""

    def __init__(self, func: Any) -> None:
        self.func = func

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Same) and bool(structural_equal(self.func, other.func))

    __hash__ = None  # type: ignore[assignment]


def _get(name: str) -> Callable[[Any, Path], Any]:
    return lambda kernel, _: getattr(kernel, name)


def _text(name: str) -> Callable[[Any, Path], Any]:
    return lambda kernel, _: str(getattr(kernel, name))


def _call(name: str) -> Callable[[Any, Path], Any]:
    return lambda kernel, _: getattr(kernel, name)()


def _comparable(text: str) -> str:
    """Machine code without the temporary folder that it was compiled in, which its debug lines name, also in bytes, and
    without what TileLang logs, with the time, of a kernel that it has not compiled yet."""
    lines = (line for line in text.splitlines() if not re.match(r"\s*(/\*\w+\*/)?\s*\.byte\b|.*\[TileLang:", line))
    return re.sub(r"/\S*/tmp\w+/", "", "\n".join(lines))


def _printed(name: str, *args: Any) -> Callable[[Any, Path], Any]:
    def run(kernel: Any, _: Path) -> str:
        stream = io.StringIO()
        with contextlib.redirect_stdout(stream):
            getattr(kernel, name)(*args)
        assert stream.getvalue()
        return _comparable(stream.getvalue())

    return run


def _written(name: str) -> Callable[[Any, Path], Any]:
    def run(kernel: Any, folder: Path) -> str:
        getattr(kernel, name)(str(folder / name))
        return _comparable((folder / name).read_text())

    return run


def _library(kernel: Any, folder: Path) -> bool:
    kernel.export_library(str(folder / "kernel.so"))
    return (folder / "kernel.so").stat().st_size > 0


def _tuned(kernel: Any, _: Path) -> Any:
    before = kernel.latency, kernel.config, kernel.ref_latency
    assert kernel.update_tuner_result(latency=1.0, config={"block": 1}, ref_latency=2.0) is kernel
    found = kernel.get_tuner_result()
    kernel.update_tuner_result(*before)
    return found


KERNEL: dict[str, Callable[[Any, Path], Any]] = {
    "adapter": lambda kernel, _: (str(kernel.adapter.params), kernel.adapter.result_idx),
    # TileLang has no artifact of a kernel that it found in its cache.
    "artifact": lambda kernel, _: (kernel.artifact or kernel).kernel_source,
    "backend": lambda kernel, _: kernel.backend.name,
    "backend_context": lambda kernel, _: str(kernel.backend_context.target),
    "compile_flags": _get("compile_flags"),
    "config": _get("config"),
    "execution_backend": _get("execution_backend"),
    "execution_backend_spec": _get("execution_backend_spec"),
    "export_library": _library,
    "export_ptx": _written("export_ptx"),
    "export_sass": _written("export_sass"),
    "export_sources": _written("export_sources"),
    "from_database": _get("from_database"),
    "from_tilelang_function": _get("from_tilelang_function"),
    "get_host_source": _call("get_host_source"),
    "get_kernel_source": _call("get_kernel_source"),
    "get_profiler": lambda kernel, _: (str(kernel.get_profiler().params), kernel.get_profiler().result_idx),
    "get_tuner_result": _tuned,
    "host_source": _get("host_source"),
    "kernel_source": _get("kernel_source"),
    "latency": _get("latency"),
    "n_max_threads": _get("n_max_threads"),
    "n_regs": _get("n_regs"),
    "n_spills": _get("n_spills"),
    "out_idx": _get("out_idx"),
    "params": _text("params"),
    "pass_configs": lambda kernel, _: kernel.pass_configs or {},
    "prim_func": lambda kernel, _: Same(kernel.prim_func),
    "print_source_code": _printed("print_source_code"),
    "ref_latency": _get("ref_latency"),
    "resource_usage": _get("resource_usage"),
    "show_ptx": _printed("show_ptx"),
    "show_sass": _printed("show_sass"),
    "show_source": _printed("show_source", "both"),
    "target": _text("target"),
    "target_host": _text("target_host"),
    "update_tuner_result": _tuned,
    "verbose": _get("verbose"),
}
"""Those that need no launch."""

LAUNCHES = {"run_once", "torch_function"}
"""Those that launch the kernel."""

PROFILER = {
    "adapter",
    "assert_allclose",
    "assert_consistent",
    "do_bench",
    "func",
    "manual_assert_close",
    "params",
    "result_idx",
    "run_once",
    "supply",
    "supply_type",
    "with_default_adapter",
}
