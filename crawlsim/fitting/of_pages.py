"""A fit of the change rates of pages to the times of their changes."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crawlsim.fitting.burstiness import (
    gap_variation,
    poisson_staleness_at_own_rate,
    staleness_at_own_rate,
)
from crawlsim.fitting.change_rates import (
    ChangeRates,
    History,
    change_rates,
    expected_changes,
    history_of,
)
from crawlsim.fitting.clocks import clock_step, filled_rows, rate_per_step
from crawlsim.fitting.fit import Fit, Options, window_of
from crawlsim.fitting.intervals import parameters_of
from crawlsim.fitting.page_gaps import PageGaps, page_gaps
from crawlsim.fitting.poisson_verdict import Burstiness, Clock, against_expected, scales
from crawlsim.fitting.poisson_words import hidden_note, page_verdict, staleness_verdict
from crawlsim.fitting.trace import UNITS, Trace
from crawlsim.fitting.words import counted
from scenarios.arrays import Array

_SHORTEST_YEARS = 0.1
_SHORTEST_SHARE = 0.01
_HIDDEN = 0.05


@dataclass(frozen=True)
class PageChanges:
    """What a fit of pages has found.

    Attributes
    ----------
    rates : ChangeRates
    variation : ndarray
        Coefficients of variation of the gaps of pages with many.
    staleness, poisson_staleness : float
        Share of time out of date at visits once per mean time between changes: in the trace, and
        of Poisson changes.
    burstiness : Burstiness
    """

    rates: ChangeRates
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
    history = history_of(trace.page, trace.values, len(trace.pages), window_of(trace, options))
    shortest = _shortest(trace, history) if options.shortest is None else options.shortest
    rates = change_rates(history, shortest)
    stale = staleness_at_own_rate(history, rates.index) if rates.counts.any() else np.nan
    found = PageChanges(
        rates,
        gap_variation(history),
        stale,
        poisson_staleness_at_own_rate(rates.counts) if rates.counts.any() else np.nan,
        _burstiness_of_pages(trace, history),
    )
    notes = [
        *_rows(history.repeated),
        *_left_out(rates.left_out, shortest, trace.time_unit),
        *_never_changed(rates, trace.time_unit),
        *page_verdict(found.burstiness, found.variation, trace.time_unit),
        *hidden_note(found.burstiness, trace.time_unit, False),
        *staleness_verdict(found.burstiness, stale, found.poisson_staleness),
    ]
    names = names_of(trace, rates.index)
    values = rates.rates.tolist()
    return Fit(
        kind="changes",
        section="pages",
        trace=trace,
        parameters=parameters_of(
            "change_rate", names, rates.rates, rates.low, rates.high, rates.standard_errors
        ),
        summary=found.summary(),
        notes=tuple(notes),
        changes={"pages.change_rates": values},
        system=pages_around(values),
        details=found,
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
    clock = Clock(0.0, 0.0, len(history.time))
    expected = np.zeros(len(history.time))
    if step > 0.0:
        seen = np.flatnonzero(counts)
        per_step = np.zeros(len(counts))
        per_step[seen] = rate_per_step(counts[seen], history.observed[seen] / step)
        expected = per_step[history.page]
        clock = Clock(step, float(expected.mean()), len(expected))
    times, rows = filled_rows(history.time, step, expected)
    widths = scales(trace.time_unit, (window[1] - window[0]) / len(times))
    found = against_expected(np.sort(times), window, expected_changes(later), widths, clock)
    clear = expected[rows] < _HIDDEN
    within = _gaps_within(history, later, times[clear], history.page[rows][clear])
    return replace(found, within=within)


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


def _shortest(trace: Trace, history: History) -> float:
    """A tenth of a year, or a hundredth of the whole trace if that is less."""
    share = _SHORTEST_SHARE * float(np.nanmax(history.observed))
    if trace.time_unit not in UNITS:
        return share
    return min(share, _SHORTEST_YEARS * UNITS["year"] / UNITS[trace.time_unit])


def _rows(repeated: int) -> list[str]:
    rows = "1 row says" if repeated == 1 else f"{repeated} rows say"
    return [f"{rows} the same page and time again; it counts once."] * bool(repeated)


def _left_out(number: int, shortest: float, unit: str) -> list[str]:
    pages = "1 page is" if number == 1 else f"{number} pages are"
    return [f"{pages} left out, watched for less than {shortest:.4g} {unit}s."] * bool(number)


def _never_changed(rates: ChangeRates, unit: str) -> list[str]:
    """What stands for the rates of pages without a change, and what that adds to the total."""
    number = int(rates.never.sum())
    if not number:
        return []
    added = float(rates.rates[rates.never].sum())
    total = float(rates.rates.sum())
    return [
        f"{counted(number, 'page')} did not change. The rate of such a page is half a change in "
        "the time that it was watched (Jeffreys), with an interval from 0: no log can prove that a "
        "page never changes, and with rate 0 it would never be visited again. These rates make "
        f"{added:.4g} of all {total:.4g} changes per {unit}."
    ]


def pages_around(rates: list[float]) -> dict[str, Any]:
    """A smallest scenario around positive change rates: one robot, the best frequencies of visits.

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
