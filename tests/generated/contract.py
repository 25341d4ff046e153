"""What must hold between a trace and the interpreter's account of the same kernel.

Always: every writer has finished, nothing is lost or corrupt, and no thread records what the source does not have it
pass. A range's two records come in pairs in the same thread, and a marker inside a ``with trace.range`` of the same
group is recorded while that range is open.

*A launch without a pipelined loop* runs as its author wrote it. Each writer's records are exactly those that the source
has its thread pass: the same markers with the same payloads in the same order, begins and ends alike. Who writes is the
group's lead, or where the lead never passes the first thread that does.

*A launch with a pipelined loop* may be reordered by TileLang's scheduler, and divided into roles.

- Not divided: markers outside the pipelined loops are recorded exactly as above, in their order among each other.
- Divided: a range records in each role that has some of its work. The lead is mapped into each role, so a role's
  records are those of one of the author's threads. For each name a role records all or nothing, and some role records.
- A range of every warp or thread around the producer's work alone is recorded by those that the producer has.
- An instant, and a range around a single statement of work, records once for each time that the source passes it.
- A range around several statements may be torn apart. For each pair of payloads (at begin, at end) there are then at
  least as many parts as times that the source passes it, and at most that many for each statement of work inside.

*Automatic markers* are read by the line of their statement. Nothing is invented: a payload is one of those of the
innermost loop for which that line runs, and an operator's marker records as often as the line runs (a loop's, that may
be torn, at least so often; one for the scheduler's waits and arrivals at most, for it adds none where it needs none).

Outputs equal the interpreter's, number by number.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from generated.interpreter import Cta, Outcome, Passed, Place, writers
from generated.nodes import (
    Add,
    Call,
    Fill,
    For,
    Group,
    Kernel,
    Load,
    Move,
    Product,
    Range,
    Save,
    Set,
    Stmt,
    Store,
    Sum,
    Sync,
    bodies,
    statements,
    walk,
)
from generated.render import Source
from tltrace_nb.core.trace import Trace
from tltrace_nb.data.sites import EventKind, PayloadType
from tltrace_nb.data.slots import STATE_DONE, headers, records

_WORK = (Load, Save, Move, Fill, Add, Sum, Product, Set, Store, Sync)

_Step = tuple[str, str, int | None]
"""kind, name, payload bits"""
_Pair = tuple[int | None, int | None]


@dataclass(frozen=True)
class Recorded:
    """What one thread of a CTA recorded, in order. ``author``: which of the author's threads it is, or stands for."""

    thread: int
    author: int
    steps: tuple[_Step, ...]
    lines: tuple[int, ...]


@dataclass(frozen=True)
class _Observed:
    """A traced CTA: its writers that recorded something, by thread."""

    launch: int
    block: tuple[int, int, int]
    divided: bool
    writers: tuple[Recorded, ...]


def differences(kernel: Kernel, outcome: Outcome, trace: Trace) -> list[str]:
    """What is wrong with a trace of a kernel that was marked by hand, a line each."""
    wrong = _losses(trace)
    chosen = writers(outcome)
    structure = _Structure.of(kernel)
    seen = _by_block(kernel, trace, wrong)
    for cta in outcome.ctas:
        observed = seen.get((cta.launch, cta.block))
        if observed is None:
            wrong.append(f"launch {cta.launch}, block {cta.block}: no such CTA in the trace")
            continue
        where = f"launch {cta.launch}, block {cta.block}"
        if not structure.pipelined[cta.launch]:
            wrong += [f"{where}: {text}" for text in _exactly(cta, chosen, observed)]
        else:
            wrong += [f"{where}: {text}" for text in _reordered(cta, chosen, observed, structure)]
    return wrong


