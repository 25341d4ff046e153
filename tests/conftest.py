"""What the machine must have for a test: what it lacks is said first, or is the reason for which a test is skipped."""

from __future__ import annotations

import os
import shutil
import signal
import sys
from collections.abc import Iterator

import pytest
import tiers
import torch

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # as in a background job of a shell, and in all that it starts
    signal.signal(signal.SIGINT, signal.default_int_handler)

NVCC = shutil.which("nvcc") is not None or bool(os.environ.get("CUDA_HOME"))


def pytest_configure(config: pytest.Config) -> None:
    tiers.wide = "not wide" not in config.option.markexpr


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    tiers.leave_some(items)


def pytest_report_header() -> str:
    return "GPU: tests/gpu is collected" if torch.cuda.is_available() else "no CUDA device: tests/gpu is not collected"


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    if item.get_closest_marker("nvcc") and not NVCC:
        pytest.skip("needs nvcc, which compiles CUDA to machine code")


@pytest.fixture(scope="module", autouse=True)
def _main_is_as_it_was() -> Iterator[None]:
    """A shell of IPython takes the place of ``__main__``, and processes that are spawned later look for it there."""
    main = sys.modules["__main__"]
    yield
    sys.modules["__main__"] = main
