"""Random traces, for property tests of everything that draws or sends them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from fake_trace import FakeTrace, make_trace, span
from hypothesis import strategies as st

if TYPE_CHECKING:
    from collections.abc import Sequence

NAMES = ("load", "mma", "<script>alert(1)</script>", "مرحبا", "🚀 emoji", "", "wait full")
INT32 = st.integers(-(2**31), 2**31 - 1)
FLOAT32 = st.floats(width=32)


@st.composite
def traces(
    draw: st.DrawFn,
    *,
    most: int = 30,
    ctas: int = 3,
    longest: int = 400,
    offsets: Sequence[int] = (0,),
    names: Sequence[str] = NAMES,
) -> FakeTrace:
    """Up to ``most`` ranges and instants of one to ``ctas`` CTAs, two threads and two lanes, that nest, cross or touch.

    ``offsets``: where in time the trace begins.
    """
    payloads: Any = draw(st.sampled_from([st.none(), st.none() | INT32, st.none() | FLOAT32, st.booleans().map(int)]))
    offset = draw(st.sampled_from(list(offsets)))
    rows = []
    for _ in range(draw(st.integers(0, most))):
        kind = draw(st.sampled_from(["range", "range", "range", "instant"]))
        start = offset + draw(st.integers(0, 1000))
        length = 0 if kind == "instant" else draw(st.integers(0, 3) | st.integers(0, longest))
        begin = draw(payloads)
        end = begin if begin is None or kind == "instant" else draw(st.just(begin) | payloads)
        truncated = kind == "range" and draw(st.integers(0, 9)) == 0
        cta, thread, lane = draw(st.tuples(st.integers(0, ctas - 1), st.sampled_from([0, 128]), st.sampled_from("ab")))
        rows.append(
            span(
                draw(st.sampled_from(list(names))), start, start + length, kind=kind, cta=cta, thread=thread, lane=lane,
                sm=cta * 2, group="g" if thread else "default", payload=begin,
                payload_end=None if truncated or kind == "instant" else end, truncated=truncated,
            )
        )  # fmt: skip
    return make_trace(rows)
