"""The Plotly figure against the frame."""

import re
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pytest
from fake_trace import instant, make_trace, pipeline, span

from tltrace_nb.render.options import ViewOptions
from tltrace_nb.widget.figure import figure


def bars(drawing: Any) -> Iterator[tuple[Any, ...]]:
    """(base, width, text, hover, pattern) of every bar of one event."""
    for part in drawing.data:
        if part.type == "bar" and part.customdata is None:
            yield from zip(part.base, part.x, part.text, part.hovertext, part.marker.pattern.shape, strict=True)


def marks(drawing: Any) -> Iterator[tuple[Any, ...]]:
    """(x, text, symbol) of every instant and every range of no duration."""
    for part in drawing.data:
        if part.type == "scatter" and part.mode == "markers+text":
            yield from zip(part.x, part.text, part.marker.symbol, strict=True)


def test_every_range_is_drawn_once_with_its_start_and_duration() -> None:
    trace = pipeline(ctas=3)
    ranges = trace.events[trace.events["kind"] == "range"]
    drawn = sorted((base, width) for base, width, *_ in bars(figure(trace)))
    assert drawn == sorted(zip(ranges["start_ns"], ranges["duration_ns"], strict=True))


def test_every_instant_is_drawn_once() -> None:
    trace = pipeline(ctas=3)
    instants = trace.events[trace.events["kind"] == "instant"]
    assert sorted(x for x, *_ in marks(figure(trace))) == sorted(instants["start_ns"])


def test_a_bar_carries_the_name_and_the_payload_under_it() -> None:
    trace = make_trace([span("copy", 0, 10, payload=7)])
    assert [text for _, _, text, *_ in bars(figure(trace))] == ["copy<br>7"]


def test_a_payload_of_zero_is_shown() -> None:
    trace = make_trace([span("copy", 0, 10, payload=0, payload_end=0), instant("dot", 20, payload=0)])
    assert [text for _, _, text, *_ in bars(figure(trace))] == ["copy<br>0"]
    assert [text for _, text, _ in marks(figure(trace))] == ["0"]


def test_a_missing_payload_is_never_a_label() -> None:
    trace = make_trace([span("copy", 0, 10), span("other", 20, 30, payload=1), instant("dot", 40)])
    drawing = figure(trace)
    assert [text for _, _, text, *_ in bars(drawing)] == ["copy", "other<br>1"]
    assert [text for _, text, _ in marks(drawing)] == [""]
    assert "payload" not in next(hover for _, _, text, hover, _ in bars(drawing) if text == "copy")


def test_a_payload_that_changes_shows_both_values() -> None:
    trace = make_trace([span("loop", 0, 10, payload=0, payload_end=6)])
    assert [text for _, _, text, *_ in bars(figure(trace))] == ["loop<br>0 → 6"]


def test_the_hover_has_the_payload_and_the_source_line() -> None:
    trace = make_trace([span("copy", 0, 10, payload=7, source="k.py:3")])
    hover = next(bars(figure(trace)))[3]
    assert hover.startswith("<b>copy</b><br>payload 7<br>")
    assert hover.endswith("<br>k.py:3")


def test_a_text_that_does_not_fit_is_hidden() -> None:
    drawing = figure(pipeline())
    assert drawing.layout.uniformtext.mode == "hide"
    assert {part.textposition for part in drawing.data if part.type == "bar"} == {"inside"}


def test_the_text_of_an_instant_gives_way_to_the_next_event() -> None:
    trace = make_trace([instant("dot", at, payload=12345) for at in (0, 10, 5000, 10_000)])
    assert [text for _, text, _ in marks(figure(trace))] == ["", "12345", "12345", "12345"]


def test_a_range_of_no_duration_is_a_tick() -> None:
    trace = make_trace([span("zero", 5, 5, payload=1), span("long", 10, 20)])
    assert list(marks(figure(trace))) == [(5, "1", "line-ns")]


