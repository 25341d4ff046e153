"""What automatic markers are asked for: short strings in, values out, and an answer to what is neither."""

from __future__ import annotations

from typing import Any

import pytest

from tltrace_nb import trace
from tltrace_nb.core.compile.auto.options import KINDS, AutoOptions
from tltrace_nb.core.compile.options import TraceOptions


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (True, AutoOptions()),
        ("light", AutoOptions()),
        ("all", AutoOptions(("all",))),
        ("copy, gemm", AutoOptions(("copy", "gemm"))),
        (["copy", "gemm A*"], AutoOptions(("copy", "gemm A*"))),
        (("wait", "wait"), AutoOptions(("wait",))),
        (AutoOptions(("loop",)), AutoOptions(("loop",))),
        (False, None),
        (None, None),
    ],
    ids=str,
)
def test_short_strings_are_accepted(given: Any, expected: AutoOptions | None) -> None:
    assert AutoOptions.of(given) == expected
    assert TraceOptions.of(auto=given).auto == expected


@pytest.mark.parametrize("given", ["coppy", "", "copy,", ["gemm", "products"], [3], "ALL"], ids=repr)
def test_a_wrong_string_is_answered_with_the_right_ones(given: Any) -> None:
    with pytest.raises(ValueError, match=r"^auto=.*: give 'light', 'all', 'copy', 'gemm'.*'loop'.*'copy A\*'") as error:
        AutoOptions.of(given)
    assert all(repr(kind) in str(error.value) for kind in KINDS)
    with pytest.raises(ValueError, match="give 'light'"):
        trace.auto(None, on=given)
    with pytest.raises(ValueError, match="give 'light'"):
        trace.jit(auto=given)
    before = trace.options
    with pytest.raises(ValueError, match="give 'light'"):
        trace.enable(auto=given)
    assert trace.options is before
    assert not trace.enabled


def test_presets_cannot_be_ignored() -> None:
    with pytest.raises(ValueError, match=r"^ignore='all': give 'copy', 'gemm'"):
        AutoOptions.of(True, ignore="all")


def test_nothing_at_all_is_no_choice() -> None:
    with pytest.raises(ValueError, match=r"auto=\[\]: give 'light'"):
        AutoOptions.of([])


@pytest.mark.parametrize("given", [3, 1.5, object()], ids=["int", "float", "object"])
def test_no_strings_at_all(given: Any) -> None:
    with pytest.raises(TypeError, match=r"auto=.*: give 'light'"):
        AutoOptions.of(given)


def test_kinds_and_patterns_choose_and_ignore() -> None:
    chosen = AutoOptions.of("copy, gemm A*", ignore="copy B*")
    assert chosen.wants("copy", "copy A → A_shared")
    assert not chosen.wants("copy", "copy B → B_shared")
    assert chosen.wants("gemm", "gemm A_shared·B_shared")
    assert not chosen.wants("gemm", "gemm B_shared·A_shared")
    assert not chosen.wants("fill", "fill C_local")
    assert AutoOptions.of("all", ignore="fill").wants("parallel", "parallel x")
    assert not AutoOptions.of("all", ignore="fill").wants("fill", "fill x")


def test_the_switch_keeps_them_for_a_block() -> None:
    with trace.tracing(auto="all"):
        assert trace.options.auto == AutoOptions(("all",))
    assert trace.options.auto is None


def test_none_leaves_the_options_as_they_are() -> None:
    options = TraceOptions.of(auto="all", max_events=3)
    assert options.with_auto(None) is options
    assert options.with_auto(False) == TraceOptions.of(max_events=3)
    assert options.with_auto("copy").auto == AutoOptions(("copy",))
