# device: either
# build: hadamard(32, 256)
# auto hadamard: launches=2 ctas=32
"""A fast Walsh-Hadamard transform: a thread holds one element, the rows meet in shared memory."""

import argparse
import math

import tilelang
import tilelang.language as T
import torch


@tilelang.jit(out_idx=[-1])
def hadamard(M, N):
    stages = int(math.log2(N))

    @T.prim_func
    def hadamard(X: T.Tensor((M, N), "float32"), Y: T.Tensor((M, N), "float32")):
        with T.Kernel(M, threads=N) as row:
            tx = T.get_thread_binding()
            buffer = T.alloc_shared((N,), "float32")
            mine = T.alloc_var("float32")
            buffer[tx] = X[row, tx]
            T.sync_threads()
            for s in T.serial(stages):
                other = tx ^ (1 << s)
                if other > tx:
                    mine = buffer[tx] + buffer[other]
                else:
                    mine = buffer[other] - buffer[tx]
                T.sync_threads()
                buffer[tx] = mine
                T.sync_threads()
            Y[row, tx] = buffer[tx] * T.float32(1.0 / math.sqrt(N))

    return hadamard


def matrix(n):
    h = torch.ones(1, 1)
    while h.shape[0] < n:
        h = torch.cat([torch.cat([h, h], 1), torch.cat([h, -h], 1)], 0)
    return h / math.sqrt(n)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--device", default="cuda")
    device = parser.parse_args().device
    torch.manual_seed(0)
    x = torch.randn(32, 256).to(device)
    y = hadamard(32, 256)(x)
    print("H x:", torch.allclose(y, x @ matrix(256).to(device), atol=1e-4))
    print("H H x = x:", torch.allclose(hadamard(32, 256)(y), x, atol=1e-4))
