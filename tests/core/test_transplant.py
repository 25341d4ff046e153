"""Records move into the bare device function to the places where they stood, or not at all.

The functions here are written by hand: the traced one is what TileLang would plan with records in sight, the bare one
what it would plan without.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import tilelang  # noqa: F401  (puts the tvm that TileLang bundles on the path)
from tvm import tirx
from tvm.ir import Op

from tltrace_nb.core.compile import device
from tltrace_nb.core.compile.ir import flatten, op_name, sequence
from tltrace_nb.core.compile.same import same
from tltrace_nb.core.compile.transplant import transplanted

BEGIN, END, OTHER = 0, 1, 2
ENDS = frozenset({END})


class Function:
    """A device function in the making, with variables of its own as each of TileLang's builds has them."""

    def __init__(self) -> None:
        self.tx = tirx.Var("tx", "int32")
        self.flag = tirx.decl_buffer((8,), "int32", name="flag")
        self.data = tirx.decl_buffer((1024,), "float32", name="data")
        self.slots = tirx.decl_buffer((1024,), "int64", name=device.SLOTS)
        self.cursor = device.cursor_buffer()

    def work(self, number: int, at: Any = 0) -> Any:
        """A statement of the author's; equal numbers are equal statements."""
        return tirx.BufferStore(self.data, tirx.const(float(number), "float32"), [at])

    def sync(self) -> Any:
        return tirx.Evaluate(tirx.Call("int32", Op.get("tirx.tvm_storage_sync"), [tirx.StringImm("shared")]))

    def record(self, site: int, payload: Any = 0) -> Any:
        call = Op.get("tirx.call_extern")
        head = [tirx.StringImm("__tlt_record"), self.cursor.data, self.slots.data, tirx.IntImm("uint32", site)]
        return tirx.Evaluate(tirx.Call("handle", call, [*head, tirx.convert(payload)]))

    def when(self, condition: Any, *body: Any, other: tuple[Any, ...] = ()) -> Any:
        return tirx.IfThenElse(condition, sequence(body), sequence(other) if other else None)

    def first_half(self, *body: Any) -> Any:
        return self.when(self.tx < 64, *body)

    def loop(self, extent: int, body: Callable[[Any], list[Any]]) -> Any:
        k = tirx.Var("k", "int32")
        return tirx.For(k, 0, extent, tirx.ForKind.SERIAL, sequence(body(k)))

    def scope(self, *body: Any) -> Any:
        return tirx.AttrStmt(tirx.IntImm("int32", 0), "lexical_alloc_scope", tirx.IntImm("int32", 1), sequence(body))

    def whole(self, *body: Any, traced: bool) -> Any:
        cursor = [tirx.AllocBuffer(self.cursor)] if traced else []
        extent = tirx.AttrStmt(
            tirx.IterVar(None, self.tx, 1, "threadIdx.x"), "thread_extent", tirx.IntImm("int32", 128), sequence(body)
        )
        params = [self.data.data, self.flag.data, *([self.slots.data] if traced else [])]
        return tirx.PrimFunc(params, sequence([*cursor, extent]))


Body = Callable[[Function], list[Any]]


def moved(traced: Body, bare: Body) -> list[str] | None:
    """What is left when the records of one body are moved into another, as words; also checks that nothing is lost."""
    one, two = Function(), Function()
    bare_func = two.whole(*bare(two), traced=False)
    result = transplanted(one.whole(*traced(one), traced=True), bare_func, ENDS)
    if result is None:
        return None
    assert same(result, bare_func)
    extent = flatten(result.body)[-1]
    return words(extent.body)


def words(body: Any) -> list[str]:
    found = []
    for s in flatten(body):
        match s:
            case tirx.BufferStore():
                found.append(f"work {int(s.value.value)}")
            case tirx.For():
                found += [f"loop {s.extent} {{", *words(s.body), "}"]
            case tirx.IfThenElse():
                other = ["} else {", *words(s.else_case)] if s.else_case is not None else []
                found += ["if {", *words(s.then_case), *other, "}"]
            case tirx.AttrStmt():
                found += ["scope {", *words(s.body), "}"]
            case _ if op_name(s) == "__tlt_record":
                found.append(("begin", "end", "other")[int(s.value.args[3])])
            case _ if op_name(s) == "tirx.tvm_storage_sync":
                found.append("sync")
            case _:
                found.append(type(s).__name__)
    return found


