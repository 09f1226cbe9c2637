"""The chain of a scenario, its solution and its measures, and what stands against them."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from analytic.index import conditions
from analytic.index.conditions import buffer_and_robots
from analytic.index.formula import dependent
from analytic.indexing_queue.chain import (
    UNLIMITED_PATIENCE,
    QueueChain,
    controlled_chain,
    free_chain,
    switched_chain,
)
from analytic.indexing_queue.hysteresis import (
    count_phases,
    switch_rate,
    switched_on,
    threshold_chain,
)
from analytic.indexing_queue.large_buffers import SMALLEST_LOSS, closure
from analytic.indexing_queue.levels_and_fates import (
    Marginals,
    fate_rates,
    marginals_of,
    mean_active,
    mean_active_by_class,
)
from analytic.indexing_queue.several_servers import (
    ServersChain,
    departures,
    idle_servers,
    rates_of_fates,
    size_of_servers,
    sojourn_moments_of_servers,
    solve_servers,
)
from analytic.indexing_queue.sojourns import Row, sojourn_moments
from analytic.indexing_queue.solution import (
    NotConvergedError,
    Solution,
    closed_class_count,
    size_beyond_memory,
    solve_chain,
)
from analytic.machinery.active_robots import numbers_in_use, remembering, robots_at
from analytic.machinery.arrival_process import delivery_modes, joint_order, rates_at_speed_one
from analytic.machinery.phase_type import PhaseLaw, as_phase_type, exponential_rate, phase_count
from analytic.machinery.refusal import NoAnswerError, Remembered
from analytic.machinery.robot_modes import choices_by_mode, modes_of
from scenarios import Scenario
from scenarios.activation import Free, Switching
from scenarios.arrays import Array
from scenarios.choices import class_sizes, combinations, tells_classes_apart
from scenarios.deliveries import joint_size
from scenarios.model import present
from scenarios.sections import Costs
from scenarios.text import counted
from scenarios.timeline import Piece

_SHARES = {
    "loss_probability": "lost",
    "obsolescence_probability": "obsolete",
    "success_probability": "served",
    "replacement_probability": "replaced",
}
"""Shares of the delivered pages, and the fates that they count."""

UNCHANGED = Piece(0.0, math.inf)
"""The settings of the file, without interventions."""

_MOST_UNKNOWNS = 2_000_000
_MOST_WORK = 10**10
_MOST_PRODUCTS = 10**9


# --- the chain --------------------------------------------------------------------------------


def service_and_patience(scenario: Scenario) -> tuple[PhaseLaw, PhaseLaw]:
    """The laws of the service time and of the patience, of phase type."""
    service = present(as_phase_type(conditions.service_law(scenario)))
    law = conditions.timer_of(scenario)
    if law is None or top_level(scenario) == 1:  # where no page ever waits, none becomes obsolete
        return service, UNLIMITED_PATIENCE
    if (rate := exponential_rate(law)) is not None:
        return service, PhaseLaw(np.ones(1), np.array([[-rate]]))
    return service, as_phase_type(law) or UNLIMITED_PATIENCE


def size_of(scenario: Scenario) -> tuple[int, int, int, int]:
    """Arrival, service and patience phases and the highest level, without building anything.

    Raises
    ------
    NoAnswerError
        If the robots have too many joint phases.
    """
    _, robots = buffer_and_robots(scenario)
    if isinstance(scenario.activation, Switching):
        states = 1 if robots.environment is None else robots.environment.states
        order = states * combinations(class_sizes(robots))
    else:
        order = joint_order(conditions.fleet_of(scenario), numbers_in_use(scenario))
    if (given := remembering(scenario)) is not None:
        order = count_phases(given, order)
    phases = phase_count(conditions.service_law(scenario)) or 0
    return order, phases, waiting_phases(scenario), top_level(scenario)


def waiting_phases(scenario: Scenario) -> int:
    """Phases of the patience of a waiting page, without building anything."""
    law = conditions.timer_of(scenario)
    if law is None or top_level(scenario) == 1 or exponential_rate(law) is not None:
        return 1
    return phase_count(law) or 1


def top_level(scenario: Scenario) -> int:
    """The highest level: the capacity, or more where batches enter as a whole."""
    buffer, robots = buffer_and_robots(scenario)
    capacity = buffer.capacity
    if robots.deliveries is None or buffer.admission != "complete":
        return capacity
    return capacity + joint_size(robots.deliveries)[1] - 1


@lru_cache(maxsize=1)
def chain_of(scenario: Scenario) -> QueueChain:
    """The chain of a scenario that meets the conditions of `FORMULAS`' last rows.

    Parameters
    ----------
    scenario : Scenario

    Raises
    ------
    ScenarioError
        If the activation is still to be optimised (`analytic.resolve` decides it).
    """
    return chain_under(scenario, UNCHANGED)


def chain_under(scenario: Scenario, settings: Piece) -> QueueChain:
    """The chain while some settings are in force: a limit of the robots, and speeds.

    A speed multiplies the rates of what it speeds up: deliveries with all that their phases do, or
    services. The timers of waiting pages know no speed. The states are those of `chain_of`.
    """
    buffer, robots = buffer_and_robots(scenario)
    service, patience = service_and_patience(scenario)
    service = PhaseLaw(service.start, settings.service_speed * service.generator)
    capacity = buffer.capacity
    rule = scenario.activation
    if isinstance(rule, Switching):
        rates = present(rates_at_speed_one(conditions.fleet_of(scenario)))
        switched = modes_of(robots, settings.robot_speed * np.array(rates))
        choices = choices_by_mode(robots, rule)
        chain = switched_chain(switched, choices, service, patience, capacity)
        return chain if tells_classes_apart(robots, rule) else replace(chain, by_class=None)
    modes = delivery_modes(conditions.fleet_of(scenario), numbers_in_use(scenario))
    modes = settings.robot_speed * modes
    if (given := scenario.model.hysteresis) is not None:
        laws = service, patience
        return threshold_chain(modes, given, *laws, capacity, buffer.admission, settings.robots)
    if isinstance(rule, Free):
        numbers = [np.array(level) for level in rule.root]
        return free_chain(modes, numbers, service, patience, capacity, buffer.admission)
    at = limited_robots_at(scenario, settings)
    return controlled_chain(modes, at, service, patience, capacity, buffer.admission)


def limited_robots_at(scenario: Scenario, settings: Piece) -> Callable[[int], int]:
    """Active robots at a level under a limit."""
    at = robots_at(scenario)
    limit = scenario.robots.available if scenario.robots else 0
    limit = limit if settings.robots is None else settings.robots
    return lambda level: min(limit, at(level))


# --- its solution -----------------------------------------------------------------------------


class Accuracy(NamedTuple):
    """How the chain of a scenario was solved, and how well.

    Attributes
    ----------
    states : int
    method : str
    passes : int
        Passes over the states of an iteration, else 0.
    residual, error : float
        As in `Solution`.
    """

    states: int
    method: str
    passes: int
    residual: float
    error: float

    def __str__(self) -> str:
        """In words, for a line below a table."""
        passes = f" in {counted(self.passes, 'pass')}" if self.passes else ""
        return (
            f"chain of {self.states} states by {self.method}{passes}: "
            f"residual {self.residual:.1e}, relative error about {self.error:.0e}"
        )


class Solved(NamedTuple):
    """All measures of a chain, and how they were computed.

    Attributes
    ----------
    rows : tuple
    accuracy : Accuracy
    missing : str or None
        Why there are no sojourn times by class, for another reason than the order of service.
    """

    rows: tuple[Row, ...]
    accuracy: Accuracy
    missing: str | None = None


@lru_cache(maxsize=1)
def solution_of(scenario: Scenario) -> Solution:
    """The solution of its chain, kept for those who ask next: a large one takes a minute.

    Raises
    ------
    NotConvergedError
        As `solve_chain`.
    """
    return solve_chain(chain_of(scenario))


@Remembered
def solved(scenario: Scenario) -> Solved:
    """All measures of the chain, solved once for all formulas.

    Raises
    ------
    NoAnswerError
        If the iteration for a large chain does not converge.
    """
    chain = chain_of(scenario)
    ordered = conditions.discipline_of(scenario).is_ordered
    try:
        solution = solution_of(scenario)
    except NotConvergedError as failure:
        reason = f"the iteration for its chain does not converge: {failure}"
        raise NoAnswerError(reason) from None
    accuracy = Accuracy(chain.states, *solution[1:])
    stationary = solution.stationary
    try:
        rows = tuple(queue_measures(chain, stationary, scenario.prices, ordered=ordered))
    except NotConvergedError as failure:
        rows = tuple(queue_measures(chain, stationary, scenario.prices, ordered=False))
        return Solved(rows, accuracy, str(failure))
    return Solved(rows, accuracy)


@Remembered
def approximated(scenario: Scenario) -> tuple[Row, ...]:
    """All measures of the closure.

    Raises
    ------
    NoAnswerError
        If its iteration does not converge.
    """
    chain = chain_of(scenario)
    try:
        marginals = closure(chain).marginals
    except NotConvergedError as failure:
        raise NoAnswerError(f"the closure of its chain does not converge: {failure}") from None
    rates = fate_rates(chain, marginals)
    return tuple(chain_measures(chain, marginals, rates, scenario.prices, None))


def servers_chain_of(scenario: Scenario, settings: Piece = UNCHANGED) -> ServersChain:
    """The chain of several servers of a scenario that meets the conditions of its formulas."""
    buffer, _ = buffer_and_robots(scenario)
    chain = chain_of(scenario) if settings is UNCHANGED else chain_under(scenario, settings)
    rate = conditions.timer_rate(scenario)
    return ServersChain(chain, buffer.servers, rate, settings.indexers)


@Remembered
def solved_servers(scenario: Scenario) -> tuple[Row, ...]:
    """All measures of several servers, solved once for all formulas.

    Raises
    ------
    NoAnswerError
        If the steady state is not unique.
    """
    buffer, _ = buffer_and_robots(scenario)
    chain = servers_chain_of(scenario)
    ordered = conditions.discipline_of(scenario).is_ordered
    try:
        rows = list(servers_measures(chain, scenario.prices, ordered=ordered))
    except ValueError as failure:
        raise NoAnswerError(f"its chain has no unique steady state: {failure}") from None
    levels = np.array([value for name, _, value in rows if name == "level_probability"])
    return (*rows, ("idle_indexers", None, idle_servers(levels, buffer.servers)))


def servers_measures(chain: ServersChain, costs: Costs, *, ordered: bool) -> Iterator[Row]:
    """Every measure of the queue of several servers; as `queue_measures`.

    Raises
    ------
    ValueError
        If the steady state is not unique.
    """
    stationary = solve_servers(chain)
    sojourns = list(sojourn_moments_of_servers(chain, stationary)) if ordered else None
    phases = np.array([each.sum(axis=1) for each in stationary])
    levels = phases.sum(axis=1)
    active = float((phases * chain.deliveries.active[..., 0]).sum())
    robots = active, mean_active_by_class(chain.deliveries, phases)
    rates = rates_of_fates(chain, stationary)
    switches = None
    if chain.deliveries.settled is not None:
        switches = switched_on(chain.deliveries, departures(chain, stationary))
    return all_rows(KnownLevels.of(levels), robots, rates, costs, sojourns, switches)


# --- its measures -----------------------------------------------------------------------------


def queue_measures(
    chain: QueueChain, stationary: Array, costs: Costs, *, ordered: bool
) -> Iterator[Row]:
    """Every measure of the queue, as (measure, subject, value).

    Parameters
    ----------
    chain : QueueChain
    stationary : ndarray, shape (states,)
        Stationary probabilities.
    costs : Costs
    ordered : bool
        Whether pages are served first come first served and nothing is pushed out; only then
        are the sojourn times those of the tagged page. Otherwise Little's law gives the means.
    """
    sojourns = list(sojourn_moments(chain, stationary)) if ordered else None
    marginals = marginals_of(chain, stationary)
    yield from chain_measures(chain, marginals, fate_rates(chain, marginals), costs, sojourns)


def chain_measures(
    chain: QueueChain,
    marginals: Marginals,
    rates: dict[str, float],
    costs: Costs,
    sojourns: list[Row] | None,
) -> Iterator[Row]:
    """The same from the marginals, the rates of the fates, and the sojourn times, if known."""
    robots = mean_active(chain, marginals), mean_active_by_class(chain, marginals.phases)
    switches = None if chain.settled is None else switch_rate(chain, marginals)
    return all_rows(KnownLevels.of(marginals.levels), robots, rates, costs, sojourns, switches)


class KnownLevels(NamedTuple):
    """What is known of the pages in the system: the mean, and the share of time with none.

    Also that with each number of them, where it is known.
    """

    empty: float
    mean: float
    each: Sequence[float] = ()

    @classmethod
    def of(cls, levels: Array) -> KnownLevels:
        """All of it, from the fraction of time with 0, 1, … pages."""
        mean = float(levels @ np.arange(len(levels)))
        return cls(float(levels[0]), mean, levels.tolist())


def all_rows(
    levels: KnownLevels,
    robots: tuple[float, list[float]],
    rates: dict[str, float],
    costs: Costs,
    sojourns: list[Row] | None,
    switches: float | None = None,
) -> Iterator[Row]:
    """Every measure, from levels, active robots, rates of the fates, and sojourn times if known.

    Active robots are those of all classes, and of each where classes are told apart; `switches`
    are those that are switched on per unit time, None where they are not counted.
    """
    delivered = rates["delivered"]
    active, by_class = robots
    yield from _level_rows(levels, active, rates)
    for index, mean in enumerate(by_class):
        yield "mean_active_robots", index, mean
    if switches is not None:
        yield "switch_rate", None, switches
    if delivered > 0 and sojourns is not None:
        squares = {row[1]: row[2] for row in sojourns if row[0].endswith("second_moment")}
        entering = (rates["served"] + rates["obsolete"]) / delivered
        yield "sojourn_time_second_moment", "all", entering * squares.get("accepted", 0.0)
    yield from sojourns or ()
    means = {row[1]: row[2] for row in sojourns or () if row[0] == "sojourn_time"}
    others = {"starvation": levels.empty, "robots": active}
    others["response"] = means.get("served", math.nan)
    if switches is not None:
        others["switch"] = switches
    yield "control_cost", None, control_cost(rates, others, costs, by_class)


def level_rows(levels: Array, robots: float, rates: dict[str, float]) -> Iterator[Row]:
    """What the levels and the rates of the fates say of a queue, as (measure, subject, value).

    Parameters
    ----------
    levels : ndarray, shape (levels,)
        Fraction of time with 0, 1, … pages in the system.
    robots : float
        Mean number of active robots.
    rates : dict
        As `fate_rates`; also "replaced", where newer copies replace older ones.
    """
    return _level_rows(KnownLevels.of(levels), robots, rates)


def _level_rows(levels: KnownLevels, robots: float, rates: dict[str, float]) -> Iterator[Row]:
    delivered = rates["delivered"]
    yield "arrival_rate", None, delivered
    yield "loss_rate", None, rates["lost"]
    yield "throughput", None, rates["served"]
    yield "starvation_probability", None, levels.empty
    yield "mean_active_robots", None, robots
    yield "mean_in_system", None, levels.mean
    for level, probability in enumerate(levels.each):
        yield "level_probability", level, probability
    if delivered > 0:
        for share, fate in _SHARES.items():
            if fate in rates:
                yield share, None, rates[fate] / delivered
        yield "sojourn_time", "all", levels.mean / delivered


COST_WITHOUT_RESPONSE = (
    r"J=c_{\mathrm{loss}}\,\lambda P_{\mathrm{loss}}+c_{\mathrm{obs}}\,\lambda P_{\mathrm{obs}}"
    r"+c_{\mathrm{starv}}P_{\mathrm{starv}}+c_{\mathrm{rob}}\,\bar r+c_{\mathrm{sw}}\,\varsigma"
    r"+c_{\mathrm{acc}}\,\lambda+c_{\mathrm{fix}}"
)
"""The statement of `control_cost` where the response time has no price, as LaTeX."""

CONTROL_COST = COST_WITHOUT_RESPONSE + r"+c_{\mathrm{resp}}\,\mathbb{E}V_{\mathrm{succ}}"
"""The statement of `control_cost`, as LaTeX."""


def control_cost(
    rates: dict[str, float],
    others: dict[str, float],
    costs: Costs,
    by_class: Sequence[float] = (),
) -> float:
    """The cost per unit time: each price times its measure, terms without a price left out.

    Parameters
    ----------
    rates : dict
        Of `fate_rates`.
    others : dict
        "starvation", "response" (mean sojourn of served pages), "robots", and "switch" (robots
        switched on per unit time) where that is counted.
    costs : Costs
        The prices.
    by_class : sequence of float
        Mean active robots of each class, needed where each has a price of its own.

    Notes
    -----
    avrachenkov2011 (2) and talim2001 section 2, joined.
    """
    terms = others | {"loss": rates["lost"], "obsolescence": rates["obsolete"]}
    prices = {name: getattr(costs, name) for name in terms}
    paid = [prices[name] * terms[name] for name in terms if prices[name]]
    paid.append(costs.standing)
    if costs.delivery:
        paid.append(costs.delivery * rates["delivered"])
    if costs.by_class:
        paid += [price * mean for price, mean in zip(costs.by_class, by_class, strict=True)]
    return math.fsum(paid)


# --- what stands against them -------------------------------------------------------------------


@dependent
def fits_in_memory(scenario: Scenario) -> str | None:
    """The solution of its chain takes at most 1 GB."""
    size = size_beyond_memory(*size_of(scenario))
    return size and f"its chain has {size}; the solution may take at most 1 GB"


@dependent
def servers_fit(scenario: Scenario) -> str | None:
    """The chain of several servers needs at most 10^9 products."""
    order, phases, _, top = size_of(scenario)
    states, width = size_of_servers(order, phases, conditions.buffer_of(scenario).servers, top)
    if states * width**2 <= _MOST_PRODUCTS:
        return None
    return f"its chain has {states} states, too many for several servers"


@dependent
def servers_solved(scenario: Scenario) -> str | None:
    """The steady state is unique."""
    solved_servers(scenario)
    return None


@dependent
def too_large_for_exactness(scenario: Scenario) -> str | None:
    """The chain is too large for an exact solution, and patience has several phases."""
    exact = fits_in_memory(scenario) is None or size_of(scenario)[2] == 1
    return "its chain is solved exactly, where it fits in memory" if exact else None


@dependent
def closure_fits(scenario: Scenario) -> str | None:
    """The closure has at most 2 million unknowns, and needs at most 10^10 products a round."""
    order, phases, patience, top = size_of(scenario)
    unknowns = order * phases * patience * top * (top - 1) // 2
    if unknowns > _MOST_UNKNOWNS:
        return f"the closure of its chain has {unknowns} unknowns, limit {_MOST_UNKNOWNS}"
    work = top * (top - 1) * (order * phases * patience) ** 3
    if work > _MOST_WORK:
        return f"a round of the closure of its chain needs {work:.0e} multiplications, limit 1e+10"
    return None


@dependent
def settled(scenario: Scenario) -> str | None:
    """The iteration for the closure converges."""
    approximated(scenario)
    return None


@dependent
def loss_approximated(scenario: Scenario) -> str | None:
    """The approximate loss probability is at least 0.01, so that its first digit is right."""
    rows = approximated(scenario)
    loss = next((value for name, _, value in rows if name == "loss_probability"), 0.0)
    if loss >= SMALLEST_LOSS:
        return None
    wrong = f"its first digit would be wrong below {SMALLEST_LOSS:g}"
    return f"the approximate loss probability is too small to be given; {wrong}"


@lru_cache(maxsize=8)
def _closed_classes(scenario: Scenario) -> int:
    return closed_class_count(chain_of(scenario))


@dependent
def one_closed_class(scenario: Scenario) -> str | None:
    """The chain forgets where it started."""
    classes = _closed_classes(scenario)
    return None if classes == 1 else f"its chain has {classes} closed classes"


@dependent
def converged(scenario: Scenario) -> str | None:
    """The iteration for a large chain converges."""
    solved(scenario)
    return None


@dependent
def sojourns_solved(scenario: Scenario) -> str | None:
    """The tagged page can be followed to its end."""
    missing = solved(scenario).missing
    return None if missing is None else f"there are no sojourn times by class: {missing}"


@dependent
def response_solved(scenario: Scenario) -> str | None:
    """The tagged page can be followed to its end, where the response has a price."""
    missing = sojourns_solved(scenario)
    if missing is None or not scenario.prices.response:
        return None
    return f"[costs] prices the response time: {missing}"
