"""What hands can do in the timeline: keys, wheel, drags, fingers, search, legend, lanes, arrows."""

from typing import Any

import pytest
from fake_trace import FakeTrace, pipeline
from timeline_tab import Tab

from tltrace_nb.widget.wire import encode

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def shared(browser: Any) -> Tab:
    return Tab(browser, has_touch=True)


@pytest.fixture(scope="module")
def trace() -> FakeTrace:
    return pipeline(ctas=3, losses=[{"lost": 12}], device="virtual", gpu="h200 model")


@pytest.fixture
def tab(shared: Tab, trace: FakeTrace) -> Tab:
    return shared.open(trace, theme="light")


def span(tab: Tab) -> tuple[float, float]:
    found = tab.scene("scene.span")
    return found["from"], found["to"]


def width(tab: Tab) -> float:
    low, high = span(tab)
    return high - low


def ids(trace: FakeTrace, query: str) -> list[int]:
    return trace.events.index[trace.events.eval(query)].tolist()


def focused(tab: Tab) -> int:
    return int(tab.scene("scene.focused < 0 ? -1 : events.id[scene.focused]"))


def inside(tab: Tab, x: float, y: float) -> tuple[float, float]:
    """A place on the lanes, from their upper left corner."""
    box = tab.stage.bounding_box()
    return box["x"] + tab.do("() => view.frame.gutter") + x, box["y"] + 26 + y


def label(tab: Tab, text: str) -> tuple[float, float]:
    """The label of a lane or branch, in the margin."""
    top = tab.scene(
        f"(scene.rows.pinned.find((s) => s.node.label === {text!r})?.top ?? "
        f"scene.rows.pinnedHeight + scene.rows.strips.find((s) => s.node.label === {text!r}).top - scene.state.scroll)"
    )
    box = tab.stage.bounding_box()
    return box["x"] + 40, box["y"] + 26 + top + 10


def labels(tab: Tab) -> list[str]:
    found: list[str] = tab.scene("[...scene.rows.pinned, ...scene.rows.strips].map((strip) => strip.node.label)")
    return found


# Time


def test_w_and_s_zoom_while_the_lanes_have_the_focus(tab: Tab) -> None:
    whole = width(tab)
    tab.press("w")
    assert width(tab) == pytest.approx(0.7 * whole)
    tab.press("s")
    assert width(tab) == pytest.approx(whole)


def test_a_and_d_move(tab: Tab) -> None:
    tab.press("w", "w")
    low, high = span(tab)
    tab.press("d")
    assert span(tab)[0] == pytest.approx(low + 0.15 * (high - low))
    tab.press("a", "a")
    assert span(tab)[0] == pytest.approx(low - 0.15 * (high - low))


def test_keys_do_nothing_without_the_focus(tab: Tab) -> None:
    before = span(tab)
    tab.page.evaluate("document.activeElement.blur()")
    tab.page.keyboard.press("w")
    assert span(tab) == before


def test_keys_typed_into_the_search_box_do_nothing_to_the_lanes(tab: Tab) -> None:
    before = span(tab)
    tab.page.locator("input[type=search]").press_sequentially("wasd")
    assert span(tab) == before


def test_the_notebooks_shortcuts_are_suppressed_on_whatever_has_the_focus(tab: Tab) -> None:
    focusable = ".tlt button, .tlt input, .tlt select, .tlt [tabindex]"
    assert tab.page.locator(focusable).count() > 15
    assert tab.page.locator(f":is({focusable}):not([data-lm-suppress-shortcuts])").count() == 0


def test_a_plain_wheel_scrolls_the_page_until_the_lanes_are_clicked(tab: Tab) -> None:
    tab.do("() => { document.body.style.height = '3000px'; document.activeElement.blur(); scrollTo(0, 0); }")
    before = span(tab)
    tab.page.mouse.move(*inside(tab, 300, 30))
    tab.page.mouse.wheel(0, 120)
    tab.page.wait_for_function("scrollY > 0")
    assert span(tab) == before
    tab.do("() => scrollTo(0, 0)")
    tab.page.mouse.click(*inside(tab, 2, 2))
    tab.page.mouse.wheel(0, -120)
    tab.page.wait_for_function(f"view.scene.span.to - view.scene.span.from < {before[1] - before[0]}")
    assert tab.do("() => scrollY") == 0
    tab.do("() => { document.body.style.height = ''; }")


