"""The indexing queue over time: its chain with piecewise constant rates, from the empty system on.

Between two changes of the settings the generator Q is constant: a speed multiplies the rates of
deliveries or services, a limit cuts the numbers of robots, and timers know neither. Then p' = p Q;
expected numbers of pages over an interval are rewards of the integral of p (docs/courses.md).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import pairwise
from operator import add
from typing import NamedTuple

import numpy as np

from analytic.index.conditions import buffer_and_robots, buffer_of, fleet_of
from analytic.indexing_queue.chain import QueueChain, rate_entries
from analytic.indexing_queue.levels_and_fates import fate_rates, marginals_of, mean_active
from analytic.indexing_queue.measures import chain_under, servers_chain_of
from analytic.indexing_queue.several_servers import ServersChain, rates_of_fates, server_entries
from analytic.machinery.active_robots import numbers_in_use, robots_while_it_fills
from analytic.machinery.arrival_process import delivery_modes, start_of_environment, start_phases
from analytic.machinery.markov import rate_matrix
from analytic.transient.transitions import Transitions, transitions, with_diagonal
from scenarios import Scenario
from scenarios.activation import Free, Switching
from scenarios.arrays import Array
from scenarios.choices import class_sizes, combinations
from scenarios.timeline import Piece


class Sums(NamedTuple):
    """Expectations under a state distribution, at a time or integrated over an interval.

    Attributes
    ----------
    levels : ndarray, shape (levels,)
        Probabilities of the levels, or the time spent at them.
    robots : float
        Active robots.
    delivered, lost, obsolete, served : float
        Rates at which pages are so, or how many are.
    """

    levels: Array
    robots: float
    delivered: float
    lost: float
    obsolete: float
    served: float

    def plus(self, other: Sums) -> Sums:
        """The sum of both."""
        return Sums(self.levels + other.levels, *map(add, self[1:], other[1:]))

    @property
    def in_system(self) -> float:
        """Pages in the system, or their integral."""
        return float(self.levels @ np.arange(len(self.levels)))


class PieceChain:
    """The chain under constant settings.

    Parameters
    ----------
    chain : QueueChain or ServersChain
    time : float
        About how long it will be followed.
    """

    def __init__(self, chain: QueueChain | ServersChain, time: float) -> None:
        self.chain = chain
        entries = rate_entries(chain) if isinstance(chain, QueueChain) else server_entries(chain)
        states = int(chain.starts[-1])
        rates = rate_matrix(entries.rows, entries.columns, entries.rates, states)
        self.generator = with_diagonal(rates)
        self.transitions: Transitions = transitions(self.generator, time)

    @property
    def levels(self) -> Array:
        """The level of each state, shape (states,)."""
        sizes = np.diff(self.chain.starts)
        return np.repeat(np.arange(len(sizes), dtype=float), sizes)

    @property
    def losses(self) -> Array:
        """Pages lost per unit time in each state, shape (states,)."""
        chain = self.chain
        of_one = isinstance(chain, QueueChain)
        queue = chain if isinstance(chain, QueueChain) else chain.deliveries
        refused = np.arange(queue.batch_rates.shape[1]) - queue.accepted
        lost = np.einsum("ik,ikwm->iwm", refused[:, 1:], queue.batch_rates[:, 1:])
        inner = queue.inner if of_one else np.diff(chain.starts) // queue.order
        lost = lost if of_one else lost[..., :1]
        return np.concatenate(
            [_of_states(rates, states) for rates, states in zip(lost, inner, strict=True)]
        )

    def sums(self, row: Array) -> Sums:
        """The expectations under a distribution of the states, or its integral."""
        chain = self.chain
        if isinstance(chain, QueueChain):
            marginals = marginals_of(chain, row)
            levels = marginals.levels
            fates = fate_rates(chain, marginals)
            active = mean_active(chain, marginals)
        else:
            parts = [
                part.reshape(chain.deliveries.order, -1)
                for part in np.split(row, chain.starts[1:-1])
            ]
            phases = np.array([each.sum(axis=1) for each in parts])
            levels = phases.sum(axis=1)
            fates = rates_of_fates(chain, parts)
            active = float((phases * chain.deliveries.active[..., 0]).sum())
        return Sums(levels, active, **fates)


def _of_states(rates: Array, inner: int) -> Array:
    """Numbers by arrival phase and service phase, or by the first, for each state of a level."""
    seen = rates[:, : min(inner, rates.shape[1])]
    return np.repeat(seen, inner // seen.shape[1], axis=1).ravel()


class Segment(NamedTuple):
    """An interval without a change of settings.

    Attributes
    ----------
    begin, end : float
    after : ndarray, shape (states,)
        Distribution at its end.
    at_end, during : Sums
        At its end, and integrated over it.
    """

    begin: float
    end: float
    after: Array
    at_end: Sums
    during: Sums


class QueueOverTime:
    """The queue of a scenario that meets the conditions of its course.

    Parameters
    ----------
    scenario : Scenario
    """

    def __init__(self, scenario: Scenario) -> None:
        self.scenario = scenario
        self._chains: dict[Piece, PieceChain] = {}

    def chain_in(self, settings: Piece) -> PieceChain:
        """The chain while the settings of a piece are in force; built once for all such pieces."""
        key = replace(settings, begin=0.0, end=0.0, change_factor=1.0, query_factor=1.0)
        if key not in self._chains:
            several = buffer_of(self.scenario).servers > 1
            of_settings = servers_chain_of if several else chain_under
            self._chains[key] = PieceChain(
                of_settings(self.scenario, key), self.scenario.run.horizon
            )
        return self._chains[key]

    def start(self) -> Array:
        """Distribution at time 0: nothing in the system, the phase as docs/model.md says."""
        scenario = self.scenario
        _, robots = buffer_and_robots(scenario)
        fleet = fleet_of(scenario)
        states = self.chain_in(scenario.model.timeline.pieces[0]).generator.shape[0]
        row = np.zeros(states)
        if isinstance(scenario.activation, Switching):
            law = start_of_environment(fleet)
            number = combinations(class_sizes(robots))
            row[number * np.arange(1, len(law) + 1) - 1] = law  # every robot is active
            return row
        rule = scenario.activation
        empty = rule.when_empty if isinstance(rule, Free) else robots_while_it_fills(scenario)(0)
        numbers = numbers_in_use(scenario)
        law = start_phases(fleet, numbers, delivery_modes(fleet, numbers), empty)
        row[: len(law)] = law
        return row

    def follow(
        self, row: Array, timeline: Sequence[Piece], stops: Sequence[float]
    ) -> Iterator[Segment]:
        """The segments between all changes and stops, one after the other.

        Parameters
        ----------
        row : ndarray, shape (states,)
            Distribution at the beginning of the first piece.
        timeline : sequence of Piece
            One after the other.
        stops : sequence of float
            Increasing.
        """
        for piece in timeline:
            chain = self.chain_in(piece)
            inside = [stop for stop in stops if piece.begin < stop < piece.end]
            for begin, end in pairwise((piece.begin, *inside, piece.end)):
                row, during = chain.transitions.move(row, end - begin)
                yield Segment(begin, end, row, chain.sums(row), chain.sums(during))
