# device: either
# build: mla_decode(2, 64, 256, 128, 64)
# auto main: launches=1 ctas=2 'gemm Q_s·KV_s'=8 'gemm Qpe_s·Kpe_s'=8 'gemm weights·KV_s'=8
"""Multi-head latent attention, decoding: all heads share a latent that is key and value at once, plus a rotary part."""

import argparse

import tilelang
import tilelang.language as T
import torch


@tilelang.jit(out_idx=[-1])
def mla_decode(batch, heads, length, latent, rope, block=64):
    scale = (latent + rope) ** -0.5 * 1.44269504

    @T.prim_func
    def main(
        Q: T.Tensor((batch, heads, latent), "float16"),
        Qpe: T.Tensor((batch, heads, rope), "float16"),
        KV: T.Tensor((batch, length, latent), "float16"),
        Kpe: T.Tensor((batch, length, rope), "float16"),
        O: T.Tensor((batch, heads, latent), "float16"),
    ):
        with T.Kernel(batch, threads=128) as bx:
            Q_s = T.alloc_shared((heads, latent), "float16")
            Qpe_s = T.alloc_shared((heads, rope), "float16")
            KV_s = T.alloc_shared((block, latent), "float16")
            Kpe_s = T.alloc_shared((block, rope), "float16")
            scores = T.alloc_fragment((heads, block), "float32")
            weights = T.alloc_fragment((heads, block), "float16")
            acc = T.alloc_fragment((heads, latent), "float32")
            m = T.alloc_fragment((heads,), "float32")
            m_prev = T.alloc_fragment((heads,), "float32")
            alpha = T.alloc_fragment((heads,), "float32")
            row = T.alloc_fragment((heads,), "float32")
            l = T.alloc_fragment((heads,), "float32")
            T.copy(Q[bx, :, :], Q_s)
            T.copy(Qpe[bx, :, :], Qpe_s)
            T.clear(acc)
            T.clear(l)
            T.fill(m, -T.infinity("float32"))
            for k in T.Pipelined(length // block, num_stages=1):
                T.copy(KV[bx, k * block : (k + 1) * block, :], KV_s)
                T.copy(Kpe[bx, k * block : (k + 1) * block, :], Kpe_s)
                T.clear(scores)
                T.gemm(Q_s, KV_s, scores, transpose_B=True, policy=T.GemmWarpPolicy.FullRow)
                T.gemm(Qpe_s, Kpe_s, scores, transpose_B=True, policy=T.GemmWarpPolicy.FullRow)
                T.copy(m, m_prev)
                T.reduce_max(scores, m, dim=1, clear=False)
                for i in T.Parallel(heads):
                    alpha[i] = T.exp2((m_prev[i] - m[i]) * scale)
                for i, j in T.Parallel(heads, block):
                    scores[i, j] = T.exp2(scores[i, j] * scale - m[i] * scale)
                T.reduce_sum(scores, row, dim=1)
                for i in T.Parallel(heads):
                    l[i] = l[i] * alpha[i] + row[i]
                T.copy(scores, weights)
                for i, j in T.Parallel(heads, latent):
                    acc[i, j] *= alpha[i]
                T.gemm(weights, KV_s, acc, policy=T.GemmWarpPolicy.FullRow)
            for i, j in T.Parallel(heads, latent):
                acc[i, j] /= l[i]
            T.copy(acc, O[bx, :, :])

    return main


def reference(q, qpe, kv, kpe):
    scores = torch.cat([q, qpe], -1).float() @ torch.cat([kv, kpe], -1).float().transpose(1, 2)
    return (scores / (q.shape[-1] + qpe.shape[-1]) ** 0.5).softmax(-1) @ kv.float()


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--device", default="cuda")
    device = parser.parse_args().device
    torch.manual_seed(0)
    shapes = ((2, 64, 128), (2, 64, 64), (2, 256, 128), (2, 256, 64))
    tensors = [torch.randn(s).half().to(device) for s in shapes]
    out = mla_decode(2, 64, 256, 128, 64)(*tensors)
    torch.testing.assert_close(out.float(), reference(*tensors), rtol=1e-2, atol=1e-2)
    print("mla decode: passed")
