"""Files that were traces once: damaged at every level, from bits of the zip to what the description says.

In: a seed. Out: the bytes of a file, and which kind of damage was done to them.
"""

from __future__ import annotations

import copy
import io
import json
import random
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

FOLDER = Path(__file__).parents[1] / "recorded"
SOURCES = ("attention_backward", "collatz", "dynamic_add", "experts", "payloads", "two_launches", "unrolled")

NUMBERS = (
    0, 1, -1, 2, 7, 255, 65535, 65536, 2**31 - 1, 2**31, -(2**31), 2**32 - 1, 2**48, 2**53, 2**63 - 1, -(2**63), 2**64,
    10**9, 10**30, 1e308, -0.0, 0.5, float("nan"), float("inf"),
)  # fmt: skip
VALUES: tuple[Any, ...] = (
    *NUMBERS, None, True, False, "", "x", "\ud800", "\0", "<script>", "a" * 5000, "1", "light", [], {}, [[]], [None],
    [1, 1, 1], [10**30, 1, 1], {"runs": [[0, 1, 10**9, 1]]}, {"most": [1], "clusters": [[1, 1, 1]], "sms": 10**9},
)  # fmt: skip
Parts = dict[str, bytes]


def parts_of(content: bytes) -> Parts:
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def packed(parts: Parts) -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        for name, content in parts.items():
            archive.writestr(name, content)
    return stream.getvalue()


def bitten(content: bytes, at: random.Random) -> bytes:
    """Bits flipped, bytes replaced, a piece gone, doubled or put elsewhere, or the end cut off."""
    data = bytearray(content)
    for _ in range(at.choice((1, 1, 1, 2, 8))):
        here, there = sorted(at.randrange(len(data)) for _ in range(2))
        piece = slice(here, min(there, here + 64) + 1)
        match at.randrange(6):
            case 0 | 1:
                data[here] ^= 1 << at.randrange(8)
            case 2:
                data[here] = at.randrange(256)
            case 3:
                del data[piece]
            case 4:
                data[here:here] = data[piece]
            case _:
                del data[there:]
        if not data:
            break
    return bytes(data)


def of_the_file(content: bytes, at: random.Random) -> bytes:
    return bitten(content, at)


def of_a_member(content: bytes, at: random.Random) -> bytes:
    """The file is a sound zip of a damaged member."""
    parts = parts_of(content)
    name = at.choice(sorted(parts))
    head = 128 if name.endswith(".npy") and at.random() < 0.7 else None  # where NumPy reads Python text
    parts[name] = bitten(parts[name][:head], at) + (parts[name][head:] if head else b"")
    return packed(parts)


def _places(node: Any, found: list[tuple[Any, Any]]) -> list[tuple[Any, Any]]:
    for key in node if isinstance(node, dict) else range(len(node)) if isinstance(node, list) else ():
        found.append((node, key))
        _places(node[key], found)
    return found


def of_the_description(content: bytes, at: random.Random) -> bytes:
    """``meta.json`` says something else in a few places: another value, a field less, a list longer or doubled."""
    parts = parts_of(content)
    raw = json.loads(parts["meta.json"])
    for _ in range(at.choice((1, 1, 2, 3))):
        node, key = at.choice(_places(raw, []))
        match at.randrange(6):
            case 0:
                del node[key]
            case 1 if isinstance(node[key], list):
                node[key] = node[key] * at.choice((2, 3, 50))
            case 2 if isinstance(node[key], int):
                node[key] += at.choice((-1, 1, 1000))
            case _:
                node[key] = copy.deepcopy(at.choice(VALUES))
    parts["meta.json"] = json.dumps(raw).encode()
    return packed(parts)


def of_the_slots(content: bytes, at: random.Random) -> bytes:
    """Words of the slots are other ones: noise, extremes, those of another place."""
    parts = parts_of(content)
    head, body = parts["slots.npy"][:128], np.frombuffer(parts["slots.npy"][128:], "<i8").copy()
    noise = np.random.default_rng(at.randrange(2**32))
    for _ in range(at.choice((1, 3, 10, 200))):
        where = noise.integers(0, len(body))
        word = at.choice((
            int(noise.integers(-(2**63), 2**63 - 1)), int(at.choice(NUMBERS[:18])),
            int(body[noise.integers(0, len(body))]),
            int(body[where]) + at.choice((-1, 1, 2**32, -(2**32), 2**50, 2**53)),
            0x544C5402 << 32 | 0xFFFFFFFF, 0x544C5401 << 32,
        ))  # fmt: skip
        body[where] = (word + 2**63) % 2**64 - 2**63
    return packed(parts | {"slots.npy": head + body.tobytes()})


def of_its_size(content: bytes, at: random.Random) -> bytes:
    """A sound file that promises much: rows, writers or records by the million, zeros or the same record throughout."""
    parts = parts_of(content)
    raw = json.loads(parts["meta.json"])
    table = raw["table"]
    table["ctas"], raw["meta"]["grids"] = None, None
    rows, writers, capacity = (
        at.choice((1, 1000, 10**5, 10**9)),
        at.choice((0, 1, 100)),
        at.choice((0, 3, 10**4, 10**7)),
    )
    table["launches"] = [table["launches"][0] | {"grid": [rows, 1, 1], "first_row": 0}]
    table["writers"] = [{"index": i, "group": "g", "role": None, "thread": i} for i in range(writers)]
    table["capacity"], words = capacity, 2 * (3 + capacity)
    raw["shape"] = [rows, writers, words]
    count = rows * writers * words
    stream = io.BytesIO()
    head = {"descr": "<i8", "fortran_order": False, "shape": (rows, writers, words)}
    np.lib.format.write_array_header_1_0(stream, head)
    if 0 < count < 10**7:
        slots = np.zeros((rows * writers, words), "<i8")
        if at.random() < 0.7:
            slots[:, :6] = (0x544C5402 << 32 | capacity, 0, 0, 0, capacity, 1000)
            slots[:, 6::2] = at.choice((0, 1))
        stream.write(slots.tobytes())
    parts |= {"meta.json": json.dumps(raw).encode(), "slots.npy": stream.getvalue()}
    return packed(parts)


KINDS: dict[str, Callable[[bytes, random.Random], bytes]] = {
    "bytes of the file": of_the_file,
    "bytes of a member": of_a_member,
    "the description": of_the_description,
    "the slots": of_the_slots,
    "its size": of_its_size,
}
"""What is damaged, and who does it."""


def mutated(seed: int) -> tuple[str, bytes]:
    """One file and what was done to it."""
    at = random.Random(seed)
    kind = list(KINDS)[seed % len(KINDS)]
    return kind, KINDS[kind]((FOLDER / f"{at.choice(SOURCES)}.tltrace").read_bytes(), at)
