"""The records of a traced device function, moved into the bare one.

In: the device function that TileLang plans for a kernel with records in it, and the one that it plans for the kernel
without. Out: the bare function with the records at the places where they stood, or ``None`` where a place cannot be
told for certain.

Both functions are read as texts of tokens, one for each statement without a body and two for each with one, and the
texts are aligned. A record goes between the tokens between which it stood, under the same loops and the same branches.
Barriers, fences and declarations are what the two plans differ in: a record that ends a range goes in front of those
that only the bare function has, one that begins a range behind them.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import tvm
from tvm import tirx

from tltrace_nb.core.compile import device
from tltrace_nb.core.compile.ir import (
    Stmt,
    flatten,
    ir_transform,
    post_order_visit,
    rebuild,
    sequence,
    span_of,
    substitute,
    uses,
    walk,
)
from tltrace_nb.core.compile.same import IMPORT, same, untraced
from tltrace_nb.core.compile.tokens import (
    Guards,
    Header,
    Item,
    Scope,
    Text,
    Token,
    align,
    header,
    read,
    records,
    site_of,
)


class _NoPlace(Exception):  # noqa: N818 (an answer, no error)
    """A record has no certain place in the bare function."""


def transplanted(traced: Any, bare: Any, ends: frozenset[int]) -> Any | None:
    """The bare device function with the records of the traced one; ``None`` where that cannot be done for certain.

    ``ends`` are the sites that end a range. The result has the traced function's parameters, in their order.
    """
    loops = unswitched(traced.body, _guards_of_loops(bare.body))
    for body, guards in itertools.product((traced.body, loops), Guards):
        result = _with_records(traced, read(body, guards), bare, ends)
        if result is not None:
            return result
    return None


def _with_records(traced: Any, text: Text, bare: Any, ends: frozenset[int]) -> Any | None:
    try:
        params, known = _parameters(traced, bare)
        moved = _Transplant(text, read(bare.body), known, ends).body(bare.body)
    except _NoPlace:
        return None
    result = tirx.PrimFunc(params, moved, bare.ret_type, bare.buffer_map, bare.attrs)
    for name in _BY_POSITION & set(dict(traced.attrs)):
        result = result.with_attr(name, traced.attrs[name])
    if not same(result, bare) or list(records(read(moved))) != list(records(text)):
        return None
    # A loop of records alone stands wherever TileLang repeated what is around it; each needs a variable of its own.
    (unique,) = tirx.transform.ConvertSSA()(tvm.IRModule({"main": result})).functions.values()
    return unique


_BY_POSITION = {"tl.readonly_param_indices"}
"""Attributes that name parameters by position, and so hold for one list of parameters."""


def _parameters(traced: Any, bare: Any) -> tuple[list[Any], dict[Any, Any]]:
    """The result's parameters, and which of them those of the traced function are.

    The traced function has some of its own: the slots, and what payloads alone read.
    """
    by_name = {str(p.name): p for p in bare.params}
    known = {p: by_name.pop(str(p.name), p) for p in traced.params}
    if by_name:
        raise _NoPlace
    return list(known.values()), known


class _Transplant:
    def __init__(self, traced: Text, bare: Text, known: dict[Any, Any], ends: frozenset[int]):
        self._traced = traced
        self._bare = bare
        self._ends = ends
        self._aligned = align(traced.tokens, bare.tokens)
        self._known = {**known, **self._definitions()}
        self._imports = {bare.tokens[j].node: traced.tokens[i].node for i, j in self._aligned.items()}
        self._inside = _inside(bare.tokens, set(self._aligned.values()))
        self._placed: dict[int, list[Item]] = {}
        earliest = 0
        for item in traced.items:
            placed = self._place(item, earliest)
            self._placed.setdefault(placed.before, []).append(placed)
            earliest = placed.before
        self._others = {
            bare.tokens[j].node: self._rewritten(traced.others[traced.tokens[i].node].node)
            for i, j in self._aligned.items()
            if traced.tokens[i].edge == "if" and traced.tokens[i].node in traced.others
        }
        if len(self._others) < len(traced.others):
            raise _NoPlace
        self._next = 0

    def body(self, body: Stmt) -> Stmt:
        """The bare body with the items in it."""
        self._next = 0
        return _whole([*self._emit(body), *self._here(None)])

    def _definitions(self) -> dict[Any, Any]:
        """What aligned statements define: variables and buffers of the bare function by those of the traced one."""
        found: dict[Any, Any] = {}
        pairs = [(self._traced.tokens[i].node, self._bare.tokens[j].node) for i, j in self._aligned.items()]
        for a, b in [*_of_one_name(self._traced, self._bare), *pairs]:
            match a:
                case tirx.For():
                    found[a.loop_var] = b.loop_var
                case tirx.Bind():
                    found[a.var] = b.var
                case tirx.AllocBuffer() | tirx.DeclBuffer():
                    found[a.buffer.data] = b.buffer.data
                    found[a.buffer] = b.buffer
                case tirx.AttrStmt() if isinstance(a.node, tirx.IterVar):
                    found[a.node.var] = b.node.var
        return found

    def _place(self, item: Item, earliest: int) -> Item:
        """The item as one of the bare text, not before the token ``earliest``."""
        tokens = self._traced.tokens
        before = next((i for i in range(item.before - 1, -1, -1) if i in self._aligned), None)
        behind = next((i for i in range(item.before, len(tokens)) if i in self._aligned), None)
        first = 0 if before is None else self._aligned[before] + 1
        last = len(self._bare.tokens) if behind is None else self._aligned[behind]
        work = [k for k in range(first, last) if not self._bare.tokens[k].silent]
        left = any(not t.silent for t in tokens[(-1 if before is None else before) + 1 : item.before])
        right = any(not t.silent for t in tokens[item.before : len(tokens) if behind is None else behind])
        if (left and right) or (work and not (left or right)):
            raise _NoPlace
        if work:
            first, last = (work[-1] + 1, last) if left else (first, work[0])
        within = self._scopes(item.within)
        node = self._rewritten(item.node)
        places = range(max(first, earliest), last + 1)
        fitting = []
        for place in places if self._is_end(item.node) else reversed(places):
            here = self._scopes_at(place)
            outside = here[len(within) :]
            if _equal(here[: len(within)], within) and all(scope.guards for scope in outside):
                fitting.append(Item(node, place, here, len(outside)))
        if not fitting:
            raise _NoPlace
        return min(fitting, key=lambda placed: self._inside[placed.before])

    def _is_end(self, statement: Stmt) -> bool:
        """Whether it belongs to what stands before it."""
        return isinstance(statement, tirx.Evaluate) and site_of(statement) in self._ends

    def _scopes(self, scopes: tuple[Scope, ...]) -> tuple[Scope, ...]:
        """Scopes of the traced text as those of the bare one."""
        by_node = {
            self._traced.tokens[i].node: self._bare.tokens[j].node
            for i, j in self._aligned.items()
            if self._traced.tokens[i].edge in ("if", "loop")
        }
        if any(scope.node not in by_node for scope in scopes):
            raise _NoPlace
        return tuple(Scope(by_node[scope.node], scope.branch) for scope in scopes)

    def _scopes_at(self, place: int) -> tuple[Scope, ...]:
        """The scopes of the bare text right before one of its tokens."""
        if place == 0:
            return ()
        token = self._bare.tokens[place - 1]
        opened = {"if": "then", "else": "else", "loop": "loop"}.get(token.edge)
        return token.scopes if opened is None else (*token.scopes, Scope(token.node, opened))

    def _rewritten(self, statement: Stmt) -> Stmt:
        """An item in the bare function's variables."""
        own: list[Any] = []

        def define(node: Any) -> None:
            if isinstance(node, (tirx.AllocBuffer, tirx.DeclBuffer)):
                own.extend((node.buffer, node.buffer.data))
            if isinstance(node, tirx.For):
                own.append(node.loop_var)

        post_order_visit(statement, define)
        for node in own:
            self._known.setdefault(node, node)

        def change(node: Any) -> Any:
            if isinstance(node, tirx.Var):
                return self._of(node)
            return tirx.BufferLoad(self._of(node.buffer), node.indices)

        return ir_transform(statement, None, change, ["tirx.Var", "tirx.BufferLoad"])

    def _of(self, node: Any) -> Any:
        if node not in self._known:
            raise _NoPlace
        return self._known[node]

    def _here(self, statement: Stmt | None) -> list[Item]:
        """The items before the next token, which is one of ``statement``."""
        items = self._placed.get(self._next, [])
        self._next += statement is not None
        return items

    def _emit(self, body: Stmt | None) -> list[Stmt | Item]:
        result: list[Stmt | Item] = []
        for statement in flatten(body):
            result += self._here(statement)
            match statement:
                case tirx.IfThenElse():
                    then = [*self._emit(statement.then_case), *self._here(statement)]
                    if statement in self._others:
                        result.append(tirx.IfThenElse(statement.condition, _whole(then), self._others[statement]))
                    elif statement.else_case is None:
                        result += _split(statement, then)
                    else:
                        other = [*self._emit(statement.else_case), *self._here(statement)]
                        result.append(tirx.IfThenElse(statement.condition, _whole(then), _whole(other)))
                case tirx.For() | tirx.While() | tirx.AttrStmt():
                    inner = _whole([*self._emit(statement.body), *self._here(statement)])
                    result.append(self._around(statement, inner))
                case _:
                    result.append(statement)
        return result

    def _around(self, statement: Stmt, body: Stmt) -> Stmt:
        """A statement with another body; where the kernel imports text, with the helper in it."""
        if isinstance(statement, tirx.AttrStmt) and statement.attr_key == IMPORT:
            statement = self._imports.get(statement, statement)
        if _is_innermost_extent(statement) and self._traced.helper is not None:
            body = rebuild(self._traced.helper, lambda _: body)
        return rebuild(statement, lambda _: body)


