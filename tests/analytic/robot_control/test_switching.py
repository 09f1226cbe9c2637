"""The optimal switching of talim2001: the fast solver, the measures, the curves, the extensions."""

from __future__ import annotations

from itertools import pairwise, product
from typing import Any

import numpy as np
import pytest

import sim
from analytic import compare, optimize, overall, predict, resolve
from analytic.machinery.decision_process import evaluate, policy_iteration
from analytic.machinery.markov import closed_classes
from analytic.machinery.phase_type import PhaseLaw
from analytic.machinery.robot_modes import Modes
from analytic.robot_control import static_cost
from analytic.robot_control.elimination import values as eliminated
from analytic.robot_control.optimal_targets import solved, with_response
from analytic.robot_control.switched_queue import Levels, Rewards, SwitchedQueue, measures_of_chain
from analytic.robot_control.switching import best_switching, queue_of, switching_curves
from analytic.robot_control.target_rules import (
    best_targets,
    measures_of_targets,
    target_drift,
    target_gains,
)
from analytic.rules.fixed import best_fixed_number
from experiments.control_gap import control_gap
from experiments.curve_rules import generator_of_curves, level_targets
from papers.talim2001 import critical_price, optimal_load, optimal_number
from scenarios import Scenario, ScenarioError, load
from scenarios.sections import Costs

H2 = PhaseLaw(np.array([0.3, 0.7]), np.array([[-0.5, 0.2], [0.0, -2.0]]))
TALIM = load("talim-switching")


def single(access: float, available: int, capacity: int, service: float = 1.0) -> SwitchedQueue:
    law = PhaseLaw(np.ones(1), np.array([[-service]]))
    return SwitchedQueue(Levels(law, 0.0, capacity), Modes((access,), (available,)))


def drawn(seed: int) -> tuple[SwitchedQueue, Rewards]:
    """A small queue and prices, over some orders of magnitude."""
    rng = np.random.default_rng(seed)
    queue = single(10 ** rng.uniform(-1.5, 0.5), int(rng.integers(1, 12)), int(rng.integers(1, 9)))
    price = 10 ** rng.uniform(-2, 1.5)
    return queue, queue.costs(Costs(loss=1, starvation=price, robots=rng.choice([0, 0.01])))


def falling(seed: int, queue: SwitchedQueue) -> np.ndarray:
    """Targets that do not increase, the first at least 1; equal ones and large steps among them."""
    rng = np.random.default_rng(seed)
    targets = np.sort(rng.integers(0, queue.modes.available + 1, queue.levels.number))[::-1].copy()
    targets[0] = max(targets[0], 1)
    return targets


# -- the static optimum ---------------------------------------------------------------------------


@pytest.mark.parametrize("capacity", [1, 2, 5, 10, 15, 1000])
def test_at_the_critical_price_load_one_is_best(capacity: int) -> None:
    assert optimal_load(critical_price(capacity, 3.0) / 3.0, capacity) == pytest.approx(
        1, abs=1e-14
    )
    assert critical_price(15, 1.0) == pytest.approx(17 / 15)


@pytest.mark.parametrize("seed", range(60))
def test_the_closed_form_and_the_enumeration_find_the_same_number(seed: int) -> None:
    """Proposition 3 against the cost of every number, by the formula and by elimination."""
    rng = np.random.default_rng(seed)
    access = 10 ** rng.uniform(-1.5, 1)
    service = 10 ** rng.uniform(-1, 1)
    price = 10 ** rng.normal()
    capacity = int(rng.integers(1, 12))
    available = int(rng.integers(1, 30))
    found = optimal_number(access, service, capacity, price, available)
    loads = np.arange(available + 1) * access / service
    assert found == int(np.argmin(static_cost(loads, capacity, service, price)))
    scenario = load("talim-static-k5").with_(
        {
            "robots": {"available": available, "access_time": {"exponential": {"rate": access}}},
            "activation.static": 1,
            "buffer.waiting_places": capacity - 1,
            "buffer.service.exponential.rate": service,
            "costs.starvation": price,
        }
    )
    assert found == best_fixed_number(scenario).optimum


@pytest.mark.parametrize("price", [1e-9, 1e-2, 1e2, 1e9])
def test_the_best_load_at_extreme_prices_is_a_minimum(price: float) -> None:
    best = optimal_load(price, 6)
    costs = [static_cost(best * step, 6, 1.0, price) for step in (0.9, 1.0, 1.1)]
    assert costs[1] < min(costs[0], costs[2])


