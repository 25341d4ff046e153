"""What measured times say; measuring itself needs a card (tests/gpu)."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
from recordings import RECORDED

from tltrace_nb import load, trace
from tltrace_nb.base.errors import NotTracedError
from tltrace_nb.core.runtime.overhead import summed


def found(untraced: float, traced: float, again: float):
    recorded = load(RECORDED / "gemm_3.tltrace")
    return summed(recorded, [[untraced] * 3, [traced, traced, 99.0], [again] * 3], 24.0)


def test_the_slowdown_is_the_ratio_of_medians() -> None:
    assert found(2.0, 2.1, 2.0).slowdown == pytest.approx(1.05)


def test_a_small_slowdown_is_believed_and_a_large_one_flagged() -> None:
    assert found(1.0, 1.03, 1.0).believe
    assert str(found(1.0, 1.03, 1.0)).endswith("believe the trace")
    assert not found(1.0, 1.3, 1.0).believe
    assert "mark less" in str(found(1.0, 1.3, 1.0))


def test_a_slowdown_within_the_noise_is_believed() -> None:
    assert found(1.0, 1.09, 1.05).believe
    assert not found(1.0, 1.09, 1.0).believe


def test_the_traces_of_the_kernel_that_was_measured_know_its_slowdown(monkeypatch: pytest.MonkeyPatch) -> None:
    from tltrace_nb.core.api import TraceSwitch
    from tltrace_nb.core.runtime import overhead

    switch = TraceSwitch()
    mine, other = (load(RECORDED / f"{name}.tltrace") for name in ("gemm_3", "add"))
    for each in (mine, other):
        switch.captured(each)
    monkeypatch.setattr(overhead, "measure", lambda kernel, inputs: found(1.0, 1.25, 1.01))
    switch.overhead(SimpleNamespace(table=mine.table, launches=SimpleNamespace(shape=lambda inputs: ())), ())
    assert mine.meta.slowdown == (1.25, 1.01)
    assert other.meta.slowdown is None


def test_the_names_are_told_at_the_measured_cost() -> None:
    names = found(1.0, 1.0, 1.0).names.set_index("name")
    assert names.loc["load", "cost"] == 64 * 24


def test_a_kernel_without_tracing_is_refused() -> None:
    with pytest.raises(NotTracedError, match=r"trace.enable\(\)"):
        trace.overhead(lambda: None, ())


def test_gathering_without_a_trace_says_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    from tltrace_nb.core.api import TraceSwitch

    with pytest.raises(NotTracedError, match="this rank has no trace yet"):
        TraceSwitch().gather()
