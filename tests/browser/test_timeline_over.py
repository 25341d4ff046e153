"""What is drawn over the lanes: the critical path, waits with their cause, and the rows of any frame."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from timeline_tab import Tab, model_state

from tltrace_nb import Timeline, datasets
from tltrace_nb.distributed.gathered import Rank, merge
from tltrace_nb.widget.overlays import bands, critical_path, waits, waves
from tltrace_nb.widget.wire import encode

pytestmark = pytest.mark.browser
TRACE = datasets.load("h200/roles_split")
LIT = """() => {
  const canvas = document.querySelectorAll(".tlt-stage canvas")[1];
  const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
  let lit = 0;
  for (let i = 3; i < data.length; i += 4) lit += data[i] > 0;
  return lit;
}"""


@pytest.fixture
def tab(browser: Any) -> Any:
    tab = Tab(browser, viewport={"width": 1400, "height": 900})
    yield tab
    assert tab.errors == []
    tab.page.close()


def show(tab: Tab, over: dict[str, Any] | None) -> int:
    """Draw it; how many pixels are lit over the lanes."""
    tab.do("(over) => { view.setOver(over); view.draw(); }", over)
    return int(tab.do(LIT))


def test_nothing_is_drawn_until_it_is_asked_for(tab: Tab) -> None:
    tab.open(TRACE, arrows="none", view={"arrows": "none"})
    assert show(tab, None) == 0
    assert tab.page.get_by_label("Over the lanes").count() == 0


def test_the_critical_path_is_drawn_and_said_in_words(tab: Tab) -> None:
    tab.open(TRACE, view={"arrows": "none"})
    assert show(tab, critical_path(TRACE)) > 1000
    assert tab.page.locator(".tlt-verdict").inner_text().startswith("the critical path is ")
    assert show(tab, None) == 0
    assert not tab.page.locator(".tlt-verdict").is_visible()


def test_waits_are_drawn_with_their_cause(tab: Tab) -> None:
    tab.open(TRACE, view={"arrows": "none"})
    assert show(tab, waits(TRACE)) > 1000
    assert tab.page.locator(".tlt-verdict").inner_text().startswith("blocked: mma ← load ")


def test_who_was_not_blocked_has_no_band() -> None:
    trace = datasets.load("h200/pipeline_1")
    assert (trace.waits(each=True)["blocked"] == 0).all()
    over = waits(trace)
    assert over["spans"]["cta"] == []
    assert over["words"].startswith("no waits")


def test_waves_and_idle_sms_are_drawn_and_said_in_words(tab: Tab) -> None:
    trace = datasets.load("h200/balance_one_cta_each")
    tab.open(trace, view={"arrows": "none"})
    assert show(tab, waves(trace)) > 1000
    words = tab.page.locator(".tlt-verdict").inner_text()
    assert words == (
        "one_cta_each: 3 waves of 132 CTA slots on 132 SMs, the last has 33 CTAs, SMs are idle 54% of the time"
    )


def test_an_idle_sm_is_so_from_an_exit_to_the_next_entry(tab: Tab) -> None:
    trace = datasets.load("h200/balance_one_cta_each")
    tab.open(trace, view={"arrows": "none", "unit": "ns"})
    first, second = (trace.ctas.query("sm == 0").sort_values("start_ns").iloc[n] for n in (0, 1))
    spans = pd.DataFrame({key: waves(trace)["spans"][key] for key in ("cta", "start", "end", "text")})
    idle = spans[(spans["cta"] == first["cta"]) & (spans["start"] > 0)].iloc[0]
    ns = tab.scene(
        f"[{idle['start']}, {idle['end']}].map((cycles) => {{ const {{ offset, rate }} ="
        f" scene.axis.line(events.lanes.find(({{ cta }}) => cta === {first['cta']}));"
        " return offset + rate * (cycles - Number(events.origin)); })"
    )
    assert ns == pytest.approx([first["end_ns"], second["start_ns"]], abs=1)


def test_a_row_without_length_is_a_mark_with_its_name_beside_it(tab: Tab) -> None:
    tab.open(TRACE, view={"arrows": "none", "unit": "cycles", "collapsed": []})
    frame = pd.DataFrame({"start": [1000], "end": [1000], "cta": [1], "thread": [0]})
    alone = show(tab, bands(frame))
    assert alone == pytest.approx(2 * 20, rel=0.1)  # pixels wide, and high
    assert show(tab, bands(frame.assign(name="here"))) > alone + 13 * 20


def test_a_mark_on_several_lanes_has_its_name_on_the_first(tab: Tab) -> None:
    tab.open(TRACE, view={"arrows": "none", "unit": "cycles", "collapsed": []})
    tab.page.evaluate(
        "() => { const draw = CanvasRenderingContext2D.prototype.fillText; window.heights = [];"
        " CanvasRenderingContext2D.prototype.fillText = function (text, x, y) {"
        " if (text === 'here') window.heights.push(y); draw.call(this, text, x, y); }; }"
    )
    show(tab, bands(pd.DataFrame({"start": [1000], "end": [1000], "cta": [1], "name": ["here"]})))
    assert len(set(tab.page.evaluate("window.heights"))) == 1


def test_bands_of_ranks_are_over_the_lanes_of_their_rank(tab: Tab) -> None:
    ranks = merge(dict.fromkeys((0, 1), TRACE), [Rank(n, len(TRACE), 0, 0.0) for n in (0, 1)])
    tab.open(ranks, view={"arrows": "none", "unit": "cycles"})
    frame = pd.DataFrame({"start": [1000, 1000], "end": [2000, 2000], "cta": [1, 1], "rank": [0, 1]})
    assert show(tab, bands(frame.iloc[:1])) == pytest.approx(show(tab, bands(frame)) / 2, rel=0.05)


def test_a_band_is_over_the_lanes_of_its_cta_at_its_time(tab: Tab) -> None:
    tab.open(TRACE, view={"arrows": "none", "unit": "cycles", "collapsed": []})
    frame = pd.DataFrame({"start": [1000, 1000], "end": [2000, 2000], "cta": [1, 1], "thread": [0, 128]})
    both = show(tab, bands(frame))
    assert show(tab, bands(frame.iloc[:1])) == pytest.approx(both / 2, rel=0.05)
    assert show(tab, bands(frame.drop(columns="thread").iloc[:1])) == pytest.approx(both, rel=0.05)
    wide = tab.scene("1000 / (scene.span.to - scene.span.from) * (view.frame.width - view.frame.gutter)")
    assert show(tab, bands(frame.iloc[:1])) == pytest.approx(wide * 20, rel=0.1)


def test_a_view_asks_python_and_draws_what_comes(tab: Tab) -> None:
    state = model_state(encode(TRACE), b"", overs=["waits"], over={})
    columns = f"new DataView(bytes('{_packed()}').buffer)"
    tab.do(
        f"() => {{ window.model = model_of({{ ...{state}, columns: {columns} }});"
        " widget.render({ model, el: document.getElementById('home') }); }"
    )
    tab.page.locator(".tlt[data-drawn]").wait_for()
    tab.page.get_by_label("Over the lanes").select_option("waits")
    assert tab.do("() => model.sent") == [{"kind": "over", "which": "waits"}]
    tab.do("(over) => { model.state.over = over; model.tell('change:over'); }", waits(TRACE))
    tab.page.locator(".tlt-verdict").wait_for()
    assert tab.page.get_by_label("Over the lanes").input_value() == "waits"


def _packed() -> str:
    import base64
    import gzip

    return base64.b64encode(gzip.compress(encode(TRACE).columns)).decode()


def test_a_page_has_all_with_it(browser: Any, tmp_path: Path) -> None:
    page = browser.new_page()
    page.goto(TRACE.to_html(tmp_path / "a.html").as_uri())
    page.wait_for_selector("[data-ready]")
    for which in ("critical path", "waits", "waves"):
        page.get_by_label("Over the lanes").select_option(which)
        assert page.locator(".tlt-verdict").inner_text()
    page.close()


# Python's end


def test_a_timeline_is_asked_by_its_view_and_by_its_author() -> None:
    timeline = Timeline(TRACE)
    timeline._handle_custom_msg({"kind": "over", "which": "waits"}, [])
    assert timeline.over["which"] == "waits"
    assert len(timeline.over["spans"]["cta"]) == len(TRACE.waits(each=True).query("blocked > 0"))
    timeline.show(TRACE.waits(each=True).query("blocked > 100"), "long ones")
    assert timeline.over["words"] == "long ones"
    json.dumps(timeline.over)
    timeline.show(None)
    assert timeline.over == {}


def test_several_launches_have_each_its_path() -> None:
    timeline = Timeline([TRACE, datasets.load("h200/roles_together")])
    timeline.show("critical path")
    assert set(timeline.over["spans"]["part"]) == {1, 2}


@pytest.mark.parametrize(
    ("what", "error", "said"),
    [
        ("crit", ValueError, "give one of 'critical path', 'waits', 'waves'"),
        (3, TypeError, "a DataFrame with the columns start, end and cta"),
        (pd.DataFrame({"start": [1]}), ValueError, "the frame lacks end, cta"),
        (pd.DataFrame({"start": ["a"], "end": [1], "cta": [0]}), ValueError, "column start must be numbers"),
        (
            pd.DataFrame({"start": range(60_000), "end": 1, "cta": 0}),
            ValueError,
            "60,000 rows, of which at most 50,000",
        ),
    ],
)
def test_what_cannot_be_drawn_is_answered(what: Any, error: type[Exception], said: str) -> None:
    with pytest.raises(error, match=said):
        Timeline(TRACE).show(what)


def test_a_frame_that_is_no_trace_says_that_it_does_not_know() -> None:
    rows = {"name": ["a"], "lane": "main", "cta": 0, "thread": 0, "start": [0], "end": [30]}
    timeline = Timeline(pd.DataFrame(rows))
    timeline.show("critical path")
    assert timeline.over["words"] == "no range bounds a CTA; a frame alone does not tell it, a trace does"
