"""A trace speaks of itself in lines of bounded length, whatever the names in it are."""

from __future__ import annotations

import pytest
from IPython.core.interactiveshell import InteractiveShell
from synthetic import Rec, build, span, table

from tltrace_nb import datasets
from tltrace_nb.base.words import code_at
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
    ("file", "shown"),
    [
        ("<ipython-input-12-945c552e74bc>", "In [12]:18"),
        ("/home/me/<ipython-input-1-93189290342f>", "In [1]:18"),
        ("/t/ipykernel_4711/240039448.py", "cell:18"),  # of another session
    ],
)
def test_a_cell_of_a_notebook_is_called_by_its_number(file: str, shown: str) -> None:
    assert shown_source(file, 18) == shown


def test_a_cell_of_this_session_is_known_by_the_file_that_the_kernel_takes_for_it() -> None:
    shell = InteractiveShell.instance()
    shell.compile.get_code_name = lambda *_: "/t/ipykernel_4711/7.py"
    try:
        shell.compile.cache("a = 1", 9)
        assert shown_source("/t/ipykernel_4711/7.py", 18) == "In [9]:18"
        assert code_at("In [9]:1") == "a = 1"
        assert code_at("In [8]:1") == code_at("In [9]:2") == code_at("nowhere.py:1") == code_at("") == ""
    finally:
        InteractiveShell.clear_instance()


def test_a_trace_recorded_in_ipython_says_its_cell_too() -> None:
    sources = datasets.load("h200/first_trace").events["source"]
    assert set(sources) == {"In [1]:6"}
