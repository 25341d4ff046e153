"""Unmodified kernels on the virtual GPU, automatically marked: untouched results, and every iteration recorded."""

from __future__ import annotations

import functools
from typing import Any

import pytest
import torch
from construct_kernels import CASES
from kernels import builds
from kernels.plain import SMALL, Plain
from kernels.source import untraced

from tltrace_nb import trace
from tltrace_nb.core.compile import schedule
from tltrace_nb.core.compile.lowering import prepare
from tltrace_nb.core.compile.options import TraceOptions
from tltrace_nb.core.compile.schedule import Scheduler
from tltrace_nb.core.runtime.virtual import simulate
from tltrace_nb.core.trace import Trace

ARCHITECTURE = {"a100": "sm_80", "h200": "sm_90a"}
GPUS = ("h200", pytest.param("a100", marks=pytest.mark.wide))
SLOW = {"bitonic_sort"}
CONSTRUCTS = [
    pytest.param(name, gpu, id=f"{name}-{gpu}", marks=[pytest.mark.wide] if number % 4 or name in SLOW else [])
    for number, (name, gpu) in enumerate((name, gpu) for name, case in CASES.items() for gpu in case.gpus)
]
"""A quarter of them by default, but for one of hundreds of steps."""


@functools.cache
def _run(plain: Plain, gpu: str, auto: str | None) -> tuple[Any, Trace]:
    return simulate(
        plain.builder.get_tir(*plain.arguments), plain.inputs("cpu"), gpu=gpu, options=TraceOptions.of(auto=auto)
    )


@pytest.mark.some(3)
@pytest.mark.parametrize("auto", ["light", "all"])
@pytest.mark.parametrize("gpu", GPUS)
@pytest.mark.parametrize("plain", SMALL, ids=str)
def test_the_result_is_the_unmarked_kernel_s_and_right(plain: Plain, gpu: str, auto: str) -> None:
    marked, _ = _run(plain, gpu, auto)
    assert torch.equal(marked, _run(plain, gpu, None)[0])
    torch.testing.assert_close(marked, plain.expected(*plain.inputs("cpu")), rtol=1e-2, atol=plain.atol)


