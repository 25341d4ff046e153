"""What a notebook saves of a timeline: it draws itself where no kernel's view stands in for it."""

import base64
import gzip
from typing import Any

import pytest
from fake_trace import FakeTrace, pipeline
from timeline_tab import Tab, model_state

from tltrace_nb.widget.front import EDITION, LOADER, SCRIPT, saved_html
from tltrace_nb.widget.wire import encode

pytestmark = pytest.mark.browser
PICTURE = '<p id="picture">the still picture</p>'
SET = "([id, html]) => document.getElementById('home').append(document.createRange().createContextualFragment(html))"
HIDE = "() => document.head.insertAdjacentHTML('beforeend', '<style id=rule>.one { display: none !important }</style>')"
VIEWS = "() => document.querySelectorAll('.tlt[data-drawn]').length"


@pytest.fixture
def tab(browser: Any) -> Any:
    tab = Tab(browser)
    yield tab
    assert tab.errors == []
    assert tab.foreign == []
    tab.page.close()


def output(trace: FakeTrace, *, front: bool = True, columns: bool = True, **options: Any) -> str:
    wire = encode(trace)
    packed = gzip.compress(wire.columns) if columns else b""
    return saved_html(PICTURE, "one", wire.header, packed, options, front=front)


def show(tab: Tab, html: str) -> None:
    """Put an output into the page as a notebook does, its scripts being run."""
    tab.do(SET, ["home", html])


def test_it_is_drawn_in_place_of_the_picture(tab: Tab) -> None:
    show(tab, output(pipeline(), view={"query": "mma"}, height=200))
    tab.page.locator(".tlt[data-drawn]").wait_for()
    assert not tab.page.locator("#picture").is_visible()
    assert tab.page.locator(".tlt-count").first.inner_text() == "42 events"
    assert tab.page.locator("input[type=search]").input_value() == "mma"


def test_one_output_brings_the_front_end_for_all_before_and_after_it(tab: Tab) -> None:
    show(tab, output(pipeline(), front=False))
    tab.page.wait_for_timeout(1500)
    assert tab.do(VIEWS) == 0
    show(tab, output(pipeline()))
    show(tab, output(pipeline(), front=False))
    tab.page.wait_for_function(f"({VIEWS})() === 3")


def test_behind_a_kernels_view_it_is_not_drawn_and_comes_back_after_it(tab: Tab) -> None:
    tab.do(HIDE)
    show(tab, output(pipeline()))
    tab.page.wait_for_timeout(1500)
    assert tab.do(VIEWS) == 0
    tab.do("() => document.getElementById('rule').remove()")
    tab.page.locator(".tlt[data-drawn]").wait_for()
    tab.do(HIDE)
    tab.page.wait_for_function("document.querySelectorAll('.tlt').length === 0")


def test_an_output_that_is_taken_out_and_put_back_is_drawn_again(tab: Tab) -> None:
    show(tab, output(pipeline()))
    tab.page.locator(".tlt[data-drawn]").wait_for()
    tab.do("() => { window.taken = document.querySelector('.one'); taken.remove(); }")
    assert tab.do("() => taken.querySelectorAll('.tlt').length") == 0
    tab.do("() => document.getElementById('home').append(taken)")
    tab.page.locator(".tlt[data-drawn]").wait_for()


def test_events_that_are_too_many_leave_the_picture(tab: Tab) -> None:
    show(tab, output(pipeline(), columns=False))
    tab.page.wait_for_timeout(1200)
    assert tab.page.locator("#picture").is_visible()
    assert tab.do(VIEWS) == 0


def test_a_name_that_reads_like_markup_is_a_name(tab: Tab) -> None:
    trace = pipeline()
    trace.events["name"] = trace.events["name"].cat.rename_categories({"mma": '"></script><b id="broken">'})
    show(tab, output(trace))
    tab.page.locator(".tlt[data-drawn]").wait_for()
    assert tab.page.locator("#broken").count() == 0


def test_a_model_without_the_front_end_has_it_from_python(tab: Tab) -> None:
    wire = encode(pipeline())
    state = model_state(wire, gzip.compress(wire.columns), script=None)
    tab.do(
        "async ([loader, script]) => {"
        " const answer = [{ kind: 'script' }, [new DataView(bytes(script).buffer)]];"
        f" window.model = model_of({{ ...{state}, script: new DataView(new ArrayBuffer(0)) }}, answer);"
        " const text = URL.createObjectURL(new Blob([loader], { type: 'text/javascript' }));"
        " const el = document.getElementById('home');"
        " await (await import(text)).default.render({ model, el }); }",
        [LOADER, base64.b64encode(SCRIPT).decode()],
    )
    tab.page.locator(".tlt[data-drawn]").wait_for()
    assert tab.do("() => model.sent") == [{"kind": "script"}]
    assert tab.do("(name) => Boolean(customElements.get(name))", EDITION)
