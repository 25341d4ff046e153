"""The widget's side: what it reads of a model, what it writes, and that it leaves nothing behind."""

import base64
import gzip
from typing import Any

import pytest
from fake_trace import FakeTrace, pipeline
from timeline_tab import Tab, _base64, model_state

from tltrace_nb.widget.runs import to_runs
from tltrace_nb.widget.timeline import Timeline
from tltrace_nb.widget.wire import encode

pytestmark = pytest.mark.browser
DRAWN = ".tlt[data-drawn]"
SELECT = """(runs) => {
  model.state.selected = new DataView(Uint8Array.from(runs).buffer);
  model.tell("change:selected");
}"""


@pytest.fixture(scope="module")
def trace() -> FakeTrace:
    return pipeline()


@pytest.fixture
def tab(browser: Any) -> Any:
    tab = Tab(browser)
    yield tab
    assert tab.errors == []
    assert tab.foreign == []
    tab.page.close()


def render(tab: Tab, trace: FakeTrace, **more: Any) -> None:
    """Render a model of ``trace``, its columns in a DataView that begins in the middle of its buffer."""
    wire = encode(trace)
    state = model_state(wire, gzip.compress(wire.columns), **more)
    tab.do(
        f"async () => {{ window.model = model_of({state}); const el = document.getElementById('home');"
        " window.cleanup = await widget.render({ model, el }); }"
    )
    tab.page.locator(DRAWN).first.wait_for()


def test_a_saved_state_is_drawn_without_asking_python(tab: Tab, trace: FakeTrace) -> None:
    render(tab, trace)
    assert tab.do("() => model.sent") == []
    assert tab.page.locator(".tlt-count").first.inner_text() == "42 events"


def test_the_front_end_is_evaluated_once_however_many_timelines_are_shown(tab: Tab, trace: FakeTrace) -> None:
    """A page keeps every module that it has evaluated for good."""
    wire = encode(trace)
    state = model_state(wire, gzip.compress(wire.columns))
    script = base64.b64encode(Timeline(trace).script).decode()
    tab.do(
        "async ([loader, script]) => {"
        " const make = URL.createObjectURL; window.sizes = [];"
        " URL.createObjectURL = (blob) => { sizes.push(blob.size); return make(blob); };"
        " const text = (code) => make(new Blob([code], { type: 'text/javascript' }));"
        " for (let n = 0; n < 3; n++) {"
        f"  const model = model_of({{ ...{state}, script: new DataView(bytes(script).buffer) }});"
        "   const el = document.getElementById('home').appendChild(document.createElement('div'));"
        "   await (await import(text(loader))).default.render({ model, el }); } }",
        [Timeline._esm, script],
    )
    tab.page.wait_for_function("document.querySelectorAll('.tlt[data-drawn]').length === 3")
    assert len(tab.do("() => sizes")) == 1
    assert len(Timeline._esm) < 2000


def test_a_front_end_that_cannot_be_unpacked_is_said_and_tried_again(browser: Any) -> None:
    tab = Tab(browser)
    said = tab.do(
        "async (loader) => { const el = document.createElement('div');"
        " const module = await import(URL.createObjectURL(new Blob([loader], { type: 'text/javascript' })));"
        " const model = { get: () => new Uint8Array([1, 2, 3]), off() {} };"
        " await module.default.render({ model, el }).catch(() => {});"
        " return [el.textContent, Object.keys(globalThis).filter((key) => key.startsWith('tltrace')).length]; }",
        Timeline._esm,
    )
    assert said[0].startswith("The timeline cannot be shown: ")
    assert said[1] == 0
    tab.page.close()


def test_columns_that_are_not_saved_are_asked_for(tab: Tab, trace: FakeTrace) -> None:
    wire = encode(trace)
    tab.do(
        f"() => {{ const answer = [{{ kind: 'columns' }}, [new DataView(bytes('{_base64(wire)}').buffer)]];"
        f" window.model = model_of({model_state(wire)}, answer);"
        " widget.render({ model, el: document.getElementById('home') }); }"
    )
    tab.page.locator(DRAWN).first.wait_for()
    assert tab.do("() => model.sent") == [{"kind": "columns"}]


