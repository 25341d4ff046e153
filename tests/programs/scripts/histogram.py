# device: either
# build: histogram(4096, 32)
# auto histogram: launches=1 ctas=8
"""A histogram: counts in shared memory first, one atomic per bin and CTA at the end."""

import argparse

import tilelang
import tilelang.language as T
import torch


@tilelang.jit
def histogram(n, bins, threads=128, per_thread=4):
    @T.prim_func
    def histogram(X: T.Tensor((n,), "int32"), Counts: T.Tensor((bins,), "int32")):
        with T.Kernel(n // (threads * per_thread), threads=threads) as bx:
            tx = T.get_thread_binding()
            local = T.alloc_shared((bins,), "int32")
            if tx < bins:
                local[tx] = 0
            T.sync_threads()
            for i in T.serial(per_thread):
                T.atomic_add(local[X[(bx * per_thread + i) * threads + tx]], 1)
            T.sync_threads()
            if tx < bins:
                T.atomic_add(Counts[tx], local[tx])

    return histogram


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--device", default="cuda")
    device = parser.parse_args().device
    torch.manual_seed(0)
    x = (torch.randn(4096) * 5 + 16).clamp(0, 31).int().to(device)
    counts = torch.zeros(32, dtype=torch.int32).to(device)
    histogram(4096, 32)(x, counts)
    print("total:", int(counts.sum()), "equal:", torch.equal(counts.cpu().long(), x.cpu().bincount(minlength=32)))
