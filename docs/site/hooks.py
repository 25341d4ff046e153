"""What the site's pages need beside Markdown: help texts, timelines that are alive, pictures in its colours.

In: a page with lines ``<!-- help: COMMAND -->`` and ``<!-- live: DATASET ctas=2 | WHAT TO TRY -->``, and ``<picture>``
elements. Out: the same, with what ``tltrace COMMAND --help`` prints, a timeline of the data set in place of the
picture that follows it, if there is one, and of every other picture the one for the colours that the reader chose.
Each timeline is a page of its own beside the others, made with the site: nothing is fetched, and it works from a
folder.
"""

from __future__ import annotations

import contextlib
import io
import os
import re
from pathlib import Path
from typing import Any

from tltrace_nb import datasets
from tltrace_nb.cli import main

_HELP = re.compile(r"<!-- help: ?(?P<command>.*?) ?-->")
_LIVE = re.compile(
    r"<!-- live: (?P<name>\S+?)(?: ctas=(?P<ctas>\d+))? \| (?P<words>.*?) -->(?:\s*<picture>.*?</picture>)?", re.DOTALL
)
_PICTURE = re.compile(
    r'<picture>\s*<source media="\(prefers-color-scheme: dark\)" srcset="(?P<dark>[^"]+)">'
    r'\s*<img alt="(?P<alt>[^"]+)" src="(?P<light>[^"]+)">\s*</picture>'
)
_HEIGHT, _LANES = 560, 330
"""Pixels of a timeline in a page; and of its lanes, which scroll, where it is of all CTAs."""


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Called by MkDocs for each page."""
    up = "../" * page.file.src_uri.count("/")

    def live(found: re.Match[str]) -> str:
        name = found["name"]
        return (
            f'<iframe class="live" src="{up}{_address(found)}" title="Timeline of {name}" height="{_HEIGHT}" '
            f'loading="lazy"></iframe>\n\n{found["words"]}'
        )

    helped = _HELP.sub(lambda found: f"```text\n{help_text(found['command'].split())}```", markdown)
    return _PICTURE.sub(_of_both_schemes, _LIVE.sub(live, helped))


def on_page_content(html: str, page: Any, **_: Any) -> str:
    """Called by MkDocs when a page is HTML: columns with nothing in them leave their room to the page."""
    beside = {"navigation": page.parent is not None, "toc": any(heading.children for heading in page.toc)}
    page.meta["hide"] = [column for column, filled in beside.items() if not filled]
    return html


def _of_both_schemes(found: re.Match[str]) -> str:
    """A picture for each of the theme's schemes: ``<picture>`` knows only that of the system."""
    return "\n".join(f'<img alt="{found["alt"]}" src="{found[scheme]}#only-{scheme}">' for scheme in ("light", "dark"))


def on_post_build(config: Any, **_: Any) -> None:
    """Called by MkDocs when the pages are written: the timelines in them are made."""
    for page in Path(config["docs_dir"]).rglob("*.md"):
        for found in _LIVE.finditer(page.read_text(encoding="utf-8")):
            path = Path(config["site_dir"]) / _address(found)
            path.parent.mkdir(exist_ok=True)
            ctas = int(found["ctas"]) if found["ctas"] else None
            datasets.load(found["name"]).to_html(path, ctas=ctas, height=_LANES if ctas is None else None)


def _address(found: re.Match[str]) -> str:
    """Where the page of a timeline lies in the site."""
    part = f"-{found['ctas']}" if found["ctas"] else ""
    return f"live/{found['name'].rpartition('/')[2]}{part}.html"


def help_text(command: list[str]) -> str:
    """What the command line says of itself, in lines of 100 characters."""
    os.environ["COLUMNS"] = "100"
    with contextlib.redirect_stdout(io.StringIO()) as out:
        main([*command, "--help"])
    return out.getvalue()
