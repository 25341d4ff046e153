# device: card
# build: triple(1024)
"""A kernel that is given as CUDA source: there is nothing in it that could be marked."""

import tilelang
import tilelang.language as T
import torch

SOURCE = """
extern "C" __global__ void main_kernel(const float* X, float* Y) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  Y[i] = X[i] * 3.0f;
}
"""


@tilelang.jit
def triple(n, threads=128):
    @T.prim_func
    def triple(X: T.Tensor((n,), "float32"), Y: T.Tensor((n,), "float32")):
        T.CUDASourceCodeKernel(n // threads, threads=threads, source_code_or_path=SOURCE, entry_name="main_kernel")

    return triple


if __name__ == "__main__":
    x = torch.arange(1024, device="cuda", dtype=torch.float32)
    y = torch.zeros_like(x)
    triple(1024)(x, y)
    print("tripled:", torch.equal(y, x * 3))
