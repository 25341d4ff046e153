"""Files that are whole or not there.

In: a path. Out: a place beside it to write to, which takes the path's name when all is written, down to the disk.
"""

from __future__ import annotations

import contextlib
import gzip
import itertools
import os
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any, cast

_NUMBERS = itertools.count()
"""What tells the files apart that threads of this process write at the same time."""
_NAME_KEPT = 40
"""Characters of a file's name in that of the file beside it, which must not become too long for a file system."""


@contextlib.contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[Path]:
    """A path to write to; ``path`` is replaced when the block ends well, and as it was when it does not.

    A link stays one: what it leads to is replaced. What is no file, such as ``/dev/stdout``, is written to as it is.
    Raises ``OSError`` where ``path`` cannot be written.
    """
    if _is_no_file(path):
        yield Path(path)
        return
    target = Path(os.path.realpath(path))
    partial = target.with_name(f".{target.name[:_NAME_KEPT]}.{os.getpid()}-{next(_NUMBERS)}.partial")
    try:
        yield partial
        with partial.open("r+b") as written:
            os.fsync(written.fileno())
        partial.replace(target)
    except OSError as error:
        if error.errno is not None and error.filename in (None, os.fspath(partial)):
            raise OSError(error.errno, error.strerror, os.fspath(path)) from error  # by the name that the caller knows
        raise
    finally:
        with contextlib.suppress(OSError):  # what went wrong is told already
            partial.unlink(missing_ok=True)


def _is_no_file(path: str | os.PathLike[str]) -> bool:
    """Whether it is there, and is a pipe, a terminal or another device."""
    try:
        mode = Path(path).stat().st_mode
    except FileNotFoundError:
        return False
    return not stat.S_ISREG(mode) and not stat.S_ISDIR(mode)


@contextlib.contextmanager
def writing(path: str | os.PathLike[str]) -> Iterator[IO[bytes]]:
    """A binary file to write ``path``, packed with gzip where its name ends in ``.gz``; as ``replacing`` otherwise."""
    with replacing(path) as partial, partial.open("wb") as file:
        if not os.fspath(path).endswith(".gz"):
            yield file
            return
        with gzip.GzipFile(filename="", mode="wb", compresslevel=6, fileobj=file, mtime=0) as packed:
            yield cast("IO[bytes]", cast(Any, packed))
