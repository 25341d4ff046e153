"""A trace speaks of itself in lines of bounded length, whatever the names in it are."""

from __future__ import annotations

import pytest
from synthetic import Rec, build, span, table

from tltrace_nb import datasets
from tltrace_nb.core.compile.ir import shown_source
from tltrace_nb.core.trace import Trace, TraceMeta


@pytest.mark.parametrize("name", ["x" * 10_000, "\ud800 lone", "\x1b[31mred\u202e", "a\nb"])
def test_the_summary_is_short_and_printable(name: str) -> None:
    of = table(*span(0, name), *span(2, name + "never"))
    slots = build(of, [Rec(0, 0, 1100, 0), Rec(0, 0, 1200, 1)])
    trace = Trace(slots, of, TraceMeta(name, gpu=name))
    for text in (repr(trace), trace._repr_html_()):
        assert len(text.encode()) < 3_000
        assert not set("\x1b\u202e").intersection(text)
    assert len(repr(trace).splitlines()) == 3


@pytest.mark.parametrize(
    "file",
    ["<ipython-input-12-945c552e74bc>", "/home/me/<ipython-input-1-93189290342f>", "/t/ipykernel_4711/240039448.py"],
)
def test_a_cell_of_a_notebook_is_called_so(file: str) -> None:
    assert shown_source(file, 18) == "cell:18"


def test_a_trace_recorded_in_ipython_says_cell_too() -> None:
    sources = datasets.load("h200/first_trace").events["source"]
    assert set(sources) == {"cell:6"}
