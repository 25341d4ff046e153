"""What a timeline takes, and what it says of anything else."""

from typing import Any

import numpy as np
import pandas as pd
import pytest
from fake_trace import pipeline

from tltrace_nb.render.frames import frames


def plain(**columns: Any) -> pd.DataFrame:
    right = {"name": ["a", "b"], "lane": ["l", "l"], "cta": [0, 0], "thread": [0, 0], "start": [0, 5], "end": [4, 9]}
    return pd.DataFrame(right | columns)


def test_a_trace_is_taken_as_it_is() -> None:
    trace = pipeline()
    assert frames(trace) is trace


def test_the_columns_of_a_trace_are_enough_without_the_trace() -> None:
    events = pipeline().events
    pd.testing.assert_frame_equal(frames(events).events[events.columns], events)


@pytest.mark.parametrize("column", ["name", "lane", "cta", "thread", "start", "end"])
def test_a_missing_column_is_named(column: str) -> None:
    with pytest.raises(ValueError, match=rf"lacks the column {column}: a timeline needs name, lane, cta"):
        frames(plain().drop(columns=column))


def test_all_missing_columns_are_named_at_once() -> None:
    with pytest.raises(ValueError, match="lacks the columns start, end"):
        frames(plain().drop(columns=["start", "end"]))


@pytest.mark.parametrize("column", ["cta", "thread", "start", "end", "sm"])
def test_a_column_that_is_not_of_integers_is_named(column: str) -> None:
    with pytest.raises(ValueError, match=rf"column {column} is float64, and must be integers.*astype\('int64'\)"):
        frames(plain(**{column: [0.5, 9.5]}))


@pytest.mark.parametrize("column", ["name", "lane", "source"])
def test_a_column_that_is_not_text_is_named(column: str) -> None:
    with pytest.raises(ValueError, match=rf"column {column} is int64, and must be text.*astype\('str'\)"):
        frames(plain(**{column: [1, 2]}))


@pytest.mark.parametrize("column", ["payload", "payload_end", "start_ns", "truncated"])
def test_a_column_that_is_not_of_numbers_is_named(column: str) -> None:
    with pytest.raises(ValueError, match=rf"column {column} is .*, and must be numbers: pd.to_numeric"):
        frames(plain(**{column: ["x", "y"]}))


def test_row_labels_that_are_not_unique_are_said() -> None:
    with pytest.raises(ValueError, match=r"a row label more than once.*reset_index\(\)"):
        frames(pd.concat([plain(), plain()]))


def test_a_missing_value_is_said_with_its_row() -> None:
    with pytest.raises(ValueError, match="column name has no value in row 1"):
        frames(plain(name=["a", None]))


def test_an_end_before_its_start_is_said_with_its_row() -> None:
    with pytest.raises(ValueError, match="row 1 ends before it starts"):
        frames(plain(end=[4, 3]))


def test_another_kind_is_said() -> None:
    with pytest.raises(ValueError, match="column kind holds 'slice': a kind is 'range' or 'instant'"):
        frames(plain(kind=["range", "slice"]))


@pytest.mark.parametrize("thing", [None, 3, "gemm.tltrace", np.zeros(3)])
def test_anything_else_is_a_type_error(thing: Any) -> None:
    with pytest.raises(TypeError, match="source=.*: give a Trace, or a DataFrame of events"):
        frames(thing)


def test_nullable_integers_and_categories_are_fine() -> None:
    frame = plain().astype({"start": "Int64", "end": "Int64", "name": "category", "lane": "category"})
    assert frames(frame).events["duration"].tolist() == [4, 4]
