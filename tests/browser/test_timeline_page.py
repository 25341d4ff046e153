"""The front end in a page of its own, from ``file://``, without a network and under a strict content policy."""

from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest
from fake_trace import FakeTrace, make_trace, pipeline, span
from timeline_tab import Tab

from tltrace_nb.core.loading import load
from tltrace_nb.widget.wire import encode

pytestmark = pytest.mark.browser
RECORDED = files("tltrace_nb").joinpath("datasets", "h200")
POLICY = "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data: blob:"
PICTURE = """() => {
  view.draw();
  const canvas = document.querySelector(".tlt-stage canvas");
  const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
  let sum = 0;
  for (const value of new Uint32Array(data.buffer)) sum = (Math.imul(sum, 31) + value) | 0;
  return [canvas.width, canvas.height, sum];
}"""


def opened(browser: Any, folder: Path, trace: Any) -> Any:
    script = files("tltrace_nb").joinpath("widget", "static", "timeline.js").read_text(encoding="utf-8")
    mounted = f"window.view = await mount(document.getElementById('t'), {encode(trace).script()});"
    path = folder / "page.html"
    path.write_text(
        f'<!DOCTYPE html><meta charset="utf-8"><meta http-equiv="Content-Security-Policy" content="{POLICY}">'
        f'<body style="margin: 10px"><div id="t"></div><script type="module">{script}\n{mounted}</script>',
        encoding="utf-8",
    )
    page = browser.new_page(viewport={"width": 1000, "height": 800})
    page.attempts, page.errors = [], []

    def gate(route: Any) -> None:
        if route.request.url == path.as_uri():
            route.continue_()
        else:
            page.attempts.append(route.request.url)
            route.abort()

    page.route("**/*", gate)
    page.on("pageerror", lambda error: page.errors.append(str(error)))
    page.on("console", lambda message: page.errors.append(message.text) if message.type == "error" else None)
    page.goto(path.as_uri())
    page.locator(".tlt[data-drawn]").wait_for()
    return page


@pytest.mark.parametrize("name", ["attention", "gemm"])
def test_the_page_shows_the_picture_of_the_notebook_and_fetches_nothing(
    browser: Any, tmp_path: Path, name: str
) -> None:
    trace = load(str(RECORDED.joinpath(f"{name}.tltrace")))
    page = opened(browser, tmp_path, trace)
    tab = Tab(browser).open(trace)
    assert page.evaluate(PICTURE) == tab.do(PICTURE)
    first = tab.scene("events.id[events.rowStart[scene.rows.strips.find((s) => s.kind !== 'head').node.lanes[0].row]]")
    tab.hover(first)
    box = page.locator(".tlt-stage").bounding_box()
    page.mouse.move(*tab.at(first))
    assert box == tab.stage.bounding_box()
    page.locator(".tlt-tip").wait_for()
    assert page.locator(".tlt-tip").inner_text() == tab.tip.inner_text()
    assert page.attempts == []
    assert page.errors == []
    page.close()
    tab.page.close()


@pytest.mark.parametrize("name", ["</script><script>window.pwned = 1</script>", "<!--<script>", "\u2028'\"\\"])
def test_no_name_ends_the_script(browser: Any, tmp_path: Path, name: str) -> None:
    trace: FakeTrace = make_trace([span(name, 0, 10, lane=name, group=name, source=name)], kernel=name)
    page = opened(browser, tmp_path, trace)
    assert page.evaluate("window.pwned ?? 0") == 0
    assert page.evaluate("view.scene.events.names[0]") == name
    assert page.errors == []
    page.close()


def test_a_page_takes_few_bytes_an_event() -> None:
    trace = pipeline(ctas=200, steps=40)
    assert len(encode(trace).script()) <= 12 * len(trace.events)