def test_a_brush_is_written_to_the_model_as_runs_of_ids(tab: Tab, trace: FakeTrace) -> None:
    render(tab, trace)
    box = tab.stage.bounding_box()
    tab.drag((box["x"] + 400, box["y"] + 8), (box["x"] + 500, box["y"] + 8))
    tab.page.wait_for_function("model.saved > 0")
    size = tab.do("() => model.state.selected.byteLength")
    assert size > 0
    assert size % 8 == 0


def test_a_selection_from_python_is_shown_and_not_told_back(tab: Tab, trace: FakeTrace) -> None:
    render(tab, trace)
    runs = list(to_runs([3, 4, 5]))
    tab.do(SELECT, runs)
    assert tab.page.locator(".tlt-panel h3").inner_text() == "3 events selected"
    tab.page.wait_for_timeout(400)
    assert tab.do("() => model.saved") == 0


def test_a_view_from_python_is_taken_over(tab: Tab, trace: FakeTrace) -> None:
    render(tab, trace)
    tab.do("() => { model.state.view = { color_by: 'duration', query: 'mma' }; model.tell('change:view'); }")
    assert tab.page.get_by_label("Colour by").input_value() == "duration"
    assert tab.page.locator(".tlt-found").inner_text() == "12 found"


def test_how_the_view_was_changed_is_written_to_the_model(tab: Tab, trace: FakeTrace) -> None:
    render(tab, trace)
    tab.press("w", "c")
    tab.page.wait_for_function("model.saved > 0")
    view = tab.do("() => model.state.view")
    assert view["color_by"] == "payload"
    assert view["unit"] == "ns"
    assert len(view["span"]) == 2


def test_the_still_picture_is_hidden_while_there_is_a_view(tab: Tab, trace: FakeTrace) -> None:
    tab.do("() => document.body.insertAdjacentHTML('beforeend', '<p class=\"tltrace-still-1\">picture</p>')")
    render(tab, trace)
    assert tab.page.get_by_text("picture").is_hidden()
    tab.do("() => cleanup()")
    assert tab.page.get_by_text("picture").is_visible()


def test_fifty_views_leave_no_listener_no_element_and_no_canvas(tab: Tab, trace: FakeTrace) -> None:
    client = tab.page.context.new_cdp_session(tab.page)

    def counters() -> dict[str, int]:
        client.send("HeapProfiler.collectGarbage")
        found = client.send("Memory.getDOMCounters")
        return {key: found[key] for key in ("nodes", "jsEventListeners")}

    def once() -> None:
        render(tab, trace)
        tab.press("w")
        tab.do("() => { cleanup(); window.left = model.count; }")

    once()
    tab.page.wait_for_timeout(300)
    before = counters()
    for _ in range(50):
        once()
    tab.page.wait_for_timeout(300)
    after = counters()
    assert tab.do("() => left") == 0
    assert tab.page.locator("canvas, .tlt, style").count() == 0
    assert after["jsEventListeners"] <= before["jsEventListeners"] + 2
    assert after["nodes"] <= before["nodes"] + 60  # not fifty times what one view has


def test_the_memory_of_fifty_views_is_that_of_the_third(tab: Tab) -> None:
    trace = pipeline(ctas=40, steps=60)
    client = tab.page.context.new_cdp_session(tab.page)

    def held() -> int:
        """Bytes of the script's objects and arrays."""
        tab.page.wait_for_timeout(300)
        for _ in range(2):
            client.send("HeapProfiler.collectGarbage")
        used = client.send("Runtime.getHeapUsage")
        return int(used["usedSize"] + used.get("backingStorageSize", 0))

    begun = held()
    for number in range(53):
        render(tab, trace)
        tab.do("() => { cleanup(); window.model = window.cleanup = undefined; }")
        if number == 2:
            third = held()
    assert held() - third < 1 << 20  # Chromium itself keeps some kB of each
    assert third > begun


def test_a_view_that_is_closed_while_it_waits_stays_closed(tab: Tab, trace: FakeTrace) -> None:
    wire = encode(trace)
    tab.do(
        f"async () => {{ window.model = model_of({model_state(wire)});"
        " (await widget.render({ model, el: document.getElementById('home') }))(); }"
    )
    tab.page.wait_for_timeout(200)
    assert tab.do("() => model.count") == 0
    assert tab.page.locator("#home > *").count() == 0


