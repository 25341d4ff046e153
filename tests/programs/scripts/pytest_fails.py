# device: either
# run: -m pytest -q -p no:cacheprovider -c /dev/null --rootdir . --tb=no pytest_fails.py
# exit: 1
# varies: in \d+\.\d+s.*
# varies: ^FAILED \S+
# build: clamp_kernel(256)
# auto clamp: launches=2 ctas=2
"""A test suite started by pytest itself, with a test that fails."""

import os

import tilelang
import tilelang.language as T
import torch

DEVICE = os.environ.get("DEVICE", "cuda")


@tilelang.jit(out_idx=[-1])
def clamp_kernel(n):
    @T.prim_func
    def clamp(X: T.Tensor((n,), "float32"), Y: T.Tensor((n,), "float32")):
        with T.Kernel(n // 128, threads=128) as bx:
            for i in T.Parallel(128):
                Y[bx * 128 + i] = T.clamp(X[bx * 128 + i], -1.0, 1.0)

    return clamp


class TestClamp:
    def setup_method(self):
        self.x = torch.linspace(-2, 2, 256).to(DEVICE)

    def test_values(self):
        torch.testing.assert_close(clamp_kernel(256)(self.x), self.x.clamp(-1, 1))

    def test_that_fails(self):
        assert torch.equal(clamp_kernel(256)(self.x), self.x)
