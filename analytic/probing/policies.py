"""Probe times of the policies uniform, first arrival and threshold, with exactly n probes.

All end with a probe at the horizon. The two adaptive policies have one parameter, and for a given
number of probes it is the one that makes all intervals equal: in expected updates (first arrival)
or in expected cost (threshold).
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Callable

import numpy as np

from analytic.probing.profile import Profile
from scenarios.arrays import Array
from scenarios.text import counted

_ROUNDING = 1e-13
"""Rounding error of an expected number of updates, relative to that up to the horizon."""

_SLACK = 1e-12
"""Rounding error of a cost, relative to it and to the share of the horizon it is gathered in."""

_LONG = 1e-8
"""Share of the horizon below which waiting at no price counts as a rounding error."""

_EQUAL = 1e-6
_UNEQUAL = 1e-3
"""Relative differences of costs below which times are not improved, above which refused."""

_SLACKS = (1e-10, 1e-8, 4e-7)
"""Relative differences of costs that are tried where no times give equal costs."""

_MOST_MOVED = 200
"""Most probes for which they are tried: the work grows with the square."""

MOST_PROBES = 1_000_000
"""Probes that a policy given by its parameter may ask for."""

_TOO_MANY = f"probes more than {MOST_PROBES:,} times up to the horizon"

_SMALLEST = 1e-30
"""Smallest threshold that is tried, in units of the largest possible one."""


def uniform_times(horizon: float, probes: int) -> tuple[float, ...]:
    """Equally spaced probe times, ``p_i = i T / n`` (eckstein2005, section 5.2).

    Parameters
    ----------
    horizon : float
        Time of the last probe, T.
    probes : int
        How many, n.
    """
    return (*(index * horizon / probes for index in range(1, probes)), horizon)


def first_arrival_times(profile: Profile, probes: int) -> tuple[float, ...]:
    """Probe times with equally many expected updates between them.

    Parameters
    ----------
    profile : Profile
    probes : int
        n.

    Returns
    -------
    tuple of float
        ``Lambda(p_{i-1}, p_i) = Lambda(0, T) / n``. Where no updates come for a while, the
        earliest such time.

    Raises
    ------
    ValueError
        If no updates are expected.

    Notes
    -----
    eckstein2005, section 5.2: probe when an update has come with probability pi, that is, when
    ``q = -log(1 - pi)`` updates are expected. In terms of q nothing is lost to rounding where pi
    is close to 1.
    """
    counts = _expected_counts(profile)
    return _at_counts(profile, counts, np.arange(1, probes) * (counts[-1] / probes))


def first_arrival_times_at(profile: Profile, probability: float) -> tuple[float, ...]:
    """Probe times, each when an update has come with a probability since the one before.

    Parameters
    ----------
    profile : Profile
    probability : float
        pi, between 0 and 1.

    Returns
    -------
    tuple of float
        ``Lambda(p_{i-1}, p_i) = -log(1 - pi)``, but for the last one, at T.

    Raises
    ------
    ValueError
        If no updates are expected, or there are more than `MOST_PROBES`.

    Notes
    -----
    eckstein2005, section 5.2.
    """
    counts = _expected_counts(profile)
    between = -math.log1p(-probability)
    if counts[-1] > MOST_PROBES * between:
        raise ValueError(_TOO_MANY)
    targets = np.arange(1, math.ceil(counts[-1] / between * (1 - _ROUNDING))) * between
    return _at_counts(profile, counts, targets)


def threshold_times_at(profile: Profile, cost: float) -> tuple[float, ...]:
    """Probe times, each when the expected cost since the one before reaches a value.

    Parameters
    ----------
    profile : Profile
    cost : float
        Pi, above 0.

    Returns
    -------
    tuple of float
        ``C(p_{i-1}, p_i) = Pi``, but for the last one, at T.

    Raises
    ------
    ValueError
        If there are more than `MOST_PROBES`.

    Notes
    -----
    eckstein2005, section 5.2.
    """
    times = _Threshold(profile)(cost, MOST_PROBES + 1)
    if len(times) > MOST_PROBES:
        raise ValueError(_TOO_MANY)
    return (*(time for time in times if time < profile.horizon * (1 - _SLACK)), profile.horizon)


def uniform_times_at(horizon: float, between: float) -> tuple[float, ...]:
    """Probe times so far apart, the last one at the horizon.

    Parameters
    ----------
    horizon : float
    between : float
        Time between two probes.

    Raises
    ------
    ValueError
        If there are more than `MOST_PROBES`.
    """
    if horizon > MOST_PROBES * between:
        raise ValueError(_TOO_MANY)
    count = math.ceil(horizon / between * (1 - _SLACK))
    return (*(index * between for index in range(1, count)), horizon)


def _expected_counts(profile: Profile) -> Array:
    """Expected updates up to each break."""
    counts = np.concatenate([[0.0], np.cumsum(profile.updates * np.diff(profile.edges))])
    if counts[-1] <= 0:
        raise ValueError("no updates are expected up to the horizon")
    return counts


def _at_counts(profile: Profile, counts: Array, targets: Array) -> tuple[float, ...]:
    """The earliest times at which this many updates are expected, and the horizon."""
    reached = np.searchsorted(counts, targets - _ROUNDING * counts[-1])
    inside = np.maximum(targets - counts[reached - 1], 0.0) / profile.updates[reached - 1]
    times = np.minimum(profile.edges[reached - 1] + inside, profile.edges[reached])
    return (*times.tolist(), profile.horizon)


def threshold_times(profile: Profile, probes: int) -> tuple[float, ...]:
    """Probe times with the same expected cost between them.

    Parameters
    ----------
    profile : Profile
    probes : int
        n.

    Returns
    -------
    tuple of float
        ``C(p_{i-1}, p_i) = Pi`` for all i; there is at most one such Pi > 0.

    Raises
    ------
    ValueError
        If there is none, because that number of probes can leave no cost at all; or if it cannot be
        attained with rounded times, because one part of the source matters vastly more than
        another.

    Notes
    -----
    eckstein2005, section 5.2: probe when the expected cost reaches Pi. The time of the n-th probe
    grows with Pi, and has to be T. Where the importance is 0 the cost stands still, so that a
    probe may wait at no price, and the time of the n-th probe jumps as Pi grows. At a jump over T
    some probes wait: the first ones until the cost goes on, one for a part of that time.

    Pi is at most C(0, T) / n, since the costs of the parts sum to at most that of the whole.
    """
    if probes == 1:
        return (profile.horizon,)
    policy = _Threshold(profile)
    largest = 2 * float(profile.between(0.0, profile.horizon).cost) / probes
    smallest = _SMALLEST * largest
    if smallest <= 0 or not policy.fits(smallest, probes):
        raise ValueError(f"no threshold gives {counted(probes, 'probe')} of equal cost")
    cost, _ = _bisect(lambda each: policy.fits(each, probes), smallest, largest)
    return _of_equal_cost(profile, policy, cost, probes)


def _of_equal_cost(
    profile: Profile, policy: _Threshold, cost: float, probes: int
) -> tuple[float, ...]:
    """The times at this cost, which is the right one but for its rounding error.

    Where much is at stake after a time at which little was, that error is raised from probe to
    probe until the last interval is all wrong. Then every interval may cost a little more or less.
    """
    slacks = _SLACKS if probes <= _MOST_MOVED else ()
    bounds = [(cost, cost * (1 + _SLACK * probes))]
    bounds += [(cost * (1 - slack), cost * (1 + slack)) for slack in slacks]
    best: tuple[float, ...] = ()
    least = math.inf
    for between in bounds:
        times = (*_with_waiting(policy, between, probes)[:-1], profile.horizon)
        if (unequal := _inequality(profile, times)) < least:
            best = times
            least = unequal
        if least <= _EQUAL:
            break
    if least > _UNEQUAL:
        raise ValueError(
            f"{probes} intervals of equal cost cannot be attained with rounded times: those of "
            f"the best times differ by {100 * least:.2g} %"
        )
    return best


def _inequality(profile: Profile, times: tuple[float, ...]) -> float:
    """Largest relative difference between the costs of two intervals."""
    costs = profile.between((0.0, *times[:-1]), times).cost
    low = float(costs.min())
    high = float(costs.max())
    return high / low - 1 if low > 0 else math.inf


def _bisect(holds: Callable[[float], bool], low: float, high: float) -> tuple[float, float]:
    """Neighbouring numbers, such that it holds for the first and not for the second."""
    while low < (middle := (low + high) / 2) < high:
        low, high = (middle, high) if holds(middle) else (low, middle)
    return low, high


def _with_waiting(policy: _Threshold, costs: tuple[float, float], probes: int) -> list[float]:
    """Times at which the cost is reached, moved where that is free so that the last one is T.

    n probes fit before T at the lower cost, but not at the upper one, which is larger by a rounding
    error, and at which every probe waits as long as it can. Where no waiting is free, rounding
    errors that have grown from probe to probe are taken out at the first one.
    """
    times: list[float] = []
    cost, above = costs
    while True:
        start = times[-1] if times else 0.0
        left = probes - len(times)
        early = policy(cost, left, start)
        before = [start, *early]
        if left <= 1 or not policy.fits(above, 1, before[-2]):
            return times + early
        late = [policy.next(above, each) for each in before[:-2]]
        waits = [after - time for time, after in zip(early, late, strict=False)]
        first = next((k for k, wait in enumerate(waits) if wait > _LONG * policy.horizon), 0)
        moved = _latest(policy, cost, (early[first], late[first]), left - first - 1)
        times += [*early[:first], moved]


def _latest(policy: _Threshold, cost: float, between: tuple[float, float], probes: int) -> float:
    """Latest time in an interval after which that many probes still fit."""
    early, late = between
    if policy.fits(cost, probes, late):
        return late
    return _bisect(lambda time: policy.fits(cost, probes, time), early, late)[0]


class _Threshold:
    """Probes whenever the expected cost since the last probe reaches a value."""

    def __init__(self, profile: Profile) -> None:
        self.horizon = profile.horizon
        self._edges: list[float] = profile.edges.tolist()
        self._cells = list(
            zip(profile.updates.tolist(), profile.importance.tolist(), self._edges[1:], strict=True)
        )

    def fits(self, cost: float, probes: int, start: float = 0.0) -> bool:
        """Whether that many probes come up to the horizon."""
        return len(self(cost, probes, start)) == probes

    def next(self, cost: float, start: float) -> float:
        """The first probe time after `start`, or the horizon where that comes before."""
        return next(iter(self(cost, 1, start)), self.horizon)

    def __call__(self, cost: float, probes: int, start: float = 0.0) -> list[float]:
        """The first probe times after `start`, fewer where the horizon comes before."""
        times: list[float] = []
        now = start
        seen = 0.0
        spent = 0.0
        index = bisect_right(self._edges, start) - 1
        while len(times) < probes and index < len(self._cells):
            rate, importance, end = self._cells[index]
            width = end - now
            slope = seen * importance
            step = _time_to_cost(cost - spent, slope, rate * importance)
            if step <= width:
                now = min(now + step, end)
                seen = 0.0
                spent = 0.0
                times.append(now)
            else:
                spent += width * (slope + rate * importance * width / 2)
                seen += rate * width
                now = end
                index = index + 1
        return times


def _time_to_cost(cost: float, slope: float, curvature: float) -> float:
    """The root d of ``curvature d**2 / 2 + slope d = cost``, without cancellation."""
    if cost <= 0:
        return 0.0
    root = slope + math.sqrt(slope**2 + 2 * curvature * cost)
    return 2 * cost / root if root > 0 else math.inf
