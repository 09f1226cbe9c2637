"""Continuous-time Markov chains: closed classes, stationary vectors, relaxation times."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import scipy
from numpy.lib.stride_tricks import as_strided
from numpy.typing import ArrayLike, NDArray

from scenarios.arrays import Array

if TYPE_CHECKING:
    from scipy.sparse import csc_matrix, csr_array, csr_matrix

LARGEST_DENSE = 400
"""States up to which matrices of all their pairs are kept. Of a few dozen states they are solved
in less time than it takes to import scipy.sparse."""

LARGEST_WEIGHT = 1e100
"""Unnormalised probabilities are scaled down above this, and before a ratio of two rates above it
is applied to them: probabilities over a gap can be as small as 1e-300."""


def rate_matrix(
    rows: NDArray[np.intp], columns: NDArray[np.intp], rates: Array, states: int
) -> Array | csr_array:
    """Rates between all states; those of the same states are added up.

    Parameters
    ----------
    rows, columns : ndarray of int, shape (entries,)
    rates : ndarray, shape (entries,)
    states : int

    Returns
    -------
    ndarray or csr_array, shape (states, states)
        Sparse where there are more than `LARGEST_DENSE` states.
    """
    if states > LARGEST_DENSE:
        return scipy.sparse.csr_array((rates, (rows, columns)), shape=(states, states))
    summed = np.bincount(rows * states + columns, weights=rates, minlength=states**2)
    return summed.reshape(states, states)


def closed_classes(
    generator: Array | csr_array, start: int | None = None
) -> list[NDArray[np.intp]]:
    """The closed communicating classes of a generator, each as an array of states.

    Parameters
    ----------
    generator : ndarray or sparse, shape (states, states)
    start : int, optional
        Only the classes that can be reached from this state.
    """
    if isinstance(generator, np.ndarray) and len(generator) <= LARGEST_DENSE:
        return _closed_classes_of_few(generator > 0, start)
    edges = scipy.sparse.csr_matrix((generator > 0).astype(np.int8))
    _, label = scipy.sparse.csgraph.connected_components(edges, directed=True, connection="strong")
    rows, columns = edges.nonzero()
    open_labels = set(label[rows[label[rows] != label[columns]]].tolist())
    reached = label
    if start is not None:
        reached = label[
            scipy.sparse.csgraph.breadth_first_order(edges, start, return_predecessors=False)
        ]
    closed = sorted(set(reached.tolist()) - open_labels)
    return [np.flatnonzero(label == each) for each in closed]


def _closed_classes_of_few(edges: NDArray[np.bool_], start: int | None) -> list[NDArray[np.intp]]:
    """The same by the matrix of who reaches whom: of a class that is closed all reach back."""
    reaches = _reaches(edges)
    recurrent = ~(reaches & ~reaches.T).any(axis=1)
    if start is not None:
        recurrent &= reaches[start]
    classes = {reaches[state].tobytes(): state for state in np.flatnonzero(recurrent).tolist()}
    return [np.flatnonzero(reaches[state]) for state in classes.values()]


def _reaches(edges: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Whether a state, by row, reaches another one; each reaches itself."""
    reaches = edges | np.eye(len(edges), dtype=bool)
    for _ in range(len(edges).bit_length()):  # paths of twice as many steps each time
        reaches = reaches.astype(np.float32) @ reaches > 0
    return reaches


def _closed_class(generator: Array, start: int | None = None) -> NDArray[np.intp]:
    """The states of the only closed class; a ValueError where there are several."""
    classes = closed_classes(generator, start)
    if len(classes) != 1:
        raise ValueError(f"the chain has {len(classes)} closed classes; it must have one")
    return classes[0]


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
    recurrent = _closed_class(generator, start)
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
    return _put_back(np.ones(1), rates, size)


