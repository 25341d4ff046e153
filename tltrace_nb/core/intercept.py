"""Plain ``@tilelang.jit`` builders, traced for as long as a cell runs.

In: the switch. Out: a context within which the kernels that TileLang's own decorator builds are traced: on the virtual
GPU where there is no CUDA device that they could run on, on a CUDA device where automatic markers are asked for.
TileLang is changed while the context is open, and at no other time.
"""

from __future__ import annotations

import contextlib
import importlib.util
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from tltrace_nb.core.devices import model_of

if TYPE_CHECKING:
    from tltrace_nb.core.api import TraceSwitch


@contextlib.contextmanager
def plain_builders(switch: TraceSwitch) -> Iterator[None]:
    """Within, builders of ``@tilelang.jit`` make traced kernels, new ones also where they have made untraced ones.

    On the virtual GPU that is so for builders without a target. Nothing of it stays, also when the block fails: neither
    the interception nor a traced kernel in a builder's caches, and the kernels that were in them are back.
    """
    on_card = model_of(switch.device) is None
    if importlib.util.find_spec("tilelang") is None or (on_card and switch.options.auto is None):
        yield
        return
    from tilelang.jit import JITImpl

    from tltrace_nb.core.jit import OwnImpl, compile_for, how_of
    from tltrace_nb.core.sites import TABLE_ATTRIBUTE

    own_call, own_compile = JITImpl.__call__, JITImpl.compile
    kept: list[tuple[Any, Any, Any]] = []

    def is_ours(builder: Any) -> bool:
        if isinstance(builder, OwnImpl):
            return False
        if not on_card:
            return builder.target is None
        asked = switch.enabled and switch.options.auto is not None
        return asked and (builder.target in (None, "auto") or "cuda" in str(builder.target))

    def call(self: Any, *args: Any, **kwargs: Any) -> Any:
        if is_ours(self) and all(builder is not self for builder, _, _ in kept):
            kept.append((self, self._kernel_cache, self._call_form_cache))
            self._kernel_cache, self._call_form_cache = {}, type(self._call_form_cache)()
        return own_call(self, *args, **kwargs)

    def compile(self: Any, *args: Any, **kwargs: Any) -> Any:
        if not is_ours(self):
            return own_compile(self, *args, **kwargs)
        func = self.get_tir(*args, **kwargs)
        if on_card and TABLE_ATTRIBUTE in (func.attrs or {}):  # trace.finalize has lowered it
            return own_compile(self, *args, **kwargs)
        return compile_for(switch.model(), func, how_of(self), switch.options, switch.captured)

    JITImpl.__call__, JITImpl.compile = call, compile
    try:
        yield
    finally:
        JITImpl.__call__, JITImpl.compile = own_call, own_compile
        for builder, kernels, call_forms in kept:
            builder._kernel_cache = kernels  # noqa: SLF001 (TileLang offers no other way to forget a kernel)
            builder._call_form_cache = call_forms  # noqa: SLF001
