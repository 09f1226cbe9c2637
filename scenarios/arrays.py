"""The type of the arrays of numbers that all sides hand around, and how far they reach."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

Array = NDArray[np.floating[Any]]
IntArray = NDArray[np.integer[Any]]
Indices = NDArray[np.intp]

_TWO_DECADES = 100.0


def spans_decades(values: ArrayLike) -> bool:
    """Whether positive values differ so much that an even scale shows the largest ones alone."""
    every = np.asarray(values, dtype=float)
    some = every[np.isfinite(every) & (every > 0.0)]
    return some.size > 1 and float(some.max()) > _TWO_DECADES * float(some.min())
