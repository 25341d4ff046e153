# device: either
# build: collatz(100)
# auto collatz: launches=1 ctas=4
"""Threads beyond the end leave, the others count until their number is one."""

import argparse

import tilelang
import tilelang.language as T
import torch


@tilelang.jit(out_idx=[-1])
def collatz(n, threads=32):
    @T.prim_func
    def collatz(X: T.Tensor((n,), "int32"), Steps: T.Tensor((n,), "int32")):
        with T.Kernel(T.ceildiv(n, threads), threads=threads) as bx:
            tx = T.get_thread_binding()
            value = T.alloc_var("int32")
            count = T.alloc_var("int32", init=0)
            if bx * threads + tx >= n:
                T.thread_return()
            value = X[bx * threads + tx]
            while value > 1:
                if value % 2 == 0:
                    value = value // 2
                else:
                    value = value * 3 + 1
                count = count + 1
            Steps[bx * threads + tx] = count

    return collatz


def steps(value):
    count = 0
    while value > 1:
        value, count = (value // 2 if value % 2 == 0 else 3 * value + 1), count + 1
    return count


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--device", default="cuda")
    x = torch.arange(1, 101, dtype=torch.int32, device=parser.parse_args().device)
    found = collatz(100)(x).tolist()
    print("longest:", max(found), "at", found.index(max(found)) + 1, found == [steps(v) for v in range(1, 101)])
