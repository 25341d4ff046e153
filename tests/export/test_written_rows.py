"""Tables of bytes: every row is what it would be if it were written alone."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from tltrace_nb.export.protobuf import messages, varint
from tltrace_nb.export.rows import Rows, Words

NUMBERS = st.lists(st.integers(-(2**63), 2**63 - 1), min_size=1, max_size=20)


def column(values: list[int]) -> np.ndarray:
    return np.array(values, np.int64)


@settings(deadline=None)
@given(NUMBERS)
def test_a_column_of_varints_is_each_of_them(values: list[int]) -> None:
    rows = Rows(len(values))
    rows.varint(column(values))
    assert rows.tobytes() == b"".join(map(varint, values))
    assert rows.lengths.tolist() == [len(varint(value)) for value in values]


@settings(deadline=None)
@given(NUMBERS, st.integers(1, 4))
def test_a_column_of_decimals_is_each_of_them(values: list[int], digits: int) -> None:
    rows = Rows(len(values))
    rows.decimal(column(values), digits=digits)
    words = [("-" if value < 0 else "") + str(abs(value)).zfill(digits) for value in values]
    assert rows.tobytes().decode() == "".join(words)
    assert rows.lengths.tolist() == list(map(len, words))


@settings(deadline=None)
@given(st.lists(st.binary(max_size=5), min_size=1, max_size=4), st.data())
def test_rows_choose_among_words(words: list[bytes], data: st.DataObject) -> None:
    chosen = data.draw(st.lists(st.integers(-1, len(words) - 1), max_size=20))
    rows = Rows(len(chosen))
    rows.words(Words(words), np.array(chosen, np.int64))
    assert rows.tobytes() == b"".join(words[number] for number in chosen)


@settings(deadline=None)
@given(st.lists(st.booleans(), min_size=1, max_size=20))
def test_a_column_may_be_missing_in_some_rows(there: list[bool]) -> None:
    rows = Rows(len(there))
    rows.constant(b"<")
    rows.constant(b"also", np.array(there))
    rows.fixed(np.arange(len(there), dtype=np.int16), np.array(there))
    rows.decimal(np.arange(len(there)), np.array(there))
    rows.varint(np.arange(len(there)) + 200, np.array(there))
    rows.words(Words([b"a", b"bc"]), np.arange(len(there)) % 2, np.array(there))
    alone = [
        b"<" + (b"also" + i.to_bytes(2, "little") + str(i).encode() + varint(i + 200) + (b"a", b"bc")[i % 2]) * yes
        for i, yes in enumerate(there)
    ]
    assert rows.tobytes() == b"".join(alone)
    assert rows.lengths.tolist() == list(map(len, alone))


def test_messages_have_the_length_of_their_bodies() -> None:
    bodies = Rows(2)
    bodies.words(Words([b"", b"x" * 200]), np.array([0, 1]))
    assert messages(1, bodies).tobytes() == b"\x0a\x00" + b"\x0a\xc8\x01" + b"x" * 200


def test_no_rows_are_no_bytes() -> None:
    rows = Rows(0)
    rows.constant(b"x")
    rows.varint(column([]))
    rows.decimal(column([]))
    assert rows.tobytes() == b""
