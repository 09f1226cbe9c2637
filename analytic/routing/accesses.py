"""Pages as servers (altman2000, section 6): an access is a packet, a fresh copy a busy server."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from analytic.machinery.arrival_process import interval_phases
from analytic.machinery.transforms import exc, excess, lifted, log_transform, mean_time
from analytic.routing.losses import gap_matrices
from analytic.routing.spacing import Row, SpacingCosts, powers, scaled, tabulated
from analytic.routing.words import cyclic_distances
from scenarios.arrays import Array
from scenarios.laws import Distribution
from scenarios.processes import gap_law
from scenarios.sections import AccessTime

_DEAREST = 1e300
"""Stands for all that is more: a cost never comes near such a limit."""


def dependent_obsolescence(arrivals: AccessTime, change_rates: ArrayLike, word: ArrayLike) -> Array:
    """Obsolescence rate of every page under a periodic word, shape (pages,).

    ``r_m = 1 - (1 / (n E tau)) sum_j E min(X_(delta_j), S_m)``.

    Parameters
    ----------
    arrivals : Distribution or ArrivalProcess
        Of the ends of accesses; times between them may be dependent.
    change_rates : array_like, shape (pages,)
        mu. A page that never changes is never out of date; one that changes and is never accessed
        always is.
    word : array_like of int
        The page of each access of a period.

    Notes
    -----
    altman2000, section 6, Remark 6.1: ``1 - (1 / (n mu_m E tau)) sum_j (1 - f_m(delta_j^m))``.
    """
    mu = np.asarray(change_rates, dtype=float)
    costs = access_costs(arrivals, mu, np.ones(len(mu)))
    period = np.asarray(word, dtype=int).tolist()
    result = np.where(mu > 0, 1.0, 0.0)
    for page, distances in cyclic_distances(period).items():
        result[page] = sum(costs.between(page, each) for each in distances) / len(period)
    return result


def access_costs(arrivals: AccessTime, change_rates: ArrayLike, weights: ArrayLike) -> SpacingCosts:
    """Costs of pages: minus the weighted time for which a copy is fresh, per access time.

    ``e_m(n) = -c_m E min(X_n, S_m) / E tau``, so that a word costs the weighted obsolescence.

    Parameters
    ----------
    arrivals : Distribution or ArrivalProcess
        Of the ends of accesses; dependent times between them are allowed.
    change_rates, weights : array_like, shape (pages,)
        mu and c. A page with one of them 0 costs nothing.

    Raises
    ------
    ValueError
        If there are no pages, not as many weights as rates, or some below 0 or not finite.

    Notes
    -----
    altman2000, section 6 and Remark 6.1: its cost ``c x E tau + (c/mu) (E e^(-mu X_x) - 1)`` is
    ``c E (X_x - S)^+ = c x E tau - c E min(X_x, S)``.
    """
    mu = np.asarray(change_rates, dtype=float)
    c = np.asarray(weights, dtype=float)
    _check_pages(mu, c)
    matters = (mu > 0) & (c > 0)
    mean = _mean_gap(arrivals)
    changing = np.where(matters, mu, 1.0).tolist()
    fresh = [_fresh_row(arrivals, rate) for rate in changing]
    scales = np.where(matters, c, 0.0) / mean
    rows = [scaled(-scale, row) for scale, row in zip(scales, fresh, strict=True)]
    with np.errstate(over="ignore"):
        limits = -np.minimum(scales / np.array(changing), _DEAREST)
    costs = tabulated(rows, limits, float(c[matters].sum()))
    stale = np.array([stale_times(arrivals, rate, costs.longest) for rate in changing])
    paid = scales[:, None] * stale
    far = [stale_time_at(arrivals, rate) for rate in changing]
    beyond = tuple(scaled(scale, at) for scale, at in zip(scales.tolist(), far, strict=True))
    idle = np.where(matters, c, 0.0)
    return replace(costs, beyond=beyond, subject="page", paid=paid, idle=idle)


def _check_pages(rates: Array, weights: Array) -> None:
    if rates.ndim != 1 or rates.shape != weights.shape or not rates.size:
        shapes = f"rates of shape {rates.shape} and weights of shape {weights.shape}"
        raise ValueError(f"{shapes}: must be one of each per page, and at least one page")
    for name, values in (("rate", rates), ("weight", weights)):
        wrong = values[~((values >= 0) & np.isfinite(values))]
        if wrong.size:
            raise ValueError(f"a {name} of {wrong[0]:g}: must be >= 0 and finite")


def _fresh_row(arrivals: AccessTime, rate: float) -> Row:
    """``E min(X_n, S)`` of an exponential S: for dependent gaps a sum of positive terms."""
    law = gap_law(arrivals)
    if law is not None:
        exponent = float(log_transform(law, rate))
        return lambda n: -np.expm1(-exponent * np.arange(1, n + 1)) / rate
    D0, D1 = gap_matrices(arrivals)
    leave = rate * np.eye(len(D0)) - D0
    step = np.linalg.solve(leave, D1)
    during = np.linalg.solve(leave, np.ones(len(D0)))
    start = interval_phases(D0, D1)
    return lambda n: np.cumsum(start @ powers(step, during, n))


def stale_times(arrivals: AccessTime, rate: float, longest: int) -> Array:
    """``E (X_n - S)^+`` for n = 1 … longest, shape (longest,): a sum of positive terms.

    Parameters
    ----------
    arrivals : Distribution or ArrivalProcess
        Of the ends of accesses; X_n is the time of n of them.
    rate : float
        mu > 0, of the exponential time S until the page changes.
    longest : int

    Notes
    -----
    ``X_n - min(X_n, S)`` on average. Of pages that change rarely it is tiny, and the difference of
    the two means would have no correct digit.
    """
    law = gap_law(arrivals)
    if law is not None:
        return _renewal_stale(law, rate, np.arange(1, longest + 1))
    start, step, counted = _fresh_and_stale(arrivals, rate)
    return start @ powers(step, counted, longest + 1)[:, 1:]


def stale_time_at(arrivals: AccessTime, rate: float) -> Callable[[int], float]:
    """``E (X_n - S)^+`` as a function of n, however large."""
    law = gap_law(arrivals)
    if law is not None:
        return lambda n: float(_renewal_stale(law, rate, np.array([n]))[0])
    start, step, counted = _fresh_and_stale(arrivals, rate)
    return lambda n: float(start @ np.linalg.matrix_power(step, n) @ counted)


def _renewal_stale(law: Distribution, rate: float, n: NDArray[np.integer[Any]]) -> Array:
    raised, factor = lifted(law, rate)
    stale = n * excess(law, raised) + exc(n * log_transform(law, raised))
    return factor * (stale / raised)


def _fresh_and_stale(arrivals: AccessTime, rate: float) -> tuple[Array, Array, Array]:
    """With dependent gaps: a start, a step over a gap, and what is counted after n of them.

    The states are fresh and stale copies by the phase, and one that takes the stale times.
    ``(mu - D0)^{-1}`` and ``(-D0)^{-1}`` say how long a copy is fresh, and stale, in a gap.
    """
    D0, D1 = gap_matrices(arrivals)
    order = len(D0)
    gap = np.linalg.inv(-D0)
    fresh = np.linalg.inv(rate * np.eye(order) - D0)
    stale_after = rate * fresh @ gap
    step = np.zeros((2 * order + 1, 2 * order + 1))
    step[:order, :order] = fresh @ D1
    step[:order, order:-1] = stale_after @ D1
    step[:order, -1] = stale_after.sum(axis=1)
    step[order:-1, order:-1] = gap @ D1
    step[order:-1, -1] = gap.sum(axis=1)
    step[-1, -1] = 1.0
    counted = np.zeros(2 * order + 1)
    counted[-1] = 1.0
    start = np.zeros(2 * order + 1)
    start[:order] = interval_phases(D0, D1)
    return start, step, counted


def _mean_gap(arrivals: AccessTime) -> float:
    """Mean time between arrivals."""
    law = gap_law(arrivals)
    if law is not None:
        return mean_time(law)
    D0, D1 = gap_matrices(arrivals)
    return float(interval_phases(D0, D1) @ np.linalg.solve(-D0, np.ones(len(D0))))
