"""Obsolescence rates where several robots share a sequence of pages.

Accesses start in the order of the sequence; they end in it only where all take the same time. The
copy holds what the page is at the end. So robots in step read the sequence some entries at a time,
and exponential robots shuffle it a little: each delivery is that of any robot, alike likely.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike, NDArray

from analytic.page_refresh.obsolescence import (
    crawl_rates,
    interaccess_obsolescence,
    randomized_obsolescence,
)
from scenarios.arrays import Array
from scenarios.laws import Deterministic

_FORGOTTEN = 40.0
"""Exponent of what is left of a start after which it counts as forgotten."""


def robots_in_step_obsolescence(
    rates: ArrayLike, cycle: ArrayLike, time: float, robots: int
) -> Array:
    """Obsolescence rate of every page where all accesses take the same time, shape (pages,).

    Parameters
    ----------
    rates : array_like, shape (pages,)
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
    mu = np.asarray(rates, dtype=float)
    pages = np.asarray(cycle, dtype=np.intp)
    slots = math.lcm(len(pages), robots)
    sequence = np.tile(pages, slots // len(pages))
    rounds = slots // robots
    order = np.argsort(sequence, kind="stable")
    page = sequence[order]
    when = order // robots
    last = np.flatnonzero(np.diff(page, append=len(mu)))
    first = np.concatenate([[0], last[:-1] + 1])
    distance = np.diff(when, append=0).astype(float)
    distance[last] = when[first] + rounds - when[last]
    law = Deterministic(value=time)
    stale = interaccess_obsolescence(mu[page], distance, law)
    total = np.bincount(page, weights=stale, minlength=len(mu))
    visited = np.bincount(page, minlength=len(mu)) > 0
    with np.errstate(divide="ignore", invalid="ignore"):
        rate = np.where(visited, total / (rounds * mu * time), 1.0)
    return np.where(mu > 0, rate, 0.0)


def random_rounds_obsolescence(
    rates: ArrayLike, shares: ArrayLike, time: float, robots: int
) -> Array:
    """Obsolescence rate of every page, robots in step that each draw pages at random, (pages,).

    coffman1998, Lemma 4.1 in rounds: a page is in one with probability ``1 - (1 - f)^robots``.
    """
    f = np.asarray(shares, dtype=float)
    law = Deterministic(value=time)
    crawl_rates(f, law, robots)  # refuses what are no shares
    with np.errstate(divide="ignore"):  # of a page in every draw the logarithm is -inf, and right
        seen = -np.expm1(robots * np.log1p(-np.minimum(f, 1.0)))
    mu = np.broadcast_to(np.asarray(rates, dtype=float), f.shape)
    each = [randomized_obsolescence(m, [s], law)[0] for m, s in zip(mu, seen, strict=True)]
    return np.array(each)


def exponential_robots_obsolescence(
    rates: ArrayLike, cycle: ArrayLike, mean: float, robots: int
) -> Array:
    """Obsolescence rate of every page under a periodic schedule and exponential access times.

    Parameters
    ----------
    rates : array_like, shape (pages,)
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
    mu = np.asarray(rates, dtype=float)
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
    visited = np.bincount(slots, minlength=len(mu)) > 0
    rate = np.where(visited, total * rho / len(slots), 1.0)
    return np.where(mu > 0, rate, 0.0)


def _level(
    chain: tuple[Array, float, float],
    slots: NDArray[np.intp],
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
    at_visit = np.zeros(len(slots)), np.zeros(len(slots))
    total: Array = np.zeros(len(mu))
    for turn in range(2 * len(slots) - 1, -1, -1):
        slot = turn % len(slots)
        following = (slot + 1) % len(slots)
        page = slots[following]
        lasting[page] = above[0][following]
        stale[page] = above[1][following]
        stale = changes * (1.0 / rho + stays * lasting) + (1.0 - changes) * stays * stale
        lasting = 1.0 / rho + stays * lasting
        own = slots[slot]
        at_visit[0][slot] = lasting[own]
        at_visit[1][slot] = stale[own]
        if turn < len(slots):
            weight = delivered[0][slot - 1].copy()
            weight[own] = delivered[1][slot - 1][own]
            total += weight * stale
    return *at_visit, total


def _carried(slots: NDArray[np.intp], pages: int, robots: int) -> Array:
    """Probability that j robots carry a page after each slot was taken, shape (slots, j, page)."""
    law = np.zeros((robots + 1, pages))
    law[0] = 1.0
    leaves = np.arange(robots + 1)[:, None] / robots
    found = np.zeros((len(slots), robots + 1, pages))
    turns = math.ceil((_FORGOTTEN + math.log(robots)) * robots / len(slots)) + 1
    for _ in range(turns):
        for slot, page in enumerate(slots.tolist()):
            kept = law * (1.0 - leaves)
            kept[:-1] += law[1:] * leaves[1:]
            kept[1:, page] = kept[:-1, page].copy()
            kept[0, page] = 0.0
            law = found[slot] = kept
    return found
