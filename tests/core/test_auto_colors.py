"""Colours of the names of automatic markers: the same in light and in full traces, and of one trace no two alike."""

from __future__ import annotations

import functools

import pytest
from deficiencies import least_apart
from kernels import BY_NAME, REFERENCES, Reference, builds
from kernels.tiers import tier

from tltrace_nb.base.palette import name_colors
from tltrace_nb.data.sites import SiteTable

ALIKE = 6
"""CIEDE2000 of the two colours of the palette that are hardest to tell apart, also without one kind of cones."""
of_each = pytest.mark.parametrize(
    "name", [pytest.param(reference.name, marks=tier(reference), id=str(reference)) for reference in REFERENCES]
)
DISPLACED = ("attention", "attention_backward", "causal_attention", "experts", "flash_decoding")
"""References in which a name that only full traces have took the colour of another, or two had one."""


@functools.cache
def table(name: str, on: str) -> SiteTable:
    reference: Reference = BY_NAME[name]
    return builds.automatic(reference, reference.architectures[-1], on).table


def colors(name: str, on: str) -> dict[str, str]:
    """By name; a ``ready`` of a light trace under the name of the ``wait`` in whose place it stands."""
    of = table(name, on)
    found = name_colors({site.name for site in of.sites}, of.full)
    return {name.replace("ready ", "wait ", 1) if name.startswith("ready ") else name: c for name, c in found.items()}


def check(name: str) -> None:
    light, full = colors(name, "light"), colors(name, "all")
    both = light.keys() & full.keys()
    assert {each: light[each] for each in both} == {each: full[each] for each in both}
    for each in (light, full):
        assert len(set(each.values())) == len(each)
        assert len(each) < 2 or least_apart([*each.values()]) >= ALIKE


@of_each
def test_names_have_colours_of_their_own_and_the_same_in_light_and_full_traces(name: str) -> None:
    check(name)


@pytest.mark.parametrize("name", DISPLACED)
def test_so_have_those_of_the_largest_kernels(name: str) -> None:
    check(name)


@of_each
def test_a_table_tells_which_names_the_light_set_does_not_have(name: str) -> None:
    light = {site.name for site in table(name, "light").sites}
    assert table(name, "light").full == ()
    assert not light & set(table(name, "all").full)
