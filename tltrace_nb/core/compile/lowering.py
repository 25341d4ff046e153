"""From a kernel with markers to one that records: the sequence of steps, and the last of them.

In: a PrimFunc with placeholders, a target, options. Out: :class:`Lowering`, which knows the site table and turns the
scheduled PrimFunc into the recording one. Its steps, in order: add automatic markers where they are asked for
(``auto.marks``, and ``auto.fallback`` for those that find no place), number the markers (``numbering``), attach them to
operators (``anchors``), let TileLang schedule the kernel with and without them (``schedule``) and see that both are the
same, put the markers back (``placement``), choose who writes (``recording_threads``), and emit the calls (here, with
``device``).
"""

from __future__ import annotations

import hashlib
import itertools
import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from tvm import tirx
from tvm.arith import Analyzer

from tltrace_nb.base.errors import PayloadError, PlacementError
from tltrace_nb.base.words import code_at
from tltrace_nb.core.compile import device
from tltrace_nb.core.compile.active_threads import LaunchShape, launches
from tltrace_nb.core.compile.anchors import attach
from tltrace_nb.core.compile.auto.fallback import settle
from tltrace_nb.core.compile.auto.marks import mark
from tltrace_nb.core.compile.capacity import Wanted, room
from tltrace_nb.core.compile.carried import strip, with_markers
from tltrace_nb.core.compile.dead import dead_sites
from tltrace_nb.core.compile.devices import multiprocessors
from tltrace_nb.core.compile.holds import role_scopes
from tltrace_nb.core.compile.ir import (
    ROOT_BLOCK,
    Expr,
    Stmt,
    flatten,
    loads,
    op_name,
    rebuild,
    sequence,
    walk,
    with_block,
)
from tltrace_nb.core.compile.names import IMPORT, imported_sources, refuse_names
from tltrace_nb.core.compile.numbering import MarkedKernel, is_site, read_sites, site_id
from tltrace_nb.core.compile.options import TraceOptions
from tltrace_nb.core.compile.payloads import check_moving_payloads, without_payload
from tltrace_nb.core.compile.placement import leaves_in, place, same_schedule, sites_in
from tltrace_nb.core.compile.recording_threads import Plan, RecordPlan, plan
from tltrace_nb.core.compile.schedule import Scheduler
from tltrace_nb.core.compile.silence import Silence
from tltrace_nb.core.compile.swizzle import unknown_blocks
from tltrace_nb.data.chosen import CtaRuns, Cut
from tltrace_nb.data.sites import (
    TABLE_ATTRIBUTE,
    TABLE_VERSION,
    EventKind,
    Launch,
    Site,
    SiteTable,
    launch_rows,
    table_rows,
)
from tltrace_nb.data.slots import slot_words

_INT32 = "int32"
PASS_CONFIGS = "tilelang_pass_configs"
"""Attribute in which a PrimFunc itself asks for pass configs."""

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


def prepare(
    func: Any,
    target: Any,
    options: TraceOptions,
    pass_configs: dict[str, Any] | None = None,
    *,
    sms: int | None = None,
) -> Lowering:
    """Schedule a kernel dry and plan its recording. ``sms``: those of the device, by default of the card that is there.

    Raises ``PlacementError`` where a marker cannot be kept in place, ``PayloadError`` where a payload cannot be read,
    ``CapacityError`` where the author's limits exceed the budget, and TileLang's own errors for a kernel that it does
    not schedule.
    """
    func = with_markers(func)
    refuse_names(func)
    scheduler = Scheduler(target, pass_configs)
    bare = scheduler(strip(func))
    if options.auto is not None:
        func = mark(func, options.auto)
    settled = settle(func, lambda kernel: _place(kernel, bare, scheduler))
    marked, anchored = settled.result.marked, settled.result.anchored
    shapes = launches(settled.result.placed)
    note = settled.note or (_NOTHING_TO_MARK if options.auto is not None and not marked.sites else "")
    chosen = plan(shapes, marked)
    silence = Silence.of(marked, settled.result.placed_sites, chosen)
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


