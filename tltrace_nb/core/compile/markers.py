"""Markers: what ``trace.range`` and its sisters leave in a kernel body while TileLang builds it.

In: names, lanes, groups and payloads from the author. Out: placeholder statements in the PrimFunc, each
``call_extern("handle", "__tlt_marker", <marker as JSON>, <payload>)``, which ``compile.lowering`` turns into records.
They are emitted always; nothing here depends on whether tracing is on. What the builder hands out is the kernel without
them, which carries the one with them (``compile.carried``).

The state of a build (open groups, ranges counted so far) lives on TileLang's builder, so it begins and ends with it.
"""

from __future__ import annotations

import enum
import json
import math
import operator
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from types import TracebackType
from typing import Any, Literal

import tilelang.language as T
from tvm import tirx

from tltrace_nb.base.attached import attached
from tltrace_nb.base.checks import short
from tltrace_nb.base.errors import MarkerError, PayloadError, TokenError
from tltrace_nb.base.words import utf8
from tltrace_nb.core.compile.carried import MARKER, carried
from tltrace_nb.core.compile.ir import shown_source
from tltrace_nb.core.compile.upstream import Builder, KernelLaunchFrame
from tltrace_nb.data.sites import ENTRY_POINT, EventKind, PayloadType

DEFAULT_LANE = "main"

Per = Literal["group", "warp", "thread"]
PER: tuple[Per, ...] = ("group", "warp", "thread")

_INTEGER_TYPES = {"int8", "int16", "int32", "uint8", "uint16", "uint32"}
_FLOAT_TYPES = {"float16", "bfloat16", "float32"}


@dataclass(frozen=True, slots=True)
class Group:
    """Who records: thread ``lead`` (``per="group"``), that lane of each warp, or every thread."""

    name: str = ENTRY_POINT
    lead: int = 0
    per: Per = "group"


class Over(enum.StrEnum):
    """What a marker is about: what it encloses, or what the scheduler will add next to an operator.

    ``WAITS``: the scheduler's waits in front of the operator behind the marker; ``ARRIVALS``: its arrivals behind the
    operator in front. Where it adds none, the marker does not record.
    """

    STATEMENTS = "statements"
    WAITS = "waits"
    ARRIVALS = "arrivals"


@dataclass(frozen=True, slots=True)
class Marker:
    """One placeholder as it stands in the kernel; ``range`` joins the two ends of a range.

    An ``automatic`` one was not written by the author (``compile.auto.marks``); its ``range`` tells it from the others.
    ``leaving``: the end of a range at a jump out of it (``compile.jumps``). ``full``: an automatic one that the light
    set has nothing in place of.
    """

    kind: EventKind
    name: str
    lane: str
    group: Group
    payload: PayloadType
    source: str
    range: int = -1
    automatic: bool = False
    over: Over = Over.STATEMENTS
    leaving: bool = False
    full: bool = False

    def to_json(self) -> str:
        """The marker as the JSON text of its placeholder."""
        return json.dumps(asdict(self), sort_keys=True)

    @classmethod
    def from_json(cls, text: str) -> Marker:
        """The inverse of ``to_json``."""
        raw = json.loads(text)
        fixed = {
            "kind": EventKind(raw["kind"]),
            "payload": PayloadType(raw["payload"]),
            "group": Group(**raw["group"]),
            "over": Over(raw["over"]),
        }
        return cls(**{**raw, **fixed})


@dataclass(frozen=True, slots=True)
class Flow:
    """A ``trace.dag`` declaration: an arrow from every ``src`` range to the ``dst`` range of the same rank."""

    src: str
    dst: str
    automatic: bool = False


@dataclass(slots=True)
class _BuildState:
    """What one build has seen so far."""

    groups: list[Group] = field(default_factory=lambda: [Group()])
    leads: dict[str, Group] = field(default_factory=lambda: {ENTRY_POINT: Group()})
    ranges: int = 0
    open: dict[int, AnnoToken] = field(default_factory=dict)
    begun: bool = False


class AnnoToken:
    """Handle of an open range: what ``range_start`` returns and ``range_end`` takes. It carries the payload."""

    __slots__ = ("group", "lane", "name", "payload", "payload_type", "range", "source")

    def __init__(
        self, name: str, lane: str, payload: Any, payload_type: PayloadType, group: Group, range: int, source: str
    ):
        self.name = name
        self.lane = lane
        self.payload = payload
        self.payload_type = payload_type
        self.group = group
        self.range = range
        self.source = source

    def __repr__(self) -> str:
        return f"AnnoToken({self.name!r}, lane={self.lane!r}, {self.source})"


