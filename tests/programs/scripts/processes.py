# device: card
# build: shift(2048)
# auto shift: launches=2 ctas=4
"""Workers in processes of their own, spawned, each with a kernel."""

import multiprocessing as mp

import tilelang
import tilelang.language as T
import torch


@tilelang.jit(out_idx=[-1])
def shift(n, block=512):
    @T.prim_func
    def shift(X: T.Tensor((n,), "float32"), by: T.float32, Y: T.Tensor((n,), "float32")):
        with T.Kernel(n // block, threads=128) as bx:
            for i in T.Parallel(block):
                Y[bx * block + i] = X[bx * block + i] + by

    return shift


def worker(rank, queue):
    x = torch.full((2048,), float(rank), device="cuda")
    y = shift(2048)(x, 10.0)
    queue.put((rank, float(y.sum().item()) / 2048))


def main():
    context = mp.get_context("spawn")
    queue = context.Queue()
    workers = [context.Process(target=worker, args=(rank, queue)) for rank in range(2)]
    for process in workers:
        process.start()
    results = sorted(queue.get(timeout=120) for _ in workers)
    for process in workers:
        process.join()
    print(results, [process.exitcode for process in workers])


if __name__ == "__main__":
    main()
