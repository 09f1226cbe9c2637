"""The index of formulas of the indexing queue, and what they say of a scenario."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from analytic import conditions
from analytic.active_robots import most_active, robots_at
from analytic.arrival_process import access_rate, delivery_modes, joint_order
from analytic.formula import Formula, Values
from analytic.indexing_queue.chain import (
    NO_TIMER,
    QueueChain,
    controlled_chain,
    count_states,
    switching_chain,
)
from analytic.indexing_queue.closed_forms import birth_death_levels, mm1k_levels
from analytic.indexing_queue.iteration import NotConvergedError
from analytic.indexing_queue.lumped import closed_class_count
from analytic.indexing_queue.measures import (
    control_cost,
    fate_rates,
    level_probabilities,
    queue_measures,
)
from analytic.indexing_queue.solution import LARGEST_MEMORY, memory_needed, solve_chain
from analytic.indexing_queue.tagged import sojourn_moments
from analytic.markov import relaxation_time
from analytic.phase_type import PhaseLaw, as_phase_type, exponential_rate
from scenarios import Scenario
from scenarios.activation import Switching
from scenarios.deliveries import as_modes
from scenarios.measures import Subject

__all__ = ["FORMULAS", "Accuracy", "accuracy_of", "chain_of", "relaxation_time_of"]

_LARGEST_SPECTRUM = 400
_HIGHEST = 64
"""Levels up to which the states of timers with phases are counted."""


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


class _Solved(NamedTuple):
    """All measures of a chain, and how they were found."""

    rows: tuple[tuple[str, Subject, float], ...]
    accuracy: Accuracy


def _laws(scenario: Scenario) -> tuple[PhaseLaw, PhaseLaw]:
    """Service and timer as phase-type laws."""
    assert scenario.buffer is not None
    service, timer = as_phase_type(scenario.buffer.service), NO_TIMER
    law = conditions.timers_of(scenario)
    if law is not None:
        rate = exponential_rate(law)
        single = None if rate is None else PhaseLaw(np.ones(1), np.array([[-rate]]))
        timer = single or as_phase_type(law) or NO_TIMER
    assert service is not None
    return service, timer


def _size(scenario: Scenario) -> tuple[int, int, int, int]:
    """Arrival, service and timer phases and the highest level, without building the chain."""
    assert scenario.buffer is not None
    assert scenario.robots is not None
    service, timer = _laws(scenario)
    top = scenario.buffer.waiting_places + 1
    if isinstance(scenario.activation, Switching):
        order = scenario.robots.available + 1
    elif scenario.robots.deliveries is not None:
        modes = as_modes(scenario.robots.deliveries)
        order = modes.shape[2]
        top += modes.shape[1] - 2 if scenario.buffer.admission == "complete" else 0
    else:
        order = joint_order(scenario.robots, max(most_active(scenario), 1))
    return order, len(service.start), len(timer.start), top


def fits_in_memory(scenario: Scenario) -> str | None:
    """The solution of its chain takes at most 1 GB."""
    order, phases, timers, top = _size(scenario)
    if timers > 1 and top > _HIGHEST:
        return "its chain has more than 10^15 states; the solution may take at most 1 GB"
    memory = memory_needed(order, phases, timers, top)
    if memory <= LARGEST_MEMORY:
        return None
    states = count_states(order, phases, timers, top)
    size = f"{states}" if states < 10**15 else "more than 10^15"
    takes = f" and takes {memory / 2**30:.1f} GB" if states < 10**15 else ""
    return f"its chain has {size} states{takes}; the solution may take at most 1 GB"


def one_closed_class(scenario: Scenario) -> str | None:
    """The chain forgets where it started."""
    classes = closed_class_count(chain_of(scenario))
    return None if classes == 1 else f"its chain has {classes} closed classes"


def converged(scenario: Scenario) -> str | None:
    """The iteration for a large chain converges."""
    found = _solved(scenario)
    if isinstance(found, _Solved):
        return None
    return f"the iteration for its chain does not converge: {found}"


@lru_cache(maxsize=1)
def chain_of(scenario: Scenario) -> QueueChain:
    """The chain of a scenario that meets the conditions of `FORMULAS`' last rows."""
    assert scenario.buffer is not None
    assert scenario.robots is not None
    service, timer = _laws(scenario)
    capacity = scenario.buffer.waiting_places + 1
    rule = scenario.activation
    if isinstance(rule, Switching):
        assert scenario.robots.access_time is not None
        rate = access_rate(scenario.robots.access_time)
        assert rate is not None
        available = scenario.robots.available
        return switching_chain(rate, available, rule.targets, service, timer, capacity)
    modes = delivery_modes(scenario.robots, max(most_active(scenario), 1))
    at = robots_at(scenario)
    return controlled_chain(modes, at, service, timer, capacity, scenario.buffer.admission)


