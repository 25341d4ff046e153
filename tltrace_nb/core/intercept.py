"""Plain ``@tilelang.jit`` builders on the virtual GPU, for as long as a cell runs.

In: the switch. Out: a context within which kernels that TileLang's own decorator builds are traced on the virtual GPU,
where there is no CUDA device that they could run on. TileLang is changed while the context is open, and at no other
time.
"""

from __future__ import annotations

import contextlib
import importlib.util
from collections.abc import Iterator
from dataclasses import fields
from typing import TYPE_CHECKING, Any

from tltrace_nb.core.devices import model_of

if TYPE_CHECKING:
    from tltrace_nb.core.api import TraceSwitch


@contextlib.contextmanager
def plain_builders(switch: TraceSwitch) -> Iterator[None]:
    """Within, a builder of ``@tilelang.jit`` without a target makes kernels that are traced on the virtual GPU.

    Nothing of it stays, also when the block fails: neither the interception nor a kernel in the builder's caches.
    """
    if importlib.util.find_spec("tilelang") is None or model_of(switch.device) is None:
        yield
        return
    from tilelang.jit import JITImpl

    from tltrace_nb.core.jit import Compilation, OwnImpl, compile_virtual

    own_compile = JITImpl.compile
    builders: list[Any] = []

    def compile(self: Any, *args: Any, **kwargs: Any) -> Any:
        model = None if isinstance(self, OwnImpl) or self.target is not None else switch.model()
        if model is None:
            return own_compile(self, *args, **kwargs)
        builders.append(self)
        how = Compilation(**{f.name: getattr(self, f.name) for f in fields(Compilation)})
        return compile_virtual(self.get_tir(*args, **kwargs), how, switch.options, switch.captured, model)

    JITImpl.compile = compile
    try:
        yield
    finally:
        JITImpl.compile = own_compile
        for builder in builders:
            builder._kernel_cache.clear()  # noqa: SLF001 (TileLang offers no other way to forget a kernel)
            builder._call_form_cache.clear()  # noqa: SLF001
