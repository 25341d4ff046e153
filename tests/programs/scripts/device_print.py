# device: card
# build: traced_sum(128)
# auto traced_sum: launches=1 ctas=1
"""Printing from a kernel: a message, a variable and a buffer, from one thread."""

import tilelang
import tilelang.language as T
import torch


@tilelang.jit(out_idx=[-1])
def traced_sum(n):
    @T.prim_func
    def traced_sum(X: T.Tensor((n,), "int32"), Y: T.Tensor((1,), "int32")):
        with T.Kernel(1, threads=128):
            tx = T.get_thread_binding()
            shared = T.alloc_shared((4,), "int32")
            total = T.alloc_var("int32", init=0)
            if tx < 4:
                shared[tx] = X[tx]
            T.sync_threads()
            if tx == 0:
                for i in T.serial(n):
                    total = total + X[i]
                T.print(total, msg="the sum")
                Y[0] = total
            T.print(shared, msg="the first four")

    return traced_sum


if __name__ == "__main__":
    x = torch.arange(128, dtype=torch.int32, device="cuda")
    y = traced_sum(128)(x)
    torch.cuda.synchronize()
    print("host:", y.item(), x.sum().item() == y.item(), flush=True)
