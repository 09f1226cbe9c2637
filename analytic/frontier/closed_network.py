"""Pages that fall due and wait for a robot: a closed network of intervals and a queue.

A page is away for its interval, waits for one of r robots in the order in which pages fell due, and
is accessed. The intervals are an infinite-server station, whose laws do not matter beyond their
means; the robots a queue with exponential services of rate nu. So the number k of pages at the
robots, waiting or accessed, has the product form ``P(k) ~ e_k(a) w_k`` with ``a_i = 1 / (nu I_i)``,
e_k the elementary symmetric polynomials, and ``w_k = k! / prod_{j<=k} min(j, r)`` (Baskett, Chandy,
Muntz and Palacios 1975). A page that falls due finds the law of the others by themselves (arrival
theorem: Sevcik and Mitrani 1981). docs/theory/frontier.md derives what follows.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from math import comb, factorial
from typing import Any, NamedTuple

import numpy as np
import scipy
from numpy.typing import ArrayLike

from analytic.machinery.refusal import NoAnswerError
from analytic.machinery.transforms import mean_time, survival
from scenarios.accessing.policy import Indices
from scenarios.arrays import Array
from scenarios.laws import Distribution

_NEGLIGIBLE = 1e-280
"""Share of the largest term below which a product of polynomials is cut."""

_UNSEEN = 1e-18
"""Probability of a number of pages that no sum shows."""

_RANGE = 80.0
"""Logarithm of a tilt times an interval, to either side, at which a page is surely where it is."""

_EDGE = 1e-45
"""The same of numbers from which others follow, which then forget what is wrong there."""

_SLOW = 0.01
"""Changes in a cycle up to which an obsolescence rate is taken from its series."""

_TERMS = 8
"""Of that series."""

_REACH = 1e-150
"""Share of the largest coefficient up to which one tilt is trusted."""

_STEPS = 2000
"""Of an integral over the tail of an access time, up to its mean and beyond."""

_MOST_STEPS = 2_000_000
"""Steps of all pages up to which quantiles of their times to refresh are worked out."""

_ROUNDS = 10_000
"""Of the iteration for waits where accesses are not exponential."""

MOST_WORK = 3e8
"""Kinds of intervals times numbers of pages at the robots."""


class Network(NamedTuple):
    """Pages by their intervals, and their robots.

    Attributes
    ----------
    intervals : ndarray, shape (kinds,)
        Different ones, all finite.
    counts : ndarray of int, shape (kinds,)
        How many pages have each.
    robots : int
    rate : float
        Accesses that one robot ends per unit time.
    """

    intervals: Array
    counts: Indices
    robots: int
    rate: float

    @property
    def capacity(self) -> float:
        """Accesses per unit time while all robots have one."""
        return self.robots * self.rate


class Access(NamedTuple):
    """What obsolescence rates need of the time X of an access.

    Attributes
    ----------
    exponents : ndarray, shape (pages,)
        ``-ln E e^{-mu X}`` at the change rate of each page.
    moments : sequence of float
        ``E X^n`` from n = 0 on, of which the series of slow pages has one term less.
    """

    exponents: Array
    moments: Sequence[float]


class Found(NamedTuple):
    """What pages find at the robots when they fall due.

    Attributes
    ----------
    waiting : float
        Mean number of pages that wait.
    busy : float
        Mean number of robots with an access.
    ahead : ndarray, shape (numbers,)
        Ends of accesses that a page waits for, from 0 on.
    law : ndarray, shape (kinds, numbers)
        The probability of each, for a page of each kind of interval.
    lasting : ndarray, shape (kinds,)
        Mean time until each of these ends: ``1 / (r nu)`` where accesses are exponential.
    """

    waiting: float
    busy: float
    ahead: Array
    law: Array
    lasting: Array


def found_when_due(network: Network) -> Found:
    """What pages find at the robots when they fall due, and how many wait and are accessed.

    Parameters
    ----------
    network : Network

    Raises
    ------
    NoAnswerError
        If there are too many different intervals for so many pages.
    """
    first, weights = _weights(network)
    numbers = first + np.arange(len(weights))
    law = weights / weights.sum()
    served = np.minimum(numbers, network.robots)
    if len(network.intervals) * len(law) > MOST_WORK:
        raise NoAnswerError("there are too many different intervals for so many pages")
    of_kinds = _seen_by_each(network, first, law)
    ahead = np.maximum(numbers - network.robots + 1, 0)
    kept = np.arange(ahead[-1] + 1)
    merged = np.zeros((len(of_kinds), len(kept)))
    np.add.at(merged.T, ahead, of_kinds.T)
    lasting = np.full(len(merged), 1.0 / network.capacity)
    return Found(float(law @ (numbers - served)), float(law @ served), kept, merged, lasting)


def _weights(network: Network) -> tuple[int, Array]:
    """The numbers of pages at the robots that matter: the first one, and the weights from it on."""
    pages = int(network.counts.sum())
    tilt = _typical_tilt(network)
    first, logs = _log_weights(network, tilt)
    known = 0
    while len(logs) > known:
        known = len(logs)
        last, least = first + len(logs) - 1, logs.max() + np.log(_EDGE)
        if first > 0 and logs[0] > least:
            first, logs = _joined(network, first, logs, first)
        elif last < pages and logs[-1] > least:
            first, logs = _joined(network, first, logs, last)
    seen = np.flatnonzero(logs > logs.max() + np.log(_EDGE))
    logs = logs[seen[0] : seen[-1] + 1]
    return first + int(seen[0]), np.exp(logs - logs.max())


def _joined(network: Network, first: int, logs: Array, around: int) -> tuple[int, Array]:
    """The same with the numbers about another one."""
    start, more = _log_weights(network, _tilt_of(network, around))
    low = min(first, start)
    high = max(first + len(logs), start + len(more))
    joined = np.full(high - low, -np.inf)
    joined[start - low : start - low + len(more)] = more
    joined[first - low : first - low + len(logs)] = logs
    return low, joined


def _typical_tilt(network: Network) -> float:
    """The rate at which a page leaves the robots, without chance: nu, or less under a backlog."""
    capacity = network.robots * network.rate
    fastest = float((network.counts / (network.intervals + 1.0 / network.rate)).sum())
    if fastest <= capacity:
        return network.rate
    low, high = 0.0, network.rate
    for _ in range(200):
        middle = 0.5 * (low + high)
        passes = float((network.counts * middle / (network.intervals * middle + 1.0)).sum())
        low, high = (middle, high) if passes <= capacity else (low, middle)
    return 0.5 * (low + high)


def _tilt_of(network: Network, number: int) -> float:
    """The tilt under which so many pages are at the robots on average."""
    pages = int(network.counts.sum())
    wanted = min(max(number, 0.5), pages - 0.5)
    low = -_RANGE - float(np.log(network.intervals.max()))
    high = _RANGE - float(np.log(network.intervals.min()))
    for _ in range(200):
        middle = 0.5 * (low + high)
        there = float((network.counts / (1.0 + network.intervals * np.exp(middle))).sum())
        low, high = (middle, high) if there > wanted else (low, middle)
    return float(np.exp(0.5 * (low + high)))


def _log_weights(network: Network, tilt: float) -> tuple[int, Array]:
    """Logarithms of ``e_k(a) w_k``, of the numbers k that a tilt is good for.

    Under the tilt z each page is at the robots with probability ``1 / (1 + z I)``, independently:
    the number there has the probability ``e_k(1 / (z I)) / prod (1 + 1 / (z I))``.
    """
    chances = 1.0 / (1.0 + tilt * network.intervals)
    first, law = _number_there(chances, network.counts)
    near = np.flatnonzero(law > law.max() * _REACH)
    law = law[near[0] : near[-1] + 1]
    first += int(near[0])
    numbers = first + np.arange(len(law))
    whole = float((network.counts * -np.log1p(-chances)).sum())
    log_coefficients = np.log(law) + whole + numbers * np.log(tilt / network.rate)
    return first, log_coefficients + _log_orders(numbers, network.robots)


def _log_orders(numbers: Indices, robots: int) -> Array:
    """Logarithm of ``k! / prod_{j<=k} min(j, r)``."""
    beyond = np.maximum(numbers, robots)
    in_order = scipy.special.gammaln(beyond + 1.0) - scipy.special.gammaln(robots + 1.0)
    logs: Array = in_order - (beyond - robots) * np.log(robots)
    return logs


def _number_there(chances: Array, counts: Indices) -> tuple[int, Array]:
    """The law of a sum of binomials: its first number that matters, and the probabilities."""
    parts = [_binomial(float(p), int(n)) for p, n in zip(chances, counts, strict=True)]
    while len(parts) > 1:
        pairs = zip(parts[::2], parts[1::2], strict=False)
        joined = [_cut(one[0] + other[0], np.convolve(one[1], other[1])) for one, other in pairs]
        parts = joined + parts[len(parts) - len(parts) % 2 :]
    return parts[0]


def _binomial(chance: float, count: int) -> tuple[int, Array]:
    """The law of one binomial, cut where it is negligible."""
    if count == 1:
        return 0, np.array([1.0 - chance, chance])
    numbers = np.arange(count + 1)
    ways = (
        scipy.special.gammaln(count + 1.0)
        - scipy.special.gammaln(numbers + 1.0)
        - scipy.special.gammaln(count - numbers + 1.0)
    )
    logs = ways + numbers * np.log(chance) + (count - numbers) * np.log1p(-chance)
    return _cut(0, np.exp(logs))


def _cut(first: int, law: Array) -> tuple[int, Array]:
    kept = np.flatnonzero(law > law.max() * _NEGLIGIBLE)
    return first + int(kept[0]), law[kept[0] : kept[-1] + 1]


def _seen_by_each(network: Network, first: int, law: Array) -> Array:
    """The law of the number of other pages at the robots, seen by a page of each kind.

    With ``P(k) ~ e_k(a) w_k`` and ``e_k(a) = e_k(a') + a_i e_{k-1}(a')``, where a' lacks the page,
    ``P(k) = q(k) + s_k q(k - 1)`` up to a factor, ``s_k = a_i w_k / w_{k-1}``: a page is elsewhere,
    or one of those at the robots. From below while it is rather elsewhere, from above where it is
    rather there: so an error shrinks with every step.

    Returns
    -------
    ndarray, shape (kinds, numbers)
    """
    numbers = first + np.arange(len(law))
    growth = np.maximum(numbers, network.robots) / network.robots
    steps = growth[:, None] / (network.rate * network.intervals)
    below = np.empty_like(steps)
    is_elsewhere = np.ones(len(network.counts), dtype=bool)
    from_below = np.empty(steps.shape, dtype=bool)
    below[0] = law[0] if first == 0 else law[0] / (1.0 + steps[0])
    from_below[0] = True
    with np.errstate(over="ignore", invalid="ignore"):
        for place in range(1, len(law)):
            there = steps[place] * below[place - 1]
            is_elsewhere &= 2.0 * there <= law[place]
            below[place] = law[place] - there
            from_below[place] = is_elsewhere
    above = np.empty_like(steps)
    is_all = numbers[-1] == network.counts.sum()
    above[-1] = 0.0 if is_all else law[-1] / (1.0 + steps[-1])
    with np.errstate(over="ignore", invalid="ignore"):
        for place in range(len(law) - 1, 0, -1):
            above[place - 1] = np.where(
                from_below[place], 0.0, (law[place] - above[place]) / steps[place]
            )
    found = np.where(from_below, below, above).T
    scaled: Array = found / found.sum(axis=1, keepdims=True)
    return scaled


def frontier_obsolescence(
    change_rates: ArrayLike,
    kinds: ArrayLike,
    found: Found,
    network: Network,
    access: Access,
) -> Array:
    """Obsolescence rate of each page.

    ``1 - (1 - E e^{-mu C}) / (mu E C)`` of the cycle C of a page, which is its interval, its wait
    and its access; of pages that change slowly its series, whose terms are the moments of C.

    Parameters
    ----------
    change_rates : array_like, shape (pages,)
    kinds : array_like of int, shape (pages,)
        The kind of interval of each page.
    found : Found
    network : Network
    access : Access
        ``-ln E e^{-mu X}`` at the change rate of each page, and the moments of X.

    Returns
    -------
    ndarray, shape (pages,)
    """
    mu, kinds = np.asarray(change_rates, dtype=float), np.asarray(kinds)
    moments = _moments_of_cycle(found, network, access)
    cycles = mu * moments[1][kinds]
    slow = np.minimum(cycles, _SLOW)
    stale: Array = np.zeros(len(mu))
    for order in range(len(moments) - 1, 1, -1):
        term = moments[order] / moments[1] ** order / factorial(order)
        stale += (-1.0) ** order * slow ** (order - 1) * term[kinds]
    fast = np.flatnonzero(cycles > _SLOW)
    exponents = mu[fast] * network.intervals[kinds[fast]] + access.exponents[fast]
    waits = _transform_of_waits(mu[fast], kinds[fast], found)
    stale[fast] = 1.0 + np.expm1(np.log(waits) - exponents) / cycles[fast]
    return stale


def _transform_of_waits(mu: Array, kinds: Array, found: Found) -> Array:
    """``E e^{-mu W}`` of the wait W of each page, by Horner's rule."""
    ratio = 1.0 / (1.0 + mu * found.lasting[kinds])
    seen = np.flatnonzero(found.law.max(axis=0) > _UNSEEN)
    total: Array = np.zeros(len(mu))
    for number in range(int(seen[-1]), int(seen[0]) - 1, -1):
        total = total * ratio + found.law[:, number][kinds]
    total *= ratio ** int(seen[0])
    return total


