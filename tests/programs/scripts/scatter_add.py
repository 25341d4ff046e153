# device: either
# build: scatter_add(256, 32, 16)
# auto scatter: launches=1 ctas=16
"""Messages of a graph's edges added up at their nodes."""

import argparse

import tilelang
import tilelang.language as T
import torch


@tilelang.jit
def scatter_add(edges, dim, nodes, block=16):
    @T.prim_func
    def scatter(
        Messages: T.Tensor((edges, dim), "float32"),
        Target: T.Tensor((edges,), "int32"),
        Nodes: T.Tensor((nodes, dim), "float32"),
    ):
        with T.Kernel(edges // block, threads=128) as bx:
            for i, j in T.Parallel(block, dim):
                T.atomic_add(Nodes[Target[bx * block + i], j], Messages[bx * block + i, j])

    return scatter


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--device", default="cuda")
    device = parser.parse_args().device
    torch.manual_seed(0)
    messages = torch.randn(256, 32).to(device)
    target = torch.randint(0, 16, (256,), dtype=torch.int32).to(device)
    nodes = torch.zeros(16, 32).to(device)
    scatter_add(256, 32, 16)(messages, target, nodes)
    want = torch.zeros(16, 32).to(device).index_add(0, target.long(), messages)
    print("scattered sums close:", torch.allclose(nodes, want, atol=1e-4))
