"""Change rates of pages from the times of their changes, and tests whether these are Poisson."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crawlsim.logs.fit.clocks import clock_step, filled_rows, rate_per_step
from crawlsim.logs.fit.intervals import parameters_of, rates_of_counts
from crawlsim.logs.fit.poisson_tests import PageGaps, page_gaps
from crawlsim.logs.fit.poisson_verdict import (
    Burstiness,
    Clock,
    burstiness_of,
    hidden_note,
    page_verdict,
    scales,
    staleness_verdict,
)
from crawlsim.logs.fit.result import Fit, Options, window_of
from crawlsim.logs.fit.trace import UNITS, Trace
from crawlsim.logs.read.columns import starts_anew
from scenarios.arrays import Array
from scenarios.text import counted

OF_NO_CHANGE = 0.5
"""Changes that stand for none, by Jeffreys' prior of a rate."""

_FEW_GAPS = 10
_SHORTEST_YEARS = 0.1
_SHORTEST_SHARE = 0.01
_HIDDEN = 0.05


@dataclass(frozen=True)
class History:
    """Changes of pages in a window, page by page in time.

    Attributes
    ----------
    page : ndarray of int, shape (changes,)
        Non-decreasing.
    time : ndarray, shape (changes,)
        Of the changes after the first sight of a page; increasing within a page.
    first : ndarray, shape (pages,)
        Since when each page is watched; NaN for a page that is not seen.
    end : float
        Until when all are.
    repeated : int
        Rows that say the same page and time again.
    """

    page: NDArray[np.int32]
    time: Array
    first: Array
    end: float
    repeated: int

    @property
    def observed(self) -> Array:
        """How long each page is watched, shape (pages,)."""
        return self.end - self.first

    @property
    def gaps(self) -> tuple[NDArray[np.int32], Array]:
        """Pages and times between successive changes, the first sight counted as one."""
        before = np.concatenate([[np.nan], self.time[:-1]])
        starts = np.flatnonzero(np.diff(self.page, prepend=-1))
        before[starts] = self.first[self.page[starts]]
        return self.page, self.time - before


def history_of(
    page: NDArray[np.int32],
    time: Array,
    pages: int,
    window: tuple[float | None, float | None] = (None, None),
) -> History:
    """The changes within a window.

    Parameters
    ----------
    page, time : ndarray, shape (rows,)
        In any order; the first row of a page is its creation.
    pages : int
    window : pair of float or None
        Since and until when to count; default from the first sight of each page to the last row.

    Raises
    ------
    ValueError
        If nothing is left, naming the window.
    """
    order = np.lexsort((time, page))
    page = page[order]
    time = time[order]
    new = starts_anew(page, time)
    repeated = int(len(new) - new.sum())
    page = page[new]
    time = time[new]
    since = -np.inf if window[0] is None else window[0]
    end = float(time.max()) if window[1] is None else window[1]
    starts = np.flatnonzero(np.diff(page, prepend=-1))
    first = np.full(pages, np.nan)
    first[page[starts]] = np.maximum(time[starts], since)
    first[first >= end] = np.nan
    later = (time > first[page]) & (time <= end)
    if np.isnan(first).all():
        raise ValueError("the window holds no page")
    return History(page[later], time[later], first, end, repeated)


@dataclass(frozen=True)
class CountedRates:
    """Change rates of the pages that are watched long enough.

    Attributes
    ----------
    index : ndarray of int, shape (pages,)
        Which pages of the trace.
    counts : ndarray of int
        Changes after the first sight.
    observed : ndarray
        Time watched.
    rates, low, high : ndarray
        With 95 % intervals of Poisson counts. No rate is 0.
    left_out : int
        Pages watched for a shorter time.
    """

    index: NDArray[np.int64]
    counts: NDArray[np.int64]
    observed: Array
    rates: Array
    low: Array
    high: Array
    left_out: int

    @property
    def never(self) -> NDArray[np.bool_]:
        """Pages that were never seen to change."""
        return np.equal(self.counts, 0)

    @property
    def standard_errors(self) -> Array:
        """``sqrt(N) / T``; of a page that did not change, that of its rate's posterior law."""
        return np.sqrt(self.rates / self.observed)


