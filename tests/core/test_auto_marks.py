"""An unmarked kernel gets a range around every operator: its name, its iteration, its source line, once.

Payloads are checked where the scheduler has put the operators, by the paper run of ``kernels.replay``.
"""

from __future__ import annotations

import linecache
import re
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
import tilelang.language as T
from kernels import BY_NAME, builds
from kernels.replay import Mark, Placed, placed_of, replay, spans, threads_of, tile_numbers

from tltrace_nb import trace
from tltrace_nb.base.errors import PayloadError, PlacementError
from tltrace_nb.core.compile import lowering, placement
from tltrace_nb.core.compile.auto import fallback
from tltrace_nb.core.compile.auto.options import Auto, AutoOptions
from tltrace_nb.core.compile.numbering import read_sites
from tltrace_nb.core.compile.options import TraceOptions
from tltrace_nb.core.compile.schedule import Scheduler
from tltrace_nb.core.runtime.environment import describe
from tltrace_nb.data.sites import EventKind, PayloadType, Site, SiteTable

M = 256
ITERATIONS = 8
"""Of the loops of ``_gemm`` and ``_by_hand``."""

ROOT = Path(__file__).parents[2]


def _gemm(stages: int = 2) -> Any:
    @T.prim_func
    def gemm(A: T.Tensor((M, M), "float16"), B: T.Tensor((M, M), "float16"), C: T.Tensor((M, M), "float16")):
        with T.Kernel(M // 64, M // 64, threads=128) as (bx, by):
            A_shared = T.alloc_shared((64, 32), "float16")
            B_shared = T.alloc_shared((32, 64), "float16")
            C_local = T.alloc_fragment((64, 64), "float32")
            T.clear(C_local)
            for k in T.Pipelined(ITERATIONS, num_stages=stages):
                T.copy(A[by * 64, k * 32], A_shared)
                T.copy(B[k * 32, bx * 64], B_shared)
                T.gemm(A_shared, B_shared, C_local)
            T.copy(C_local, C[by * 64, bx * 64])

    return gemm


def _by_hand() -> Any:
    """Products that run while their author does something else, and a wait that tells when they are done."""

    @T.prim_func
    def by_hand(A: T.Tensor((M, M), "float16"), B: T.Tensor((M, M), "float16"), C: T.Tensor((M, M), "float16")):
        with T.Kernel(M // 64, M // 64, threads=128) as (bx, by):
            A_shared = T.alloc_shared((64, 32), "float16")
            B_shared = T.alloc_shared((32, 64), "float16")
            C_local = T.alloc_fragment((64, 64), "float32")
            T.clear(C_local)
            for k in T.serial(ITERATIONS):
                T.copy(A[by * 64, k * 32], A_shared)
                T.copy(B[k * 32, bx * 64], B_shared)
                T.wgmma_gemm(A_shared, B_shared, C_local)
                T.wait_wgmma(0)
            T.copy(C_local, C[by * 64, bx * 64])

    return by_hand


def _prepared(func: Any, architecture: str = "sm_90a", auto: Auto = "all") -> lowering.Lowering:
    target = builds.target_of(architecture)
    with target:
        return lowering.prepare(func, Scheduler(target), TraceOptions.of(auto=auto))


def _sites(func: Any, architecture: str = "sm_90a", auto: Auto = "all") -> list[Site]:
    """The sites that begin something."""
    return [s for s in _prepared(func, architecture, auto).table.sites if s.kind is not EventKind.RANGE_END]


def _kinds(sites: list[Site]) -> dict[str, EventKind]:
    return {site.name: site.kind for site in sites}


def _placed(name: str, architecture: str, auto: Auto = "all") -> Placed:
    return placed_of(builds.automatic(BY_NAME[name], architecture, auto), BY_NAME[name], architecture)


def _payloads(kernel: Placed, block: tuple[int, int, int] = (0, 0, 0)) -> dict[str, list[int | None]]:
    """For each range the payloads that the first threads of all roles record, in order of its ends."""
    found: dict[str, list[int | None]] = {}
    typed = {site.name for site in kernel.marked.sites if site.payload is not PayloadType.NONE}
    for thread in threads_of(kernel):
        for span in spans(replay(kernel, thread, block)):
            assert span.payload == span.payload_end
            found.setdefault(span.name, []).append(span.payload if span.name in typed else None)
    return found


# ---- names


@pytest.mark.parametrize(
    ("on", "light"), [("light", ("ready A_shared + B_shared", "gemm A_shared·B_shared")), ("all", ()), ("copy", ())]
)
def test_the_table_tells_which_operators_are_moments_for_being_cheap(on: str, light: tuple[str, ...]) -> None:
    table = _prepared(_gemm(), auto=on).table
    assert table.light == light
    assert SiteTable.from_json(table.to_json()) == table


@pytest.mark.parametrize(
    ("on", "full"), [("light", ()), ("all", ("wait free A_shared", "arrive A_shared + B_shared")), ("arrive", ())]
)
def test_the_table_tells_which_operators_the_light_set_does_not_have(on: str, full: tuple[str, ...]) -> None:
    table = _prepared(_gemm(), auto=on).table
    assert table.full == full
    assert SiteTable.from_json(table.to_json()) == table


def test_ranges_are_named_after_what_the_operators_do() -> None:
    assert [site.name for site in _sites(_gemm())] == [
        "fill C_local",
        "pipeline k",
        "wait free A_shared",
        "copy A → A_shared",
        "copy B → B_shared",
        "wait A_shared + B_shared",
        "gemm A_shared·B_shared",
        "arrive A_shared + B_shared",
        "copy C_local → C",
    ]


def test_arrows_lead_from_a_copy_to_the_wait_for_it() -> None:
    names = ["copy A → A_shared", "copy B → B_shared"]
    for architecture in ("sm_80", "sm_90a"):
        flows = _prepared(_gemm(), architecture).table.flows
        assert flows == tuple((name, "wait A_shared + B_shared") for name in names)
    assert _prepared(_gemm(stages=0)).table.flows == ()  # nothing is awaited
    assert _prepared(_gemm(), auto="copy").table.flows == _prepared(_gemm(), auto=True).table.flows == ()


def test_where_copies_are_not_specialised_there_is_nothing_to_arrive_at() -> None:
    names = [site.name for site in _sites(_gemm(), "sm_80")]
    assert "wait A_shared + B_shared" in names  # cp.async
    assert not any(name.startswith(("arrive", "wait free")) for name in names)


def test_an_asynchronous_product_shows_its_issue_and_its_completion() -> None:
    found = _kinds(_sites(_by_hand()))
    assert found["gemm A_shared·B_shared"] is found["wait wgmma"] is EventKind.RANGE_BEGIN


def test_a_kernel_specialised_by_hand_shows_its_own_barriers() -> None:
    low = builds.automatic(BY_NAME["specialised_gemm"], "sm_90a", "all")
    names = Counter(site.name for site in low.table.sites if site.kind is EventKind.RANGE_BEGIN)
    assert names["wait loaded"] == names["arrive loaded"] == names["wait consumed"] == names["arrive consumed"] == 1
    assert names["loop ko"] == 2  # one of each role


def test_a_barrier_of_the_block_belongs_to_the_wait_in_front_of_it() -> None:
    """TileLang would add another one if a record stood between a wait for cp.async and its barrier."""

    @T.prim_func
    def copied(A: T.Tensor((256,), "float32"), B: T.Tensor((256,), "float32")):
        with T.Kernel(1, threads=64):
            tx = T.get_thread_binding()
            s = T.alloc_shared((256,), "float32")
            T.ptx_cp_async(T.access_ptr(s[tx * 4], "w", 4), T.access_ptr(A[tx * 4], "r", 4), 4)
            T.ptx_commit_group()
            T.ptx_wait_group(0)
            T.sync_threads()
            T.copy(s, B)
            T.sync_threads()

    assert [site.name for site in _sites(copied)] == ["wait cp.async", "copy s → B", "wait block"]


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("softmax", {"reduce max x → highest", "reduce sum x → total", "parallel total → x", "copy A → x"}),
        (
            "attention",
            {"gemm weights·V_shared", "wait Q_shared + K_shared", "arrive K_shared", "copy scores → weights"},
        ),
        ("dequantising_gemm", {"parallel B_local → B_wide", "copy B_shared → B_local", "wait B_shared"}),
        ("split_k", {"parallel C_local → C"}),
        ("cluster", {"wait cluster"}),
        ("histogram", {"atomic add B", "loop i"}),
        ("persistent", {"loop wave", "pipeline ko"}),
    ],
)
def test_names_of_other_operators(name: str, expected: set[str]) -> None:
    low = builds.automatic(BY_NAME[name], "sm_90a", "all")
    assert expected <= {site.name for site in low.table.sites}


