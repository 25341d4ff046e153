"""``T.rng_*``: the random numbers of cuRAND's Philox generator, by lane.

In: a seed, a sequence and an offset for each lane. Out: the numbers that ``curand``, ``curand_uniform`` and
``curand_normal`` give. The generator is Philox4x32-10 (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3",
SC 2011): ten rounds over a counter of 128 bits give four numbers. The sequence is its upper half, and a quarter of the
offset its lower half, as cuRAND's documentation of ``curand_init`` has it.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tltrace_nb.simulator.memory import Array, Mask

GENERATOR = "curandStatePhilox4_32_10_t"
"""The one of cuRAND's generators that is known."""
_MULTIPLIERS = np.uint64(0xD2511F53), np.uint64(0xCD9E8D57)
_WEYL = np.uint32(0x9E3779B9), np.uint32(0xBB67AE85)
_ROUNDS, _WORDS = 10, 4
_STEP = np.float32(2**-32)


def philox(counter: Array, key: Array) -> Array:
    """Four numbers (``uint32[4, n]``) for each counter (``uint32[4, n]``) and key (``uint32[2, n]``)."""
    a, b, c, d = counter
    k, m = key
    for _ in range(_ROUNDS):
        low, high = (x.astype(np.uint64) * factor for x, factor in zip((a, c), _MULTIPLIERS, strict=True))
        a, b, c, d = _upper(high) ^ b ^ k, high.astype(np.uint32), _upper(low) ^ d ^ m, low.astype(np.uint32)
        k, m = k + _WEYL[0], m + _WEYL[1]
    return np.stack([a, b, c, d])


def _upper(x: Array) -> Array:
    return (x >> np.uint64(32)).astype(np.uint32)


class Random:
    """The generators of a thread group's threads."""

    def __init__(self, lanes: int):
        self._key = np.zeros((2, lanes), np.uint32)
        self._block = np.zeros(lanes, np.uint64)
        self._sequence = np.zeros(lanes, np.uint64)
        self._word = np.zeros(lanes, np.int64)
        self._spare = np.full(lanes, np.nan, np.float32)

    def init(self, mask: Mask, seed: Any, sequence: Any, offset: Any) -> None:
        """``curand_init`` in the lanes of a mask."""
        here = np.broadcast_to(mask, self._word.shape)
        seed, sequence, offset = (
            np.broadcast_to(np.asarray(x).astype(np.uint64), here.shape) for x in (seed, sequence, offset)
        )
        self._key[:, here] = np.stack([seed.astype(np.uint32), _upper(seed)])[:, here]
        self._sequence[here], self._block[here] = sequence[here], (offset // np.uint64(_WORDS))[here]
        self._word[here] = (offset % np.uint64(_WORDS)).astype(np.int64)[here]
        self._spare[here] = np.nan

    def next(self, mask: Mask) -> Array:
        """``curand``: ``uint32`` in every lane, of which those of the mask go on to their next."""
        halves = (self._block, self._sequence)
        counter = np.stack([part for half in halves for part in (half.astype(np.uint32), _upper(half))])
        found: Array = philox(counter, self._key)[self._word, np.arange(len(self._word))]
        here = np.broadcast_to(mask, self._word.shape)
        self._word = np.where(here, self._word + 1, self._word)
        self._block = self._block + (self._word == _WORDS).astype(np.uint64)
        self._word %= _WORDS
        return found

    def uniform(self, mask: Mask) -> Array:
        """``curand_uniform``: ``float32``, above 0 and up to 1."""
        return self.next(mask).astype(np.float32) * _STEP + _STEP / 2

    def normal(self, mask: Mask) -> Array:
        """``curand_normal``: ``float32``; two at a time, of which the second is kept (Box and Muller)."""
        here = np.broadcast_to(mask, self._word.shape)
        fresh = here & np.isnan(self._spare)
        u = self.uniform(fresh)
        angle = self.uniform(fresh) * np.float32(2 * np.pi)
        radius = np.sqrt(-2 * np.log(u))
        found = np.where(fresh, radius * np.sin(angle), self._spare)
        self._spare = np.where(here, np.where(fresh, radius * np.cos(angle), np.nan), self._spare).astype(np.float32)
        return found.astype(np.float32)
