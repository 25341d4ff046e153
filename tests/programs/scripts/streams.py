# device: card
# build: square(65536)
# auto square: launches=4 ctas=64
"""One kernel on four streams, synchronised with events."""

import tilelang
import tilelang.language as T
import torch


@tilelang.jit
def square(n, block=1024):
    @T.prim_func
    def square(X: T.Tensor((n,), "float32"), Y: T.Tensor((n,), "float32")):
        with T.Kernel(n // block, threads=128) as bx:
            for i in T.Parallel(block):
                Y[bx * block + i] = X[bx * block + i] * X[bx * block + i]

    return square


n = 65536
kernel = None


def main():
    global kernel
    kernel = square(n)
    streams = [torch.cuda.Stream() for _ in range(4)]
    inputs = [torch.full((n,), float(i), device="cuda") for i in range(4)]
    outputs = [torch.zeros(n, device="cuda") for _ in range(4)]
    torch.cuda.synchronize()
    done = []
    for stream, x, y in zip(streams, inputs, outputs):
        with torch.cuda.stream(stream):
            kernel(x, y)
            event = torch.cuda.Event()
            event.record(stream)
            done.append(event)
    for event in done:
        torch.cuda.current_stream().wait_event(event)
    total = torch.stack(outputs).sum(0)
    torch.cuda.synchronize()
    print("sum of squares:", total.unique().tolist())


if __name__ == "__main__":
    main()
