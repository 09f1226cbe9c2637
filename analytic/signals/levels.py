"""The levels at which pages are best accessed, where signals tell of changes.

Of all policies that know the rates and hear the signals none keeps pages fresher with as many
accesses per unit time: docs/theory/signals.md proves it.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import scipy
from numpy.typing import NDArray

from analytic.signals.cycles import Cycles, cycles_at, signal_worths, signals_of
from scenarios.arrays import Array
from scenarios.signals import SignalRates

Mask = NDArray[np.bool_]

_ROUNDING = 1e-12
"""By how much a price, or a level, may be off relatively."""

_JUMP = 1e-3
"""Relative difference of the accesses at nearly the same price by which a value jumps."""

_AT_ONCE = 1e-5
"""Events in a cycle up to which the value of an access is taken from its series."""

_LAST_STEP = 1e-7
"""A relative step of Newton's method after which, its error being squared, none is needed."""

_SAMPLE = 2000
"""Pages of which the price is looked for first, where there are many."""

_MOST_STEPS = 200
"""Of Newton's method; some ten are usual."""

_LEAST, _MOST = -80.0, 60.0
"""Logarithms between which that of the height of the best page lies."""


class Levels(NamedTuple):
    """When each page is best accessed; arrays of shape (pages,).

    Parameters
    ----------
    levels : ndarray of float
        A page is accessed when the time since its last delivery and what its signals since then
        count for reach it; inf for never by age. Of pages without silent changes it is a number of
        signals.
    worths : ndarray of float
        Time that one signal counts for, inf where one is enough; 0 for pages that are given up.
    rates, fresh : ndarray of float
        Accesses per unit time, and the share of the time in which the copy is fresh. At most one
        page is at times accessed earlier than its level says, so that all accesses are used; these
        are the means.
    price : float
        Weighted fresh time that one access more would bring.
    """

    levels: Array
    worths: Array
    rates: Array
    fresh: Array
    price: float


def best_levels(signals: SignalRates, weights: Array, accesses: float) -> Levels:
    """The levels of the greatest weighted freshness with so many accesses per unit time.

    All pages are accessed where the value of an access (`crawl_values`) reaches the same price;
    pages of which it never does are given up. Where the value jumps, one page is drawn between two
    levels. The rates add up to `accesses` within 1e-11, and levels are off by some 1e-12, both
    relatively; of pages whose rates and weights span 24 decades the former was 2e-7 at most.

    Own result: proved in docs/theory/signals.md.

    Parameters
    ----------
    signals : SignalRates
    weights : ndarray of float, shape (pages,)
    accesses : float
        Per unit time.
    """
    search = _Search(signals, np.asarray(weights, dtype=float))
    height, frequent, rare = search.around(accesses)
    more = frequent.rates - rare.rates
    taken = _taken(more, frequent.rates, accesses - float(rare.rates.sum()))
    levels = np.where(taken == 1.0, frequent.levels, rare.levels)
    rates = rare.rates + taken * more
    fresh = rare.fresh + taken * (frequent.fresh - rare.fresh)
    worths = np.where(rates > 0, signal_worths(signals), 0.0)
    return Levels(levels, worths, rates, fresh, search.most * -math.expm1(-height))


def _taken(more: Array, rates: Array, left: float) -> Array:
    """For which part of the time each page has the level of more accesses, so that none is left.

    One page after the other where their values jump; otherwise the two levels are nearly the same.
    """
    jumps = more > _JUMP * rates
    if not jumps.any():
        total = float(more.sum())
        return np.full(more.shape, min(max(left / total, 0.0), 1.0) if total > 0.0 else 0.0)
    jumped = np.where(jumps, more, 0.0)
    before = np.cumsum(jumped) - jumped
    return np.clip(np.divide(left - before, more, out=np.zeros_like(more), where=jumps), 0.0, 1.0)


class _Plan(NamedTuple):
    """Levels, and what they lead to."""

    levels: Array
    rates: Array
    fresh: Array