def test_a_truncated_range_is_hatched() -> None:
    trace = make_trace([span("cut", 0, 10, truncated=True), span("whole", 20, 30)])
    assert [pattern for *_, pattern in bars(figure(trace))] == ["/", ""]


def test_nested_bars_are_on_rows_of_their_own() -> None:
    trace = make_trace([span("a", 0, 100), span("b", 10, 90, parent=0), span("c", 80, 120)])
    assert len({part.y[0] for part in figure(trace).data}) == 3


def test_names_and_sources_are_escaped() -> None:
    trace = make_trace([span("<script>x</script>", 0, 9, source="</script>:1", lane="<i>")], kernel="<b>")
    drawing = figure(trace)
    assert "<script" not in drawing.to_json().replace("\\u003c", "<")
    assert drawing.data[0].name == "&lt;script&gt;x&lt;/script&gt;"
    assert drawing.layout.yaxis.ticktext == ("CTA 0 · t0 · &lt;i&gt;",)
    assert drawing.layout.title.text == "<b>&lt;b&gt;</b>"


def test_a_huge_name_makes_no_huge_figure() -> None:
    trace = make_trace([span("x" * 10_000, i, i + 1) for i in range(0, 200, 2)])
    assert len(figure(trace).to_json()) < 200_000


def test_the_legend_has_each_name_once() -> None:
    trace = make_trace([span("a", 0, 1), instant("a", 5), span("b", 7, 9)])
    assert [part.name for part in figure(trace).data if part.showlegend] == ["a", "b"]


def test_a_name_toggles_bars_and_instants_together() -> None:
    trace = make_trace([span("a", 0, 1), instant("a", 5)])
    assert len({part.legendgroup for part in figure(trace).data}) == 1


def test_a_name_has_the_same_colour_below_and_above_the_limit() -> None:
    trace = make_trace([span("a", 0, 1, cta=0), span("b", 0, 1, cta=1), span("c", 0, 1, cta=2)])
    whole, cut = figure(trace), figure(trace, ViewOptions(limit=1))
    assert whole.data[0].marker.color == cut.data[0].marker.color


def merged(drawing: Any) -> dict[str, tuple[int, int]]:
    """Events and cycles of the merged bars, by the name in the legend."""
    parts = [part for part in drawing.data if part.customdata is not None]
    return {part.name: tuple(map(sum, zip(*part.customdata, strict=True))) for part in parts}


@pytest.mark.parametrize("limit", [1, 21, 70, 209])
def test_above_the_limit_every_name_keeps_its_events_and_cycles(limit: int) -> None:
    trace = pipeline(ctas=10)
    drawing = figure(trace, ViewOptions(limit=limit, time="cycles"))
    names = trace.events.groupby("name", observed=True)["duration"].agg(["size", "sum"])
    for name, size, total in names.itertuples():
        mine = [part for part in drawing.data if re.sub(r" \(.* merged\)$", "", part.name) == name]
        one_by_one = [part for part in mine if part.customdata is None]
        events, cycles = next(
            (sums for label, sums in merged(drawing).items() if label.startswith(f"{name} (")), (0, 0)
        )
        assert events + sum(len(part.x) for part in one_by_one) == size
        assert cycles + sum(sum(part.x) for part in one_by_one if part.type == "bar") == total


def test_the_legend_says_how_many_events_of_a_name_are_merged() -> None:
    drawing = figure(pipeline(ctas=10), ViewOptions(limit=70))
    shown = [part.name for part in drawing.data if part.showlegend]
    assert [name for name in shown if name.startswith("mma")] == ["mma (42 merged)"]
    assert [part.name for part in figure(pipeline(ctas=2)).data if "merged" in part.name] == []


def test_merged_bars_are_at_most_a_quarter_of_the_limit() -> None:
    drawing = figure(pipeline(ctas=200, steps=3), ViewOptions(limit=400))
    assert sum(len(part.x) for part in drawing.data if part.customdata is not None) <= 100


