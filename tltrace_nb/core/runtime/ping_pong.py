"""The clocks of two GPUs, compared by the GPUs themselves: a flag goes to and fro through memory that both reach.

In: the current CUDA device, and a device of another process on the same host. Out: readings of both timers.

Each side has a mailbox, a few words on its own GPU, which the other side maps through CUDA's inter-process memory: its
GPU writes there over NVLink or PCIe, and this one's polls its own memory. Both GPUs run one CTA (``ask``,
``answer``), which leaves by itself when nothing comes.
"""

from __future__ import annotations

import functools
import json
import secrets
from importlib.resources import files
from typing import Any, Literal

import numpy as np

from tltrace_nb.core.runtime.blocks import untraced
from tltrace_nb.data.offsets import Ints, Rounds

ROUNDS = 2000
"""Rounds of a ping-pong: 4 ms over NVLink."""
LONGEST_NS = 200_000_000
"""How long the rounds may take together, where two processes share a GPU and only one runs at a time."""
WORDS = 16
"""Words of a mailbox: a cache line. The flag is the first of them."""
WITNESS = 1
"""The word by which a mailbox is known to be the one that was meant."""

Role = Literal["ask", "answer"]


def mailbox() -> Any:
    """Words on the current GPU, of one ping-pong, for the other side to write to the first; they are set already."""
    import torch

    words = torch.zeros(WORDS, dtype=torch.int64, device="cuda")
    words[WITNESS] = secrets.randbits(62)
    torch.cuda.synchronize()
    return words


def address_of(tensor: Any) -> bytes:
    """What another process on this host needs to reach an ``int64`` tensor's storage; as ``torch.multiprocessing``.

    Raises ``RuntimeError`` where CUDA does not share it.
    """
    _, *rest = tensor.untyped_storage()._share_cuda_()
    packed = [value.hex() if isinstance(value, bytes) else value for value in rest]
    return json.dumps([int(tensor[WITNESS]), *packed]).encode()


def reached(address: bytes) -> Any:
    """Another process's memory as ``int64[words]`` of the current GPU, wherever it lies; as ``torch.multiprocessing``.

    Raises ``RuntimeError`` where this GPU cannot reach it.
    """
    import torch

    witness, handle, size, offset, counter, counter_offset, event, wait = json.loads(address)
    unpacked = bytes.fromhex(handle), size, offset, bytes.fromhex(counter), counter_offset, bytes.fromhex(event), wait
    shared: Any = torch.UntypedStorage
    storage = shared._new_shared_cuda(torch.cuda.current_device(), *unpacked)  # noqa: SLF001
    words = torch.empty(0, dtype=torch.int64, device="cuda").set_(storage)
    if int(words[WITNESS]) != witness:
        raise RuntimeError("what CUDA opened is not the memory that was meant: is the other process on this host?")
    return words


def ready(role: Role) -> Any:
    """The kernel of one side, compiled and loaded on the current GPU, before either side waits for the other."""
    import torch

    return _loaded(role, torch.cuda.current_device())


@functools.cache
def _loaded(role: Role, device: int) -> Any:
    import tilelang
    import torch

    with untraced(), torch.cuda.device(device):
        kernel = tilelang.compile(side(role))
        words = torch.zeros((2, WORDS), dtype=torch.int64, device="cuda")
        play(kernel, words[0], words[1], blank(), 0)
        torch.cuda.synchronize()
    return kernel


def blank() -> Any:
    """Room for the readings of one side, ``int64[rounds, 2]``."""
    import torch

    return torch.zeros((ROUNDS, 2), dtype=torch.int64, device="cuda")


def play(kernel: Any, mine: Any, theirs: Any, times: Any, patience: float) -> None:
    """Launch one side on the current stream; ``times`` has its readings once the GPU has come so far.

    ``patience``: seconds that it waits for the other side; it then leaves with the rounds that were.
    """
    kernel(mine, theirs, times, round(patience * 1e9))


def rounds_of(asked: Ints, answered: Ints) -> Rounds:
    """The rounds that both sides have readings of."""
    whole = (np.asarray(asked) != 0).all(axis=1) & (np.asarray(answered) != 0).all(axis=1)
    return Rounds(asked[whole, 0], answered[whole, 0], answered[whole, 1], asked[whole, 1])


def side(role: Role) -> Any:
    """A PrimFunc of one CTA that asks or answers."""
    import tilelang.language as T

    source = files("tltrace_nb.core.runtime").joinpath("ping_pong.cuh").read_text(encoding="utf-8")

    def clock(
        mine: T.Tensor((WORDS,), "int64"),  # type: ignore[valid-type]
        theirs: T.Tensor((WORDS,), "int64"),  # type: ignore[valid-type]
        times: T.Tensor((ROUNDS, 2), "int64"),  # type: ignore[valid-type]
        patience: T.int64,
    ) -> None:
        with T.Kernel(1, threads=32):
            T.import_source(source)
            T.call_extern(
                "handle",
                f"__tlt_{role}",
                T.address_of(mine[0]),
                T.address_of(theirs[0]),
                T.address_of(times[0, 0]),
                ROUNDS,
                patience,
                LONGEST_NS,
            )

    return T.prim_func(clock)
