"""Markovian arrival processes of order two: by moments of the gaps, and an MMPP by its likelihood.

For every MAP of order two the correlation of gaps k apart is ``gamma^k (c - 1) / (2 c)``, where c
is the squared coefficient of variation of a gap and gamma, between -1 and 1, the second eigenvalue
of ``(-D0)^-1 D1``. So lag 1 gives gamma, and says whether there is such a process at all.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import combinations_with_replacement
from typing import Any, NamedTuple

import numpy as np
from scipy import optimize

from crawlsim.logs.fit.hyper_erlang import three_moments, two_moments
from crawlsim.logs.fit.intervals import NORMAL_95, Parameter
from scenarios.arrays import Array

Loss = Callable[[Array], float]

_SHARES = 2001
_ROUNDING = 1e-12
_WIDEST = 1e10
_NAMES = ("slow_rate", "fast_rate", "rate_of_speeding_up", "rate_of_slowing_down")
_STEP = 1e-3
_SQUARE = 0.25
_SLOPE = 1e-3
_ROUGH_SLOPE = 0.05
_FLAT = 1e-2
_NEAR = 0.05
_STILL = 1e-11
_MOST_NEWTON_STEPS = 10
_FAR = 12.0
_FINE = 0.01
_EVIDENCE = 3.0
_MANY = 20_000
_NEVER = 1e30  # so that its differences do not overflow
_LOWEST = -30.0
_HIGHEST = 30.0


class Process(NamedTuple):
    """Matrices D0 without and D1 with an arrival, each of shape (order, order)."""

    D0: Array
    D1: Array

    def entry(self) -> dict[str, Any]:
        """The process as a scenario file has it."""
        return {"map": {"D0": self.D0.tolist(), "D1": self.D1.tolist()}}


def _embedded(process: Process) -> tuple[Array, Array, Array]:
    """``M = (-D0)^-1``, ``P = M D1`` and the stationary ``s = s P`` of a process of order two."""
    times: Array = np.linalg.inv(-process.D0)
    jumps = times @ process.D1
    out = jumps[0, 1] + jumps[1, 0]
    start = np.array([jumps[1, 0], jumps[0, 1]]) / out if out > 0 else np.array([0.5, 0.5])
    return times, jumps, start


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
    if abs(correlation) < _ROUNDING:
        return 0.0
    return float(np.clip(2.0 * variation * correlation / (variation - 1.0), -1.0, 1.0))


def gap_correlations(process: Process, lags: int) -> Array:
    """Correlations of gaps 1, 2, … apart, shape (lags,), of a process of any order.

    Parameters
    ----------
    process : Process
    lags : int

    Notes
    -----
    ``E X_0 X_k = s M P^k M 1`` with ``M = (-D0)^-1``, ``P = M D1`` and ``s = s P``.
    """
    times = np.linalg.inv(-process.D0)
    jumps = times @ process.D1
    order = len(jumps)
    equations = np.vstack([jumps.T - np.eye(order), np.ones(order)])
    start = np.linalg.lstsq(equations, np.append(np.zeros(order), 1.0), rcond=None)[0]
    left = start @ times
    right = times @ np.ones(order)
    mean = float(left.sum())
    variance = 2.0 * float(left @ right) - mean**2
    correlations = np.empty(lags)
    for lag in range(lags):
        right = jumps @ right
        correlations[lag] = (left @ right - mean**2) / variance
    return correlations


def gap_moments(process: Process) -> tuple[float, float, float, float]:
    """Mean, squared coefficient of variation, third moment and lag-1 correlation of the gaps."""
    times, jumps, start = _embedded(process)
    first, second, third = (
        float(factor * start @ np.linalg.matrix_power(times, order) @ np.ones(2))
        for order, factor in ((1, 1), (2, 2), (3, 6))
    )
    both = float(start @ times @ jumps @ times @ np.ones(2))
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
    For c > 1, gamma >= 0 and a third moment that a hyperexponential has: such a gap, whose phase
    is kept with probability gamma and else drawn anew. Otherwise the canonical forms of Bodrog,
    Heindl, Horváth and Telek (European Journal of Operational Research, 2008): mean and variation
    by a quadratic equation, the third moment by a search along the one number that is left. A
    correlation that rounding might have made, below 1e-12, is none; at gamma = 1 the phases never
    change again, which is not a process but a choice of two.
    """
    if variation < 0.5:
        raise ValueError(
            f"no process of order two has the squared coefficient of variation {variation:.6g}; "
            "it is at least 0.5"
        )
    if abs(variation - 1.0) < _ROUNDING and abs(correlation) < _ROUNDING:
        return Process(np.diag([-1 / mean] * 2), np.full((2, 2), 0.5 / mean))
    decay = decay_of(variation, correlation)
    if decay > 1.0 - _ROUNDING:
        raise ValueError(
            f"no MAP of order two has the decay 1 of correlations, that of the lag correlation "
            f"{correlation:.6g} at the squared coefficient of variation {variation:.6g}: its "
            "phases would never change"
        )
    if variation > 1.0 and decay >= 0.0:
        made = _kept_phase(mean, variation, decay, third)
        if made is not None:
            return made
    return _canonical(mean, variation, decay, third)


