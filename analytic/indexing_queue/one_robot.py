"""The queue that one robot feeds, with access times of any law: a chain embedded at its accesses.

Between two accesses nothing enters, and the level and the phases of services and patience are a
Markov chain with generator G. With an access time X, the chain at the ends of accesses moves by
``E exp(G X)`` and by what a delivery does.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import scipy

from analytic.index import conditions
from analytic.index.accesses import law_and_failure, time_per_access
from analytic.index.conditions import buffer_of
from analytic.index.formula import Values, dependent
from analytic.indexing_queue.chain import (
    UNLIMITED_PATIENCE,
    Entries,
    QueueChain,
    controlled_chain,
    count_states,
    rate_entries,
)
from analytic.indexing_queue.levels_and_fates import fate_rates, marginals_of
from analytic.indexing_queue.measures import (
    KnownLevels,
    all_rows,
    chain_measures,
    service_and_patience,
    waiting_phases,
)
from analytic.indexing_queue.several_servers import (
    ServersChain,
    by_level,
    idle_servers,
    rates_of_fates,
    server_entries,
    size_of_servers,
    sojourn_moments_of_servers,
    sojourn_quantiles_of_servers,
)
from analytic.indexing_queue.sojourns import Row, sojourn_moments, sojourn_quantiles
from analytic.machinery.active_robots import robots_at
from analytic.machinery.markov import stationary
from analytic.machinery.phase_type import PhaseLaw, phase_count
from analytic.machinery.transforms import matrix_transform, mean_time
from scenarios import Scenario
from scenarios.arrays import Array, Indices
from scenarios.laws import Distribution
from scenarios.sections import Costs

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix

_MOST_STATES = 870
"""States whose matrices take some ten seconds."""

_ONE_DELIVERY = np.array([[0.0, 0.0], [0.0, 1.0]])[:, :, None, None]
"""D0, whose diagonal is not used, and D1 where no robot is heard and where one is."""

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
        return _room(self.enters)

    @property
    def heard(self) -> Array:
        """Probability that an access delivers, in each state."""
        active = np.repeat(self.chain.active[:, 0, 0], np.diff(self.chain.starts))
        return active * (1.0 - self.failure)

    @property
    def found(self) -> tuple[Indices, Indices]:
        """Level and phase of the service in each state."""
        chain = self.chain
        level = np.repeat(np.arange(chain.top + 1), np.diff(chain.starts))
        timers = chain.patience_phases ** np.maximum(level - 1, 0)
        phase = (np.arange(chain.states) - chain.starts[level]) // timers
        return level, phase


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
    chain = controlled_chain(_ONE_DELIVERY, active, service, patience, capacity, "partial")
    return DeliveredQueue(
        chain, access, failure, *_embedded(rate_entries(chain), chain.states, access, failure)
    )


def _embedded(
    entries: Entries, states: int, access: Distribution, failure: float
) -> tuple[Array, csr_matrix, Array, Array]:
    """The last attributes of a `DeliveredQueue`, from the rates with one delivery per unit time."""
    rises, rows, columns, rates = entries
    up = rises > 0
    enters = scipy.sparse.csr_matrix((rates[up], (rows[up], columns[up])), shape=(states, states))
    silent = ~up & (rows != columns)
    generator = np.zeros((states, states))
    np.add.at(generator, (rows[silent], columns[silent]), rates[silent])
    generator -= np.diag(generator.sum(axis=1))
    reached = matrix_transform(access, generator)
    entered = reached * (1.0 - failure) @ enters.toarray()
    stayed = reached * (1.0 - _room(enters) * (1.0 - failure))
    return generator, enters, reached, stationary(entered + stayed)


def _room(enters: csr_matrix) -> Array:
    return np.asarray(enters.sum(axis=1)).ravel().round()


def stationary_queue(queue: DeliveredQueue) -> Array:
    """Stationary distribution of the queue at an arbitrary time, shape (states,)."""
    return _at_any_time(queue.generator, queue.after, queue.before, mean_time(queue.access))


def _at_any_time(generator: Array, after: Array, before: Array, mean: float) -> Array:
    """The same from what is there just after and just before the end of an access.

    Notes
    -----
    What leaves a state enters another: ``pi G = (b - a) / E X``, with b the distribution just
    before the end of an access and a that just after it. Without the empty state, which G never
    leaves, ``(-G)^-1`` has no negative entries; the empty state has the rest, absolutely exact but
    not relatively: where the queue hardly ever starves, its digits are those of 1.
    """
    busy = np.maximum(np.linalg.solve(-generator[1:, 1:].T, (after - before)[1:] / mean), 0.0)
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
    return _with_digits(chain_measures(chain, marginals, rates, costs, sojourns))


def _with_digits(rows: Iterable[Row]) -> Iterator[Row]:
    """Measures but for those of the empty queue where their digits are lost."""
    for row in rows:
        starved = row[:2] in (("starvation_probability", None), ("level_probability", 0))
        if not starved or row[2] >= _SMALLEST:
            yield row


def servers_at_accesses(
    chain: ServersChain, access: Distribution, failure: float = 0.0
) -> tuple[list[Array], list[Array]]:
    """Several servers fed by one robot: what its accesses find, and what is there at any time.

    Parameters
    ----------
    chain : ServersChain
        With one delivery per unit time where the robot is heard.
    access : Distribution
        Law of the access times.
    failure : float
        Probability that an access brings nothing.

    Returns
    -------
    found, at_any_time : list of ndarray
        Probabilities by level, each of shape (1, states of the servers), as of `solve_servers`.

    Notes
    -----
    The same embedded chain as of one server. Takács (1962) for GI/M/c without timers.
    """
    states = chain.starts[-1]
    generator, _, reached, after = _embedded(server_entries(chain), states, access, failure)
    before = after @ reached
    always = _at_any_time(generator, after, before, mean_time(access))
    return by_level(chain, before), by_level(chain, always)


def measures_at_accesses(
    chain: ServersChain,
    found: list[Array],
    always: list[Array],
    pace: float,
    costs: Costs,
    *,
    ordered: bool,
) -> Iterator[Row]:
    """Every measure of several servers that one robot feeds; as `one_robot_measures`.

    Parameters
    ----------
    chain, costs, ordered
        As there.
    found, always
        Of `servers_at_accesses`.
    pace : float
        Accesses that succeed, per unit time.
    """
    rates, of_accesses = (rates_of_fates(chain, each) for each in (always, found))
    rates |= {fate: pace * of_accesses[fate] for fate in ("delivered", "lost")}
    sojourns = list(sojourn_moments_of_servers(chain, found)) if ordered else None
    levels = np.array([each.sum() for each in always])
    robots = float(levels @ chain.deliveries.active[:, 0, 0])
    yield from _with_digits(all_rows(KnownLevels.of(levels), (robots, []), rates, costs, sojourns))
    yield "idle_indexers", None, idle_servers(levels, chain.servers)


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
    if buffer.servers == 1:
        states = count_states(1, phases, waiting_phases(scenario), buffer.capacity)
    else:
        states, _ = size_of_servers(1, phases, buffer.servers, buffer.capacity)
    if states <= _MOST_STATES:
        return None
    return f"its chain at accesses has {states} states, limit {_MOST_STATES}"


@lru_cache(maxsize=2)
def queue_of_one_robot(scenario: Scenario) -> DeliveredQueue:
    """The queue of a scenario with one robot, between its accesses."""
    service, patience = service_and_patience(scenario)
    access, failure = law_and_failure(scenario)
    active = robots_at(scenario)
    capacity = buffer_of(scenario).capacity
    return delivered_queue(service, capacity, access, patience, active, failure)


def rows_of_one_robot(scenario: Scenario) -> Values:
    """Every measure of the queue of one robot."""
    ordered = conditions.first_come_first_served(scenario) is None
    return one_robot_measures(queue_of_one_robot(scenario), scenario.prices, ordered=ordered)


def quantiles_of_one_robot(scenario: Scenario, shares: Sequence[float]) -> dict[str, Array]:
    """Quantiles of the sojourn times before one server: of the pages that deliveries find."""
    queue = queue_of_one_robot(scenario)
    return sojourn_quantiles(queue.chain, queue.before, shares)


class _Servers(NamedTuple):
    """Several servers fed by one robot, at its accesses and at any time."""

    chain: ServersChain
    found: list[Array]
    always: list[Array]


@lru_cache(maxsize=2)
def _servers_of(scenario: Scenario) -> _Servers:
    buffer = buffer_of(scenario)
    service, _ = service_and_patience(scenario)
    deliveries = controlled_chain(
        _ONE_DELIVERY,
        robots_at(scenario),
        service,
        UNLIMITED_PATIENCE,
        buffer.capacity,
        "partial",
    )
    chain = ServersChain(deliveries, buffer.servers, conditions.timer_rate(scenario))
    access, failure = law_and_failure(scenario)
    return _Servers(chain, *servers_at_accesses(chain, access, failure))


def rows_of_servers_at_accesses(scenario: Scenario) -> Values:
    """Every measure of several servers that one robot feeds."""
    ordered = conditions.first_come_first_served(scenario) is None
    pace = 1.0 / time_per_access(scenario)
    return measures_at_accesses(*_servers_of(scenario), pace, scenario.prices, ordered=ordered)


def quantiles_of_servers_at_accesses(
    scenario: Scenario, shares: Sequence[float]
) -> dict[str, Array]:
    """Quantiles of the sojourn times before several servers that one robot feeds."""
    servers = _servers_of(scenario)
    return sojourn_quantiles_of_servers(servers.chain, servers.found, shares)