def test_ctrl_wheel_zooms_about_the_pointer(tab: Tab) -> None:
    tab.do("() => document.activeElement.blur()")
    low, high = span(tab)
    area = tab.do("() => view.frame.width - view.frame.gutter")
    tab.page.mouse.move(*inside(tab, area / 4, 30))
    tab.page.keyboard.down("Control")
    tab.page.mouse.wheel(0, -200)
    tab.page.keyboard.up("Control")
    tab.page.wait_for_function(f"view.scene.span.to - view.scene.span.from < {0.9 * (high - low)}")
    now_low, now_high = span(tab)
    assert now_low + (now_high - now_low) / 4 == pytest.approx(low + (high - low) / 4, rel=1e-2)


def test_shift_wheel_moves(tab: Tab) -> None:
    tab.press("w", "w")
    low, _ = span(tab)
    tab.page.mouse.move(*inside(tab, 300, 30))
    tab.page.keyboard.down("Shift")
    tab.page.mouse.wheel(0, 80)
    tab.page.keyboard.up("Shift")
    tab.page.wait_for_function(f"view.scene.span.from > {low}")


def test_shift_drag_moves(tab: Tab) -> None:
    tab.press("w", "w")
    low, high = span(tab)
    tab.page.keyboard.down("Shift")
    tab.drag(inside(tab, 300, 30), inside(tab, 200, 30))
    tab.page.keyboard.up("Shift")
    area = tab.do("() => view.frame.width - view.frame.gutter")
    assert span(tab)[0] == pytest.approx(low + 100 / area * (high - low), rel=1e-3)


def test_f_fits_the_selection_and_a_double_click_everything(tab: Tab, trace: FakeTrace) -> None:
    whole = span(tab)
    tab.page.mouse.click(*tab.at(3))
    tab.press("f")
    event = trace.events.iloc[3]
    low, high = span(tab)
    assert low < event["start_ns"]
    assert high > event["start_ns"] + event["duration_ns"]
    assert high - low < 2 * event["duration_ns"]
    tab.page.mouse.dblclick(*inside(tab, 4, 4))
    assert span(tab) == whole


def test_a_double_click_on_a_bar_fits_the_bar(tab: Tab, trace: FakeTrace) -> None:
    tab.page.mouse.dblclick(*tab.at(3))
    event = trace.events.iloc[3]
    low, high = span(tab)
    assert low < event["start_ns"]
    assert event["start_ns"] + event["duration_ns"] < high < low + 2 * event["duration_ns"]


def test_the_corner_makes_the_lanes_higher_and_selects_nothing(tab: Tab) -> None:
    box = tab.stage.bounding_box()
    corner = (box["x"] + box["width"] - 5, box["y"] + box["height"] - 5)
    tab.drag(corner, (corner[0] - 60, corner[1] + 60))
    assert tab.stage.bounding_box()["height"] > box["height"] + 30
    assert tab.scene("scene.area") is None
    assert tab.selected() == []


def test_two_fingers_zoom(tab: Tab) -> None:
    whole = width(tab)
    (x, y), client = inside(tab, 300, 40), tab.page.context.new_cdp_session(tab.page)

    def touch(kind: str, apart: int) -> None:
        points = [] if kind == "touchEnd" else [{"x": x - apart, "y": y, "id": 0}, {"x": x + apart, "y": y, "id": 1}]
        client.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": points})

    touch("touchStart", 40)
    for apart in (60, 80, 120):
        touch("touchMove", apart)
    touch("touchEnd", 0)
    tab.page.wait_for_function(f"view.scene.span.to - view.scene.span.from < {0.6 * whole}")


def test_the_overview_moves_the_view(tab: Tab) -> None:
    tab.press("w", "w", "w", "w")
    low, high = span(tab)
    box = tab.page.locator(".tlt-map").bounding_box()
    tab.page.mouse.click(box["x"] + box["width"] - 30, box["y"] + 10)
    assert span(tab)[0] > low
    assert width(tab) == pytest.approx(high - low)


def test_u_changes_the_unit(tab: Tab) -> None:
    tab.press("u")
    assert tab.scene("scene.axis.unit") == "cycles"
    tab.press("u")
    assert tab.scene("scene.axis.unit") == "ns"


# Events


def test_dot_and_comma_walk_the_lane_in_order_of_start(tab: Tab, trace: FakeTrace) -> None:
    lane = trace.events[(trace.events["cta"] == 0) & (trace.events["thread"] == 128)].sort_values(
        ["start", "end"], ascending=[True, False], kind="stable"
    )
    tab.page.mouse.click(*tab.at(lane.index[0]))
    seen = [focused(tab)]
    for _ in range(len(lane)):
        tab.press(".")
        seen.append(focused(tab))
    assert seen == [*lane.index, lane.index[-1]]
    tab.press(",", ",")
    assert focused(tab) == lane.index[-3]


