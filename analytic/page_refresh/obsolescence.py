"""How often the copies of pages are out of date, without a buffer (coffman1998).

Notation of the docstrings: an access takes a time X of mean m; page i changes at rate mu_i;
``q = mu m``, ``h = E e^{-mu X}``, ``l = -ln h``, ``delta = q - l``, ``exc(t) = t - 1 + e^{-t}``.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from analytic.transforms import exc, excess, lifted, log_transform, mean_time
from scenarios.arrays import Array
from scenarios.laws import Distribution

_ROUNDING = 1e-9
"""What the sum of all shares may be above 1."""


def interaccess_obsolescence(rates: ArrayLike, distances: ArrayLike, law: Distribution) -> Array:
    """Mean time out of date between two accesses d slots apart, times the change rate.

    Parameters
    ----------
    rates : array_like
        Change rates mu.
    distances : array_like
        Interaccess distances d in accesses, broadcast against `rates`.
    law : Distribution
        Law of one access time.

    Notes
    -----
    coffman1998, Lemma 3.1: ``mu E Z = d q - (1 - h^d) = d delta + exc(l d)``. The second form has
    no cancellation.
    """
    d = np.asarray(distances, dtype=float)
    return d * excess(law, rates) + exc(log_transform(law, rates) * d)


def slot_distances(cycle: ArrayLike, pages: int) -> tuple[NDArray[np.intp], Array]:
    """Page of each slot of a periodic schedule, and the slots until its next access.

    Returns
    -------
    (page, distance) : ndarrays, shape (slots,)
        Sorted by page. The distances of a page sum to the length of the cycle.

    Raises
    ------
    ValueError
        If the cycle is empty, or has a page that there is not.
    """
    cycle = np.asarray(cycle, dtype=np.intp)
    strange = cycle[(cycle < 0) | (cycle >= pages)]
    if not len(cycle) or len(strange):
        wrong = f"has page {strange[0]}" if len(strange) else "is empty"
        raise ValueError(f"the cycle {wrong}; pages are numbered 0 … {pages - 1}")
    order = np.argsort(cycle, kind="stable")
    page = cycle[order]
    distance = np.diff(order, append=0).astype(float)
    last = np.flatnonzero(np.diff(page, append=pages))
    first = np.concatenate([[0], last[:-1] + 1])
    distance[last] = order[first] + len(cycle) - order[last]
    return page, distance


def cyclic_obsolescence(rates: ArrayLike, cycle: ArrayLike, law: Distribution) -> Array:
    """Obsolescence rate of every page under a periodic schedule, shape (pages,).

    Parameters
    ----------
    rates : array_like, shape (pages,)
        Change rates mu.
    cycle : array_like of int, shape (slots,)
        The page of each slot.
    law : Distribution
        Law of one access time; successive times are independent.

    Notes
    -----
    coffman1998 (3): ``r = delta / q + (1 / (K q)) sum_j exc(l d_j)``; a page that is never visited
    is out of date from its first change on (r = 1), a page that never changes never is (r = 0).
    """
    mu, factor = lifted(law, rates)
    page, distance = slot_distances(cycle, len(mu))
    stale = interaccess_obsolescence(mu[page], distance, law)
    q = mu * mean_time(law)
    total = np.bincount(page, weights=stale, minlength=len(mu))
    visited = np.bincount(page, minlength=len(mu)) > 0
    with np.errstate(divide="ignore", invalid="ignore"):
        rate = np.where(visited, factor * (total / (len(page) * q)), 1.0)
    return np.where(mu > 0, rate, 0.0)


def sequence_obsolescence(
    rates: ArrayLike, sequence: ArrayLike, law: Distribution, skipped: int = 0
) -> Array:
    """Obsolescence rate of every page along a given sequence of accesses, shape (pages,).

    Parameters
    ----------
    rates : array_like, shape (pages,)
        Change rates mu.
    sequence : array_like of int, shape (slots,)
        The page of each slot, from time 0 on, where all copies are current.
    law : Distribution
        Law of one access time; successive times are independent.
    skipped : int
        Slots at the beginning that do not count.

    Raises
    ------
    ValueError
        If no slot counts.

    Notes
    -----
    coffman1998, Lemma 3.1 for schedules without a period: from slot a to slot b after an access a
    page is out of date for ``[b delta + exc(l b)] - [a delta + exc(l a)]`` over mu. On n whole
    periods the sum tends to (3).
    """
    mu, factor = lifted(law, rates)
    pages = np.asarray(sequence, dtype=np.intp)
    if not 0 <= skipped < len(pages):
        raise ValueError(f"{len(pages)} slots of which {skipped} do not count leave none")
    everyone = np.arange(len(mu))
    page = np.concatenate([everyone, pages])
    slot = np.concatenate([np.full(len(mu), -1), np.arange(len(pages))])
    order = np.argsort(page, kind="stable")
    page = page[order]
    slot = slot[order]
    following = np.append(slot[1:], 0)
    following[np.flatnonzero(np.diff(page, append=len(mu)))] = len(pages) - 1
    begin = np.maximum(skipped - 1 - slot, 0)
    end = following - slot
    counts = end > begin
    page = page[counts]
    begin = begin[counts]
    end = end[counts]
    stale = interaccess_obsolescence(mu[page], end, law)
    stale -= np.where(begin > 0, interaccess_obsolescence(mu[page], begin, law), 0.0)
    total = np.bincount(page, weights=stale, minlength=len(mu))
    with np.errstate(divide="ignore", invalid="ignore"):
        rate = factor * (total / ((len(pages) - skipped) * mu * mean_time(law)))
    return np.where(mu > 0, rate, 0.0)


def randomized_obsolescence(rates: ArrayLike, shares: ArrayLike, law: Distribution) -> Array:
    """Obsolescence rate of every page when each access draws its page independently.

    Parameters
    ----------
    rates, shares : array_like, shape (pages,)
        Change rates mu and access frequencies f.
    law : Distribution
        Law of the time from one access to the next.

    Raises
    ------
    ValueError
        If a share is negative, or they sum to more than 1.

    Notes
    -----
    coffman1998, Lemma 4.1: ``r = 1 - (f / q) b / (b + f)``, ``b = 1/h - 1``; written as
    ``[q (1-h) + f (h delta - P)] / (q (1 - h + f h))`` with ``P = 1 - (1 + l) e^{-l}``, which
    keeps its digits for small mu and does not overflow for large.
    """
    mu, factor = lifted(law, rates)
    f = _checked_shares(shares)
    exponent = log_transform(law, mu)
    delta = excess(law, mu)
    q = mu * mean_time(law)
    h = np.exp(-exponent)
    missed = -np.expm1(-exponent)
    with np.errstate(divide="ignore", invalid="ignore"):
        rate = (q * missed + f * (h * delta - erlang_two(exponent))) / (q * (missed + f * h))
        rate = np.where(f > 0, factor * rate, 1.0)
    return np.where(mu > 0, rate, 0.0)


def _checked_shares(shares: ArrayLike) -> Array:
    """Access frequencies of all pages, or of some of them."""
    f = np.asarray(shares, dtype=float)
    if not np.all(f >= 0) or f.sum() > 1 + _ROUNDING:
        raise ValueError(f"shares must be >= 0 and sum to at most 1, not to {f.sum():.9g}")
    return f


def erlang_two(x: ArrayLike) -> Array:
    """The Erlang-2 distribution function ``P(2, x) = 1 - (1 + x) e^{-x}``, x >= 0."""
    x = np.asarray(x, dtype=float)
    near = np.minimum(x, 1.0)
    value: Array = np.where(x <= 1.0, np.exp(-near) * exc(-near), 1.0 - (1.0 + x) * np.exp(-x))
    return value


def equal_spacing_bound(rates: ArrayLike, shares: ArrayLike, law: Distribution) -> Array:
    """Lower bound on the obsolescence rate of every page at given access frequencies.

    Parameters
    ----------
    rates, shares : array_like, shape (pages,)
        Change rates mu and access frequencies f.
    law : Distribution
        Law of one access time.

    Raises
    ------
    ValueError
        If a share is negative, or they sum to more than 1.

    Notes
    -----
    coffman1998, Theorem 3.3: ``r >= delta / q + (f / q) exc(l / f)``; 1 where f = 0. Equality iff
    all distances are equal to 1/f.
    """
    return spaced_obsolescence(rates, _checked_shares(shares), law)


def spaced_obsolescence(rates: ArrayLike, visits: ArrayLike, law: Distribution) -> Array:
    """Obsolescence rate of pages with so many evenly spaced visits per access, whatever their sum.

    Parameters
    ----------
    rates, visits : array_like, shape (pages,)
    law : Distribution
        Law of one access time.

    Notes
    -----
    coffman1998, the right-hand side of Theorem 3.3; what a finite stretch with n visits, which cut
    it into n + 1 distances, cannot be below.
    """
    mu, factor = lifted(law, rates)
    f = np.asarray(visits, dtype=float)
    q = mu * mean_time(law)
    visited = f > 0
    spaced = np.where(visited, f, 1.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        bound = (excess(law, mu) + spaced * exc(log_transform(law, mu) / spaced)) / q
        bound = factor * bound
    return np.where(mu > 0, np.where(visited, bound, 1.0), 0.0)


def crawl_rates(shares: ArrayLike, law: Distribution, robots: int) -> Array:
    """Accesses of every page per unit time: ``f robots / m``.

    coffman1998, section 2 (access frequencies), for robots that always work.
    """
    rates: Array = _checked_shares(shares) * robots / mean_time(law)
    return rates


def stale_answers(obsolescence: ArrayLike, weights: ArrayLike) -> float:
    """Probability that a query is answered from an out-of-date copy: ``sum c r / sum c``.

    coffman1998 (1) at Poisson queries, which see time averages.
    """
    c = np.asarray(weights, dtype=float)
    return float(c @ np.asarray(obsolescence, dtype=float) / c.sum())
