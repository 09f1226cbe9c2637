"""Pages behind a buffer over time: how likely each copy in the index is out of date.

Pages are drawn at random and first come is first served, so that what waits is of page i with its
share f, whatever else is known of the queue. Followed are, for each state of the queue,

- p, its probability,
- w_k, the same together with that a page like i would not have changed since the copy in position
  k was fetched (position 1 is in service),
- u, the same together with that page i has not changed since the copy in the index was fetched.

Each of them decays at the rate c mu of the changes, but p. A copy that enters adds p at its
position, without decay; the end of a service turns u into f w_1 + (1 - f) u, and moves the others
on by one; a timer that runs out moves those behind it on. So
``(p, w, u)`` solves one linear system, page by page, which nobody seems to have written down: the
whole path from the page to the searcher, at any time.

When a page is accessed and indexed depends on its share alone. So the probability of a copy that is
up to date is, of pages of one share, a Laplace transform at their change rates; of many such pages
only those are followed that say what it is for the others (`analytic.machinery.laplace_nodes`).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import scipy

from analytic.index import conditions
from analytic.index.accesses import accessed_pages
from analytic.machinery.laplace_nodes import nodes_of, weights_of
from analytic.machinery.refusal import NoAnswerError
from analytic.transient.pages import PageSegment, between
from analytic.transient.periodic import periodic_start
from analytic.transient.queue import PieceChain, QueueOverTime
from analytic.transient.transitions import MOST_JUMPS_AT_ONCE, TERMS_AT_ONCE, Settling, jump_weights
from scenarios.arrays import Array
from scenarios.timeline import Piece

if TYPE_CHECKING:
    from scipy.sparse import csr_array

_SETTLED = 1e-15
_MOST_PERIODS = 10_000
_KINDS_AT_ONCE = 64
_REGIME = 1e-13
"""Largest change of the periodic regime from one period to the next."""


class Parts(NamedTuple):
    """The linear system under constant settings, transposed, without the changes of pages.

    Attributes
    ----------
    states : int
        Of the queue: the numbers are its probabilities, then what decays as pages change.
    rate : float
        The fastest rate.
    common : csr_array, shape (numbers, numbers)
        The same for all pages.
    indexed : csr_array, shape (states, numbers)
        Of the last numbers, what the share of a page multiplies: a copy of it reaches the index.
    """

    states: int
    rate: float
    common: csr_array
    indexed: csr_array


class Jumps:
    """Pages of several kinds under constant settings: jumps counted, until nothing moves.

    Parameters
    ----------
    parts : Parts
    shares, changes : ndarray, shape (kinds,)
        Of the accesses; rates.
    """

    def __init__(self, parts: Parts, shares: Array, changes: Array) -> None:
        self._states = parts.states
        self._rate = parts.rate + float(changes.max())
        self._settling = Settling(_largest, _SETTLED)
        if self._rate > 0:
            stay = scipy.sparse.diags_array(np.ones(parts.common.shape[0]))
            self._common = scipy.sparse.csr_array(stay + parts.common / self._rate)
            self._indexed = parts.indexed
            self._shares = shares / self._rate
            self._lost = changes / self._rate

    def move(self, numbers: Array, time: float) -> tuple[Array, Array]:
        """The numbers after a time, and their integrals; shape (numbers, kinds)."""
        if self._rate == 0 or self._settling.has_settled(numbers):
            return numbers, numbers * time
        cuts = math.ceil(self._rate * time / MOST_JUMPS_AT_ONCE)
        during = np.zeros_like(numbers)
        for cut in range(cuts):
            before = numbers
            numbers, spent = self._count(before, time / cuts)
            during += spent
            if self._settling.moved(before, numbers, self._rate * time / cuts):
                during += numbers * (time * (cuts - cut - 1) / cuts)
                break
        return numbers, during

    def _count(self, numbers: Array, time: float) -> tuple[Array, Array]:
        """Some kinds after the others, so that what they take stays in the cache."""
        weights = jump_weights(self._rate * time)
        starts = range(0, numbers.shape[1], _KINDS_AT_ONCE)
        blocks = [slice(start, start + _KINDS_AT_ONCE) for start in starts]
        found = [self._count_some(numbers[:, block], block, weights) for block in blocks]
        after, spent = zip(*found, strict=True)
        return np.concatenate(after, axis=1), np.concatenate(spent, axis=1)

    def _count_some(self, numbers: Array, kinds: slice, weights: Array) -> tuple[Array, Array]:
        sums = np.zeros((2, numbers.size))
        terms = np.empty((TERMS_AT_ONCE, *numbers.shape))
        here = numbers
        for first in range(0, weights.shape[1], TERMS_AT_ONCE):
            some = weights[:, first : first + TERMS_AT_ONCE]
            for place in range(some.shape[1]):
                terms[place] = here
                here = self._jump(here, kinds)
            sums += some @ terms[: some.shape[1]].reshape(some.shape[1], -1)
        after, spent = sums.reshape(2, *numbers.shape)
        return after, spent / self._rate

    def _jump(self, numbers: Array, kinds: slice) -> Array:
        after: Array = self._common @ numbers
        after[-self._states :] += self._shares[kinds] * (self._indexed @ numbers)
        after[self._states :] -= self._lost[kinds] * numbers[self._states :]
        return after


class IndexedPages:
    """Pages drawn at random that go through a buffer, first come first served.

    Parameters
    ----------
    queue : QueueOverTime
        Of a scenario that meets the conditions of `analytic.transient.formulas`.
    """

    def __init__(self, queue: QueueOverTime) -> None:
        self._queue = queue
        kinds = accessed_pages(queue.scenario).kinds
        self._share_of_page = kinds.shares[kinds.of_page]
        self._rates, self._shares, self._others = _followed(kinds.change_rates, kinds.shares)
        self._pair = kinds.of_page
        self._jumps: dict[tuple[PieceChain, float], Jumps] = {}
        first = queue.chain_in(Piece(0.0, 1.0))
        self._levels = first.levels.astype(int)
        self._states = len(self._levels)
        self._size = 2 * self._states + int(self._levels.sum())

    def start(self) -> Array:
        """The numbers at time 0, where every copy is up to date; shape (numbers, kinds)."""
        start = np.zeros((self._size, len(self._rates)))
        start[: self._states] = start[-self._states :] = self._queue.start()[:, None]
        return start

    def follow(
        self, timeline: Sequence[Piece], stops: Sequence[float], numbers: Array | None = None
    ) -> Iterator[PageSegment]:
        """The segments between all changes and stops, one after the other.

        Parameters
        ----------
        timeline : sequence of Piece
        stops : sequence of float
            Increasing.
        numbers : ndarray, shape (numbers, kinds), optional
            Where it does not begin at the start.
        """
        numbers = self.start() if numbers is None else numbers
        for piece in timeline:
            for begin, end in between(piece, stops):
                numbers, during = self._move(piece, numbers, end - begin)
                queue = self._queue.chain_in(piece).sums(during[: self._states, 0])
                stale = 1.0 - numbers[-self._states :].sum(axis=0)
                stale_time = (end - begin) - during[-self._states :].sum(axis=0)
                yield PageSegment(
                    begin,
                    end,
                    (self._others @ stale)[self._pair],
                    (self._others @ stale_time)[self._pair],
                    self._share_of_page * queue.delivered,
                    piece.query_factor,
                    queue.robots / (end - begin),
                )

    def periodic_start(self, timeline: Sequence[Piece]) -> Array:
        """The numbers at position 0 of the regime in which these pieces have always been repeated.

        Raises
        ------
        NoAnswerError
            If it does not settle.
        """
        numbers = self.start()
        numbers[: self._states] = periodic_start(self._queue)[:, None]
        numbers[-self._states :] = numbers[: self._states]
        for _ in range(_MOST_PERIODS):
            before = numbers
            for piece in timeline:
                numbers, _ = self._move(piece, numbers, piece.end - piece.begin)
            if np.abs(numbers - before).max() <= _REGIME:
                return numbers
        raise NoAnswerError("the iteration for the periodic regime of the pages does not converge")

    def _move(self, piece: Piece, numbers: Array, time: float) -> tuple[Array, Array]:
        """The numbers after a time, and their integrals."""
        key = self._queue.chain_in(piece), piece.change_factor
        if key not in self._jumps:
            changes = piece.change_factor * self._rates
            self._jumps[key] = Jumps(self._parts_of(key[0]), self._shares, changes)
        return self._jumps[key].move(numbers, time)

    def _parts_of(self, chain: PieceChain) -> Parts:
        """The linear system, from the rates of the queue: a level tells who came or went."""
        moves = scipy.sparse.coo_array(chain.generator)
        states = self._states
        levels = self._levels
        first = states + np.concatenate([[0], np.cumsum(levels)[:-1]])
        index = self._size - states
        entries: list[tuple[float, float, float]] = []
        indexed: list[tuple[float, float, float]] = []
        out = np.zeros(states)
        drops = conditions.timer_rate(self._queue.scenario)
        for x, y, rate in zip(*moves.coords, moves.data, strict=True):
            if x == y:
                continue
            low, high = levels[x], levels[y]
            out[x] += rate
            entries += [(x, y, rate), (index + x, index + y, rate)]
            here, there = first[x], first[y]
            if high >= low:
                entries += [(here + k, there + k, rate) for k in range(low)]
                entries += [(x, there + k, rate) for k in range(low, high)]
                continue
            dropped = 0.0
            if drops and low >= 2 and y - x == self._same_phase(low):
                dropped = (low - 1) * drops
                entries += [(here + k, there + k, drops * (low - 1 - k)) for k in range(low - 1)]
                entries += [(here + k, there + k - 1, drops * (k - 1)) for k in range(2, low)]
            served = max(rate - dropped, 0.0)
            entries += [(here + k, there + k - 1, served) for k in range(1, low)]
            indexed += [(here, index + y, served), (index + x, index + y, -served)]
        for x in range(states):
            ends = range(first[x], first[x] + levels[x])
            entries += [(each, each, -out[x]) for each in (x, *ends, index + x)]
        rate = float(out.max(initial=0.0))
        return Parts(states, rate, self._matrix(entries), self._matrix(indexed)[-states:])

    def _same_phase(self, level: int) -> int:
        """How much lower the number of the state is that has the same phases a level below."""
        starts = np.searchsorted(self._levels, [level - 1, level])
        return int(starts[0] - starts[1])

    def _matrix(self, entries: list[tuple[float, float, float]]) -> csr_array:
        rows, columns, rates = np.array(entries).reshape(-1, 3).T
        places = columns.astype(int), rows.astype(int)
        return scipy.sparse.csr_array((rates, places), shape=(self._size, self._size))


def _followed(rates: Array, shares: Array) -> tuple[Array, Array, csr_array]:
    """Rates and shares of the kinds that are followed, and what of each kind follows from them."""
    changes = rates > 0.0  # what never changes has no logarithm
    order = np.lexsort((changes, shares))
    is_new = (np.diff(shares[order]) > 0.0) | np.diff(changes[order])
    groups = np.split(order, np.flatnonzero(is_new) + 1)
    nodes = [nodes_of(rates[each]) if changes[each[0]] else rates[each] for each in groups]
    pairs = list(zip(groups, nodes, strict=True))
    blocks = [weights_of(rates[mine], those) for mine, those in pairs]
    spread = scipy.sparse.block_diag(blocks, format="csr")[np.argsort(order)]
    same = [np.full(len(those), shares[mine[0]]) for mine, those in pairs]
    return np.concatenate(nodes), np.concatenate(same), scipy.sparse.csr_array(spread)


def _largest(change: Array) -> float:
    return float(np.abs(change).max())
