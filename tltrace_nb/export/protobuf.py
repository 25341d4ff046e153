"""Protocol Buffers' wire format, as far as writing needs it.

In: field numbers and values, or whole columns of them. Out: bytes. A message is the concatenation of its fields, so
there is nothing to build up and no schema to load. Source: https://protobuf.dev/programming-guides/encoding/
"""

from __future__ import annotations

import functools
import struct

from tltrace_nb.base.words import utf8
from tltrace_nb.export.rows import Rows

VARINT, FIXED64, LENGTH = 0, 1, 2
"""Wire types."""
_64_BITS = (1 << 64) - 1
_SHORT = [bytes([value]) for value in range(0x80)]


def varint(value: int) -> bytes:
    """A number of up to 64 bits, seven to a byte, the lowest first; a negative one as its two's complement."""
    if 0 <= value < 0x80:  # the most, by far
        return _SHORT[value]
    value &= _64_BITS
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


@functools.cache
def tag(field: int, wire_type: int) -> bytes:
    """What stands before the value of a field."""
    return varint(field << 3 | wire_type)


def integer(field: int, value: int) -> bytes:
    """A field of type int32, int64, uint32, uint64, bool or enum."""
    return tag(field, VARINT) + varint(value)


def double(field: int, value: float) -> bytes:
    """A field of type double."""
    return tag(field, FIXED64) + struct.pack("<d", value)


def fixed64(field: int, value: int) -> bytes:
    """A field of type fixed64."""
    return tag(field, FIXED64) + struct.pack("<Q", value)


def message(field: int, body: bytes) -> bytes:
    """A field of a message type, or of type bytes."""
    return tag(field, LENGTH) + varint(len(body)) + body


def string(field: int, text: str) -> bytes:
    """A field of type string."""
    return message(field, utf8(text).encode())


def messages(field: int, bodies: Rows) -> Rows:
    """A field of a message type in each row."""
    rows = Rows(len(bodies.lengths))
    rows.constant(tag(field, LENGTH))
    rows.varint(bodies.lengths)
    rows.append(bodies)
    return rows
