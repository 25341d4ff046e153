"""The offline page and the still picture."""

import base64
import gzip
import re
import xml.etree.ElementTree as ET
from pathlib import Path

import numpy as np
import pytest
from fake_trace import instant, make_trace, pipeline, span
from wire_reader import read

from tltrace_nb.render.options import ViewOptions
from tltrace_nb.render.svg import static_svg
from tltrace_nb.widget.html import write_html
from tltrace_nb.widget.wire import Wire

SVG = "{http://www.w3.org/2000/svg}"
NASTY = "</script><script>alert(1)</script>"


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> str:
    trace = pipeline(kernel=NASTY, losses=[{"lost": 12}], device="virtual", gpu=None)
    return write_html(trace, tmp_path_factory.mktemp("page") / "t.html").read_text(encoding="utf-8")


def own_part(page: str) -> str:
    """The page without its script and the namespace of its picture."""
    return re.sub(r"<script>(?:(?!</script>).)*</script>", "", page, flags=re.DOTALL).replace(f'"{SVG[1:-1]}"', "")


def carried(page: str) -> Wire:
    """The events that the page carries."""
    ((header, columns),) = re.findall(r'mount\(timeline, \{header: (\{.*\}), columns: "([^"]*)"\}', page)
    return Wire(header, gzip.decompress(base64.b64decode(columns)), aligned=True)


def test_the_path_is_returned(tmp_path: Path) -> None:
    assert write_html(pipeline(), str(tmp_path / "t.html")) == tmp_path / "t.html"


def test_nothing_is_loaded_from_elsewhere(page: str) -> None:
    assert not re.search(r"<script[^>]+src|<link|@import|<img|<iframe", own_part(page))
    assert "http" not in own_part(page).replace("http-equiv", "")


def test_the_timeline_is_inside_once_and_small(page: str) -> None:
    assert page.count("async function mount(") == 1
    assert len(page) < 250_000


def test_a_kernel_name_cannot_open_a_script(page: str) -> None:
    assert NASTY not in page
    assert "&lt;/script&gt;&lt;script&gt;alert(1)" in page


def test_an_event_name_cannot_open_a_script(tmp_path: Path) -> None:
    trace = make_trace([span(NASTY, 0, 10, lane=NASTY, group=NASTY, role=NASTY, source=NASTY)])
    text = write_html(trace, tmp_path / "t.html").read_text(encoding="utf-8")
    assert text.count("</script>") == write_html(pipeline(), tmp_path / "o.html").read_text().count("</script>")


def test_the_events_in_the_page_are_whole(tmp_path: Path) -> None:
    trace = pipeline()
    page = write_html(trace, tmp_path / "t.html", ViewOptions(limit=1)).read_text(encoding="utf-8")
    found = read(carried(page))
    assert sorted((e.id, e.name, e.start) for e in found) == list(
        zip(range(len(trace.events)), trace.events["name"], trace.events["start"], strict=True)
    )


def test_many_events_take_less_than_12_bytes_each(tmp_path: Path) -> None:
    rng, n = np.random.default_rng(0), 100_000
    start = np.sort(rng.integers(0, 50 * n, n))
    spans = [span("ab"[i % 2], int(s), int(s) + 20, payload=i) for i, s in enumerate(start[:n].tolist())]
    size = write_html(make_trace(spans), tmp_path / "t.html").stat().st_size
    assert size / n < 12


def test_the_still_picture_is_there_for_readers_without_scripts(page: str) -> None:
    assert "<svg" in own_part(page)


def test_the_header_has_device_counts_and_losses(page: str) -> None:
    for fact in ("<dt>device</dt><dd>virtual", "<dt>SMs</dt><dd>2<", "<dt>ranges</dt><dd>40<", "<dd>12 records<"):
        assert fact in page


def test_the_table_lists_every_name(page: str) -> None:
    rows = re.findall(r"<tr><td>(.*?)</td><td>(.*?)</td>", page)
    assert dict(rows) == {
        "main loop": "2",
        "copy A": "12",
        "wait": "12",
        "mma": "12",
        "epilogue": "2",
        "accumulated": "2",
    }


def test_a_selection_of_rows_is_what_the_page_shows(tmp_path: Path) -> None:
    trace = pipeline()
    only = trace.events[trace.events["name"] == "mma"]
    text = write_html(trace, tmp_path / "t.html", ViewOptions(events=only)).read_text(encoding="utf-8")
    assert re.findall(r"<tr><td>(.*?)</td>", text) == ["mma"]


