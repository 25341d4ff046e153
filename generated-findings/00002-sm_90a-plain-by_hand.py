# sm_90a-plain-by_hand: events
# launch 0, block (1, 0, 0): thread 0, record 0: expected [begin r0 1, end r0 1, begin r1 1, end r1 1] of 8, recorded [begin r0 2, end r0 2, begin r1 2, end r1 2] of 8
# launch 0, block (2, 0, 0): thread 0, record 0: expected [begin r0 2, end r0 2, begin r1 2, end r1 2] of 8, recorded [begin r0 1, end r0 1, begin r1 1, end r1 1] of 8
# launch 0, block (0, 1, 0): thread 0, record 0: expected [begin r0 0, end r0 0, begin r1 0, end r1 0] of 8, recorded [begin r0 1, end r0 1, begin r1 1, end r1 1] of 8
# launch 0, block (1, 1, 0): thread 0, record 0: expected [begin r0 1, end r0 1, begin r1 1, end r1 1] of 8, recorded [begin r0 0, end r0 0, begin r1 0, end r1 0] of 8
import tilelang.language as T

from tltrace_nb import trace


def build():
    @T.prim_func
    def kernel(
        A: T.Tensor((192, 32,), "float32"),
        F: T.Tensor((64,), "int32"),
        B0: T.Tensor((384, 32,), "float32"),
        R0: T.Tensor((3, 2, 4, 128,), "int32"),
    ):
        with T.Kernel(3, 2, threads=128) as (bx, by):
            tx = T.get_thread_binding()
            T.use_swizzle(panel_size=2, order="row")
            s0 = T.alloc_shared((16, 32), 'float32')
            f0 = T.alloc_fragment((16, 32), 'float32')
            o0 = T.alloc_shared((16, 32), 'float32')
            u0 = T.alloc_var("int32", init=5)
            u1 = T.alloc_var("int32", init=5)
            t0 = T.alloc_var("int32", init=1)
            with trace.range("r0", lane="side", payload=bx):
                T.fill(f0, 1)
            u0 = 2
            with trace.range("r1", payload=bx):
                while u0 > 0:
                    u0 = u0 - 1
                    if F[bx] > 2:
                        break
                    for k0 in T.serial(1):
                        u1 = 3
                        while u1 > 0:
                            u1 = u1 - 1
                            if F[k0 + bx] > 2:
                                break
                        if F[bx + k0] > 0:
                            break
                u0 = u0 + 1
                u0 = bx
            T.copy(f0, B0[((((by * 3) + bx) * 4) + 0) * 16, 0])
            with trace.range("r2", lane="side", payload=u0):
                t0 = t0 + 1
            with trace.range("r3", lane="side", payload=t0):
                R0[bx, by, 0, tx] = u0 + F[bx]
    return kernel
