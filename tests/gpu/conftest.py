"""Tests on a real card. Elsewhere they are skipped, and say so."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
import torch

from tltrace_nb import trace

HERE = Path(__file__).parent


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    no_card = pytest.mark.skip(reason="needs a CUDA device")
    for item in items:
        if item.path.is_relative_to(HERE):
            item.add_marker(pytest.mark.gpu)
            if not torch.cuda.is_available():
                item.add_marker(no_card)


@pytest.fixture(autouse=True)
def _clean_switch(tmp_path: Path) -> Iterator[None]:
    """Each test starts with tracing off, writes into its own folder and leaves the switch as it was."""
    with trace.tracing(False, output=str(tmp_path)):
        yield
