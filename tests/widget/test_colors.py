"""Colours of names."""

import json

import pytest
from deficiencies import SIGHTS, apart, least_apart
from fake_trace import pipeline

from tltrace_nb import datasets
from tltrace_nb.base.palette import PALETTE, ROUNDS, ink, name_colors
from tltrace_nb.render.options import ViewOptions
from tltrace_nb.render.svg import static_svg
from tltrace_nb.widget.figure import figure
from tltrace_nb.widget.wire import encode


def test_colours_do_not_depend_on_order_or_repetition() -> None:
    assert name_colors(["b", "a", "c"]) == name_colors(["a", "c", "b", "a"])


def test_names_of_one_kernel_do_not_share_a_colour() -> None:
    names = [f"stage {i}" for i in range(len(PALETTE))]
    assert sorted(name_colors(names).values()) == sorted(PALETTE)


def test_few_names_have_the_colours_that_are_told_apart_best() -> None:
    for many in (1, 7, 8, 12, 16):
        best = next(sum(ROUNDS[: n + 1]) for n in range(len(ROUNDS)) if sum(ROUNDS[: n + 1]) >= many)
        assert set(name_colors([f"stage {i}" for i in range(many)]).values()) <= set(PALETTE[:best])


def test_more_names_than_colours_still_all_have_one() -> None:
    names = [f"stage {i}" for i in range(100)]
    assert set(name_colors(names)) == set(names)


def test_the_distance_of_colours_is_the_published_one() -> None:
    assert apart(["#ff0000"], ["#00ff00"], "all")[0, 0] == pytest.approx(86.61, abs=0.01)


@pytest.mark.parametrize(("many", "least"), [(8, 15), (12, 11), (16, 9), (24, 7), (40, 6)])
def test_any_two_colours_of_a_legend_are_told_apart_also_without_one_kind_of_cones(many: int, least: float) -> None:
    assert least_apart(list(PALETTE[:many])) >= least


@pytest.mark.parametrize("ground", ["#ffffff", "#16191d"])
def test_every_colour_stands_out_from_the_ground(ground: str) -> None:
    for sight in SIGHTS:
        assert apart(list(PALETTE), [ground], sight).min() >= 15


@pytest.mark.parametrize("name", ["flash_attention", "own_kernel", "gemm_3", "specialised_gemm"])
def test_the_legends_of_real_kernels_are_told_apart(name: str) -> None:
    """FlashAttention's had three ranges in one grey."""
    names = datasets.load(f"h200/{name}").events["name"].unique()
    assert least_apart([*name_colors(names).values()]) >= 11


LIGHT = {
    "copy A → A_shared", "copy B → B_shared", "copy C_local → C", "fill C_local", "gemm A_shared·B_shared",
    "pipeline ko", "ready A_shared + B_shared",
}  # fmt: skip
ALL = LIGHT - {"ready A_shared + B_shared"} | {
    "wait A_shared + B_shared", "wait free A_shared", "arrive A_shared + B_shared", "copy B_shared → B_local",
    "parallel B_local → B_wide", "reduce sum C_local → total",
}  # fmt: skip


def test_a_name_has_one_colour_in_light_and_in_full_traces() -> None:
    light, full = name_colors(LIGHT), name_colors(ALL)
    assert {name: light[name] for name in LIGHT & ALL} == {name: full[name] for name in LIGHT & ALL}
    assert light["ready A_shared + B_shared"] == full["wait A_shared + B_shared"]


def test_names_that_only_full_traces_have_take_no_colour_from_the_others() -> None:
    light = {f"parallel x{n} → y{n}" for n in range(6)}
    full = {f"parallel a{n} → b{n}" for n in range(12)}
    colors = name_colors(light | full, full)
    assert {name: colors[name] for name in light} == name_colors(light)
    assert len(set(colors.values())) == len(colors)


def test_a_name_has_one_colour_in_the_timeline_in_the_figure_and_in_the_still_picture() -> None:
    trace = pipeline(ctas=2)
    header = json.loads(encode(trace).header)
    timeline = {name: header["palette"][n] for name, n in zip(header["names"], header["name_color"], strict=True)}
    bars = {bar.name: bar.marker.color for bar in figure(trace).data if bar.showlegend}
    assert bars == {name: timeline[name] for name in bars}
    still = static_svg(trace, ViewOptions(limit=1000, title=""))
    assert all(color in still for color in timeline.values())


def test_ink_is_dark_on_light_and_light_on_dark() -> None:
    assert (ink("#f0e442"), ink("#0072b2")) == ("#111111", "#ffffff")
