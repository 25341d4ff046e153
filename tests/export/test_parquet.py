"""Parquet files: the frame comes back, with units, and what is known of the trace."""

from __future__ import annotations

import json
import math
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from synthetic import instant, span, table
from tiers import examples
from traces import HOSTILE, RECORDED, bits, made, random_traces

from tltrace_nb import load
from tltrace_nb.core.trace import Trace
from tltrace_nb.data import columns
from tltrace_nb.data.sites import PayloadType
from tltrace_nb.export.parquet import FRAMES, write_parquet

pq = pytest.importorskip("pyarrow.parquet", reason="pyarrow is not installed")


def utf8(text: Any) -> Any:
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace") if isinstance(text, str) else text


def cell(value: Any) -> Any:
    """A cell, comparable."""
    if value is None or str(value) == "<NA>":
        return None
    return "NaN" if isinstance(value, float) and math.isnan(value) else utf8(value)


def check(trace: Trace, frame: Any, path: Path) -> None:
    written = pq.read_table(write_parquet(trace, path, frame))
    expected = getattr(trace, frame)
    assert written.column_names == list(expected.columns)
    for column in expected.columns:
        payload = column.startswith("payload")  # elsewhere in the frame, NaN stands for missing
        want = [cell(value) for value in expected[column].tolist()]
        assert [cell(value) for value in written[column].to_pylist()] == [
            None if value == "NaN" and not payload else value for value in want
        ], column


@pytest.mark.some(10)
@pytest.mark.parametrize("frame", FRAMES)
@pytest.mark.parametrize("file", RECORDED, ids=lambda file: file.stem)
def test_a_frame_of_a_recorded_trace_comes_back(file: Path, frame: str, tmp_path: Path) -> None:
    check(load(file), frame, tmp_path / "t.parquet")


@given(random_traces())
@settings(max_examples=examples(30), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_the_events_of_any_trace_come_back(tmp_path: Path, trace: Trace) -> None:
    check(trace, "events", tmp_path / "t.parquet")


@pytest.mark.parametrize("name", HOSTILE, ids=ascii)
def test_a_name_may_be_anything(name: str, tmp_path: Path) -> None:
    check(made(table(*span(0, name), instant(2, name + "!")), (1100, 0, 0), (1200, 1, 0)), "events", tmp_path / "t")


def test_a_missing_payload_is_null_and_one_that_is_no_number_is_nan(tmp_path: Path) -> None:
    of = table(instant(0, "a", payload=PayloadType.FLOAT32), instant(1, "b", payload=PayloadType.NONE))
    trace = made(of, (1100, 0, bits(math.nan)), (1200, 1, 0))
    first, second = pq.read_table(trace.to_parquet(tmp_path / "t.parquet"))["payload"].to_pylist()
    assert math.isnan(first)
    assert second is None


def test_units_and_origin_are_in_the_metadata(tmp_path: Path) -> None:
    trace = load(RECORDED[0])
    schema = pq.read_schema(trace.to_parquet(tmp_path / "t.parquet"))
    units = {field.name: field.metadata[b"unit"].decode() for field in schema if b"unit" in (field.metadata or {})}
    assert units == {
        **dict.fromkeys(("start", "end", "duration"), "cycles"),
        **dict.fromkeys(("start_ns", "duration_ns"), "ns"),
    }
    told = json.loads(schema.metadata[b"tltrace"])
    assert (told["frame"], told["kernel"], told["gpu"]) == ("events", trace.meta.kernel, trace.meta.gpu)


def test_an_empty_trace_keeps_its_columns(tmp_path: Path) -> None:
    written = pq.read_table(made(table(instant(0, "a"))).to_parquet(tmp_path / "t.parquet"))
    assert written.num_rows == 0
    assert written.column_names == list(columns.EVENTS)


def test_another_frame_is_an_error_that_lists_the_right_ones(tmp_path: Path) -> None:
    wrong: Any = "event"
    with pytest.raises(ValueError, match="frame='event': give one of 'events', 'ctas', 'flows', 'sites', 'losses'"):
        load(RECORDED[0]).to_parquet(tmp_path / "t.parquet", wrong)


def test_without_pyarrow_the_error_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(ModuleNotFoundError, match=r"pip install 'tltrace-nb\[parquet\]'"):
        load(RECORDED[0]).to_parquet(tmp_path / "t.parquet")
    assert list(tmp_path.iterdir()) == []