def _kept_phase(mean: float, variation: float, decay: float, third: float | None) -> Process | None:
    """The hyperexponential whose phase is kept with probability gamma; None if there is none."""
    second = (variation + 1.0) * mean**2
    law = two_moments(mean, variation)
    if third is not None:
        if mean * third <= 1.5 * second**2 * (1.0 + _ROUNDING):
            return None
        law = three_moments(mean, second, third)
    rates = np.array(law.rates)
    shares = np.array(law.probabilities)
    nexts = decay * np.eye(2) + (1.0 - decay) * shares
    return Process(-np.diag(rates), rates[:, None] * nexts)


def _canonical(mean: float, variation: float, decay: float, third: float | None) -> Process:
    """The canonical form with the variation and decay whose third moment is nearest."""
    goal = 1.5 * (variation + 1.0) ** 2 if third is None else third / mean**3
    shares = _shares(decay)

    def miss(share: Array, root: int) -> Array:
        return _third_moments(share, decay, variation, root) / goal - 1.0

    nearest = [_nearest(shares, partial(miss, root=root)) for root in (0, 1)]
    root = int(np.argmin([each[0] for each in nearest]))
    distance, share = nearest[root]
    if not np.isfinite(distance):
        raise ValueError(
            f"no MAP of order two has the decay {decay:.6g} of correlations at the squared "
            f"coefficient of variation {variation:.6g}"
        )
    time = float(_times(np.array([share]), decay, variation, root)[0][0])
    made = _form(1.0 / time, share, abs(decay) / share if decay else 0.0, decay)
    scale = gap_moments(made)[0] / mean
    return Process(made.D0 * scale, made.D1 * scale)


def _shares(decay: float) -> Array:
    """Values of one parameter of a canonical form, whose product with the other is |gamma|.

    At both ends of the form for gamma >= 0 a phase is left for ever: they are left out.
    """
    size = abs(decay)
    shares = size + (1.0 - size) * np.linspace(0.0, 1.0, _SHARES)
    if decay == 0.0:
        return shares[:-1]
    shares = np.union1d(shares, np.geomspace(size, 1.0, _SHARES))
    return shares if decay < 0.0 else shares[1:-1]


def _nearest(shares: Array, miss: Callable[[Array], Array]) -> tuple[float, float]:
    """Where a function of the shares is 0, or nearest to it; and how near."""
    values = miss(shares)
    if not np.isfinite(values).any():
        return np.inf, np.nan
    signs = np.sign(values)
    crossings = np.flatnonzero(signs[1:] * signs[:-1] < 0)
    if len(crossings):
        left = shares[crossings[0]]
        right = shares[crossings[0] + 1]
        exact = optimize.brentq(
            lambda share: float(miss(np.array([share]))[0]), left, right, xtol=1e-15, rtol=1e-14
        )
        return 0.0, float(exact)
    place = int(np.nanargmin(np.abs(values)))
    return float(abs(values[place])), float(shares[place])


def _third_moments(shares: Array, decay: float, variation: float, root: int) -> Array:
    """E X^3 / (E X)^3 of the canonical forms with the variation; NaN where there is none."""
    x, first, both, second = _times(shares, decay, variation, root)
    mean = first + second * x
    return 6.0 * (first + both * (x + x**2) + second * x**3) / mean**3


def _times(
    shares: Array, decay: float, variation: float, root: int
) -> tuple[Array, Array, Array, Array]:
    """Mean time x in the second phase, that in the first being 1; NaN where there is none.

    Notes
    -----
    With p_1 the share of gaps that begin in phase 1, s that of those that go on to phase 2, and p_2
    that of the gaps with time in phase 2: E X = p_1 + p_2 x, E X^2 = 2 (p_1 + s x + p_2 x^2), and
    E X^2 = (1 + c) (E X)^2 is quadratic in x. None of the shares depends on x.
    """
    other = np.divide(abs(decay), shares, out=np.zeros_like(shares), where=shares > 0)
    if decay >= 0.0:  # out of phase 1 after a gap from it, and into it after one from phase 2
        leaving = (1.0 - shares) * other
        coming = 1.0 - other
    else:
        leaving = shares + (1.0 - shares) * (1.0 - other)
        coming = other
    first = coming / (leaving + coming)
    both = first * (1.0 - shares)
    second = both + 1.0 - first
    c = 1.0 + variation
    a = second * (c * second - 2.0)
    b = 2.0 * (c * first * second - both)
    const = first * (c * first - 2.0)
    under = b**2 - 4.0 * a * const
    under = np.where(np.abs(under) < _ROUNDING * b**2, 0.0, under)
    with np.errstate(divide="ignore", invalid="ignore"):
        wide = np.sqrt(under) * (1 - 2 * root)
        x = np.where(b * wide <= 0.0, (wide - b) / (2.0 * a), -2.0 * const / (b + wide))
    return np.where((x > 1.0 / _WIDEST) & (x < _WIDEST), x, np.nan), first, both, second


