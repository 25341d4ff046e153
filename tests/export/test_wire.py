"""The wire format: what is written is read back."""

from __future__ import annotations

import struct

import pytest
from decoders import one, signed, wire
from hypothesis import given
from hypothesis import strategies as st

from tltrace_nb.export.protobuf import double, integer, message, string, varint

FIELDS = st.integers(1, 2**29 - 1)


@given(FIELDS, st.integers(-(2**63), 2**63 - 1))
def test_an_integer_is_read_back(field: int, value: int) -> None:
    assert signed(one(wire(integer(field, value)), field)) == value


@given(FIELDS, st.floats(allow_nan=False))
def test_a_double_is_read_back(field: int, value: float) -> None:
    assert struct.unpack("<d", one(wire(double(field, value)), field)) == (value,)


@given(FIELDS, st.text())
def test_a_text_is_read_back(field: int, value: str) -> None:
    assert one(wire(string(field, value)), field).decode() == value


def test_a_lone_surrogate_becomes_a_replacement_character() -> None:
    assert one(wire(string(1, "a\ud800b")), 1).decode() == "a\ufffdb"


def test_fields_follow_each_other() -> None:
    body = message(3, integer(1, 1) + string(2, "x")) + message(3, b"")
    assert [dict(wire(each)) for each in wire(body)[3]] == [{1: [1], 2: [b"x"]}, {}]


@pytest.mark.parametrize(("value", "coded"), [(0, "00"), (1, "01"), (150, "9601"), (-1, "ff" * 9 + "01")])
def test_the_examples_of_the_specification(value: int, coded: str) -> None:
    assert varint(value).hex() == coded
