"""The stationary distribution of the chain, by the method that its size asks for."""

from __future__ import annotations

import logging
from dataclasses import replace
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from analytic.indexing_queue.chain import (
    UNLIMITED_PATIENCE,
    QueueChain,
    add_blocks,
    count_states,
    dense_generator,
    rate_blocks,
    rate_entries,
)
from analytic.indexing_queue.levels_and_fates import marginals_of
from analytic.machinery.markov import (
    Band,
    closed_classes,
    rate_matrix,
    residual,
    stationary,
    stationary_banded,
)
from analytic.machinery.progress import Progress
from analytic.machinery.refusal import NoAnswerError
from scenarios.arrays import Array, Indices

LARGEST_DENSE = 1000
"""States up to which the dense elimination is used."""

LARGEST_BANDED = 10**9
"""Multiplications up to which chains without phases of patience are solved by elimination."""

LARGEST_COARSE = 5 * 10**7
"""Multiplications up to which the arrival and service phases are kept in the small chain."""

LARGEST_MEMORY = 2**30
"""Bytes that a solution may take."""

_HIGHEST = 64
"""Levels or phases of patience up to which their states are counted."""

ANNOUNCED = 5.0
"""Seconds from which on an iteration is announced."""

_KEPT = 8
_MOST_EXTRAPOLATED = 2**20
"""Iterates from which the next one is extrapolated, and states up to which they are kept."""

MOST_PASSES = 2000

MOST_WORK = 2 * 10**9
"""States times passes: about a quarter of an hour."""

TOLERANCE = 1e-12

ROUNDING = 1e-14
"""Relative changes of this size say no more about the convergence."""

_LOG = logging.getLogger(__name__)


class NotConvergedError(NoAnswerError):
    """The iteration did not reach its tolerance; there is no answer."""


class Solution(NamedTuple):
    """A stationary distribution, and what is known of its accuracy.

    Attributes
    ----------
    stationary : ndarray, shape (states,)
    method : str
    passes : int
        Passes over the states; 0 where there was no iteration.
    residual : float
        Largest difference of the flows into and out of a state, relative to the largest flow.
    error : float
        Estimate of the largest relative error of a probability. Of an elimination, one rounding
        per state: nothing is subtracted, so that small probabilities are no worse. Of an iteration,
        from the last changes and the factor by which they shrink.
    """

    stationary: Array
    method: str
    passes: int
    residual: float
    error: float


def solve_chain(chain: QueueChain) -> Solution:
    """Stationary distribution of a chain with one closed class.

    State reduction for small chains; state reduction within the band of neighbouring levels where
    patience has one phase (the recursion of the paper's Theorem 1, from the top level down, where
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
    The equations are (4) of avrachenkov2011 (docs/theory/indexing-queue.md); the elimination is
    that of Grassmann, Taksar and Heyman (1985).
    """
    size = size_beyond_memory(chain.order, chain.service_phases, chain.patience_phases, chain.top)
    if size is not None:
        raise ValueError(f"the chain has {size}; the solution may take at most 1 GB")
    rounding = chain.states * float(np.finfo(float).eps)
    if chain.patience_phases == 1 and elimination_work(chain) <= LARGEST_BANDED:
        band = with_obsolescence(chain, phase_rates(chain), _independent_obsolescence(chain))
        phases = stationary_phases(chain, band)
        probabilities = np.concatenate([phases[0, :, 0], phases[1:].ravel()])
        imbalance = band.residual(probabilities)
        return Solution(probabilities, "elimination level by level", 0, imbalance, rounding)
    if chain.states <= LARGEST_DENSE:
        generator = dense_generator(chain)
        probabilities = stationary(generator, chain.start)
        imbalance = residual(generator, probabilities)
        return Solution(probabilities, "elimination", 0, imbalance, rounding)
    return iterate(chain)


def memory_needed(order: int, service_phases: int, patience_phases: int, top: int) -> int:
    """Bytes that the solution and the sojourn times take, about.

    The probabilities, the flow into the largest level, the inverses of the blocks of a level where
    they are iterated, what the tagged page needs for each position, and the matrix of one page's
    patience.
    """
    vectors: int = patience_phases ** max(top - 1, 0)
    positions: int = sum(patience_phases**waiting for waiting in range(top))
    inner = order * service_phases
    probabilities = order + inner * positions
    blocks = 0
    if probabilities > LARGEST_DENSE:  # a smaller chain is reduced state by state, without blocks
        most = min(patience_phases - 1, _HIGHEST)
        blocks = sum(level**most for level in range(1, top + 1))
    work = (inner + order + 2) * vectors + blocks * inner**2 + patience_phases**2
    return 8 * (probabilities + work + service_phases * (positions + 4 * vectors))


