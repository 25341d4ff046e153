"""What a trace says of where it comes from: card, driver, versions, command.

In: a site table and the grids of a run. Out: :class:`~tltrace_nb.core.trace.TraceMeta`.
"""

from __future__ import annotations

import datetime
import functools
import importlib.metadata
import platform
import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from tltrace_nb._version import __version__
from tltrace_nb.core.capacity import cut_note
from tltrace_nb.core.trace import TraceMeta

if TYPE_CHECKING:
    from tltrace_nb.core.sites import SiteTable


def describe(table: SiteTable, grids: tuple[tuple[int, int, int], ...]) -> TraceMeta:
    """The origin of a trace captured now on the current CUDA device."""
    gpu, cuda = _gpu()
    return TraceMeta(
        kernel=table.kernel,
        device="cuda",
        gpu=gpu,
        driver=_driver(),
        cuda=cuda,
        versions=_versions(),
        source=table.source,
        source_hash=table.source_hash,
        command=" ".join([Path(sys.argv[0]).name, *sys.argv[1:]]) if sys.argv else "",
        captured=datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        grids=grids,
        note="; ".join(filter(None, (table.note, cut_note(table, grids)))),
    )


@functools.cache
def _gpu() -> tuple[str, str]:
    import torch

    if not torch.cuda.is_available():
        return "", ""
    return torch.cuda.get_device_name(), str(torch.version.cuda or "")


@functools.cache
def _driver() -> str:
    tool = shutil.which("nvidia-smi")
    if tool is None:
        return ""
    query = [tool, "--query-gpu=driver_version", "--format=csv,noheader", "--id=0"]
    return subprocess.run(query, capture_output=True, text=True, check=False).stdout.strip()


@functools.cache
def _versions() -> dict[str, str]:
    found = {"tltrace_nb": __version__, "python": platform.python_version()}
    for package in ("tilelang", "torch"):
        try:
            found[package] = importlib.metadata.version(package)
        except importlib.metadata.PackageNotFoundError:
            module = sys.modules.get(package)
            found[package] = str(getattr(module, "__version__", "unknown"))
    return found
