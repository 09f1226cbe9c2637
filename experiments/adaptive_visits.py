"""Crawlers that adapt the interval of each page to what its last visit found, along a history.

Each page is visited at the times that the rule of the crawler says, one visit after the other. All
times of a rule are multiplied by one factor, so that in a window the visits come to a budget.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from crawlsim.logs.plan.allocation import DAY
from crawlsim.logs.plan.replay import Changes
from scenarios.arrays import Array
from scenarios.kernels import compiled

HOUR = 3600.0
PHASES = 4
_SHORTEST_FACTOR = 1e-4
_LONGEST_FACTOR = 1e4
_HALVINGS = 40
_PRECISION = 0.002


class Rule(NamedTuple):
    """How the interval to the next visit follows from what a visit found; times in seconds.

    Attributes
    ----------
    increase : float
        The interval becomes ``1 + increase`` times as long where the page had not changed.
    decrease : float
        Where it had, this part of the interval is cut off, down to `towards`.
    towards : float
    shortest, longest : float
    initial : float
        Until the second visit.
    """

    increase: float
    decrease: float
    towards: float
    shortest: float
    longest: float
    initial: float

    def slower(self, factor: float) -> Rule:
        """The rule with all times multiplied."""
        return self._replace(
            towards=factor * self.towards,
            shortest=factor * self.shortest,
            longest=factor * self.longest,
            initial=factor * self.initial,
        )


NUTCH = Rule(0.2, 0.2, 0.0, 60.0, 365 * DAY, 30 * DAY)
"""org.apache.nutch.crawl.AdaptiveFetchSchedule of apache/nutch at commit 0abf9756717d, with the
factors written in the class and without `sync_delta`; the first interval is the one of
conf/nutch-default.xml at commit 63d4f11c08aa."""

NUTCH_AS_SHIPPED = NUTCH._replace(increase=0.4)
"""The same with the factors of conf/nutch-default.xml."""

STORM = Rule(0.5, 0.5, HOUR, 0.0, 14 * DAY, DAY)
"""org.apache.stormcrawler.persistence.AdaptiveScheduler of apache/stormcrawler at commit
0580fa0d6cde, with its defaults and those of DefaultScheduler; here not in whole minutes."""


class Visited(NamedTuple):
    """What a crawler did in a window, page by page.

    Attributes
    ----------
    visits, found : ndarray, shape (pages,)
        Visits, and those that found a change.
    stale : ndarray, shape (pages,)
        Seconds for which the copy was out of date.
    """

    visits: Array
    found: Array
    stale: Array


@compiled
def _walk(  # noqa: C901  # one pass along the visits of a page
    first_change: np.ndarray,
    time: np.ndarray,
    start: np.ndarray,
    rule: Rule,
    since: float,
    until: float,
    visits: np.ndarray,
    found: np.ndarray,
    stale: np.ndarray,
) -> None:
    """Each page from its first visit on; fills the arrays of a `Visited`."""
    for page in range(len(start)):
        now = start[page]
        interval = rule.initial
        place = first_change[page]
        last = first_change[page + 1]
        opening = True
        while now < until or place < last:
            changed = False
            missed = -1.0
            while place < last and time[place] <= now:
                if missed < 0.0 and time[place] >= since:
                    missed = time[place]
                changed = True
                place += 1
            if missed >= 0.0 and missed < until:
                stale[page] += min(now, until) - missed
            if now >= until:
                break
            if now >= since:
                visits[page] += 1
                if changed and not opening:
                    found[page] += 1
            if opening:
                opening = False
            elif changed:
                interval -= rule.decrease * (interval - rule.towards)
            else:
                interval *= 1.0 + rule.increase
            interval = min(max(interval, rule.shortest), rule.longest)
            now += interval


def visited(
    rule: Rule, changes: Changes, created: Array, since: float, until: float, phase: float = 0.0
) -> Visited:
    """Visits from the creation of each page on, and what they cost in a window.

    Parameters
    ----------
    rule : Rule
    changes : Changes
    created : ndarray, shape (pages,)
    since, until : float
        The window. Copies count as fresh at its beginning.
    phase : float
        The first visit comes this part of the initial interval after the creation.
    """
    pages = len(created)
    first = np.searchsorted(changes.page, np.arange(pages + 1))
    start = created + phase * rule.initial
    result = Visited(np.zeros(pages), np.zeros(pages), np.zeros(pages))
    _walk(first, changes.time, start, rule, since, until, *result)
    return result


def within_budget(
    rule: Rule, changes: Changes, created: Array, since: float, until: float, budget: float
) -> tuple[float, Visited]:
    """The factor by which the times of a rule are multiplied, and what its visits cost.

    Parameters
    ----------
    rule, changes, created, since, until
        As of `visited`; here the mean over some phases.
    budget : float
        Visits in the window, all pages together.

    Raises
    ------
    ValueError
        If no factor leads to within one per cent of the budget.
    """

    def mean_visited(logarithm: float) -> Visited:
        slower = rule.slower(float(np.exp(logarithm)))
        phases = (np.arange(PHASES) + 0.5) / PHASES
        runs = [visited(slower, changes, created, since, until, each) for each in phases]
        return Visited(*(np.mean(each, axis=0) for each in zip(*runs, strict=True)))

    low = np.log(_SHORTEST_FACTOR)
    high = np.log(_LONGEST_FACTOR)
    best = (np.inf, 0.0, mean_visited(0.0))
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        tried = mean_visited(middle)
        number = float(tried.visits.sum())
        off = abs(number / budget - 1)
        if off < best[0]:
            best = (off, middle, tried)
        if off < _PRECISION:
            break
        low, high = (middle, high) if number > budget else (low, middle)
    if best[0] > 0.01:
        raise ValueError(f"the visits nearest to the budget are {best[0]:.1%} off")
    return float(np.exp(best[1])), best[2]
