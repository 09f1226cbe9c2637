"""Markovian arrival processes of order two from mean, variation and lag correlation of the gaps.

For every MAP of order two the correlation of gaps k apart is ``gamma^k (c - 1) / (2 c)``, where c
is the squared coefficient of variation of a gap and gamma, between -1 and 1, the second eigenvalue
of ``(-D0)^-1 D1``. So lag 1 gives gamma, and says whether there is such a process at all.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import optimize

from analytic.fitting.hyper_erlang import three_moments, two_moments

__all__ = ["Process", "correlation_bound", "decay_of", "gap_moments", "map_of_order_two"]

Array = NDArray[np.float64]

_SHARES = 61
_RATIOS = np.concatenate([[1.0], np.geomspace(1.0 + 1e-6, 1e6, 60)])


class Process(NamedTuple):
    """Matrices D0 without and D1 with an arrival, each of shape (order, order)."""

    D0: Array
    D1: Array

    def entry(self) -> dict[str, Any]:
        """The process as a scenario file has it."""
        return {"map": {"D0": self.D0.tolist(), "D1": self.D1.tolist()}}


def correlation_bound(variation: float) -> float:
    """Bound |c - 1| / (2 c) of the correlation of successive gaps, for every MAP of order two.

    0 for c < 1/2, which none has.
    """
    if variation < 0.5:
        return 0.0
    return abs(variation - 1.0) / (2.0 * variation)


def decay_of(variation: float, correlation: float) -> float:
    """Decay gamma of the correlations from one lag to the next.

    Parameters
    ----------
    variation : float
        c, squared coefficient of variation of the gaps.
    correlation : float
        Of successive gaps.

    Raises
    ------
    ValueError
        If no MAP of order two has them, with the bound.

    Notes
    -----
    avrachenkov2011, section 7, prints 0.622 at mean 212.03 and variance 51352.38, c = 1.14226: ten
    times the bound 0.06227, so the method that is cited there for order two cannot have met it.
    """
    bound = correlation_bound(variation)
    if abs(correlation) > bound * (1.0 + 1e-12):
        raise ValueError(
            f"no MAP of order two has the lag correlation {correlation:.6g} at the squared "
            f"coefficient of variation {variation:.6g}; it is at most {bound:.6g} in size"
        )
    if correlation == 0.0:
        return 0.0
    return float(np.clip(2.0 * variation * correlation / (variation - 1.0), -1.0, 1.0))


def gap_moments(process: Process) -> tuple[float, float, float, float]:
    """Mean, squared coefficient of variation, third moment and lag-1 correlation of the gaps."""
    inverse = np.linalg.inv(-process.D0)
    jumps = inverse @ process.D1
    out = jumps[0, 1] + jumps[1, 0]
    start = np.array([jumps[1, 0], jumps[0, 1]]) / out if out > 0 else np.array([0.5, 0.5])
    first, second, third = (
        float(factor * start @ np.linalg.matrix_power(inverse, order) @ np.ones(2))
        for order, factor in ((1, 1), (2, 2), (3, 6))
    )
    both = float(start @ inverse @ jumps @ inverse @ np.ones(2))
    variance = second - first**2
    return first, variance / first**2, third, (both - first**2) / variance


def map_of_order_two(
    mean: float, variation: float, correlation: float, third: float | None = None
) -> Process:
    """A MAP of order two with given mean, variation and lag correlation of the gaps.

    Parameters
    ----------
    mean : float
    variation : float
        Squared coefficient of variation, at least 1/2.
    correlation : float
        Of successive gaps.
    third : float, optional
        Third moment, met where this is possible, and else as nearly as it is.

    Raises
    ------
    ValueError
        If there is none, with the bound that is violated.

    Notes
    -----
    For c > 1 and gamma >= 0: a hyperexponential gap whose phase is kept with probability gamma and
    else drawn anew. Otherwise the canonical forms of Bodrog, Heindl, Horváth and Telek (European
    Journal of Operational Research, 2008), searched for the variation.
    """
    if variation < 0.5:
        raise ValueError(
            f"no process of order two has the squared coefficient of variation {variation:.6g}; "
            "it is at least 0.5"
        )
    decay = decay_of(variation, correlation)
    if abs(variation - 1.0) < 1e-9:
        return Process(np.diag([-1 / mean] * 2), np.full((2, 2), 0.5 / mean))
    if variation > 1.0 and decay >= 0.0:
        return _kept_phase(mean, variation, decay, third)
    return _canonical(mean, variation, decay, third)


def _kept_phase(mean: float, variation: float, decay: float, third: float | None) -> Process:
    """The hyperexponential whose phase is kept with probability gamma."""
    second = (variation + 1.0) * mean**2
    law = two_moments(mean, variation)
    if third is not None and mean * third > 1.5 * second**2 * (1.0 + 1e-6):
        law = three_moments(mean, second, third)
    rates, shares = np.array(law.rates), np.array(law.probabilities)
    nexts = decay * np.eye(2) + (1.0 - decay) * shares
    return Process(-np.diag(rates), rates[:, None] * nexts)


def _canonical(mean: float, variation: float, decay: float, third: float | None) -> Process:
    """The canonical form with the variation and decay whose third moment is nearest."""
    found = [
        process
        for share in np.linspace(abs(decay), 1.0, _SHARES)
        for process in _with_variation(float(share), decay, variation)
    ]
    if not found:
        raise ValueError(
            f"no MAP of order two has the decay {decay:.6g} of correlations at the squared "
            f"coefficient of variation {variation:.6g}"
        )
    goal = 1.5 * (variation + 1.0) ** 2 if third is None else third / mean**3
    moments = [gap_moments(process) for process in found]
    best = min(
        range(len(found)), key=lambda n: abs(np.log(moments[n][2] / moments[n][0] ** 3 / goal))
    )
    scale = moments[best][0] / mean
    return Process(found[best].D0 * scale, found[best].D1 * scale)


def _with_variation(share: float, decay: float, variation: float) -> list[Process]:
    """The canonical forms with one parameter given that have the variation."""
    other = abs(decay) / share if share > 0 else 0.0

    def excess(logarithm: float) -> float:
        made = _form(float(np.exp(logarithm)), share, other, decay)
        return gap_moments(made)[1] - variation

    logs = np.log(_RATIOS)
    values = np.array([excess(each) for each in logs])
    crossings = np.flatnonzero(np.sign(values[1:]) != np.sign(values[:-1]))
    roots = [
        optimize.brentq(excess, logs[n], logs[n + 1], xtol=1e-14, rtol=1e-14) for n in crossings
    ]
    return [_form(float(np.exp(root)), share, other, decay) for root in roots]


def _form(ratio: float, a: float, b: float, decay: float) -> Process:
    """The two canonical forms: gamma = a b where it is not negative, else gamma = -a b."""
    hidden = np.array([[-1.0, 1.0 - a], [0.0, -ratio]])
    if decay >= 0.0:
        return Process(hidden, np.array([[a, 0.0], [(1.0 - b) * ratio, b * ratio]]))
    return Process(hidden, np.array([[0.0, a], [b * ratio, (1.0 - b) * ratio]]))
