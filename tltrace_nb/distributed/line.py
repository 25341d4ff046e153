"""Messages between ranks: bytes and numbers to and from one other rank, as CPU tensors.

They go over the default group where it is gloo, else over a gloo group beside it. Who is there, and on which host, is
in the group's store: so a rank that died is noticed without waiting for a message of it.
"""

from __future__ import annotations

import platform
import time
from datetime import timedelta
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    import torch

    from tltrace_nb.data.offsets import Ints

_LEFT = "\0"
"""The host of a rank that takes no part; no host has this name."""


class Line:
    """The line of a collective call, or of several one after the other; making one is collective, too.

    ``timeout``: seconds that the other ranks are waited for in a call, together.
    """

    def __init__(self, timeout: float) -> None:
        import torch.distributed as dist
        from torch.distributed.distributed_c10d import _get_default_store

        self.rank, self.world, self.host = dist.get_rank(), dist.get_world_size(), platform.node()
        self._timeout = timeout
        # Rank 0 may wait for each of the others before it comes to this one.
        self._patience = timedelta(seconds=timeout * (self.world if self.rank else 1))
        self._group = None if dist.get_backend() == "gloo" else dist.new_group(backend="gloo")
        self._store = _get_default_store()
        self._deadline, self._call = 0.0, 0

    def arrive(self) -> None:
        """Begin a call: say that this rank is there, and on which host."""
        self._begin(self.host)

    def leave(self) -> None:
        """Say that this rank takes no part in the call that the others are to begin."""
        self._begin(_LEFT)

    def expect(self, rank: int, *, patiently: bool = False) -> str:
        """Wait until a rank is there: the name of its host. Raises ``RuntimeError`` when it does not come.

        ``patiently``: as long as for a message of it, which may have other ranks to wait for.
        """
        left = self._patience.total_seconds() if patiently else max(self._deadline - time.monotonic(), 0.1)
        key = f"tltrace_nb/{self._call}/{rank}"
        self._store.wait([key], timedelta(seconds=left))
        return str(self._store.get(key).decode())

    def beside(self, rank: int) -> bool:
        """Whether a rank is there, on this host."""
        try:
            return self.expect(rank) == self.host
        except RuntimeError:
            return False

    def first(self) -> int:
        """The first rank on this host, whose clock the others' are compared to."""
        return next(rank for rank in range(self.rank + 1) if rank == self.rank or self.beside(rank))

    def asks(self, rank: int) -> bool:
        """Whether a rank of this host is there to be asked by this one; if not, it will know when it comes later."""
        return self.beside(rank) or (self._store.add(self._pair(self.rank, rank), 1) > 1 and self.beside(rank))

    def answers(self, rank: int) -> bool:
        """Whether a rank of this host is there, and will ask this one: it has not given up before this one came."""
        return self.beside(rank) and self._store.add(self._pair(rank, self.rank), 1) == 1

    def _pair(self, asking: int, answering: int) -> str:
        """Counts who spoke first: the answering rank, which is there, or the asking one, which has given up."""
        return f"tltrace_nb/{self._call}/{asking} and {answering}"

    def _begin(self, where: str) -> None:
        # Calls are counted per rank, so that those of one collective call belong together.
        self._deadline = time.monotonic() + self._timeout
        self._call = self._store.add(f"tltrace_nb/{self.rank}", 1)
        self._store.set(f"tltrace_nb/{self._call}/{self.rank}", where)

    def send(self, content: bytes, rank: int) -> None:
        """Send bytes. Raises ``RuntimeError`` when the rank is gone."""
        import torch

        self._put(torch.tensor([len(content)], dtype=torch.int64), rank)
        if content:
            self._put(torch.frombuffer(bytearray(content), dtype=torch.uint8), rank)

    def receive(self, rank: int) -> bytes:
        """The bytes that a rank sends. Raises ``RuntimeError`` when it is gone."""
        import torch

        length = int(self._fill(torch.zeros(1, dtype=torch.int64), rank))
        return self._fill(torch.empty(length, dtype=torch.uint8), rank).numpy().tobytes() if length else b""

    def send_numbers(self, numbers: Ints, rank: int) -> None:
        """Send ``int64[…]``, of a shape that the other knows; errors as ``send``."""
        import torch

        self._put(torch.from_numpy(np.ascontiguousarray(numbers)), rank)

    def receive_numbers(self, *shape: int, rank: int) -> Ints:
        """The ``int64[…]`` that a rank sends; errors as ``receive``."""
        import torch

        return self._fill(torch.zeros(shape, dtype=torch.int64), rank).numpy()

    def _put(self, tensor: torch.Tensor, rank: int) -> None:
        import torch.distributed as dist

        work = dist.isend(tensor, rank, group=self._group)
        if work is not None:
            work.wait(self._patience)

    def _fill(self, tensor: torch.Tensor, rank: int) -> torch.Tensor:
        import torch.distributed as dist

        work = dist.irecv(tensor, rank, group=self._group)
        if work is not None:
            work.wait(self._patience)
        return tensor
