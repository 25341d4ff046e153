"""Plain TileLang programs, traced for as long as a block is open.

In: the switch. Out: a block within which the kernels that TileLang compiles are traced: on the virtual GPU where there
is no CUDA device that they could run on; on a CUDA device those that have markers, or all with automatic ones.

Every compilation passes through one function of TileLang's, ``tilelang.cache.cached``, whoever asks: builders, lazy and
eager, their ``compile``, ``tilelang.compile``, ``par_compile``. That one is replaced, and with it what would hide a
compilation from it or make too many: the caches of builders, and the autotuner, whose search is left alone. TileLang
is changed while a block is open, and at no other time. Whether a call is in one is asked at each call, so threads that
overlap do not meet (``runtime.blocks``). Kernels that stay behind are plain outside of blocks
(``runtime.intercepted``).

What cannot be traced runs as it would have, and says so in one line on stderr: errors are those of the plain program.
"""

from __future__ import annotations

import contextlib
import copy
import functools
import importlib
import importlib.util
import sys
import threading
import weakref
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from tltrace_nb.base.notices import say
from tltrace_nb.core.compile.devices import AUTO
from tltrace_nb.core.runtime.blocks import BLOCKS, INTERCEPTION, Replacements, untraced
from tltrace_nb.core.runtime.intercepted import Intercepted, plain_of

if TYPE_CHECKING:
    from tltrace_nb.core.compile.compilation import Compilation
    from tltrace_nb.core.compile.options import TraceOptions
    from tltrace_nb.core.runtime.switch import Switch

Own = Callable[..., Any]


@contextlib.contextmanager
def plain_builders(switch: Switch, everywhere: bool = False) -> Iterator[Interception]:
    """Within, while the switch is on, what TileLang compiles is traced, also where a builder has its kernel already.

    ``everywhere``: in all threads of the process; else for those that ``runtime.blocks`` names.
    Nothing of it stays, also when the block fails: neither the interception nor a kernel that goes on recording.
    """
    interception = Interception(switch)
    if importlib.util.find_spec("tilelang") is None:
        yield interception
        return
    with _REPLACEMENTS, BLOCKS.opened(INTERCEPTION, interception, everywhere):
        yield interception


class Interception:
    """What one block intercepts with, and what it has noticed."""

    def __init__(self, switch: Switch):
        self.switch = switch
        self.built_before: dict[str, None] = {}
        """Names of kernels that were called in the block, and were not built in it."""
        self._known: weakref.WeakSet[Any] = weakref.WeakSet()
        self._twins: dict[tuple[int, int, str], tuple[Any, TraceOptions, Any]] = {}
        self._said: set[str] = set()
        self._lock = threading.Lock()

    def compile(self, func: Any, how: Compilation, plain: Callable[[], Any]) -> Any:
        """The kernel that TileLang is asked for: traced, where it can be."""
        from tltrace_nb.core.compile.carried import has_markers
        from tltrace_nb.core.runtime.jit import compile_for
        from tltrace_nb.data.sites import TABLE_ATTRIBUTE

        model, options = self.model(how.target), self.switch.options
        if model is not None:
            return compile_for(model, func, how, options, self._captured)
        lowered = TABLE_ATTRIBUTE in (func.attrs or {})  # by trace.finalize
        if lowered or (options.auto is None and not has_markers(func)):
            return self.known(plain())
        name = str(func.attrs["global_symbol"])
        failure: Exception | None = None
        try:
            traced = compile_for(None, func, how, options, self._captured)
        except TimeoutError:  # of an alarm, that means the program and not us
            raise
        except Exception as error:
            failure = error
        if failure is not None:
            kernel = self.known(plain())  # its errors are the program's own
            self._say(name, failure)
            return kernel
        return Intercepted(
            traced, lambda: self.known(plain()), lambda: here() is not None, functools.partial(self._say, name)
        )

    def model(self, target: Any) -> str | None:
        """The GPU model to simulate kernels on that are built for this target, ``None`` where they are compiled."""
        import tilelang

        asked = tilelang.env.get_default_target() if target is None else target
        chosen = isinstance(asked, str) and asked == AUTO  # by TileLang, for the device that is there
        return self.switch.model() if chosen or self.switch.device != AUTO else None

    def twin(self, owner: Any, caches: Callable[[], dict[str, Any]]) -> Any:
        """A builder (or tuner) like another, with caches of its own for the options that hold now."""
        options = self.switch.options
        key = id(owner), id(options), self.switch.device
        with self._lock:
            if key not in self._twins:
                twin = copy.copy(owner)
                vars(twin).update(caches())
                self._twins[key] = owner, options, twin
            return self._twins[key][2]

    def tuned(self, kernel: Any) -> Any:
        """The kernel that a search has chosen, traced where it can be."""
        from tltrace_nb.core.compile.compilation import Compilation
        from tltrace_nb.core.runtime.facade import RecordingKernel

        if type(kernel) is Intercepted or isinstance(kernel, RecordingKernel):
            return kernel
        traced = self.compile(kernel.prim_func, Compilation.of(kernel), lambda: kernel)
        if traced is not kernel:
            traced.update_tuner_result(kernel.latency, kernel.config, kernel.ref_latency)
        return traced

    def known(self, kernel: Any) -> Any:
        """The plain kernel, noted as one that was built in the block."""
        self._known.add(kernel)
        return kernel

    def called(self, kernel: Any) -> None:
        """Note a call of a plain kernel."""
        if kernel in self._known:
            return
        self._known.add(kernel)
        attributes = getattr(kernel.prim_func, "attrs", None) or {}
        from tltrace_nb.data.sites import TABLE_ATTRIBUTE

        if TABLE_ATTRIBUTE not in attributes:
            self.built_before[str(attributes.get("global_symbol", "of unknown name"))] = None

    def _captured(self, trace: Any) -> None:
        if here() is not None:
            self.switch.captured(trace)

    def _say(self, kernel: str, error: Exception) -> None:
        reason = " ".join(str(error).split()) or type(error).__name__
        line = f"[tltrace] kernel {kernel} runs untraced: {reason.removeprefix(f'kernel {kernel}').lstrip(':, ')}"
        with self._lock:
            if line not in self._said:
                self._said.add(line)
                say(line, sys.stderr)


