# device: card
# build: row_scale(64, 256, 1)
# auto row_scale: launches=3 ctas=16 'copy X → x'=16
"""Several variants compiled at once."""

import tilelang
import tilelang.language as T
import torch


@tilelang.jit(out_idx=[-1])
def row_scale(M, N, factor, rows=4):
    @T.prim_func
    def row_scale(X: T.Tensor((M, N), "float32"), Y: T.Tensor((M, N), "float32")):
        with T.Kernel(M // rows, threads=128) as bx:
            x = T.alloc_fragment((rows, N), "float32")
            T.copy(X[bx * rows, 0], x)
            for i, j in T.Parallel(rows, N):
                x[i, j] = x[i, j] * T.float32(factor)
            T.copy(x, Y[bx * rows, 0])

    return row_scale


if __name__ == "__main__":
    factors = [1, 2, 5]
    kernels = row_scale.par_compile([dict(M=64, N=256, factor=f) for f in factors], num_workers=3)
    torch.manual_seed(0)
    x = torch.randn(64, 256).cuda()
    for factor, kernel in zip(factors, kernels):
        print(factor, torch.equal(kernel(x), x * factor))
