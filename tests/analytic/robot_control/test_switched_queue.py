"""The queue of switched robots, with classes, an environment and phases of the service at once."""

from __future__ import annotations

import numpy as np
import pytest

import sim
from analytic import compare, optimize, overall, predict
from analytic.machinery.decision_process import policy_iteration
from analytic.machinery.phase_type import PhaseLaw
from analytic.machinery.refusal import NoAnswerError
from analytic.machinery.robot_modes import Modes
from analytic.robot_control.switched_queue import (
    Levels,
    SwitchedQueue,
    best_policy,
    measures_of_policy,
)
from scenarios import Scenario, scenario_from
from scenarios.choices import NO_CLASS
from scenarios.sections import Costs

PHASES = PhaseLaw(np.array([0.6, 0.4]), np.array([[-3.0, 1.0], [0.5, -1.0]]))
EXPONENTIAL = PhaseLaw(np.ones(1), np.array([[-1.2]]))
Q = np.array([[-0.2, 0.2, 0.0], [0.1, -0.3, 0.2], [0.5, 0.0, -0.5]])
TWO_STATES = np.array([[-0.2, 0.2], [0.1, -0.1]]), np.array([1.6, 0.4])
THREE_STATES = Q, np.array([1.6, 1.0, 0.4])
ONE_STILL = Q, np.array([1.6, 0.0, 0.4])
PRICES = Costs(loss=1.3, obsolescence=0.7, starvation=0.9, robots=0.05)


@pytest.mark.parametrize(
    ("levels", "modes", "states", "cost"),
    [
        (Levels(EXPONENTIAL, 0.0, 6), Modes((0.4,), (5,)), 41, 0.1964567932705),
        (Levels(EXPONENTIAL, 0.0, 6), Modes((0.4, 0.9), (2, 3)), 83, 0.07388816782188),
        (Levels(PHASES, 0.3, 6), Modes((0.4,), (5,)), 77, 0.4621407350101),
        (Levels(PHASES, 0.3, 6), Modes((0.4, 0.9), (2, 3)), 155, 0.3447968299126),
        (
            Levels(EXPONENTIAL, 0.3, 6),
            Modes((0.4,), (5,), *ONE_STILL),
            123,
            0.6299916253887,
        ),
        (
            Levels(PHASES, 0.3, 4),
            Modes((0.4, 0.9), (2, 2), *THREE_STATES),
            240,
            0.3410032686017,
        ),
    ],
)
def test_the_least_costs_are_those_of_the_three_processes_before(
    levels: Levels, modes: Modes, states: int, cost: float
) -> None:
    # Written down when robots alike, of classes and in an environment each had a process of their
    # own; the last by a prototype that was written apart from this one.
    queue = SwitchedQueue(levels, modes)
    best = policy_iteration(queue.process(queue.costs(PRICES)))
    assert queue.states == states
    assert best.gain == pytest.approx(cost, rel=1e-12)
    assert best.upper - best.lower < 1e-12


def test_what_is_delivered_ends() -> None:
    modes = Modes((0.4, 0.9), (2, 2), *THREE_STATES)
    queue = SwitchedQueue(Levels(PHASES, 0.3, 4), modes)
    best = best_policy(queue, queue.costs(PRICES))
    rule = measures_of_policy(queue, best.rule)
    delivered = queue.gain(best.rule, queue.rewards(delivery=1.0))
    ended = rule.throughput + rule.loss_rate + rule.obsolescence_rate
    assert delivered == pytest.approx(ended, rel=1e-12)
    assert rule.occasions.sum() == pytest.approx(delivered + rule.throughput, rel=1e-12)
    assert rule.levels.sum() == pytest.approx(1.0, rel=1e-12)


@pytest.mark.parametrize("robots", [2, 40])
def test_a_rule_with_two_closed_classes_is_refused(robots: int) -> None:
    # Always the class that rests by itself, and two of either: what it settles to is chance, and
    # no less so in an environment, in a chain too large for dense elimination.
    modes = Modes((1.0, 0.5), (robots, robots), *TWO_STATES)
    queue = SwitchedQueue(Levels(EXPONENTIAL, 0.0, 1), modes)
    first, second = modes.active.T
    class_at_rest = np.where((first > second) | (first + second == 0), 0, 1)
    wanted = np.tile(np.where(first + second < 2, class_at_rest, NO_CLASS), (2, 1))
    policy = queue.policy(wanted)
    with pytest.raises(NoAnswerError, match="its chain has 2 closed classes"):
        queue.settled(policy)


