# device: card
# build: dropout(8192, 0.25)
# build: normals(8192)
# auto dropout: launches=3 ctas=16
# auto normals: launches=1 ctas=16
"""Dropout whose mask is made in the kernel: the same seed gives the same mask."""

import tilelang
import tilelang.language as T
import torch


@tilelang.jit(out_idx=[2])
def dropout(n, p, threads=128, per_thread=4):
    @T.prim_func
    def dropout(X: T.Tensor((n,), "float32"), Seed: T.Tensor((1,), "int32"), Y: T.Tensor((n,), "float32")):
        with T.Kernel(n // (threads * per_thread), threads=threads) as bx:
            tx = T.get_thread_binding()
            T.rng_init(Seed[0])
            for i in T.serial(per_thread):
                at = (bx * per_thread + i) * threads + tx
                u = T.rng_rand_float()
                Y[at] = T.if_then_else(u > p, X[at] / (1.0 - p), 0.0)

    return dropout


@tilelang.jit(out_idx=[0])
def normals(n, threads=128, per_thread=4):
    @T.prim_func
    def normals(Y: T.Tensor((n,), "float32")):
        with T.Kernel(n // (threads * per_thread), threads=threads) as bx:
            tx = T.get_thread_binding()
            T.rng_init(17, 0, bx * threads + tx, "curandStateXORWOW_t")
            for i in T.serial(per_thread):
                Y[(bx * per_thread + i) * threads + tx] = T.rng_rand_float(32, "normal")

    return normals


def main():
    x = torch.ones(8192, device="cuda")
    kernel = dropout(8192, 0.25)
    seeds = [torch.tensor([s], dtype=torch.int32, device="cuda") for s in (1, 1, 2)]
    first, again, other = (kernel(x, s) for s in seeds)
    kept = (first != 0).float().mean().item()
    print("same seed, same mask:", torch.equal(first, again))
    print("other seed, other mask:", not torch.equal(first, other))
    print("about three quarters are kept:", abs(kept - 0.75) < 0.05)
    z = normals(8192)()
    print("normal:", abs(z.mean().item()) < 0.1 and abs(z.std().item() - 1) < 0.1)


if __name__ == "__main__":
    main()
