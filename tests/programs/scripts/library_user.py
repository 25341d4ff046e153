# device: either
# build: tinylib.kernels.leaky_relu_kernel(4096, 0.1)
# build: tinylib.kernels.row_sum_kernel(64, 64, 0.5)
# auto leaky_relu: launches=2 ctas=8
# auto row_sum: launches=1 ctas=8 'copy X → x'=8
"""A script that uses kernels of a package beside it."""

import argparse

import tinylib
import tinylib.kernels
import torch

if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--device", default="cuda")
    device = parser.parse_args().device
    torch.manual_seed(0)
    x = torch.randn(64, 64).to(device)
    y = tinylib.leaky_relu(x, 0.1)
    y = tinylib.leaky_relu(y, 0.1)
    want = torch.nn.functional.leaky_relu(torch.nn.functional.leaky_relu(x, 0.1), 0.1)
    print("leaky_relu twice:", torch.allclose(y, want))
    print("scaled_sum:", torch.allclose(tinylib.scaled_sum(y, 0.5), y.sum(1) * 0.5, atol=1e-4))
