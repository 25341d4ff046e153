"""What a notebook, and what a terminal, is given."""

import json
import sys
from typing import Any

import pytest
from fake_trace import FakeTrace, make_trace, pipeline, span
from IPython.core.interactiveshell import InteractiveShell
from IPython.utils.capture import capture_output

from tltrace_nb.render.options import ViewOptions
from tltrace_nb.widget.display import PLOTLY_MIME, bundle, show


@pytest.fixture
def notebook() -> Any:
    """A shell like a kernel's."""
    shell = InteractiveShell.instance()
    yield shell
    InteractiveShell.clear_instance()


def shown(trace: FakeTrace, renderer: str | None = "plotly", **options: Any) -> list[dict[str, Any]]:
    with capture_output() as captured:
        assert show(trace, ViewOptions(**options), renderer=renderer) is None  # type: ignore[func-returns-value]
    return [output.data for output in captured.outputs]


@pytest.mark.usefixtures("notebook")
def test_a_notebook_gets_one_bundle_with_still_fallbacks() -> None:
    (data,) = shown(pipeline())
    assert set(data) == {PLOTLY_MIME, "text/html", "text/plain"}
    assert data["text/plain"] == "Trace('gemm', 42 events)"


def test_the_still_picture_runs_nothing_and_fetches_nothing() -> None:
    text = bundle(pipeline())["text/html"]
    assert '<img alt="gemm: timeline"' in text
    assert "data:image/svg+xml;charset=utf-8,%3Csvg" in text
    assert "<table" in text
    assert "<script" not in text
    assert "href" not in text
    assert len(text.encode()) < 60_000


def test_the_bundle_is_json() -> None:
    drawing = json.loads(json.dumps(bundle(pipeline())[PLOTLY_MIME]))
    assert sum(len(part["x"]) for part in drawing["data"] if part["type"] == "bar") == 40


def test_without_plotly_the_still_picture_remains(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "plotly", None)
    monkeypatch.setitem(sys.modules, "plotly.graph_objects", None)
    assert set(bundle(pipeline())) == {"text/html", "text/plain"}


def test_elsewhere_the_repr_and_a_hint_are_printed(capsys: pytest.CaptureFixture[str]) -> None:
    show(pipeline())
    out = capsys.readouterr().out
    assert out.startswith("Trace('gemm', 42 events)\n")
    assert "trace.to_html('trace.html')" in out


def test_a_wrong_time_is_an_error_everywhere() -> None:
    wrong: Any = "hours"
    with pytest.raises(ValueError, match="'auto', 'cycles', 'ns'"):
        show(pipeline(), ViewOptions(time=wrong))


@pytest.mark.usefixtures("notebook")
def test_another_view_is_drawn_by_plotly_without_saying_so() -> None:
    (data,) = shown(pipeline(), renderer=None, view="name")
    assert PLOTLY_MIME in data


@pytest.mark.usefixtures("notebook")
def test_without_anywidget_a_notebook_gets_the_figure(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "anywidget", None)
    (data,) = shown(pipeline(), renderer=None)
    assert set(data) == {PLOTLY_MIME, "text/html", "text/plain"}


def test_the_timeline_has_no_views_of_plotly() -> None:
    with pytest.raises(ValueError, match="view= and color= are Plotly's"):
        show(pipeline(), ViewOptions(color="wave"), renderer="timeline")


def test_nothing_is_uploaded_from_a_notebook() -> None:
    config = bundle(pipeline())[PLOTLY_MIME]["config"]
    assert config["plotlyServerURL"] == ""
    assert "sendChartToCloud" in config["modeBarButtonsToRemove"]


def test_the_options_are_those_of_the_figure_in_all_forms() -> None:
    data = bundle(pipeline(ctas=5), ViewOptions(ctas=[3], height=400, title="one CTA"))
    assert data[PLOTLY_MIME]["layout"]["height"] == 400
    for form in (json.dumps(data[PLOTLY_MIME]), data["text/html"]):
        assert "one CTA" in form
        assert "CTA 3" in form
        assert "CTA 0" not in form


def test_an_empty_trace_has_a_bundle() -> None:
    assert "no events" in bundle(make_trace([]))["text/html"]


@pytest.mark.some(2)
@pytest.mark.parametrize("name", ["x" * 10_000, "\ud800", "</script><b>", "\u202e\x1b[31m", "🚀" * 500])
def test_a_saved_cell_stays_small_and_valid_whatever_the_names(name: str) -> None:
    rows = [span(f"{i % 30}{name}", i, i + 1, lane=name, source=name) for i in range(3000)]
    data = bundle(make_trace(rows, kernel=name))
    assert len(data["text/html"].encode()) < 60_000
    json.dumps(data).encode()
    assert "<b>" not in data["text/html"]
    assert "\x1b" not in data["text/html"]