def relaxation_time_of(scenario: Scenario) -> float | None:
    """Relaxation time of the queue, where its chain is small enough to know it."""
    if any(condition(scenario) is not None for condition in _BUILT):
        return None
    if count_states(*_size(scenario)) > _LARGEST_SPECTRUM or one_closed_class(scenario):
        return None
    chain = chain_of(scenario)
    return relaxation_time(chain.generator, chain.start)


def _birth_death(scenario: Scenario) -> Values:
    """Measures of the level alone, from the product form."""
    access, service, capacity = conditions.poisson_parameters(scenario)
    timer, at = conditions.timers_of(scenario), robots_at(scenario)
    stale = 0.0 if timer is None else exponential_rate(timer)
    assert stale is not None
    robots = np.array([at(level) for level in range(capacity + 1)], dtype=float)
    levels = birth_death_levels(access * robots, service, stale, capacity)
    waiting = np.maximum(np.arange(capacity + 1.0) - 1, 0)
    delivered = access * float(levels @ robots)
    rates = {
        "loss": access * robots[-1] * levels[-1],
        "obsolescence": stale * float(levels @ waiting),
        "success": service * float(levels[1:].sum()),
    }
    yield "arrival_rate", None, delivered
    yield "loss_rate", None, rates["loss"]
    yield "throughput", None, rates["success"]
    yield "starvation_probability", None, float(levels[0])
    yield "mean_active_robots", None, float(levels @ robots)
    yield "mean_in_system", None, float(levels @ np.arange(capacity + 1.0))
    for name, rate in rates.items():
        yield f"{name}_probability", None, rate / delivered if delivered else np.nan
    for level, probability in enumerate(levels):
        yield "level_probability", level, float(probability)


def _mm1k(scenario: Scenario) -> Values:
    """Level probabilities, and the sojourn of the pages that enter."""
    access, service, capacity = conditions.poisson_parameters(scenario)
    arrivals = access * robots_at(scenario)(0)
    levels = mm1k_levels(arrivals / service, capacity)
    for level, probability in enumerate(levels):
        yield "level_probability", level, float(probability)
    if arrivals > 0:
        entering = arrivals * float(levels[:-1].sum())
        mean = float(levels @ np.arange(capacity + 1.0)) / entering
        yield "sojourn_time", "accepted", mean


@lru_cache(maxsize=8)
def _solved(scenario: Scenario) -> _Solved | str:
    """All measures of the chain, solved once for all formulas; or why there are none."""
    assert scenario.buffer is not None
    chain = chain_of(scenario)
    ordered = scenario.buffer.discipline == "fifo" and scenario.buffer.when_full == "lose-new"
    try:
        solution = solve_chain(chain)
        rows = tuple(queue_measures(chain, solution.law, scenario.costs, ordered=ordered))
    except NotConvergedError as failure:
        return str(failure)
    return _Solved(rows, Accuracy(chain.states, *solution[1:]))


