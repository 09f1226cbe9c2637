"""Known pages of which a robot draws one after the other: an exact chain, and its limit.

Notation of the docstrings: known pages arrive at rate a and live for exponential times of rate mu,
their originals change at rate alpha, and a robot ends accesses at rate nu.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import cached_property
from typing import NamedTuple

import numpy as np
import scipy

from analytic.machinery.markov import stationary_sparse
from analytic.machinery.refusal import NoAnswerError
from scenarios.arrays import Array, Indices

LARGEST_CHAIN = 100_000
"""States that are solved."""

_RARE = 1e-13
"""Probability of more, or fewer, living pages than the chain has."""

_AT_THE_EDGE = 1e-12
_CERTIFIED = 1e-9
"""Probability of the most vanished pages that the chain has; relative errors of what is known."""

ONLY_GROWS = "pages vanish faster than the robots can find them gone: the list only grows"

LIVE, DEAD, NOTHING = range(3)
"""What the robot is on its way to: a page that lives, one that has vanished, or none."""


class Fetched(NamedTuple):
    """Long-run means of the listed pages and of the accesses.

    Attributes
    ----------
    live, dead : float
        Listed pages that live, and that have vanished.
    indexed, fresh : float
        Living pages with a copy, and with one that is up to date.
    wasted : float
        Share of the accesses to a page that find it gone.
    """

    live: float
    dead: float
    indexed: float
    fresh: float
    wasted: float


class _Move(NamedTuple):
    """Moves of one kind: where from and where to, and their rates.

    Attributes
    ----------
    origin, end : ndarray of int
        States.
    rates : ndarray
    kept, chosen : ndarray
        Times the mean number of copies apart from the target's: what becomes of it that stays
        apart, and that is the copy of the next target.
    own : ndarray
        Times the mean of the target's copy: what becomes of it that is still the target's.
    fetches : bool
        Whether the target is fetched, so that it has a copy before the next one is drawn.
    """

    origin: Indices
    end: Indices
    rates: Array
    kept: Array
    chosen: Array
    own: Array
    fetches: bool = False


class _Chain:
    """Living and vanished pages on the list, and what the robot is on its way to."""

    def __init__(
        self, arrivals: float, death: float, accesses: float, live: tuple[int, int], most_dead: int
    ) -> None:
        self.arrivals, self.death, self.accesses = arrivals, death, accesses
        least, most = live
        shape = (3, most - least + 1, most_dead + 1)
        self.target, self.live, self.dead = (each.ravel() for each in np.indices(shape))
        self.live = self.live + least
        possible = ~((self.target == LIVE) & (self.live == 0))
        possible &= ~((self.target == DEAD) & (self.dead == 0))
        if least > 0:  # a list that is never empty always has a page for the robot
            possible &= self.target != NOTHING
        self._number = np.full(shape, -1)
        self._number.ravel()[possible] = np.arange(possible.sum())
        self.target, self.live, self.dead = (
            each[possible] for each in (self.target, self.live, self.dead)
        )
        self._least, self._most, self._most_dead = least, most, most_dead

    @property
    def size(self) -> int:
        """Number of states."""
        return len(self.live)

    def _at(self, target: Indices | int, live: Indices, dead: Indices) -> Indices:
        return self._number[target, live - self._least, dead]

    @cached_property
    def moves(self) -> list[_Move]:
        """All moves, kind by kind."""
        return [*self._becoming_known(), *self._vanishing(), *self._ends_of_accesses()]

    def _becoming_known(self) -> Iterator[_Move]:
        origin = np.flatnonzero(self.live < self._most)
        rates = np.full(len(origin), self.arrivals)
        end = self._at(self.target[origin], self.live[origin] + 1, self.dead[origin])
        yield _Move(origin, end, rates, rates, 0.0 * rates, rates)

    def _vanishing(self) -> Iterator[_Move]:
        """Of the pages apart from the target each is as likely to; its copy vanishes with it."""
        room = (self.dead < self._most_dead) & (self.live > self._least)
        others = self.live - (self.target == LIVE)
        origin = np.flatnonzero(room & (others > 0))
        rates = self.death * others[origin]
        end = self._at(self.target[origin], self.live[origin] - 1, self.dead[origin] + 1)
        yield _Move(origin, end, rates, rates - self.death, 0.0 * rates, rates)
        origin = np.flatnonzero(room & (self.target == LIVE))
        rates = np.full(len(origin), self.death)
        end = self._at(DEAD, self.live[origin] - 1, self.dead[origin] + 1)
        yield _Move(origin, end, rates, rates, 0.0 * rates, 0.0 * rates)

    def _ends_of_accesses(self) -> Iterator[_Move]:
        """One of the listed pages is drawn; a target that was found gone has left the list."""
        for target in (LIVE, DEAD, NOTHING):
            origin = np.flatnonzero(self.target == target)
            live, dead = self.live[origin], self.dead[origin] - (target == DEAD)
            for drawn, count in ((LIVE, live), (DEAD, dead)):
                some = count > 0
                share = self.accesses / (live + dead)[some]
                rates = share * count[some]
                chosen = share * (drawn == LIVE)
                end = self._at(drawn, live[some], dead[some])
                own = 0.0 * rates
                yield _Move(origin[some], end, rates, rates - chosen, chosen, own, target == LIVE)
            empty = (live + dead == 0) & (target == DEAD)
            rates = np.full(int(empty.sum()), self.accesses)
            none = 0.0 * rates
            end = self._at(NOTHING, live[empty], dead[empty])
            yield _Move(origin[empty], end, rates, none, none, none)

    @cached_property
    def stationary(self) -> Array:
        """Stationary probabilities, shape (states,)."""
        rows = np.concatenate([move.origin for move in self.moves])
        columns = np.concatenate([move.end for move in self.moves])
        rates = np.concatenate([move.rates for move in self.moves])
        apart = rows != columns
        entries = rates[apart], (rows[apart], columns[apart])
        moves = scipy.sparse.csr_matrix(entries, shape=(self.size, self.size))
        leaving = np.asarray(moves.sum(axis=1), dtype=float).ravel()
        generator = moves - scipy.sparse.diags(leaving, format="csr")
        return stationary_sparse(generator, self._likely)

    @property
    def _likely(self) -> int:
        """A state near the means of the limit."""
        limit = many_pages(self.arrivals, self.death, 0.0, self.accesses)
        far = np.abs(self.live - limit.live) + np.abs(self.dead - limit.dead)
        return int(np.argmin(far))

    def copies(self, change: float) -> float:
        """Mean number of living pages whose copy has not changed since, at a change rate.

        With p the stationary probabilities, let f(s) be the mean number of such copies in state s
        without that of the target, and g(s) that of the target, both times the indicator of s.
        Each page moves by itself as the state is given, so that f and g solve linear equations:
        docs/page-sets.md.
        """
        size = self.size
        leaving = np.full(2 * size, change)
        source = np.zeros(2 * size)
        rows, columns, rates = [], [], []
        for move in self.moves:
            target = move.end + size
            np.add.at(leaving, move.origin, move.rates)
            np.add.at(leaving, move.origin + size, move.rates)
            rows += [move.end, target, target]
            columns += [move.origin, move.origin, move.origin + size]
            rates += [move.kept, move.chosen, move.own]
            if move.fetches:
                made = self.stationary[move.origin]
                np.add.at(source, move.end, made * move.kept)
                np.add.at(source, target, made * move.chosen)
        entries = np.concatenate(rates), (np.concatenate(rows), np.concatenate(columns))
        inflow = scipy.sparse.csc_matrix(entries, shape=(2 * size, 2 * size))
        used = np.concatenate([self.live > 0, self.target == LIVE])
        balance = (scipy.sparse.diags(leaving, format="csc") - inflow)[used][:, used]
        # Columns are diagonally dominant, so that the pivots may stay on the diagonal.
        solved = scipy.sparse.linalg.splu(
            balance.tocsc(),
            permc_spec="MMD_AT_PLUS_A",
            diag_pivot_thresh=0.1,
            options={"SymmetricMode": True},
        )
        return float(solved.solve(source[used]).sum())


def drawn_pages(arrivals: float, death: float, change: float, accesses: float) -> Fetched:
    """Means of the pages that a robot draws at random from those that it knows.

    Parameters
    ----------
    arrivals : float
        Pages that become known per unit time, as a Poisson process.
    death, change : float
        Rates at which a page vanishes, and at which its content changes.
    accesses : float
        Rate of the robot's accesses, whose times are exponential.

    Returns
    -------
    Fetched
        To nine digits, which is verified: the mean of the living pages and the rate at which pages
        are found gone are known.

    Raises
    ------
    NoAnswerError
        If the robot cannot keep up, or the chain has too many states.

    Notes
    -----
    docs/page-sets.md, "Pages drawn at random".
    """
    rate_of_each(arrivals, death, accesses)
    live = _poisson_range(arrivals / death)
    most_dead = _likely_dead(arrivals, death, accesses)
    while True:
        states = (2 + (live[0] == 0)) * (live[1] - live[0] + 1) * (most_dead + 1)
        if states > LARGEST_CHAIN:
            raise NoAnswerError(f"its chain has about {states} states; at most {LARGEST_CHAIN}")
        chain = _Chain(arrivals, death, accesses, live, most_dead)
        if chain.stationary[chain.dead == most_dead].sum() < _AT_THE_EDGE:
            break
        most_dead += 10 + most_dead // 4
    return _measured(chain, change)


def _measured(chain: _Chain, change: float) -> Fetched:
    p = chain.stationary
    to_page = p[chain.target != NOTHING].sum()
    found = chain.accesses * p[chain.target == DEAD].sum()
    live, dead = float(p @ chain.live), float(p @ chain.dead)
    for value, known in ((found, chain.arrivals), (live, chain.arrivals / chain.death)):
        if abs(value - known) > _CERTIFIED * known:
            raise NoAnswerError("its chain is solved to less than nine digits")
    wasted = float(p[chain.target == DEAD].sum() / to_page)
    return Fetched(live, dead, chain.copies(0.0), chain.copies(change), wasted)


def _poisson_range(mean: float) -> tuple[int, int]:
    """From where to where all Poisson numbers lie but the rarest on each side."""
    law = scipy.stats.poisson(mean)
    return max(0, int(law.ppf(_RARE)) - 1), int(law.isf(_RARE)) + 1


def _likely_dead(arrivals: float, death: float, accesses: float) -> int:
    """Vanished pages beyond which there are hardly ever more: a first guess."""
    limit = many_pages(arrivals, death, 0.0, accesses)
    spread = math.sqrt((limit.dead + limit.live) / (1.0 - arrivals / accesses))
    return int(limit.dead + 6.0 * spread) + 20


def many_pages(
    arrivals: float, death: float, change: float, accesses: float, at_once: bool = False
) -> Fetched:
    """The same in the limit of many pages and as many more accesses, by any number of robots.

    Parameters
    ----------
    arrivals, death, change, accesses : float
        As for `drawn_pages`; the accesses are those of all robots.
    at_once : bool
        Whether a page is fetched as soon as it is known.

    Raises
    ------
    NoAnswerError
        If the robots cannot keep up.

    Notes
    -----
    docs/page-sets.md, "Many pages".
    """
    rate = rate_of_each(arrivals, death, accesses, at_once)
    live = arrivals / death
    fetched = arrivals * at_once + live * rate
    return Fetched(
        live=live,
        dead=arrivals / rate,
        indexed=fetched / (rate + death),
        fresh=fetched / (rate + death + change),
        wasted=arrivals / accesses,
    )


def rate_of_each(arrivals: float, death: float, accesses: float, at_once: bool = False) -> float:
    """Accesses to each listed page per unit time in that limit, first ones at once left out.

    ``r = mu (nu / a - 1)``, or ``mu (nu / a - 2)`` where the first accesses take a of the nu.

    Raises
    ------
    NoAnswerError
        If the robots cannot keep up.
    """
    rate = death * (accesses / arrivals - (2.0 if at_once else 1.0))
    if rate <= 0:
        raise NoAnswerError(ONLY_GROWS)
    return rate
