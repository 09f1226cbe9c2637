"""What a distribution over the states of a chain becomes after a time, and its integral until then.

The same for every generator; which method is used is a matter of size and speed. Small chains:
matrices of doubled times, whatever the rates. Large chains: jumps of the uniformised chain, until
nothing moves any more.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple, Protocol

import numpy as np
import scipy

from analytic.machinery.markov import LARGEST_DENSE
from analytic.machinery.phase_type import doubled_times
from analytic.machinery.poisson import poisson
from scenarios.arrays import Array

if TYPE_CHECKING:
    from scipy.sparse import csr_array

MOST_JUMPS_AT_ONCE = 2048.0
"""Mean number of jumps that are counted at once."""

_FEW_TERMS = 24
"""Jumps in a time of at most one jump on average; more have probability 1e-25."""

_STILL = 1e-15
"""A distribution that moves no more than this in this many jumps has settled."""

_MANY = 2000
"""States from which on only those are followed where a distribution is."""

_TAIL = 1e-18
"""Share of a distribution that may lie on either side of the range that is followed."""

_LOST = 1e-16
"""Share that may leave the range in this many jumps."""

TERMS_AT_ONCE = 16
"""Jumps that are added up together."""

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


class Settling:
    """Whether what is moved on and on, under the same rates, still moves.

    Parameters
    ----------
    size : callable
        How large a change is.
    still : float
        What has changed by no more than this in `MOST_JUMPS_AT_ONCE` jumps has settled.
    """

    def __init__(self, size: Callable[[Array], float], still: float) -> None:
        self._size = size
        self._still = still
        self._settled: Array | None = None
        self._since: Array | None = None
        self._last: Array | None = None
        self._jumps = 0.0

    def has_settled(self, numbers: Array) -> bool:
        """Whether these are the very numbers that no longer moved when they were last looked at."""
        return numbers is self._settled

    def moved(self, before: Array, after: Array, jumps: float) -> bool:
        """Whether numbers that moved this far in a number of jumps have settled."""
        if before is not self._last:
            self._since, self._jumps = before, 0.0
        self._last = after
        self._jumps += jumps
        # A long move is cut into equal parts of MOST_JUMPS_AT_ONCE jumps but for rounding.
        if self._jumps < 0.99 * MOST_JUMPS_AT_ONCE:
            return False
        assert self._since is not None
        if self._size(after - self._since) <= self._still:
            self._settled = after
        self._since, self._jumps = after, 0.0
        return self.has_settled(after)


class Transitions(Protocol):
    """The transitions of a chain with constant rates."""

    def move(self, row: Array, time: float) -> Moved:
        """What a row, which need not be a distribution, becomes in a time."""


def transitions(generator: Array | csr_array, time: float) -> Transitions:
    """The transitions of a chain, by the method that is the fastest for a time in all.

    Parameters
    ----------
    generator : ndarray or csr_array, shape (states, states)
    time : float
        About how long the chain will be followed.
    """
    states = generator.shape[0]
    jumps = max(time * float(-generator.diagonal().min(initial=0.0)), 1.0)
    entries = np.count_nonzero(generator) if isinstance(generator, np.ndarray) else generator.nnz
    of_jumps = jumps * (_OF_A_JUMP[0] + _OF_A_JUMP[1] * (entries + states))
    of_doubling = 3.0 * math.log2(2.0 * jumps) * _OF_A_PRODUCT * states**3
    is_small = isinstance(generator, np.ndarray) and states <= LARGEST_DENSE
    if is_small and of_doubling < of_jumps:
        return ByDoubling(generator)
    return ByJumps(scipy.sparse.csr_array(generator))


def with_diagonal(rates: Array | csr_array) -> Array | csr_array:
    """The generator with these rates off the diagonal."""
    if isinstance(rates, np.ndarray):
        generator = rates.copy()
        np.fill_diagonal(generator, 0.0)
        np.fill_diagonal(generator, -generator.sum(axis=1))
        return generator
    off = rates - scipy.sparse.diags_array(rates.diagonal())
    return scipy.sparse.csr_array(
        off - scipy.sparse.diags_array(np.asarray(off.sum(axis=1)).ravel())
    )


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

    Of a distribution over many states only a range of them is followed, outside of which there is
    next to nothing: what leaves it is known, and where it is too much the range is made wider.

    Parameters
    ----------
    generator : csr_array, shape (states, states)
    """

    def __init__(self, generator: csr_array) -> None:
        self._into = scipy.sparse.csr_array(generator.T)
        self._out = -generator.diagonal()
        rows = np.repeat(np.arange(len(self._out)), np.diff(self._into.indptr))
        self._reach = int(np.abs(rows - self._into.indices).max(initial=1))
        self._last: tuple[slice, float, csr_array] | None = None
        self._settling = Settling(_total, _STILL)

    def move(self, row: Array, time: float) -> Moved:
        """Some thousand jumps at a time, until the row has settled."""
        if self._settling.has_settled(row):
            return Moved(row, row * time)
        during = np.zeros_like(row)
        follows = bool(len(row) >= _MANY and row.min() >= 0)
        whole = slice(0, len(row))
        left = time
        while left > 0:
            margin = 2 * self._reach
            range_ = _occupied(row, margin) if follows else whole
            rate = float(self._out[range_].max(initial=0.0))
            part = left if rate * left <= MOST_JUMPS_AT_ONCE else MOST_JUMPS_AT_ONCE / rate
            after, spent, lost = self._count(row, range_, rate, part)
            while lost > _LOST and range_ != whole:
                margin *= 4
                range_ = _occupied(row, margin)
                rate = float(self._out[range_].max(initial=0.0))
                part = min(part, MOST_JUMPS_AT_ONCE / rate)
                after, spent, lost = self._count(row, range_, rate, part)
            during += spent
            left = left - part if left > part else 0.0
            settled = self._settling.moved(row, after, rate * part)
            row = after
            if settled:
                during += row * left
                break
        return Moved(row, during)

    def _count(
        self, row: Array, range_: slice, rate: float, time: float
    ) -> tuple[Array, Array, float]:
        """The row after a time, its integral, and the share of it that has left the range."""
        start = row[range_]
        total = start.sum()
        after = np.zeros_like(row)
        during = np.zeros_like(row)
        if rate == 0:
            after[range_] = start
            during[range_] = start * time
            return after, during, 0.0
        weights = jump_weights(rate * time)
        jump = self._jump(range_, rate)
        sums = np.zeros((2, len(start)))
        terms = np.empty((TERMS_AT_ONCE, len(start)))
        here = start
        for count in range(0, weights.shape[1], TERMS_AT_ONCE):
            some = weights[:, count : count + TERMS_AT_ONCE]
            for place in range(some.shape[1]):
                terms[place] = here
                here = jump @ here
            sums += some @ terms[: some.shape[1]]
        sums[1] /= rate
        lost = 0.0
        if total > _LEAST_TOTAL * np.abs(start).sum():  # rounding of a million jumps adds up
            lost = rate * self._near_an_edge(sums[1], range_) / total
            if lost <= _LOST:  # else it is counted again, and there may be nothing left
                sums *= (row.sum() / sums.sum(axis=1) * (1.0, time))[:, None]
        after[range_], during[range_] = sums
        return after, during, lost

    def _near_an_edge(self, during: Array, range_: slice) -> float:
        """Time spent in states from which a jump may leave the range."""
        near = during[: self._reach].sum() if range_.start > 0 else 0.0
        if range_.stop < len(self._out):
            near += during[-self._reach :].sum()
        return float(near)

    def _jump(self, range_: slice, rate: float) -> csr_array:
        """Probabilities of the jumps within a range, transposed; the last ones are kept."""
        if self._last is None or self._last[:2] != (range_, rate):
            into = self._into[range_, range_] / rate
            self._last = (
                range_,
                rate,
                scipy.sparse.csr_array(into + scipy.sparse.diags_array(np.ones(into.shape[0]))),
            )
        return self._last[2]


def _total(row: Array) -> float:
    return float(np.abs(row).sum())


def _occupied(row: Array, margin: int) -> slice:
    """A range of states outside of which there is next to nothing, with a margin."""
    ahead = np.cumsum(row)
    first = int(np.searchsorted(ahead, _TAIL * ahead[-1], side="right"))
    last = int(np.searchsorted(np.cumsum(row[::-1]), _TAIL * ahead[-1], side="right"))
    wider = margin + (len(row) - last - first) // 4
    return slice(max(first - wider, 0), min(len(row) - last + wider, len(row)))


@lru_cache(maxsize=64)
def jump_weights(mean: float) -> Array:
    """Probabilities of 0, 1, … jumps, and of more than each; shape (2, jumps)."""
    most = math.ceil(mean + 9.0 * math.sqrt(mean)) + _FEW_TERMS
    here = poisson(mean, np.arange(most + 1.0))
    here /= here.sum()
    later = np.append(np.cumsum(here[:0:-1])[::-1], 0.0)
    return np.array([here, later * (mean / later.sum())])
