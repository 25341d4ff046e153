"""What is compiled once and kept on disk: folders named by a key, each with a library and some texts.

In: the path of an entry. Out: its library and its texts, or nothing.

An entry is written aside and renamed into place, so that two processes never see half of one. What is in it is
believed only when it is ours: a library that was truncated kills the process that loads it, and one that somebody else
put there runs as us. So the entry and its files belong to this user, nobody else may write to them, and their hashes
are those that were kept with them; any other entry is taken away, and built anew in place.

``TLTRACE_CACHE_DIR`` moves the cache, ``TLTRACE_CACHE_MIB`` bounds it (what was used longest ago goes first).
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import shutil
import stat
import time
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import TypeVar

DEFAULT_MIB = 2048
"""MiB that the entries may take together, unless ``TLTRACE_CACHE_MIB`` says otherwise."""

LIBRARY = "kernel.so"
"""The library in an entry."""
_MANIFEST = "manifest.json"
_ASIDE = ".new-"
_ABANDONED_SECONDS = 3600
"""Age at which an entry that is still being written belongs to a process that died."""
_OTHERS_MAY_WRITE = stat.S_IWGRP | stat.S_IWOTH

Loaded = TypeVar("Loaded")


def cache_dir() -> Path:
    """The folder that holds the entries: one of this user's own, where a shared one is given.

    Raises ``RuntimeError`` where this user has no home.
    """
    root = os.environ.get("TLTRACE_CACHE_DIR")
    return Path(root) / f"user-{os.getuid()}" if root else Path.home() / ".cache" / "tltrace_nb" / "kernels"


def found(entry: Path, names: Iterable[str], load: Callable[[Path, dict[str, str]], Loaded]) -> Loaded | None:
    """What ``load`` makes of the library and the texts, ``names``, of an entry; one in doubt is taken away."""
    try:
        if not os.path.lexists(entry):
            return None
        _check_is_ours(entry.parent, stat.S_ISDIR)
        read = _checked(entry, names)
        result = load(entry / LIBRARY, {name: read[name].decode() for name in names})
    except Exception:  # an entry in doubt is as good as none
        _discard(entry)
        return None
    with contextlib.suppress(OSError):
        os.utime(entry)  # used last
    return result


def keep(entry: Path, library: Callable[[Path], None], texts: Mapping[str, str]) -> None:
    """Write an entry; ``library`` writes the library. Raises what goes wrong; then nothing of it is left."""
    folder = entry.parent
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    if folder.stat().st_mode & _OTHERS_MAY_WRITE:
        folder.chmod(0o700)
    aside = folder / f"{_ASIDE}{entry.name[:16]}-{os.getpid()}-{time.monotonic_ns()}"
    aside.mkdir(0o700)
    try:
        library(aside / LIBRARY)
        files = {LIBRARY: (aside / LIBRARY).read_bytes(), **{name: text.encode() for name, text in texts.items()}}
        for name, data in {**files, _MANIFEST: json.dumps(_hashes(files)).encode()}.items():
            _write(aside / name, data)
        _sync(aside)
        aside.rename(entry)
        _sync(folder)
    finally:
        shutil.rmtree(aside, ignore_errors=True)  # there only when something went wrong, or another process was first
    _trim(folder, entry)


def _checked(entry: Path, names: Iterable[str]) -> dict[str, bytes]:
    """The files of an entry. Raises ``OSError`` or ``ValueError`` where one is missing, is not ours, or was changed."""
    _check_is_ours(entry, stat.S_ISDIR)
    read = {}
    for name in (LIBRARY, *names, _MANIFEST):
        _check_is_ours(entry / name, stat.S_ISREG)
        read[name] = (entry / name).read_bytes()
    if json.loads(read.pop(_MANIFEST)) != _hashes(read):
        raise ValueError(f"{entry}: its files are not those that were kept")
    return read


def _check_is_ours(path: Path, is_kind: Callable[[int], bool]) -> None:
    found = os.lstat(path)
    if not is_kind(found.st_mode) or found.st_uid != os.getuid() or found.st_mode & _OTHERS_MAY_WRITE:
        raise PermissionError(f"{path} is not a file that only this user may write to")


def _hashes(files: dict[str, bytes]) -> dict[str, str]:
    return {name: hashlib.sha256(data).hexdigest() for name, data in files.items()}


def _write(path: Path, data: bytes) -> None:
    """Write a file that only this user may change, down to the disk."""
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_TRUNC, 0o600)
    try:
        written = 0
        while written < len(data):
            written += os.write(descriptor, data[written:])
        os.fchmod(descriptor, 0o700 if path.name == LIBRARY else 0o600)
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
