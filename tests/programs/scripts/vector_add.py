# device: either
# build: vector_add()
# auto add: launches=1 ctas=4
# auto add: launches=1 ctas=1
"""Element-wise addition of vectors of any length."""

import argparse

import tilelang
import tilelang.language as T
import torch


@tilelang.jit(out_idx=[-1])
def vector_add(block=256, dtype="float32"):
    N = T.dynamic("N")

    @T.prim_func
    def add(A: T.Tensor((N,), dtype), B: T.Tensor((N,), dtype), C: T.Tensor((N,), dtype)):
        with T.Kernel(T.ceildiv(N, block), threads=128) as bx:
            for i in T.Parallel(block):
                C[bx * block + i] = A[bx * block + i] + B[bx * block + i]

    return add


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="c = a + b")
    parser.add_argument("--device", default="cuda")
    device = parser.parse_args().device
    torch.manual_seed(0)
    kernel = vector_add()
    for n in (1000, 3):
        a, b = torch.randn(n).to(device), torch.randn(n).to(device)
        print(n, torch.equal(kernel(a, b), a + b))
