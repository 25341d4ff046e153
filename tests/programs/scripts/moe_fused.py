# device: either
# build: fused_moe(96, 4, 64, 128, 256)
# auto experts: launches=1 ctas=8 'gemm X_s·W_s'=16
"""A mixture of experts: tokens are gathered by expert, multiplied, weighted and added to where they came from."""

import argparse

import tilelang
import tilelang.language as T
import torch


@tilelang.jit
def fused_moe(tokens, experts, dim, width, slots, bm=64, bn=64, bk=32):
    @T.prim_func
    def experts(
        X: T.Tensor((tokens, dim), "float16"),
        W: T.Tensor((experts, dim, width), "float16"),
        Token: T.Tensor((slots,), "int32"),
        Weight: T.Tensor((slots,), "float32"),
        Expert: T.Tensor((slots // bm,), "int32"),
        Y: T.Tensor((tokens, width), "float32"),
    ):
        with T.Kernel(width // bn, slots // bm, threads=128) as (bx, by):
            X_s = T.alloc_shared((bm, bk), "float16")
            W_s = T.alloc_shared((bk, bn), "float16")
            acc = T.alloc_fragment((bm, bn), "float32")
            T.clear(acc)
            for k in T.serial(dim // bk):
                for i, j in T.Parallel(bm, bk):
                    X_s[i, j] = T.if_then_else(
                        Token[by * bm + i] < tokens, X[Token[by * bm + i], k * bk + j], T.float16(0)
                    )
                T.copy(W[Expert[by], k * bk, bx * bn], W_s)
                T.gemm(X_s, W_s, acc)
            for i, j in T.Parallel(bm, bn):
                if Token[by * bm + i] < tokens:
                    T.atomic_add(Y[Token[by * bm + i], bx * bn + j], acc[i, j] * Weight[by * bm + i])

    return experts


def align(ids, weights, experts, block):
    """Slots sorted by expert, each expert's padded to whole blocks with a token that does not exist."""
    tokens, k = ids.shape
    token, weight, expert = [], [], []
    for e in range(experts):
        at, choice = (ids == e).nonzero(as_tuple=True)
        pad = -len(at) % block
        token += [at, torch.full((pad,), tokens)]
        weight += [weights[at, choice], torch.zeros(pad)]
        expert += [e] * ((len(at) + pad) // block)
    return torch.cat(token).int(), torch.cat(weight).float(), torch.tensor(expert).int()


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--device", default="cuda")
    device = parser.parse_args().device
    torch.manual_seed(0)
    x, w = torch.randn(96, 64).half(), torch.randn(4, 64, 128).half()
    ids = torch.stack([torch.arange(96) % 4, (torch.arange(96) + 1) % 4], 1)
    weights = torch.rand(96, 2)
    token, weight, expert = align(ids, weights, 4, 64)
    assert len(token) == 256
    y = torch.zeros(96, 128).to(device)
    fused_moe(96, 4, 64, 128, 256)(*(t.to(device) for t in (x, w, token, weight, expert)), y)
    want = torch.zeros(96, 128)
    for choice in range(2):
        want += (x.float()[:, None] @ w.float()[ids[:, choice]])[:, 0] * weights[:, choice, None]
    torch.testing.assert_close(y.cpu(), want, rtol=1e-2, atol=5e-2)
    print("96 tokens through 4 experts: ok")
