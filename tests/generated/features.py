"""What a kernel is made of, by name, read from its nodes; and profiles, which say what may be in one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from generated.nodes import (
    Body,
    Break,
    Call,
    Continue,
    Expr,
    Fill,
    Flag,
    For,
    Group,
    If,
    Int,
    Kernel,
    Let,
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
    Variable,
    While,
    names,
    statements,
    walk,
)

_Test = Callable[[Kernel, Stmt, tuple[Stmt, ...]], bool]


def _pipelined(s: Stmt) -> bool:
    return isinstance(s, For) and s.kind == "pipelined"


def _inside(above: tuple[Stmt, ...], test: Callable[[Stmt], bool]) -> bool:
    return any(map(test, above))


def reads(e: Expr | None) -> set[str]:
    """The kinds of names in an expression: data, block, thread, loop, variable, extent."""
    kinds = set()
    for name in names(e):
        known = {"F": "data", "bx": "block", "by": "block", "tx": "thread", "n": "extent"}
        kinds.add(known.get(name) or {"k": "loop", "u": "variable", "t": "variable", "w": "role"}.get(name[0], "value"))
    return kinds


def _persistent(body: Body) -> bool:
    """Whether a loop's body is the whole of a tile: accumulators filled, a pipeline, a result saved."""
    inside = [s for s, above in walk(body) if not any(isinstance(o, (For, While, If)) for o in above)]
    return any(isinstance(s, Fill) for s in inside) and any(map(_pipelined, inside)) and isinstance(inside[-1], Save)


def moved_by_specialisation(kernel: Kernel) -> bool:
    """Whether a pipeline stands in a loop or branch, and something in front of that.

    Where TileLang 0.1.15 specialises such a kernel, it moves what stands in front into the loop or branch, behind the
    split into roles: accumulators are cleared again and again, or not at all. The untraced kernel does so as well.
    """
    for launch in kernel.launches:
        for i, s in enumerate(launch.body):
            nested = any(
                _pipelined(o) and any(isinstance(a, (For, While, If)) for a in above) for o, above in walk((s,))
            )
            if nested and not all(isinstance(o, Variable) for o in launch.body[:i]):
                return True
    return False


def leaves_one_iteration(kernel: Kernel) -> bool:
    """Whether a jump leaves a loop of one iteration, which TileLang removes: in CUDA it leaves the loop around."""
    for launch in kernel.launches:
        for s, above in walk(launch.body):
            loops = [outer for outer in above if isinstance(outer, (For, While))]
            if isinstance(s, (Break, Continue)) and loops and isinstance(loops[-1], For) and loops[-1].extent == Int(1):
                return True
    return False


def _condition(kind: str) -> _Test:
    return lambda _, s, __: isinstance(s, If) and kind in reads(s.condition)


def _trips(s: Stmt, count: int) -> bool:
    return isinstance(s, For) and s.extent == Int(count)


def _jump_out_of_range(_: Kernel, s: Stmt, above: tuple[Stmt, ...]) -> bool:
    if not isinstance(s, (Break, Continue, Return)):
        return False
    for outer in reversed(above):
        if isinstance(outer, Range):
            return True
        if isinstance(outer, (For, While)) and not isinstance(s, Return):
            return False
    return False


def _payload(kind: str) -> _Test:
    return lambda _, s, __: isinstance(s, (Range, Start, Record)) and kind in reads(s.payload)


def _has_payload(test: Callable[[Expr | None], bool]) -> _Test:
    return lambda _, s, __: isinstance(s, (Range, Start, Record)) and test(s.payload)


def _compares(e: Expr | None) -> bool:
    return isinstance(e, Op) and e.op in ("<", "<=", ">", ">=", "==", "!=")


def _loop_bound(e: Expr) -> bool:
    return isinstance(e, Op) and isinstance(e.a, Name) and e.a.name.startswith("k") and isinstance(e.b, Int)