# ---- payloads


@pytest.mark.parametrize("architecture", ["sm_80", "sm_90a"])
@pytest.mark.parametrize(
    ("name", "count"), [("gemm_2", 16), ("gemm_3", 16), ("dequantising_gemm", 4), ("attention", 4)]
)
def test_what_stands_in_a_pipeline_is_recorded_once_an_iteration(name: str, count: int, architecture: str) -> None:
    kernel = _placed(name, architecture)
    in_loop = [site for site in kernel.marked.sites if site.payload is not PayloadType.NONE]
    passed = [e for t in threads_of(kernel) for e in replay(kernel, t) if isinstance(e, Mark)]
    assert len(in_loop) >= 8
    for site in in_loop:
        assert [e.payload for e in passed if e.site == site.id] == list(range(count)), site


@pytest.mark.parametrize("architecture", ["sm_80", "sm_90a"])
def test_a_copy_s_payload_is_the_tile_that_it_copies(architecture: str) -> None:
    kernel = _placed("gemm_3", architecture)
    copies = [s for t in threads_of(kernel) for s in spans(replay(kernel, t)) if s.name == "copy A → A_shared"]
    assert len(copies) == 16
    for copy in copies:
        assert [w.what for w in copy.work] == ["copy"]
        assert tile_numbers(copy.work[0], {"A": 1}, 32) == [copy.payload]


