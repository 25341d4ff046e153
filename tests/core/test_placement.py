"""Each record stands at its operator, with the iteration that the operator works on.

The scheduled kernels are run on paper for one thread of every role (``kernels.replay``), by an interpreter that knows
nothing of how markers were placed.
"""

from __future__ import annotations

import re

import pytest
from kernels import BY_NAME, builds
from kernels.replay import Mark, Placed, Work, exactly_once, misplaced, placed, replay, spans, threads_of
from kernels.replay import tile_numbers as tiles_of
from kernels.tiers import tier

from tltrace_nb.core.compile import device
from tltrace_nb.data.sites import EventKind

K_AXIS = {"A": 1, "B": 0}
ITERATIONS = 16
PIPELINES = [
    pytest.param(name, architecture, id=f"{name}-{architecture}", marks=tier(BY_NAME[name]))
    for stages in (1, 2, 3, 4)
    for name in (f"gemm_{stages}", f"gemm_{stages}_unspecialised")
    for architecture in BY_NAME[name].architectures
]


def _recorded(kernel: Placed, name: str) -> dict[int, list[int | None]]:
    """For each role's first thread the payloads of a range, in order of its ends."""
    found = {t: [s.payload for s in spans(replay(kernel, t)) if s.name == name] for t in threads_of(kernel)}
    return {thread: payloads for thread, payloads in found.items() if payloads}


@pytest.mark.parametrize(("name", "architecture"), PIPELINES)
def test_every_iteration_of_a_pipeline_exactly_once_and_in_order(name: str, architecture: str) -> None:
    kernel = placed(BY_NAME[name], architecture)
    specialised = architecture == "sm_90a" and "unspecialised" not in name
    assert len(threads_of(kernel)) == 1 + specialised
    loads, products = _recorded(kernel, "load"), _recorded(kernel, "mma")
    assert set(loads) == {0}
    assert set(products) == {128 if specialised else 0}
    for payloads in (*loads.values(), *products.values()):
        assert exactly_once([p for p in payloads if p is not None], ITERATIONS)


@pytest.mark.parametrize(("name", "architecture"), PIPELINES)
def test_a_load_copies_the_tiles_that_its_payload_names(name: str, architecture: str) -> None:
    kernel = placed(BY_NAME[name], architecture)
    assert misplaced(kernel) == []
    loads = [s for s in spans(replay(kernel)) if s.name == "load"]
    for load in loads:
        assert load.payload_end == load.payload
        assert [w.what for w in load.work] == ["copy", "copy"]
        assert [tiles_of(w, K_AXIS, 32) for w in load.work] == [[load.payload], [load.payload]]


@pytest.mark.parametrize(("name", "architecture"), PIPELINES)
def test_a_product_is_marked_with_the_iteration_whose_tiles_it_reads(name: str, architecture: str) -> None:
    kernel = placed(BY_NAME[name], architecture)
    products = [s for t in threads_of(kernel) for s in spans(replay(kernel, t)) if s.name == "mma"]
    assert len(products) == ITERATIONS
    for product in products:
        (work,) = product.work
        assert work.what == "gemm"
        stage = next(indices[0] for buffer, indices in work.reads if buffer == "A_shared")
        copies_per_buffer = _stages_of(kernel, "A_shared")
        assert stage == (product.payload or 0) % copies_per_buffer


def _stages_of(kernel: Placed, buffer: str) -> int:
    """How many versions of a shared buffer the scheduler has made: the stages that the products read, counted."""
    work = [w for t in threads_of(kernel) for w in replay(kernel, t) if isinstance(w, Work) and w.what == "gemm"]
    return len({indices[0] for w in work for name, indices in w.reads if name == buffer})


@pytest.mark.parametrize("stages", [2, 3, pytest.param(4, marks=pytest.mark.full)])
def test_the_prologue_loads_ahead_of_the_first_product(stages: int) -> None:
    events = replay(placed(BY_NAME[f"gemm_{stages}"], "sm_80"))
    begun = [(e.name, e.payload) for e in events if isinstance(e, Mark) and e.kind is EventKind.RANGE_BEGIN]
    first = begun.index(("mma", 0))
    assert begun[2:first] == [("load", k) for k in range(stages)]
    for k in range(ITERATIONS - stages):
        assert begun.index(("mma", k)) < begun.index(("load", k + stages)) < begun.index(("mma", k + 1))


@pytest.mark.parametrize("architecture", ["sm_80", "sm_90a"])
def test_ranges_stand_directly_at_their_operators(architecture: str) -> None:
    kernel = placed(BY_NAME["separate_loads"], architecture)
    expected = {"load A": "copy", "load B": "copy", "mma": "gemm"}
    seen: dict[str, list[int | None]] = {}
    for thread in threads_of(kernel):
        for span in spans(replay(kernel, thread)):
            if span.name in expected:
                assert [w.what for w in span.work] == [expected[span.name]]
                seen.setdefault(span.name, []).append(span.payload)
    assert seen == {name: list(range(ITERATIONS)) for name in expected}


