"""Large buffers with phases of patience, approximately: waiting pages taken as independent.

What is kept is the phase of one waiting page at a time, given level, position, arrival and service
phase. Its equations are exact but for one thing: how another page's obsolescence, which moves it
forward, depends on its own phase. There independence is assumed
(docs/theory/indexing-queue.md, "Large chains"; errors in docs/queue-solvers.md).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from analytic.indexing_queue.chain import QueueChain
from analytic.indexing_queue.levels_and_fates import Marginals
from analytic.indexing_queue.solution import (
    NotConvergedError,
    mean_profile,
    phase_rates,
    stationary_phases,
    with_obsolescence,
)
from analytic.machinery.progress import Progress
from scenarios.arrays import Array

Positions = list[Array]

MOST_ROUNDS = 500
TOLERANCE = 1e-10

SMALLEST_LOSS = 0.01
"""Loss probabilities below it are not right in their first digit (docs/queue-solvers.md)."""


class ClosureError(NamedTuple):
    """Largest errors of the closure where the exact solution was known (docs/queue-solvers.md).

    Attributes
    ----------
    share, level : float
        Absolute, of the probabilities of the fates and of the levels.
    mean : float
        Relative, of the pages in the system.
    """

    share: float = 0.005
    level: float = 0.005
    mean: float = 0.01

    def __str__(self) -> str:
        """In words, for a line below a table."""
        return (
            "approximation with independent obsolescence timers; where the exact solution was "
            f"known it was right to {self.share:g} (shares of pages), {self.level:g} (levels) and "
            f"{100 * self.mean:g} % (pages in the system), with timers that are either very short "
            "or very long to 0.005, 0.04 and 7 % (docs/queue-solvers.md)"
        )


class Closure(NamedTuple):
    """The distribution of level, arrival and service phase, approximately.

    Attributes
    ----------
    marginals : Marginals
    rounds : int
        Passes down and up the levels.
    change : float
        Largest change, in the last round, of a page's phases as a share of its state.
    """

    marginals: Marginals
    rounds: int
    change: float


def closure(chain: QueueChain) -> Closure:
    """Level, arrival and service phase of a queue with phases of patience, approximately.

    Exact where patience has one phase, and for one waiting place. Of P(level, ν, m, phase of the
    page at position l) each equation is exact, except that with F that probability, and θ_k the
    rate of obsolescence of the page at position k given level, ν and m, an obsolescence of page k
    moves page l at rate ``F θ_k``: pages are taken as independent given (level, ν, m).

    Parameters
    ----------
    chain : QueueChain

    Raises
    ------
    NotConvergedError
        If 500 rounds do not settle the phases to 1e-10.

    Notes
    -----
    Errors against the exact solution: docs/queue-solvers.md.
    """
    states = chain.order * chain.service_phases * chain.patience_phases
    progress = Progress(
        f"closure of the queue, {chain.top} levels of {states} phases, levels renewed"
    )
    rates = phase_rates(chain)
    profile = mean_profile(chain)
    shape = (chain.order, chain.service_phases)
    pages: Positions = [
        np.ones((*shape, max(level - 1, 0), 1)) * profile for level in range(chain.top + 1)
    ]
    for round_ in range(1, MOST_ROUNDS + 1):
        exits = chain.patience.exit_rates
        obsolete = np.stack([(each @ exits).sum(axis=2) for each in pages])
        phases = stationary_phases(chain, with_obsolescence(chain, rates, obsolete))
        change = 0.0
        levels = range(2, chain.top + 1)
        for level in (*reversed(levels), *levels):
            change = max(change, _renew(chain, phases, pages, level))
            progress.step()
        if change <= TOLERANCE:
            return Closure(Marginals(phases, obsolete * phases), round_, change)
    raise NotConvergedError(f"{MOST_ROUNDS} rounds left a change of {change:.1e}")


def _renew(chain: QueueChain, phases: Array, pages: Positions, level: int) -> float:
    """Solve for the phases of the pages of a level, given the others; the largest change.

    `pages` holds conditional probabilities, shape (order, phases, positions, patience phases).
    """
    flow = _from_below(chain, phases, pages, level)
    if level < chain.top:
        flow += _from_above(chain, phases, pages, level)
    waiting = level - 1
    size = flow[:, :, 0, :].size
    inflow = np.moveaxis(flow, 2, 0).reshape(waiting, size, 1)
    moving = _moves(chain, pages, level)
    solved = np.linalg.solve(np.swapaxes(moving, 1, 2), inflow)
    joint = np.moveaxis(solved.reshape(waiting, *flow.shape[:2], -1), 0, 2)
    total = joint.sum(axis=3, keepdims=True)
    new = np.divide(joint, total, out=pages[level].copy(), where=total > 0)
    change = float(np.max(np.abs(new - pages[level])))
    pages[level] = new
    return change


def _from_below(chain: QueueChain, phases: Array, pages: Positions, level: int) -> Array:
    """Flow into the phases of the pages of a level with deliveries."""
    shape = (*phases.shape[1:], level - 1, chain.patience_phases)
    flow = np.zeros(shape)
    for origin in range(level):
        matrices = chain.arrivals[origin].get(level - origin)
        if matrices is None:
            continue
        full = np.broadcast_to(matrices, (shape[1], *matrices.shape[1:]))
        here = phases[origin] if origin else phases[0][:, :1] * chain.service.start
        old = max(origin - 1, 0)
        joint = here[:, :, None, None] * pages[origin]
        flow[:, :, :old] += np.einsum("mwv,wmlr->vmlr", full, joint)
        entered = np.einsum("mwv,wm->vm", full, here)
        flow[:, :, old:] += entered[:, :, None, None] * chain.patience.start
    return flow


def _from_above(chain: QueueChain, phases: Array, pages: Positions, level: int) -> Array:
    """The same flow with services and obsolescences; the pages behind move forward."""
    joint = phases[level + 1][:, :, None, None] * pages[level + 1]
    done = np.einsum("m,wmlr->wlr", chain.service.exit_rates, joint[:, :, 1:])
    turns = np.broadcast_to(chain.turnover[level + 1], (phases.shape[2], chain.order, chain.order))
    flow: Array = np.einsum("m,mwv,wlr->vmlr", chain.service.start, turns, done)
    obsolete = pages[level + 1] @ chain.patience.exit_rates
    ahead = np.cumsum(obsolete, axis=2)[:, :, :-1, None]
    behind = np.cumsum(obsolete[:, :, ::-1], axis=2)[:, :, -2::-1, None]
    dropped = ahead * joint[:, :, 1:] + behind * joint[:, :, :-1]
    if chain.settled is None:
        return flow + dropped
    np.add.at(flow, chain.settled[level], dropped)
    return flow


def _moves(chain: QueueChain, pages: Positions, level: int) -> Array:
    """Minus the generator of (ν, m, phase of the page) at each position of a level.

    Shape (positions, states, states). It ends with the page's own obsolescence, another's, a
    service or a delivery.
    """
    order = chain.order
    phases = chain.service_phases
    patience = chain.patience_phases
    inner = np.zeros((order * phases, order * phases))
    quiet = chain.arrivals[level].get(0)
    out = np.zeros((order, phases))
    for entering, matrices in chain.arrivals[level].items():
        if entering > 0:
            out += matrices.sum(axis=2).T
    if quiet is not None:
        for phase, matrix in enumerate(np.broadcast_to(quiet, (phases, order, order))):
            inner[phase::phases, phase::phases] -= matrix
        out += quiet.sum(axis=2).T
    inner += np.diag(out.ravel()) - np.kron(np.eye(order), chain.service.generator)
    fixed = np.kron(inner, np.eye(patience)) - np.kron(
        np.eye(order * phases), chain.patience.generator
    )
    obsolete = pages[level] @ chain.patience.exit_rates
    others = np.moveaxis(obsolete.sum(axis=2, keepdims=True) - obsolete, 2, 0)
    diagonal = np.repeat(others.reshape(level - 1, -1), patience, axis=1)
    return fixed + diagonal[:, :, None] * np.eye(fixed.shape[0])
