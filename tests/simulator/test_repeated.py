"""A large grid by a sample of its CTAs: nearly the time of the whole simulation, and every event in its place."""

from dataclasses import replace

import numpy as np
import pytest
import tilelang.language as T
import torch
from kernels import BY_NAME, attention, elementwise, gemm

from tltrace_nb import trace
from tltrace_nb.base.gpus import preset
from tltrace_nb.core.compile.options import TraceOptions
from tltrace_nb.core.runtime.virtual import compile_virtual
from tltrace_nb.simulator import sampling
from tltrace_nb.simulator.binding import bind
from tltrace_nb.simulator.classes import classes

EVENTS = 6_000
"""Events of a sample in these tests."""
H200 = preset("h200")
GPU = replace(H200, name="small", sms=24, hbm_bytes_per_second=H200.hbm_bytes_per_second * 24 / H200.sms)
"""So that grids have many waves in little time."""
ERROR = 0.03


def scaled(n=1024, m=512, condition=lambda bx, by: True, payload=lambda bx, by: bx, swizzle=0, turns=lambda bx, by: 2):
    """A loop of copies through registers, with payloads that depend on the block."""

    @T.prim_func
    def scaled(A: T.Tensor((m * 4, n), "float32"), B: T.Tensor((m * 4, n), "float32")):
        with T.Kernel(n // 64, m, threads=64) as (bx, by):
            if swizzle:
                T.use_swizzle(swizzle)
            x = T.alloc_fragment((64,), "float32")
            if condition(bx, by):
                for k in T.serial(turns(bx, by)):
                    with trace.range("turn", payload=payload(bx, by)):
                        T.copy(A[by * 4 + k, bx * 64], x)
                        for i in T.Parallel(64):
                            x[i] = T.exp(x[i])
                        T.copy(x, B[by * 4 + k, bx * 64])

    return scaled


def bounded(n=64 * 4000 - 40):
    """Threads past the end do nothing."""

    @T.prim_func
    def bounded(A: T.Tensor((n,), "float32"), B: T.Tensor((n,), "float32")):
        with T.Kernel(T.ceildiv(n, 64), threads=64) as bx:
            tx = T.get_thread_binding()
            if bx * 64 + tx < n:
                with trace.range("scale", payload=bx * 64 + tx):
                    B[bx * 64 + tx] = A[bx * 64 + tx] * 2.0

    return bounded


def by_register(m=4000):
    """How many turns are taken is computed in a register."""

    @T.prim_func
    def by_register(A: T.Tensor((m, 64), "float32"), B: T.Tensor((m, 64), "float32")):
        with T.Kernel(m, threads=64) as bx:
            x = T.alloc_fragment((64,), "float32")
            turns = T.alloc_var("int32")
            turns = 1
            for k in T.serial(3):
                if bx % 4 > k:
                    turns = turns + 1
            T.copy(A[bx, 0], x)
            for k in T.serial(turns):
                with trace.range("turn", payload=turns * 10 + k):
                    for i in T.Parallel(64):
                        x[i] = T.exp(x[i])
            T.copy(x, B[bx, 0])

    return by_register


def of_data(m=4000, written=False):
    """How many turns are taken lies in memory, which the kernel may write, too."""

    @T.prim_func
    def of_data(A: T.Tensor((m, 64), "float32"), N: T.Tensor((m,), "int32"), B: T.Tensor((m, 64), "float32")):
        with T.Kernel(m, threads=64) as bx:
            x = T.alloc_fragment((64,), "float32")
            T.copy(A[bx, 0], x)
            for k in T.serial(N[bx]):
                with trace.range("turn", payload=N[bx] * 10 + k):
                    for i in T.Parallel(64):
                        x[i] = T.exp(x[i])
            if written:
                N[bx] = 0
            T.copy(x, B[bx, 0])

    return of_data


def twice(m=10_000):
    """Two launches."""

    @T.prim_func
    def twice(A: T.Tensor((m, 64), "float32"), B: T.Tensor((m, 64), "float32")):
        with T.Kernel(m, threads=64) as bx, trace.range("first", payload=bx):
            for i in T.Parallel(64):
                B[bx, i] = A[bx, i] + 1.0
        with T.Kernel(m // 2, threads=64) as bx, trace.range("second", payload=bx * 2):
            for i in T.Parallel(64):
                B[bx * 2, i] = B[bx * 2, i] + A[bx * 2, i]

    return twice


KERNELS = {
    "gemm": lambda: gemm.pipelined(3, m=2048, n=4096, k=128),
    "a GEMM with one stage": lambda: gemm.pipelined(1, m=2048, n=4096, k=128),
    "crossing tokens": lambda: gemm.crossing(m=2048, n=4096, k=128),
    "iterations under a condition": lambda: gemm.conditional(m=1024, n=8192, k=384),
    "attention": lambda: attention.attention(False, heads=128, length=512),
    "causal attention": lambda: attention.attention(True, heads=128, length=512),
    "element by element": lambda: elementwise.add(n=1 << 21),
    "softmax": lambda: elementwise.softmax(rows=4096),
    "row sums": lambda: elementwise.row_sum(rows=1 << 17, columns=512),
    "payloads of both indices": lambda: scaled(payload=lambda bx, by: by * 100 + bx),
    "payloads that are not linear": lambda: scaled(payload=lambda bx, by: by // 64 * 10 + bx % 3),
    "payloads below zero": lambda: scaled(payload=lambda bx, by: -by),
    "turns of the column": lambda: scaled(turns=lambda bx, by: bx % 4),
    "turns of the row": lambda: scaled(turns=lambda bx, by: by // 128 + 1),
    "CTAs without work": lambda: scaled(condition=lambda bx, by: by % 3 != 1),
    "one CTA that differs": lambda: scaled(condition=lambda bx, by: bx + by > 0),
    "another order of blocks": lambda: scaled(
        swizzle=8, turns=lambda bx, by: bx % 2 + 1, payload=lambda bx, by: by * 16 + bx
    ),
    "a last CTA that is not full": bounded,
    "turns in a register": by_register,
    "turns in memory": of_data,
    "two launches": twice,
}  # fmt: skip


def simulated(func, options=None, **how):
    kernel = compile_virtual(func, GPU, options, functional=False, **how)
    inputs = []
    for parameter in func.params:
        buffer = func.buffer_map[parameter]
        shape, dtype = [int(e) for e in buffer.shape], getattr(torch, str(buffer.dtype))
        inputs.append(
            (torch.arange(shape[0]) % 5 % 3).int() if dtype == torch.int32 else torch.ones(shape, dtype=dtype)
        )
    return kernel.run(inputs)[1]


def both(func, monkeypatch, options=None):
    monkeypatch.setattr(sampling, "BUDGET", EVENTS)
    return simulated(func, options), simulated(func, options, every_cta=True)


def span(taken):
    return taken.ctas["end_ns"].max() - taken.ctas["start_ns"].min()


@pytest.mark.some(2)
@pytest.mark.parametrize("kernel", KERNELS.values(), ids=KERNELS)
def test_the_sample_takes_the_time_of_the_whole_and_leaves_its_events(kernel, monkeypatch):
    sampled, whole = both(kernel(), monkeypatch)
    assert "CTAs" in sampled.meta.note
    assert not whole.meta.note
    assert span(sampled) == pytest.approx(span(whole), rel=ERROR, abs=64)
    for column in ("cta", "name", "kind", "thread", "payload"):
        found, wanted = (t.events.sort_values(["cta", "thread", "start"])[column].to_numpy() for t in (sampled, whole))
        np.testing.assert_array_equal(found, wanted)
    assert len(sampled.ctas) == len(whole.ctas)


@pytest.mark.some(1)
@pytest.mark.parametrize("name", ["gemm", "causal attention", "row sums", "turns of the column"])
def test_ranges_last_as_long_as_in_the_whole(name, monkeypatch):
    sampled, whole = both(KERNELS[name](), monkeypatch)
    found, wanted = (
        t.events[t.events["kind"] == "range"].groupby("name", observed=True)["duration"].mean()
        for t in (sampled, whole)
    )
    for each, duration in wanted.items():
        assert found[each] == pytest.approx(duration, rel=0.1), each


def test_an_sm_holds_no_more_ctas_than_fit(monkeypatch):
    sampled, whole = both(KERNELS["causal attention"](), monkeypatch)

    def most(taken):
        here = taken.ctas[taken.ctas["sm"] == 7]
        changes = sorted([(t, 1) for t in here["start_ns"]] + [(t, -1) for t in here["end_ns"]])
        return max(np.cumsum([change for _, change in changes]))

    assert most(sampled) <= most(whole)


def test_ctas_whose_work_lies_in_memory_that_they_write_all_run(monkeypatch):
    sampled, whole = both(of_data(written=True), monkeypatch)
    assert not sampled.meta.note
    assert span(sampled) == span(whole)


def test_the_traced_ctas_are_those_that_were_chosen(monkeypatch):
    sampled, whole = both(scaled(), monkeypatch, TraceOptions.of(ctas=[0, 17, 8000]))
    assert sorted(sampled.ctas["cta"]) == sorted(whole.ctas["cta"]) == [0, 17, 8000]
    assert sampled.events["payload"].tolist() == whole.events["payload"].tolist()


def test_with_values_a_sample_tells_the_times_and_all_ctas_have_their_values(monkeypatch):
    monkeypatch.setattr(sampling, "BUDGET", EVENTS)
    a = torch.rand(10_000, 64)
    b, taken = compile_virtual(twice(), GPU).run((a,))
    assert taken.meta.note.count("the others repeat them") == 2
    assert torch.equal(b[1::2], a[1::2] + 1)
    assert torch.equal(b[::2], a[::2] + 1 + a[::2])
    assert len(taken.ctas) == 15_000


def test_ctas_that_find_the_same_group_in_a_table_are_of_one_class():
    reference = BY_NAME["grouped_gemm"]
    kernel = compile_virtual(reference.build(), functional=False)
    bound = bind(kernel.name, kernel.ready, reference.inputs("cpu"), list(reference.out_idx))
    found = classes(kernel.shapes[0], (2, 5, 1), bound.scalars, bound.arrays)
    assert found.of.reshape(5, 2).tolist() == [[0, 0], [0, 0], [1, 1], [2, 2], [2, 2]]


def test_where_every_cta_is_asked_for_they_all_run_with_values_too(monkeypatch):
    monkeypatch.setattr(sampling, "BUDGET", EVENTS)
    _, taken = compile_virtual(scaled(n=64), GPU, every_cta=True).run((torch.rand(2048, 64),))
    assert not taken.meta.note


@pytest.mark.wide
def test_the_work_is_that_of_all_ctas(monkeypatch):
    sampled, whole = both(KERNELS["causal attention"](), monkeypatch)
    assert sampled.meta.work == pytest.approx(whole.meta.work, rel=1e-6)
