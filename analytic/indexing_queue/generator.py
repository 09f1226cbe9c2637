"""The dense generator of the indexing queue, block by block: for small chains, and as reference.

avrachenkov2011, Lemma of section 3, as derived in docs/derivations.md.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from analytic.indexing_queue.chain import QueueChain
from analytic.phase_type import PhaseLaw
from scenarios.arrays import Array


def dense_generator(chain: QueueChain) -> Array:
    """Rates between all states of a small chain, shape (states, states); no diagonal."""
    starts = chain.starts
    generator = np.zeros((chain.states, chain.states))
    for origin, target, block in rate_blocks(chain):
        rows = slice(starts[origin], starts[origin + 1])
        generator[rows, starts[target] : starts[target + 1]] += block
    return generator


def rate_blocks(chain: QueueChain) -> Iterator[tuple[int, int, Array]]:
    """Dense blocks of rates from level to level, several of which may have the same place."""
    for level, moves in enumerate(chain.arrivals):
        if level >= 1:
            yield level, level, _own_phases(chain, level)
            yield level, level - 1, _service(chain, level)
        if level >= 2 and chain.timer.exit_rates.any():
            yield level, level - 1, _obsolescence(chain, level)
        for entering, matrices in moves.items():
            yield level, level + entering, _arrivals(chain, level, entering, matrices)


def _by_phase(matrices: Array, first: Array, rest: Array) -> Array:
    """``sum over phases m of A[m] ⊗ (first, column m only) ⊗ rest``."""
    if len(matrices) == 1:
        return _kron(matrices[0], _kron(first, rest))
    phases = np.eye(len(matrices))
    parts = [
        _kron(matrix, _kron(first * into, rest))
        for matrix, into in zip(matrices, phases, strict=True)
    ]
    total: Array = np.sum(parts, axis=0)
    return total


def _arrivals(chain: QueueChain, level: int, entering: int, matrices: Array) -> Array:
    """Deliveries of which `entering` pages enter, from the level upwards."""
    service = chain.service
    timers = len(chain.timer.start)
    if level == 0:
        if entering == 0:
            return np.asarray(matrices[0])
        return _by_phase(matrices, service.start[None, :], _powers(chain.timer.start, entering - 1))
    clocks = _kron(np.eye(timers ** (level - 1)), _powers(chain.timer.start, entering))
    return _by_phase(matrices, np.eye(len(service.start)), clocks)


def _service(chain: QueueChain, level: int) -> Array:
    """Service completions; the timer of the page that is picked up is dropped."""
    done = chain.service.exit_rates[:, None]
    timers = len(chain.timer.start)
    if level == 1:
        return _kron(chain.turnover[1][0], done)
    picked = _kron(np.ones((timers, 1)), np.eye(timers ** (level - 2)))
    return _by_phase(chain.turnover[level], done * chain.service.start[None, :], picked)


def _obsolescence(chain: QueueChain, level: int) -> Array:
    """Obsolescences: the timer of one waiting page goes off and leaves the list."""
    gone = one_gone(chain.timer.exit_rates, level - 1)
    return _kron(np.eye(chain.order * len(chain.service.start)), gone)


def _own_phases(chain: QueueChain, level: int) -> Array:
    """Changes of the phases of the service and of the timers."""
    inner = with_clocks(chain.service.generator, chain.timer, level - 1)
    return _kron(np.eye(chain.order), inner)


def _kron(left: Array, right: Array) -> Array:
    """Kronecker product of two matrices; of small ones in a fifth of numpy's time."""
    rows = left.shape[0] * right.shape[0]
    columns = left.shape[1] * right.shape[1]
    products: Array = left[:, None, :, None] * right[None, :, None, :]
    return products.reshape(rows, columns)


def _powers(row: Array, exponent: int) -> Array:
    """Kronecker power of a row vector, shape (1, len(row) ** exponent)."""
    result: Array = np.ones((1, 1))
    for _ in range(exponent):
        result = _kron(result, row[None, :])
    return result


def with_clocks(first: Array, timer: PhaseLaw, waiting: int) -> Array:
    """Kronecker sum of a matrix of phase changes and `waiting` timers."""
    clocks = [timer.generator] * waiting
    if len(timer.start) == 1:  # timers of one phase add up
        clocks = [timer.generator * waiting]
    total = first
    for clock in clocks:
        total = _kron(total, np.eye(len(clock))) + _kron(np.eye(len(total)), clock)
    return total


def one_gone(exits: Array, waiting: int) -> Array:
    """Rates at which one of `waiting` timers goes off and leaves the list.

    Shape (R^waiting, R^(waiting - 1)) for R = ``len(exits)`` phases.
    """
    timers = len(exits)
    if timers == 1:
        return exits[:, None] * waiting
    gone = np.zeros((timers**waiting, timers ** (waiting - 1)))
    for place in range(waiting):
        before = np.eye(timers**place)
        after = np.eye(timers ** (waiting - 1 - place))
        gone += _kron(_kron(before, exits[:, None]), after)
    return gone
