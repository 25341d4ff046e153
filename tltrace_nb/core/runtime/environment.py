"""What a trace says of where it comes from: GPU, driver, versions, command.

In: a site table and the grids of a run. Out: :class:`~tltrace_nb.data.tracefile.TraceMeta`.
"""

from __future__ import annotations

import datetime
import functools
import importlib.metadata
import platform
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

from tltrace_nb._version import __version__
from tltrace_nb.data.left_out import cut_note
from tltrace_nb.data.tracefile import TraceMeta

if TYPE_CHECKING:
    from tltrace_nb.data.sites import SiteTable


def describe(
    table: SiteTable,
    grids: tuple[tuple[int, int, int], ...],
    *,
    device: int | None = None,
    started: float | None = None,
) -> TraceMeta:
    """The origin of a trace of the CUDA device of that index (default: the current one).

    ``started``: when it was captured, in seconds since 1970 (default: now).
    """
    gpu, cuda = _gpu(device)
    when = datetime.datetime.fromtimestamp(time.time() if started is None else started, datetime.UTC)
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
        captured=when.isoformat(timespec="microseconds"),
        grids=grids,
        note="; ".join(filter(None, (table.note, cut_note(table, grids)))),
    )


def _gpu(device: int | None) -> tuple[str, str]:
    import torch

    if not torch.cuda.is_available():
        return "", ""
    return _card_name(torch.cuda.current_device() if device is None else device), str(torch.version.cuda or "")


@functools.cache
def _card_name(device: int) -> str:
    import torch

    return str(torch.cuda.get_device_name(device))


@functools.cache
def _driver() -> str:
    tool = shutil.which("nvidia-smi")
    if tool is None:
        return ""
    query = [tool, "--query-gpu=driver_version", "--format=csv,noheader", "--id=0"]
    try:
        return subprocess.run(query, capture_output=True, text=True, check=False).stdout.strip()
    except OSError:  # no process could be started
        return ""


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
