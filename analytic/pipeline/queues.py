"""The indexing queue as a page sees it: who delivers, who enters, how long until it is indexed."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from analytic.indexing_queue import QueueChain, solve_chain
from analytic.indexing_queue.chain import rate_blocks
from analytic.phase_type import PhaseLaw, moment
from scenarios.arrays import Array

Indices = NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class PageQueue:
    """A queue without timers in a band, its stationary law, and its deliveries apart.

    Attributes
    ----------
    service : PhaseLaw
    law : ndarray, shape (states,)
        Stationary probabilities.
    level, phase : ndarray of int, shape (states,)
        Pages in the system; phase of the service (0 where there is none).
    base : ndarray, shape (states, width)
        Rates of all moves that bring no page, lost deliveries included.
    accepted : ndarray, shape (largest batch, states, width)
        Rates of the deliveries of which 1, 2, … pages enter.
    lower : int
        Places below the diagonal.
    """

    service: PhaseLaw
    law: Array
    level: Indices
    phase: Indices
    base: Array
    accepted: Array
    lower: int

    @property
    def entering(self) -> Array:
        """Rates of the deliveries of which 1, 2, … pages enter, shape (largest batch, states)."""
        rates: Array = self.accepted.sum(axis=2)
        return rates

    @property
    def work(self) -> int:
        """About how many products a page takes."""
        states, width = self.base.shape
        return int(states * self.lower * (width - self.lower))


def page_queue(chain: QueueChain, law: Array | None = None) -> PageQueue:
    """The queue of a chain whose waiting pages have no timers.

    Parameters
    ----------
    chain : QueueChain
    law : ndarray, shape (states,), optional
        Its stationary law; found where it is not given.

    Raises
    ------
    ValueError
        If waiting pages have timers.
    """
    if chain.patience.exit_rates.any():
        raise ValueError("waiting pages become obsolete; there are other formulas for that")
    starts = chain.starts
    order = chain.order
    phases = len(chain.service.start)
    largest = max((max(moves, default=0) for moves in chain.arrivals), default=0)
    block = order * phases
    lower = 2 * block - 1
    upper = (max(largest, 1) + 1) * block - 1
    base = np.zeros((chain.states, lower + upper + 1))
    accepted = np.zeros((max(largest, 1), *base.shape))
    for origin, target, rates in rate_blocks(chain):
        into = accepted[target - origin - 1] if target > origin else base
        rows, columns = rates.nonzero()
        states = starts[origin] + rows
        reached = starts[target] + columns
        np.add.at(into, (states, reached - states + lower), rates[rows, columns])
    level = np.concatenate([np.zeros(order, int), np.repeat(np.arange(chain.top) + 1, block)])
    phase = np.concatenate([np.zeros(order, int), np.tile(np.arange(phases), order * chain.top)])
    found = solve_chain(chain).stationary if law is None else law
    return PageQueue(chain.service, found, level, phase, base, accepted, lower)


@dataclass(frozen=True, eq=False)
class Delays:
    """Transforms at some rates of the times from a delivery to the end of the indexing.

    Parameters
    ----------
    service : PhaseLaw
    rates : ndarray, shape (pages,)
        Change rates mu.
    """

    service: PhaseLaw
    rates: Array

    @property
    def missed(self) -> Array:
        """``1 - g(m) = mu (mu - S)^-1 1``: a change comes before the service ends.

        Shape (pages, phases).
        """
        phases = len(self.service.start)
        matrices = self.rates[:, None, None] * np.eye(phases) - self.service.generator
        ones = np.ones((len(self.rates), phases, 1))
        result: Array = self.rates[:, None] * np.linalg.solve(matrices, ones)[..., 0]
        return result

    def stale(self, level: Indices, phase: Indices, ahead: int = 0) -> Array:
        """Probability that a page changes before its copy is indexed, shape (pages, states).

        Parameters
        ----------
        level, phase : ndarray of int, shape (states,)
            Of the queue before the delivery.
        ahead : int
            Pages of the same batch before it.

        Notes
        -----
        ``1 - g(m) gb^n`` with ``gb = beta g``, as ``(1 - g) + g (1 - gb^n)``: nothing cancels.
        """
        missed = self.missed
        one = missed @ self.service.start
        current = missed[:, phase]
        before = np.where(level > 0, level + ahead, ahead)
        with np.errstate(divide="ignore"):
            others = -np.expm1(before * np.log1p(-np.minimum(one, 1.0))[:, None])
        first = np.where(level > 0, current, one[:, None])
        return np.where(before > 0, first + (1.0 - first) * others, first)

    def means(self, level: Indices, phase: Indices, ahead: int = 0) -> Array:
        """Mean time until the copy is indexed, shape (states,)."""
        ones = np.ones(len(self.service.start))
        left = np.linalg.solve(-self.service.generator, ones)
        mean = moment(self.service, 1)
        first = np.where(level > 0, left[phase], mean)
        result: Array = first + mean * np.where(level > 0, level + ahead, ahead)
        return result
