"""Closed forms: one place, unlimited places; and the decomposition into losses and delays."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from analytic.page_refresh import randomized_obsolescence, slot_distances
from analytic.transforms import log_transform, mean_time, moments
from scenarios.arrays import Array
from scenarios.laws import Distribution


def single_place_rates(
    changes: ArrayLike, shares: ArrayLike, deliveries: float, service: float
) -> Array:
    """Obsolescence rate, end to end, where no page can wait, shape (pages,).

    Parameters
    ----------
    changes, shares : array_like, shape (pages,)
        Change rates mu, and probabilities f that a delivery is of this page.
    deliveries : float
        Poisson rate L of all deliveries.
    service : float
        Rate s of the exponential service.

    Notes
    -----
    ``1 - r = (s x0 + L x1) / (s + L)`` with ``x0 = L f y / (mu + L - L (1 - f) y)``, ``x1 = y x0``,
    ``y = s / (s + mu)``: the linear system of `obsolescence_rates` with two states. Written for r,
    so that nothing cancels.
    """
    mu = np.asarray(changes, dtype=float)
    f = np.asarray(shares, dtype=float)
    missed = mu / (service + mu)
    y = service / (service + mu)
    denominator = mu + deliveries * (missed + f * y)
    with np.errstate(invalid="ignore"):
        stale0 = np.where(mu > 0, (mu + deliveries * missed) / denominator, 0.0)
    stale1 = missed + y * stale0
    return (service * stale0 + deliveries * stale1) / (service + deliveries)


def unlimited_rates(
    changes: ArrayLike, shares: ArrayLike, deliveries: float, service: float
) -> Array:
    """Obsolescence rate, end to end, where all deliveries can wait, shape (pages,).

    Parameters are those of `single_place_rates`.

    Raises
    ------
    ValueError
        If the load ``rho = L / s`` is not below 1.

    Notes
    -----
    ``1 - r = (1 - rho) (a / (1 - rho y) + b / (1 - rho z))``, ``a = f y / (1 - (1 - f) y)``,
    ``b = -a (mu / s) z / (1 - z)``, ``z = 2 s / (B + sqrt(B² - 4 L (1 - f) s))``,
    ``B = mu + s + L``: the bounded solution of the linear system, level by level.
    """
    mu = np.asarray(changes, dtype=float)
    f = np.asarray(shares, dtype=float)
    rho = deliveries / service
    if rho >= 1.0:
        raise ValueError(f"the load {rho:.6g} must be below 1")
    y = service / (service + mu)
    total = mu + service + deliveries
    z = 2.0 * service / (total + np.sqrt(total**2 - 4.0 * deliveries * (1.0 - f) * service))
    with np.errstate(divide="ignore", invalid="ignore"):
        a = f * y / (1.0 - (1.0 - f) * y)
        b = -a * (mu / service) * z / (1.0 - z)
        fresh = (1.0 - rho) * (a / (1.0 - rho * y) + b / (1.0 - rho * z))
    return np.where(mu > 0, np.where(f > 0, 1.0 - fresh, 1.0), 0.0)


def unlimited_age(deliveries: float, service: float) -> float:
    """Mean age of the copy in the index with one page in M/M/1.

    ``(1/s) (1 + 1/rho + rho² / (1 - rho))`` (Kaul, Yates, Gruteser, 2012).

    Parameters
    ----------
    deliveries, service : float
        Rates L and s, L < s.
    """
    rho = deliveries / service
    return (1.0 + 1.0 / rho + rho**2 / (1.0 - rho)) / service


def thinned_randomized(
    changes: ArrayLike, shares: ArrayLike, law: Distribution, lost: float
) -> Array:
    """Obsolescence rate of an index without a buffer that loses accesses, pages at random.

    Parameters
    ----------
    changes, shares : array_like, shape (pages,)
        Change rates mu and access frequencies f.
    law : Distribution
        Law of the time from one access to the next.
    lost : float
        Probability that an access fails, independently.

    Notes
    -----
    coffman1998, Lemma 4.1, with ``f (1 - lost)`` in place of f.
    """
    kept = np.asarray(shares, dtype=float) * (1.0 - lost)
    return randomized_obsolescence(changes, kept, law)


def thinned_cyclic(changes: ArrayLike, cycle: ArrayLike, law: Distribution, lost: float) -> Array:
    """Obsolescence rate of an index without a buffer that loses accesses, pages in a period.

    Parameters
    ----------
    changes : array_like, shape (pages,)
        Change rates mu.
    cycle : array_like of int, shape (slots,)
    law : Distribution
        Law of the time from one access to the next.
    lost : float
        Probability that an access fails, independently.

    Notes
    -----
    ``1 - r = sum_k (1 - h^d_k) v_(k+1) / (slots q)`` with ``v_k = (1 - p) + p h^d_k v_(k+1)``: v is
    the probability that a successful access comes before the change.
    """
    mu = np.asarray(changes, dtype=float)
    page, distance = slot_distances(cycle, len(mu))
    exponent = log_transform(law, mu)
    slots = len(page)
    rates = np.where(mu > 0, 1.0, 0.0)
    for each in np.unique(page[mu[page] > 0]).tolist():
        survived = np.exp(-exponent[each] * distance[page == each])
        values = _before_change(survived, lost)
        fresh = float((1.0 - survived) @ np.roll(values, -1))
        rates[each] = 1.0 - fresh / (slots * mu[each] * mean_time(law))
    return rates


def thinned_ages(
    shares: ArrayLike, law: Distribution, lost: float, cycle: ArrayLike | None = None
) -> Array:
    """Mean age of the copies in such an index, shape (pages,); inf where a page is never fetched.

    Parameters
    ----------
    shares : array_like, shape (pages,)
        Access frequencies f.
    law : Distribution
        Law of the time X from one access to the next.
    lost : float
        Probability that an access fails, independently.
    cycle : array_like of int, shape (slots,), optional
        The pages in their order; without, each access draws its page.

    Notes
    -----
    From a stationary instant to the next access ``E X² / (2 E X)``; then to the first success:
    a geometric number of times, or of the distances in the period.
    """
    mean, second = moments(law)
    f = np.asarray(shares, dtype=float)
    if cycle is None:
        with np.errstate(divide="ignore"):
            further: Array = mean * (1.0 / (f * (1.0 - lost)) - 1.0)
        return second / (2.0 * mean) + further
    page, distance = slot_distances(cycle, len(f))
    slots = len(page)
    ages = np.full(len(f), np.inf)
    for each in np.unique(page).tolist():
        gaps = distance[page == each].astype(float)
        waits = _until_success(mean * gaps, lost)
        seconds = gaps * (second - mean**2) + (mean * gaps) ** 2
        inside = float((gaps / slots) @ np.roll(waits, -1))
        ages[each] = float(seconds.sum()) / (2.0 * mean * slots) + inside
    return ages


def _until_success(gaps: Array, lost: float) -> Array:
    """Mean time from each visit, successful or not, to the first success, itself included."""
    value = 0.0
    factor = 1.0
    for gap in gaps[::-1].tolist():
        value = lost * (gap + value)
        factor = factor * lost
    last = value / (1.0 - factor)
    waits = []
    for gap in gaps[::-1].tolist():
        last = lost * (gap + last)
        waits.append(last)
    return np.array(waits[::-1])


def _before_change(survived: Array, lost: float) -> Array:
    """The v_k around the period: what comes after one round is ``p^n h^slots`` of itself."""
    value = 0.0
    factor = 1.0
    for each in survived[::-1].tolist():
        value = (1.0 - lost) + lost * each * value
        factor = factor * lost * each
    last = value / (1.0 - factor)
    values = []
    for each in survived[::-1].tolist():
        last = (1.0 - lost) + lost * each * last
        values.append(last)
    return np.array(values[::-1])


def decomposed(thinned: ArrayLike, discount: ArrayLike) -> Array:
    """Obsolescence rates by the decomposition into losses and delays.

    ``1 - r = E exp(-mu W) (1 - r^p)``: as if each access failed independently, and each success
    were indexed after an independent delay W.

    Parameters
    ----------
    thinned : array_like, shape (pages,)
        Obsolescence rates r^p of an index without a buffer that loses accesses.
    discount : array_like, shape (pages,)
        Transforms ``E exp(-mu W)`` of the sojourn of served pages.
    """
    result: Array = 1.0 - np.asarray(discount) * (1.0 - np.asarray(thinned))
    return result


def page_change_rates(
    changes: ArrayLike, shares: ArrayLike, deliveries: ArrayLike, service: float
) -> Array:
    """Obsolescence rates where waiting copies are dropped when their page changes; approximately.

    Parameters
    ----------
    changes, shares : array_like, shape (pages,)
        Change rates mu, and probabilities f that a delivery is of this page.
    deliveries : array_like, shape (places + 1,)
        Poisson rates of all deliveries by level.
    service : float
        Rate s of the exponential service.

    Notes
    -----
    All other waiting copies drop out independently at the rate ``theta = sum f mu``; copies of one
    page really leave together, which matters for few pages.
    """
    mu = np.asarray(changes, dtype=float)
    f = np.asarray(shares, dtype=float)
    rates = np.asarray(deliveries, dtype=float)
    theta = float(f @ mu)
    top = len(rates) - 1
    levels = np.arange(top + 1.0)
    falls = np.where(levels > 0, service + np.maximum(levels - 1, 0) * theta, 0.0)
    weights = np.cumprod(np.concatenate([[1.0], rates[:-1] / falls[1:]]))
    law = weights / weights.sum()
    entering = np.where(levels < top, rates, 0.0)
    return np.array([_page_change(*each, law, entering, falls) for each in zip(mu, f, strict=True)])


def _page_change(mu: float, f: float, law: Array, entering: Array, falls: Array) -> float:
    """One page: the linear system of `obsolescence_rates` with a place that moves up faster."""
    if mu == 0.0:
        return 0.0
    ahead = np.append(falls[1], falls[1:-1])  # a waiting copy is not among those before it
    fresh = np.cumprod(ahead / (mu + ahead))
    size = len(law)
    system = np.diag(mu + falls + entering)
    system[np.arange(1, size), np.arange(size - 1)] -= falls[1:]
    system[np.arange(size - 1), np.arange(1, size)] -= (1.0 - f) * entering[:-1]
    indexed = np.append(fresh, 0.0)
    return float(law @ np.linalg.solve(system, mu + f * entering * (1.0 - indexed)))
