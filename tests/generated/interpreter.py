"""What a generated kernel does, read from its nodes: the records that each thread passes, the work, the outputs.

Slow and obvious: the threads of a CTA run together, a statement at a time, each name holds one value per thread, and a
mask says which threads are there. A thread's own records are those of all whose mask holds it, in order. Nothing here
knows of scheduling, and nothing of tltrace_nb is used.

A mask also knows which threads might be there, had the data been otherwise: a condition on indices alone decides which
those are, one on data does not. Who records follows from these, as it is chosen before the run.
"""

from __future__ import annotations

import itertools
import operator
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from generated.nodes import (
    BLOCKS,
    Add,
    Body,
    Break,
    Call,
    Continue,
    End,
    Expr,
    Fill,
    Flag,
    For,
    Group,
    If,
    Int,
    Kernel,
    Launch,
    Let,
    Load,
    Move,
    Name,
    Op,
    Product,
    Range,
    Record,
    Return,
    Save,
    Set,
    Start,
    Stmt,
    Store,
    Sum,
    Sync,
    Variable,
    While,
)

Lanes = npt.NDArray[Any]

WARP = 32
_LIMIT = 2000
"""Turns of a ``while`` loop that no generated kernel needs."""

_OPERATORS: dict[str, Callable[[Any, Any], Any]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "//": operator.floordiv,
    "%": operator.mod,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "==": operator.eq,
    "!=": operator.ne,
    "and": operator.and_,
    "or": operator.or_,
}


class MalformedError(Exception):
    """No kernel: it reads what was never written, does not end, or has tile operators for some threads only."""


@dataclass(frozen=True)
class Place:
    """A marker in the source: its names and who records there. ``path`` tells two calls of one macro apart."""

    path: tuple[int, ...]
    name: str
    lane: str
    group: str
    lead: int
    per: str


@dataclass(frozen=True)
class Passed:
    """A moment at which threads pass a marker. ``kind``: begin, end or instant. A range's ends share its place."""

    kind: str
    place: Place
    payload: Lanes | None
    mask: Lanes
    possible: Lanes


@dataclass(frozen=True)
class Worked:
    """A moment at which threads run a statement: for automatic markers. ``turn``: the innermost loop's variable."""

    node: int
    turn: Lanes | None
    mask: Lanes
    possible: Lanes


@dataclass(frozen=True)
class Cta:
    """What happened in one CTA."""

    launch: int
    block: tuple[int, int, int]
    threads: int
    passed: tuple[Passed, ...]
    worked: tuple[Worked, ...]


@dataclass(frozen=True)
class Outcome:
    """What a kernel did: its CTAs, x fastest, launch after launch; and its tensors afterwards, by name."""

    ctas: tuple[Cta, ...]
    tensors: dict[str, npt.NDArray[Any]]


def inputs(kernel: Kernel) -> dict[str, npt.NDArray[Any]]:
    """The tensors that a kernel is called with: small whole numbers, so that every order of additions is exact."""
    made: dict[str, npt.NDArray[Any]] = {}
    for i, tensor in enumerate(kernel.tensors):
        if tensor.name == "F":
            made["F"] = np.array(kernel.flags, np.int32)
        elif tensor.output:
            made[tensor.name] = np.zeros(tensor.shape, tensor.dtype)
        else:
            made[tensor.name] = np.random.default_rng(i).integers(0, 4, tensor.shape).astype(tensor.dtype)
    return made


def interpret(kernel: Kernel) -> Outcome:
    """Run a kernel. Raises ``MalformedError`` for one that no author would write."""
    tensors = inputs(kernel)
    ctas = []
    for number, launch in enumerate(kernel.launches):
        for reverse in itertools.product(*(range(extent) for extent in reversed(launch.grid))):
            block = tuple(reversed(reverse))
            ctas.append(_Run(kernel, launch, number, block, tensors).cta())
    return Outcome(tuple(ctas), tensors)


def writers(outcome: Outcome) -> dict[tuple[int, Place], frozenset[int]]:
    """Who records at each place of each launch: the lead, or where it never passes the first thread that does."""
    reached: dict[tuple[int, Place], set[int]] = {}
    for cta in outcome.ctas:
        for passed in cta.passed:
            # A range ends where it began, whoever leaves it where: its beginning decides.
            if passed.kind != "end":
                threads = reached.setdefault((cta.launch, passed.place), set())
                threads |= set(np.flatnonzero(passed.possible).tolist())
    return {key: _chosen(key[1], threads) for key, threads in reached.items()}


