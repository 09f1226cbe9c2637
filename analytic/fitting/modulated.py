"""MMPP(2), a Poisson process whose rate switches between two values, by maximum likelihood."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import optimize

from analytic.fitting.intervals import NORMAL_95, Parameter
from analytic.fitting.order_two import Process

__all__ = ["Modulated", "fit_modulated", "likelihood_of"]

Array = NDArray[np.float64]

_NAMES = ("slow_rate", "fast_rate", "rate_of_speeding_up", "rate_of_slowing_down")
_STEP = 1e-3
_FLAT = 5.0
_LOWEST, _HIGHEST = -30.0, 30.0


@dataclass(frozen=True)
class Modulated:
    """A fitted MMPP(2).

    Attributes
    ----------
    process : Process
    parameters : tuple of Parameter
        Slow rate, fast rate, rates of speeding up and of slowing down, with 95 % intervals; empty
        where the information is singular, or so nearly that a standard error is above a factor of
        e^5, as for a Poisson process.
    log_likelihood : float
    """

    process: Process
    parameters: tuple[Parameter, ...]
    log_likelihood: float


def likelihood_of(gaps: Array, process: Process) -> float:
    """Log-likelihood of gaps in their order, the process stationary at the first event."""
    from analytic.fitting.gap_likelihood import log_likelihood_of_gaps

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
    Four numbers by their logarithms, from a few starts; errors from the curvature at the maximum.
    """
    unit = float(gaps.mean())
    scaled = gaps / unit

    def loss(logs: Array) -> float:
        value = likelihood_of(scaled, _process(np.clip(logs, _LOWEST, _HIGHEST)))
        return -value if np.isfinite(value) else 1e300

    starts = [
        np.log([0.5, 2.0, speed, speed * ratio]) for speed in (0.5, 0.05) for ratio in (1.0, 4.0)
    ]
    first = min(starts, key=loss)
    found = optimize.minimize(loss, first, method="BFGS", options={"gtol": 1e-3})
    logs = np.clip(found.x, _LOWEST, _HIGHEST)
    if logs[0] > logs[1]:
        logs = logs[[1, 0, 3, 2]]
    process = _process(logs)
    value = -float(found.fun) - len(gaps) * np.log(unit)
    natural = Process(process.D0 / unit, process.D1 / unit)
    return Modulated(natural, _parameters(loss, logs, unit), float(value))


def _process(logs: Array) -> Process:
    """The process from the logarithms of its two rates and its two switching rates."""
    slow, fast, up, down = np.exp(logs)
    return Process(
        np.array([[-slow - up, up], [down, -fast - down]]), np.diag(np.array([slow, fast]))
    )


def _parameters(loss: Callable[[Array], float], logs: Array, unit: float) -> tuple[Parameter, ...]:
    """The four numbers with intervals that are normal in the logarithm."""
    curvature = _curvature(loss, logs)
    try:
        variances = np.diag(np.linalg.inv(curvature))
    except np.linalg.LinAlgError:
        return ()
    if not ((variances > 0) & (variances < _FLAT**2)).all():
        return ()
    errors = np.sqrt(variances)
    return tuple(
        Parameter(
            name,
            None,
            float(np.exp(each) / unit),
            float(np.exp(each - NORMAL_95 * error) / unit),
            float(np.exp(each + NORMAL_95 * error) / unit),
            float(np.exp(each) / unit * error),
        )
        for name, each, error in zip(_NAMES, logs, errors, strict=True)
    )


def _curvature(loss: Callable[[Array], float], logs: Array) -> Array:
    """Second derivatives by central differences."""
    steps = _STEP * np.eye(len(logs))
    result = np.empty((len(logs),) * 2)
    for i, one in enumerate(steps):
        for j, other in enumerate(steps):
            ends = (one + other, one - other, other - one, -one - other)
            values = [loss(logs + end) for end in ends]
            result[i, j] = (values[0] - values[1] - values[2] + values[3]) / (4 * _STEP**2)
    return result
