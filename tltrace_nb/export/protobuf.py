"""Protocol Buffers' wire format, as far as writing needs it.

In: field numbers and values. Out: bytes. A message is the concatenation of its fields, so there is nothing to build up
and no schema to load. Source: https://protobuf.dev/programming-guides/encoding/
"""

from __future__ import annotations

import struct

from tltrace_nb.base.words import utf8

_VARINT, _FIXED64, _LENGTH = 0, 1, 2
"""Wire types."""
_64_BITS = (1 << 64) - 1
_SHORT = [bytes((value,)) if value < 0x80 else bytes((value & 0x7F | 0x80, value >> 7)) for value in range(0x4000)]
"""Numbers of one and of two bytes, which most are."""


def varint(value: int) -> bytes:
    """A number of up to 64 bits, seven to a byte, the lowest first; a negative one as its two's complement."""
    if 0 <= value < 0x4000:
        return _SHORT[value]
    value &= _64_BITS
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def integer(field: int, value: int) -> bytes:
    """A field of type int32, int64, uint32, uint64, bool or enum."""
    return varint(field << 3 | _VARINT) + varint(value)


def fixed64(field: int, value: int) -> bytes:
    """A field of type fixed64."""
    return varint(field << 3 | _FIXED64) + struct.pack("<Q", value & _64_BITS)


def double(field: int, value: float) -> bytes:
    """A field of type double."""
    return varint(field << 3 | _FIXED64) + struct.pack("<d", value)


def message(field: int, body: bytes) -> bytes:
    """A field of a message type, or of type bytes."""
    return varint(field << 3 | _LENGTH) + varint(len(body)) + body


def string(field: int, text: str) -> bytes:
    """A field of type string."""
    return message(field, utf8(text).encode())
