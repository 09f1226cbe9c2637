"""The changes of a source: a rate that repeats every week, piecewise constant, with intervals."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import special

from crawlsim.logs.fit.clocks import clock_step, fill_steps, rate_per_step
from crawlsim.logs.fit.intervals import (
    Parameter,
    jackknife,
    parameters_of,
    rates_of_counts,
    shares_by_mid_p,
)
from crawlsim.logs.fit.poisson_verdict import (
    Burstiness,
    Clock,
    burstiness_of,
    hidden_note,
    source_verdict,
)
from crawlsim.logs.fit.result import Fit, Options, window_of
from crawlsim.logs.fit.trace import UNITS, Trace
from scenarios import ScenarioError
from scenarios.arrays import Array

_COARSE = 0.01
_PIECES = 168
_BLOCKS = 40
_FEWEST_PERIODS = 2
_PROBES = 28
_PATHS = 4000
_PERIODS = (1, 4, 13)
_STEPS = 100
_WHOLE = 1e-6


@dataclass(frozen=True)
class Intensity:
    """A periodic piecewise-constant rate.

    Attributes
    ----------
    breaks : ndarray, shape (pieces,)
        Where the pieces begin, from 0 to below `period`.
    period : float
    counts : ndarray of int, shape (pieces,)
    exposures : ndarray, shape (pieces,)
        Time watched in each piece.
    values, low, high : ndarray, shape (pieces,)
        Rates with 95 % intervals.
    standard_errors : ndarray, shape (pieces,)
    """

    breaks: Array
    period: float
    counts: NDArray[np.int64]
    exposures: Array
    values: Array
    low: Array
    high: Array
    standard_errors: Array

    def piece_of(self, times: Array) -> NDArray[np.int64]:
        """In which piece each time is."""
        phases = np.mod(times, self.period)
        return np.searchsorted(self.breaks, phases, "right") - 1

    def cumulative(self, times: ArrayLike) -> Array:
        """Expected events from time 0 until given times (negative before 0)."""
        times = np.asarray(times, float)
        parts = _widths(self.breaks, self.period) * self.values
        before = np.concatenate([[0.0], np.cumsum(parts)])
        whole, phase = np.divmod(times, self.period)
        piece = np.searchsorted(self.breaks, phase, "right") - 1
        inside = (phase - self.breaks[piece]) * self.values[piece]
        result: Array = whole * before[-1] + before[piece] + inside
        return result


def _widths(breaks: Sequence[float] | Array, period: float) -> Array:
    return np.diff(np.append(np.asarray(breaks, float), period))


def equal_breaks(pieces: int, period: float) -> Array:
    """Breaks of equal pieces."""
    return np.arange(float(pieces)) * (period / pieces)


def periodic_intensity(
    times: Array,
    breaks: Sequence[float] | Array,
    period: float,
    window: tuple[float, float],
    step: float = 0.0,
) -> Intensity:
    """The maximum likelihood of a Poisson process with a periodic piecewise-constant rate.

    Parameters
    ----------
    times : ndarray
        Of the events in the window; phase 0 of the period is time 0.
    breaks : sequence of float
        Where pieces begin: 0 first, increasing, below `period`.
    period : float
    window : pair of float
        When watching began and ended.
    step : float
        Of the clock, in which one of several events is seen; 0 where all are.

    Raises
    ------
    ValueError
        If the breaks are not in order, or a piece is never watched.
    """
    edges = np.append(np.asarray(breaks, float), period)
    if edges[0] != 0 or (np.diff(edges) <= 0).any():
        raise ValueError(f"breaks must begin with 0, increase and stay below {period:g}")
    counts = np.bincount(
        np.searchsorted(edges, np.mod(times, period), "right") - 1, minlength=len(edges) - 1
    )[: len(edges) - 1]
    exposures = _time_in_pieces(edges, window[1]) - _time_in_pieces(edges, window[0])
    if (exposures <= 0).any():
        piece = int(np.flatnonzero(exposures <= 0)[0])
        raise ValueError(f"the piece that begins with {edges[piece]:g} is never watched")
    values, low, high = rates_of_counts(counts, exposures)
    errors: Array = np.sqrt(counts) / exposures
    if step > 0.0:
        values, low, high, errors = _with_hidden(
            counts, exposures / step, values, low, high, errors
        )
    return Intensity(edges[:-1], period, counts, exposures, values, low, high, errors)


def _with_hidden(counts: NDArray[np.int64], steps: Array, *seen: Array) -> list[Array]:
    """Rates, ends of intervals and errors of all events, from those of the steps with an event.

    Notes
    -----
    A step has an event with probability ``p = 1 - exp(-rate)``, so that the likelihood is largest
    at ``-log(1 - p)``; where all steps have one, for half a step less. The number of those steps is
    binomial, which differs from Poisson's law where p is not small.
    """
    share = np.minimum(counts, steps - 0.5) / steps
    factor = np.divide(-np.log1p(-share), share, out=np.ones_like(share), where=share > 0)
    values, low, high, errors = (factor * each for each in seen)
    coarse = share > _COARSE
    ends = shares_by_mid_p(np.minimum(counts, steps)[coarse], steps[coarse])
    per_time = seen[0][coarse] / np.maximum(counts[coarse] / steps[coarse], 1e-300)
    with np.errstate(divide="ignore"):
        low[coarse], high[coarse] = (-np.log1p(-end) * per_time for end in ends)
    values[coarse] = -np.log1p(-share[coarse]) * per_time
    errors[coarse] = np.sqrt(share / (1.0 - share) / steps)[coarse] * per_time
    return [values, low, high, errors]


def _time_in_pieces(edges: Array, time: float) -> Array:
    """Time spent in each piece from 0 until a time, shape (pieces,)."""
    widths = np.diff(edges)
    period = edges[-1]
    whole, phase = np.divmod(time, period)
    result: Array = whole * widths + np.clip(phase - edges[:-1], 0.0, widths)
    return result


@dataclass(frozen=True)
class SourceChanges:
    """The fitted rate of a source, and tests of whether its changes are Poisson."""

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
    period = options.period
    if period is None:
        if trace.time_unit not in UNITS:
            allowed = "must be given, or --time-unit say what the numbers count"
            raise ScenarioError("--period", "a week", allowed)
        period = UNITS["week"] / UNITS[trace.time_unit]
    breaks = _breaks(options, period, float(np.abs(times).max()))
    step = clock_step(trace.values, trace.time_unit)
    known = step if _goes_with_clock(breaks, period, step) else 0.0
    watched = (window[0] + known, window[1] + known)
    # Rounding can put the beginning of a step before the break at which it lies, its middle cannot.
    intensity = periodic_intensity(times + known / 2, breaks, period, watched, known)
    burstiness = _burstiness(times, intensity, window, step)
    notes = [
        *source_verdict(burstiness, trace.time_unit),
        *hidden_note(burstiness, trace.time_unit, known > 0.0),
    ]
    if len(times) < _BLOCKS:
        few = f"fewer than {_BLOCKS} updates show no bursts"
        notes.append(f"The mean update rate has no interval: {few}.")
    updates = {
        "breaks": intensity.breaks.tolist(),
        "values": intensity.values.tolist(),
        "period": period,
    }
    return Fit(
        kind="changes",
        section="source",
        trace=trace,
        parameters=(
            _mean_rate(times, intensity, window, known),
            *parameters_of(
                "update_rate",
                [f"from {start:.6g}" for start in intensity.breaks],
                intensity.values,
                intensity.low,
                intensity.high,
                intensity.standard_errors,
            ),
        ),
        summary={"changes": len(times), "period": period, **burstiness.summary()},
        notes=tuple(notes),
        changes={"source.updates": updates},
        system={  # four periods, probed where equal costs have gathered
            "source": {
                "updates": updates,
                "importance": {"breaks": [0.0], "values": [1.0], "period": period},
            },
            "probing": {"horizon": 4 * period, "probes": _PROBES, "policy": "threshold"},
            "run": {"replications": _PATHS},
        },
        details=SourceChanges(intensity, burstiness),
    )


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


def _breaks(options: Options, period: float, latest: float) -> Sequence[float] | Array:
    """Where the pieces of the period begin.

    Raises
    ------
    ScenarioError
        If they are not in order, or finer than the times can tell.
    """
    breaks = options.breaks or equal_breaks(options.pieces or _PIECES, period)
    widths = _widths(breaks, period)
    if breaks[0] != 0 or (widths <= 0).any():
        allowed = f"must begin with 0, increase, and stay below the period {period:.6g}"
        raise ScenarioError("--breaks", ",".join(f"{each:g}" for each in breaks), allowed)
    finest = _STEPS * float(np.spacing(latest))
    if widths.min() < finest:
        option = "breaks" if options.breaks else "period" if options.period else "pieces"
        allowed = (
            f"makes pieces of {widths.min():.3g}; with times this large they must be at least "
            f"{finest:.3g}"
        )
        raise ScenarioError(f"--{option}", getattr(options, option), allowed)
    return breaks


def _goes_with_clock(breaks: Sequence[float] | Array, period: float, step: float) -> bool:
    """Whether each piece is a whole number of steps of the clock, or many of them."""
    steps = _widths(breaks, period) / max(step, 1e-300)
    whole = (steps > 0.5) & (np.abs(steps - np.round(steps)) < _WHOLE)
    return bool((whole | (steps > _STEPS)).all())


def _burstiness(
    times: Array, intensity: Intensity, window: tuple[float, float], step: float
) -> Burstiness:
    """The tests, with the updates that the clock has hidden put in.

    A recorded time stands for the step of the clock that begins there; so do the window's ends.
    """
    finer = False
    expected: Array = np.zeros(len(times))
    if step > 0.0:
        steps = intensity.exposures / step
        finer = not _goes_with_clock(intensity.breaks, intensity.period, step)
        if finer:
            expected += rate_per_step(np.array([len(times)]), steps.sum(keepdims=True))
        else:
            per_step = rate_per_step(np.maximum(intensity.counts, 1), steps)
            expected = per_step[intensity.piece_of(times + step / 2)]
    clock = Clock(step, float(expected.mean()), len(times), finer)
    filled = fill_steps(times, step, expected)
    widths = [intensity.period * each for each in _PERIODS]
    watched = (window[0] + step, window[1] + step)
    return burstiness_of(filled, watched, intensity.cumulative, widths, clock, by_calendar=True)


def _mean_rate(
    times: Array, intensity: Intensity, window: tuple[float, float], known: float
) -> Parameter:
    """Updates per unit time, those that the clock hides included.

    The error is that of the counts in forty blocks in which equally many updates are expected by
    the fitted rate: the rhythm of the week is not an error, bursts are. Counts in blocks shorter
    than a period vary less than before the fit, which the degrees of freedom account for. It takes
    two periods to tell a rhythm from bursts; with less, blocks are equally long.

    With fewer updates than blocks, bursts do not show: the interval would cover 0.89, so there is
    none.

    Parameters
    ----------
    times : ndarray
    intensity : Intensity
    window : pair of float
    known : float
        Step of the clock that the fitted rate takes into account; 0 if none.
    """
    since, until = window
    value = float(intensity.values @ intensity.exposures) / (until - since)
    if len(times) < _BLOCKS:
        return Parameter("mean_update_rate", None, value)
    periods = (until - since) / intensity.period
    expected: Callable[[Array], Array] = np.asarray
    fitted = 0.0
    if periods >= _FEWEST_PERIODS:
        rates = intensity.counts / intensity.exposures
        expected = replace(intensity, values=rates).cumulative
        fitted = max(min(len(rates), _BLOCKS / periods) - 1.0, 0.0)
    start, end = expected(np.array([since, until]) + known)
    counts = np.histogram(expected(times + known / 2), np.linspace(start, end, _BLOCKS + 1))[0]
    seen = jackknife([counts.astype(float)], lambda m: float(m[0]), _BLOCKS)
    freedom = _BLOCKS - 1.0 - fitted
    error = seen.error * (value / seen.value * float(np.sqrt((_BLOCKS - 1.0) / freedom)))
    reach = float(special.stdtrit(freedom, 0.975)) * error
    return Parameter("mean_update_rate", None, value, value - reach, value + reach, error)
