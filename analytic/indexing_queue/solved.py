"""The chain of a scenario: its size, what stands against it, and its solution, found once."""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

import numpy as np

from analytic import conditions
from analytic.active_robots import most_active, robots_at
from analytic.arrival_process import access_rate, delivery_modes, joint_order
from analytic.formula import dependent
from analytic.indexing_queue.chain import (
    NO_TIMER,
    QueueChain,
    controlled_chain,
    switching_chain,
)
from analytic.indexing_queue.iteration import NotConvergedError
from analytic.indexing_queue.large_buffers import SMALLEST_LOSS, closure
from analytic.indexing_queue.lumped import closed_class_count
from analytic.indexing_queue.measures import measures_of, queue_measures
from analytic.indexing_queue.solution import Solution, size_beyond_memory, solve_chain
from analytic.phase_type import PhaseLaw, as_phase_type, exponential_rate, phase_count
from scenarios import Scenario
from scenarios.activation import Switching
from scenarios.deliveries import joint_size
from scenarios.measures import Subject

Rows = tuple[tuple[str, Subject, float], ...]

_MOST_UNKNOWNS = 2_000_000
_MOST_WORK = 10**10


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
        passes = f" in {self.passes} passes" if self.passes else ""
        return (
            f"chain of {self.states} states by {self.method}{passes}: "
            f"residual {self.residual:.1e}, relative error about {self.error:.0e}"
        )


class Solved(NamedTuple):
    """All measures of a chain, and how they were found.

    Attributes
    ----------
    rows : tuple
    accuracy : Accuracy
    missing : str or None
        Why there are no sojourn times by class, where that is not the order of service.
    """

    rows: Rows
    accuracy: Accuracy
    missing: str | None = None


def laws_of(scenario: Scenario) -> tuple[PhaseLaw, PhaseLaw]:
    """Service and timer as phase-type laws."""
    assert scenario.buffer is not None
    service = as_phase_type(scenario.buffer.service)
    timer = NO_TIMER
    law = conditions.timers_of(scenario)
    if law is not None and _top_level(scenario) > 1:
        rate = exponential_rate(law)
        single = None if rate is None else PhaseLaw(np.ones(1), np.array([[-rate]]))
        timer = single or as_phase_type(law) or NO_TIMER
    assert service is not None
    return service, timer


def size_of(scenario: Scenario) -> tuple[int, int, int, int]:
    """Arrival, service and timer phases and the highest level, without building anything.

    Raises
    ------
    NoAnswerError
        If the robots have too many joint phases.
    """
    assert scenario.buffer is not None
    assert scenario.robots is not None
    phases = phase_count(scenario.buffer.service)
    timers = _timer_phases(scenario)
    assert phases is not None
    if isinstance(scenario.activation, Switching):
        order = scenario.robots.available + 1
    elif scenario.robots.deliveries is not None:
        order = joint_size(scenario.robots.deliveries)[0]
    else:
        order = joint_order(scenario.robots, max(most_active(scenario), 1))
    return order, phases, timers, _top_level(scenario)


def _top_level(scenario: Scenario) -> int:
    """The highest level: all places taken, or more where batches enter as a whole."""
    assert scenario.buffer is not None
    assert scenario.robots is not None
    places = scenario.buffer.waiting_places + 1
    together = scenario.robots.deliveries
    if together is None or scenario.buffer.admission != "complete":
        return places
    return places + joint_size(together)[1] - 1


def _timer_phases(scenario: Scenario) -> int:
    """Phases of a timer; one where no page ever waits."""
    law = conditions.timers_of(scenario)
    if law is None or _top_level(scenario) == 1 or exponential_rate(law) is not None:
        return 1
    return phase_count(law) or 1


@dependent
def fits_in_memory(scenario: Scenario) -> str | None:
    """The solution of its chain takes at most 1 GB."""
    size = size_beyond_memory(*size_of(scenario))
    return size and f"its chain has {size}; the solution may take at most 1 GB"


@dependent
def too_large_for_exactness(scenario: Scenario) -> str | None:
    """The chain is too large to be solved exactly, its timers have phases."""
    exact = fits_in_memory(scenario) is None or size_of(scenario)[2] == 1
    return "its chain is solved exactly, where it fits in memory" if exact else None


@dependent
def closure_fits(scenario: Scenario) -> str | None:
    """The closure has at most 2 million unknowns, and takes at most 10^10 products a round."""
    order, phases, timers, top = size_of(scenario)
    unknowns = order * phases * timers * top * (top - 1) // 2
    if unknowns > _MOST_UNKNOWNS:
        return f"the closure of its chain has {unknowns} unknowns; it may have {_MOST_UNKNOWNS}"
    work = top * (top - 1) * (order * phases * timers) ** 3
    if work > _MOST_WORK:
        return f"a round of the closure of its chain takes {work:.0e} products; it may take 1e+10"
    return None


