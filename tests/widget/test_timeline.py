"""Python's end of the timeline: what it takes, what it selects, what it tells, what it leaves behind."""

import gc
import gzip
import json
import weakref
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import ipywidgets
import pandas as pd
import pytest
from fake_trace import FakeTrace, make_trace, pipeline, span
from IPython.core.interactiveshell import InteractiveShell
from IPython.utils.capture import capture_output
from ipywidgets.widgets.widget import _instances

from tltrace_nb.render.options import ViewOptions
from tltrace_nb.widget.display import show
from tltrace_nb.widget.runs import to_runs
from tltrace_nb.widget.shown import CELLS
from tltrace_nb.widget.timeline import SAVED_BYTES, Timeline
from tltrace_nb.widget.wire import encode

VIEW = "application/vnd.jupyter.widget-view+json"


@pytest.fixture(autouse=True)
def nothing_left() -> Iterator[None]:
    yield
    ipywidgets.Widget.close_all()


@pytest.fixture
def notebook() -> Iterator[Any]:
    """A shell like a kernel's, in which ``cell("A")`` begins an execution of cell A."""
    shell = InteractiveShell.instance()
    parent: dict[str, Any] = {"metadata": {}, "header": {}}
    runs = iter(range(1000))

    def cell(name: str, code: str = "") -> None:
        parent.update(
            metadata={"cellId": name} if name else {}, header={"msg_id": str(next(runs))}, content={"code": code}
        )

    shell.get_parent = lambda: parent
    yield SimpleNamespace(cell=cell, shell=shell)
    InteractiveShell.clear_instance()


def brush(timeline: Timeline, positions: list[int]) -> None:
    """What the browser sends when these events are brushed."""
    timeline.set_state({"selected": memoryview(to_runs(positions))})


def names(frame: pd.DataFrame) -> list[str]:
    return frame["name"].tolist()


def outputs(timeline: Timeline) -> list[dict[str, Any]]:
    with capture_output() as captured:
        timeline._ipython_display_()
    return [output.data for output in captured.outputs]


# What it takes


def test_an_unknown_keyword_is_a_type_error_with_the_right_ones() -> None:
    with pytest.raises(TypeError, match=r"no keyword 'colour'; it takes ctas, events, time, height, title, theme"):
        Timeline(pipeline(), colour="name")


@pytest.mark.parametrize("wrong", [{"time": "hours"}, {"theme": "blue"}, {"view": {"zoom": 3}}])
def test_a_wrong_value_is_a_value_error_with_the_right_ones(wrong: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=r"give one of|has no 'zoom'; it has unit, span"):
        Timeline(pipeline(), **wrong)


def test_ns_without_aligned_time_is_an_error() -> None:
    with pytest.raises(ValueError, match="no time that is aligned across SMs"):
        Timeline(pipeline(aligned=False), time="ns")


@pytest.mark.parametrize(("ctas", "unit"), [(1, "cycles"), (2, "ns")])
def test_several_ctas_start_in_aligned_time(ctas: int, unit: str) -> None:
    assert Timeline(pipeline(ctas=ctas)).view["unit"] == unit


def test_only_the_chosen_ctas_are_sent() -> None:
    timeline = Timeline(pipeline(ctas=5), ctas=[3])
    assert json.loads(timeline.header)["events"] == 21
    assert timeline.select("cta == 3").shape[0] == 21


def test_a_plain_frame_is_taken() -> None:
    events = pipeline().events.reset_index(drop=True)[["name", "lane", "cta", "thread", "start", "end"]]
    assert len(Timeline(events).select("name == 'mma'")) == 12


def test_a_plain_frame_has_a_still_picture_and_a_short_text(notebook: Any) -> None:
    frame = pipeline().events.reset_index(drop=True)[["name", "lane", "cta", "thread", "start", "end"]]
    timeline = Timeline(frame)
    still, _ = outputs(timeline)
    assert "mma" in still["text/html"]
    assert still["text/plain"] == "42 events, 2 CTAs"
    assert repr(timeline) == "Timeline of 42 events, 2 CTAs"