def test_arrow_keys_reach_every_lane(tab: Tab, trace: FakeTrace) -> None:
    tab.press("ArrowDown")
    lanes = set()
    for _ in range(8):
        event = trace.events.iloc[focused(tab)]
        lanes.add((event["cta"], event["thread"]))
        tab.press("ArrowDown")
    assert len(lanes) == 6


def test_brackets_follow_the_arrows(tab: Tab, trace: FakeTrace) -> None:
    flow = trace.flows.iloc[2]
    tab.page.mouse.click(*tab.at(int(flow["src"])))
    tab.press("]")
    assert focused(tab) == flow["dst"]
    tab.press("[")
    assert focused(tab) == flow["src"]


def test_a_click_shows_the_details(tab: Tab, trace: FakeTrace) -> None:
    tab.page.mouse.click(*tab.at(2))
    panel = tab.page.locator(".tlt-panel")
    assert "copy A" in panel.inner_text()
    assert "kernel.py:7" in panel.inner_text()
    tab.press("Escape")
    assert panel.is_hidden()


def test_hovering_draws_the_arrows_of_the_event(tab: Tab, trace: FakeTrace) -> None:
    tab.scene("scene.set({ arrows: 'hovered' })")

    def ink() -> int:
        return int(
            tab.do(
                "() => { const c = document.querySelectorAll('.tlt-stage canvas')[1];"
                " return c.getContext('2d').getImageData(0, 0, c.width, c.height).data.filter((v) => v).length; }"
            )
        )

    tab.hover(ids(trace, "name == 'epilogue'")[0])
    without = ink()
    tab.hover(int(trace.flows.iloc[2]["src"]))
    assert ink() > without + 100


INK = """(n) => {
  view.draw();
  const canvas = document.querySelectorAll(".tlt-stage canvas")[n];
  const { gutter, width, height } = view.frame;
  const { data } = canvas.getContext("2d").getImageData(gutter, 26, width - gutter, height - 26);
  return [...data].filter((v) => v).length;
}"""


def test_no_arrow_and_no_frame_is_left_of_what_a_filter_hides(tab: Tab, trace: FakeTrace) -> None:
    tab.scene("scene.set({ arrows: 'all' })")
    tab.page.mouse.click(*tab.at(int(trace.flows.iloc[2]["src"])))
    tab.page.mouse.move(*inside(tab, -30, 4))
    assert tab.do(INK, 1) > 0
    tab.page.locator("input[type=search]").fill("no such name")
    tab.page.get_by_role("button", name="Filter").click()
    assert tab.do(INK, 1) == 0
    assert tab.do(GREYS) == tab.do("() => { view.scene.set({ arrows: 'none' }); return (" + GREYS + ")(); }")


# How many pixels of the lanes are as dark as arrows.
GREYS = """() => {
  view.draw();
  const canvas = document.querySelector(".tlt-stage canvas");
  const { gutter, width, height } = view.frame;
  const { data } = canvas.getContext("2d").getImageData(gutter + 1, 27, width - gutter - 1, height - 27);
  let dark = 0;
  for (let i = 0; i < data.length; i += 4) if (data[i] < 150) dark++;
  return dark;
}"""


def test_e_changes_which_arrows_are_drawn(tab: Tab) -> None:
    seen = []
    for _ in range(3):
        seen.append(tab.scene("scene.state.arrows"))
        tab.press("e")
    assert seen == ["all", "hovered", "none"]


# Selection


def test_a_drag_selects_what_it_touches_and_says_how_long_it_is(tab: Tab, trace: FakeTrace) -> None:
    x0, y0 = tab.at(1)
    x1, _ = tab.at(4)
    tab.drag((x0, y0 - 6), (x1, y0 + 4))
    assert tab.selected() == [1, 2, 3, 4]
    assert tab.do("() => told.runs.at(-1)") == [1, 4]


