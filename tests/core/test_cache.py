"""The disk cache of traced kernels, with a stand-in for the compiler: what is believed and kept, what goes wrong."""

from __future__ import annotations

import errno
import json
import os
import random
import shutil
import stat
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from caching import LIBRARY, Build, Compiler

from tltrace_nb.core.compile import cache, entries


@pytest.fixture
def compiler(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Compiler:
    monkeypatch.setenv("TLTRACE_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.delenv("TILELANG_DISABLE_CACHE", raising=False)
    monkeypatch.delenv("TLTRACE_CACHE_MIB", raising=False)
    return Compiler()


def kernel(compiler: Any, key: str = "a1") -> Any:
    return cache.cached(Build(key), compiler)[0]  # type: ignore[arg-type]


def entry(key: str = "a1") -> Path:
    return entries.cache_dir() / key


def left_over() -> list[str]:
    """What lies in the cache and is no entry."""
    folder = entries.cache_dir()
    return [path.name for path in folder.iterdir() if path.name.startswith(".")] if folder.is_dir() else []


def test_a_kernel_is_built_once(compiler: Compiler) -> None:
    assert kernel(compiler) != "loaded"
    assert kernel(compiler) == "loaded"
    assert compiler.built == 1


def test_the_note_on_a_kernel_is_kept_with_it(compiler: Compiler) -> None:
    for _ in range(2):
        built = cache.cached(Build(note="planned otherwise"), compiler)  # type: ignore[arg-type]
        assert built.note == "planned otherwise"
    assert built.kernel == "loaded"


def test_only_this_user_may_write_to_what_is_kept(compiler: Compiler) -> None:
    before = os.umask(0o002)
    try:
        kernel(compiler)
    finally:
        os.umask(before)
    for path in (entries.cache_dir(), entry(), *entry().iterdir()):
        assert path.stat().st_mode & (stat.S_IWGRP | stat.S_IWOTH) == 0
    assert kernel(compiler) == "loaded"


def cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-1])


def empty(path: Path) -> None:
    path.write_bytes(b"")


def flip(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)


def lose(path: Path) -> None:
    path.unlink()


def replace_by_a_folder(path: Path) -> None:
    path.unlink()
    path.mkdir()


def link(path: Path) -> None:
    aside = path.parent.parent / "elsewhere"
    path.rename(aside)
    path.symlink_to(aside)


def let_others_write(path: Path) -> None:
    path.chmod(0o666)


@pytest.mark.parametrize("name", ["kernel.so", "kernel.cu", "host.c", "plan.json", "manifest.json"])
@pytest.mark.parametrize("damage", [cut, empty, flip, lose, replace_by_a_folder, link, let_others_write])
def test_a_damaged_entry_is_built_anew_in_place(compiler: Compiler, damage: Callable[[Path], None], name: str) -> None:
    kernel(compiler)
    damage(entry() / name)
    assert kernel(compiler) != "loaded"
    assert kernel(compiler) == "loaded"
    assert compiler.built == 2
    assert left_over() == []


def test_random_damage_is_found_and_repaired(compiler: Compiler) -> None:
    """Bytes flipped, files truncated, swapped and lost, at places that a fixed seed chooses."""
    chosen = random.Random(12)
    for _ in range(200):
        kernel(compiler)
        built = compiler.built
        files = sorted(entry().iterdir())
        path, other = chosen.sample(files, 2)
        data = path.read_bytes()
        match chosen.choice(["flip", "truncate", "grow", "swap", "lose"]):
            case "flip":
                at = chosen.randrange(len(data))
                path.write_bytes(data[:at] + bytes([data[at] ^ 1 << chosen.randrange(8)]) + data[at + 1 :])
            case "truncate":
                path.write_bytes(data[: chosen.randrange(len(data))])
            case "grow":
                path.write_bytes(data + chosen.randbytes(chosen.randrange(1, 99)))
            case "swap":
                path.write_bytes(other.read_bytes())
            case "lose":
                path.unlink()
        assert kernel(compiler) != "loaded"
        assert compiler.built == built + 1
        assert kernel(compiler) == "loaded"


def test_a_library_of_another_user_is_not_loaded(compiler: Compiler, monkeypatch: pytest.MonkeyPatch) -> None:
    kernel(compiler)
    folder, me = entries.cache_dir(), os.getuid()
    monkeypatch.setattr(os, "getuid", lambda: me + 1)
    assert entries.cache_dir() != folder
    monkeypatch.setattr(entries, "cache_dir", lambda: folder)
    assert kernel(compiler) != "loaded"


def test_an_entry_that_others_may_write_to_is_not_loaded(compiler: Compiler) -> None:
    kernel(compiler)
    entry().chmod(0o777)
    assert kernel(compiler) != "loaded"
    assert kernel(compiler) == "loaded"


def test_an_entry_that_is_a_link_is_not_loaded(compiler: Compiler, tmp_path: Path) -> None:
    kernel(compiler)
    entry().rename(tmp_path / "mine")
    entry().symlink_to(tmp_path / "mine")
    assert kernel(compiler) != "loaded"
    assert kernel(compiler) == "loaded"
    assert (tmp_path / "mine" / "kernel.so").read_bytes() == LIBRARY


def test_where_nothing_can_be_kept_kernels_are_built(compiler: Compiler) -> None:
    entries.cache_dir().parent.write_text("in the way")
    kernel(compiler)
    assert kernel(compiler) != "loaded"
    assert compiler.built == 2


