"""Where traced kernels run: a CUDA device, or the virtual GPU.

In: what the author says, ``"auto"``, ``"cuda"``, ``"virtual"`` or ``"virtual:MODEL"``. Out: the model to simulate, or
``None`` for a CUDA device.
"""

from __future__ import annotations

from typing import Any

from tltrace_nb.base.checks import wrong

AUTO, CUDA, VIRTUAL = "auto", "cuda", "virtual"
DEVICES = "'auto', 'cuda', 'virtual' or 'virtual:MODEL'"
DEFAULT_MODEL = "h200"
ASSUMED_SMS = 132
"""SMs where no GPU is there to ask: those of an H100 or H200."""


def check_device(name: str, device: Any) -> str:
    """The device, if it is one. Raises ``ValueError`` or ``TypeError`` that list the right ones."""
    if not isinstance(device, str):
        wrong(name, device, DEVICES, TypeError)
    kind, _, model = device.partition(":")
    if kind not in (AUTO, CUDA, VIRTUAL) or (model and kind != VIRTUAL):
        wrong(name, device, DEVICES)
    if model:
        from tltrace_nb.base.gpus import PRESETS

        if model.lower() not in PRESETS:
            wrong(name, device, f"{DEVICES}; models are {', '.join(PRESETS)}")
    return device


def model_of(device: str) -> str | None:
    """The GPU model to simulate; ``None`` when kernels run on a CUDA device. ``auto`` takes one where there is one."""
    kind, _, model = device.partition(":")
    if kind == CUDA or (kind == AUTO and _has_cuda()):
        return None
    return model or DEFAULT_MODEL


def multiprocessors() -> int:
    """SMs of the current CUDA device, ``ASSUMED_SMS`` where there is none."""
    import torch

    if not torch.cuda.is_available():
        return ASSUMED_SMS
    return int(torch.cuda.get_device_properties(torch.cuda.current_device()).multi_processor_count)


def _has_cuda() -> bool:
    import torch

    return bool(torch.cuda.is_available())
