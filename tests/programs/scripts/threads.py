# device: card
# build: power(4096, 2)
# auto power: launches=6 ctas=8
"""Kernels that are made and launched in worker threads, each on a stream of its own."""

from concurrent.futures import ThreadPoolExecutor

import tilelang
import tilelang.language as T
import torch


@tilelang.jit(out_idx=[-1])
def power(n, exponent, block=512):
    @T.prim_func
    def power(X: T.Tensor((n,), "float32"), Y: T.Tensor((n,), "float32")):
        with T.Kernel(n // block, threads=128) as bx:
            y = T.alloc_fragment((block,), "float32")
            T.fill(y, 1.0)
            for _ in T.serial(exponent):
                for i in T.Parallel(block):
                    y[i] = y[i] * X[bx * block + i]
            T.copy(y, Y[bx * block])

    return power


def work(exponent):
    x = torch.full((4096,), 2.0, device="cuda")
    with torch.cuda.stream(torch.cuda.Stream()):
        torch.cuda.current_stream().wait_stream(torch.cuda.default_stream())
        kernel = power(4096, exponent)
        results = [kernel(x) for _ in range(2)]
    torch.cuda.synchronize()
    return exponent, [int(y[0]) for y in results], all(bool((y == 2.0**exponent).all()) for y in results)


if __name__ == "__main__":
    torch.zeros(1, device="cuda")
    with ThreadPoolExecutor(max_workers=3) as pool:
        for result in pool.map(work, (1, 3, 5)):
            print(*result)
