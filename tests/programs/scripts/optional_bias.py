# device: card
# build: bias_relu(64, 128, True)
# build: bias_relu(64, 128, False)
# auto bias_relu: launches=2 ctas=8 'copy X → x'=8
"""A bias that may be missing: the kernel is built without it and gets None."""

import tilelang
import tilelang.language as T
import torch


@tilelang.jit(out_idx=[-1])
def bias_relu(M, N, has_bias, rows=8):
    @T.prim_func
    def bias_relu(X: T.Tensor((M, N), "float32"), Bias: T.Tensor((N,), "float32"), Y: T.Tensor((M, N), "float32")):
        with T.Kernel(M // rows, threads=128) as bx:
            x = T.alloc_fragment((rows, N), "float32")
            T.copy(X[bx * rows, 0], x)
            if has_bias:
                for i, j in T.Parallel(rows, N):
                    x[i, j] = x[i, j] + Bias[j]
            for i, j in T.Parallel(rows, N):
                x[i, j] = T.max(x[i, j], 0.0)
            T.copy(x, Y[bx * rows, 0])

    return bias_relu


def layer(x, bias=None):
    return bias_relu(*x.shape, bias is not None)(x, bias)


if __name__ == "__main__":
    torch.manual_seed(0)
    x, bias = torch.randn(64, 128, device="cuda"), torch.randn(128, device="cuda")
    print("with bias:", torch.equal(layer(x, bias), torch.relu(x + bias)))
    print("without:", torch.equal(layer(x), torch.relu(x)))
