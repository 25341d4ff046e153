"""Positions as runs, there and back."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tltrace_nb.widget.runs import from_runs, to_runs


@given(st.sets(st.integers(0, 200) | st.integers(0, 2**32 - 1), max_size=60))
def test_positions_come_back_in_order(positions: set[int]) -> None:
    assert from_runs(to_runs([*positions])).tolist() == sorted(positions)


def test_a_long_run_is_one_pair() -> None:
    assert to_runs(range(100, 100_100)) == np.array([100, 100_000], "<u4").tobytes()


def test_nothing_is_nothing() -> None:
    assert to_runs([]) == b""
    assert from_runs(b"").tolist() == []


def test_half_a_pair_is_refused() -> None:
    with pytest.raises(ValueError, match="4 bytes"):
        from_runs(b"1234")
