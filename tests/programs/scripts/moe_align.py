# device: either
# build: count_tokens(512, 8)
# build: place_tokens(512, 8)
# auto count: launches=1 ctas=4
# auto place: launches=1 ctas=4
"""Where the tokens of each expert go: counts by atomics, then places that are handed out by atomics."""

import argparse

import tilelang
import tilelang.language as T
import torch


@tilelang.jit
def count_tokens(n, experts, threads=128):
    @T.prim_func
    def count(Ids: T.Tensor((n,), "int32"), Counts: T.Tensor((experts,), "int32")):
        with T.Kernel(n // threads, threads=threads) as bx:
            tx = T.get_thread_binding()
            T.atomic_add(Counts[Ids[bx * threads + tx]], 1)

    return count


@tilelang.jit
def place_tokens(n, experts, threads=128):
    @T.prim_func
    def place(Ids: T.Tensor((n,), "int32"), Next: T.Tensor((experts,), "int32"), Order: T.Tensor((n,), "int32")):
        with T.Kernel(n // threads, threads=threads) as bx:
            tx = T.get_thread_binding()
            at = T.alloc_var("int32")
            at = T.atomic_add(Next[Ids[bx * threads + tx]], 1, return_prev=True)
            Order[at] = bx * threads + tx

    return place


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--device", default="cuda")
    device = parser.parse_args().device
    torch.manual_seed(0)
    ids = torch.randint(0, 8, (512,), dtype=torch.int32).to(device)
    counts = torch.zeros(8, dtype=torch.int32, device=device)
    count_tokens(512, 8)(ids, counts)
    print("counts equal:", torch.equal(counts.cpu().long(), torch.bincount(ids.cpu().long(), minlength=8)))
    starts = (counts.cumsum(0) - counts).int()
    order = torch.full((512,), -1, dtype=torch.int32, device=device)
    place_tokens(512, 8)(ids, starts, order)
    sorted_ids = ids.cpu()[order.cpu().long()]
    print("a permutation:", order.cpu().sort().values.tolist() == list(range(512)))
    print("sorted by expert:", bool((sorted_ids.diff() >= 0).all()))
