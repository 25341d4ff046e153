# device: either
# build: group_norm(2, 32, 64, 8)
# auto main: launches=1 ctas=16 'copy X → x'=16
"""Group normalisation: a CTA owns a group of channels of one image."""

import argparse

import tilelang
import tilelang.language as T
import torch


@tilelang.jit(out_idx=[-1])
def group_norm(N, C, HW, groups, eps=1e-5):
    per = C // groups
    count = per * HW

    @T.prim_func
    def main(
        X: T.Tensor((N, C, HW), "float32"),
        Gamma: T.Tensor((C,), "float32"),
        Beta: T.Tensor((C,), "float32"),
        Y: T.Tensor((N, C, HW), "float32"),
    ):
        with T.Kernel(groups, N, threads=128) as (g, n):
            x = T.alloc_fragment((per, HW), "float32")
            sq = T.alloc_fragment((per, HW), "float32")
            channel = T.alloc_fragment((per,), "float32")
            mean = T.alloc_fragment((1,), "float32")
            var = T.alloc_fragment((1,), "float32")
            T.copy(X[n, g * per : (g + 1) * per, 0:HW], x)
            T.reduce_sum(x, channel, dim=1)
            T.reduce_sum(channel, mean, dim=0)
            for i, j in T.Parallel(per, HW):
                x[i, j] = x[i, j] - mean[0] / count
            for i, j in T.Parallel(per, HW):
                sq[i, j] = x[i, j] * x[i, j]
            T.reduce_sum(sq, channel, dim=1)
            T.reduce_sum(channel, var, dim=0)
            for i, j in T.Parallel(per, HW):
                x[i, j] = x[i, j] * T.rsqrt(var[0] / count + eps) * Gamma[g * per + i] + Beta[g * per + i]
            T.copy(x, Y[n, g * per : (g + 1) * per, 0:HW])

    return main


if __name__ == "__main__":
    p = argparse.ArgumentParser()
    p.add_argument("--device", default="cuda")
    d = p.parse_args().device
    torch.manual_seed(0)
    x, gamma, beta = torch.randn(2, 32, 64).to(d), torch.randn(32).to(d), torch.randn(32).to(d)
    y = group_norm(2, 32, 64, 8)(x, gamma, beta)
    torch.testing.assert_close(y, torch.nn.functional.group_norm(x, 8, gamma, beta), rtol=1e-4, atol=1e-4)
    print("group norm of", *x.shape, "in 8 groups: ok")
