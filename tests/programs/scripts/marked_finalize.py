# device: card
# varies: ^\[tltrace\].*
# build: build(1024)
# build: build(1024)
# marked doubled: launches=1+ ctas=8 copy=8
"""A plain TileLang builder that lowers its markers itself, and the library's own way to run it."""

import tilelang
import tilelang.language as T
import torch

from tltrace_nb import trace


@tilelang.jit(out_idx=trace.out_idx(1))
def build(n, block=128):
    @T.prim_func
    def doubled(X: T.Tensor((n,), "float32"), Y: T.Tensor((n,), "float32")):
        with T.Kernel(n // block, threads=block) as bx:
            tx = T.get_thread_binding()
            with trace.range("copy", payload=bx):
                Y[bx * block + tx] = X[bx * block + tx] * 2.0

    return trace.finalize(doubled)


if __name__ == "__main__":
    x = torch.arange(1024, device="cuda", dtype=torch.float32)
    y = trace.run(build(1024), (x,), stem="doubled")
    print("doubled:", torch.equal(y, x * 2))
