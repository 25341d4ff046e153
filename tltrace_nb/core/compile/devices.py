"""Where traced kernels run: a CUDA device, or the virtual GPU.

In: what the author says, ``"auto"``, ``"cuda"``, ``"virtual"`` or ``"virtual:MODEL"``. Out: the model to simulate, or
``None`` for a CUDA device.
"""

from __future__ import annotations

AUTO, CUDA, VIRTUAL = "auto", "cuda", "virtual"
DEFAULT_MODEL = "h200"
ASSUMED_SMS = 132
"""SMs where no card is there to ask: those of an H100 or H200."""


def check_device(device: str) -> str:
    """The device, if it is one. Raises ``ValueError`` that lists the right ones."""
    kind, _, model = device.partition(":")
    if kind not in (AUTO, CUDA, VIRTUAL) or (model and kind != VIRTUAL):
        raise ValueError(f"device={device!r}: give 'auto', 'cuda', 'virtual' or 'virtual:MODEL'")
    if model:
        from tltrace_nb.base.gpus import preset

        preset(model)
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