def _moments_of_cycle(found: Found, network: Network, access: Access) -> list[Array]:
    """``E C^n`` of the cycle of a page of each kind, as many as of an access."""
    seen = np.flatnonzero(found.law.max(axis=0) > _EDGE)
    numbers = slice(int(seen[0]), int(seen[-1]) + 1)
    steps = found.ahead[numbers, None] + np.arange(len(access.moments) - 1)
    rising = np.cumprod(np.insert(steps, 0, 1.0, axis=1), axis=1)
    waits = [
        moment * found.lasting**order
        for order, moment in enumerate((found.law[:, numbers] @ rising).T)
    ]
    aways = [network.intervals**order for order in range(len(waits))]
    return _moments_of_sum(_moments_of_sum(waits, access.moments), aways)


def _moments_of_sum(one: Sequence[Any], other: Sequence[Any]) -> list[Array]:
    """Moments of a sum of two independent times, from the 0th on."""
    return [
        sum(comb(order, part) * one[part] * other[order - part] for part in range(order + 1))
        for order in range(len(one))
    ]


def mean_waits(found: Found) -> Array:
    """Mean time from falling due to the start of the access, for each kind of interval."""
    waits: Array = (found.law @ found.ahead) * found.lasting
    return waits


def wait_quantile(law: Array, step: float, share: float) -> float:
    """The least time that so large a share of waits do not exceed.

    A wait of m ends of accesses is over by x unless fewer than m of a Poisson process have come.

    Parameters
    ----------
    law : ndarray, shape (numbers,)
        Probabilities of the ends of accesses that are waited for, from 0 on.
    step : float
        Mean time until each of them: exponential.
    share : float
    """
    longer = 1.0 - share
    tails = np.append(law[:0:-1].cumsum()[::-1], 0.0)
    if tails[0] <= longer:
        return 0.0
    numbers = np.arange(np.flatnonzero(tails > _UNSEEN)[-1] + 1)
    tails, factorials = tails[: len(numbers)], scipy.special.gammaln(numbers + 1.0)
    rarely = 1 + int(np.flatnonzero(tails > 0.5 * longer)[-1])

    def excess(time: float) -> float:
        return (
            float(np.exp(scipy.special.xlogy(numbers, time) - time - factorials) @ tails) - longer
        )

    latest = float(scipy.special.gammainccinv(rarely, 0.5 * longer))
    return step * float(scipy.optimize.brentq(excess, 0.0, latest, xtol=1e-300, rtol=1e-12))


