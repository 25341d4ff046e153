"""What users call: tensors in, tensors out; kernels are made when a shape is first seen."""

from functools import lru_cache

from . import kernels


@lru_cache
def _leaky_relu(n, slope):
    return kernels.leaky_relu_kernel(n, slope)


@lru_cache
def _row_sum(m, n, scale):
    return kernels.row_sum_kernel(m, n, scale)


def leaky_relu(x, slope=0.01):
    return _leaky_relu(x.numel(), slope)(x.reshape(-1)).reshape(x.shape)


def scaled_sum(x, scale=1.0):
    return _row_sum(*x.shape, scale)(x)
