"""One language: the field's words, in pages, lessons, docstrings and what the package says.

A word of our own for a thing that has a name costs a reader a search. The list has what was once written.
"""

from __future__ import annotations

import ast
import re
from pathlib import Path

import nbformat
import pytest

ROOT = Path(__file__).parents[2]
EVERYWHERE = {
    r"\bcards?\b": "GPU",
    r"\bplaces? (of all waves|per SM|of the GPU|becomes? free|gets? free)|\bfree places?\b": "CTA slot",
    r"\bCTAs (are )?handed out|\bhands? (out (its |the )?CTAs|them out)|\bhanding out\b": "the block scheduler",
    r"\bturns? of (a|the|its|several) (\w+ )?loops?\b|\bloop'?s? turns?\b": "iteration",
    r"\bwander": "threads exchange it",
    r"\bpart(s|ed)? (it|them) go\b|\bit parts go\b": "warps that go different ways",
    r"says the (number|clock rate)\b": "the number of … says",
    r"\ba part more for each\b": "one more part for each",
}
"""Pattern: what is said instead. In pages, lessons, docstrings, and all strings of the package."""
PROSE = EVERYWHERE | {
    r"(?<!matrix )(?<!same )\bproducts\b|\b(the|an?|each|its|one|every|first|last|next|single|either) product\b": "MMA",
    r"\b(each|every|one|per|this|several|eight|sixteen|half as many|\d[\d,]*) turns?\b": "iteration",
    r"\bin turn\b": "one after the other, round-robin",
    r"\btook? turns\b|\btakes? turns\b": "alternate",
}
"""Also in pages and lessons, where no code has the word for something else."""
FENCE = re.compile(r"```.*?```|~~~.*?~~~|`[^`\n]*`", re.DOTALL)
OUTSIDE = {"docs/reference"}
"""Reference pages are made of docstrings, which are read as such."""


def prose(text: str) -> str:
    """A page without its code."""
    return FENCE.sub(lambda found: "\n" * found[0].count("\n") or " ", text)


def pages() -> list[Path]:
    found = [*(ROOT / "docs").rglob("*.md"), ROOT / "CONTRIBUTING.md", ROOT / "README.md"]
    return sorted(path for path in found if path.relative_to(ROOT).parent.as_posix() not in OUTSIDE)


def found(text: str, words: dict[str, str]) -> list[str]:
    """Each word of the list that a text has, with the line and what is said instead."""
    return [
        f"line {text[: hit.start()].count(chr(10)) + 1}: {hit[0]!r}, say: {instead}"
        for pattern, instead in words.items()
        for hit in re.finditer(pattern, text, re.IGNORECASE)
    ]


@pytest.mark.parametrize("page", pages(), ids=lambda path: path.relative_to(ROOT).as_posix())
def test_a_page_has_the_fields_words(page: Path) -> None:
    assert found(prose(page.read_text(encoding="utf-8")), PROSE) == []


@pytest.mark.parametrize("lesson", sorted((ROOT / "notebooks" / "teacher").glob("*.ipynb")), ids=lambda path: path.stem)
def test_a_lesson_has_the_fields_words(lesson: Path) -> None:
    cells = nbformat.read(lesson, as_version=4).cells
    for cell in cells:
        text, words = (prose(cell.source), PROSE) if cell.cell_type == "markdown" else (cell.source, EVERYWHERE)
        assert found(text, words) == [], cell.source


@pytest.mark.parametrize(
    "module",
    sorted((ROOT / "tltrace_nb").rglob("*.py")),
    ids=lambda path: path.relative_to(ROOT).as_posix(),
)
def test_what_a_module_says_has_the_fields_words(module: Path) -> None:
    tree = ast.parse(module.read_text(encoding="utf-8"))
    strings = [n.value for n in ast.walk(tree) if isinstance(n, ast.Constant) and isinstance(n.value, str)]
    assert [hit for text in strings for hit in found(text, EVERYWHERE)] == []


def test_a_word_of_the_list_is_found_with_what_to_say() -> None:
    assert found("It runs\non a card.", EVERYWHERE) == ["line 2: 'card', say: GPU"]
    assert found("a matrix product, and `product` in code", PROSE) == []
