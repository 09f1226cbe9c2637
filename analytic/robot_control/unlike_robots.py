"""Robots of several classes, switched on one at a time: the queue as a decision process.

A state is a level with a combination of numbers of active robots, one of each class, both counted
after the event and its decision. The equations, and why they hold: docs/theory/switching.md,
"Robots that are not alike".
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp
from scipy.sparse import csr_matrix

from analytic.decision_process import DecisionProcess, policy_iteration
from analytic.markov import closed_classes, stationary, stationary_sparse
from analytic.robot_control.controlled_queue import ControlledQueue, Rewards
from scenarios.arrays import Array, IntArray
from scenarios.choices import active_by_class, steps_of
from scenarios.sections import Costs

_MOST_DENSE = 1000
"""States up to which the chain of a rule is solved by dense elimination."""


class ChoiceMeasures(NamedTuple):
    """What a rule does in the long run, per unit time.

    Attributes
    ----------
    starvation, loss_rate, obsolescence_rate, throughput : float
        Fraction of time with an empty queue; pages lost, obsolete and indexed.
    active : ndarray, shape (classes,)
        Mean active robots of each class.
    levels : ndarray, shape (capacity + 1,)
        Level probabilities.
    occasions : ndarray, shape (levels and service phases, combinations)
        How often the rule is asked in each state before its decision.
    """

    starvation: float
    loss_rate: float
    obsolescence_rate: float
    throughput: float
    active: Array
    levels: Array
    occasions: Array


@dataclass(frozen=True)
class UnlikeQueue:
    """The parameters.

    Attributes
    ----------
    queue : ControlledQueue
        The queue with the robots of all classes; its rate of access is 1, and is not used.
    rates : ndarray, shape (classes,)
        Deliveries per unit time of one active robot of each class.
    sizes : tuple of int
        Robots of each class.
    """

    queue: ControlledQueue
    rates: Array
    sizes: tuple[int, ...]

    @cached_property
    def active(self) -> IntArray:
        """Active robots of each class, shape (combinations, classes)."""
        return active_by_class(self.sizes)

    @cached_property
    def steps(self) -> IntArray:
        """What one robot more of each class adds to the place of a combination."""
        return steps_of(self.sizes)

    @property
    def shape(self) -> tuple[int, int]:
        """Levels (with the phase of the service) and combinations."""
        return self.queue.levels, len(self.active)

    @property
    def states(self) -> int:
        """Number of states; the empty queue without a robot is none, since nothing could happen."""
        levels, combinations = self.shape
        return levels * combinations - 1

    @property
    def start(self) -> int:
        """The empty queue with every robot active."""
        return self.shape[1] - 2

    @cached_property
    def deliveries(self) -> Array:
        """Deliveries per unit time in each combination."""
        return np.asarray(self.active @ self.rates)

    def costs_of(self, costs: Costs) -> Array:
        """The cost per unit time in each state, the response apart, shape (states,)."""
        prices = np.array(costs.by_class or [costs.robots] * len(self.sizes))
        alone = self.queue.rewards(costs.model_copy(update={"robots": 0.0, "loss": 0.0}))
        return self.rewards_of(alone, costs.loss, prices)

    def rewards_of(self, alone: Rewards, loss: float, prices: Array) -> Array:
        """A reward per unit time in each state, shape (states,).

        Parameters
        ----------
        alone : Rewards
            What depends on the level alone; robots earn nothing in it.
        loss : float
            Of each page lost.
        prices : ndarray, shape (classes,)
            Of one active robot of each class.
        """
        full = (self.queue.pages == self.queue.capacity).astype(float)
        lost = loss * np.multiply.outer(full, self.deliveries)
        total = alone.fixed[:, None] + lost + self.active @ prices
        result: Array = total.ravel()[1:]
        return result

    def process(self, costs: Array) -> DecisionProcess:
        """The decision process with a cost per unit time in each state.

        Its decisions are the levels and combinations before a robot may be switched on; `options`
        says which classes each can choose.
        """
        first, _, leads = self.options
        count = len(leads)
        return DecisionProcess(
            costs=costs,
            transitions=self.undecided,
            decisions=self.decided,
            first=first,
            options=csr_matrix(
                (np.ones(count), leads, np.arange(count + 1)), shape=(count, self.states)
            ),
            option_costs=np.zeros(count),
        )

    @cached_property
    def options(self) -> tuple[IntArray, IntArray, IntArray]:
        """Where those of each decision begin, the class that each chooses, where each leads."""
        levels, combinations = self.shape
        here = np.arange(levels * combinations).reshape(self.shape) - 1
        moved = np.append(0, self.steps)
        leads = here[:, :, None] + moved
        idle = self.active < np.array(self.sizes)
        possible = np.ones((levels, combinations, len(moved)), dtype=bool)
        possible[:, :, 1:] = idle
        possible[0, 0, 0] = False  # with nothing in the system, some robot must be active
        first = np.concatenate([[0], np.cumsum(possible.sum(axis=2))])
        chosen = np.broadcast_to(np.arange(-1, len(self.steps)), possible.shape)
        return first, chosen[possible], leads[possible]

    def policy_of(self, choices: IntArray) -> IntArray:
        """The policy of the decision process that makes these choices.

        Parameters
        ----------
        choices : ndarray of int, shape (service phases or 1, levels, combinations)
            As a scenario has them (`scenarios.choices.choices_of`).
        """
        phases = self.queue.phases
        by_phase = np.broadcast_to(choices, (phases, *choices.shape[1:]))
        busy = np.swapaxes(by_phase[:, 1:], 0, 1).reshape(-1, self.shape[1])
        wanted = np.vstack([by_phase[0, :1], busy]).ravel()
        first, chosen, _ = self.options
        decision = np.repeat(np.arange(len(first) - 1), np.diff(first))
        result: IntArray = np.flatnonzero(chosen == wanted[decision])
        return result

    def choices_of(self, policy: IntArray) -> IntArray:
        """The inverse of `policy_of`, with a table for each phase of the service."""
        chosen = self.options[1][policy].reshape(self.shape)
        phases = self.queue.phases
        busy = chosen[1:].reshape(self.queue.capacity, phases, -1)
        tables = np.empty((phases, self.queue.capacity + 1, self.shape[1]), dtype=np.int64)
        tables[:, 0] = chosen[0]
        tables[:, 1:] = np.swapaxes(busy, 0, 1)
        return tables

    def generator_of(self, policy: IntArray) -> csr_matrix:
        """The generator of the chain under a policy."""
        return self.process(np.zeros(self.states)).generator(policy)

    def stationary_of(self, policy: IntArray) -> Array:
        """The stationary law under a policy, from the start with every robot active.

        Raises
        ------
        ValueError
            If several closed classes can be reached from there.
        """
        generator = self.generator_of(policy)
        if self.states <= _MOST_DENSE:
            return stationary(generator.toarray(), self.start)
        classes = closed_classes(generator, self.start)
        if len(classes) != 1:
            raise ValueError(f"the chain has {len(classes)} closed classes; it must have one")
        law = np.zeros(self.states)
        law[classes[0]] = stationary_sparse(csr_matrix(generator[classes[0]][:, classes[0]]))
        return law

    @cached_property
    def decided(self) -> csr_matrix:
        """Rates from states to decisions: deliveries take a robot away, services none."""
        delivered, served, _ = self.queue.between_levels
        size = len(self.active)
        fewer = sp.csr_matrix((size, size))
        for rate, numbers, step in zip(self.rates, self.active.T, self.steps, strict=True):
            one_less = sp.diags_array(rate * numbers[step:], offsets=-int(step), shape=(size, size))
            fewer = fewer + one_less
        rates = sp.kron(delivered, fewer) + sp.kron(served, sp.eye_array(size))
        return csr_matrix(csr_matrix(rates)[1:])

    @cached_property
    def undecided(self) -> csr_matrix:
        """Rates between states without a decision: changes of phase and obsolescence."""
        rates = sp.kron(self.queue.between_levels[2], sp.eye_array(len(self.active)))
        return csr_matrix(csr_matrix(rates)[1:, 1:])


def measures_of_choices(queue: UnlikeQueue, policy: IntArray) -> ChoiceMeasures:
    """Measures of a rule that says which class is switched on in each state.

    Parameters
    ----------
    queue : UnlikeQueue
    policy : ndarray of int, shape (decisions,)
        As `UnlikeQueue.policy_of`.

    Notes
    -----
    The stationary law of the chain of talim2001 (8), on states with a number for each class.
    """
    law = queue.stationary_of(policy)
    full = np.append(0.0, law).reshape(queue.shape)
    by_level = full.sum(axis=1)
    base = queue.queue
    levels = np.zeros(base.capacity + 1)
    np.add.at(levels, base.pages, by_level)
    return ChoiceMeasures(
        starvation=float(levels[0]),
        loss_rate=float((full[base.pages == base.capacity] @ queue.deliveries).sum()),
        obsolescence_rate=float(base.obsolescence * by_level @ np.maximum(base.pages - 1.0, 0.0)),
        throughput=float(by_level @ base.service_rates),
        active=np.asarray(full.sum(axis=0) @ queue.active),
        levels=levels,
        occasions=np.asarray(law @ queue.decided).reshape(queue.shape),
    )


class BestChoices(NamedTuple):
    """The best rule.

    Attributes
    ----------
    policy : ndarray of int, shape (decisions,)
    cost : float
        Per unit time.
    lower : float
        No rule that switches on one robot at a time and recalls none costs less.
    """

    policy: IntArray
    cost: float
    lower: float


def best_choices(queue: UnlikeQueue, costs: Array, start: IntArray | None = None) -> BestChoices:
    """The best of all rules that switch on at most one robot at a time, of any class.

    Parameters
    ----------
    queue : UnlikeQueue
    costs : ndarray, shape (states,)
        Per unit time.
    start : ndarray of int, optional
        The policy from which the search starts.

    Notes
    -----
    Policy iteration over all rules; ``min L V <= theta* <= max L V`` for the values V that it ends
    with (`analytic.decision_process`).
    """
    process = queue.process(costs)
    if start is None:
        start = process.first[1:] - 1  # some robot is switched on wherever one rests
    optimum = policy_iteration(process, start)
    cost = float(queue.stationary_of(optimum.policy) @ costs)
    return BestChoices(optimum.policy, cost, min(optimum.lower, cost))


def all_alike(tables: IntArray) -> bool:
    """Whether one table serves all phases of the service."""
    return bool(np.all(tables == tables[:1]))
