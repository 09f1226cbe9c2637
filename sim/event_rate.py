"""How many events a scenario asks for, and whether a clock can tell them apart."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from scenarios import Scenario, ScenarioError
from scenarios.activation import Switching
from scenarios.deliveries import modes_of
from scenarios.model import Gaps, present
from scenarios.processes import gap_law
from scenarios.rates import PiecewiseConstant
from sim.draws import map_tables, stationary_phases
from sim.engine_inputs import due_after, mean_times, modes_in_use, robots_at_levels
from sim.environment import changes_per_time, mean_speed
from sim.laws import draws_and_mean

_MOST_EVENTS = 2.0**53
"""A clock has 53 binary digits: with more events up to its end, times between them are lost."""

_MOST_CHANGES = 2_000_000
"""Changes of the environment up to the horizon; its path is kept, about 100 bytes for each."""

_MOST_PAGES = 10_000_000
"""Pages of a page set that exist or are listed at a time; each takes about 100 bytes."""


def require_progress(scenario: Scenario) -> None:
    """Raise `ScenarioError` for a scenario with more events than a clock can tell apart.

    Times of 1e-100 are lost when they are added to a clock: such a simulation would never reach
    its horizon. Expected numbers count, so that times of 0 are fine where others make up for them.
    """
    for (section, name), rate, horizon in _paces(scenario):
        if rate * horizon > _MOST_EVENTS:
            allowed = (
                f"asks for about {rate * horizon:.0e} events up to the horizon ({horizon:g}), more "
                "than any clock can tell apart; choose another unit of time"
            )
            key = f"{section}.{name}" if section else name
            given = scenario.as_file()
            raise ScenarioError(key, (given[section] if section else given)[name], allowed)
    _require_a_slow_environment(scenario)
    _require_a_small_page_set(scenario)


def _require_a_small_page_set(scenario: Scenario) -> None:
    """Refuse more pages at time 0 than are kept."""
    section = scenario.page_set
    if section is None:
        return
    pages = section.birth_rate * draws_and_mean(section.lifetime)[1]
    if pages > _MOST_PAGES:
        allowed = (
            f"makes about {pages:.0e} pages exist at a time; at most {_MOST_PAGES:.0e} are kept"
        )
        raise ScenarioError("page_set.birth_rate", section.birth_rate, allowed)


def require_a_short_list(scenario: Scenario, pages: int) -> None:
    """Refuse to go on with more pages on the list than are kept.

    Raises
    ------
    ScenarioError
        If there are: the robots do not keep up with the pages that become known.
    """
    if pages > _MOST_PAGES:
        assert scenario.page_set is not None
        allowed = (
            f"makes the list of known pages grow beyond {_MOST_PAGES:.0e}: the robots do not keep "
            "up; choose fewer births or a shorter horizon"
        )
        raise ScenarioError("page_set.birth_rate", scenario.page_set.birth_rate, allowed)


def _require_a_slow_environment(scenario: Scenario) -> None:
    """Refuse an environment whose path would be too long to be kept."""
    environment = scenario.robots.environment if scenario.robots else None
    if environment is None:
        return
    changes = changes_per_time(environment) * scenario.run.horizon
    if changes > _MOST_CHANGES:
        allowed = (
            f"changes about {changes:.0e} times up to the horizon ({scenario.run.horizon:g}); at "
            f"most {_MOST_CHANGES:.0e} changes are simulated; choose a shorter horizon"
        )
        raise ScenarioError(
            "robots.environment.Q", scenario.as_file()["robots"]["environment"]["Q"], allowed
        )


def expected_events(scenario: Scenario) -> float:
    """About how many accesses, arrivals, queries and updates a replication has.

    Every robot that is there counts as active. What follows from them, services for example, is not
    counted.
    """
    total = 0.0
    for (_, name), rate, horizon in _paces(scenario):
        each = scenario.robots.available if name == "access_time" and scenario.robots else 1
        total += each * rate * horizon
    return total


def _paces(scenario: Scenario) -> Iterator[tuple[tuple[str, str], float, float]]:
    """The keys of all that goes on for ever, events per unit time, and for how long."""
    robots, fleet = scenario.robots, scenario.model.fleet
    queries, monitor = scenario.model.query_rate, scenario.model.monitor
    traffic = scenario.model.traffic
    horizon = scenario.run.horizon
    accessing = _progress(scenario, "robot_speed")
    if robots is not None and robots.deliveries is not None:
        modes = modes_of(robots.deliveries, scenario.activation)
        rate = max(_phase_events(modes[used]) for used in modes_in_use(scenario))
        yield ("robots", "deliveries"), rate, accessing
    elif robots is not None and fleet is not None and _anyone_works(scenario):
        if robots.environment is not None:
            accessing *= mean_speed(robots.environment)
        for each in fleet.classes:
            rate = min(_draws(each.gaps), _falling_due(scenario, each.gaps) / each.available)
            if robots.classes is None:
                yield ("robots", "access_time"), rate, accessing
            else:
                yield ("robots", "classes"), each.available * rate, accessing
    if queries is not None:
        yield ("clients", "query_rate"), queries, _progress(scenario, "query_factor")
    if scenario.model.hearing is not None:
        yield ("pages", "signals"), _signals(scenario), horizon
    yield from _rests(scenario)
    if traffic is not None:
        yield ("servers", "arrivals"), _draws(traffic.gaps), horizon
    yield from _births(scenario)
    if monitor is not None:
        rate = sum(_average(source.updates) for source in monitor.sources)
        key = ("", "sources") if monitor.is_shared else ("source", "updates")
        yield key, rate, monitor.asked.horizon


def _falling_due(scenario: Scenario, access: Gaps) -> float:
    """The most pages that fall due per unit time; inf where robots never rest."""
    if scenario.model.frontier is None or scenario.model.pages is None:
        return np.inf
    law = gap_law(access)
    shortest = 0.0 if law is None else draws_and_mean(law)[1]
    intervals = due_after(scenario.model.frontier.policy, scenario.model.pages)
    with np.errstate(divide="ignore"):
        by_age = float((1.0 / (intervals + shortest)).sum())
    return by_age + (_signals(scenario) if scenario.model.hearing else 0.0)


def _signals(scenario: Scenario) -> float:
    """Signals per unit time, of pages that have some."""
    return float(present(scenario.model.pages).signals.heard.sum())


def _rests(scenario: Scenario) -> Iterator[tuple[tuple[str, str], float, float]]:
    """The same of an indexer that is away, and of a page in orbit."""
    queue, horizon = scenario.model.queue, scenario.run.horizon
    if queue is not None and queue.rest is not None and queue.rest.vacation is not None:
        yield ("buffer", "vacation"), _draws(queue.rest.vacation), horizon
    if queue is not None and queue.retrial is not None:
        yield ("buffer", "retrial"), queue.retrial.rate, horizon


def _births(scenario: Scenario) -> Iterator[tuple[tuple[str, str], float, float]]:
    """The same of pages that come and go."""
    if scenario.page_set is not None:
        yield ("page_set", "birth_rate"), scenario.page_set.birth_rate, scenario.run.horizon


def _progress(scenario: Scenario, effect: str) -> float:
    """Integral of a factor of interventions up to the horizon."""
    every = scenario.model.timeline.pieces
    return float(sum(getattr(each, effect) * (each.end - each.begin) for each in every))


def _anyone_works(scenario: Scenario) -> bool:
    return isinstance(scenario.activation, Switching) or max(robots_at_levels(scenario)) > 0


def _phase_events(mode: Any) -> float:
    """Phase events per unit time of joint deliveries; 0 where that depends on the start."""
    stationary = stationary_phases(mode.sum(axis=0))
    rates = [0.0 if mean is None else 1.0 / mean for mean in mean_times(mode)]
    return 0.0 if stationary is None else float(stationary @ rates)


def _draws(process: Any) -> float:
    """Random times drawn per unit time for the successive gaps of a process."""
    law = gap_law(process)
    if law is None:
        means, following = map_tables(process)
        order = len(means)
        steps = np.diff(np.array(following), axis=1, prepend=0.0)
        moves = (steps[:, :order] + steps[:, order:]) / np.array(means)[:, None]
        stationary = stationary_phases(moves - np.diag(moves.sum(axis=1)))
        return 0.0 if stationary is None else float(stationary @ (1.0 / np.array(means)))
    draws, mean = draws_and_mean(law)
    return float(draws / mean) if mean > 0 else np.inf


def _average(rate: PiecewiseConstant) -> float:
    lengths = np.diff([*rate.breaks, rate.period])
    return float(lengths @ rate.values / rate.period)
