# device: either
# build: w4a16(64, 128, 256)
# auto main: launches=1 ctas=2 'gemm A_shared·B_dequant'=8 'copy Packed → P_shared'=8
"""Weights of four bits, two in a byte, with a scale for each group of columns: unpacked between the copy and the product."""

import argparse

import tilelang
import tilelang.language as T
import torch

GROUP = 64


@tilelang.jit(out_idx=[-1])
def w4a16(M, N, K, block_M=64, block_N=64, block_K=64):
    @T.prim_func
    def main(
        A: T.Tensor((M, K), "float16"),
        Packed: T.Tensor((N, K // 2), "uint8"),
        Scales: T.Tensor((N, K // GROUP), "float16"),
        C: T.Tensor((M, N), "float16"),
    ):
        with T.Kernel(N // block_N, M // block_M, threads=128) as (bx, by):
            A_shared = T.alloc_shared((block_M, block_K), "float16")
            P_shared = T.alloc_shared((block_N, block_K // 2), "uint8")
            P_local = T.alloc_fragment((block_N, block_K // 2), "uint8")
            B_local = T.alloc_fragment((block_N, block_K), "float16")
            B_dequant = T.alloc_shared((block_N, block_K), "float16")
            C_local = T.alloc_fragment((block_M, block_N), "float32")
            T.clear(C_local)
            for k in T.Pipelined(K // block_K, num_stages=2):
                T.copy(A[by * block_M, k * block_K], A_shared)
                T.copy(Packed[bx * block_N, k * block_K // 2], P_shared)
                T.copy(P_shared, P_local)
                for i, j in T.Parallel(block_N, block_K):
                    nibble = (P_local[i, j // 2] >> T.cast(j % 2 * 4, "uint8")) & T.uint8(15)
                    B_local[i, j] = (T.cast(nibble, "float16") - T.float16(8)) * Scales[
                        bx * block_N + i, k * block_K // GROUP
                    ]
                T.copy(B_local, B_dequant)
                T.gemm(A_shared, B_dequant, C_local, transpose_B=True)
            T.copy(C_local, C[by * block_M, bx * block_N])

    return main


def unpack(packed, scales):
    nibbles = torch.stack([packed & 15, packed >> 4], dim=-1).flatten(-2).float() - 8
    return nibbles * scales.float().repeat_interleave(GROUP, dim=1)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--device", default="cuda")
    device = parser.parse_args().device
    torch.manual_seed(0)
    x = torch.randn(64, 256).half().to(device)
    q = torch.randint(0, 256, (128, 128), dtype=torch.uint8).to(device)
    s = (torch.rand(128, 4) / 8).half().to(device)
    y = w4a16(64, 128, 256)(x, q, s)
    torch.testing.assert_close(y.float(), x.float() @ unpack(q, s).T, rtol=2e-2, atol=5e-1)
    print("w4a16 matches the dequantised product")
