"""Norms, softmax and losses: reductions whose operands lie in several shared buffers."""

import functools

import tilelang.language as T

from kernels.reference import Reference, integers, normal

ROWS, COLUMNS = 64, 256


def rms_norm(rows=ROWS, columns=COLUMNS, block=16, staged=True, threads=128):
    @T.prim_func
    def rms_norm(
        X: T.Tensor((rows, columns), "float32"),
        W: T.Tensor((columns,), "float32"),
        Y: T.Tensor((rows, columns), "float32"),
    ):
        with T.Kernel(T.ceildiv(rows, block), threads=threads) as bx:
            x = T.alloc_shared((block, columns), "float32")
            w = T.alloc_shared((columns,), "float32")
            local = T.alloc_fragment((block, columns), "float32")
            square = T.alloc_fragment((block, columns), "float32")
            total = T.alloc_fragment((block,), "float32")
            if staged:
                T.copy(X[bx * block, 0], x)
                T.copy(x, local)
            else:
                T.copy(X[bx * block, 0], local)
            T.copy(W, w)
            for i, j in T.Parallel(block, columns):
                square[i, j] = local[i, j] * local[i, j]
            T.reduce_sum(square, total, dim=1)
            for i in T.Parallel(block):
                total[i] = T.rsqrt(total[i] / columns + 1e-6)
            for i, j in T.Parallel(block, columns):
                local[i, j] = local[i, j] * total[i] * w[j]
            T.copy(local, Y[bx * block, 0])

    return rms_norm


def _rms_expected(x, w):
    import torch

    return x * torch.rsqrt(x.square().mean(1, keepdim=True) + 1e-6) * w


def rms_norm_residual(rows=ROWS, columns=COLUMNS, threads=128):
    """One row to a CTA; the sum with the residual is an output as well."""

    @T.prim_func
    def rms_norm_residual(
        X: T.Tensor((rows, columns), "float16"),
        R: T.Tensor((rows, columns), "float16"),
        W: T.Tensor((columns,), "float16"),
        S: T.Tensor((rows, columns), "float16"),
        Y: T.Tensor((rows, columns), "float16"),
    ):
        with T.Kernel(rows, threads=threads) as row:
            x = T.alloc_shared((columns,), "float16")
            r = T.alloc_shared((columns,), "float16")
            w = T.alloc_shared((columns,), "float16")
            added = T.alloc_shared((columns,), "float32")
            square = T.alloc_fragment((1, columns), "float32")
            total = T.alloc_fragment((1,), "float32")
            T.copy(X[row, 0:columns], x)
            T.copy(R[row, 0:columns], r)
            for j in T.Parallel(columns):
                added[j] = T.cast(x[j], "float32") + T.cast(r[j], "float32")
            for j in T.Parallel(columns):
                S[row, j] = T.cast(added[j], "float16")
            for i, j in T.Parallel(1, columns):
                square[i, j] = added[j] * added[j]
            T.reduce_sum(square, total, dim=1)
            T.copy(W, w)
            for j in T.Parallel(columns):
                Y[row, j] = T.cast(added[j] * T.rsqrt(total[0] / columns + 1e-6) * w[j], "float16")

    return rms_norm_residual


def _residual_expected(x, r, w):
    added = x.float() + r.float()
    return added.half(), _rms_expected(added, w.float()).half()