@dataclass(frozen=True, slots=True)
class _Placed:
    """A kernel whose markers have found their places in a dry run of TileLang's scheduler."""

    marked: MarkedKernel
    anchored: Any
    placed: Any

    @property
    def placed_sites(self) -> frozenset[int]:
        """The sites that record somewhere."""
        return frozenset(sites_in(self.placed))


def _place(func: Any, bare: Any, scheduler: Scheduler) -> _Placed:
    """Number, attach, schedule and place a kernel's markers; ``bare`` is its schedule without them."""
    marked = read_sites(func)
    check_moving_payloads(marked)
    anchored, scheduled = _attach(marked, bare, scheduler)
    return _Placed(marked, anchored, place(scheduled, marked))


def _attach(marked: MarkedKernel, bare: Any, scheduler: Scheduler) -> tuple[Any, Any]:
    """The anchored kernel and its schedule, which is the bare kernel's."""
    if not marked.sites:
        return strip(marked.func), bare
    everywhere = role_scopes(bare) > role_scopes(marked.func)

    def tried(marked: MarkedKernel) -> tuple[Any, Any, set[int]] | None:
        """The same, and the sites that are lost; ``None`` if the schedule is another one."""
        lost = None
        for inline_lets, carry_in_value in itertools.product((False, True), (True, False)):
            gone: set[int] = set()
            for _ in range(2):  # again without what the scheduler proves to be dead code
                anchored = attach(
                    marked,
                    everywhere=everywhere,
                    carry_in_value=carry_in_value,
                    inline_lets=inline_lets,
                    dead=gone,
                )
                scheduled = scheduler(anchored)
                if not same_schedule(scheduled, bare):
                    break
                missing = sites_in(anchored) - sites_in(scheduled)
                if not missing or not missing - dead_sites(marked, scheduler):
                    return anchored, scheduled, set()
                lost = anchored, scheduled, missing
                gone = leaves_in(anchored) - leaves_in(scheduled)
        return lost

    found = tried(marked)
    if found is not None and not found[2]:
        return found[0], found[1]
    guilty = _payload_to_blame(marked, lambda without: (again := tried(without)) is not None and not again[2])
    if guilty is not None:
        raise PayloadError(
            f"kernel {marked.name}, {guilty.source}: reading the payload of {guilty.name!r} would change TileLang's "
            f"schedule on {scheduler.architecture}; give an expression of loop indices, block indices or kernel "
            "parameters"
        )
    where = ", ".join(dict.fromkeys(s.source for s in marked.sites if found is None or s.id in found[2]))
    what = "would change" if found is None else "would be dropped by"
    raise PlacementError(
        f"kernel {marked.name}: markers at {where} {what} TileLang's schedule on {scheduler.architecture}; "
        "put the markers around tile operators (T.copy, T.gemm, T.Parallel loops), or outside the pipelined loop"
    )


def _payload_to_blame(marked: MarkedKernel, works: Callable[[MarkedKernel], bool]) -> Site | None:
    """The first of the author's markers without whose payload the kernel works; only one that reads memory is tried."""
    reading = {site_id(s) for s, _ in walk(marked.func.body) if is_site(s) and loads(s.value.args[2])}
    suspects = [site for site in marked.sites if site.id in reading and site.kind is not EventKind.RANGE_END]
    return next((site for site in suspects if works(without_payload(marked, site.id))), None)


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
    if options.ctas is None and len(shapes) > 1 and any(None in grid for grid in grids):
        raise PlacementError(
            f"kernel {marked.name}: several launches of which one has a dynamic grid; trace them one by one, or say "
            "how many CTAs of each (ctas=64)"
        )
    wanted = [
        Wanted(None if None in grid else math.prod(e or 0 for e in grid), shape.cluster, launch.bound)
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
        code=_code(marked.sites),
        version=1 if fits.ctas is None else TABLE_VERSION,
    )


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
    return _row_in(cta, table.ctas, launch.first_row)


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
