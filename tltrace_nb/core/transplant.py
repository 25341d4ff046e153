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

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from difflib import SequenceMatcher
from typing import Any

from tvm import tirx
from tvm.ir import structural_equal

from tltrace_nb.core import device
from tltrace_nb.core.ir import (
    Expr,
    Stmt,
    flatten,
    ir_transform,
    op_name,
    post_order_visit,
    rebuild,
    sequence,
    span_of,
    walk,
)
from tltrace_nb.core.same import IMPORT, is_assumption, is_tracing, on_thread_alone, same, without_helper


class _NoPlace(Exception):  # noqa: N818 (an answer, no error)
    """A record has no certain place in the bare function."""


def transplanted(traced: Any, bare: Any, ends: frozenset[int]) -> Any | None:
    """The bare device function with the records of the traced one; ``None`` where that cannot be done for certain.

    ``ends`` are the sites that end a range. The result has the traced function's parameters, in their order.
    """
    try:
        params, known = _parameters(traced, bare)
        texts = _read(traced.body), _read(bare.body)
        body = _Transplant(*texts, known, ends).body(bare.body)
    except _NoPlace:
        return None
    result = tirx.PrimFunc(params, body, bare.ret_type, bare.buffer_map, bare.attrs)
    for name in _BY_POSITION & set(dict(traced.attrs)):
        result = result.with_attr(name, traced.attrs[name])
    moved = [(r.call, r.above) for r in _records(_read(result.body))]
    stood = [(r.call, r.above) for r in _records(texts[0])]
    return result if same(result, bare) and moved == stood else None


_BY_POSITION = {"tl.readonly_param_indices"}
"""Attributes that name parameters by position, and so hold for one list of parameters."""


@dataclass(frozen=True, slots=True, eq=False)
class _Scope:
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
class _Token:
    """A statement without a body, or the beginning, the ``else`` or the end of one with a body."""

    edge: str
    node: Stmt
    scopes: tuple[_Scope, ...]

    @property
    def silent(self) -> bool:
        """Whether it does no work of the author's: barriers, fences, declarations, C++ scopes."""
        if isinstance(self.node, (tirx.AttrStmt, tirx.AllocBuffer, tirx.DeclBuffer)):
            return True
        if isinstance(self.node, tirx.Bind):
            return str(self.node.var.dtype) == "handle"
        return self.edge == "leaf" and op_name(self.node).removeprefix("tirx.").removeprefix("tl.") in _SILENT

    def key(self, exact: bool) -> tuple[Any, ...]:
        """What must be equal in a token of the other function; not ``exact``: but for offsets and names."""
        return (self.edge, *_header(self.node, exact))


_SILENT = {
    "tvm_storage_sync",
    "fence_proxy_async",
    "ptx_fence_barrier_init",
    "pdl_sync",
    "pdl_trigger",
}


@dataclass(frozen=True, slots=True, eq=False)
class _Item:
    """Statements that tracing added at one place: before the token ``before``, outside the innermost ``out`` scopes."""

    node: Stmt
    before: int
    scopes: tuple[_Scope, ...]
    out: int = 0

    @property
    def within(self) -> tuple[_Scope, ...]:
        """The loops and branches that it stands in."""
        return self.scopes[: len(self.scopes) - self.out]


@dataclass(slots=True)
class _Text:
    tokens: list[_Token] = field(default_factory=list)
    items: list[_Item] = field(default_factory=list)
    helper: Stmt | None = None
    """The attribute that imports the helper alone."""


def _read(body: Stmt) -> _Text:
    text = _Text()
    _Reader(text).statements([body], ())
    return text