@pytest.mark.parametrize("unit", ["cycles", "ns"])
def test_the_aggregate_table_is_that_of_pandas_in_the_unit_of_the_axis(tab: Tab, trace: FakeTrace, unit: str) -> None:
    box = tab.stage.bounding_box()
    _, y = inside(tab, 0, 0)
    tab.drag((inside(tab, 1, 0)[0], y + 1), (box["x"] + box["width"] - 20, box["y"] + box["height"] - 2))
    tab.page.get_by_label("Unit of time").select_option(unit)
    assert f"total {unit}" in tab.page.locator(".tlt-panel thead").inner_text()
    rows = tab.page.locator(".tlt-panel tbody tr").all()
    column = {"cycles": "duration", "ns": "duration_ns"}[unit]
    ranges = trace.events[trace.events["kind"] == "range"].groupby("name", observed=True)[column]
    total = ranges.sum().sort_values(ascending=False)
    assert [row.locator("td").first.inner_text() for row in rows][: len(total)] == total.index.tolist()
    for row in rows[: len(total)]:
        name, count, sum_, mean, p50, p99, share = (cell.inner_text() for cell in row.locator("td").all())
        numbers = [float(text.replace(",", "")) for text in (count, sum_, mean, p50, p99)]
        mine = ranges.get_group(name)
        wanted = [len(mine), mine.sum(), mine.mean(), mine.quantile(0.5), mine.quantile(0.99)]
        assert numbers == pytest.approx(wanted, abs=0.051)
        assert float(share.removesuffix(" %")) == pytest.approx(100 * mine.sum() / total.sum(), abs=0.051)


def test_a_drag_on_the_time_axis_selects_on_all_lanes(tab: Tab, trace: FakeTrace) -> None:
    box = tab.stage.bounding_box()
    x, _ = tab.at(2)
    tab.drag((x - 3, box["y"] + 8), (x + 3, box["y"] + 8))
    found = trace.events.iloc[tab.selected()]
    assert found["cta"].nunique() == 3


@pytest.mark.parametrize("tool", ["v", "m"])
def test_what_is_brushed_or_measured_keeps_its_colours_and_its_ticks(tab: Tab, tool: str) -> None:
    tab.press(tool)
    tab.drag(inside(tab, 100, 5), inside(tab, 400, 60))
    tab.page.mouse.move(*inside(tab, -40, 60))
    opaque = tab.do(
        "() => { view.draw(); const canvas = document.querySelectorAll('.tlt-stage canvas')[1];"
        " const pixels = (x, y, w, h) => canvas.getContext('2d').getImageData(x, y, w, h).data;"
        " const most = (data) => data.filter((_, n) => n % 4 === 3).reduce((a, b) => Math.max(a, b), 0);"
        " const { gutter } = view.frame;"
        " return [most(pixels(gutter + 110, 32, 280, 20)), most(pixels(gutter, 2, 500, 20))]; }"
    )
    assert opaque[0] == 0
    assert opaque[1] < 80
    tab.press("v")


def test_f_goes_to_what_is_selected_on_a_lane_out_of_sight(shared: Tab) -> None:
    trace = pipeline(ctas=20)
    tab = shared.open(trace, height=200)
    found = ids(trace, "cta == 17 and name == 'mma'")[:1]
    tab.do("(ids) => view.setSelection(new Uint8Array(new Uint32Array(ids.flatMap((id) => [id, 1])).buffer))", found)
    tab.press("f")
    box, (_, y) = tab.stage.bounding_box(), tab.at(found[0])
    assert box["y"] + 26 < y < box["y"] + box["height"]


def test_an_arrow_key_reaches_into_a_folded_branch(shared: Tab) -> None:
    tab = shared.open(pipeline(ctas=3))
    tab.scene("scene.fold(true)")
    tab.press("ArrowRight")
    assert focused(tab) >= 0
    assert tab.page.locator(".tlt-panel dl").is_visible()


def test_arrow_keys_begin_at_what_is_selected(tab: Tab, trace: FakeTrace) -> None:
    found = ids(trace, "cta == 1 and name == 'mma'")[:1]
    tab.do("(ids) => view.setSelection(new Uint8Array(new Uint32Array(ids.flatMap((id) => [id, 1])).buffer))", found)
    tab.press("ArrowRight")
    assert focused(tab) == found[0]


def test_measuring_selects_nothing(tab: Tab) -> None:
    tab.press("m")
    tab.drag(inside(tab, 100, -15), inside(tab, 300, -15))
    assert tab.selected() == []
    area = tab.do("() => view.frame.width - view.frame.gutter")
    length = tab.scene("scene.measured.to - scene.measured.from")
    assert length == pytest.approx(200 / area * width(tab), rel=1e-3)
    tab.press("v")