def test_no_events_make_a_timeline() -> None:
    assert Timeline(make_trace([])).selection.empty


# Selection


def test_nothing_is_selected_at_first() -> None:
    assert Timeline(pipeline()).selection.empty


def test_what_is_brushed_in_the_browser_is_a_frame() -> None:
    trace = pipeline()
    timeline = Timeline(trace)
    brush(timeline, [0, 1, 2, 7])
    pd.testing.assert_frame_equal(timeline.selection, trace.events.iloc[[0, 1, 2, 7]])


def test_the_selection_groups_as_any_frame() -> None:
    timeline = Timeline(pipeline())
    brush(timeline, list(range(42)))
    assert timeline.selection.groupby("name", observed=True).duration.describe().loc["mma", "count"] == 12


@pytest.mark.parametrize(
    "how",
    [
        "name == 'mma'",
        lambda frame: frame["name"] == "mma",
        lambda frame: frame[frame["name"] == "mma"],
        lambda frame: "name == 'mma'",
    ],
)
def test_select_takes_a_query_a_mask_rows_or_a_function(how: Any) -> None:
    timeline = Timeline(pipeline())
    assert set(names(timeline.select(how))) == {"mma"}
    assert len(timeline.selection) == 12


def test_select_none_selects_nothing() -> None:
    timeline = Timeline(pipeline())
    timeline.select("name == 'mma'")
    assert timeline.select(None).empty


def test_select_takes_nothing_else() -> None:
    with pytest.raises(TypeError, match="rows=3: give a query"):
        Timeline(pipeline()).select(3)


def test_a_selection_of_part_of_a_trace_keeps_its_row_numbers() -> None:
    trace = pipeline(ctas=3)
    timeline = Timeline(trace, ctas=[2])
    rows = timeline.select("name == 'mma'")
    assert rows.equals(trace.events.query("name == 'mma' and cta == 2"))


def test_on_select_is_called_with_the_rows_until_it_is_ended() -> None:
    timeline, seen = Timeline(pipeline()), []
    end = timeline.on_select(lambda frame: seen.append(len(frame)))
    brush(timeline, [1, 2])
    timeline.select("name == 'mma'")
    end()
    brush(timeline, [3])
    assert seen == [2, 12]


def test_ids_come_back_not_data() -> None:
    timeline = Timeline(pipeline(ctas=50))
    timeline.select(lambda frame: frame["cta"] < 40)
    assert len(timeline.selected) == 8


# Linked views


def test_views_of_one_trace_share_the_selection() -> None:
    trace = pipeline()
    one, two = Timeline(trace), Timeline(trace)
    brush(one, [4, 5])
    assert two.selection.equals(one.selection)
    brush(two, [6])
    assert one.selection.equals(trace.events.iloc[[6]])


def test_a_view_of_a_part_shares_the_part() -> None:
    trace = pipeline(ctas=2)
    whole, part = Timeline(trace), Timeline(trace, ctas=[1])
    whole.select("name == 'mma'")
    assert part.selection.equals(trace.events.query("name == 'mma' and cta == 1"))


def test_a_new_view_begins_with_what_is_selected() -> None:
    trace = pipeline()
    one = Timeline(trace)
    brush(one, [9])
    assert Timeline(trace).selection.equals(trace.events.iloc[[9]])


def test_views_of_different_traces_do_not_meet() -> None:
    one, two = Timeline(pipeline()), Timeline(pipeline())
    brush(one, [1])
    assert two.selection.empty


def test_a_closed_view_no_longer_follows() -> None:
    trace = pipeline()
    one, two = Timeline(trace), Timeline(trace)
    two.close()
    brush(one, [1])
    assert two.selection.empty


# The view


def test_zoom_to_times() -> None:
    timeline = Timeline(pipeline(ctas=1))
    timeline.zoom_to(100, 200)
    assert timeline.view["span"] == [100.0, 200.0]


