"""A trace that is read in parts: what it tells is what the whole tells."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from recordings import RECORDED

from tltrace_nb import load
from tltrace_nb.core import large
from tltrace_nb.core.large import LargeTrace

FILES = sorted(RECORDED.glob("*.tltrace"))
WAVES = RECORDED / "waves_one_more.tltrace"


@pytest.fixture(params=FILES, ids=lambda file: file.stem)
def file(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(large, "PART_BYTES", 1 << 14)
    return request.param


def test_its_ctas_and_summary_are_those_of_the_whole(file: Path) -> None:
    whole, lazy = load(file), load(file, lazily=True)
    pd.testing.assert_frame_equal(lazy.ctas, whole.ctas)
    pd.testing.assert_frame_equal(lazy.summary(), whole.summary())
    assert lazy.summary().notes == whole.summary().notes


def test_some_of_its_ctas_have_the_events_and_times_that_they_have_in_the_whole(file: Path) -> None:
    whole, lazy = load(file), load(file, lazily=True)
    ids = sorted(whole.ctas["cta"].sample(min(5, len(whole.ctas)), random_state=1))
    some = lazy.trace(ctas=ids)
    expected = whole.events[whole.events["cta"].isin(ids)].reset_index(drop=True)
    pd.testing.assert_frame_equal(some.events.drop(columns="parent"), expected.drop(columns="parent"))
    assert some.summary()["count"].sum() == len(expected)


@pytest.fixture(scope="module")
def lazy() -> LargeTrace:
    return load(WAVES, lazily=True)


def test_those_that_ran_between_two_times_are_read(lazy: LargeTrace) -> None:
    middle = float(lazy.ctas["start_ns"].median())
    some = lazy.trace(between=(middle, middle + 1))
    there = lazy.ctas.query("start_ns <= @middle + 1 and end_ns >= @middle")
    assert some.ctas["cta"].tolist() == there["cta"].tolist()


def test_of_too_many_events_whole_ctas_are_taken_and_the_note_says_so(lazy: LargeTrace) -> None:
    some = lazy.trace(most=50)
    assert 0 < len(some.ctas) < len(lazy.ctas)
    assert f"{len(some.ctas):,} of {len(lazy.ctas):,} CTAs" in some.meta.note


def test_ctas_that_it_does_not_have_are_refused(lazy: LargeTrace) -> None:
    with pytest.raises(ValueError, match="none of the"):
        lazy.trace(ctas=[1 << 30])


def test_a_part_is_not_saved(lazy: LargeTrace, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="part of a large trace"):
        lazy.trace(ctas=1).save(tmp_path / "part.tltrace")


def test_slots_that_end_early_are_refused(tmp_path: Path) -> None:
    damaged = tmp_path / "damaged.tltrace"
    content = bytearray(WAVES.read_bytes())
    content[len(content) // 2 : len(content) // 2 + 4] = b"\0" * 4
    damaged.write_bytes(content)
    with pytest.raises(ValueError, match="damaged"):
        load(damaged, lazily=True)


def test_rows_are_read_in_any_runs(lazy: LargeTrace) -> None:
    whole = load(WAVES).slots
    rows = np.array([0, 1, 4, len(whole) - 1])
    assert np.array_equal(lazy._slots.rows(rows), whole[rows])
