"""Which threads of a block arrive at each marker, followed through conditions, loops, variables and early exits.

In: a launch with ``__tlt_site`` statements. Out: an :class:`Arrival` for each of them, in program order.

The launch is executed once for all threads, as far as thread indices decide: a variable has a value in every thread, or
one that only the run knows, which is the same in all threads (``UNIFORM``: block indices, loop variables, what is
loaded from an address that all share) or differs (``VARYING``). A condition that only the run knows lets every thread
pass.
"""

from __future__ import annotations

import enum
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from tvm import tirx

from tltrace_nb.core.compile.active_threads import ActiveThreads, Lanes, LaunchShape
from tltrace_nb.core.compile.anchors import written_buffers
from tltrace_nb.core.compile.ir import Expr, Stmt, children, loads, op_name, post_order_visit, walk
from tltrace_nb.core.compile.jumps import OUT_OF_KERNEL, OUT_OF_LOOP
from tltrace_nb.core.compile.numbering import is_site

_LOCAL_VARIABLE = "local.var"


class Unknown(enum.Enum):
    """A value that only the run knows: the same in all threads of a CTA, or not."""

    UNIFORM = "uniform"
    VARYING = "varying"


Value = Lanes | Unknown


@dataclass(frozen=True, slots=True)
class Arrival:
    """The threads that may arrive at a site, and those of them for which data of their own decide whether they do."""

    threads: frozenset[int]
    undecided: frozenset[int]


def arrivals(launch: LaunchShape) -> list[Arrival]:
    """For each site statement of a launch, in program order, who arrives there."""
    walker = _Walker(ActiveThreads(launch), launch.threads)
    walker.visit(launch.body, _State(walker.all(), walker.none()))
    return walker.found


@dataclass(slots=True)
class _State:
    """The threads on a way, those of them that data of their own have sent there, and what variables hold."""

    alive: Lanes
    undecided: Lanes
    values: dict[Any, Value] = field(default_factory=dict)

    def copy(self) -> _State:
        return _State(self.alive.copy(), self.undecided.copy(), dict(self.values))