class _Search:
    """The levels at a price.

    A page is worth an access as ``V(x) = (w / D) (1 - e^{-h(x)})``: its height h grows from 0
    without end, and at ages it nears ``a x``. A price is given by the height of the page that is
    worth most in the end, which tells prices apart even where all but that page are given up.
    """

    def __init__(self, signals: SignalRates, weights: Array) -> None:
        changes = signals.silent + signals.true
        self._never_changing = changes == 0
        self._worth = ~self._never_changing & (weights > 0)
        self._of = signals_of(signals, self._worth)
        self._weights = weights[self._worth]
        in_the_end = self._weights / changes[self._worth]
        self.most = float(in_the_end.max(initial=0.0))
        self._excess = self.most / in_the_end
        self._excess[self._excess < 1.0 + _ROUNDING] = 1.0
        self._levels = np.zeros(in_the_end.shape)

    def around(self, accesses: float) -> tuple[float, _Plan, _Plan]:
        """The height at the best price, and plans there of as many accesses or more, and of fewer.

        Parameters
        ----------
        accesses : float
        """
        low, high = self._bracket(accesses)
        if high == math.inf:
            return math.inf, self._at(math.inf), self._given_up()
        if low == -math.inf:
            every = self._at(math.exp(_LEAST))
            return 0.0, every, every
        found = scipy.optimize.brentq(
            lambda height: _surplus(self._at(math.exp(height)), accesses), low, high, xtol=_ROUNDING
        )
        step = _ROUNDING
        while True:
            frequent, rare = (self._at(math.exp(found + each)) for each in (-step, step))
            if _surplus(frequent, accesses) >= 0 >= _surplus(rare, accesses):
                return math.exp(found), frequent, rare
            step *= 4.0

    def _bracket(self, accesses: float) -> tuple[float, float]:
        """Logarithms of heights with more accesses, and with fewer; infinite where none has."""
        start, step = self._guess(accesses)
        sign = math.copysign(1.0, _surplus(self._at(math.exp(start)), accesses))
        while True:
            end = min(max(start + sign * step, _LEAST), _MOST)
            if _surplus(self._at(math.exp(end)), accesses) * sign <= 0:
                return (start, end) if sign > 0 else (end, start)
            if end in (_LEAST, _MOST):
                return (start, math.inf) if sign > 0 else (-math.inf, start)
            start, step = end, 4.0 * step

    def _guess(self, accesses: float) -> tuple[float, float]:
        """The logarithm of a height, that of some of many pages, and how near it may be."""
        every = len(self._levels) // _SAMPLE
        if every < 2:
            return 0.0, 1.0
        some = _Search(
            signals_of(self._of, np.arange(0, len(self._levels), every)), self._weights[::every]
        )
        height = some.around(accesses / every)[0]
        price = some.most / self.most * -math.expm1(-height)
        if not 0.0 < price < 1.0:
            return 0.0, 1.0
        return math.log(-math.log1p(-price)), 0.05

    def _at(self, height: float) -> _Plan:
        """The plan at the price of a height."""
        with np.errstate(divide="ignore", invalid="ignore"):
            heights = -np.log1p(self._excess * math.expm1(-height))
        heights[self._excess == 1.0] = height
        heights[np.isnan(heights)] = np.inf
        accessed = np.isfinite(heights) | (self._excess == 1.0)
        of = signals_of(self._of, accessed)
        reached, found = _reaching(of, heights[accessed], self._levels[accessed])
        self._levels[accessed] = np.where(np.isfinite(reached), reached, 0.0)
        plan = self._given_up()
        pages = np.flatnonzero(self._worth)[accessed]
        plan.levels[pages] = reached
        plan.rates[pages] = found.rates
        plan.fresh[pages] = found.fresh_shares
        return plan

    def _given_up(self) -> _Plan:
        """No page is accessed."""
        pages = self._worth.shape
        return _Plan(np.full(pages, np.inf), np.zeros(pages), self._never_changing.astype(float))


