# device: either
# build: column_stats(128, 64)
# auto column_stats: launches=1 ctas=2
"""Deferred reductions: contributions are handed over as they come, and combined at the end."""

import argparse

import tilelang
import tilelang.language as T
import torch


@tilelang.jit(out_idx=[1, 2])
def column_stats(M, N, columns=32, rows=32):
    @T.prim_func
    def column_stats(X: T.Tensor((M, N), "float32"), Sum: T.Tensor((N,), "float32"), Max: T.Tensor((N,), "float32")):
        with T.Kernel(N // columns, threads=128) as bx:
            x = T.alloc_fragment((rows, columns), "float32")
            total = T.alloc_reducer((columns,), "float32", op="sum")
            top = T.alloc_reducer((columns,), "float32", op="max")
            total_out = T.alloc_fragment((columns,), "float32")
            top_out = T.alloc_fragment((columns,), "float32")
            T.reducer_init(total)
            T.reducer_init(top)
            for k in T.serial(M // rows):
                T.copy(X[k * rows, bx * columns], x)
                for i, j in T.Parallel(rows, columns):
                    T.reducer_update(total[j], x[i, j])
                for i, j in T.Parallel(rows, columns):
                    T.reducer_update(top[j], x[i, j])
            T.finalize_reducer(total, total_out)
            T.finalize_reducer(top, top_out)
            T.copy(total_out, Sum[bx * columns])
            T.copy(top_out, Max[bx * columns])

    return column_stats


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--device", default="cuda")
    device = parser.parse_args().device
    torch.manual_seed(0)
    x = torch.randn(128, 64).to(device)
    total, top = column_stats(128, 64)(x)
    print("sum:", torch.allclose(total, x.sum(0), atol=1e-3), "max:", torch.equal(top, x.amax(0)))
