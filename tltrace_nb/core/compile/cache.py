"""A disk cache of traced kernels: TileLang's own does not see kernels that go through our pipeline.

In: a lowering and what else decides the compiled code. Out: the kernel, compiled once per key, and what the compiled
library does not tell: the dynamic shared memory of its functions, and a note on how they were planned.

An entry is a folder named by its key, written aside and renamed into place, so that two processes never see half of
one. What is in it is believed only when it is ours: a library that was truncated kills the process that loads it, and
one that somebody else put there runs as us. So the entry and its files belong to this user, nobody else may write to
them, and their hashes are those that were kept with them; any other entry is built anew in place. Whatever goes wrong
while a kernel is being kept costs the cache, not the run.

``TLTRACE_CACHE_DIR`` moves the cache, ``TLTRACE_CACHE_MIB`` bounds it (what was used longest ago goes first), and
``TILELANG_DISABLE_CACHE=1`` switches it off along with TileLang's.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import shutil
import stat
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import tilelang
import tvm_ffi
from tilelang.jit.kernel import JITKernel

from tltrace_nb._version import __version__
from tltrace_nb.core.compile import device
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

DEFAULT_MIB = 2048
"""MiB that the entries may take together, unless ``TLTRACE_CACHE_MIB`` says otherwise."""

_LIBRARY, _DEVICE_SOURCE, _HOST_SOURCE, _PLAN = "kernel.so", "kernel.cu", "host.c", "plan.json"
_FILES = (_LIBRARY, _DEVICE_SOURCE, _HOST_SOURCE, _PLAN)
_MANIFEST = "manifest.json"
_ASIDE = ".new-"
_ABANDONED_SECONDS = 3600
"""Age at which an entry that is still being written belongs to a process that died."""
_CACHED_BACKEND = "tvm_ffi"
_POSTPROCESSING = "tilelang_callback_cuda_postproc"
_OTHERS_MAY_WRITE = stat.S_IWGRP | stat.S_IWOTH


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
        entry = cache_dir() / build.key()
    except Exception:  # whatever it is, a kernel can be built without a place for it
        return built()
    found = _find(entry, build)
    if found is not None:
        return found
    result = built()
    with contextlib.suppress(Exception):  # whatever it is, the kernel is there
        _keep(entry, result)
    return result


def cache_dir() -> Path:
    """The folder that holds the entries: one of this user's own, where a shared one is given.

    Raises ``RuntimeError`` where this user has no home.
    """
    root = os.environ.get("TLTRACE_CACHE_DIR")
    return Path(root) / f"user-{os.getuid()}" if root else Path.home() / ".cache" / "tltrace_nb" / "kernels"


def _find(entry: Path, build: Build) -> Built | None:
    """The kernel of an entry that is ours and whole; any other is taken away."""
    try:
        if not os.path.lexists(entry):
            return None
        _check_is_ours(entry.parent, stat.S_ISDIR)
        read = _checked(entry)
        plan = json.loads(read[_PLAN])
        kernel = build.load(entry / _LIBRARY, read[_DEVICE_SOURCE].decode(), read[_HOST_SOURCE].decode())
        found = Built(kernel, plan["dynamic_shared"], plan["note"])
    except Exception:  # an entry in doubt is as good as none
        _discard(entry)
        return None
    with contextlib.suppress(OSError):
        os.utime(entry)  # used last
    return found


def _checked(entry: Path) -> dict[str, bytes]:
    """The files of an entry. Raises ``OSError`` or ``ValueError`` where one is missing, is not ours, or was changed."""
    _check_is_ours(entry, stat.S_ISDIR)
    read = {}
    for name in (*_FILES, _MANIFEST):
        _check_is_ours(entry / name, stat.S_ISREG)
        read[name] = (entry / name).read_bytes()
    if json.loads(read[_MANIFEST]) != _hashes(read):
        raise ValueError(f"{entry}: its files are not those that were kept")
    return read


def _check_is_ours(path: Path, is_kind: Callable[[int], bool]) -> None:
    found = os.lstat(path)
    if not is_kind(found.st_mode) or found.st_uid != os.getuid() or found.st_mode & _OTHERS_MAY_WRITE:
        raise PermissionError(f"{path} is not a file that only this user may write to")


def _hashes(files: dict[str, bytes]) -> dict[str, str]:
    return {name: hashlib.sha256(files[name]).hexdigest() for name in _FILES}


def _keep(entry: Path, built: Built) -> None:
    """Write an entry. Raises what goes wrong; then nothing of it is left."""
    kernel = built.kernel
    folder = entry.parent
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    if folder.stat().st_mode & _OTHERS_MAY_WRITE:
        folder.chmod(0o700)
    aside = folder / f"{_ASIDE}{entry.name[:16]}-{os.getpid()}-{time.monotonic_ns()}"
    aside.mkdir(0o700)
    try:
        kernel.adapter.get_exportable_executable().export_library(str(aside / _LIBRARY))
        texts = {
            _DEVICE_SOURCE: kernel.get_kernel_source(),
            _HOST_SOURCE: kernel.get_host_source(),
            _PLAN: json.dumps({"dynamic_shared": built.dynamic_shared, "note": built.note}),
        }
        files = {_LIBRARY: (aside / _LIBRARY).read_bytes(), **{name: text.encode() for name, text in texts.items()}}
        for name, data in {**files, _MANIFEST: json.dumps(_hashes(files)).encode()}.items():
            _write(aside / name, data)
        _sync(aside)
        aside.rename(entry)
        _sync(folder)
    finally:
        shutil.rmtree(aside, ignore_errors=True)  # there only when something went wrong, or another process was first
    _trim(folder, entry)


def _write(path: Path, data: bytes) -> None:
    """Write a file that only this user may change, down to the disk."""
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_TRUNC, 0o600)
    try:
        written = 0
        while written < len(data):
            written += os.write(descriptor, data[written:])
        os.fchmod(descriptor, 0o700 if path.name == _LIBRARY else 0o600)
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _sync(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _discard(entry: Path) -> None:
    """Take an entry away, if it can be: under its name at once."""
    aside = entry.with_name(f"{_ASIDE}old-{entry.name[:16]}-{os.getpid()}-{time.monotonic_ns()}")
    with contextlib.suppress(OSError):
        entry.rename(aside)
        if aside.is_dir() and not aside.is_symlink():
            shutil.rmtree(aside, ignore_errors=True)
        else:
            aside.unlink()


def _trim(folder: Path, newest: Path) -> None:
    """Take away the entries used longest ago until the rest fits, and what processes that died have left."""
    try:
        bound = int(os.environ.get("TLTRACE_CACHE_MIB", DEFAULT_MIB)) << 20
    except ValueError:
        bound = DEFAULT_MIB << 20
    entries: list[tuple[float, int, Path]] = []
    with os.scandir(folder) as found:
        for each in found:
            with contextlib.suppress(OSError):  # another process was faster
                used = each.stat(follow_symlinks=False).st_mtime
                if each.name.startswith(_ASIDE):
                    if time.time() - used > _ABANDONED_SECONDS:
                        shutil.rmtree(each.path, ignore_errors=True)
                elif each.path != str(newest):
                    entries.append((used, _size(Path(each.path)), Path(each.path)))
    free = bound - _size(newest)
    for _, size, path in sorted(entries, reverse=True):
        free -= size
        if free < 0:
            _discard(path)


def _size(entry: Path) -> int:
    with os.scandir(entry) as found:
        return sum(each.stat(follow_symlinks=False).st_size for each in found)