def _inside(tokens: list[Token], aligned: set[int]) -> list[int]:
    """How many C++ scopes that only this text has are open before each token, and at the end."""
    depths = [0]
    for i, token in enumerate(tokens):
        own = isinstance(token.node, tirx.AttrStmt) and i not in aligned
        depths.append(depths[-1] + (0 if not own else 1 if token.edge == "scope" else -1))
    return depths


def _of_one_name(traced: Text, bare: Text) -> Iterator[tuple[Stmt, Stmt]]:
    """Declarations of the two texts that are the only ones of their kind, type and name."""

    def declared(text: Text) -> dict[tuple[Any, ...], list[Stmt]]:
        found: dict[tuple[Any, ...], list[Stmt]] = {}
        for token in text.tokens:
            if isinstance(token.node, (tirx.AllocBuffer, tirx.DeclBuffer, tirx.Bind)):
                found.setdefault(token.key(True), []).append(token.node)
        return found

    others = declared(bare)
    for key, nodes in declared(traced).items():
        if len(nodes) == 1 and len(others.get(key, [])) == 1:
            yield nodes[0], others[key][0]


def _split(guard: Stmt, inside: list[Stmt | Item]) -> Iterator[Stmt | Item]:
    """A guard around statements and items, closed and opened again around the items that stand outside of it."""
    part: list[Stmt | Item] = []

    def closed() -> Iterator[Stmt]:
        if part:
            yield tirx.IfThenElse(guard.condition, _whole(part), None, span_of(guard))
        part.clear()

    for each in inside:
        if isinstance(each, Item) and each.out:
            yield from closed()
            yield replace(each, out=each.out - 1)
        else:
            part.append(each)
    yield from closed()


