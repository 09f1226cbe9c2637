"""How often the copies of pages are out of date, without a buffer (coffman1998).

Notation of the docstrings: an access takes a time X of mean m; page i changes at rate mu_i;
``q = mu m``, ``h = E e^{-mu X}``, ``l = -ln h``, ``delta = q - l``, ``exc(t) = t - 1 + e^{-t}``.

Several robots share one sequence of pages. Accesses start in its order; they end in it only where
all take the same time. A copy holds the page as it is at the end of the access. So robots in step
read the sequence some slots at a time, and exponential robots shuffle it a little: each delivery
is equally likely to be that of any robot.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike, NDArray

from analytic.machinery.transforms import (
    exc,
    excess,
    lifted,
    log_transform,
    mean_time,
    x_minus_log1p,
)
from scenarios.arrays import Array
from scenarios.laws import Deterministic, Distribution
from scenarios.text import counted

Indices = NDArray[np.intp]

_ROUNDING = 1e-9
"""What the sum of all shares may be above 1."""

_SLOW = 0.5
"""Exponent of an access up to which logarithms are taken of 1 minus something."""

_UNSEEN = 1e-30
"""Share of a later term that no sum of earlier ones shows."""

_FORGOTTEN = 40.0
"""Exponent of what is left of a start after which it counts as forgotten."""


def interaccess_obsolescence(
    change_rates: ArrayLike, distances: ArrayLike, law: Distribution
) -> Array:
    """Mean time out of date between two accesses d slots apart, times the change rate.

    Parameters
    ----------
    change_rates : array_like
        Change rates mu.
    distances : array_like
        Interaccess distances d in accesses, broadcast against `change_rates`.
    law : Distribution
        Law of one access time.

    Notes
    -----
    coffman1998, Lemma 3.1: ``mu E Z = d q - (1 - h^d) = d delta + exc(l d)``. The second form has
    no cancellation.
    """
    d = np.asarray(distances, dtype=float)
    return d * excess(law, change_rates) + exc(log_transform(law, change_rates) * d)


def slot_distances(cycle: ArrayLike, pages: int) -> tuple[Indices, Array]:
    """Page of each slot of a periodic schedule, and the slots until its next access.

    Parameters
    ----------
    cycle : array_like of int, shape (slots,)
        The page of each slot.
    pages : int

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
    return _distances(cycle, pages)


def _distances(cycle: Indices, pages: int, robots: int = 1) -> tuple[Indices, Array]:
    """The same, in rounds of this many slots each."""
    order = np.argsort(cycle, kind="stable")
    page = cycle[order]
    when = order // robots
    distance = np.diff(when, append=0).astype(float)
    last = np.flatnonzero(np.diff(page, append=pages))
    first = np.concatenate([[0], last[:-1] + 1])
    distance[last] = when[first] + len(cycle) // robots - when[last]
    return page, distance


def cyclic_obsolescence(change_rates: ArrayLike, cycle: ArrayLike, law: Distribution) -> Array:
    """Obsolescence rate of every page under a periodic schedule, shape (pages,).

    Parameters
    ----------
    change_rates : array_like, shape (pages,)
        Change rates mu.
    cycle : array_like of int, shape (slots,)
        The page of each slot.
    law : Distribution
        Law of one access time; successive times are independent.

    Notes
    -----
    coffman1998 (3): ``r = delta / q + (1 / (K q)) sum_j exc(l d_j)``; a page that is never accessed
    is out of date from its first change on (r = 1), a page that never changes never is (r = 0).
    """
    mu, factor = lifted(law, change_rates)
    page, distance = slot_distances(cycle, len(mu))
    stale = interaccess_obsolescence(mu[page], distance, law)
    return _rates_of_pages(mu, page, stale, len(page) * (mu * mean_time(law)), factor)


def _rates_of_pages(
    mu: Array, page: Indices, stale: Array, changes: Array, factor: Array | float = 1.0
) -> Array:
    """Obsolescence rates from the excess of each slot and the changes of each page in a cycle.

    A page that is never accessed is out of date from its first change on, one that never changes
    never is.
    """
    total = np.bincount(page, weights=stale, minlength=len(mu))
    accessed = np.bincount(page, minlength=len(mu)) > 0
    with np.errstate(divide="ignore", invalid="ignore"):
        rate = np.where(accessed, factor * (total / changes), 1.0)
    return np.where(mu > 0, rate, 0.0)


