"""Searches for robots end to end, by costs that are made up: against lists of all decisions."""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import product
from typing import Any

import numpy as np
import pytest
from pipelines import pipeline

from analytic.index.optimum import NoOptimumError, Optimum
from analytic.machinery.refusal import NoAnswerError
from analytic.pipeline import best_robots, best_thresholds
from analytic.pipeline.best_robots import end_to_end_robots, end_to_end_switching
from analytic.pipeline.best_thresholds import end_to_end_thresholds, pairs_of
from analytic.pipeline.costs import (
    Alone,
    cost_of,
    cost_of_no_robot,
    own_criterion,
    price_of_alone,
    said_more,
)
from analytic.rules.fixed import optimal_fixed_number
from analytic.rules.searching import by_level
from analytic.rules.thresholds import optimal_thresholds
from scenarios import Scenario

ACCESS = {"exponential": {"mean": 1.0}}
CLASSES = {
    "robots.classes": [
        {"available": 2, "access_time": ACCESS, "name": "near"},
        {"available": 3, "access_time": {"exponential": {"mean": 2.0}}, "name": "far"},
    ],
    "activation": None,
}
RATES = (1.0, 2.0, 1.0, 4.0)
ONE_BY_ONE = {
    "robots.access_time": None,
    "robots.available": 4,
    "robots.deliveries": {"independent": [{"poisson": {"rate": rate}} for rate in RATES]},
    "activation": None,
}
OF_NUMBERS = 0.2 + 0.3 * np.random.default_rng(2).uniform(0.0, 1.0, (3, 4))
"""By robots of the two classes; nobody costs 0.75."""

Cost = Callable[[Scenario], float]


def of_numbers(scenario: Scenario) -> float:
    rule: Any = scenario.activation
    near, far = rule.root
    return float(OF_NUMBERS[near, far])


def of_names(scenario: Scenario) -> float:
    """Robots 0 and 2 are alike, and cost alike; 0 and 1 together are the best."""
    rule: Any = scenario.activation
    return 0.25 + abs(sum(RATES[robot] for robot in rule.root) - 3.25) / 100


def priced(changes: dict[str, Any]) -> Scenario:
    return pipeline("static").with_(changes | {"costs": {"staleness": 1.0}})


# Fixed robots


def test_of_classes_the_best_number_of_each_is_found() -> None:
    scenario = priced(CLASSES)
    found = end_to_end_robots(scenario, of_numbers)
    none = cost_of_no_robot(scenario)
    best = [(none, [0, 0])] + [
        min((OF_NUMBERS[a, b], [a, b]) for a, b in product(range(3), range(4)) if a + b == number)
        for number in range(1, 6)
    ]
    assert [row["robots"] for row in found.table] == [numbers for _, numbers in best]
    assert [row["cost"] for row in found.table] == [cost for cost, _ in best]
    cost, numbers = min(best)
    assert found.cost == cost < none
    more = [100 * (each / cost - 1) for each, _ in best]
    assert [row["more"] for row in found.table] == pytest.approx(more)
    assert found.decision == {"robots": numbers}
    assert found.changes == {"activation": {"static": numbers}}
    assert found.proved is True
    alone = optimal_fixed_number(own_criterion(scenario)[0]).decision["robots"]
    words = "loss and 1.333 starvation alone"
    paid = OF_NUMBERS[tuple(alone)]
    assert found.search.other == (words, paid, sum(alone))
    assert found.notes == [
        "more: per cent above the best",
        f"robots = {alone}, best by {words} (talim2001): {said_more(paid, cost)}",
        "the best of all 12 different sets of robots, by class in the order of the file",
    ]


def test_of_equal_costs_fewest_robots_of_the_first_class_are_taken() -> None:
    found = end_to_end_robots(priced(CLASSES), lambda _: 0.5)
    rows = [row["robots"] for row in found.table]
    assert rows == [[0, 0], [0, 1], [0, 2], [0, 3], [1, 3], [2, 3]]
    assert found.decision == {"robots": [0, 1]}


def test_of_robots_that_deliver_independently_the_best_ones_are_named() -> None:
    """Of 0 and 2, which are alike, the first; two of them cost what they cost."""
    scenario = priced(ONE_BY_ONE)
    found = end_to_end_robots(scenario, lambda each: of_names(each))
    every = [
        tuple(robot for robot in range(4) if chosen[robot])
        for chosen in product([True, False], repeat=4)
    ]
    costs = {
        chosen: of_names(scenario.with_("activation", {"these": list(chosen)})) for chosen in every
    }
    least = [
        min(cost for chosen, cost in costs.items() if len(chosen) == number) for number in range(5)
    ]
    assert [row["cost"] for row in found.table] == pytest.approx(least, rel=1e-12)
    assert [len(row["these"]) for row in found.table] == [0, 1, 2, 3, 4]
    assert found.decision == {"these": [0, 1]}
    assert found.changes == {"activation": {"these": [0, 1]}}
    (alone,) = optimal_fixed_number(own_criterion(scenario)[0]).decision["these"]
    assert found.search.other is not None
    assert found.search.other[1:] == (costs[alone,], 1)
    assert found.notes[-1] == "the best of all 12 different sets of robots"