@dataclass(frozen=True, slots=True)
class _Reader:
    """Writes a body down as a text. Guards that were reopened around items are read as one, the items as outside."""

    text: _Text

    def statements(self, bodies: Iterable[Stmt | None], scopes: tuple[_Scope, ...]) -> None:
        for statement in (s for body in bodies for s in flatten(body)):
            self.statement(statement, scopes)

    def statement(self, statement: Stmt, scopes: tuple[_Scope, ...]) -> None:
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
                self.statements([statement.then_case], (*scopes, _Scope(statement, "then")))
                if statement.else_case is not None:
                    self._token("else", statement, scopes)
                    self.statements([statement.else_case], (*scopes, _Scope(statement, "else")))
                self._token("end", statement, scopes)
            case tirx.For() | tirx.While():
                self._token("loop", statement, scopes)
                self.statements([statement.body], (*scopes, _Scope(statement, "loop")))
                self._token("end", statement, scopes)
            case tirx.AttrStmt():
                self._token("scope", statement, scopes)
                self.statements([statement.body], scopes)
                self._token("end", statement, scopes)
            case _ if is_tracing(statement):
                self.text.items.append(_Item(statement, start, scopes))
                return
            case _:
                self._token("leaf", statement, scopes)
                return
        added = self.text.items[items:]
        if added and all(token.edge in _EDGES for token in self.text.tokens[start:]):  # it holds items alone
            del self.text.tokens[start:], self.text.items[items:]
            self.text.items.append(_Item(statement, start, scopes))

    def _token(self, edge: str, node: Stmt, scopes: tuple[_Scope, ...]) -> None:
        self.text.tokens.append(_Token(edge, node, scopes))

    def _reopens(self, statement: Stmt, scopes: tuple[_Scope, ...]) -> bool:
        """Read a guard as a part of the one that ends right before it but for items, if it is one with it."""
        tokens, items = self.text.tokens, self.text.items
        last = tokens[-1] if tokens else None
        first_between = next((i for i, item in enumerate(items) if item.before == len(tokens)), len(items))
        if (
            last is None
            or last.edge != "end"
            or first_between == len(items)
            or len(last.scopes) != len(scopes)
            or not _one_guard(last.node, statement)
            or not any(not is_tracing(s) for s in flatten(statement.then_case))
        ):
            return False
        tokens.pop()
        inner = (*scopes, _Scope(last.node, "then"))
        for i in range(first_between, len(items)):
            items[i] = replace(items[i], before=len(tokens), scopes=inner, out=items[i].out + 1)
        self.statements([statement.then_case], inner)
        self._token("end", last.node, scopes)
        return True


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


def _header(node: Stmt, exact: bool) -> tuple[Any, ...]:
    """What a statement is, its bodies aside."""
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


def _parameters(traced: Any, bare: Any) -> tuple[list[Any], dict[Any, Any]]:
    """The result's parameters, and which of them those of the traced function are.

    The traced function has some of its own: the slots, and what payloads alone read.
    """
    by_name = {str(p.name): p for p in bare.params}
    known = {p: by_name.pop(str(p.name), p) for p in traced.params}
    if by_name:
        raise _NoPlace
    return list(known.values()), known


@dataclass(frozen=True, slots=True)
class _Record:
    """A call of ours: what it calls with which site, and the loops and branches around it as words."""

    call: str
    above: tuple[str, ...]


def _records(text: _Text) -> Iterator[_Record]:
    """The calls of ours in program order."""

    def within(statement: Stmt, above: tuple[str, ...]) -> Iterator[_Record]:
        match statement:
            case tirx.SeqStmt():
                for inner in statement.seq:
                    yield from within(inner, above)
            case tirx.IfThenElse():
                yield from within(statement.then_case, (*above, "then"))
                if statement.else_case is not None:
                    yield from within(statement.else_case, (*above, "else"))
            case tirx.For() | tirx.While():
                yield from within(statement.body, (*above, str(_Scope(statement, "loop"))))
            case tirx.AttrStmt():
                yield from within(statement.body, above)
            case tirx.Evaluate():
                yield _Record(f"{op_name(statement)} {_site(statement)}", above)

    for item in text.items:
        yield from within(item.node, tuple(map(str, item.within)))


def _site(statement: Stmt) -> int:
    """The site of a record, -1 for other calls of ours."""
    return int(statement.value.args[3]) if op_name(statement).startswith(device.RECORD) else -1


