"""Ctrl-C at any place of a build comes out as Ctrl-C: TVM calls Python from its passes, and drops unknown errors."""

from __future__ import annotations

import inspect
import signal
import sys
from collections.abc import Callable
from types import CodeType, FrameType
from typing import Any

import pytest
import tilelang
import tilelang.language as T
import tvm_ffi

from tltrace_nb import trace
from tltrace_nb.core.compile.compilation import Compilation
from tltrace_nb.core.compile.interrupts import named_errors
from tltrace_nb.core.compile.options import TraceOptions
from tltrace_nb.core.runtime import jit
from tltrace_nb.core.runtime.intercept import plain_builders
from tltrace_nb.core.runtime.virtual import compile_virtual

PACKAGES = ("/tilelang/", "/tvm/", "/tvm_ffi/", "/tltrace_nb/")
SAMPLE = 80
"""Of so many functions that a build calls, the default suite takes one."""


@T.prim_func
def gemm(A: T.Tensor((256, 256), "float16"), B: T.Tensor((256, 256), "float16"), C: T.Tensor((256, 256), "float16")):
    with T.Kernel(2, 2, threads=128) as (bx, by):
        a, b = T.alloc_shared((128, 32), "float16"), T.alloc_shared((32, 128), "float16")
        c = T.alloc_fragment((128, 128), "float32")
        T.clear(c)
        for k in T.Pipelined(8, num_stages=3):
            with trace.range("load", payload=k):
                T.copy(A[by * 128, k * 32], a)
                T.copy(B[k * 32, bx * 128], b)
            T.gemm(a, b, c)
        T.copy(c, C[by * 128, bx * 128])


def for_a_card() -> Any:
    """What a card's kernel is compiled from: all passes run, but for those that follow ``nvcc``."""
    build = jit.prepare_build(gemm, Compilation(target={"kind": "cuda", "arch": "sm_90a"}), TraceOptions())
    with build.context.target:
        return build._postprocessed(), jit.cache.lower_with_context(build.lowering.anchored, build.context)


def for_the_virtual_gpu() -> Any:
    return compile_virtual(gemm, "h200")


BUILDS: dict[str, Callable[[], Any]] = {"card": for_a_card, "virtual": for_the_virtual_gpu}


def called(build: Callable[[], Any]) -> list[tuple[CodeType, int]]:
    """The functions that a build calls, in the order of their first calls, and how often.

    Generators are left out: when Python closes one that nobody reads any more, it drops what is raised in it.
    """
    calls: dict[CodeType, int] = {}

    def note(frame: FrameType, event: str, _: Any) -> None:
        code = frame.f_code
        if (
            event == "call"
            and not code.co_flags & inspect.CO_GENERATOR
            and any(p in code.co_filename for p in PACKAGES)
        ):
            calls[code] = calls.get(code, 0) + 1

    sys.setprofile(note)
    try:
        build()
    finally:
        sys.setprofile(None)
    return list(calls.items())


def interrupted(build: Callable[[], Any], code: CodeType, call: int) -> str:
    """What comes of a build when Ctrl-C is pressed as that function is called for the so many-th time."""
    left = call

    def press(frame: FrameType, event: str, _: Any) -> None:
        nonlocal left
        if event == "call" and frame.f_code is code:
            left -= 1
            if not left:
                sys.setprofile(None)
                signal.raise_signal(signal.SIGINT)

    sys.setprofile(press)
    try:
        build()
    except BaseException as error:
        return type(error).__name__ + (str(error) and f": {error}")
    finally:
        sys.setprofile(None)
    return "not called" if left > 0 else "swallowed"


def assert_interrupts_stay(build: Callable[[], Any], step: int) -> None:
    build()  # what only the first one does
    places = called(build)
    assert len(places) > 300
    wrong = {}
    for code, calls in places[::step]:
        call = calls // 2 + 1
        came = interrupted(build, code, call)
        if came not in {"KeyboardInterrupt", "not called"}:
            wrong[f"{code.co_filename}:{code.co_firstlineno} {code.co_name}, call {call}"] = came
    assert not wrong


@pytest.mark.some(1)
@pytest.mark.parametrize("name", BUILDS)
def test_an_interrupt_stays_one(name: str) -> None:
    assert_interrupts_stay(BUILDS[name], SAMPLE)


@pytest.mark.full
@pytest.mark.parametrize("name", BUILDS)
def test_an_interrupt_stays_one_in_every_function(name: str) -> None:
    assert_interrupts_stay(BUILDS[name], 1)


@pytest.mark.parametrize(
    "raised",
    [KeyboardInterrupt(), TimeoutError(), TimeoutError("late"), *map(SystemExit, (None, 0, 3, -1, "words"))],
    ids=repr,
)
def test_what_a_signal_handler_raises_in_a_pass_comes_out_of_the_build(raised: BaseException) -> None:
    def handler() -> None:
        raise raised

    with pytest.raises(type(raised)) as came, named_errors("gemm"):
        tvm_ffi.convert(handler)()
    assert str(came.value) == str(raised)
    assert getattr(came.value, "code", None) == getattr(raised, "code", None)


def test_an_alarm_ends_a_plain_program_that_is_traced(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is not taken for a kernel that cannot be traced."""

    def late(*_: Any) -> None:
        raise TimeoutError

    monkeypatch.setattr(jit, "compile_for", late)
    with trace.tracing(device="cuda"), plain_builders(trace), pytest.raises(TimeoutError):
        tilelang.compile(gemm, target={"kind": "cuda", "arch": "sm_90a"})
