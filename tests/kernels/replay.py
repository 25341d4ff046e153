"""Runs a scheduled, marked kernel for one thread, on paper: which markers it passes, around which operators.

An interpreter of its own, which shares nothing with the code that placed the markers. It knows integers, serial loops
and conditions; a tile operator is an event that says which tile it reads.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from tvm import tirx

from kernels import Reference, builds
from tltrace_nb.core.compile import placement, schedule
from tltrace_nb.core.compile.lowering import Lowering
from tltrace_nb.core.compile.numbering import MarkedKernel
from tltrace_nb.data.sites import EventKind

Environment = dict[Any, int]

_BINARY: dict[str, Callable[[int, int], int]] = {
    "Add": operator.add,
    "Sub": operator.sub,
    "Mul": operator.mul,
    "FloorDiv": operator.floordiv,
    "FloorMod": operator.mod,
    "Min": min,
    "Max": max,
    "EQ": operator.eq,
    "NE": operator.ne,
    "LT": operator.lt,
    "LE": operator.le,
    "GT": operator.gt,
    "GE": operator.ge,
    "And": lambda a, b: a and b,
    "Or": lambda a, b: a or b,
    "tirx.bitwise_and": operator.and_,
    "tirx.bitwise_or": operator.or_,
    "tirx.bitwise_xor": operator.xor,
    "tirx.shift_left": operator.lshift,
    "tirx.shift_right": operator.rshift,
}


@dataclass(frozen=True)
class Placed:
    """A reference kernel's scheduled PrimFunc with its sites in place."""

    func: Any
    marked: MarkedKernel


@dataclass(frozen=True)
class Mark:
    """The thread passes a marker."""

    kind: EventKind
    name: str
    site: int
    payload: int | None


@dataclass(frozen=True)
class Work:
    """The thread comes to an operator; ``reads`` are the first elements of the tiles that it reads, by buffer name.

    ``what`` is ``copy``, ``gemm``, ``parallel``, ``store`` or the intrinsic's name.
    """

    what: str
    reads: tuple[tuple[str, tuple[int | None, ...]], ...]


Event = Mark | Work


@dataclass(frozen=True)
class Span:
    """A range as one thread passes it: its payloads at begin and end, and the work in between."""

    name: str
    payload: int | None
    payload_end: int | None
    work: tuple[Work, ...]


def placed(reference: Reference, architecture: str) -> Placed:
    """A reference kernel, scheduled, its markers placed; not cached, a test may have changed how that is done."""
    return placed_of(builds.prepared(reference, architecture), reference, architecture)


def placed_of(low: Lowering, reference: Reference, architecture: str) -> Placed:
    """The same for a lowering of the reference kernel that a test has made."""
    target = builds.target_of(architecture)
    with target:
        scheduled = schedule.schedule(low.anchored, target, reference.pass_configs)
    return Placed(placement.place(scheduled, low.marked), low.marked)


def replay(kernel: Placed, thread: int = 0, block: tuple[int, int, int] = (0, 0, 0)) -> list[Event]:
    """What one thread of one CTA passes, in order."""
    return list(_run(kernel, kernel.func.body, {}, {"threadIdx.x": thread, **dict(zip(_BLOCKS, block, strict=True))}))


def spans(events: list[Event]) -> list[Span]:
    """The ranges among the events, in order of their ends. Fails on an end without begin and on a begin without end."""
    found, unmatched = match(events)
    assert unmatched == []
    return found


def match(events: list[Event]) -> tuple[list[Span], list[str]]:
    """The ranges among the events, and the names of begins without end and ends without begin."""
    opened: dict[str, list[tuple[Mark, int]]] = {}
    found, unmatched = [], []
    for i, event in enumerate(events):
        if isinstance(event, Work) or event.kind is EventKind.INSTANT:
            continue
        if event.kind is EventKind.RANGE_BEGIN:
            opened.setdefault(event.name, []).append((event, i))
        elif not opened.get(event.name):
            unmatched.append(event.name)
        else:
            begin, first = opened[event.name].pop()
            work = tuple(e for e in events[first:i] if isinstance(e, Work))
            found.append(Span(event.name, begin.payload, event.payload, work))
    return found, [*unmatched, *(begin.name for begins in opened.values() for begin, _ in begins)]


def tile_numbers(work: Work, axes: dict[str, int], extent: int) -> list[int]:
    """For each buffer in ``axes`` that the work reads: the number of its tile along that axis."""
    found = []
    for buffer, indices in work.reads:
        if buffer in axes and indices[axes[buffer]] is not None:
            number, rest = divmod(indices[axes[buffer]] or 0, extent)
            assert rest == 0
            found.append(number)
    return found


def threads_of(kernel: Placed) -> tuple[int, ...]:
    """One thread of each role: the first of every warp group."""
    extents = [
        int(node.value)
        for node in _statements(kernel.func.body)
        if isinstance(node, tirx.AttrStmt)
        and node.attr_key == "thread_extent"
        and node.node.thread_tag == "threadIdx.x"
    ]
    return tuple(range(0, extents[0], 128))


