"""Kernels of lessons 13 to 16 as students hand them in: right ones in several forms, near misses, and cheats."""

from __future__ import annotations

from handed_in import Row

SMOOTHED = (
    Row("right", "the solution", (), "one barrier a step"),
    Row(
        "right",
        "the barrier at the begin of a step",
        (
            ("S[0, tx] = A[tx]\nT.sync_threads()\n", "S[0, tx] = A[tx]\n"),
            ('with trace.range("step", payload=k):\n', 'with trace.range("step", payload=k):\n    T.sync_threads()\n'),
            ("S[k % 2, (tx + 1) % 256])\nT.sync_threads()", "S[k % 2, (tx + 1) % 256])"),
        ),
        "one barrier a step",
    ),
    Row(
        "right",
        "three buffers",
        (
            ("(2, 256)", "(3, 256)"),
            ("(k + 1) % 2", "(k + 1) % 3"),
            ("S[k % 2, tx] + S[k % 2,", "S[k % 3, tx] + S[k % 3,"),
            ("steps % 2", "steps % 3"),
        ),
        "one barrier a step",
    ),
    Row(
        "near miss", "no barrier in front", (("S[0, tx] = A[tx]\nT.sync_threads()\n", "S[0, tx] = A[tx]\n"),), "race on"
    ),
    Row("near miss", "the first buffer at the end", (("S[steps % 2, tx]", "S[0, tx]"),), "one step less"),
    Row(
        "near miss",
        "a single buffer",
        (
            ("S[(k + 1) % 2, tx] =", "S[0, tx] ="),
            ("S[k % 2, tx] + S[k % 2, (tx", "S[0, tx] + S[0, (tx"),
            ("S[steps % 2, tx]", "S[0, tx]"),
        ),
        "race on",
    ),
    Row("cheat", "barriers that TileLang adds", ((", pass_configs=BY_HAND", ""),), "keep pass_configs=BY_HAND"),
    Row("cheat", "no steps", (("T.serial(steps)", "T.serial(0)"), ("S[steps % 2, tx]", "S[0, tx]")), "is wrong"),
    Row("cheat", "A itself", (("S[steps % 2, tx]", "A[tx]"),), "is wrong"),
    Row(
        "untouched",
        "three barriers",
        (("S[0, tx] = A[tx]\n", "S[0, tx] = A[tx]\nT.sync_threads()\n"),),
        "3 barriers",
    ),
)
_WAIT = (
    'with trace.range("wait empty", payload=k):\n'
    "    if k >= slots:\n"
    "        T.mbarrier_wait_parity(empty[slot], (k // slots - 1) % 2)\n"
)
_LOAD_A = (
    'with trace.range("load A", payload=k):\n'
    "    A_tile = A[row : row + tile, depth : depth + step]\n"
    "    T.tma_copy(A_tile, A_shared[slot, :, :], barrier=full[slot])\n"
)
_MMA = 'with trace.range("mma", payload=k):\n    T.gemm(A_shared[slot, :, :], B_shared[slot, :, :], C_local)'
_ARRIVE = "T.mbarrier_arrive(empty[slot])"
RING = (
    Row("right", "the solution", (), "no race"),
    Row(
        "right",
        "the parity of the phase before",
        (
            (
                "if k >= slots:\n    T.mbarrier_wait_parity(empty[slot], (k // slots - 1) % 2)",
                "T.mbarrier_wait_parity(empty[slot], k // slots % 2 ^ 1)",
            ),
        ),
        "no race",
    ),
    Row("right", "four slots", (("slots=3", "slots=4"),), "no race"),
    Row(
        "near miss",
        "the arrival alone still early",
        ((f"{_MMA}\n{_ARRIVE}", f"{_ARRIVE}\n{_MMA}"),),
        "an MMA of warp group 0",
    ),
    Row("near miss", "the copy of A alone still early", ((_WAIT + _LOAD_A, _LOAD_A + _WAIT),), "race on A_shared"),
    Row(
        "near miss",
        "a wait for the last MMA",
        (
            (
                "if k >= slots:\n    T.mbarrier_wait_parity(empty[slot], (k // slots - 1) % 2)",
                "if k > 0:\n    T.mbarrier_wait_parity(empty[(k - 1) % slots], (k - 1) // slots % 2)",
            ),
        ),
        "waits for more than it must",
    ),
    Row("near miss", "the wrong phase", (("(k // slots - 1) % 2)", "k // slots % 2)"),), "fails"),
    Row("cheat", "one slot", (("slots=3", "slots=1"),), "waits for more than it must"),
    Row("cheat", "no wait for full", (("T.mbarrier_wait_parity(full[slot], k // slots % 2)\n", ""),), "fails"),
    Row(
        "cheat",
        "nothing multiplied",
        (("T.gemm(A_shared[slot, :, :], B_shared[slot, :, :], C_local)", "T.clear(C_local)"),),
        "is wrong",
    ),
)
_USED = "if used >= 0:\n    T.mbarrier_wait_parity(empty[used % slots], used // slots % 2)"
MENDED = (
    Row("right", "the solution", (), "of the time"),
    Row(
        "right",
        "the parity of the phase before",
        (("used = k - slots\n", ""), (_USED, "T.mbarrier_wait_parity(empty[k % slots], k // slots % 2 ^ 1)")),
        "of the time",
    ),
    Row("right", "three slots", (("slots=4", "slots=3"),), "of the time"),
    Row("right", "longer steps as well", (("step=32", "step=64"),), "of the time"),
    Row("near miss", "two slots", (("slots=4", "slots=2"),), "at most 45%"),
    Row("near miss", "two iterations ago", (("k - slots", "k - 2"),), "at most 45%"),
    Row("near miss", "longer steps alone", (("k - slots", "k - 1"), ("step=32", "step=64")), "at most 45%"),
    Row("near miss", "an iteration too far", (("k - slots", "k - slots - 1"),), "race on"),
    Row("near miss", "whole steps alone", (("T.ceildiv(K, step)", "K // step"),), "for mended(100, 72, 40)"),
    Row("cheat", "no wait at all", ((_USED, "T.evaluate(0)"),), "fails"),
    Row(
        "cheat",
        "a result without its MMAs",
        (("T.copy(C_local, C[by", "T.clear(C_local)\nT.copy(C_local, C[by"),),
        "is wrong",
    ),
    Row("untouched", "more slots", (("k - slots", "k - 1"), ("slots=4", "slots=8")), "as slow as before"),
)
NOT_SPILLING = (
    Row("right", "the solution", (), "nothing spills"),
    Row("right", "a smaller tile", (("threads=256", "threads=128"), ("bn=256", "bn=128")), "nothing spills"),
    Row(
        "right",
        "a small tile",
        (("threads=256", "threads=128"), ("bm=128, bn=256", "bm=64, bn=64")),
        "nothing spills",
    ),
    Row("near miss", "four warp groups", (("threads=256", "threads=512"),), "registers spill"),
    Row(
        "near miss",
        "accumulators in fp16",
        (
            ("threads=256", "threads=128"),
            ('C_local = T.alloc_fragment((bm, bn), "float32")', 'C_local = T.alloc_fragment((bm, bn), "float16")'),
        ),
        "fp32|is wrong|fails",
    ),
    Row("near miss", "whole tiles alone", (("T.ceildiv(N, bn), T.ceildiv(M, bm)", "N // bn, M // bm"),), "is wrong"),
    Row("cheat", "nothing multiplied", (("T.gemm(A_shared, B_shared, C_local)", "T.fill(C_local, 1.0)"),), "is wrong"),
    Row(
        "untouched",
        "the tile turned",
        (("threads=256", "threads=128"), ("bm=128, bn=256", "bm=256, bn=128")),
        "registers spill",
    ),
)
_ADD = "T.max(C_local[i, j] + bias[bx * tile + j], 0.0)"
_STORE = "T.copy(C_local, D[by * tile, bx * tile])"
EPILOGUE = (
    Row("right", "the solution", (), "ns fused"),
    Row("right", "another order", ((_ADD, "T.max(0.0, bias[bx * tile + j] + C_local[i, j])"),), "ns fused"),
    Row(
        "right",
        "the bias loaded first",
        (
            (
                "T.clear(C_local)",
                'own = T.alloc_fragment((tile,), "float32")\nT.copy(bias[bx * tile], own)\nT.clear(C_local)',
            ),
            ("bias[bx * tile + j]", "own[j]"),
        ),
        "ns fused",
    ),
    Row(
        "right",
        "the bias in place of zero",
        (
            ("T.clear(C_local)", "for i, j in T.Parallel(tile, tile):\n    C_local[i, j] = bias[bx * tile + j]"),
            (_ADD, "T.max(C_local[i, j], 0.0)"),
        ),
        "ns fused",
    ),
    Row("near miss", "no ReLU", ((_ADD, "C_local[i, j] + bias[bx * tile + j]"),), "the ReLU is missing"),
    Row("near miss", "no bias", ((_ADD, "T.max(C_local[i, j], 0.0)"),), "the bias is missing"),
    Row(
        "near miss",
        "the bias behind the ReLU",
        ((_ADD, "T.max(C_local[i, j], 0.0) + bias[bx * tile + j]"),),
        "behind the ReLU",
    ),
    Row("near miss", "by rows", ((_ADD, "T.max(C_local[i, j] + bias[by * tile + i], 0.0)"),), "added by rows"),
    Row("near miss", "the first tile's bias", ((_ADD, "T.max(C_local[i, j] + bias[j], 0.0)"),), "is wrong"),
    Row(
        "near miss",
        "whole tiles alone",
        (("T.ceildiv(N, tile), T.ceildiv(M, tile)", "N // tile, M // tile"),),
        "is wrong",
    ),
    Row(
        "cheat",
        "through memory all the same",
        (("for i, j in", _STORE + "\nT.copy(D[by * tile, bx * tile], C_local)\nfor i, j in"),),
        "D must be written once",
    ),
    Row("cheat", "a fill", ((_STORE, "T.clear(C_local)\n" + _STORE),), "is wrong"),
    Row(
        "untouched",
        "as it was given",
        (("for i, j in T.Parallel(tile, tile):\n    C_local[i, j] = " + _ADD + "\n", ""),),
        "neither bias nor ReLU",
    ),
)