def here() -> Interception | None:
    """The interception that holds here, while its switch is on."""
    block = BLOCKS.innermost(INTERCEPTION)
    found: Interception | None = None if block is None else block.value
    return found if found is not None and found.switch.enabled else None


# ---- what stands in for TileLang's own, while a block is open


def _cached(own: Own) -> Own:
    @functools.wraps(own)
    def cached(func: Any = None, out_idx: Any = None, *args: Any, **settings: Any) -> Any:
        found = here()
        if found is None:
            return own(func, out_idx, *args, **settings)
        from tltrace_nb.core.compile.compilation import Compilation

        def plain() -> Any:
            with untraced():
                return own(func, out_idx, *args, **settings)

        return found.compile(func, Compilation(out_idx=out_idx, **settings), plain)

    return cached


def _call_builder(own: Own) -> Own:
    @functools.wraps(own)
    def call(self: Any, *args: Any, **kwargs: Any) -> Any:
        from tltrace_nb.core.runtime.jit import OwnImpl

        found = here()
        if found is None or isinstance(self, OwnImpl):
            return own(self, *args, **kwargs)
        caches = lambda: {"_kernel_cache": {}, "_call_form_cache": type(self._call_form_cache)()}  # noqa: E731
        return own(found.twin(self, caches), *args, **kwargs)

    return call


def _call_kernel(own: Own) -> Own:
    @functools.wraps(own)
    def call(self: Any, *args: Any, **kwargs: Any) -> Any:
        found = here()
        if found is not None:
            found.called(self)
        return own(self, *args, **kwargs)

    return call


def _call_tuner(own: Own) -> Own:
    @functools.wraps(own)
    def call(self: Any, *args: Any, **kwargs: Any) -> Any:
        found = here()
        if found is None:
            return own(self, *args, **kwargs)
        if found.model(self.jit_impl.target) is not None:
            return _untuned(self, args, kwargs)
        caches = lambda: {"_tuner_cache": _Tunings(self._tuner_cache, found.tuned)}  # noqa: E731
        return own(found.twin(self, caches), *args, **kwargs)

    return call


def _search(own: Own) -> Own:
    @functools.wraps(own)
    def run(self: Any, *args: Any, **kwargs: Any) -> Any:
        found = here()
        if found is None:
            return own(self, *args, **kwargs)
        with untraced():
            result = own(self, *args, **kwargs)
        return replace(result, kernel=found.tuned(found.known(result.kernel)))

    return run


class _Tunings(dict[Any, Any]):
    """What a tuner has chosen, traced; the plain kernels are in the tuner's own cache."""

    def __init__(self, own: dict[Any, Any], traced: Callable[[Any], Any]):
        super().__init__()
        self._own, self._traced_of = own, traced

    def __contains__(self, key: object) -> bool:
        return super().__contains__(key) or key in self._own

    def __missing__(self, key: Any) -> Any:
        kernel, config = self._own[key]
        return self._put(key, self._traced_of(kernel), config)

    def __setitem__(self, key: Any, value: Any) -> None:
        kernel, config = value
        self._put(key, kernel, config)
        from tilelang.jit import JITKernel

        from tltrace_nb.core.runtime.facade import RecordingKernel

        if isinstance(plain := plain_of(kernel), JITKernel) and not isinstance(plain, RecordingKernel):
            self._own[key] = plain, config

    def _put(self, key: Any, kernel: Any, config: Any) -> Any:
        super().__setitem__(key, (kernel, config))
        return kernel, config


def _untuned(tuner: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """What a tuned builder returns where there is no device to search on: its kernel of the first configuration."""
    as_kernel = kwargs.pop("__return_kernel", False)
    configs = tuner.configs(*args, **kwargs) if callable(tuner.configs) else tuner.configs
    chosen = dict(configs[0])
    builder, pass_configs = tuner.jit_impl, chosen.pop("pass_configs", None)
    if pass_configs:
        builder = replace(builder, pass_configs={**(builder.pass_configs or {}), **pass_configs})
    return builder.compile(*args, **kwargs, **chosen) if as_kernel else builder(*args, **kwargs, **chosen)


def _replaced() -> list[tuple[Any, str, Callable[[Own], Own]]]:
    import tilelang
    from tilelang.jit import JITImpl, JITKernel

    from tltrace_nb.core.compile.upstream import AutoTuneImpl, AutoTuner

    modules = [tilelang, *map(importlib.import_module, ("tilelang.cache", "tilelang.jit"))]
    own = modules[1].cached
    return [
        *((module, "cached", _cached) for module in modules if getattr(module, "cached", None) is own),
        (JITImpl, "__call__", _call_builder),
        (JITKernel, "__call__", _call_kernel),
        (AutoTuneImpl, "__call__", _call_tuner),
        (AutoTuner, "run", _search),
    ]


_REPLACEMENTS = Replacements(_replaced)
