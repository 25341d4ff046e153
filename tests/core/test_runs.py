"""Around a run: outputs and slots told apart, timelines written without overwriting, rows exported."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from recordings import RECORDED

from tltrace_nb import Instant, Slice, load, trace
from tltrace_nb.base.errors import NotTracedError, SlotsError
from tltrace_nb.core.runtime.dumps import free_base
from tltrace_nb.core.trace import Trace
from tltrace_nb.data.sites import TABLE_ATTRIBUTE
from tltrace_nb.data.slots import HEADER


class Compiled:
    """A kernel that ``finalize`` lowered, as far as ``run`` and ``decode`` look at it."""

    def __init__(self, recorded: Trace, outputs: list[Any]) -> None:
        self.prim_func = SimpleNamespace(attrs={TABLE_ATTRIBUTE: recorded.table.to_json(), "global_symbol": "k"})
        self._returned = [*outputs, recorded.slots]

    def __call__(self, *inputs: Any) -> Any:
        return self._returned if len(self._returned) > 1 else self._returned[0]


@pytest.fixture
def recorded() -> Trace:
    """A trace of the card's, with the tag that this version gives its kernel."""
    loaded = load(RECORDED / "add.tltrace")
    slots = loaded.slots.copy()
    slots.view("<u2")[..., HEADER.fields["tag"][1] // 2] = loaded.table.tag  # type: ignore[index]
    return Trace(slots, loaded.table, loaded.meta)


@pytest.mark.parametrize(("outputs", "expected"), [(["c"], "c"), (["c", "d"], ("c", "d"))])
def test_run_returns_the_outputs_alone(recorded: Trace, outputs: list[Any], expected: Any) -> None:
    with trace.tracing(False):
        assert trace.run(Compiled(recorded, outputs), (), stem="never") == expected


def test_run_dumps_while_tracing_and_never_over_a_file(
    recorded: Trace, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with trace.tracing(output=str(tmp_path)):
        for _ in range(2):
            trace.run(Compiled(recorded, ["c"]), (), stem="add")
    assert {p.name for p in tmp_path.iterdir()} == {"add.html", "add.tltrace", "add_1.html", "add_1.tltrace"}
    assert capsys.readouterr().out.count("wrote timeline") == 2
    assert len(load(tmp_path / "add_1.tltrace")) == len(recorded)


def test_run_repeats_and_leaves_a_trace_of_each_in_the_history(
    recorded: Trace, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = trace.launches
    with trace.tracing(output=str(tmp_path)):
        assert trace.run(Compiled(recorded, ["c"]), (), stem="add", repeat=20) == "c"
    new = trace.since(before)
    assert len(new) == len({id(each) for each in new}) == 20
    assert trace.history[-20:] == tuple(new)
    assert capsys.readouterr().out.count("wrote timeline") == 1


def test_run_refuses_to_repeat_no_times(recorded: Trace) -> None:
    with pytest.raises(ValueError, match="repeat=0: give a whole number, at least 1"):
        trace.run(Compiled(recorded, ["c"]), (), stem="never", repeat=0)


def test_run_with_tracing_off_writes_nothing(recorded: Trace, tmp_path: Path) -> None:
    with trace.tracing(False, output=str(tmp_path)):
        trace.run(Compiled(recorded, ["c"]), (), stem="add")
    assert list(tmp_path.iterdir()) == []


def test_decode_gives_the_rows(recorded: Trace) -> None:
    decoded = trace.decode(Compiled(recorded, []), recorded.slots)
    assert list(decoded) == list(recorded)
    assert decoded[0] == next(iter(recorded))
    assert decoded[:2] == list(recorded)[:2]


@pytest.mark.parametrize(
    "slots",
    [np.zeros((1, 1, 4), np.int64), np.zeros((8, 1, 10), np.int32), np.zeros(8, np.int64), None],
    ids=["shape", "dtype", "dimensions", "nothing"],
)
def test_slots_that_cannot_be_the_kernels_are_refused(recorded: Trace, slots: Any) -> None:
    with pytest.raises((SlotsError, TypeError), match=r"expected slots of int64.*got|slots=None: give the last tensor"):
        trace.decode(Compiled(recorded, []), slots)


def test_slots_that_another_kernel_filled_are_refused(recorded: Trace) -> None:
    slots = recorded.slots.copy()
    slots[:, :, 1] ^= 1 << 16
    with pytest.raises(SlotsError, match=r"add.*another kernel"):
        trace.decode(Compiled(recorded, []), slots)


def test_an_untraced_kernel_is_refused_with_the_way() -> None:
    plain = SimpleNamespace(prim_func=SimpleNamespace(attrs={"global_symbol": "plain"}))
    with pytest.raises(NotTracedError, match=r"kernel plain was built without tracing.*trace\.enable"):
        trace.decode(plain, np.zeros((1, 1, 6), np.int64))


def test_a_selection_of_rows_is_exported(recorded: Trace, tmp_path: Path) -> None:
    rows = [row for row in recorded if row.track[0] == 1] + [Instant((1, 0, 0), "by hand", 5, 0)]
    page = tmp_path / "some.html"
    trace.export_html(rows, page, compiled=Compiled(recorded, []), title="some", sm_clock_ghz=1.5)
    assert "by hand" in page.read_text()


def test_no_rows_are_exported_as_an_empty_timeline(recorded: Trace, tmp_path: Path) -> None:
    page = tmp_path / "none.html"
    trace.export_html([], page, compiled=Compiled(recorded, []))
    assert "no events" in page.read_text()


def test_a_row_is_positional() -> None:
    row = Slice((0, 1, 2), "mma", 10, 5, -1)
    assert (row.track, row.name, row.ts_cy, row.dur_cy, row.payload) == ((0, 1, 2), "mma", 10, 5, -1)


def test_names_are_taken_at_once_and_free_again_when_nothing_is_written(tmp_path: Path) -> None:
    with free_base(tmp_path, "k", ".html") as first, free_base(tmp_path, "k", ".html") as second:
        assert (first, second) == (tmp_path / "k", tmp_path / "k_1")
    (tmp_path / "k.html").write_text("page")
    with pytest.raises(KeyboardInterrupt), free_base(tmp_path, "k", ".html"):
        raise KeyboardInterrupt
    assert sorted(path.name for path in tmp_path.iterdir()) == ["k.html", "k_1.html"]


def test_processes_that_dump_at_once_get_names_of_their_own(tmp_path: Path) -> None:
    code = (
        "import sys, pathlib\nfrom tltrace_nb.core.runtime.dumps import free_base\nsys.stdin.readline()\n"
        "for _ in range(20):\n"
        "    with free_base(pathlib.Path('.'), 'k', '.html') as base: print(base)"
    )
    processes = [
        subprocess.Popen([sys.executable, "-c", code], cwd=tmp_path, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        for _ in range(2)
    ]
    outputs = [process.communicate(b"go\n", timeout=300)[0].split() for process in processes]
    assert len(outputs[0]) == len(outputs[1]) == 20
    assert len({*outputs[0], *outputs[1]}) == 40
