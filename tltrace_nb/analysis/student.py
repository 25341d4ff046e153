"""Student's t for whole degrees of freedom, and variances that lend each other theirs, as whole arrays.

In: values of t, variances, degrees of freedom. Out: chances, better variances.
"""

from __future__ import annotations

import numpy as np

from tltrace_nb.analysis.spans import Array

MANY = 300
"""Degrees of freedom from which on more make no difference that matters here: at t = 5, a fifth of the chance."""


def two_sided(t: Array, freedom: Array) -> Array:
    """The chance of a value at least as far from zero as ``t``; 1 where ``freedom`` is below 1, or ``t`` is NaN.

    By the finite series of Abramowitz and Stegun, Handbook of Mathematical Functions, 26.7.3 (odd) and 26.7.4 (even).
    """
    chance = np.ones(len(t))
    for degrees in np.unique(np.minimum(freedom, MANY)).tolist():
        mine = (np.minimum(freedom, MANY) == degrees) & ~np.isnan(t)
        if degrees >= 1:
            chance[mine] = np.clip(1 - _within(t[mine], degrees), 0, 1)
    return chance


def moderated(variance: Array, freedom: int) -> tuple[Array, int]:
    """Variances of few observations each, drawn towards what they have in common, and the freedom gained by that.

    ``variance`` are relative ones, of ``freedom`` degrees each. Common variance and its weight, in degrees of freedom,
    come from their own spread: Smyth, Linear models and empirical Bayes methods (2004), section 6.2. Where that says
    that they are all of one size, they are pooled. Rows without variance (a virtual GPU has no noise) stay as they are.
    """
    known = np.isfinite(variance) & (variance > 0)
    if known.sum() < 3:
        return variance, freedom
    logs = np.log(variance[known]) - _digamma(freedom / 2) + np.log(freedom / 2)
    excess = float(logs.var(ddof=1)) - _trigamma(freedom / 2)
    most = freedom * (int(known.sum()) - 1)
    half = _inverse_trigamma(excess) if excess > 0 else np.inf
    prior = min(2 * half, most)
    common = np.exp(logs.mean() + (_digamma(half) - np.log(half) if np.isfinite(half) else 0))
    better = np.where(known, (prior * common + freedom * variance) / (prior + freedom), variance)
    return better, freedom + int(prior)


def _digamma(x: float) -> float:
    """By its recurrence up to 10, and from there by its asymptotic series (Abramowitz and Stegun 6.3.5, 6.3.18)."""
    below = 0.0
    while x < 10:
        below, x = below - 1 / x, x + 1
    return below + float(np.log(x)) - 1 / (2 * x) - 1 / (12 * x**2) + 1 / (120 * x**4)


def _trigamma(x: float) -> float:
    """By its recurrence up to 10, and from there by its asymptotic series (Abramowitz and Stegun 6.4.6, 6.4.12)."""
    below = 0.0
    while x < 10:
        below, x = below + 1 / x**2, x + 1
    return below + 1 / x + 1 / (2 * x**2) + 1 / (6 * x**3) - 1 / (30 * x**5)


def _inverse_trigamma(value: float) -> float:
    """By bisection: it falls from infinity to zero."""
    low, high = 1e-3, 1e6
    for _ in range(100):
        middle = (low * high) ** 0.5
        low, high = (middle, high) if _trigamma(middle) > value else (low, middle)
    return low


def _within(t: Array, degrees: int) -> Array:
    """The chance of a value between ``-t`` and ``t``."""
    inside: Array
    angle = np.arctan(np.abs(t) / np.sqrt(degrees))
    sine, cosine = np.sin(angle), np.cos(angle)
    if degrees % 2:
        term = cosine.copy()
        total = term if degrees > 1 else np.zeros_like(term)
        for k in range(3, degrees - 1, 2):
            term = term * cosine**2 * (k - 1) / k
            total = total + term
        inside = 2 / np.pi * (angle + sine * total)
        return inside
    term = np.ones_like(cosine)
    total = term
    for k in range(2, degrees - 1, 2):
        term = term * cosine**2 * (k - 1) / k
        total = total + term
    inside = sine * total
    return inside
