"""The disk cache of traced kernels, with a stand-in for the compiler: what becomes of a damaged entry."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tltrace_nb.core import cache

KEY = "a1"
CONTEXT: Any = SimpleNamespace(execution_backend=SimpleNamespace(name="tvm_ffi"))


class Compiler:
    """Builds kernels whose library is a text, and counts them."""

    def __init__(self) -> None:
        self.built = 0

    def __call__(self) -> Any:
        self.built += 1
        return SimpleNamespace(
            adapter=SimpleNamespace(),
            get_kernel_source=lambda: "device",
            get_host_source=lambda: "host",
            export_library=lambda path: Path(path).write_text("library"),
        )


@pytest.fixture
def compiler(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Compiler:
    def load(entry: Path, *_: object) -> str:
        texts = [(entry / name).read_text() for name in ("host.c", "kernel.cu", "kernel.so")]
        if texts != ["host", "device", "library"]:
            raise RuntimeError("cannot be loaded")
        return "loaded"

    monkeypatch.setenv("TLTRACE_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.delenv("TILELANG_DISABLE_CACHE", raising=False)
    monkeypatch.setattr(cache, "key", lambda *_: KEY)
    monkeypatch.setattr(cache, "_load", load)
    return Compiler()


def kernel(compiler: Compiler) -> Any:
    lowering: Any = None
    return cache.cached(lowering, None, CONTEXT, None, None, compiler)[0]


def test_a_kernel_is_built_once(compiler: Compiler) -> None:
    kernel(compiler)
    assert kernel(compiler) == "loaded"
    assert compiler.built == 1


def test_the_note_on_a_kernel_is_kept_with_it(compiler: Compiler) -> None:
    lowering: Any = None
    for _ in range(2):
        built = cache.cached(lowering, None, CONTEXT, None, None, compiler, lambda: "planned otherwise")
        assert built.note == "planned otherwise"
    assert built.kernel == "loaded"


def cut(entry: Path, name: str) -> None:
    (entry / name).write_text("")


def lose(entry: Path, name: str) -> None:
    (entry / name).unlink()


@pytest.mark.parametrize("name", ["kernel.so", "kernel.cu", "host.c", "plan.json"])
@pytest.mark.parametrize("damage", [cut, lose])
def test_a_damaged_entry_is_built_anew_and_kept(compiler: Compiler, damage: Callable[..., None], name: str) -> None:
    kernel(compiler)
    damage(cache.cache_dir() / KEY, name)
    assert kernel(compiler) != "loaded"
    assert kernel(compiler) == "loaded"
    assert compiler.built == 2


def test_where_nothing_can_be_kept_kernels_are_built(compiler: Compiler) -> None:
    cache.cache_dir().write_text("in the way")
    kernel(compiler)
    assert kernel(compiler) != "loaded"
    assert compiler.built == 2


def test_what_another_process_keeps_meanwhile_stays(compiler: Compiler) -> None:
    def meanwhile() -> Any:
        found = compiler()
        kernel(compiler)
        return found

    kernel(meanwhile)  # type: ignore[arg-type]
    assert kernel(compiler) == "loaded"
    assert [path.name for path in cache.cache_dir().iterdir()] == [KEY]
