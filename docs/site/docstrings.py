"""Docstrings as Markdown: the few marks of reStructuredText in them become those of Markdown.

In: the docstrings that Griffe reads. Out: the same, with fences around ``>>>`` lines and around indented text behind
``::``, and names in place of ``:class:`` roles.
"""

from __future__ import annotations

import re
from textwrap import dedent
from typing import Any

import griffe

_ROLE = re.compile(r":\w+:`~?(?:[\w.]*\.)?(\w+)`")
_PROMPT = re.compile(r"(?m)^(?:>>> .*\n?)(?:(?:>>>|\.\.\.) ?.*\n?)*")
_LITERAL = re.compile(r"(?m)^(?P<head>.*)::\n\n(?P<body>(?:[ ]+.*\n?|\n(?=[ ]))+)")


def markdown(text: str) -> str:
    """The text of a docstring as Markdown."""
    text = _ROLE.sub(r"`\1`", text)
    text = _LITERAL.sub(lambda found: f"{found['head']}:\n\n{_fenced(dedent(found['body']))}", text)
    return _PROMPT.sub(lambda found: _fenced(re.sub(r"(?m)^(?:>>>|\.\.\.) ?", "", found[0]), "python"), text)


def _fenced(body: str, language: str = "text") -> str:
    return f"```{language}\n{body.rstrip()}\n```\n"


class Docstrings(griffe.Extension):
    """Rewrites every docstring once, when its object has been read."""

    def on_object(self, *, obj: griffe.Object, **_: Any) -> None:
        """Called by Griffe for each module, class, function and attribute."""
        if obj.docstring:
            obj.docstring.value = markdown(obj.docstring.value)
