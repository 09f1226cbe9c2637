"""A fit of change times: rates of pages, or the weekly rate of a source."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from analytic.fitting.burstiness import POISSON_STALENESS, gap_variation, staleness_at_own_rate
from analytic.fitting.change_rates import (
    ChangeRates,
    History,
    change_rates,
    expected_changes,
    history_of,
)
from analytic.fitting.fit import Fit, Options, period_of, window_of
from analytic.fitting.intensity import Intensity, equal_breaks, periodic_intensity
from analytic.fitting.intervals import Parameter, jackknife
from analytic.fitting.poisson_verdict import (
    Burstiness,
    against_calendar,
    against_expected,
    page_verdict,
    scales,
    source_verdict,
)
from analytic.fitting.reading import UNITS, Trace
from scenarios import ScenarioError

__all__ = ["PageChanges", "SourceChanges", "fit_changes"]

Array = NDArray[np.float64]

_SHORTEST_YEARS = 0.1
_SHORTEST_SHARE = 0.01
_PIECES = 168
_BLOCKS = 40
_PROBES = 28


@dataclass(frozen=True)
class PageChanges:
    """What the figures of a fit of pages show."""

    rates: ChangeRates
    variation: Array
    burstiness: Burstiness


@dataclass(frozen=True)
class SourceChanges:
    """What the figures of a fit of a source show."""

    intensity: Intensity
    burstiness: Burstiness


def fit_changes(trace: Trace, options: Options) -> Fit:
    """Change rates of the pages, or the periodic rate of all together as one source.

    Raises
    ------
    ScenarioError
        If the window holds nothing, or an option does not fit.
    """
    section = options.section or ("pages" if len(trace.pages) > 1 else "source")
    try:
        if section == "pages":
            return _of_pages(trace, options)
        return _of_source(trace, options)
    except ValueError as error:
        if isinstance(error, ScenarioError):
            raise
        raise ScenarioError("trace", f"{trace.rows} changes", str(error)) from None


def _of_pages(trace: Trace, options: Options) -> Fit:
    window = window_of(trace, options)
    history = history_of(trace.page, trace.values, len(trace.pages), window)
    shortest = _shortest(trace, history) if options.shortest is None else options.shortest
    rates = change_rates(history, shortest)
    variation = gap_variation(history)
    burstiness = _burstiness_of_pages(trace, history)
    stale = staleness_at_own_rate(history, rates.index) if rates.counts.any() else np.nan
    notes = [
        *_rows(history.repeated),
        *_left_out(rates.left_out, shortest, trace.time_unit),
        *page_verdict(burstiness, variation, stale, trace.time_unit),
    ]
    summary = {
        "pages": len(rates.index),
        "left_out": rates.left_out,
        "median_rate": float(np.median(rates.rates)),
        "largest_rate": float(rates.rates.max()),
        "never_changed": int((rates.counts == 0).sum()),
        "gap_variation": float(np.median(variation)) if len(variation) else None,
        "out_of_date_at_own_rate": stale,
        "out_of_date_if_poisson": POISSON_STALENESS,
        **burstiness.summary(),
    }
    names = np.array(trace.pages, dtype=object)[rates.index]
    columns = (rates.rates, rates.low, rates.high, np.sqrt(rates.counts) / rates.observed)
    parameters = tuple(
        Parameter("change_rate", name, *numbers)
        for name, *numbers in zip(names, *(each.tolist() for each in columns), strict=True)
    )
    values = rates.rates.tolist()
    changes = {"pages.change_rates": values}
    details = PageChanges(rates, variation, burstiness)
    return Fit(
        "changes", "pages", trace, parameters, summary, tuple(notes), changes,
        pages_around(values), details,
    )  # fmt: skip


def _burstiness_of_pages(trace: Trace, history: History) -> Burstiness:
    """Tests of all pages together; a commit that changes several of them is one event."""
    times = np.unique(history.time)
    if not len(times):
        raise ValueError("no page has changed in the window")
    window = (float(np.nanmin(history.first)), history.end)
    widths = scales(trace.time_unit, (window[1] - window[0]) / len(times))
    return against_expected(times, window, expected_changes(history), widths)


def _shortest(trace: Trace, history: History) -> float:
    """A tenth of a year, or a hundredth of the whole trace if that is less."""
    share = _SHORTEST_SHARE * float(np.nanmax(history.observed))
    if trace.time_unit not in UNITS:
        return share
    return min(share, _SHORTEST_YEARS * UNITS["year"] / UNITS[trace.time_unit])


def _rows(repeated: int) -> list[str]:
    return [f"{repeated} rows say the same page and time again and count once."] * bool(repeated)


def _left_out(number: int, shortest: float, unit: str) -> list[str]:
    pages = "1 page is" if number == 1 else f"{number} pages are"
    return [f"{pages} left out, watched for less than {shortest:.4g} {unit}s."] * bool(number)


def pages_around(rates: list[float]) -> dict[str, Any]:
    """A smallest scenario around change rates: one robot that visits the pages in turn.

    It makes one access per change, so the loads of simulation and formulas are moderate.
    """
    total = sum(rates)
    access = 1.0 / total if total > 0 else 1.0
    cycle = access * len(rates)
    return {
        "pages": {"change_rates": rates, "weights": "uniform"},
        "robots": {
            "available": 1,
            "access_time": {"exponential": {"mean": access}},
            "accessing": {"policy": "round-robin"},
        },
        "run": {"horizon": 1020.0 * cycle, "warmup": 20.0 * cycle, "replications": 20},
    }


def _of_source(trace: Trace, options: Options) -> Fit:
    window = window_of(trace, options)
    times = np.unique(trace.values)
    since = float(times[0]) if window[0] is None else window[0]
    until = float(times[-1]) if window[1] is None else window[1]
    if since >= until:
        raise ValueError("all changes are at one time")
    inside = times[(times > since) & (times <= until)]
    period = period_of(trace, options)
    breaks = options.breaks or equal_breaks(options.pieces or _PIECES, period)
    if not len(inside):
        raise ValueError("the window holds no change")
    intensity = periodic_intensity(inside, breaks, period, (since, until))
    widths = [period, 4 * period, 13 * period]
    burstiness = against_calendar(inside, (since, until), intensity.cumulative, widths)
    parameters = [_mean_rate(inside, since, until)]
    ends = zip(
        intensity.breaks.tolist(),
        intensity.values.tolist(),
        intensity.low.tolist(),
        intensity.high.tolist(),
        np.sqrt(intensity.counts) / intensity.exposures,
        strict=True,
    )
    parameters += [
        Parameter("update_rate", f"from {start:.6g}", value, low, high, float(error))
        for start, value, low, high, error in ends
    ]
    summary = {"changes": len(inside), "period": period, **burstiness.summary()}
    updates = {
        "breaks": intensity.breaks.tolist(),
        "values": intensity.values.tolist(),
        "period": period,
    }
    system = {
        "source": {"updates": updates, "importance": _constant(period)},
        "probing": {"horizon": 4 * period, "probes": _PROBES, "policy": "threshold"},
        "run": {"replications": 4000},
    }
    notes = source_verdict(burstiness, trace.time_unit)
    details = SourceChanges(intensity, burstiness)
    return Fit(
        "changes", "source", trace, tuple(parameters), summary, tuple(notes),
        {"source.updates": updates}, system, details,
    )  # fmt: skip


def _constant(period: float) -> dict[str, Any]:
    return {"breaks": [0.0], "values": [1.0], "period": period}


def _mean_rate(times: Array, since: float, until: float) -> Parameter:
    """Changes per unit time; its error from the counts of forty stretches, bursts included."""
    edges = np.linspace(since, until, _BLOCKS + 1)
    counts = np.histogram(times, edges)[0] * (_BLOCKS / (until - since))
    value, error, low, high = jackknife(lambda i: float(counts[i].mean()), _BLOCKS, _BLOCKS)
    return Parameter("mean_update_rate", None, value, low, high, error)
