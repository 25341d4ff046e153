"""What TileLang prints of a kernel in which the author's own code fails: the program that it had made of it.

The error has the author's line; thirty lines of a program that the author has not written stand in front of it. In: a
block in which they are kept back. Out: nothing; errors go their way.
"""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Iterator

BUILDER = "tilelang.language.eager.builder"
"""The logger of TileLang's builder, which has nothing else to say that is critical."""


@contextlib.contextmanager
def without_dumps() -> Iterator[None]:
    """Within, TileLang does not print the program; all else that it logs is there."""

    def kept(record: logging.LogRecord) -> bool:
        return record.levelno < logging.CRITICAL

    logger = logging.getLogger(BUILDER)
    logger.addFilter(kept)
    try:
        yield
    finally:
        logger.removeFilter(kept)