def _put_back(first: Array, rates: Array, upper: int) -> Array:
    """Probabilities of all states from those of the first, after the others were eliminated."""
    weights = np.zeros(len(rates))
    weights[: len(first)] = first
    for state in range(len(first), len(rates)):
        before = slice(max(0, state - upper), state)
        inflow = rates[before, state]
        if (largest := inflow.max()) > LARGEST_WEIGHT:
            weights[:state] /= largest
        weights[state] = weights[before] @ inflow
        if weights[state] > LARGEST_WEIGHT:
            weights[: state + 1] /= weights[state]
    return weights / weights.sum()


def stationary_sparse(generator: csr_matrix, likely: int | None = None) -> Array:
    """Stationary probabilities of a chain with one closed class, by sparse elimination.

    Parameters
    ----------
    generator : csr_matrix, shape (states, states)
    likely : int, optional
        A state known to be likely; without it one is found, which takes as long again.

    Raises
    ------
    ValueError
        If there are several closed classes.

    Notes
    -----
    Small probabilities have small absolute errors, not small relative ones; those of `stationary`
    have both.
    """
    recurrent = _closed_class(generator)
    balance = scipy.sparse.csc_matrix(generator[recurrent][:, recurrent].T)
    result = np.zeros(generator.shape[0])
    if likely is None:
        unit = int(np.argmax(_relative_to(balance, 0)))  # a rare state would be a poor unit
    else:
        unit = int(np.searchsorted(recurrent, likely))
    weights = _relative_to(balance, unit)
    result[recurrent] = weights / weights.sum()
    return result


def _relative_to(balance: csc_matrix, state: int) -> Array:
    """Stationary probabilities in units of that of a state.

    The columns without it are diagonally dominant, so that the pivots stay on the diagonal and an
    ordering for symmetric patterns keeps the factors sparse.
    """
    others = np.delete(np.arange(balance.shape[0]), state)
    weights = np.ones(balance.shape[0])
    if len(others):
        right = -balance[:, [state]].toarray().ravel()[others]
        lu = scipy.sparse.linalg.splu(balance[others][:, others], permc_spec="MMD_AT_PLUS_A")
        weights[others] = lu.solve(right)
    return weights


def until_exit(rates: Array, exits: Array, rewards: Array) -> Array:
    """Mean rewards until a set of states is left, by elimination without a subtraction.

    Parameters
    ----------
    rates : ndarray, shape (chains, states, states)
        Overwritten; the diagonals are not used.
    exits : ndarray, shape (chains, states)
        Rates at which the set is left.
    rewards : ndarray, shape (chains, states, columns)
        Per unit time.
    """
    exits = exits.copy()
    totals = rewards.copy()
    size = rates.shape[-1]
    pivots = exits.copy()
    for last in range(size - 1, 0, -1):
        onward = rates[:, last, :last]
        pivots[:, last] = onward.sum(axis=-1) + exits[:, last]
        share = rates[:, :last, last] / pivots[:, last, None]
        rates[:, :last, :last] += share[:, :, None] * onward[:, None, :]
        exits[:, :last] += share * exits[:, last, None]
        totals[:, :last] += share[:, :, None] * totals[:, last, None, :]
    pivots[:, 0] = exits[:, 0]
    for state in range(size):
        if state:
            totals[:, state] += (rates[:, None, state, :state] @ totals[:, :state])[:, 0]
        totals[:, state] /= pivots[:, state, None]
    return totals


class Band:
    """A square matrix of which only a band is kept.

    Parameters
    ----------
    states : int
        Rows.
    lower, upper : int
        Diagonals kept below and above the main one.
    """

    def __init__(self, states: int, lower: int, upper: int) -> None:
        self.states = states
        self.lower = lower
        self.upper = upper
        self._kept = np.zeros(lower + states * (lower + upper + 1))

    def copy(self) -> Band:
        """The same in memory of its own."""
        other = Band(self.states, self.lower, self.upper)
        other._kept[:] = self._kept
        return other

    @property
    def rates(self) -> Array:
        """The matrix, shape (states, states); entries outside the band must not be used.

        A view in which those share their memory with entries of the band.
        """
        step = self._kept.itemsize
        width = self.lower + self.upper
        shape = self.states, self.states
        return as_strided(self._kept[self.lower :], shape, (width * step, step))

    def residual(self, probabilities: Array) -> float:
        """As `residual`, of the rates in the band."""
        rates = self.rates
        size = self.states
        outflow = np.zeros(size)
        inflow = np.zeros(size)
        for state in range(size):
            around = slice(max(0, state - self.lower), min(size, state + self.upper + 1))
            flows = probabilities[state] * rates[state, around]
            flows[state - around.start] = 0.0
            outflow[state] = flows.sum()
            inflow[around] += flows
        largest = float(np.max(outflow))
        return float(np.max(np.abs(inflow - outflow))) / largest if largest else 0.0


