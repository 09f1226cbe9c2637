"""Markov chains given by the moves from each state."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import scipy

from analytic.machinery.absorbing import AbsorbingChain
from analytic.machinery.markov import stationary_sparse
from analytic.machinery.progress import followed
from analytic.machinery.refusal import NoAnswerError
from scenarios.arrays import Array

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix

State = Hashable

MOST_STATES = 60_000


class Move(NamedTuple):
    """A rate, the state afterwards, and the kind of the move: those of a kind can be scaled."""

    rate: float
    after: State
    kind: int = 0


@dataclass(frozen=True, eq=False)
class Explored:
    """A chain by the kinds of its moves.

    Attributes
    ----------
    states : dict
        The index of each state.
    rates : tuple of csr_matrix
        For each kind, the rates from state to state; a kind without moves has a matrix of zeros.
    """

    states: dict[Any, int]
    rates: tuple[csr_matrix, ...]

    def absorbed(self, start: Array) -> AbsorbingChain:
        """The chain that ends with the moves of all kinds but the first.

        Parameters
        ----------
        start : ndarray
            Of the first states.
        """
        begins = np.zeros(len(self.states))
        begins[: len(start)] = start
        ends = [np.asarray(each.sum(axis=1)).ravel() for each in self.rates[1:]]
        return AbsorbingChain(begins, self.rates[0], np.stack(ends, axis=1))

    def stationary(self) -> Array:
        """Stationary probabilities, shape (states,)."""
        generator = sum(self.rates[1:], self.rates[0]).tolil()
        generator.setdiag(0.0)
        generator.setdiag(-np.asarray(generator.sum(axis=1)).ravel())
        return stationary_sparse(generator.tocsr())


def explore(
    starts: Iterable[Any],
    moves: Callable[[Any], Iterable[Move]],
    kinds: int = 1,
    most: int = MOST_STATES,
) -> Explored:
    """The chain of all states that can be reached from some.

    Parameters
    ----------
    starts : iterable
        States to begin with; they come first in the chain.
    moves : callable
        From a state to its moves.
    kinds : int
        Kinds of moves.
    most : int
        States that the chain may have.

    Raises
    ------
    NoAnswerError
        If there are more than `most` states.
    """
    states = {state: index for index, state in enumerate(dict.fromkeys(starts))}
    entries: list[list[tuple[float, int, int]]] = [[] for _ in range(kinds)]
    waiting = list(states)
    for state in followed(waiting, "states of a chain"):
        origin = states[state]
        for rate, after, kind in moves(state):
            if rate <= 0.0:
                continue
            target = states.get(after)
            if target is None:
                if len(states) >= most:
                    raise NoAnswerError(f"its chain has more than {most} states")
                target = states[after] = len(states)
                waiting.append(after)
            entries[kind].append((rate, origin, target))
    return Explored(states, tuple(_matrix(each, len(states)) for each in entries))


def _matrix(entries: list[tuple[float, int, int]], size: int) -> csr_matrix:
    rates, rows, columns = zip(*entries, strict=True) if entries else ((), (), ())
    return scipy.sparse.csr_matrix((rates, (rows, columns)), shape=(size, size))
