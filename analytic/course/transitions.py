"""What a distribution over the states of a chain becomes after a time, and its integral until then.

The same for every generator; which method is used is a matter of size and speed. Small chains:
matrices of doubled times, whatever the rates. Large chains: jumps of the uniformised chain, until
nothing moves any more.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import NamedTuple, Protocol

import numpy as np
from scipy.sparse import csr_array, diags_array

from analytic.phase_type import doubled_times
from analytic.poisson import poisson
from scenarios.arrays import Array

LARGEST_DENSE = 400
"""States up to which matrices of all their pairs are kept."""

MOST_JUMPS_AT_ONCE = 2048.0
"""Mean number of jumps that are counted at once."""

_FEW_TERMS = 24
"""Jumps in a time of at most one jump on average; more have probability 1e-25."""

_STILL = 1e-15
"""A distribution that moves no more than this in so many jumps has settled."""

_LEAST_TOTAL = 1e-3
"""Share of its entries' absolute values that a row's sum must be for it to be kept."""

_OF_A_JUMP = 2e-5, 3e-9
"""Seconds of a product with a sparse matrix, and of each of its entries."""

_OF_A_PRODUCT = 1e-10
"""Seconds of each multiplication of dense matrices."""


class Moved(NamedTuple):
    """What a row over the states has become.

    Attributes
    ----------
    after : ndarray, shape (states,)
        The row after the time.
    during : ndarray, shape (states,)
        Its integral over the time.
    """

    after: Array
    during: Array


class Transitions(Protocol):
    """The transitions of a chain with constant rates."""

    def move(self, row: Array, time: float) -> Moved:
        """What a row, which need not be a distribution, becomes in a time."""


def transitions(rates: csr_array, time: float) -> Transitions:
    """The transitions of a chain, by the method that is the fastest for a time in all.

    Parameters
    ----------
    rates : csr_array, shape (states, states)
        The diagonal is not used.
    time : float
        About how long the chain will be followed.
    """
    generator = with_diagonal(rates)
    states = generator.shape[0]
    jumps = max(time * float(-generator.diagonal().min(initial=0.0)), 1.0)
    of_jumps = jumps * (_OF_A_JUMP[0] + _OF_A_JUMP[1] * (generator.nnz + states))
    of_doubling = 3.0 * math.log2(2.0 * jumps) * _OF_A_PRODUCT * states**3
    if states <= LARGEST_DENSE and of_doubling < of_jumps:
        return ByDoubling(generator.toarray())
    return ByJumps(generator)


def with_diagonal(rates: csr_array) -> csr_array:
    """The generator with these rates off the diagonal."""
    off = rates - diags_array(rates.diagonal())
    return csr_array(off - diags_array(np.asarray(off.sum(axis=1)).ravel()))


class ByDoubling:
    """Matrices after a short time, twice that time, and so on; entries keep their relative digits.

    Parameters
    ----------
    generator : ndarray, shape (states, states)
    """

    def __init__(self, generator: Array) -> None:
        self._rate = float(np.max(-np.diag(generator), initial=0.0))
        if self._rate > 0:
            # a power of two, so that a time in such units has exact binary digits
            self._unit = math.ldexp(1.0, -math.frexp(self._rate)[1])
            self._next = doubled_times(generator, self._unit)
            self._jump = np.eye(len(generator)) + generator / self._rate
        self._rungs: list[tuple[Array, Array]] = []

    def move(self, row: Array, time: float) -> Moved:
        """Digit by digit of the time; what is left is less than a jump."""
        if self._rate == 0:
            return Moved(row, row * time)
        rest, whole = math.modf(time / self._unit)
        moved = self._shortly(row, rest * self._unit)
        row, during = moved.after, moved.during
        digits = int(whole)
        for rung in range(digits.bit_length()):
            if digits >> rung & 1:
                after, mean = self._rung(rung)
                during = during + row @ mean * math.ldexp(self._unit, rung)
                row = row @ after
        return Moved(row, during)

    def _rung(self, rung: int) -> tuple[Array, Array]:
        while len(self._rungs) <= rung:
            self._rungs.append(next(self._next))
        return self._rungs[rung]

    def _shortly(self, row: Array, time: float) -> Moved:
        if time == 0:
            return Moved(row, np.zeros_like(row))
        here, later = jump_weights(self._rate * time)
        after = here[0] * row
        during = later[0] * row
        for count in range(1, len(here)):
            row = row @ self._jump
            after = after + here[count] * row
            during = during + later[count] * row
        return Moved(after, during / self._rate)


class ByJumps:
    """Jumps of the uniformised chain, counted; nothing is subtracted.

    Parameters
    ----------
    generator : csr_array, shape (states, states)
    """

    def __init__(self, generator: csr_array) -> None:
        self._rate = float(-generator.diagonal().min(initial=0.0))
        if self._rate > 0:
            ones = diags_array(np.ones(generator.shape[0]))
            self._jump = csr_array((ones + generator / self._rate).T)

    def move(self, row: Array, time: float) -> Moved:
        """In equal parts, until the row has settled."""
        during = np.zeros_like(row)
        if self._rate == 0 or time == 0:
            return Moved(row, row * time)
        parts = math.ceil(self._rate * time / MOST_JUMPS_AT_ONCE)
        weights = jump_weights(self._rate * time / parts)
        before = math.inf
        total = row.sum()
        for part in range(parts):
            after, spent = self._count(row, *weights)
            if total > _LEAST_TOTAL * np.abs(row).sum():  # rounding of a million jumps adds up
                spent *= total * time / parts / spent.sum()
                after *= total / after.sum()
            during += spent
            change = float(np.abs(after - row).sum())
            row = after
            if change <= _STILL or max(change, before) * (parts - part) <= _STILL:
                during += row * (time * (parts - part - 1) / parts)
                break
            before = change
        return Moved(row, during)

    def _count(self, row: Array, here: Array, later: Array) -> Moved:
        after = np.zeros_like(row)
        during = np.zeros_like(row)
        term = np.empty_like(row)
        for count in range(len(here)):
            if count:
                row = self._jump @ row
            if here[count] > 0:
                after += np.multiply(row, here[count], out=term)
            during += np.multiply(row, later[count], out=term)
        during /= self._rate
        return Moved(after, during)


@lru_cache(maxsize=64)
def jump_weights(mean: float) -> tuple[Array, Array]:
    """Probabilities of 0, 1, … jumps, and of more than so many."""
    most = math.ceil(mean + 9.0 * math.sqrt(mean)) + _FEW_TERMS
    here = poisson(mean, np.arange(most + 1.0))
    here /= here.sum()
    later = np.append(np.cumsum(here[:0:-1])[::-1], 0.0)
    here[here < 1e-30] = 0.0
    return here, later * (mean / later.sum())