def failing_obsolescence(
    change_rates: ArrayLike, cycle: ArrayLike, law: Distribution, failure: float, retries: int
) -> Array:
    """Obsolescence rate of every page on a list of one robot whose accesses may fail.

    Parameters
    ----------
    change_rates : array_like, shape (pages,)
        Change rates mu.
    cycle : array_like of int, shape (slots,)
        The page of each slot, which the robot accesses until an access succeeds or it gives up.
    law : Distribution
        Law of one access time; successive times are independent.
    failure : float
        Probability p < 1 that an access fails.
    retries : int
        Accesses after the first one of a slot after which the robot gives up.

    Returns
    -------
    ndarray, shape (pages,)

    Notes
    -----
    A slot takes ``R = retries + 1`` accesses at most. With ``F = (p h)^R`` (given up) and
    ``V = 1 - (1 - h) (1 - F) / (1 - p h)`` (its whole time), the transforms of the time from the
    delivery in slot j to the next delivery of the page follow from
    ``1 - phi_j = (1 - V^d) + V^(d - 1) F (1 - phi_k)``, where k, d slots later, is the page's next
    slot; of their means M_j from ``M_j = d w + p^R M_k``. In a cycle of K slots a page is out of
    date for the sum over its slots of ``(1 - p^R) (mu M_j - (1 - phi_j)) / mu`` of the time K w,
    ``w = m (1 - p^R) / (1 - p)``. Here the excess ``mu M_j - (1 - phi_j)`` is followed itself, all
    terms of which are positive (docs/derivations.md, "Accesses that fail").
    """
    mu, factor = lifted(law, change_rates)
    page, distance = slot_distances(cycle, len(mu))
    m = mean_time(law)
    attempts = retries + 1
    given_up = failure**attempts
    mean_attempts = (1.0 - given_up) / (1.0 - failure)
    exponent = log_transform(law, mu)
    h = np.exp(-exponent)
    missed = -np.expm1(-exponent)
    both = given_up * np.exp(-attempts * exponent)
    tried = (1.0 - both) / (1.0 - failure * h)
    left = missed * tried  # 1 - V
    won = (1.0 - failure) * tried + given_up * np.exp(-retries * exponent)  # V / h
    slow = exponent < _SLOW
    slot = np.where(slow, -np.log1p(-np.where(slow, left, 0.0)), exponent - np.log(won))
    curved = np.where(slow, x_minus_log1p(-np.where(slow, left, 0.0)), slot - left)
    shorter = missed * (mean_attempts - tried)
    beyond = mean_attempts * (excess(law, mu) + exc(exponent)) + shorter  # mu w - (1 - V)
    own = distance * (beyond - curved)[page] + exc(slot[page] * distance)
    others = np.exp(-slot[page] * (distance - 1.0))
    following = _next_of_page(page)
    until = _followed(distance * m * mean_attempts, np.full(len(page), given_up), following)
    slower = -np.expm1(-slot[page] * (distance - 1.0) - attempts * exponent[page])
    own = own + given_up * slower * (mu[page] * until[following])
    stale = _followed(own, others * both[page], following)
    return _rates_of_pages(mu, page, stale, len(page) * mu * m / (1.0 - failure), factor)


def _next_of_page(page: Indices) -> Indices:
    """Of slots sorted by page, the next one of the same page, around the cycle."""
    following = np.arange(1, len(page) + 1)
    last = np.flatnonzero(np.diff(page, append=-1))
    first = np.concatenate([[0], last[:-1] + 1])
    following[last] = first
    return following


def _followed(values: Array, factors: Array, following: Indices) -> Array:
    """The solution of ``x = values + factors * x[following]``, factors below 1."""
    while np.any(factors > _UNSEEN):
        values = values + factors * values[following]
        factors = factors * factors[following]
        following = following[following]
    return values


def sequence_obsolescence(
    change_rates: ArrayLike, sequence: ArrayLike, law: Distribution, skipped: int = 0
) -> Array:
    """Obsolescence rate of every page along a given sequence of accesses, shape (pages,).

    Parameters
    ----------
    change_rates : array_like, shape (pages,)
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
    mu, factor = lifted(law, change_rates)
    pages = np.asarray(sequence, dtype=np.intp)
    if not 0 <= skipped < len(pages):
        raise ValueError(
            f"{counted(len(pages), 'slot')} less {skipped} that count for nothing: none left"
        )
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


def randomized_obsolescence(change_rates: ArrayLike, shares: ArrayLike, law: Distribution) -> Array:
    """Obsolescence rate of every page when each access draws its page independently.

    Parameters
    ----------
    change_rates, shares : array_like, shape (pages,)
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
    mu, factor = lifted(law, change_rates)
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
    """The Erlang-2 distribution function ``P(2, x) = 1 - (1 + x) e^{-x}``, x >= 0.

    Parameters
    ----------
    x : array_like
    """
    x = np.asarray(x, dtype=float)
    near = np.minimum(x, 1.0)
    value: Array = np.where(x <= 1.0, np.exp(-near) * exc(-near), 1.0 - (1.0 + x) * np.exp(-x))
    return value