@pytest.mark.parametrize("auto", ["light", "all"])
@pytest.mark.parametrize("gpu", GPUS)
@pytest.mark.parametrize("plain", SMALL, ids=str)
def test_every_cta_records_every_iteration_of_what_its_loops_hold(plain: Plain, gpu: str, auto: str) -> None:
    _, found = _run(plain, gpu, auto)
    per_cta = found.events.dropna(subset="payload").groupby(["name", "cta"], observed=True)["payload"]
    for name, count in plain.iterations.items():
        passes = found.events[found.events["name"] == name]["source"].nunique()  # of loops with such an operator
        payloads = [sorted(values) for (of, _), values in per_cta if of == name]
        assert payloads == [sorted([*range(count // passes)] * passes)] * len(found.ctas)
    assert not found.events["truncated"].any()
    assert (found.sites["count"] > 0).all()
    assert len(found.losses) == 0
    assert found.meta.note == ""


@pytest.mark.parametrize("plain", SMALL, ids=str)
def test_all_marks_more_than_light_and_light_nothing_else(plain: Plain) -> None:
    light, everything = (set(_run(plain, "h200", auto)[1].events["name"]) for auto in ("light", "all"))
    assert {name for name in light if not name.startswith("ready")} < everything


@pytest.mark.some(4)
@pytest.mark.parametrize(("name", "gpu"), CONSTRUCTS)
def test_other_constructs_give_what_they_give_unmarked(name: str, gpu: str) -> None:
    case = CASES[name]
    given = case.inputs()
    results = []
    for auto in (None, "all"):
        outputs, found = simulate(
            case.build(), tuple(t.clone() for t in given), gpu=gpu, options=TraceOptions.of(auto=auto)
        )
        results.append(outputs if isinstance(outputs, tuple) else (outputs,))
        assert not found.events["truncated"].any()
    for unmarked, marked in zip(*results, strict=True):
        assert torch.equal(unmarked.nan_to_num(), marked.nan_to_num())


@pytest.mark.wide
@pytest.mark.parametrize(("name", "gpu"), CONSTRUCTS)
def test_other_constructs_have_the_cuda_that_they_have_untraced(name: str, gpu: str) -> None:
    """Of one or the other of two untraced builds: TileLang's choice of layouts may depend on what it built before."""
    architecture = ARCHITECTURE[gpu]
    func, target = CASES[name].build(), builds.target_of(architecture)
    with target:
        low = prepare(func, Scheduler(target), TraceOptions.of(auto="all"))
    context = schedule.context_with(low.at_boundary, target)
    traced = builds._generate(low.anchored, context, {}).cuda
    assert untraced(traced) in [builds.plain(func, architecture, {}).cuda for _ in range(2)]


@pytest.fixture
def virtual(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trace, "_kept", type(trace._kept)())
    monkeypatch.setattr(trace, "_state", type(trace._state)(device="virtual"))


GEMM = SMALL[0]


@pytest.mark.usefixtures("virtual")
def test_a_builder_is_traced_whatever_the_switch_says() -> None:
    result = trace.auto(GEMM.builder)(*GEMM.arguments)(*GEMM.inputs("cpu"))
    assert trace.last is not None
    assert "copy A → A_shared" in set(trace.last.events["name"])
    assert torch.equal(result, _run(GEMM, "h200", None)[0])


@pytest.mark.usefixtures("virtual")
def test_a_builder_of_ours_is_marked_while_the_switch_is_on() -> None:
    @trace.jit(auto="copy", out_idx=[-1])
    def build() -> Any:
        return GEMM.builder.get_tir(*GEMM.arguments)

    with trace.tracing(auto="gemm"):
        build()(*GEMM.inputs("cpu"))
    assert trace.last is not None
    assert {name.split(" ")[0] for name in trace.last.events["name"]} == {"copy"}
    with trace.tracing():
        trace.auto(build, on="gemm")()(*GEMM.inputs("cpu"))
    assert {name.split(" ")[0] for name in trace.last.events["name"]} == {"gemm"}


@pytest.mark.usefixtures("virtual")
def test_a_builder_of_ours_follows_the_switch_unless_it_says_otherwise() -> None:
    def build() -> Any:
        return GEMM.builder.get_tir(*GEMM.arguments)

    following, refusing = trace.jit(build, out_idx=[-1]), trace.jit(build, auto=False, out_idx=[-1])
    with trace.tracing(auto="loop"):
        following()(*GEMM.inputs("cpu"))
        assert trace.last is not None
        assert set(trace.last.events["name"]) == {"pipeline k"}
        refusing()(*GEMM.inputs("cpu"))
        assert len(trace.last.events) == 0


@pytest.mark.usefixtures("virtual")
def test_simulate_takes_it_as_it_is() -> None:
    func = GEMM.builder.get_tir(*GEMM.arguments)
    trace.simulate(func, *GEMM.inputs("cpu"), auto="all")
    assert trace.last is not None
    assert "wait A_shared + B_shared" in set(trace.last.events["name"])
    trace.simulate(trace.auto(func, on="fill"), *GEMM.inputs("cpu"))
    assert set(trace.last.events["name"]) == {"fill C_local"}


def test_what_is_no_kernel_is_refused() -> None:
    with pytest.raises(TypeError, match=r"kernel=3: give a @tilelang\.jit or @trace\.jit builder"):
        trace.auto(3)


def test_a_kernel_without_markers_lost_nothing_and_says_how_to_get_some() -> None:
    _, unmarked = _run(SMALL[0], "h200", None)
    assert unmarked.losses.empty
    assert "recorded nothing" not in str(unmarked)
    assert "no markers in this kernel" in str(unmarked)
    assert "no markers in this kernel" in unmarked._repr_html_()
