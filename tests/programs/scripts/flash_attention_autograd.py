# device: either
# build: forward_kernel(1, 2, 128, 64)
# build: backward_kernel(1, 2, 128, 64)
# auto forward: launches=1 ctas=4 'gemm Q_s·K_s'=8
# auto backward: launches=1 ctas=4 'gemm K_s·Q_s'=8 'gemm dS_s·K_s'=8
"""An autograd.Function with a forward and a backward kernel."""

import argparse

import tilelang
import tilelang.language as T
import torch

LOG2E = 1.44269504


@tilelang.jit(out_idx=[3, 4])
def forward_kernel(B, H, S, D, block=64):
    scale = D**-0.5 * LOG2E

    @T.prim_func
    def forward(
        Q: T.Tensor((B, H, S, D), "float16"),
        K: T.Tensor((B, H, S, D), "float16"),
        V: T.Tensor((B, H, S, D), "float16"),
        O: T.Tensor((B, H, S, D), "float16"),
        Lse: T.Tensor((B, H, S), "float32"),
    ):
        with T.Kernel(S // block, H, B, threads=128) as (bx, by, bz):
            Q_s = T.alloc_shared((block, D), "float16")
            K_s = T.alloc_shared((block, D), "float16")
            V_s = T.alloc_shared((block, D), "float16")
            s = T.alloc_fragment((block, block), "float32")
            p = T.alloc_fragment((block, block), "float16")
            o = T.alloc_fragment((block, D), "float32")
            m = T.alloc_fragment((block,), "float32")
            m_prev = T.alloc_fragment((block,), "float32")
            alpha = T.alloc_fragment((block,), "float32")
            row = T.alloc_fragment((block,), "float32")
            l = T.alloc_fragment((block,), "float32")
            T.copy(Q[bz, by, bx * block : (bx + 1) * block, :], Q_s)
            T.fill(o, 0)
            T.fill(l, 0)
            T.fill(m, -T.infinity("float32"))
            for k in T.Pipelined(S // block, num_stages=2):
                T.copy(K[bz, by, k * block : (k + 1) * block, :], K_s)
                T.clear(s)
                T.gemm(Q_s, K_s, s, transpose_B=True, policy=T.GemmWarpPolicy.FullRow)
                T.copy(m, m_prev)
                T.reduce_max(s, m, dim=1, clear=False)
                for i in T.Parallel(block):
                    alpha[i] = T.exp2(m_prev[i] * scale - m[i] * scale)
                for i, j in T.Parallel(block, block):
                    s[i, j] = T.exp2(s[i, j] * scale - m[i] * scale)
                T.reduce_sum(s, row, dim=1)
                for i in T.Parallel(block):
                    l[i] = l[i] * alpha[i] + row[i]
                T.copy(s, p)
                for i, j in T.Parallel(block, D):
                    o[i, j] *= alpha[i]
                T.copy(V[bz, by, k * block : (k + 1) * block, :], V_s)
                T.gemm(p, V_s, o, policy=T.GemmWarpPolicy.FullRow)
            for i, j in T.Parallel(block, D):
                o[i, j] /= l[i]
            T.copy(o, O[bz, by, bx * block : (bx + 1) * block, :])
            for i in T.Parallel(block):
                l[i] = T.log2(l[i]) + m[i] * scale
            T.copy(l, Lse[bz, by, bx * block : (bx + 1) * block])

    return forward


@tilelang.jit
def backward_kernel(B, H, S, D, block=64):
    scale = D**-0.5

    @T.prim_func
    def backward(
        Q: T.Tensor((B, H, S, D), "float16"),
        K: T.Tensor((B, H, S, D), "float16"),
        V: T.Tensor((B, H, S, D), "float16"),
        dO: T.Tensor((B, H, S, D), "float16"),
        Lse: T.Tensor((B, H, S), "float32"),
        Delta: T.Tensor((B, H, S), "float32"),
        dQ: T.Tensor((B, H, S, D), "float32"),
        dK: T.Tensor((B, H, S, D), "float32"),
        dV: T.Tensor((B, H, S, D), "float32"),
    ):
        with T.Kernel(S // block, H, B, threads=128) as (bx, by, bz):
            K_s = T.alloc_shared((block, D), "float16")
            V_s = T.alloc_shared((block, D), "float16")
            Q_s = T.alloc_shared((block, D), "float16")
            dO_s = T.alloc_shared((block, D), "float16")
            dS_s = T.alloc_shared((block, block), "float16")
            lse_s = T.alloc_shared((block,), "float32")
            delta_s = T.alloc_shared((block,), "float32")
            p = T.alloc_fragment((block, block), "float32")
            p_half = T.alloc_fragment((block, block), "float16")
            ds = T.alloc_fragment((block, block), "float32")
            ds_half = T.alloc_fragment((block, block), "float16")
            dq = T.alloc_fragment((block, D), "float32")
            dk = T.alloc_fragment((block, D), "float32")
            dv = T.alloc_fragment((block, D), "float32")
            T.copy(K[bz, by, bx * block : (bx + 1) * block, :], K_s)
            T.copy(V[bz, by, bx * block : (bx + 1) * block, :], V_s)
            T.clear(dk)
            T.clear(dv)
            for k in T.serial(S // block):
                T.copy(Q[bz, by, k * block : (k + 1) * block, :], Q_s)
                T.copy(dO[bz, by, k * block : (k + 1) * block, :], dO_s)
                T.copy(Lse[bz, by, k * block : (k + 1) * block], lse_s)
                T.copy(Delta[bz, by, k * block : (k + 1) * block], delta_s)
                T.clear(p)
                T.gemm(K_s, Q_s, p, transpose_B=True, policy=T.GemmWarpPolicy.FullRow)
                for i, j in T.Parallel(block, block):
                    p[i, j] = T.exp2(p[i, j] * (scale * LOG2E) - lse_s[j])
                T.copy(p, p_half)
                T.gemm(p_half, dO_s, dv, policy=T.GemmWarpPolicy.FullRow)
                T.clear(ds)
                T.gemm(V_s, dO_s, ds, transpose_B=True, policy=T.GemmWarpPolicy.FullRow)
                for i, j in T.Parallel(block, block):
                    ds_half[i, j] = p[i, j] * (ds[i, j] - delta_s[j]) * scale
                T.gemm(ds_half, Q_s, dk, policy=T.GemmWarpPolicy.FullRow)
                T.copy(ds_half, dS_s)
                T.clear(dq)
                T.gemm(dS_s, K_s, dq, transpose_A=True)
                for i, j in T.Parallel(block, D):
                    T.atomic_add(dQ[bz, by, k * block + i, j], dq[i, j])
            T.copy(dk, dK[bz, by, bx * block : (bx + 1) * block, :])
            T.copy(dv, dV[bz, by, bx * block : (bx + 1) * block, :])

    return backward


class Attention(torch.autograd.Function):
    @staticmethod
    def forward(ctx, q, k, v):
        out, lse = forward_kernel(*q.shape)(q, k, v)
        ctx.save_for_backward(q, k, v, out, lse)
        return out

    @staticmethod
    def backward(ctx, grad):
        q, k, v, out, lse = ctx.saved_tensors
        delta = (out.float() * grad.float()).sum(-1)
        dq, dk, dv = (torch.zeros(q.shape, dtype=torch.float32, device=q.device) for _ in range(3))
        backward_kernel(*q.shape)(q, k, v, grad.contiguous(), lse, delta, dq, dk, dv)
        return dq.to(q.dtype), dk.to(k.dtype), dv.to(v.dtype)


def check(device):
    torch.manual_seed(0)
    leaves = [torch.randn(1, 2, 128, 64).half().to(device).requires_grad_() for _ in range(3)]
    grad = torch.randn(1, 2, 128, 64).half().to(device)
    out = Attention.apply(*leaves)
    out.backward(grad)
    twins = [t.detach().float().requires_grad_() for t in leaves]
    want = torch.nn.functional.scaled_dot_product_attention(*twins)
    want.backward(grad.float())
    torch.testing.assert_close(out.float(), want, rtol=1e-2, atol=1e-2)
    for name, ours, theirs in zip("qkv", leaves, twins):
        torch.testing.assert_close(ours.grad.float(), theirs.grad, rtol=3e-2, atol=3e-2)
        print(f"d{name} matches")


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--device", default="cuda")
    check(parser.parse_args().device)
