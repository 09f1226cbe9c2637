"""What plans would have paid: fitted to a part of a log, replayed in the year that followed."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import optimize, special

from crawlsim.logs.fit.clocks import further_events
from crawlsim.logs.read.gaps import YEAR, Gaps
from scenarios.arrays import Array

Verdict = Literal["pays", "does not pay", "unknown"]

_IMPUTATIONS = 8
_SEED = 22
_SHORTEST_HISTORY = 0.9
_FEWEST_CUTS = 3
_MOST_CHANGES_IN_A_GAP = 50.0
_CONFIDENCE = 0.8


@dataclass(frozen=True)
class Changes:
    """Times of changes, page by page in time.

    Attributes
    ----------
    page : ndarray of int, shape (changes,)
        Non-decreasing.
    time : ndarray, shape (changes,)
        Increasing within a page.
    """

    page: NDArray[np.int64]
    time: Array


def imputed_changes(gaps: Gaps, rates: Array, rng: np.random.Generator) -> Changes:
    """Change times that would have left this log, drawn given what it says.

    Parameters
    ----------
    gaps : Gaps
    rates : ndarray, shape (pages,)
        Changes per second.
    rng : numpy.random.Generator

    Notes
    -----
    In a gap with a change there was at least one: a Poisson number, given that it is not 0, at
    independent uniform times.
    """
    page = gaps.page[gaps.changed].astype(np.int64)
    length = gaps.length[gaps.changed]
    start = gaps.start[gaps.changed]
    expected = np.minimum(rates[page] * length, _MOST_CHANGES_IN_A_GAP)
    row = np.repeat(np.arange(len(page)), 1 + further_events(expected, rng))
    time = start[row] + length[row] * rng.random(len(row))
    order = np.lexsort((time, page[row]))
    return Changes(page[row][order], time[order])


def stale_times(changes: Changes, visits: Array, since: float, until: float) -> Array:
    """Share of a window for which each page's copy is out of date, shape (pages,).

    Parameters
    ----------
    changes : Changes
    visits : ndarray, shape (pages,)
        Visits per second, at equal intervals.
    since, until : float

    Notes
    -----
    The mean over a uniform phase of the visits: a copy is out of date if its last visit was before
    the last change, which has the probability ``max(0, 1 - b f)`` at a time b after this change.
    """
    inside = changes.time < until
    page = changes.page[inside]
    time = changes.time[inside]
    following = np.append(time[1:], until)
    following[np.append(page[1:] != page[:-1], True)] = until
    interval = 1 / visits[page]

    def stale_until(age: Array) -> Array:
        age = np.clip(age, 0.0, interval)
        return age - age**2 / (2 * interval)

    stale = stale_until(following - time) - stale_until(np.minimum(following, since) - time)
    return np.bincount(page, stale, len(visits)) / (until - since)


def delays(changes: Changes, visits: Array, since: float, until: float) -> Array:
    """Time from changes in a window to the visits that find them, summed, per time of the window.

    Over a uniform phase of the visits it is half an interval of each change, shape (pages,).
    """
    number = _changes_within(changes, len(visits), since, until)
    return number / (2 * visits) / (until - since)


def changes_found(changes: Changes, visits: Array, since: float, until: float) -> Array:
    """Visits of a window, per time of it, that find a change, shape (pages,).

    Notes
    -----
    The mean over a uniform phase of the visits: of the changes between two visits the last one
    counts, and a change is that if the next one is further off than the next visit, which has the
    probability ``min(1, d f)`` at a distance d.
    """
    inside = (changes.time >= since) & (changes.time < until)
    following = np.append(changes.time[1:], np.inf)
    following[np.append(changes.page[1:] != changes.page[:-1], True)] = np.inf
    page = changes.page[inside]
    last = np.minimum(1.0, (following[inside] - changes.time[inside]) * visits[page])
    return np.bincount(page, last, len(visits)) / (until - since)


def harmonic_costs(changes: Changes, visits: Array, since: float, until: float) -> Array:
    """LambdaCrawl's cost of each page, its changes in a window taken for their expected number."""
    rates = _changes_within(changes, len(visits), since, until) / (until - since)
    return np.log1p(rates / visits)


def _changes_within(changes: Changes, pages: int, since: float, until: float) -> NDArray[np.int64]:
    inside = (changes.time >= since) & (changes.time < until)
    return np.bincount(changes.page[inside], minlength=pages)


Cost = Callable[[Changes, Array, float, float], Array]
"""From a history, visits per second of each page and a window to what they cost in it."""

COSTS: Mapping[str, Cost] = {
    "freshness": stale_times,
    "delay": delays,
    "harmonic": harmonic_costs,
}
"""Objective -> what visits of each page cost in a window of a history."""


@dataclass(frozen=True)
class Window:
    """One cut of the log: the saving that the plan promised, and what it paid.

    Attributes
    ----------
    cut : float
        Seconds since 1970: the plan is fitted to what was seen before.
    pages : int
    promised, paid : float or None
        Share of the cost of even visits that the plan saves; None where nothing changed.
    bytes : float, optional
        Per second that the plan fetched, where the budget is one of bytes; even visits are then as
        many as fetch the same.
    """

    cut: float
    pages: int
    promised: float | None
    paid: float | None
    bytes: float | None = None


