# device: either
# build: ptr_gemm(3, 64, 128, 128)
# auto main: launches=1 ctas=6 'gemm A_shared·B_shared'=24
"""A grouped GEMM whose operands are found through tables of addresses."""

import argparse

import tilelang
import tilelang.language as T
import torch


@tilelang.jit
def ptr_gemm(G, M, N, K, bm=64, bn=64, bk=32):
    @T.prim_func
    def main(
        A_ptrs: T.Tensor((G,), T.ptr),
        B_ptrs: T.Tensor((G,), T.ptr),
        C_ptrs: T.Tensor((G,), T.ptr),
    ):
        with T.Kernel(N // bn, M // bm, G, threads=128) as (bx, by, bz):
            A = T.make_tensor(A_ptrs[bz], (M, K), "float16")
            B = T.make_tensor(B_ptrs[bz], (K, N), "float16")
            C = T.make_tensor(C_ptrs[bz], (M, N), "float16")
            A_shared = T.alloc_shared((bm, bk), "float16")
            B_shared = T.alloc_shared((bk, bn), "float16")
            C_local = T.alloc_fragment((bm, bn), "float32")
            T.clear(C_local)
            for k in T.serial(K // bk):
                T.copy(A[by * bm, k * bk], A_shared)
                T.copy(B[k * bk, bx * bn], B_shared)
                T.gemm(A_shared, B_shared, C_local)
            T.copy(C_local, C[by * bm, bx * bn])

    return main


def table(tensors):
    return torch.tensor([t.data_ptr() for t in tensors], dtype=torch.int64, device=tensors[0].device)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--device", default="cuda")
    device = parser.parse_args().device
    torch.manual_seed(0)
    As = [torch.randn(64, 128).half().to(device) for _ in range(3)]
    Bs = [torch.randn(128, 128).half().to(device) for _ in range(3)]
    Cs = [torch.empty(64, 128, device=device, dtype=torch.float16) for _ in range(3)]
    ptr_gemm(3, 64, 128, 128)(table(As), table(Bs), table(Cs))
    if device == "cuda":
        torch.cuda.synchronize()
    for i, (a, b, c) in enumerate(zip(As, Bs, Cs)):
        torch.testing.assert_close(c, (a.float() @ b.float()).half(), rtol=1e-2, atol=1e-1)
        print("group", i, "ok")
