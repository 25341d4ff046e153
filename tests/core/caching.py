"""Stand-ins for what the disk cache of kernels is given: a build, and a compiler that counts."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

LIBRARY = bytes(range(256)) * 64


class Build:
    """What decides a kernel, as far as the cache looks at it; ``load`` takes only what the compiler has made."""

    context: Any = SimpleNamespace(execution_backend=SimpleNamespace(name="tvm_ffi"))

    def __init__(self, key: str = "a1", note: str = "") -> None:
        self._key = key
        self._note = note

    def key(self) -> str:
        return self._key

    def note(self) -> str:
        return self._note

    def load(self, library: Path, device_source: str, host_source: str) -> str:
        assert library.read_bytes() == LIBRARY, "the process would be dead by now"
        assert (device_source, host_source) == ("device", "host")
        return "loaded"


class Compiler:
    """Builds kernels whose library is some bytes, and counts them."""

    def __init__(self) -> None:
        self.built = 0
        self.export: Callable[[str], Any] = lambda path: Path(path).write_bytes(LIBRARY)

    def __call__(self) -> Any:
        self.built += 1
        executable = SimpleNamespace(export_library=self.export)
        return SimpleNamespace(
            adapter=SimpleNamespace(get_exportable_executable=lambda: executable),
            get_kernel_source=lambda: "device",
            get_host_source=lambda: "host",
        )
