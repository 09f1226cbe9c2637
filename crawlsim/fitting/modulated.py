"""MMPP(2), a Poisson process whose rate switches between two values, by maximum likelihood."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy import optimize

from crawlsim.fitting.intervals import NORMAL_95, Parameter
from crawlsim.fitting.order_two import Process
from scenarios.arrays import Array

Loss = Callable[[Array], float]

_NAMES = ("slow_rate", "fast_rate", "rate_of_speeding_up", "rate_of_slowing_down")
_STEP = 1e-3
_SQUARE = 0.25
_SLOPE = 1e-3
_ROUGH_SLOPE = 0.05
_FAR = 12.0
_FINE = 0.01
_EVIDENCE = 3.0
_MANY = 20_000
_NEVER = 1e30  # so that its differences do not overflow
_LOWEST = -30.0
_HIGHEST = 30.0


@dataclass(frozen=True)
class Modulated:
    """A fitted MMPP(2).

    Attributes
    ----------
    process : Process
    log_likelihood : float
    intervals : callable
        Gives `parameters`, which costs many times as much as the fit.
    """

    process: Process
    log_likelihood: float
    intervals: Callable[[], tuple[Parameter, ...]]

    @cached_property
    def parameters(self) -> tuple[Parameter, ...]:
        """Slow rate, fast rate, rates of speeding up and of slowing down, with 95 % intervals.

        Empty where the gaps hardly tell the process from a Poisson one (twice the logarithm of
        their likelihood is not 3 ln n above), or give no upper end to one of the rates.
        """
        return self.intervals()


def likelihood_of(gaps: Array, process: Process) -> float:
    """Log-likelihood of gaps in their order, the process stationary at the first event."""
    from crawlsim.fitting.gap_likelihood import log_likelihood_of_gaps

    jumps = np.linalg.inv(-process.D0) @ process.D1
    out = jumps[0, 1] + jumps[1, 0]
    start = np.array([jumps[1, 0], jumps[0, 1]]) / out if out > 0 else np.array([0.5, 0.5])
    return float(log_likelihood_of_gaps(gaps, process.D0, process.D1, start))


def fit_modulated(gaps: Array) -> Modulated:
    """The MMPP(2) of the greatest likelihood.

    Parameters
    ----------
    gaps : ndarray
        Positive, in their order; at least ten.

    Notes
    -----
    Four numbers by their logarithms, the best of four starts. Intervals are where the likelihood
    with one number given is at least e^-1.92 of the greatest (profile likelihood). Where all
    standard errors are below a quarter of the numbers, it is nearly normal, and the curvature says
    the same.
    """
    unit = float(gaps.mean())
    scaled = gaps / unit

    loss = _loss_of(scaled)
    starts = [
        np.log([0.5, 2.0, speed, speed * ratio]) for speed in (0.5, 0.05) for ratio in (1.0, 4.0)
    ]
    rough = _loss_of(scaled[:_MANY])
    first = min(
        (_minimum(rough, start, _ROUGH_SLOPE) for start in starts), key=lambda each: float(each.fun)
    )
    found = _minimum(loss, first.x)
    logs = np.clip(found.x, _LOWEST, _HIGHEST)
    if logs[0] > logs[1]:
        logs = logs[[1, 0, 3, 2]]
    process = _process(logs)
    value = -float(found.fun) - len(gaps) * np.log(unit)
    natural = Process(process.D0 / unit, process.D1 / unit)
    evidence = 2 * (value + len(gaps) * (np.log(unit) + 1.0))
    sure = evidence > _EVIDENCE * np.log(len(gaps))
    return Modulated(natural, float(value), lambda: _parameters(loss, logs, unit) if sure else ())


def _loss_of(gaps: Array) -> Loss:
    """Minus the log-likelihood of the logarithms of the four numbers."""

    def loss(logs: Array) -> float:
        value = likelihood_of(gaps, _process(np.clip(logs, _LOWEST, _HIGHEST)))
        return -value if np.isfinite(value) else _NEVER

    return loss


def _minimum(loss: Loss, start: Array, slope: float = _SLOPE) -> Any:
    return optimize.minimize(loss, start, method="BFGS", options={"gtol": slope})


def _process(logs: Array) -> Process:
    """The process from the logarithms of its two rates and its two switching rates."""
    slow, fast, up, down = np.exp(logs)
    return Process(
        np.array([[-slow - up, up], [down, -fast - down]]), np.diag(np.array([slow, fast]))
    )


def _parameters(loss: Loss, logs: Array, unit: float) -> tuple[Parameter, ...]:
    """The four numbers; intervals by the likelihood ratio, or normal where it is nearly square."""
    errors = _errors(loss, logs)
    near = (errors < _SQUARE).all()
    found = []
    for place, (name, log, error) in enumerate(zip(_NAMES, logs, errors, strict=True)):
        if near:
            low = log - NORMAL_95 * error
            high = log + NORMAL_95 * error
        else:
            low, high = (_end(loss, logs, place, sign * min(error, 1.0)) for sign in (-1, 1))
        value, low, high = (float(each) for each in np.exp([log, low, high]) / unit)
        natural = value * float(error) if np.isfinite(error) else None
        found.append(Parameter(name, None, value, low, high, natural))
    return tuple(found) if all(np.isfinite(each.high) for each in found) else ()


def _errors(loss: Loss, logs: Array) -> Array:
    """Standard errors of the logarithms, infinite where the likelihood is flat."""
    try:
        variances = np.diag(np.linalg.inv(_curvature(loss, logs)))
    except np.linalg.LinAlgError:
        return np.full(len(logs), np.inf)
    return np.sqrt(np.where(variances > 0, variances, np.inf))


def _end(loss: Loss, logs: Array, place: int, step: float) -> float:
    """Where the greatest likelihood with one number given is 1.92 less in its logarithm.

    Infinite where it is not, up to a factor of e^12 away.
    """
    lowest = loss(logs) + NORMAL_95**2 / 2
    inner = logs
    reach = NORMAL_95 * step
    outer = _given(loss, logs, place, logs[place] + reach)
    while loss(outer) < lowest:
        reach *= 1.5
        if abs(reach) > _FAR:
            return float(np.copysign(np.inf, step))
        inner = outer
        outer = _given(loss, outer, place, logs[place] + reach)
    while abs(outer[place] - inner[place]) > _FINE:
        middle = _given(loss, inner, place, (inner[place] + outer[place]) / 2)
        inner, outer = (middle, outer) if loss(middle) < lowest else (inner, middle)
    return float((inner[place] + outer[place]) / 2)


def _given(loss: Loss, near: Array, place: int, log: float) -> Array:
    """The most likely numbers with one of them given, sought from near ones."""

    def loss_of_others(rest: Array) -> float:
        return loss(np.insert(rest, place, log))

    found: Array = np.insert(
        _minimum(loss_of_others, np.delete(near, place), _ROUGH_SLOPE).x, place, log
    )
    return found


def _curvature(loss: Loss, logs: Array) -> Array:
    """Second derivatives by central differences."""
    steps = _STEP * np.eye(len(logs))
    result = np.empty((len(logs),) * 2)
    for i, one in enumerate(steps):
        for j, other in enumerate(steps):
            ends = (one + other, one - other, other - one, -one - other)
            values = [loss(logs + end) for end in ends]
            result[i, j] = (values[0] - values[1] - values[2] + values[3]) / (4 * _STEP**2)
    return result
