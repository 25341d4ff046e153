# device: either
# build: CausalAttention(2, 256, 64).build(1)
# auto main: launches=1 ctas=8 'gemm Q_shared·K_shared'=20 'copy acc_o → Output'=8
"""Causal attention over (batch, sequence, heads, dim), wrapped in a class: loops differ in length from CTA to CTA."""

import argparse

import tilelang
import tilelang.language as T
import torch


class CausalAttention:
    def __init__(self, heads, seq, dim, block=64):
        self.heads, self.seq, self.dim, self.block = heads, seq, dim, block
        self._kernels = {}

    def build(self, batch):
        heads, seq, dim, block = self.heads, self.seq, self.dim, self.block
        shape = (batch, seq, heads, dim)
        scale = dim**-0.5 * 1.44269504

        @T.prim_func
        def main(
            Q: T.Tensor(shape, "bfloat16"),
            K: T.Tensor(shape, "bfloat16"),
            V: T.Tensor(shape, "bfloat16"),
            Output: T.Tensor(shape, "bfloat16"),
        ):
            with T.Kernel(seq // block, heads, batch, threads=128) as (bx, by, bz):
                Q_shared = T.alloc_shared((block, dim), "bfloat16")
                K_shared = T.alloc_shared((block, dim), "bfloat16")
                V_shared = T.alloc_shared((block, dim), "bfloat16")
                acc_s = T.alloc_fragment((block, block), "float32")
                acc_p = T.alloc_fragment((block, block), "bfloat16")
                acc_o = T.alloc_fragment((block, dim), "float32")
                m_i = T.alloc_fragment((block,), "float32")
                m_prev = T.alloc_fragment((block,), "float32")
                rescale = T.alloc_fragment((block,), "float32")
                row_sum = T.alloc_fragment((block,), "float32")
                logsum = T.alloc_fragment((block,), "float32")
                T.copy(Q[bz, bx * block : (bx + 1) * block, by, :], Q_shared)
                T.fill(acc_o, 0)
                T.fill(logsum, 0)
                T.fill(m_i, -T.infinity("float32"))
                for k in T.Pipelined(bx + 1, num_stages=2):
                    T.copy(K[bz, k * block : (k + 1) * block, by, :], K_shared)
                    for i, j in T.Parallel(block, block):
                        acc_s[i, j] = T.if_then_else(bx * block + i >= k * block + j, 0, -T.infinity("float32"))
                    T.gemm(Q_shared, K_shared, acc_s, transpose_B=True, policy=T.GemmWarpPolicy.FullRow)
                    T.copy(m_i, m_prev)
                    T.reduce_max(acc_s, m_i, dim=1, clear=False)
                    for i in T.Parallel(block):
                        rescale[i] = T.exp2((m_prev[i] - m_i[i]) * scale)
                    for i, j in T.Parallel(block, block):
                        acc_s[i, j] = T.exp2(acc_s[i, j] * scale - m_i[i] * scale)
                    T.reduce_sum(acc_s, row_sum, dim=1)
                    for i in T.Parallel(block):
                        logsum[i] = logsum[i] * rescale[i] + row_sum[i]
                    T.copy(acc_s, acc_p)
                    for i, j in T.Parallel(block, dim):
                        acc_o[i, j] *= rescale[i]
                    T.copy(V[bz, k * block : (k + 1) * block, by, :], V_shared)
                    T.gemm(acc_p, V_shared, acc_o, policy=T.GemmWarpPolicy.FullRow)
                for i, j in T.Parallel(block, dim):
                    acc_o[i, j] /= logsum[i]
                T.copy(acc_o, Output[bz, bx * block : (bx + 1) * block, by, :])

        return main

    def __call__(self, q, k, v):
        batch = q.shape[0]
        if batch not in self._kernels:
            self._kernels[batch] = tilelang.compile(self.build(batch), out_idx=[-1])
        return self._kernels[batch](q, k, v)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--device", default="cuda")
    device = parser.parse_args().device
    torch.manual_seed(0)
    q, k, v = (torch.randn(1, 256, 2, 64).bfloat16().to(device) for _ in range(3))
    out = CausalAttention(2, 256, 64)(q, k, v)
    rows = (t.float().transpose(1, 2) for t in (q, k, v))
    ref = torch.nn.functional.scaled_dot_product_attention(*rows, is_causal=True).transpose(1, 2)
    torch.testing.assert_close(out.float(), ref, rtol=2e-2, atol=2e-2)
    print("causal: passed,", "first row is the first value:", torch.allclose(out[:, 0], v[:, 0], atol=1e-2))


if __name__ == "__main__":
    main()