def test_the_facts_are_those_of_what_is_shown(tmp_path: Path) -> None:
    trace = pipeline(ctas=3, losses=[{"lost": 12, "cta": 0}])
    whole = write_html(trace, tmp_path / "t.html").read_text(encoding="utf-8")
    part = write_html(trace, tmp_path / "t.html", ViewOptions(ctas=[1, 2])).read_text(encoding="utf-8")
    for page, facts in ((whole, (3, 3, 60, 3, 18, 12)), (part, (2, 2, 40, 2, 12, 0))):
        found = re.findall(r"<dt>(?:SMs|CTAs|ranges|instants|arrows|lost)</dt><dd>(\d+)", page)
        assert tuple(map(int, found)) == facts


def test_an_instant_has_a_dash_for_its_times(page: str) -> None:
    assert "<tr><td>accumulated</td><td>2</td><td>–</td><td>–</td><td>–</td><td>–</td></tr>" in page


def test_the_title_replaces_the_kernel_name(tmp_path: Path) -> None:
    text = write_html(pipeline(), tmp_path / "t.html", ViewOptions(title="a & b")).read_text(encoding="utf-8")
    assert "<title>a &amp; b</title>" in text


def test_an_empty_trace_has_a_page(tmp_path: Path) -> None:
    assert "no events" in write_html(make_trace([]), tmp_path / "t.html").read_text(encoding="utf-8")


def test_a_still_picture_draws_every_event() -> None:
    trace = pipeline()
    root = ET.fromstring(static_svg(trace))
    assert len(root.findall(f"{SVG}g")) == len(trace.events)


def test_a_still_picture_shows_name_and_payload_where_they_fit() -> None:
    root = ET.fromstring(static_svg(make_trace([span("copy", 0, 100, payload=0), span("b", 100, 101, payload=5)])))
    assert [text.text for text in root.findall(f"{SVG}g/{SVG}text")] == ["copy", "0"]


def test_a_still_picture_has_no_label_for_a_missing_payload() -> None:
    root = ET.fromstring(static_svg(make_trace([span("copy", 0, 100), instant("dot", 200)])))
    assert [text.text for text in root.findall(f"{SVG}g/{SVG}text")] == ["copy"]


def test_a_still_picture_says_details_on_hover() -> None:
    root = ET.fromstring(static_svg(make_trace([span("copy", 0, 100, payload=3)])))
    assert "payload 3" in (root.findtext(f"{SVG}g/{SVG}title") or "")


def test_a_still_picture_has_the_arrows_and_the_hatched_rim() -> None:
    text = static_svg(pipeline())
    assert text.count('stroke="#555555"') == 12
    assert text.count("stroke-dasharray") == 1


@pytest.mark.parametrize("name", ["x" * 10_000, "<&>'\"" * 50, "🚀" * 300, "mma"])
def test_a_still_picture_is_small(name: str) -> None:
    trace = make_trace([span(f"{i}{name}", 2 * i, 2 * i + 1, source="<" * 300) for i in range(5000)])
    text = static_svg(trace)
    assert len(text.encode()) < 60_000
    assert re.search(r"showing [\d,]+ of 5,000 events", text)
    ET.fromstring(text)


def test_a_still_picture_escapes_names() -> None:
    text = static_svg(make_trace([span(NASTY, 0, 10, lane=NASTY)], kernel=NASTY))
    assert "<script" not in text


def test_a_still_picture_of_nothing_says_so() -> None:
    assert "no events in this trace" in static_svg(make_trace([]))


def test_a_still_picture_says_losses_and_simulation() -> None:
    text = static_svg(pipeline(losses=[{"lost": 1}], device="virtual", gpu="h200 model"))
    assert "lost 1 record of 1 writer" in text
    assert "virtual GPU (h200 model): simulated times, not measured" in text


def test_a_page_of_too_many_events_has_whole_ctas_of_them_and_says_so(tmp_path: Path) -> None:
    trace = make_trace([span("a", 10 * n, 10 * n + 5, cta=cta) for cta in range(20) for n in range(10)])
    page = write_html(trace, tmp_path / "t.html", most=65).read_text(encoding="utf-8")
    assert "60 of 200 events: those of 6 of 20 CTAs, the first, the last and some between" in page
    assert sorted({event.cta for event in read(carried(page))}) == [0, 1, 6, 14, 18, 19]
    assert "<dt>ranges</dt><dd>60</dd>" in page


def test_a_page_of_one_long_cta_has_its_earliest_events(tmp_path: Path) -> None:
    trace = make_trace([span("a", 10 * n, 10 * n + 5) for n in range(100)])
    page = write_html(trace, tmp_path / "t.html", most=30).read_text(encoding="utf-8")
    assert "30 of 100 events: the earliest of CTA 0" in page


def test_a_page_may_have_all_events(tmp_path: Path) -> None:
    trace = make_trace([span("a", 10 * n, 10 * n + 5) for n in range(100)])
    assert "of 100 events" not in write_html(trace, tmp_path / "t.html", most=None).read_text(encoding="utf-8")
