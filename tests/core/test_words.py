"""A trace speaks of itself in lines of bounded length, whatever the names in it are."""

from __future__ import annotations

import pytest
from synthetic import Rec, build, span, table

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
