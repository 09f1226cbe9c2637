"""The chain of the indexing queue as the compiled passes read it."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from analytic.indexing_queue.chain import QueueChain
from scenarios.arrays import Array


def tables_of(chain: QueueChain, lowest: int = 0) -> Any:
    """The chain as the compiled passes read it, `kernels.Tables`; they begin at level `lowest`."""
    from analytic.indexing_queue.kernels import Tables

    service = chain.service
    timer = chain.timer
    matrices, enters, turns = _numbered(chain)
    return Tables(
        chain.starts,
        chain.order,
        len(service.start),
        len(timer.start),
        np.ascontiguousarray(service.start, dtype=float),
        service.exit_rates,
        _off_diagonal(service.generator),
        timer.exit_rates,
        _off_diagonal(timer.generator),
        *_powers(chain),
        enters,
        turns,
        *_by_columns(matrices),
        _leaves(chain),
        timer.exit_rates + _off_diagonal(timer.generator).sum(axis=1),
        _block_starts(chain),
        lowest,
    )


def _block_starts(chain: QueueChain) -> NDArray[np.int64]:
    """Where the mean times of each level begin in one array, and its length."""
    timers = len(chain.timer.start)
    inner = chain.order * len(chain.service.start)
    sizes = [chain.order**2]
    sizes += [waiting ** (timers - 1) * inner**2 for waiting in range(1, chain.top + 1)]
    return np.cumsum([0, *sizes], dtype=np.int64)


def _off_diagonal(matrix: Array) -> Array:
    return np.ascontiguousarray(matrix * (1.0 - np.eye(len(matrix))), dtype=float)


def _numbered(chain: QueueChain) -> tuple[list[Array], NDArray[np.int64], NDArray[np.int64]]:
    """The different matrices over arrival phases, and which of them is where."""
    numbers: dict[bytes, int] = {}
    matrices: list[Array] = []

    def number(matrix: Array) -> int:
        key = matrix.tobytes()
        if key not in numbers:
            numbers[key] = len(matrices)
            matrices.append(matrix)
        return numbers[key]

    phases = len(chain.service.start)
    largest = max(max(m, default=0) for m in chain.arrivals)
    enters = np.full((chain.top + 1, largest + 1, phases), -1, dtype=np.int64)
    turns = np.zeros((chain.top + 1, phases), dtype=np.int64)
    for level, moves in enumerate(chain.arrivals):
        for entering, each in moves.items():
            enters[level, entering] = [number(matrix) for matrix in each] * (phases // len(each))
        each = chain.turnover[level]
        turns[level] = [number(matrix) for matrix in each] * (phases // len(each))
    return matrices, enters, turns


def _by_columns(
    matrices: list[Array],
) -> tuple[NDArray[np.int64], NDArray[np.int64], Array]:
    """Pointers, rows and entries of the matrices that are not zero, column by column."""
    pointers = []
    sources = []
    rates = []
    done = 0
    for matrix in matrices:
        column, source = np.nonzero(matrix.T)
        counts = np.bincount(column, minlength=len(matrix))
        pointers.append(done + np.concatenate([[0], np.cumsum(counts)]))
        sources.append(source)
        rates.append(matrix.T[column, source])
        done += len(source)
    return np.array(pointers, dtype=np.int64), np.concatenate(sources), np.concatenate(rates)


def _powers(chain: QueueChain) -> tuple[Array, NDArray[np.int64]]:
    """Kronecker powers 0, 1, … of the timer's start vector, one behind the other."""
    largest = max(max(moves, default=0) for moves in chain.arrivals)
    powers: list[Array] = [np.ones(1)]
    for _ in range(largest):
        powers.append(np.kron(powers[-1], chain.timer.start))
    starts = np.cumsum([0, *(len(each) for each in powers)])
    return np.concatenate(powers), starts.astype(np.int64)


def _leaves(chain: QueueChain) -> Array:
    """Rate out of the level from each arrival and service phase, obsolescences apart."""
    order = chain.order
    phases = len(chain.service.start)
    leaves = np.zeros((chain.top + 1, order, phases))
    leaves[1:] += chain.service.exit_rates
    for level, moves in enumerate(chain.arrivals):
        for entering, matrices in moves.items():
            if entering > 0:
                leaves[level] += matrices.sum(axis=2).T
    empty = leaves[0] @ chain.service.start
    flat = leaves.reshape(chain.top + 1, -1)
    flat[0, :order] = empty
    return flat


def working_space(chain: QueueChain) -> tuple[Array, Array, NDArray[np.int32]]:
    """For the flow into a level, for its service completions, for numbers of timer phases."""
    vectors: int = len(chain.timer.start) ** max(chain.top - 1, 0)
    largest = int(np.diff(chain.starts).max())
    return np.empty(largest), np.empty(chain.order * vectors), np.empty(vectors, dtype=np.int32)


def mean_profile(chain: QueueChain) -> Array:
    """Phases of a timer at a random time of its life."""
    gamma, generator = chain.timer
    if len(gamma) == 1:
        return np.ones(1)
    spent = np.maximum(np.linalg.solve(-generator.T, gamma), 0.0)
    profile: Array = spent / spent.sum()
    return profile