@pytest.mark.parametrize("unit", ["cycles", "ns"])
def test_measuring_goes_from_edge_to_edge_and_says_all_of_it(tab: Tab, trace: FakeTrace, unit: str) -> None:
    tab.scene(f"scene.set({{ unit: '{unit}' }})")
    tab.press("m")
    one = ids(trace, "name == 'mma' and cta == 0")[2]
    event = trace.events.loc[one]
    x, y = tab.at(one)
    per = tab.scene("(view.frame.width - view.frame.gutter) / (scene.span.to - scene.span.from)")
    half = event["duration" if unit == "cycles" else "duration_ns"] * per / 2
    tab.drag((x - half + 3, y), (x + half - 2, y))
    start, length = ("start", "duration") if unit == "cycles" else ("start_ns", "duration_ns")
    measured = tab.scene("[scene.measured.from + Number(scene.axis.origin), scene.measured.to - scene.measured.from]")
    assert measured == pytest.approx([event[start], event[length]])
    ends = "568 → 598" if unit == "cycles" else "284 ns → 299 ns"
    assert tab.page.locator(".tlt-measured").inner_text() == f"{ends} · 30 cycles · 15.0 ns"
    tab.press("v")


def test_a_click_beside_all_events_clears_the_selection(tab: Tab) -> None:
    tab.drag(inside(tab, 10, 5), inside(tab, 300, 60))
    assert tab.selected()
    tab.page.mouse.click(*inside(tab, 2, 2))
    assert tab.selected() == []
    assert tab.do("() => told.runs.at(-1)") == []


def test_y_copies_the_event_and_the_table_as_text(tab: Tab, trace: FakeTrace) -> None:
    # A page without https has no navigator.clipboard; what the old way copies is what is selected.
    tab.do("() => { document.execCommand = () => { window.copied = document.activeElement.value; return true; }; }")
    tab.page.mouse.click(*tab.at(2))
    tab.press("y")
    assert tab.do("() => copied").split("\n")[:2] == ["copy A", "payload\t2"]
    tab.press("Escape")
    tab.drag(inside(tab, 10, 5), inside(tab, 300, 60))
    tab.press("y")
    assert tab.do("() => copied").startswith("name\tcount\ttotal ns\tmean\tp50\tp99\tshare\n")


# Search, filter, colours


def test_slash_searches_and_n_goes_through_the_matches(tab: Tab, trace: FakeTrace) -> None:
    tab.press("/")
    tab.page.keyboard.type("mma payload>=4")
    wanted = ids(trace, "name == 'mma' and payload >= 4")
    assert tab.page.locator(".tlt-found").inner_text() == f"{len(wanted)} found"
    tab.page.keyboard.press("Enter")
    seen = {focused(tab)}
    for _ in range(len(wanted) - 1):
        tab.press("n")
        seen.add(focused(tab))
    assert seen == set(wanted)
    tab.press("N")
    assert focused(tab) in seen


def test_what_does_not_match_is_dimmed_and_with_filter_hidden(tab: Tab, trace: FakeTrace) -> None:
    tab.page.locator("input[type=search]").fill("mma")
    assert tab.scene("[...events.code].filter((code) => code < 128).length") == 18
    tab.page.get_by_role("button", name="Filter").click()
    assert tab.scene("[...events.code].filter((code) => code === 255).length") == len(trace.events) - 18
    assert tab.hover(ids(trace, "name == 'epilogue'")[0]) == ""


def test_a_wrong_query_is_explained(tab: Tab) -> None:
    box = tab.page.locator("input[type=search]")
    box.fill("payload>x")
    assert "payload is a number" in tab.page.get_by_role("alert").inner_text()
    assert box.get_attribute("aria-invalid") == "true"
    box.fill("payload>1")
    assert box.get_attribute("aria-invalid") == "false"


def test_the_search_box_shows_all_that_is_typed(tab: Tab) -> None:
    box = tab.page.locator("input[type=search]")
    box.fill("mma payload>=3 dur=100..2000")
    assert box.evaluate("box => box.scrollWidth - box.clientWidth") <= 0


def test_where_names_are_moments_only_for_being_cheap_the_view_says_how_to_have_durations(
    shared: Tab, trace: FakeTrace
) -> None:
    assert shared.open(trace).page.locator(".tlt-light").count() == 0
    tab = shared.open_wire(encode(trace, light=["accumulated"]))
    assert tab.page.locator(".tlt-light").inner_text().endswith("durations: --on all")
    moment, ranged = ids(trace, "name == 'accumulated'")[0], ids(trace, "name == 'mma'")[0]
    assert "instant · durations: --on all" in tab.hover(moment)
    assert "--on all" not in tab.hover(ranged)


