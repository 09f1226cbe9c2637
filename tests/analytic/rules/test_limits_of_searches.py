"""What is too much for a search, or no question for it, to the letter; and what just is not."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np
import pytest
from pipelines import pipeline
from scipy.special import gammaln, logsumexp

from analytic.index.optimum import NoOptimumError
from analytic.indexing_queue import hysteresis, matched_services, mg1k
from analytic.indexing_queue.erlang import (
    erlang_a_throughput,
    erlang_c,
    mean_sojourn_without_limit,
)
from analytic.machinery.refusal import NoAnswerError
from analytic.page_refresh.golden import golden_guarantee
from analytic.page_refresh.optimum import part_of_more
from analytic.robot_control import switching
from analytic.rules import fixed, levels
from analytic.rules.bound import Bound
from analytic.rules.choices import environment_seen
from analytic.rules.free_process import best_free_rule, said_more
from analytic.rules.levels import best_levels
from analytic.rules.subject_to import best_within
from analytic.transient.recovery import last_change
from scenarios import Scenario, scenario_from
from scenarios.model import Hysteresis

NUMBERS = (1, 2, 3)
LOSSES = Bound("loss_probability", False, 0.5)


def queue(**sections: Any) -> Scenario:
    """Five levels, three robots, a service of two phases."""
    system: dict[str, Any] = {
        "name": "limited",
        "robots": {"available": 3, "access_time": {"exponential": {"mean": 1.0}}},
        "buffer": {"waiting_places": 3, "service": {"erlang": {"shape": 2, "mean": 0.8}}},
        "costs": {"loss": 20.0, "starvation": 10.0, "robots": 1.0},
    }
    return scenario_from({**system, **sections})


def said(search: Callable[..., Any], *arguments: Any) -> str:
    with pytest.raises((NoOptimumError, NoAnswerError)) as caught:
        search(*arguments)
    return str(caught.value)


def test_what_does_not_go_with_a_bound_is_said() -> None:
    stale = pipeline("static").with_("costs", {"staleness": 1.0})
    assert said(best_within, stale, "static", LOSSES) == (
        "a bound does not go with a price of staleness, or of bytes"
    )
    response = queue(costs={"loss": 1.0, "response": 1.0})
    assert said(best_within, response, "switching", LOSSES) == (
        "a bound does not go with a price of the mean response"
    )
    switches = queue(costs={"loss": 1.0, "switch": 0.1})
    assert said(best_within, switches, "threshold", LOSSES) == (
        "a bound does not go with switches that have a price or take a time"
    )


def test_rules_by_level_beside_a_bound_are_all_compared_or_none(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Three numbers at five levels."""
    monkeypatch.setattr(levels, "_MOST_BOUNDED", 3**5)
    assert best_within(queue(), "levels", LOSSES).cost is not None
    monkeypatch.setattr(levels, "_MOST_BOUNDED", 3**5 - 1)
    assert said(best_within, queue(), "levels", LOSSES) == (
        "there are 243 rules by level, limit 242 subject to a bound; --target free, which finds "
        "the best rule by multipliers, or --target threshold"
    )


def test_descents_of_rules_by_level_end_at_the_best_of_all(monkeypatch: pytest.MonkeyPatch) -> None:
    service = {"hyperexponential": {"probabilities": [0.8, 0.2], "rates": [4.0, 0.3]}}
    prices = {"costs.loss": 2.0, "costs.robots": 0.2}
    scenario = queue().with_(prices | {"buffer.service": service})
    free = best_free_rule(scenario, NUMBERS)
    assert any(len(set(each.flat)) > 1 for each in free.rule)  # it sees the phase
    every = best_levels(scenario, NUMBERS, free, [(3, 3, 3, 3, 3)])
    assert every.proved
    monkeypatch.setattr(levels, "_MOST_TOGETHER", 0)
    found = best_levels(scenario, NUMBERS, free, [(3, 3, 3, 3, 3), (1, 1, 1, 1, 1)])
    assert found.cost == pytest.approx(every.cost, rel=1e-10)
    assert not found.proved
    down = best_levels(scenario, NUMBERS, free, [(3, 3, 3, 3, 3)])
    assert down.cost == pytest.approx(every.cost, rel=1e-10)
    monkeypatch.setattr(levels, "_MOST_TRIED", 14)
    assert said(best_levels, scenario, NUMBERS, free, [(3, 3, 3, 3, 3)]) == (
        "5 levels × 3 numbers; at most 14 are searched"
    )