class _Transplant:
    def __init__(self, traced: _Text, bare: _Text, known: dict[Any, Any], ends: frozenset[int]):
        self._traced = traced
        self._bare = bare
        self._ends = ends
        self._aligned = _align(traced.tokens, bare.tokens)
        self._known = {**known, **self._definitions()}
        self._imports = {bare.tokens[j].node: traced.tokens[i].node for i, j in self._aligned.items()}
        self._inside = _inside(bare.tokens, set(self._aligned.values()))
        self._placed: dict[int, list[_Item]] = {}
        earliest = 0
        for item in traced.items:
            placed = self._place(item, earliest)
            self._placed.setdefault(placed.before, []).append(placed)
            earliest = placed.before
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

    def _place(self, item: _Item, earliest: int) -> _Item:
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
                fitting.append(_Item(node, place, here, len(outside)))
        if not fitting:
            raise _NoPlace
        return min(fitting, key=lambda placed: self._inside[placed.before])

    def _is_end(self, statement: Stmt) -> bool:
        """Whether it belongs to what stands before it."""
        return isinstance(statement, tirx.Evaluate) and _site(statement) in self._ends

    def _scopes(self, scopes: tuple[_Scope, ...]) -> tuple[_Scope, ...]:
        """Scopes of the traced text as those of the bare one."""
        by_node = {
            self._traced.tokens[i].node: self._bare.tokens[j].node
            for i, j in self._aligned.items()
            if self._traced.tokens[i].edge in ("if", "loop")
        }
        if any(scope.node not in by_node for scope in scopes):
            raise _NoPlace
        return tuple(_Scope(by_node[scope.node], scope.branch) for scope in scopes)

    def _scopes_at(self, place: int) -> tuple[_Scope, ...]:
        """The scopes of the bare text right before one of its tokens."""
        if place == 0:
            return ()
        token = self._bare.tokens[place - 1]
        opened = {"if": "then", "else": "else", "loop": "loop"}.get(token.edge)
        return token.scopes if opened is None else (*token.scopes, _Scope(token.node, opened))

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

    def _here(self, statement: Stmt | None) -> list[_Item]:
        """The items before the next token, which is one of ``statement``."""
        items = self._placed.get(self._next, [])
        self._next += statement is not None
        return items

    def _emit(self, body: Stmt | None) -> list[Stmt | _Item]:
        result: list[Stmt | _Item] = []
        for statement in flatten(body):
            result += self._here(statement)
            match statement:
                case tirx.IfThenElse():
                    then = [*self._emit(statement.then_case), *self._here(statement)]
                    if statement.else_case is None:
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


def _align(traced: list[_Token], bare: list[_Token]) -> dict[int, int]:
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


def _nested(found: dict[int, int], traced: list[_Token], bare: list[_Token]) -> dict[int, int]:
    """The alignment without statements of which a part alone is aligned, or that are aligned with parts of two."""
    parts: dict[Any, list[int]] = {}
    others: dict[Any, list[int]] = {}
    for tokens, by_node in ((traced, parts), (bare, others)):
        for i, token in enumerate(tokens):
            by_node.setdefault(token.node, []).append(i)
    return {
        i: j for i, j in found.items() if [found.get(part) for part in parts[traced[i].node]] == others[bare[j].node]
    }


def _inside(tokens: list[_Token], aligned: set[int]) -> list[int]:
    """How many C++ scopes that only this text has are open before each token, and at the end."""
    depths = [0]
    for i, token in enumerate(tokens):
        own = isinstance(token.node, tirx.AttrStmt) and i not in aligned
        depths.append(depths[-1] + (0 if not own else 1 if token.edge == "scope" else -1))
    return depths


def _of_one_name(traced: _Text, bare: _Text) -> Iterator[tuple[Stmt, Stmt]]:
    """Declarations of the two texts that are the only ones of their kind, type and name."""

    def declared(text: _Text) -> dict[tuple[Any, ...], list[Stmt]]:
        found: dict[tuple[Any, ...], list[Stmt]] = {}
        for token in text.tokens:
            if isinstance(token.node, (tirx.AllocBuffer, tirx.DeclBuffer, tirx.Bind)):
                found.setdefault(token.key(True), []).append(token.node)
        return found

    others = declared(bare)
    for key, nodes in declared(traced).items():
        if len(nodes) == 1 and len(others.get(key, [])) == 1:
            yield nodes[0], others[key][0]


def _split(guard: Stmt, inside: list[Stmt | _Item]) -> Iterator[Stmt | _Item]:
    """A guard around statements and items, closed and opened again around the items that stand outside of it."""
    part: list[Stmt | _Item] = []

    def closed() -> Iterator[Stmt]:
        if part:
            yield tirx.IfThenElse(guard.condition, _whole(part), None, span_of(guard))
        part.clear()

    for each in inside:
        if isinstance(each, _Item) and each.out:
            yield from closed()
            yield replace(each, out=each.out - 1)
        else:
            part.append(each)
    yield from closed()


def _whole(parts: list[Stmt | _Item]) -> Stmt:
    """One statement of statements and items; raises ``_NoPlace`` if an item stands outside of what cannot be split."""
    if any(isinstance(part, _Item) and part.out for part in parts):
        raise _NoPlace
    return sequence(part.node if isinstance(part, _Item) else part for part in parts)


def _equal(some: tuple[_Scope, ...], other: tuple[_Scope, ...]) -> bool:
    return len(some) == len(other) and all(
        a.branch == b.branch and a.node.same_as(b.node) for a, b in zip(some, other, strict=True)
    )


def _is_innermost_extent(statement: Stmt) -> bool:
    return _is_extent(statement) and not any(_is_extent(inner) for inner, _ in walk(statement.body))


def _is_extent(statement: Stmt) -> bool:
    return isinstance(statement, tirx.AttrStmt) and statement.attr_key == "thread_extent"
