"""How far apart colours are for people who see all of them, and for those who lack one kind of cones."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]

SIGHTS = {
    "all": np.eye(3),
    "protanopia": [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]],
    "deuteranopia": [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.01182, 0.04294, 0.968881]],
    "tritanopia": [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.3039]],
}
"""What becomes of linear RGB: Machado, Oliveira and Fernandes, 2009, at full severity."""
_XYZ = [[0.4124564, 0.3575761, 0.1804375], [0.2126729, 0.7151522, 0.0721750], [0.0193339, 0.1191920, 0.9503041]]
_WHITE = [0.95047, 1.0, 1.08883]


def apart(colors: list[str], others: list[str], sight: str) -> Floats:
    """CIEDE2000 between every colour and every other one, as somebody with this sight sees them."""
    return _ciede2000(_lab(colors, sight)[:, None], _lab(others, sight)[None])


def least_apart(colors: list[str]) -> float:
    """Of the pair that is hardest to tell apart, in the sight for which it is."""
    pairs = np.triu_indices(len(colors), 1)
    return float(min(apart(colors, colors, sight)[pairs].min() for sight in SIGHTS))


def _lab(colors: list[str], sight: str) -> Floats:
    coded = np.array([list(bytes.fromhex(color[1:])) for color in colors]) / 255
    linear = np.where(coded <= 0.04045, coded / 12.92, ((coded + 0.055) / 1.055) ** 2.4)
    seen = np.clip(linear @ np.transpose(SIGHTS[sight]), 0, 1)
    xyz = seen @ np.transpose(_XYZ) / _WHITE
    x, y, z = np.where(xyz > (6 / 29) ** 3, np.cbrt(xyz), (xyz * (29 / 3) ** 3 + 16) / 116).T
    return np.stack([116 * y - 16, 500 * (x - y), 200 * (y - z)], axis=-1)


def _ciede2000(first: Floats, second: Floats) -> Floats:
    (l1, a1, b1), (l2, a2, b2) = np.moveaxis(first, -1, 0), np.moveaxis(second, -1, 0)
    seventh = ((np.hypot(a1, b1) + np.hypot(a2, b2)) / 2) ** 7
    grown = 1.5 - 0.5 * np.sqrt(seventh / (seventh + 25.0**7))
    a1, a2 = a1 * grown, a2 * grown
    c1, c2 = np.hypot(a1, b1), np.hypot(a2, b2)
    h1, h2 = np.degrees(np.arctan2(b1, a1)) % 360, np.degrees(np.arctan2(b2, a2)) % 360
    turn = np.where(c1 * c2 == 0, 0, (h2 - h1 + 180) % 360 - 180)
    hue = 2 * np.sqrt(c1 * c2) * np.sin(np.radians(turn / 2))
    light, chroma = (l1 + l2) / 2, (c1 + c2) / 2
    h = np.where(np.abs(h1 - h2) > 180, (h1 + h2 + 360) / 2, (h1 + h2) / 2)
    waves = ((-0.17, 1, -30), (0.24, 2, 0), (0.32, 3, 6), (-0.2, 4, -63))
    t = 1 + sum(size * np.cos(np.radians(times * h + shift)) for size, times, shift in waves)
    by_light = (l2 - l1) / (1 + 0.015 * (light - 50) ** 2 / np.sqrt(20 + (light - 50) ** 2))
    by_chroma, by_hue = (c2 - c1) / (1 + 0.045 * chroma), hue / (1 + 0.015 * chroma * t)
    bend = np.sin(np.radians(60 * np.exp(-(((h - 275) / 25) ** 2))))
    mixed = -2 * np.sqrt(chroma**7 / (chroma**7 + 25.0**7)) * bend
    found: Floats = np.sqrt(by_light**2 + by_chroma**2 + by_hue**2 + mixed * by_chroma * by_hue)
    return found