def test_a_view_made_in_a_hidden_place_is_drawn_when_it_is_shown(tab: Tab, trace: FakeTrace) -> None:
    wire = encode(trace)
    state = model_state(wire, gzip.compress(wire.columns))
    tab.do(
        f"async () => {{ const el = document.getElementById('home'); el.style.display = 'none';"
        f" await widget.render({{ model: model_of({state}), el }}); }}"
    )
    tab.page.wait_for_timeout(300)
    assert tab.page.locator(DRAWN).count() == 0
    tab.do("() => { document.getElementById('home').style.display = ''; }")
    tab.page.locator(DRAWN).first.wait_for()
    assert tab.do("() => document.querySelector('.tlt-stage canvas').width") > 500


def test_a_view_moved_and_resized_is_drawn_again(tab: Tab, trace: FakeTrace) -> None:
    render(tab, trace)
    tab.do("() => { document.getElementById('home').style.width = '480px'; }")
    tab.page.wait_for_function("document.querySelector('.tlt-stage canvas').width < 480")
    tab.page.set_viewport_size({"width": 1000, "height": 500})
    tab.do("() => { const el = document.getElementById('home'); el.remove(); document.body.append(el); }")
    ink = (
        "(() => { const c = document.querySelector('.tlt-stage canvas');"
        " const { data } = c.getContext('2d').getImageData(0, 0, c.width, c.height);"
        " return new Set(new Uint32Array(data.buffer)).size; })()"
    )
    tab.page.wait_for_function(f"{ink} > 20")


def test_in_a_shadow_root_the_style_is_there_too(tab: Tab, trace: FakeTrace) -> None:
    wire = encode(trace)
    state = model_state(wire, gzip.compress(wire.columns))
    tab.do(
        "async () => { const el = document.createElement('div');"
        " document.getElementById('home').attachShadow({ mode: 'open' }).append(el);"
        f" await widget.render({{ model: model_of({state}), el }}); }}"
    )
    tab.page.locator(DRAWN).first.wait_for()
    assert tab.page.locator(".tlt-bar").evaluate("(bar) => getComputedStyle(bar).display") == "flex"


def test_two_views_of_one_model_follow_each_other(tab: Tab, trace: FakeTrace) -> None:
    render(tab, trace)
    tab.do(
        "async () => { const el = document.createElement('div'); document.body.append(el);"
        " await widget.render({ model, el }); }"
    )
    tab.page.wait_for_function(f"document.querySelectorAll('{DRAWN}').length === 2")
    runs = list(to_runs([3, 4]))
    tab.do(SELECT, runs)
    assert tab.page.locator(".tlt-panel h3").all_inner_texts() == ["2 events selected"] * 2


def test_the_still_picture_stays_until_python_has_answered(tab: Tab, trace: FakeTrace) -> None:
    tab.do("() => document.body.insertAdjacentHTML('beforeend', '<p class=\"tltrace-still-1\">picture</p>')")
    wire = encode(trace)
    tab.do(
        f"async () => {{ window.model = model_of({model_state(wire)});"
        " await widget.render({ model, el: document.getElementById('home') }); }"
    )
    tab.page.wait_for_timeout(200)
    assert tab.page.get_by_text("picture").is_visible()
    tab.do(f"() => model.tell('msg:custom', {{ kind: 'columns' }}, [bytes('{_base64(wire)}').buffer])")
    tab.page.locator(DRAWN).wait_for()
    assert tab.page.get_by_text("picture").is_hidden()


def test_the_still_picture_comes_back_when_the_view_cannot_be_shown(tab: Tab, trace: FakeTrace) -> None:
    tab.do("() => document.body.insertAdjacentHTML('beforeend', '<p class=\"tltrace-still-1\">picture</p>')")
    tab.do(
        f"async () => {{ window.model = model_of({model_state(encode(trace), b'not a gzip')});"
        " await widget.render({ model, el: document.getElementById('home') }); }"
    )
    tab.page.get_by_text("The timeline cannot be shown").wait_for()
    assert tab.page.get_by_text("picture").is_visible()
    tab.errors.clear()
