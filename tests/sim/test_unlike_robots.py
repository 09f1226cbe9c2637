"""Robots that are not alike: which of them work (`activation.these`), and the best set."""

from __future__ import annotations

import itertools
import json
import math
from typing import Any

import numpy as np
import pytest

import analytic
import sim
from analytic.rules.fixed import best_sets, kinds_of_robots
from scenarios import Scenario, ScenarioError, dumps, scenario_from
from scenarios.deliveries import as_modes
from sim import compiled_engine, simpy_engine

SLOW = {"poisson": {"rate": 0.2}}
FAST = {"poisson": {"rate": 1.0}}
BURSTS = {"mmpp": {"Q": [[-0.1, 0.1], [0.3, -0.3]], "rates": [0.1, 2.0]}}
MARKED = {
    "D0": [[-1.4, 0.2], [0.1, -1.3]],
    "robots": [
        [[[0.3, 0.1], [0.0, 0.4]]],
        [[[0.5, 0.0], [0.3, 0.0]], [[0.1, 0.0], [0.0, 0.2]]],
        [[[0.0, 0.2], [0.3, 0.0]]],
    ],
}


def system(deliveries: dict[str, Any], **changes: Any) -> Scenario:
    key, entries = next(iter(deliveries.items()))
    count = len(entries["robots"] if key == "marked" else entries)
    entries = {
        "name": "unlike",
        "robots": {"available": count, "deliveries": deliveries},
        "buffer": {"waiting_places": 4, "service": {"exponential": {"rate": 1.0}}},
        "costs": {"loss": 1.0, "starvation": 1.4, "robots": 0.01},
        "run": {"horizon": 400.0, "warmup": 10.0, "replications": 3},
    }
    return scenario_from(entries).with_(changes)


def cost_of(scenario: Scenario) -> float:
    return next(
        each.value for each in analytic.predict(scenario)[0] if each.measure == "control_cost"
    )


def cheapest(scenario: Scenario) -> tuple[float, list[int]]:
    """By the formulas for the file with each set in place, from the smallest set on."""
    available = scenario.robots.available if scenario.robots else 0
    found = []
    for size in range(1, available + 1):
        for these in itertools.combinations(range(available), size):
            found.append((cost_of(scenario.with_("activation", {"these": list(these)})), these))
    least = min(cost for cost, _ in found)
    return next((cost, list(these)) for cost, these in found if cost <= least * (1 + 1e-9))


def test_the_third_robot_alone_is_better_than_any_beginning_of_the_list() -> None:
    scenario = system({"independent": [SLOW, SLOW, FAST]}, **{"costs.robots": 0.0})
    found = analytic.optimize(scenario, "static")
    assert found.decision == {"these": [2]}
    assert found.cost == pytest.approx(0.4, rel=1e-12)
    assert found.changes == {"activation": {"these": [2]}}
    assert found.proved
    assert [row["these"] for row in found.table] == [[], [2], [0, 2], [0, 1, 2]]
    assert "all 6 different sets" in found.notes[0]


@pytest.mark.parametrize(
    "deliveries",
    [
        {"independent": [SLOW, FAST, SLOW, BURSTS]},
        {"independent": [BURSTS, FAST, {"poisson": {"rate": 0.5}}]},
        {"marked": MARKED},
    ],
    ids=["with two alike", "all different", "marked"],
)
@pytest.mark.parametrize("gamma", [0.3, 1.4])
def test_the_best_set_is_the_cheapest_of_all(deliveries: dict[str, Any], gamma: float) -> None:
    scenario = system(deliveries, **{"costs.starvation": gamma})
    cost, these = cheapest(scenario)
    found = analytic.optimize(scenario, "static")
    assert found.decision == {"these": these}
    assert found.cost == pytest.approx(cost, rel=1e-10)
    assert cost_of(scenario.with_(found.changes)) == pytest.approx(cost, rel=1e-12)


def test_robots_that_are_alike_are_a_number_as_before() -> None:
    assert "robots" in analytic.optimize(system({"independent": [FAST] * 3}), "static").decision


def test_these_are_the_robots_that_are_heard() -> None:
    """By hand: two Poisson robots of three are one of the sum of their rates."""
    scenario = system({"independent": [SLOW, {"poisson": {"rate": 0.5}}, FAST]})
    chosen = cost_of(scenario.with_("activation", {"these": [0, 2]}))
    sums = system({"independent": [{"poisson": {"rate": 1.2}}]})
    assert chosen == pytest.approx(cost_of(sums) + 0.01, rel=1e-12)
    modes = as_modes(system({"marked": MARKED}).robots.deliveries, (1,))  # type: ignore[union-attr, arg-type]
    assert modes[1, 1].tolist() == MARKED["robots"][1][0]  # type: ignore[index]
    assert modes[1, 2].tolist() == MARKED["robots"][1][1]  # type: ignore[index]


