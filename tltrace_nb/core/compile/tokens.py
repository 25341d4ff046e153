"""A device function as a text of tokens, and where in it tracing added something.

In: a function's body. Out: :class:`Text`: one token for each statement without a body and two for each with one (three
with an ``else``), and the statements of tracing's as items between them. :func:`align` says which tokens of two texts
are the same.
"""

from __future__ import annotations

import enum
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from difflib import SequenceMatcher
from typing import Any

from tvm import tirx
from tvm.ir import structural_equal

from tltrace_nb.core.compile import device
from tltrace_nb.core.compile.ir import Expr, Stmt, flatten, op_name, post_order_visit
from tltrace_nb.core.compile.same import IMPORT, is_assumption, is_tracing, on_thread_alone, untraced, without_helper

Header = tuple[Any, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Scope:
    """A loop, or one branch of an ``if``, that a statement stands in."""

    node: Stmt
    branch: str

    @property
    def guards(self) -> bool:
        """Whether it may be closed and opened again around a record."""
        return isinstance(self.node, tirx.IfThenElse) and _may_reopen(self.node)

    def __str__(self) -> str:
        if isinstance(self.node, tirx.For):
            return f"{self.branch} {self.node.extent if isinstance(self.node.extent, tirx.IntImm) else ''}"
        return self.branch


@dataclass(frozen=True, slots=True, eq=False)
class Token:
    """A statement without a body, or the beginning, the ``else`` or the end of one with a body."""

    edge: str
    node: Stmt
    scopes: tuple[Scope, ...]

    @property
    def silent(self) -> bool:
        """Whether it does no work of the author's: barriers, fences, declarations, C++ scopes."""
        if isinstance(self.node, (tirx.AttrStmt, tirx.AllocBuffer, tirx.DeclBuffer)):
            return True
        if isinstance(self.node, tirx.Bind):
            return str(self.node.var.dtype) == "handle"
        return self.edge == "leaf" and op_name(self.node).removeprefix("tirx.").removeprefix("tl.") in _SILENT

    def key(self, exact: bool) -> Header:
        """What must be equal in a token of the other function; not ``exact``: but for offsets and names."""
        return (self.edge, *header(self.node, exact))


_SILENT = {
    "tvm_storage_sync",
    "fence_proxy_async",
    "ptx_fence_barrier_init",
    "pdl_sync",
    "pdl_trigger",
}


@dataclass(frozen=True, slots=True, eq=False)
class Item:
    """Statements that tracing added at one place: before the token ``before``, outside the innermost ``out`` scopes."""

    node: Stmt
    before: int
    scopes: tuple[Scope, ...]
    out: int = 0

    @property
    def within(self) -> tuple[Scope, ...]:
        """The loops and branches that it stands in."""
        return self.scopes[: len(self.scopes) - self.out]


@dataclass(slots=True)
class Text:
    tokens: list[Token] = field(default_factory=list)
    items: list[Item] = field(default_factory=list)
    helper: Stmt | None = None
    """The attribute that imports the helper alone."""
    others: dict[Stmt, Item] = field(default_factory=dict)
    """What is in the ``else`` of an ``if`` where that is tracing's alone."""


class Guards(enum.Enum):
    """Which neighbouring guards of one condition are read as one, what stands between them as outside of it."""

    OVER_RECORDS = enum.auto()
    AS_THEY_ARE = enum.auto()
    OVER_BARRIERS = enum.auto()
    """Over records and over barriers, as a record may have brought a barrier there."""


def read(body: Stmt, guards: Guards = Guards.OVER_RECORDS) -> Text:
    """The text of a device function's body."""
    text = Text()
    _Reader(text, guards).statements([body], ())
    return text


@dataclass(frozen=True, slots=True)
class _Reader:
    """Writes a body down as a text."""

    text: Text
    guards: Guards

    def statements(self, bodies: Iterable[Stmt | None], scopes: tuple[Scope, ...]) -> None:
        for statement in (s for body in bodies for s in flatten(body)):
            self.statement(statement, scopes)

    def statement(self, statement: Stmt, scopes: tuple[Scope, ...]) -> None:
        start, items = len(self.text.tokens), len(self.text.items)
        match statement:
            case tirx.AttrStmt(attr_key=key) if key == IMPORT and not without_helper(statement):
                self.text.helper = statement
                self.statements([statement.body], scopes)
                return
            case tirx.AttrStmt() if is_assumption(statement):
                self.statements([statement.body], scopes)
                return
            case tirx.IfThenElse():
                if self._reopens(statement, scopes):
                    return
                self._token("if", statement, scopes)
                self.statements([statement.then_case], (*scopes, Scope(statement, "then")))
                if _else_is_tracing(statement):
                    other = (*scopes, Scope(statement, "else"))
                    self.text.others[statement] = Item(statement.else_case, len(self.text.tokens), other)
                elif statement.else_case is not None:
                    self._token("else", statement, scopes)
                    self.statements([statement.else_case], (*scopes, Scope(statement, "else")))
                self._token("end", statement, scopes)
            case tirx.For() | tirx.While():
                self._token("loop", statement, scopes)
                self.statements([statement.body], (*scopes, Scope(statement, "loop")))
                self._token("end", statement, scopes)
            case tirx.AttrStmt():
                self._token("scope", statement, scopes)
                self.statements([statement.body], scopes)
                self._token("end", statement, scopes)
            case _ if is_tracing(statement):
                self.text.items.append(Item(statement, start, scopes))
                return
            case _:
                self._token("leaf", statement, scopes)
                return
        added = self.text.items[items:]
        if added and all(token.edge in _EDGES for token in self.text.tokens[start:]):  # it holds items alone
            del self.text.tokens[start:], self.text.items[items:]
            self.text.items.append(Item(statement, start, scopes))

    def _token(self, edge: str, node: Stmt, scopes: tuple[Scope, ...]) -> None:
        self.text.tokens.append(Token(edge, node, scopes))

    def _reopens(self, statement: Stmt, scopes: tuple[Scope, ...]) -> bool:
        """Read a guard as a part of the one that ends before it and what stands between, if it is one with it."""
        tokens, items = self.text.tokens, self.text.items
        over_barriers = self.guards is Guards.OVER_BARRIERS
        end = len(tokens) - 1
        while over_barriers and end >= 0 and tokens[end].edge == "leaf" and tokens[end].silent:
            end -= 1
        last = tokens[end] if end >= 0 else None
        between = [i for i, item in enumerate(items) if item.before > end]
        if (
            last is None
            or self.guards is Guards.AS_THEY_ARE
            or last.edge != "end"
            or not (between or over_barriers)
            or len(last.scopes) != len(scopes)
            or not _one_guard(last.node, statement)
            or not flatten(untraced(statement.then_case))
        ):
            return False
        inner = (*scopes, Scope(last.node, "then"))
        tokens[end:] = [replace(token, scopes=inner) for token in tokens[end + 1 :]]
        for i in between:
            items[i] = replace(items[i], before=items[i].before - 1, scopes=inner, out=items[i].out + 1)
        self.statements([statement.then_case], inner)
        self._token("end", last.node, scopes)
        return True


def _else_is_tracing(guard: Stmt) -> bool:
    """Whether the author's ``if`` has no ``else``, and tracing's has."""
    if not flatten(guard.else_case) or not flatten(untraced(guard.then_case)):
        return False
    return not flatten(untraced(guard.else_case))


_EDGES = {"if", "else", "loop", "scope", "end"}


def _may_reopen(guard: Stmt) -> bool:
    return guard.else_case is None and on_thread_alone(guard.condition)


def _one_guard(a: Stmt, b: Stmt) -> bool:
    return (
        isinstance(a, tirx.IfThenElse)
        and isinstance(b, tirx.IfThenElse)
        and _may_reopen(a)
        and _may_reopen(b)
        and bool(structural_equal(a.condition, b.condition))
    )


def header(node: Stmt, exact: bool) -> Header:
    """What a statement is, its bodies aside; not ``exact``: but for offsets and names."""
    match node:
        case tirx.For():
            return ("for", int(node.kind), *_shape(node.extent, True))
        case tirx.While() | tirx.IfThenElse():
            return (type(node).__name__, *_shape(node.condition, exact))
        case tirx.AttrStmt():
            name = str(node.node.thread_tag) if isinstance(node.node, tirx.IterVar) else ""
            return ("attr", str(node.attr_key), name)
        case tirx.AllocBuffer() | tirx.DeclBuffer():
            return (type(node).__name__, str(node.buffer.name), str(node.buffer.dtype), str(node.buffer.scope()))
        case tirx.Bind():
            return ("bind", str(node.var.name))
        case tirx.BufferStore():
            indices = [part for index in node.indices for part in _shape(index, exact)] if exact else []
            return ("store", str(node.buffer.name), *_shape(node.value, exact), *indices)
        case tirx.Evaluate():
            return ("do", *_shape(node.value, exact))
        case _:
            return (type(node).__name__,)


def _shape(expression: Expr, exact: bool) -> tuple[str, ...]:
    """An expression as words: all of it, or its operators, functions and the buffers that it reads."""
    words: list[str] = []

    def visit(node: Any) -> None:
        match node:
            case tirx.Call():
                words.append(str(getattr(node.op, "name", getattr(node.op, "name_hint", node.op))))
            case tirx.StringImm():
                words.append(str(node.value))
            case tirx.BufferLoad():
                words.append(str(node.buffer.name))
            case tirx.Var() if exact:
                words.append(str(node.name))
            case tirx.IntImm() | tirx.FloatImm() if exact:
                words.append(str(node.value))
            case _ if exact:
                words.append(type(node).__name__)

    post_order_visit(expression, visit)
    return tuple(words)


@dataclass(frozen=True, slots=True)
class Record:
    """A call of ours: what it calls with which site, and the loops and branches around it as words."""

    call: str
    above: tuple[str, ...]


def records(text: Text) -> Iterator[Record]:
    """The calls of ours in program order."""

    def within(statement: Stmt, above: tuple[str, ...]) -> Iterator[Record]:
        match statement:
            case tirx.SeqStmt():
                for inner in statement.seq:
                    yield from within(inner, above)
            case tirx.IfThenElse():
                yield from within(statement.then_case, (*above, "then"))
                if statement.else_case is not None:
                    yield from within(statement.else_case, (*above, "else"))
            case tirx.For() | tirx.While():
                yield from within(statement.body, (*above, str(Scope(statement, "loop"))))
            case tirx.AttrStmt():
                yield from within(statement.body, above)
            case tirx.Evaluate():
                yield Record(f"{op_name(statement)} {site_of(statement)}", above)

    for item in (*text.items, *text.others.values()):
        yield from within(item.node, tuple(map(str, item.within)))


def site_of(statement: Stmt) -> int:
    """The site of a record, -1 for other calls of ours."""
    return int(statement.value.args[3]) if op_name(statement).startswith(device.RECORD) else -1


def align(traced: list[Token], bare: list[Token]) -> dict[int, int]:
    """Tokens of one text that are those of the other: equal ones first, then between them those of equal kind."""
    found: dict[int, int] = {}
    gaps = [(0, 0)]
    for block in _matches([t.key(True) for t in traced], [t.key(True) for t in bare]):
        for k in range(block.size):
            found[block.a + k] = block.b + k
        gaps.append((block.a + block.size, block.b + block.size))
    for a, b in gaps:
        a_end = next((i for i in range(a, len(traced)) if i in found), len(traced))
        b_end = found.get(a_end, len(bare))
        some, other = ([t.key(False) for t in tokens] for tokens in (traced[a:a_end], bare[b:b_end]))
        certain = {key for key in some if some.count(key) == other.count(key)}
        lefts, rights = ([i for i, key in enumerate(keys) if key in certain] for keys in (some, other))
        for block in _matches([some[i] for i in lefts], [other[i] for i in rights]):
            for k in range(block.size):
                found[a + lefts[block.a + k]] = b + rights[block.b + k]
    return _nested(found, traced, bare)


def _matches(some: list[Any], other: list[Any]) -> list[Any]:
    return SequenceMatcher(None, some, other, autojunk=False).get_matching_blocks()


def _nested(found: dict[int, int], traced: list[Token], bare: list[Token]) -> dict[int, int]:
    """The alignment without statements of which a part alone is aligned, or that are aligned with parts of two."""
    parts: dict[Any, list[int]] = {}
    others: dict[Any, list[int]] = {}
    for tokens, by_node in ((traced, parts), (bare, others)):
        for i, token in enumerate(tokens):
            by_node.setdefault(token.node, []).append(i)
    return {
        i: j for i, j in found.items() if [found.get(part) for part in parts[traced[i].node]] == others[bare[j].node]
    }
