"""Every kind of payload, from the author's expression to the frame."""

from __future__ import annotations

from typing import Any

import pytest
import tilelang.language as T
import torch

from tltrace_nb import trace

N = 64


def events_of(build: Any, *inputs: torch.Tensor) -> Any:
    """The events of one traced run of what ``build`` makes."""
    with trace.tracing():
        build()(*inputs)
    assert trace.last is not None
    return trace.last.events


def one_range(payload: Any) -> Any:
    """A kernel of two CTAs whose range carries ``payload(bx, tx, A)``."""

    @trace.jit
    def build():
        @T.prim_func
        def kernel(A: T.Tensor((N,), "float32"), W: T.Tensor((N,), "int32"), H: T.Tensor((N,), "float16")):
            with T.Kernel(2, threads=N) as bx:
                tx = T.get_thread_binding()
                with trace.range("work", payload=payload(bx, tx, A, W, H)):
                    A[tx] = A[tx]

        return kernel

    return build


@pytest.fixture
def inputs() -> tuple[torch.Tensor, ...]:
    numbers = torch.arange(N, device="cuda")
    return numbers.float() * 0.5 - 3, (numbers - 7).int(), (numbers.float() * 0.25 - 1).half()


@pytest.mark.parametrize(
    ("payload", "values"),
    [
        pytest.param(lambda *_: 42, [42, 42], id="constant"),
        pytest.param(lambda *_: -1, [-1, -1], id="negative constant"),
        pytest.param(lambda *_: -(2**31), [-(2**31)] * 2, id="least int32"),
        pytest.param(lambda *_: 2**31 - 1, [2**31 - 1] * 2, id="greatest int32"),
        pytest.param(lambda *_: 2**32 - 1, [2**32 - 1] * 2, id="greatest uint32"),
        pytest.param(lambda *_: True, [1, 1], id="bool constant"),
        pytest.param(lambda *_: -1.5, [-1.5, -1.5], id="float constant"),
        pytest.param(lambda bx, *_: bx, [0, 1], id="block index"),
        pytest.param(lambda bx, *_: -3 - bx, [-3, -4], id="negative expression"),
        pytest.param(lambda bx, *_: bx > 0, [0, 1], id="comparison"),
        pytest.param(lambda bx, tx, *_: tx, [0, 0], id="thread index"),
        pytest.param(lambda bx, tx, A, *_: A[bx + 1], [-2.5, -2.0], id="loaded float"),
        pytest.param(lambda bx, tx, A, W, *_: W[bx], [-7, -6], id="loaded integer"),
        pytest.param(lambda bx, tx, A, W, H: H[bx], [-1.0, -0.75], id="loaded half"),
        pytest.param(lambda bx, tx, A, W, H: T.cast(W[bx], "int8"), [-7, -6], id="narrow integer"),
    ],
)
def test_a_payload_is_what_the_author_wrote(
    payload: Any, values: list[float], inputs: tuple[torch.Tensor, ...]
) -> None:
    events = events_of(one_range(payload), *inputs)
    assert events["payload"].tolist() == values
    assert events["payload_end"].tolist() == values


def test_no_payload_is_missing_and_raw_0(inputs: tuple[torch.Tensor, ...]) -> None:
    events = events_of(one_range(lambda *_: None), *inputs)
    assert events["payload"].isna().all()
    assert events["payload_raw"].tolist() == [0, 0]


def test_a_payload_is_read_again_at_the_end() -> None:
    @trace.jit
    def build():
        @T.prim_func
        def kernel(A: T.Tensor((1,), "int32")):
            with T.Kernel(1, threads=32), trace.range("grows", payload=A[0]):
                if T.get_thread_binding() == 0:
                    A[0] = A[0] + 5

        return kernel

    (event,) = events_of(build, torch.tensor([3], dtype=torch.int32, device="cuda")).to_dict("records")
    assert (event["payload"], event["payload_end"]) == (3, 8)


def test_crossing_ranges_keep_their_own_ends() -> None:
    @trace.jit
    def build():
        @T.prim_func
        def kernel(A: T.Tensor((8,), "int32")):
            with T.Kernel(1, threads=32):
                for i in T.serial(8):
                    left = trace.range_start("left", payload=i)
                    A[i] = A[i] + 1
                    right = trace.range_start("right", payload=-i)
                    A[i] = A[i] * 2
                    trace.range_end(left)
                    A[i] = A[i] + 1
                    trace.range_end(right)

        return kernel

    events = events_of(build, torch.zeros(8, dtype=torch.int32, device="cuda"))
    left, right = (events[events["name"] == name].reset_index() for name in ("left", "right"))
    assert left["payload"].tolist() == list(range(8))
    assert right["payload"].tolist() == [-i for i in range(8)]
    assert (left["start"] < right["start"]).all()
    assert (right["start"] < left["end"]).all()
    assert (left["end"] < right["end"]).all()


def test_nested_ranges_know_their_parents() -> None:
    @trace.jit
    def build():
        @T.prim_func
        def kernel(A: T.Tensor((4,), "int32")):
            with T.Kernel(1, threads=32), trace.range("outer"):
                for i in T.serial(4):
                    with trace.range("inner", payload=i):
                        A[i] = A[i] + 1

        return kernel

    events = events_of(build, torch.zeros(4, dtype=torch.int32, device="cuda"))
    outer = events.index[events["name"] == "outer"][0]
    inner = events[events["name"] == "inner"]
    assert inner["depth"].tolist() == [1] * 4
    assert inner["parent"].tolist() == [outer] * 4


def test_a_range_under_a_run_time_condition_is_recorded_when_it_runs() -> None:
    @trace.jit
    def build():
        @T.prim_func
        def kernel(A: T.Tensor((8,), "int32")):
            with T.Kernel(1, threads=32):
                for i in T.serial(8):
                    if A[i] > 3:
                        with trace.range("large", payload=A[i]):
                            A[i] = A[i] - 3

        return kernel

    events = events_of(build, torch.arange(8, dtype=torch.int32, device="cuda"))
    assert events["payload"].tolist() == [4, 5, 6, 7]
    assert events["payload_end"].tolist() == [1, 2, 3, 4]
