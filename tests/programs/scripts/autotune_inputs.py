# device: card
# varies: ^\d{4}-\d\d-\d\d \d\d:.*
# varies: ^Tuned Latency.*
# build: row_sums(64, 1024)
# auto row_sums: launches=1+ ctas=64
"""Autotuning on the caller's own tensors, for a kernel whose values matter."""

import tilelang
import tilelang.language as T
import torch
from tilelang.autotuner import set_autotune_inputs


@tilelang.autotune(configs=[dict(threads=32), dict(threads=64), dict(threads=128)], warmup=2, rep=3)
@tilelang.jit(out_idx=[-1])
def row_sums(rows, columns, threads=32):
    @T.prim_func
    def row_sums(
        X: T.Tensor((rows, columns), "float32"), Length: T.Tensor((rows,), "int32"), Y: T.Tensor((rows,), "float32")
    ):
        with T.Kernel(rows, threads=threads) as row:
            x = T.alloc_fragment((1, columns), "float32")
            total = T.alloc_fragment((1,), "float32")
            for i, j in T.Parallel(1, columns):
                x[i, j] = T.if_then_else(j < Length[row], X[row, j], 0.0)
            T.reduce_sum(x, total, dim=1)
            for i in T.Parallel(1):
                Y[row + i] = total[i]

    return row_sums


if __name__ == "__main__":
    torch.manual_seed(0)
    x = torch.randn(64, 1024, device="cuda")
    length = torch.randint(0, 1025, (64,), device="cuda", dtype=torch.int32)
    with set_autotune_inputs(x, length):
        kernel = row_sums(64, 1024)
    want = (x * (torch.arange(1024, device="cuda") < length[:, None])).sum(1)
    print("tuned on real lengths:", torch.allclose(kernel(x, length), want, atol=1e-3))
