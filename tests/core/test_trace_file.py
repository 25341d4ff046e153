"""Saving and opening traces, and what a trace says of itself."""

from __future__ import annotations

import io
import json
import math
import re
import subprocess
import sys
import zipfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from synthetic import Rec, build, instant, span, table
from tiers import examples

from tltrace_nb.core.loading import load
from tltrace_nb.core.trace import Trace, TraceFileError, TraceMeta
from tltrace_nb.data.sites import Writer

OF = table(*span(0, "load"), *span(2, "<b>mma</b>"), flows=(("load", "<b>mma</b>"),), grid=(2, 1, 1))
META = TraceMeta(
    "gemm",
    "cuda",
    "NVIDIA H200",
    "580",
    "13.0",
    {"torch": "2.9"},
    "gemm.py",
    "abc",
    "python gemm.py",
    "2026-11-29",
    ((2, 1, 1),),
    resources=((168, 98304),),
    work=(1e9, 2e6),
    slowdown=(1.014, 1.001),
)
RECORDS = [Rec(cta, 0, 1010 + 10 * n, site, n // 2) for cta in range(2) for n, site in enumerate([0, 1, 2, 3])]


@pytest.fixture
def trace() -> Trace:
    return Trace(build(OF, RECORDS, rows=2), OF, META)


@pytest.fixture
def file(trace: Trace, tmp_path: Path) -> Path:
    path = tmp_path / "gemm.tltrace"
    trace.save(path)
    return path


def rewritten(file: Path, **members: Any) -> Path:
    """The file with members replaced (``meta`` by a function of its JSON, ``slots`` by bytes) or added."""
    with zipfile.ZipFile(file) as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    if "meta" in members:
        parts["meta.json"] = json.dumps(members["meta"](json.loads(parts["meta.json"]))).encode()
    parts |= {"slots.npy": members["slots"]} if "slots" in members else {}
    parts |= members.get("more", {})
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in parts.items():
            archive.writestr(name, content)
    return file


def npy(array: np.ndarray[Any, Any], **options: Any) -> bytes:
    stream = io.BytesIO()
    np.lib.format.write_array(stream, array, **options)
    return stream.getvalue()


# ---- there and back


def test_a_trace_comes_back_as_it_was(trace: Trace, file: Path) -> None:
    again = load(file)
    assert np.array_equal(again.slots, trace.slots)
    assert (again.table, again.meta) == (trace.table, trace.meta)
    assert again.events.equals(trace.events)


def test_the_clock_rate_of_a_virtual_gpu_comes_back(trace: Trace, tmp_path: Path) -> None:
    virtual = Trace(trace.slots, OF, replace(META, device="virtual", clock_ghz=1.83))
    virtual.save(tmp_path / "virtual.tltrace")
    assert load(tmp_path / "virtual.tltrace").meta == virtual.meta
    assert (load(tmp_path / "virtual.tltrace").ctas.clock_ghz == 1.83).all()


def test_an_empty_trace_comes_back(tmp_path: Path) -> None:
    of = table(writers=(), capacity=0)
    Trace(np.zeros((0, 0, 6), np.int64), of).save(tmp_path / "empty.tltrace")
    assert len(load(tmp_path / "empty.tltrace")) == 0


def test_saving_replaces_the_file_as_a_whole(trace: Trace, file: Path) -> None:
    trace.save(file)
    assert [path.name for path in file.parent.iterdir()] == [file.name]


def test_a_file_is_compressed(tmp_path: Path) -> None:
    of = table(*span(0, "a"), capacity=10_000)
    trace = Trace(build(of, [Rec(0, 0, 1001, 0)]), of)
    trace.save(tmp_path / "t.tltrace")
    assert (tmp_path / "t.tltrace").stat().st_size < trace.slots.nbytes / 10


# ---- what is refused


def test_a_missing_file_is_an_os_error(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        load(tmp_path / "nowhere.tltrace")


@pytest.mark.parametrize("content", [b"", b"PK\x03\x04", b"<html>", bytes(range(256)) * 9])
def test_another_kind_of_file_is_refused_by_name(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "foreign.tltrace"
    path.write_bytes(content)
    with pytest.raises(TraceFileError, match=r"foreign\.tltrace: not a sound .tltrace file"):
        load(path)


@pytest.mark.parametrize("kept", [0.1, 0.5, 0.9, 0.99])
def test_a_file_that_was_cut_off_is_refused(file: Path, kept: float) -> None:
    content = file.read_bytes()
    file.write_bytes(content[: int(len(content) * kept)])
    with pytest.raises(TraceFileError, match="cut off"):
        load(file)


@pytest.mark.parametrize("more", [{"evil.py": b"x"}, {"../slots.npy": b"x"}])
def test_other_members_are_refused(file: Path, more: dict[str, bytes]) -> None:
    with pytest.raises(TraceFileError, match="not meta.json and slots.npy"):
        load(rewritten(file, more=more))


def test_pickles_are_refused(file: Path) -> None:
    objects = np.array([{}] * 300, dtype=object)
    with pytest.raises(TraceFileError):
        load(rewritten(file, slots=npy(objects, allow_pickle=True).ljust(2 * 1 * 38 * 8 + 128)))


def test_a_trace_larger_than_the_limit_is_refused_with_the_limit_that_would_do(trace: Trace, file: Path) -> None:
    for limit in (0, trace.slots.nbytes, 5000):
        with pytest.raises(
            TraceFileError, match=rf"gemm\.tltrace: opening it takes more memory than {limit:,} b"
        ) as no:
            load(file, limit=limit)
        enough = re.search(r"tltrace_nb\.load\(path, limit=(\d+)\)", str(no.value))
        assert enough is not None
        assert len(load(file, limit=int(enough[1]))) == len(trace)


def test_a_zip_bomb_is_refused_by_its_declared_size(file: Path) -> None:
    with pytest.raises(TraceFileError, match=r"slots\.npy is 50,000,000 bytes"):
        load(rewritten(file, slots=bytes(50_000_000)))
    with pytest.raises(TraceFileError, match=r"meta\.json is .* do not trust"):
        load(rewritten(file, meta=lambda raw: raw | {"padding": " " * (17 << 20)}))


def test_slots_of_another_shape_are_refused(trace: Trace, file: Path) -> None:
    with pytest.raises(TraceFileError, match="expected int64"):
        load(rewritten(file, slots=npy(trace.slots.reshape(1, 2, -1))))


def test_slots_of_another_type_are_refused(trace: Trace, file: Path) -> None:
    with pytest.raises(TraceFileError, match="float64"):
        load(rewritten(file, slots=npy(trace.slots.astype(float))))


@pytest.mark.parametrize("shape", [None, [], [2, 1], [2, 2, 38], [2, 1, 37], [-2, 1, 38], ["2", 1, 38], [2**62, 1, 38]])
def test_a_shape_that_does_not_fit_the_table_is_refused(file: Path, shape: Any) -> None:
    with pytest.raises(TraceFileError):
        load(rewritten(file, meta=lambda raw: raw | {"shape": shape}))


def test_a_later_version_says_to_upgrade(file: Path) -> None:
    with pytest.raises(TraceFileError, match="version 2.*upgrade tltrace_nb"):
        load(rewritten(file, meta=lambda raw: raw | {"version": 2}))


@pytest.mark.parametrize(
    "change",
    [
        {"format": "zip"},
        {"table": None},
        {"table": {"version": 1}},
        {"table": json.loads(OF.to_json()) | {"capacity": "many"}},
        {"table": json.loads(OF.to_json()) | {"ctas": ["first"]}},
        {"table": json.loads(OF.to_json()) | {"writers": [{"index": 0, "group": "g", "role": None, "thread": "x"}]}},
        {"table": json.loads(OF.to_json()) | {"sites": json.loads(OF.to_json())["sites"][1:]}},
        {"meta": None},
        {"meta": {"kernel": 3}},
        {"meta": {"device": "abacus"}},
        {"meta": {"versions": []}},
        {"meta": {"grids": [[1, 2]]}},
        {"meta": {"grids": 3}},
        {"meta": {"clock_ghz": -1.0}},
        {"meta": {"clock_ghz": "fast"}},
        {"meta": {"grids": [[math.inf, 1, 1]]}},
        {"meta": {"resources": [[32, math.inf]]}},
        {"meta": {"work": [10**400, 1]}},
        {"meta": {"slowdown": [math.nan, 1.0]}},
        {"meta": {"slowdown": [1.2, -1.0]}},
        {"meta": {"slowdown": [10**400, 1.0]}},
        {"meta": {"slowdown": "12"}},
    ],
)
def test_an_unreadable_description_is_refused(file: Path, change: dict[str, Any]) -> None:
    with pytest.raises(TraceFileError, match=r"gemm\.tltrace: "):
        load(rewritten(file, meta=lambda raw: raw | change))


def test_fields_of_a_later_writer_are_passed_over(file: Path) -> None:
    assert load(rewritten(file, meta=lambda raw: raw | {"meta": raw["meta"] | {"new": 1}})).meta == META


@settings(max_examples=examples(150), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(at=st.floats(0, 1, exclude_max=True), byte=st.integers(0, 255))
def test_one_wrong_byte_is_refused_or_harmless(file: Path, at: float, byte: int) -> None:
    content = bytearray(file.read_bytes())
    content[int(at * len(content))] = byte
    other = file.with_name("other.tltrace")
    other.write_bytes(bytes(content))
    try:
        slots = load(other).slots
    except TraceFileError as error:
        message = str(error)
    else:
        message = "other.tltrace"
        assert np.array_equal(slots, load(file).slots)
    assert "other.tltrace" in message


# ---- the trace


def test_slots_are_fetched_only_when_looked_at() -> None:
    fetched: list[int] = []

    class Tensor:
        def cpu(self) -> Tensor:
            fetched.append(1)
            return self

        def numpy(self) -> np.ndarray[Any, Any]:
            return build(OF, RECORDS, rows=2)

    for source in (Tensor(), Tensor):
        fetched.clear()
        trace = Trace(source, OF)
        assert fetched == []
        assert (len(trace), len(trace.ctas), fetched) == (4, 2, [1])


def test_a_trace_without_meta_knows_its_kernel() -> None:
    assert Trace(build(OF, [], rows=2), OF).meta.kernel == "kernel"


def test_a_trace_without_events_is_still_true() -> None:
    assert Trace(build(OF, [], rows=2), OF)


def test_columns_that_are_added_stay(trace: Trace) -> None:
    trace.events["us"] = trace.events["start_ns"] / 1000
    assert "us" in trace.events


def test_repr_says_what_was_traced(trace: Trace) -> None:
    text = repr(trace)
    assert text.startswith("Trace of gemm on cuda (NVIDIA H200): 4 events, 2 CTAs on 2 SMs, 4.50 µs")
    assert "load × 2" in text
    assert len(text.splitlines()) == 2


def test_repr_says_a_loss_once_and_what_would_have_held_it() -> None:
    of = table(instant(0, "i"), capacity=2, grid=(2, 1, 1))
    text = repr(Trace(build(of, [Rec(c, 0, 1001 + n, 0) for c in range(2) for n in range(5 + c)], rows=2), of))
    assert "lost 7 records of 2 writers: max_events=6 would have held them" in text
    assert text.count("lost") == 1


def test_repr_names_sites_that_never_recorded() -> None:
    text = repr(Trace(build(OF, RECORDS[:2], rows=2), OF))
    assert "2 of 4 sites never recorded: <b>mma</b> (kernel.py:3)" in text


def test_repr_without_a_clock_rate_says_so() -> None:
    of = table(instant(0, "i"))
    assert "clock rate unknown" in repr(Trace(build(of, [Rec(0, 0, 1001, 0)], exit_=1010), of))


def test_html_escapes_what_comes_from_the_kernel(trace: Trace) -> None:
    html = trace._repr_html_()
    assert "<b>" not in html
    assert "&lt;b&gt;mma&lt;/b&gt;" in html
    assert "<td>1</td>" in html


@pytest.mark.parametrize("writers", [(), (Writer(0, "default", None, 0),)])
def test_an_empty_trace_can_be_shown(writers: tuple[Writer, ...]) -> None:
    of = table(writers=writers, capacity=0)
    trace = Trace(np.zeros((1, len(writers), 6), np.int64), of)
    assert "0 events" in repr(trace)
    assert "0 events" in trace._repr_html_()
    assert trace.rows == []


def test_opening_the_module_loads_neither_pandas_nor_torch() -> None:
    heavy = ("pandas", "torch", "tilelang", "plotly")
    code = f"import sys, tltrace_nb.core.trace; print([name for name in {heavy} if name in sys.modules])"
    found = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=Path(__file__).parents[2]
    )
    assert found.stdout.strip() == "[]"
