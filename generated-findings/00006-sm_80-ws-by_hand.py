# sm_80-ws-by_hand: CUDA
# line 29
# -   if (((int)blockIdx.x) == 0) {
# -     #pragma unroll
# -     for (int k0 = 0; k0 < 3; ++k0) {
# -       #pragma unroll
# +   #pragma unroll
# +   for (int k0 = 0; k0 < 3; ++k0) {
# +     if (((int)blockIdx.x) == 0) {
# +       #pragma unroll
import tilelang.language as T

from tltrace_nb import trace


def build():
    n = T.dynamic("n")
    @T.prim_func
    def kernel(
        A: T.Tensor((n, 32,), "float32"),
        F: T.Tensor((64,), "int32"),
        B0: T.Tensor((192, 32,), "float32"),
        R0: T.Tensor((3, 4, 64,), "int32"),
    ):
        with T.Kernel(T.ceildiv(n, 16), threads=64) as bx:
            tx = T.get_thread_binding()
            s0 = T.alloc_shared((16, 32), 'float32')
            f0 = T.alloc_fragment((16, 32), 'float32')
            s1 = T.alloc_shared((16, 32), 'float32')
            u0 = T.alloc_var("int32", init=0)
            u1 = T.alloc_var("int32", init=5)
            w0 = tx // 32
            with trace.range("r0", payload=tx):
                T.clear(f0)
            for k0 in T.unroll(3):
                with trace.range("r3", payload=k0):
                    if bx == 0:
                        with trace.range("r2", payload=k0):
                            for k1 in T.unroll(2):
                                with trace.range("r1", payload=(k0 + k1) > 1):
                                    u1 = u1 + 1
            for k2 in T.unroll(2):
                T.copy(A[(k2 + bx) * 16, 0], s1)
                with trace.range("r4", payload=k2):
                    for i, j in T.Parallel(16, 32):
                        f0[i, j] = f0[i, j] + s1[i, j]
            with trace.range("r5", payload=bx):
                T.copy(f0, B0[((bx * 4) + 0) * 16, 0])
            if w0 == 1:
                T.thread_return()
            with trace.range("r6", lane="side", payload=bx):
                R0[bx, 0, tx] = u1 + F[bx]
    return kernel