def test_a_barrier_that_the_bare_kernel_has_elsewhere_stays_there() -> None:
    result = moved(
        lambda f: [f.work(1), f.record(BEGIN), f.work(2), f.sync(), f.record(END), f.work(3)],
        lambda f: [f.work(1), f.sync(), f.work(2), f.work(3)],
    )
    assert result == ["work 1", "sync", "begin", "work 2", "end", "work 3"]


def test_a_range_ends_before_a_barrier_that_only_the_bare_kernel_has_and_the_next_begins_behind_it() -> None:
    result = moved(
        lambda f: [f.record(BEGIN), f.work(1), f.record(END), f.record(OTHER), f.work(2)],
        lambda f: [f.work(1), f.sync(), f.work(2)],
    )
    assert result == ["begin", "work 1", "end", "sync", "other", "work 2"]


def test_other_offsets_are_those_of_the_bare_kernel() -> None:
    result = moved(
        lambda f: [f.record(BEGIN), f.work(1, at=64), f.record(END), f.work(2)],
        lambda f: [f.work(1, at=128), f.work(2)],
    )
    assert result == ["begin", "work 1", "end", "work 2"]


def test_a_guard_that_the_bare_kernel_has_once_is_reopened_around_the_record() -> None:
    result = moved(
        lambda f: [f.first_half(f.work(1)), f.record(OTHER), f.first_half(f.sync(), f.work(2))],
        lambda f: [f.first_half(f.work(1), f.work(2))],
    )
    assert result == ["if {", "work 1", "}", "other", "if {", "work 2", "}"]


def test_so_is_one_in_which_a_record_has_brought_a_barrier() -> None:
    """As with two tiles that one thread stores: the bare kernel has one barrier and one guard for both."""
    result = moved(
        lambda f: [
            *(f.work(1), f.sync(), f.record(BEGIN), f.first_half(f.work(2)), f.record(END)),
            *(f.sync(), f.record(OTHER), f.first_half(f.work(3))),
        ],
        lambda f: [f.work(1), f.sync(), f.first_half(f.work(2), f.work(3))],
    )
    assert result == ["work 1", "sync", "begin", "if {", "work 2", "}", "end", "other", "if {", "work 3", "}"]


def test_a_barrier_between_two_guards_of_the_bare_kernel_stays_between() -> None:
    result = moved(
        lambda f: [f.first_half(f.work(1)), f.record(OTHER), f.first_half(f.work(2, at=1))],
        lambda f: [f.first_half(f.work(1)), f.sync(), f.first_half(f.work(2, at=2))],
    )
    assert result == ["if {", "work 1", "}", "sync", "other", "if {", "work 2", "}"]


def test_a_record_inside_a_guard_stays_inside() -> None:
    result = moved(
        lambda f: [f.first_half(f.work(1), f.record(OTHER), f.work(2), f.sync())],
        lambda f: [f.sync(), f.first_half(f.work(1), f.work(2))],
    )
    assert result == ["sync", "if {", "work 1", "other", "work 2", "}"]


def test_a_guard_around_records_alone_moves_with_them() -> None:
    result = moved(
        lambda f: [f.work(1), f.when(f.tx == 0, f.record(OTHER)), f.sync(), f.work(2)],
        lambda f: [f.work(1), f.work(2)],
    )
    assert result == ["work 1", "if {", "other", "}", "work 2"]


def test_a_payload_follows_into_the_bare_kernel_s_variables() -> None:
    one, two = Function(), Function()
    bare = two.whole(two.loop(4, lambda k: [two.work(1, at=k), two.work(2, at=k)]), traced=False)
    traced = one.whole(
        one.loop(4, lambda k: [one.work(1, at=k), one.record(OTHER, k + one.tx), one.sync(), one.work(2, at=k)]),
        traced=True,
    )
    result = transplanted(traced, bare, ENDS)
    (loop,) = flatten(flatten(result.body)[-1].body)
    (record,) = [s for s in flatten(loop.body) if op_name(s) == "__tlt_record"]
    payload = record.value.args[4]
    assert payload.a.same_as(loop.loop_var)
    assert payload.b.same_as(two.tx)


def test_casts_that_got_a_scope_of_their_own_are_still_what_the_range_holds() -> None:
    result = moved(
        lambda f: [f.work(9), f.record(BEGIN), f.work(1), f.record(END), f.work(8)],
        lambda f: [f.work(9), f.scope(f.work(3), f.work(4)), f.work(8)],
    )
    assert result == ["work 9", "begin", "scope {", "work 3", "work 4", "}", "end", "work 8"]


