"""The views of a timeline: what a lane is, and what a colour is."""

from __future__ import annotations

import pytest
from planned import Span, Stay, planned
from recordings import RECORDED

from tltrace_nb import load
from tltrace_nb.base.palette import PALETTE
from tltrace_nb.core.trace import Trace
from tltrace_nb.data.columns import EVENTS
from tltrace_nb.data.tracefile import TraceMeta
from tltrace_nb.render.lanes import layout
from tltrace_nb.render.options import ViewOptions
from tltrace_nb.render.views import ctas_as_events
from tltrace_nb.widget.display import bundle

STAYS = [Stay(0, 0, 1000), Stay(0, 10, 900), Stay(0, 1100, 1500), Stay(3, 0, 2000)]
META = TraceMeta("kernel", device="virtual", gpu="classroom model", resources=((128, 0),))


@pytest.fixture
def trace() -> Trace:
    spans = [Span("a", 100, 900, cta, payload=cta) for cta in range(4)] + [
        Span("b", 200, 500, cta, thread=32) for cta in range(4)
    ]
    return planned(spans, STAYS, meta=META)


def labels(trace: Trace, **options) -> list[str]:
    return list(trace.figure(**options).layout.yaxis.ticktext)


def test_the_sm_view_has_a_lane_per_sm_and_a_bar_per_cta(trace: Trace) -> None:
    plan = layout(trace, ViewOptions(limit=100, view="sm"))
    assert [lane.label for lane in plan.lanes][:2] == ["SM 0", "SM 3"]
    assert len(plan.events) == len(STAYS)
    assert plan.unit == "ns"


def test_the_sms_that_never_had_a_cta_share_an_empty_lane(trace: Trace) -> None:
    plan = layout(trace, ViewOptions(limit=100, view="sm"))
    assert [lane.label for lane in plan.lanes][2:] == ["idle: SM 1–2"]
    assert plan.events["y"].max() < plan.lanes[-1].top < plan.lanes[-1].bottom == plan.rows


def test_where_not_all_ctas_are_shown_no_sm_is_called_idle(trace: Trace) -> None:
    assert labels(trace, view="sm", ctas=[0, 1]) == ["SM 0"]


def test_ctas_at_once_on_an_sm_are_in_rows_of_their_own_and_followers_in_the_place_they_took(trace: Trace) -> None:
    events = layout(trace, ViewOptions(limit=100, view="sm")).events.set_index("cta")
    assert events.loc[1, "y"] == events.loc[2, "y"] == events.loc[0, "y"] + 1


def test_a_bar_of_the_sm_view_lasts_as_long_as_its_cta(trace: Trace) -> None:
    events = ctas_as_events(trace).set_index("cta")
    for cta, stay in enumerate(STAYS):
        assert events.loc[cta, "start_ns"] == pytest.approx(stay.start)
        assert events.loc[cta, "duration_ns"] == pytest.approx(stay.end - stay.start)


def test_the_payload_in_the_sm_view_is_the_wave(trace: Trace) -> None:
    assert ctas_as_events(trace).set_index("cta")["payload"].sort_index().tolist() == [0, 0, 1, 0]


def test_the_rows_of_the_sm_view_have_the_columns_of_the_events(trace: Trace) -> None:
    assert list(ctas_as_events(trace)) == [*EVENTS, "place"]


def test_the_cta_view_has_a_lane_per_cta(trace: Trace) -> None:
    assert labels(trace, view="cta") == ["CTA 0", "CTA 1", "CTA 2", "CTA 3"]


def test_in_the_cta_view_what_runs_at_once_is_in_different_rows(trace: Trace) -> None:
    events = layout(trace, ViewOptions(limit=100, view="cta")).events
    assert events.groupby("cta")["y"].nunique().tolist() == [2] * 4


def test_the_name_view_has_a_lane_per_name(trace: Trace) -> None:
    assert labels(trace, view="name") == ["a", "b"]


def test_in_the_name_view_no_bar_hides_another(trace: Trace) -> None:
    for view in ("name", "cta", "thread", "sm"):
        events = layout(load(RECORDED / "gemm_3.tltrace"), ViewOptions(limit=10_000, view=view)).events.sort_values("x")
        ranges = events[events["width"] > 0]
        after = ranges["x"] + ranges["width"] <= ranges.groupby("y")["x"].shift(-1).fillna(1e18) + 40
        assert after.all(), view


def test_a_selection_of_ctas_holds_in_the_sm_view(trace: Trace) -> None:
    assert labels(trace, view="sm", ctas=[3]) == ["SM 3"]


def test_colour_by_payload_or_duration_is_a_scale(trace: Trace) -> None:
    drawing = trace.figure(view="sm", color="duration")
    assert sorted(drawing.data[0].marker.color) == [800, 1780, 2000, 4000]
    assert drawing.layout.coloraxis.colorbar.title.text == "duration"
    assert trace.figure(color="payload").data[0].marker.color == (0, 1, 2, 3)


def test_a_wave_has_the_same_colour_in_every_figure_and_no_scale(trace: Trace) -> None:
    drawing = trace.figure(view="sm", color="wave")
    assert sorted(drawing.data[0].marker.color) == sorted([PALETTE[0]] * 3 + [PALETTE[1]])
    assert not drawing.layout.coloraxis.colorbar.title.text
    first = trace.figure(view="sm", color="wave", ctas=[0, 1])
    assert set(first.data[0].marker.color) == {PALETTE[0]}


def test_bars_without_a_value_are_grey_on_a_scale(trace: Trace) -> None:
    drawing = trace.figure(color="payload")
    without = next(bars for bars in drawing.data if bars.name == "b")
    assert without.marker.color.startswith("#")


@pytest.mark.parametrize(
    ("wrong", "right"),
    [({"view": "warp"}, "'thread', 'cta', 'name', 'sm'"), ({"color": "sm"}, "'name', 'payload', 'duration', 'wave'")],
)
def test_another_view_or_colour_is_refused_with_the_right_ones(trace: Trace, wrong, right: str) -> None:
    with pytest.raises(ValueError, match=right):
        trace.figure(**wrong)


def test_the_sm_view_is_in_ns(trace: Trace) -> None:
    with pytest.raises(ValueError, match="in ns"):
        trace.figure(view="sm", time="cycles")


def test_without_clocks_there_is_no_sm_view_and_it_says_why() -> None:
    with pytest.raises(ValueError, match=r"occupancy\(\).notes"):
        load(RECORDED / "every_thread.tltrace").figure(view="sm")


@pytest.mark.some(6)
@pytest.mark.parametrize("file", sorted(RECORDED.glob("*.tltrace")), ids=lambda file: file.stem)
def test_every_view_of_a_recorded_trace_is_drawn(file) -> None:
    recorded = load(file)
    views = ("thread", "cta", "name", *(["sm"] if recorded.ctas["clock_ghz"].notna().all() else []))
    for view in views:
        assert recorded.figure(view=view).data


def test_the_still_picture_beside_a_view_shows_that_view(trace: Trace) -> None:
    still = bundle(trace, ViewOptions(view="sm"))["text/html"]
    assert "SM 3" in still
    assert "t32" not in still
    assert "t32" in bundle(trace)["text/html"]
