"""The clock of a log: how coarse it is, and what it hides."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from crawlsim.logs.fit.trace import UNITS
from scenarios.arrays import Array

_FEWEST = 20
_SOME = 1000
_ROUNDING = 1e-5
_FINEST = -12
_COARSEST = 3
_PARTS = (1.0, 2.0, 2.5, 5.0)
_OF_A_SECOND = (1e-3, 1e-6)
_SEED = 2003


def clock_step(times: Array, unit: str) -> float:
    """The largest step of which all times are multiples, from the first on; 0 if there is none.

    Parameters
    ----------
    times : ndarray
    unit : str
        Of the times: steps are weeks, days, hours, minutes, seconds and thousandths of them,
        powers of ten of the unit, twice, half and a quarter of them, or the least gap, as far as
        floating-point numbers of this size can show them.

    Notes
    -----
    Fewer than twenty distinct times say nothing about their clock, and no step is longer than the
    least gap: all times of a short log are within a rounding of 0 long steps.
    """
    different = np.unique(times)
    if len(different) < _FEWEST:
        return 0.0
    since = different - different[0]
    spacing = float(np.spacing(np.abs(different).max()))
    longest = _least_gap(since, spacing)
    for step in sorted({*_steps(unit), *_of_gaps(since)}, reverse=True):
        rounding = _ROUNDING + 4 * spacing / step
        if step * (1 - 2 * rounding) > longest:
            continue
        if rounding >= 0.01:
            break
        for some in (since[:_SOME], since):  # most steps fail at once
            steps = some / step
            if not (np.abs(steps - np.round(steps)) < rounding).all():
                break
        else:
            return float(step)
    return 0.0


def _steps(unit: str) -> list[float]:
    """The steps that clocks have, in the unit of the times, in no order."""
    names = [UNITS[name] for name in UNITS] + [part * UNITS["second"] for part in _OF_A_SECOND]
    known = [each / UNITS[unit] for each in names] if unit in UNITS else []
    powers = [float(f"1e{power}") for power in range(_FINEST, _COARSEST + 1)]
    return [*known, *(part * power for power in powers for part in _PARTS)]


def _least_gap(since: Array, spacing: float) -> float:
    """The least gap that is not a rounding of floating-point numbers."""
    gaps = np.diff(since)
    return float(gaps[gaps > 4 * spacing].min(initial=np.inf))


def _of_gaps(since: Array) -> list[float]:
    """The least gap, half of it and a third, made to divide the whole: clocks of any step."""
    whole = float(since[-1])
    least = float(np.diff(since).min())
    return [whole / np.round(part * whole / least) for part in (1, 2, 3)]


def rate_per_step(counts: NDArray[np.int64], steps: Array) -> Array:
    """Events per step of the clock, of which one is seen where there are several.

    Parameters
    ----------
    counts : ndarray of int
        Steps with an event, at least one.
    steps : ndarray
        All steps watched.

    Notes
    -----
    ``-log(1 - p)`` with ``p = (N - 1) / steps``: for one of the events seen it is what the others
    say, so that the pairs of events that it predicts are right on average also for small N.
    """
    share = np.clip((counts - 1.0) / np.maximum(steps, counts), 0.0, None)
    return -np.log1p(-share)


def fill_steps(times: Array, step: float, expected: Array) -> Array:
    """The times with those that the clock has hidden, increasing, as `filled_rows` has them."""
    return np.sort(filled_rows(times, step, expected)[0])


def filled_rows(times: Array, step: float, expected: Array) -> tuple[Array, NDArray[np.int64]]:
    """The times with those that the clock has hidden, all spread within their steps, and whose.

    Parameters
    ----------
    times : ndarray, shape (events,)
        Beginnings of steps in which something was seen; those of several pages are several.
    step : float
        0 leaves the times as they are.
    expected : ndarray, shape (events,)
        Events expected in one step, of the page of each.

    Returns
    -------
    filled : ndarray
        In no order.
    rows : ndarray of int
        Of which of the times each comes.

    Notes
    -----
    A step shows whether there was an event, not how many: `further_events` are drawn, and their
    places are independent and uniform. So a Poisson process that was rounded becomes a Poisson
    process again, exactly where `expected` is right.
    """
    rows = np.arange(len(times))
    if step == 0.0:
        return times, rows
    rng = np.random.default_rng(_SEED)
    rows = np.concatenate([rows, np.repeat(rows, further_events(expected, rng))])
    filled: Array = times[rows] + step * rng.random(len(rows))
    return filled, rows


def further_events(expected: Array, rng: np.random.Generator) -> NDArray[np.int64]:
    """Numbers of further events, drawn where there was at least one.

    Parameters
    ----------
    expected : ndarray, shape (spans,)
        Mean number m of events in each span of time.
    rng : numpy.random.Generator

    Returns
    -------
    ndarray of int, shape (spans,)

    Notes
    -----
    Given at least one event there are N with the law of Poisson given N >= 1. Rescaled, the first
    comes at ``e = -log(1 - u (1 - exp(-m)))`` and as many more as Poisson events in m - e.
    """
    first = -np.log1p(rng.random(len(expected)) * np.expm1(-expected))
    return rng.poisson(np.maximum(expected - first, 0.0))
