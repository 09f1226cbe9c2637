"""The best rule that keeps a bound, against each rule's own predictions and a linear programme."""

from __future__ import annotations

import json
from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog

from analytic import predict
from analytic.optimum import NoOptimumError
from analytic.robot_control.bounded_switching import Bounded
from analytic.robot_control.controlled_queue import ControlledQueue
from analytic.robot_control.switching import best_switching, queue_of
from analytic.robot_control.target_rules import RuleMeasures, measures_of_targets
from analytic.subject_to import BOUNDED, COUNTED, SHARES, Limit, best_within, cheapest_mixture
from scenarios import Scenario, load, scenario_from


def queue(**sections: Any) -> Scenario:
    system: dict[str, Any] = {
        "name": "bounded",
        "robots": {"available": 3, "access_time": {"exponential": {"mean": 1.0}}},
        "buffer": {
            "waiting_places": 3,
            "service": {"erlang": {"shape": 2, "mean": 0.8}},
            "obsolescence": {"exponential": {"mean": 4.0}},
        },
        "costs": {"loss": 20.0, "obsolescence": 30.0, "starvation": 10.0, "robots": 1.0},
    }
    return scenario_from({**system, **sections})


def value_of(scenario: Scenario, rule: dict[str, Any], measure: str) -> float:
    """Of one rule by its own prediction."""
    rows = predict(scenario.with_("activation", rule))[0]
    return next(row.value for row in rows if row.measure == measure and row.kind == "exact")


@pytest.mark.parametrize("measure", BOUNDED)
@pytest.mark.parametrize("above", [False, True])
def test_the_best_number_is_the_best_of_those_that_keep_the_bound(
    measure: str, above: bool
) -> None:
    scenario = queue()
    rules = {n: {"static": n} for n in (1, 2, 3)}
    values = {n: value_of(scenario, rule, measure) for n, rule in rules.items()}
    costs = {n: value_of(scenario, rule, "control_cost") for n, rule in rules.items()}
    bound = values[2] * (1 - 1e-6 if above else 1 + 1e-6)
    kept = [n for n in rules if (values[n] >= bound if above else values[n] <= bound)]
    best = min(kept, key=lambda n: costs[n])
    found = best_within(scenario, "static", Limit(measure, above, bound))
    assert found.decision == {"robots": best}
    assert found.cost == pytest.approx(costs[best], rel=1e-10)
    assert {row["robots"] for row in found.table} - {0} == set(kept)


def test_the_best_thresholds_are_the_best_of_those_that_keep_the_bound() -> None:
    scenario = queue()
    limit = Limit("loss_probability", False, 0.06)
    found = best_within(scenario, "threshold", limit)
    least = np.inf
    for high in (1, 2, 3):
        for low in range(1, high + 1):
            for at in range(4):
                pair = {"robots": [high, low], "at": [at]} if low < high else None
                rule = {"threshold": pair} if pair else {"static": high}
                if value_of(scenario, rule, "loss_probability") <= 0.06:
                    least = min(least, value_of(scenario, rule, "control_cost"))
    rule = dict(found.changes)["activation"]
    assert value_of(scenario, rule, "loss_probability") <= 0.06
    assert value_of(scenario, rule, "control_cost") == pytest.approx(found.cost, rel=1e-10)
    assert found.cost is not None
    assert found.cost <= least * (1 + 1e-12)
    assert found.lower_bound is not None
    assert found.lower_bound <= found.cost


numbers = st.floats(-5.0, 5.0, allow_nan=False).map(lambda x: round(x, 3))


@settings(max_examples=200, deadline=None)
@given(st.lists(st.tuples(numbers, numbers), min_size=1, max_size=12))
def test_no_mixture_of_any_rules_is_cheaper(points: list[tuple[float, float]]) -> None:
    excess, costs = np.array([(-1.0, 6.0), *points]).T
    found = cheapest_mixture(excess, costs)
    programme = linprog(
        costs, A_ub=[excess], b_ub=[0.0], A_eq=[np.ones(len(costs))], b_eq=[1.0], method="highs"
    )
    assert found.cost == pytest.approx(programme.fun, abs=1e-9)
    shares = np.zeros(len(costs))
    shares[found.rules[0]] += found.share
    shares[found.rules[1]] += 1.0 - found.share
    assert shares @ excess <= 1e-12
    assert shares @ costs == pytest.approx(found.cost, abs=1e-12)


def test_a_price_of_the_response_is_no_rate() -> None:
    scenario = queue(costs={"loss": 20.0, "starvation": 10.0, "response": 5.0})
    found = best_within(scenario, "static", Limit("throughput", True, 0.7))
    assert found.lower_bound is None


def test_what_no_rule_keeps_says_what_comes_nearest() -> None:
    with pytest.raises(NoOptimumError, match=r"the nearest, robots = 1 has 0\.0"):
        best_within(queue(), "static", Limit("loss_probability", False, 1e-9))
    with pytest.raises(NoOptimumError, match="static, threshold or switching"):
        best_within(queue(), "levels", Limit("loss_probability", False, 0.1))


