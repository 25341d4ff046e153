# device: either
# build: experts(3, 128, 128, 128)
# auto experts: launches=1 ctas=12 'gemm x·w'=24
"""Products of experts whose four-bit weights lie behind a table of addresses, unpacked by device functions."""

import argparse
import tilelang
import tilelang.language as T
import torch

SOURCE = """
#include <tl_templates/cuda/common.h>

__device__ __forceinline__ float gelu_tanh(float x) {
    const float k = 0.7978845608f;
    return 0.5f * x * (1.0f + tanhf(k * (x + 0.044715f * x * x * x)));
}
__device__ __forceinline__ void unpack4(const unsigned char *src, half_t *dst, half_t scale, int n) {
    for (int i = 0; i < n; ++i) {
        dst[2 * i] = half_t(float(int(src[i] & 15) - 8)) * scale;
        dst[2 * i + 1] = half_t(float(int(src[i] >> 4) - 8)) * scale;
    }
}
"""


@tilelang.jit
def experts(E, M, N, K, bm=64, bn=64, bk=64):
    @T.prim_func
    def experts(
        X: T.Tensor((E, M, K), "float16"),
        W: T.Tensor((E,), T.ptr),
        S: T.Tensor((E,), "float16"),
        Y: T.Tensor((E, M, N), "float32"),
    ):
        with T.Kernel(N // bn, M // bm, E, threads=128) as (bx, by, e):
            T.import_source(SOURCE)
            tx = T.get_thread_binding()
            Wq = T.make_tensor(W[e], (K, N // 2), "uint8")
            x = T.alloc_shared((bm, bk), "float16")
            w = T.alloc_shared((bk, bn), "float16")
            q = T.alloc_local((16,), "uint8")
            h = T.alloc_local((32,), "float16")
            c = T.alloc_fragment((bm, bn), "float32")
            T.clear(c)
            for k in T.serial(K // bk):
                T.copy(X[e, by * bm, k * bk], x)
                for v in T.vectorized(16):
                    q[v] = Wq[k * bk + tx // 2, bx * 32 + tx % 2 * 16 + v]
                T.call_extern("handle", "unpack4", T.address_of(q[0]), T.address_of(h[0]), S[e], 16)
                for v in T.vectorized(32):
                    w[tx // 2, tx % 2 * 32 + v] = h[v]
                T.gemm(x, w, c)
            for i, j in T.Parallel(bm, bn):
                c[i, j] = T.call_extern("float32", "gelu_tanh", c[i, j])
            T.copy(c, Y[e, by * bm, bx * bn])

    return experts


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--device", default="cuda")
    d = parser.parse_args().device
    torch.manual_seed(0)
    E, M, N, K = 3, 128, 128, 128
    x = torch.randn(E, M, K).half().to(d)
    ws = [torch.randint(0, 256, (K, N // 2), dtype=torch.uint8, device=d) for _ in range(E)]
    s = (torch.rand(E) / 8).half().to(d)
    y = torch.zeros(E, M, N, device=d)
    experts(E, M, N, K)(x, torch.tensor([w.data_ptr() for w in ws], device=d), s, y)
    full = torch.stack([torch.stack([(w & 15).float() - 8, (w >> 4).float() - 8], -1).reshape(K, N) for w in ws])
    ref = torch.nn.functional.gelu(x.float() @ (full.half() * s[:, None, None]).float(), approximate="tanh")
    print("right:", torch.allclose(y, ref, rtol=1e-2, atol=1e-2))