@dataclass(slots=True)
class _Walker:
    """Executes statements. ``returned`` and ``jumped`` are the threads that may have left the kernel, or the iteration
    of the innermost loop, since whoever looks has set them."""

    active: ActiveThreads
    count: int
    found: list[Arrival] = field(default_factory=list)
    returned: Lanes = field(init=False)
    jumped: Lanes = field(init=False)

    def __post_init__(self) -> None:
        self.returned, self.jumped = self.none(), self.none()

    def none(self) -> Lanes:
        return np.zeros(self.count, bool)

    def all(self) -> Lanes:
        return np.ones(self.count, bool)

    def visit(self, statement: Stmt, state: _State) -> None:
        """Execute a statement; ``state`` becomes what is behind it."""
        match statement:
            case tirx.IfThenElse():
                self._branch(statement, state)
            case tirx.For() if statement.thread_binding is None:
                self._loop(statement, self.value(statement.extent, state), state)
            case tirx.While():
                self._loop(statement, self.value(statement.condition, state), state)
            case tirx.BufferStore():
                self._store(statement, state)
            case tirx.Bind():
                state.values[statement.var] = self.value(statement.value, state)
            case tirx.Evaluate():
                self._evaluate(statement, state)
            case _:
                for child in children(statement):
                    self.visit(child, state)

    def value(self, e: Expr, state: _State) -> Value:
        """What an expression is in every thread."""
        known = self.active.evaluate(e, state.values)
        if known is not None:
            return np.broadcast_to(np.asarray(known), (self.count,))
        return Unknown.VARYING if self._varies(e, state) else Unknown.UNIFORM

    def _varies(self, e: Expr, state: _State) -> bool:
        """Whether an expression that only the run knows may differ between threads."""
        found = [False]

        def visit(node: Any) -> None:
            if isinstance(node, tirx.Var):
                known = self.active.evaluate(node, state.values)
                found.append(_differs(state.values.get(node, Unknown.UNIFORM) if known is None else np.asarray(known)))
            elif isinstance(node, tirx.BufferLoad) and node.buffer.scope().startswith("local"):
                found.append(_differs(state.values.get(node.buffer.data, Unknown.VARYING)))
            elif isinstance(node, tirx.Call) and not node.args:  # the index of a lane, a random number
                found.append(True)

        post_order_visit(e, visit)
        return any(found)

    def _branch(self, statement: Any, state: _State) -> None:
        condition = self.value(statement.condition, state)
        returned, jumped = self.returned, self.jumped
        self.returned, self.jumped = self.none(), self.none()
        undecided, other = state.undecided.copy(), state.copy()
        for way, then, case in ((state, True, statement.then_case), (other, False, statement.else_case)):
            way.alive &= self.active.may(statement.condition, then, way.values)
            if condition is Unknown.VARYING:
                way.undecided |= way.alive & ~self.active.leads(statement.condition, then, way.alive)
            if case is not None:
                self.visit(case, way)
        if condition is Unknown.VARYING:
            state.undecided = undecided | self.returned | self.jumped
        else:
            state.undecided = (state.undecided & state.alive) | (other.undecided & other.alive)
        state.alive = state.alive | other.alive
        state.values = _met(state.values, other.values, condition)
        self.returned, self.jumped = returned | self.returned, jumped | self.jumped

    def _loop(self, statement: Any, turns: Value, state: _State) -> None:
        """``turns``: the number of iterations of a ``for``, the first condition of a ``while``."""
        before = state.copy()
        returned, jumped = self.returned, self.jumped
        if isinstance(turns, np.ndarray):
            state.alive &= turns > 0
        elif turns is Unknown.VARYING:
            state.undecided |= state.alive
        # What the body changes is unknown in its later iterations; alike in all threads until the body says otherwise.
        changed = {data: before.values.get(data, Unknown.VARYING) for data in _stored_in(statement.body)}
        entry = {data: Unknown.VARYING if _differs(value) else Unknown.UNIFORM for data, value in changed.items()}
        if isinstance(statement, tirx.For):
            entry[statement.loop_var] = Unknown.UNIFORM
        while True:
            turn, sites = replace(state.copy(), values={**state.values, **entry}), len(self.found)
            self.returned, self.jumped = self.none(), self.none()
            self.visit(statement.body, turn)
            worse = [data for data in changed if _differs(turn.values[data]) and entry[data] is Unknown.UNIFORM]
            if not worse:
                break
            entry.update(dict.fromkeys(worse, Unknown.VARYING))
            del self.found[sites:]
        surely_runs = isinstance(statement, tirx.For) and isinstance(turns, np.ndarray)
        skipped = before.alive & (turns <= 0) if surely_runs else before.alive  # type: ignore[operator]
        state.alive = turn.alive | self.jumped | skipped
        returning = self.returned if turns is Unknown.VARYING else self.returned & turn.undecided
        state.undecided = before.undecided | returning
        state.values = _met(turn.values, before.values, turns)
        self.returned, self.jumped = returned | self.returned, jumped

    def _store(self, statement: Any, state: _State) -> None:
        buffer = statement.buffer
        if buffer.scope() == _LOCAL_VARIABLE:
            state.values[buffer.data] = self.value(statement.value, state)
        elif buffer.scope().startswith("local"):
            state.values[buffer.data] = Unknown.VARYING

    def _evaluate(self, statement: Any, state: _State) -> None:
        if is_site(statement):
            undecided = state.alive & state.undecided
            self.found.append(
                Arrival(*(frozenset(np.flatnonzero(lanes).tolist()) for lanes in (state.alive, undecided)))
            )
            return
        name = op_name(statement)
        if name in OUT_OF_KERNEL:
            self.returned |= state.alive
            state.alive = self.none()
        elif name in OUT_OF_LOOP:
            self.jumped |= state.alive
            state.alive = self.none()
        else:
            for buffer in loads(statement.value):  # an operation may write what it gets the address of
                if buffer.data in state.values:
                    state.values[buffer.data] = Unknown.VARYING


def _stored_in(body: Stmt) -> list[Any]:
    """The local variables that a body may change."""
    local = [b for s, _ in walk(body) for b in written_buffers(s) if b.scope().startswith("local")]
    return list(dict.fromkeys(buffer.data for buffer in local))


def _differs(value: Value) -> bool:
    """Whether threads may have different values."""
    if isinstance(value, Unknown):
        return value is Unknown.VARYING
    return value.size > 0 and bool((value != value.flat[0]).any())


def _met(here: dict[Any, Value], there: dict[Any, Value], condition: Value) -> dict[Any, Value]:
    """What variables hold where two ways meet."""
    keys = [*here, *(key for key in there if key not in here)]
    return {key: _joined(here.get(key, Unknown.VARYING), there.get(key, Unknown.VARYING), condition) for key in keys}


def _joined(a: Value, b: Value, condition: Value) -> Value:
    if isinstance(a, np.ndarray) and isinstance(b, np.ndarray):
        if bool((a == b).all()):
            return a
        if isinstance(condition, np.ndarray):
            return np.where(condition, a, b)
    return Unknown.VARYING if any(map(_differs, (a, b, condition))) else Unknown.UNIFORM