def equal_spacing_bound(change_rates: ArrayLike, shares: ArrayLike, law: Distribution) -> Array:
    """Lower bound on the obsolescence rate of every page at given access frequencies.

    Parameters
    ----------
    change_rates, shares : array_like, shape (pages,)
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
    return spaced_obsolescence(change_rates, _checked_shares(shares), law)


def spaced_obsolescence(change_rates: ArrayLike, shares: ArrayLike, law: Distribution) -> Array:
    """Obsolescence rate of pages with evenly spaced accesses, whatever the shares sum to.

    Parameters
    ----------
    change_rates, shares : array_like, shape (pages,)
    law : Distribution
        Law of one access time.

    Notes
    -----
    coffman1998, the right-hand side of Theorem 3.3; no finite window with n accesses to a page,
    which cut it into n + 1 distances, can be below.
    """
    mu, factor = lifted(law, change_rates)
    f = np.asarray(shares, dtype=float)
    q = mu * mean_time(law)
    accessed = f > 0
    spaced = np.where(accessed, f, 1.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        bound = (excess(law, mu) + spaced * exc(log_transform(law, mu) / spaced)) / q
        bound = factor * bound
    return np.where(mu > 0, np.where(accessed, bound, 1.0), 0.0)


def crawl_rates(shares: ArrayLike, law: Distribution, robots: int, failure: float = 0.0) -> Array:
    """Deliveries of every page per unit time: ``f robots (1 - p) / m``.

    coffman1998, section 2 (access frequencies), for robots that always work; of their accesses a
    share p fails.

    Parameters
    ----------
    shares : array_like, shape (pages,)
        Share of the accesses of each page, f.
    law : Distribution
        Of the time of an access, with mean m.
    robots : int
    failure : float
        Probability p that an access fails.
    """
    rates: Array = _checked_shares(shares) * robots * (1.0 - failure) / mean_time(law)
    return rates


def robots_in_step_obsolescence(
    change_rates: ArrayLike, cycle: ArrayLike, time: float, robots: int
) -> Array:
    """Obsolescence rate of every page where all accesses take the same time, shape (pages,).

    Parameters
    ----------
    change_rates : array_like, shape (pages,)
        Change rates mu.
    cycle : array_like of int, shape (slots,)
        The page of each slot.
    time : float
        Time of an access.
    robots : int

    Notes
    -----
    coffman1998 (3) in rounds. All robots start together, so that slot k is delivered at the end of
    round ``floor(k / robots)``; distances count rounds, 0 inside of one. The rounds have the period
    lcm(slots, robots) / robots.
    """
    mu = np.asarray(change_rates, dtype=float)
    pages = np.asarray(cycle, dtype=np.intp)
    slots = math.lcm(len(pages), robots)
    rounds = slots // robots
    page, distance = _distances(np.tile(pages, slots // len(pages)), len(mu), robots)
    stale = interaccess_obsolescence(mu[page], distance, Deterministic(value=time))
    return _rates_of_pages(mu, page, stale, rounds * mu * time)


def random_rounds_obsolescence(
    change_rates: ArrayLike, shares: ArrayLike, time: float, robots: int
) -> Array:
    """Obsolescence rate of every page, robots in step that each draw pages at random, (pages,).

    coffman1998, Lemma 4.1 in rounds: a page is in one with probability ``1 - (1 - f)^robots``.

    Parameters
    ----------
    change_rates : array_like, shape (pages,)
    shares : array_like, shape (pages,)
        Probability with which a robot draws each page.
    time : float
        Of an access, the same for all.
    robots : int
    """
    f = np.asarray(shares, dtype=float)
    law = Deterministic(value=time)
    crawl_rates(f, law, robots)  # refuses anything that is not a share
    with np.errstate(divide="ignore"):  # of a page in every draw the logarithm is -inf, and right
        seen = -np.expm1(robots * np.log1p(-np.minimum(f, 1.0)))
    mu = np.broadcast_to(np.asarray(change_rates, dtype=float), f.shape)
    each = [randomized_obsolescence(m, [s], law)[0] for m, s in zip(mu, seen, strict=True)]
    return np.array(each)


def exponential_robots_obsolescence(
    change_rates: ArrayLike, cycle: ArrayLike, mean: float, robots: int
) -> Array:
    """Obsolescence rate of every page under a periodic schedule and exponential access times.

    Parameters
    ----------
    change_rates : array_like, shape (pages,)
        Change rates mu.
    cycle : array_like of int, shape (slots,)
        The page of each slot.
    mean : float
        Mean access time of each robot.
    robots : int
        They share the sequence in the order in which they start.

    Returns
    -------
    ndarray, shape (pages,)
        With one robot those of coffman1998 (3).

    Notes
    -----
    Ends of accesses are a Poisson process of rate ``rho = robots / mean``, and each is that of any
    robot alike, which then takes the next slot. So for one page (slots passed, robots j that carry
    it) is a Markov chain: an end delivers it with probability j / robots. With v = 1 where the slot
    taken holds the page, ``h = rho / (rho + mu)`` and ' for the slot after it, the mean time to the
    page's next delivery and the part of it for which a fresh copy is out of date are

    ``L(j) = 1/rho + (1 - j/r) L'(j + v')`` and
    ``W(j) = (1 - h) [1/rho + (1 - j/r) L'(j + v')] + h (1 - j/r) W'(j + v')``,

    since what is left of an exponential time after a change is as long as it was. The robots that
    carry the page never become fewer without a delivery: level j follows from level j + 1, backward
    from any slot that holds the page. Only positive terms are added.
    """
    mu = np.asarray(change_rates, dtype=float)
    slots = np.asarray(cycle, dtype=np.intp)
    carried = _carried(slots, len(mu), robots)
    ended = np.zeros((len(slots), robots + 2, len(mu)))
    ended[:, :-1] = carried * (np.arange(robots + 1) / robots)[:, None]
    rho = robots / mean
    lasting: Array = np.full(len(slots), 1.0 / rho)
    stale: Array = (mu[slots] / (rho + mu[slots])) / rho
    total: Array = np.zeros(len(mu))
    for level in range(robots, -1, -1):
        chain = mu, rho, 1.0 - level / robots
        delivered = ended[:, level + 1], ended[:, level]
        lasting, stale, part = _level(chain, slots, (lasting, stale), delivered)
        total += part
    accessed = np.bincount(slots, minlength=len(mu)) > 0
    rate = np.where(accessed, total * rho / len(slots), 1.0)
    return np.where(mu > 0, rate, 0.0)


def _level(
    chain: tuple[Array, float, float],
    slots: Indices,
    above: tuple[Array, Array],
    delivered: tuple[Array, Array],
) -> tuple[Array, Array, Array]:
    """L and W of one level at the slots that hold their page, and the sum of W over deliveries.

    `delivered` are the probabilities that the next end delivers the page and leaves this level,
    where the slot taken then does not hold it, and where it does. Twice backward through the cycle:
    the first time finds what the second starts from.
    """
    mu, rho, stays = chain
    changes: Array = mu / (rho + mu)
    lasting: Array = np.zeros(len(mu))
    stale: Array = np.zeros(len(mu))
    at_own = np.zeros(len(slots)), np.zeros(len(slots))
    total: Array = np.zeros(len(mu))
    for step in range(2 * len(slots) - 1, -1, -1):
        slot = step % len(slots)
        following = (slot + 1) % len(slots)
        page = slots[following]
        lasting[page] = above[0][following]
        stale[page] = above[1][following]
        stale = changes * (1.0 / rho + stays * lasting) + (1.0 - changes) * stays * stale
        lasting = 1.0 / rho + stays * lasting
        own = slots[slot]
        at_own[0][slot] = lasting[own]
        at_own[1][slot] = stale[own]
        if step < len(slots):
            weight = delivered[0][slot - 1].copy()
            weight[own] = delivered[1][slot - 1][own]
            total += weight * stale
    return *at_own, total


def _carried(slots: Indices, pages: int, robots: int) -> Array:
    """Probability that j robots carry a page after each slot was taken, shape (slots, j, page)."""
    now = np.zeros((robots + 1, pages))
    now[0] = 1.0
    leaves = np.arange(robots + 1)[:, None] / robots
    carried = np.zeros((len(slots), robots + 1, pages))
    periods = math.ceil((_FORGOTTEN + math.log(robots)) * robots / len(slots)) + 1
    for _ in range(periods):
        for slot, page in enumerate(slots.tolist()):
            after = now * (1.0 - leaves)
            after[:-1] += now[1:] * leaves[1:]
            after[1:, page] = after[:-1, page].copy()
            after[0, page] = 0.0
            now = carried[slot] = after
    return carried