def test_a_class_that_is_not_reached_does_not_count() -> None:
    # One place, targets [1, 2]: from the start with every robot active two robots remain, and a
    # robot that is alone would remain alone.
    for robots in (2, 300):
        queue = SwitchedQueue(Levels(EXPONENTIAL, 0.0, 1), Modes((0.5,), (robots,), *TWO_STATES))
        rule = measures_of_policy(queue, queue.towards(np.array([1, 2])))
        assert rule.active == pytest.approx([2.0], rel=1e-12)


TWO_PHASES = {"phase-type": {"alpha": [0.6, 0.4], "T": [[-3.0, 1.0], [0.0, -0.8]]}}


def far_and_near() -> Scenario:
    """Two classes in an environment, with a service of two phases."""
    return scenario_from(
        {
            "name": "far-and-near",
            "robots": {
                "classes": [
                    {"name": "near", "available": 1, "access_time": {"exponential": {"rate": 1.5}}},
                    {"name": "far", "available": 2, "access_time": {"exponential": {"rate": 0.4}}},
                ],
                "environment": {"Q": [[-0.1, 0.1], [0.1, -0.1]], "speeds": [1.7, 0.3]},
            },
            "buffer": {"waiting_places": 3, "service": TWO_PHASES},
            "costs": {"loss": 1.0, "starvation": 1.4, "robots": [0.12, 0.02]},
            "run": {"horizon": 100000.0, "warmup": 200.0, "replications": 60},
        }
    )


def test_the_best_choices_see_class_environment_and_phase() -> None:
    found = optimize(far_and_near(), "switching")
    choices = np.array(found.decision["choices"])
    assert choices.shape == (2, 2, 5, 2, 3)  # states, phases, levels, near, far
    assert found.cost - found.lower_bound <= 1e-12 * found.cost
    assert {row["state"] for row in found.table} == {0, 1}
    decided = far_and_near().with_(found.changes)
    said = {each.source: each.value for each in predict(decided)[0] if "cost" in each.measure}
    assert said == pytest.approx(dict.fromkeys(said, found.cost), rel=1e-10)
    assert set(said) == {"talim2001 (6), environment", "avrachenkov2011 (2)"}


@pytest.mark.statistical
@pytest.mark.thorough
def test_the_best_choices_in_a_simulation() -> None:
    """False alarms: 1e-3 for all measures together. The exchange makes the cost 10 % larger."""
    found = optimize(far_and_near(), "switching")
    decided = far_and_near().with_(found.changes)
    predictions = predict(decided)[0]
    judged = ("control_cost", "starvation_probability", "loss_rate", "mean_active_robots")
    assert overall(compare(predictions, sim.run(decided), judged)) == "agrees"
    exchanged = decided.with_("activation.switching.choices", found.decision["choices"][::-1])
    assert overall(compare(predictions, sim.run(exchanged), judged)) == "disagrees"


def test_targets_see_environment_and_phase() -> None:
    alike = far_and_near().with_(
        {
            "robots": {
                "available": 4,
                "access_time": {"exponential": {"rate": 0.5}},
                "environment": {"Q": [[-0.1, 0.1], [0.1, -0.1]], "speeds": [1.7, 0.3]},
            },
            "costs.robots": 0.05,
        }
    )
    found = optimize(alike, "switching")
    assert np.array(found.decision["targets"]).shape == (2, 2, 5)
    assert found.cost - found.lower_bound <= 1e-12 * found.cost
    decided = alike.with_(found.changes)
    said = {each.source: each.value for each in predict(decided)[0] if "cost" in each.measure}
    assert said == pytest.approx(dict.fromkeys(said, found.cost), rel=1e-10)
    exchanged = decided.with_("activation.switching.targets", found.decision["targets"][::-1])
    (worse,) = [each.value for each in predict(exchanged)[0] if each.source.endswith("(2)")]
    assert worse > found.cost * 1.01


def test_targets_by_phase_of_any_service_with_phases() -> None:
    # What is found goes into the file: an Erlang service has its stages as phases.
    scenario = far_and_near().with_(
        {
            "robots": {"available": 4, "access_time": {"exponential": {"rate": 0.5}}},
            "buffer.service": {"erlang": {"shape": 2, "mean": 1.0}},
            "costs.robots": 0.05,
        }
    )
    found = optimize(scenario, "switching")
    assert np.array(found.decision["targets"]).shape == (2, 5)
    (cost,) = {
        round(each.value, 10)
        for each in predict(scenario.with_(found.changes))[0]
        if each.measure == "control_cost"
    }
    assert cost == pytest.approx(found.cost, rel=1e-9)
