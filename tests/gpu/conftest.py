"""Tests on a real GPU. Elsewhere they are not collected, and the header of the run says so."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
import torch

from tltrace_nb import trace

HERE = Path(__file__).parent
collect_ignore_glob = [] if torch.cuda.is_available() else ["test_*.py"]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if item.path.is_relative_to(HERE):
            item.add_marker(pytest.mark.gpu)


@pytest.fixture(autouse=True)
def _clean_switch(tmp_path: Path) -> Iterator[None]:
    """Each test starts with tracing off, writes into its own folder and leaves the switch as it was."""
    with trace.tracing(False, output=str(tmp_path)):
        yield
