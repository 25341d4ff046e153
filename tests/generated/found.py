"""Kernels that the machine found once: each recorded something wrong, and must not again."""

from __future__ import annotations

from generated.nodes import Kernel

FOUND: dict[str, Kernel] = {}
"""By what was wrong."""