class RangeScope:
    """``with trace.range(...)``: the range begins on entry and ends on exit."""

    def __init__(self, name: str, lane: str = DEFAULT_LANE, payload: Any = None):
        self._name, self._lane, self._payload = name, lane, payload
        self._token: AnnoToken | None = None

    def __enter__(self) -> AnnoToken:
        self._token = open_range(self._name, self._lane, self._payload)
        return self._token

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, where: TracebackType | None
    ) -> None:
        if kind is None:
            close_range(self._token)


class GroupScope:
    """``with trace.group(...)``: the enclosed markers are recorded by the group's writer."""

    def __init__(self, name: str, lead: int = 0, per: Per = "group"):
        where = _where_if_building()
        self._group = Group(_checked_name("name", name, where), _checked_lead(lead, where), per)
        if not (isinstance(per, str) and per in PER):
            raise MarkerError(f"trace.group(per={short(per)}){where}: give one of {', '.join(map(repr, PER))}")

    def __enter__(self) -> GroupScope:
        state, where = _building("trace.group")
        known = state.leads.setdefault(self._group.name, self._group)
        if known != self._group:
            raise MarkerError(
                f"trace.group({self._group.name!r}, lead={self._group.lead}){where}: the group was declared before "
                f"with lead={known.lead}, per={known.per!r}; give one of the two another name"
            )
        state.groups.append(self._group)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, where: TracebackType | None
    ) -> None:
        if kind is None:
            _building("trace.group")[0].groups.pop()


def open_range(name: str, lane: str = DEFAULT_LANE, payload: Any = None) -> AnnoToken:
    """Begin a range here and return its token.

    Raises ``MarkerError`` outside a kernel or for a bad name, ``PayloadError`` for a payload that is not 32 bits.
    """
    state, where = _building(f"trace.range({short(name)})")
    name, lane = _checked_name("name", name, where), _checked_name("lane", lane, where)
    expression, payload_type = payload_expression(payload, f"trace.range({short(name)}){where}")
    token = AnnoToken(name, lane, expression, payload_type, state.groups[-1], state.ranges, _source())
    state.ranges += 1
    state.open[token.range] = token
    _emit(_marker(EventKind.RANGE_BEGIN, token), expression)
    return token


def close_range(token: AnnoToken | None) -> None:
    """End the range of ``token`` here; ``None`` does nothing.

    Raises ``TokenError`` for a token that was ended before or belongs to another kernel.
    """
    if token is None:
        return
    if not isinstance(token, AnnoToken):
        raise TokenError(f"token={short(token)}: give the token that trace.range_start returned")
    state, where = _building("trace.range_end")
    if state.open.get(token.range) is not token:
        raise TokenError(
            f"trace.range_end of {token.name!r}{where}: the range begun at {token.source} is not open here; a token "
            "ends its range once, in the kernel that began it"
        )
    del state.open[token.range]
    _emit(_marker(EventKind.RANGE_END, token), token.payload)


def emit_instant(name: str, payload: Any = None, lane: str = DEFAULT_LANE) -> None:
    """Record one instant here; errors as ``open_range``."""
    state, where = _building(f"trace.record({short(name)})")
    name, lane = _checked_name("name", name, where), _checked_name("lane", lane, where)
    expression, payload_type = payload_expression(payload, f"trace.record({short(name)}){where}")
    _emit(Marker(EventKind.INSTANT, name, lane, state.groups[-1], payload_type, _source()), expression)


def declare_flow(src: str, dst: str) -> None:
    """Declare an arrow from each range named ``src`` to the range named ``dst`` of the same rank in its CTA."""
    _, where = _building(f"trace.dag({short(src)}, {short(dst)})")
    flow = Flow(_checked_name("src_name", src, where), _checked_name("dst_name", dst, where))
    _evaluate(flow_statement(flow))


