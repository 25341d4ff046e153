"""From a kernel with markers to one that records: the sequence of steps, and the last of them.

In: a PrimFunc with placeholders, a target, options. Out: :class:`Lowering`, which knows the site table and turns the
scheduled PrimFunc into the recording one. Its steps, in order: add automatic markers where they are asked for
(``auto.marks``), number them (``numbering``), attach them to operators (``anchors``), let TileLang schedule the kernel
with and without them (``schedule``) and see that both are the same (``dry_run``, and ``auto.fallback`` for automatic
markers that find no place), put the markers back (``placement``), choose who writes (``recording_threads``), and emit
the calls (here, with ``device``).
"""

from __future__ import annotations

import hashlib
import itertools
import math
from dataclasses import dataclass, replace
from typing import Any

from tvm import tirx
from tvm.arith import Analyzer

from tltrace_nb.base.errors import PlacementError
from tltrace_nb.base.words import code_at
from tltrace_nb.core.compile import device
from tltrace_nb.core.compile.active_threads import LaunchShape, launches
from tltrace_nb.core.compile.auto.fallback import with_most_markers
from tltrace_nb.core.compile.auto.marks import mark
from tltrace_nb.core.compile.capacity import Wanted, room
from tltrace_nb.core.compile.carried import strip, with_markers
from tltrace_nb.core.compile.devices import multiprocessors
from tltrace_nb.core.compile.ir import (
    ROOT_BLOCK,
    Expr,
    Stmt,
    flatten,
    op_name,
    rebuild,
    sequence,
    with_block,
)
from tltrace_nb.core.compile.names import IMPORT, imported_sources, refuse_names
from tltrace_nb.core.compile.numbering import MarkedKernel, is_site, site_id
from tltrace_nb.core.compile.options import TraceOptions
from tltrace_nb.core.compile.placement import place
from tltrace_nb.core.compile.recording_threads import Plan, RecordPlan, plan
from tltrace_nb.core.compile.schedule import Scheduler
from tltrace_nb.core.compile.silence import Silence
from tltrace_nb.core.compile.swizzle import unknown_blocks
from tltrace_nb.data.chosen import CtaRuns, Cut, Sample, whole_clusters
from tltrace_nb.data.sites import (
    TABLE_ATTRIBUTE,
    Launch,
    Site,
    SiteTable,
    launch_rows,
    table_rows,
    table_version,
)
from tltrace_nb.data.slots import slot_words

_INT32 = "int32"

_NOTHING_TO_MARK = "automatic markers: the kernel has no operator of those that were asked for"


@dataclass(frozen=True, slots=True)
class Lowering:
    """One kernel's way to its recording form.

    ``anchored`` is the unscheduled PrimFunc to compile, its markers riding on operators and its ``slots`` parameter
    appended; ``instrument`` is what happens to it once TileLang has scheduled it. ``bare`` is the scheduled PrimFunc
    without markers.
    """

    anchored: Any
    bare: Any
    marked: MarkedKernel
    table: SiteTable
    slots: Any
    grids: tuple[tuple[Expr, Expr, Expr], ...]

    def instrument(self, scheduled: Any) -> Any:
        """The scheduled PrimFunc with record calls in place of its anchors."""
        return _Emitter(self, place(scheduled, self.marked)).func()

    def with_note(self, note: str) -> Lowering:
        """The lowering with a further note in its site table."""
        table = replace(self.table, note="; ".join(filter(None, (self.table.note, note))))
        return replace(self, anchored=self.anchored.with_attr(TABLE_ATTRIBUTE, table.to_json()), table=table)

    def at_boundary(self, module: Any) -> Any:
        """``instrument`` on every function of a module; for ``schedule.context_with``."""
        for name, func in list(module.functions.items()):
            module.update_func(name, self.instrument(func))
        return module


def prepare(func: Any, scheduler: Scheduler, options: TraceOptions, *, sms: int | None = None) -> Lowering:
    """Schedule a kernel dry and plan its recording. ``sms``: those of the device, by default of the GPU that is there.

    Raises ``PlacementError`` where a marker cannot be kept in place, ``PayloadError`` where a payload cannot be read,
    ``CapacityError`` where the author's limits exceed the budget, and TileLang's own errors for a kernel that it does
    not schedule.
    """
    func = with_markers(func)
    refuse_names(func)
    bare = scheduler(strip(func))
    if options.auto is not None:
        func = mark(func, options.auto)
    found, left_out = with_most_markers(func, bare, scheduler)
    marked, anchored = found.marked, found.anchored
    shapes = launches(found.placed)
    note = left_out or (_NOTHING_TO_MARK if options.auto is not None and not marked.sites else "")
    chosen = plan(shapes, marked)
    silence = Silence.of(marked, found.sites, chosen)
    notes = "; ".join(filter(None, (note, silence.note)))
    table = _table(func, marked, shapes, chosen, options, notes, silence.reasons, sms)
    slots = _slots_buffer(table)
    handle = tirx.Var(f"{device.SLOTS}_handle", "handle")
    with_slots = tirx.PrimFunc(
        [*anchored.params, handle],
        anchored.body,
        anchored.ret_type,
        {**dict(anchored.buffer_map), handle: slots},
        anchored.attrs,
    ).with_attr(TABLE_ATTRIBUTE, table.to_json())
    return Lowering(with_slots, bare, marked, table, slots, tuple(tuple(shape.grid) for shape in shapes))


