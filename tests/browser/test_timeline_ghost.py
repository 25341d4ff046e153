"""One timeline that goes from run to run: the picture, the ghost, the motion, the words in place of it, no leak."""

import base64
import gzip
from typing import Any

import pytest
from fake_trace import FakeTrace, make_trace, span
from timeline_tab import Tab, _base64, model_state

from tltrace_nb.widget.wire import encode

pytestmark = pytest.mark.browser
BEFORE = make_trace([span("load", 100, 300), span("mma", 500, 900)])
AFTER = make_trace([span("load", 0, 200), span("mma", 200, 400), span("store", 400, 450)])
CHANGE = """([header, columns]) => {
  model.state.header = header;
  model.state.columns = new DataView(bytes(columns).buffer);
  model.tell("change:header");
  model.tell("change:columns");
}"""
LANE_TOP = 26
FOOT = 26 + 18 + 4 + 2
"""Pixels from the top of the stage to the ghost of its first lane."""
PIXEL = """([x, y]) => {
  const canvas = document.querySelector(".tlt-stage canvas");
  return [...canvas.getContext("2d").getImageData(x * devicePixelRatio, y * devicePixelRatio, 1, 1).data];
}"""
X_OF = """(time) => {
  const gutter = Math.round(Math.min(Math.max(document.querySelector(".tlt-stage").clientWidth * 0.2, 108), 230));
  const width = document.querySelector(".tlt-stage").clientWidth - gutter;
  const [from, to] = [-9, 909];
  return gutter + ((time - from) / (to - from)) * width;
}"""


@pytest.fixture
def tab(browser: Any) -> Any:
    tab = Tab(browser)
    yield tab
    assert tab.errors == []
    tab.page.close()


def render(tab: Tab, trace: FakeTrace) -> None:
    wire = encode(trace)
    state = model_state(wire, gzip.compress(wire.columns), instead="")
    tab.do(
        f"async () => {{ window.model = model_of({state}); const el = document.getElementById('home');"
        " window.cleanup = await widget.render({ model, el }); }"
    )
    tab.page.locator(".tlt[data-drawn]").wait_for()


def change(tab: Tab, trace: FakeTrace) -> None:
    """What arrives when Python's end shows another run."""
    wire = encode(trace)
    tab.do(CHANGE, [wire.header, base64.b64encode(gzip.compress(wire.columns)).decode()])
    count = len(trace.events)
    tab.page.wait_for_function(
        "(count) => document.querySelector('.tlt-count').textContent === count",
        arg=f"{count} event" + ("s" if count != 1 else ""),
    )
    tab.page.wait_for_timeout(50)


def pixel(tab: Tab, time: float, y: float) -> list[int]:
    found: list[int] = tab.do(PIXEL, [round(tab.do(X_OF, time)), y])
    return found[:3]


def test_another_run_takes_the_place_of_the_one_that_is_shown(tab: Tab) -> None:
    render(tab, BEFORE)
    change(tab, AFTER)
    assert tab.page.locator(".tlt").count() == 1
    assert tab.page.locator(".tlt-legend").inner_text().split() == [
        "load", "1", "mma", "1", "−50.0", "%", "store", "1", "new", "previous", "run", "per", "iteration",
    ]  # fmt: skip


def test_a_run_that_is_too_large_to_be_saved_is_asked_for(tab: Tab) -> None:
    wire, after = encode(BEFORE), encode(AFTER)
    state = model_state(wire, gzip.compress(wire.columns), instead="")
    tab.do(
        f"async () => {{ const answer = [{{ kind: 'columns' }}, [new DataView(bytes('{_base64(after)}').buffer)]];"
        f" window.model = model_of({state}, answer);"
        " await widget.render({ model, el: document.getElementById('home') }); }"
    )
    tab.page.locator(".tlt[data-drawn]").wait_for()
    tab.do(CHANGE, [after.header, ""])
    tab.page.wait_for_function("document.querySelector('.tlt-count').textContent === '3 events'")
    assert tab.do("() => model.sent") == [{"kind": "columns"}]


def test_the_run_before_is_pale_at_the_foot_of_its_lane(tab: Tab) -> None:
    render(tab, BEFORE)
    full = pixel(tab, 700, LANE_TOP + 11)
    change(tab, AFTER)
    ground = pixel(tab, 480, FOOT)
    assert ground == [255, 255, 255]
    ghost = pixel(tab, 700, FOOT)
    assert all(abs(seen - (color + 255) / 2) < 3 for seen, color in zip(ghost, full, strict=True))
    assert pixel(tab, 700, LANE_TOP + 11) == ground


def test_the_legend_hides_the_ghost_and_the_model_is_told(tab: Tab) -> None:
    render(tab, BEFORE)
    change(tab, AFTER)
    tab.page.locator(".tlt-before").click()
    assert tab.page.locator(".tlt-before").get_attribute("aria-pressed") == "false"
    tab.page.wait_for_function("model.state.view.ghost === false")
    change(tab, BEFORE)
    assert tab.page.locator(".tlt-before").get_attribute("aria-pressed") == "false"


