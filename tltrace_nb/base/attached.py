"""What belongs to an object of somebody else, and lives as long as that: TileLang's builder, IPython's shell, a trace.

In: the object, and the class of what belongs to it. Out: the one of that class, made when first asked for. No other
module puts anything on an object that is not its own.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

T = TypeVar("T")
_PREFIX = "_tltrace_"


def attached(owner: Any, kind: type[T]) -> T:
    """The ``kind`` of ``owner``; a copy of the owner shares it, unless it is copied ``without_attached``."""
    found: T = vars(owner).setdefault(_PREFIX + kind.__name__, kind())
    return found


def without_attached(state: Mapping[str, Any]) -> dict[str, Any]:
    """What a copy or a pickle of an owner holds."""
    return {name: value for name, value in state.items() if not name.startswith(_PREFIX)}
