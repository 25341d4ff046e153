"""Names: what an author calls things, and what the traced kernel adds, do not mix."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest
import tilelang
import tilelang.language as T
from kernels import Reference, builds
from kernels.source import untraced
from tilelang.contrib import nvcc

from tltrace_nb import trace
from tltrace_nb.base.errors import NameTakenError
from tltrace_nb.core.compile import device, lowering, numbering
from tltrace_nb.core.compile.options import TraceOptions
from tltrace_nb.core.compile.schedule import Scheduler

OURS = (
    "row",
    "sm",
    "now",
    "header",
    "record",
    "writers",
    "Payload",
    "Integer",
    "cursor",
    "slots",
    "executed",
    "silent",
)
"""Names that the device helper uses for parameters and variables."""

MACROS = "".join(f"#define {name} 3\n" for name in OURS)
FUNCTIONS = """
static __device__ __forceinline__ unsigned long long __tl_now() { return 7; }
static __device__ __forceinline__ float three(float x) { return x + row + (float)__tl_now(); }
"""

KERNEL = """
import tilelang.language as T
from tltrace_nb import trace

@T.prim_func
def {kernel}({parameter}: T.Tensor((256,), "float32"), B: T.Tensor((256,), "float32")):
    with T.Kernel(2, threads=128) as bx:
        tx = T.get_thread_binding()
        {buffer} = T.alloc_local((1,), "float32")
        for {variable} in T.serial(2):
            with trace.range("step", payload={variable}):
                {buffer}[0] = {parameter}[bx * 128 + tx] * 2.0
        B[bx * 128 + tx] = {buffer}[0]
"""


def named(folder: Path, **names: str) -> Any:
    """A kernel whose parts have these names."""
    chosen = {"kernel": "named", "parameter": "A", "buffer": "kept", "variable": "i"} | names
    file = folder / f"{'_'.join(chosen.values())}.py"
    file.write_text(KERNEL.format(**chosen))
    space: dict[str, Any] = {"__file__": str(file), "__name__": file.stem}
    import linecache

    linecache.checkcache(str(file))
    exec(compile(file.read_text(), str(file), "exec"), space)
    return space[chosen["kernel"]]


def importing(source: str, prelude: bool = False) -> Any:
    """A kernel that imports CUDA source, either way that TileLang has, and calls a function of it."""

    @T.prim_func
    def importing(A: T.Tensor((256,), "float32"), B: T.Tensor((256,), "float32")):
        with T.Kernel(2, threads=128, prelude=source if prelude else None) as bx:
            T.import_source(None if prelude else source)
            tx = T.get_thread_binding()
            with trace.range("call", payload=bx):
                B[bx * 128 + tx] = T.call_extern("float32", "three", A[bx * 128 + tx])

    return importing


def traced(func: Any) -> str:
    return builds.traced(Reference("named", lambda: func, lambda _: (), lambda: None), "sm_80").cuda


def refused(func: Any) -> str:
    target = builds.target_of("sm_80")
    with target, pytest.raises(NameTakenError) as caught:
        lowering.prepare(func, Scheduler(target), TraceOptions())
    return str(caught.value)


# ---- parameters, buffers, variables


@pytest.mark.parametrize("part", ["parameter", "buffer", "variable"])
@pytest.mark.parametrize("name", ["slots", "cursor", "row", "now", "blockDim", "__tl_now"])
def test_a_name_that_the_helper_has_for_itself_is_the_author_s_to_use(tmp_path: Path, part: str, name: str) -> None:
    func = named(tmp_path, **{part: name})
    assert untraced(traced(func)) == builds.plain(numbering.strip(func), "sm_80", {}).cuda


@pytest.mark.parametrize("part", ["kernel", "parameter", "buffer", "variable"])
@pytest.mark.parametrize("name", ["__tlt_slots", "__tlt_enter", "uint", "threadIdx"])
def test_a_name_that_hides_one_of_tracing_s_is_refused(tmp_path: Path, part: str, name: str) -> None:
    said = refused(named(tmp_path, **{part: name}))
    assert f"{name!r} is a name that the traced kernel needs" in said
    assert "rename it" in said
    assert said.startswith("kernel ")


def test_a_function_of_tracing_s_is_not_for_the_author_to_call() -> None:
    @T.prim_func
    def calling(A: T.Tensor((128,), "float32")):
        with T.Kernel(1, threads=128):
            T.call_extern("handle", "__tlt_leave", A[0])

    assert "'__tlt_leave'" in refused(calling)


# ---- imported sources


@pytest.mark.parametrize("prelude", [False, True], ids=["T.import_source", "prelude"])
def test_the_helper_comes_before_what_the_author_imports(prelude: bool) -> None:
    source = traced(importing(MACROS + FUNCTIONS, prelude))
    assert 0 <= source.index("#define __TLT_HELPER") < source.index("#define row 3")
    assert source.count("#define row 3") == 1


def test_in_several_launches_it_comes_before_all_of_them() -> None:
    @T.prim_func
    def two(A: T.Tensor((128,), "float32"), B: T.Tensor((128,), "float32")):
        with T.Kernel(1, threads=128):
            T.import_source("#define first_macro 1\n")
            tx = T.get_thread_binding()
            with trace.range("one"):
                B[tx] = A[tx]
        with T.Kernel(1, threads=128):
            T.import_source("#define second_macro 1\nstatic __device__ int __tl_thread_idx_x() { return 0; }\n")
            tx = T.get_thread_binding()
            with trace.range("two"):
                A[tx] = B[tx]

    source = traced(two)
    assert source.index("__tlt_leave(") < min(source.index("first_macro"), source.index("second_macro"))
    assert source.count("int __tl_thread_idx_x() {") == 1  # the author's


def test_a_function_that_the_author_defines_is_not_defined_twice() -> None:
    assert device.HELPER.count("__tl_now() {") == device.HELPER.count("__tl_thread_idx_x() {") == 1
    assert traced(importing(FUNCTIONS)).count("__tl_now() {") == 1
    calling = "static __device__ float three(float x) { return x + (float)__tl_now(); }\n"
    assert traced(importing(calling)).count("__tl_now() {") == 1  # called, and ours


@pytest.mark.parametrize(
    "line", ["#define blockIdx other", "  #  define threadIdx other", "#define __TLT_STATE_OPEN 1", "int __tlt_x() {}"]
)
def test_a_source_that_redefines_what_records_need_is_refused(line: str) -> None:
    said = refused(importing(f"// of the author's\n{line}\n{FUNCTIONS}"))
    assert "line 2 of the source that it imports" in said
    assert "kernel importing" in said


@pytest.mark.skipif(shutil.which("nvcc") is None, reason="needs nvcc")
@pytest.mark.parametrize("prelude", [False, True], ids=["T.import_source", "prelude"])
def test_a_kernel_whose_author_has_macros_and_functions_of_our_names_compiles(prelude: bool) -> None:
    root = Path(tilelang.__file__).parent
    where = [f"-I{root / 'src'}", f"-I{root / '3rdparty/cutlass/include'}"]
    source = traced(importing(MACROS + FUNCTIONS, prelude))
    assert b"importing_kernel" in bytes(nvcc.compile_cuda(source, "ptx", "sm_80", ["-std=c++17", "-w", *where]))
