"""Random kernels record what their source says, compute what it says, and are left alone by tracing.

The first hundred seeds, one build each, are tried in the default suite (some of them) and in the ``wide`` tier, and
together have every feature; the full tier has five thousand, in shards. ``python -m generated`` says more about a
seed.
"""

from __future__ import annotations

import pytest

from generated.check import BY_HAND, WAYS, Result, Verdict, check, fits, ways
from generated.features import FEATURES, features
from generated.found import FOUND, MAY_BE_REFUSED, SEEDS, STAY
from generated.generator import generate
from generated.interpreter import interpret, writers

DEFAULT = 100
FULL = 5000
SHARD = 50


def _fine(result: Result) -> bool:
    return result.verdict in (Verdict.AGREES, Verdict.REFUSED, Verdict.NO_KERNEL, Verdict.OTHERWISE)


@pytest.mark.some(6)
@pytest.mark.parametrize("seed", range(DEFAULT))
def test_a_generated_kernel_records_what_its_source_says(seed: int) -> None:
    kernel = generate(seed)
    result = check(kernel, ways(kernel, seed)[seed // len(BY_HAND) % 2])
    assert _fine(result), result


@pytest.mark.full
@pytest.mark.parametrize("first", range(DEFAULT, FULL, SHARD))
def test_thousands_of_generated_kernels(first: int) -> None:
    results = {
        (seed, str(how)): check(kernel, how)
        for seed in range(first, first + SHARD)
        for kernel in [generate(seed)]
        for how in ways(kernel, seed)
    }
    assert {key: result for key, result in results.items() if not _fine(result) and key not in STAY} == {}


@pytest.mark.wide
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", FOUND)
def test_what_was_found_once_is_right_now(name: str, way: str) -> None:
    kernel = FOUND[name]
    if fits(kernel, WAYS[way]):
        result = check(kernel, WAYS[way])
        right = (Verdict.AGREES, Verdict.NO_KERNEL)
        assert result.verdict in right or (_fine(result) and name in MAY_BE_REFUSED), result


@pytest.mark.wide
@pytest.mark.parametrize(("way", "seed"), [(way, seed) for way, seeds in SEEDS.items() for seed in seeds])
def test_a_seed_that_was_a_finding_is_none_now(way: str, seed: int) -> None:
    result = check(generate(seed), WAYS[way])
    assert _fine(result), result


def test_the_default_seeds_have_every_feature() -> None:
    missing = set(FEATURES)
    for seed in range(DEFAULT):
        missing -= features(generate(seed))
    assert missing == set()


def test_a_seed_gives_one_kernel() -> None:
    assert [generate(seed) for seed in range(3)] == [generate(seed) for seed in range(3)]


def test_most_kernels_have_something_to_record() -> None:
    outcomes = [interpret(generate(seed)) for seed in range(20)]
    assert sum(bool(writers(outcome)) for outcome in outcomes) >= 18
