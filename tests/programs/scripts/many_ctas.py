# device: card
# build: smooth(16384, 640)
# auto smooth: launches=1 ctas=64+ 'copy A → a'=640+
"""A grid far larger than the card, with a long loop in every CTA."""

import tilelang
import tilelang.language as T
import torch


@tilelang.jit
def smooth(ctas, steps, width=32):
    @T.prim_func
    def smooth(A: T.Tensor((ctas, width), "float32"), B: T.Tensor((ctas, width), "float32")):
        with T.Kernel(ctas, threads=32) as bx:
            a = T.alloc_fragment((1, width), "float32")
            b = T.alloc_fragment((1, width), "float32")
            T.clear(b)
            for _ in T.serial(steps):
                T.copy(A[bx, 0], a)
                for i, j in T.Parallel(1, width):
                    b[i, j] = b[i, j] * 0.5 + a[i, j]
                T.copy(b, B[bx, 0])

    return smooth


if __name__ == "__main__":
    a = torch.arange(16384, device="cuda", dtype=torch.float32)[:, None].expand(16384, 32).contiguous()
    b = torch.empty_like(a)
    smooth(16384, 640)(a, b)
    print("converged:", torch.allclose(b, a * 2, rtol=1e-5))