FEATURES: dict[str, _Test] = {
    "if_without_else": lambda _, s, __: isinstance(s, If) and s.other is None,
    "if_with_else": lambda _, s, __: isinstance(s, If) and s.other is not None,
    "condition_on_data": _condition("data"),
    "condition_on_block": _condition("block"),
    "condition_on_thread": _condition("thread"),
    "condition_on_variable": _condition("variable"),
    "condition_on_role_variable": _condition("role"),
    "provable_guard": lambda k, s, __: isinstance(s, If) and s.condition in always(k),
    "guard_in_range": lambda k, s, above: (
        isinstance(s, If) and s.condition in always(k) and _inside(above, lambda o: isinstance(o, Range))
    ),
    "guard_in_branch": lambda k, s, above: (
        isinstance(s, If)
        and s.condition in always(k)
        and _inside(above, lambda o: isinstance(o, If) and o.condition not in always(k))
    ),
    "dead_branch": lambda k, s, __: isinstance(s, If) and s.condition in always(k) and s.other is not None,
    "peeled_guard": lambda _, s, above: isinstance(s, If) and _loop_bound(s.condition) and _inside(above, _pipelined),
    "serial": lambda _, s, __: isinstance(s, For) and s.kind == "serial",
    "unroll": lambda _, s, __: isinstance(s, For) and s.kind == "unroll",
    "pipeline": lambda _, s, __: _pipelined(s),
    "one_stage": lambda _, s, __: _pipelined(s) and s.stages == 1,
    "four_stages": lambda _, s, __: _pipelined(s) and s.stages == 4,
    "no_trip": lambda _, s, __: _trips(s, 0),
    "one_trip": lambda _, s, __: _trips(s, 1),
    "fewer_trips_than_stages": lambda _, s, __: (
        _pipelined(s) and isinstance(s.extent, Int) and s.extent.value < s.stages
    ),
    "run_time_trips": lambda _, s, __: isinstance(s, For) and "data" in reads(s.extent),
    "run_time_pipeline": lambda _, s, __: _pipelined(s) and "data" in reads(s.extent),
    "several_pipelines": lambda k, s, above: _pipelined(s) and sum(_pipelined(o) for o, _ in statements(k)) > 1,
    "pipeline_in_loop": lambda _, s, above: _pipelined(s) and _inside(above, lambda o: isinstance(o, (For, While))),
    "persistent": lambda _, s, above: not above and isinstance(s, For) and _persistent(s.body),
    "pipeline_in_branch": lambda _, s, above: _pipelined(s) and _inside(above, lambda o: isinstance(o, If)),
    "branch_in_pipeline": lambda _, s, above: isinstance(s, If) and _inside(above, _pipelined),
    "loop_in_pipeline": lambda _, s, above: isinstance(s, For) and s.kind == "serial" and _inside(above, _pipelined),
    "while": lambda _, s, __: isinstance(s, While),
    "break": lambda _, s, __: isinstance(s, Break),
    "continue": lambda _, s, __: isinstance(s, Continue),
    "return": lambda _, s, above: (
        isinstance(s, Return) and not _inside(above, lambda o: isinstance(o, If) and _varies(o.condition))
    ),
    "return_of_threads": lambda _, s, above: (
        isinstance(s, Return) and _inside(above, lambda o: isinstance(o, If) and _varies(o.condition))
    ),
    "jump_out_of_range": _jump_out_of_range,
    "variable_in_loop": lambda _, s, above: isinstance(s, Set) and _inside(above, lambda o: isinstance(o, For)),
    "variable_in_pipeline": lambda _, s, above: isinstance(s, Set) and _inside(above, _pipelined),
    "variable_in_range": lambda _, s, above: isinstance(s, Set) and _inside(above, lambda o: isinstance(o, Range)),
    "variable_without_value": lambda _, s, __: isinstance(s, Variable) and s.init is None,
    "role_variable": lambda _, s, __: isinstance(s, (Let, Set)) and s.name.startswith("w"),
    "payload_of_variable": _payload("variable"),
    "payload_of_data": _payload("data"),
    "payload_of_thread": _payload("thread"),
    "payload_bool": _has_payload(_compares),
    "no_payload": _has_payload(lambda e: e is None),
    "nested_ranges": lambda _, s, above: isinstance(s, Range) and _inside(above, lambda o: isinstance(o, Range)),
    "start_and_end": lambda _, s, __: isinstance(s, Start),
    "instant": lambda _, s, __: isinstance(s, Record),
    "lead": lambda _, s, __: isinstance(s, Group) and s.per == "group",
    "per_warp": lambda _, s, __: isinstance(s, Group) and s.per == "warp",
    "macro": lambda _, s, __: isinstance(s, Call),
    "macro_in_pipeline": lambda _, s, above: isinstance(s, Call) and _inside(above, _pipelined),
    "swizzle": lambda k, s, __: any(launch.swizzle for launch in k.launches),
    "cluster": lambda k, s, __: any(launch.cluster > 1 for launch in k.launches),
    "two_launches": lambda k, s, __: len(k.launches) > 1,
    "dynamic": lambda k, s, __: any(launch.dynamic for launch in k.launches),
    "gemm": lambda _, s, __: isinstance(s, Product),
    "reduce": lambda _, s, __: isinstance(s, Sum),
    "move": lambda _, s, __: isinstance(s, Move),
    "fill_in_loop": lambda _, s, above: isinstance(s, Fill) and _inside(above, lambda o: isinstance(o, For)),
    "save_in_range": lambda _, s, above: isinstance(s, Save) and _inside(above, lambda o: isinstance(o, Range)),
    "store": lambda _, s, __: isinstance(s, Store),
}
"""A feature is in a kernel when its test holds for one of the kernel's statements, given those around it."""


