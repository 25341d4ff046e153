"""Analyses work part by part, each of whole CTAs: what they give does not hang on where the parts end."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from recordings import RECORDED

from benchmarks import decode
from tltrace_nb import compare, load
from tltrace_nb.analysis import critical_path, parts
from tltrace_nb.core.trace import Trace, TraceMeta
from tltrace_nb.data import rows, trace_data
from tltrace_nb.data import slots as layout
from tltrace_nb.export import chrome, perfetto_trace, steps


def damaged(seed: int) -> Trace:
    """A GEMM some of whose records are another's, and some of whose writers held fewer."""
    random = np.random.default_rng(seed)
    grid = (7, 1, 1)
    slots, table = decode.trace(grid)
    body, head = slots.view(layout.RECORD)[..., layout.HEADER_RECORDS :], slots[..., :6].view(layout.HEADER)[..., 0]
    other = random.random(body.shape) < (0.02, 0.5)[seed % 2]
    body["site"] = np.where(other, random.integers(0, 8, body.shape), body["site"])
    head["executed"] = random.integers(0, 300, head["executed"].shape)
    meta = TraceMeta("gemm", gpu="NVIDIA H200", grids=(grid,))
    return Trace(slots, replace(table, launches=(replace(table.launches[0], grid=grid),)), meta)


TRACES: dict[str, Callable[[], Trace]] = {
    "specialised GEMM": lambda: load(RECORDED / "specialised_gemm.tltrace"),
    "persistent": lambda: load(RECORDED / "persistent.tltrace"),
    "every thread": lambda: load(RECORDED / "every_thread.tltrace"),
    "some records damaged": lambda: damaged(0),
    "half of them": lambda: damaged(1),
}
ANALYSES: dict[str, Callable[[Trace], pd.DataFrame]] = {
    "summary": lambda t: t.summary(),
    "waits": lambda t: t.waits(each=True),
    "waits by name": lambda t: t.waits(names(t)[:1]),
    "critical_path": lambda t: t.critical_path(),
    "critical_path with barriers": lambda t: t.critical_path(barriers=names(t)[:2]),
    "pipeline": lambda t: t.pipeline(),
    "pipeline by waits": lambda t: t.pipeline(wait=names(t)[-1:]),
    "overhead": lambda t: t.overhead(24),
    "corrected events": lambda t: t.corrected(24).events,
    "corrected CTAs": lambda t: t.corrected(24).ctas,
    "comparison": lambda t: compare(t, t.corrected(3)),
    "comparison by payload": lambda t: compare([t, t.corrected(3)], [t.corrected(1), t.corrected(5)], by="payload"),
    "comparison by track": lambda t: compare(t, damaged(3), by="track"),
}


def names(of: Trace) -> list[str]:
    return list(of.events["name"].cat.categories)


@pytest.fixture(params=TRACES.values(), ids=TRACES)
def whole(request: pytest.FixtureRequest) -> Iterator[Trace]:
    return request.param()


@pytest.mark.parametrize("analyse", ANALYSES.values(), ids=ANALYSES)
def test_an_analysis_in_parts_gives_what_it_gives_as_a_whole(
    whole: Trace, analyse: Callable[[Trace], pd.DataFrame], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(parts, "PART_EVENTS", 1 << 40)
    expected = analyse(whole)
    monkeypatch.setattr(parts, "PART_EVENTS", 300)
    found = analyse(whole)
    pd.testing.assert_frame_equal(found, expected)
    assert found.attrs == expected.attrs


def test_a_chain_walked_in_all_ctas_at_once_is_the_one_walked_in_each(
    whole: Trace, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = []
    monkeypatch.setattr(parts, "PART_EVENTS", 300)
    for few, together in ((1, 1), (3, 2), (1 << 40, 100)):
        monkeypatch.setattr(critical_path, "FEW", few)
        monkeypatch.setattr(critical_path, "TOGETHER", together)
        found.append(whole.critical_path())
    for one, other in itertools.pairwise(found):
        pd.testing.assert_frame_equal(one, other)


@pytest.mark.parametrize("write", [Trace.to_perfetto, Trace.to_chrome])
def test_a_file_written_piece_by_piece_is_the_one_written_at_once(
    whole: Trace, write: Callable[[Trace, Path], Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    contents = []
    for events, at_once in ((1 << 40, 1 << 20), (300, 77)):
        monkeypatch.setattr(steps, "PIECE_EVENTS", events)
        monkeypatch.setattr(perfetto_trace, "AT_ONCE", at_once)
        monkeypatch.setattr(chrome, "AT_ONCE", at_once)
        contents.append(write(whole, tmp_path / "written").read_bytes())
    assert contents[0] == contents[1]


def test_rows_made_when_they_are_asked_for_are_those_of_the_list(whole: Trace, monkeypatch: pytest.MonkeyPatch) -> None:
    expected = list(rows.rows(whole.events))
    monkeypatch.setattr(trace_data, "KEPT_ROWS", 0)
    monkeypatch.setattr(rows, "ROWS_AT_ONCE", 7)
    assert list(whole) == expected
    assert whole[-1] == expected[-1]
    assert whole[len(whole) // 2] == expected[len(whole) // 2]
    assert whole[50:3:-5] == expected[50:3:-5]
    assert whole[3:3] == []
    with pytest.raises(IndexError):
        whole[len(whole)]


def test_parts_are_whole_ctas_in_order_and_arrows_go_with_them(whole: Trace, monkeypatch: pytest.MonkeyPatch) -> None:
    several = parts.parts(whole, 300)
    assert pd.concat([part.events for part in several]).index.equals(whole.events.index)
    assert sorted(row for part in several for row in part.flows.index) == whole.flows.index.tolist()
    ctas = [set(part.events["cta"]) for part in several]
    assert not any(one & other for one, other in itertools.combinations(ctas, 2))
    assert all(len(part.events) <= 300 or len(own) == 1 for part, own in zip(several, ctas, strict=True))
    for part in several:
        assert part.flows["src"].isin(part.events.index).all()
