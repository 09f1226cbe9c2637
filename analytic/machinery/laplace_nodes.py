"""A Laplace transform at many rates, from its values at few: interpolation in their logarithm.

The transform of a probability law is analytic and at most 1 wherever the real part of its argument
is positive: as a function of the logarithm y, in the strip of half-width pi / 2 about the real
axis. So the interpolant at n + 1 points of Chebyshev is within ``4 rho^-n / (rho - 1)`` of it, rho
being the sum of the half-axes of the largest ellipse in the strip (Trefethen, Approximation Theory
and Approximation Practice, Theorem 8.2).
"""

from __future__ import annotations

import math

import numpy as np

from scenarios.arrays import Array

_EXACT = 1e-15
"""Largest error of an interpolant."""


def nodes_of(rates: Array) -> Array:
    """Rates at which a Laplace transform of a probability law says what it is at the others.

    Parameters
    ----------
    rates : ndarray, shape (n,)
        Positive.

    Returns
    -------
    ndarray, shape (nodes,)
        Decreasing; the rates themselves where these are fewer.
    """
    low, high = math.log(rates.min()), math.log(rates.max())
    if high == low:
        return rates[:1]
    half_axis = math.pi / (high - low)
    growth = half_axis + math.hypot(half_axis, 1.0)
    order = math.ceil(math.log(4.0 / (_EXACT * (growth - 1.0))) / math.log(growth))
    if order + 1 >= len(rates):
        return rates
    places = np.cos(np.pi * np.arange(order + 1) / order)
    nodes: Array = np.exp(0.5 * (low + high) + 0.5 * (high - low) * places)
    return nodes


def weights_of(rates: Array, nodes: Array) -> Array:
    """By what the values at the nodes are multiplied, shape (rates, nodes): barycentric.

    Parameters
    ----------
    rates : ndarray, shape (n,)
    nodes : ndarray, shape (nodes,)
        Of `nodes_of`.
    """
    if len(nodes) == len(rates):
        return np.eye(len(rates))
    signs = (-1.0) ** np.arange(len(nodes))
    signs[[0, -1]] *= 0.5
    apart = np.log(rates)[:, None] - np.log(nodes)
    is_node = apart == 0.0
    weights: Array = signs / np.where(is_node, 1.0, apart)
    weights[is_node.any(axis=1)] = 0.0
    weights[is_node] = 1.0
    scaled: Array = weights / weights.sum(axis=1, keepdims=True)
    return scaled
