"""How much is tried of what could be tried without end: by default half of what the ``wide`` tier tries."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

import pytest

wide = False
"""Whether the ``wide`` tests run; ``conftest`` says so before tests are collected."""


def examples(most: int) -> int:
    """Examples that Hypothesis tries, ``most`` in the wide tier."""
    return most if wide else most // 2


def leave_some(items: Iterable[pytest.Item]) -> None:
    """Mark as ``wide`` all but n cases of a test marked ``some(n)``, evenly chosen of those that are not yet."""
    cases = defaultdict(list)
    for item in items:
        if item.get_closest_marker("some") and not any(item.get_closest_marker(tier) for tier in ("wide", "full")):
            cases[item.nodeid.partition("[")[0]].append(item)
    for several in cases.values():
        n = several[0].get_closest_marker("some").args[0]
        kept = {i * len(several) // n for i in range(n)}
        for i, item in enumerate(several):
            if i not in kept:
                item.add_marker("wide")
