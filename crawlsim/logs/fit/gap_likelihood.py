"""The likelihood of successive gaps under a process of order two, compiled."""

from __future__ import annotations

import math
from typing import Any

from scenarios.arrays import Array
from scenarios.kernels import compiled


@compiled
def log_likelihood_of_gaps(gaps: Array, D0: Array, D1: Array, start: Array) -> Any:
    """Log-likelihood ``ln start · prod e^(D0 t) D1 · 1`` of the gaps t, in their order.

    Parameters
    ----------
    gaps : ndarray, shape (gaps,)
    D0, D1 : ndarray, shape (2, 2)
    start : ndarray, shape (2,)
        Phase after the event before the first gap.

    Notes
    -----
    The eigenvalues of D0 are real: its entries beside the diagonal are not negative. The vector is
    scaled to sum 1 after every gap.
    """
    middle = 0.5 * (D0[0, 0] + D0[1, 1])
    half = 0.5 * (D0[0, 0] - D0[1, 1])
    root = math.sqrt(half * half + D0[0, 1] * D0[1, 0])
    first = start[0]
    second = start[1]
    total = 0.0
    for gap in gaps:
        slow = math.exp((middle + root) * gap)
        fast = math.exp((middle - root) * gap)
        even = 0.5 * (slow + fast)
        odd = 0.5 * (slow - fast) / root if root > 0.0 else gap * slow
        left = first * (even + odd * half) + second * odd * D0[1, 0]
        right = second * (even - odd * half) + first * odd * D0[0, 1]
        first = left * D1[0, 0] + right * D1[1, 0]
        second = left * D1[0, 1] + right * D1[1, 1]
        scale = first + second
        if not scale > 0.0:
            return -math.inf
        total += math.log(scale)
        first /= scale
        second /= scale
    return total
