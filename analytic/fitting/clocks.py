"""The clock of a log: how coarse it is, and what it hides."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from analytic.fitting.reading import UNITS

__all__ = ["clock_step", "spread_within_steps"]

Array = NDArray[np.float64]

_FEWEST = 20
_ROUNDING = 1e-5
_SEED = 2003


def clock_step(times: Array, unit: str) -> float:
    """The largest step of which all times are multiples, from the first on; 0 if there is none.

    Parameters
    ----------
    times : ndarray
    unit : str
        Of the times: steps are weeks, days, hours, minutes and seconds, or else powers of ten of
        the unit.

    Notes
    -----
    Fewer than twenty distinct times say nothing about their clock.
    """
    different = np.unique(times)
    if len(different) < _FEWEST:
        return 0.0
    since = different - different[0]
    known = [UNITS[name] / UNITS[unit] for name in UNITS] if unit in UNITS else []
    for step in sorted([*known, *(10.0**power for power in range(3, -4, -1))], reverse=True):
        steps = since / step
        rounding = _ROUNDING + 4 * np.spacing(np.abs(different).max()) / step
        if rounding < 0.01 and (np.abs(steps - np.round(steps)) < rounding).all():
            return float(step)
    return 0.0


def spread_within_steps(times: Array, step: float) -> Array:
    """The times, each moved to a random place within its step of the clock; always the same.

    Parameters
    ----------
    times : ndarray
    step : float
        0 leaves the times as they are.

    Notes
    -----
    Independent uniform places make a Poisson process of one that was rounded, as long as no two
    events of the same page have become one.
    """
    if step == 0.0:
        return times
    result: Array = times + step * np.random.default_rng(_SEED).random(len(times))
    return result
