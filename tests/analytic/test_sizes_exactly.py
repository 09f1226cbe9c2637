"""Services that depend on the page: their law where pages come at random, refusals elsewhere."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from scipy.linalg import expm

from analytic import predict
from analytic.index.conditions import independent_services, service_law
from analytic.machinery.active_robots import robots_at
from analytic.machinery.markov import stationary
from scenarios import Scenario, library_names, load, scenario_from
from scenarios.arrays import Array
from scenarios.laws import Deterministic, Mixture
from scenarios.page_data import access_shares, page_service_times
from scenarios.sections import PageSize


def by_size(changes: dict[str, Any] | None = None) -> Scenario:
    tables = {
        "name": "by-size",
        "pages": {"change_rates": [0.1, 0.5, 0.02, 0.1, 0.2], "sizes": [4.0, 0.0, 4.0, 2.0, 9.0]},
        "robots": {
            "available": 2,
            "access_time": {"exponential": {"mean": 3.0}},
            "accessing": {"policy": "randomized", "frequencies": [0.1, 0.3, 0.4, 0.2, 0.0]},
        },
        "buffer": {
            "waiting_places": 3,
            "service": {"page-size": {"time_per_unit": 0.5, "constant": 1.0}},
        },
        "costs": {"loss": 1.0},
    }
    return scenario_from(tables).with_(changes or {})


def test_random_pages_have_the_mixture_of_their_services() -> None:
    law = service_law(by_size())
    assert isinstance(law, Mixture)
    assert law.probabilities == pytest.approx((0.3, 0.2, 0.5))
    assert law.of == tuple(Deterministic(value=value) for value in (1.0, 2.0, 3.0))


@pytest.mark.parametrize(
    "changes",
    [
        {"buffer.discipline": "lifo", "buffer.when_full": "push-out"},
        {"buffer.obsolescence": {"deterministic": {"value": 2.0}}},
        {"activation.switching.targets": [2, 2, 1, 1, 0]},
    ],
    ids=["lifo-push-out", "timers", "switched"],
)
def test_a_buffer_that_does_not_look_at_its_pages_keeps_them_random(
    changes: dict[str, Any],
) -> None:
    assert service_law(by_size(changes)) == service_law(by_size())


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"robots.accessing.policy": "deficit"}, "the order of accesses"),
        ({"robots.accessing.frequencies": "optimal"}, "frequencies of the accessing policy"),
        ({"buffer.obsolescence": "page-change"}, "dropped when their originals change"),
        ({"buffer.replace_older_copy": True}, "newer copies replace older ones"),
        ({"pages.hosts": [0, 0, 1, 1, 1], "robots.host_spacing": 1.0}, "wait for hosts"),
    ],
)
def test_elsewhere_there_is_a_reason(changes: dict[str, Any], reason: str) -> None:
    assert reason in (independent_services(by_size(changes)) or "")


def test_pages_of_one_size_are_served_in_a_constant_time_by_any_policy() -> None:
    alike = {"pages.sizes": [2.0] * 5, "robots.accessing.policy": "deficit"}
    assert service_law(by_size(alike)) == Deterministic(value=2.0)


PIPELINES = [
    name
    for name in library_names()
    if (entry := load(name)).buffer and entry.pages and entry.pages.count > 1
]


@pytest.mark.parametrize("name", PIPELINES)
def test_no_formula_takes_the_staleness_of_pages_for_that_with_one_law(name: str) -> None:
    given = load(name)
    assert given.pages is not None
    sizes = [1.0, *[3.0] * (given.pages.count - 1)]
    frequencies = {"robots.accessing.frequencies": "uniform"}
    optimal = getattr(given.robots and given.robots.accessing, "frequencies", None) == "optimal"
    scenario = given.with_(
        {
            "pages.sizes": sizes,
            "buffer.service": {"page-size": {"time_per_unit": 0.3}},
            **(frequencies if optimal else {}),
        }
    )
    of_pages = {"obsolescence_rate", "index_age", "weighted_obsolescence"}
    assert of_pages.isdisjoint(row.measure for row in predict(scenario)[0])
    if independent_services(scenario) is not None:
        accesses = {"crawl_rate", "crawl_frequency"}
        assert {row.measure for row in predict(scenario)[0]} <= accesses


def levels_by_exponentials(scenario: Scenario) -> Array:
    """Level probabilities of a queue with services by size: matrix exponentials, page by page.

    Embedded at the starts of services, which find level 1 … K.
    """
    buffer, robots = scenario.buffer, scenario.robots
    assert buffer is not None
    assert robots is not None
    assert scenario.pages is not None
    assert isinstance(buffer.service, PageSize)
    capacity = buffer.capacity
    rate = 1 / getattr(robots.access_time, "mean", math.nan)
    timers = 1 / getattr(buffer.obsolescence, "mean", math.inf)
    births = [rate * robots_at(scenario)(level) for level in range(capacity + 1)]
    during = np.diag(births[1:-1], 1) + np.diag(timers * np.arange(1.0, capacity), -1)
    during -= np.diag(during.sum(axis=1))
    augmented = np.block([[during, np.eye(capacity)], [np.zeros((capacity, 2 * capacity))]])
    shares = access_shares(robots.accessing, scenario.model.pages)  # type: ignore[arg-type]  # there is one
    times = page_service_times(buffer.service, scenario.model.pages)
    steps = sum(p * expm(augmented * x) for p, x in zip(shares, times, strict=True))
    after, spent = steps[:capacity, :capacity], steps[:capacity, capacity:]
    starts = np.hstack([after[:, :1] + after[:, 1:2], after[:, 2:], np.zeros((capacity, 1))])
    at_starts = stationary(starts - np.eye(capacity))
    weights = np.append(at_starts @ after[:, 0] / births[0], at_starts @ spent)
    result: Array = weights / weights.sum()
    return result


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"buffer.obsolescence": {"exponential": {"mean": 2.0}}},
        {"activation.threshold": {"robots": [2, 1], "at": [1]}, "buffer.discipline": "lifo"},
    ],
    ids=["plain", "timers", "threshold"],
)
def test_levels_of_random_pages_are_exact(changes: dict[str, Any]) -> None:
    scenario = by_size(changes)
    rows = {row.subject: row for row in predict(scenario)[0] if row.measure == "level_probability"}
    expected = levels_by_exponentials(scenario)
    assert [rows[level].value for level in range(len(expected))] == pytest.approx(
        expected, rel=1e-9
    )
    assert {row.kind for row in rows.values()} == {"exact"}