@pytest.mark.parametrize("architecture", ["sm_80", "sm_90a"])
def test_an_iteration_torn_apart_keeps_its_number_in_every_part(architecture: str) -> None:
    kernel = placed(BY_NAME["separate_loads"], architecture)
    parts = [s for t in threads_of(kernel) for s in spans(replay(kernel, t)) if s.name == "iteration"]
    loading = [s.payload for s in parts if any(w.what == "copy" for w in s.work)]
    multiplying = [s.payload for s in parts if any(w.what == "gemm" for w in s.work)]
    assert loading == multiplying == list(range(ITERATIONS))
    assert all(s.payload == s.payload_end for s in parts)


@pytest.mark.parametrize("architecture", ["sm_80", "sm_90a"])
def test_an_instant_in_a_pipeline_comes_once_an_iteration(architecture: str) -> None:
    kernel = placed(BY_NAME["separate_loads"], architecture)
    passed = [e for t in threads_of(kernel) for e in replay(kernel, t) if isinstance(e, Mark) and e.name == "loaded"]
    assert [e.payload for e in passed] == list(range(ITERATIONS))


def test_a_kernel_specialised_by_hand_records_in_both_branches() -> None:
    kernel = placed(BY_NAME["specialised_gemm"], "sm_90a")
    assert misplaced(kernel, extent=64) == []
    consumer, producer = (spans(replay(kernel, t)) for t in (0, 128))
    assert [s.payload for s in consumer if s.name == "mma"] == list(range(8))
    assert [s.payload for s in producer if s.name == "load"] == list(range(8))
    for span in (*consumer, *producer):
        if span.name.startswith("wait"):
            assert [w.what for w in span.work] == ["mbarrier_wait_parity"]


@pytest.mark.parametrize("architecture", ["sm_80", "sm_90a"])
def test_a_persistent_kernel_numbers_tiles_and_iterations(architecture: str) -> None:
    kernel = placed(BY_NAME["persistent"], architecture)
    for cta in (0, 3):
        found = [s for t in threads_of(kernel) for s in spans(replay(kernel, t, (cta, 0, 0)))]
        assert [s.payload for s in found if s.name == "mma"] == list(range(4)) * 4
        loads = [s for s in found if s.name == "load"]
        assert [s.payload for s in loads] == list(range(4)) * 4
        for load in loads:
            assert [tiles_of(w, K_AXIS, 64) for w in load.work] == [[load.payload]] * 2
        for thread in threads_of(kernel):
            tiles = [s.payload for s in spans(replay(kernel, thread, (cta, 0, 0))) if s.name == "tile"]
            assert tiles == [wave * 4 + cta for wave in range(4)]


@pytest.mark.parametrize("architecture", ["sm_80", "sm_90a"])
def test_iterations_under_a_condition_are_those_that_run(architecture: str) -> None:
    kernel = placed(BY_NAME["conditional_gemm"], architecture)
    for row in (0, 1):
        found = [s for t in threads_of(kernel) for s in spans(replay(kernel, t, (0, row, 0)))]
        for name, what in (("load", ["copy", "copy"]), ("mma", ["gemm"])):
            assert [s.payload for s in found if s.name == name] == list(range(row + 1, 8)), name
            assert all([w.what for w in s.work if w.what in what] == what for s in found if s.name == name)
        for load in (s for s in found if s.name == "load"):
            assert [tiles_of(w, K_AXIS, 32) for w in load.work if w.what == "copy"] == [[load.payload]] * 2


@pytest.mark.parametrize("architecture", ["sm_80", "sm_90a"])
def test_crossing_ranges_in_a_pipeline(architecture: str) -> None:
    kernel = placed(BY_NAME["crossing_gemm"], architecture)
    found = [s for t in threads_of(kernel) for s in spans(replay(kernel, t))]
    assert [s.payload for s in found if s.name == "first"] == list(range(8))
    assert [s.payload for s in found if s.name == "empty"] == list(range(8))
    second = [s for s in found if s.name == "second"]
    for what in ("copy", "gemm"):  # torn apart by the scheduler, each part has its iteration
        assert [s.payload for s in second if any(w.what == what for w in s.work)] == list(range(8))
    assert len([s for s in found if s.name == "through"]) == len(threads_of(kernel))


