"""Plans for crawlers that hear signals: a level of each page, and what one signal counts for.

A page is due when the time since its last visit, and what each signal since then counts for, reach
its level. Levels are the best ones for the rates as they are estimated (docs/theory/signals.md),
but no page waits longer than its limit; what that promises is worked out for each draw of the rates
that the log leaves possible, with the levels as they are.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import optimize, special

from analytic.signals.levels import best_levels
from crawlsim.logs.fit.signal_worth import Draws
from crawlsim.logs.plan import allocation
from crawlsim.logs.plan.allocation import DAY, Limits
from crawlsim.logs.read.signals import Heard
from scenarios.arrays import Array
from scenarios.signals import SignalRates

EVEN_SHARE = 0.1
"""Of the visits of an even plan: what a page gets whose signals are silent."""

_MOST_TERMS = 400
_TINY = 1e-300
_PRECISION = 1e-6
_ROUNDING = 1e-4
_FARTHEST = 20.0
_MOST_PAGES = 2048


class Due(NamedTuple):
    """When pages are due; arrays of one shape, in seconds.

    Attributes
    ----------
    levels : ndarray
        Time since the last visit, signals counted in, at which a page is due.
    worths : ndarray
        Time that one signal since the last visit counts for.
    shortest : float or ndarray
        Time between two visits that is kept whatever is heard.
    """

    levels: Array
    worths: Array
    shortest: float | Array


class Rates(NamedTuple):
    """Silent changes, changes with a signal, and false signals, per second."""

    silent: Array
    true: Array
    false: Array


def cycles(rates: Rates, due: Due) -> tuple[Array, Array]:
    """Mean time between two visits of each page, and the part of it in which its copy is fresh.

    Parameters
    ----------
    rates : Rates
        As they are, which need not be what the levels were made for; broadcast with `due`.
    due : Due

    Notes
    -----
    With ``y_i = x - i b``, m the shortest time and P the regularised lower incomplete gamma
    function, T is ``m + sum_i (P(i+1, g y_i) - P(i+1, g m)) / g`` over ``y_i > m``, and F is
    ``(1 - e^{-D m}) / D + sum_i (nu / c)^i (P(i+1, c y_i) - P(i+1, c m)) / c`` with ``c = a + g``:
    the formulas of docs/theory/signals.md for m = 0. Where more than 400 signals make a level each
    is next to nothing, and a cycle has the length that they have in the mean.
    """
    shape = np.broadcast_shapes(*(np.shape(each) for each in (*rates, *due)))
    silent, true, false, level, worth, least = (
        np.broadcast_to(np.asarray(each, float), shape).ravel() for each in (*rates, *due)
    )
    heard = np.maximum(true + false, _TINY)
    either = silent + heard
    changes = np.maximum(silent + true, _TINY)
    steady = np.maximum(level / (1.0 + heard * worth), least)
    is_steady = worth * _MOST_TERMS <= level
    length = np.where(is_steady, steady, least)
    fresh = -np.expm1(-changes * length) / changes
    terms = np.where(is_steady, 0.0, np.ceil((level - least) / np.where(is_steady, 1.0, worth)))
    for i in range(int(terms.max(initial=0))):
        some = np.flatnonzero(terms > i)
        until = level[some] - i * worth[some]
        own = heard[some]
        both = either[some]
        start = least[some]
        length[some] += _between(i, own, start, until)
        fresh[some] += (false[some] / both) ** i * _between(i, both, start, until)
    return length.reshape(shape), np.minimum(fresh, length).reshape(shape)


def _between(i: int, rate: Array, begin: Array, end: Array) -> Array:
    """Mean time between two times in which i events of a Poisson process have happened."""
    end = np.maximum(end, begin)
    if i == 0:
        return (np.exp(-rate * begin) - np.exp(-rate * end)) / rate
    return (special.gammainc(i + 1, rate * end) - special.gammainc(i + 1, rate * begin)) / rate


@dataclass(frozen=True)
class LevelPlan:
    """When each page is due, and what that promises.

    Attributes
    ----------
    due : Due
        Of shape (pages,).
    visits : ndarray, shape (pages,)
        Per second, as signals come in the mean.
    draws : Draws
        Of the rates, for what is promised; none where nothing is known.
    """

    due: Due
    visits: Array
    draws: Draws | None

    def stale(self) -> Array:
        """Share of time out of date of each page, for each draw; shape (pages, draws)."""
        assert self.draws is not None
        return _by_block(self._stale_of, len(self.visits))

    def _stale_of(self, pages: slice) -> Array:
        assert self.draws is not None
        some = self.draws
        true = some.true[pages]
        rates = Rates(some.silent[pages], true, some.heard[pages] - true)
        length, fresh = cycles(rates, _of(self.due, pages, (slice(None), None)))
        return 1.0 - fresh / length


def _by_block(found: Callable[[slice], Array], pages: int) -> Array:
    """What is found of some thousand pages at a time, together."""
    firsts = range(0, pages, _MOST_PAGES)
    return np.concatenate([found(slice(first, first + _MOST_PAGES)) for first in firsts])


def _of(due: Due, pages: slice | NDArray[np.int64], axes: tuple[slice | None, ...] = ()) -> Due:
    """The same of some pages, with more axes."""
    full = (np.broadcast_to(each, due.levels.shape)[pages] for each in due)
    return Due(*(each[axes] if axes else each for each in full))


def level_plan(draws: Draws, importance: Array, limits: Limits, even_share: float) -> LevelPlan:
    """The levels that promise most with the visits and limits that there are.

    Parameters
    ----------
    draws : Draws
        Whose means the levels are made for.
    importance : ndarray, shape (pages,)
    limits : Limits
        Of pages and of hosts; the shortest time between two visits is waited for.
    even_share : float
        Of the visits of an even plan, which each page gets even if it never signals.
    """
    true = draws.true.mean(axis=1)
    rates = Rates(draws.silent.mean(axis=1), true, draws.heard.mean(axis=1) - true)
    pages = len(true)
    even = allocation.evenly(limits)
    if even_share == 1:
        return replace(deaf(even), draws=draws)
    with np.errstate(divide="ignore"):
        longest = 1.0 / np.maximum(limits.least, even_share * even)
        shortest = np.broadcast_to(1.0 / np.asarray(limits.most, float), pages)
    problem = _Problem(rates, importance, np.maximum(longest, shortest), shortest)
    due = Due(np.empty(pages), np.empty(pages), shortest)
    for some, own in _of_hosts(problem, limits):
        due.levels[some] = own.levels
        due.worths[some] = own.worths
    return LevelPlan(due, 1.0 / cycles(rates, due)[0], draws)


def _of_hosts(problem: _Problem, limits: Limits) -> Iterator[tuple[NDArray[np.int64], Due]]:
    """Levels of pages that share a budget: each host that its limit holds back, and all others."""
    left = np.arange(len(limits.host))
    budget = limits.budget
    while len(left):
        own = problem.of(left)
        due = own.solved(budget)
        visits = 1.0 / cycles(own.rates, due)[0]
        of_host = np.bincount(limits.host[left], visits, len(limits.host_budgets))
        over = np.flatnonzero(of_host > limits.host_budgets * (1 + _ROUNDING))
        if not len(over):
            yield left, due
            return
        for host in over.tolist():
            most = float(limits.host_budgets[host])
            some = left[limits.host[left] == host]
            yield some, problem.of(some).solved(most)
            budget -= most
        left = left[~np.isin(limits.host[left], over)]


class _Problem(NamedTuple):
    """Pages among which visits are shared out."""

    rates: Rates
    importance: Array
    longest: Array
    shortest: Array

    def of(self, pages: NDArray[np.int64]) -> _Problem:
        """The same of some pages."""
        rates = Rates(*(each[pages] for each in self.rates))
        return _Problem(rates, *(each[pages] for each in self[1:]))

    def solved(self, budget: float) -> Due:
        """Levels that use so many visits per second."""

        def surplus(log_visits: float) -> float:
            visits = 1.0 / cycles(self.rates, self._at(np.exp(log_visits) * budget))[0]
            return float(np.log(visits.sum() / budget))

        near = far = 0.0
        ahead = surplus(near)
        if abs(ahead) < _ROUNDING:
            return self._at(budget)
        step = -0.25 if ahead > 0 else 0.25
        while abs(far) < _FARTHEST:
            far += step
            if surplus(far) * ahead <= 0:
                found = optimize.brentq(surplus, *sorted((near, far)), xtol=_PRECISION)
                return self._at(np.exp(found) * budget)
            near = far
            step *= 2.0
        return self._at(np.exp(far) * budget)  # the limits leave no choice

    def _at(self, visits: float) -> Due:
        """The best levels for some visits per second, where no page waits longer than it may.

        Of a page that would wait too long the time is counted faster, so that as many signals as
        before make it due, if time does not.
        """
        per_day = SignalRates(*(each * DAY for each in self.rates))
        with np.errstate(divide="ignore"):  # of a page far beyond its level
            best = best_levels(per_day, self.importance, visits * DAY)
        levels = np.minimum(best.levels * DAY, self.longest)
        with np.errstate(divide="ignore", invalid="ignore"):
            worths = np.nan_to_num(best.worths * DAY * (levels / (best.levels * DAY)), nan=0.0)
        worths = np.minimum(worths, levels)  # one is enough
        return Due(np.maximum(levels, self.shortest), worths, self.shortest)


def deaf(visits: Array) -> LevelPlan:
    """The levels of a plan for which signals count for nothing, from its visits per second."""
    return LevelPlan(Due(1.0 / visits, np.zeros(len(visits)), 0.0), visits, None)


class Replayed(NamedTuple):
    """What became of pages in a time; both of shape (pages,).

    Attributes
    ----------
    stale : ndarray
        Share of the time for which the copy was out of date.
    visits : ndarray
        Number of visits.
    """

    stale: Array
    visits: Array


def replayed(
    changes: tuple[NDArray[np.int64], Array],
    heard: Heard,
    plan: LevelPlan,
    since: float,
    until: float,
) -> Replayed:
    """Pages visited by their levels, as their signals were heard.

    Parameters
    ----------
    changes : pair of ndarray
        Pages and times of all changes, by page and time.
    heard : Heard
    plan : LevelPlan
    since, until : float
        Seconds since 1970.

    Notes
    -----
    Each page begins somewhere in its cycle before the time that counts, at equal distances over all
    pages.
    """
    pages = len(plan.visits)
    stale = np.zeros(pages)
    number = np.zeros(pages)
    of_changes = np.searchsorted(changes[0], np.arange(pages + 1))
    of_signals = np.searchsorted(heard.page, np.arange(pages + 1))
    shortest = np.broadcast_to(plan.due.shortest, pages)
    phases = (np.arange(pages) * (np.sqrt(5.0) - 1.0) / 2.0) % 1.0
    for page in range(pages):
        times = changes[1][of_changes[page] : of_changes[page + 1]]
        signals = heard.time[of_signals[page] : of_signals[page + 1]]
        level = plan.due.levels[page]
        worth = plan.due.worths[page]
        last = since - phases[page] / plan.visits[page]
        while last < until:
            following = _next_due(last, signals, level, worth, shortest[page])
            first = int(np.searchsorted(times, last, "right"))
            changed = times[first] if first < len(times) else np.inf
            stale[page] += max(min(following, until) - max(changed, last, since), 0.0)
            number[page] += since <= following < until
            last = following
    return Replayed(stale / (until - since), number)


def _next_due(last: float, signals: Array, level: float, worth: float, shortest: float) -> float:
    """When a page is visited next, with these signals to come."""
    first, end = np.searchsorted(signals, [last, last + level], "right")
    due = last + level
    for number, moment in enumerate(signals[first:end].tolist(), start=1):
        if moment >= due:
            break
        due = max(moment, last + level - worth * number)
    return max(due, last + shortest)
