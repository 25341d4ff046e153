"""Building traced kernels: ``trace.jit``, ``trace.auto``, and what a plain ``@tilelang.jit`` builder calls."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from tltrace_nb.base.checks import called, checked, flag, mapping, optional, whole, wrong
from tltrace_nb.core.api.arguments import a_primfunc
from tltrace_nb.core.api.launches import Launches
from tltrace_nb.core.compile.auto.options import LIGHT, WAYS, Auto, AutoOptions


class Builds(Launches):
    """What makes kernels: traced ones, which leave their traces in the launches, and stripped ones."""

    @checked(func=optional(called("the function that builds the kernel")))
    def jit(self, func: Callable[..., Any] | None = None, *, auto: Auto = None, **compile_args: Any) -> Any:
        """``@tilelang.jit`` that builds the traced or the stripped kernel as the switch says when it is called.

        Takes what ``tilelang.jit`` takes, lazy and eager style. A traced kernel returns what the untraced one returns
        and leaves its trace in ``trace.last``. ``auto``: mark what the author has not, see ``auto``; ``None`` follows
        the switch.

        >>> @trace.jit(out_idx=[-1])
        ... def matmul(M, N, K): ...
        """
        from tltrace_nb.core.runtime.jit import jit

        return jit(func, self, auto, **compile_args)

    def auto(self, kernel: Any, on: str | Iterable[str] = LIGHT, ignore: str | Iterable[str] = ()) -> Any:
        """An unmodified kernel with automatic markers: ranges named after what each operator does, payload: iteration.

        ``kernel``: a ``@tilelang.jit`` builder or a compiled kernel, which gives one that is traced whatever the switch
        says; or a PrimFunc, which gives the PrimFunc marked. ``on`` chooses: ``"light"``, what is cheap; ``"all"``,
        every tile operator, wait, arrival and loop; kinds such as ``"copy"``; patterns of names. ``ignore``: kinds and
        patterns to leave out. What the author has marked is not marked again. Raises ``ValueError`` for an entry that
        is none of these, naming the right ones.

        >>> trace.auto(matmul)(1024, 1024, 1024)(a, b)
        >>> trace.auto(matmul, on="all", ignore="fill")
        """
        from tltrace_nb.core.runtime.jit import automatic

        options = AutoOptions.of(on, ignore, argument="on")
        if options is None:
            wrong("on", on, WAYS)
        return automatic(kernel, options, self)

    @checked(n_outputs=whole(0, "a number of outputs, 0 to 1000", 1000), traced=optional(flag))
    def out_idx(self, n_outputs: int, traced: bool | None = None) -> list[int]:
        """``out_idx`` for ``n_outputs`` outputs: one more, the slots, when traced. ``None`` follows the switch.

        >>> @tilelang.jit(out_idx=trace.out_idx(1))
        ... def build(): ...
        """
        count = n_outputs + int(self._traced(traced))
        return list(range(-count, 0))

    @checked(primfunc=a_primfunc, traced=optional(flag), pass_configs=optional(mapping))
    def finalize(
        self,
        primfunc: Any,
        traced: bool | None = None,
        max_events: int | None = None,
        *,
        pass_configs: dict[str, Any] | None = None,
    ) -> Any:
        """Lower the markers when traced, else strip them: what a plain ``@tilelang.jit`` builder returns.

        Pass the same ``traced`` to ``out_idx``, and ``pass_configs`` when ``@tilelang.jit`` gets some: the kernel is
        scheduled here, before TileLang sees it. Errors as ``lower``.
        """
        if self._traced(traced):
            return self.lower(primfunc, max_events, pass_configs=pass_configs)
        return self.strip(primfunc)

    @checked(primfunc=a_primfunc, pass_configs=optional(mapping))
    def lower(self, primfunc: Any, max_events: int | None = None, *, pass_configs: dict[str, Any] | None = None) -> Any:
        """The PrimFunc scheduled, its markers recording, with a trailing output ``slots`` (``int64``).

        Raises ``PlacementError`` where TileLang would schedule it differently the second time, or the grid is dynamic:
        ``@trace.jit`` has neither limit.
        """
        from tltrace_nb.core.compile.for_plain_jit import lower

        options = self.options if max_events is None else self.options.with_max_events(max_events)
        return lower(primfunc, options, pass_configs)

    @checked(primfunc=a_primfunc)
    def strip(self, primfunc: Any) -> Any:
        """The PrimFunc as if it never had markers: the same CUDA source."""
        from tltrace_nb.core.compile.numbering import strip

        return strip(primfunc)
