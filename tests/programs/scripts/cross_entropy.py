# device: either
# build: cross_entropy(32, 1000)
# auto cross_entropy: launches=1 ctas=32 'copy Logits → x'=128
"""Cross-entropy over a vocabulary that no tile divides, online."""

import argparse

import tilelang
import tilelang.language as T
import torch


@tilelang.jit(out_idx=[2])
def cross_entropy(rows, vocabulary, chunk=256):
    @T.prim_func
    def cross_entropy(
        Logits: T.Tensor((rows, vocabulary), "float32"),
        Target: T.Tensor((rows,), "int32"),
        Loss: T.Tensor((rows,), "float32"),
    ):
        with T.Kernel(rows, threads=128) as row:
            x = T.alloc_fragment((1, chunk), "float32")
            top = T.alloc_fragment((1,), "float32")
            before = T.alloc_fragment((1,), "float32")
            part = T.alloc_fragment((1,), "float32")
            total = T.alloc_fragment((1,), "float32")
            T.fill(top, -T.infinity("float32"))
            T.clear(total)
            for k in T.serial(T.ceildiv(vocabulary, chunk)):
                T.copy(Logits[row : row + 1, k * chunk : (k + 1) * chunk], x)
                for i, j in T.Parallel(1, chunk):
                    x[i, j] = T.if_then_else(k * chunk + j < vocabulary, x[i, j], -T.infinity("float32"))
                T.copy(top, before)
                T.reduce_max(x, top, dim=1, clear=False)
                for i, j in T.Parallel(1, chunk):
                    x[i, j] = T.exp(x[i, j] - top[i])
                T.reduce_sum(x, part, dim=1)
                for i in T.Parallel(1):
                    total[i] = total[i] * T.exp(before[i] - top[i]) + part[i]
            for i in T.Parallel(1):
                Loss[row + i] = T.log(total[i]) + top[i] - Logits[row + i, Target[row + i]]

    return cross_entropy


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--device", default="cuda")
    device = parser.parse_args().device
    torch.manual_seed(0)
    logits = torch.randn(32, 1000).to(device)
    target = torch.randint(0, 1000, (32,), dtype=torch.int32).to(device)
    loss = cross_entropy(32, 1000)(logits, target)
    want = torch.nn.functional.cross_entropy(logits, target.long(), reduction="none")
    torch.testing.assert_close(loss, want, rtol=1e-4, atol=1e-4)
    print("cross entropy: ok")