def test_a_click_in_the_legend_hides_a_name_and_alt_click_shows_it_alone(tab: Tab) -> None:
    chip = tab.page.locator(".tlt-legend button", has_text="mma")
    hidden = "[...events.code].filter((code) => code === 255).length"
    chip.click()
    assert tab.scene(hidden) == 18
    chip.click()
    assert tab.scene(hidden) == 0
    chip.click(modifiers=["Alt"])
    assert tab.scene("events.count") - tab.scene(hidden) == 18


PIXEL = """([x, y, id]) => {
  view.draw();
  const { data } = document.querySelector(".tlt-stage canvas").getContext("2d").getImageData(x, y, 1, 1);
  const { paint, events } = view.scene;
  return [[...data].slice(0, 3), paint.colorOf(events.positionOf(id))];
}"""


@pytest.mark.parametrize("by", ["name", "payload", "duration", "lane"])
def test_c_colours_by_something_else(tab: Tab, by: str) -> None:
    for _ in range(["name", "payload", "duration", "lane"].index(by)):
        tab.press("c")
    assert tab.page.get_by_label("Colour by").input_value() == by
    order = {
        "payload": "[...events.code].map((code, i) => [events.payloadOf(i), code]).filter(([p]) => p !== undefined)",
        "duration": "[...events.code].map((c, i) => [events.duration[i], c]).filter((_, i) => !events.isInstant(i))",
    }
    if by in order:
        pairs = sorted(map(tuple, tab.scene(order[by])))
        assert [code for _, code in pairs] == sorted(code for _, code in pairs)
        assert len({code for _, code in pairs}) > 3
    box = tab.stage.bounding_box()
    for id in (0, 5, 6, 8):
        x, y = tab.at(id)
        shown, wanted = tab.do(PIXEL, [x - box["x"], y - box["y"] - 6, id])
        assert shown == wanted


def test_the_legend_of_durations_follows_the_unit_of_the_axis(tab: Tab, trace: FakeTrace) -> None:
    tab.scene("scene.set({ colorBy: 'duration', unit: 'ns' })")
    ranges = trace.events[trace.events["kind"] == "range"]
    legend = tab.page.locator(".tlt-legend")
    for unit, column in (("ns", "duration_ns"), ("cycles", "duration")):
        tab.scene(f"scene.set({{ unit: {unit!r} }})")
        words = legend.inner_text()
        assert f"{ranges[column].max():,.0f}" in words.replace(".0", "")
        assert unit in words


# The toolbar


def row(tab: Tab) -> dict[str, Any]:
    """Where the tools stand: the tops of those in the row, and how far the last reaches beyond it."""
    found: dict[str, Any] = tab.do(
        "() => { const bar = document.querySelector('.tlt-bar'); const box = bar.getBoundingClientRect();"
        " const all = [...bar.children].filter((e) => e.offsetWidth && !e.matches('.tlt-more'))"
        ".map((e) => e.getBoundingClientRect());"
        " return { height: box.height, beyond: Math.max(...all.map((e) => e.right)) - box.right,"
        " middles: all.map((e) => Math.round(e.top + e.height / 2)) }; }"
    )
    return found


WIDTHS = (1400, 1000, 700, 500, 360)


@pytest.mark.some(5)
@pytest.mark.parametrize("wide", WIDTHS)
@pytest.mark.parametrize("title", ["gemm", "a_kernel_with_a_name_that_is_much_too_long_for_any_toolbar"])
def test_the_toolbar_is_one_row_at_every_width(browser: Any, wide: int, title: str) -> None:
    tab = Tab(browser, viewport={"width": wide, "height": 600})
    tab.open(pipeline(ctas=3, device="virtual", gpu="h200 model", kernel=title), view={"query": "mma payload>=1"})
    seen = row(tab)
    assert seen["height"] < 40
    assert seen["beyond"] <= 0
    assert max(seen["middles"]) - min(seen["middles"]) <= 2
    assert tab.page.locator("input[type=search]").bounding_box()["width"] > 60
    tab.page.close()