def test_different_sets_of_robots_are_listed_up_to_a_limit() -> None:
    rates = [{"poisson": {"rate": rate}} for rate in (1.0, 2.0, 1.0)]
    scenario = queue(robots={"available": 3, "deliveries": {"independent": rates}})
    kinds = fixed.kinds_of_robots(scenario)
    assert kinds == [[0, 2], [1]]
    sets = fixed.all_sets(scenario, kinds, 6)
    assert sets == [(), (0,), (1,), (0, 1), (0, 2), (0, 1, 2)]
    assert said(fixed.all_sets, scenario, kinds, 5) == (
        "there are 6 different sets of robots, limit 5"
    )


def test_where_no_number_has_a_cost_there_is_no_best_one() -> None:
    assert said(fixed.static_search, queue(), np.full(4, np.nan)) == (
        "no number has a cost: nothing is served, or the steady state is not unique"
    )
    some = fixed.static_search(queue(), np.array([np.nan, 3.0, 2.0, 2.0]))
    assert some.optimum == 2


def test_a_queue_whose_targets_take_too_long_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """Three robots, five levels: three times a square."""
    service = {"waiting_places": 3, "service": {"exponential": {"mean": 0.8}}}
    scenario = queue(buffer=service)
    built = switching.queue_of(scenario)
    work = 3 * built.levels.number**2
    monkeypatch.setattr(switching, "MOST_WORK", work)
    switching.check_size(built, scenario.costs)
    monkeypatch.setattr(switching, "MOST_WORK", work - 1)
    assert said(switching.check_size, built, scenario.costs) == (
        f"robots × levels² is {work:.2g}, limit {work - 1:.0e}"
    )


@pytest.mark.parametrize(
    ("cost", "least", "words"),
    [(2.5, 0.0, "2.5"), (2.5, -1.0, "3.5"), (1.0051, 1.0, "0.51 %"), (1.234, 1.0, "23 %")],
)
def test_how_far_a_cost_is_above_the_least_is_said(cost: float, least: float, words: str) -> None:
    """In per cent, where that has a meaning."""
    assert said_more(cost, least) == words


def test_choices_are_not_known_where_the_environment_is_not_seen() -> None:
    environment = {"Q": [[-1.0, 1.0], [1.0, -1.0]], "speeds": [1.0, 0.5], "seen": False}
    unseen = queue().with_("robots.environment", environment)
    assert environment_seen(unseen) == (
        "the best choices are not known where robots.environment.seen = false"
    )
    assert environment_seen(unseen.with_("robots.environment.seen", True)) is None
    assert environment_seen(queue()) is None


def test_nothing_recovers_where_nothing_happens() -> None:
    assert said(last_change, queue()) == "there are no [[interventions]]"
    once = queue().with_("interventions", [{"at": 1.0, "until": 3.0, "robots": 1}])
    assert last_change(once) == 3.0
    again = once.with_("interventions.0.every", 5.0)
    assert said(last_change, again) == (
        "an intervention repeats: the system never recovers for good"
    )


# Chains


