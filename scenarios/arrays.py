"""The type of the arrays of numbers that all sides hand around, and how far they reach."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

Array = NDArray[np.floating[Any]]
IntArray = NDArray[np.integer[Any]]
Indices = NDArray[np.intp]

_TWO_DECADES = 100.0


def but_for_rounding(values: ArrayLike) -> Array:
    """Values to ten significant digits, by which things are put in order.

    What differs by errors of rounding, which are not the same on all processors, is tied, and a
    stable sort leaves it in the order that it had.
    """
    mantissa, exponent = np.frexp(np.asarray(values, dtype=float))
    rounded: Array = np.ldexp(np.round(mantissa, 10), exponent)
    return rounded


def spans_decades(values: ArrayLike) -> bool:
    """Whether positive values differ so much that an even scale shows the largest ones alone."""
    every = np.asarray(values, dtype=float)
    some = every[np.isfinite(every) & (every > 0.0)]
    return some.size > 1 and float(some.max()) > _TWO_DECADES * float(some.min())
