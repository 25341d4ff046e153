"""``T.print`` on the virtual GPU: the lines that a GPU prints.

In: what a call prints, and in which lanes. Out: text, in the format of TileLang's device code (``debug.h``).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from tltrace_nb.simulator.memory import Array, Mask

_C_TYPES = {
    "int8": "signed char", "uint8": "unsigned char", "int16": "short", "uint16": "unsigned short", "int32": "int",
    "uint32": "uint", "int64": "long", "uint64": "ulong", "float32": "float", "float64": "double", "float16": "half_t",
    "bfloat16": "bfloat16_t", "float8_e4m3fn": "fp8_e4_t", "float8_e5m2": "fp8_e5_t", "bool": "bool",
}  # fmt: skip
"""What device code calls the types that it prints."""


def printed(
    block: tuple[int, int, int],
    threads: tuple[Array, Array, Array] | None,
    mask: Mask,
    message: str,
    rest: tuple[Any, ...],
    dtype: str,
) -> Iterator[str]:
    """A line for every active lane. ``rest`` is (value,), or (buffer's name, index, value), or nothing.

    ``threads`` are the indices x, y, z of the lanes; ``None`` where lanes are iterations of T.Parallel.
    """
    shape = np.broadcast_shapes(np.shape(mask), *(np.shape(r) for r in rest), *(t.shape for t in threads or ()))
    for lane in zip(*np.nonzero(np.broadcast_to(mask, shape)), strict=True) if shape else [()] * bool(mask):
        where = f"msg='{message}' BlockIdx={block}"
        if threads is not None:
            where += f", ThreadIdx={tuple(int(t[lane]) for t in threads)}"
        *place, value = (_at(r, shape, lane) for r in rest) if rest else (None,)
        if not rest:
            yield where
            continue
        buffer = f"buffer={place[0]}, index={int(place[1])}, " if place else ""
        yield f"{where}: {buffer}dtype={_C_TYPES.get(dtype, dtype)} value={_shown(value, dtype)}"


def _at(value: Any, shape: tuple[int, ...], lane: Any) -> Any:
    return np.broadcast_to(value, shape)[lane] if np.ndim(value) else value


def _shown(value: Any, dtype: str) -> str:
    if dtype == "bool":
        return str(bool(value)).lower()
    return str(int(value)) if "int" in dtype else f"{float(value):f}"
