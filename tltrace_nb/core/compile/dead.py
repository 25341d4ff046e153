"""Markers in code that never runs: TileLang proves the branch around them false and drops it, with them.

In: a kernel with sites as statements. Out: the sites that no schedule of it has.
"""

from __future__ import annotations

from tltrace_nb.core.compile.ir import walk
from tltrace_nb.core.compile.numbering import MarkedKernel, is_site, site_id
from tltrace_nb.core.compile.schedule import Scheduler


def dead_sites(marked: MarkedKernel, scheduler: Scheduler) -> frozenset[int]:
    """The sites that TileLang drops although they are statements, which it drops with the code around them only.

    Statements may make another schedule, or none: then no site is known to be dead.
    """
    try:
        scheduled = scheduler(marked.func)
    except Exception:  # TileLang raises plain errors of many kinds
        return frozenset()
    alive = {site_id(statement) for statement, _ in walk(scheduled.body) if is_site(statement)}
    return frozenset(site.id for site in marked.sites) - alive
