"""A kernel that talks to its peer: each of two reduces its half of every row and writes the sum to the other.

The peer is another GPU, or the same kernel on another stream of the same GPU. Values and flags lie where their reader
is; a flag is released and acquired in the system's scope, so that the value is there once the flag is.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import tilelang.language as T

from tltrace_nb import trace

COLUMNS, ITERATIONS, LINE = 256, 100, 64
ARROWS = {"write": "read"}
"""From the range that writes to the peer to the one that reads what it has written; each has the other as payload."""

SOURCE = """
static __device__ __forceinline__ long long peer_timer() {
  long long now;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now) : : "memory");
  return now;
}
static __device__ __forceinline__ void peer_write(float* at, int* flag, float value, int count) {
  if (threadIdx.x != 0) return;
  asm volatile("st.relaxed.sys.global.f32 [%0], %1;" : : "l"(at), "f"(value) : "memory");
  asm volatile("st.release.sys.global.s32 [%0], %1;" : : "l"(flag), "r"(count) : "memory");
}
static __device__ __forceinline__ void peer_wait(const int* flag, int count) {
  if (threadIdx.x == 0) {
    int seen;
    long long begun = peer_timer();
    do {
      asm volatile("ld.acquire.sys.global.s32 %0, [%1];" : "=r"(seen) : "l"(flag) : "memory");
    } while (seen < count && peer_timer() - begun < 5000000000ll);
  }
  __syncthreads();
}
static __device__ __forceinline__ float peer_read(const float* at) {
  float value;
  asm volatile("ld.relaxed.sys.global.f32 %0, [%1];" : "=f"(value) : "l"(at) : "memory");
  return value;
}
"""


def one_side(columns: int = COLUMNS, iterations: int = ITERATIONS) -> Any:
    """The kernel of a side: ``A`` is its half, ``mine`` and ``theirs`` the inboxes, ``out`` the sums of whole rows."""

    @T.prim_func
    def halves(
        A: T.Tensor((iterations, columns), "float32"),
        mine: T.Tensor((iterations,), "float32"),
        told: T.Tensor((1,), "int32"),
        theirs: T.Tensor((iterations,), "float32"),
        tell: T.Tensor((1,), "int32"),
        out: T.Tensor((iterations,), "float32"),
        peer: T.int32,
    ):
        with T.Kernel(1, threads=128):
            T.import_source(SOURCE)
            row = T.alloc_fragment((1, columns), "float32")
            total = T.alloc_fragment((1,), "float32")
            for i in T.serial(iterations):
                with trace.range("reduce", payload=i):
                    T.copy(A[i, 0], row)
                    T.reduce_sum(row, total, dim=1)
                with trace.range("write", payload=peer):
                    T.call_extern(
                        "handle", "peer_write", T.address_of(theirs[i]), T.address_of(tell[0]), total[0], i + 1
                    )
                with trace.range("wait", payload=peer):
                    T.call_extern("handle", "peer_wait", T.address_of(told[0]), i + 1)
                with trace.range("read", payload=peer):
                    out[i] = total[0] + T.call_extern("float32", "peer_read", T.address_of(mine[i]))

    return halves


halves = trace.jit(one_side)


def inbox(iterations: int = ITERATIONS) -> Any:
    """Memory on the current GPU for what the peer writes, in a storage of its own: a line for the flag, then values."""
    import torch

    return torch.zeros(LINE + iterations, dtype=torch.int64, device="cuda")


def arguments(half: Any, mine: Any, theirs: Any, out: Any, peer: int) -> tuple[Any, ...]:
    """What a side takes; ``mine`` and ``theirs`` are inboxes."""
    import torch

    flags, values = zip(
        *((box[:1].view(torch.int32)[:1], box[LINE:].view(torch.float32)) for box in (mine, theirs)), strict=True
    )
    count = len(out)
    return half, values[0][:count], flags[0], values[1][:count], flags[1], out, peer


def lags(whole: Any) -> Any:
    """ns from the begin of each write to the begin of the read of it, on the axis of the gathered trace."""
    rank, begin = (whole.events[column].to_numpy() for column in ("rank", "start_ns"))
    src, dst = (whole.flows[side].to_numpy() for side in ("src", "dst"))
    between = rank[src] != rank[dst]
    src, dst = src[between], dst[between]
    return begin[dst] - begin[src]


def spread(found: Any) -> dict[str, float]:
    """The least, the median and the most of some ns."""
    return {"least_ns": float(found.min()), "median_ns": float(np.median(found)), "most_ns": float(found.max())}
