"""The pages of the documentation and the fenced blocks in them.

In: ``README.md`` and ``docs/**/*.md``. Out: :class:`Page`, :class:`Block`, and the site that is built of them. What a
block's fence says decides what happens to it:

- ``python`` runs in an IPython shell, the blocks of a page one after another in one namespace;
- ``python title="NAME"`` is written to the file of that name;
- ``sh`` runs in a shell, in the folder of the page's files;
- ``text`` right behind one that ran is what it printed, ``...`` for what differs from run to run;
- ``<!-- not run: REASON -->`` in the line before a block says that it cannot run here.
"""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise, zip_longest
from pathlib import Path

from sybil import Document
from sybil.parsers.markdown.lexers import RawFencedCodeBlockLexer

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"

_FENCES = RawFencedCodeBlockLexer(re.compile(r"(?P<language>\S*)(?: title=\"(?P<title>[^\"]+)\")?(?P<rest>[^\n]*)\n"))
_NOT_RUN = re.compile(r"<!-- not run: (.+) -->\n+[ ]*\Z")


@dataclass(frozen=True, slots=True)
class Block:
    """One fenced block. ``line`` is that of its fence; ``title`` a file's name; ``reason`` why it cannot run."""

    line: int
    language: str
    source: str
    title: str | None
    reason: str | None
    output: str | None


@dataclass(frozen=True, slots=True)
class Page:
    """A Markdown file of the documentation."""

    path: Path

    @property
    def name(self) -> str:
        """Its path in the repository."""
        return self.path.relative_to(ROOT).as_posix()

    @property
    def text(self) -> str:
        """Its Markdown."""
        return self.path.read_text(encoding="utf-8")

    def blocks(self) -> Iterator[Block]:
        """Its fenced blocks, but for those that are the output of the one before."""
        text = self.text
        regions = sorted(_FENCES(Document(text, str(self.path))), key=lambda region: region.start)
        outputs: list[str | None] = [
            str(later.lexemes["source"])
            if later.lexemes["language"] == "text" and not text[region.end : later.start].strip()
            else None
            for region, later in pairwise(regions)
        ]
        was_output = False
        for region, output in zip_longest(regions, outputs):
            skipped = was_output
            runs = region.lexemes["language"] in ("python", "sh")
            was_output = runs and output is not None
            if skipped:
                continue
            found = _NOT_RUN.search(text[: region.start])
            yield Block(
                line=text.count("\n", 0, region.start) + 1,
                language=region.lexemes["language"] + region.lexemes["rest"],
                source=str(region.lexemes["source"]),
                title=region.lexemes["title"],
                reason=found[1] if found else None,
                output=output if runs else None,
            )


def built(folder: Path) -> Path:
    """The site, built without a warning: a page outside of the menu is one, too."""
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(folder)]
    made = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=300, check=False)
    assert made.returncode == 0, made.stdout + made.stderr
    return folder


def pages() -> list[Page]:
    """The README and every page of the site."""
    return [Page(ROOT / "README.md"), *(Page(path) for path in sorted(DOCS.rglob("*.md")))]