def test_what_another_process_keeps_meanwhile_stays(compiler: Compiler) -> None:
    def meanwhile() -> Any:
        found = compiler()
        kernel(compiler)
        return found

    kernel(meanwhile)
    assert kernel(compiler) == "loaded"
    assert [path.name for path in entries.cache_dir().iterdir()] == ["a1"]


def test_many_at_once_build_whole_entries(compiler: Compiler) -> None:
    found: list[Any] = []
    threads = [threading.Thread(target=lambda: found.append(kernel(compiler))) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 8
    assert kernel(compiler) == "loaded"
    assert left_over() == []


def test_the_kernels_used_longest_ago_go_first(compiler: Compiler, monkeypatch: pytest.MonkeyPatch) -> None:
    big = bytes(400 << 10)
    monkeypatch.setattr(Build, "load", lambda *_: "loaded")
    compiler.export = lambda path: Path(path).write_bytes(big)
    monkeypatch.setenv("TLTRACE_CACHE_MIB", "1")
    for age, key in ((300, "first"), (200, "second")):
        kernel(compiler, key)
        then = entry(key).stat().st_mtime - age
        os.utime(entry(key), (then, then))
    kernel(compiler, "first")  # used, so that the second is older now
    kernel(compiler, "third")
    assert sorted(path.name for path in entries.cache_dir().iterdir()) == ["first", "third"]


def test_what_processes_that_died_have_left_goes(compiler: Compiler) -> None:
    kernel(compiler)
    for name, age in (("old", 7200), ("new", 60)):
        aside = entries.cache_dir() / f".new-{name}"
        aside.mkdir()
        then = aside.stat().st_mtime - age
        os.utime(aside, (then, then))
    kernel(compiler, "b2")
    assert left_over() == [".new-new"]


# ---- whatever goes wrong while a kernel is kept or looked up costs the cache, not the run

OPERATIONS = [
    "mkdir",
    "stat",
    "lstat",
    "chmod",
    "fchmod",
    "open",
    "write",
    "fsync",
    "close",
    "rename",
    "utime",
    "scandir",
]
OPERATIONS += ["unlink", "rmdir", "replace"]


@contextmanager
def failing(monkeypatch: pytest.MonkeyPatch, operation: str, error: BaseException) -> Iterator[list[str]]:
    """Every call of an operation of the file system fails that concerns the cache; the calls."""
    own, calls, folder = getattr(os, operation), [], str(entries.cache_dir().parent)
    descriptors: set[int] = set()
    own_open = os.open

    def concerns(first: Any) -> bool:
        return first in descriptors if isinstance(first, int) else str(first).startswith(folder)

    def opened(*args: Any, **kwargs: Any) -> int:
        descriptor = own_open(*args, **kwargs)
        if concerns(args[0]):
            descriptors.add(descriptor)
        return descriptor

    def fails(*args: Any, **kwargs: Any) -> Any:
        if not concerns(args[0]):
            return own(*args, **kwargs)
        calls.append(operation)
        if operation == "close":
            own(*args)
        raise error

    with monkeypatch.context() as patch:
        patch.setattr(os, "open", opened)
        patch.setattr(os, operation, fails)
        yield calls


@pytest.mark.parametrize(
    "error",
    [
        OSError(errno.ENOSPC, "No space left on device"),
        PermissionError(errno.EACCES, "Permission denied"),
        InterruptedError(),
    ],
    ids=lambda error: type(error).__name__,
)
@pytest.mark.parametrize("operation", OPERATIONS)
def test_a_file_operation_that_fails_costs_the_cache_alone(
    compiler: Compiler, monkeypatch: pytest.MonkeyPatch, operation: str, error: OSError
) -> None:
    with failing(monkeypatch, operation, error):
        assert kernel(compiler) != "loaded"  # nothing there yet
        assert kernel(compiler) is not None
        assert kernel(compiler, "b2") != "loaded"
    kernel(compiler)
    assert kernel(compiler) == "loaded"


@pytest.mark.parametrize("operation", ["write", "fchmod", "fsync", "rename"])
def test_an_interrupt_while_a_kernel_is_kept_stays_one_and_leaves_nothing(
    compiler: Compiler, monkeypatch: pytest.MonkeyPatch, operation: str
) -> None:
    with failing(monkeypatch, operation, KeyboardInterrupt()) as calls, pytest.raises(KeyboardInterrupt):
        kernel(compiler)
    assert calls
    assert left_over() == []
    assert kernel(compiler) != "loaded"


def test_a_disk_too_full_to_link_the_library_costs_the_cache_alone(compiler: Compiler) -> None:
    def full(path: str) -> None:
        Path(path).write_bytes(LIBRARY[:100])
        raise RuntimeError("Compilation error: ld: final link failed: No space left on device")

    compiler.export = full
    assert kernel(compiler) != "loaded"
    assert left_over() == []
    assert not entry().exists()


def test_an_entry_without_a_manifest_is_one_of_an_earlier_version_and_built_anew(compiler: Compiler) -> None:
    kernel(compiler)
    shutil.copytree(entry(), entry("b2"))
    manifest = json.loads((entry("b2") / "manifest.json").read_text())
    assert sorted(manifest) == ["host.c", "kernel.cu", "kernel.so", "plan.json"]
    (entry("b2") / "manifest.json").unlink()
    assert kernel(compiler, "b2") != "loaded"
