import tilelang
import tilelang.language as T


@tilelang.jit(out_idx=[-1])
def leaky_relu_kernel(n, slope, block=512):
    @T.prim_func
    def leaky_relu(X: T.Tensor((n,), "float32"), Y: T.Tensor((n,), "float32")):
        with T.Kernel(T.ceildiv(n, block), threads=128) as bx:
            for i in T.Parallel(block):
                Y[bx * block + i] = T.if_then_else(X[bx * block + i] > 0, X[bx * block + i], X[bx * block + i] * slope)

    return leaky_relu


@tilelang.jit(out_idx=[-1])
def row_sum_kernel(m, n, scale, rows=8):
    @T.prim_func
    def row_sum(X: T.Tensor((m, n), "float32"), Y: T.Tensor((m,), "float32")):
        with T.Kernel(m // rows, threads=128) as bx:
            x = T.alloc_fragment((rows, n), "float32")
            total = T.alloc_fragment((rows,), "float32")
            T.copy(X[bx * rows, 0], x)
            T.reduce_sum(x, total, dim=1)
            for i in T.Parallel(rows):
                Y[bx * rows + i] = total[i] * scale

    return row_sum