@pytest.mark.parametrize("architecture", ["sm_80", "sm_90a"])
def test_split_k_names_the_tile_within_its_part(architecture: str) -> None:
    kernel = placed(BY_NAME["split_k"], architecture)
    loads = [s for s in spans(replay(kernel, 0, (0, 0, 2))) if s.name == "load"]
    assert [s.payload for s in loads] == list(range(8))
    for load in loads:
        assert [tiles_of(w, K_AXIS, 32) for w in load.work] == [[2 * 8 + (load.payload or 0)]] * 2


@pytest.mark.parametrize(
    ("name", "architecture"),
    [
        ("attention", "sm_80"),
        ("attention", "sm_90a"),
        ("causal_attention", "sm_90a"),
        ("causal_attention_unpipelined", "sm_80"),
    ],
)
def test_attention_marks_each_block_of_keys_once(name: str, architecture: str) -> None:
    kernel = placed(BY_NAME[name], architecture)
    count = 4 if name == "attention" else 3
    for range_name in ("load K", "QK", "softmax", "load V", "PV"):
        found = [s for t in threads_of(kernel) for s in spans(replay(kernel, t, (2, 0, 0))) if s.name == range_name]
        assert [s.payload for s in found] == [s.payload_end for s in found] == list(range(count)), range_name


def test_attention_loads_the_keys_that_the_payload_names() -> None:
    for architecture in ("sm_80", "sm_90a"):
        kernel = placed(BY_NAME["attention"], architecture)
        for name, buffer in (("load K", "K"), ("load V", "V")):
            loads = [s for s in spans(replay(kernel)) if s.name == name]
            assert [tiles_of(w, {buffer: 1}, 64) for s in loads for w in s.work if w.what == "copy"] == [
                [s.payload] for s in loads
            ]


@pytest.mark.parametrize("architecture", ["sm_80", "sm_90a"])
def test_the_source_has_the_prefetch_s_own_iteration(architecture: str) -> None:
    """The same once more from the CUDA text: each load's payload, times the block, is where its copies read."""
    source = builds.traced(BY_NAME["gemm_3"], architecture).cuda.replace(device.HELPER, "")
    lines = source.split("\n")
    begins = [(i, m[1]) for i, line in enumerate(lines) if (m := re.search(r"__tlt_record.*\(uint\)3, (.*)\);", line))]
    assert len(begins) == (3 if architecture == "sm_80" else 1)
    for i, payload in begins:
        end = next(j for j in range(i, len(lines)) if "(uint)4, " in lines[j])
        body = "\n".join(lines[i + 1 : end])
        assert lines[end].endswith(f"(uint)4, {payload});")
        assert "mma" not in body
        if architecture == "sm_80":
            ahead = int(re.findall(r"\d+", payload)[-1])
            a_copy, b_copy = (line for line in body.split("\n") if "cp_async_gs" in line)
            for copy, step in ((a_copy, 32), (b_copy, 32 * 256)):
                read = copy.split(", (&(")[1]
                assert ("ko * " in read) == ("ko" in payload)
                assert ahead == 0 or f" {ahead * step})" in read
        else:
            assert f"({payload} * 32)" in body
            assert "tma_load(A_desc" in body


def test_guarded_statements_that_tilelang_splits_stay_one_range() -> None:
    """TileLang makes one ``if`` of each statement under a condition; the range still begins and ends once."""
    source = builds.traced(BY_NAME["only_markers"], "sm_80").cuda.replace(device.HELPER, "")
    steps = re.findall(r"__tlt_record.*\(uint\)(\d+), \d+\);|^ +(B)\[", source, re.MULTILINE)
    assert [site or store for site, store in steps][-8:] == ["3", "4", "B", "5", "B", "6", "7", "8"]
    assert source.count("(uint)4, ") == source.count("(uint)7, ") == 1


def test_a_range_over_guarded_operators_begins_and_ends_once() -> None:
    source = builds.traced(BY_NAME["guarded_tile"], "sm_80").cuda.replace(device.HELPER, "")
    assert [int(site) for site in re.findall(r"__tlt_record.*\(uint\)(\d+), ", source)] == list(range(7))


@pytest.mark.parametrize("architecture", BY_NAME["ragged_pipeline"].architectures)
def test_what_a_pipeline_may_never_come_to_records_under_its_condition(architecture: str) -> None:
    lines = builds.traced(BY_NAME["ragged_pipeline"], architecture).cuda.splitlines()
    (guard,) = (i for i, line in enumerate(lines) if "if (1 <= L[row])" in line)
    end = next(i for i in range(guard, len(lines)) if lines[i] == lines[guard].split("if")[0] + "}")
    last_turn = [i for i, line in enumerate(lines) if device.RECORD in line and "- 1)" in line and "row) - 1" in line]
    assert len(last_turn) == 2
    assert all(guard < i < end for i in last_turn)
