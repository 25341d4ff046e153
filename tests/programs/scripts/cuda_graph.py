# device: card
# build: scale_add(1024, 1024)
# auto scale_add: launches=2+ ctas=8 'copy A → a'=128 'copy a → B'=128
"""A kernel captured into a CUDA graph and replayed on new data."""

import tilelang
import tilelang.language as T
import torch


@tilelang.jit
def scale_add(M, N, rows=128):
    @T.prim_func
    def scale_add(A: T.Tensor((M, N), "float32"), B: T.Tensor((M, N), "float32")):
        with T.Kernel(M // rows, threads=256) as bx:
            a = T.alloc_fragment((rows, 64), "float32")
            for j in T.serial(N // 64):
                T.copy(A[bx * rows, j * 64], a)
                for i, k in T.Parallel(rows, 64):
                    a[i, k] = a[i, k] * 2.0 + 1.0
                T.copy(a, B[bx * rows, j * 64])

    return scale_add


def main():
    torch.manual_seed(0)
    kernel = scale_add(1024, 1024)
    static_in = torch.randn(1024, 1024, device="cuda")
    static_out = torch.empty_like(static_in)

    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        kernel(static_in, static_out)
    torch.cuda.current_stream().wait_stream(stream)

    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        kernel(static_in, static_out)

    for step in range(3):
        static_in.copy_(torch.full((1024, 1024), float(step)))
        graph.replay()
        torch.cuda.synchronize()
        print(f"replay {step}: {static_out[0, 0].item():.1f}", bool((static_out == step * 2 + 1).all()))


if __name__ == "__main__":
    main()