def counted_rates(history: History, shortest: float) -> CountedRates:
    """Change rates: (rows - 1) / (end of file - first row), or half a change, page by page.

    Parameters
    ----------
    history : History
    shortest : float
        Pages watched for less are left out.

    Raises
    ------
    ValueError
        If no page is watched that long.

    Notes
    -----
    The maximum likelihood of a Poisson process watched for a fixed time. The first row is where
    watching begins, and no change. Where the end is the last row of all, and not the time at which
    the log was taken, all rates are too large by less than one part in the number of rows.

    The likelihood of a page that did not change is largest at 0, and a page with rate 0 would never
    be accessed again, which no data can justify. Its rate is Jeffreys' (N + 1/2) / T with N = 0,
    the posterior mean under the prior ``mu^(-1/2)``: half of what one change in that time gives.
    """
    observed = history.observed
    long_enough: NDArray[Any] = observed >= max(shortest, 1e-300)
    index = np.flatnonzero(long_enough)
    if not len(index):
        raise ValueError(f"no page is watched for {shortest:g} or longer")
    counts = np.bincount(history.page, minlength=len(observed))[index]
    left_out = int(np.isfinite(observed).sum() - len(index))
    _, low, high = rates_of_counts(counts, observed[index])
    rates = np.where(counts > 0, counts, OF_NO_CHANGE) / observed[index]
    return CountedRates(index, counts, observed[index], rates, low, high, left_out)


def expected_changes(history: History) -> Callable[[Array], Array]:
    """Cumulative number of changes of all pages together, each with its own constant rate.

    Returns
    -------
    callable
        From times, shape (n,), to numbers of changes, shape (n,).
    """
    counts = np.bincount(history.page, minlength=len(history.first))
    seen = np.flatnonzero(counts)
    seen = seen[np.argsort(history.first[seen])]
    starts = history.first[seen]
    rates = counts[seen] / history.observed[seen]
    knots = np.append(starts, history.end)
    expected = np.concatenate([[0.0], np.cumsum(np.cumsum(rates) * np.diff(knots))])
    return lambda times: np.interp(times, knots, expected)


def gap_variation(history: History) -> Array:
    """Coefficient of variation of the gaps of each page with at least ten; 1 if exponential.

    Notes
    -----
    Of n exponential gaps the square of the plain estimate is ``(n - 1) / (n + 1)`` on average, also
    if they are those until the last change in a fixed time; this factor is taken out.
    """
    page, gaps = history.gaps
    counts = np.bincount(page)
    sums = np.bincount(page, gaps)
    squares = np.bincount(page, gaps**2)
    enough = counts >= _FEW_GAPS
    mean = sums[enough] / counts[enough]
    variance = squares[enough] / counts[enough] - mean**2
    number = counts[enough]
    squared = np.maximum(variance, 0.0) / mean**2 * (number + 1) / (number - 1)
    return np.sqrt(squared)


def staleness_at_own_rate(history: History, index: Sequence[int] | NDArray[np.int64]) -> float:
    """Share of time out of date, in this very trace, of pages accessed at their own change rate.

    Parameters
    ----------
    history : History
    index : sequence of int
        The pages that count, each with the same weight; those without a change are left out.

    Notes
    -----
    Accesses lie one mean time between changes apart, from the first sight of the page on. Bursts
    give less than a Poisson process (`poisson_staleness_at_own_rate`), since several changes
    between two accesses outdate one copy only.
    """
    counts = np.bincount(history.page, minlength=len(history.first)).astype(float)
    chosen = np.zeros(len(counts), dtype=bool)
    chosen[index] = True
    chosen &= counts > 0
    period = history.observed / np.where(counts > 0, counts, 1.0)
    rows = chosen[history.page]
    page = history.page[rows]
    phase = (history.time - history.first[history.page])[rows]
    access = np.floor(phase / period[page])
    opening = starts_anew(page, access)
    page = page[opening]
    phase = phase[opening]
    access = access[opening]
    until = np.minimum((access + 1) * period[page], history.observed[page])
    stale = np.bincount(page, np.maximum(until - phase, 0.0), len(counts))
    return float((stale[chosen] / history.observed[chosen]).mean())