@pytest.mark.parametrize("these", [[], [1], [0, 2], [0, 1, 2]])
@pytest.mark.parametrize(
    "deliveries",
    [{"independent": [BURSTS, SLOW, FAST]}, {"marked": MARKED}],
    ids=lambda each: next(iter(each)),
)
def test_both_engines_give_the_same_path(deliveries: dict[str, Any], these: list[int]) -> None:
    scenario = system(deliveries, activation={"these": these})
    paths = [each.simulate(scenario, 0, 1) for each in (compiled_engine, simpy_engine)]
    assert paths[0] == paths[1]


@pytest.mark.statistical
def test_simulated_and_predicted_costs_agree() -> None:
    """False alarms: 1 in 15,000 each, at 4 standard errors; an error of 4 % would be seen."""
    for deliveries in ({"independent": [BURSTS, SLOW, FAST]}, {"marked": MARKED}):
        scenario = system(deliveries, activation={"these": [0, 2]}, **{"run.horizon": 4000.0})
        results = sim.run(scenario, seed=3, replications=12)
        estimate = next(each for each in results.estimates if each.measure == "control_cost")
        assert estimate.estimate == pytest.approx(
            cost_of(scenario), abs=4 * estimate.standard_error
        )


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"activation": {"these": [0, 3]}}, r"these = \[0, 3\][\s\S]*from 0 to 2"),
        ({"activation": {"these": [2, 0]}}, "increasing order"),
        ({"activation": {"these": [1, 1]}}, "increasing order"),
        (
            {"robots.deliveries": {"modes": [SLOW, SLOW, FAST]}, "activation": {"these": [0]}},
            "independent or marked",
        ),
    ],
)
def test_what_cannot_be_is_refused(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(ScenarioError, match=message):
        system({"independent": [SLOW, SLOW, FAST]}).with_(changes)


def test_the_file_written_names_the_robots(crawlsim: Any, tmp_path: Any) -> None:
    path = tmp_path / "unlike.toml"
    best = tmp_path / "best.toml"
    path.write_text(dumps(system({"independent": [SLOW, SLOW, FAST]})))
    words = ("optimize", str(path), "--target", "static", "--out", str(best))
    code, out, _ = crawlsim(*words, "--json")
    assert code == 0
    assert json.loads(out)[0]["decision"] == {"these": [2]}
    assert "these = [" in best.read_text()
    _, _, err = crawlsim("solve", str(path), "--set", "activation.optimal=static")
    assert "is these = [2]" in err
    figure = tmp_path / "costs.svg"
    assert crawlsim("optimize", str(path), "--target", "static", "--figure", str(figure))[0] == 0


@pytest.mark.parametrize("seed", range(5))
def test_a_descent_among_too_many_sets_ends_where_no_change_helps(
    seed: int,
) -> None:
    """Sums near one are best, which is hard on exchanges: no single one helps, that is all."""
    generator = np.random.default_rng(seed)
    rates = generator.uniform(0.05, 0.6, 9)

    def cost(chosen: tuple[int, ...]) -> float:
        return 1 + abs(rates[list(chosen)].sum() - 1) if chosen else math.nan

    kinds = [[robot] for robot in range(9)]
    every = best_sets(kinds, cost, "sets")
    some = best_sets(kinds, cost, "sets", most=10)
    assert every.is_complete
    assert every.tried == 2**9
    assert not some.is_complete
    assert some.tried < some.distinct == 2**9
    least = float(np.nanmin(some.costs))
    assert least <= 1.05 * float(np.nanmin(every.costs))
    assert all(cost(tuple(range(size))) >= least for size in range(1, 10))
    best = set(some.sets[int(np.nanargmin(some.costs))])
    near = [best ^ {robot} for robot in range(9)]
    near += [best ^ {robot, other} for robot in best for other in set(range(9)) - best]
    assert min(cost(tuple(sorted(each))) for each in near if each) >= least


def test_too_many_sets_are_told() -> None:
    rates = [0.01 * (3 + robot) for robot in range(15)]
    found = analytic.optimize(
        system({"independent": [{"poisson": {"rate": rate}} for rate in rates]}), "static"
    )
    assert found.proved is False
    assert "of 32,768 different sets were tried" in found.notes[0]


def test_kinds_are_robots_with_equal_entries() -> None:
    assert kinds_of_robots(system({"independent": [SLOW, FAST, SLOW]})) == [[0, 2], [1]]
    assert kinds_of_robots(system({"modes": [SLOW, FAST]})) == []
