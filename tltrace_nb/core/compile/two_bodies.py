"""A kernel of which some CTAs record holds two bodies: theirs, and the untraced one for all others.

In: a planned device function with records in it. Out: the function that, behind what both bodies share (shared memory,
barriers and their initialisation), branches once per CTA on whether it has a row in the slots.

A record costs a thread that does not write nearly what it costs one that does, above all the clock it reads; a branch
that a whole CTA takes costs nothing.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import tvm
from tvm import tirx

from tltrace_nb.core.compile.device import ENTER, PREFIX
from tltrace_nb.core.compile.ir import Stmt, flatten, op_name, rebuild, sequence, walk
from tltrace_nb.core.compile.same import untraced

_ROW = 3
"""Where ``__tlt_enter`` has the CTA's row, -1 without one, behind its name, the cursor and the slots."""


def with_plain_body(func: Any) -> Any:
    """The device function whose CTAs without a row run the untraced body, in a copy of its own.

    One whose records do not all stand behind ``__tlt_enter``, in the body that this is in, is returned as it is.
    """
    calls = list(_calls(func.body))
    branched = _branched(func.body)
    if sum(op_name(call) == ENTER for call in calls) != 1 or len(list(_calls(branched))) < len(calls):
        return func
    result = func.with_body(branched)
    # The bodies define the same variables, each of which the code generator wants to be defined once.
    (unique,) = tirx.transform.ConvertSSA()(tvm.IRModule({"main": result})).functions.values()
    return unique


def _calls(statement: Stmt) -> Iterator[Stmt]:
    return (s for s, _ in walk(statement) if op_name(s).startswith(PREFIX))


def _branched(statement: Stmt) -> Stmt:
    """The statement with a branch where ``__tlt_enter`` stands."""
    parts = flatten(statement) if isinstance(statement, tirx.SeqStmt) else [statement]
    at = next((i for i, part in enumerate(parts) if op_name(part) == ENTER), None)
    if at is None:
        return rebuild(statement, _branched)
    shared = [part for part in parts[at:] if _is_shared(part)]
    recording = sequence(part for part in parts[at:] if not _is_shared(part))
    branch = tirx.IfThenElse(parts[at].value.args[_ROW] >= 0, recording, untraced(recording))
    return sequence([*parts[:at], *shared, branch])


def _is_shared(statement: Stmt) -> bool:
    """Whether a statement declares memory that a CTA has once."""
    return isinstance(statement, tirx.AllocBuffer) and str(statement.buffer.scope()).startswith("shared")
