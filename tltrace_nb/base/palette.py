"""One colour per event name, safe for colour-blind readers.

In: names. Out: ``#rrggbb`` strings. The palette is Okabe and Ito's without black, then lighter and darker rounds of it.
"""

from __future__ import annotations

import zlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

OKABE_ITO = ("#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00", "#f0e442", "#999999")
"""Eight colours that people with any common colour blindness tell apart."""

OTHER = "#8a8f96"
"""The strip that several names share."""
WARNING = "#d9480f"
"""Text that must not be overlooked (losses); readable on white and on near-black."""


def _mix(color: str, other: str, share: float) -> str:
    """``color`` with ``share`` (0 to 1) of ``other`` in it."""
    pairs = zip(bytes.fromhex(color[1:]), bytes.fromhex(other[1:]), strict=True)
    return "#" + "".join(f"{round(a + (b - a) * share):02x}" for a, b in pairs)


PALETTE = (
    *OKABE_ITO,
    *(_mix(color, "#ffffff", 0.5) for color in OKABE_ITO),
    *(_mix(color, "#000000", 0.4) for color in OKABE_ITO),
)


def name_colors(names: Iterable[str]) -> dict[str, str]:
    """The colour of every name.

    A name's checksum says where among the eight its search for a free colour begins; after eight names the next,
    lighter round is used, and after 24 the first again. So the same set of names, in any order and any process, has the
    same colours, and two names of one kernel do not look alike. Pass all names of a trace, not only those in view.
    """
    colors: dict[str, str] = {}
    free: list[str] = []
    round_size = len(OKABE_ITO)
    for position, name in enumerate(sorted(set(names))):
        first = position // round_size * round_size % len(PALETTE)
        if position % round_size == 0:
            free = list(PALETTE[first : first + round_size])
        begin = zlib.crc32(name.encode("utf-8", "surrogatepass")) % round_size
        wanted = PALETTE[first + begin :] + PALETTE[first:]
        colors[name] = next(color for color in wanted if color in free)
        free.remove(colors[name])
    return colors


def border(color: str) -> str:
    """The outline of a bar: darker, so that bars of one name side by side, and bars under a pixel, stay visible."""
    return _mix(color, "#000000", 0.35)


def ink(color: str) -> str:
    """Black or white, whichever is read more easily on ``color``."""
    channels = (value / 255 for value in bytes.fromhex(color[1:]))
    linear = [value / 12.92 if value <= 0.04045 else ((value + 0.055) / 1.055) ** 2.4 for value in channels]
    luminance = 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]
    return "#111111" if luminance > 0.18 else "#ffffff"