def test_a_record_among_statements_that_the_bare_kernel_does_not_have_has_no_place() -> None:
    result = moved(
        lambda f: [f.work(9), f.work(1, at=1), f.record(OTHER), f.work(1, at=2), f.work(8)],
        lambda f: [f.work(9), f.loop(2, lambda k: [f.work(1, at=k)]), f.work(8)],
    )
    assert result is None


def test_equal_statements_in_other_numbers_are_not_guessed_at() -> None:
    result = moved(
        lambda f: [f.work(9), f.work(1, at=1), f.record(OTHER), f.work(1, at=2), f.work(8)],
        lambda f: [f.work(9), f.work(1, at=3), f.work(1, at=4), f.work(1, at=5), f.work(8)],
    )
    assert result is None


def test_a_guard_that_tilelang_takes_out_of_a_loop_leaves_the_records_behind_in_both_branches() -> None:
    result = moved(
        lambda f: [f.loop(4, lambda k: [f.record(OTHER, k), f.first_half(f.work(1)), f.record(END, k)])],
        lambda f: [f.first_half(f.loop(4, lambda _: [f.work(1)]))],
    )
    inside, outside = ["loop 4 {", "other", "work 1", "end", "}"], ["loop 4 {", "other", "end", "}"]
    assert result == ["if {", *inside, "} else {", *outside, "}"]


def test_so_does_one_that_it_takes_out_of_two() -> None:
    result = moved(
        lambda f: [f.loop(4, lambda _: [f.record(OTHER), f.first_half(f.loop(2, lambda _: [f.work(1)]))])],
        lambda f: [f.first_half(f.loop(4, lambda _: [f.loop(2, lambda _: [f.work(1)])]))],
    )
    assert result == [
        "if {",
        "loop 4 {",
        "other",
        "loop 2 {",
        "work 1",
        "}",
        "}",
        "} else {",
        "loop 4 {",
        "other",
        "}",
        "}",
    ]


def test_records_alone_in_an_else_stay_there() -> None:
    result = moved(
        lambda f: [f.when(f.tx < 64, f.work(1), other=(f.record(OTHER),)), f.sync(), f.work(2)],
        lambda f: [f.first_half(f.work(1)), f.work(2)],
    )
    assert result == ["if {", "work 1", "} else {", "other", "}", "work 2"]


def test_a_record_is_not_put_under_a_guard_that_it_did_not_stand_under() -> None:
    """In the bare kernel no place is behind the loop but outside the guard, which reads memory."""

    def guarded(f: Function, *body: Any) -> Any:
        return f.when(tirx.BufferLoad(f.flag, [0]) > 0, *body)

    result = moved(
        lambda f: [f.loop(4, lambda _: [f.work(1)]), f.record(OTHER), guarded(f, f.work(2))],
        lambda f: [guarded(f, f.loop(4, lambda _: [f.work(1)]), f.work(2))],
    )
    assert result is None


def test_a_record_is_not_taken_out_of_its_loop() -> None:
    result = moved(
        lambda f: [f.loop(4, lambda _: [f.work(1), f.record(OTHER)])],
        lambda f: [f.work(1), f.work(1), f.work(1), f.work(1)],
    )
    assert result is None


def test_a_guard_whose_condition_may_change_under_it_is_not_reopened() -> None:
    def guarded(f: Function, *body: Any) -> Any:
        return f.when(tirx.BufferLoad(f.flag, [0]) > 0, *body)

    result = moved(
        lambda f: [guarded(f, f.work(1)), f.record(OTHER), guarded(f, f.work(2))],
        lambda f: [guarded(f, f.work(1), f.work(2))],
    )
    assert result is None


@pytest.mark.parametrize("extra", [True, False])
def test_a_parameter_that_a_payload_alone_reads_is_added_and_none_is_lost(extra: bool) -> None:
    one, two = Function(), Function()
    bare = two.whole(two.sync(), two.work(1), traced=False)
    traced = one.whole(one.record(OTHER), one.work(1), one.sync(), traced=True)
    params = traced.params if extra else [p for p in traced.params if str(p.name) != "flag"]
    more = tirx.PrimFunc([tirx.Var("more", "int32"), *params], traced.body)
    result = transplanted(more, bare, ENDS)
    if not extra:
        assert result is None
        return
    assert [str(p.name) for p in result.params] == ["more", "data", "flag", device.SLOTS]
    assert result.params[1].same_as(bare.params[0])
