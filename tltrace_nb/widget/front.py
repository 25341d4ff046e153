"""The front end as Python hands it out: to models, and with the outputs that a notebook saves.

In: ``static/timeline.js``, built from ``frontend/src``. Out: the module of every model, and the HTML of a timeline that
is saved with its events and draws itself where no kernel answers.
"""

from __future__ import annotations

import base64
import gzip
import hashlib
import json
from html import escape
from importlib.resources import files
from string import Template
from typing import Any

STILL = "tltrace-still"
"""Class of the still pictures that stand for timelines."""

NOT_SAVED = "The events are not saved with the notebook, they are too many; trace.timeline(save=True) saves them."


def _resource(*path: str) -> str:
    return files(__package__).joinpath(*path).read_text(encoding="utf-8")


SCRIPT = gzip.compress(_resource("static", "timeline.js").encode(), 9, mtime=0)
"""The front end, packed."""
EDITION = f"tltrace-timeline-{hashlib.sha256(SCRIPT).hexdigest()[:16]}"
"""What the front end is known by in a page; also the name of the element that draws saved events."""
_EVALUATED = Template(_resource("evaluated.js")).substitute(edition=EDITION)
LOADER = Template(_resource("loader.js")).substitute(evaluated=_EVALUATED)
"""The module that every model brings along."""


def saved_html(picture: str, still: str, header: str, columns: bytes, options: dict[str, Any], *, front: bool) -> str:
    """The timeline as an output that a notebook saves: interactive where scripts run, else the picture.

    ``picture``: HTML of the still form. ``still``: class by which the widget, whose output follows, hides this one.
    ``columns``: gzip of the events; empty where they are too large to be saved. ``front``: bring the front end along.

    As long as the next output of the cell has no timeline in it, it is not seen: a widget without its model is an error
    message. Where a notebook is not trusted, what is not the picture is taken out.
    """
    following = f".jp-OutputArea-child:has(> .jp-OutputArea-output > .{still}) + .jp-OutputArea-child"
    style = f"<style>{following}:not(:has(.tlt, .tlt-error)) {{ display: none; }}</style>"
    if not columns:
        picture += f'<p class="note">{NOT_SAVED}</p>'
    else:
        facts = {"header": header, "columns": base64.b64encode(columns).decode(), "options": json.dumps(options)}
        data = "".join(f' data-{key}="{escape(value)}"' for key, value in facts.items())
        picture = f'<{EDITION} style="display: block"{data}>{picture}</{EDITION}>'
    script = f"<script>{_saved_script()}</script>" if front and columns else ""
    return f'<div class="{STILL} {still}">{style}{picture}{script}</div>'


def _saved_script() -> str:
    return Template(_resource("saved.js")).substitute(evaluated=_EVALUATED, packed=base64.b64encode(SCRIPT).decode())