def _from_chain(*measures: str) -> Callable[[Scenario], Values]:
    """Evaluator of some of the measures of the chain."""

    def evaluate(scenario: Scenario) -> Values:
        found = _solved(scenario)
        assert isinstance(found, _Solved)
        return [row for row in found.rows if row[0] in measures]

    return evaluate


def accuracy_of(scenario: Scenario) -> Accuracy | None:
    """How the chain of a scenario was solved and how well; None where it is not."""
    if any(condition(scenario) is not None for condition in _CHAIN):
        return None
    found = _solved(scenario)
    assert isinstance(found, _Solved)
    return found.accuracy


_BUILT = (
    conditions.has_buffer,
    conditions.resolved_activation,
    conditions.pages_leave_the_queue_alone,
    conditions.markovian_accesses,
    conditions.phase_type_service,
    conditions.phase_type_timers,
    conditions.memoryless_or_ordered,
    fits_in_memory,
)
"""Conditions of a chain."""

_CHAIN = (*_BUILT, one_closed_class, converged)
"""Conditions of every result of the chain."""

_POISSON = (
    conditions.has_buffer,
    conditions.resolved_activation,
    conditions.pages_leave_the_queue_alone,
    conditions.not_switching,
    conditions.poisson_accesses,
    conditions.exponential_service,
)

_FIFO = (conditions.first_come_first_served,)

FORMULAS: tuple[Formula, ...] = (
    Formula(
        paper="kleinrock1975",
        number="section 3.6",
        quantity="level probabilities and mean sojourn time of M/M/1/K",
        function=mm1k_levels,
        kind="exact",
        conditions=(
            *_POISSON,
            conditions.static_robots,
            conditions.no_timers,
            conditions.nothing_pushed_out,
        ),
        evaluate=_mm1k,
    ),
    Formula(
        paper="avrachenkov2011",
        number="section 3, one phase",
        quantity="birth-death queue: levels, rates, shares of the fates",
        function=birth_death_levels,
        kind="exact",
        conditions=(*_POISSON, conditions.exponential_timers_or_none),
        evaluate=_birth_death,
    ),
    Formula(
        paper="avrachenkov2011",
        number="Lemma and Theorem 1",
        quantity="level probabilities, starvation probability, active robots",
        function=level_probabilities,
        kind="exact",
        conditions=_CHAIN,
        evaluate=_from_chain(
            "level_probability", "mean_in_system", "starvation_probability", "mean_active_robots"
        ),
    ),
    Formula(
        paper="avrachenkov2011",
        number="Theorem 2",
        quantity="arrival rate, loss probability",
        function=fate_rates,
        kind="exact",
        conditions=_CHAIN,
        evaluate=_from_chain("arrival_rate", "loss_rate", "loss_probability"),
    ),
    Formula(
        paper="avrachenkov2011",
        number="Theorem 3",
        quantity="obsolescence probability, success probability, throughput",
        function=fate_rates,
        kind="exact",
        conditions=_CHAIN,
        evaluate=_from_chain("obsolescence_probability", "success_probability", "throughput"),
    ),
    Formula(
        paper="avrachenkov2011",
        number="Corollary 1",
        quantity="mean sojourn time by class of pages",
        function=sojourn_moments,
        kind="exact",
        conditions=_CHAIN,
        evaluate=_from_chain("sojourn_time"),
    ),
    Formula(
        paper="avrachenkov2011",
        number="Theorem 4",
        quantity="second moment of the sojourn time by class of pages",
        function=sojourn_moments,
        kind="exact",
        conditions=(*_CHAIN, *_FIFO),
        evaluate=_from_chain("sojourn_time_second_moment"),
    ),
    Formula(
        paper="avrachenkov2011",
        number="(2)",
        quantity="control cost",
        function=control_cost,
        kind="exact",
        conditions=(*_CHAIN, conditions.priced, conditions.response_known),
        evaluate=_from_chain("control_cost"),
    ),
)
"""The index: paper, number, quantity, function, kind, conditions."""
