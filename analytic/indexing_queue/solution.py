"""The stationary law of the chain, by the method that its size asks for."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from analytic.indexing_queue.chain import QueueChain, count_states
from analytic.indexing_queue.generator import dense_generator
from analytic.indexing_queue.iteration import iterate
from analytic.indexing_queue.lumped import elimination_work, phase_rates, stationary_phases
from analytic.markov import residual, stationary
from scenarios.arrays import Array

LARGEST_DENSE = 1000
"""States up to which the dense elimination is used."""

LARGEST_BANDED = 10**9
"""Multiplications up to which chains without timer phases are solved by elimination."""

LARGEST_MEMORY = 2**30
"""Bytes that a solution may take."""

_HIGHEST = 64
"""Levels or phases of timers up to which their states are counted."""


class Solution(NamedTuple):
    """A stationary law, and what is known of its accuracy.

    Attributes
    ----------
    law : ndarray, shape (states,)
    method : str
    passes : int
        Passes over the states; 0 where there was no iteration.
    residual : float
        Largest difference of the flows into and out of a state, relative to the largest flow.
    error : float
        Estimate of the largest relative error of a probability. Of an elimination, one rounding
        per state: nothing is subtracted, so that small probabilities are no worse.
    """

    law: Array
    method: str
    passes: int
    residual: float
    error: float


def _has_no_timer_phases(chain: QueueChain) -> bool:
    return len(chain.timer.start) == 1


def solve_chain(chain: QueueChain) -> Solution:
    """Stationary law of a chain with one closed class.

    State reduction for small chains; state reduction within the band of neighbouring levels for
    timers without phases (the recursion of the paper's Theorem 1, from the top level down, where
    a heavy load does not cost digits); else Gauss-Seidel with aggregation.

    Parameters
    ----------
    chain : QueueChain

    Raises
    ------
    ValueError
        If there are several closed classes, or the solution would take more than 1 GB.
    NotConvergedError
        If the iteration does not reach a relative error of 1e-12 (estimated).

    Notes
    -----
    The equations are (4) of avrachenkov2011 (docs/derivations.md); the elimination is that of
    Grassmann, Taksar and Heyman (1985).
    """
    phases = len(chain.service.start)
    timers = len(chain.timer.start)
    size = size_beyond_memory(chain.order, phases, timers, chain.top)
    if size is not None:
        raise ValueError(f"the chain has {size}; the solution may take at most 1 GB")
    if _has_no_timer_phases(chain) and elimination_work(chain) <= LARGEST_BANDED:
        return _by_level(chain)
    if chain.states <= LARGEST_DENSE:
        generator = dense_generator(chain)
        law = stationary(generator, chain.start)
        return _direct("elimination", law, residual(generator, law))
    found = iterate(chain)
    method = "Gauss-Seidel with aggregation"
    return Solution(found.law, method, found.passes, found.residual, found.error)


def _direct(method: str, law: Array, imbalance: float) -> Solution:
    return Solution(law, method, 0, imbalance, len(law) * float(np.finfo(float).eps))


def _by_level(chain: QueueChain) -> Solution:
    """By elimination within a band; of timers without phases."""
    waiting = np.maximum(np.arange(chain.top + 1.0) - 1, 0)
    stale = waiting * chain.timer.exit_rates[0]
    shape = (1, chain.order, len(chain.service.start))
    band = phase_rates(chain, stale[:, None, None] * np.ones(shape))
    phases = stationary_phases(chain, band)
    law = np.concatenate([phases[0, :, 0], phases[1:].ravel()])
    return _direct("elimination level by level", law, band.residual(law))


def memory_needed(order: int, service_phases: int, timer_phases: int, top: int) -> int:
    """Bytes that the solution and the sojourn times take, about.

    The law, the flow into the largest level, what the tagged page needs for each position, and the
    matrix of a timer.
    """
    vectors: int = timer_phases ** max(top - 1, 0)
    positions: int = sum(timer_phases**places for places in range(top))
    inner = order * service_phases
    law = order + inner * positions
    numbers = positions
    if timer_phases <= _HIGHEST:
        numbers = min(positions, sum(level ** (timer_phases - 1) for level in range(1, top + 1)))
    work = (inner + order + 2) * vectors + numbers * inner**2 + timer_phases**2
    return 8 * (law + work + service_phases * (positions + 4 * vectors))


def size_beyond_memory(order: int, service_phases: int, timer_phases: int, top: int) -> str | None:
    """States of a chain, and what its solution takes; None where that is at most 1 GB."""
    if timer_phases > 1 and top > _HIGHEST:
        return "more than 10^15 states"
    memory = memory_needed(order, service_phases, timer_phases, top)
    if memory <= LARGEST_MEMORY:
        return None
    states = count_states(order, service_phases, timer_phases, top)
    if states >= 10**15:
        return "more than 10^15 states"
    return f"{states} states and takes {memory / 2**30:.1f} GB"
