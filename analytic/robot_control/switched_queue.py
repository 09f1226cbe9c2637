"""The queue whose robots are switched on one at a time, as a decision process (talim2001).

A state is a level with a mode of the robots (`analytic.machinery.robot_modes`), both after the
event and its decision. Levels tell the phase of the page in service, too: level 0 is the empty
queue, and with q pages and the service in phase j of m the level is ``1 + (q - 1) m + j``.
The equations, and why they hold: docs/theory/switching.md.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import scipy
from numpy.typing import ArrayLike, NDArray

from analytic.index.optimum import Best
from analytic.machinery.bounds import at_most
from analytic.machinery.decision_process import DecisionProcess, policy_iteration
from analytic.machinery.markov import closed_classes, stationary, stationary_sparse
from analytic.machinery.phase_type import PhaseLaw
from analytic.machinery.refusal import NoAnswerError
from analytic.machinery.robot_modes import Modes
from scenarios.arrays import Array, IntArray
from scenarios.choices import NO_CLASS
from scenarios.sections import Costs

_MOST_DENSE = 1000
"""States up to which the chain of a rule is solved by dense elimination."""


class Rewards(NamedTuple):
    """A reward per unit time.

    Attributes
    ----------
    level : ndarray, shape (levels,)
        Of each level.
    delivery : ndarray, shape (levels,)
        Of each delivery that meets the level.
    robots : ndarray, shape (classes,)
        Of each active robot of a class.
    """

    level: Array
    delivery: Array
    robots: Array

    def plus(self, factor: float, other: Rewards) -> Rewards:
        """The sum with a multiple of another."""
        return Rewards(*(own + factor * each for own, each in zip(self, other, strict=True)))


@dataclass(frozen=True)
class Levels:
    """Pages in the system, with the phase of the service.

    Attributes
    ----------
    service : PhaseLaw
        The controller sees its phase.
    obsolescence : float
        Rate at which each waiting page becomes obsolete; obsolescence does not trigger switching.
    capacity : int
        K, pages that the buffer holds, the one in service included.
    """

    service: PhaseLaw
    obsolescence: float
    capacity: int

    @property
    def phases(self) -> int:
        """Service phases."""
        return len(self.service.start)

    @property
    def number(self) -> int:
        """How many levels there are."""
        return 1 + self.capacity * self.phases

    @cached_property
    def pages(self) -> NDArray[np.intp]:
        """Pages in the system at each level."""
        return np.concatenate([[0], np.repeat(np.arange(1, self.capacity + 1), self.phases)])

    @cached_property
    def service_rates(self) -> Array:
        """Service completions per unit time at each level."""
        return np.concatenate([[0.0], np.tile(self.service.exit_rates, self.capacity)])

    def spread(self, tables: IntArray) -> IntArray:
        """What a table for each phase, or one for all, says at each level.

        Parameters
        ----------
        tables : ndarray, shape (phases or 1, capacity + 1, …)
            At level 0 the first counts.
        """
        by_phase = np.broadcast_to(tables, (self.phases, *tables.shape[1:]))
        busy = np.swapaxes(by_phase[:, 1:], 0, 1).reshape(-1, *tables.shape[2:])
        return np.concatenate([by_phase[0, :1], busy])

    def by_phase(self, each: NDArray[Any]) -> NDArray[Any]:
        """The inverse: of what each level has, a table for each phase."""
        busy = each[1:].reshape(self.capacity, self.phases, *each.shape[1:])
        empty = np.broadcast_to(each[0], (self.phases, 1, *each.shape[1:]))
        return np.concatenate([empty, np.swapaxes(busy, 0, 1)], axis=1)

    def sojourns(self) -> Array:
        """Sojourn time, if it will be served, of a page that meets each level.

        A page that finds ``p`` pages is followed to its end: with ``f`` the probability that it
        is served, and ``m`` the mean of its sojourn where it is,
        ``(-T + p delta) m(p) = f(p) + t alpha m(p - 1) + (p - 1) delta m(p - 1)``, and the same
        with 0 in place of the first term for ``f``.
        """
        alpha, T = self.service
        exits = self.service.exit_rates
        delta = self.obsolescence
        reached = np.ones(self.phases)
        mean = np.linalg.solve(-T, np.ones(self.phases))
        rows = [np.array([alpha @ mean])]
        for ahead in range(1, self.capacity):
            inverse = np.linalg.inv(ahead * delta * np.eye(self.phases) - T)

            def onward(later: Array, gone: float = (ahead - 1) * delta) -> Array:
                return exits * (alpha @ later) + gone * later

            reached = inverse @ onward(reached)
            mean = inverse @ (reached + onward(mean))
            rows.append(mean)
        rows.append(np.zeros(self.phases))
        return np.concatenate(rows)

    @cached_property
    def moves(
        self,
    ) -> tuple[scipy.sparse.csr_matrix, scipy.sparse.csr_matrix, scipy.sparse.csr_matrix]:
        """Probabilities at a delivery, rates of services and of all other events between levels."""
        m = self.phases
        K = self.capacity
        alpha = self.service.start
        exits = self.service.exit_rates
        T = self.service.generator
        blocks = [scipy.sparse.lil_matrix((self.number, self.number)) for _ in range(3)]
        delivered, served, undecided = blocks
        for pages in range(K + 1):
            here = slice(0, 1) if pages == 0 else slice(1 + (pages - 1) * m, 1 + pages * m)
            above = here if pages == K else slice(here.stop, here.stop + m)
            delivered[here, above] = alpha if pages == 0 else np.eye(m)
            if pages >= 1:
                below = slice(0, 1) if pages == 1 else slice(here.start - m, here.start)
                begins = np.ones(1) if pages == 1 else alpha
                served[here, below] = exits[:, None] * begins[None, :]
                undecided[here, here] = T - np.diag(np.diag(T))
            if pages >= 2:
                undecided[here, below] = self.obsolescence * (pages - 1) * np.eye(m)
        return tuple(map(scipy.sparse.csr_matrix, blocks))


@dataclass(frozen=True)
class SwitchedQueue:
    """Levels and modes.

    Attributes
    ----------
    levels : Levels
    modes : Modes
    """

    levels: Levels
    modes: Modes

    @property
    def shape(self) -> tuple[int, int]:
        """Levels and modes."""
        return self.levels.number, self.modes.number

    @property
    def states(self) -> int:
        """Number of states; the empty queue without a robot is none, since nothing could happen."""
        return self.levels.number * self.modes.number - self.modes.states

    @property
    def start(self) -> int:
        """The empty queue with every robot active."""
        return self.modes.combinations - 2

    @cached_property
    def index(self) -> IntArray:
        """Index of each state, -1 where there is none, shape `shape`."""
        there = np.ones(self.shape, dtype=bool)
        there[0] = self.modes.active.any(axis=1)
        return np.where(there, np.cumsum(there).reshape(self.shape) - 1, -1)

    def by_state(self, table: Array) -> Array:
        """The entries of a table of levels and modes that are states."""
        return table[self.index >= 0]

    def table(self, each: Array) -> Array:
        """Something of each state as a table of levels and modes, 0 where there is no state."""
        result = np.zeros(self.shape)
        result[self.index >= 0] = each
        return result

    # --- rewards ----------------------------------------------------------------------------------

    def rewards(
        self, level: ArrayLike = 0.0, delivery: ArrayLike = 0.0, robots: ArrayLike = 0.0
    ) -> Rewards:
        """Rewards as `Rewards` has them; one number for all levels, or all classes, will do."""
        number, classes = self.levels.number, len(self.modes.sizes)
        shapes = zip((level, delivery, robots), (number, number, classes), strict=True)
        return Rewards(*(np.zeros(size) + np.asarray(each) for each, size in shapes))

    def costs(self, prices: Costs) -> Rewards:
        """The cost per unit time, the response apart."""
        full = (self.levels.pages == self.levels.capacity).astype(float)
        waiting = np.maximum(self.levels.pages - 1.0, 0.0)
        level = prices.standing + prices.starvation * (self.levels.pages == 0)
        level = level + prices.obsolescence * self.levels.obsolescence * waiting
        delivery = prices.delivery + prices.loss * full
        return self.rewards(level, delivery, prices.by_class or prices.robots)

    @cached_property
    def counted(self) -> dict[str, Rewards]:
        """What is counted per unit time: starvation, loss, obsolescence, served, robots, level."""
        none = {"starvation": 0.0, "loss": 0.0, "obsolescence": 0.0, "robots": 0.0}
        return {rate: self.costs(Costs(**(none | {rate: 1.0}))) for rate in none} | {
            "served": self.rewards(self.levels.service_rates),
            "level": self.rewards(self.levels.pages),
        }

    @cached_property
    def sojourn(self) -> Rewards:
        """Sojourn time of the pages that enter per unit time and will be served.

        Without obsolescence that is the number of pages in the system, by Little's law.
        """
        if self.levels.obsolescence == 0:
            return self.counted["level"]
        return self.rewards(delivery=self.levels.sojourns())

    def earned(self, rewards: Rewards) -> Array:
        """A reward at each level in each mode, shape `shape`."""
        level, delivery, robots = rewards
        by_mode = np.outer(delivery, self.modes.deliveries) + self.modes.active @ robots
        return level[:, None] + by_mode

    # --- rules ------------------------------------------------------------------------------------

    def process(self, rewards: Rewards) -> DecisionProcess:
        """The decision process with a cost per unit time.

        Its decisions are the levels and modes before a robot may be switched on, in the order of
        `shape`; `options` says what each can choose.

        Notes
        -----
        talim2001, section 2 with the corrections of the errata, on the states after a decision.
        """
        first, _, leads = self.options
        count = len(leads)
        rows = np.ones(count), leads, np.arange(count + 1)
        return DecisionProcess(
            costs=self.by_state(self.earned(rewards)),
            transitions=self._undecided,
            decisions=self.decided,
            first=first,
            options=scipy.sparse.csr_matrix(rows, shape=(count, self.states)),
            option_costs=np.zeros(count),
        )

    @cached_property
    def options(self) -> tuple[IntArray, IntArray, IntArray]:
        """Where those of each decision begin, the class that each switches on, where each leads."""
        to = np.column_stack([np.arange(self.modes.number), self.modes.more])
        leads = np.where(to >= 0, self.index[:, to], -1)
        possible = leads >= 0
        first = np.concatenate([[0], np.cumsum(possible.sum(axis=2))])
        chosen = np.broadcast_to(np.arange(NO_CLASS, self.modes.more.shape[1]), possible.shape)
        return first, chosen[possible], leads[possible]

    def policy(self, wanted: IntArray) -> IntArray:
        """The policy that switches on the class that is wanted, or `NO_CLASS`, shape `shape`.

        Where that cannot be, nobody is, or in the empty queue without a robot the first class.
        """
        first, chosen, _ = self.options
        fitting = np.flatnonzero(chosen == wanted.ravel()[self._decision])
        result = first[:-1].copy()
        result[self._decision[fitting]] = fitting
        return result

    @cached_property
    def _decision(self) -> IntArray:
        """The decision of each option."""
        number = np.diff(self.options[0])
        return np.repeat(np.arange(len(number)), number)

    def towards(self, targets: IntArray) -> IntArray:
        """The policy with these targets: one list of levels, or one for each state of environment.

        Parameters
        ----------
        targets : ndarray of int, shape (levels,) or (states, levels)
        """
        by_state = np.broadcast_to(targets, (self.modes.states, self.levels.number))
        by_mode = np.repeat(by_state, self.modes.combinations, axis=0).T
        return self.policy(np.where(self.modes.active.sum(axis=1) < by_mode, 0, NO_CLASS))

    def switched(self, policy: IntArray) -> IntArray:
        """The class that a policy switches on, or `NO_CLASS`, shape `shape`."""
        return self.options[1][policy].reshape(self.shape)

    def targets(self, policy: IntArray) -> IntArray:
        """Up to which numbers of robots that are alike a policy switches on without a gap.

        Shape (states of the environment, levels).
        """
        on = (self.switched(policy) != NO_CLASS).reshape(
            len(self.levels.pages), self.modes.states, -1
        )
        return np.logical_and.accumulate(on[..., :-1], axis=2).sum(axis=2).T

    def generator(self, policy: IntArray) -> scipy.sparse.csr_matrix:
        """The generator of the chain under a policy."""
        return self.process(self.rewards()).generator(policy)

    def settled(self, policy: IntArray) -> tuple[Array, IntArray]:
        """The stationary distribution under a policy, and the states that recur.

        From the start with every robot active.

        Raises
        ------
        NoAnswerError
            If several closed classes can be reached from there.
        """
        generator = self.generator(policy)
        classes = closed_classes(generator, self.start)
        if len(classes) != 1:
            raise NoAnswerError(f"its chain has {len(classes)} closed classes")
        (recurrent,) = classes
        if self.states <= _MOST_DENSE:
            return stationary(generator.toarray(), self.start), recurrent
        law = np.zeros(self.states)
        law[recurrent] = stationary_sparse(
            scipy.sparse.csr_matrix(generator[recurrent][:, recurrent])
        )
        return law, recurrent

    def gain(self, policy: IntArray, rewards: Rewards) -> float:
        """The reward per unit time under a policy, as `settled`."""
        return float(self.settled(policy)[0] @ self.by_state(self.earned(rewards)))

    @cached_property
    def decided(self) -> scipy.sparse.csr_matrix:
        """Rates from states to decisions: deliveries take a robot away, services none."""
        delivered, served, _ = self.levels.moves
        mode, group = (self.modes.fewer >= 0).nonzero()
        to, rate = self.modes.fewer[mode, group], self.modes.heard[mode, group]
        size = self.modes.number
        one_less = scipy.sparse.csr_matrix((rate, (mode, to)), shape=(size, size))
        rates = scipy.sparse.kron(delivered, one_less) + scipy.sparse.kron(
            served, scipy.sparse.eye_array(size)
        )
        return scipy.sparse.csr_matrix(scipy.sparse.csr_matrix(rates)[self._there])

    @cached_property
    def _undecided(self) -> scipy.sparse.csr_matrix:
        """Rates between states without a decision: of phases, obsolescence, the environment."""
        around = scipy.sparse.kron(
            self.modes.changes, scipy.sparse.eye_array(self.modes.combinations)
        )
        rates = scipy.sparse.kron(self.levels.moves[2], scipy.sparse.eye_array(self.modes.number))
        rates = rates + scipy.sparse.kron(scipy.sparse.eye_array(self.levels.number), around)
        kept = scipy.sparse.csr_matrix(scipy.sparse.csr_matrix(rates)[self._there][:, self._there])
        kept.eliminate_zeros()
        return kept

    @property
    def _there(self) -> IntArray:
        """Places of the states in the order of `shape`."""
        return np.flatnonzero(self.index.ravel() >= 0)


class Measures(NamedTuple):
    """What a rule does in the long run, per unit time.

    Attributes
    ----------
    starvation, loss_rate, obsolescence_rate, throughput : float
        Fraction of time with an empty queue; pages lost, obsolete and indexed.
    active : ndarray, shape (classes,)
        Mean active robots of each class.
    mean_in_system : float
    response : float
        Mean sojourn of the pages that are served.
    fewest, most : int
        Least and largest number of active robots that recur.
    levels : ndarray, shape (capacity + 1,)
        Level probabilities; empty where the queue is too long to have them all.
    occasions : ndarray, shape (levels and service phases, modes)
        How often the rule is asked in each state before its decision; empty where not asked for.
    """

    starvation: float
    loss_rate: float
    obsolescence_rate: float
    throughput: float
    active: Array
    mean_in_system: float
    response: float
    fewest: int
    most: int
    levels: Array
    occasions: Array

    @property
    def mean_active(self) -> float:
        """Mean active robots of all classes."""
        return float(self.active.sum())

    @property
    def delivered(self) -> float:
        """Pages delivered per unit time."""
        return self.throughput + self.loss_rate + self.obsolescence_rate

    def cost(self, costs: Costs) -> float:
        """The cost per unit time, by one price for all robots."""
        terms = (
            (costs.starvation, self.starvation),
            (costs.loss, self.loss_rate),
            (costs.obsolescence, self.obsolescence_rate),
            (costs.robots, self.mean_active),
            (costs.response, self.response),
            (costs.delivery, self.delivered),
            (costs.standing, 1.0),
        )
        return math.fsum(price * term for price, term in terms if price)


def measures_of_policy(queue: SwitchedQueue, policy: IntArray) -> Measures:
    """Measures of any rule that sees level, service phase and mode.

    Parameters
    ----------
    queue : SwitchedQueue
    policy : ndarray of int, shape (decisions,)

    Raises
    ------
    NoAnswerError
        As `SwitchedQueue.settled`.

    Notes
    -----
    The stationary distribution of the chain of talim2001 (8), on states with a mode in them.
    """
    return _measures(queue, *queue.settled(policy))


def measures_of_chain(queue: SwitchedQueue, generator: scipy.sparse.csr_matrix) -> Measures:
    """Measures of any stationary rule, from the generator of its chain on the states of the queue.

    Raises
    ------
    ValueError
        If the chain has several closed classes.
    """
    law = stationary_sparse(generator)
    (recurrent,) = closed_classes(generator)
    return _measures(queue, law, recurrent)


def _measures(queue: SwitchedQueue, law: Array, recurrent: IntArray) -> Measures:
    """Measures from the stationary distribution and the states that recur."""
    table = queue.table(law)
    levels = queue.levels
    by_level = table.sum(axis=1)
    throughput = float(by_level @ levels.service_rates)
    sojourn = float((queue.earned(queue.sojourn) * table).sum())
    number = queue.by_state(np.broadcast_to(queue.modes.active.sum(axis=1), queue.shape))[recurrent]
    return Measures(
        starvation=float(by_level[0]),
        loss_rate=float((table[levels.pages == levels.capacity] @ queue.modes.deliveries).sum()),
        obsolescence_rate=float(
            levels.obsolescence * by_level @ np.maximum(levels.pages - 1.0, 0.0)
        ),
        throughput=throughput,
        active=np.asarray(table.sum(axis=0) @ queue.modes.active),
        mean_in_system=float(by_level @ levels.pages),
        response=sojourn / throughput if throughput > 0 else math.nan,
        fewest=int(number.min()),
        most=int(number.max()),
        levels=np.bincount(levels.pages, by_level).astype(float),
        occasions=np.asarray(law @ queue.decided).reshape(queue.shape),
    )


def best_policy(queue: SwitchedQueue, rewards: Rewards) -> Best[IntArray]:
    """The best of all rules that switch on at most one robot at a time, of any class.

    Parameters
    ----------
    queue : SwitchedQueue
    rewards : Rewards
        The cost per unit time.

    Notes
    -----
    Policy iteration over all rules; ``min L V <= theta* <= max L V`` for the values V that it ends
    with (`analytic.machinery.decision_process`).
    """
    process = queue.process(rewards)
    # where the search begins some robot is switched on wherever one rests
    optimum = policy_iteration(process, process.first[1:] - 1)
    cost = queue.gain(optimum.policy, rewards)
    return Best(optimum.policy, cost, at_most(cost, optimum.lower))
