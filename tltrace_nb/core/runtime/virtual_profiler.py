"""TileLang's profiler on the virtual GPU: checks run there, and a time is the model's time of one launch.

In: a kernel's parameters and the adapter of a ``VirtualTracedKernel``. Out: what the profiler gives on a GPU, as far
as a model can give it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from tilelang.profiler import Profiler

from tltrace_nb.base.errors import DeviceError
from tltrace_nb.base.notices import say_once
from tltrace_nb.core.compile.upstream import get_tensor_supply, is_float8_dtype, torch_assert_close
from tltrace_nb.core.runtime.facade import RecordingAdapter, RecordingKernel

NS_PER_MS = 1_000_000


class VirtualProfiler(Profiler):
    """The profiler of a kernel on the virtual GPU. Its tensors are those of the CPU."""

    def __post_init__(self) -> None:
        super().__post_init__()
        supply = get_tensor_supply(self.supply_type)
        self.supply = lambda param: supply(param).cpu()

    def assert_allclose(
        self,
        reference_program: Callable[..., Any],
        input_tensors: list[Any] | None = None,
        atol: float = 1e-2,
        rtol: float = 1e-2,
        max_mismatched_ratio: float = 0.01,
    ) -> None:
        """As ``tilelang.profiler.Profiler.assert_allclose``."""

        def check(ours: list[Any], theirs: list[Any]) -> None:
            for mine, other in zip(ours, theirs, strict=True):
                if mine is not None and other is not None:
                    torch_assert_close(
                        _comparable(mine),
                        _comparable(other),
                        rtol=rtol,
                        atol=atol,
                        max_mismatched_ratio=max_mismatched_ratio,
                        base_name="tilelang",
                        ref_name="ref",
                    )

        self.manual_assert_close(reference_program, input_tensors, check)

    def manual_assert_close(
        self,
        reference_program: Callable[..., Any],
        input_tensors: list[Any] | None = None,
        manual_check_prog: Callable[[list[Any], list[Any]], Any] | None = None,
    ) -> None:
        """As ``tilelang.profiler.Profiler.manual_assert_close``."""
        inputs = self._get_inputs() if input_tensors is None else input_tensors
        theirs = _listed(reference_program(*inputs))
        ours = _listed(self.func(*inputs))
        assert len(ours) == len(theirs), f"the kernel has {len(ours)} outputs, the reference {len(theirs)}"
        if manual_check_prog is not None:
            manual_check_prog(ours, theirs)

    def do_bench(
        self,
        func: Callable[..., Any] | None = None,
        warmup: int = 25,
        rep: int = 100,
        n_warmup: int = 0,
        n_repeat: int = 0,
        input_tensors: list[Any] | None = None,
        backend: str = "event",
        quantiles: Sequence[float] | None = None,
        return_mode: str = "mean",
        dynamic_symbolic_constraints: dict[str, int] | None = None,
        **options: Any,
    ) -> Any:
        """The model's time of one launch in ms, from the first CTA's entry to the last one's exit.

        A model has no noise: one launch is run, and all quantiles are its time. ``backend="wall"`` times the host, as
        TileLang does. Raises ``DeviceError`` for another function than the kernel.
        """
        if backend == "wall":
            return super().do_bench(
                func,
                warmup,
                rep,
                n_warmup,
                n_repeat,
                input_tensors,
                backend,
                quantiles,
                return_mode,
                dynamic_symbolic_constraints,
                **options,
            )
        kernel = self._kernel(func)
        inputs = (
            self._get_inputs(dynamic_symbolic_constraints=dynamic_symbolic_constraints)
            if input_tensors is None
            else input_tensors
        )
        _, launch = kernel.launch(tuple(inputs), kernel.captured)
        ctas = launch.trace().ctas
        if ctas.empty:
            raise DeviceError(f"kernel {kernel.table.kernel}: nothing recorded a time: mark it, or trace it with auto")
        say_once("times measured here are those of the virtual GPU's model, of one launch each: no GPU was timed")
        took = float(ctas["end_ns"].max() - ctas["start_ns"].min()) / NS_PER_MS
        if quantiles is None or len(quantiles) == 1:
            return took
        return [took] * len(quantiles)

    def _kernel(self, func: Any) -> Any:
        """The kernel to run. Raises ``DeviceError`` for a function that is none."""
        asked = self.adapter if func is None else func
        if isinstance(asked, RecordingKernel):
            return asked
        if isinstance(asked, RecordingAdapter):
            return asked.kernel
        raise DeviceError(
            f"the virtual GPU tells the time of its kernels, not of {getattr(asked, '__name__', asked)}: "
            "backend='wall' times a function on this machine"
        )


def _listed(outputs: Any) -> list[Any]:
    if outputs is None:
        return []
    return list(outputs) if isinstance(outputs, (tuple, list)) else [outputs]


def _comparable(tensor: Any) -> Any:
    return tensor.to(torch.float32) if is_float8_dtype(tensor.dtype) else tensor
