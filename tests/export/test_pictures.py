"""Pictures as files."""

from __future__ import annotations

import re
import struct
import sys
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any

import pytest
from fake_trace import make_trace, pipeline, span
from traces import HOSTILE, RECORDED

from tltrace_nb import load
from tltrace_nb.export.picture import MOST_PIXELS, write_png, write_svg

SVG = "{http://www.w3.org/2000/svg}"


def size(path: Path) -> tuple[int, int]:
    """Width and height of a PNG, from its header."""
    data = path.read_bytes()
    assert data.startswith(b"\x89PNG\r\n\x1a\n")
    width, height = struct.unpack(">II", data[16:24])
    return width, height


@pytest.mark.some(6)
@pytest.mark.parametrize("file", RECORDED, ids=lambda file: file.stem)
def test_a_recorded_trace_is_drawn_event_by_event_up_to_the_limit(file: Path, tmp_path: Path) -> None:
    trace = load(file)
    root = ET.parse(trace.to_svg(tmp_path / "t.svg", limit=5000)).getroot()
    assert len(root.findall(f"{SVG}g")) == len(trace)


def test_the_options_are_those_of_the_figure(tmp_path: Path) -> None:
    trace = load(RECORDED[0])
    only = trace.events.query("cta == 3")
    text = trace.to_svg(
        tmp_path / "t.svg", "a title", ctas=[3, 4], events=only, limit=9, time="ns", width=600
    ).read_text()
    assert 'width="600"' in text
    assert "a title" in text
    assert "CTA 3 " in text
    assert "CTA 4 " not in text
    assert "ns</text>" in text


def test_every_name_has_its_colour_in_the_legend(tmp_path: Path) -> None:
    text = write_svg(pipeline(), tmp_path / "t.svg").read_text()
    keys = dict(re.findall(r'height="10" fill="(#\w+)"/><text [^>]*>([^<]*)<', text))
    assert sorted(keys.values()) == ["accumulated", "copy A", "epilogue", "main loop", "mma", "wait"]
    bars = re.findall(r'<g[^>]*><(?:rect|path)[^>]* fill="(#\w+)"[^>]*/>', text)
    assert set(bars) == set(keys)


def test_a_legend_of_many_names_says_how_many_it_leaves_out(tmp_path: Path) -> None:
    trace = make_trace([span(f"n{i}", i, i + 1) for i in range(100)])
    assert "and 76 more names" in write_svg(trace, tmp_path / "t.svg").read_text()


@pytest.mark.parametrize("name", HOSTILE, ids=ascii)
def test_a_name_may_be_anything(name: str, tmp_path: Path) -> None:
    trace = make_trace([span(name, 0, 10, lane=name or "main", payload=1)], kernel=name)
    text = write_svg(trace, tmp_path / "t.svg").read_text()
    ET.fromstring(text)
    assert "<script" not in text


def test_no_events_and_no_width(tmp_path: Path) -> None:
    assert "no events in this trace" in write_svg(make_trace([]), tmp_path / "t.svg").read_text()
    with pytest.raises(ValueError, match="width=10: give pixels, 400 to"):
        write_svg(pipeline(), tmp_path / "t.svg", width=10)


def test_a_png_has_two_pixels_for_each_of_the_svg(tmp_path: Path) -> None:
    pytest.importorskip("resvg_py", reason="resvg_py is not installed")
    trace = pipeline()
    text = write_svg(trace, tmp_path / "t.svg", width=700).read_text()
    height = int(re.search(r'height="(\d+)"', text)[1])  # type: ignore[index]
    assert size(write_png(trace, tmp_path / "t.png", width=700)) == (1400, 2 * height)


def test_a_png_of_many_rows_stays_within_its_bound(tmp_path: Path) -> None:
    pytest.importorskip("resvg_py", reason="resvg_py is not installed")
    trace = make_trace([span("a", 0, 1, cta=cta) for cta in range(600)])
    width, height = size(write_png(trace, tmp_path / "t.png"))
    assert width * height <= 1.01 * MOST_PIXELS
    assert height > 10 * width


def test_a_png_needs_no_font_of_the_machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    resvg = pytest.importorskip("resvg_py", reason="resvg_py is not installed")
    draw: Any = resvg.svg_to_bytes

    def drawn(name: str, **without: Any) -> bytes:
        monkeypatch.setattr(resvg, "svg_to_bytes", lambda **how: draw(**{**how, **without}))
        return write_png(pipeline(), tmp_path / name).read_bytes()

    alone = drawn("alone.png", skip_system_fonts=True)
    assert alone == drawn("here.png")
    assert alone != drawn("blank.png", skip_system_fonts=True, font_files=[])


@pytest.mark.parametrize("package", ["resvg_py", "font_source_sans_pro"])
def test_without_what_draws_a_png_the_error_says_what_to_install(
    package: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(ModuleNotFoundError, match=rf"{package}, which .*pip install 'tltrace-nb\[png\]'"):
        write_png(pipeline(), tmp_path / "t.png")
