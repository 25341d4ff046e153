# device: either
# build: spmv(64, 1024, 100)
# auto spmv: launches=1 ctas=2
"""A sparse matrix by a vector, rows compressed: loops whose lengths stand in memory."""

import argparse

import tilelang
import tilelang.language as T
import torch


@tilelang.jit(out_idx=[-1])
def spmv(rows, nonzeros, columns, threads=32):
    @T.prim_func
    def spmv(
        Start: T.Tensor((rows + 1,), "int32"),
        Column: T.Tensor((nonzeros,), "int32"),
        Value: T.Tensor((nonzeros,), "float32"),
        X: T.Tensor((columns,), "float32"),
        Y: T.Tensor((rows,), "float32"),
    ):
        with T.Kernel(rows // threads, threads=threads) as bx:
            tx = T.get_thread_binding()
            row = bx * threads + tx
            total = T.alloc_var("float32", init=0.0)
            for i in T.serial(Start[row + 1] - Start[row]):
                total = total + Value[Start[row] + i] * X[Column[Start[row] + i]]
            Y[row] = total

    return spmv


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--device", default="cuda")
    device = parser.parse_args().device
    torch.manual_seed(0)
    dense = torch.randn(64, 100) * (torch.rand(64, 100) < 0.08)
    start = torch.cat([torch.zeros(1), (dense != 0).sum(1)]).cumsum(0).int()
    row, column = dense.nonzero(as_tuple=True)
    x = torch.randn(100)
    pad = 1024 - len(row)
    assert pad > 0
    column = torch.nn.functional.pad(column, (0, pad)).int()
    value = torch.nn.functional.pad(dense[dense != 0], (0, pad))
    y = spmv(64, 1024, 100)(*(t.to(device) for t in (start, column, value, x)))
    print("sparse product:", torch.allclose(y.cpu(), dense @ x, atol=1e-4))