def test_a_decision_at_the_limit_may_be_better_with_more_robots() -> None:
    scenario = priced({"robots.available": 3, "activation": None})
    costs = {1: 0.6, 2: 0.7, 3: 0.5}

    def cost(given: Scenario) -> float:
        rule: Any = given.activation
        return costs[rule.root]

    found = end_to_end_robots(scenario, cost)
    assert found.decision == {"robots": 3}
    assert [row["cost"] for row in found.table] == [0.75, 0.6, 0.7, 0.5]
    said = "3 robots are all that are available; more may be better (robots.available)"
    assert said in found.notes
    costs[2] = 0.4
    assert said not in end_to_end_robots(scenario, cost).notes


# What is best by the papers' criterion


def _no_answer(*_: Any, **__: Any) -> Any:
    raise NoOptimumError("nobody knows")


def _an_optimum(decision: dict[str, Any], changes: dict[str, Any]) -> Optimum:
    return Optimum(target="static", cost=1.0, decision=decision, changes=changes)


def test_what_is_not_known_by_the_papers_is_said() -> None:
    scenario = priced({})
    alone, said = price_of_alone(scenario, _no_answer, cost_of)
    assert alone is None
    assert said == (
        "what is best by loss and 1.333 starvation alone (talim2001) is not known: nobody knows"
    )
    with_prices = scenario.with_({"costs.loss": 2.0, "costs.robots": 0.1})
    _, said = price_of_alone(with_prices, _no_answer, cost_of)
    assert said == "what is best by loss and robots alone is not known: nobody knows"
    _, said = price_of_alone(
        scenario, lambda _: _an_optimum({"robots": 1}, {"activation": {"static": 1}}), _no_answer
    )
    assert said.endswith("is not known: nobody knows")


def test_the_papers_decision_is_priced_end_to_end() -> None:
    scenario = priced({}).with_("costs.loss", 2.0)

    def optimise(plain: Scenario) -> Optimum:
        assert plain.activation is None
        assert plain.costs.staleness == 0.0
        return _an_optimum({"robots": 2}, {"activation": {"static": 2}})

    alone, said = price_of_alone(scenario, optimise, cost_of)
    assert said == ""
    assert alone == Alone(
        "loss alone", {"robots": 2}, cost_of(scenario.with_("activation.static", 2))
    )
    assert alone.note(alone.cost / 2) == (
        f"robots = 2, best by loss alone: {alone.cost:.6g}, 100 % more"
    )
    assert alone._replace(proved=False).words == "robots = 2, best found by loss alone"


@pytest.mark.parametrize(
    ("cost", "best", "said"),
    [
        (math.nan, 1.0, "no cost"),
        (2.0, 2.0, "2, the same"),
        (2.0 * (1 + 9e-12), 2.0, "2, the same"),
        (2.0 * (1 + 1e-10), 2.0, "2, 1e-08 % more"),
        (2.5, 2.0, "2.5, 25 % more"),
        (1.5, 2.0, "1.5, -25 % more"),
        (1.5, 0.0, "1.5, more"),
    ],
)
def test_how_much_more_is_paid_is_said(cost: float, best: float, said: str) -> None:
    assert said_more(cost, best) == said


# Targets


