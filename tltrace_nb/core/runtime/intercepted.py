"""A kernel that a plain builder made while tracing was on.

In: the traced kernel, and how to get the plain one. Out: one object that is the traced kernel where tracing is on and
the plain one elsewhere, so that a program that keeps it, in a variable or an ``lru_cache``, keeps nothing traced.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

from tltrace_nb.base.errors import TraceError

_OWN = frozenset({"_traced", "_plain", "_make_plain", "_here", "_failed", "_lock"})


class Intercepted:
    """Traced where ``here`` says so, plain elsewhere; in every other respect it is the one or the other.

    ``make_plain`` is called once, when the plain kernel is first needed. A traced kernel that fails for a reason of
    ours is given up: ``failed`` is told why, and the plain one runs.
    """

    def __init__(
        self, traced: Any, make_plain: Callable[[], Any], here: Callable[[], bool], failed: Callable[[TraceError], None]
    ):
        self._traced = traced
        self._make_plain = make_plain
        self._plain: Any = None
        self._here = here
        self._failed = failed
        self._lock = threading.Lock()

    def __call__(self, *inputs: Any, **named: Any) -> Any:
        kernel = self._kernel()
        try:
            return kernel(*inputs, **named)
        except TraceError as error:
            if kernel is not self._traced:
                raise
            self._failed(error)
            self._traced = None
        return self.plain()(*inputs, **named)

    def plain(self) -> Any:
        """The kernel as TileLang builds it. Raises TileLang's own errors."""
        with self._lock:
            if self._plain is None:
                self._plain = self._make_plain()
            return self._plain

    def _is_traced(self) -> bool:
        return self._traced is not None and self._here()

    def _kernel(self) -> Any:
        return self._traced if self._is_traced() else self.plain()

    @property  # type: ignore[misc]
    def __class__(self) -> Any:  # so that isinstance sees the kernel that this is
        from tilelang.jit import JITKernel

        return type(self._traced) if self._is_traced() else JITKernel

    def __repr__(self) -> str:
        return repr(self._kernel())

    def __getattr__(self, name: str) -> Any:
        return getattr(self._kernel(), name)

    def __setattr__(self, name: str, value: Any) -> None:
        if name in _OWN:
            object.__setattr__(self, name, value)
        else:
            setattr(self._kernel(), name, value)


def plain_of(kernel: Any) -> Any:
    """The plain kernel in place of one that was intercepted; any other as it is."""
    return kernel.plain() if type(kernel) is Intercepted else kernel
