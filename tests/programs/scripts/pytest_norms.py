# device: either
# varies: in \d+\.\d+s.*
# build: l2_norm(8, 64)
# auto l2: launches=1 ctas=2
# auto l2: launches=1 ctas=4
"""A test file that can be run by itself."""

import os
import sys

import pytest
import tilelang
import tilelang.language as T
import torch

DEVICE = os.environ.get("DEVICE", "cuda")


@tilelang.jit(out_idx=[-1])
def l2_norm(M, N, rows=4):
    @T.prim_func
    def l2(X: T.Tensor((M, N), "float32"), Y: T.Tensor((M,), "float32")):
        with T.Kernel(M // rows, threads=64) as bx:
            x = T.alloc_fragment((rows, N), "float32")
            total = T.alloc_fragment((rows,), "float32")
            T.copy(X[bx * rows, 0], x)
            for i, j in T.Parallel(rows, N):
                x[i, j] = x[i, j] * x[i, j]
            T.reduce_sum(x, total, dim=1)
            for i in T.Parallel(rows):
                Y[bx * rows + i] = T.sqrt(total[i])

    return l2


@pytest.fixture
def generator():
    return torch.Generator().manual_seed(0)


@pytest.mark.parametrize("rows", [8, 16])
def test_l2_norm(rows, generator):
    x = torch.randn(rows, 64, generator=generator).to(DEVICE)
    torch.testing.assert_close(l2_norm(rows, 64)(x), x.norm(dim=1), rtol=1e-4, atol=1e-4)


def test_bad_shape_raises():
    with pytest.raises(Exception):
        l2_norm(8, 64)(torch.ones(3, 3, device=DEVICE))


if __name__ == "__main__":
    options = ["-q", "-p", "no:cacheprovider", "-c", os.devnull, "--rootdir", os.getcwd()]
    sys.exit(pytest.main([__file__, *options]))