def misplaced(kernel: Placed, axes: dict[str, int] | None = None, extent: int = 32) -> list[str]:
    """What is wrong with the ranges named ``load``: each must copy the tiles that its payload names, and no copy be
    outside.

    ``axes`` tells for each operand along which axis its tiles of ``extent`` elements are numbered.
    """
    axes = axes or {"A": 1, "B": 0}
    wrong = []
    for thread in threads_of(kernel):
        events = replay(kernel, thread)
        copied = [tile for e in events if isinstance(e, Work) for tile in tile_numbers(e, axes, extent)]
        found, unmatched = match(events)
        wrong += [f"thread {thread}: {name} lacks its other end" for name in unmatched]
        for span in found:
            if span.name != "load":
                continue
            tiles = [tile for work in span.work for tile in tile_numbers(work, axes, extent)]
            if tiles != [span.payload] * len(axes) or span.payload_end != span.payload:
                wrong.append(f"thread {thread}: load {span.payload}..{span.payload_end} copies tiles {tiles}")
            for tile in tiles:
                copied.remove(tile)
        wrong += [f"thread {thread}: tile {tile} is copied outside of any load" for tile in copied]
    return wrong


def sites_recorded(kernel: Placed) -> set[int]:
    """The sites that some thread passes."""
    return {event.site for thread in threads_of(kernel) for event in replay(kernel, thread) if isinstance(event, Mark)}


_BLOCKS = ("blockIdx.x", "blockIdx.y", "blockIdx.z")


def _run(kernel: Placed, statement: Any, env: Environment, launch: dict[str, int]) -> Iterator[Event]:
    s = statement
    match s:
        case tirx.SeqStmt():
            for inner in s.seq:
                yield from _run(kernel, inner, env, launch)
        case tirx.AttrStmt():
            if s.attr_key == "thread_extent":
                env[s.node.var] = launch.get(str(s.node.thread_tag), 0)
            yield from _run(kernel, s.body, env, launch)
        case tirx.SBlockRealize():
            asked = _value(s.predicate, env)
            assert asked is not None, f"the predicate {s.predicate} is no integer expression"
            if asked:
                yield from _run(kernel, s.block.body, env, launch)
        case tirx.IfThenElse():
            condition = _value(s.condition, env)
            assert condition is not None, f"the condition {s.condition} is no integer expression"
            case_ = s.then_case if condition else s.else_case
            if case_ is not None:
                yield from _run(kernel, case_, env, launch)
        case tirx.For() if s.thread_binding is not None:
            env[s.loop_var] = launch.get(str(s.thread_binding.thread_tag), 0)
            yield from _run(kernel, s.body, env, launch)
        case tirx.For() if s.kind in (tirx.ForKind.PARALLEL, tirx.ForKind.VECTORIZED):
            yield Work("parallel", ())
        case tirx.For():
            first, count = _value(s.min, env), _value(s.extent, env)
            assert first is not None, s.min
            assert count is not None, s.extent
            for i in range(first, first + count):
                yield from _run(kernel, s.body, {**env, s.loop_var: i}, launch)
        case tirx.Bind():
            value = _value(s.value, env)
            if value is not None:
                env[s.var] = value
        case tirx.BufferStore():
            yield Work("store", ())
        case tirx.Evaluate() if isinstance(s.value, tirx.Call):
            yield _call(kernel, s.value, env)


def _call(kernel: Placed, call: Any, env: Environment) -> Event:
    name = str(call.op.name)
    if name.endswith("call_extern") and call.args[0].value == "__tlt_site":
        site = kernel.marked.sites[int(call.args[1])]
        return Mark(site.kind, site.name, site.id, _value(call.args[2], env))
    what = name.rsplit(".", 1)[-1]
    what = "copy" if "copy" in what else "gemm" if "gemm" in what else what
    regions = [
        a for a in call.args if isinstance(a, tirx.Call) and str(a.op.name) == "tl.region" and int(a.args[1]) & 1
    ]
    reads = tuple((str(r.args[0].buffer.name), tuple(_value(i, env) for i in r.args[0].indices)) for r in regions)
    return Work(what, reads)


def _value(e: Any, env: Environment) -> int | None:
    """An integer expression's value, ``None`` if it is none or depends on memory."""
    match e:
        case int():
            return e
        case tirx.IntImm():
            return int(e)
        case tirx.Var():
            return env.get(e)
        case tirx.Cast():
            return _value(e.value, env)
        case tirx.Not():
            inner = _value(e.a, env)
            return None if inner is None else int(not inner)
        case tirx.Select():
            condition = _value(e.condition, env)
            return None if condition is None else _value(e.true_value if condition else e.false_value, env)
        case tirx.Call():
            operands, function = list(e.args), _BINARY.get(str(getattr(e.op, "name", "")))
        case _:
            function = _BINARY.get(type(e).__name__)
            operands = [e.a, e.b] if function else []
    values = [_value(o, env) for o in operands] if function else [None]
    return None if function is None or None in values else int(function(*values))  # type: ignore[arg-type]


def _statements(statement: Any) -> list[Any]:
    found: list[Any] = []
    tirx.stmt_functor.post_order_visit(statement, found.append)
    return found


def exactly_once(values: list[int], count: int) -> bool:
    """Whether the values are 0 .. count-1 in order."""
    return values == list(range(count))
