"""Periodic lists and single robots, read off a scenario."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from analytic import page_conditions
from analytic.active_robots import most_active
from analytic.arrival_process import access_rate
from analytic.formula import Values, dependent
from analytic.indexing_queue.solved import size_of
from analytic.phase_type import as_phase_type
from analytic.pipeline import conditions as own
from analytic.pipeline.exploring import MOST_STATES
from analytic.pipeline.one_robot import (
    DeliveredQueue,
    delivered_queue,
    full_probability,
    listed_age,
    listed_rate,
    random_age,
    random_rate,
    stationary_queue,
)
from analytic.pipeline.reading import (
    MOST_SOLUTIONS,
    MOST_WORK,
    page_changes,
    page_shares,
    queue_of_pages,
)
from analytic.pipeline.shared_list import fetching, shared_age, shared_rate
from analytic.transforms import mean_time
from scenarios import Scenario
from scenarios.accessing.policy import Periodic
from scenarios.accessing.randomized import Randomized
from scenarios.arrays import Array

_SMALLEST = 1e-6
"""Starvation probabilities below this are left out: their digits are lost in those of 1."""


def _cycle(scenario: Scenario) -> NDArray[np.intp]:
    assert scenario.robots is not None
    policy = scenario.robots.accessing
    assert isinstance(policy, Periodic)
    return policy.cycle_of(page_shares(scenario))


@dependent
def shared_fits(scenario: Scenario) -> str | None:
    """The chain of slots, fetching robots and queue is small enough."""
    _, phases, _, top = size_of(scenario)
    states = len(_cycle(scenario)) * (most_active(scenario) + 1) * (1 + phases * top)
    pages = len(page_changes(scenario))
    if states > MOST_STATES:
        return f"its chain of slots and robots has {states} states; it may have {MOST_STATES}"
    if states * pages > MOST_SOLUTIONS:
        return f"{states} states for each of {pages} pages take too long"
    return None


def _shared_rate_of_all(scenario: Scenario) -> tuple[float, int]:
    assert scenario.robots is not None
    assert scenario.robots.access_time is not None
    robots = most_active(scenario)
    rate = access_rate(scenario.robots.access_time)
    assert rate is not None
    return robots * rate, robots


def rates_on_shared_list(scenario: Scenario) -> Array:
    """Obsolescence rate of each page on a list that robots share."""
    queue = queue_of_pages(scenario)
    cycle = _cycle(scenario)
    rate, robots = _shared_rate_of_all(scenario)
    return np.array(
        [
            shared_rate(queue, fetching(cycle == page, robots), rate, change)
            for page, change in enumerate(page_changes(scenario).tolist())
        ]
    )


def ages_on_shared_list(scenario: Scenario) -> Array:
    """Mean age of each page's copy in the index, of such a list."""
    queue = queue_of_pages(scenario)
    cycle = _cycle(scenario)
    rate, robots = _shared_rate_of_all(scenario)
    pages = range(len(page_changes(scenario)))
    return np.array([shared_age(queue, fetching(cycle == page, robots), rate) for page in pages])


@dependent
def chain_fits(scenario: Scenario) -> str | None:
    """The chain at deliveries takes at most 2·10^10 products."""
    work = 30 * _states_of_one_robot(scenario) ** 3
    return None if work <= MOST_WORK else f"its chain takes {work:.0e} products; it may take 2e10"


def _states_of_one_robot(scenario: Scenario) -> int:
    assert scenario.buffer is not None
    return 1 + own.service_phases(scenario) * (scenario.buffer.waiting_places + 1)


@dependent
def one_fits(scenario: Scenario) -> str | None:
    """The chain at deliveries is small enough."""
    size = _states_of_one_robot(scenario)
    slots = 1 if _is_random(scenario) else len(_cycle(scenario))
    work = len(page_changes(scenario)) * (30 * size**3 + slots * 4 * size**2)
    return None if work <= MOST_WORK else f"its pages take {work:.0e} products; they may take 2e10"


def _is_random(scenario: Scenario) -> bool:
    return scenario.robots is not None and isinstance(scenario.robots.accessing, Randomized)


def queue_of_one_robot(scenario: Scenario) -> DeliveredQueue:
    """The queue of a scenario with one robot, between its deliveries."""
    assert scenario.buffer is not None
    service = as_phase_type(scenario.buffer.service)
    access = page_conditions.access_law(scenario)
    assert service is not None
    assert access is not None
    return delivered_queue(service, scenario.buffer.waiting_places + 1, access)


def rates_of_one_robot(scenario: Scenario) -> Array:
    """Obsolescence rate of each page with one robot."""
    queue = queue_of_one_robot(scenario)
    pages = enumerate(page_changes(scenario).tolist())
    if _is_random(scenario):
        shares = page_shares(scenario).tolist()
        return np.array([random_rate(queue, shares[page], change) for page, change in pages])
    cycle = _cycle(scenario)
    return np.array([listed_rate(queue, cycle == page, change) for page, change in pages])


def ages_of_one_robot(scenario: Scenario) -> Array:
    """Mean age of each page's copy in the index, with one robot."""
    queue = queue_of_one_robot(scenario)
    if _is_random(scenario):
        return np.array([random_age(queue, share) for share in page_shares(scenario).tolist()])
    cycle = _cycle(scenario)
    pages = range(len(page_changes(scenario)))
    return np.array([listed_age(queue, cycle == page) for page in pages])


def rows_of_one_robot(scenario: Scenario) -> Values:
    """Levels, rates and shares of the queue of one robot; sojourns by Little's law."""
    queue = queue_of_one_robot(scenario)
    pace = 1.0 / mean_time(queue.access)
    lost = full_probability(queue)
    law = stationary_queue(queue)
    levels = np.concatenate([law[:1], law[1:].reshape(queue.places, -1).sum(axis=1)])
    in_system = float(levels @ np.arange(queue.places + 1.0))
    yield "arrival_rate", None, pace
    yield "loss_rate", None, pace * lost
    yield "loss_probability", None, lost
    yield "obsolescence_probability", None, 0.0
    yield "success_probability", None, 1.0 - lost
    yield "throughput", None, pace * (1.0 - lost)
    yield "mean_active_robots", None, 1.0
    yield "mean_in_system", None, in_system
    yield "sojourn_time", "all", in_system / pace
    for level in range(int(levels[0] < _SMALLEST), queue.places + 1):
        yield "level_probability", level, float(levels[level])
    if levels[0] >= _SMALLEST:
        yield "starvation_probability", None, float(levels[0])