def _chosen(place: Place, threads: set[int]) -> frozenset[int]:
    if place.per == "thread":
        return frozenset(threads)
    if place.per == "group":
        return frozenset([place.lead if place.lead in threads else min(threads)])
    chosen = set()
    for warp in {thread // WARP for thread in threads}:
        lead = warp * WARP + place.lead % WARP
        chosen.add(lead if lead in threads else min(t for t in threads if t // WARP == warp))
    return frozenset(chosen)


@dataclass(frozen=True)
class _Value:
    """An expression's value in each thread, and whether it follows from indices and constants alone."""

    lanes: Lanes
    known: bool


@dataclass(frozen=True)
class _Mask:
    """The threads here in this run; those that might be, had the data been otherwise; those that always are."""

    here: Lanes
    possible: Lanes
    certain: Lanes

    @classmethod
    def of(cls, lanes: Lanes) -> _Mask:
        return cls(lanes, lanes, lanes)

    def where(self, condition: _Value, want: bool = True) -> _Mask:
        holds = condition.lanes.astype(bool) == want
        if condition.known:
            return _Mask(self.here & holds, self.possible & holds, self.certain & holds)
        return _Mask(self.here & holds, self.possible, np.zeros_like(self.here))

    def without(self, *others: _Mask) -> _Mask:
        """Those that did not leave with the others. Who left on a condition on data might have stayed."""
        here, possible = self.here, self.possible
        for other in others:
            here, possible = here & ~other.here, possible & ~other.certain
        return _Mask(here, possible, self.certain & possible)

    def joined(self, a: _Mask, b: _Mask) -> _Mask:
        """Those of this mask that came out of either branch."""
        possible = a.possible | b.possible
        return _Mask(a.here | b.here, possible, self.certain & possible)

    def __or__(self, other: _Mask) -> _Mask:
        return _Mask(self.here | other.here, self.possible | other.possible, self.certain | other.certain)


@dataclass
class _Loop:
    """The threads that left the loop, and those that left this turn."""

    broke: _Mask
    skipped: _Mask


@dataclass
class _Run:
    kernel: Kernel
    launch: Launch
    number: int
    block: tuple[int, ...]
    tensors: dict[str, npt.NDArray[Any]]
    names: dict[str, _Value] = field(default_factory=dict)
    tiles: dict[str, npt.NDArray[Any]] = field(default_factory=dict)
    scopes: list[_Loop | tuple[Place, Expr | None]] = field(default_factory=list)
    tokens: dict[str, tuple[Place, Expr | None]] = field(default_factory=dict)
    group: tuple[str, int, str] = ("default", 0, "group")
    turn: str | None = None
    path: tuple[int, ...] = ()
    unset: set[str] = field(default_factory=set)
    passed: list[Passed] = field(default_factory=list)
    worked: list[Worked] = field(default_factory=list)

    def cta(self) -> Cta:
        count = self.launch.threads
        self.returned = self.nobody = _Mask.of(np.zeros(count, bool))
        self.names["tx"] = _Value(np.arange(count, dtype=np.int32), True)
        for name, index in zip(BLOCKS, self.block, strict=False):
            self.names[name] = self.constant(index)
        for tensor in self.kernel.tensors:
            if tensor.dynamic:
                self.names["n"] = self.constant(tensor.shape[0])
        self.run(self.launch.body, _Mask.of(np.ones(count, bool)))
        block = (*self.block, 0, 0)[:3]
        return Cta(self.number, block, count, tuple(self.passed), tuple(self.worked))

    def constant(self, value: int) -> _Value:
        return _Value(np.full(self.launch.threads, value, np.int32), True)

    # ---- expressions

    def value(self, e: Expr, mask: _Mask) -> _Value:
        match e:
            case Int(value):
                return self.constant(value)
            case Name(name):
                if name in self.unset and mask.here.any():
                    raise MalformedError(f"{name} is read before it was set")
                return self.names[name]
            case Flag(index):
                at = self.value(index, mask).lanes
                flags = self.tensors["F"]
                if mask.here.any() and not ((at[mask.here] >= 0) & (at[mask.here] < len(flags))).all():
                    raise MalformedError("F is read outside")
                return _Value(flags[np.clip(at, 0, len(flags) - 1)], False)
            case Op(op, a, b):
                left, right = self.value(a, mask), self.value(b, mask)
                if op in ("//", "%"):
                    right = _Value(np.where(right.lanes == 0, 1, right.lanes), right.known)
                return _Value(_OPERATORS[op](left.lanes, right.lanes), left.known and right.known)

    def scalar(self, e: Expr, mask: _Mask) -> int:
        """The value of an expression that all threads agree on."""
        lanes = self.value(e, mask).lanes
        if not mask.here.all() or not (lanes == lanes[0]).all():
            raise MalformedError("a tile operator runs in some threads only, or differs between them")
        return int(lanes[0])

    # ---- statements

    def run(self, body: Body, mask: _Mask) -> _Mask:
        """The threads that come out at the end."""
        for statement in body:
            if not mask.here.any():
                break
            mask = self.step(statement, mask)
        return mask

    def step(self, s: Stmt, mask: _Mask) -> _Mask:
        match s:
            case If(condition, then, other):
                truth = self.value(condition, mask)
                there = self.run(then, mask.where(truth))
                elsewhere = self.run(other or (), mask.where(truth, False))
                return mask.joined(there, elsewhere)
            case For():
                return self.loop(s, mask)
            case While():
                return self.turns(s, mask)
            case Break() | Continue():
                at = next(i for i in range(len(self.scopes) - 1, -1, -1) if isinstance(self.scopes[i], _Loop))
                self.close(self.scopes[at + 1 :], mask)
                loop = self.scopes[at]
                assert isinstance(loop, _Loop)
                if isinstance(s, Break):
                    loop.broke |= mask
                else:
                    loop.skipped |= mask
                return self.nobody
            case Return():
                self.close(self.scopes, mask)
                self.returned |= mask
                return self.nobody
            case Range(name, payload, body, lane):
                place = self.place(s, name, lane)
                self.pass_by("begin", place, payload, mask)
                self.scopes.append((place, payload))
                out = self.run(body, mask)
                self.scopes.pop()
                self.pass_by("end", place, payload, out)
                return out
            case Start(token, payload, lane):
                self.tokens[token] = (self.place(s, token, lane), payload)
                self.pass_by("begin", *self.tokens[token], mask)
            case End(token):
                self.pass_by("end", *self.tokens.pop(token), mask)
            case Record(name, payload, lane):
                self.pass_by("instant", self.place(s, name, lane), payload, mask)
            case Group(name, lead, per, body):
                before, self.group = self.group, (name, lead, per)
                mask = self.run(body, mask)
                self.group = before
            case Call(name, arguments):
                macro = next(macro for macro in self.kernel.macros if macro.name == name)
                given = [self.value(e, mask) for e in arguments]
                saved, self.path = self.names, (*self.path, id(s))
                self.names = {**saved, **dict(zip(macro.parameters, given, strict=True))}
                mask = self.run(macro.body, mask)
                self.names, self.path = saved, self.path[:-1]
            case Variable(name, init):
                self.names[name] = self.constant(init or 0)
                if init is None:
                    self.unset.add(name)
            case Set(name, value) | Let(name, value):
                new, old = self.value(value, mask), self.names.get(name, self.constant(0))
                everywhere = bool(mask.here.all())
                lanes = np.where(mask.here, new.lanes, old.lanes).astype(np.int32)
                follows = bool((mask.possible == mask.certain).all())
                self.names[name] = _Value(lanes, new.known and (everywhere or old.known) and follows)
                self.unset.discard(name)
            case _:
                self.worked.append(Worked(id(s), self.turn_of(mask), mask.here, mask.possible))
                self.work(s, mask)
        return mask

    def turn_of(self, mask: _Mask) -> Lanes | None:
        return None if self.turn is None else self.names[self.turn].lanes

    def place(self, s: Stmt, name: str, lane: str) -> Place:
        return Place((*self.path, id(s)), name, lane, *self.group)

    def pass_by(self, kind: str, place: Place, payload: Expr | None, mask: _Mask) -> None:
        if mask.here.any():
            lanes = None if payload is None else self.value(payload, mask).lanes.copy()
            self.passed.append(Passed(kind, place, lanes, mask.here.copy(), mask.possible.copy()))

    def close(self, scopes: list[Any], mask: _Mask) -> None:
        """End the ranges that threads leave, innermost first."""
        for scope in reversed(scopes):
            if not isinstance(scope, _Loop):
                self.pass_by("end", *scope, mask)

    def loop(self, s: For, mask: _Mask) -> _Mask:
        self.worked.append(Worked(id(s), self.turn_of(mask), mask.here, mask.possible))
        extent = self.value(s.extent, mask)
        outer, self.turn = self.turn, s.var
        loop = _Loop(self.nobody, self.nobody)
        self.scopes.append(loop)
        going, returned = mask, self.returned
        for i in itertools.count():
            more = _Value(extent.lanes > i, extent.known)
            going = mask.without(loop.broke, self.returned.without(returned)).where(more)
            if not going.here.any():
                break
            loop.skipped = self.nobody
            self.names[s.var] = self.constant(i)
            self.run(s.body, going)
        self.scopes.pop()
        self.turn = outer
        return mask.without(self.returned.without(returned))

    def turns(self, s: While, mask: _Mask) -> _Mask:
        self.worked.append(Worked(id(s), self.turn_of(mask), mask.here, mask.possible))
        outer, self.turn = self.turn, None
        loop = _Loop(self.nobody, self.nobody)
        self.scopes.append(loop)
        returned, last = self.returned, mask
        for count in itertools.count():
            there = mask.without(loop.broke, self.returned.without(returned))
            going = there.where(self.value(s.condition, there))
            # Who has once left the loop stays out.
            going = _Mask(going.here & last.here, going.possible & last.possible, going.certain & last.certain)
            if not going.here.any():
                break
            if count > _LIMIT:
                raise MalformedError("a while loop does not end")
            loop.skipped = self.nobody
            self.run(s.body, going)
            last = going
        self.scopes.pop()
        self.turn = outer
        return mask.without(self.returned.without(returned))

    # ---- work on tiles and tensors

    def work(self, s: Stmt, mask: _Mask) -> None:
        if isinstance(s, Store):
            lanes = self.value(s.value, mask).lanes
            self.tensors[s.tensor][(*self.block, s.slot, mask.here)] = lanes[mask.here]
            return
        if not mask.here.all():
            raise MalformedError("a tile operator runs in some threads only")
        match s:
            case Load(tensor, row, tile):
                source, shape = self.tensors[tensor], self.shape(tile)
                first = self.scalar(row, mask)
                read = np.zeros(shape, source.dtype)
                count = max(min(shape[0], source.shape[0] - first), 0)
                read[:count] = source[first : first + count, : shape[1]]
                self.tiles[tile] = read
            case Save(tile, tensor, row):
                target, first = self.tensors[tensor], self.scalar(row, mask)
                count = max(min(len(self.tile(tile)), target.shape[0] - first), 0)
                target[first : first + count, : self.tile(tile).shape[1]] = self.tile(tile)[:count]
            case Move(source, target):
                self.tiles[target] = self.tile(source).copy()
            case Fill(tile, value):
                self.tiles[tile] = np.full(self.shape(tile), value, self.dtype(tile))
            case Add(target, source, factor):
                added = self.tile(source) * np.asarray(factor, self.dtype(source))
                spread = added if added.ndim == self.tile(target).ndim else added[:, None]
                self.tiles[target] = self.tile(target) + spread
            case Sum(source, target):
                self.tiles[target] = self.tile(source).sum(1)
            case Product(a, b, target):
                product = self.tile(a).astype(np.float32) @ self.tile(b).astype(np.float32)
                self.tiles[target] = self.tile(target) + product
            case Sync():
                pass
            case _:
                raise TypeError(s)
        for tile in self.tiles.values():
            if np.abs(tile.astype(np.float64)).max() >= (2**24 if tile.dtype == np.float32 else 2**11):
                raise MalformedError("numbers become too large to be exact")

    def tile(self, name: str) -> npt.NDArray[Any]:
        if name not in self.tiles:
            raise MalformedError(f"{name} is read before it was written")
        return self.tiles[name]

    def shape(self, name: str) -> tuple[int, ...]:
        return next(tile.shape for tile in self.launch.tiles if tile.name == name)

    def dtype(self, name: str) -> str:
        return next(tile.dtype for tile in self.launch.tiles if tile.name == name)
