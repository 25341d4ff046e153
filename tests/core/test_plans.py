"""A traced kernel has the bare kernel's plan: shared memory, barriers, fences, guards and loops, to the last character.

Checked for kernels that nobody marked, marked automatically, on each architecture, specialised and not. TileLang builds
some of them in more than one way; the bare kernel here is the build by which the traced one goes.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest
from kernels import Reference, builds, gemm
from kernels.published import KERNELS, marked
from kernels.source import untraced, untraced_host

from tltrace_nb.core.compile import for_plain_jit as again
from tltrace_nb.core.compile import numbering, plans, same, schedule
from tltrace_nb.core.compile.lowering import Lowering, prepare
from tltrace_nb.core.compile.options import TraceOptions
from tltrace_nb.core.compile.schedule import Scheduler
from tltrace_nb.core.runtime.launch import TracedLaunch
from tltrace_nb.core.runtime.traced import TracedKernel
from tltrace_nb.data import sites

BY_NAME = {kernel.name: kernel for kernel in KERNELS}

NOT_SPECIALISED = {"tl.disable_warp_specialized": True}

OFTEN_OTHERWISE = {
    "two_pipelines",
    "layer_norm_backward",
    "online_softmax",
}
"""Kernels that TileLang plans otherwise when it sees records: the default suite has the first, the wide tier these, the
full one all."""


@dataclasses.dataclass(frozen=True)
class Build:
    """A published kernel on an architecture, specialised or not, with light or all automatic markers."""

    kernel: Reference
    architecture: str
    specialised: bool
    auto: Any

    def __str__(self) -> str:
        kind = "" if self.specialised else "-unspecialised"
        return f"{self.kernel}-{self.architecture}{kind}-{'light' if self.auto is True else self.auto}"

    @property
    def pass_configs(self) -> dict[str, Any]:
        """TileLang's settings."""
        return {**self.kernel.pass_configs, **({} if self.specialised else NOT_SPECIALISED)}

    @functools.cached_property
    def lowering(self) -> Lowering:
        """The marked kernel, lowered."""
        target = builds.target_of(self.architecture)
        with target:
            return prepare(self.kernel.build(), Scheduler(target, self.pass_configs), TraceOptions.of(auto=self.auto))

    @functools.cached_property
    def sources(self) -> tuple[builds.Source, builds.Source, str]:
        """Of the traced and the bare kernel, and the note on the plan."""
        return builds.planned(self.lowering, self.kernel.build, self.architecture, self.pass_configs)


def _tier(kernel: str) -> list[Any]:
    if kernel == "two_pipelines":
        return []
    return [pytest.mark.wide] if kernel in OFTEN_OTHERWISE else [pytest.mark.full]


BUILDS = [
    pytest.param(build, id=str(build), marks=_tier(kernel.name) or [pytest.mark.wide] * (auto != "all"))
    for kernel in KERNELS
    for architecture in kernel.architectures
    for specialised in ((True,) if architecture == "sm_80" else (True, False))
    for auto in (True, "all")
    for build in [Build(kernel, architecture, specialised, auto)]
]


@pytest.mark.some(1)
@pytest.mark.parametrize("build", BUILDS)
def test_the_traced_source_without_tracing_is_the_bare_source(build: Build) -> None:
    traced, bare, note = build.sources
    assert untraced(traced.cuda) == bare.cuda
    assert untraced_host(traced.host) == bare.host
    assert note == ""


@pytest.mark.parametrize("build", BUILDS)
def test_every_site_is_in_the_source(build: Build) -> None:
    source = build.sources[0].cuda
    assert [site for site in build.lowering.table.sites if f"(uint){site.id}, " not in source] == []


@pytest.mark.some(4)
@pytest.mark.parametrize(
    ("architecture", "configs"),
    [("sm_80", {}), ("sm_90a", {}), ("sm_90a", NOT_SPECIALISED)],
    ids=["sm_80", "sm_90a", "sm_90a-unspecialised"],
)
@pytest.mark.parametrize("builder", marked.BUILDERS)
def test_so_is_that_of_kernels_with_markers_where_later_passes_look(
    builder: Callable[[], Any], architecture: str, configs: dict[str, Any]
) -> None:
    target = builds.target_of(architecture)
    with target:
        lowering = prepare(builder(), Scheduler(target, configs), TraceOptions())
    traced, bare, note = builds.planned(lowering, builder, architecture, configs)
    assert untraced(traced.cuda) == bare.cuda
    assert note == ""


EXAMPLE = Build(BY_NAME["two_pipelines"], "sm_90a", True, "all")


def test_tilelang_plans_the_example_otherwise_when_it_sees_records(monkeypatch: pytest.MonkeyPatch) -> None:
    """That the tests above have something to find: without the transplant a tile would overlap the queries."""
    monkeypatch.setattr(plans, "transplanted", lambda *_: None)
    traced, bare, note = dataclasses.replace(EXAMPLE).sources  # not one that was built before
    assert untraced(traced.cuda) != bare.cuda
    assert note == (
        "TileLang plans kernel two_pipelines otherwise when it records (bytes of shared memory 8,992 instead of "
        "9,248), so its times may differ"
    )


@pytest.mark.wide
def test_a_kernel_that_tilelang_compiles_by_itself_says_what_it_plans_otherwise() -> None:
    func = EXAMPLE.kernel.build()
    with builds.target_of("sm_90a"):
        recording = again.lower(func, TraceOptions.of(auto="all"), {})
    table = sites.SiteTable.from_json(str(recording.attrs[sites.TABLE_ATTRIBUTE]))
    assert table.note.startswith(
        "TileLang plans kernel two_pipelines otherwise when it records (bytes of shared memory"
    )
    assert table.note.endswith("; @trace.jit keeps the plan")


def test_one_that_it_plans_alike_says_nothing() -> None:
    with builds.target_of("sm_90a"):
        recording = again.lower(BY_NAME["rotary"].build(), TraceOptions.of(auto="all"), {})
    assert sites.SiteTable.from_json(str(recording.attrs[sites.TABLE_ATTRIBUTE])).note == ""


def test_a_device_function_is_not_taken_over_with_another_host_s_tensor_maps() -> None:
    def module(rows: int) -> Any:
        target = builds.target_of("sm_90a")
        func = numbering.strip(gemm.pipelined(3, bm=rows))
        with schedule.pass_context({}):
            return schedule.planned(schedule.schedule(func, target), target)

    high, low = module(128), module(64)
    (kernel,) = plans.device_functions(high)
    functions = plans.device_functions(high)[kernel], plans.device_functions(low)[kernel]
    assert same.same_host(high["gemm"], module(128)["gemm"], {kernel: (functions[0], functions[0])})
    assert not same.same_host(high["gemm"], low["gemm"], {kernel: functions})


def test_what_could_not_be_kept_is_a_note_on_the_trace() -> None:
    lowering = EXAMPLE.lowering
    kernel: Any = SimpleNamespace(out_idx=[])
    traced = TracedKernel(None, kernel, lowering, TraceOptions(), lambda _: None, plan_note="planned otherwise")
    launch = TracedLaunch(traced, (), traced.launches.plan(()), None)
    assert traced.describe(launch).note == "planned otherwise"


@pytest.mark.wide
def test_the_bare_kernel_is_planned_as_tilelang_plans_it_by_itself() -> None:
    _, bare, _ = EXAMPLE.sources
    assert bare == builds.plain(EXAMPLE.kernel.build(), "sm_90a", {})
