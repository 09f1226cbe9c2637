"""Time that a page spends at one position, where the phases of patience change fast.

The phases of the service and of each page's patience run independently until the first of them
ends, so that ``e^(Tt)`` is a Kronecker product of small matrices and ``(sI - T)^-1`` is the
integral of ``e^(-st) e^(Tt)``. In the logarithm of the time the trapezoidal rule converges
exponentially for it (the integrand is analytic and decays doubly exponentially), with positive
weights: nothing is subtracted, and rates twelve orders of magnitude apart cost only forty doublings
of the time.
"""

from __future__ import annotations

import numpy as np
import scipy

from analytic.indexing_queue.chain import QueueChain
from analytic.indexing_queue.solution import NotConvergedError
from analytic.machinery.phase_type import PhaseLaw
from scenarios.arrays import Array

LARGEST_DEFECT = 1e-11
"""Relative difference of the pages that leave a position and those that come, at most."""

ALIASING = 1e-16
"""Relative error of the trapezoidal rule."""

FIRST = 1e-8
"""First time, in units of one over the largest rate; what happens before is of second order."""

LAST = 1e-18
"""Share of the sum that is left out after the last time."""

WIDEST = 4
"""Joint phases of several pages up to which their matrices are multiplied out."""


def integrated_times(chain: QueueChain, waiting: int, arriving: Array, shift: float) -> Array:
    """Time spent in each state of service phase and patience phases by what arrives there.

    Parameters
    ----------
    chain : QueueChain
    waiting : int
        Pages whose patience runs.
    arriving : ndarray, shape (service phases × patience phases^waiting,)
    shift : float
        One more rate out of every state, >= 0.

    Raises
    ------
    NotConvergedError
        If the pages that leave are not those that come.
    """
    total = float(arriving.sum())
    if total == 0:
        return np.zeros_like(arriving)
    laws = [chain.service] + [chain.patience] * (waiting > 0)
    fastest = [float(_augmented(law).sum(axis=1).max()) for law in laws]
    largest = shift + sum(rate * n for rate, n in zip(fastest, (1, waiting), strict=False))
    per_doubling = _times_per_doubling(chain, waiting)
    ratio = 2.0 ** (1 / per_doubling)
    step = float(np.log(ratio))
    times = FIRST / largest * ratio ** np.arange(per_doubling)
    moves = [[_short(law, time) for time in times] for law in laws]
    spent = np.zeros_like(arriving)
    before = float(times[0]) / (ratio - 1)  # the geometric sum of all times before the first one
    while True:
        for place in range(per_doubling):
            time = float(times[place])
            left = _moved(arriving, [law[place] for law in moves], waiting)
            left *= np.exp(-shift * time) * step
            spent += (time + before) * left
            before = 0.0
        if time * left.sum() <= LAST * spent.sum():
            break
        times = 2 * times
        moves = [[_normed(matrix @ matrix) for matrix in law] for law in moves]
    defect = _ended(chain, waiting, spent, shift) / total
    if not abs(defect - 1) <= LARGEST_DEFECT:
        raise NotConvergedError(f"{defect!r} of the pages at position {waiting + 1} leave it")
    return spent / defect


def _augmented(law: PhaseLaw) -> Array:
    """Rates between the phases and to the end, the last state; the diagonal is zero."""
    size = len(law.start)
    rates = np.zeros((size + 1, size + 1))
    rates[:size, :size] = law.generator * (1 - np.eye(size))
    rates[:size, size] = law.exit_rates
    return rates


def _times_per_doubling(chain: QueueChain, waiting: int) -> int:
    """Points of the rule in each doubling of the time, for its error to be `ALIASING`.

    ``t^k e^-xt``, the density of k + 1 phases one after the other up to a factor, is integrated
    with a relative error ``2 |Γ(k + 1 + iw)| / k!`` for w = 2 pi / step. Phases that go round have
    complex x, at angles of at most pi / 2 - pi / n for n phases.
    """
    patience = chain.patience_phases
    phases = chain.service_phases
    steps = np.arange((patience - 1) * waiting + phases)
    angle = np.pi / 2 - np.pi / max(patience, phases, 2)
    for points in range(1, 64):
        frequency = 2 * np.pi * points / np.log(2.0)
        decay = scipy.special.loggamma(steps + 1 + 1j * frequency).real - scipy.special.loggamma(
            steps + 1.0
        )
        if 2 * np.exp(decay.max() + angle * frequency) <= ALIASING:
            break
    return points


def _short(law: PhaseLaw, time: float) -> Array:
    """Probabilities of the phases, and of the end, after a time in which hardly anything happens.

    By uniformisation: each phase is reached within as many jumps as there are phases.
    """
    rates = _augmented(law)
    out = rates.sum(axis=1)
    fastest = float(out.max())
    if fastest == 0:
        return np.eye(len(rates))
    jump = rates / fastest + np.diag(1 - out / fastest)
    term = np.eye(len(rates))
    total = term.copy()
    for jumps in range(1, len(rates) + 3):
        term = term @ jump * (fastest * time / jumps)
        total += term
    return _normed(total)


def _normed(matrix: Array) -> Array:
    """Rows that sum to 1, so that small probabilities of an end are not lost in rounding."""
    return matrix / matrix.sum(axis=1, keepdims=True)


def _moved(arriving: Array, matrices: list[Array], waiting: int) -> Array:
    """A vector over all phases, times the Kronecker product of what each of them does."""
    service, *patience = (matrix[:-1, :-1] for matrix in matrices)
    moved: Array = (arriving.reshape(len(service), -1).T @ service).ravel()
    left = waiting
    while left:
        together = patience[0]
        count = 1
        while count < left and len(together) * len(patience[0]) <= WIDEST:
            together = np.kron(together, patience[0])
            count += 1
        moved = (moved.reshape(len(together), -1).T @ together).ravel()
        left -= count
    return moved


def _ended(chain: QueueChain, waiting: int, spent: Array, shift: float) -> float:
    """Rate at which pages leave the position, from the time spent there."""
    phases = chain.service_phases
    patience = chain.patience_phases
    left = shift * spent.sum() + spent.reshape(phases, -1).sum(axis=1) @ chain.service.exit_rates
    for page in range(waiting):
        each = spent.reshape(phases * patience**page, patience, -1).sum(axis=(0, 2))
        left += each @ chain.patience.exit_rates
    return float(left)
