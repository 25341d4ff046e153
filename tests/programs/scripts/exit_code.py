# device: either
# exit: 3
# build: negate(512)
# auto negate: launches=1 ctas=4
"""A check that ends in an exit code of its own, as a benchmark does when it is too slow."""

import argparse
import sys

import tilelang
import tilelang.language as T
import torch


@tilelang.jit(out_idx=[-1])
def negate(n):
    @T.prim_func
    def negate(X: T.Tensor((n,), "float32"), Y: T.Tensor((n,), "float32")):
        with T.Kernel(n // 128, threads=128) as bx:
            for i in T.Parallel(128):
                Y[bx * 128 + i] = -X[bx * 128 + i]

    return negate


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--limit", type=int, default=0)
    parser.add_argument("--device", default="cuda")
    args = parser.parse_args()
    x = torch.arange(512, dtype=torch.float32, device=args.device)
    y = negate(512)(x)
    wrong = int((y != -x).sum())
    positive = int((y > 0).sum())
    print("wrong elements:", wrong, "positive:", positive)
    print("regression: above the limit", file=sys.stderr)
    return 3 if wrong <= args.limit else 1


if __name__ == "__main__":
    sys.exit(main())
