"""What ranges waited for: arrows (``dag``) between the ranges that enclose no other, as plain arrays.

In: a part of a trace. Out: :class:`Links`. An arrow from a range that encloses others leads from the last of those
inside, one to such a range leads to the first inside. An arrow whose source ends after its destination is no
dependency: the pairing of the i-th with the i-th does not hold there; such arrows are left out and counted.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from tltrace_nb.analysis.ranges import Ranges
from tltrace_nb.analysis.spans import Axis, Ints

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tltrace_nb.analysis.parts import Part


@dataclass(frozen=True, slots=True)
class Links:
    """Arrows as positions in a :class:`Ranges`, and how many were left out.

    ``unsound`` of ``told`` are no dependencies; ``loose`` touch ranges that never ended, ``bound`` do not.
    """

    src: Ints
    dst: Ints
    told: int = 0
    unsound: int = 0
    loose: int = 0
    bound: int = 0


NO_LINKS = Links(np.zeros(0, np.int64), np.zeros(0, np.int64))
"""Those of a kernel without arrows."""


def links(part: Part, found: Ranges) -> Links:
    """The arrows among the ranges in ``found``, those of ``part``, that can be dependencies."""
    flows = part.flows
    position = np.full(len(part.events), -1, np.int64)
    position[found.row] = np.arange(len(found))
    label = int(part.events.index[0]) if len(part.events) else 0
    src, dst = (position[flows[side].to_numpy() - label] for side in ("src", "dst"))
    both = (src >= 0) & (dst >= 0)
    first, last = _inside(found)
    src, dst = last[src[both]], first[dst[both]]
    sound = (found.end[src] <= found.end[dst]) & (src != dst)
    bound = int(both.sum())
    return Links(src[sound], dst[sound], len(flows), int((~sound).sum()), len(flows) - bound, bound)


def links_notes(parts: Sequence[Links]) -> list[str]:
    """What is said of the arrows that were left out."""
    counts = ("told", "unsound", "loose", "bound")
    told, unsound, loose, bound = (sum(getattr(each, of) for each in parts) for of in counts)
    notes = []
    if unsound:
        notes.append(
            f"{unsound:,} of {told:,} arrows (dag) lead from a range that ended after its destination: they are no "
            "dependencies, and left out"
        )
    if bound and loose:
        notes.append(f"{loose:,} arrows touch ranges that never ended: left out")
    return notes


def _inside(found: Ranges) -> tuple[Ints, Ints]:
    """For each range the first and the last range inside it that enclose no other; itself where it encloses none.

    In the order of the events what is inside follows its range, up to the next that is not deeper.
    """
    each = np.arange(len(found))
    if not found.encloses.any():
        return each, each
    axis = Axis.of(found.tracks, found.start, found.end)
    starts, ends = axis.at(found.track, found.start), axis.at(found.track, found.end)
    order = np.argsort(starts, kind="stable")
    leaf = ~found.encloses[order]
    following = np.minimum.accumulate(np.where(leaf, each, len(found) - 1)[::-1])[::-1]
    # The last range of the track that starts before this one ends, or the last leaf before that.
    behind = np.maximum(np.searchsorted(starts[order], ends[order], side="left") - 1, each)
    preceding = np.maximum.accumulate(np.where(leaf, each, 0))[behind]
    first, last = np.empty_like(each), np.empty_like(each)
    first[order] = np.where(leaf, order, order[following])
    last[order] = np.where(leaf, order, order[preceding])
    return first, last