def test_phases_of_robots_that_start_are_counted_up_to_a_limit(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Steps of 2 and 1: 3 × 2 ways to start before both thresholds, 2 between, 1 beyond."""
    start_up: Any = object()
    given = Hysteresis((4, 2, 1), (1, 3), (0, 2), start_up)
    starting = sum(1 for _ in product(range(3), range(2))) + 2 + 1
    monkeypatch.setattr(hysteresis, "MOST_PHASES", 2 * starting)
    assert hysteresis.count_phases(given, 2) == 2 * starting
    assert hysteresis.count_phases(replace(given, start_up=None), 2) == 2 * 3
    monkeypatch.setattr(hysteresis, "MOST_PHASES", 2 * starting - 1)
    assert said(hysteresis.count_phases, given, 2) == (
        f"{2 * starting} phases of deliveries and start-ups, limit {2 * starting - 1}"
    )


def test_services_are_matched_by_phases_that_fit(monkeypatch: pytest.MonkeyPatch) -> None:
    constant = {"deterministic": {"value": 0.5}}
    scenario = queue(buffer={"waiting_places": 3, "servers": 2, "service": constant})
    shapes = matched_services._fitting(scenario)
    assert shapes == list(matched_services._SHAPES[: len(shapes)])
    monkeypatch.setattr(matched_services, "_MOST_PRODUCTS", 0)
    most = matched_services._SHAPES[matched_services._LEAST - 1]
    assert said(matched_services._fitting, scenario) == (
        f"services of {most} phases are too many for its chain"
    )


# Closed forms


@pytest.mark.parametrize("load", [2.0, 2.5])
def test_everybody_waits_where_servers_cannot_keep_up(load: float) -> None:
    assert erlang_c(load, 2) == 1.0
    assert mean_sojourn_without_limit(load, 1.0, 2) == np.inf
    assert erlang_c(2.0 - 1e-9, 2) == pytest.approx(1.0, abs=1e-8)


def test_one_server_makes_wait_whoever_finds_it_busy() -> None:
    assert erlang_c(0.3, 1) == pytest.approx(0.3)
    assert mean_sojourn_without_limit(0.3, 1.0, 1) == pytest.approx(1.0 / 0.7)


@pytest.mark.parametrize(("arrivals", "servers"), [(1500.0, 1000), (3.0, 2), (900.0, 1000)])
def test_a_large_queue_of_impatient_pages_by_logarithms(arrivals: float, servers: int) -> None:
    """Weights beyond what a number can be: ``a^n / n!``, then ``a^n / prod (c mu + k theta)``."""
    service, obsolescence = 1.0, 0.5
    count = np.arange(8000.0)
    over = np.maximum(count - servers, 0.0)
    deaths = np.minimum(count, servers) * service + over * obsolescence
    logs = np.concatenate([[0.0], np.cumsum(np.log(arrivals) - np.log(deaths[1:]))])
    assert logs[: servers + 1] == pytest.approx(
        count[: servers + 1] * np.log(arrivals) - gammaln(count[: servers + 1] + 1), rel=1e-9
    )
    law = np.exp(logs - logsumexp(logs))
    expected = service * float(law @ np.minimum(count, servers))
    found = erlang_a_throughput(arrivals, service, obsolescence, servers)
    assert found == pytest.approx(expected, rel=1e-10)


@pytest.mark.parametrize("load", [0.0, -1.0, np.inf, np.nan])
def test_a_guarantee_is_of_a_load(load: float) -> None:
    with pytest.raises(
        ValueError, match=rf"^the load is {load!r}; it must be a finite number > 0$"
    ):
        golden_guarantee(load)


@pytest.mark.parametrize(
    ("more", "less", "part"),
    [
        (1.2, 0.9, 1 / 3),
        (1.0, 0.9, 1.0),
        (1.2, 1.0, 0.0),
        (1.0 - 1e-15, 1.0 - 3e-15, 1.0),
        (1.0 + 3e-15, 1.0 + 1e-15, 0.0),
        (1.0, 1.0, 0.0),
    ],
)
def test_parts_of_two_ends_sum_to_one(more: float, less: float, part: float) -> None:
    found = part_of_more(more, less)
    assert found == pytest.approx(part)
    assert found * more + (1.0 - found) * less == pytest.approx(1.0, abs=1e-14)


def test_too_many_levels_times_phases_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mg1k, "_MOST_STATES", 3)
    chain: Any = type("Chain", (), {"order": 2, "top": 2})()
    assert said(mg1k.general_queue, chain, None) == "levels times phases are 4, limit 3"