def stationary_banded(band: Band, first: int = 1, start: int | None = None) -> Array:
    """Stationary probabilities of a chain that moves within a band, by state reduction.

    As `stationary`, without a subtraction, in time ``states × lower × upper``. The states are
    eliminated from the last to the first: that keeps the band.

    Parameters
    ----------
    band : Band
        Rates off the diagonal; overwritten.
    first : int
        Each state from here on must be able to reach one before it; so the closed class, which
        must be a single one, meets the states before.
    start : int, optional
        Where the chain starts, among the states before `first`.

    Raises
    ------
    ValueError
        If there are several closed classes.
    """
    rates = band.rates
    for last in range(band.states - 1, first - 1, -1):
        left = max(0, last - band.lower)
        above = max(0, last - band.upper)
        onward = rates[last, left:last]
        into = rates[above:last, last]
        into /= onward.sum()
        rates[above:last, left:last] += into[:, None] * onward
    return _put_back(stationary(rates[:first, :first], start), rates, band.upper)


def residual(generator: Array, probabilities: Array) -> float:
    """Largest imbalance of a stationary vector, relative to the largest flow out of a state."""
    rates = generator - np.diag(np.diag(generator))
    outflow = probabilities * rates.sum(axis=1)
    imbalance = probabilities @ rates - outflow
    return float(np.max(np.abs(imbalance)) / np.max(outflow)) if np.any(outflow) else 0.0


def birth_death(births: ArrayLike, deaths: ArrayLike) -> Array:
    """Stationary probabilities of a birth-death chain on 0 … n.

    Parameters
    ----------
    births : array_like, shape (n,)
        Rate from level i to i + 1.
    deaths : array_like, shape (n,)
        Rate from level i + 1 to i, positive.

    Notes
    -----
    Products of ratios, scaled by the largest, so that no load under- or overflows.
    """
    with np.errstate(divide="ignore"):
        steps = np.log(np.asarray(births, dtype=float)) - np.log(np.asarray(deaths, dtype=float))
    logs = np.concatenate([[0.0], np.cumsum(steps)])
    weights = np.exp(logs - logs.max())
    return weights / weights.sum()


def relaxation_time(generator: Array, start: int | None = None) -> float:
    """Time in which the slowest part of the transient shrinks to 1/e.

    ``-1 / Re`` of the eigenvalue nearest to the imaginary axis, zero left out; of the closed
    class that is reached from `start`, and of the states on the way there, which may be left far
    more slowly than the class forgets where it was entered.
    """
    rates = generator - np.diag(np.diag(generator))
    full = rates - np.diag(rates.sum(axis=1))
    recurrent = closed_classes(generator, start)[0]
    decay = np.sort(-np.linalg.eigvals(full[np.ix_(recurrent, recurrent)]).real)[1:2]
    passed = np.setdiff1d(_reached(generator, start), recurrent)
    if len(passed):
        decay = np.append(decay, -np.linalg.eigvals(full[np.ix_(passed, passed)]).real)
    return float(1.0 / decay.min()) if len(decay) and decay.min() > 0 else 0.0


def _reached(generator: Array, start: int | None) -> NDArray[np.intp]:
    """The states that are reached from a state; none where no state is given."""
    if start is None:
        return np.zeros(0, dtype=np.intp)
    if len(generator) <= LARGEST_DENSE:
        return np.flatnonzero(_reaches(generator > 0)[start])
    edges = scipy.sparse.csr_matrix(generator > 0)
    return scipy.sparse.csgraph.breadth_first_order(edges, start, return_predecessors=False)
