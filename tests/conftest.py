"""What a run of the tests says first: whether those of a GPU are in it."""

from __future__ import annotations

import torch


def pytest_report_header() -> str:
    return "GPU: tests/gpu is collected" if torch.cuda.is_available() else "no CUDA device: tests/gpu is not collected"
