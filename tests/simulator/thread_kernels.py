"""Kernels with thread code: votes, bits, words and vectors, and memory whose extents are known late; unmarked."""

import tilelang.language as T
import torch
from construct_kernels import normal, registry

CASES, case = registry()


def whole_numbers(*shape, low=0, high=100, dtype=torch.int32):
    return torch.randint(low, high, shape, generator=torch.Generator().manual_seed(0)).to(dtype)


def votes_expected(a):
    positive = (a > 50).reshape(2, 32)
    ballot = (positive.long() << torch.arange(32)).sum(1).repeat_interleave(32)
    same = a.reshape(2, 32)[:, :, None] == a.reshape(2, 32)[:, None, :]
    match = (same.long() << torch.arange(32)).sum(2).reshape(64)
    counts = torch.full((64,), int((a > 50).sum()))
    upper = torch.full((64,), 0xFFFF0000)
    return torch.stack([ballot, match, counts, torch.where(torch.arange(64) % 32 >= 16, upper, 0)])


@case(lambda: (whole_numbers(64),), votes_expected, tolerance=0)
def votes():
    @T.prim_func
    def votes(A: T.Tensor((64,), "int32"), B: T.Tensor((4, 64), "int64")):
        with T.Kernel(1, threads=64):
            tx = T.get_thread_binding()
            B[0, tx] = T.cast(T.ballot(A[tx] > 50), "int64")
            B[1, tx] = T.cast(T.match_any_sync(A[tx]), "int64")
            B[2, tx] = T.cast(T.syncthreads_count(A[tx] > 50), "int64")
            B[3, tx] = T.int64(0)
            if tx % 32 >= 16:
                B[3, tx] = T.cast(T.activemask(), "int64")

    return votes


def bits_expected(a):
    words = [int(x) & 0xFFFFFFFF for x in a]
    return torch.tensor(
        [
            [(x & -x).bit_length() for x in words],
            [32 - x.bit_length() for x in words],
            [x.bit_count() for x in words],
        ]
    )


@case(lambda: (whole_numbers(32, low=-(2**31), high=2**31) * (torch.arange(32) > 0),), bits_expected, tolerance=0)
def bit_counts():
    @T.prim_func
    def bit_counts(A: T.Tensor((32,), "int32"), B: T.Tensor((3, 32), "int32")):
        with T.Kernel(1, threads=32):
            tx = T.get_thread_binding()
            B[0, tx] = T.__ffs(A[tx])
            B[1, tx] = T.clz(A[tx])
            B[2, tx] = T.popcount(A[tx])

    return bit_counts