# -- target rules by elimination ------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(150))
def test_elimination_gives_gain_and_values_of_the_general_solver(seed: int) -> None:
    queue, rewards = drawn(seed)
    targets = falling(seed, queue)
    process = queue.process(rewards)
    expected = evaluate(process, queue.towards(targets))
    assert target_gains(queue, targets, [rewards])[0] == pytest.approx(expected.gain, rel=1e-9)
    (access,), (available,) = queue.modes.rates, queue.modes.sizes
    fixed = np.stack([np.ones(queue.levels.number), rewards.level])
    each = np.stack([np.zeros(queue.levels.number), access * rewards.delivery + rewards.robots])
    gain, found = eliminated(targets, available, np.array([access, 1.0]), fixed, each)
    values = np.insert(expected.values, 0, np.nan).reshape(queue.shape).T
    scale = max(1.0, float(np.abs(expected.values).max()))
    assert gain == pytest.approx(expected.gain, rel=1e-9)
    difference = (found - found[1, 0]) - (values - values[1, 0])
    assert np.nanmax(np.abs(difference)) <= 1e-9 * scale
    balance = target_drift(queue, rewards, found)
    assert np.nanmin(balance) <= gain + 1e-9 * scale


def test_another_rate_is_another_gain() -> None:
    """Negative control: 1 % more accesses are seen in gain and values."""
    queue, rewards = drawn(5)
    targets = falling(5, queue)
    more = SwitchedQueue(queue.levels, Modes((queue.modes.rates[0] * 1.01,), queue.modes.sizes))
    gain = target_gains(queue, targets, [rewards])[0]
    assert target_gains(more, targets, [rewards])[0] != pytest.approx(gain, rel=1e-4)


@pytest.mark.by_day(every=3)
@pytest.mark.parametrize("seed", range(150))
def test_the_optimum_among_targets_is_that_of_the_general_solver(seed: int) -> None:
    queue, rewards = drawn(seed)
    found = best_targets(queue, rewards)
    expected = policy_iteration(queue.process(rewards))
    assert found.gain == pytest.approx(expected.gain, rel=1e-8)
    assert found.lower <= found.gain * (1 + 1e-12)
    assert found.upper - found.lower <= 1e-10 * max(1.0, found.gain)


@pytest.mark.thorough
def test_six_hundred_optima_have_monotone_switching_curves() -> None:
    """The conjecture of talim2001, section 3: the sign of V(q, r) - V(q, r - 1), where it is clear.

    Certified optima over all rules; the sign rises with the level and with the number of robots.
    """
    checked = 0
    for seed in range(600):
        queue, rewards = drawn(10_000 + seed)
        found = best_targets(queue, rewards)
        if found.upper - found.lower > 1e-9 * max(found.gain, 1e-3):
            continue
        gains = np.diff(found.values, axis=0)
        clear = np.abs(gains) > 1e-10 * np.abs(found.values).max()
        sign = np.where(clear, np.sign(gains), 0)
        sign[0, 0] = -1
        for axis in (0, 1):
            highest = np.maximum.accumulate(sign, axis=axis)
            assert not np.any((sign == -1) & (highest == 1)), (seed, found.targets)
        assert all(a >= b for a, b in pairwise(found.targets))
        checked += 1
    assert checked >= 580


@pytest.mark.parametrize(("price", "cost"), [(1.0, 0.209074), (1.4, 0.259240), (2.0, 0.322115)])
def test_the_costs_of_the_figures(price: float, cost: float) -> None:
    found = optimize(TALIM.with_("costs.starvation", price), "switching")
    assert found.cost == pytest.approx(cost, abs=5e-7)
    assert found.lower_bound == pytest.approx(found.cost, abs=1e-11)


def test_a_long_queue_is_solved_to_a_narrow_bound() -> None:
    """K = N = 200, and digits are kept where the optimum is very small (N = 400)."""
    queue = single(1 / 200, 200, 200)
    found = best_targets(queue, queue.costs(Costs(loss=1, starvation=1.4)), tolerance=1e-10)
    assert found.gain == pytest.approx(0.0075196666, abs=1e-10)
    assert found.upper - found.lower <= 1e-10
    queue = single(1 / 200, 400, 200)
    found = best_targets(queue, queue.costs(Costs(loss=1, starvation=1.4)), tolerance=1e-9)
    assert 0 < found.gain < 1e-13
    measures = measures_of_targets(queue, found.targets)
    assert measures.cost(Costs(loss=1, starvation=1.4)) == pytest.approx(found.gain, rel=1e-9)