def _whole(parts: list[Stmt | Item]) -> Stmt:
    """One statement of statements and items; raises ``_NoPlace`` if an item stands outside of what cannot be split."""
    if any(isinstance(part, Item) and part.out for part in parts):
        raise _NoPlace
    return sequence(part.node if isinstance(part, Item) else part for part in parts)


def _equal(some: tuple[Scope, ...], other: tuple[Scope, ...]) -> bool:
    return len(some) == len(other) and all(
        a.branch == b.branch and a.node.same_as(b.node) for a, b in zip(some, other, strict=True)
    )


def _is_innermost_extent(statement: Stmt) -> bool:
    return _is_extent(statement) and not any(_is_extent(inner) for inner, _ in walk(statement.body))


def _is_extent(statement: Stmt) -> bool:
    return isinstance(statement, tirx.AttrStmt) and statement.attr_key == "thread_extent"


def _guards_of_loops(bare: Stmt) -> set[Header]:
    """The guards of a bare body that hold one loop and nothing else."""
    return {
        header(statement, True)
        for statement, _ in walk(bare)
        if isinstance(statement, tirx.IfThenElse)
        and [type(inner) for inner in flatten(statement.then_case)] == [tirx.For]
    }


def unswitched(statement: Stmt, guards: set[Header]) -> Stmt:
    """A traced statement whose loops have become two where TileLang, without the records, takes a guard out of one.

    That is where a loop holds, but for tracing, one of the ``guards`` that the bare kernel has around loops. The loop
    in the ``else`` has the records that stand outside of the guard, and nothing else.
    """
    loop = rebuild(statement, lambda inner: unswitched(inner, guards))
    parts = flatten(loop.body) if isinstance(loop, tirx.For) else []
    work = [i for i, part in enumerate(parts) if flatten(untraced(part))]
    guard = parts[work[0]] if len(work) == 1 else None
    if not isinstance(guard, tirx.IfThenElse) or header(guard, True) not in guards or _has_other_work(guard):
        return loop
    (at,) = work
    then = rebuild(loop, lambda _: sequence([*parts[:at], guard.then_case, *parts[at + 1 :]]))
    rest = sequence([*parts[:at], *flatten(guard.else_case), *parts[at + 1 :]])
    if not flatten(rest) or uses(guard.condition, [loop.loop_var]):
        return loop
    variable = tirx.Var(device.PREFIX + str(loop.loop_var.name), loop.loop_var.dtype)
    other = tirx.For(
        variable, loop.min, loop.extent, loop.kind, substitute(rest, {loop.loop_var: variable}), None, loop.annotations
    )
    return tirx.IfThenElse(guard.condition, then, other)


def _has_other_work(guard: Stmt) -> bool:
    """Whether the author's ``if`` has an ``else``."""
    return guard.else_case is not None and bool(flatten(untraced(guard.else_case)))