def test_what_has_no_room_in_the_toolbar_is_in_its_menu_and_works_there(tab: Tab, trace: FakeTrace) -> None:
    choice = tab.page.get_by_label("Colour by")
    choice.focus()
    try:
        tab.page.set_viewport_size({"width": 480, "height": 800})
        tab.page.wait_for_function("document.activeElement.className === 'tlt-stage'")
        more = tab.page.get_by_role("button", name="more tools")
        more.click()
        choice.select_option("payload")
        assert tab.scene("scene.state.colorBy") == "payload"
        tab.page.get_by_role("button", name="Measure").click()
        assert tab.do("() => document.activeElement.className") == "tlt-stage"
        tab.page.keyboard.press("Escape")
        assert not choice.is_visible()
        more.click()
        tab.page.mouse.click(*inside(tab, 10, 5))
        assert not choice.is_visible()
    finally:
        tab.page.set_viewport_size({"width": 1400, "height": 800})
    choice.wait_for()
    order = tab.do("() => [...document.querySelectorAll('.tlt-bar select')].map((e) => e.getAttribute('aria-label'))")
    assert order == ["Colour by", "Arrows", "Unit of time"]
    tab.page.set_viewport_size({"width": 1000, "height": 800})


# Lanes


def test_a_click_on_a_branch_collapses_it(tab: Tab) -> None:
    before = labels(tab)
    tab.page.mouse.click(*label(tab, "SM 0 · CTA 0"))
    assert labels(tab) == [before[0], *before[3:]]
    tab.page.mouse.click(*label(tab, "SM 0 · CTA 0"))
    assert labels(tab) == before


def test_a_collapsed_branch_still_shows_and_names_its_events(tab: Tab) -> None:
    tab.page.mouse.click(*label(tab, "SM 0 · CTA 0"))
    assert tab.hover(0).startswith(("copy A", "main loop"))


@pytest.mark.parametrize("word", ["Hide", "Pin to the top", "Move down", "Collapse"])
def test_the_menu_of_a_label(tab: Tab, word: str) -> None:
    before = labels(tab)
    tab.page.mouse.click(*label(tab, "SM 0 · CTA 0"), button="right")
    tab.page.get_by_role("menuitem", name=word).click()
    after = labels(tab)
    if word == "Hide":
        assert after == before[3:]
    elif word == "Pin to the top":
        assert after == before[:3] + before
    elif word == "Move down":
        assert after == before[3:6] + before[:3] + before[6:]
    else:
        assert after == before[:1] + before[3:]
    assert tab.page.locator(".tlt-menu").count() == 0


def test_what_is_hidden_is_shown_again_from_the_menu(tab: Tab) -> None:
    before = labels(tab)
    tab.page.mouse.click(*label(tab, "SM 0 · CTA 0"), button="right")
    tab.page.get_by_role("menuitem", name="Hide").click()
    tab.page.mouse.click(*label(tab, "SM 2 · CTA 1"), button="right")
    tab.page.get_by_role("menuitem", name="Show the 1 hidden").click()
    assert labels(tab) == before


def test_hidden_lanes_are_counted_where_they_are_shown_again(tab: Tab) -> None:
    before = labels(tab)
    tab.page.mouse.click(*tab.at(0))
    tab.press("x")
    tab.page.get_by_role("button", name="show 1 hidden").click()
    assert labels(tab) == before
    assert tab.page.get_by_role("button", name="hidden").count() == 0


def test_a_label_is_dragged_past_its_neighbour(tab: Tab) -> None:
    before = labels(tab)
    x, y = label(tab, "SM 0 · CTA 0")
    tab.drag((x, y), (x, y + 22))
    assert labels(tab) == before[3:6] + before[:3] + before[6:]


def test_p_and_x_pin_and_hide_the_lane_of_the_focused_event(tab: Tab) -> None:
    before = labels(tab)
    tab.page.mouse.click(*tab.at(0))
    tab.press("p")
    assert labels(tab) == [before[1], *before]
    tab.press("x")
    assert labels(tab) == [before[0], *before[2:]]


def test_many_lanes_are_scrolled_and_only_those_in_view_are_drawn(shared: Tab) -> None:
    tab = shared.open(pipeline(ctas=200, steps=2), height=300, view={"collapsed": []})
    tab.press("PageDown", "PageDown")
    assert tab.scene("scene.state.scroll") > 300
    assert tab.do("() => view.spent.looked") < 200
    tab.scene("scene.scrollTo(1e9)")
    assert tab.scene("scene.state.scroll + scene.viewHeight") == tab.scene("scene.rows.height")
    tab.page.wait_for_function(
        "Math.abs(document.querySelector('.tlt-scroll').scrollTop - view.scene.state.scroll) <= 1"
    )


