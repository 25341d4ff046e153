# sm_80-ws-by_hand: events
# launch 0, block (0, 1, 0): thread 0, outside of the pipelines: expected [begin r0 0, end r0 0, begin x3 1, end x3 1, begin r6 0, end r6 0, begin r7 1, end r7 1], recorded [begin r0 3, end r0 3, begin x3 1, end x3 1, begin r6 3, end r6 3, begin r7 1, end r7 1]
# launch 0, block (1, 1, 0): thread 0, outside of the pipelines: expected [begin r0 1, end r0 1, begin x3 1, end x3 1, begin r6 1, end r6 1, begin r7 1, end r7 1], recorded [begin r0 2, end r0 2, begin x3 1, end x3 1, begin r6 2, end r6 2, begin r7 1, end r7 1]
# launch 0, block (2, 1, 0): thread 0, outside of the pipelines: expected [begin r0 2, end r0 2, begin x3 1, end x3 1, begin r6 2, end r6 2, begin r7 1, end r7 1], recorded [begin r0 1, end r0 1, begin x3 1, end x3 1, begin r6 1, end r6 1, begin r7 1, end r7 1]
# launch 0, block (3, 1, 0): thread 0, outside of the pipelines: expected [begin r0 3, end r0 3, begin x3 1, end x3 1, begin r6 3, end r6 3, begin r7 1, end r7 1], recorded [begin r0 0, end r0 0, begin x3 1, end x3 1, begin r6 0, end r6 0, begin r7 1, end r7 1]
import tilelang.language as T

from tltrace_nb import trace


def build():
    @T.prim_func
    def kernel(
        A: T.Tensor((192, 32,), "float32"),
        F: T.Tensor((64,), "int32"),
        B0: T.Tensor((512, 32,), "float32"),
        R0: T.Tensor((4, 2, 4, 256,), "int32"),
    ):
        with T.Kernel(4, 2, threads=256) as (bx, by):
            tx = T.get_thread_binding()
            T.use_swizzle(panel_size=1, order="row")
            s0 = T.alloc_shared((16, 32), 'float32')
            f0 = T.alloc_fragment((16, 32), 'float32')
            s1 = T.alloc_shared((16, 32), 'float32')
            s2 = T.alloc_shared((16, 32), 'float32')
            s3 = T.alloc_shared((16, 32), 'float32')
            u0 = T.alloc_var("int32", init=0)
            t0 = T.alloc_var("int32", init=5)
            with trace.range("r0", payload=bx):
                T.clear(f0)
            if u0 > 2:
                x2 = trace.range_start("x2", payload=tx)
                with trace.range("r4", payload=bx):
                    for k0 in T.Pipelined(2, num_stages=4):
                        T.clear(s1)
                        for i, j in T.Parallel(16, 32):
                            f0[i, j] = f0[i, j] + s1[i, j]
                        for k1 in T.serial(2):
                            x0 = trace.range_start("x0", payload=k1)
                            with trace.range("r1", payload=k1):
                                T.fill(s2, 2)
                            x1 = trace.range_start("x1", payload=u0)
                            trace.range_end(x0)
                            trace.range_end(x1)
                            for i, j in T.Parallel(16, 32):
                                f0[i, j] = f0[i, j] + s2[i, j]
                        with trace.range("r3", payload=k0):
                            T.clear(s3)
                        with trace.range("r2", payload=k0):
                            for i, j in T.Parallel(16, 32):
                                f0[i, j] = f0[i, j] + s3[i, j]
                trace.range_end(x2)
                T.copy(A[bx * 16, 0], s1)
                with trace.range("r5", payload=u0):
                    for i, j in T.Parallel(16, 32):
                        f0[i, j] = f0[i, j] + s1[i, j]
            T.copy(A[bx * 16, 0], s1)
            for i, j in T.Parallel(16, 32):
                f0[i, j] = f0[i, j] + s1[i, j]
            u0 = u0 + 1
            x3 = trace.range_start("x3", payload=u0)
            T.copy(f0, B0[((((by * 4) + bx) * 4) + 0) * 16, 0])
            trace.range_end(x3)
            with trace.range("r6", payload=bx):
                t0 = t0 + 1
            with trace.range("r7", payload=u0):
                t0 = bx
            x4 = trace.range_start("x4", payload=bx)
            with trace.range("r8", payload=tx):
                R0[bx, by, 0, tx] = u0 + F[bx]
            trace.range_end(x4)
    return kernel