def _table(
    func: Any,
    marked: MarkedKernel,
    shapes: list[LaunchShape],
    chosen: Plan,
    options: TraceOptions,
    note: str,
    reasons: tuple[tuple[int, str], ...],
    sms: int | None,
) -> SiteTable:
    grids = [_constant_grid(shape) for shape in shapes]
    if not isinstance(options.ctas, CtaRuns) and len(shapes) > 1 and any(None in grid for grid in grids):
        raise PlacementError(
            f"kernel {marked.name}: several launches of which one has a dynamic grid; trace them one by one, or say "
            "how many CTAs of each (ctas=64)"
        )
    wanted = [
        Wanted(
            None if None in grid else math.prod(e or 0 for e in grid), shape.cluster, launch.bound, _unit(grid, shape)
        )
        for shape, grid, launch in zip(shapes, grids, chosen.launches, strict=True)
    ]
    fits = room(marked.name, wanted, len(chosen.writers), options, sms or multiprocessors())
    first_row, entries = 0, []
    for i, (shape, grid) in enumerate(zip(shapes, grids, strict=True)):
        name = f"{marked.name}_{i}" if len(shapes) > 1 else marked.name
        entries.append(Launch(name, grid, shape.block, first_row, shape.rasterisation))
        first_row += launch_rows(fits.ctas, i, grid) or 0
    return SiteTable(
        kernel=marked.name,
        sites=marked.sites,
        writers=chosen.writers,
        flows=marked.flows,
        launches=tuple(entries),
        capacity=fits.capacity,
        keep=options.keep,
        ctas=fits.ctas,
        max_events=options.max_events,
        source=marked.sites[0].source.rpartition(":")[0] if marked.sites else "",
        source_hash=source_hash(strip(func)),
        note="; ".join(filter(None, (note, unknown_blocks(entries), fits.note))),
        reasons=reasons,
        light=marked.light,
        full=marked.full,
        code=_code(marked.sites),
        version=table_version(fits.ctas),
    )


def _unit(grid: tuple[int | None, int | None, int | None], shape: LaunchShape) -> int:
    """So many CTAs that follow each other are whole clusters, as far as it is known."""
    x, y, z = grid
    if x is not None and y is not None and z is not None:
        return whole_clusters((x, y, z), shape.cluster)
    return shape.cluster[0] if shape.cluster[1:] == (1, 1) else 1


def _code(sites: tuple[Site, ...]) -> tuple[tuple[str, str], ...]:
    """What stands on the lines of the sites, as far as it is known."""
    sources = dict.fromkeys(site.source for site in sites)
    return tuple((source, text) for source in sources if (text := code_at(source)))


def source_hash(func: Any) -> str:
    """A hash of a kernel as TileLang built it, from its text; give the PrimFunc without markers."""
    return hashlib.sha256(func.script(show_meta=True).encode()).hexdigest()[:16]


def _constant_grid(shape: LaunchShape) -> tuple[int | None, int | None, int | None]:
    x, y, z = (int(e) if isinstance(e, (int, tirx.IntImm)) else None for e in map(Analyzer().simplify, shape.grid))
    return x, y, z


def _slots_buffer(table: SiteTable) -> Any:
    rows = table_rows(table)
    first: Any = tirx.Var(device.NUM_CTA, _INT32) if rows is None else rows
    return tirx.decl_buffer((first, len(table.writers), slot_words(table.capacity)), "int64", name=device.SLOTS)


