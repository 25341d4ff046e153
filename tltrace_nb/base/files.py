"""Files that are whole or not there.

In: a path. Out: a place beside it to write to, which takes the path's name when all is written.
"""

from __future__ import annotations

import contextlib
import gzip
import os
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any, cast


@contextlib.contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[Path]:
    """A path to write to; ``path`` is replaced when the block ends well, and as it was when it does not.

    Raises ``OSError`` where ``path`` cannot be written.
    """
    target = Path(path)
    partial = target.with_name(f".{target.name}.{os.getpid()}.partial")
    try:
        yield partial
        partial.replace(target)
    except OSError as error:
        if error.filename == os.fspath(partial):
            error.filename = os.fspath(target)  # the name that the caller knows
        raise
    finally:
        partial.unlink(missing_ok=True)


@contextlib.contextmanager
def writing(path: str | os.PathLike[str]) -> Iterator[IO[bytes]]:
    """A binary file to write ``path``, packed with gzip where its name ends in ``.gz``; as ``replacing`` otherwise."""
    with replacing(path) as partial, partial.open("wb") as file:
        if not os.fspath(path).endswith(".gz"):
            yield file
            return
        with gzip.GzipFile(filename="", mode="wb", compresslevel=6, fileobj=file, mtime=0) as packed:
            yield cast("IO[bytes]", cast(Any, packed))