def brought_after_wait(
    change_rates: Array, law: Array, of_page: Indices, capacity: float
) -> Callable[[Array], Array]:
    """``E(1 - e^{-mu (W + X - x)^+})``: a change that waits for longer than a time is brought.

    In units of an access, whose time X is exponential. A wait is over after a number of ends of
    accesses, which come at the rate of the capacity. At that rate the time is cut into steps: in
    each an access ends that is waited for, or, once the own one has begun, that one ends with
    probability 1 / capacity; and Poisson numbers of steps have passed at x.

    Parameters
    ----------
    change_rates : ndarray, shape (pages,)
    law : ndarray, shape (kinds, numbers)
        Of the ends that are waited for, as in `Found`.
    of_page : ndarray of int, shape (pages,)
        The kind of each page.
    capacity : float
        At least 1.

    Returns
    -------
    callable
        From times, shape (pages,), to these probabilities.

    Raises
    ------
    NoAnswerError
        If there are too many pages for so many steps.
    """
    stays = 1.0 - 1.0 / capacity
    longest = 1 if stays == 0.0 else 1 + math.ceil(math.log(_UNSEEN) / math.log(stays))
    numbers = law.shape[1]
    steps = numbers + longest
    if steps * len(of_page) > _MOST_STEPS:
        raise NoAnswerError("there are too many pages for quantiles of their times to refresh")
    once, fewer = 1.0 / (1.0 + change_rates), capacity / (capacity + change_rates)
    waiting = np.zeros((len(of_page), steps))
    ahead = law[of_page]
    some, seen = np.zeros(len(of_page)), np.zeros(len(of_page))
    for number in range(numbers - 2, -1, -1):
        seen = fewer * (ahead[:, number + 1] + seen)
        some = some + ahead[:, number + 1]
        waiting[:, number] = some - once * seen
    accessed = ahead[:, 0]
    for step in range(steps):
        waiting[:, step] += accessed * change_rates * once
        following = ahead[:, step + 1] if step + 1 < numbers else 0.0
        accessed = accessed * stays + following
    at_once = waiting[:, 0]
    passed = np.arange(steps)
    factorials = scipy.special.gammaln(passed + 1.0)

    def brought(times: Array) -> Array:
        before = 1.0 - (1.0 - at_once) * np.exp(change_rates * np.minimum(times, 0.0))
        mean = capacity * np.maximum(times, 0.0)[:, None]
        later = (np.exp(scipy.special.xlogy(passed, mean) - mean - factorials) * waiting).sum(
            axis=1
        )
        result: Array = np.where(times < 0.0, before, later)
        return result

    return brought


