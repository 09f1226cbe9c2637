"""Robots in a common environment, switched on one at a time: the queue as a decision process.

In state e of the environment every access runs at speed s_e, so that an active robot delivers at
the rate ``lambda s_e``. A state is a level with a state of the environment and a number of active
robots, both counted after the event and its decision. The equations, and why they hold:
docs/theory/switching.md, "A common environment".
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.sparse import csr_matrix

from analytic.decision_process import DecisionProcess, policy_iteration
from analytic.markov import stationary, stationary_sparse
from analytic.robot_control.controlled_queue import ControlledQueue
from scenarios.arrays import Array
from scenarios.sections import Costs

Indices = NDArray[np.integer[Any]]

_MOST_DENSE = 1000
"""States up to which the chain of a rule is solved by dense elimination."""


class TargetMeasures(NamedTuple):
    """What targets do in the long run, per unit time.

    Attributes
    ----------
    starvation, loss_rate, throughput : float
        Fraction of time with an empty queue; pages lost, indexed.
    mean_active : float
    levels : ndarray, shape (capacity + 1,)
        Level probabilities.
    """

    starvation: float
    loss_rate: float
    throughput: float
    mean_active: float
    levels: Array


@dataclass(frozen=True)
class QueueInEnvironment:
    """The parameters.

    Attributes
    ----------
    queue : ControlledQueue
        The queue at speed 1, with exponential service.
    generator : ndarray, shape (states, states)
        Q, of the environment.
    speeds : ndarray, shape (states,)
    """

    queue: ControlledQueue
    generator: Array
    speeds: Array

    @property
    def shape(self) -> tuple[int, int, int]:
        """Levels, states of the environment, numbers of active robots."""
        return self.queue.levels, len(self.speeds), self.queue.available + 1

    @cached_property
    def index(self) -> Indices:
        """Index of each state, -1 for the empty queue without a robot, shape `shape`."""
        there = np.ones(self.shape, dtype=bool)
        there[0, :, 0] = False
        return np.where(there, np.cumsum(there).reshape(self.shape) - 1, -1)

    @property
    def states(self) -> int:
        """Number of states."""
        levels, around, active = self.shape
        return levels * around * active - around

    @property
    def start(self) -> int:
        """The empty queue with every robot active."""
        return int(self.index[0, 0, -1])

    def costs_of(self, costs: Costs) -> Array:
        """The cost per unit time in each state, the response apart, shape (states,)."""
        alone = self.queue.rewards(costs.model_copy(update={"robots": 0.0}))
        active = np.arange(self.shape[2])
        lost = alone.per_robot[:, None, None] * self.speeds[None, :, None] * active
        total = alone.fixed[:, None, None] + lost + costs.robots * active
        result: Array = total[self.index >= 0]
        return result

    def process(self, costs: Costs) -> DecisionProcess:
        """The decision process with these prices.

        Its decisions are the states before a robot may be switched on, in the order of `shape`; the
        first option leaves the number, the second adds one.
        """
        first, options = self._options
        return DecisionProcess(
            costs=self.costs_of(costs),
            transitions=self._undecided,
            decisions=self._decided,
            first=first,
            options=options,
            option_costs=np.zeros(options.shape[0]),
        )

    def policy_of(self, targets: Indices) -> Indices:
        """The policy of the decision process that has these targets, shape (states, levels)."""
        first, _ = self._options
        wanted = np.arange(self.shape[2]) < targets.T[:, :, None]
        result: Indices = first[:-1] + (wanted.ravel() & (np.diff(first) == 2))
        return result

    def switches_on(self, policy: Indices) -> NDArray[np.bool_]:
        """Whether a policy switches a robot on, shape `shape`."""
        first, _ = self._options
        on = (policy - first[:-1]).astype(bool).reshape(self.shape)
        on[0, :, 0] = True
        return on

    def generator_of(self, targets: Indices) -> csr_matrix:
        """The generator of the chain under targets by state of the environment and level."""
        return self.process(Costs()).generator(self.policy_of(targets))

    def stationary_of(self, targets: Indices) -> Array:
        """The stationary law under targets, from the start with every robot active."""
        generator = self.generator_of(targets)
        if self.states <= _MOST_DENSE:
            return stationary(generator.toarray(), self.start)
        return stationary_sparse(generator)

    @cached_property
    def _options(self) -> tuple[Indices, csr_matrix]:
        """Where the options of each decision begin, and the state to which each leads."""
        stay = self.index.ravel()
        more = np.append(self.index[..., 1:], np.full((*self.shape[:2], 1), -1), axis=2).ravel()
        pairs = np.stack([stay, more], axis=1)
        possible = pairs >= 0
        first = np.concatenate([[0], np.cumsum(possible.sum(axis=1))])
        leads = pairs[possible]
        shape = (len(leads), self.states)
        return first, csr_matrix((np.ones(len(leads)), leads, np.arange(len(leads) + 1)), shape)

    @property
    def _there(self) -> Indices:
        """Places of the states in the order of `shape`."""
        return np.flatnonzero(self.index.ravel() >= 0)

    @cached_property
    def _decided(self) -> csr_matrix:
        """Rates from states to decisions: deliveries take a robot away, services none."""
        delivered, served, _ = self.queue.between_levels
        active = np.arange(self.shape[2], dtype=float)
        one_less = sp.diags_array(active[1:], offsets=-1)
        around = sp.kron(sp.diags_array(self.speeds), one_less)
        nothing = sp.eye_array(self.shape[1] * self.shape[2])
        rates = sp.kron(delivered, around) + sp.kron(served, nothing)
        return csr_matrix(csr_matrix(rates)[self._there])

    @cached_property
    def _undecided(self) -> csr_matrix:
        """Rates between states without a decision: of the environment and of obsolescence."""
        dropped = self.queue.between_levels[2]
        changes = self.generator - np.diag(np.diag(self.generator))
        levels, around, active = self.shape
        rates = sp.kron(dropped, sp.eye_array(around * active)) + sp.kron(
            sp.eye_array(levels), sp.kron(changes, sp.eye_array(active))
        )
        kept = csr_matrix(csr_matrix(rates)[self._there][:, self._there])
        kept.eliminate_zeros()
        return kept


def measures_in_environment(queue: QueueInEnvironment, targets: Indices) -> TargetMeasures:
    """Measures of targets by state of the environment and level.

    Parameters
    ----------
    queue : QueueInEnvironment
    targets : ndarray of int, shape (states, levels)

    Notes
    -----
    The stationary law of the chain of talim2001 (8), on states with the environment in them.
    """
    law = queue.stationary_of(targets)
    full = np.zeros(queue.shape)
    full[queue.index >= 0] = law
    levels = full.sum(axis=(1, 2))
    active = np.arange(queue.shape[2])
    delivered = queue.queue.access * queue.speeds[:, None] * active
    return TargetMeasures(
        starvation=float(levels[0]),
        loss_rate=float((full[-1] * delivered).sum()),
        throughput=float(levels @ queue.queue.service_rates),
        mean_active=float((full.sum(axis=(0, 1)) * active).sum()),
        levels=levels,
    )


def cost_in_environment(queue: QueueInEnvironment, costs: Costs, targets: Indices) -> float:
    """Cost per unit time of targets by state of the environment and level, the response apart.

    Parameters
    ----------
    queue : QueueInEnvironment
    costs : Costs
    targets : ndarray of int, shape (states, levels)
    """
    return float(queue.stationary_of(targets) @ queue.costs_of(costs))


class SeenOptimum(NamedTuple):
    """The best targets where the environment is seen.

    Attributes
    ----------
    targets : ndarray of int, shape (states, levels)
    cost : float
        Per unit time.
    lower : float
        No rule of level, environment and active robots costs less.
    """

    targets: Indices
    cost: float
    lower: float


def best_in_environment(queue: QueueInEnvironment, costs: Costs) -> SeenOptimum:
    """The best targets for each state of the environment, and a bound below every rule.

    Should the optimum be no target rule, the targets are those up to which it switches on without a
    gap, with their own cost; the bound is that of the optimum.

    Parameters
    ----------
    queue : QueueInEnvironment
    costs : Costs
        Without a price of the response.

    Notes
    -----
    Policy iteration over all rules; ``min L V <= theta* <= max L V`` for the values V that it ends
    with (`analytic.decision_process`).
    """
    levels, around, active = queue.shape
    process = queue.process(costs)
    start = np.full((around, levels), active - 1)
    optimum = policy_iteration(process, queue.policy_of(start))
    on = np.logical_and.accumulate(queue.switches_on(optimum.policy)[..., :-1], axis=2)
    targets = on.sum(axis=2).T
    cost = cost_in_environment(queue, costs, targets)
    return SeenOptimum(targets, cost, min(max(optimum.lower, 0.0), cost))