@pytest.mark.parametrize("architecture", ["sm_80", "sm_90a"])
def test_a_wait_of_the_scheduler_s_stands_in_front_of_the_product_that_it_is_for(architecture: str) -> None:
    kernel = _placed("gemm_3", architecture)
    for thread in threads_of(kernel):
        for span in spans(replay(kernel, thread)):
            if span.name.startswith("wait"):
                waits = {"mbarrier_wait_parity", "ptx_wait_group"}
                assert span.work
                assert {w.what for w in span.work} <= waits
            if span.name.startswith("arrive"):
                assert [w.what for w in span.work] == ["ptx_arrive_barrier"]
    consumer = replay(kernel, threads_of(kernel)[-1])
    order = [(e.name, e.payload) for e in consumer if isinstance(e, Mark) and e.kind is EventKind.RANGE_BEGIN]
    steps = [step for step in order if step[0].startswith(("wait A", "gemm"))]
    assert steps == [(n, k) for k in range(16) for n in ("wait A_shared + B_shared", "gemm A_shared·B_shared")]


def test_every_role_shows_the_loop() -> None:
    assert _payloads(_placed("gemm_3", "sm_90a"))["pipeline ko"] == [None, None]


def test_a_loop_in_a_loop_has_the_outer_iteration_and_its_operators_the_inner() -> None:
    found = _payloads(_placed("persistent", "sm_80"))
    assert found["loop wave"] == [None]
    assert found["pipeline ko"] == found["copy C_local → C"] == [0, 1, 2, 3]
    assert found["gemm A_shared·B_shared"] == [*range(4)] * 4


def test_a_wide_loop_variable_is_recorded_in_32_bits() -> None:
    @T.prim_func
    def wide(A: T.Tensor((512,), "float32"), B: T.Tensor((512,), "float32")):
        with T.Kernel(1, threads=128):
            for i in T.serial(T.int64(4)):
                T.copy(A[i * 128 : i * 128 + 128], B[i * 128 : i * 128 + 128])

    (copy,) = (site for site in _sites(wide) if site.name == "copy A → B")
    assert copy.payload is PayloadType.INT32


def test_a_while_loop_has_no_iteration() -> None:
    @T.prim_func
    def repeated(A: T.Tensor((128,), "float32"), B: T.Tensor((128,), "float32")):
        with T.Kernel(1, threads=128):
            count = T.alloc_var("int32", init=0)
            for _ in T.serial(2):
                while count < 3:
                    T.copy(A, B)
                    count = count + 1

    (copy,) = (site for site in _sites(repeated) if site.name == "copy A → B")
    assert copy.payload is PayloadType.NONE


# ---- source lines


@pytest.mark.parametrize("name", ["gemm_3", "attention", "softmax", "specialised_gemm"])
def test_the_source_line_is_the_operator_s(name: str) -> None:
    """Also those of TileLang's own macros (``T.reduce_max``), for which it notes a line of itself."""
    written = {
        "copy": "copy(",
        "gemm": "T.gemm(",
        "fill": r"T\.(fill|clear)\(",
        "reduce": r"T\.reduce_(max|sum)\(",
        "parallel": r"T\.Parallel\(",
        "pipeline": r"T\.Pipelined\(",
        "loop": r"T\.serial\(",
        "wait": "wait|copy|gemm",
        "arrive": "arrive|copy|gemm",
    }
    for site in builds.automatic(BY_NAME[name], "sm_90a", "all").table.sites:
        file, _, line = site.source.rpartition(":")
        text = linecache.getline(str(ROOT / file), int(line))
        pattern = written[site.name.split(" ", maxsplit=1)[0]]
        near = text + linecache.getline(str(ROOT / file), int(line) + 1)  # a call may go on in the next line
        assert re.search(pattern.replace("(", r"\(") if "\\" not in pattern else pattern, near), (site, text)