@pytest.mark.parametrize("robots", [3, 40, 100])
def test_loads_far_above_one_do_not_overflow(robots: int) -> None:
    """M/M/1/201 at loads 1.2, 16 and 40: 40^201 is beyond a double. Values balance everywhere."""
    queue = single(0.4, robots, 201)
    targets = np.full(202, robots)
    rewards = queue.costs(Costs(loss=1, starvation=1))
    gain = target_gains(queue, targets, [rewards])[0]
    assert gain == pytest.approx(float(static_cost(0.4 * robots, 201, 1.0, 1.0)), rel=1e-12)
    measures = measures_of_targets(queue, targets)
    assert (measures.fewest, measures.most) == (robots, robots)
    fixed = np.stack([np.ones(202), rewards.level])
    each = np.stack([np.zeros(202), 0.4 * rewards.delivery + rewards.robots])
    found = eliminated(targets, robots, np.array([0.4, 1.0]), fixed, each)[1]
    row = found[robots]
    rise = 0.4 * robots * (np.append(row[1:], row[-1]) - row)
    fall = np.append(0.0, row[:-1] - row[1:])
    balance = queue.earned(rewards)[:, robots] + rise + fall - gain
    assert np.abs(balance).max() < 1e-9 * max(1.0, gain)


# -- measures -------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(60))
def test_measures_by_elimination_are_those_of_the_chain(seed: int) -> None:
    queue, _ = drawn(seed)
    targets = falling(seed, queue)
    one = measures_of_targets(queue, targets)
    generator = queue.generator(queue.towards(targets))
    other = measures_of_chain(queue, generator)
    assert (one.fewest, one.most) == (other.fewest, other.most)
    assert one.levels == pytest.approx(other.levels, abs=1e-11)
    for mine, theirs in zip(one[:6], other[:6], strict=True):
        assert mine == pytest.approx(theirs, rel=1e-8, abs=1e-11)
    assert one.response == pytest.approx(other.response, rel=1e-8)
    (recurrent,) = closed_classes(generator)
    assert len(recurrent) > 1


def dense(scenario: Scenario) -> dict[Any, float]:
    """The predictions of avrachenkov2011's chain, which another module builds."""
    found = predict(scenario)[0]
    return {(r.measure, r.subject): r.value for r in found if "avrachenkov" in r.source}


BY_PHASE = "buffer.service", {"phase-type": {"alpha": [0.4, 0.6], "T": [[-2.0, 1.0], [0.0, -0.5]]}}
STALE = {"buffer.obsolescence": {"exponential": {"rate": 0.2}}, "costs.obsolescence": 0.5}
SYSTEMS = {
    "plain": TALIM,
    "by phase": TALIM.with_(*BY_PHASE),
    "stale": TALIM.with_(STALE),
    "stale by phase": TALIM.with_(STALE | dict([BY_PHASE])),
    "response": TALIM.with_("costs.response", 0.05),
    "stale response": TALIM.with_(STALE | {"costs.response": 0.05}),
}


@pytest.mark.by_day(besides=("response", "stale response"))
@pytest.mark.parametrize("name", SYSTEMS)
def test_the_dense_chain_gives_the_found_rule_the_same_measures(name: str) -> None:
    """Cost, fates, levels and response, of rules by level and by phase."""
    best = optimize(SYSTEMS[name], "switching")
    expected = dense(SYSTEMS[name].with_(best.changes))
    measures = best.search.measures
    assert best.cost == pytest.approx(expected["control_cost", None], rel=1e-9)
    assert best.lower_bound <= best.cost * (1 + 1e-12)
    assert measures.starvation == pytest.approx(expected["starvation_probability", None], rel=1e-9)
    assert measures.loss_rate == pytest.approx(expected["loss_rate", None], rel=1e-9)
    assert measures.throughput == pytest.approx(expected["throughput", None], rel=1e-9)
    assert measures.mean_active == pytest.approx(expected["mean_active_robots", None], rel=1e-9)
    assert measures.mean_in_system == pytest.approx(expected["mean_in_system", None], rel=1e-9)
    assert measures.response == pytest.approx(expected["sojourn_time", "served"], rel=1e-9)
    for level, probability in enumerate(measures.levels):
        assert probability == pytest.approx(expected["level_probability", level], rel=1e-9)