def automatic_differences(source: Source, outcome: Outcome, trace: Trace) -> list[str]:
    """The same for a kernel that was marked automatically."""
    kernel = source.kernel
    wrong = _losses(trace)
    structure = _Structure.of(kernel)
    at_line: dict[int, list[Stmt]] = {}
    for s, _ in statements(kernel):
        line = source.lines[id(s)]
        at_line.setdefault(line, []).append(s)
        if isinstance(s, Add):
            at_line.setdefault(line + 1, []).append(s)
        # TileLang notes no line for a reduction: at the head of a body it gets that of what it stands in.
        for body in bodies(s):
            at_line[line] += [x for x in body[:1] if isinstance(x, Sum) and source.lines[id(x)] != line]
    in_macros = frozenset(id(s) for macro in kernel.macros for s, _ in walk(macro.body))
    seen = _by_block(kernel, trace, wrong)
    for cta in outcome.ctas:
        observed = seen.get((cta.launch, cta.block))
        if observed is not None:
            exact = not structure.pipelined[cta.launch]
            wrong += [
                f"launch {cta.launch}, block {cta.block}: {text}"
                for text in _by_line(cta, observed, at_line, in_macros, exact)
            ]
    return wrong


# ---- reading a trace


def _losses(trace: Trace) -> list[str]:
    wrong = []
    losses = trace.losses
    for column in ("lost", "corrupt", "unmatched_ends"):
        if losses[column].sum():
            wrong.append(f"{column}: {int(losses[column].sum())}")
    if trace.events["truncated"].any():
        names = sorted(set(trace.events.loc[trace.events["truncated"], "name"].astype(str)))
        wrong.append(f"begun and never ended: {', '.join(names)}")
    return wrong


def _by_block(kernel: Kernel, trace: Trace, wrong: list[str]) -> dict[tuple[int, tuple[int, int, int]], _Observed]:
    table = trace.table
    heads, raw = headers(trace.slots), records(trace.slots)
    number = {launch.name: i for i, launch in enumerate(table.launches)}
    found = {}
    for row, cta in enumerate(trace.ctas.itertuples()):
        launch = number[str(cta.kernel)]
        block = (int(cta.block_x), int(cta.block_y), int(cta.block_z))
        shift = int(np.prod(table.launches[launch].block)) - kernel.launches[launch].threads
        who = []
        for writer in table.writers:
            head = heads[row, writer.index]
            if head["state"] == 0:
                continue
            if head["state"] != STATE_DONE:
                wrong.append(f"launch {launch}, block {block}: thread {writer.thread} has not finished")
            steps, lines = [], []
            for record in raw[row, writer.index][: min(int(head["executed"]), table.capacity)]:
                if int(record["site"]) >= len(table.sites):
                    wrong.append(f"launch {launch}, block {block}: thread {writer.thread} has a corrupt record")
                    break
                site = table.sites[int(record["site"])]
                payload = None if site.payload is PayloadType.NONE else int(record["payload"])
                kind = {EventKind.RANGE_BEGIN: "begin", EventKind.RANGE_END: "end"}.get(site.kind, "instant")
                steps.append((kind, site.name, payload))
                lines.append(int(site.source.rpartition(":")[2]))
            if steps:
                author = writer.thread - shift if writer.thread >= shift else writer.thread
                who.append(Recorded(writer.thread, author, tuple(steps), tuple(lines)))
        found[launch, block] = _Observed(launch, block, shift > 0, tuple(who))
    return found


# ---- the source's own structure


@dataclass(frozen=True)
class _Structure:
    """What the contract needs to know of a kernel: which launches have pipelines, and of each marker by name whether
    it stands in one, how many statements of work it holds, and the names of the ``with`` ranges around it.
    """

    pipelined: tuple[bool, ...]
    inside: frozenset[str]
    work: dict[str, int]
    around: dict[str, tuple[str, ...]]

    @classmethod
    def of(cls, kernel: Kernel) -> _Structure:
        pipelined = tuple(
            any(isinstance(s, For) and s.kind == "pipelined" for s, _ in walk(launch.body))
            for launch in kernel.launches
        )
        inside, work, around = set(), {}, {}
        for s, above in statements(kernel):
            name = getattr(s, "name", None) or getattr(s, "token", None)
            if isinstance(s, (Group, Set)) or name is None:
                continue
            in_pipeline = any(isinstance(o, For) and o.kind == "pipelined" for o in above)
            if in_pipeline:
                inside.add(name)
            work[name] = _work(kernel, s.body) if isinstance(s, Range) else _WHOLE
            ranges: list[str] = []
            for outer in above:
                if isinstance(outer, Group):
                    ranges = []
                elif isinstance(outer, Range):
                    ranges.append(outer.name)
            # A token's range may be torn: both its ends have to stand in what all of it is to be recorded in.
            around[name] = tuple(r for r in ranges if r in around.get(name, ranges))
        called = {s.macro for s, above in statements(kernel) if isinstance(s, Call)}
        for macro in kernel.macros:
            if macro.name in called:
                inside |= {getattr(s, "name", None) or getattr(s, "token", None) for s, _ in walk(macro.body)} - {None}
        return cls(pipelined, frozenset(inside), work, around)


