"""``T.rng_*`` gives the numbers of the Philox generator, as its authors publish them."""

from __future__ import annotations

import numpy as np
import pytest
import tilelang.language as T
import torch

from tltrace_nb.core.runtime.virtual import simulate
from tltrace_nb.simulator.randoms import Random, philox

KNOWN = [
    ((0, 0, 0, 0), (0, 0), (0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8)),
    ((0xFFFFFFFF,) * 4, (0xFFFFFFFF,) * 2, (0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD)),
    (
        (0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344),
        (0xA4093822, 0x299F31D0),
        (0xD16CFE09, 0x94FDCCEB, 0x5001E420, 0x24126EA1),
    ),
]
"""Counters, keys and numbers of the authors' own test (Random123, ``kat_vectors``)."""


@pytest.mark.parametrize(("counter", "key", "wanted"), KNOWN)
def test_the_generator_is_philox(counter: tuple[int, ...], key: tuple[int, ...], wanted: tuple[int, ...]) -> None:
    columns = (np.array(words, np.uint32)[:, None] for words in (counter, key))
    assert philox(*columns)[:, 0].tolist() == list(wanted)


def numbers(seed: int, sequence: int, offset: int, count: int) -> list[int]:
    random = Random(1)
    random.init(True, seed, sequence, offset)
    return [int(random.next(True)[0]) for _ in range(count)]


def test_an_offset_starts_so_many_numbers_later() -> None:
    assert numbers(7, 3, 0, 14)[6:] == numbers(7, 3, 6, 8)
    assert numbers(7, 3, 0, 8) != numbers(7, 4, 0, 8)


def test_every_thread_draws_from_its_own_sequence() -> None:
    @T.prim_func
    def draws(B: T.Tensor((3, 64), "uint32")):
        with T.Kernel(1, threads=64):
            tx = T.get_thread_binding()
            T.rng_init(2024, tx, 5)
            for i in T.serial(3):
                if tx >= i:
                    B[i, tx] = T.rng_rand()

    b = torch.zeros(3, 64, dtype=torch.uint32)
    simulate(draws, [b], out_idx=[])
    for thread in range(64):
        drawn = numbers(2024, thread, 5, 3)
        left = [int(b[i, thread]) for i in range(3) if thread >= i]
        assert left == drawn[: len(left)]


def test_floats_are_uniform_or_normal() -> None:
    @T.prim_func
    def draws(B: T.Tensor((2, 64, 128), "float32")):
        with T.Kernel(1, threads=128):
            tx = T.get_thread_binding()
            T.rng_init(1, tx, 0)
            for i in T.serial(64):
                B[0, i, tx] = T.rng_rand_float()
            for i in T.serial(64):
                B[1, i, tx] = T.rng_rand_float(dist="normal")

    b, _ = simulate(draws, [])
    uniform, normal = b
    assert 0 < uniform.min() < 0.01
    assert 0.99 < uniform.max() <= 1
    assert abs(uniform.mean() - 0.5) < 0.02
    assert float(uniform[0, 3]) == pytest.approx((numbers(1, 3, 0, 1)[0] + 0.5) / 2**32, rel=1e-6)
    assert abs(normal.mean()) < 0.05
    assert abs(normal.std() - 1) < 0.05
    pairs = torch.stack([normal[::2].flatten(), normal[1::2].flatten()])
    assert abs(torch.corrcoef(pairs)[0, 1]) < 0.05