def features(kernel: Kernel) -> frozenset[str]:
    """The features of a kernel."""
    return frozenset(
        name for name, test in FEATURES.items() if any(test(kernel, s, above) for s, above in statements(kernel))
    )


def always(kernel: Kernel) -> frozenset[Expr]:
    """The conditions of a kernel that hold whatever the data, as TileLang can prove."""
    found: set[Expr] = set()
    for launch in kernel.launches:
        for name, extent in (*zip(("bx", "by"), launch.grid, strict=False), ("tx", launch.threads)):
            if not (launch.dynamic and name == "bx"):
                found |= bounds(Name(name), extent)
        for s, _ in walk(launch.body):
            if isinstance(s, For) and isinstance(s.extent, Int):
                found |= bounds(Name(s.var), s.extent.value)
    return frozenset(found)


def bounds(index: Expr, extent: int) -> set[Expr]:
    """Conditions on an index of this extent that always hold: exact ones, and the full-tile test of real kernels."""
    return {
        Op("<", index, Int(extent)),
        Op("<", index, Int(extent + 4)),
        Op(">=", index, Int(0)),
        Op("<=", Op("*", Op("+", index, Int(1)), Int(16)), Int(16 * extent)),
    }


def _varies(e: Expr) -> bool:
    return bool({"thread", "role"} & reads(e)) or any(name.startswith("t") for name in names(e))


def on_data(e: Expr) -> bool:
    """Whether an expression loads data."""
    return isinstance(e, Flag) or (isinstance(e, Op) and (on_data(e.a) or on_data(e.b)))


@dataclass(frozen=True)
class Profile:
    """Which features the generator may use; ``share``: how many of them a kernel gets, of those that fit."""

    allowed: frozenset[str] = frozenset(FEATURES)
    share: float = 0.2

    def without(self, *features: str) -> Profile:
        """The profile with features switched off. Raises ``KeyError`` for one that there is not."""
        unknown = set(features) - set(FEATURES)
        if unknown:
            raise KeyError(f"no such feature: {', '.join(sorted(unknown))}; there are {', '.join(FEATURES)}")
        return Profile(self.allowed - set(features), self.share)

    def only(self, *features: str) -> Profile:
        """The profile with nothing but these features."""
        return Profile(frozenset(FEATURES), self.share).without(*(set(FEATURES) - set(features)))


EVERYTHING = Profile()