@dataclass(frozen=True)
class Trial:
    """Plan and even visits at one cut, over some of the pages.

    Attributes
    ----------
    pages : ndarray of int
        Those that the log knew at the cut.
    visits, even : ndarray, shape of `pages`
        Per second.
    importance : ndarray, shape of `pages`
    promised : float
        Saving that the plan expected.
    costs : (ndarray, float), optional
        Bytes of each of the pages, and of a visit that finds no change; default all visits alike.
    """

    pages: NDArray[np.int64]
    visits: Array
    even: Array
    importance: Array
    promised: float
    costs: tuple[Array, float] | None = None


def cuts(gaps: Gaps) -> list[float]:
    """Whole years before the end of the log, from the first that has a year before it."""
    years = int(np.floor((gaps.end - gaps.begin) / YEAR - _SHORTEST_HISTORY))
    return [gaps.end - year * YEAR for year in range(max(years, 0), 0, -1)]


def histories_of(gaps: Gaps, rates: Array) -> list[Changes]:
    """Several histories of changes that would have left a log, for `backtest`."""
    rng = np.random.default_rng(_SEED)
    return [imputed_changes(gaps, rates, rng) for _ in range(_IMPUTATIONS)]


def backtest(
    gaps: Gaps,
    histories: Sequence[Changes],
    tried: Callable[[Gaps, NDArray[np.int64]], Trial],
    objective: str = "freshness",
) -> list[Window]:
    """Plans fitted before each yearly cut of a log, replayed in the year after.

    Parameters
    ----------
    gaps : Gaps
        The whole log.
    histories : sequence of Changes
        Over whose changes the plans are replayed: the true one where it is known.
    tried : callable
        Makes a plan for some pages from the gaps before a cut.
    objective : str
        A key of `COSTS`, by which the visits are compared.

    Notes
    -----
    A year in which no page was visited again says nothing of what a plan would have paid, and is
    left out; so one wrong date does not make centuries to replay.
    """
    windows = []
    seen_again = np.sort(gaps.start + gaps.length)
    for cut in cuts(gaps):
        if np.ptp(np.searchsorted(seen_again, [cut, cut + YEAR], "right")) == 0:
            continue
        known = gaps.before(cut)
        pages = np.flatnonzero(known.visits > 0)
        if not len(known.page):
            continue
        trial = tried(known.of(pages), pages)
        year = _Year(histories, trial.pages, gaps.pages, cut)
        even = trial.even
        fetched = None
        if trial.costs is not None:
            fetched = year.bytes(trial.visits, *trial.costs)
            even = even * _factor_for(fetched, year, trial)
        costs = [
            float(trial.importance @ year.mean(COSTS[objective], visits))
            for visits in (trial.visits, even)
        ]
        paid = 1 - costs[0] / costs[1] if costs[1] > 0 else None
        windows.append(Window(cut, len(pages), trial.promised, paid, fetched))
    return windows


class _Year(NamedTuple):
    """The year after a cut, by several histories, for the pages that were known at the cut."""

    histories: Sequence[Changes]
    pages: NDArray[np.int64]
    in_all: int
    cut: float

    def mean(self, cost: Cost, visits: Array) -> Array:
        """Mean cost of visits of each page over the histories."""
        of_all = np.ones(self.in_all)
        of_all[self.pages] = visits
        costs = [cost(each, of_all, self.cut, self.cut + YEAR) for each in self.histories]
        return np.asarray(np.mean([each[self.pages] for each in costs], axis=0))

    def bytes(self, visits: Array, sizes: Array, unchanged: float) -> float:
        """Bytes per second that visits fetch, all pages together."""
        found = self.mean(changes_found, visits)
        return float((unchanged * (visits - found) + sizes * found).sum())


def _factor_for(fetched: float, year: _Year, trial: Trial) -> float:
    """By what even visits are to be multiplied so that they fetch as many bytes as the plan."""
    assert trial.costs is not None
    costs = trial.costs

    def surplus(log_factor: float) -> float:
        return year.bytes(np.exp(log_factor) * trial.even, *costs) - fetched

    # Bytes are concave in the visits: they change by no more than the ratio of the dearest visit
    # to the cheapest one.
    far = np.log(max(*trial.costs[0], trial.costs[1]) / min(*trial.costs[0], trial.costs[1])) + 1
    far += abs(np.log(fetched / year.bytes(trial.even, *costs)))
    return float(np.exp(optimize.brentq(surplus, -far, far, xtol=1e-9)))


def verdict_of(windows: Sequence[Window]) -> Verdict:
    """Whether a plan pays, by what it paid in earlier years.

    Notes
    -----
    "pays": at least three cuts, and the lower end of the 80 % interval of their mean above 0 with a
    mean above 3 %, or three quarters of them above 0 with a mean above 5 %. "does not pay": at
    least two cuts, and the upper end below 0. The interval is Student's.
    """
    paid = np.array([each.paid for each in windows if each.paid is not None])
    if len(paid) < 2:
        return "unknown"
    mean = float(paid.mean())
    error = float(paid.std(ddof=1) / np.sqrt(len(paid)))
    half = float(special.stdtrit(len(paid) - 1, (1 + _CONFIDENCE) / 2)) * error
    if mean + half < 0:
        return "does not pay"
    surely = mean - half > 0 and mean > 0.03
    mostly = (paid > 0).mean() >= 0.75 and mean > 0.05
    return "pays" if len(paid) >= _FEWEST_CUTS and (surely or mostly) else "unknown"