def payload_expression(payload: Any, what: str) -> tuple[Any, PayloadType]:
    """The payload as a TIR expression of at most 32 bits, and how its bits are to be read.

    ``payload`` is ``None``, a Python (or NumPy) bool, int or float, or a scalar TIR expression; ``what`` begins the
    error messages. Raises ``PayloadError`` for anything that 32 bits do not hold.
    """
    if payload is None:
        return tirx.IntImm("int32", 0), PayloadType.NONE
    if isinstance(payload, tirx.Buffer):
        if payload.scope() != "local.var":
            raise PayloadError(
                f"{what}: the payload is the buffer {payload.name!r}; give one element, {payload.name}[i]"
            )
        payload = tirx.BufferLoad(payload, [0])
    if isinstance(payload, (tirx.expr.EqualOp, tirx.expr.NotEqualOp)):
        payload = payload.asobject()  # what a == b is until somebody asks
    if not isinstance(payload, tirx.PrimExpr):
        return _constant(payload, what)
    dtype = str(payload.dtype)
    if dtype == "bool":
        return payload, PayloadType.BOOL
    if dtype in _INTEGER_TYPES:
        unsigned = dtype == "uint32"
        return payload, PayloadType.UINT32 if unsigned else PayloadType.INT32
    if dtype in _FLOAT_TYPES:
        return payload, PayloadType.FLOAT32
    raise PayloadError(
        f"{what}: a payload is a scalar of at most 32 bits, this one is {dtype}; cast it, T.cast(x, 'int32')"
    )


def marker_statement(marker: Marker, payload: Any) -> Any:
    """The placeholder of a marker, as a statement."""
    return _placeholder(marker.to_json(), payload)


def flow_statement(flow: Flow) -> Any:
    """The placeholder of a flow, as a statement."""
    return _placeholder(json.dumps(asdict(flow), sort_keys=True), tirx.IntImm("int32", 0))


def read_marker(statement: Any) -> tuple[Marker | Flow, Any]:
    """The marker (or flow) that a placeholder carries, and its payload expression."""
    text = str(statement.value.args[1].value)
    if "src" in json.loads(text):
        return Flow(**json.loads(text)), None
    return Marker.from_json(text), statement.value.args[2]


def _constant(payload: Any, what: str) -> tuple[Any, PayloadType]:
    if isinstance(payload, bool) or type(payload).__name__ in ("bool", "bool_"):
        return tirx.IntImm("bool", int(payload)), PayloadType.BOOL
    try:
        value = operator.index(payload)
    except TypeError:
        pass
    else:
        if -(2**31) <= value < 2**31:
            return tirx.IntImm("int32", value), PayloadType.INT32
        if 2**31 <= value < 2**32:
            return tirx.IntImm("uint32", value), PayloadType.UINT32
        raise PayloadError(
            f"{what}: the payload {short(value)} does not fit 32 bits; record a part of it, or its index"
        )
    try:
        number = float(payload)
    except (TypeError, ValueError, OverflowError):
        raise PayloadError(
            f"{what}: the payload is {short(payload)}, a {type(payload).__name__}; give None, a bool, an int, a float "
            "or a scalar expression"
        ) from None
    if math.isfinite(number) and abs(number) > 3.4028234663852886e38:
        raise PayloadError(f"{what}: the payload {number!r} does not fit float32; scale it")
    return tirx.FloatImm("float32", number), PayloadType.FLOAT32


def _marker(kind: EventKind, token: AnnoToken) -> Marker:
    return Marker(kind, token.name, token.lane, token.group, token.payload_type, token.source, token.range)


def _placeholder(text: str, payload: Any) -> Any:
    return tirx.Evaluate(T.call_extern("handle", MARKER, text, payload))


def _emit(marker: Marker, payload: Any) -> None:
    _evaluate(marker_statement(marker, payload))


def _evaluate(statement: Any) -> None:
    evaluate: Callable[[Any], None] = T.evaluate
    evaluate(statement.value)


def _building(what: str) -> tuple[_BuildState, str]:
    """The state of the running build, kept on TileLang's builder, and where it is, as text for errors."""
    builder = Builder.current()
    if builder is None or KernelLaunchFrame.Current() is None:
        raise MarkerError(
            f"{what} stands outside a kernel; markers belong inside `with T.Kernel(...)` of a T.prim_func"
        )
    state = attached(builder, _BuildState)
    if not state.begun:
        state.begun, own = True, builder.get
        vars(builder)["get"] = lambda: carried(own())  # TileLang gets a kernel that it can compile
    return state, _where_if_building()


def _where_if_building() -> str:
    builder = Builder.current()
    return "" if builder is None else f" at {_source()}"


def _source() -> str:
    builder = Builder.current()
    return shown_source(builder.current_file, builder.current_line)


def _checked_name(argument: str, name: Any, where: str) -> str:
    if not isinstance(name, str) or not name or utf8(name) != name:
        raise MarkerError(f"{argument}={short(name)}{where}: give a non-empty string")
    return name


def _checked_lead(lead: Any, where: str) -> int:
    if isinstance(lead, bool) or not isinstance(lead, int) or lead < 0:
        raise MarkerError(f"trace.group(lead={short(lead)}){where}: give the id of a thread, an int >= 0")
    return lead
