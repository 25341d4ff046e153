# device: either
# build: sort_rows(8, 256)
# auto bitonic: launches=1 ctas=8
"""Rows sorted in shared memory by a bitonic network."""

import argparse

import tilelang
import tilelang.language as T
import torch


@tilelang.jit(out_idx=[-1])
def sort_rows(rows, n):
    steps = n.bit_length() - 1

    @T.prim_func
    def bitonic(X: T.Tensor((rows, n), "int32"), Y: T.Tensor((rows, n), "int32")):
        with T.Kernel(rows, threads=n) as row:
            tx = T.get_thread_binding()
            s = T.alloc_shared((n,), "int32")
            keep = T.alloc_var("int32")
            s[tx] = X[row, tx]
            T.sync_threads()
            for p in T.serial(steps):
                for q in T.serial(p + 1):
                    other = tx ^ (1 << (p - q))
                    low = T.min(s[tx], s[other])
                    high = T.max(s[tx], s[other])
                    ascending = (tx & (2 << p)) == 0
                    keep = T.if_then_else((tx < other) == ascending, low, high)
                    T.sync_threads()
                    s[tx] = keep
                    T.sync_threads()
            Y[row, tx] = s[tx]

    return bitonic


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--device", default="cuda")
    device = parser.parse_args().device
    torch.manual_seed(0)
    x = torch.randint(0, 1000, (8, 256), dtype=torch.int32).to(device)
    print("sorted:", torch.equal(sort_rows(8, 256)(x), x.sort(-1).values))
