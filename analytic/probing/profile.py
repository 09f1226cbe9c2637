"""What schedules of probes cost, from the updates, importance and cost between two probes.

Five integrals describe an interval (s, f]. Those of two adjacent intervals combine into those of
both together, which is Lemma 3 of eckstein2005 and its analogues; and they are simple where update
rate and importance are constant. So any interval is two partial cells and whole cells between,
and a tree of sums over 2, 4, 8, … cells gives the latter in O(log cells). Every term is >= 0:
unlike differences of integrals from 0, nothing cancels in a short interval far from 0.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from scenarios.arrays import Array
from scenarios.model import ProbedSource
from scenarios.rates import PiecewiseConstant
from scenarios.sections import Source

Times = Sequence[float] | NDArray[np.float64]

LARGEST_PROFILE = 1_000_000
"""Most cells that a profile is made of."""

_ROUNDING = 1e-9


class Interval(NamedTuple):
    """Five integrals over (s, f], each an array with one entry per interval.

    Parameters
    ----------
    updates : ndarray
        ``Lambda(s, f)``, the expected number of updates.
    importance : ndarray
        ``A(s, f)``, the integral of the importance.
    cost : ndarray
        Expected cost of the updates when probed at f, eckstein2005 (5):
        ``C(s, f) = int_s^f lambda(t) A(t, f) dt``.
    variance : ndarray
        Of the cost, for Poisson updates: ``int_s^f lambda(t) A(t, f)**2 dt``.
    fresh_time : ndarray
        Expected time until the first update, at most f - s, for Poisson updates:
        ``int_s^f exp(-Lambda(s, t)) dt``.
    """

    updates: Array
    importance: Array
    cost: Array
    variance: Array
    fresh_time: Array


def cell(rate: ArrayLike, importance: ArrayLike, width: ArrayLike) -> Interval:
    """The integrals over an interval with constant update rate and importance.

    Parameters
    ----------
    rate : array_like
        Updates per unit time.
    importance : array_like
        Cost of a unit of waiting time.
    width : array_like
        Length of the interval.
    """
    rate = np.asarray(rate)
    importance = np.asarray(importance)
    width = np.asarray(width)
    updates = rate * width
    weight = importance * width
    return Interval(
        updates,
        weight,
        updates * weight / 2,
        updates * weight**2 / 3,
        width * _mean_survival(updates),
    )


def _mean_survival(updates: Array) -> Array:
    """``(1 - exp(-x)) / x``, which is 1 at 0."""
    positive = updates > 0
    safe = np.where(positive, updates, 1.0)
    return np.where(positive, -np.expm1(-safe) / safe, 1.0)


def join(first: Interval, second: Interval) -> Interval:
    """The integrals over two adjacent intervals together.

    Parameters
    ----------
    first, second : Interval
        The end of the first is the beginning of the second.

    Notes
    -----
    eckstein2005 Lemma 3, (13), for the cost: the updates of the first interval wait through the
    second as well, ``C(s, f) = C(s, v) + Lambda(s, v) A(v, f) + C(v, f)``.
    """
    wait = second.importance
    return Interval(
        first.updates + second.updates,
        first.importance + wait,
        first.cost + first.updates * wait + second.cost,
        first.variance + 2 * wait * first.cost + first.updates * wait**2 + second.variance,
        first.fresh_time + np.exp(-first.updates) * second.fresh_time,
    )


def _at(intervals: Interval, index: Any) -> Interval:
    return Interval(*(each[index] for each in intervals))


def _where(chosen: NDArray[np.bool_], these: Interval, others: Interval) -> Interval:
    pairs = zip(these, others, strict=True)
    return Interval(*(np.where(chosen, this, other) for this, other in pairs))


def cells_needed(rates: Sequence[PiecewiseConstant], horizon: float) -> float:
    """Number of pieces of several rates up to the horizon, an upper bound."""
    return sum(len(rate.breaks) * (1 + horizon / rate.period) for rate in rates)


class Cells(NamedTuple):
    """Update rate (lambda) and weight (a, the importance) in the cells between edges."""

    edges: Any
    rates: Any
    weights: Any


class Profile:
    """Update rate and importance of a source on [0, horizon], cell by cell.

    Parameters
    ----------
    updates, importance : PiecewiseConstant
        lambda and a, periodic and piecewise constant; their periods need not be the same.
    horizon : float
        T, the end of the planning period.

    Attributes
    ----------
    edges : ndarray, shape (cells + 1,)
        Where the cells begin and end: 0, every break of either rate, T.
    updates, importance : ndarray, shape (cells,)
        The two rates in each cell.
    """

    def __init__(
        self, updates: PiecewiseConstant, importance: PiecewiseConstant, horizon: float
    ) -> None:
        breaks = [_breaks(rate, horizon) for rate in (updates, importance)]
        self.edges: Array = np.append(np.unique(np.concatenate(breaks)), horizon)
        starts = self.edges[:-1]
        self.updates = _values(updates, breaks[0], starts)
        self.importance = _values(importance, breaks[1], starts)
        self.horizon = horizon

    @property
    def cells(self) -> Cells:
        """The same for compiled code."""
        return Cells(self.edges, self.updates, self.importance)

    def between(self, start: ArrayLike, end: ArrayLike) -> Interval:
        """The integrals over (start, end], for 0 <= start <= end <= T; O(log cells) each.

        Parameters
        ----------
        start, end : array_like
            Of one shape.

        Raises
        ------
        ValueError
            If an interval ends before it starts, or is not within [0, T].
        """
        start = np.asarray(start, dtype=float)
        end = np.asarray(end, dtype=float)
        wrong = ~((start >= 0) & (start <= end) & (end <= self.horizon))
        if wrong.any():
            first, last = (np.broadcast_to(each, wrong.shape)[wrong][0] for each in (start, end))
            allowed = f"must be in order, and within 0 … {self.horizon:g}"
            raise ValueError(f"an interval from {first:g} to {last:g}: {allowed}")
        last = len(self.updates) - 1
        first_cell = np.clip(np.searchsorted(self.edges, start, "right") - 1, 0, last)
        last_cell = np.clip(np.searchsorted(self.edges, end, "left") - 1, 0, last)
        within = first_cell >= last_cell
        head = np.where(within, end, self.edges[first_cell + 1]) - start
        tail = np.where(within, 0.0, end - self.edges[last_cell])
        whole = self._whole(first_cell + 1, np.maximum(last_cell, first_cell + 1))
        return join(join(self._part(first_cell, head), whole), self._part(last_cell, tail))

    def _part(self, index: Any, width: Array) -> Interval:
        return cell(self.updates[index], self.importance[index], width)

    @cached_property
    def _levels(self) -> list[Interval]:
        """The integrals over 1, 2, 4, … cells from the left, filled up with empty ones."""
        count = len(self.updates)
        padding = (0, (1 << max(count - 1, 0).bit_length()) - count)
        parts = (self.updates, self.importance, np.diff(self.edges))
        levels = [cell(*(np.pad(part, padding) for part in parts))]
        while len(levels[-1].updates) > 1:
            below = levels[-1]
            levels.append(join(_at(below, slice(0, None, 2)), _at(below, slice(1, None, 2))))
        return levels

    def _whole(self, first: Any, stop: Any) -> Interval:
        """The integrals over the cells first, …, stop - 1."""
        empty = cell(np.zeros(first.shape), 0.0, 0.0)
        left = empty
        right = empty
        for level in self._levels:
            top = len(level.updates) - 1
            take = (first < stop) & (first % 2 == 1)
            left = _where(take, join(left, _at(level, np.minimum(first, top))), left)
            first = first + take
            take = (first < stop) & (stop % 2 == 1)
            stop = stop - take
            right = _where(take, join(_at(level, np.minimum(stop, top)), right), right)
            first = first // 2
            stop = stop // 2
        return join(left, right)


def _breaks(rate: PiecewiseConstant, horizon: float) -> Array:
    """Where a rate may change, in [0, horizon)."""
    periods = np.arange(math.ceil(horizon / rate.period) + 1.0) * rate.period
    breaks: Array = (periods[:, None] + np.array(rate.breaks)).ravel()
    return breaks[breaks < horizon]


def _values(rate: PiecewiseConstant, breaks: Array, starts: Array) -> Array:
    """A rate in the cells that begin at `starts`."""
    piece = (np.searchsorted(breaks, starts, "right") - 1) % len(rate.breaks)
    return np.array(rate.values)[piece]


def step_error(source: Source | ProbedSource, profile: Profile) -> tuple[float, float]:
    """Most by which the steps of smooth rates change the cost of a schedule, and its freshness.

    Parameters
    ----------
    source : Source or ProbedSource
        Its rates, smooth or not.
    profile : Profile
        The steps in which they are taken, up to the horizon.

    Returns
    -------
    cost : float
        ``2 e_lambda A(0, T) + 2 e_a (Lambda(0, T) + e_lambda)``, where the integral of the update
        rate is at most ``e_lambda`` off, and that of the importance ``e_a``.
    freshness : float
        ``2 e_lambda``.

    Notes
    -----
    For every schedule. With D the error of ``Lambda(0, t)``, and ~ for the steps,
    ``C~(s, f) - C(s, f) = int_s^f (D(t) - D(s)) a~(t) dt + int_s^f lambda(t) (A~ - A)(t, f) dt``
    by partial integration of the first of its two parts; each difference of two errors is at most
    twice the largest one, and the sum over all intervals is one integral over [0, T]. Freshness is
    a mean of ``exp(-Lambda(s, t))``, which changes by no more than ``Lambda(s, t)``.
    """
    whole = profile.between(0.0, profile.horizon)
    updates = source.updates.most_off
    waiting = source.importance.most_off
    cost = 2 * (updates * whole.importance + waiting * (whole.updates + updates))
    return float(cost), 2 * updates


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
