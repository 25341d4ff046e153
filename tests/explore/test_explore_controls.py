"""What becomes of the parameters that ``explore`` is given."""

import inspect
from collections.abc import Iterator
from typing import Any

import ipywidgets
import pytest
from ipywidgets.widgets.widget import _instances

from tltrace_nb.explorer.controls import Controls, controls
from tltrace_nb.explorer.strip import Strip, field_of


def builder(M, block=64, stages=2, dtype="float16", fast=True):
    """Stands for one."""


@pytest.fixture(autouse=True)
def nothing_left() -> Iterator[None]:
    yield
    ipywidgets.Widget.close_all()


def made(**given: Any) -> Controls:
    return controls("builder", inspect.signature(builder), {"M": 512} | given)


def nothing(_: object) -> None:
    """Told of a move."""


def test_a_tuple_is_a_slider_from_the_builders_own_default() -> None:
    slider = made(stages=(1, 6)).widgets["stages"]
    assert isinstance(slider, ipywidgets.IntSlider)
    assert (slider.min, slider.max, slider.value) == (1, 6, 2)


def test_a_list_of_ascending_numbers_is_a_slider_that_stops_at_them() -> None:
    slider = made(block=[32, 64, 128]).widgets["block"]
    assert isinstance(slider, ipywidgets.SelectionSlider)
    assert slider.options == (32, 64, 128)
    assert slider.value == 64


@pytest.mark.parametrize(
    ("given", "values"),
    [
        (["float16", "bfloat16"], ("float16", "bfloat16")),
        ([128, 32, 64], (128, 32, 64)),
        ({"half": "float16", "single": "float32"}, ("float16", "float32")),
    ],
)
def test_another_list_and_a_dictionary_are_menus(given: Any, values: tuple[Any, ...]) -> None:
    menu = made(dtype=given).widgets["dtype"]
    assert isinstance(menu, ipywidgets.Dropdown)
    chosen = []
    for index in range(len(values)):
        menu.index = index
        chosen.append(menu.value)
    assert tuple(chosen) == values


def test_a_truth_value_is_a_check_box() -> None:
    assert isinstance(made(fast=False).widgets["fast"], ipywidgets.Checkbox)


def test_a_widget_is_used_as_it_is_and_left_open() -> None:
    own = ipywidgets.BoundedIntText(value=3, min=1, max=9)
    found = made(stages=own)
    assert found.widgets["stages"] is own
    assert found.values == {"M": 512, "stages": 3}
    found.observe(nothing)
    found.close(nothing)
    assert own.comm is not None


def test_one_widget_may_be_several_parameters() -> None:
    size = ipywidgets.IntSlider(512, 128, 1024)
    found = made(M=size, block=size)
    moves: list[object] = []
    found.observe(moves.append)
    size.value = 256
    assert (len(moves), found.values) == (1, {"M": 256, "block": 256})
    found.close(moves.append)


@pytest.mark.parametrize("value", [512, 0.5, "float32", None])
def test_another_value_is_passed_on_without_a_control(value: Any) -> None:
    found = made(dtype=value)
    assert found.widgets == {}
    assert found.values == {"M": 512, "dtype": value}
    assert made(dtype=ipywidgets.fixed(value)).values == found.values


def test_a_parameter_that_is_not_given_keeps_its_default() -> None:
    assert made().values == {"M": 512}


def test_an_unknown_parameter_is_a_type_error_with_the_right_ones() -> None:
    with pytest.raises(TypeError, match="builder has no parameter 'tile'; builder takes M, block, stages, dtype, fast"):
        made(tile=[1, 2])


def test_a_parameter_that_is_needed_is_asked_for() -> None:
    with pytest.raises(TypeError, match="builder needs M: give a value, or a list or range of values"):
        controls("builder", inspect.signature(builder), {"stages": (1, 3)})


def test_a_parameter_that_is_needed_is_asked_for_by_a_builder_that_takes_any_others() -> None:
    def any_others(M, **others):
        """Stands for one."""

    with pytest.raises(TypeError, match="any_others needs M"):
        controls("any_others", inspect.signature(any_others), {"stages": (1, 3)})
    assert controls("any_others", inspect.signature(any_others), {"M": 1, "stages": 3}).values == {"M": 1, "stages": 3}


@pytest.mark.parametrize("wrong", [("a", "b"), (3, 1), (1, 2, 3, 4), [], {}, ()])
def test_what_makes_no_control_is_a_value_error(wrong: Any) -> None:
    with pytest.raises(ValueError, match="stages=.* makes no control: "):
        made(stages=wrong)


def test_a_widget_without_a_value_is_a_value_error() -> None:
    with pytest.raises(ValueError, match="stages: a Button has no value"):
        made(stages=ipywidgets.Button())


def test_closing_leaves_nothing_of_what_was_made() -> None:
    before = set(_instances)
    found = made(stages=(1, 3), block=[32, 64], dtype=["float16", "bfloat16"], fast=True)
    found.observe(nothing)
    found.close(nothing)
    assert set(_instances) == before


# The same controls where there are no ipywidgets


def test_the_strip_follows_the_controls_and_they_follow_it() -> None:
    found = made(stages=(1, 6), block=[32, 64, 128], dtype={"half": "float16", "single": "float32"}, fast=True).widgets
    strip = Strip(found)
    assert strip.values == {"stages": 2, "block": 1, "dtype": 0, "fast": True}
    strip.set_state({"values": {"stages": 5, "block": 2, "dtype": 1, "fast": False}})
    assert {name: widget.value for name, widget in found.items()} == {
        "stages": 5,
        "block": 128,
        "dtype": "float32",
        "fast": False,
    }
    found["block"].value = 32
    assert strip.values["block"] == 0
    strip.close()
    found["block"].value = 64
    assert strip.values["block"] == 0


def test_the_strip_says_which_widget_it_cannot_show() -> None:
    with pytest.raises(TypeError, match="stages: this notebook shows no IntRangeSlider"):
        field_of("stages", ipywidgets.IntRangeSlider())
