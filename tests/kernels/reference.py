"""What a reference kernel is: the PrimFunc's builder with all that is needed to run it and to know its result."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

EVERYWHERE = ("sm_80", "sm_90a")
HOPPER = ("sm_90a",)


@dataclass(frozen=True)
class Reference:
    """One marked kernel.

    ``build()`` gives the PrimFunc with its markers. ``inputs(device)`` makes the tensors to call the compiled kernel
    with and ``expected(*inputs)`` its outputs, one tensor or a tuple, within ``rtol`` and ``atol``. ``architectures``
    are those that it is meant for, ``again`` says whether ``trace.finalize`` takes it, ``exact`` whether two runs give
    the same bits (atomic sums do not), and ``full`` marks the heavy ones.
    """

    name: str
    build: Callable[[], Any]
    inputs: Callable[[Any], tuple[Any, ...]]
    expected: Callable[..., Any]
    out_idx: tuple[int, ...] = (-1,)
    architectures: tuple[str, ...] = EVERYWHERE
    pass_configs: dict[str, Any] = field(default_factory=dict)
    again: bool = True
    exact: bool = True
    full: bool = False
    rtol: float = 1e-2
    atol: float = 1e-2

    def __str__(self) -> str:
        return self.name


def normal(device: Any, *shape: int, dtype: str = "float16", seed: int = 0) -> Any:
    """A tensor of unit normals, the same on every device."""
    import torch

    values = torch.randn(shape, generator=torch.Generator().manual_seed(seed))
    return values.to(getattr(torch, dtype)).to(device)


def integers(device: Any, *shape: int, low: int, high: int, dtype: str = "int32", seed: int = 0) -> Any:
    """A tensor of integers in ``low <= n < high``, the same on every device."""
    import torch

    values = torch.randint(low, high, shape, generator=torch.Generator().manual_seed(seed))
    return values.to(getattr(torch, dtype)).to(device)