def test_hiding_a_name_hides_what_was_merged_of_it_and_the_arrows_from_it() -> None:
    drawing = figure(pipeline(ctas=10), ViewOptions(limit=70))
    group = {part.legendgroup for part in drawing.data if part.name.startswith("copy A")}
    assert len(group) == 1
    assert {part.legendgroup for part in drawing.data if part.name == "arrows (dag)"} == group


def test_a_button_hides_all_arrows() -> None:
    drawing = figure(pipeline())
    ((button,),) = (menu.buttons for menu in drawing.layout.updatemenus)
    assert [drawing.data[number].name for number in button.args[1]] == ["arrows (dag)"]
    assert not figure(make_trace([span("a", 0, 1)])).layout.updatemenus


def test_the_arrows_of_a_name_are_one_trace_of_segments() -> None:
    trace = pipeline(ctas=2)
    drawing = figure(trace)
    arrows = [part for part in drawing.data if part.name == "arrows (dag)"]
    assert len(arrows) == 1
    assert list(arrows[0].x).count(None) == len(trace.flows) == 12
    assert len(drawing.layout.annotations) == 0


def test_no_flows_make_no_arrows() -> None:
    assert [part.name for part in figure(make_trace([span("a", 0, 1)])).data] == ["a"]


def test_the_title_says_what_is_not_shown() -> None:
    drawing = figure(pipeline(ctas=10), ViewOptions(limit=70))
    title = re.sub("<[^>]*>", "", drawing.layout.title.text.replace("<br>", " "))
    assert "showing 63 of 210 events: CTAs 0\u20132, the other 147 events merged in the lowest 6 rows" in title
    assert "; ctas= or limit= shows others" in title
    assert sum(1 for _ in bars(drawing)) + sum(1 for _ in marks(drawing)) == 63


def test_the_title_says_what_was_lost() -> None:
    assert "lost 12 records of 1 writer" in figure(pipeline(losses=[{"lost": 12}])).layout.title.text


def test_a_given_title_replaces_the_kernel_name() -> None:
    assert figure(pipeline(), ViewOptions(title="mine")).layout.title.text == "<b>mine</b>"


@pytest.mark.parametrize(("gpu", "badge"), [("h200 model", "virtual GPU (h200 model)"), (None, "virtual GPU")])
def test_a_virtual_trace_wears_a_badge(gpu: str | None, badge: str) -> None:
    drawing = figure(pipeline(device="virtual", gpu=gpu))
    assert [note.text for note in drawing.layout.annotations] == [badge]


@pytest.mark.parametrize(("slowdown", "advice"), [(1.014, "the kernel's"), (1.2, "upper bound")])
def test_a_measured_slowdown_is_a_badge_that_says_what_to_make_of_the_times(slowdown: float, advice: str) -> None:
    drawing = figure(pipeline(slowdown=(slowdown, 1.0)))
    (note,) = drawing.layout.annotations
    assert note.text == f"tracing ×{slowdown:.3f}"
    assert advice in note.hovertext


def test_an_empty_trace_says_so() -> None:
    drawing = figure(make_trace([]))
    assert [note.text for note in drawing.layout.annotations] == ["no events in this trace"]
    assert len(drawing.data) == 0


def test_the_axis_is_numeric_and_labelled_per_lane() -> None:
    drawing = figure(pipeline(ctas=2))
    assert len(drawing.layout.yaxis.ticktext) == 4
    assert all(isinstance(y, float) for part in drawing.data if part.type == "bar" for y in part.y)


def test_many_lanes_keep_their_labels_apart() -> None:
    trace = make_trace([span("a", 0, 1, cta=cta) for cta in range(1000)])
    drawing = figure(trace)
    pixels = drawing.layout.height / len(drawing.layout.yaxis.ticktext)
    assert pixels >= 13


def test_the_height_can_be_set() -> None:
    assert figure(pipeline(), ViewOptions(height=777)).layout.height == 777


def test_values_are_lists_that_any_plotly_js_reads() -> None:
    assert "bdata" not in figure(pipeline()).to_json()


