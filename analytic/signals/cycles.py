"""How long one page goes without an access, and how much of that time its copy is fresh.

A page counts what speaks for a change since the last delivery: the time t, and the n signals heard,
each of which counts for b of time. It is accessed as soon as tau = t + b n reaches a level.
docs/theory/signals.md derives what follows.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import scipy
from numpy.typing import NDArray

from scenarios.arrays import Array, Indices
from scenarios.signals import SignalRates

_MOST_SIGNALS = 2.0**15
"""Signals in a cycle up to which their sum is worked out; beyond, a cycle is long."""

_SMALL = 1e-5
"""Precision up to which ``-ln(1 - p) - p`` is taken from its series."""

_FORGOTTEN = 40.0
"""A level is far from the last access if no more than e to minus this is left of where it lies."""

_WIDTH = 8.0
"""Standard deviations of a Poisson number beyond which nothing is left (1e-15)."""

_LEAST_WIDTH = 60.0
"""The same of few."""


class Cycles(NamedTuple):
    """The time between two accesses of each page, in the mean; all of shape (pages,).

    Parameters
    ----------
    lengths : ndarray of float
        inf of pages that are never accessed.
    fresh : ndarray of float
        The part of it in which the copy is fresh; inf of pages that are never accessed and never
        change.
    """

    lengths: Array
    fresh: Array

    @property
    def rates(self) -> Array:
        """Accesses per unit time."""
        with np.errstate(divide="ignore"):
            return 1.0 / self.lengths

    @property
    def fresh_shares(self) -> Array:
        """Share of the time in which the copy is fresh."""
        shares = np.where(np.isinf(self.fresh) | (self.lengths == 0), 1.0, 0.0)
        return np.divide(self.fresh, self.lengths, out=shares, where=shares == 0)


def signal_worths(signals: SignalRates) -> Array:
    """Time that one signal counts for: ``-ln(1 - p) / a``.

    inf where one is enough, and 0 where they mean nothing. Of pages without silent changes, whose
    age says nothing, levels are numbers of signals, and it is 1.

    Parameters
    ----------
    signals : SignalRates
    """
    precision = _precision(signals)
    silent = signals.silent > 0
    with np.errstate(divide="ignore"):
        evidence = -np.log1p(-precision)
    worths = np.divide(evidence, signals.silent, out=np.ones_like(evidence), where=silent)
    return np.where(evidence == 0, 0.0, np.where(np.isinf(evidence), np.inf, worths))


def cycles_at(signals: SignalRates, levels: Array) -> Cycles:
    """The cycles of pages that are accessed as soon as their state reaches a level.

    Accesses take no time, and signals no delay. With ``y_i = x - i b``

    - length: ``T(x) = sum_i P(i+1, g y_i) / g``,
    - fresh part: ``F(x) = sum_i (nu / (a + g))^i P(i+1, (a + g) y_i) / (a + g)``,

    P the regularised lower incomplete gamma function and the sums over ``y_i > 0``. Where a
    cycle can have so many signals that the last access is forgotten to 17 digits, or more than
    2^15, the two are those far from it. Only with a recall above 0.98 the latter comes first; then
    T may be off by ``b / x < 2^-15`` relatively, and F by as much of ``1 / D``.

    Parameters
    ----------
    signals : SignalRates
    levels : ndarray of float, shape (pages,)
        In units of time, inf for never by age; of pages without silent changes numbers of signals.
    """
    levels = np.maximum(np.broadcast_to(levels, signals.silent.shape).astype(float), 0.0)
    lengths = np.full(levels.shape, np.inf)
    fresh = np.full(levels.shape, np.inf)
    changing = signals.silent + signals.true > 0
    counted = changing & (signals.silent == 0)
    aged = changing & ~counted
    lengths[counted], fresh[counted] = _by_signals(signals_of(signals, counted), levels[counted])
    lengths[aged], fresh[aged] = _by_age(signals_of(signals, aged), levels[aged])
    return Cycles(lengths, fresh)


def crawl_values(signals: SignalRates, weights: Array, levels: Array) -> Array:
    """What an access is worth when the state of a page is at a level: ``w (F - e^{-a x} T)``.

    The price of an access at which this level is best; it grows with the level, up to ``w / D``.
    Pages that never change have 0.

    Parameters
    ----------
    signals : SignalRates
    weights : ndarray of float, shape (pages,)
    levels : ndarray of float, shape (pages,)
        As of `cycles_at`.
    """
    lengths, fresh = cycles_at(signals, levels)
    still_fresh = np.exp(-_evidence(signals, levels))
    changing = signals.silent + signals.true > 0
    stale_length = np.multiply(
        still_fresh, lengths, out=np.zeros_like(lengths), where=still_fresh > 0
    )
    return np.where(changing, weights * (np.where(changing, fresh, 0.0) - stale_length), 0.0)


def _evidence(signals: SignalRates, levels: Array) -> Array:
    """``-ln P(fresh)`` at a level: ``a x``, or ``-n ln(1 - p)`` of pages without silent changes."""
    with np.errstate(divide="ignore", invalid="ignore"):
        of_signals = np.where(levels > 0, -np.log1p(-_precision(signals)) * np.ceil(levels), 0.0)
        of_age = np.where(signals.silent > 0, signals.silent * levels, 0.0)
    return np.where(signals.silent > 0, of_age, of_signals)


def _precision(signals: SignalRates) -> Array:
    """Share of true signals, never 1 by rounding where some are false."""
    below_one = np.where(signals.false > 0, 1.0 - np.finfo(float).epsneg, 1.0)
    return np.minimum(signals.precision, below_one)


def signals_of(signals: SignalRates, pages: NDArray[Any]) -> SignalRates:
    """Those of some pages."""
    return SignalRates(*(each[pages] for each in signals))


def _by_signals(signals: SignalRates, levels: Array) -> tuple[Array, Array]:
    """Pages without silent changes: as many signals as the level says, or one if that says all."""
    certain = (_precision(signals) == 1) & np.isfinite(levels)
    numbers = np.where(certain, np.minimum(np.ceil(levels), 1.0), np.ceil(levels))
    with np.errstate(divide="ignore", invalid="ignore"):
        stale = -np.expm1(numbers * np.log1p(-_precision(signals)))
    return numbers / signals.heard, np.where(numbers > 0, stale, 0.0) / signals.true


def _by_age(signals: SignalRates, levels: Array) -> tuple[Array, Array]:
    """Pages with silent changes."""
    heard = np.where(signals.true > 0, signals.heard, 0.0)
    worths = signal_worths(signals)
    changes = signals.silent + signals.true
    with np.errstate(divide="ignore", invalid="ignore"):
        lengths = np.where(np.isinf(worths) & (heard > 0), 1.0 / heard, np.inf)
    fresh = 1.0 / changes
    reached = np.isfinite(levels)
    with np.errstate(divide="ignore", invalid="ignore"):
        many = reached & (heard > 0) & (levels > _signals_forgotten(heard * worths) * worths)
    few = reached & ~many
    lengths[many], fresh[many] = _long(signals_of(signals, many), worths[many], levels[many])
    a, g, b, x = signals.silent[few], heard[few], worths[few], levels[few]
    false = np.where(g > 0, signals.false[few], 0.0)
    lengths[few] = _sum(g, np.ones_like(g), b, x)
    fresh[few] = _sum(a + g, false / (a + g), b, x)
    return lengths, np.minimum(fresh, np.minimum(lengths, 1.0 / changes))


def _signals_forgotten(heard_per_worth: Array) -> Array:
    """Signals after which the jump past a level has its stationary law, to 17 digits.

    What is left falls at least as fast as ``e^{-(pi / (2 + g b))^2 x / b}``: the roots of ``z + g b
    (1 - e^{-z}) = 0`` but 0 lie to the left of that, by more than the half where g b is large.
    """
    return np.minimum(_FORGOTTEN * ((2.0 + heard_per_worth) / np.pi) ** 2, _MOST_SIGNALS)


def _long(signals: SignalRates, worths: Array, levels: Array) -> tuple[Array, Array]:
    """Far from the last access, where the jump past the level has its stationary law.

    ``T = (x + E O) / (1 + g b)`` (Wald) and ``D F = 1 - e^{-a x} E e^{-a O}``, where the jump O is
    0 with probability ``1 / (1 + g b)`` and otherwise uniform up to b, so that
    ``1 - E e^{-a O} = g (-ln(1 - p) - p) / (a (1 + g b))``.
    """
    drift = 1.0 + signals.heard * worths
    jump = signals.heard * worths**2 / (2.0 * drift)
    changes = signals.silent + signals.true
    age, p = signals.silent * levels, signals.precision
    more = np.where(p < _SMALL, p * p * (0.5 + p / 3.0), -np.log1p(-p) - p)
    past = signals.heard * more / (signals.silent * drift)
    return (levels + jump) / drift, (np.exp(-age) * past - np.expm1(-age)) / changes


def _sum(rate: Array, ratio: Array, worths: Array, levels: Array) -> Array:
    """``sum_i ratio^i P(i+1, rate y_i) / rate`` over ``y_i = x - i b > 0``; ``x`` at rate 0.

    The i-th term is the probability that a Poisson number of mean ``rate y_i`` is above i. That is
    1 for the first terms and 0 for the last: only those between are worked out.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        terms = np.where(worths > 0, np.ceil(levels / worths), 1.0)
        middle = np.where(worths > 0, rate * levels / (1.0 + rate * worths), 0.0)
    terms = np.where(np.isinf(worths), 1.0, terms)
    middle = np.where(np.isinf(worths), 0.0, middle)
    width = _WIDTH * np.sqrt(middle) + _LEAST_WIDTH
    first = np.clip(np.floor(middle - width), 0.0, terms)
    last = np.minimum(terms, np.ceil(middle + width))
    with np.errstate(divide="ignore", invalid="ignore"):
        certain = np.where(ratio < 1.0, -np.expm1(first * np.log(ratio)) / (1.0 - ratio), first)
    total = np.where(first > 0, certain, 0.0)
    _add_terms(
        total, first, last, lambda i, of: _term(i, rate[of], ratio[of], worths[of], levels[of])
    )
    return np.where(rate > 0, total / np.where(rate > 0, rate, 1.0), levels)


def _add_terms(
    total: Array, first: Array, last: Array, term: Callable[[Array, Indices], Array]
) -> None:
    """Add the terms from the first to before the last, page by page at the same time."""
    page = np.flatnonzero(first < last)
    i = first[page]
    while page.size:
        total[page] += term(i, page)
        i += 1.0
        more = i < last[page]
        page, i = page[more], i[more]


def _term(i: Array, rate: Array, ratio: Array, worths: Array, levels: Array) -> Array:
    passed = np.multiply(i, worths, out=np.zeros_like(i), where=i > 0)
    left = np.maximum(levels - passed, 0.0)
    return ratio**i * scipy.special.gammainc(i + 1.0, rate * left)
