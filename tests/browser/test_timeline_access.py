"""For every reader and every name: screen readers, keyboards, themes, hostile text, bad numbers, old browsers."""

import math
from typing import Any

import pytest
from fake_trace import FakeTrace, instant, make_trace, pipeline, span
from timeline_tab import Tab, model_state

from tltrace_nb.base.numbers import payload_text
from tltrace_nb.widget.wire import encode

pytestmark = pytest.mark.browser
NASTY = (
    "<img src=x onerror='window.pwned=1'>",
    "</script><script>window.pwned=1</script>",
    "\u202eمرحبا بالعالم",
    "👩‍👩‍👧‍👦 🚀",
    "x" * 10_000,
    "tab\tnew\nline\x00",
    "",
)


@pytest.fixture(scope="module")
def tab(browser: Any) -> Tab:
    return Tab(browser)


# Screen readers and keyboards


def test_the_focused_event_is_said(tab: Tab) -> None:
    tab.open(pipeline())
    tab.press(".")
    live = tab.page.locator("[aria-live=polite]")
    assert live.inner_text().startswith("copy A, payload 0, start 40 cycles")
    tab.press(".")
    assert live.inner_text().startswith("copy A, payload 1, start 220 cycles")


def test_the_events_in_view_are_a_table(tab: Tab) -> None:
    trace = pipeline(ctas=1, steps=3)
    tab.open(trace)
    tab.press("w", "0")
    table = tab.page.get_by_role("table", name="Events in view")
    tab.page.wait_for_function("document.querySelector('table.tlt-sr tbody')?.children.length > 0")
    rows = [row.locator("td").all_inner_texts() for row in table.locator("tbody tr").all()]
    assert len(rows) == len(trace.events)
    payloads = sorted(
        (name, payload_text(begin, end))
        for name, begin, end in zip(*(trace.events[key] for key in ("name", "payload", "payload_end")), strict=True)
    )
    assert sorted((row[0], row[1]) for row in rows) == payloads


def test_the_table_is_there_before_anything_is_touched(tab: Tab) -> None:
    tab.open(pipeline(ctas=1, steps=2))
    tab.page.wait_for_function("document.querySelector('table.tlt-sr tbody')?.children.length === 9")


def test_everything_is_reached_by_the_keyboard_with_a_visible_focus(tab: Tab) -> None:
    tab.open(pipeline())
    tab.do("() => { document.activeElement.blur(); }")
    reached = []
    for _ in range(30):
        tab.page.keyboard.press("Tab")
        seen = tab.do(
            "() => { const e = document.activeElement; const s = getComputedStyle(e);"
            " return [e.getAttribute('aria-label') || e.textContent, s.outlineStyle, parseFloat(s.outlineWidth)]; }"
        )
        if seen[0] in [label for label, *_ in reached]:
            break
        reached.append(seen)
    words = " | ".join(label for label, *_ in reached)
    for wanted in ("Search events", "Colour by", "Measure", "Lanes of gemm", "mma"):
        assert wanted in words
    assert all(style == "solid" and width >= 2 for label, style, width in reached if "tlt" not in label), reached


def test_controls_have_names_and_roles(tab: Tab) -> None:
    tab.open(pipeline())
    assert tab.page.get_by_role("region", name="Timeline of gemm").count() == 1
    assert tab.page.get_by_role("application", name="Lanes of gemm; press ? for the keys").count() == 1
    unnamed = tab.do(
        "() => [...document.querySelectorAll('.tlt button, .tlt select, .tlt input')]"
        ".filter((e) => !(e.getAttribute('aria-label') || e.textContent.trim())).length"
    )
    assert unnamed == 0


def test_nothing_moves_by_itself(tab: Tab) -> None:
    tab.open(pipeline())
    moving = tab.do(
        "() => [...document.querySelectorAll('.tlt, .tlt *')].map((e) => getComputedStyle(e))"
        ".filter((s) => s.animationName !== 'none' || parseFloat(s.transitionDuration) > 0).length"
    )
    assert moving == 0


# Themes

BACK = "() => getComputedStyle(document.querySelector('.tlt')).backgroundColor"


@pytest.mark.parametrize(("scheme", "color"), [("light", "rgb(255, 255, 255)"), ("dark", "rgb(22, 25, 29)")])
def test_the_readers_system_decides_where_nothing_else_does(tab: Tab, scheme: Any, color: str) -> None:
    tab.page.emulate_media(color_scheme=scheme)
    tab.open(pipeline())
    assert tab.do(BACK) == color
    assert tab.do("() => view.theme.dark") == (scheme == "dark")


def test_the_notebooks_theme_decides_and_is_followed(tab: Tab) -> None:
    tab.page.emulate_media(color_scheme="light")
    tab.open(pipeline())
    tab.do("() => { document.body.style.setProperty('--jp-layout-color0', '#111111');"
           " document.body.dataset.jpThemeLight = 'false'; }")  # fmt: skip
    tab.page.wait_for_function("view.theme.dark")
    assert tab.do(BACK) == "rgb(17, 17, 17)"
    tab.do("() => { document.body.style.removeProperty('--jp-layout-color0');"
           " document.body.dataset.jpThemeLight = 'true'; }")  # fmt: skip
    tab.page.wait_for_function("!view.theme.dark")