_WHOLE = 1_000_000
"""A range of tokens, which may be torn into any number of parts."""


def _work(kernel: Kernel, body: tuple[Stmt, ...]) -> int:
    """Statements of work in a body."""
    count = 0
    for s, above in walk(body):
        if isinstance(s, _WORK):
            # A loop's turns are parts of their own where the scheduler unrolls or divides it.
            count += _WHOLE if any(isinstance(o, For) for o in above) else 1
        elif isinstance(s, Call):
            count += next(_work(kernel, macro.body) for macro in kernel.macros if macro.name == s.macro)
    return count


# ---- marked by hand


def _wanted(cta: Cta, chosen: dict[tuple[int, Place], frozenset[int]], thread: int) -> list[_Step]:
    """What the source has one of the author's threads record."""
    return [
        (passed.kind, passed.place.name, _bits(passed, thread))
        for passed in cta.passed
        if passed.mask[thread] and thread in chosen.get((cta.launch, passed.place), ())
    ]


def _bits(passed: Passed, thread: int) -> int | None:
    return None if passed.payload is None else int(passed.payload[thread]) & 0xFFFFFFFF


def _exactly(cta: Cta, chosen: dict[tuple[int, Place], frozenset[int]], observed: _Observed) -> Iterator[str]:
    got = {who.author: list(who.steps) for who in observed.writers}
    for thread in range(cta.threads):
        want, have = _wanted(cta, chosen, thread), got.get(thread, [])
        if want != have:
            at = next(
                (i for i, (a, b) in enumerate(zip(want, have, strict=False)) if a != b), min(len(want), len(have))
            )
            yield (
                f"thread {thread}, record {at}: expected {_shown(want[at : at + 4])} of {len(want)}, "
                f"recorded {_shown(have[at : at + 4])} of {len(have)}"
            )


def _reordered(
    cta: Cta, chosen: dict[tuple[int, Place], frozenset[int]], observed: _Observed, structure: _Structure
) -> Iterator[str]:
    threads = {t for (launch, _), members in chosen.items() if launch == cta.launch for t in members}
    names = {passed.place.name for passed in cta.passed} | {n for who in observed.writers for _, n, _ in who.steps}
    expected = {thread: _wanted(cta, chosen, thread) for thread in threads}
    for who in observed.writers:
        yield from _nested(who, structure, expected.get(who.author, []))
    if not observed.divided:
        got = {who.author: who.steps for who in observed.writers}
        for thread in sorted(threads | set(got)):
            want = [step for step in expected.get(thread, []) if step[1] not in structure.inside]
            have = [step for step in got.get(thread, ()) if step[1] not in structure.inside]
            if want != have:
                yield f"thread {thread}, outside of the pipelines: expected {_shown(want)}, recorded {_shown(have)}"
        names &= structure.inside
    for name in sorted(names):
        for thread in sorted(threads | {who.author for who in observed.writers}):
            want = _pairs([step for step in expected.get(thread, []) if step[1] == name])
            parts = [
                (who.thread, _pairs([step for step in who.steps if step[1] == name]))
                for who in observed.writers
                if who.author == thread
            ]
            if any(pairs is None for _, pairs in parts):
                yield f"thread {thread}: the begins and ends of {name} do not alternate"
                continue
            recorded = [(number, pairs) for number, pairs in parts if pairs]
            if want and not recorded and not _beyond_the_producer(thread, name, observed, structure):
                yield f"thread {thread}: {name} is missing, expected {_counts(want)}"
            for number, pairs in recorded:
                most = max(structure.work.get(name, 1), 1)
                extra = [p for p in pairs if not (want or {}).get(p)]
                few = {p: n for p, n in (want or {}).items() if pairs.get(p, 0) < n}
                many = {p: n for p, n in pairs.items() if n > (want or {}).get(p, 0) * most}
                if extra or few or many:
                    yield f"thread {number}: {name} expected {_counts(want)}, recorded {_counts(pairs)}"


