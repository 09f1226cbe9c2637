"""Continuous-time Markov chains: closed classes, stationary vectors, relaxation times."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix
from scipy.sparse.csgraph import breadth_first_order, connected_components

__all__ = ["birth_death", "closed_classes", "relaxation_time", "residual", "stationary"]

Array = NDArray[np.floating[Any]]

LARGEST_WEIGHT = 1e100
"""Unnormalised probabilities are scaled down above this, and before a ratio of two rates above it
is applied to them: probabilities over a gap can be as small as 1e-300."""


def closed_classes(generator: Array, start: int | None = None) -> list[NDArray[np.intp]]:
    """The closed communicating classes of a generator, each as an array of states.

    Parameters
    ----------
    generator : ndarray or csr_matrix, shape (states, states)
    start : int, optional
        Only the classes that can be reached from this state.
    """
    edges = csr_matrix((generator > 0).astype(np.int8))
    _, label = connected_components(edges, directed=True, connection="strong")
    rows, columns = edges.nonzero()
    open_labels = set(label[rows[label[rows] != label[columns]]].tolist())
    reached = label
    if start is not None:
        reached = label[breadth_first_order(edges, start, return_predecessors=False)]
    closed = sorted(set(reached.tolist()) - open_labels)
    return [np.flatnonzero(label == each) for each in closed]


def stationary(generator: Array, start: int | None = None) -> Array:
    """Stationary probabilities of a chain with one closed class, by state reduction.

    There is no subtraction, hence no cancellation: small probabilities keep their relative
    digits whatever the load (Grassmann, Taksar and Heyman, 1985). Diagonal entries are not used.

    Parameters
    ----------
    generator : ndarray, shape (states, states)
        Rates off the diagonal.
    start : int, optional
        Where the chain starts, if it can get stuck elsewhere.

    Returns
    -------
    ndarray, shape (states,)
        Sums to one; zero on transient states.

    Raises
    ------
    ValueError
        If there are several closed classes.
    """
    classes = closed_classes(generator, start)
    if len(classes) != 1:
        raise ValueError(f"the chain has {len(classes)} closed classes; it must have one")
    recurrent = classes[0]
    result = np.zeros(len(generator))
    result[recurrent] = _reduced(generator[np.ix_(recurrent, recurrent)].copy())
    return result


def _reduced(rates: Array) -> Array:
    """State reduction of an irreducible chain; `rates` is overwritten."""
    size = len(rates)
    for last in range(size - 1, 0, -1):
        onward = rates[last, :last]
        into = np.flatnonzero(rates[:last, last])
        out = np.flatnonzero(onward)
        rates[into, last] /= onward.sum()
        rates[np.ix_(into, out)] += np.outer(rates[into, last], onward[out])
    weights = np.zeros(size)
    weights[0] = 1.0
    for state in range(1, size):
        inflow = rates[:state, state]
        if (largest := inflow.max()) > LARGEST_WEIGHT:
            weights[:state] /= largest
        weights[state] = weights[:state] @ inflow
        if weights[state] > LARGEST_WEIGHT:
            weights[: state + 1] /= weights[state]
    result: Array = weights / weights.sum()
    return result


def residual(generator: Array, probabilities: Array) -> float:
    """Largest imbalance of a stationary vector, relative to the largest flow out of a state."""
    rates = generator - np.diag(np.diag(generator))
    outflow = probabilities * rates.sum(axis=1)
    imbalance = probabilities @ rates - outflow
    return float(np.max(np.abs(imbalance)) / np.max(outflow)) if np.any(outflow) else 0.0


def birth_death(births: Sequence[float], deaths: Sequence[float]) -> Array:
    """Stationary probabilities of a birth-death chain on 0 … n.

    Parameters
    ----------
    births : sequence of n floats
        Rate from level i to i + 1.
    deaths : sequence of n floats
        Rate from level i + 1 to i, positive.

    Notes
    -----
    Products of ratios, scaled by the largest, so that no load under- or overflows.
    """
    with np.errstate(divide="ignore"):
        steps = np.log(np.asarray(births, dtype=float)) - np.log(np.asarray(deaths, dtype=float))
    logs = np.concatenate([[0.0], np.cumsum(steps)])
    weights = np.exp(logs - logs.max())
    result: Array = weights / weights.sum()
    return result


def relaxation_time(generator: Array, start: int | None = None) -> float:
    """Time in which the slowest part of the transient shrinks to 1/e.

    ``-1 / Re`` of the eigenvalue nearest to the imaginary axis, zero left out; of the closed
    class that is reached from `start`.
    """
    recurrent = closed_classes(generator, start)[0]
    generator = generator[np.ix_(recurrent, recurrent)]
    rates = generator - np.diag(np.diag(generator))
    full = rates - np.diag(rates.sum(axis=1))
    decay = np.sort(-np.linalg.eigvals(full).real)
    return float(1.0 / decay[1]) if len(decay) > 1 and decay[1] > 0 else 0.0