def test_a_whole_card_is_seen_at_once_and_a_click_on_an_sm_opens_it(shared: Tab) -> None:
    tab = shared.open(pipeline(ctas=132, steps=2), theme="light")
    assert tab.scene("scene.rows.height <= scene.viewHeight")
    assert tab.hover(7).startswith(("copy A", "main loop", "wait", "mma"))
    box = tab.stage.bounding_box()
    tab.page.mouse.click(box["x"] + 40, box["y"] + 26 + tab.scene("scene.rows.strips[30].top") + 2)
    assert labels(tab)[30:33] == ["SM 60 · CTA 30", "load producer t0 · tma", "math consumer t128"]


def test_the_head_of_what_is_scrolled_stays_in_sight_and_folds_it(shared: Tab) -> None:
    tab = shared.open(pipeline(ctas=40, steps=2), height=300, theme="light", view={"collapsed": []})
    tab.scene("scene.scrollTo(scene.rows.strips[3].top + 8)")
    box = tab.stage.bounding_box()
    tab.page.mouse.move(box["x"] + 500, box["y"] + 30)
    assert tab.scene("scene.hovered") == -1
    tab.page.mouse.click(box["x"] + 40, box["y"] + 26 + 10)
    assert tab.scene("[...scene.state.lanes.collapsed]") == [tab.scene("scene.roots[1].key")]


def test_a_focused_event_is_not_under_the_head_that_stays_in_sight(shared: Tab) -> None:
    tab = shared.open(pipeline(ctas=40, steps=2), height=200, view={"collapsed": []})
    tab.scene("scene.scrollTo(1500)")
    tab.scene("scene.focus(events.positionOf(12))")
    top = tab.scene("scene.rows.showing(events.laneOf(scene.focused)).top - scene.state.scroll")
    assert top >= 20


def test_what_is_scrolled_does_not_show_through_what_is_pinned(shared: Tab) -> None:
    tab = shared.open(pipeline(ctas=40, steps=2), height=300, theme="light", view={"collapsed": []})
    tab.scene("scene.toggle('pinned', scene.rows.strips[1].node.key)")
    tab.page.mouse.move(0, 0)
    pinned = (
        "() => { view.draw(); const canvas = document.querySelector('.tlt-stage canvas');"
        " const { data } = canvas.getContext('2d').getImageData(0, 26, canvas.width, view.scene.rows.pinnedHeight - 2);"
        " return data.reduce((sum, value, n) => (sum * 31 + value) % 1000003, 7); }"
    )
    before = tab.do(pinned)
    for top in (5, 11, 27, 70):  # at 44, an arrow leaves the pinned lane for one in view
        tab.scene(f"scene.scrollTo({top})")
        assert tab.do(pinned) == before


def test_fold_and_unfold(tab: Tab) -> None:
    before = len(labels(tab))
    tab.page.get_by_role("button", name="Fold", exact=True).click()
    assert len(labels(tab)) == 3
    tab.page.get_by_role("button", name="Unfold").click()
    assert len(labels(tab)) == before


# The rest


def test_question_mark_lists_the_keys_and_escape_goes_back(tab: Tab) -> None:
    tab.press("?")
    help_ = tab.page.get_by_role("dialog", name="Keys and mouse")
    for text in ("zoom in", "next event on the lane", "along an arrow", "drag measures", "pin the lane"):
        assert text in help_.inner_text()
    tab.page.keyboard.press("Escape")
    assert help_.count() == 0
    assert tab.do("() => document.activeElement.className") == "tlt-stage"


def test_losses_and_the_virtual_badge_are_said(tab: Tab) -> None:
    text = tab.page.locator(".tlt").inner_text()
    assert "virtual GPU (h200 model)" in text
    assert "incomplete: lost 12 records of 1 writer" in text


def test_the_view_is_told_so_that_python_can_keep_it(tab: Tab, shared: Tab, trace: FakeTrace) -> None:
    tab.press("w", "c")
    tab.page.wait_for_function("told.views.length > 0")
    view = tab.do("() => told.views.at(-1)")
    assert view["color_by"] == "payload"
    shared.open(trace, view=view)
    assert [round(t, 6) for t in span(shared)] == [round(t, 6) for t in view["span"]]
    assert shared.page.get_by_label("Colour by").input_value() == "payload"


def test_nothing_failed_and_nothing_was_fetched(shared: Tab) -> None:
    assert shared.errors == []
    assert shared.foreign == []
