"""Robots in a common environment: chains against oracles, optima against all rules."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest

from analytic import optimize, predict
from analytic.index.predictions import FORMULAS, exact_values
from analytic.machinery.arrival_process import delivery_modes
from analytic.robot_control.scenario_queue import queue_of
from analytic.rules.environment import best_targets_in_environment
from scenarios import Scenario, ScenarioError, scenario_from
from scenarios.model import fleet_under

ENVIRONMENT = {"Q": [[-0.02, 0.02], [0.02, -0.02]], "speeds": [1.6, 0.4]}


def system(changes: dict[str, Any] | None = None) -> Scenario:
    """Four robots in an environment of two states, with five places."""
    base = scenario_from(
        {
            "name": "environment",
            "robots": {
                "available": 4,
                "access_time": {"exponential": {"rate": 0.5}},
                "environment": ENVIRONMENT,
            },
            "buffer": {"waiting_places": 4, "service": {"exponential": {"rate": 1.0}}},
            "costs": {"loss": 1.0, "starvation": 1.4},
        }
    )
    return base.with_(changes) if changes else base


def random_system(rng: np.random.Generator, robots: int, places: int, states: int) -> Scenario:
    """Any environment, sometimes with a state in which no access goes on."""
    Q = rng.exponential(size=(states, states)) * (1 - np.eye(states))
    Q -= np.diag(Q.sum(axis=1))
    speeds = rng.exponential(size=states) * np.append(rng.integers(0, 2), np.ones(states - 1))
    speeds[-1] += 0.1
    return system(
        {
            "robots.available": robots,
            "robots.access_time.exponential.rate": float(rng.uniform(0.2, 2.0)),
            "robots.environment": {"Q": Q.tolist(), "speeds": speeds.tolist()},
            "buffer.waiting_places": places,
            "buffer.obsolescence": {"exponential": {"rate": float(rng.uniform(0.05, 1.0))}},
            "costs": {name: float(rng.random()) for name in ("loss", "starvation", "obsolescence")}
            | {"robots": float(0.1 * rng.random())},
        }
    )


def walked(scenario: Scenario, switches_on: Any) -> tuple[dict[tuple[int, int, int], float], float]:
    """States and their probabilities, and the cost, by walking event by event from the start.

    From the words of the model: `switches_on(pages, state, active)` after a delivery or a service.
    """
    robots, buffer, costs = scenario.robots, scenario.buffer, scenario.prices
    assert robots is not None
    assert robots.environment is not None
    assert buffer is not None
    access = robots.access_time.rate  # type: ignore[union-attr]
    service = buffer.service.rate  # type: ignore[union-attr]
    gone = getattr(buffer.obsolescence, "rate", 0.0)
    around, top = robots.environment, buffer.waiting_places + 1
    places: dict[tuple[int, int, int], int] = {}
    rates: list[tuple[int, tuple[int, int, int], float]] = []
    waiting = [(0, 0, robots.available)]
    paid = []

    def decided(pages: int, state: int, active: int) -> tuple[int, int, int]:
        more = active < robots.available and switches_on(pages, state, active)
        return pages, state, active + int(more)

    while waiting:
        here = waiting.pop()
        if here in places:
            continue
        places[here] = len(places)
        pages, state, active = here
        delivered = access * around.speeds[state] * active
        moves = [(decided(min(pages + 1, top), state, active - 1), delivered)] if active else []
        if pages:
            moves.append((decided(pages - 1, state, active), service))
        if pages > 1:
            moves.append(((pages - 1, state, active), gone * (pages - 1)))
        moves += [
            ((pages, other, active), around.Q[state][other])
            for other in range(around.states)
            if other != state
        ]
        moves = [(there, rate) for there, rate in moves if rate > 0]
        rates += [(places[here], there, rate) for there, rate in moves]
        waiting += [there for there, _ in moves]
        cost = costs.starvation * (pages == 0) + costs.loss * delivered * (pages == top)
        waits = costs.obsolescence * gone * max(pages - 1, 0)
        paid.append(cost + waits + costs.robots * active)
    generator = np.zeros((len(places), len(places)))
    for origin, there, rate in rates:
        generator[origin, places[there]] += rate
    generator -= np.diag(generator.sum(axis=1))
    left = np.vstack([generator.T, np.ones(len(places))])
    law = np.linalg.lstsq(left, np.append(np.zeros(len(places)), 1.0), rcond=None)[0]
    return dict(zip(places, law.tolist(), strict=True)), float(law @ paid)


def as_modes(scenario: Scenario) -> Scenario:
    """The same deliveries as free modes, which differ with no robot active only."""
    robots = scenario.robots
    assert robots is not None
    assert robots.environment is not None
    around = robots.environment
    rate = robots.access_time.rate  # type: ignore[union-attr]
    modes = [
        {"mmpp": {"Q": around.Q, "rates": [active * rate * speed for speed in around.speeds]}}
        for active in range(1, robots.available + 1)
    ]
    plain = {"robots": {"available": robots.available, "deliveries": {"modes": modes}}}
    return scenario.with_(plain)


@pytest.mark.parametrize(
    "changes",
    [
        {"activation.static": 3},
        {"activation.threshold": {"robots": [4, 2, 1], "at": [1, 3]}},
        {"activation.levels": [1, 4, 2, 3, 1, 2]},
        {"activation.static": 2, "buffer.obsolescence.exponential.rate": 0.3},
        {"activation.static": 4, "buffer.discipline": "lifo", "buffer.when_full": "push-out"},
        {"activation.static": 4, "buffer.servers": 2},
        {"activation.static": 4, "buffer.sojourn_quantiles": [0.5, 0.9]},
        {
            "activation.threshold": {"robots": [4, 2], "at": [2]},
            "buffer.service.phase-type": {"alpha": [0.6, 0.4], "T": [[-3.0, 1.0], [0.0, -0.8]]},
        },
    ],
)
def test_without_switching_it_is_a_modulated_process(changes: dict[str, Any]) -> None:
    scenario = system(changes)
    found, expected = exact_values(scenario), exact_values(as_modes(scenario))
    assert found.keys() == expected.keys()
    assert found
    for key, (value, _) in expected.items():
        assert found[key][0] == pytest.approx(value, rel=1e-12, abs=1e-15), key


def test_the_environment_runs_on_with_no_robot_active() -> None:
    # Thinned batches run on, free modes stand still: with levels at which nobody works the two
    # differ, and the environment is the first.
    rule = {"levels": [4, 2, 0, 0, 1, 0]}
    scenario = system({"activation": rule})
    robots = scenario.robots
    assert robots is not None
    rates = [4 * 0.5 * speed for speed in ENVIRONMENT["speeds"]]
    process = {"mmpp": {"Q": ENVIRONMENT["Q"], "rates": rates}}
    thinned = {"thinned": {"process": process, "keep": [0.25, 0.5, 0.75, 1.0]}}
    same = scenario.with_({"robots": {"available": 4, "deliveries": thinned}})
    found, expected = exact_values(scenario), exact_values(same)
    for key, (value, _) in expected.items():
        assert found[key][0] == pytest.approx(value, rel=1e-12, abs=1e-15), key
    still = exact_values(as_modes(scenario))["starvation_probability", None][0]
    assert abs(found["starvation_probability", None][0] / still - 1) > 0.01
    assert delivery_modes(fleet_under(robots), range(5)).shape == (5, 2, 2, 2)


@pytest.mark.parametrize("seed", range(8))
def test_targets_by_state_against_a_walk(seed: int) -> None:
    rng = np.random.default_rng(seed)
    robots, places, states = (int(each) for each in rng.integers((1, 0, 1), (5, 4, 4)))
    scenario = random_system(rng, robots, places, states)
    targets = rng.integers(0, robots + 1, size=(states, places + 2))
    targets[:, 0] = np.maximum(targets[:, 0], 1)
    given = targets.tolist() if seed % 2 else targets[0].tolist()
    targets = targets if seed % 2 else np.tile(targets[0], (states, 1))
    scenario = scenario.with_("activation", {"switching": {"targets": given}})
    law, cost = walked(scenario, lambda pages, state, active: active < targets[state, pages])
    predictions, _ = predict(scenario)
    rows: dict[Any, list[float]] = {}
    for each in predictions:
        if each.kind == "exact":
            rows.setdefault((each.measure, each.subject), []).append(each.value)
    expected = {
        ("control_cost", None): cost,
        ("mean_active_robots", None): sum(p * active for (_, _, active), p in law.items()),
        ("mean_in_system", None): sum(p * pages for (pages, _, _), p in law.items()),
        ("level_probability", 0): sum(p for (pages, _, _), p in law.items() if pages == 0),
    }
    assert len(rows["starvation_probability", None]) == 2  # by two formulas
    assert len(rows["level_probability", 0]) == 2
    for key, value in expected.items():
        assert rows[key] == pytest.approx([value] * len(rows[key]), rel=1e-8), key


@pytest.mark.parametrize("seed", range(4))
def test_no_rule_of_all_is_better(seed: int) -> None:
    # Two robots, two places and two states: all 1024 rules of level, state and active robots.
    scenario = random_system(np.random.default_rng(seed), 2, 1, 2)
    cells = [(q, e, r) for q in range(3) for e in range(2) for r in range(2) if (q, r) != (0, 0)]
    costs = []
    for choices in product((False, True), repeat=len(cells)):
        chosen = dict(zip(cells, choices, strict=True))
        rule = lambda *at, chosen=chosen: chosen.get(at, True)  # noqa: E731
        costs.append(walked(scenario, rule)[1])
    best = optimize(scenario, "switching")
    assert best.lower_bound == pytest.approx(best.cost, rel=1e-12)
    assert best.cost == pytest.approx(min(costs), rel=1e-9)


@pytest.mark.parametrize("seed", range(6))
def test_no_list_of_all_is_better(seed: int) -> None:
    rng = np.random.default_rng(seed)
    robots, places, states = (int(each) for each in rng.integers((1, 0, 2), (4, 3, 4)))
    unseen = random_system(rng, robots, places, states).with_("robots.environment.seen", False)
    lists = product(range(1, robots + 1), *[range(robots + 1)] * (places + 1))
    costs = {
        each: walked(unseen, lambda pages, _, active, each=each: active < each[pages])[1]
        for each in lists
    }
    best = optimize(unseen, "switching")
    assert best.cost == pytest.approx(min(costs.values()), rel=1e-9)
    assert costs[tuple(best.decision["targets"])] == pytest.approx(best.cost, rel=1e-9)
    seen = optimize(unseen.with_("robots.environment.seen", True), "switching")
    assert best.lower_bound == seen.lower_bound
    assert seen.cost <= best.cost * (1 + 1e-12)


@pytest.mark.parametrize("speeds", [[1e-6, 1e5], [0.0, 1e4], [1e-4, 3e-4]])
def test_lists_where_rates_are_far_apart(speeds: list[float]) -> None:
    scenario = system(
        {
            "robots.available": 2,
            "buffer.waiting_places": 1,
            "robots.environment": {
                "Q": [[-1e-3, 1e-3], [20.0, -20.0]],
                "speeds": speeds,
                "seen": False,
            },
        }
    )
    queue = queue_of(scenario)
    lists = [(first, *rest) for first in (1, 2) for rest in product(range(3), repeat=2)]
    prices = queue.costs(scenario.prices)
    costs = [queue.gain(queue.towards(np.array(each)), prices) for each in lists]
    assert optimize(scenario, "switching").cost == pytest.approx(min(costs), rel=1e-12)


def test_lists_with_two_closed_classes_count_from_the_start() -> None:
    # One place, targets [1, 2]: with two active robots at the start a delivery brings each back,
    # with one it stays at one. Every robot is active at time 0.
    scenario = system({"robots.available": 2, "buffer.waiting_places": 0})
    queue = queue_of(scenario)
    cost = queue.gain(queue.towards(np.array([1, 2])), queue.costs(scenario.prices))
    assert cost == pytest.approx(walked(scenario, lambda q, _, r: r < (1, 2)[q])[1], rel=1e-9)
    lower = walked(scenario.with_("robots.available", 1), lambda q, _, r: r < (1, 2)[q])[1]
    assert abs(cost / lower - 1) > 0.1


@pytest.mark.thorough
def test_what_it_is_worth_to_see_the_environment() -> None:
    # The figures of docs/how-to/see-the-network.md's system in small; found by enumeration above.
    seen = optimize(system(), "switching")
    unseen = optimize(system({"robots.environment.seen": False}), "switching")
    assert seen.decision["targets"] == [[4, 4, 3, 2, 1, 0], [4, 4, 4, 4, 2, 0]]
    assert unseen.decision["targets"] == [1, 4, 4, 2, 1, 0]
    assert seen.cost == pytest.approx(0.20294057951514)
    assert unseen.cost == pytest.approx(0.21954592497219)
    assert any("seeing the environment is worth 0.0166053" in note for note in unseen.notes)
    assert [row["unseen"] for row in seen.table] == unseen.decision["targets"]


def test_a_fast_environment_is_its_mean() -> None:
    # The faster it changes, the less it matters: in the limit every access runs at the mean speed.
    often = system({"robots.environment.Q": [[-1e5, 1e5], [1e5, -1e5]]})
    mean = often.with_("robots.environment", None)
    assert optimize(often, "switching").cost == pytest.approx(
        optimize(mean, "switching").cost, rel=1e-4
    )


def test_without_an_environment_it_is_the_ordinary_optimum() -> None:
    one = system({"robots.environment": {"Q": [[0.0]], "speeds": [2.0]}})
    plain = one.with_({"robots.environment": None, "robots.access_time.exponential.rate": 1.0})
    found, expected = optimize(one, "switching"), optimize(plain, "switching")
    assert found.decision == expected.decision
    assert found.cost == pytest.approx(expected.cost, rel=1e-12)


def test_static_and_levels() -> None:
    for target in ("static", "threshold", "levels"):
        found, expected = optimize(system(), target), optimize(as_modes(system()), target)
        assert found.decision == expected.decision, target
        if target != "static":  # without a robot its environment runs on
            assert found.cost == pytest.approx(expected.cost, rel=1e-9), target


@pytest.mark.parametrize(
    ("changes", "target", "reason"),
    [
        ({"robots.access_time": {"deterministic": {"value": 2.0}}}, "switching", "not exponential"),
        ({"buffer.service": {"deterministic": {"value": 1.0}}}, "switching", "not of phase type"),
        (
            {
                "buffer.service": {"erlang": {"shape": 2, "mean": 1.0}},
                "robots.environment.seen": False,
            },
            "switching",
            "one phase of the service only; with robots.environment.seen = true",
        ),
        ({"costs.response": 1.0}, "switching", "prices the response"),
        ({"buffer.servers": 2}, "switching", "2 servers"),
        ({}, "free", "does not go with robots.environment"),
        (
            {"robots.available": 16, "robots.environment.seen": False},
            "switching",
            "lists of targets",
        ),
        ({"robots.available": 2000}, "switching", "states, limit"),
    ],
)
def test_what_has_no_answer(changes: dict[str, Any], target: str, reason: str) -> None:
    with pytest.raises(ScenarioError, match=reason):
        optimize(system(changes), target)


def test_no_other_formula_covers_an_environment() -> None:
    # Those that follow the environment in their chain, and nothing else.
    rules = [{"static": 1}, {"switching": {"targets": [[4, 3, 2, 1, 1, 1]] * 2}}]
    laws = [{"exponential": {"rate": 0.5}}, {"deterministic": {"value": 2.0}}]
    covering = {
        (formula.paper, formula.number)
        for rule in rules
        for law in laws
        for formula in FORMULAS
        if formula.reason_against(system({"activation": rule, "robots.access_time": law})) is None
    }
    of_the_chain = {number for paper, number in covering if paper == "avrachenkov2011"}
    assert {number for paper, number in covering if paper == "talim2001"} == {
        "(6), environment",
        "(8), environment",
    }
    assert {paper for paper, _ in covering} == {"talim2001", "avrachenkov2011"}
    assert of_the_chain <= {
        "Lemma and Theorem 1",
        "Theorem 2",
        "Theorem 3",
        "Corollary 1",
        "Theorem 4",
        "(2)",
    }
    deterministic = system({"robots.access_time": laws[1], "activation": rules[0]})
    assert predict(deterministic)[0] == []


def test_the_figure_has_a_row_for_each_state_and_one_for_all() -> None:
    from crawlsim.report.optimum_figures import PLOTS

    ax = PLOTS["switching"](optimize(system(), "switching").search, None)
    names = [label.get_text() for label in ax.get_yticklabels()]
    assert names == ["seen, state 0", "seen, state 1", "unseen"]
    written = [int(text.get_text()) for text in ax.texts]
    assert written[-6:] == [1, 4, 4, 2, 1, 0]


def test_the_search_is_kept() -> None:
    scenario = system()
    assert best_targets_in_environment(scenario) is best_targets_in_environment(scenario)
