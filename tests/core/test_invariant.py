"""Tracing leaves a kernel alone: its CUDA source, without what tracing adds, is that of the untraced kernel.

Checked for every reference kernel on every architecture that it is meant for, both ways of compiling, and then turned
around: the check must notice markers that were scheduled as statements, a shifted iteration, and a lost site.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Iterator
from typing import Any

import pytest
from kernels import BY_NAME, REFERENCES, Reference, builds
from kernels.replay import Placed, misplaced, placed, sites_recorded
from kernels.source import recording_body, untraced, untraced_host
from kernels.tiers import cases, tier
from tvm import tirx

from tltrace_nb.base.errors import PlacementError
from tltrace_nb.core.compile import anchors, dry_run, numbering, placement, schedule
from tltrace_nb.core.compile.options import TraceOptions

CASES = cases(REFERENCES)
NEWEST = cases(REFERENCES, newest=True)
AGAIN = [case for case in NEWEST if case.values[0].again]

MUTATED = [("gemm_3", "sm_80"), ("gemm_3", "sm_90a")]


@functools.cache
def _planned(name: str, architecture: str) -> tuple[builds.Source, builds.Source, str]:
    reference = BY_NAME[name]
    return builds.planned(
        builds.prepared(reference, architecture), reference.build, architecture, reference.pass_configs
    )


def _traced(name: str, architecture: str) -> builds.Source:
    return _planned(name, architecture)[0]


@pytest.mark.some(6)
@pytest.mark.parametrize(("reference", "architecture"), CASES)
def test_the_traced_source_without_tracing_is_the_untraced_source(reference: Reference, architecture: str) -> None:
    traced, bare, note = _planned(reference.name, architecture)
    assert untraced(traced.cuda) == bare.cuda
    assert note == ""


@pytest.mark.some(5)
@pytest.mark.parametrize(("reference", "architecture"), CASES)
def test_which_is_one_of_those_that_tilelang_generates(reference: Reference, architecture: str) -> None:
    """One of those: TileLang's provers and tables give some kernels now one plan, now another."""
    _, bare, _ = _planned(reference.name, architecture)
    assert bare.cuda in _plain(reference.name, architecture)


GENERATED: dict[tuple[str, str], list[str]] = {}
"""What TileLang has generated for bare kernels so far, each of which it may give more than one plan."""


def _plain(name: str, architecture: str) -> Iterator[str]:
    """What TileLang generates for the bare kernel, time after time."""
    known = GENERATED.setdefault((name, architecture), [builds.stripped(name, architecture).cuda])
    yield from known
    func = numbering.strip(BY_NAME[name].build())
    while len(known) < 9:
        known.append(builds.plain(func, architecture, BY_NAME[name].pass_configs).cuda)
        yield known[-1]


@pytest.mark.some(6)
@pytest.mark.parametrize(("reference", "architecture"), NEWEST)
def test_a_stripped_kernel_is_one_that_never_had_markers(reference: Reference, architecture: str) -> None:
    assert builds.stripped(reference.name, architecture) == builds.never_marked(reference, architecture)


@pytest.mark.some(6)
@pytest.mark.parametrize(("reference", "architecture"), CASES)
def test_every_site_is_in_the_source(reference: Reference, architecture: str) -> None:
    source = _traced(reference.name, architecture).cuda
    sites = numbering.read_sites(reference.build()).sites
    assert sites
    assert [site for site in sites if f"(uint){site.id}, " not in source] == []


@pytest.mark.parametrize(
    "name",
    ["add", "gemm_3", "every_warp", *(pytest.param(n, marks=pytest.mark.wide) for n in ("attention", "persistent"))],
)
def test_it_holds_on_blackwell_too(name: str) -> None:
    traced, plain = builds.traced(BY_NAME[name], "sm_100a"), builds.stripped(name, "sm_100a")
    assert untraced(traced.cuda) == plain.cuda


@pytest.mark.some(4)
@pytest.mark.parametrize(("reference", "architecture"), AGAIN)
def test_finalize_leaves_the_source_alone_too(reference: Reference, architecture: str) -> None:
    found = untraced(builds.traced_again(reference, architecture).cuda)
    assert found in _plain(reference.name, architecture)


@pytest.mark.some(3)
@pytest.mark.parametrize(
    "options",
    [
        TraceOptions.of(keep="last", max_events=5),
        TraceOptions.of(ctas=[0]),
        TraceOptions.of(ctas=[0, 2, 3], keep="last"),
        TraceOptions.of(ctas=range(0, 8, 3)),
        TraceOptions.of(max_events=1),
        TraceOptions.of(budget=2 * 80, max_events=2),
    ],
    ids=["ring", "one CTA", "some CTAs", "every third CTA", "one event", "some CTAs that fit"],
)
@pytest.mark.parametrize(
    "name",
    [
        "payload_loop",
        "dynamic_gemm",
        *(pytest.param(n, marks=pytest.mark.wide) for n in ("early_return", "gemm_2", "specialised_gemm")),
    ],
)
def test_no_option_touches_the_kernel(name: str, options: TraceOptions) -> None:
    reference = BY_NAME[name]
    if options.ctas is not None and name == "payload_loop":
        options = TraceOptions.of(ctas=1)
    source = builds.traced(reference, "sm_90a", options).cuda
    assert untraced(recording_body(source)) == builds.stripped(name, "sm_90a").cuda