class _Emitter:
    """Turns the placed sites of one PrimFunc into calls of the device helper."""

    def __init__(self, lowering: Lowering, placed: Any):
        self._table = lowering.table
        self._marked = lowering.marked
        self._placed = placed
        self._helper = device.helper("\n".join(imported_sources(placed)))
        # The parameter's buffer as the scheduled function has it: passes may have replaced the object.
        self._slots = placed.buffer_map[placed.params[-1]]
        shapes = launches(placed)
        planned = plan(shapes, self._marked).launches
        self._launches = enumerate(zip(shapes, self._table.launches, planned, strict=True))

    def func(self) -> Any:
        return self._placed.with_body(self._visit(self._placed.body))

    def _visit(self, statement: Stmt) -> Stmt:
        if isinstance(statement, tirx.SBlock) and statement.name_hint == ROOT_BLOCK:
            return self._kernel(statement)
        return rebuild(statement, self._visit)

    def _kernel(self, block: Stmt) -> Stmt:
        number, (shape, launch, planned) = next(self._launches)
        table = self._table
        cursor = device.cursor_buffer()
        thread = shape.thread_id()
        boundary = {
            "row": _row(device.cta_id(shape), number, launch, table),
            "writer": _position(thread, tuple(w.thread for w in table.writers)),
            "table": table,
        }
        enter = device.boundary_call(device.ENTER, cursor, self._slots, **boundary)
        leave = device.boundary_call(device.LEAVE, cursor, self._slots, **boundary)

        def record(statement: Stmt, before: RecordPlan | None) -> tuple[list[Stmt], RecordPlan | None]:
            here = planned.records[statement]
            if not here.threads:
                return [], before
            call = device.record_call(
                cursor,
                self._slots,
                site_id(statement),
                statement.value.args[2],
                mine=None if here.exclusive else _is_one_of(thread, sorted(here.threads)),
                beside=before is not None and before.threads == here.threads,
                capacity=table.capacity,
                keep=table.keep,
            )
            return [call], here

        def visit(statement: Stmt) -> Stmt:
            if op_name(statement).endswith("thread_return"):
                return sequence([leave, statement])
            if not isinstance(statement, tirx.SeqStmt) and not is_site(statement):
                return rebuild(statement, visit)
            result, before = [], None
            for inner in flatten(statement):
                if is_site(inner):
                    call, before = record(inner, before)
                    result += call
                else:
                    before = None
                    result.append(visit(inner))
            return sequence(result)

        body = visit(block.body)
        annotations = dict(block.annotations)
        annotations[IMPORT] = self._helper + str(annotations.get(IMPORT, ""))
        return with_block(
            block,
            body=sequence([enter, *flatten(body), leave]),
            alloc_buffers=[*block.alloc_buffers, cursor],
            annotations=annotations,
        )


def _row(cta: Expr, number: int, launch: Launch, table: SiteTable) -> Expr:
    """The CTA's row in the slots, -1 if it is not traced."""
    if table.ctas is None:
        return cta + launch.first_row if launch.first_row else cta
    x, y, z = launch.grid
    if x is not None and y is not None and z is not None:
        return _row_in(cta, table.ctas.of_launch(number, (x, y, z)), launch.first_row)
    if isinstance(table.ctas, Cut):
        return device.cut_row(cta, table.ctas, number)
    runs = table.ctas.launches[number] if isinstance(table.ctas, Sample) else table.ctas
    return _row_in(cta, runs, launch.first_row)


def _row_in(cta: Expr, chosen: CtaRuns, first_row: int) -> Expr:
    """The same among these CTAs: a closed form per run."""
    row: Expr = tirx.IntImm(_INT32, -1)
    rows = first_row + chosen.rows
    for run in reversed(chosen.runs):
        rows -= run.rows
        offset = cta - run.start
        inside, place = tirx.all(cta >= run.start, cta <= run.last), offset
        if run.stride > run.width and run.count > 1:
            beside = tirx.floormod(offset, run.stride)
            inside = tirx.all(inside, beside < run.width)
            place = tirx.floordiv(offset, run.stride) * run.width + beside
        row = tirx.Select(inside, place + rows, row)
    return row


def _position(value: Expr, members: tuple[int, ...]) -> Expr:
    """Where ``value`` stands in an ascending tuple, -1 if it does not; a closed form where the steps are equal."""
    missing = tirx.IntImm(_INT32, -1)
    steps = {b - a for a, b in itertools.pairwise(members)}
    if len(steps) == 1 and len(members) > 2:
        (step,) = steps
        offset = value - members[0]
        # Truncating, for TileLang does not know the offset to be positive, and rounding down would add statements.
        inside = tirx.all(value >= members[0], value <= members[-1], tirx.truncmod(offset, step) == 0)
        return tirx.Select(inside, tirx.truncdiv(offset, step), missing)
    position: Expr = missing
    for index, member in enumerate(members):
        position = tirx.Select(value == member, tirx.IntImm(_INT32, index), position)
    return position


def _is_one_of(value: Expr, members: list[int]) -> Expr:
    if len(members) == 1:
        return value == members[0]
    return _position(value, tuple(members)) >= 0