def layer_norm(rows=ROWS, columns=COLUMNS, block=8, threads=256):
    @T.prim_func
    def layer_norm(
        X: T.Tensor((rows, columns), "float16"),
        W: T.Tensor((columns,), "float32"),
        B: T.Tensor((columns,), "float32"),
        Y: T.Tensor((rows, columns), "float16"),
    ):
        with T.Kernel(rows // block, threads=threads) as bx:
            staged = T.alloc_shared((block, columns), "float16")
            w = T.alloc_shared((columns,), "float32")
            b = T.alloc_shared((columns,), "float32")
            out = T.alloc_shared((block, columns), "float16")
            x = T.alloc_fragment((block, columns), "float32")
            centred = T.alloc_fragment((block, columns), "float32")
            mean = T.alloc_fragment((block,), "float32")
            variance = T.alloc_fragment((block,), "float32")
            T.copy(X[bx * block, 0], staged)
            T.copy(staged, x)
            T.reduce_sum(x, mean, dim=1)
            for i in T.Parallel(block):
                mean[i] = mean[i] / columns
            for i, j in T.Parallel(block, columns):
                centred[i, j] = (x[i, j] - mean[i]) * (x[i, j] - mean[i])
            T.reduce_sum(centred, variance, dim=1)
            T.copy(W, w)
            T.copy(B, b)
            for i, j in T.Parallel(block, columns):
                out[i, j] = T.cast((x[i, j] - mean[i]) * T.rsqrt(variance[i] / columns + 1e-5) * w[j] + b[j], "float16")
            T.copy(out, Y[bx * block, 0])

    return layer_norm


def _layer_expected(x, w, b):
    import torch

    return torch.nn.functional.layer_norm(x.float(), (COLUMNS,), w, b).half()


def layer_norm_backward(rows=ROWS, columns=COLUMNS, block=8, threads=128):
    """The gradient of x by rows, of the weights by atomic sums over the CTAs."""

    @T.prim_func
    def layer_norm_backward(
        X: T.Tensor((rows, columns), "float32"),
        W: T.Tensor((columns,), "float32"),
        DY: T.Tensor((rows, columns), "float32"),
        DX: T.Tensor((rows, columns), "float32"),
        DW: T.Tensor((columns,), "float32"),
    ):
        with T.Kernel(rows // block, threads=threads) as bx:
            xs = T.alloc_shared((block, columns), "float32")
            dys = T.alloc_shared((block, columns), "float32")
            x = T.alloc_fragment((block, columns), "float32")
            dy = T.alloc_fragment((block, columns), "float32")
            product = T.alloc_fragment((block, columns), "float32")
            mean = T.alloc_fragment((block,), "float32")
            scale = T.alloc_fragment((block,), "float32")
            first = T.alloc_fragment((block,), "float32")
            second = T.alloc_fragment((block,), "float32")
            weights = T.alloc_fragment((columns,), "float32")
            T.copy(X[bx * block, 0], xs)
            T.copy(DY[bx * block, 0], dys)
            T.copy(xs, x)
            T.copy(dys, dy)
            T.reduce_sum(x, mean, dim=1)
            for i, j in T.Parallel(block, columns):
                x[i, j] = x[i, j] - mean[i] / columns
            for i, j in T.Parallel(block, columns):
                product[i, j] = x[i, j] * x[i, j]
            T.reduce_sum(product, scale, dim=1)
            for i in T.Parallel(block):
                scale[i] = T.rsqrt(scale[i] / columns + 1e-5)
            for i, j in T.Parallel(block, columns):
                x[i, j] = x[i, j] * scale[i]
            for i, j in T.Parallel(block, columns):
                product[i, j] = dy[i, j] * x[i, j]
            T.reduce_sum(product, weights, dim=0)
            T.atomic_add(DW[0:columns], weights)
            for i, j in T.Parallel(block, columns):
                dy[i, j] = dy[i, j] * W[j]
            T.reduce_sum(dy, first, dim=1)
            for i, j in T.Parallel(block, columns):
                product[i, j] = dy[i, j] * x[i, j]
            T.reduce_sum(product, second, dim=1)
            for i, j in T.Parallel(block, columns):
                DX[bx * block + i, j] = (dy[i, j] - first[i] / columns - x[i, j] * second[i] / columns) * scale[i]

    return layer_norm_backward


def group_norm(batch=4, groups=8, size=32, pixels=64, threads=128):
    """Two passes over the pixels of a group, which do not fit into registers at once."""

    @T.prim_func
    def group_norm(
        X: T.Tensor((batch, groups, size, pixels), "float16"), Y: T.Tensor((batch, groups, size, pixels), "float16")
    ):
        with T.Kernel(groups, batch, threads=threads) as (g, b):
            part = T.alloc_shared((8, pixels), "float16")
            x = T.alloc_fragment((8, pixels), "float32")
            row = T.alloc_fragment((8,), "float32")
            row_square = T.alloc_fragment((8,), "float32")
            total = T.alloc_fragment((1,), "float32")
            squares = T.alloc_fragment((1,), "float32")
            again = T.alloc_shared((8, pixels), "float16")
            T.clear(total)
            T.clear(squares)
            for k in T.Pipelined(size // 8, num_stages=2):
                T.copy(X[b, g, k * 8 : (k + 1) * 8, 0:pixels], part)
                T.copy(part, x)
                T.reduce_sum(x, row, dim=1)
                T.reduce_sum(row, total, dim=0, clear=False)
                for i, j in T.Parallel(8, pixels):
                    x[i, j] = x[i, j] * x[i, j]
                T.reduce_sum(x, row_square, dim=1)
                T.reduce_sum(row_square, squares, dim=0, clear=False)
            for k in T.Pipelined(size // 8, num_stages=2):
                T.copy(X[b, g, k * 8 : (k + 1) * 8, 0:pixels], again)
                for i, j in T.Parallel(8, pixels):
                    Y[b, g, k * 8 + i, j] = (again[i, j] - total[0] / (size * pixels)) * T.rsqrt(
                        squares[0] / (size * pixels) - total[0] / (size * pixels) * (total[0] / (size * pixels)) + 1e-5
                    )

    return group_norm


def _group_expected(x):
    import torch

    return torch.nn.functional.group_norm(x.float().reshape(4, 8, -1), 8).reshape(x.shape).half()


def softmax(rows=ROWS, columns=COLUMNS, logarithm=False, threads=128):
    """One row to a CTA, its exponentials kept in shared memory."""

    @T.prim_func
    def softmax(X: T.Tensor((rows, columns), "float32"), Y: T.Tensor((rows, columns), "float32")):
        with T.Kernel(rows, threads=threads) as row:
            x = T.alloc_shared((1, columns), "float32")
            e = T.alloc_shared((1, columns), "float32")
            local = T.alloc_fragment((1, columns), "float32")
            highest = T.alloc_fragment((1,), "float32")
            total = T.alloc_fragment((1,), "float32")
            T.copy(X[row, 0], x)
            T.copy(x, local)
            T.reduce_max(local, highest, dim=1)
            for i, j in T.Parallel(1, columns):
                e[i, j] = T.exp(x[i, j] - highest[i])
            T.copy(e, local)
            T.reduce_sum(local, total, dim=1)
            if logarithm:
                for i, j in T.Parallel(1, columns):
                    Y[row, j] = x[i, j] - highest[i] - T.log(total[i])
            else:
                for i, j in T.Parallel(1, columns):
                    Y[row, j] = e[i, j] / total[i]

    return softmax


def softmax_backward(rows=ROWS, columns=COLUMNS, threads=128):
    @T.prim_func
    def softmax_backward(
        Y: T.Tensor((rows, columns), "float16"),
        DY: T.Tensor((rows, columns), "float16"),
        DX: T.Tensor((rows, columns), "float16"),
    ):
        with T.Kernel(rows // 4, threads=threads) as bx:
            y = T.alloc_shared((4, columns), "float16")
            dy = T.alloc_shared((4, columns), "float16")
            dx = T.alloc_shared((4, columns), "float16")
            product = T.alloc_fragment((4, columns), "float32")
            total = T.alloc_fragment((4,), "float32")
            T.copy(Y[bx * 4, 0], y)
            T.copy(DY[bx * 4, 0], dy)
            for i, j in T.Parallel(4, columns):
                product[i, j] = T.cast(y[i, j], "float32") * T.cast(dy[i, j], "float32")
            T.reduce_sum(product, total, dim=1)
            for i, j in T.Parallel(4, columns):
                dx[i, j] = T.cast(product[i, j] - total[i] * T.cast(y[i, j], "float32"), "float16")
            T.copy(dx, DX[bx * 4, 0])

    return softmax_backward


def online_softmax(rows=ROWS, columns=1024, block=128, threads=128):
    """The running maximum and sum in one pipeline, the result in a second one."""

    @T.prim_func
    def online_softmax(X: T.Tensor((rows, columns), "float16"), Y: T.Tensor((rows, columns), "float16")):
        with T.Kernel(rows // 8, threads=threads) as bx:
            first = T.alloc_shared((8, block), "float16")
            second = T.alloc_shared((8, block), "float16")
            x = T.alloc_fragment((8, block), "float32")
            highest = T.alloc_fragment((8,), "float32")
            previous = T.alloc_fragment((8,), "float32")
            part = T.alloc_fragment((8,), "float32")
            total = T.alloc_fragment((8,), "float32")
            T.fill(highest, -T.infinity("float32"))
            T.clear(total)
            for k in T.Pipelined(columns // block, num_stages=2):
                T.copy(X[bx * 8, k * block], first)
                T.copy(first, x)
                T.copy(highest, previous)
                T.reduce_max(x, highest, dim=1, clear=False)
                for i, j in T.Parallel(8, block):
                    x[i, j] = T.exp(x[i, j] - highest[i])
                T.reduce_sum(x, part, dim=1)
                for i in T.Parallel(8):
                    total[i] = total[i] * T.exp(previous[i] - highest[i]) + part[i]
            for k in T.Pipelined(columns // block, num_stages=2):
                T.copy(X[bx * 8, k * block], second)
                for i, j in T.Parallel(8, block):
                    Y[bx * 8 + i, k * block + j] = T.exp(T.cast(second[i, j], "float32") - highest[i]) / total[i]

    return online_softmax


def cross_entropy(rows=ROWS, classes=512, block=128, ignored=-1, threads=128):
    """The loss of a row and its gradient; rows of the ``ignored`` class are skipped."""

    @T.prim_func
    def cross_entropy(
        X: T.Tensor((rows, classes), "float32"),
        Label: T.Tensor((rows,), "int32"),
        Loss: T.Tensor((rows,), "float32"),
        DX: T.Tensor((rows, classes), "float32"),
    ):
        with T.Kernel(rows, threads=threads) as row:
            x = T.alloc_shared((1, block), "float32")
            local = T.alloc_fragment((1, block), "float32")
            highest = T.alloc_fragment((1,), "float32")
            previous = T.alloc_fragment((1,), "float32")
            part = T.alloc_fragment((1,), "float32")
            total = T.alloc_fragment((1,), "float32")
            if Label[row] != ignored:
                T.fill(highest, -T.infinity("float32"))
                T.clear(total)
                for k in T.serial(classes // block):
                    T.copy(X[row, k * block], x)
                    T.copy(x, local)
                    T.copy(highest, previous)
                    T.reduce_max(local, highest, dim=1, clear=False)
                    for i, j in T.Parallel(1, block):
                        local[i, j] = T.exp(local[i, j] - highest[i])
                    T.reduce_sum(local, part, dim=1)
                    total[0] = total[0] * T.exp(previous[0] - highest[0]) + part[0]
                Loss[row] = highest[0] + T.log(total[0]) - X[row, Label[row]]
                for k in T.serial(classes // block):
                    T.copy(X[row, k * block], x)
                    for i, j in T.Parallel(1, block):
                        DX[row, k * block + j] = T.exp(x[i, j] - highest[i]) / total[i] - T.if_then_else(
                            k * block + j == Label[row], 1.0, 0.0
                        )
            else:
                Loss[row] = 0.0
                for k in T.serial(classes // block):
                    for j in T.Parallel(block):
                        DX[row, k * block + j] = 0.0

    return cross_entropy


def l2_normalise(rows=ROWS, columns=COLUMNS, threads=64):
    """Queries and keys of a layer, each by its own length."""

    @T.prim_func
    def l2_normalise(
        Q: T.Tensor((rows, columns), "float16"),
        K: T.Tensor((rows, columns), "float16"),
        Qn: T.Tensor((rows, columns), "float16"),
        Kn: T.Tensor((rows, columns), "float16"),
    ):
        with T.Kernel(rows, threads=threads) as row:
            q = T.alloc_shared((columns,), "float32")
            k = T.alloc_shared((columns,), "float32")
            square = T.alloc_fragment((columns,), "float32")
            q_total = T.alloc_fragment((1,), "float32")
            k_total = T.alloc_fragment((1,), "float32")
            for j in T.Parallel(columns):
                q[j] = Q[row, j]
                k[j] = K[row, j]
            for j in T.Parallel(columns):
                square[j] = q[j] * q[j]
            T.reduce_sum(square, q_total, dim=0)
            for j in T.Parallel(columns):
                square[j] = k[j] * k[j]
            T.reduce_sum(square, k_total, dim=0)
            for j in T.Parallel(columns):
                Qn[row, j] = q[j] * T.rsqrt(q_total[0] + 1e-6)
            for j in T.Parallel(columns):
                Kn[row, j] = k[j] * T.rsqrt(k_total[0] + 1e-6)

    return l2_normalise


def column_statistics(rows=512, columns=64, block=32, threads=128):
    """Mean and variance of columns over all rows, as a batch norm needs them."""

    @T.prim_func
    def column_statistics(
        X: T.Tensor((rows, columns), "float32"),
        Mean: T.Tensor((columns,), "float32"),
        Var: T.Tensor((columns,), "float32"),
    ):
        with T.Kernel(columns // 32, threads=threads) as bx:
            x = T.alloc_shared((block, 32), "float32")
            local = T.alloc_fragment((block, 32), "float32")
            part = T.alloc_fragment((32,), "float32")
            mean = T.alloc_fragment((32,), "float32")
            square = T.alloc_fragment((32,), "float32")
            T.clear(mean)
            T.clear(square)
            for k in T.serial(rows // block):
                T.copy(X[k * block, bx * 32], x)
                T.copy(x, local)
                T.reduce_sum(local, part, dim=0)
                for j in T.Parallel(32):
                    mean[j] += part[j]
                for i, j in T.Parallel(block, 32):
                    local[i, j] = local[i, j] * local[i, j]
                T.reduce_sum(local, part, dim=0)
                for j in T.Parallel(32):
                    square[j] += part[j]
            for j in T.Parallel(32):
                mean[j] = mean[j] / rows
                square[j] = square[j] / rows - mean[j] * mean[j]
            T.copy(mean, Mean[bx * 32 : bx * 32 + 32])
            T.copy(square, Var[bx * 32 : bx * 32 + 32])

    return column_statistics


def dynamic_norm(columns=COLUMNS, block=16, threads=128):
    """A number of rows that is known at run time alone."""
    rows = T.dynamic("rows")

    @T.prim_func
    def dynamic_norm(X: T.Tensor((rows, columns), "float16"), Y: T.Tensor((rows, columns), "float16")):
        with T.Kernel(T.ceildiv(rows, block), threads=threads) as bx:
            x = T.alloc_shared((block, columns), "float16")
            local = T.alloc_fragment((block, columns), "float32")
            total = T.alloc_fragment((block,), "float32")
            T.copy(X[bx * block, 0], x)
            for i, j in T.Parallel(block, columns):
                local[i, j] = T.cast(x[i, j], "float32") * T.cast(x[i, j], "float32")
            T.reduce_sum(local, total, dim=1)
            for i, j in T.Parallel(block, columns):
                x[i, j] = T.cast(x[i, j] * T.rsqrt(total[i] / columns + 1e-6), "float16")
            T.copy(x, Y[bx * block, 0])

    return dynamic_norm


def _rows(device, *, dtype="float32", count=1):
    return tuple(normal(device, ROWS, COLUMNS, dtype=dtype, seed=seed) for seed in range(count))


def _weights(device, dtype="float32", seed=7):
    return normal(device, COLUMNS, dtype=dtype, seed=seed)


def _layer_backward_inputs(device):
    import torch

    x, dy = _rows(device, count=2)
    return x, _weights(device), dy, torch.zeros_like(x), torch.zeros(COLUMNS, device=device)


def _softmax_expected(x):
    return x.softmax(1)


def _softmax_backward_expected(y, dy):
    y, dy = y.float(), dy.float()
    return (y * dy - (y * dy).sum(1, keepdim=True) * y).half()


def _layer_backward_expected(x, w, dy, *_):
    import torch

    x, w = x.clone().requires_grad_(), w.clone().requires_grad_()
    torch.nn.functional.layer_norm(x, (COLUMNS,), w).backward(dy)
    return x.grad, w.grad


def _entropy_expected(x, label):
    import torch

    x = x.clone().requires_grad_()
    loss = torch.nn.functional.cross_entropy(x, label.long(), reduction="none", ignore_index=-1)
    loss.sum().backward()
    return loss.detach(), x.grad


def _l2_expected(q, k):
    def unit(x):
        return (x.float() / (x.float().square().sum(1, keepdim=True) + 1e-6).sqrt()).half()

    return unit(q), unit(k)


KERNELS = (
    Reference("rms_norm", rms_norm, lambda d: (*_rows(d), _weights(d)), _rms_expected),
    Reference(
        "rms_norm_unstaged",
        functools.partial(rms_norm, staged=False, block=4),
        lambda d: (*_rows(d), _weights(d)),
        _rms_expected,
    ),
    Reference(
        "rms_norm_residual",
        rms_norm_residual,
        lambda d: (*_rows(d, dtype="float16", count=2), _weights(d, "float16")),
        _residual_expected,
        out_idx=(-2, -1),
    ),
    Reference(
        "layer_norm",
        layer_norm,
        lambda d: (*_rows(d, dtype="float16"), _weights(d), _weights(d, seed=8)),
        _layer_expected,
    ),
    Reference(
        "layer_norm_backward",
        layer_norm_backward,
        _layer_backward_inputs,
        _layer_backward_expected,
        out_idx=(),
        exact=False,
    ),
    Reference("group_norm", group_norm, lambda d: (normal(d, 4, 8, 32, 64),), _group_expected),
    Reference("softmax_shared", softmax, _rows, _softmax_expected),
    Reference("log_softmax", functools.partial(softmax, logarithm=True), _rows, lambda x: x.log_softmax(1)),
    Reference(
        "softmax_backward",
        softmax_backward,
        lambda d: _rows(d, dtype="float16", count=2),
        _softmax_backward_expected,
    ),
    Reference(
        "online_softmax",
        online_softmax,
        lambda d: (normal(d, ROWS, 1024),),
        lambda x: x.float().softmax(1).half(),
    ),
    Reference(
        "cross_entropy",
        cross_entropy,
        lambda d: (normal(d, ROWS, 512, dtype="float32"), integers(d, ROWS, low=-1, high=4)),
        _entropy_expected,
        out_idx=(-2, -1),
    ),
    Reference(
        "l2_normalise",
        l2_normalise,
        lambda d: _rows(d, dtype="float16", count=2),
        _l2_expected,
        out_idx=(-2, -1),
    ),
    Reference(
        "column_statistics",
        column_statistics,
        lambda d: (normal(d, 512, 64, dtype="float32"),),
        lambda x: (x.mean(0), x.var(0, unbiased=False)),
        out_idx=(-2, -1),
    ),
    Reference(
        "dynamic_norm",
        dynamic_norm,
        lambda d: _rows(d, dtype="float16"),
        lambda x: (x * (x.float().square().mean(1, keepdim=True) + 1e-6).rsqrt()).half(),
    ),
)
