"""What the site's pages need beside Markdown: the help texts of the command line.

In: a page with lines ``<!-- help: COMMAND -->``. Out: the same, with what ``tltrace COMMAND --help`` prints instead.
"""

from __future__ import annotations

import contextlib
import io
import os
import re
from typing import Any

from tltrace_nb.cli import main

_HELP = re.compile(r"<!-- help: ?(?P<command>.*?) ?-->")


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Called by MkDocs for each page."""
    return _HELP.sub(lambda found: f"```text\n{help_text(found['command'].split())}```", markdown)


def help_text(command: list[str]) -> str:
    """What the command line says of itself, in lines of 100 characters."""
    os.environ["COLUMNS"] = "100"
    with contextlib.redirect_stdout(io.StringIO()) as out:
        main([*command, "--help"])
    return out.getvalue()
