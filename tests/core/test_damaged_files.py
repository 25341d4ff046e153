"""Whatever a file holds, it is refused by name or opens, and then everything can be asked of it, within its means."""

from __future__ import annotations

import json
import tracemalloc
from collections import Counter
from pathlib import Path

import pytest
from mutations import KINDS, mutated

from tltrace_nb.analysis.summary import summary
from tltrace_nb.cli import main
from tltrace_nb.core.loading import load
from tltrace_nb.core.trace import Trace, TraceFileError
from tltrace_nb.data import file_cost
from tltrace_nb.render.options import ViewOptions
from tltrace_nb.widget.figure import figure
from tltrace_nb.widget.wire import encode

SAID = 500
"""Most characters of what is said of a file, besides its name."""


def ask(trace: Trace, again: Path) -> None:
    """What any reader asks of a trace; none of it may fail."""
    for frame in (trace.events, trace.ctas, trace.flows, trace.sites, trace.losses):
        assert len(frame.columns)
    assert (trace.events["duration"] >= 0).all()
    (repr(trace) + trace._repr_html_() + summary(trace)._repr_html_()).encode()
    json.loads(encode(trace).header)
    if len(trace):
        figure(trace, ViewOptions(limit=50)).to_json().encode()
    trace.save(again)
    assert load(again).table == trace.table


def outcomes(seeds: range, folder: Path) -> Counter[tuple[str, str]]:
    """How many files of each kind were refused and opened."""
    found: Counter[tuple[str, str]] = Counter()
    path = folder / "damaged.tltrace"
    for seed in seeds:
        kind, content = mutated(seed)
        path.write_bytes(content)
        try:
            trace = load(path)
        except TraceFileError as error:
            told = str(error)
            assert told.startswith(f"{path}: "), (seed, told)
            assert len(told) < len(str(path)) + SAID, (seed, told)
            assert "\n" not in told, (seed, told)
            found[kind, "refused"] += 1
            continue
        except Exception as error:
            raise AssertionError(f"seed {seed}, {kind}") from error
        try:
            ask(trace, folder / "again.tltrace")
        except Exception as error:
            raise AssertionError(f"seed {seed}, {kind}: it opened, and failed later") from error
        found[kind, "opened"] += 1
    return found


def test_a_damaged_file_is_refused_by_name_or_opens(tmp_path: Path) -> None:
    found = outcomes(range(200), tmp_path)
    assert found.total() == 200
    assert {kind for kind, how in found if how == "refused"} == {*KINDS} - {"the slots"}


@pytest.mark.full
@pytest.mark.parametrize("part", range(8))
def test_every_damaged_file_is_refused_by_name_or_opens(tmp_path: Path, part: int) -> None:
    found = outcomes(range(1000 + 1500 * part, 2500 + 1500 * part), tmp_path)
    print(part, dict(found))
    assert found.total() == 1500


def test_a_damaged_file_costs_no_more_than_its_size_allows(tmp_path: Path) -> None:
    path, refused = tmp_path / "large.tltrace", 0
    for seed in range(4, 300, len(KINDS)):
        kind, content = mutated(seed)
        assert kind == "its size"
        path.write_bytes(content)
        tracemalloc.start()
        try:
            _ = load(path).events
        except TraceFileError:
            refused += 1
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert peak < file_cost.ROOM + file_cost.most(len(content)), (seed, peak, len(content))
    assert 10 < refused < 60


@pytest.mark.parametrize("command", ["summary", "open", "convert", "compare"])
def test_the_command_line_says_what_is_wrong_with_a_file_in_a_line(
    command: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("webbrowser.open", lambda _: True)
    path = tmp_path / "damaged.tltrace"
    more = {"convert": [str(tmp_path / "out.json")], "compare": [str(path)]}.get(command, [])
    codes = Counter[int]()
    for seed in range(60):
        path.write_bytes(mutated(seed)[1])
        code = main([command, str(path), *more])
        codes[code] += 1
        said = capsys.readouterr().err
        assert code in (0, 1), (seed, said)
        if code:
            assert said.startswith(f"tltrace: {path}: "), (seed, said)
            assert said.count("\n") == 1, (seed, said)
    assert codes[1] > 20
