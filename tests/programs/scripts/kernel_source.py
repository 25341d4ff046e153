# device: card
# build: copy2d(256, 256)
# auto copy2d: launches=1 ctas=16 'copy A → tile'=16
"""What a kernel tells of itself: its source, its parameters, its outputs."""

import tilelang
import tilelang.language as T
import torch


@tilelang.jit(out_idx=[-1])
def copy2d(M, N, block=64):
    @T.prim_func
    def copy2d(A: T.Tensor((M, N), "float16"), B: T.Tensor((M, N), "float16")):
        with T.Kernel(N // block, M // block, threads=128) as (bx, by):
            tile = T.alloc_shared((block, block), "float16")
            T.copy(A[by * block, bx * block], tile)
            T.copy(tile, B[by * block, bx * block])

    return copy2d


kernel = copy2d(256, 256) if __name__ == "__main__" else None

if __name__ == "__main__":
    source = kernel.get_kernel_source()
    signature = next(line for line in source.splitlines() if "__global__" in line and "copy2d" in line and "{" in line)
    print(signature)
    print("parameters:", len(kernel.params), "outputs:", kernel.out_idx)
    print("host source:", bool(kernel.get_host_source()))
    x = torch.arange(256 * 256, device="cuda").reshape(256, 256).half()
    print("copied:", torch.equal(kernel(x), x))
