"""The queue that one robot feeds, with access times of any law: a chain embedded at its accesses.

Between two accesses nothing enters, and the level and the phases of service and patience are a
Markov chain with generator G. With an access time X, the chain at the ends of accesses moves by
``E exp(G X)`` and by what a delivery does.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np
import scipy

from analytic.index import conditions, page_conditions
from analytic.index.conditions import buffer_of
from analytic.index.formula import Values, dependent
from analytic.indexing_queue.chain import (
    UNLIMITED_PATIENCE,
    Indices,
    QueueChain,
    controlled_chain,
    count_states,
    dense_generator,
    rate_entries,
)
from analytic.indexing_queue.levels_and_fates import fate_rates, marginals_of
from analytic.indexing_queue.measures import (
    chain_measures,
    service_and_patience,
    waiting_phases,
)
from analytic.indexing_queue.sojourns import Row, sojourn_moments
from analytic.machinery.active_robots import robots_at
from analytic.machinery.markov import stationary
from analytic.machinery.phase_type import PhaseLaw, phase_count
from analytic.machinery.transforms import matrix_transform, mean_time
from scenarios import Scenario
from scenarios.arrays import Array
from scenarios.laws import Distribution
from scenarios.model import present
from scenarios.sections import Costs

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix

_MOST_STATES = 870
"""States whose matrices take some ten seconds."""

_SMALLEST = 1e-6
"""Starvation probabilities below this are left out: their digits are lost in those of 1."""


@dataclass(frozen=True, eq=False)
class DeliveredQueue:
    """The queue between the accesses of one robot.

    Attributes
    ----------
    chain : QueueChain
        With one delivery per unit time where the robot is active.
    access : Distribution
        Law of the access times.
    generator : ndarray, shape (states, states)
        G, of the queue between accesses.
    failure : float
        Probability that an access brings nothing.
    enters : csr_matrix, shape (states, states)
        Where a delivery leads; no row where it is lost, or not heard.
    reached : ndarray, shape (states, states)
        ``E exp(G X)``: the queue just before the end of an access, given that just after the last.
    after : ndarray, shape (states,)
        Distribution of the queue just after the end of an access.
    """

    chain: QueueChain
    access: Distribution
    failure: float
    generator: Array
    enters: csr_matrix
    reached: Array
    after: Array

    @property
    def before(self) -> Array:
        """Distribution of the queue just before the end of an access."""
        return self.after @ self.reached

    @property
    def room(self) -> Array:
        """1 in the states in which a delivery enters, 0 in the others."""
        return np.asarray(self.enters.sum(axis=1)).ravel().round()

    @property
    def heard(self) -> Array:
        """Probability that an access delivers, in each state."""
        active = np.repeat(self.chain.active[:, 0, 0], np.diff(self.chain.starts))
        return active * (1.0 - self.failure)

    @property
    def found(self) -> tuple[Indices, Indices]:
        """Level and phase of the service in each state, where patience has a single phase."""
        chain = self.chain
        level = np.repeat(np.arange(chain.top + 1), np.diff(chain.starts))
        phase = (np.arange(chain.states) - 1) % chain.service_phases
        return level, np.where(level > 0, phase, 0)


def delivered_queue(
    service: PhaseLaw,
    capacity: int,
    access: Distribution,
    patience: PhaseLaw = UNLIMITED_PATIENCE,
    active: Callable[[int], int] = lambda _: 1,
    failure: float = 0.0,
) -> DeliveredQueue:
    """The queue of one robot.

    Parameters
    ----------
    service : PhaseLaw
    capacity : int
        K, the page in service included.
    access : Distribution
        Law of the access times.
    patience : PhaseLaw
        Of a waiting page.
    active : callable
        1 at the levels at which the robot is heard, 0 at the others: what it delivers there is
        discarded, and it runs on.
    failure : float
        Probability that an access brings nothing.
    """
    modes = np.array([[0.0, 0.0], [0.0, 1.0]])[:, :, None, None]
    chain = controlled_chain(modes, active, service, patience, capacity, "partial")
    silent = dense_generator(replace(chain, arrivals=({},) * (capacity + 1)))
    generator = silent - np.diag(silent.sum(axis=1))
    reached = matrix_transform(access, generator)
    rises, rows, columns, rates = rate_entries(chain)
    up = rises > 0
    enters = scipy.sparse.csr_matrix((rates[up], (rows[up], columns[up])), shape=reached.shape)
    nowhere = np.zeros(chain.states)
    bare = DeliveredQueue(chain, access, failure, generator, enters, reached, nowhere)
    entered = reached * (1.0 - failure) @ enters.toarray()
    stayed = reached * (1.0 - bare.room * (1.0 - failure))
    return replace(bare, after=stationary(entered + stayed))


def stationary_queue(queue: DeliveredQueue) -> Array:
    """Stationary distribution of the queue at an arbitrary time, shape (states,).

    Notes
    -----
    What leaves a state enters another: ``pi G = (b - a) / E X``, with b the distribution just
    before the end of an access and a that just after it. Without the empty state, which G never
    leaves, ``(-G)^-1`` has no negative entries; the empty state has the rest, absolutely exact but
    not relatively: where the queue hardly ever starves, its digits are those of 1.
    """
    inner = queue.generator[1:, 1:]
    entering = (queue.after - queue.before)[1:] / mean_time(queue.access)
    busy = np.maximum(np.linalg.solve(-inner.T, entering), 0.0)
    return np.concatenate([[1.0 - busy.sum()], busy])


def one_robot_measures(queue: DeliveredQueue, costs: Costs, *, ordered: bool) -> Iterator[Row]:
    """Every measure of the queue, as (measure, subject, value).

    Parameters
    ----------
    queue : DeliveredQueue
    costs : Costs
    ordered : bool
        Whether pages are served first come first served and nothing is pushed out; only then is
        the tagged page followed. Otherwise Little's law gives the mean of all pages.

    Notes
    -----
    Deliveries and losses are counted by what the deliveries find, the rest by what is there at an
    arbitrary time. A page that has entered is followed as in `sojourn_moments`: what is delivered
    later does not matter to it.
    """
    chain = queue.chain
    before = queue.before
    found = fate_rates(chain, marginals_of(chain, before))
    marginals = marginals_of(chain, stationary_queue(queue))
    pace = (1.0 - queue.failure) / mean_time(queue.access)
    rates = fate_rates(chain, marginals)
    rates |= {fate: pace * found[fate] for fate in ("delivered", "lost")}
    sojourns = list(sojourn_moments(chain, before)) if ordered else None
    starved = ("starvation_probability", None), ("level_probability", 0)
    for row in chain_measures(chain, marginals, rates, costs, sojourns):
        if marginals.levels[0] >= _SMALLEST or row[:2] not in starved:
            yield row


# --- of a scenario ----------------------------------------------------------------------------


def no_markovian_accesses(scenario: Scenario) -> str | None:
    """Access times have no Markovian form."""
    markovian = conditions.markovian_accesses(scenario) is None
    return "access times are Markovian" if markovian else None


@dependent
def accesses_fit(scenario: Scenario) -> str | None:
    """The chain embedded at accesses has at most 870 states."""
    buffer = buffer_of(scenario)
    phases = phase_count(conditions.service_law(scenario)) or 0
    states = count_states(1, phases, waiting_phases(scenario), buffer.capacity)
    if states <= _MOST_STATES:
        return None
    return f"its chain at accesses has {states} states, limit {_MOST_STATES}"


@lru_cache(maxsize=2)
def queue_of_one_robot(scenario: Scenario) -> DeliveredQueue:
    """The queue of a scenario with one robot, between its accesses."""
    service, patience = service_and_patience(scenario)
    access = present(page_conditions.access_law(scenario))
    active = robots_at(scenario)
    failure = conditions.fleet_of(scenario).failure_probability
    capacity = buffer_of(scenario).capacity
    return delivered_queue(service, capacity, access, patience, active, failure)


def rows_of_one_robot(scenario: Scenario) -> Values:
    """Every measure of the queue of one robot."""
    ordered = conditions.first_come_first_served(scenario) is None
    return one_robot_measures(queue_of_one_robot(scenario), scenario.prices, ordered=ordered)