def _surplus(plan: _Plan, accesses: float) -> float:
    """By how much the logarithm of the accesses of a plan is above that of those given."""
    rates = float(plan.rates.sum())
    if rates == 0.0 or accesses == 0.0:
        return -math.inf if rates == 0.0 else math.inf
    return math.log(rates / accesses)


def _reaching(signals: SignalRates, heights: Array, guesses: Array) -> tuple[Array, Cycles]:
    """The levels of given heights, and the cycles there.

    Newton's method, page by page at the same time; it keeps to a bracket.
    """
    counted = signals.silent == 0
    levels = np.full(heights.shape, np.inf)
    levels[counted] = _numbers_reaching(signals, heights, counted)
    page = np.flatnonzero(~counted & np.isfinite(heights))
    of = signals_of(signals, page)
    aim = heights[page]
    changes = of.silent + of.true
    low = np.maximum(aim / of.silent, np.sqrt(-2.0 * np.expm1(-aim) / of.silent / changes))
    high = np.full(aim.shape, np.inf)
    x = np.maximum(guesses[page], low)
    for _ in range(_MOST_STEPS):
        height, slope = _height(of, x)
        below = height < aim
        low, high = np.where(below, x, low), np.where(below, high, x)
        step = x + (aim - height) / slope
        middle = np.where(np.isinf(high), 2.0 * x, 0.5 * (low + high))
        following = np.where((step >= low) & (step <= high), step, middle)
        levels[page] = following
        moving = np.abs(following - x) > _LAST_STEP * following
        if not moving.any():
            break
        page, aim, x, low, high = (each[moving] for each in (page, aim, following, low, high))
        of = signals_of(of, moving)
    return levels, cycles_at(signals, levels)


def _height(signals: SignalRates, levels: Array) -> tuple[Array, Array]:
    """Of pages with silent changes: ``-ln(1 - V D / w)``, and its slope.

    ``1 - V D / w = (1 - D F) + e^{-a x} D T``, of which the first is between ``1 - p`` and 1 times
    ``e^{-a x}``. Soon after an access ``V = w (a x^2 / 2) (1 - (2 a + g) x / 3 + ...)``.
    """
    changes = signals.silent + signals.true
    length, fresh = cycles_at(signals, levels)
    age = signals.silent * levels
    low = changes * (fresh - np.exp(-age) * length)
    rates = signals.silent + np.where(signals.true > 0, signals.heard, 0.0)
    soon = (rates * levels < _AT_ONCE) & (levels < signal_worths(signals))
    series = 0.5 * changes * age * levels * (1.0 - (rates + signals.silent) * levels / 3.0)
    low = np.where(soon, series, low)
    with np.errstate(over="ignore", invalid="ignore"):
        past = np.clip((1.0 - changes * fresh) * np.exp(age), 1.0 - signals.precision, 1.0)
        heights = np.where(
            low < 0.5, -np.log1p(-np.minimum(low, 0.5)), age - np.log(past + changes * length)
        )
    slopes = signals.silent * changes * length * np.exp(heights - age)
    return heights, slopes


def _numbers_reaching(signals: SignalRates, heights: Array, counted: Mask) -> Array:
    """Of pages without silent changes: the least number of signals of at least the height.

    ``h(n) = -n ln(1 - p) - ln(1 + n p)``.
    """
    precision = signals.precision[counted]
    aim = heights[counted]
    with np.errstate(divide="ignore"):
        evidence = -np.log1p(-precision)
    with np.errstate(invalid="ignore"):
        number = np.where(np.isinf(evidence), 1.0, np.maximum(aim / evidence, 1.0))
    several = np.flatnonzero(np.isfinite(evidence) & np.isfinite(aim))
    p, c, aim, n = precision[several], evidence[several], aim[several], number[several]
    for _ in range(_MOST_STEPS):
        following = n + (aim - c * n + np.log1p(n * p)) / (c - p / (1.0 + n * p))
        following = np.maximum(following, aim / c)
        if np.all(np.abs(following - n) <= _ROUNDING * following):
            break
        n = following
    number[several] = n
    return np.maximum(np.ceil(number * (1.0 - _ROUNDING)), 1.0)