def _beyond_the_producer(thread: int, name: str, observed: _Observed, structure: _Structure) -> bool:
    """Whether a range is around the producer's work alone, and the producer has no such thread."""
    threads = max((who.thread - who.author for who in observed.writers), default=0)
    recorders = [who for who in observed.writers if any(step[1] == name for step in who.steps)]
    around_work = bool(recorders and structure.work.get(name))
    return around_work and thread >= threads and all(who.thread < threads for who in recorders)


def _nested(who: Recorded, structure: _Structure, expected: list[_Step]) -> Iterator[str]:
    """Markers that are recorded while a range around them, of the same writer, is not open."""
    # A role that has no value for a payload does not record it.
    mine = {name for _, name, _ in expected} & {name for _, name, _ in who.steps}
    open_: Counter[str] = Counter()
    for kind, name, _ in who.steps:
        if kind == "end":
            open_[name] -= 1
            continue
        outside = [outer for outer in structure.around.get(name, ()) if outer in mine and open_[outer] <= 0]
        if outside:
            yield f"thread {who.thread}: {name} is recorded outside of {outside[0]}"
            return
        if kind == "begin":
            open_[name] += 1


def _pairs(steps: list[_Step]) -> Counter[_Pair] | None:
    """How often each (payload at begin, at end) occurs; ``None`` where begins and ends do not alternate."""
    found: Counter[_Pair] = Counter()
    begun: list[int | None] = []
    for kind, _, payload in steps:
        if kind == "instant":
            found[payload, payload] += 1
        elif kind == "begin":
            if begun:
                return None
            begun.append(payload)
        elif not begun:
            return None
        else:
            found[begun.pop(), payload] += 1
    return None if begun else found


def _shown(steps: list[_Step]) -> str:
    return "[" + ", ".join(f"{kind} {name} {_signed(payload)}" for kind, name, payload in steps[:8]) + "]"


def _counts(pairs: Any) -> str:
    if not pairs:
        return "nothing"
    return ", ".join(f"{n} × {_signed(a)}..{_signed(b)}" for (a, b), n in sorted(pairs.items(), key=repr)[:8])


def _signed(bits: int | None) -> str:
    return "-" if bits is None else str(bits - 2**32 if bits >= 2**31 else bits)


# ---- marked automatically


def _by_line(
    cta: Cta, observed: _Observed, at_line: dict[int, list[Stmt]], in_macros: frozenset[int], exact: bool
) -> Iterator[str]:
    ran: dict[int, list[Any]] = {}
    for worked in cta.worked:
        ran.setdefault(worked.node, []).append(worked)
    for who in observed.writers:
        found: dict[tuple[str, int], list[_Step]] = {}
        for step, line in zip(who.steps, who.lines, strict=True):
            found.setdefault((step[1], line), []).append(step)
        for (name, line), steps in found.items():
            pairs = _pairs(steps)
            if pairs is None:
                yield f"thread {who.thread}: the begins and ends of {name!r} (line {line}) do not alternate"
                continue
            want: Counter[_Pair] = Counter()
            reduces = "reduce " in name  # or what waits before one
            nodes = [node for node in at_line.get(line, []) if isinstance(node, Sum) == reduces]
            if (
                reduces and not nodes
            ):  # TileLang notes no line for a reduction, which then has that of another statement
                continue
            for node in nodes:
                for worked in ran.get(id(node), ()):
                    if worked.mask[who.author]:
                        turn = None if worked.turn is None else int(worked.turn[who.author])
                        want[turn, turn] += 1
            torn = any(isinstance(node, For) for node in nodes) and not exact
            # Of a macro's calls, those in hot loops may be left out.
            scheduled = name.startswith(("wait", "arrive", "ready")) or any(id(node) in in_macros for node in nodes)
            extra = [p for p in pairs if p not in want]
            few = {} if scheduled else {p: n for p, n in want.items() if pairs.get(p, 0) < n}
            many = {} if torn else {p: n for p, n in pairs.items() if n > want.get(p, 0)}
            if extra or few or (many and not scheduled):
                yield f"thread {who.thread}: {name!r} (line {line}) expected {_counts(want)}, recorded {_counts(pairs)}"
