"""One colour per event name, safe for colour-blind readers.

In: names. Out: ``#rrggbb`` strings. The palette was chosen by search: any two of its first 8 colours are at least 15
apart (CIEDE2000), of the first 12 at least 11, of the first 16 at least 9, of the first 24 at least 7 and of all 40 at
least 6, and each is 15 from a white and from a near-black ground: for those who see all colours, and as simulated for
people without red, green or blue cones.
"""

from __future__ import annotations

import itertools
import re
import zlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator

PALETTE = (
    "#1e78b4", "#f0a500", "#2d5a3c", "#2dd2b4", "#b4b4f0", "#f04b78", "#87780f", "#783c69",
    "#a5d287", "#8778ff", "#c387b4", "#962d00",
    "#0f4bb4", "#c3004b", "#009669", "#a5a55a",
    "#5a5a87", "#f0d25a", "#b4871e", "#0f785a", "#c3694b", "#ff87a5", "#a587d2", "#965a78",
    "#3f0f5f", "#4f1f0f", "#cfffbf", "#1f0f9f", "#7f9f8f", "#6f1fff", "#cfafcf", "#af6f8f",
    "#2f3f7f", "#9fdfff", "#7fff8f", "#8f9fff", "#0f1fcf", "#7f4fff", "#4f5f2f", "#bf3fbf",
)  # fmt: skip
ROUNDS = (8, 4, 4, 8, 16)
"""How many colours of the palette are given out before the next are, which are harder to tell apart."""

OTHER = "#8a8f96"
"""The strip that several names share."""
WARNING = "#d9480f"
"""Text that must not be overlooked (losses); readable on white and on near-black."""


def _mix(color: str, other: str, share: float) -> str:
    """``color`` with ``share`` (0 to 1) of ``other`` in it."""
    pairs = zip(bytes.fromhex(color[1:]), bytes.fromhex(other[1:]), strict=True)
    return "#" + "".join(f"{round(a + (b - a) * share):02x}" for a, b in pairs)


_INNER = frozenset({"reduce", "cumsum", "cummax", "initialise", "finalise", "parallel", "atomic", "copy"})
"""How names of automatic markers begin that the light set leaves out of innermost loops."""
_GLOBAL = re.compile(r"\b[A-Z][A-Za-z0-9]*\b")
"""What tensors in global memory are called by convention; copies from and to them are in the light set."""


def name_colors(names: Iterable[str], last: Collection[str] = ()) -> dict[str, str]:
    """The colour of every name.

    A name's checksum says where in a round of the palette its search for a free colour begins; rounds follow each
    other, after the last the first again. So the same set of names, in any order and any process, has the same colours,
    and two names of one kernel do not look alike. What light and full traces both have comes first, so that it has one
    colour in both, and a ``ready`` of a light trace that of the ``wait`` in whose place it stands; ``last`` are names
    of which it is known that only full ones have them. Pass all names of a trace, not only those in view.
    """
    keys = {name: _key(name) for name in names}
    colors: dict[str, str] = {}
    rounds = _rounds()
    given, free = next(rounds), set[str]()
    for key in sorted(set(keys.values()), key=lambda key: (key in last, _rank(key), key)):
        if not free:
            given = next(rounds) if colors else given
            free = set(given)
        begin = zlib.crc32(key.encode("utf-8", "surrogatepass")) % len(given)
        colors[key] = next(color for color in given[begin:] + given[:begin] if color in free)
        free.remove(colors[key])
    return {name: colors[key] for name, key in keys.items()}


def _key(name: str) -> str:
    """The name that decides on the colour."""
    return re.sub("^ready ", "wait ", name)


def _rank(key: str) -> int:
    """How sure it is that a name of a full trace is in the light one, the surest first."""
    verb = key.partition(" ")[0]
    if verb == "arrive" or key.startswith("wait free "):
        return 4
    if verb in _INNER and not (verb == "copy" and _GLOBAL.search(key)):
        return 3
    return {"wait": 1, "fill": 2}.get(verb, 0)


def _rounds() -> Iterator[tuple[str, ...]]:
    """The colours of one round after the other, without end."""
    ends = tuple(itertools.accumulate(ROUNDS))
    return itertools.cycle(PALETTE[end - size : end] for size, end in zip(ROUNDS, ends, strict=True))


def border(color: str) -> str:
    """The outline of a bar: darker, so that bars of one name side by side, and bars under a pixel, stay visible."""
    return _mix(color, "#000000", 0.35)


def ink(color: str) -> str:
    """Black or white, whichever is read more easily on ``color``."""
    channels = (value / 255 for value in bytes.fromhex(color[1:]))
    linear = [value / 12.92 if value <= 0.04045 else ((value + 0.055) / 1.055) ** 2.4 for value in channels]
    luminance = 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]
    return "#111111" if luminance > 0.18 else "#ffffff"
