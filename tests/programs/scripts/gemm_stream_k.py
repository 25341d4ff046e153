# device: either
# build: stream_k(128, 192, 256)
# auto main: launches=1 ctas=5 'gemm A_shared·B_shared'=48 'copy A → A_shared'=48
"""Stream-K: the steps of all tiles in one row, dealt out evenly among the CTAs, in two `while` loops."""

import argparse
import math

import tilelang
import tilelang.language as T
import torch


@tilelang.jit
def stream_k(M, N, K, ctas=5, bm=64, bn=64, bk=32):
    steps = K // bk
    total = (M // bm) * (N // bn) * steps
    share = math.ceil(total / ctas)

    @T.prim_func
    def main(A: T.Tensor((M, K), "float16"), B: T.Tensor((K, N), "float16"), C: T.Tensor((M, N), "float32")):
        with T.Kernel(ctas, threads=128) as cta:
            A_shared = T.alloc_shared((bm, bk), "float16")
            B_shared = T.alloc_shared((bk, bn), "float16")
            C_local = T.alloc_fragment((bm, bn), "float32")
            at = T.alloc_var("int32")
            tile = T.alloc_var("int32")
            first = T.alloc_var("int32")
            count = T.alloc_var("int32")
            at = cta * share
            while at < T.min(cta * share + share, total):
                tile = at // steps
                first = at % steps
                count = T.min(steps - first, T.min(cta * share + share, total) - at)
                T.clear(C_local)
                for k in T.serial(count):
                    T.copy(A[tile // (N // bn) * bm, (first + k) * bk], A_shared)
                    T.copy(B[(first + k) * bk, tile % (N // bn) * bn], B_shared)
                    T.gemm(A_shared, B_shared, C_local)
                for i, j in T.Parallel(bm, bn):
                    T.atomic_add(C[tile // (N // bn) * bm + i, tile % (N // bn) * bn + j], C_local[i, j])
                at = at + count

    return main


def run(device):
    torch.manual_seed(7)
    a, b = (torch.randn(*s).half().to(device) for s in ((128, 256), (256, 192)))
    c = torch.zeros(128, 192, dtype=torch.float32, device=device)
    stream_k(128, 192, 256)(a, b, c)
    torch.testing.assert_close(c, a.float() @ b.float(), rtol=1e-2, atol=5e-2)
    print("stream-k passed")


if __name__ == "__main__":
    p = argparse.ArgumentParser()
    p.add_argument("--device", default="cuda", choices=["cuda", "cpu"])
    run(p.parse_args().device)