# ---- what is chosen


def test_light_marks_in_the_hot_loop_only_what_is_cheap() -> None:
    found = _kinds(_sites(_gemm(), auto=True))
    assert found == {
        "fill C_local": EventKind.RANGE_BEGIN,
        "pipeline k": EventKind.RANGE_BEGIN,
        "copy A → A_shared": EventKind.RANGE_BEGIN,
        "copy B → B_shared": EventKind.RANGE_BEGIN,
        "ready A_shared + B_shared": EventKind.INSTANT,
        "gemm A_shared·B_shared": EventKind.INSTANT,
        "copy C_local → C": EventKind.RANGE_BEGIN,
    }


def test_instants_are_ignored_by_the_names_that_they_have() -> None:
    names = {site.name for site in _sites(_gemm(), auto=AutoOptions.of(True, ignore="ready *"))}
    assert "gemm A_shared·B_shared" in names
    assert not any(name.startswith("ready") for name in names)


def test_light_reads_no_clock_behind_a_product() -> None:
    assert not any("wgmma" in site.name for site in _sites(_by_hand(), auto=True))


@pytest.mark.parametrize("architecture", ["sm_80", "sm_90a"])
def test_light_tells_when_the_tiles_have_arrived(architecture: str) -> None:
    kernel = _placed("gemm_3", architecture, True)
    consumer = replay(kernel, threads_of(kernel)[-1])
    passed = [(e.name, e.payload) for e in consumer if isinstance(e, Mark) and e.kind is EventKind.INSTANT]
    assert passed == [(n, k) for k in range(16) for n in ("ready A_shared + B_shared", "gemm A_shared·B_shared")]


def test_outside_of_innermost_loops_light_marks_everything() -> None:
    low = builds.automatic(BY_NAME["persistent"], "sm_90a", True)
    begins = {site.name for site in low.table.sites if site.kind is EventKind.RANGE_BEGIN}
    assert {"loop wave", "pipeline ko", "fill C_local", "copy C_local → C"} <= begins


@pytest.mark.parametrize(
    ("on", "ignore", "expected"),
    [
        ("copy", (), ["copy A → A_shared", "copy B → B_shared", "copy C_local → C"]),
        ("gemm", (), ["gemm A_shared·B_shared"]),
        ("copy", "copy * → C", ["copy A → A_shared", "copy B → B_shared"]),
        (["loop", "wait A*"], (), ["pipeline k", "wait A_shared + B_shared"]),
        ("all", ("copy", "wait", "arrive", "loop"), ["fill C_local", "gemm A_shared·B_shared"]),
        ("all", "*_shared", ["fill C_local", "pipeline k", "copy C_local → C"]),
    ],
    ids=str,
)
def test_on_and_ignore_choose(on: Any, ignore: Any, expected: list[str]) -> None:
    sites = _sites(trace.auto(_gemm(), on=on, ignore=ignore), auto=None)
    assert [site.name for site in sites] == expected
    assert {site.kind for site in sites} == {EventKind.RANGE_BEGIN}


def test_a_kind_named_beside_light_is_marked_in_full() -> None:
    found = _kinds(_sites(_gemm(), auto=["light", "gemm"]))
    assert found["gemm A_shared·B_shared"] is EventKind.RANGE_BEGIN
    assert found["ready A_shared + B_shared"] is EventKind.INSTANT


# ---- with markers of the author's


def test_what_the_author_has_marked_is_not_marked_again() -> None:
    names = Counter(s.name for s in _sites(BY_NAME["gemm_3"].build()))
    assert names["clear"] == names["mainloop"] == names["load"] == names["mma"] == names["store"] == 1
    assert not any(name.startswith(("copy", "gemm", "fill", "pipeline")) for name in names)


def test_what_a_range_of_the_author_s_holds_deeper_down_is_marked() -> None:
    @T.prim_func
    def outer(A: T.Tensor((512,), "float32"), B: T.Tensor((512,), "float32")):
        with T.Kernel(1, threads=128):
            with trace.range("whole"):
                for i in T.serial(4):
                    T.copy(A[i * 128 : i * 128 + 128], B[i * 128 : i * 128 + 128])
            T.copy(A, B)

    assert [s.name for s in _sites(outer)] == ["whole", "copy A → B", "copy A → B"]


