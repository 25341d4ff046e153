"""Every reference kernel on the card: results untouched, and exactly the events that its schedule says."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
import pytest
import tilelang
import torch
from kernels import REFERENCES, Reference, replay
from kernels.tracks import tracks
from tvm import tirx

from tltrace_nb.core.compile import numbering
from tltrace_nb.core.compile.compilation import Compilation
from tltrace_nb.core.compile.ir import loads, op_name, walk
from tltrace_nb.core.compile.options import TraceOptions
from tltrace_nb.core.runtime.jit import TracedKernel, compile_traced
from tltrace_nb.core.runtime.launch import TracedLaunch
from tltrace_nb.core.runtime.virtual import compile_virtual
from tltrace_nb.core.trace import Trace
from tltrace_nb.data.sites import PayloadType
from tltrace_nb.data.slots import headers, records


@functools.cache
def _architecture() -> str:
    major, minor = torch.cuda.get_device_capability()
    return "sm_90a" if (major, minor) == (9, 0) else f"sm_{major}{minor}"


def _here() -> list[Any]:
    return [pytest.param(r, marks=[pytest.mark.full] if r.full else [], id=r.name) for r in REFERENCES]


def _runs_here(reference: Reference) -> bool:
    return _architecture() in reference.architectures or "sm_80" in reference.architectures


@functools.cache
def _run(name: str) -> tuple[Trace, Any, Any, tuple[Any, ...], TracedKernel]:
    """The trace, the traced and the untraced outputs, and the inputs of one reference kernel."""
    reference = next(r for r in REFERENCES if r.name == name)
    captured: list[TracedLaunch] = []
    out_idx = list(reference.out_idx) or None
    how = Compilation(out_idx=out_idx, pass_configs=reference.pass_configs)
    traced = compile_traced(reference.build(), how, TraceOptions(), captured.append)
    plain = tilelang.compile(numbering.strip(reference.build()), out_idx=out_idx, pass_configs=reference.pass_configs)
    outputs = []
    for kernel in (plain, traced):
        inputs = reference.inputs("cuda")
        returned = kernel(*inputs)
        outputs.append(inputs[-1] if out_idx is None else returned)
    return captured[-1].trace(), outputs[1], outputs[0], reference.inputs("cuda"), traced


def _follows_on_paper(func: Any) -> bool:
    """Whether ``replay`` can run the kernel: no loop on data, no early return, threads along x only."""
    statements = [statement for statement, _ in walk(func.body)]
    if any(isinstance(s, tirx.While) or op_name(s).endswith("thread_return") for s in statements):
        return False
    extents = {str(s.node.thread_tag): int(s.value) for s in statements if _is_thread_extent(s)}
    if extents.get("threadIdx.y", 1) > 1:
        return False
    conditions = [s.condition for s in statements if isinstance(s, tirx.IfThenElse)]
    conditions += [s.extent for s in statements if isinstance(s, tirx.For)]
    return not any(loads(condition) for condition in conditions)


def _is_thread_extent(statement: Any) -> bool:
    return (
        isinstance(statement, tirx.AttrStmt)
        and statement.attr_key == "thread_extent"
        and str(statement.node.thread_tag).startswith("threadIdx")
    )


def _tensors(outputs: Any) -> list[torch.Tensor]:
    return list(outputs) if isinstance(outputs, (tuple, list)) else [outputs]


@pytest.fixture
def reference(request: pytest.FixtureRequest) -> Reference:
    chosen: Reference = request.param
    if not _runs_here(chosen):
        pytest.skip(f"written for {', '.join(chosen.architectures)}, this card is {_architecture()}")
    return chosen


@pytest.mark.parametrize("reference", _here(), indirect=True)
def test_the_result_is_the_untraced_kernel_s_and_right(reference: Reference) -> None:
    _, traced, untraced, inputs, _ = _run(reference.name)
    expected = _tensors(reference.expected(*inputs))
    for ours, theirs, right in zip(_tensors(traced), _tensors(untraced), expected, strict=True):
        assert not reference.exact or torch.equal(ours, theirs)
        torch.testing.assert_close(ours.float(), right.float(), rtol=reference.rtol, atol=reference.atol)


@pytest.mark.parametrize("reference", _here(), indirect=True)
def test_nothing_is_lost_or_torn(reference: Reference) -> None:
    trace, *_ = _run(reference.name)
    losses = trace.losses
    assert losses[["lost", "corrupt", "unmatched_ends"]].to_numpy().sum() == 0, losses
    assert not losses["unfinished"].any()
    assert not trace.events["truncated"].any()


@pytest.mark.parametrize("reference", _here(), indirect=True)
def test_each_writer_records_what_its_schedule_says(reference: Reference) -> None:
    """The first CTA's raw records, site by site and payload by payload, against a run of the schedule on paper."""
    trace, *_ = _run(reference.name)
    placed = replay.placed(reference, _architecture())
    if not _follows_on_paper(placed.func):
        pytest.skip("its control flow depends on data or on more than the paper run knows")
    heads, raw = headers(trace.slots)[0], records(trace.slots)[0]
    for writer in trace.table.writers:
        own = raw[writer.index][: int(heads[writer.index]["executed"])]
        mine = set(own["site"].tolist())
        passed = [m for m in replay.replay(placed, writer.thread) if isinstance(m, replay.Mark) and m.site in mine]
        assert own["site"].tolist() == [m.site for m in passed]
        for record, mark in zip(own, passed, strict=True):
            integer = trace.table.sites[mark.site].payload in (PayloadType.INT32, PayloadType.BOOL)
            if integer and mark.payload is not None:
                assert int(np.int32(record["payload"])) == mark.payload, (mark, record)


@pytest.mark.parametrize("reference", _here(), indirect=True)
def test_the_virtual_gpu_records_the_same_events(reference: Reference) -> None:
    """On the model of an H200, so where the card is one; the events of the two devices differ in nothing but time."""
    if _architecture() != "sm_90a":
        pytest.skip(f"the model is an H200, this card is {_architecture()}")
    real, *_ = _run(reference.name)
    kernel = compile_virtual(reference.build(), "h200", pass_configs=reference.pass_configs)
    _, virtual = kernel.run(reference.inputs("cpu"), list(reference.out_idx))
    assert tracks(virtual) == tracks(real)


@pytest.mark.parametrize("reference", _here(), indirect=True)
def test_every_site_records_somewhere(reference: Reference) -> None:
    trace, *_ = _run(reference.name)
    silent = trace.sites[trace.sites["count"] == 0]
    assert set(silent["name"]) <= {"never"}, silent


@pytest.mark.parametrize("reference", _here(), indirect=True)
def test_times_are_within_the_launch(reference: Reference) -> None:
    trace, *_ = _run(reference.name)
    ctas = trace.ctas
    assert len(ctas) == sum(x * y * z for x, y, z in trace.meta.grids)
    assert (trace.events["start"] >= 0).all()
    assert (trace.events["end"] <= trace.events["cta"].map(ctas.set_index("cta")["duration"])).all()
    known = ctas["start_ns"].notna()
    assert (ctas.loc[known, "start_ns"] >= 0).all()