def places_expected():
    t = torch.arange(64)
    return torch.stack([t % 16, t // 16, t // 32])


@case(lambda: (), places_expected, tolerance=0)
def own_warp_sizes():
    @T.prim_func
    def own_warp_sizes(B: T.Tensor((3, 64), "int32")):
        with T.Kernel(1, threads=64):
            tx = T.get_thread_binding()
            B[0, tx] = T.get_lane_idx(16)
            B[1, tx] = T.get_warp_idx_sync(16)
            B[2, tx] = T.get_warp_group_idx(16, 2)

    return own_warp_sizes


def odd_sums(a):
    return torch.stack([a[i:][a[i:] % 2 == 1].sum() for i in range(64)])


@case(lambda: (whole_numbers(64),), odd_sums, tolerance=0)
def skipped_turns():
    """``continue`` in some threads and not in others, and in all together."""

    @T.prim_func
    def skipped_turns(A: T.Tensor((64,), "int32"), B: T.Tensor((64,), "int32")):
        with T.Kernel(1, threads=64):
            tx = T.get_thread_binding()
            total = T.alloc_var("int32", init=0)
            for i in T.serial(64):
                if A[i] % 2 == 0:
                    continue
                if i < tx:
                    continue
                total = total + A[i]
            B[tx] = total

    return skipped_turns


@case(lambda: (normal(64, 8, dtype=torch.float32),), lambda a: (a > -1).all(1).float(), tolerance=0)
def all_of_registers():
    @T.prim_func
    def all_of_registers(A: T.Tensor((64, 8), "float32"), B: T.Tensor((64,), "float32")):
        with T.Kernel(1, threads=64):
            tx = T.get_thread_binding()
            found = T.alloc_local((8,), "bool")
            for i in T.serial(8):
                found[i] = A[tx, i] > -1.0
            B[tx] = 0.0
            if T.all_of(found):
                B[tx] = 1.0

    return all_of_registers


def rounded_expected(a, b):
    exact = (a.double() + b.double()).numpy()
    near = torch.from_numpy(exact).float()
    down, up = (torch.nextafter(near, torch.full_like(near, end)) for end in (-torch.inf, torch.inf))
    exact = torch.from_numpy(exact)
    return torch.stack([torch.where(near.double() > exact, down, near), torch.where(near.double() < exact, up, near)])


@case(lambda: tuple(normal(64, dtype=torch.float32, seed=s) for s in (0, 1)), rounded_expected, tolerance=0)
def directed_rounding():
    @T.prim_func
    def directed_rounding(
        A: T.Tensor((64,), "float32"), B: T.Tensor((64,), "float32"), C: T.Tensor((2, 64), "float32")
    ):
        with T.Kernel(1, threads=64):
            tx = T.get_thread_binding()
            C[0, tx] = T.ieee_add(A[tx], B[tx], "rd")
            C[1, tx] = T.ieee_add(A[tx], B[tx], "ru")

    return directed_rounding


@case(lambda: (normal(1024),), lambda a: torch.where(torch.arange(1024) < 512, a, 0), tolerance=0)
def words_through_shared():
    """Eight halves at once by 128-bit loads and stores, the upper threads' loads masked out."""

    @T.prim_func
    def words_through_shared(A: T.Tensor((1024,), "float16"), B: T.Tensor((1024,), "float16")):
        with T.Kernel(1, threads=128):
            tx = T.get_thread_binding()
            s = T.alloc_shared((1024,), "float16")
            T.sts128(s[tx * 8], T.ldg128(A[tx * 8], tx < 64))
            T.sync_threads()
            T.stg128(B[tx * 8], T.lds128(s[tx * 8]))

    return words_through_shared


def pairs_expected(a, b):
    return torch.stack([a + b, a * b + a, a.abs()])


@case(lambda: tuple(normal(256, dtype=torch.float32, seed=s) for s in (0, 1)), pairs_expected, tolerance=1e-6)
def pairs():
    @T.prim_func
    def pairs(A: T.Tensor((256,), "float32"), B: T.Tensor((256,), "float32"), C: T.Tensor((3, 256), "float32")):
        with T.Kernel(1, threads=128):
            tx = T.get_thread_binding()
            C[0, T.Ramp(tx * 2, 1, 2)] = T.add2(A[T.Ramp(tx * 2, 1, 2)], B[T.Ramp(tx * 2, 1, 2)])
            C[1, T.Ramp(tx * 2, 1, 2)] = T.fma2(
                A[T.Ramp(tx * 2, 1, 2)], B[T.Ramp(tx * 2, 1, 2)], A[T.Ramp(tx * 2, 1, 2)]
            )
            C[2, T.Ramp(tx * 2, 1, 2)] = T.abs2(A[T.Ramp(tx * 2, 1, 2)])

    return pairs


@case(lambda: (normal(64),), lambda a: a.repeat_interleave(4).reshape(64, 4).flip(0), tolerance=0)
def broadcast_and_reverse():
    """A vector of equal elements, and one that is stored where it is loaded from, in reverse."""

    @T.prim_func
    def broadcast_and_reverse(A: T.Tensor((64,), "float16"), B: T.Tensor((64, 4), "float16")):
        with T.Kernel(1, threads=1):
            line = T.alloc_local((64,), "float16")
            for i in T.serial(64):
                line[i] = A[i]
            line[T.Ramp(0, 1, 64)] = line[T.Ramp(63, -1, 64)]
            for i in T.serial(64):
                B[i, T.Ramp(0, 1, 4)] = T.Broadcast(line[i], 4)

    return broadcast_and_reverse


@case(lambda: (normal(256, dtype=torch.float16),), lambda a: a.reshape(64, 2, 2).flip(0, 1).reshape(-1) * 2)
def arrays_of_vectors():
    """Vectors as the elements of registers and of shared memory."""

    @T.prim_func
    def arrays_of_vectors(A: T.Tensor((256,), "float16"), B: T.Tensor((256,), "float16")):
        with T.Kernel(1, threads=64):
            tx = T.get_thread_binding()
            held = T.alloc_local((2,), "float16x2")
            s = T.alloc_shared((2, 64), "float16x2")
            for i in T.serial(2):
                held[i] = A[T.Ramp(tx * 4 + i * 2, 1, 2)]
                s[1 - i, 63 - tx] = held[i] + held[i]
            for i in T.serial(2):
                B[T.Ramp(tx * 4 + i * 2, 1, 2)] = s[i, tx]

    return arrays_of_vectors


@case(lambda: (normal(512, dtype=torch.float32),), lambda a: a.reshape(4, 128).sum(0), tolerance=1e-4)
def workspace():
    """Memory that the kernel allocates for itself, written by one launch and read by the next."""

    @T.prim_func
    def workspace(A: T.Tensor((512,), "float32"), B: T.Tensor((128,), "float32")):
        parts = T.alloc_global((4, 128), "float32")
        with T.Kernel(4, threads=128) as bx:
            tx = T.get_thread_binding()
            parts[bx, tx] = A[bx * 128 + tx]
        with T.Kernel(1, threads=128):
            tx = T.get_thread_binding()
            B[tx] = parts[0, tx] + parts[1, tx] + parts[2, tx] + parts[3, tx]

    return workspace


@case(lambda: (normal(97, dtype=torch.float32),), lambda a: a[1:], tolerance=0)
def late_extents():
    """Shared memory as long as an argument, whose length is one more than the variable."""
    n = T.dynamic("n")

    @T.prim_func
    def late_extents(A: T.Tensor((n + 1,), "float32"), B: T.Tensor((n,), "float32")):
        with T.Kernel(1, threads=32):
            s = T.alloc_shared((n,), "float32")
            for i in T.serial(n):
                s[i] = A[i + 1]
            for i in T.serial(n):
                B[i] = s[i]

    return late_extents


@case(lambda: (normal(96, 64),), lambda a: torch.cat([a[:64], a[32:96]]), tolerance=0)
def uneven_copy():
    """Regions of different sizes: the tile's own extents count, and the larger one reads on."""

    @T.prim_func
    def uneven_copy(A: T.Tensor((96, 64), "float16"), B: T.Tensor((128, 64), "float16")):
        with T.Kernel(2, threads=128) as bx:
            x = T.alloc_fragment((64, 64), "float16")
            T.copy(A[bx * 32 : bx * 32 + 32, 0:64], x)
            T.copy(x, B[bx * 64 : bx * 64 + 64, 0:64])

    return uneven_copy


def packed_halves(a):
    """The two halves of bytes as signed numbers, the lower half first."""
    halves = torch.stack([a.int() & 15, a.int() >> 4 & 15], dim=-1).flatten(-2)
    return (halves ^ 8) - 8


@case(
    lambda: (whole_numbers(64, 64, low=-128, high=128, dtype=torch.int8), normal(64, 64).mul(50).to(torch.int8)),
    lambda a, b: packed_halves(a) @ packed_halves(b).T,
    tolerance=0,
)
def int4_product():
    @T.prim_func
    def int4_product(A: T.Tensor((64, 128), "int4"), B: T.Tensor((64, 128), "int4"), C: T.Tensor((64, 64), "int32")):
        with T.Kernel(1, threads=128):
            A_shared = T.alloc_shared((64, 64), "int4")
            B_shared = T.alloc_shared((64, 64), "int4")
            C_local = T.alloc_fragment((64, 64), "int32")
            T.clear(C_local)
            for k in T.Pipelined(2, num_stages=2):
                T.copy(A[0, k * 64], A_shared)
                T.copy(B[0, k * 64], B_shared)
                T.gemm(A_shared, B_shared, C_local, transpose_B=True)
            T.copy(C_local, C)

    return int4_product


FP4 = torch.tensor([0, 0.5, 1, 1.5, 2, 3, 4, 6])


def fp4_expected(a):
    codes = torch.stack([a.int() & 15, a.int() >> 4], dim=-1).flatten(-2)
    values = FP4[codes & 7] * torch.where(codes > 7, -1, 1)
    doubled = (values * 2).clamp(-6, 6)
    near = (doubled.abs()[..., None] - FP4).abs().argmin(-1) + 8 * torch.signbit(doubled).int()
    return values, (near[:, ::2] | near[:, 1::2] << 4).to(torch.int8)


@case(lambda: (whole_numbers(16, 32, high=256, dtype=torch.uint8),), fp4_expected, tolerance=0)
def fp4_in_and_out():
    @T.prim_func
    def fp4(
        A: T.Tensor((16, 64), "float4_e2m1fn"),
        B: T.Tensor((16, 64), "float16"),
        C: T.Tensor((16, 64), "float4_e2m1fn"),
    ):
        with T.Kernel(1, threads=128):
            x = T.alloc_fragment((16, 64), "float4_e2m1fn")
            wide = T.alloc_fragment((16, 64), "float16")
            T.copy(A, x)
            T.copy(x, wide)
            T.copy(wide, B)
            for i, j in T.Parallel(16, 64):
                wide[i, j] = wide[i, j] * T.float16(2)
            T.copy(wide, x)
            T.copy(x, C)

    return fp4


def compacted(a):
    rows = [row[row > 50][:4].tolist() for row in a]
    return torch.tensor([row + [0] * (4 - len(row)) for row in rows])


@case(lambda: (whole_numbers(64, 8, high=90),), compacted, tolerance=0)
def counted_places():
    """Registers filled one after the other, at a place that differs by thread and may end behind the last."""

    @T.prim_func
    def counted_places(A: T.Tensor((64, 8), "int32"), B: T.Tensor((64, 4), "int32")):
        with T.Kernel(1, threads=64):
            tx = T.get_thread_binding()
            kept = T.alloc_local((4,), "int32")
            count = T.alloc_var("int32", init=0)
            for i in T.serial(4):
                kept[i] = 0
            for i in T.serial(8):
                if A[tx, i] > 50 and count < 4:
                    kept[count] = A[tx, i]
                    count = count + 1
            for i in T.serial(4):
                B[tx, i] = kept[i]

    return counted_places


def sparse_inputs():
    """Two of every four elements, ascending, and their places: four bits to a group, the first group lowest."""
    pairs = torch.combinations(torch.arange(4))[whole_numbers(64, 32, high=6).long()]
    codes = (pairs[..., 0] | pairs[..., 1] << 2).reshape(64, 8, 4)
    words = (codes << torch.arange(4) * 4).sum(-1)
    return normal(64, 64), words.to(torch.int16), normal(128, 64, seed=1)


def sparse_expected(a, e, b):
    codes = (e.int()[..., None] >> torch.arange(4) * 4 & 15).reshape(64, 32)
    dense = torch.zeros(64, 32, 4)
    for i in range(2):
        dense.scatter_(2, (codes >> 2 * i & 3)[..., None].long(), a.float()[:, i::2, None])
    return dense.reshape(64, 128) @ b.float()


@case(sparse_inputs, sparse_expected, tolerance=0.05)
def sparse_product():
    @T.prim_func
    def sparse_product(
        A: T.Tensor((64, 64), "float16"),
        E: T.Tensor((64, 8), "int16"),
        B: T.Tensor((128, 64), "float16"),
        C: T.Tensor((64, 64), "float32"),
    ):
        with T.Kernel(1, threads=128):
            A_shared = T.alloc_shared((64, 64), "float16")
            E_shared = T.alloc_shared((64, 8), "int16")
            B_shared = T.alloc_shared((128, 64), "float16")
            C_local = T.alloc_fragment((64, 64), "float32")
            T.clear(C_local)
            T.copy(A, A_shared)
            T.copy(E, E_shared)
            T.copy(B, B_shared)
            T.gemm_sp(A_shared, E_shared, B_shared, C_local)
            T.copy(C_local, C)

    return sparse_product


FAR = 3_000_000_000


@case(
    lambda: (normal(96), whole_numbers(64, high=32, dtype=torch.int64) - FAR, whole_numbers(64, high=64).float()),
    lambda a, at, near: torch.stack([a[at + FAR + 1], a[(near * 0.5).long()], a[(near * 0.25).long()]]),
    tolerance=0,
)
def read_places():
    """Places come from memory: words of 64 bits, some far from zero, as in page tables, and floats that are rounded."""

    @T.prim_func
    def read_places(
        A: T.Tensor((96,), "float16"),
        At: T.Tensor((64,), "int64"),
        Near: T.Tensor((64,), "float32"),
        B: T.Tensor((3, 64), "float16"),
    ):
        with T.Kernel(1, threads=64):
            tx = T.get_thread_binding()
            B[0, tx] = A[At[tx] + T.int64(FAR + 1)]
            B[1, tx] = A[T.cast(Near[tx] * 0.5, "int32")]
            B[2, tx] = A[T.cast(Near[tx] * 0.25, "int32")]

    return read_places


def _scrambled(a):
    x = (int(a[0]) * 1103515245 + 12345 + 2**31) % 2**32 - 2**31
    return torch.full((32,), (x >> 16) % 1000)


@case(lambda: (torch.tensor([987654321], dtype=torch.int32),), _scrambled, tolerance=0)
def integers_wrap():
    """The same in all threads, so that the virtual GPU computes with one number."""

    @T.prim_func
    def integers_wrap(A: T.Tensor((1,), "int32"), B: T.Tensor((32,), "int32")):
        with T.Kernel(1, threads=32):
            tx = T.get_thread_binding()
            x = A[0]
            B[tx] = ((x * 1103515245 + 12345) >> 16) % 1000

    return integers_wrap


FLOATS = (3e9, -3e9, float("inf"), -float("inf"), float("nan"), 2.9, -2.9, 300.0)


def _saturated(_):
    signed = [2**31 - 1, -(2**31), 2**31 - 1, -(2**31), 0, 2, -2, 300]
    unsigned = [3 * 10**9, 0, 2**32 - 1, 0, 0, 2, 0, 300]
    return torch.tensor([signed, unsigned]).T


@case(lambda: (torch.tensor(FLOATS),), _saturated, tolerance=0)
def floats_saturate():
    @T.prim_func
    def floats_saturate(A: T.Tensor((8,), "float32"), B: T.Tensor((8, 2), "int64")):
        with T.Kernel(1, threads=8):
            tx = T.get_thread_binding()
            B[tx, 0] = T.cast(T.cast(A[tx], "int32"), "int64")
            B[tx, 1] = T.cast(T.cast(A[tx], "uint32"), "int64")

    return floats_saturate
