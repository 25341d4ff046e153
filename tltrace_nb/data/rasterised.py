"""Rasterised grids: which block a CTA is to its kernel where ``T.use_swizzle`` reorders the grid.

In: linear ids of CTAs as the hardware counts them, the grid, a :class:`~tltrace_nb.data.sites.Rasterisation`. Out:
block indices. The frames and the virtual GPU both use this function.

It computes what TileLang's ``tl_templates/cuda/threadblock_swizzle.h`` does: the grid is cut into panels, a few rows
(or columns) thick, and each is walked along its length, one to and the next fro. The CTAs of a cluster stay side by
side. ``z`` stays as it is.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from tltrace_nb.data.sites import ROW, Rasterisation

Int64s = npt.NDArray[np.int64]

UNKNOWN = -1
"""Block index where a pattern is not known."""


def block_indices(cta: Int64s, grid: Sequence[int], rasterisation: Rasterisation | None) -> Int64s:
    """The block indices x, y, z of CTAs of a ``grid`` (x, y, z), ``int64[3, n]``; ``UNKNOWN`` for unknown patterns."""
    width, height = (np.int64(extent) for extent in grid[:2])
    x, y, z = cta % width, cta // width % height, cta // (width * height)
    if rasterisation is None:
        return np.stack([x, y, z])
    pattern = rasterisation
    if not pattern.known or width % pattern.cluster:
        return np.full((3, len(cta)), UNKNOWN)
    columns = width // pattern.cluster
    x, y = _walked(x // pattern.cluster, y, columns, height, pattern)
    return np.stack([x * pattern.cluster + cta % width % pattern.cluster, y, z])


def _walked(x: Int64s, y: Int64s, columns: Any, rows: Any, pattern: Rasterisation) -> tuple[Int64s, Int64s]:
    """Where clusters of the plane ``columns`` x ``rows`` come to lie."""
    thick = pattern.panel // pattern.cluster
    length = columns if pattern.function == ROW else rows
    number = x + y * columns
    panel, step = number // (thick * length), number % (thick * length)
    # The last panel may be thinner.
    left = (columns * rows - panel * thick * length) // length
    across = np.minimum(thick, left)
    along = step // across
    along = np.where(panel % 2 == 1, length - 1 - along, along)
    over = step % across + panel * thick
    return (along, over) if pattern.function == ROW else (over, along)