def test_hovering_the_ghost_says_nothing_of_the_run_that_is_shown(tab: Tab) -> None:
    render(tab, BEFORE)
    change(tab, AFTER)
    box = tab.stage.bounding_box()
    x = box["x"] + tab.do(X_OF, 300)
    tab.page.mouse.move(x, box["y"] + FOOT)
    tab.page.wait_for_timeout(100)
    assert not tab.tip.is_visible()
    tab.page.mouse.move(x, box["y"] + LANE_TOP + 11)
    tab.page.wait_for_timeout(100)
    assert "mma" in tab.tip.inner_text()


def test_what_the_reader_has_chosen_stays(tab: Tab) -> None:
    render(tab, BEFORE)
    tab.page.locator(".tlt-legend button").first.click()
    tab.page.locator(".tlt-bar select").first.select_option("duration")
    tab.page.locator(".tlt-bar button", has_text="Move").click()
    tab.stage.focus()
    change(tab, AFTER)
    bar = tab.page.locator(".tlt-bar")
    assert bar.locator("select").first.input_value() == "duration"
    assert bar.locator("button", has_text="Move").get_attribute("aria-pressed") == "true"
    assert tab.page.locator(".tlt-legend button:has(bdi)[aria-pressed=false]").count() == 1
    assert tab.do("() => document.activeElement.className") == "tlt-stage"


def test_words_stand_in_place_of_the_events_until_there_are_some(tab: Tab) -> None:
    render(tab, BEFORE)
    tab.do("() => { model.state.instead = 'too large:\\n2 kB more'; model.tell('change:instead'); }")
    words = tab.page.locator(".tlt-instead")
    assert words.inner_text() == "too large:\n2 kB more"
    assert not tab.stage.is_visible()
    assert not tab.page.locator(".tlt-bar").is_visible()  # its title is that of the run before
    tab.do("() => { model.state.instead = ''; }")
    change(tab, AFTER)
    assert not tab.page.locator(".tlt-instead").is_visible()
    assert tab.stage.is_visible()
    assert tab.page.locator(".tlt-before").is_visible()


@pytest.mark.wide
def test_a_hundred_runs_leave_one_view_and_as_many_listeners_as_one(tab: Tab) -> None:
    render(tab, BEFORE)
    change(tab, AFTER)
    client = tab.page.context.new_cdp_session(tab.page)

    def held() -> tuple[int, int]:
        client.send("HeapProfiler.collectGarbage")
        client.send("HeapProfiler.collectGarbage")
        counters = client.send("Memory.getDOMCounters")
        return counters["jsEventListeners"], counters["nodes"]

    listens, (listeners, nodes) = tab.do("() => model.count"), held()
    for _ in range(50):
        change(tab, BEFORE)
        change(tab, AFTER)
    assert tab.do("() => model.count") == listens
    after = held()
    assert after[0] <= listeners + 60  # one view has more
    assert after[1] <= nodes + 400
    assert tab.page.locator("canvas").count() == 3


def test_of_two_runs_at_once_the_last_is_shown(tab: Tab) -> None:
    render(tab, BEFORE)
    for trace in (AFTER, BEFORE, make_trace([span("alone", 0, 10)])):
        wire = encode(trace)
        tab.do(CHANGE, [wire.header, base64.b64encode(gzip.compress(wire.columns)).decode()])
    tab.page.wait_for_timeout(400)
    assert tab.page.locator(".tlt-count").first.inner_text() == "1 event"


def test_events_move_to_where_they_are_now(browser: Any) -> None:
    tab = Tab(browser, reduced_motion="no-preference")
    render(tab, BEFORE)
    tab.do(
        "() => { window.seen = new Set(); const look = () => {"
        " const { data } = document.querySelector('.tlt-stage canvas').getContext('2d').getImageData(0, 37, 1000, 1);"
        " window.seen.add(data.join()); requestAnimationFrame(look); }; look(); }"
    )
    change(tab, AFTER)
    tab.page.wait_for_timeout(900)
    frames = tab.do("() => seen.size")
    tab.page.wait_for_timeout(300)
    assert frames > 3
    assert tab.do("() => seen.size") == frames  # and then they rest
    assert tab.errors == []
    tab.page.close()


def test_they_jump_for_who_wants_no_motion(tab: Tab) -> None:
    render(tab, BEFORE)
    tab.do(
        "() => { window.seen = new Set(); const look = () => {"
        " const { data } = document.querySelector('.tlt-stage canvas').getContext('2d').getImageData(0, 37, 1000, 1);"
        " window.seen.add(data.join()); requestAnimationFrame(look); }; look(); }"
    )
    change(tab, AFTER)
    tab.page.wait_for_timeout(600)
    assert tab.do("() => seen.size") == 2
