"""Costs of packets by their distances, and weights: values, best orders, bounds, both engines."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from profiles import examples
from words import words_of_length

import sim
from analytic import compare, optimize, overall, predict, resolve
from analytic.machinery.phase_type import PhaseLaw
from analytic.routing import (
    best_random_shares,
    best_word,
    certified_word,
    geometric_power_mean,
    linear_bound,
    loss_costs,
    random_loss,
    random_spacing_cost,
    routing_costs,
    spacing_cost,
    two_servers,
)
from analytic.routing.given_costs import _bend
from analytic.routing.multimodularity import horizon_cost, violations
from scenarios import Scenario, ScenarioError, load, scenario_from
from scenarios.processes import Mmpp, Poisson
from scenarios.spacing_cost import Fading
from sim import compiled_engine, simpy_engine

BURSTS = {"mmpp": {"Q": [[-0.2, 0.2], [0.3, -0.3]], "rates": [0.5, 3.0]}}
IN_TURN = {"map": {"D0": [[-1.0, 0.0], [0.0, -2.0]], "D1": [[0.0, 1.0], [2.0, 0.0]]}}


def system(costs: Any, routing: Any, weights: Any = None, **servers: Any) -> Scenario:
    """Servers of rate 1 with packets at rate 1, unless said otherwise."""
    count = len(costs) if isinstance(costs, list) else len(weights)
    section = {
        "rates": [1.0] * count,
        "arrivals": {"poisson": {"rate": 1.0}},
        "routing": routing,
        "spacing_cost": costs,
        **servers,
    }
    section |= {"weights": weights} if weights else {}
    return scenario_from({"name": "costs", "servers": section})


# --- the words of the model, without a formula ----------------------------------------------------


def plain(cost: dict[str, Any], n: int) -> float:
    """The cost of a packet n packets after the last one, with Poisson arrivals of rate 1."""
    ((law, given_),) = cost.items()
    if law == "table":
        last = given_[-1] - given_[-2] if len(given_) > 1 else 0.0
        return given_[n - 1] if n <= len(given_) else given_[-1] + max(last, 0) * (n - len(given_))
    if law == "power":
        return given_["scale"] * n ** given_["exponent"]
    if law == "geometric":
        return given_["first"] * given_["ratio"] ** (n - 1)
    return given_["scale"] * (1 + given_["rate"]) ** -n


def rise(cost: dict[str, Any]) -> float:
    """What the cost rises by from one packet to the next, far out."""
    if "table" in cost:
        return max(plain(cost, 100) - plain(cost, 99), 0.0)
    exponent = cost.get("power", {"exponent": 0.0})["exponent"]
    return 0.0 if exponent < 1 else math.inf if exponent > 1 else cost["power"]["scale"]


def walked(word: Sequence[int], costs: Sequence[dict[str, Any]], weights: Sequence[float]) -> float:
    """Mean cost of a packet of a period, by walking through it with a clock for each server."""
    paid = 0.0
    ages = [0] * len(costs)
    for lap in range(2):  # in the first one clocks are set
        for server in word:
            ages = [age + 1 for age in ages]
            paid += lap * weights[server] * plain(costs[server], ages[server])
            ages[server] = 0
    unused = set(range(len(costs))) - set(word)
    never = math.fsum(weights[each] * rise(costs[each]) for each in unused if weights[each])
    return paid / len(word) + never


# --- laws -----------------------------------------------------------------------------------------


@st.composite
def convex_tables(draw: Any) -> dict[str, Any]:
    """Increments in order; the least entry is what is left over of 0."""
    steps = sorted(draw(st.lists(st.floats(-2, 1), max_size=5)))
    table = np.cumsum([0.0, *steps])
    table += max(-table.min(), 0.0) + draw(st.sampled_from([0.0, 0.5]))
    return {"table": table.tolist()}


LAWS = st.one_of(
    convex_tables(),
    st.builds(
        lambda scale, exponent: {"power": {"scale": scale, "exponent": exponent}},
        st.floats(0.1, 3),
        st.one_of(st.floats(-3, 0), st.floats(1, 2.5), st.floats(2.5, 10)),
    ),
    st.builds(
        lambda first, ratio: {"geometric": {"first": first, "ratio": ratio}},
        st.floats(0.1, 3),
        st.floats(0.05, 0.9),
    ),
    st.builds(
        lambda scale, rate: {"fading": {"scale": scale, "rate": rate}},
        st.floats(0.1, 3),
        st.floats(0.1, 3),
    ),
)


@given(LAWS, st.integers(1, 40))
@settings(max_examples=examples(100))
def test_costs_at_a_distance_are_those_of_the_file_and_convex(law: Any, n: int) -> None:
    cost = system([law], {"period": [0]}).servers.spacing_costs[0]
    found = spacing_cost(cost, Poisson(rate=1.0), np.arange(1, n + 3))
    assert found == pytest.approx([plain(law, each) for each in range(1, n + 3)], rel=1e-11)
    assert np.diff(found, 2).min() >= -1e-12 * found.max()
    assert float(spacing_cost(cost, Poisson(rate=1.0), 10**6)) == pytest.approx(plain(law, 10**6))


@pytest.mark.parametrize("p", [1.0, 0.9, 0.3, 0.03, 1e-3, 1e-6])
def test_powers_of_a_geometric_number(p: float) -> None:
    """Known moments; and of 1/N the logarithm."""
    assert geometric_power_mean(0, p) == pytest.approx(1, rel=1e-12)
    assert geometric_power_mean(1, p) == pytest.approx(1 / p, rel=1e-12)
    assert geometric_power_mean(2, p) == pytest.approx((2 - p) / p**2, rel=1e-12)
    assert geometric_power_mean(3, p) == pytest.approx((p * p - 6 * p + 6) / p**3, rel=1e-12)
    log = 1.0 if p == 1 else -p * math.log(p) / (1 - p)
    assert geometric_power_mean(-1, p) == pytest.approx(log, rel=1e-12)


@given(LAWS, st.floats(0.05, 1))
@settings(max_examples=examples(60))
def test_a_drawn_server_costs_the_mean_over_geometric_distances(law: Any, p: float) -> None:
    cost = system([law], {"period": [0]}).servers.spacing_costs[0]
    series = math.fsum(p * (1 - p) ** (n - 1) * plain(law, n) for n in range(1, 1500))
    assert random_spacing_cost(cost, Poisson(rate=1.0), p) == pytest.approx(series, rel=1e-10)


def test_fading_under_bursts_is_the_loss_of_an_exponential_service() -> None:
    arrivals = Mmpp(Q=((-0.2, 0.2), (0.3, -0.3)), rates=(0.5, 3.0))
    fading = Fading(scale=2.0, rate=0.7)
    service = PhaseLaw(np.ones(1), np.array([[-0.7]]))
    found = loss_costs(arrivals, [service])
    assert spacing_cost(fading, arrivals, 3) == pytest.approx(2 * found.entry(0, 3), rel=1e-12)
    drawn = random_spacing_cost(fading, arrivals, 0.3)
    assert drawn == pytest.approx(2 * random_loss(arrivals, service, 0.3), rel=1e-12)


# --- values of a scenario -------------------------------------------------------------------------


def costs_of(scenario: Scenario) -> dict[Any, float]:
    rows = predict(scenario)[0]
    return {
        each.subject: each.value
        for each in rows
        if each.measure == "routing_cost" and each.kind == "exact"
    }


def test_costs_by_hand() -> None:
    """Server 0 at distances 1 and 2, server 1 at 3; server 2 never, at a rise of 0.5."""
    laws = [{"table": [4.0, 1.0]}, {"power": {"scale": 2.0, "exponent": 2.0}}, {"table": [1, 1.5]}]
    scenario = system(laws, {"period": [0, 0, 1]}, [2.0, 1.0, 3.0])
    assert costs_of(scenario) == pytest.approx({0: 5.0, 1: 18.0, "all": 28 / 3 + 1.5})


@given(st.data())
@settings(max_examples=examples(40))
def test_values_and_orders_against_every_short_period(data: Any) -> None:
    """Of every word the cost by walking; no bound above any of them; a proof is a proof."""
    count = data.draw(st.integers(2, 3))
    laws = [data.draw(LAWS) for _ in range(count)]
    weights = [data.draw(st.sampled_from([0.3, 1.0, 2.5])) for _ in range(count)]
    scenario = system(laws, "optimal", weights)
    costs = routing_costs(scenario)
    longest = 10 if count == 2 else 7
    words = [w for n in range(1, longest + 1) for w in words_of_length(n, count)]
    paid = {word: walked(word, laws, weights) for word in words}
    for word in words[:: max(len(words) // 50, 1)]:
        assert costs.of(word) == pytest.approx(paid[word], rel=1e-9)
    least = min(paid.values())
    slack = 1e-9 * abs(least) + 1e-12
    search = best_word(costs)
    assert linear_bound(costs).value <= least + slack
    assert search.bound <= least + slack
    assert search.cost <= least + slack
    assert search.cost == pytest.approx(walked(search.word, laws, weights), rel=1e-9)
    if search.proved:
        assert search.cost - search.bound <= 1e-9 * abs(search.cost) + 1e-12


def test_no_rounding_of_a_steep_cost_is_a_proof() -> None:
    """Far out the tenth power is 1e18: bounds that were differences of such terms were noise."""
    laws = [
        {"power": {"scale": 2.748, "exponent": 10.0}},
        {"power": {"scale": 2.641, "exponent": 3.0}},
        {"power": {"scale": 0.6, "exponent": 2.0}},
    ]
    weights = [1.0, 3.0, 0.41219717014097323]
    costs = routing_costs(system(laws, "optimal", weights))
    least = walked((0, 0, 1, 0, 2, 0, 1, 0), laws, weights)
    search = best_word(costs)
    assert search.proved
    assert search.cost <= least * (1 + 1e-12)
    assert 0.5 * least < linear_bound(costs).value <= least
    steep = [{"table": [1.0]}, {"power": {"scale": 0.829, "exponent": 10.0}}]
    costs = routing_costs(system(steep, "optimal", [3.0, 0.001]))
    assert linear_bound(costs).value <= walked((1,), steep, [3.0, 0.001])


@given(st.data())
@settings(max_examples=examples(25))
def test_two_servers_by_the_block_rule_and_by_the_graph(data: Any) -> None:
    laws = [data.draw(LAWS), data.draw(LAWS)]
    costs = routing_costs(system(laws, "optimal"))
    block = two_servers(costs)
    certified = certified_word(costs, most_states=20_000)
    assume(certified.is_proved(costs))
    assert block.bound == pytest.approx(certified.cost, rel=1e-9, abs=1e-12)


def test_a_finite_horizon_is_multimodular_for_costs_of_any_convex_shape() -> None:
    """Theorem 4.4 where it is true: falling, rising, and first one and then the other."""
    for first, second in itertools.product(
        ({"table": [3.0, 1.0, 0.5]}, {"power": {"scale": 0.3, "exponent": 2.0}}),
        ({"table": [2.0, 0.5, 1.5]}, {"fading": {"scale": 1.0, "rate": 0.5}}),
    ):
        laws = [first, second]
        cost = horizon_cost(lambda server, n, laws=laws: plain(laws[server], n))
        assert not violations(cost, 5)


def test_a_cost_without_bound_is_never_left_out() -> None:
    """However small its weight: of two the block is as long as that asks for."""
    square = {"power": {"scale": 1.0, "exponent": 2.0}}
    weights = [1e-3, 1.0]
    costs = routing_costs(system([square, square], "optimal", weights))
    search = best_word(costs)
    assert search.proved
    assert set(search.word) == {0, 1}
    lengths = {n: walked((0, *[1] * (n - 1)), [square, square], weights) for n in range(2, 200)}
    assert search.cost == pytest.approx(min(lengths.values()), rel=1e-12)
    assert costs.of((1,)) == math.inf
    assert costs.at_random([0.0, 1.0]) == math.inf
    assert walked((1,), [square, square], weights) == math.inf


def test_a_free_server_is_kept_where_others_gain_by_waiting() -> None:
    """Server 0 costs 5, then nothing, and 1 a slot if never used: it wants every second slot."""
    laws = [{"table": [5.0, 1.0, 2.0, 3.0]}, {"table": [0.0]}]
    search = best_word(routing_costs(system(laws, "optimal")))
    assert search.proved
    assert search.word == (0, 1)
    assert search.cost == 0.5


def test_a_free_server_is_kept_where_an_access_too_many_costs_more() -> None:
    """Server 1 costs 1 in every slot, and nothing in every second one."""
    search = best_word(routing_costs(system([{"table": [0.0]}, {"table": [1, 0, 1]}], "optimal")))
    assert (search.word, search.cost, search.proved) == ((0, 1), 0.0, True)


def test_a_free_server_takes_all_where_the_others_cost_at_least_nothing() -> None:
    laws = [{"table": [3.0, 1.0]}, {"table": [0.0]}, {"table": [2.0, 0.0]}]
    search = best_word(routing_costs(system(laws, "optimal")))
    assert (search.word, search.cost, search.proved) == ((1,), 0.0, True)


@pytest.mark.parametrize("weights", [[1.0, 2.0, 5.0], [4.0, 1.0, 0.2], [1.0, 1.0, 0.0]])
def test_weighted_losses(weights: list[float]) -> None:
    """Each loss times its weight; the best order against every one of up to 8 slots."""
    scenario = load("routing-three-servers").with_("servers.weights", weights)
    values = {(each.measure, each.subject): each.value for each in predict(scenario)[0][:9]}
    shares = [0.25, 0.25, 0.5]
    by_hand = 0.0
    for server in range(3):
        lost = values["preemption_probability", server]
        assert costs_of(scenario)[server] == pytest.approx(weights[server] * lost)
        by_hand += shares[server] * weights[server] * lost
    assert costs_of(scenario)["all"] == pytest.approx(by_hand)
    best = optimize(scenario, "routing")
    assert best.measure == "routing_cost"
    words = [w for n in range(1, 9) for w in words_of_length(n, 3)]
    costs = routing_costs(scenario)
    assert best.cost <= min(map(costs.of, words)) * (1 + 1e-12)
    assert best.lower_bound <= best.cost
    after = scenario.with_(best.changes)
    assert costs_of(after)["all"] == pytest.approx(best.cost, rel=1e-12)


def test_best_shares_are_a_minimum() -> None:
    costs = routing_costs(load("overdue-feeds"))
    shares = best_random_shares(costs)
    assert costs.at_random(shares) < costs.at_random([0.2, 0.3, 0.5])
    for step in np.eye(3) - 1 / 3:
        for sign in (0.02, -0.02):
            assert costs.at_random(shares + sign * step) > costs.at_random(shares)


def test_optimal_in_a_file_is_the_best_order() -> None:
    scenario = load("overdue-feeds").with_("servers.routing", "optimal")
    assert resolve(scenario).servers.routing.root == (0, 2, 1, 2)


def test_phases_matter_only_where_time_does() -> None:
    """Arrivals of period 2 and a word of 2: costs by packets are what they are."""
    by_packets = system([{"table": [3.0, 1.0]}] * 2, {"period": [0, 1]}, arrivals=IN_TURN)
    assert costs_of(by_packets)["all"] == 1.0
    notes = optimize(by_packets, "routing").notes
    assert not any("lock in step" in note for note in notes)
    in_time = by_packets.with_("servers.spacing_cost", {"fading": {"scale": 1.0, "rate": 1.0}})
    assert costs_of(in_time) == {}
    reasons = " ".join(each.reason for each in predict(in_time)[1])
    assert "lock in step" in reasons
    assert any("lock in step" in note for note in optimize(in_time, "routing").notes)


def test_services_without_a_formula_do_not_matter_to_costs_by_distance() -> None:
    laws = [{"uniform": {"low": 0.5, "high": 1.0}}] * 2
    scenario = system([{"table": [3.0, 1.0]}] * 2, {"period": [0, 1]}, rates=None, service=laws)
    assert costs_of(scenario)["all"] == 1.0
    assert optimize(scenario, "routing").proved
    weighted = scenario.with_({"servers.spacing_cost": None, "servers.weights": [1.0, 2.0]})
    with pytest.raises(ScenarioError, match="not of phase type"):
        optimize(weighted, "routing")


# --- simulation -----------------------------------------------------------------------------------

FOUR = [
    {"table": [4.0, 1.5, 1.0]},
    {"power": {"scale": 0.5, "exponent": 1.5}},
    {"geometric": {"first": 2.0, "ratio": 0.6}},
    {"fading": {"scale": 3.0, "rate": 0.4}},
]
ROUTINGS = ({"period": [0, 3, 2, 3, 1, 3]}, {"random": [0.1, 0.2, 0.3, 0.4]})


@pytest.mark.parametrize("routing", ROUTINGS, ids=["period", "random"])
@pytest.mark.parametrize(
    "arrivals", [{"poisson": {"rate": 1.0}}, BURSTS], ids=["poisson", "bursts"]
)
def test_both_engines_count_the_same_costs(routing: Any, arrivals: Any) -> None:
    scenario = system(FOUR, routing, [1.0, 2.0, 3.0, 4.0], arrivals=arrivals)
    scenario = scenario.with_({"run.horizon": 400.0, "run.warmup": 20.0})
    for seed in range(3):
        first = simpy_engine.simulate(scenario, 0, seed)
        assert first == compiled_engine.simulate(scenario, 0, seed)
        assert min(first.servers.spacing_cost) > 0


def test_distances_are_remembered_across_the_warmup() -> None:
    """Packets at 1, 2, … to 0, 0, 1: from 3.5 on 0 comes at 4 and 5 (2, 1), 1 at 6 (3)."""
    laws = [{"table": [10.0, 1.0]}, {"power": {"scale": 1.0, "exponent": 2.0}}]
    gaps = {"renewal": {"deterministic": {"value": 1.0}}}
    scenario = system(laws, {"period": [0, 0, 1]}, arrivals=gaps)
    scenario = scenario.with_({"run.horizon": 6.0, "run.warmup": 3.5})
    for simulate in (simpy_engine.simulate, compiled_engine.simulate):
        counted = simulate(scenario, 0, 1).servers
        assert counted.spaced == (2, 1)
        assert counted.spacing_cost == pytest.approx((11.0, 9.0))


@pytest.mark.statistical
@pytest.mark.parametrize("routing", ROUTINGS, ids=["period", "random"])
def test_simulated_costs_agree(routing: Any) -> None:
    """A family of five costs: a false alarm in 1 of 1000 seeds; sees 2 %, or what it says."""
    scenario = system(FOUR, routing, [1.0, 2.0, 3.0, 4.0], arrivals=BURSTS)
    scenario = scenario.with_({"run.horizon": 30000.0, "run.replications": 40})
    rows = [each for each in predict(scenario)[0] if each.measure == "routing_cost"]
    compared = compare(rows, sim.run(scenario))
    assert overall(compared) == "agrees"
    # Weights that are wrong by 3 % are seen.
    wrong = scenario.with_("servers.weights", [1.0, 2.0, 3.0, 4.12])
    rows = [each for each in predict(wrong)[0] if each.measure == "routing_cost"]
    assert overall(compare(rows, sim.run(scenario))) == "disagrees"


@pytest.mark.parametrize(("share", "length", "bend"), [(0.1, 21, 20), (0.2, 21, 20), (0.5, 100, 8)])
def test_a_cost_without_bound_is_linear_from_four_mean_distances_on(
    share: float, length: int, bend: int
) -> None:
    assert _bend(share, length) == bend
