"""What all SMs share: the L2 cache and the device's memory behind it.

In: requests in order of time, and the footprint of a launch. Out: when each is served. Every byte passes the L2. What
lies in it from the launch before need not come from memory; a launch that touches more than it keeps misses the more of
its first touches the more it exceeds that. What came once stays for as long as the launch runs.
"""

from __future__ import annotations

from tltrace_nb.base.gpus import Gpu
from tltrace_nb.simulator.costs import device_bytes_per_cycle

KEPT, LOST = 0.32, 0.72
"""Parts of the L2's capacity: a launch that touches less finds all of it there again, one that touches more finds
nothing (measured: 8 and 17 MB pass at the rate of the L2, 34 MB at 4.7 TB/s, 67 MB at that of memory)."""


class DeviceMemory:
    """The L2 and the memory of a GPU, or of a part of it, during one launch after the other.

    ``stands_for``: on how many parts the same goes on; of as many requests, which come one after the other, each is the
    first: it is served as fast as by the whole, and keeps those behind it waiting for as long as all of them would.
    """

    def __init__(self, gpu: Gpu, stands_for: float = 1.0):
        self._l2_bytes = gpu.l2_bytes
        self._l2_rate, self._rate = gpu.l2_bytes_per_cycle, device_bytes_per_cycle(gpu)
        self._behind = 1 - 1 / stands_for
        self._l2_free = self._free = 0.0
        self._first = self._missing = 0.0
        self._later = gpu.latencies.miss

    def launch(self, footprint: float, part: float) -> None:
        """A launch begins that touches so many bytes, of which this part is touched here."""
        exceeds = (footprint / self._l2_bytes - KEPT) / (LOST - KEPT)
        self._missing = min(1.0, max(0.0, exceeds))
        self._first = footprint * part

    def serve(self, t: float, moved: float, fetched: float, waits: bool) -> float:
        """When a request is done. ``fetched``: what memory moves where the L2 has none of it; ``waits``: somebody does,
        for as long as it takes from there.
        """
        takes = moved / self._l2_rate
        self._l2_free = max(t, self._l2_free) + takes
        end = self._l2_free - takes * self._behind
        if self._first > 0:
            self._first -= fetched
            if self._missing:
                takes = fetched * self._missing / self._rate
                self._free = max(t, self._free) + takes
                end = max(end, self._free - takes * self._behind) + (self._later * self._missing if waits else 0.0)
        return end