@pytest.mark.by_day(besides=("0.0-PH-0.3", "0.2-M-0.3", "0.2-PH-0.0", "0.2-PH-0.3", "0.0-PH-0.0"))
@pytest.mark.parametrize("obsolescence", [0.0, 0.3])
@pytest.mark.parametrize("service", [PhaseLaw(np.ones(1), np.array([[-1.0]])), H2], ids=["M", "PH"])
@pytest.mark.parametrize("response", [0.0, 0.2])
def test_no_target_rule_is_better(obsolescence: float, service: PhaseLaw, response: float) -> None:
    """All target rules of a tiny queue; the bound is below all of them."""
    queue = SwitchedQueue(Levels(service, obsolescence, 2), Modes((0.6,), (2,)))
    costs = Costs(loss=1, starvation=1.4, obsolescence=0.3, response=response)
    targets = product(range(3), repeat=queue.levels.number)
    every = [np.array(each) for each in targets if each[0] >= 1]
    found = solved(queue, queue.costs(costs)) if not response else with_response(queue, costs)
    least = min(cost for each in every if (cost := cost_of(queue, each, costs)) is not None)
    assert found.cost == pytest.approx(least, rel=1e-10)
    assert found.lower <= least * (1 + 1e-12)
    assert found.lower == pytest.approx(least, rel=1e-9 if not response else 1e-3)


def cost_of(queue: SwitchedQueue, targets: np.ndarray, costs: Costs) -> float | None:
    """The cost of a target rule, or None where it depends on the start."""
    try:
        return measures_of_chain(queue, queue.generator(queue.towards(targets))).cost(costs)
    except ValueError:
        return None


# -- curves ---------------------------------------------------------------------------------------


def test_the_curves_are_the_decisions() -> None:
    """f_s(r) >= q iff the best rule of the decision process switches on, event by event."""
    queue = single(0.1, 16, 5)
    rewards = queue.costs(Costs(loss=1, starvation=1.4))
    optimum = policy_iteration(queue.process(rewards))
    on = queue.switched(optimum.policy) >= 0
    curves = switching_curves(best_targets(queue, rewards).targets, 16)
    for q, r in product(range(6), range(17)):
        if q >= 1 and r < 16:
            assert (curves.after_service[r] >= q) == on[q - 1, r]
        if r >= 1:
            assert (curves.after_delivery[r] >= q) == on[min(q + 1, 5), r - 1]


def test_the_two_curves_are_one() -> None:
    """f_0(r - 1) = f_1(r) + 2 away from the top (formulas in docs/optimal-robots.md)."""
    targets = np.array([16, 14, 12, 9, 7, 4])
    service, delivery = switching_curves(targets, 16)
    for robots in range(1, 17):
        if 0 <= delivery[robots] < 4 and service[robots - 1] < 5:
            assert service[robots - 1] == delivery[robots] + 2
    assert service.tolist()[:4] == [5] * 4
    assert (service[15], service[16]) == (1, 0)
    assert delivery.tolist()[4:6] == [5, 3]


def test_constant_curves_can_say_a_level() -> None:
    """ "At most t pages are left" is f_0 = t + 1 and f_1 = t - 1."""
    queue = single(0.3, 4, 4)
    for level in range(4):
        one = measures_of_targets(queue, level_targets(queue, level))
        other = measures_of_chain(queue, generator_of_curves(queue, level + 1, level - 1))
        assert one.levels == pytest.approx(other.levels, abs=1e-12)


# -- what the simple rules cost -------------------------------------------------------------------


@pytest.mark.by_day("plain")
@pytest.mark.parametrize("name", ["plain", "stale", "by phase"])
def test_the_powers_are_in_their_order(name: str) -> None:
    scenario = SYSTEMS[name].with_({"robots.available": 8, "activation.switching.targets": [8] * 6})
    rows = {row.rule: row for row in control_gap(scenario)}
    level = rows["one level for all"]
    two = rows["two levels for all"]
    assert rows["targets by level"].cost <= two.cost <= level.cost
    assert rows["targets by level"].cost <= rows["fixed number"].cost
    assert rows["thresholds"].cost <= rows["fixed number"].cost
    for row in rows.values():
        if row.changes is not None:
            found = dense(scenario.with_(row.changes))
            assert row.cost == pytest.approx(found["control_cost", None], rel=1e-9)


