"""Markers numbered: the sites of a kernel, in order of appearance.

In: a PrimFunc with placeholder statements (``compile.markers``). Out: the PrimFunc with ``__tlt_site(id, payload)`` in
their places and a :class:`MarkedKernel` that says what each id is; or the PrimFunc stripped of them.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

import tilelang  # noqa: F401  (puts the tvm that TileLang bundles on the path)
from tvm import tirx
from tvm.ir import Op

from tltrace_nb.base.errors import MarkerError, PlacementError, TokenError
from tltrace_nb.core.compile.carried import has_markers as has_markers  # noqa: PLC0414 (with ``strip`` the other half of this module)
from tltrace_nb.core.compile.carried import is_marker, with_markers
from tltrace_nb.core.compile.carried import strip as strip  # noqa: PLC0414
from tltrace_nb.core.compile.ir import ROOT_BLOCK, Expr, Stmt, op_name, rebuild, sequence
from tltrace_nb.core.compile.jumps import close_at_jumps
from tltrace_nb.core.compile.markers import Flow, Group, Marker, Over, read_marker
from tltrace_nb.data.sites import EventKind, Site

SITE = "__tlt_site"
DATA_PARALLEL = (tirx.ForKind.PARALLEL, tirx.ForKind.VECTORIZED)
"""Kinds of loops whose iterations TileLang spreads over threads and vector lanes."""


@dataclass(frozen=True, slots=True)
class MarkedKernel:
    """A PrimFunc whose markers are numbered: each stands as ``__tlt_site(id, payload)``, in order of appearance.

    ``groups`` and ``over`` are the groups of the sites and what they are about, site by site; ``leaving`` are the sites
    that end a range at a jump out of it. ``light`` are the names of automatic markers that are instants: the light set
    has them in place of ranges. ``full`` are those that it has nothing in place of.
    """

    func: Any
    name: str
    sites: tuple[Site, ...]
    groups: tuple[Group, ...]
    flows: tuple[tuple[str, str], ...]
    over: tuple[Over, ...]
    leaving: frozenset[int] = frozenset()
    light: tuple[str, ...] = ()
    full: tuple[str, ...] = ()

    @property
    def end_of(self) -> dict[int, int]:
        """For each range, by the site of its begin, the site where it ends if nothing jumps out of it."""
        ends = (s for s in self.sites if s.kind is EventKind.RANGE_END and s.id not in self.leaving)
        return {s.range: s.id for s in ends}


def read_sites(func: Any) -> MarkedKernel:
    """Number the markers of a PrimFunc as sites, those included that end ranges where control jumps out of them.

    Raises ``MarkerError`` for a marker where none can stand and for a range that is never ended.
    """
    func = with_markers(func)
    kernel = str(func.attrs["global_symbol"])
    markers: list[Marker] = []
    flows: list[tuple[str, str]] = []
    launch_of: dict[int, Stmt] = {}

    def visit(statement: Stmt, above: tuple[Stmt, ...]) -> Stmt:
        if not is_marker(statement):
            return rebuild(statement, lambda child: visit(child, (*above, statement)))
        found, payload = read_marker(statement)
        if isinstance(found, Flow):
            flows.append((found.src, found.dst))
            return sequence([])
        _refuse_where_no_marker_can_stand(found, above, kernel)
        launch = next(s for s in above if is_launch(s))
        if found.kind is EventKind.RANGE_BEGIN:
            launch_of[found.range] = launch
        elif found.kind is EventKind.RANGE_END and not launch_of[found.range].same_as(launch):
            raise TokenError(
                f"kernel {kernel}, {found.source}: the range {found.name!r} is begun in one T.Kernel and ended in "
                "another; end it in the kernel that began it"
            )
        markers.append(found)
        return site_statement(len(markers) - 1, payload)

    func = close_at_jumps(func)
    numbered = func.with_body(visit(func.body, ()))
    begins = {m.range: i for i, m in enumerate(markers) if m.kind is EventKind.RANGE_BEGIN}
    ended = {m.range for m in markers if m.kind is EventKind.RANGE_END}
    for marker in markers:
        if marker.kind is EventKind.RANGE_BEGIN and marker.range not in ended:
            raise TokenError(
                f"kernel {kernel}, {marker.source}: the range {marker.name!r} is begun and never ended; "
                "call trace.range_end with its token"
            )
    sites = tuple(
        Site(i, m.kind, m.name, m.lane, m.group.name, m.payload, m.source, begins.get(m.range, -1))
        for i, m in enumerate(markers)
    )
    groups, over = tuple(m.group for m in markers), tuple(m.over for m in markers)
    leaving = frozenset(i for i, m in enumerate(markers) if m.leaving)
    light = dict.fromkeys(m.name for m in markers if m.automatic and m.kind is EventKind.INSTANT)
    elsewhere = {m.name for m in markers if not m.full}
    full = tuple(name for name in dict.fromkeys(m.name for m in markers) if name not in elsewhere)
    return MarkedKernel(numbered, kernel, sites, groups, tuple(dict.fromkeys(flows)), over, leaving, tuple(light), full)


def site_statement(site: int, payload: Expr, *condition: Expr, roles: Collection[str] = ()) -> Stmt:
    """The statement that stands for a marker in place: ``__tlt_site(site, payload)``.

    While it is lifted out of a branch it has the branch's condition as well; where several roles of a specialised
    kernel record it in code that all run, it has their names.
    """
    arguments = [tirx.StringImm(SITE), tirx.IntImm("int32", site), payload, *condition]
    return tirx.Evaluate(
        tirx.Call("handle", Op.get("tirx.call_extern"), [*arguments, *map(tirx.StringImm, sorted(roles))])
    )


def site_roles(statement: Stmt) -> frozenset[str]:
    """The roles in a ``__tlt_site`` statement."""
    return frozenset(str(each.value) for each in statement.value.args[3:] if isinstance(each, tirx.StringImm))


def is_site(statement: Stmt) -> bool:
    """Whether a statement is a ``__tlt_site``."""
    return op_name(statement) == SITE


def site_id(statement: Stmt) -> int:
    """The id in a ``__tlt_site`` statement."""
    return int(statement.value.args[1])


def is_launch(statement: Stmt) -> bool:
    """Whether a statement is the block around the body of a ``T.Kernel``."""
    return isinstance(statement, tirx.SBlock) and statement.name_hint == ROOT_BLOCK


def _refuse_where_no_marker_can_stand(marker: Marker, above: tuple[Stmt, ...], kernel: str) -> None:
    if not any(map(is_launch, above)):
        raise MarkerError(f"kernel {kernel}, {marker.source}: {marker.name!r} stands outside T.Kernel")
    for loop in above:
        if isinstance(loop, tirx.For) and loop.kind in DATA_PARALLEL:
            kind = "T.Parallel" if loop.kind == tirx.ForKind.PARALLEL else "T.vectorized"
            raise PlacementError(
                f"kernel {kernel}, {marker.source}: {marker.name!r} stands inside a {kind} loop, whose iterations "
                "TileLang spreads over threads and vector lanes; put the marker around the loop"
            )