def with_other_accesses(found: Found, network: Network, until_first: float) -> Found:
    """The same where accesses are not exponential: an approximation by mean values.

    A page waits for those that wait before it and, if all robots have an access, until the first
    of these ends. How many wait follows from the waits by Little's law; that all robots have an
    access is as likely as before.

    Parameters
    ----------
    found : Found
        Of exponential accesses of the same mean.
    network : Network
    until_first : float
        As `time_until_first`.
    """
    before = mean_waits(found)
    all_busy = 1.0 - found.law[:, 0]
    others = before * network.capacity - all_busy
    seen = others / _waiting_pages(before, network)
    waits = before
    for _ in range(_ROUNDS):
        length = seen * _waiting_pages(waits, network)
        again = length / network.capacity + all_busy * until_first
        settled = np.allclose(again, waits, rtol=1e-9, atol=0.0)
        waits = again
        if settled:
            break
    longer = np.divide(waits, before, out=np.ones_like(before), where=before > 0)
    return found._replace(lasting=found.lasting * longer)


def time_until_first(law: Distribution, robots: int) -> float:
    """Mean time until the first of the accesses ends, at a time when all robots have one.

    What is left of each has the tail ``int_x^inf P(X > u) du / E X``, independently.

    Parameters
    ----------
    law : Distribution
        Of the access time.
    robots : int
    """
    mean = mean_time(law)
    times = mean * np.concatenate([np.linspace(0.0, 1.0, _STEPS), np.geomspace(1.0, 1e5, _STEPS)])
    alive = survival(law, times)
    pieces = np.diff(times) * 0.5 * (alive[1:] + alive[:-1])
    left = np.append(np.cumsum(pieces[::-1])[::-1], 0.0)
    tail = (left / left[0]) ** robots
    return float(np.diff(times) @ (0.5 * (tail[1:] + tail[:-1])))


def _waiting_pages(waits: Array, network: Network) -> Array:
    """Mean number of other pages that wait, for each kind, by Little's law."""
    each = waits / (network.intervals + waits + 1.0 / network.rate)
    together = float(network.counts @ each)
    number: Array = together - each
    return number


def exponential_access(change_rates: ArrayLike, rate: float) -> Access:
    """An exponential access, as `frontier_obsolescence` takes it."""
    moments = [factorial(order) / rate**order for order in range(_TERMS + 1)]
    return Access(np.log1p(np.asarray(change_rates, dtype=float) / rate), moments)
