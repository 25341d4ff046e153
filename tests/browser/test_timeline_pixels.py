"""What is drawn is right at every zoom: pixels and hover against the frame alone."""

import math
from typing import Any

import numpy as np
import pandas as pd
import pytest
from fake_trace import FakeTrace, make_trace, pipeline, span
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from random_traces import traces
from tiers import examples
from timeline_tab import Tab

from tltrace_nb.base.numbers import count, duration, moment, payload_text
from tltrace_nb.base.palette import name_colors
from tltrace_nb.render.text import word

pytestmark = pytest.mark.browser
SLOW = settings(max_examples=examples(25), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
NAMES = ("load", "mma", "wait", "store")

# Per lane "cta:thread:lane", per row, the colour of every column near the upper edge of its bars, where no text is.
PIXELS = """() => {
  const { scene, frame } = view;
  view.draw();
  const canvas = document.querySelector(".tlt-stage canvas");
  const context = canvas.getContext("2d");
  const found = {};
  for (const strip of scene.rows.strips) {
    if (strip.kind !== "lane") continue;
    const lane = strip.node.lanes[0];
    const key = `${lane.cta}:${lane.thread}:${lane.name}`;
    found[key] = [];
    for (let n = 0; n < lane.rows; n++) {
      const y = 26 + strip.top - scene.state.scroll + 2 + n * 18 + 2;
      const { data } = context.getImageData(frame.gutter, y, frame.width - frame.gutter, 1);
      const line = [];
      for (let x = 0; x < data.length; x += 4) line.push((data[x] << 16) | (data[x + 1] << 8) | data[x + 2]);
      found[key].push(line);
    }
  }
  return { lanes: found, from: scene.span.from, to: scene.span.to, width: frame.width - frame.gutter,
    ground: [canvas, view].map(() => view.theme.ground)[0], band: view.theme.band };
}"""


# What is written as the view is drawn anew.
WORDS = """() => {
  const own = CanvasRenderingContext2D.prototype.fillText;
  const said = [];
  CanvasRenderingContext2D.prototype.fillText = function (text, ...place) {
    said.push(text);
    return own.call(this, text, ...place);
  };
  view.scene.look({ from: 1, to: view.scene.events.cycles });
  view.draw();
  CanvasRenderingContext2D.prototype.fillText = own;
  return said;
}"""


@pytest.fixture(scope="module")
def tab(browser: Any) -> Tab:
    return Tab(browser, viewport={"width": 700, "height": 2600})


def drawn(tab: Tab, trace: FakeTrace, low: float, high: float) -> dict[str, Any]:
    """The pixels of ``trace``, of the part from ``low`` to ``high`` (shares of its time), in cycles."""
    tab.open(trace, height=2400, theme="light", view={"unit": "cycles"})
    tab.scene(f"scene.look({{ from: {low} * events.cycles, to: {high} * events.cycles }})")
    seen: dict[str, Any] = tab.do(PIXELS)
    return seen


def lanes_of(events: pd.DataFrame) -> dict[str, pd.DataFrame]:
    keys = events["cta"].astype(str) + ":" + events["thread"].astype(str) + ":" + events["lane"].astype(str)
    return dict(tuple(events.groupby(keys)))


@given(traces(names=NAMES), st.sampled_from([(0.0, 1.0), (0.2, 0.6), (0.45, 0.5), (0.3, 0.302)]))
@SLOW
def test_every_event_is_seen_in_its_colour_and_nothing_else_is(
    tab: Tab, trace: FakeTrace, part: tuple[float, float]
) -> None:
    events = trace.events
    if events.empty:
        return
    seen = drawn(tab, trace, *part)
    ground = {int(bytes(seen["ground"]).hex(), 16), int(seen["band"][1:], 16)}
    colors = {name: int(color[1:], 16) for name, color in name_colors(events["name"].unique()).items()}
    origin, scale = events["start"].min(), seen["width"] / (seen["to"] - seen["from"])
    for key, lane in lanes_of(events).items():
        rows = np.array(seen["lanes"][key])
        painted = ~np.isin(rows, [*ground]).all(axis=0)
        near = np.zeros(rows.shape[1] + 2, bool)
        for event in lane.itertuples():
            x0 = (event.start - origin - seen["from"]) * scale
            x1 = (event.end - origin - seen["from"]) * scale
            first, last = max(math.floor(x0) - 2, 0), min(math.ceil(x1) + 2, rows.shape[1])
            if first >= last:
                continue
            near[first:last] = True
            if 2 <= x0 <= rows.shape[1] - 3:  # away from the edges, where an event may just not be in view
                assert painted[max(math.floor(x0) - 1, 0) : math.floor(x0) + 2].any(), event
            inner = slice(max(math.ceil(x0) + 2, 0), math.floor(x1) - (7 if event.truncated else 2))
            if inner.stop > inner.start:
                columns = rows[:, inner]
                crowded = near_others(lane, event.Index, seen, origin, scale, inner, columns.shape[1])
                shown = (columns == colors[event.name]).any(axis=0)
                assert (shown | crowded).all(), event
        assert not (painted & ~near[: len(painted)]).any()


def near_others(
    lane: pd.DataFrame, index: int, seen: dict[str, Any], origin: int, scale: float, inner: slice, width: int
) -> Any:
    """Columns of ``inner`` that events shorter than a pixel, or the dark left edge of a bar, may take."""
    taken = np.zeros(width, bool)
    for other in lane.drop(index=index).itertuples():
        at = math.floor((other.start - origin - seen["from"]) * scale) - inner.start
        if -2 <= at <= width + 1:
            taken[max(at - 2, 0) : at + 3] = True
    return taken


@given(traces(most=12, ctas=2, names=NAMES))
@SLOW
def test_hovering_an_event_says_what_the_frame_says(tab: Tab, trace: FakeTrace) -> None:
    events = trace.events
    tab.open(trace, height=2400, view={"unit": "cycles"})
    for id, event in enumerate(events.itertuples()):
        if event.duration < 40 or covered(events, event):
            continue
        said = tab.hover(id).split("\n")
        payload = payload_text(event.payload, event.payload_end)
        assert said[0] == event.name
        assert [line for line in said if line.startswith("payload")] == ([f"payload {payload}"] if payload else [])
        assert f"start {count(event.start, 'cycle')} · {moment(event.start_ns)}" in said
        share = event.duration / events.loc[events["cta"] == event.cta, "end"].max()
        length = f"duration {count(event.duration, 'cycle')} · {duration(event.duration_ns)} · "
        (line,) = [line for line in said if line.startswith(length)]
        assert float(line.removeprefix(length).removesuffix(" % of the CTA")) == pytest.approx(100 * share, abs=0.06)
        assert f"CTA {event.cta} ({event.block_x}, 0, 0) · SM {event.sm}" in said
        assert f"track thread {event.thread} · lane {event.lane} · group {word(event.group)}" in said
        assert f"source {event.source}" in said
        assert ("state begun, never ended" in said) == event.truncated


def covered(events: pd.DataFrame, event: Any) -> bool:
    """Whether another event lies about the middle of this one, on its lane."""
    same = events[(events["cta"] == event.cta) & (events["thread"] == event.thread) & (events["lane"] == event.lane)]
    middle = (event.start + event.end) / 2
    return bool(((same["start"] - 12 < middle) & (same["end"] + 12 > middle)).sum() > 1)


@pytest.mark.parametrize("offset", [0, 2**53 - 10_000, 2**62])
def test_a_cycle_is_a_cycle_however_late(tab: Tab, offset: int) -> None:
    rows = [span("a", offset, offset + 3), span("b", offset + 3, offset + 4), span("c", offset + 5, offset + 9)]
    tab.open(make_trace(rows), view={"unit": "cycles"})
    tab.scene("scene.look({ from: 0, to: 10 })")
    for id, row in enumerate(rows):
        assert f"start {row['start']:,} cycles" in tab.hover(id)
        assert f"duration {count(row['end'] - row['start'], 'cycle')}" in tab.hover(id)


def test_no_event_hides_among_a_million_shorter_ones(tab: Tab) -> None:
    """One of another name among 60,000 that share its pixels is found by zooming, and no pixel is empty."""
    rows = [span("load", 20 * i, 20 * i + 15) for i in range(60_000)]
    rows[31_234] = span("mma", 20 * 31_234, 20 * 31_234 + 15)
    trace = make_trace(rows)
    tab.open(trace, theme="light", view={"unit": "cycles"})
    (line,) = tab.do(PIXELS)["lanes"]["0:0:main"]
    ground = {0xFFFFFF}
    assert sum(pixel in ground for pixel in line) < 0.05 * len(line)
    tab.scene(f"scene.look({{ from: {20 * 31_234 - 100}, to: {20 * 31_234 + 100} }})")
    assert tab.hover(31_234).startswith("mma")


def test_tiny_events_are_drawn_as_such(tab: Tab) -> None:
    trace = make_trace([span("a", 0, 1), span("b", 100_000, 100_001), span("a", 200_000, 200_001)])
    tab.open(trace, theme="light", view={"unit": "cycles"})
    (line,) = tab.do(PIXELS)["lanes"]["0:0:main"]
    band = int(tab.do("() => view.theme.band")[1:], 16)
    assert sum(pixel not in {0xFFFFFF, band} for pixel in line) == 3


def test_the_picture_is_the_same_after_zooming_there_and_back(tab: Tab) -> None:
    tab.open(pipeline(ctas=3), theme="light")
    before = tab.do(PIXELS)
    tab.press("w", "w", "d", "s", "0")
    assert tab.do(PIXELS) == before
    assert tab.errors == []


@pytest.mark.parametrize(("producer", "consumer"), [(0, 128), (128, 0)])
def test_a_short_event_is_seen_in_a_folded_branch(tab: Tab, producer: int, consumer: int) -> None:
    """Under a long one of another thread: above it on the screen, or below."""
    trace = make_trace([span("load", 400, 500, thread=producer), span("mma", 0, 1000, thread=consumer)])
    tab.open(trace)
    tab.scene("scene.fold(true)")
    [strip] = tab.scene("scene.rows.strips.map(({ kind, top, body }) => ({ kind, top, body }))")
    assert strip["kind"] == "summary"
    colors = tab.do(
        "(y) => { const { width, gutter } = view.frame; const at = (share) => [...document.querySelector('.tlt-stage"
        " canvas').getContext('2d').getImageData(gutter + share * (width - gutter), y, 1, 1).data].slice(0, 3).join();"
        " return [at(0.45), at(0.8)]; }",
        26 + strip["top"] + strip["body"] / 2,
    )
    assert colors[0] != colors[1]


@pytest.mark.parametrize(("sms", "written"), [(4, True), (200, False)])
def test_bars_lower_than_letters_bear_none(tab: Tab, sms: int, written: bool) -> None:
    """Many SMs are folded to a few pixels each, and words would stand on each other."""
    every = [span("scale", 0, 90_000, cta=cta, sm=cta) for cta in range(sms)]
    tab.open(make_trace(every), height=500, theme="light", view={"unit": "cycles"})
    assert ("scale" in tab.do(WORDS)) == written


# The words and the arrows of a frame, in the order in which they are drawn; an arrow is "~".
ORDER = """() => {
  const { fillText, bezierCurveTo } = CanvasRenderingContext2D.prototype;
  const said = [];
  CanvasRenderingContext2D.prototype.fillText = function (text, ...place) {
    said.push(text);
    return fillText.call(this, text, ...place);
  };
  CanvasRenderingContext2D.prototype.bezierCurveTo = function (...points) {
    said.push("~");
    return bezierCurveTo.call(this, ...points);
  };
  view.scene.set({ arrows: "all" });
  view.draw();
  Object.assign(CanvasRenderingContext2D.prototype, { fillText, bezierCurveTo });
  return said;
}"""


def test_no_arrow_strikes_through_what_is_written_on_a_bar(tab: Tab) -> None:
    tab.open(pipeline(ctas=1), theme="light")
    drawn = tab.do(ORDER)
    last = max(n for n, what in enumerate(drawn) if what == "~")
    assert "copy A" in drawn[last:]
    assert "copy A" not in drawn[:last]
