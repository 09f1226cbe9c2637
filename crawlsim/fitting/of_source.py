"""A fit of the periodic rate of a source to the times of its changes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy import special

from crawlsim.fitting.clocks import clock_step, fill_steps, rate_per_step
from crawlsim.fitting.fit import Fit, Options, period_of, window_of
from crawlsim.fitting.intensity import Intensity, equal_breaks, periodic_intensity
from crawlsim.fitting.intervals import Parameter, jackknife, parameters_of
from crawlsim.fitting.poisson_verdict import Burstiness, Clock, against_calendar
from crawlsim.fitting.poisson_words import hidden_note, source_verdict
from crawlsim.fitting.trace import Trace
from scenarios import ScenarioError
from scenarios.arrays import Array

_PIECES = 168
_BLOCKS = 40
_FEWEST_PERIODS = 2
_PROBES = 28
_PATHS = 4000
_PERIODS = (1, 4, 13)
_STEPS = 100
_WHOLE = 1e-6


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
    step = clock_step(trace.values, trace.time_unit)
    # Rounding can put the beginning of a step before the break that it stands for; its middle not.
    known = step if _goes_with_clock(breaks, period, step) else 0.0
    steps = (window[0] + known, window[1] + known)
    intensity = periodic_intensity(times + known / 2, breaks, period, steps, known)
    burstiness = _burstiness(times, intensity, window, step)
    updates = {
        "breaks": intensity.breaks.tolist(),
        "values": intensity.values.tolist(),
        "period": period,
    }
    return Fit(
        kind="changes",
        section="source",
        trace=trace,
        parameters=(_mean_rate(times, intensity, window, known), *_pieces(intensity)),
        summary={"changes": len(times), "period": period, **burstiness.summary()},
        notes=(
            *source_verdict(burstiness, trace.time_unit),
            *hidden_note(burstiness, trace.time_unit, known > 0.0),
            *_few(len(times)),
        ),
        changes={"source.updates": updates},
        system=_around(updates, period),
        details=SourceChanges(intensity, burstiness),
    )


def _burstiness(
    times: Array, intensity: Intensity, window: tuple[float, float], step: float
) -> Burstiness:
    """The tests, with the updates that the clock has hidden put in.

    An update of a time is one from there to the end of the step, and so is the window.
    """
    clock = Clock(0.0, 0.0, len(times))
    expected: Array = np.zeros(len(times))
    if step > 0.0:
        piece = intensity.piece_of(times + step / 2)
        steps = intensity.exposures / step
        finer = not _goes_with_clock(intensity.breaks, intensity.period, step)
        if finer:
            expected += rate_per_step(np.array([len(times)]), steps.sum(keepdims=True))
        else:
            expected = rate_per_step(np.maximum(intensity.counts, 1), steps)[piece]
        clock = Clock(step, float(expected.mean()), len(times), finer)
    filled = fill_steps(times, step, expected)
    widths = [intensity.period * each for each in _PERIODS]
    shifted = (window[0] + step, window[1] + step)
    return against_calendar(filled, shifted, intensity.cumulative, widths, clock)


def _goes_with_clock(breaks: Sequence[float] | Array, period: float, step: float) -> bool:
    """Whether pieces are many steps of the clock, or a whole number, so that each has its own."""
    steps = np.diff(np.append(np.asarray(breaks, float), period)) / max(step, 1e-300)
    whole = (steps > 0.5) & (np.abs(steps - np.round(steps)) < _WHOLE)
    return bool((whole | (steps > _STEPS)).all())


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
    errors = intensity.standard_errors
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


def _mean_rate(
    times: Array, intensity: Intensity, window: tuple[float, float], known: float
) -> Parameter:
    """Updates per unit time, those that the clock hides included.

    The error is that of the counts of forty stretches in which equally many updates are expected
    by the fitted rate: the rhythm of the week is no error, bursts are. Stretches of less than a
    period have less chance in them than they had without the fit, which the degrees of freedom
    reckon with; two periods are needed to tell a rhythm from bursts, before that stretches are
    equally long.

    Fewer updates than stretches do not show bursts: their interval covers 0.89, so there is none.

    Parameters
    ----------
    times : ndarray
    intensity : Intensity
    window : pair of float
    known : float
        Step of the clock that the fitted rate knows of; 0 if of none.
    """
    since, until = window
    value = float(intensity.values @ intensity.exposures) / (until - since)
    if len(times) < _BLOCKS:
        return Parameter("mean_update_rate", None, value, np.nan, np.nan)
    periods = (until - since) / intensity.period
    expected: Callable[[Array], Array] = np.asarray
    fitted = 0.0
    if periods >= _FEWEST_PERIODS:
        rates = intensity.counts / intensity.exposures
        expected = replace(intensity, values=rates).cumulative
        fitted = max(min(len(rates), _BLOCKS / periods) - 1.0, 0.0)
    start, end = expected(np.array([since, until]) + known)
    counts = np.histogram(expected(times + known / 2), np.linspace(start, end, _BLOCKS + 1))[0]
    seen, error, _, _ = jackknife([counts.astype(float)], lambda m: float(m[0]), _BLOCKS)
    freedom = _BLOCKS - 1.0 - fitted
    error *= value / seen * float(np.sqrt((_BLOCKS - 1.0) / freedom))
    reach = float(special.stdtrit(freedom, 0.975)) * error
    return Parameter("mean_update_rate", None, value, value - reach, value + reach, error)
