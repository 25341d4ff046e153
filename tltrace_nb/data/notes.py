"""What a reader has written on a trace: notes on times of a CTA, or of one of its threads.

In: what a view or a file has. Out: :class:`Note`, kept in ``TraceMeta.notes`` and so saved with the trace, and a frame.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass, fields
from typing import TYPE_CHECKING, Any

from tltrace_nb.base.checks import wrong

if TYPE_CHECKING:
    import pandas as pd

COLUMNS = {"cta": "int64", "thread": "int64", "start": "int64", "end": "int64", "text": "str"}
"""The columns of ``Trace.notes``. ``thread`` is -1 where a note is on all threads; times are cycles since the CTA's
entry."""
MOST_CHARS = 500
"""Longest text of a note."""
_EXACT = 2**53


@dataclass(frozen=True, slots=True)
class Note:
    """A text on the time from ``start`` to ``end`` of a CTA, in cycles, on a thread or on all (-1)."""

    cta: int
    start: int
    end: int
    text: str
    thread: int = -1


def notes_of(raw: Any) -> tuple[Note, ...]:
    """Notes out of plain values, dictionaries with the fields of one. Raises ``ValueError`` for anything else."""
    names = [each.name for each in fields(Note)]
    found = []
    for each in raw:
        if not isinstance(each, dict) or not isinstance(each.get("text"), str):
            raise ValueError(f"a note has {', '.join(names)}")
        numbers = {name: each.get(name, -1) for name in names if name != "text"}
        if not all(type(value) is int and abs(value) < _EXACT for value in numbers.values()):
            raise ValueError(f"the {', '.join(numbers)} of a note are whole numbers")
        found.append(Note(text=each["text"][:MOST_CHARS], **numbers))
    return tuple(found)


def frame_of(notes: Iterable[Note]) -> pd.DataFrame:
    """Notes as rows, in the order in which they were written."""
    import pandas as pd

    rows = pd.DataFrame([asdict(note) for note in notes], columns=list(COLUMNS))
    return rows.astype(COLUMNS)


def from_frame(frame: object) -> tuple[Note, ...]:
    """The notes in the rows of a frame; ``thread`` may be missing.

    Raises ``ValueError`` for other columns, ``TypeError`` for what is no frame.
    """
    import pandas as pd

    if not isinstance(frame, pd.DataFrame):
        wrong("notes", frame, f"a DataFrame with the columns {', '.join(COLUMNS)}", TypeError)
    lacking = [column for column in COLUMNS if column not in frame and column != "thread"]
    if lacking:
        wrong("notes", frame, f"a DataFrame with the columns {', '.join(COLUMNS)}; it lacks {', '.join(lacking)}")
    columns = [column for column in COLUMNS if column in frame]
    return notes_of(
        {key: str(value) if key == "text" else int(value) for key, value in row.items()}
        for row in frame[columns].to_dict("records")
    )
