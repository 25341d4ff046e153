"""How much is tried of what could be tried without end: by default half of what the ``wide`` tier tries."""

from __future__ import annotations

wide = False
"""Whether the ``wide`` tests run; ``conftest`` says so before tests are collected."""


def examples(most: int) -> int:
    """Examples that Hypothesis tries, ``most`` in the wide tier."""
    return most if wide else most // 2
