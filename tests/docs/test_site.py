"""The site builds without a warning, leads nowhere dead, asks no other machine, and has every public name."""

import importlib
import inspect
import re
import zlib
from collections.abc import Iterator
from html import unescape
from html.parser import HTMLParser
from pathlib import Path
from types import ModuleType
from typing import Any
from urllib.parse import unquote, urlsplit

import pytest
from pages import DOCS, ROOT, Page, built, pages

import tltrace_nb
from tltrace_nb import cli
from tltrace_nb.analysis import columns as analysis_columns
from tltrace_nb.base import errors
from tltrace_nb.data import columns as frame_columns
from tltrace_nb.simulator import errors as simulator_errors

pytest.importorskip("mkdocstrings", reason="mkdocstrings is not installed")
pytest.importorskip("material", reason="mkdocs-material is not installed")

BEHIND = [
    "analysis.table.Table",
    "core.api.TraceSwitch",
    "core.compile.options.TraceOptions",
    "core.runtime.overhead.Overhead",
    "data.tracefile.TraceMeta",
    "distributed.Gathered",
    "explorer.explorer.Explorer",
    "base.gpus.Gpu",
    "widget.pair.Pair",
]
"""What public calls return and take; ``trace`` is a ``TraceSwitch``."""
LIVE = {
    "index": 1,
    "gallery": 7,
    "how-to/full-gpu": 1,
    "how-to/mark-a-kernel": 1,
    "how-to/timeline": 1,
    "how-to/unmarked-kernel": 1,
    "how-to/waits": 1,
}
"""The pages with live timelines, and how many they have at least."""
MOST_BYTES = 500_000
"""Of a page that is a live timeline."""


class Html(HTMLParser):
    """What a page of the site refers to, and what can be referred to in it."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.links: list[str] = []
        self.loaded: list[str] = []
        self.anchors: set[str] = set()
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        for name, value in attributes:
            if name in ("id", "name") and value:
                self.anchors.add(value)
            elif name in ("href", "src", "srcset") and value:
                (self.links if tag == "a" else self.loaded).append(value)


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return built(tmp_path_factory.mktemp("site"))


@pytest.fixture(scope="module")
def html(site: Path) -> dict[Path, Html]:
    return {path: Html(path) for path in sorted(site.rglob("*.html"))}


@pytest.fixture(scope="module")
def documented(site: Path) -> set[str]:
    """The dotted names in the site's inventory: those that the reference has an entry for."""
    head, packed = b"", (site / "objects.inv").read_bytes()
    for _ in range(4):
        line, _, packed = packed.partition(b"\n")
        head += line
    assert b"zlib" in head
    return {line.split(" ", 1)[0] for line in zlib.decompress(packed).decode().splitlines()}


def page_of(site: Path, name: str) -> str:
    """A page of the reference as text, code without its colours."""
    return unescape(re.sub(r"</?span[^>]*>", "", (site / "reference" / f"{name}.html").read_text(encoding="utf-8")))


def test_every_link_leads_somewhere(site: Path, html: dict[Path, Html]) -> None:
    dead = []
    for path, page in html.items():
        for link in page.links + page.loaded:
            parts = urlsplit(link)
            if parts.scheme or link.startswith("//"):
                continue
            base = site if link.startswith("/") else path.parent
            target = (base / unquote(parts.path).lstrip("/")).resolve() if parts.path else path
            target = target / "index.html" if target.is_dir() else target
            if path.name == "404.html":  # its links are to the root of wherever the site lies
                continue
            in_page = parts.fragment and target.suffix == ".html"
            if not target.exists() or (in_page and unquote(parts.fragment) not in html[target].anchors):
                dead.append(f"{path.relative_to(site)}: {link}")
    assert not dead


@pytest.mark.parametrize(("name", "least"), LIVE.items())
def test_timelines_are_alive_where_they_say_more_than_words(
    name: str, least: int, html: dict[Path, Html], site: Path
) -> None:
    live = [link for link in html[site / f"{name}.html"].loaded if "live/" in link]
    assert len(live) >= least


def test_every_live_timeline_has_its_page_which_is_small(html: dict[Path, Html], site: Path) -> None:
    live = {(path.parent / link).resolve() for path, page in html.items() for link in page.loaded if "live/" in link}
    assert live == {path.resolve() for path in (site / "live").iterdir()}
    for path in live:
        assert "mount(" in path.read_text(encoding="utf-8")
        assert path.stat().st_size < MOST_BYTES


def test_every_live_timeline_has_two_things_to_try() -> None:
    for page in pages():
        for words in re.findall(r"<!-- live: \S+(?: ctas=\d+)? \| (.*?) -->", page.text, re.DOTALL):
            tried = words.partition("Try")[2]
            assert len(re.findall(r"[.;?](?:\s|$)", tried)) >= 2, f"{page.name}: {words}"