@pytest.mark.parametrize("reference", [pytest.param(r, id=str(r), marks=tier(r)) for r in REFERENCES if not r.again])
def test_finalize_refuses_the_others_and_names_the_way(reference: Reference) -> None:
    with pytest.raises(PlacementError, match=r"kernel \w+: .*@trace\.jit"):
        builds.traced_again(reference, reference.architectures[-1])


@pytest.mark.some(6)
@pytest.mark.parametrize(("reference", "architecture"), CASES)
def test_the_kernel_s_attributes_differ_in_slots_alone(reference: Reference, architecture: str) -> None:
    before = builds.stripped(reference.name, architecture).attributes
    after = _traced(reference.name, architecture).attributes
    assert {key: value for key, value in after.items() if not key.endswith(".tltrace.table")} == before


@pytest.mark.parametrize(("reference", "architecture"), CASES)
def test_the_host_code_differs_in_slots_alone(reference: Reference, architecture: str) -> None:
    before = builds.stripped(reference.name, architecture).host
    assert untraced_host(_traced(reference.name, architecture).host) == before


def test_a_pipeline_is_traced_without_the_markers_costing_it_a_stage() -> None:
    """The untraced source itself: that the comparison compares pipelines, not two equally spoilt kernels."""
    assert builds.stripped("gemm_3", "sm_80").cuda.count("cp_async_commit") == 3
    assert "tma_load" in builds.stripped("gemm_3", "sm_90a").cuda
    assert "tma_load" in builds.stripped("specialised_gemm", "sm_90a").cuda


@pytest.mark.some(1)
@pytest.mark.parametrize(("name", "architecture"), MUTATED)
def test_markers_as_statements_would_be_noticed(name: str, architecture: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dry_run, "attach", lambda marked, **_: marked.func)
    if architecture == "sm_80":
        with pytest.raises(PlacementError, match=r"gemm\.py:\d+.* would change TileLang's schedule"):
            builds.traced(BY_NAME[name], architecture)
    monkeypatch.setattr(dry_run, "same_schedule", lambda *_: True)
    monkeypatch.setattr(placement, "with_true_payloads", lambda placed, _: placed)
    if architecture == "sm_80":
        assert untraced(builds.traced(BY_NAME[name], architecture).cuda) != builds.stripped(name, architecture).cuda
    else:  # there they stay behind when the copies move to the producer
        assert "thread 0: tile 0 is copied outside of any load" in misplaced(_placed(name, architecture))


@pytest.mark.parametrize(("name", "architecture"), MUTATED)
def test_a_shifted_iteration_would_be_noticed(name: str, architecture: str, monkeypatch: pytest.MonkeyPatch) -> None:
    assert misplaced(_placed(name, architecture)) == []
    original = placement.site_statement

    def shifted(site: int, payload: Any, **roles: Any) -> Any:
        return original(site, payload + 1, **roles)

    monkeypatch.setattr(placement, "site_statement", shifted)
    assert misplaced(_placed(name, architecture)) != []


@pytest.mark.parametrize(("name", "architecture"), MUTATED)
def test_a_payload_of_the_unscheduled_loop_would_be_noticed(
    name: str, architecture: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A prefetch that is marked with the loop variable of the loop it now stands in, not with its own iteration."""
    if architecture != "sm_80":
        pytest.skip("the producer's loop runs in step with its copies")
    original = anchors.Anchor.from_annotation.__func__  # type: ignore[attr-defined]

    def unfollowed(cls: Any, name: str, value: Any) -> Any:
        anchor = original(cls, name, value)
        payload = anchor.payload.a if isinstance(anchor.payload, tirx.Add) else anchor.payload
        return dataclasses.replace(anchor, payload=payload)

    monkeypatch.setattr(anchors.Anchor, "from_annotation", classmethod(unfollowed))
    assert misplaced(_placed(name, architecture)) != []


@pytest.mark.parametrize(("name", "architecture"), MUTATED)
def test_a_dropped_site_would_be_noticed(name: str, architecture: str, monkeypatch: pytest.MonkeyPatch) -> None:
    assert sites_recorded(_placed(name, architecture)) == {
        site.id for site in numbering.read_sites(BY_NAME[name].build()).sites
    }
    original = placement._statement
    monkeypatch.setattr(
        placement, "_statement", lambda record: tirx.Evaluate(0) if record.site == 5 else original(record)
    )
    assert 5 not in sites_recorded(_placed(name, architecture))


@pytest.mark.parametrize(("name", "architecture"), MUTATED)
def test_a_site_that_the_scheduler_lost_is_refused(
    name: str, architecture: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    original = schedule.schedule

    def forgetful(func: Any, *args: Any) -> Any:
        return placement.without_anchors(original(func, *args))

    monkeypatch.setattr(schedule, "schedule", forgetful)
    monkeypatch.setattr(dry_run, "dead_sites", lambda *_: frozenset())
    with pytest.raises(PlacementError, match=r"gemm\.py:\d+.* would be dropped"):
        builds.prepared(BY_NAME[name], architecture)


def _placed(name: str, architecture: str) -> Placed:
    return placed(BY_NAME[name], architecture)
