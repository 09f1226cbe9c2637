"""Markov chains that come to an end: when they do, and in which way.

With rates T between the states and t of the ends, ``E[time^k; end] = k! a (-T)^-(k + 1) t`` for the
start a. By uniformisation the end comes with a jump of a Poisson process; jump k comes before t
with probability ``gammainc(k, rate t)``. Nothing is subtracted anywhere.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice
from typing import TYPE_CHECKING, Protocol

import numpy as np
import scipy

from analytic.machinery.refusal import NoAnswerError
from scenarios.arrays import Array

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix

MOST_JUMPS = 10**6
"""Jumps up to the longest time, at the largest rate of a state."""

_LEFT = 1e-18
"""Share that is still there when the rest does not matter."""


class Absorbing(ABC):
    """What ends with a jump of a Poisson process."""

    @property
    @abstractmethod
    def rate(self) -> float:
        """Rate of the process: the largest out of a state."""

    @abstractmethod
    def ends_by_jump(self) -> Iterator[Array]:
        """What ends with jump 1, 2, … by kind of end; to where the rest does not matter."""

    def ended(self, times: Array, most: int = MOST_JUMPS) -> Array:
        """What has ended by some times.

        Parameters
        ----------
        times : ndarray
        most : int
            Jumps that may be expected up to the longest time.

        Returns
        -------
        ndarray, shape of `times` followed by (kinds,)

        Raises
        ------
        ValueError
            If more jumps are expected.
        """
        rate = self.rate
        expected = rate * float(times.max(initial=0.0))
        if expected > most:
            raise ValueError(
                f"{expected:.3g} jumps are expected up to time {times.max():g}; "
                f"must be at most {most}"
            )
        jumps = 1 + math.ceil(expected + 9 * math.sqrt(expected) + 30)
        total: Array = sum(
            np.multiply.outer(scipy.special.gammainc(jump, rate * times), ended)
            for jump, ended in zip(range(1, jumps + 1), self.ends_by_jump(), strict=False)
        )
        return total

    def quantiles(
        self, by_class: Callable[[Array], dict[str, Array]], shares: Sequence[float]
    ) -> dict[str, Array]:
        """Least times by which some shares have ended.

        Parameters
        ----------
        by_class : callable
            From what has ended, shape (kinds,), to the distribution function of each class.
        shares : sequence of float

        Returns
        -------
        dict of ndarray, shape of `shares`
            By class.

        Raises
        ------
        NoAnswerError
            If there are more than a million jumps.
        """
        ended = np.array(list(islice(self.ends_by_jump(), MOST_JUMPS + 1)))
        if len(ended) > MOST_JUMPS:
            raise NoAnswerError(f"a page may make more than {MOST_JUMPS:,} jumps before it ends")
        jumps = np.arange(1, len(ended) + 1)
        rate = self.rate
        longest = (len(ended) + 10 * math.sqrt(len(ended)) + 40) / rate

        def distribution(time: float) -> dict[str, Array]:
            return by_class(scipy.special.gammainc(jumps, rate * time) @ ended)

        def quantile(name: str, share: float, atom: float) -> float:
            if share <= atom:
                return 0.0

            def excess(time: float) -> float:
                return float(distribution(time)[name]) - share

            tolerance = 1e-14 * longest
            return float(scipy.optimize.brentq(excess, 0.0, longest, xtol=tolerance, rtol=1e-13))

        return {
            name: np.array([quantile(name, share, float(atom)) for share in shares])
            for name, atom in distribution(0.0).items()
        }


@dataclass(frozen=True)
class AbsorbingChain(Absorbing):
    """A chain by its rates.

    Attributes
    ----------
    start : ndarray, shape (states,)
        What begins in each state, per unit time or in all.
    moves : csr_matrix, shape (states, states)
        Rates from state to state; the diagonal does not matter.
    ends : ndarray, shape (states, kinds)
        Rates at which it ends, by kind of end.
    """

    start: Array
    moves: csr_matrix
    ends: Array

    @property
    def out(self) -> Array:
        """All rates out of each state."""
        out: Array = np.asarray(self.moves.sum(axis=1)).ravel() + self.ends.sum(axis=1)
        return out

    @property
    def rate(self) -> float:
        """The largest of them."""
        return float(self.out.max())

    def ends_by_jump(self) -> Iterator[Array]:
        """What ends with jump 1, 2, … by kind of end."""
        rate = self.rate
        onward = scipy.sparse.csr_matrix(self.moves.T) / rate
        stays = 1 - self.out / rate
        state = self.start
        total = state.sum()
        while state.sum() > _LEFT * total:
            yield state @ self.ends / rate
            state = onward @ state + state * stays

    def moments(self, most: int) -> Array:
        """Moments 0, 1, … of the time to each kind of end, in sum over the start.

        Parameters
        ----------
        most : int
            The highest.

        Returns
        -------
        ndarray, shape (most + 1, kinds)
        """
        solve = total_rewards(self.moves, self.ends.sum(axis=1))
        left = self.ends
        found = []
        for order in range(most + 1):
            left = solve(left)
            found.append(math.factorial(order) * (self.start @ left))
        return np.array(found)

    def total(self, rewards: Array) -> float:
        """Rewards per unit time in each state, expected until the end, in sum over the start."""
        return float(self.start @ total_rewards(self.moves, self.ends.sum(axis=1))(rewards))


def total_rewards(rates: csr_matrix, exits: Array) -> Callable[[Array], Array]:
    """Expected total rewards until an exit, from each state, as a function of the rewards.

    Parameters
    ----------
    rates : csr_matrix, shape (states, states)
        The diagonal does not matter.
    exits : ndarray, shape (states,)

    Returns
    -------
    callable
        From rewards per unit time, shape (states,) or (states, columns), to their totals, of the
        same shape; the system is factorized once for all rewards.

    Notes
    -----
    Where exits are rare the diagonal, the sum of all rates, holds few digits of them. The residual
    is taken from differences of totals, which hold all of them, and corrects the solution twice.
    """
    out = np.asarray(rates.sum(axis=1)).ravel() + exits
    solve: Callable[[Array], Array] = scipy.sparse.linalg.splu(
        scipy.sparse.csc_matrix(scipy.sparse.diags_array(out) - rates), permc_spec="MMD_AT_PLUS_A"
    ).solve
    moves = scipy.sparse.coo_array(rates)
    each = np.arange(moves.nnz)
    leaving = scipy.sparse.csr_array((moves.data, (moves.row, each)), (len(exits), moves.nnz))

    def totals(rewards: Array) -> Array:
        found = solve(rewards)
        for _ in range(2):
            gains = leaving @ (found[moves.col] - found[moves.row])
            found = found + solve(rewards + gains - (exits * found.T).T)
        return found

    return totals


# --- chains whose states come one stage after the other -------------------------------------------


class Stages(Protocol):
    """Stages that are passed from the last one to the first."""

    def passed(self, stage: int, above: Array) -> Array:
        """What a vector at the next stage passes on to this one."""

    def spent(self, stage: int, arriving: Array) -> Array:
        """Time spent at a stage by what arrives there."""


class DenseStages:
    """The moves of stages by dense matrices.

    Parameters
    ----------
    closer : callable
        From a stage to the rates at which the next one is left for it.
    times : callable
        From a stage to the mean time in each of its states from each start.
    """

    def __init__(self, closer: Callable[[int], Array], times: Callable[[int], Array]) -> None:
        self._closer = lru_cache(maxsize=1)(closer)
        self._times = lru_cache(maxsize=1)(times)

    def passed(self, stage: int, above: Array) -> Array:
        """What a vector at the next stage passes on to this one."""
        return above @ self._closer(stage)

    def spent(self, stage: int, arriving: Array) -> Array:
        """Time spent at a stage by what arrives there."""
        return arriving @ self._times(stage)


def ends_by_stage(
    stages: Stages,
    ends_at: Callable[[int, Array], tuple[float, float]],
    entries: Sequence[Array],
    powers: int,
) -> Array:
    """``a (-T)^-k t`` for k = 1 … powers, for two kinds of end.

    Parameters
    ----------
    stages : Stages
        Numbered from 1.
    ends_at : callable
        From a stage and the time spent there to what ends there, of each kind.
    entries : sequence of ndarray
        a, of each stage.
    powers : int

    Returns
    -------
    ndarray, shape (powers, 2)

    Notes
    -----
    Row vectors, from the last stage to the first. Only sums and products of what is not negative;
    each stage is needed for the next one only.
    """
    above: list[Array | None] = [None] * powers
    ends = np.zeros((powers, 2))
    for stage in range(len(entries), 0, -1):
        flow = entries[stage - 1]
        for power in range(powers):
            later = above[power]
            arriving = flow.copy() if later is None else flow + stages.passed(stage, later)
            flow = stages.spent(stage, arriving)
            above[power] = flow
            ends[power] += ends_at(stage, flow)
    return ends