def test_a_page_loads_nothing_from_another_machine(html: dict[Path, Html]) -> None:
    assert not [link for page in html.values() for link in page.loaded if urlsplit(link).scheme not in ("", "data")]


def test_links_to_other_sites_are_encrypted(html: dict[Path, Html]) -> None:
    schemes = {urlsplit(link).scheme for page in html.values() for link in page.links}
    assert schemes <= {"", "https"}


@pytest.mark.parametrize("page", pages(), ids=lambda page: page.name)
def test_files_that_a_page_names_exist(page: Page) -> None:
    links = re.findall(r"\]\(([^)#\s]+)(?:#[^)]*)?\)|srcset=\"([^\"]+)\"|src=\"([^\"]+)\"", page.text)
    named = re.findall(r"`((?:benchmarks|docs|frontend|notebooks|tests|tltrace_nb)/[\w./-]*\w)`", page.text)
    run = re.findall(r"\bpython ((?:benchmarks|docs)/\S+\.py)\b", page.text)
    missing = [link for found in links for link in found if link and not urlsplit(link).scheme]
    missing = [link for link in missing if not (page.path.parent / link).exists()]
    missing += [name for name in named + run if not (ROOT / name).exists()]
    assert not missing


def test_anchors_that_the_readme_links_to_exist(html: dict[Path, Html], site: Path) -> None:
    links = re.findall(r"\]\(docs/([^)#\s]+)\.md#([^)]+)\)", (ROOT / "README.md").read_text())
    for page, anchor in links:
        assert anchor in html[site / f"{page}.html"].anchors, f"{page}.md#{anchor}"


def entries(value: Any) -> Iterator[str]:
    """The dotted names that the reference owes a module, a class or a function: its own, and its public members'."""
    if inspect.ismodule(value):
        yield from (value.__name__, *(f"{value.__name__}.{member}" for member in value.__all__))
        return
    name = f"{value.__module__}.{value.__qualname__}"
    yield name
    if inspect.isclass(value):
        ours = [base for base in value.__mro__ if base.__module__.startswith("tltrace_nb")]
        yield from (f"{name}.{member}" for base in ours for member in vars(base) if member[0] != "_")


@pytest.mark.parametrize("name", [each for each in tltrace_nb.__all__ if each not in ("__version__", "trace")])
def test_a_public_name_is_in_the_reference(name: str, documented: set[str]) -> None:
    assert f"tltrace_nb.{name}" in documented
    assert set(entries(getattr(tltrace_nb, name))) - documented == set()


@pytest.mark.parametrize("name", BEHIND)
def test_a_class_behind_them_is_in_the_reference(name: str, documented: set[str]) -> None:
    module, _, last = f"tltrace_nb.{name}".rpartition(".")
    assert not set(entries(getattr(importlib.import_module(module), last))) - documented


@pytest.mark.parametrize("module", [errors, simulator_errors], ids=["base", "simulator"])
def test_every_error_is_in_the_reference(module: ModuleType, documented: set[str]) -> None:
    own = [each for each in vars(module).values() if inspect.isclass(each) and issubclass(each, tltrace_nb.TraceError)]
    assert len(own) > 4
    assert not {f"{each.__module__}.{each.__qualname__}" for each in own} - documented


@pytest.mark.parametrize("module", [frame_columns, analysis_columns], ids=["frames", "analyses"])
def test_every_column_is_in_the_reference(module: ModuleType, documented: set[str], site: Path) -> None:
    text = page_of(site, "frames" if module is frame_columns else "analyses")
    frames = {name: columns for name, columns in vars(module).items() if name.isupper()}
    assert len(frames) > 4
    assert not [name for name in frames if f"{module.__name__}.{name}" not in documented]
    assert not [column for columns in frames.values() for column in columns if f'"{column}"' not in text]


def test_every_option_of_the_command_line_is_in_the_reference(site: Path) -> None:
    text = page_of(site, "command-line")
    commands = re.findall(r"\n    (\w+) ", cli._parser().format_help())
    assert "run" in commands
    assert not [name for name in commands if f"usage: tltrace {name}" not in text]


def test_every_option_of_the_magics_is_in_the_reference(site: Path) -> None:
    from tltrace_nb.magic import _FLAGS, _VALUED

    text = page_of(site, "magics")
    assert not [option for option in _FLAGS + _VALUED if option not in text]


def test_every_lesson_is_on_the_page_for_teachers() -> None:
    lessons = {path.stem for path in (ROOT / "notebooks").glob("*.ipynb")}
    assert lessons == set(
        re.findall(r"^\| `((?:\d\d|lab_\d)_\w+)` ", (DOCS / "teaching.md").read_text(encoding="utf-8"), re.MULTILINE)
    )
