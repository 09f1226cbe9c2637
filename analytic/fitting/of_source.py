"""A fit of the periodic rate of a source to the times of its changes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from analytic.fitting.clocks import clock_step
from analytic.fitting.fit import Fit, Options, period_of, window_of
from analytic.fitting.intensity import Intensity, equal_breaks, periodic_intensity
from analytic.fitting.intervals import Parameter, jackknife, parameters_of
from analytic.fitting.poisson_verdict import Burstiness, against_calendar
from analytic.fitting.poisson_words import source_verdict
from analytic.fitting.reading import Trace
from scenarios import ScenarioError

__all__ = ["SourceChanges", "fit_source"]

Array = NDArray[np.float64]

_PIECES = 168
_BLOCKS = 40
_PROBES, _PATHS = 28, 4000
_PERIODS = (1, 4, 13)
_STEPS = 100


@dataclass(frozen=True)
class SourceChanges:
    """What a fit of a source has found."""

    intensity: Intensity
    burstiness: Burstiness


def fit_source(trace: Trace, options: Options) -> Fit:
    """The periodic rate of all pages together; changes at the same time are one update.

    Raises
    ------
    ValueError
        If the window holds no change, or the pieces of the rate are not in order.
    """
    times, window = _updates_in_window(trace, options)
    period = period_of(trace, options)
    breaks = _breaks(options, period, float(np.abs(times).max()))
    intensity = periodic_intensity(times, breaks, period, window)
    widths = [period * each for each in _PERIODS]
    step = clock_step(trace.values, trace.time_unit)
    burstiness = against_calendar(times, window, intensity.cumulative, widths, step)
    updates = {
        "breaks": intensity.breaks.tolist(),
        "values": intensity.values.tolist(),
        "period": period,
    }
    return Fit(
        kind="changes",
        section="source",
        trace=trace,
        parameters=(_mean_rate(times, *window), *_pieces(intensity)),
        summary={"changes": len(times), "period": period, **burstiness.summary()},
        notes=(*source_verdict(burstiness, trace.time_unit), *_few(len(times))),
        changes={"source.updates": updates},
        system=_around(updates, period),
        details=SourceChanges(intensity, burstiness),
    )


def _breaks(options: Options, period: float, latest: float) -> Sequence[float] | Array:
    """Where the pieces of the period begin.

    Raises
    ------
    ScenarioError
        If they are not in order, or finer than the times can tell.
    """
    breaks = options.breaks or equal_breaks(options.pieces or _PIECES, period)
    widths = np.diff(np.append(np.asarray(breaks, float), period))
    if breaks[0] != 0 or (widths <= 0).any():
        allowed = f"must begin with 0, increase, and stay below the period {period:.6g}"
        raise ScenarioError("--breaks", ",".join(f"{each:g}" for each in breaks), allowed)
    finest = _STEPS * float(np.spacing(latest))
    if widths.min() < finest:
        option = "breaks" if options.breaks else "period" if options.period else "pieces"
        allowed = f"makes pieces of {widths.min():.3g}; of such times they must have {finest:.3g}"
        raise ScenarioError(f"--{option}", getattr(options, option), allowed)
    return breaks


def _updates_in_window(trace: Trace, options: Options) -> tuple[Array, tuple[float, float]]:
    """Distinct times in the window, and its ends: by default the first and the last of them."""
    times = np.unique(trace.values)
    since, until = window_of(trace, options)
    since = float(times[0]) if since is None else since
    until = float(times[-1]) if until is None else until
    if since >= until:
        raise ValueError("all changes are at one time, or outside the window")
    inside = times[(times > since) & (times <= until)]
    if not len(inside):
        raise ValueError("the window holds no change")
    return inside, (since, until)


def _few(updates: int) -> list[str]:
    """Why the mean rate has no interval."""
    if updates >= _BLOCKS:
        return []
    return [f"The mean update rate has no interval: fewer than {_BLOCKS} updates show no bursts."]


def _pieces(intensity: Intensity) -> tuple[Parameter, ...]:
    """The rate in each piece of the period."""
    errors = np.sqrt(intensity.counts) / intensity.exposures
    names = [f"from {start:.6g}" for start in intensity.breaks]
    columns = (intensity.values, intensity.low, intensity.high, errors)
    return parameters_of("update_rate", names, *columns)


def _around(updates: dict[str, Any], period: float) -> dict[str, Any]:
    """A smallest scenario: four periods, probed where equal costs have gathered."""
    return {
        "source": {
            "updates": updates,
            "importance": {"breaks": [0.0], "values": [1.0], "period": period},
        },
        "probing": {"horizon": 4 * period, "probes": _PROBES, "policy": "threshold"},
        "run": {"replications": _PATHS},
    }


def _mean_rate(times: Array, since: float, until: float) -> Parameter:
    """Changes per unit time; its error from the counts of forty stretches, bursts included.

    Fewer updates than stretches do not show bursts: their interval covers 0.89, so there is none.
    """
    if len(times) < _BLOCKS:
        return Parameter("mean_update_rate", None, len(times) / (until - since), np.nan, np.nan)
    edges = np.linspace(since, until, _BLOCKS + 1)
    counts = np.histogram(times, edges)[0] * (_BLOCKS / (until - since))
    value, error, low, high = jackknife([counts], lambda m: float(m[0]), _BLOCKS)
    return Parameter("mean_update_rate", None, value, low, high, error)
