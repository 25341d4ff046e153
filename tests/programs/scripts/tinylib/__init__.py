"""A small library of kernels, as a repository keeps them beside its examples."""

from .ops import leaky_relu, scaled_sum

__all__ = ["leaky_relu", "scaled_sum"]
