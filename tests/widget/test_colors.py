"""Colours of names."""

from tltrace_nb.base.palette import PALETTE, ink, name_colors


def test_colours_do_not_depend_on_order_or_repetition() -> None:
    assert name_colors(["b", "a", "c"]) == name_colors(["a", "c", "b", "a"])


def test_names_of_one_kernel_do_not_share_a_colour() -> None:
    names = [f"stage {i}" for i in range(len(PALETTE))]
    assert sorted(name_colors(names).values()) == sorted(PALETTE)


def test_more_names_than_colours_still_all_have_one() -> None:
    names = [f"stage {i}" for i in range(100)]
    assert set(name_colors(names)) == set(names)


def test_ink_is_dark_on_light_and_light_on_dark() -> None:
    assert (ink("#f0e442"), ink("#0072b2")) == ("#111111", "#ffffff")