@pytest.mark.parametrize(
    ("decision", "flat"),
    [
        ({"targets": [3, 2, 0]}, [(3, 2, 0)]),
        ({"targets": [0, 0, 0]}, [(1, 0, 0)]),
        ({"targets": [[2, 1, 0], [3, 3, 3]]}, [(2, 1, 0)]),
        ({"choices": [[0]]}, []),
        (None, []),
    ],
)
def test_targets_by_the_papers_are_one_list_or_nothing(
    decision: dict[str, Any] | None, flat: list[tuple[int, ...]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """An empty system needs one robot at least; of lists by phase the first is taken."""

    def optimise(plain: Scenario) -> Optimum:
        assert plain.costs.staleness == 0.0
        return _no_answer() if decision is None else _an_optimum(decision, {})

    monkeypatch.setattr(best_robots, "optimal_switching", optimise)
    assert best_robots._flat_targets(priced({})) == flat


def _targets_cost(goal: tuple[int, ...]) -> Cost:
    def cost(scenario: Scenario) -> float:
        rule: Any = scenario.activation
        (targets,) = rule.targets
        return 0.5 + sum((a - b) ** 2 for a, b in zip(targets, goal, strict=True))

    return cost


@pytest.mark.parametrize("goal", [(4, 3, 3, 1, 0), (1, 0, 4, 0, 2)])
def test_targets_are_changed_until_none_can_be_for_the_better(
    goal: tuple[int, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(best_robots, "cost_of", _targets_cost(goal))
    monkeypatch.setattr(best_robots, "optimal_switching", _no_answer)
    scenario = priced({"robots.available": 4, "buffer.waiting_places": 3})
    found = end_to_end_switching(scenario)
    assert found.decision == {"targets": list(goal)}
    assert found.changes == {"activation": {"switching": {"targets": list(goal)}}}
    assert found.cost == 0.5
    assert [tuple(row.values()) for row in found.table] == list(enumerate(goal))
    assert found.proved is False
    assert found.notes[0].endswith(
        " rules tried; no single target can be changed for the better; not proved"
    )
    assert found.notes[1].endswith("alone (talim2001) is not known: nobody knows")
    said = "4 robots are all that are available; more may be better (robots.available)"
    assert found.notes[2:] == [said]
    assert found.search.other is None
    assert found.search.other_targets == ()


def test_targets_are_also_sought_from_lines_and_the_papers(monkeypatch: pytest.MonkeyPatch) -> None:
    """A cost that is flat but at one rule, which no change of one target leads to."""
    scenario = priced({"robots.available": 4, "buffer.waiting_places": 4})
    wanted: list[tuple[int, ...]] = []

    def cost(given: Scenario) -> float:
        rule: Any = given.activation
        return 0.25 if rule.targets == (wanted[-1],) else 1.0

    def optimise(_: Scenario) -> Optimum:
        targets = [3, 3, 1, 1, 0, 0]
        return _an_optimum(
            {"targets": targets}, {"activation": {"switching": {"targets": targets}}}
        )

    monkeypatch.setattr(best_robots, "cost_of", cost)
    monkeypatch.setattr(best_robots, "optimal_switching", optimise)
    # 4 (1 - level / 5), and 4 (1 - level / 3); what the papers say; the constant ones
    for goal in ((4, 3, 2, 2, 1, 0), (4, 3, 1, 0, 0, 0), (3, 3, 1, 1, 0, 0), (2,) * 6):
        wanted.append(goal)
        found = end_to_end_switching(scenario)
        assert (tuple(found.decision["targets"]), found.cost) == (goal, 0.25)
        assert found.search.other_targets == (3, 3, 1, 1, 0, 0)


def test_too_many_targets_are_not_searched(monkeypatch: pytest.MonkeyPatch) -> None:
    scenario = priced({"robots.available": 4, "buffer.waiting_places": 3})
    monkeypatch.setattr(best_robots, "cost_of", _targets_cost((1,) * 5))
    monkeypatch.setattr(best_robots, "optimal_switching", _no_answer)
    monkeypatch.setattr(best_robots, "_MOST_RULES", 20)
    assert end_to_end_switching(scenario).cost == 0.5
    monkeypatch.setattr(best_robots, "_MOST_RULES", 19)
    with pytest.raises(NoOptimumError, match=r"^5 levels × 4 robots; at most 19 are searched$"):
        end_to_end_switching(scenario)


# Thresholds


SLOW = {
    "robots.available": 3,
    "buffer.waiting_places": 2,
    "buffer.service": {"erlang": {"shape": 2, "mean": 1.0}},
    "activation": None,
}
"""Not a birth-death queue: its policies are evaluated one by one."""


def _levels(scenario: Scenario) -> tuple[int, ...]:
    rule: Any = scenario.activation
    if rule is None:
        return (3, 3, 3, 3)
    steps = rule.threshold
    ends = [*steps.at, 3]
    return tuple(
        next(number for number, end in zip(steps.robots, ends, strict=True) if level <= end)
        for level in range(4)
    )


def _falling() -> list[tuple[int, ...]]:
    every = product(range(4), repeat=4)
    return [each for each in every if list(each) == sorted(each, reverse=True)]


OF_LEVELS = np.random.default_rng(5).uniform(0.0, 0.2, (4, 4))


def of_levels(scenario: Scenario) -> float:
    return 0.3 + sum(OF_LEVELS[level, n] for level, n in enumerate(_levels(scenario)))


def test_all_policies_of_a_slow_pipeline_are_evaluated_one_by_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(best_thresholds, "_MOST_SLOW", 35)
    scenario = priced(SLOW)
    every = {policy: of_levels(by_level(scenario, policy)) for policy in _falling()}
    found = end_to_end_thresholds(scenario, of_levels)
    assert found.proved is True
    assert found.gap == 0.0
    assert found.cost == pytest.approx(min(every.values()), rel=1e-12)
    best = min(every, key=lambda policy: every[policy])
    assert _levels(scenario.with_(found.changes)) == best
    assert len(every) == 35
    said = "all 35 policies of 0 to 3 robots searched: none costs less"
    assert found.notes[0] == said


def test_where_they_are_too_many_descents_find_the_best_of_a_sum(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The table has one pair of numbers, all robots and none."""
    monkeypatch.setattr(best_thresholds, "_MOST_SLOW", 34)
    scenario = priced(SLOW)
    every = {policy: of_levels(by_level(scenario, policy)) for policy in _falling()}
    found = end_to_end_thresholds(scenario, of_levels)
    assert found.proved is False
    assert found.gap is None
    assert found.cost == pytest.approx(min(every.values()), rel=1e-12)
    assert found.notes[0].startswith("best found: ")
    assert " policies tried of 35, from the best single numbers and pairs on" in found.notes[0]
    search = found.search
    assert list(search.curves) == [(3, 0)]
    pair = [every[(3,) * (at + 1) + (0,) * (3 - at)] for at in range(4)]
    assert search.costs_against_threshold([3, 0]) == pytest.approx(pair, rel=1e-12)
    monkeypatch.setattr(best_thresholds, "_MOST_TRIED", 12)
    assert end_to_end_thresholds(scenario, of_levels).cost == found.cost
    monkeypatch.setattr(best_thresholds, "_MOST_TRIED", 11)
    with pytest.raises(NoOptimumError, match=r"^4 levels × 3 robots; at most 11 are searched$"):
        end_to_end_thresholds(scenario, of_levels)


def test_pairs_of_numbers_are_all_or_those_at_the_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    every = {(more, less) for more in range(1, 4) for less in range(more)}
    monkeypatch.setattr(best_thresholds, "_MOST_PAIRS", 24)
    assert set(pairs_of(3, 4, few=False)) == every
    assert set(pairs_of(3, 5, few=False)) == {(3, 0), (3, 1), (3, 2), (2, 0), (1, 0)}
    assert pairs_of(3, 4, few=True) == [(3, 0)]


def test_where_the_papers_search_gives_up_descents_go_on(monkeypatch: pytest.MonkeyPatch) -> None:
    """As good as the best of all policies, not proved, and with the bound of all rules."""
    costs = {"loss": 1.0, "starvation": 1.4, "robots": 0.05}
    listed = {"threshold": {"robots": [3, 0], "at": [0]}}
    scenario = pipeline("static").with_({"activation": listed, "costs": costs})
    exact = optimal_thresholds(scenario)
    monkeypatch.setattr(best_thresholds, "optimal_thresholds", _no_answer)
    monkeypatch.setattr(best_thresholds, "thresholds_by_level", lambda _: exact)
    assert best_thresholds._by_papers(scenario) is exact
    monkeypatch.setattr(best_thresholds, "thresholds_by_level", lambda _: None)
    found = best_thresholds._by_papers(scenario)
    assert found.cost == pytest.approx(exact.cost, rel=1e-10)
    assert (found.proved, found.gap) == (False, None)
    assert found.lower_bound is not None
    assert found.lower_bound <= found.cost * (1 + 1e-10)
    assert found.lower_bound == pytest.approx(exact.lower_bound, rel=1e-8)
    slow = scenario.with_("buffer.service", SLOW["buffer.service"])
    with pytest.raises(NoAnswerError, match=r"^nobody knows$"):
        best_thresholds._by_papers(slow)


def test_copies_that_leave_together_are_searched_by_the_formulas_of_pages() -> None:
    changes = {
        "pages.change_rates": [0.3, 0.3],
        "robots.accessing.frequencies": "uniform",
        "robots.available": 2,
        "buffer.waiting_places": 1,
        "buffer.replace_older_copy": True,
        "costs": {"loss": 1.0, "starvation": 1.0, "robots": 0.02},
        "activation": None,
    }
    scenario = pipeline("static").with_(changes)
    policies = [each for each in product(range(3), repeat=3) if each[0] >= 1]
    falling = [each for each in policies if list(each) == sorted(each, reverse=True)]
    least = min(cost_of(by_level(scenario, each)) for each in falling)
    found = end_to_end_thresholds(scenario)
    assert found.cost == pytest.approx(least, rel=1e-12)
    assert found.proved is True
    assert best_thresholds._by_papers(scenario).cost == found.cost
    fixed = end_to_end_robots(scenario)
    numbers = [1.0 + 0.0, *(cost_of(scenario.with_("activation.static", n)) for n in (1, 2))]
    assert [row["cost"] for row in fixed.table] == pytest.approx(numbers, rel=1e-12)
    assert fixed.notes[0] == "more: per cent above the best"
