"""What a schedule of probes costs: expected, its variance, the freshness, and along a trace."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from analytic.probing.intervals import Interval, Profile

Times = Sequence[float] | NDArray[np.float64]

_ROUNDING = 1e-9


def checked_times(profile: Profile, times: Times, spacing: float = 0.0) -> NDArray[np.float64]:
    """The probe times as an array.

    Raises
    ------
    ValueError
        If they do not increase, begin too early, or do not end with the horizon.
    """
    array = np.asarray(times, dtype=float)
    gaps = np.diff(array, prepend=0.0)
    ends = len(array) > 0 and abs(array[-1] - profile.horizon) <= _ROUNDING * profile.horizon
    if array.ndim != 1 or not ends or not (gaps >= 0).all():
        raise ValueError(f"probe times must increase from 0 and end with {profile.horizon!r}")
    if gaps.min() < spacing * (1 - _ROUNDING):
        raise ValueError(f"probe times must be at least {spacing!r} apart")
    return array


def _intervals(profile: Profile, times: Times) -> Interval:
    checked_times(profile, times)
    return profile.between([0.0, *times[:-1]], times)


def expected_cost(profile: Profile, times: Times) -> float:
    """Expected cost of all updates: ``sum_i C(p_{i-1}, p_i)``.

    Parameters
    ----------
    profile : Profile
        Update rate lambda and importance a on [0, T].
    times : sequence of float
        p_1, …, p_n = T; p_0 = 0.

    Notes
    -----
    eckstein2005 (5) and (6). Only the rate of the updates matters, they need not be Poisson.
    """
    return float(_intervals(profile, times).cost.sum())


def cost_variance(profile: Profile, times: Times) -> float:
    """Variance of the cost of all updates: ``sum_i int lambda(t) A(t, p_i)**2 dt``.

    Parameters
    ----------
    profile : Profile
    times : sequence of float
        p_1, …, p_n = T; p_0 = 0.

    Notes
    -----
    Campbell's theorem: the cost is a sum of A(t, p_i) over the points of a Poisson process.
    """
    return float(_intervals(profile, times).variance.sum())


def expected_freshness(profile: Profile, times: Times) -> float:
    """Expected fraction of time without an unseen update.

    Parameters
    ----------
    profile : Profile
    times : sequence of float
        p_1, …, p_n = T; p_0 = 0.

    Notes
    -----
    ``(1 / T) sum_i int exp(-Lambda(p_{i-1}, t)) dt``: no Poisson update since the last probe.
    """
    return float(_intervals(profile, times).fresh_time.sum()) / profile.horizon


def actual_cost(profile: Profile, times: Times, updates: ArrayLike) -> float:
    """Cost of updates at known times: ``sum_r A(t_r, p_{i(r)})``.

    Parameters
    ----------
    profile : Profile
        Its importance counts; its update rate does not.
    times : sequence of float
        p_1, …, p_n = T; p_0 = 0.
    updates : array_like
        Times of the updates in [0, T], in any order.

    Raises
    ------
    ValueError
        If an update is not in [0, T].

    Notes
    -----
    eckstein2005, section 2.2: update r waits for the first probe at or after it.
    """
    happened = np.asarray(updates, dtype=float)
    if not ((happened >= 0) & (happened <= profile.horizon)).all():
        raise ValueError(f"updates must be in [0, {profile.horizon!r}]")
    seen = np.asarray(times)[np.searchsorted(times, happened, "left")]
    return float(profile.between(happened, seen).importance.sum())
