"""A disk cache of traced kernels: TileLang's own does not see kernels that go through our pipeline.

In: a lowering and what else decides the compiled code. Out: the kernel, compiled once per key, and what the compiled
library does not tell: the dynamic shared memory of its functions, and a note on how they were planned.

Entries are kept as ``entries`` has it. Whatever goes wrong while a kernel is being kept costs the cache, not the run.
``TILELANG_DISABLE_CACHE=1`` switches it off along with TileLang's.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import tilelang
import tvm_ffi
from tilelang.jit.kernel import JITKernel

from tltrace_nb._version import __version__
from tltrace_nb.core.compile import device, entries
from tltrace_nb.core.compile.lowering import Lowering
from tltrace_nb.core.compile.resources import dynamic_shared
from tltrace_nb.core.compile.schedule import pass_context
from tltrace_nb.core.compile.upstream import (
    BackendContext,
    CachedTextSource,
    TVMFFIKernelCache,
    extrac_params,
    lower_with_context,
)
from tltrace_nb.data.sites import TABLE_ATTRIBUTE

_DEVICE_SOURCE, _HOST_SOURCE, _PLAN = "kernel.cu", "host.c", "plan.json"
_TEXTS = (_DEVICE_SOURCE, _HOST_SOURCE, _PLAN)
_CACHED_BACKEND = "tvm_ffi"
_POSTPROCESSING = "tilelang_callback_cuda_postproc"


class Built(NamedTuple):
    """A compiled kernel, the bytes of dynamic shared memory of its functions, and a note on how it was planned."""

    kernel: JITKernel
    dynamic_shared: dict[str, int]
    note: str


@dataclass(frozen=True, slots=True)
class Build:
    """All that decides the compiled code: a lowering, and what TileLang compiles it with.

    ``pass_configs`` are normalised. ``context`` is TileLang's, opened for the lowering. ``note`` decides nothing: it
    tells what is to be said of the kernel, once it is built.
    """

    lowering: Lowering
    out_idx: list[int] | None
    context: BackendContext
    pass_configs: dict[str, Any]
    compile_flags: list[str] | None
    note: Callable[[], str] = str

    def key(self) -> str:
        """Hash of TileLang's own key for the kernel and of what we add to it.

        Lines of source decide nothing: neither those above the kernel nor those of its markers.
        """
        env = tilelang.env
        parts = {
            "tilelang": TVMFFIKernelCache()._generate_key(  # noqa: SLF001 (what TileLang tells kernels apart by)
                func=self.lowering.anchored.without_attr(TABLE_ATTRIBUTE),
                out_idx=self.out_idx,
                execution_backend=self.context.execution_backend.name,
                args=(),
                target=self.context.target,
                target_host=self.context.target_host,
                pass_configs=self.pass_configs,
                compile_flags=self.compile_flags,
            ),
            "toolchain": [
                env.TILELANG_TEMPLATE_PATH,
                env.CUTLASS_INCLUDE_DIR,
                env.CUDA_HOME,
                env.get_default_verbose(),
            ],
            "table": self.lowering.table.without_lines().to_json(),
            "helper": device.HELPER,
            "postprocessed": self._postprocessed(),
            "version": __version__,
        }
        return hashlib.sha256(json.dumps(parts, sort_keys=True, default=str).encode()).hexdigest()

    def load(self, library: Path, device_source: str, host_source: str) -> JITKernel:
        """The kernel from a compiled library."""
        return JITKernel.from_database(
            func=self.lowering.anchored,
            host_kernel_source=CachedTextSource(text=host_source),
            device_kernel_source=CachedTextSource(text=device_source),
            kernel_lib_path=str(library),
            params=extrac_params(self.lowering.anchored),
            target=self.context.target,
            target_host=self.context.target_host,
            out_idx=self.out_idx,
            execution_backend=_CACHED_BACKEND,
            pass_configs=self.pass_configs,
            compile_flags=self.compile_flags,
            backend_context=self.context,
        )

    def _postprocessed(self) -> str:
        """The CUDA source that the author's call-back makes of ours: a function has no name that lasts."""
        if tvm_ffi.get_global_func(_POSTPROCESSING, allow_missing=True) is None:
            return ""
        with pass_context(self.pass_configs), self.context.target:
            return str(lower_with_context(self.lowering.anchored, self.context).kernel_source)


def cached(build: Build, compiler: Callable[[], JITKernel]) -> Built:
    """The kernel from the cache, else from the compiler, then kept. An entry in doubt is built anew."""

    def built() -> Built:
        kernel = compiler()
        return Built(kernel, dynamic_shared(kernel), build.note())

    if not tilelang.env.is_cache_enabled() or build.context.execution_backend.name != _CACHED_BACKEND:
        return built()
    try:
        entry = entries.cache_dir() / build.key()
    except Exception:  # whatever it is, a kernel can be built without a place for it
        return built()
    found = _kept(entry, build)
    if found is not None:
        return found
    result = built()
    with contextlib.suppress(Exception):  # whatever it is, the kernel is there
        _keep(entry, result)
    return result


def _kept(entry: Path, build: Build) -> Built | None:
    """The kernel of an entry that is ours and whole."""

    def load(library: Path, texts: dict[str, str]) -> Built:
        plan = json.loads(texts[_PLAN])
        kernel = build.load(library, texts[_DEVICE_SOURCE], texts[_HOST_SOURCE])
        return Built(kernel, plan["dynamic_shared"], plan["note"])

    return entries.found(entry, _TEXTS, load)


def _keep(entry: Path, built: Built) -> None:
    """Write an entry. Raises what goes wrong; then nothing of it is left."""
    kernel = built.kernel

    def export(library: Path) -> None:
        kernel.adapter.get_exportable_executable().export_library(str(library))

    texts = {
        _DEVICE_SOURCE: kernel.get_kernel_source(),
        _HOST_SOURCE: kernel.get_host_source(),
        _PLAN: json.dumps({"dynamic_shared": built.dynamic_shared, "note": built.note}),
    }
    entries.keep(entry, export, texts)