def test_the_module_does_not_import_plotly() -> None:
    code = "import sys, tltrace_nb.widget.display, tltrace_nb.widget.html; sys.exit('plotly' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_without_aligned_time_the_axis_says_that_each_cta_has_its_own_zero() -> None:
    assert figure(pipeline(aligned=False)).layout.xaxis.title.text == "cycles since each CTA's own entry"


@pytest.mark.parametrize("ctas", [2, 90])
def test_a_drag_zooms_time_alone(ctas: int) -> None:
    assert figure(pipeline(ctas=ctas)).layout.yaxis.fixedrange


def test_the_time_is_written_over_the_lanes() -> None:
    axis = figure(pipeline()).layout.xaxis
    assert (axis.side, axis.mirror) == ("top", "ticks")
    assert axis.title.text == "ns since the first CTA's entry"


def test_the_height_fits_a_notebook() -> None:
    assert figure(pipeline(ctas=10)).layout.height <= 900
    assert figure(pipeline(ctas=90)).layout.height <= 1200


def test_rows_too_low_for_text_are_said_with_the_way_out() -> None:
    trace = pipeline(ctas=90)
    assert "rows too low" in figure(trace).layout.title.text
    assert "rows too low" not in figure(trace, ViewOptions(ctas=8)).layout.title.text
    assert "rows too low" not in figure(trace, ViewOptions(height=9000)).layout.title.text


def test_arrows_do_not_take_the_hover_of_bars() -> None:
    (arrows,) = [part for part in figure(pipeline()).data if part.name == "arrows (dag)"]
    assert arrows.hoverinfo == "skip"


@pytest.mark.parametrize(
    ("ctas", "shown"),
    [(2, {0, 1}), (range(3, 9), {3, 4}), ([4, 1], {1, 4}), (slice(1, 3), {1, 2}), (99, {0, 1, 2, 3, 4})],
)
def test_ctas_chooses_what_is_drawn(ctas: Any, shown: set[int]) -> None:
    labels = figure(pipeline(ctas=5), ViewOptions(ctas=ctas)).layout.yaxis.ticktext
    assert {int(label.split()[1]) for label in labels} == shown


@pytest.mark.parametrize(("ctas", "what"), [([7, 8], "has CTAs 0\u20134"), (0, "at least 1"), ([-1], "count from 0")])
def test_ctas_that_the_trace_has_not_are_an_error(ctas: Any, what: str) -> None:
    with pytest.raises(ValueError, match=what):
        figure(pipeline(ctas=5), ViewOptions(ctas=ctas))


def test_rows_and_ctas_are_chosen_together() -> None:
    trace = pipeline(ctas=5)
    drawing = figure(trace, ViewOptions(events=trace.events.query("name == 'mma'"), ctas=[1, 2]))
    assert sum(1 for _ in bars(drawing)) == 12


def test_events_that_are_not_rows_of_the_trace_are_an_error() -> None:
    trace = pipeline()
    mma = trace.events.query("name == 'mma'")
    wrong: Any = mma.to_dict("records")
    with pytest.raises(TypeError, match="events=.*: give rows"):
        figure(trace, ViewOptions(events=wrong))
    with pytest.raises(ValueError, match="keep the index"):
        figure(trace, ViewOptions(events=mma.reset_index(drop=True)))
    with pytest.raises(ValueError, match="lacks the columns cta, start"):
        figure(trace, ViewOptions(events=mma.drop(columns=["start", "cta"])))


def test_an_empty_selection_says_so() -> None:
    trace = pipeline()
    drawing = figure(trace, ViewOptions(events=trace.events.head(0)))
    assert [note.text for note in drawing.layout.annotations] == ["no events in this selection"]


def test_losses_of_ctas_that_are_not_chosen_are_not_said() -> None:
    trace = pipeline(losses=[{"lost": 12, "cta": 1}])
    assert "lost" not in figure(trace, ViewOptions(ctas=[0])).layout.title.text
    assert "lost 12" in figure(trace, ViewOptions(ctas=[1])).layout.title.text
    assert "lost 12" in figure(trace, ViewOptions(limit=21)).layout.title.text