def poisson_staleness_at_own_rate(counts: NDArray[np.int64]) -> float:
    """The same share for Poisson changes, given how many each page had.

    Parameters
    ----------
    counts : ndarray of int
        N changes of each page; those without a change are left out.

    Notes
    -----
    N changes at independent uniform times, N accesses: ``1 - N / (N + 1) (1 - (1 - 1/N)^(N + 1))``,
    which is 1/2 for N = 1 and falls to e^-1 = 0.368.
    """
    number = counts[counts > 0].astype(float)
    fresh = number / (number + 1) * (1 - (1 - 1 / number) ** (number + 1))
    return float((1 - fresh).mean())


@dataclass(frozen=True)
class PageChanges:
    """Fitted change rates, and tests of all pages together.

    Attributes
    ----------
    rates : CountedRates
    variation : ndarray
        Coefficients of variation of the gaps of pages with many.
    staleness, poisson_staleness : float
        Share of time out of date of pages accessed once per mean time between changes:
        in the trace, and of Poisson changes.
    burstiness : Burstiness
    """

    rates: CountedRates
    variation: Array
    staleness: float
    poisson_staleness: float
    burstiness: Burstiness

    def summary(self) -> dict[str, Any]:
        """The entries for JSON."""
        rates = self.rates
        variation = float(np.median(self.variation)) if len(self.variation) else None
        return {
            "pages": len(rates.index),
            "left_out": rates.left_out,
            "median_rate": float(np.median(rates.rates)),
            "largest_rate": float(rates.rates.max()),
            "never_changed": int(rates.never.sum()),
            "coefficient_of_variation_of_gaps": variation,
            "out_of_date_at_own_rate": self.staleness,
            "out_of_date_if_poisson": self.poisson_staleness,
            **self.burstiness.summary(),
        }


def fit_pages(trace: Trace, options: Options) -> Fit:
    """Change rates of the pages, with tests of all of them together.

    Raises
    ------
    ValueError
        If the window holds no page, or none is watched long enough.
    """
    unit = trace.time_unit
    history = history_of(trace.page, trace.values, len(trace.pages), window_of(trace, options))
    shortest = options.shortest
    if shortest is None:
        shortest = _SHORTEST_SHARE * float(np.nanmax(history.observed))
        if unit in UNITS:
            shortest = min(shortest, _SHORTEST_YEARS * UNITS["year"] / UNITS[unit])
    rates = counted_rates(history, shortest)
    some = bool(rates.counts.any())
    changes = PageChanges(
        rates,
        gap_variation(history),
        staleness_at_own_rate(history, rates.index) if some else np.nan,
        poisson_staleness_at_own_rate(rates.counts) if some else np.nan,
        _burstiness_of_pages(trace, history),
    )
    notes = repeated_note(trace.repeated)
    if rates.left_out:
        pages = "1 page is" if rates.left_out == 1 else f"{rates.left_out} pages are"
        notes.append(f"{pages} left out, watched for less than {shortest:.4g} {unit}s.")
    if rates.never.any():
        added = float(rates.rates[rates.never].sum())
        total = float(rates.rates.sum())
        notes.append(
            f"{unchanged_note(rates.never)} These rates make up {added:.4g} of all {total:.4g} "
            f"changes per {unit}."
        )
    notes += [
        *page_verdict(changes.burstiness, changes.variation, unit),
        *hidden_note(changes.burstiness, unit, False),
        *staleness_verdict(changes.burstiness, changes.staleness, changes.poisson_staleness),
    ]
    values = rates.rates.tolist()
    return Fit(
        kind="changes",
        section="pages",
        trace=trace,
        parameters=parameters_of(
            "change_rate",
            names_of(trace, rates.index),
            rates.rates,
            rates.low,
            rates.high,
            rates.standard_errors,
        ),
        summary=changes.summary(),
        notes=tuple(notes),
        changes={"pages.change_rates": values},
        system=pages_around(values),
        details=changes,
    )