def _form(ratio: float, a: float, b: float, decay: float) -> Process:
    """The two canonical forms: gamma = a b where it is not negative, else gamma = -a b."""
    hidden = np.array([[-1.0, 1.0 - a], [0.0, -ratio]])
    if decay >= 0.0:
        return Process(hidden, np.array([[a, 0.0], [(1.0 - b) * ratio, b * ratio]]))
    return Process(hidden, np.array([[0.0, a], [b * ratio, (1.0 - b) * ratio]]))


# By maximum likelihood


@dataclass(frozen=True)
class Modulated:
    """A fitted MMPP(2).

    Attributes
    ----------
    process : Process
    log_likelihood : float
    intervals : callable
        Gives `parameters`, which take many times as long as the fit.
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
    from crawlsim.logs.fit.gap_likelihood import log_likelihood_of_gaps

    start = _embedded(process)[2]
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
    tried = [_minimum(rough, start, _ROUGH_SLOPE) for start in starts]
    best = _minimum(loss, min(tried, key=lambda each: float(each.fun)).x)
    logs = _finished(loss, np.clip(best.x, _LOWEST, _HIGHEST))
    if logs[0] > logs[1]:
        logs = logs[[1, 0, 3, 2]]
    process = _process(logs)
    value = -loss(logs) - len(gaps) * np.log(unit)
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


def _finished(loss: Loss, logs: Array) -> Array:
    """The stationary point near the end of a search, by Newton's method.

    Where a search stops depends on errors of rounding, which are not the same on all processors,
    in the seventh digit. Where the likelihood has no single top nearby, the end is kept.
    """
    curvature = _curvature(loss, logs)
    if not np.isfinite(curvature).all() or np.linalg.eigvalsh(curvature)[0] < _FLAT:
        return logs
    found = logs
    for _ in range(_MOST_NEWTON_STEPS):
        step = np.linalg.solve(curvature, _slope(loss, found))
        found = found - step
        if np.abs(found - logs).max() > _NEAR:
            return logs
        if np.abs(step).max() < _STILL:
            break
    return found


def _process(logs: Array) -> Process:
    """The process from the logarithms of its two rates and its two switching rates."""
    slow, fast, up, down = np.exp(logs)
    return Process(
        np.array([[-slow - up, up], [down, -fast - down]]), np.diag(np.array([slow, fast]))
    )


def _parameters(loss: Loss, logs: Array, unit: float) -> tuple[Parameter, ...]:
    """The four numbers; intervals by the likelihood ratio, or normal where it is nearly square."""
    try:
        variances = np.diag(np.linalg.inv(_curvature(loss, logs)))
    except np.linalg.LinAlgError:
        variances = np.full(len(logs), np.inf)
    errors = np.sqrt(np.where(variances > 0, variances, np.inf))  # infinite where it is flat
    square = (errors < _SQUARE).all()
    parameters = []
    for place, (name, log, error) in enumerate(zip(_NAMES, logs, errors, strict=True)):
        if square:
            low = log - NORMAL_95 * error
            high = log + NORMAL_95 * error
        else:
            low, high = (_end(loss, logs, place, sign * min(error, 1.0)) for sign in (-1, 1))
        value, low, high = (float(each) for each in np.exp([log, low, high]) / unit)
        natural = value * float(error) if np.isfinite(error) else None
        parameters.append(Parameter(name, None, value, low, high, natural))
    return tuple(parameters) if all(np.isfinite(each.high) for each in parameters) else ()


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

    others = _minimum(loss_of_others, np.delete(near, place), _ROUGH_SLOPE).x
    return np.insert(others, place, log)


def _slope(loss: Loss, logs: Array) -> Array:
    """First derivatives by central differences of the fourth order."""
    result = np.empty(len(logs))
    for place, step in enumerate(_STEP * np.eye(len(logs))):
        narrow = loss(logs + step) - loss(logs - step)
        wide = loss(logs + 2 * step) - loss(logs - 2 * step)
        result[place] = (8 * narrow - wide) / (12 * _STEP)
    return result


def _curvature(loss: Loss, logs: Array) -> Array:
    """Second derivatives by central differences."""
    steps = _STEP * np.eye(len(logs))
    result = np.empty((len(logs),) * 2)
    for i, j in combinations_with_replacement(range(len(logs)), 2):
        one, other = steps[i], steps[j]
        ends = (one + other, one - other, other - one, -one - other)
        values = [loss(logs + end) for end in ends]
        second = (values[0] - values[1] - values[2] + values[3]) / (4 * _STEP**2)
        result[i, j] = result[j, i] = second
    return result