# -- on scenarios ---------------------------------------------------------------------------------

SETS = [
    (0.1, 5, 0.4),
    (0.1, 5, 1.4),
    (0.1, 5, 2.4),
    (0.2, 3, 1.0),
    (0.3, 4, 2.0),
    (0.5, 3, 0.7),
    (0.25, 6, 1.4),
    (0.15, 4, 3.0),
]


def optimal(access: float, capacity: int, price: float, family: str) -> Scenario:
    """The optimum of a family among eight robots, with the measures that must come out."""
    scenario = TALIM.with_(
        {
            "robots": {"available": 8, "access_time": {"exponential": {"rate": access}}},
            "activation": {"optimal": family},
            "buffer.waiting_places": capacity - 1,
            "costs.starvation": price,
            "judged": ["starvation_probability", "loss_rate", "mean_active_robots", "control_cost"],
            "run.horizon": 240000.0,
        }
    )
    return resolve(scenario)


FAMILIES = ("static", "switching", "threshold")


@pytest.mark.by_day("static-0.5-3-0.7")
@pytest.mark.statistical
@pytest.mark.parametrize(("access", "capacity", "price"), SETS)
@pytest.mark.parametrize("family", FAMILIES)
def test_simulated_optima_agree(access: float, capacity: int, price: float, family: str) -> None:
    """False alarms: 1e-3 per family of four; detectable: 2 % of each measure, or 0.001."""
    best = optimal(access, capacity, price, family)
    rows = compare(predict(best)[0], sim.run(best), best.judged)
    assert overall(rows) == "agrees"


@pytest.mark.thorough
@pytest.mark.statistical
@pytest.mark.parametrize("family", FAMILIES)
def test_a_faster_service_is_seen(family: str) -> None:
    """Negative control: service 3 % faster than the formulas think."""
    best = optimal(*SETS[1], family)
    faster = best.with_("buffer.service.exponential.rate", 1.03)
    assert overall(compare(predict(best)[0], sim.run(faster), best.judged)) == "disagrees"


@pytest.mark.by_day(besides=("simpy-stale response",))
@pytest.mark.parametrize("name", SYSTEMS)
@pytest.mark.parametrize("engine", ["simpy"])
def test_both_engines_take_the_resolved_rule(name: str, engine: str) -> None:
    best = resolve(SYSTEMS[name].with_({"activation": {"optimal": "switching"}}))
    short = best.with_({"run.horizon": 300.0, "run.warmup": 0.0, "run.replications": 2})
    slow = sim.run(short, engine=engine)
    fast = sim.run(short, engine="compiled")
    assert [e.estimate for e in slow.estimates] == pytest.approx(
        [e.estimate for e in fast.estimates], nan_ok=True, rel=0
    )


def test_the_lower_bound_is_a_prediction() -> None:
    """A rule that is worse than the optimum shows by how much."""
    worse = TALIM.with_("activation.switching.targets", [16, 16, 16, 16, 0, 0])
    rows = {row.source: row for row in predict(worse)[0] if row.measure == "control_cost"}
    assert rows["talim2001 (6)"].kind == "lower bound"
    assert rows["talim2001 (6)"].value == pytest.approx(0.2592396, abs=1e-7)
    assert rows["talim2001 (5)"].value > 0.3
    assert rows["talim2001 (5)"].value == pytest.approx(rows["avrachenkov2011 (2)"].value, rel=1e-9)


@pytest.mark.parametrize(
    ("scenario", "says"),
    [
        (load("one-robot"), "there are no"),
        (load("cyclic-constant"), "no [buffer]"),
        (TALIM.with_("buffer.service", {"deterministic": {"value": 1.0}}), "not of phase type"),
        (TALIM.with_("buffer.obsolescence", {"deterministic": {"value": 1.0}}), "timers"),
        (TALIM.with_("robots.access_time", {"deterministic": {"value": 1.0}}), "exponential"),
        (load("optimal-thresholds"), "joint process"),
        (TALIM.with_({"costs.response": 1.0, "buffer.discipline": "lifo"}), "order"),
        (
            TALIM.with_(
                {
                    "activation": {"static": 1},
                    "robots.available": 90_000,
                    "buffer.waiting_places": 99,
                }
            ),
            "states",
        ),
        (
            TALIM.with_({"activation": {"static": 1}, "buffer.waiting_places": 9000}),
            "levels × service phases",
        ),
    ],
)
def test_where_no_optimum_is_known_the_reason_is_given(scenario: Scenario, says: str) -> None:
    with pytest.raises(ScenarioError) as caught:
        optimize(scenario, "switching")
    assert says in str(caught.value)


