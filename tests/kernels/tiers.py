"""Which reference kernels a tier tries: one of each kind by default, nearly all in ``wide``, all in ``full``."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest

from kernels.reference import Reference

OFTEN = frozenset(
    {
        "attention",
        "branches",
        "cluster",
        "crossing",
        "dynamic_gemm",
        "early_return",
        "every_warp",
        "gemm_3",
        "gemm_3_unspecialised",
        "payloads",
        "persistent",
        "ragged_pipeline",
        "rasterised_gemm",
        "softmax",
        "specialised_gemm",
        "two_launches",
    }
)
"""One kernel of each kind of schedule, control flow and writer."""


PIPELINED = frozenset({"gemm_3", "persistent", "ragged_pipeline"})
"""Of these, the ones that TileLang schedules in another way on an older architecture: asynchronous copies, not TMA."""


def tier(reference: Reference) -> list[Any]:
    """The marks of a test of this reference."""
    if reference.full:
        return [pytest.mark.full]
    return [] if reference.name in OFTEN else [pytest.mark.wide]


def cases(references: Iterable[Reference], *, newest: bool = False) -> list[Any]:
    """Each reference on each architecture that it is meant for; by default on the newest of them alone.

    Unless only the ``newest`` is asked for, those that are ``PIPELINED`` are on each by default.
    """

    def also(reference: Reference, architecture: str) -> list[Any]:
        older = architecture != reference.architectures[-1]
        return [pytest.mark.wide] if older and (newest or reference.name not in PIPELINED) else []

    return [
        pytest.param(
            reference,
            architecture,
            id=f"{reference}-{architecture}",
            marks=tier(reference) or also(reference, architecture),
        )
        for reference in references
        for architecture in reference.architectures
    ]
