# device: either
# build: block_scan(4096)
# build: add_offsets(4096)
# auto block_scan: launches=1 ctas=16
# auto add_offsets: launches=1 ctas=16
"""A prefix sum over a long vector: blocks scan in shared memory, PyTorch scans their totals, blocks add them."""

import argparse

import tilelang
import tilelang.language as T
import torch

BLOCK = 256


@tilelang.jit
def block_scan(n):
    @T.prim_func
    def block_scan(X: T.Tensor((n,), "int32"), Y: T.Tensor((n,), "int32"), Totals: T.Tensor((n // BLOCK,), "int32")):
        with T.Kernel(n // BLOCK, threads=BLOCK) as bx:
            tx = T.get_thread_binding()
            here = T.alloc_shared((BLOCK,), "int32")
            there = T.alloc_shared((BLOCK,), "int32")
            here[tx] = X[bx * BLOCK + tx]
            T.sync_threads()
            for step in T.serial(8):
                there[tx] = here[tx]
                T.sync_threads()
                if tx >= (1 << step):
                    here[tx] = there[tx] + there[tx - (1 << step)]
                T.sync_threads()
            Y[bx * BLOCK + tx] = here[tx]
            if tx == BLOCK - 1:
                Totals[bx] = here[tx]

    return block_scan


@tilelang.jit
def add_offsets(n):
    @T.prim_func
    def add_offsets(Y: T.Tensor((n,), "int32"), Offsets: T.Tensor((n // BLOCK,), "int32")):
        with T.Kernel(n // BLOCK, threads=BLOCK) as bx:
            for i in T.Parallel(BLOCK):
                Y[bx * BLOCK + i] = Y[bx * BLOCK + i] + Offsets[bx]

    return add_offsets


def prefix_sum(x):
    n = x.numel()
    y, totals = torch.empty_like(x), torch.empty(n // BLOCK, dtype=torch.int32, device=x.device)
    block_scan(n)(x, y, totals)
    offsets = (totals.cumsum(0) - totals).int()
    add_offsets(n)(y, offsets)
    return y


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--device", default="cuda")
    device = parser.parse_args().device
    torch.manual_seed(0)
    x = torch.randint(-9, 10, (4096,), dtype=torch.int32).to(device)
    print("prefix sums equal:", torch.equal(prefix_sum(x).long(), x.cumsum(0)))
