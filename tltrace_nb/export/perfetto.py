"""A trace in Perfetto's own format, for ui.perfetto.dev and its trace processor.

In: a trace. Out: a file of packets, in which the kernel is a process.
"""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import TYPE_CHECKING

from tltrace_nb.base.checks import checked, file
from tltrace_nb.base.files import writing
from tltrace_nb.export.perfetto_packets import Tree
from tltrace_nb.export.perfetto_trace import Place, lay
from tltrace_nb.render.text import badge

if TYPE_CHECKING:
    import os

    from tltrace_nb.data.trace_data import TraceData

SUFFIX = ".pftrace"


@checked(path=file)
def write_perfetto(trace: TraceData, path: str | os.PathLike[str]) -> Path:
    """Write ``trace`` to ``path``, packed with gzip where it ends in ``.gz``, and return the path.

    Times are whole ns from the first CTA's entry, or cycles where no clock was measured; the file says which. Perfetto
    does not draw an arrow that points back in time. Raises ``OSError`` where the file cannot be written.
    """
    worn = badge(trace.meta)
    sign = worn.text if worn and worn.warns else trace.meta.gpu
    tree = Tree()
    laid = lay(trace, tree, Place(tree.process(trace.meta.kernel or trace.table.kernel, sign)))
    with writing(path) as file:
        for packets in itertools.chain((laid.words(), tree.packets()), laid.facts(), laid.events()):
            file.write(packets)
    return Path(path)