@pytest.mark.parametrize("ctas", [1, 2])
def test_zoom_to_rows_shows_all_of_them(ctas: int) -> None:
    timeline = Timeline(pipeline(ctas=ctas))
    rows = timeline.select("name == 'mma'")
    timeline.zoom_to(rows)
    low, high = timeline.view["span"]
    start, length = ("start", "duration") if ctas == 1 else ("start_ns", "duration_ns")
    assert low <= rows[start].min()
    assert high >= (rows[start] + rows[length]).max()


def test_zoom_to_nothing_or_backwards_is_an_error() -> None:
    timeline = Timeline(pipeline())
    with pytest.raises(ValueError, match="start=<DataFrame>: give a time, or rows"):
        timeline.zoom_to(timeline.selection)
    with pytest.raises(ValueError, match="a time after the start"):
        timeline.zoom_to(200, 100)


def test_a_view_is_saved_and_restored_as_json() -> None:
    one = Timeline(pipeline())
    one.set_state({"view": one.view | {"color_by": "payload", "span": [5, 9], "hidden_names": ["mma"]}})
    other = Timeline(pipeline(), view=json.loads(json.dumps(one.view)))
    assert other.view == one.view


def test_part_of_a_view_changes_that_part() -> None:
    timeline = Timeline(pipeline())
    timeline.view = {"color_by": "lane"}
    assert timeline.view == {"unit": "ns", "color_by": "lane"}


# What is saved and shown


def test_few_events_are_in_the_saved_state() -> None:
    timeline = Timeline(pipeline())
    assert gzip.decompress(timeline.columns) == encode(pipeline()).columns


def many() -> FakeTrace:
    """Events that do not pack below the limit."""
    rng = pd.Series(range(300_000)).sample(frac=1, random_state=1).to_numpy()
    base = make_trace([span("a", 0, 1)])
    events = base.events.loc[[0] * len(rng)].reset_index(drop=True)
    events = events.assign(
        start=(rng * 2**40).cumsum() // 2**20, end=(rng * 2**40).cumsum() // 2**20 + rng, duration=rng
    )
    return FakeTrace(
        events.assign(payload=pd.array(rng * 7919 % 2**31, dtype="Int64")),
        base.ctas,
        base.flows,
        base.losses,
        base.meta,
    )


def test_many_events_are_sent_on_demand_so_that_no_large_state_is_saved() -> None:
    timeline, sent = Timeline(many()), []
    assert len(json.dumps(timeline.get_state(), default=lambda b: len(b) * "x")) < SAVED_BYTES
    assert timeline.columns == b""
    timeline.send = lambda content, buffers: sent.append((content, [len(each) for each in buffers]))
    timeline._handle_custom_msg({"kind": "columns"}, [])
    assert sent == [({"kind": "columns"}, [len(encode(timeline.shown).columns)])]


def test_save_puts_many_events_into_the_state() -> None:
    assert len(Timeline(many(), save=True).columns) > SAVED_BYTES


def test_the_bundle_has_a_still_picture_and_text_beside_the_widget() -> None:
    data, _ = Timeline(pipeline())._repr_mimebundle_()
    assert set(data) == {VIEW, "text/html", "text/plain"}
    assert "<img " in data["text/html"]
    assert "<script" not in data["text/html"]


def test_a_notebook_gets_the_picture_in_an_output_of_its_own(notebook: Any) -> None:
    timeline = Timeline(pipeline())
    still, widget = outputs(timeline)
    assert f'class="tltrace-still {timeline.still}"' in still["text/html"]
    assert VIEW not in still
    assert set(widget) == {VIEW, "text/html", "text/plain"}
    assert "<img" not in widget["text/html"]


def test_twenty_timelines_are_saved_with_the_front_end_a_few_times(notebook: Any) -> None:
    saved = []
    for number in range(20):
        notebook.cell(f"cell {number}")
        saved.append(outputs(Timeline(pipeline()))[0]["text/html"])
    assert [html.count("<script>") for html in saved] == [1, *[0] * 9] * 2
    assert Timeline(pipeline()).script == b""


