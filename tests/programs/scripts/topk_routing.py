# device: either
# build: topk(64, 32, 4)
# auto topk: launches=1 ctas=16
"""The router of a mixture of experts: the best k of a row, one warp a row, found by shuffles."""

import argparse

import tilelang
import tilelang.language as T
import torch


@tilelang.jit(out_idx=[1, 2])
def topk(rows, experts, k, threads=128):
    @T.prim_func
    def topk(
        Logits: T.Tensor((rows, experts), "float32"),
        Weights: T.Tensor((rows, k), "float32"),
        Ids: T.Tensor((rows, k), "int32"),
    ):
        with T.Kernel(rows // (threads // 32), threads=threads) as bx:
            tx = T.get_thread_binding()
            lane = tx % 32
            row = bx * (threads // 32) + tx // 32
            mine = T.alloc_var("float32")
            best = T.alloc_var("float32")
            who = T.alloc_var("int32")
            mine = Logits[row, lane]
            for i in T.serial(k):
                best = mine
                who = lane
                for step in T.unroll(5):
                    other = T.shfl_xor(best, 16 >> step)
                    whose = T.shfl_xor(who, 16 >> step)
                    if other > best or (other == best and whose < who):
                        best = other
                        who = whose
                if lane == 0:
                    Weights[row, i] = best
                    Ids[row, i] = who
                if lane == who:
                    mine = -T.infinity("float32")

    return topk


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--device", default="cuda")
    device = parser.parse_args().device
    torch.manual_seed(0)
    logits = torch.randn(64, 32).to(device)
    weights, ids = topk(64, 32, 4)(logits)
    want = logits.topk(4, dim=-1)
    print("values equal:", torch.equal(weights, want.values), "indices equal:", torch.equal(ids.long(), want.indices))
