"""A disk cache of traced kernels: TileLang's own does not see kernels that go through our pipeline.

In: a lowering and what else decides the compiled code. Out: the kernel, compiled once per key, and what the compiled
library does not tell: the dynamic shared memory of its functions, and a note on how they were planned.

An entry is a folder named by its key, written aside and renamed into place, so that two processes never see half of
one. ``TLTRACE_CACHE_DIR`` moves the cache, ``TILELANG_DISABLE_CACHE=1`` switches it off along with TileLang's.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import tilelang
from tilelang.backend.module import BackendContext
from tilelang.engine.lower import extrac_params
from tilelang.jit.adapter.base import CachedTextSource
from tilelang.jit.kernel import JITKernel

from tltrace_nb._version import __version__
from tltrace_nb.core import device
from tltrace_nb.core.lowering import Lowering
from tltrace_nb.core.resources import dynamic_shared

_LIBRARY, _DEVICE_SOURCE, _HOST_SOURCE, _PLAN = "kernel.so", "kernel.cu", "host.c", "plan.json"
_CACHED_BACKEND = "tvm_ffi"


class Built(NamedTuple):
    """A compiled kernel, the bytes of dynamic shared memory of its functions, and a note on how it was planned."""

    kernel: JITKernel
    dynamic_shared: dict[str, int]
    note: str


def cached(
    lowering: Lowering,
    out_idx: list[int] | None,
    context: BackendContext,
    pass_configs: dict[str, Any] | None,
    compile_flags: list[str] | None,
    build: Callable[[], JITKernel],
    note: Callable[[], str] = str,
) -> Built:
    """The kernel from the cache, else from ``build``, then kept. An entry that cannot be read is built anew.

    ``note`` tells what is to be said of the kernel, once it is built.
    """

    def built() -> Built:
        kernel = build()
        return Built(kernel, dynamic_shared(kernel), note())

    if not tilelang.env.is_cache_enabled() or context.execution_backend.name != _CACHED_BACKEND:
        return built()
    entry = cache_dir() / key(lowering, out_idx, context, pass_configs, compile_flags)
    if entry.exists():
        try:
            plan = json.loads((entry / _PLAN).read_text())
            kernel = _load(entry, lowering, out_idx, context, pass_configs, compile_flags)
            return Built(kernel, plan["dynamic_shared"], plan["note"])
        except Exception:  # a damaged entry is as good as none
            shutil.rmtree(entry, ignore_errors=True)
    result = built()
    with contextlib.suppress(OSError):  # a full or read-only disk must not fail the run
        _save(entry, result)
    return result


def cache_dir() -> Path:
    """The folder that holds the entries."""
    root = os.environ.get("TLTRACE_CACHE_DIR")
    return Path(root) if root else Path.home() / ".cache" / "tltrace_nb" / "kernels"


def key(
    lowering: Lowering,
    out_idx: list[int] | None,
    context: BackendContext,
    pass_configs: dict[str, Any] | None,
    compile_flags: list[str] | None,
) -> str:
    """Hash of all that decides the compiled code: kernel with its attributes, target, configurations, versions."""
    parts = {
        "func": lowering.anchored.script(show_meta=True),
        "table": lowering.table.to_json(),
        "helper": device.HELPER,
        "out_idx": out_idx,
        "target": str(context.target),
        "pass_configs": {str(k): str(v) for k, v in (pass_configs or {}).items()},
        "compile_flags": compile_flags,
        "versions": [tilelang.__version__, __version__],
    }
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()


def _load(
    entry: Path,
    lowering: Lowering,
    out_idx: list[int] | None,
    context: BackendContext,
    pass_configs: dict[str, Any] | None,
    compile_flags: list[str] | None,
) -> JITKernel:
    return JITKernel.from_database(
        func=lowering.anchored,
        host_kernel_source=CachedTextSource(text=(entry / _HOST_SOURCE).read_text()),
        device_kernel_source=CachedTextSource(text=(entry / _DEVICE_SOURCE).read_text()),
        kernel_lib_path=str(entry / _LIBRARY),
        params=extrac_params(lowering.anchored),
        target=context.target,
        target_host=context.target_host,
        out_idx=out_idx,
        execution_backend=_CACHED_BACKEND,
        pass_configs=pass_configs,
        compile_flags=compile_flags,
        backend_context=context,
    )


def _save(entry: Path, built: Built) -> None:
    kernel = built.kernel
    entry.parent.mkdir(parents=True, exist_ok=True)
    aside = Path(tempfile.mkdtemp(dir=entry.parent, prefix=".new-"))
    try:
        (aside / _DEVICE_SOURCE).write_text(kernel.get_kernel_source())
        (aside / _HOST_SOURCE).write_text(kernel.get_host_source())
        (aside / _PLAN).write_text(json.dumps({"dynamic_shared": built.dynamic_shared, "note": built.note}))
        kernel.export_library(str(aside / _LIBRARY))
        with contextlib.suppress(OSError):  # another process was first
            aside.rename(entry)
    finally:
        shutil.rmtree(aside, ignore_errors=True)
