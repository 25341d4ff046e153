# device: either
# build: embedding(100, 64, 48)
# auto embedding: launches=1 ctas=12
"""Rows of a table by index."""

import argparse

import tilelang
import tilelang.language as T
import torch


@tilelang.jit(out_idx=[2])
def embedding(vocabulary, dim, n, rows=4):
    @T.prim_func
    def embedding(
        Table: T.Tensor((vocabulary, dim), "float16"),
        Ids: T.Tensor((n,), "int64"),
        Out: T.Tensor((n, dim), "float16"),
    ):
        with T.Kernel(T.ceildiv(n, rows), threads=64) as bx:
            for i, j in T.Parallel(rows, dim):
                Out[bx * rows + i, j] = Table[Ids[bx * rows + i], j]

    return embedding


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--device", default="cuda")
    device = parser.parse_args().device
    torch.manual_seed(0)
    table = torch.randn(100, 64).half().to(device)
    ids = torch.randint(0, 100, (48,)).to(device)
    out = embedding(100, 64, 48)(table, ids)
    print("gathered:", torch.equal(out, torch.nn.functional.embedding(ids, table)))
