"""What the machine must have for a test: what it lacks is said first, or is the reason for which a test is skipped."""

from __future__ import annotations

import os
import shutil
import signal
import sys
from collections.abc import Generator, Iterator
from typing import Any

import pytest
import tiers
import torch

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # as in a background job of a shell, and in all that it starts
    signal.signal(signal.SIGINT, signal.default_int_handler)

NVCC = shutil.which("nvcc") is not None or bool(os.environ.get("CUDA_HOME"))
CXX = bool(os.environ.get("CXX")) or any(map(shutil.which, ("c++", "g++", "clang++")))


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
    if item.get_closest_marker("cxx") and not CXX:
        pytest.skip("needs a C++ compiler")


@pytest.hookimpl(wrapper=True)
def pytest_report_to_serializable() -> Generator[None, dict[str, Any] | None, dict[str, Any] | None]:
    """TVM's ``repr`` is a string of a type of its own, which no worker can send."""
    return _plain((yield))


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _plain(each) for key, each in value.items()}
    if isinstance(value, (list, tuple)):
        return type(value)(map(_plain, value))
    return str.__str__(value) if isinstance(value, str) else value


@pytest.fixture(scope="module", autouse=True)
def _main_is_as_it_was() -> Iterator[None]:
    """A shell of IPython takes the place of ``__main__``, and processes that are spawned later look for it there."""
    main = sys.modules["__main__"]
    yield
    sys.modules["__main__"] = main