@pytest.mark.parametrize(
    "text",
    ["loss<0.1", "loss_probability", "loss_probability <= x", "1", "loss_probability = 0.1", "<1"],
)
def test_a_bound_that_is_none_is_refused(text: str, crawlsim: Any) -> None:
    code, _, err = crawlsim("optimize", "one-robot", "--target", "static", "--subject-to", text)
    assert code == 2
    assert "--subject-to" in err


def test_a_bound_where_nothing_costs_anything_without_it() -> None:
    scenario = queue(costs={"robots": 1.0})
    found = best_within(scenario, "static", Limit("throughput", True, 0.5))
    assert found.decision == {"robots": 1}
    assert "without the bound the cost is 0; it costs 1 more" in found.notes


def test_a_limit_is_said_as_it_was_given() -> None:
    assert str(Limit("loss_rate", False, 0.123456789)) == "loss_rate <= 0.123456789"


def test_the_command(crawlsim: Any) -> None:
    asked = ["optimize", "four-robots-one-threshold", "--target", "threshold"]
    code, out, _ = crawlsim(*asked, "--subject-to", "throughput >= 1.44", "--json")
    (found,) = json.loads(out)
    assert code == 0
    assert found["decision"] == {"robots": [4, 2, 1], "at": [1, 2]}
    code, _, err = crawlsim(*asked, "--subject-to", "loss_probability <= 0.0001")
    assert code == 2
    assert "no rule of this kind keeps" in err
    code, _, err = crawlsim(*asked, "--subject-to", "throughput >= 1", "--kind", "simulated")
    assert code == 2
    assert "must be exact" in err


def all_targets(scenario: Scenario) -> tuple[ControlledQueue, list[RuleMeasures]]:
    """The measures of every list of targets."""
    queue = queue_of(scenario)
    each = product(range(1, queue.available + 1), *[range(queue.available + 1)] * queue.capacity)
    phases = queue.phases
    every = [[first, *np.repeat(rest, phases)] for first, *rest in each]
    return queue, [*filter(None, (measured(queue, targets) for targets in every))]


def measured(queue: ControlledQueue, targets: list[int]) -> RuleMeasures | None:
    """None where the targets leave two levels, or sets of levels, for good."""
    try:
        return measures_of_targets(queue, np.array(targets))
    except ValueError:
        return None


@pytest.mark.parametrize("measure", BOUNDED)
@pytest.mark.parametrize("above", [False, True])
@pytest.mark.parametrize("stale", [False, True])
def test_no_targets_that_keep_the_bound_cost_less(measure: str, above: bool, stale: bool) -> None:
    """Against all lists of targets, alone and mixed, at the middle one of their values."""
    buffer: dict[str, Any] = {"waiting_places": 2, "service": {"exponential": {"mean": 0.8}}}
    if stale:
        buffer["obsolescence"] = {"exponential": {"mean": 4.0}}
    scenario = queue(buffer=buffer)
    if measure == "obsolescence_probability" and not stale:
        return
    system, rules = all_targets(scenario)
    bounded = Bounded(COUNTED[measure], measure in SHARES, above, 0.0)
    values = np.array([bounded.of(rule, system) for rule in rules])
    costs = np.array([rule.cost(scenario.prices) for rule in rules])
    limit = float(np.median(values))
    delivered = np.array([system.access * rule.mean_active for rule in rules])
    total = delivered if measure in SHARES else np.ones(len(rules))
    excess = (values - limit) * total * (-1 if above else 1)
    excess = np.where(np.abs(excess) < 1e-12, 0.0, excess)
    mixture = cheapest_mixture(excess, costs)
    found = best_within(scenario, "switching", Limit(measure, above, limit))
    kept = float(costs[excess <= 0].min())
    assert found.lower_bound is not None
    assert mixture.cost * (1 - 1e-7) <= found.cost
    assert found.lower_bound <= mixture.cost * (1 + 1e-9)
    assert found.lower_bound == pytest.approx(mixture.cost, rel=1e-6)
    assert found.cost == pytest.approx(kept, rel=1e-9)
    own = measures_of_targets(system, np.array(found.decision["targets"]))
    value = bounded.of(own, system)
    assert value >= limit * (1 - 1e-9) if above else value <= limit * (1 + 1e-9)


def test_targets_that_break_the_bound_are_refuted() -> None:
    """A planted error: the targets without the bound, taken for those with it."""
    service = {"exponential": {"mean": 0.8}}
    scenario = queue(buffer={"waiting_places": 3, "service": service})
    free = best_switching(scenario)
    limit = 0.9 * free.measures.starvation
    found = best_within(scenario, "switching", Limit("starvation_probability", False, limit))
    own = measures_of_targets(free.queue, np.array(found.decision["targets"]))
    assert own.starvation <= limit < free.measures.starvation
    assert found.cost > free.cost


def test_no_targets_keep_an_impossible_bound() -> None:
    with pytest.raises(NoOptimumError, match="no rule of this kind keeps it; the nearest"):
        best_within(load("talim-switching"), "switching", Limit("throughput", True, 5.0))