@dependent
def settled(scenario: Scenario) -> str | None:
    """The iteration for the closure settles."""
    found = approximated(scenario)
    if isinstance(found, tuple):
        return None
    return f"the closure of its chain does not settle: {found}"


@dependent
def loss_approximated(scenario: Scenario) -> str | None:
    """The approximate loss probability is at least 0.01, so that its first digit is right."""
    found = approximated(scenario)
    assert isinstance(found, tuple)
    loss = next((value for name, _, value in found if name == "loss_probability"), 0.0)
    if loss >= SMALLEST_LOSS:
        return None
    wrong = f"its first digit would be wrong below {SMALLEST_LOSS:g}"
    return f"the approximate loss probability is too small to be given; {wrong}"


@dependent
def one_closed_class(scenario: Scenario) -> str | None:
    """The chain forgets where it started."""
    classes = _closed_classes(scenario)
    return None if classes == 1 else f"its chain has {classes} closed classes"


@lru_cache(maxsize=8)
def _closed_classes(scenario: Scenario) -> int:
    return closed_class_count(chain_of(scenario))


@dependent
def converged(scenario: Scenario) -> str | None:
    """The iteration for a large chain converges."""
    found = solved(scenario)
    if isinstance(found, Solved):
        return None
    return f"the iteration for its chain does not converge: {found}"


@dependent
def sojourns_found(scenario: Scenario) -> str | None:
    """The tagged page can be followed to its end."""
    found = solved(scenario)
    if not isinstance(found, Solved) or found.missing is None:
        return None
    return f"the sojourn times by class are not found: {found.missing}"


@dependent
def response_found(scenario: Scenario) -> str | None:
    """The tagged page can be followed to its end, where the response has a price."""
    missing = sojourns_found(scenario)
    if missing is None or not scenario.costs.response:
        return None
    return f"[costs] prices the response time: {missing}"


@lru_cache(maxsize=1)
def chain_of(scenario: Scenario) -> QueueChain:
    """The chain of a scenario that meets the conditions of `FORMULAS`' last rows.

    Raises
    ------
    ScenarioError
        If the activation is still to be optimised (`analytic.resolve` decides it).
    """
    assert scenario.buffer is not None
    assert scenario.robots is not None
    service, timer = laws_of(scenario)
    capacity = scenario.buffer.waiting_places + 1
    rule = scenario.activation
    if isinstance(rule, Switching):
        assert scenario.robots.access_time is not None
        rate = access_rate(scenario.robots.access_time)
        assert rate is not None
        available = scenario.robots.available
        return switching_chain(rate, available, rule.targets, service, timer, capacity)
    modes = delivery_modes(scenario.robots, max(most_active(scenario), 1), scenario.activation)
    at = robots_at(scenario)
    return controlled_chain(modes, at, service, timer, capacity, scenario.buffer.admission)


@lru_cache(maxsize=1)
def solution_of(scenario: Scenario) -> Solution:
    """The solution of its chain, kept for those who ask next: a large one takes a minute.

    Raises
    ------
    NotConvergedError
        As `solve_chain`.
    """
    return solve_chain(chain_of(scenario))


@lru_cache(maxsize=8)
def solved(scenario: Scenario) -> Solved | str:
    """All measures of the chain, solved once for all formulas; or why there are none."""
    assert scenario.buffer is not None
    chain = chain_of(scenario)
    ordered = scenario.buffer.discipline == "fifo" and scenario.buffer.when_full == "lose-new"
    try:
        solution = solution_of(scenario)
    except NotConvergedError as failure:
        return str(failure)
    accuracy = Accuracy(chain.states, *solution[1:])
    try:
        rows = tuple(queue_measures(chain, solution.law, scenario.costs, ordered=ordered))
    except NotConvergedError as failure:
        rows = tuple(queue_measures(chain, solution.law, scenario.costs, ordered=False))
        return Solved(rows, accuracy, str(failure))
    return Solved(rows, accuracy)


@lru_cache(maxsize=8)
def approximated(scenario: Scenario) -> Rows | str:
    """All measures of the closure; or why there are none."""
    chain = chain_of(scenario)
    try:
        marginals = closure(chain).marginals
    except NotConvergedError as failure:
        return str(failure)
    return tuple(measures_of(chain, marginals, scenario.costs, None))