@pytest.mark.parametrize(("theme", "dark"), [("light", False), ("dark", True)])
def test_a_theme_can_be_chosen(tab: Tab, theme: str, dark: bool) -> None:
    tab.open(pipeline(), theme=theme)
    assert tab.do("() => view.theme.dark") == dark


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_words_are_readable_on_the_ground(tab: Tab, theme: str) -> None:
    tab.open(pipeline(), theme=theme)
    ground, *inks = tab.do("() => [view.theme.ground, ...['ink', 'soft', 'accent', 'warn'].map((k) => view.theme[k])]")

    def luminance(color: Any) -> float:
        parts = [int(color[i : i + 2], 16) for i in (1, 3, 5)] if isinstance(color, str) else color
        r, g, b = (v / 12.92 if v <= 0.04045 else ((v + 0.055) / 1.055) ** 2.4 for v in (p / 255 for p in parts))
        return float(0.2126 * r + 0.7152 * g + 0.0722 * b)

    for ink in inks:
        low, high = sorted((luminance(ink), luminance(ground)))
        assert (high + 0.05) / (low + 0.05) >= 4.5, ink


# Hostile names


def test_names_are_never_markup_and_never_break_the_layout(tab: Tab) -> None:
    rows = [
        span(name, 100 * i, 100 * i + 90, lane=name, group=name, role=name, source=name) for i, name in enumerate(NASTY)
    ]
    tab.open(make_trace(rows, kernel=NASTY[0], losses=[{"lost": 3, "group": NASTY[0]}]), view={"unit": "cycles"})
    for id in range(len(rows)):
        tab.hover(id)
        tab.page.mouse.click(*tab.at(id))
    box = tab.page.locator(".tlt").bounding_box()
    tab.drag((box["x"] + 300, tab.at(0)[1] - 5), (box["x"] + 900, tab.at(len(rows) - 1)[1]))
    tab.page.wait_for_timeout(300)
    assert tab.do("() => window.pwned ?? 0") == 0
    assert tab.page.locator(".tlt img, .tlt script").count() == 0
    assert box["width"] == pytest.approx(980)
    assert tab.do("() => document.documentElement.scrollWidth") <= 1000
    assert tab.tip.evaluate("(tip) => tip.scrollWidth") < 400
    assert tab.errors == []


# Numbers


def test_payloads_of_every_kind_are_said_as_the_frame_has_them(tab: Tab) -> None:
    values: list[Any] = [-(2**31), 2**31 - 1, 2**32 - 1, 0, 1, None]
    floats: list[Any] = [math.nan, math.inf, -math.inf, 0.1, 1e-7, 3.4028234663852886e38, -0.0, 2.5, 0.0001, 12345678.9]
    for payloads in (values, floats):
        trace = make_trace([span("a", 100 * i, 100 * i + 90, payload=v, payload_end=v) for i, v in enumerate(payloads)])
        tab.open(trace, view={"unit": "cycles"})
        for id, event in enumerate(trace.events.itertuples()):
            said = [line for line in tab.hover(id).split("\n") if line.startswith("payload")]
            wanted = payload_text(event.payload, event.payload_end)
            assert said == ([f"payload {wanted}"] if wanted else [])
        for by in ("payload", "duration", "lane"):
            tab.scene(f"scene.set({{ colorBy: '{by}' }})")
    assert tab.errors == []


@pytest.mark.parametrize(
    "trace",
    [
        make_trace([]),
        make_trace([span("a", 5, 9)]),
        make_trace([instant("a", 7)]),
        make_trace([span("a", 7, 7)]),
        make_trace([span("a", 7, 7)] * 300),
        make_trace([instant("a", 2**53 - 1), instant("b", 2**53 + 1)]),
    ],
    ids=["none", "one", "one instant", "no length", "all at one time", "near 2**53"],
)
def test_odd_traces_are_drawn_and_every_key_works(tab: Tab, trace: FakeTrace) -> None:
    tab.open(trace)
    tab.press(*"wsadf0.,][e/", "Escape", *"nNvhmcuypx{}?", "Escape", "Escape", "PageDown", "ArrowDown")
    tab.stage.focus()
    tab.scene("scene.arrange({ hidden: new Set(), pinned: [] })")
    tab.scene("scene.showAll()")
    assert tab.page.locator(".tlt[data-drawn]").count() == 1
    assert tab.errors == []
    if len(trace.events):
        assert "a" in tab.hover(0)


# What cannot be shown is said


def said(tab: Tab, script: str) -> str:
    tab.do(f"async () => {{ document.getElementById('home').replaceChildren(); {script} }}")
    tab.page.locator(".tlt-error").wait_for()
    tab.errors.clear()
    return str(tab.page.locator(".tlt-error").inner_text())


def test_an_old_browser_is_told_what_it_lacks(browser: Any) -> None:
    wire, tab = encode(pipeline()), Tab(browser)
    state = model_state(wire, b"packed")
    words = said(tab, f"delete window.DecompressionStream; await widget.render({{ model: model_of({state}),"
                      " el: document.getElementById('home') });")  # fmt: skip
    assert words == "The timeline cannot be shown: this browser cannot unpack gzip; a newer one can"
    words = said(tab, "HTMLCanvasElement.prototype.getContext = () => null;"
                      f" open_view({wire.header!r}, '', {{}}).catch(() => {{}});")  # fmt: skip
    assert "The timeline cannot be shown: " in words
    tab.page.close()


def test_broken_data_is_told(tab: Tab) -> None:
    header = encode(pipeline()).header
    words = said(tab, f"open_view({header!r}, '', {{}}).catch(() => {{}});")
    assert words.startswith("The timeline cannot be shown: the data ends in the middle of column")