def test_targets_by_phase_go_into_the_scenario() -> None:
    scenario = SYSTEMS["by phase"]
    assert queue_of(scenario).levels.phases == 2
    found = optimize(scenario, "switching")
    decision = found.decision["targets"]
    assert len(decision) == 2
    assert resolve(scenario.with_("activation", {"optimal": "switching"})) == scenario.with_(
        "activation", {"switching": {"targets": decision}}
    )
    assert list(found.table[0]) == ["level", "phase 0", "phase 1", "probability"]


RESPONSE_OUTWEIGHS = {
    "robots.available": 5,
    "robots.access_time": {"exponential": {"rate": 0.021}},
    "buffer.waiting_places": 1,
    "activation.optimal": "switching",
    "costs": {"loss": 0.0, "starvation": 0.022, "response": 87.0},
}


def test_no_response_is_shorter_than_a_service() -> None:
    """Where the response outweighs the rest, that bounds the cost better than any interval."""
    scenario = load("talim-switching").with_(RESPONSE_OUTWEIGHS)
    search = best_switching(scenario)
    assert 87.0 <= search.lower_bound <= search.cost
    assert search.cost - search.lower_bound < 1e-3 * search.cost


def test_a_bound_far_below_is_called_so() -> None:
    changes = {
        "costs": {"loss": 5.0, "starvation": 1.588, "response": 21.2},
        "robots.access_time": {"exponential": {"rate": 0.0149}},
        "buffer.waiting_places": 4,
    }
    search = best_switching(load("talim-switching").with_(RESPONSE_OUTWEIGHS | changes))
    gap = 100 * (search.cost - search.lower_bound) / search.cost
    assert gap > 0.1
    assert f"({gap:.2g} % less)" in search.notes()[1]


@pytest.mark.parametrize("access", [1e6, 1e9, 1e12])
def test_the_bound_lies_between_0_and_the_cost(access: float) -> None:
    scenario = load("talim-switching").with_(
        {"robots.available": 4, "robots.access_time.exponential.rate": access}
        | {"activation.optimal": "switching"}
    )
    search = best_switching(scenario)
    assert 0 <= search.lower_bound <= search.cost


def least_cost_of_power(added: int, *, recalls: bool) -> float:
    """The system of Figure 3 by value iteration: at most so many robots on, or any off, per event.

    Written from the words of the model: lambda = 0.1, mu = 1, K = 5, N = 16, starvation 1.4; where
    robots can be recalled at least one stays on.
    """
    access = 0.1
    service = 1.0
    top = 5
    robots = 16
    price = 1.4
    clock = access * robots + service
    level = np.arange(top + 1)[:, None]
    active = np.arange(robots + 1)[None, :]
    cost = price * (level == 0) + access * active * (level == top)
    possible = active <= np.minimum(active.T + added, robots)
    possible &= (active >= np.minimum(1, active.T + added)) if recalls else (active >= active.T)
    values = np.zeros((top + 1, robots + 1))
    while True:
        values[0, 0] = 1e9  # nothing would ever happen there
        best = np.where(possible[None], values[:, None, :], np.inf).min(axis=2)
        served = service * (best[np.maximum(level[:, 0] - 1, 0)] - values) * (level > 0)
        delivered = np.zeros_like(values)
        fuller = np.minimum(level[:, 0] + 1, top)
        delivered[:, 1:] = access * active[:, 1:] * (best[fuller, :-1] - values[:, 1:])
        rates = (cost + served + delivered).ravel()[1:]
        if rates.max() - rates.min() < 1e-7:
            return float(rates.mean())
        values.ravel()[1:] += rates / clock
        values -= values[1, 1]


@pytest.mark.parametrize(
    ("added", "recalls", "cost"),
    [(16, True, 0.0890), (16, False, 0.2224), (1, True, 0.2296), (1, False, 0.2592)],
    ids=["free", "none recalled", "one at a time", "both"],
)
def test_each_limit_of_switching_costs_most_of_the_difference(
    added: int, recalls: bool, cost: float
) -> None:
    """The figures of docs/optimal-robots.md; the ends are the two papers' optima."""
    assert least_cost_of_power(added, recalls=recalls) == pytest.approx(cost, abs=5e-5)
