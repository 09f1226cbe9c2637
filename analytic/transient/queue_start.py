"""How a queue forgets that it started empty: from its chain, or from a stand-in where it has none.

The stand-in is the birth-death chain of the same mean rates at each level. Where times vary less or
more than exponential ones it is taken to be slower by as much: near balance a queue moves like a
diffusion, whose speed is the variance, and it drains the slower the more its services vary.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np
import scipy

from analytic.index import conditions
from analytic.index.accesses import mean_access
from analytic.index.conditions import buffer_and_robots, fleet_of
from analytic.index.formula import dependent, is_covered
from analytic.indexing_queue.batches import BATCHES, SolvedBatches, solution_of_batches
from analytic.indexing_queue.chain import count_states
from analytic.indexing_queue.measures import UNCHANGED, size_of
from analytic.indexing_queue.rests import RESTS, solution_with_rests
from analytic.indexing_queue.several_servers import size_of_servers
from analytic.machinery.active_robots import robots_while_it_fills
from analytic.machinery.arrival_process import delivery_modes, mean_rate
from analytic.machinery.markov import birth_death, closed_classes
from analytic.machinery.refusal import NoAnswerError
from analytic.machinery.transforms import mean_time, moments, survival
from analytic.transient.forgetting import Forgetting, forgetting, forgetting_of_levels
from analytic.transient.formulas import timers_of_several_servers
from analytic.transient.queue import QueueOverTime
from scenarios import Scenario
from scenarios.activation import Switching
from scenarios.arrays import Array
from scenarios.laws import Distribution

_MOST_PRODUCTS = 10**8
"""Of a factorisation that takes a second or two."""

_LEAST_VARIABILITY = 0.1
"""That of times which hardly vary is taken to be so large: a clockwork never forgets its start."""

_SHORTEST = 1e-6
_LONGEST = 1e30
"""Times, in means, between which survival functions are integrated, of the heaviest tails too."""

_POINTS = 40_000
"""Times at which they are taken."""


def queue_forgetting(scenario: Scenario) -> Forgetting | None:
    """How the queue of a scenario forgets its start; None where nothing is known of it.

    Parameters
    ----------
    scenario : Scenario
        With robots and a buffer. Interventions are left out.
    """
    try:
        births, deaths = rates_at_levels(scenario)
    except NoAnswerError:
        return None
    if is_covered(BATCHES, scenario):
        return _forgetting_of(solution_of_batches(scenario))
    if is_covered(RESTS, scenario):
        return _forgetting_of(solution_with_rests(scenario))
    if conditions.never_at_rest(scenario):
        return None
    if is_covered(_CHAIN, scenario):
        queue = QueueOverTime(scenario.with_("interventions", []))
        chain = queue.chain_in(UNCHANGED)
        classes = closed_classes(chain.generator)
        if len(classes) == 1:
            level = int(np.argmax(birth_death(births, deaths)))
            recurrent = classes[0]
            nearest = np.argmin(np.abs(chain.levels[recurrent] - level))
            return forgetting(chain.generator, queue.start(), int(recurrent[nearest]))
    if not births.any():
        return None
    variability = _variability(scenario, births)
    return forgetting_of_levels(births, deaths).slower(max(variability, 1.0 / variability))


def _forgetting_of(solved: SolvedBatches) -> Forgetting:
    """That of the chain, from its first state on."""
    out = scipy.sparse.diags_array(np.asarray(solved.rates.sum(axis=1)).ravel())
    probabilities = np.array([*solved.probabilities.values()])
    start = np.zeros(len(probabilities))
    start[0] = 1.0
    generator = scipy.sparse.csr_array(solved.rates - out)
    return forgetting(generator, start, int(np.argmax(probabilities)))


def idle_starts(scenario: Scenario) -> float:
    """About how many deliveries find an idle indexer, per unit time; 0 where nothing is known.

    From the stationary law of the stand-in. Between its ends a queue is like a diffusion, whose
    density falls exponentially at a rate inverse to the variability of the times; so the law is
    raised to the power of one over that.

    Parameters
    ----------
    scenario : Scenario
        With robots and a buffer.
    """
    try:
        births, deaths = rates_at_levels(scenario)
    except NoAnswerError:
        return 0.0
    if not births.any():
        return 0.0
    buffer, _ = buffer_and_robots(scenario)
    with np.errstate(divide="ignore"):
        logs = np.log(birth_death(births, deaths)) / _variability(scenario, births)
    probabilities = scipy.special.softmax(logs)
    idle = buffer.capacity - buffer.waiting_places
    return float(births[:idle] @ probabilities[:idle])


@dependent
def _quickly_factorised(scenario: Scenario) -> str | None:
    """The generator of its chain is factorised in at most 10^8 products."""
    order, phases, patience, top = size_of(scenario)
    servers = conditions.buffer_of(scenario).servers
    if servers > 1:
        states, width = size_of_servers(order, phases, servers, top)
    else:
        states = count_states(order, phases, patience, top)
        width = states - count_states(order, phases, patience, top - 1)
    products = states * width**2
    return None if products <= _MOST_PRODUCTS else f"its chain takes {products:.0e} products"


_CHAIN = (
    conditions.has_buffer,
    *conditions.MARKOVIAN_QUEUE,
    timers_of_several_servers,
    _quickly_factorised,
)


def rates_at_levels(scenario: Scenario) -> tuple[Array, Array]:
    """Mean rates of a queue: of deliveries at levels 0 … n - 1, of departures at levels 1 … n.

    Waiting pages depart at the inverse mean of their patience, those of a batch one by one. Pages
    that are dropped because their original changed, or replaced by a newer copy, are left out.

    Raises
    ------
    NoAnswerError
        If one of them is not known.
    """
    buffer, robots = buffer_and_robots(scenario)
    if robots.host_spacing is not None:
        raise NoAnswerError("how often robots deliver depends on the spacing of hosts")
    levels = np.arange(1, buffer.capacity + 1)
    active = _active_at(scenario)
    numbers = [active(level) for level in range(buffer.capacity)]
    rates = _delivery_rates(scenario, numbers)
    busy = np.minimum(levels, buffer.capacity - buffer.waiting_places)
    service = mean_time(conditions.service_law(scenario))
    if buffer.batch is not None and buffer.batch.per_page is not None:
        service += buffer.batch.most * mean_time(buffer.batch.per_page)
    deaths = busy / service
    patience = conditions.timer_of(scenario)
    if patience is not None:
        deaths = deaths + (levels - busy) / mean_time(patience)
    return rates, deaths


def _active_at(scenario: Scenario) -> Callable[[int], int]:
    """Active robots at a level; where they are switched one by one, those that are aimed at."""
    rule = scenario.activation
    if not isinstance(rule, Switching):
        return robots_while_it_fills(scenario)
    targets = rule.targets
    if not targets:
        raise NoAnswerError("which robots are active depends on their classes")
    return lambda level: max(row[level] for row in targets)


def _delivery_rates(scenario: Scenario, numbers: Sequence[int]) -> Array:
    """Mean deliveries per unit time while this many robots are active, in the same order."""
    fleet = fleet_of(scenario)
    most = max(numbers)
    if fleet.deliveries is not None or fleet.environment is not None:
        modes = delivery_modes(fleet, numbers)
        known = {0: 0.0}
        for number in {*numbers} - {0}:
            if len(closed_classes(modes[number].sum(axis=0))) > 1:
                raise NoAnswerError("the phase of the deliveries depends on where it started")
            known[number] = mean_rate(modes[number])
        return np.array([known[number] for number in numbers])
    means = [mean_access(each.gaps) for each in fleet.classes]
    times = np.array([means[index] for index in fleet.in_order[:most]])
    delivered = (1.0 - fleet.failure_probability) / (fleet.mean_share * times)
    return np.concatenate([[0.0], np.cumsum(delivered)])[list(numbers)]


def _variability(scenario: Scenario, births: Array) -> float:
    """Mean squared coefficient of variation of accesses and services, 1 if all are exponential.

    No longer service than it takes to fill the buffer changes more than that.
    """
    buffer, robots = buffer_and_robots(scenario)
    until_full = buffer.capacity / float(births[births > 0].mean())
    services = _squared_variation(conditions.service_law(scenario), until_full)
    accesses = [
        1.0 if each.law is None else _squared_variation(each.law, until_full * robots.available)
        for each in fleet_of(scenario).classes
    ]
    return max((services + max(accesses, default=1.0)) / 2.0, _LEAST_VARIABILITY)


def _squared_variation(law: Distribution, longest: float) -> float:
    """That of a law; of a heavy tail as if no time were longer than the longest that matters."""
    mean, second = moments(law)
    if math.isfinite(law.tail_index):
        second = 2.0 * mean * residual_area(law, 0.0, max(longest, 10.0 * mean))
    return max(second / mean**2 - 1.0, 0.0)


def residual_area(law: Distribution, begin: float, end: float) -> float:
    """The integral of ``P(R > t)`` from begin to end, R the rest of a time seen at random.

    Notes
    -----
    ``P(R > t)`` is the integral of the survival function beyond t over the mean.
    """
    mean = mean_time(law)
    grid = mean * np.concatenate([[0.0], np.geomspace(_SHORTEST, _LONGEST, _POINTS)])
    tail = survival(law, grid)
    steps = np.diff(grid) * (tail[1:] + tail[:-1]) / 2.0
    residual = np.concatenate([np.cumsum(steps[::-1])[::-1], [0.0]]) / mean
    inside = np.clip(grid, begin, end)
    return float(np.diff(inside) @ (residual[1:] + residual[:-1]) / 2.0)