def size_beyond_memory(
    order: int, service_phases: int, patience_phases: int, top: int
) -> str | None:
    """States of a chain, and what its solution takes; None where that is at most 1 GB."""
    if patience_phases > 1 and top > _HIGHEST:
        return "more than 10^15 states"
    memory = memory_needed(order, service_phases, patience_phases, top)
    if memory <= LARGEST_MEMORY:
        return None
    states = count_states(order, service_phases, patience_phases, top)
    if states >= 10**15:
        return "more than 10^15 states"
    return f"{states} states and takes {memory / 2**30:.1f} GB"


def seconds_needed(chain: QueueChain) -> float:
    """About how long `iterate` takes, once it is compiled: measured on one core, to a factor of 2.

    The inverses of the blocks, the products with them, and what each state takes besides. A heavy
    load can take ten times as many passes.
    """
    inner = chain.order * chain.service_phases
    levels = range(1, chain.top + 1)
    blocks: int = sum(level ** (chain.patience_phases - 1) for level in levels)
    products = 1e-9 * blocks * inner**3 + 2.4e-7 * chain.states * inner
    return products + 1.5e-6 * chain.states * min(inner, 5)


def iterate(chain: QueueChain, tolerance: float = TOLERANCE) -> Solution:
    """Stationary distribution of a large chain: symmetric Gauss-Seidel with aggregation.

    Passes over the states without a matrix, down and up the levels in turn (`kernels`), and between
    them the small chain below, which corrects the probabilities of level, arrival phase
    and service phase.

    Parameters
    ----------
    chain : QueueChain
        With one closed class.
    tolerance : float
        Estimated relative error of each probability.

    Raises
    ------
    NotConvergedError
        If the tolerance is not reached within `MOST_PASSES` passes and `MOST_WORK`.

    Notes
    -----
    Given level, arrival and service phase, only the total rate of obsolescence depends on the
    phases of patience; so the small chain is exact up to that number
    (docs/theory/indexing-queue.md, "Large chains").
    """
    from analytic.indexing_queue.kernels import (
        block_times,
        imbalance,
        sweep,
        tables_of,
        working_space,
    )

    if (seconds := seconds_needed(chain)) > ANNOUNCED:
        _LOG.info("solving a chain of %s states, about %.0f s", chain.states, seconds)
    small = elimination_work(chain) <= LARGEST_COARSE
    rates = phase_rates(chain) if small else None
    # below level 2 no page waits, and the small chain alone is right
    tables = tables_of(chain, 2 if small else 0)
    times = np.zeros(int(tables.blocks[-1]))
    for level, (first, last) in enumerate(pairwise(tables.blocks)):
        times[first:last] = block_times(tables, level, max(level - 1, 0)).ravel()
    probabilities = _first_guess(chain, rates)
    work = working_space(chain)
    changes: list[float] = []
    errors = [np.inf]
    kept: list[Array] = []
    most = max(min(MOST_PASSES, MOST_WORK // chain.states), 1)
    progress = Progress(f"chain of {chain.states:,} states, passes")
    for passes in range(most):
        changes.append(sweep(tables, probabilities, times, work, passes % 2 == 1))
        _aggregate(chain, rates, probabilities)
        errors.append(_error(changes))
        progress.step()
        if max(errors[-2:]) <= tolerance and abs(probabilities.sum() - 1) < 1e-9:
            flow, spare, _ = work
            left = imbalance(tables, probabilities, (flow, spare, np.empty_like(flow)))
            method = "Gauss-Seidel with aggregation"
            return Solution(probabilities, method, passes + 1, left, max(errors[-2:]))
        if passes % 2 == 1 and chain.states <= _MOST_EXTRAPOLATED:  # there and back
            kept.append(probabilities.copy())
        if len(kept) == _KEPT:
            if (better := _extrapolated(np.array(kept))) is not None:
                probabilities = better
                changes, errors = [], [np.inf]  # the error is told by passes alone
            kept = kept[1:] if better is None else []
    raise NotConvergedError(f"{most} passes left a relative error of {errors[-1]:.1e}")


def _extrapolated(kept: Array) -> Array | None:
    """The mixture of some iterates that moves least; None if it has a negative entry.

    Reduced rank extrapolation, with every state's change relative to its probability. What the
    passes leave of the slowest modes is a combination of few vectors, and cancels.
    """
    moves = np.diff(kept, axis=0) / np.maximum(kept[-1], np.finfo(float).tiny)
    products = moves @ moves.T
    size = float(np.trace(products))
    if size == 0.0:
        return None
    damped = products / size + 1e-14 * np.eye(len(products))
    shares = np.linalg.solve(damped, np.ones(len(products)))
    mixture: Array = (shares / shares.sum()) @ kept[1:]
    return mixture if mixture.min() >= 0.0 else None


def _error(changes: list[float]) -> float:
    """The error that is left if the changes go on shrinking as slowly as they lately did.

    By pairs of passes, there and back: the two do not shrink alike.
    """
    if len(changes) < 6:
        return np.inf
    last = changes[-1]
    if last <= ROUNDING:
        return ROUNDING
    ratios = [now / then for then, now in zip(changes[-6:-2], changes[-4:], strict=True)]
    factor = max(max(ratios) ** 0.5, 0.5)
    return last * factor / (1 - factor) if factor < 1 else np.inf


def _independent_obsolescence(chain: QueueChain) -> Array:
    """Rates of obsolescence if every waiting page's phase were that of a random moment.

    Shape (levels, order, service phases); exact where patience has one phase.
    """
    waiting = np.maximum(np.arange(chain.top + 1.0) - 1, 0)
    each = float(mean_profile(chain) @ chain.patience.exit_rates)
    return (waiting * each)[:, None, None] * np.ones((1, chain.order, chain.service_phases))


def _first_guess(chain: QueueChain, rates: Band | None) -> Array:
    """Each waiting page in its phase at a random moment, independent of everything else."""
    obsolete = _independent_obsolescence(chain)
    profile = mean_profile(chain)
    phases = _coarse(chain, rates, np.full(obsolete.shape, 1.0 / obsolete[0].size), obsolete)
    probabilities = np.empty(chain.states)
    starts = chain.starts
    waiting = np.ones(1)
    probabilities[: starts[1]] = phases[0, :, 0]
    for level in range(1, chain.top + 1):
        joint = np.multiply.outer(phases[level], waiting)
        probabilities[starts[level] : starts[level + 1]] = joint.ravel()
        waiting = np.multiply.outer(waiting, profile).ravel()
    return probabilities


def _coarse(chain: QueueChain, rates: Band | None, phases: Array, obsolete: Array) -> Array:
    """Probabilities of level and phases, given the rates of obsolescence.

    Without `rates` between the phases, those of the level alone: then `phases` are used, up to a
    factor for each level.
    """
    if rates is not None:
        return stationary_phases(chain, with_obsolescence(chain, rates, obsolete))
    levels = stationary_levels(chain, phases, obsolete)
    totals = phases.sum(axis=(1, 2))
    factors = np.divide(levels, totals, out=np.zeros_like(levels), where=totals > 0)
    return phases * factors[:, None, None]


def _aggregate(chain: QueueChain, rates: Band | None, probabilities: Array) -> None:
    """Scale, in place, to the probabilities of level and phases that the patience phases imply."""
    now = marginals_of(chain, probabilities)
    here = now.phases > 0
    default = _independent_obsolescence(chain)
    obsolete = np.divide(now.obsolete, now.phases, out=default, where=here)
    right = _coarse(chain, rates, now.phases, obsolete)
    factors = np.divide(right, now.phases, out=np.zeros_like(right), where=here)
    starts = chain.starts
    probabilities[: starts[1]] *= factors[0, :, 0]
    for level in range(1, chain.top + 1):
        rows = probabilities[starts[level] : starts[level + 1]].reshape(factors[level].size, -1)
        rows *= factors[level].reshape(-1, 1)


# --- without the phases of patience -----------------------------------------------------------
#
# They enter the small chain through the rates of obsolescence alone, and it is exact once these are
# (docs/theory/indexing-queue.md); with exponential patience it is the whole chain.


def mean_profile(chain: QueueChain) -> Array:
    """Probabilities of the phases of patience at a random moment of a page's patience."""
    start, generator = chain.patience
    if len(start) == 1:
        return np.ones(1)
    spent = np.maximum(np.linalg.solve(-generator.T, start), 0.0)
    return spent / spent.sum()


def _largest_step(chain: QueueChain) -> int:
    """Most pages that enter at once, at least 1."""
    return max(1, *(max(moves, default=0) for moves in chain.arrivals))


def _widths(chain: QueueChain) -> tuple[int, int]:
    """Entries below and above the diagonal that the rates need."""
    inner = chain.order * chain.service_phases
    return 2 * inner - 1, (_largest_step(chain) + 1) * inner - 1


def elimination_work(chain: QueueChain) -> int:
    """Multiplications that `stationary_phases` needs."""
    lower, upper = _widths(chain)
    states = chain.order * (1 + chain.service_phases * chain.top)
    return states * lower * upper


def phase_rates(chain: QueueChain) -> Band:
    """Rates between the states of level, arrival and service phase, obsolescences apart."""
    patient = replace(chain, patience=UNLIMITED_PATIENCE)
    band = Band(int(patient.starts[-1]), *_widths(chain))
    add_blocks(band.rates, rate_blocks(patient), patient.starts)
    return band


def with_obsolescence(chain: QueueChain, band: Band, obsolete: Array) -> Band:
    """A copy of the rates of `phase_rates` with those of obsolescence added.

    `obsolete` has shape (levels, order, service phases): obsolescences per unit time while the
    chain is there.
    """
    complete = band.copy()
    waiting, below = _one_less(chain)
    complete.rates[waiting, below] += obsolete[2:].ravel()
    return complete


def _one_less(chain: QueueChain) -> tuple[Indices, Indices]:
    """States with waiting pages, patience phases apart, and those where one of these is gone."""
    inner = chain.order * chain.service_phases
    waiting = np.arange(chain.order + inner, chain.order + inner * chain.top)
    below = waiting - inner
    if chain.settled is not None:
        moved = chain.settled[1 : chain.top] - np.arange(chain.order)
        below = below + np.repeat(moved * chain.service_phases, chain.service_phases)
    return waiting, below


def stationary_phases(chain: QueueChain, band: Band) -> Array:
    """Probabilities of level, arrival phase and service phase, given the rates between them.

    Returns
    -------
    ndarray, shape (levels, order, service phases)
        Those of level 0 stand in the first service phase.
    """
    stationary = stationary_banded(band.copy(), chain.order, chain.start)
    phases = np.zeros((chain.top + 1, chain.order, chain.service_phases))
    phases[0, :, 0] = stationary[: chain.order]
    phases[1:] = stationary[chain.order :].reshape(phases[1:].shape)
    return phases


def stationary_levels(chain: QueueChain, phases: Array, obsolete: Array) -> Array:
    """Probabilities of the levels, given those of the phases at each level.

    Parameters
    ----------
    chain : QueueChain
    phases : ndarray, shape (levels, order, service phases)
        Probabilities up to a factor for each level.
    obsolete : ndarray, shape (levels, order, service phases)
        Obsolescences per unit time while the chain is there.
    """
    band = Band(chain.top + 1, 1, _largest_step(chain))
    rates = band.rates
    even = 1.0 / phases[0].size
    for level, moves in enumerate(chain.arrivals):
        total = phases[level].sum()
        shares = phases[level] / total if total > 0 else np.full(phases[level].shape, even)
        if level >= 1:
            down = shares @ chain.service.exit_rates
            rates[level, level - 1] = down.sum() + float((shares * obsolete[level]).sum())
        for entering, matrices in moves.items():
            if entering > 0:
                out = matrices.sum(axis=2)
                drawn = shares[:, :1] * chain.service.start if level == 0 else shares
                rates[level, level + entering] += float((out.T * drawn).sum())
    return stationary_banded(band)


def closed_class_count(chain: QueueChain) -> int:
    """Number of closed classes of the whole chain, found on the smaller one.

    From every state pages can be served until the system is empty, so that each closed class has
    a state of level 0; and a waiting page can become obsolete in every phase of its patience, after
    some time, if it can in one. So the two chains reach the same states of level 0.
    """
    patient = replace(chain, patience=UNLIMITED_PATIENCE)
    _, rows, columns, rates = rate_entries(patient)
    if chain.patience.exit_rates.any() and chain.top >= 2:
        leaving, below = _one_less(patient)
        rows = np.append(rows, leaving)
        columns = np.append(columns, below)
        rates = np.append(rates, np.ones(len(leaving)))
    return len(closed_classes(rate_matrix(rows, columns, rates, patient.states), chain.start))