def test_events_that_are_too_many_to_be_saved_are_said(notebook: Any) -> None:
    html = outputs(Timeline(many()))[0]["text/html"]
    assert "save=True" in html
    assert "<script>" not in html


def test_a_terminal_gets_text(capsys: pytest.CaptureFixture[str]) -> None:
    Timeline(pipeline())._ipython_display_()
    assert capsys.readouterr().out == "Timeline of Trace('gemm', 42 events)\n"


def test_show_displays_a_timeline(notebook: Any) -> None:
    with capture_output() as captured:
        show(pipeline(), ViewOptions(title="mine"))
    assert [VIEW in output.data for output in captured.outputs] == [False, True]


def test_show_takes_one_of_its_renderers(notebook: Any) -> None:
    wrong: Any = "webgl"
    with pytest.raises(ValueError, match="renderer='webgl': give one of 'timeline', 'plotly'"):
        show(pipeline(), renderer=wrong)


# What is left behind


def widgets() -> int:
    return len(_instances)


def test_running_a_cell_fifty_times_leaves_one_widget(notebook: Any) -> None:
    trace = pipeline()
    notebook.cell("A")
    outputs(Timeline(trace))
    before, last = widgets(), None
    for _ in range(50):
        notebook.cell("A")
        timeline = Timeline(trace)
        outputs(timeline)
        last = weakref.ref(timeline) if last is None else last
    del timeline
    gc.collect()
    assert widgets() == before
    assert last is not None
    assert last() is None


def test_where_cells_have_no_names_running_the_same_code_again_leaves_one_widget(notebook: Any) -> None:
    trace, counts = pipeline(), []
    for _ in range(40):
        notebook.cell("", "trace.show()")
        with capture_output():
            show(trace)
        counts.append(widgets())
    assert set(counts[1:]) == {counts[0]}


@pytest.mark.parametrize("header", [True, False], ids=["with executions", "without"])
def test_where_cells_have_no_names_the_latest_ones_keep_their_timelines(notebook: Any, header: bool) -> None:
    kept = []
    for number in range(40):
        notebook.cell("", f"trace.show()  # {number}")
        if not header:
            notebook.shell.get_parent = dict
        kept.append(Timeline(pipeline()))
        outputs(kept[-1])
    assert [each.comm is not None for each in kept] == [number >= 40 - CELLS for number in range(40)]


def test_two_cells_keep_a_timeline_each(notebook: Any) -> None:
    notebook.cell("A")
    first = Timeline(pipeline())
    outputs(first)
    notebook.cell("B")
    outputs(Timeline(pipeline()))
    assert first.comm is not None


def test_a_timeline_in_two_cells_lives_as_long_as_one_of_them_shows_it(notebook: Any) -> None:
    timeline = Timeline(pipeline())
    for cell in "AB":
        notebook.cell(cell)
        outputs(timeline)
    notebook.cell("A")
    outputs(Timeline(pipeline()))
    assert timeline.comm is not None
    notebook.cell("B")
    outputs(Timeline(pipeline()))
    assert timeline.comm is None


def test_running_a_cell_again_keeps_the_timeline_that_it_shows_again(notebook: Any) -> None:
    timeline = Timeline(pipeline())
    for _ in range(3):
        notebook.cell("A")
        outputs(timeline)
    assert timeline.comm is not None


def test_a_closed_timeline_opens_again_when_displayed(notebook: Any) -> None:
    trace = pipeline()
    timeline, other = Timeline(trace), Timeline(trace)
    timeline.close()
    assert len(outputs(timeline)) == 2
    assert timeline.comm is not None
    brush(other, [3])
    assert timeline.selection.equals(trace.events.iloc[[3]])


def test_close_ends_the_widget() -> None:
    before = widgets()
    timeline = Timeline(pipeline())
    timeline.close()
    timeline.close()
    assert widgets() == before
