# device: either
# build: digits(64)
# marked digits: launches=1 ctas=2 number=64 digit=287 done=64
"""Every thread of a small block records its own number of turns; the counts follow from the data."""

import argparse

import tilelang.language as T
import torch

from tltrace_nb import trace


@trace.jit(out_idx=[-1])
def digits(n, threads=32):
    @T.prim_func
    def digits(X: T.Tensor((n,), "int32"), Sum: T.Tensor((n,), "int32")):
        with T.Kernel(n // threads, threads=threads) as bx:
            tx = T.get_thread_binding()
            value = T.alloc_var("int32")
            total = T.alloc_var("int32", init=0)
            value = X[bx * threads + tx]
            with trace.group("lanes", per="thread"):
                with trace.range("number", payload=value):
                    while value > 0:
                        with trace.range("digit", payload=value % 10, lane="digits"):
                            total = total + value % 10
                            value = value // 10
                trace.record("done", payload=total)
            Sum[bx * threads + tx] = total

    return digits


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--device", default="cuda")
    device = parser.parse_args().device
    values = [(i * 7919) % 20011 for i in range(1, 65)]
    found = digits(64)(torch.tensor(values, dtype=torch.int32).to(device)).tolist()
    print("digits:", sum(len(str(v)) for v in values), found == [sum(map(int, str(v))) for v in values])