def repeated_note(repeated: int) -> list[str]:
    """A note on rows that say the same page and time again, if there are any."""
    if repeated == 0:
        return []
    if repeated == 1:
        return ["1 row repeats a page and time; it counts once."]
    return [f"{repeated} rows repeat a page and time; each counts once."]


def unchanged_note(never: NDArray[np.bool_]) -> str:
    """A note on the pages that did not change."""
    return (
        f"{counted(int(never.sum()), 'page')} did not change. The rate of such a page is half a "
        "change in the time that it was watched (Jeffreys), with an interval from 0: no log can "
        "prove that a page never changes, and with rate 0 it would never be accessed again."
    )


def names_of(trace: Trace, index: NDArray[np.int64]) -> list[str]:
    """Names of some of the pages."""
    return [trace.pages[each] for each in index.tolist()]


def _burstiness_of_pages(trace: Trace, history: History) -> Burstiness:
    """Tests of all pages together; changes of several pages at one time are several.

    Within a step of the clock a page is seen to change once, so that watching begins one step
    after its first row, and the changes that the clock has hidden are put in.
    """
    if not len(history.time):
        raise ValueError("no page has changed in the window")
    step = clock_step(trace.values, trace.time_unit)
    later = replace(history, first=history.first + step, end=history.end + step)
    window = (float(np.nanmin(later.first)), later.end)
    counts = np.bincount(history.page, minlength=len(history.first))
    expected = np.zeros(len(history.time))
    if step > 0.0:
        seen = np.flatnonzero(counts)
        per_step = np.zeros(len(counts))
        per_step[seen] = rate_per_step(counts[seen], history.observed[seen] / step)
        expected = per_step[history.page]
    times, rows = filled_rows(history.time, step, expected)
    widths = scales(trace.time_unit, (window[1] - window[0]) / len(times))
    clock = Clock(step, float(expected.mean()), len(expected))
    burstiness = burstiness_of(
        np.sort(times), window, expected_changes(later), widths, clock, by_calendar=False
    )
    clear = expected[rows] < _HIDDEN
    within = _gaps_within(history, later, times[clear], history.page[rows][clear])
    return replace(burstiness, within=within)


def _gaps_within(
    history: History, later: History, times: Array, page: NDArray[np.int32]
) -> PageGaps | None:
    """The test of each page by itself, with the changes that the clock has hidden.

    A page whose last change is in the last step, or makes it, is watched until then; the others,
    given that they have none in that step, until it begins. Pages of which a step has 0.05 changes
    or more are left out: what is put in for the clock is not exact enough for a test of many.
    """
    order = np.lexsort((times, page))
    page = page[order]
    times = times[order]
    latest, filled = (np.full(len(later.first), np.nan) for _ in range(2))
    latest[history.page], filled[page] = history.time, times  # the last of each page stays
    end = np.where(latest >= history.end, filled, history.end)
    return page_gaps(page, times, later.first, end)


def pages_around(rates: list[float]) -> dict[str, Any]:
    """The smallest scenario around positive change rates: one robot, the best access frequencies.

    It makes one access per change, so the loads of simulation and formulas are moderate.
    """
    access = 1.0 / sum(rates)
    cycle = access * len(rates)
    return {
        "judged": ["weighted_obsolescence"],
        "pages": {"change_rates": rates, "weights": "uniform"},
        "robots": {
            "available": 1,
            "access_time": {"exponential": {"mean": access}},
            "accessing": {"policy": "deadline", "frequencies": "optimal"},
        },
        "run": {"horizon": 1020.0 * cycle, "warmup": 20.0 * cycle, "replications": 40},
    }
