# device: either
# build: persistent(512, 256, 128)
# marked persistent: launches=1 ctas=4 tile=16 load=16 mma=16 store=8
"""A persistent GEMM: which CTA took which tile in which wave; producer and consumer go over the tiles each."""

import argparse

import tilelang.language as T
import torch

from tltrace_nb import trace


@trace.jit(out_idx=[-1])
def persistent(M, N, K, ctas=4, bm=128, bn=128, bk=64):
    columns = N // bn
    waves = (M // bm) * columns // ctas

    @T.prim_func
    def persistent(A: T.Tensor((M, K), "float16"), B: T.Tensor((K, N), "float16"), C: T.Tensor((M, N), "float16")):
        with T.Kernel(ctas, threads=128) as cta:
            A_s = T.alloc_shared((bm, bk), "float16")
            B_s = T.alloc_shared((bk, bn), "float16")
            acc = T.alloc_fragment((bm, bn), "float32")
            for wave in T.serial(waves):
                tile = wave * ctas + cta
                with trace.range("tile", payload=wave * ctas + cta):
                    T.clear(acc)
                    for k in T.Pipelined(K // bk, num_stages=2):
                        with trace.range("load", payload=k):
                            T.copy(A[tile // columns * bm, k * bk], A_s)
                            T.copy(B[k * bk, tile % columns * bn], B_s)
                        with trace.range("mma", payload=k):
                            T.gemm(A_s, B_s, acc)
                    with trace.range("store", payload=wave):
                        T.copy(acc, C[tile // columns * bm, tile % columns * bn])

    return persistent


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--device", default="cuda")
    device = parser.parse_args().device
    torch.manual_seed(0)
    a, b = torch.randn(512, 128).half().to(device), torch.randn(128, 256).half().to(device)
    c = persistent(512, 256, 128)(a, b)
    torch.testing.assert_close(c.float(), a.float() @ b.float(), rtol=1e-2, atol=1e-1)
    print("8 tiles by 4 CTAs: ok")


if __name__ == "__main__":
    main()
