"""Scans and recurrences: linear attention, gated delta rules, state-space models, prefix sums."""

import tilelang.language as T

from kernels.reference import Reference, normal


def two_pipelines(d=64, kt=16, threads=128):
    """Vectors in shared memory that outlive one pipeline or both, and a tile for each pipeline."""

    @T.prim_func
    def two_pipelines(
        Q: T.Tensor((d,), "float16"),
        K: T.Tensor((d,), "float16"),
        G: T.Tensor((d,), "float16"),
        V: T.Tensor((d,), "float16"),
        S: T.Tensor((d, d), "float16"),
        O: T.Tensor((d,), "float16"),  # noqa: E741
        N: T.Tensor((d, d), "float16"),
    ):
        with T.Kernel(1, threads=threads):
            q = T.alloc_shared((d,), "float32")
            k = T.alloc_shared((d,), "float32")
            g = T.alloc_shared((d,), "float32")
            v = T.alloc_shared((d,), "float32")
            t1 = T.alloc_shared((kt, d), "float16")
            t2 = T.alloc_shared((kt, d), "float16")
            acc = T.alloc_fragment((d,), "float32")
            for i in T.Parallel(d):
                v[i] = V[i]
            for i in T.Parallel(d):
                q[i] = Q[i]
                k[i] = K[i]
                g[i] = G[i]
            T.clear(acc)
            for t in T.Pipelined(d // kt, num_stages=2):
                T.copy(S[t * kt, 0], t1)
                for j in T.Parallel(d):
                    for kk in T.serial(kt):
                        acc[j] += q[t * kt + kk] * g[t * kt + kk] * t1[kk, j]
            for j in T.Parallel(d):
                O[j] = acc[j] + v[j]
            for t in T.Pipelined(d // kt, num_stages=2):
                T.copy(S[t * kt, 0], t2)
                for i, j in T.Parallel(kt, d):
                    N[t * kt + i, j] = g[t * kt + i] * t2[i, j] + k[t * kt + i] * v[j]

    return two_pipelines


def _two_inputs(device):
    return (*(normal(device, 64, seed=i) for i in range(4)), normal(device, 64, 64, seed=4))


def _two_expected(q, k, g, v, s):
    q, k, g, v, s = (x.float() for x in (q, k, g, v, s))
    return ((q * g) @ s + v).half(), (g[:, None] * s + k[:, None] * v[None, :]).half()


KERNELS = (Reference("two_pipelines", two_pipelines, _two_inputs, _two_expected, out_idx=(-2, -1), atol=5e-2),)