def test_the_author_s_markers_are_what_they_were() -> None:
    reference = BY_NAME["separate_loads"]
    own = {s.name: s for s in builds.prepared(reference, "sm_90a").table.sites}
    both = {s.name: s for s in builds.prepared(reference, "sm_90a", TraceOptions.of(auto="all")).table.sites}
    for name, site in own.items():
        assert (both[name].payload, both[name].source, both[name].lane) == (site.payload, site.source, site.lane)
    assert {"fill C_local", "pipeline ko", "copy C_local → C"} == {
        n for n in both.keys() - own.keys() if "wait" not in n
    }


def test_the_table_has_the_lines_of_the_kernel_as_they_were_when_it_was_built() -> None:
    table = _prepared(_gemm()).table
    lines = {text for source, text in table.code if source.startswith("tests/core/test_auto_marks.py:")}
    assert "T.gemm(A_shared, B_shared, C_local)" in lines
    assert dict(SiteTable.from_json(table.to_json()).code) == dict(table.code)
    assert table.without_lines().code == ()


def test_marking_twice_is_marking_once() -> None:
    once = trace.auto(_gemm(), on="all")
    twice = trace.auto(once, on="all")
    assert [s.name for s in _sites(twice, auto=None)] == [s.name for s in _sites(once, auto=None)]
    assert [s.name for s in _sites(once)] == [s.name for s in _sites(once, auto=None)]


def test_stores_and_scalars_are_no_operators() -> None:
    low = builds.automatic(BY_NAME["without_payload"], "sm_90a", "all")
    assert low.table.sites == ()
    assert low.table.note == "automatic markers: the kernel has no operator of those that were asked for"


# ---- what cannot be kept


def test_a_marker_without_a_place_is_left_out_and_the_note_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    original = placement.with_true_payloads

    def fussy(placed: Any, marked: Any) -> Any:
        if any(site.name.startswith("copy B") for site in marked.sites):
            raise PayloadError("not this one")
        return original(placed, marked)

    monkeypatch.setattr(placement, "with_true_payloads", fussy)
    low = _prepared(_gemm())
    names = [s.name for s in low.table.sites if s.kind is EventKind.RANGE_BEGIN]
    assert "copy A → A_shared" in names
    assert "copy B → B_shared" not in names
    assert re.fullmatch(
        r"automatic markers left out, as TileLang's schedule has no place for them: "
        r"copy B → B_shared \(.*test_auto_marks\.py:\d+\)",
        low.table.note,
    )


def test_a_refused_marker_of_the_author_s_is_refused_all_the_same() -> None:
    @T.prim_func
    def lonely(A: T.Tensor((512,), "float32"), B: T.Tensor((512,), "float32")):
        with T.Kernel(1, threads=128):
            tile = T.alloc_shared((128,), "float32")
            for k in T.Pipelined(4, num_stages=2):
                T.copy(A[k * 128], tile)
                T.copy(tile, B[k * 128])
                for _ in T.serial(2):
                    trace.record("late", payload=k)

    with pytest.raises(PlacementError, match="'late' stands in a pipelined"):
        _prepared(lonely)


def test_as_few_as_possible_are_left_out() -> None:
    bad = {3, 4, 11}
    assert fallback._most(list(range(16)), lambda some: not bad & set(some)) == sorted(set(range(16)) - bad)
    assert fallback._most([1], lambda some: not some) == []
    assert fallback._most([], lambda some: False) == []


def test_where_the_scheduler_waits_for_nothing_there_is_no_site_that_never_records() -> None:
    func = trace.auto(_gemm(), on="all")
    assert len(read_sites(func).sites) > len(_prepared(func, auto=None).table.sites)
    for architecture in ("sm_80", "sm_90a"):
        low = builds.automatic(BY_NAME["attention"], architecture, "all")
        kernel = placed_of(low, BY_NAME["attention"], architecture)
        passed = {e.site for t in threads_of(kernel) for e in replay(kernel, t) if isinstance(e, Mark)}
        assert passed == {site.id for site in low.table.sites}


def test_the_note_travels_with_the_table_and_into_the_trace_s_meta() -> None:
    table = builds.automatic(BY_NAME["without_payload"], "sm_90a", "all").table
    assert SiteTable.from_json(table.to_json()) == table
    assert describe(table, ((1, 1, 1),)).note == table.note != ""


def test_a_table_without_a_note_has_the_text_that_it_always_had() -> None:
    """The text decides the tag in the slots, also of traces that were recorded before there were notes."""
    table = _prepared(_gemm()).table
    assert table.note == ""
    assert "note" not in table.to_json()
    assert SiteTable.from_json(table.to_json()) == table
