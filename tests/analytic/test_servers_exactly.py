"""Several servers: exact results against a chain built naively, and formulas that do not apply."""

from __future__ import annotations

from itertools import combinations, combinations_with_replacement, product
from typing import Any

import numpy as np
import pytest
from scipy.special import gammainc
from systems import EVERY_KIND, queue

import analytic
from analytic import predict
from analytic.index.conditions import poisson_parameters
from analytic.indexing_queue import chain_of, sojourn_quantiles
from analytic.indexing_queue.erlang import (
    erlang_a_throughput,
    erlang_b,
    erlang_c,
    mean_sojourn_without_limit,
    mmck_levels,
)
from analytic.indexing_queue.measures import servers_chain_of, solution_of
from analytic.indexing_queue.several_servers import sojourn_quantiles_of_servers, solve_servers
from scenarios import Scenario, ScenarioError, library_names, load, scenario_from
from scenarios.activation import Optimal

FOR_SEVERAL = (
    "avrachenkov2011 section 3, several servers",
    "kleinrock1975 section 3.4, with a capacity",
    "kleinrock1975 section 3.4, Erlang C",
    "kleinrock1975 section 3.5, Erlang B",
    "garnett2002 section 2, Erlang A",
    "cobham1954 priorities, with a capacity",
    "takacs1962 embedded at arrivals, with a capacity",
    "brandt1999 timers of any law",
    "pipeline services between Erlang laws",
    "pipeline accesses of few phases",
)
OF_THE_ROBOTS = {"crawl_rate", "crawl_frequency", "unchanged_rate"}
"""What a fixed number of robots does, whatever the buffer."""


def with_two_servers(scenario: Scenario) -> Scenario | None:
    """The same with two servers, in place of a waiting place where there is one."""
    assert scenario.buffer is not None
    places = scenario.buffer.waiting_places
    try:
        return scenario.with_({"buffer.servers": 2, "buffer.waiting_places": max(places - 1, 0)})
    except ScenarioError:  # targets by phase, or of another capacity
        return None


LIBRARY = {name: load(name) for name in library_names()}
SYSTEMS = {
    name: system
    for name, one in {**EVERY_KIND, **LIBRARY}.items()
    if one.buffer is not None
    and one.buffer.batch is None
    and not one.interventions
    and not isinstance(one.activation, Optimal)
    and (system := with_two_servers(one)) is not None
}


@pytest.mark.by_day(besides=("phase-timers",))
@pytest.mark.parametrize("name", SYSTEMS)
def test_no_formula_of_one_server_answers_for_two(name: str) -> None:
    scenario = analytic.resolve(SYSTEMS[name])
    predictions, others = analytic.predict(scenario)
    of_one = {each.measure for each in predictions if each.source not in FOR_SEVERAL}
    assert of_one <= OF_THE_ROBOTS
    assert any("2 servers index pages at a time" in each.reasons for each in others)
    assert analytic.relaxation_time_of(scenario) is None
    assert analytic.accuracy_of(scenario) is None
    for law in analytic.exact_laws(scenario):
        assert "2 servers" in law.reason


PHASES = {"phase-type": {"alpha": [0.6, 0.4], "T": [[-3.0, 1.0], [0.5, -0.8]]}}


class Naive:
    """Servers with names: the state is the phase of each (-1: free), and how many pages wait."""

    def __init__(self, servers: int, places: int, theta: float, rates: list[float]) -> None:
        self.alpha = np.array([0.6, 0.4])
        self.T = np.array([[-3.0, 1.0], [0.5, -0.8]])
        self.exits = -self.T.sum(axis=1)
        self.theta, self.rates, self.places = theta, rates, places
        every = product((-1, 0, 1), repeat=servers)
        self.states = [
            (each, waiting)
            for each in every
            for waiting in range((places if -1 not in each else 0) + 1)
        ]
        self.index = {state: place for place, state in enumerate(self.states)}

    def level(self, state: Any) -> int:
        return sum(phase >= 0 for phase in state[0]) + state[1]

    def put(self, servers: Any, server: int, phase: int) -> Any:
        return (*servers[:server], phase, *servers[server + 1 :])

    def moves(self, state: Any, tagged: bool = False) -> Any:
        """What happens to servers and waiting pages; of a tagged page only what is before it."""
        servers, waiting = state
        rate = 0.0 if tagged else self.rates[self.level(state)]
        if -1 in servers:
            for phase in (0, 1):
                to = self.put(servers, servers.index(-1), phase)
                yield rate * self.alpha[phase], (to, waiting)
        elif waiting < self.places:
            yield rate, (servers, waiting + 1)
        yield self.theta * waiting, (servers, waiting - 1)
        for server, phase in enumerate(servers):
            if phase < 0:
                continue
            other = 1 - phase
            yield self.T[phase, other], (self.put(servers, server, other), waiting)
            if waiting == 0:
                yield self.exits[phase], (self.put(servers, server, -1), 0)
            for following in (0, 1) if waiting else ():
                to = self.put(servers, server, following)
                yield self.exits[phase] * self.alpha[following], (to, waiting - 1)

    def stationary(self) -> Any:
        Q = np.zeros((len(self.states),) * 2)
        for state in self.states:
            for rate, to in self.moves(state):
                if rate > 0:
                    Q[self.index[state], self.index[to]] += rate
        Q -= np.diag(Q.sum(axis=1))
        A = np.vstack([Q.T, np.ones(len(Q))])
        return np.linalg.lstsq(A, np.append(np.zeros(len(Q)), 1.0), rcond=None)[0]

    def waits(self) -> Any:
        """Of a page behind others: 1, wait, wait² where it is begun, and where it is obsolete."""
        busy = [state for state in self.states if -1 not in state[0]]
        place = {state: index for index, state in enumerate(busy)}
        T = np.zeros((len(busy),) * 2)
        begins = np.zeros(len(busy))
        for state in busy:
            row = place[state]
            T[row, row] -= self.theta
            for rate, to in self.moves(state, tagged=True):
                T[row, row] -= rate
                if state[1] == 0 and -1 in to[0]:
                    begins[row] += rate
                elif rate > 0:
                    T[row, place[to]] += rate
        ends = np.stack([begins, np.full(len(busy), self.theta)], axis=1)
        once = np.linalg.solve(-T, ends)
        twice = np.linalg.solve(-T, once)
        return place, once, twice, 2 * np.linalg.solve(-T, twice)


@pytest.mark.parametrize(("servers", "places"), [(1, 2), (2, 0), (2, 3), (3, 2)])
@pytest.mark.parametrize("theta", [0.0, 0.25])
def test_phase_type_services_against_a_naive_chain(servers: int, places: int, theta: float) -> None:
    heard = [3 if level <= 2 else 1 for level in range(servers + places + 1)]
    timers = {"exponential": {"rate": theta}} if theta else "never"
    scenario = queue(
        {
            "buffer.servers": servers,
            "buffer.waiting_places": places,
            "buffer.service": PHASES,
            "buffer.obsolescence": timers,
            "costs.response": 1.0,
            "costs.loss": 2.0,
        }
    )
    found = analytic.exact_values(scenario)
    naive = Naive(servers, places, theta, [0.7 * robots for robots in heard])
    p = naive.stationary()
    level = np.array([naive.level(state) for state in naive.states])
    rates = np.array(naive.rates)[level]
    full = level == servers + places
    lost = float(p @ (rates * full)) / float(p @ rates)
    place, once, twice, thrice = naive.waits()
    mean = np.linalg.solve(-naive.T, np.ones(2))
    first, second = naive.alpha @ mean, 2 * naive.alpha @ np.linalg.solve(-naive.T, mean)
    served, obsolete = np.zeros(3), np.zeros(3)
    for state, probability, rate in zip(naive.states, p, rates, strict=True):
        if -1 in state[0]:
            served += probability * rate * np.array([1.0, first, second])
        elif state[1] < places:
            row = place[state]  # as many wait ahead of it as it finds waiting
            wait = once[row], twice[row], thrice[row]
            begun = [each[0] for each in wait]
            moments = [begun[0], begun[1] + begun[0] * first]
            moments.append(begun[2] + 2 * begun[1] * first + begun[0] * second)
            served += probability * rate * np.array(moments)
            obsolete += probability * rate * np.array([each[1] for each in wait])
    expected = {
        ("loss_probability", None): lost,
        ("idle_indexers", None): float(p @ np.maximum(servers - level, 0)) / servers,
        ("starvation_probability", None): float(p[level == 0].sum()),
        ("mean_active_robots", None): float(p @ rates) / 0.7,
        ("throughput", None): served[0],
        ("sojourn_time", "served"): served[1] / served[0],
        ("sojourn_time_second_moment", "served"): served[2] / served[0],
        ("control_cost", None): 2 * lost * float(p @ rates) + served[1] / served[0],
    }
    if theta and places:
        expected["obsolescence_probability", None] = obsolete[0] / float(p @ rates)
        expected["sojourn_time", "obsolete"] = obsolete[1] / obsolete[0]
        expected["sojourn_time_second_moment", "obsolete"] = obsolete[2] / obsolete[0]
    for at in range(servers + places + 1):
        expected["level_probability", at] = float(p[level == at].sum())
    assert {key: found[key][0] for key in expected} == pytest.approx(expected, rel=1e-9)
    mean_service = float(first)
    idle = found["idle_indexers", None][0]
    indexed = found["throughput", None][0]
    assert indexed * mean_service == pytest.approx(servers * (1 - idle), rel=1e-11)


def test_switching_batches_and_markovian_robots_are_those_of_one_server_at_one() -> None:
    """The general chain of servers with one of them is the chain of one server."""
    from analytic.indexing_queue.measures import solved, solved_servers

    for name in ("threshold", "switching", "static", "never-obsolete", "no-places", "lifo"):
        scenario = EVERY_KIND[name]
        if name == "lifo":
            scenario = scenario.with_("buffer.obsolescence", {"exponential": {"mean": 2.0}})
        one = {row[:2]: row[2] for row in solved(scenario).rows}
        several = {row[:2]: row[2] for row in solved_servers(scenario)}
        assert {key: several[key] for key in one} == pytest.approx(one, rel=1e-11, nan_ok=True)


def test_erlangs_formulas_against_sums() -> None:
    load, servers = 2.3, 4
    terms = [load**n / np.prod(np.arange(1.0, n + 1)) for n in range(servers + 1)]
    assert erlang_b(load, servers) == pytest.approx(terms[-1] / sum(terms), rel=1e-13)
    tail = terms[-1] / (1 - load / servers)
    assert erlang_c(load, servers) == pytest.approx(tail / (sum(terms[:-1]) + tail), rel=1e-13)
    far = mmck_levels(load, servers, 2000)
    mean = float(far @ np.arange(2001)) / load
    assert mean_sojourn_without_limit(load, 1.0, servers) == pytest.approx(mean, rel=1e-12)
    assert erlang_b(0.0, 3) == 0.0
    assert mean_sojourn_without_limit(4.0, 1.0, 4) == np.inf


def test_erlang_a_against_a_long_queue() -> None:
    changes = {
        "activation.static": 3,
        "buffer.servers": 2,
        "buffer.waiting_places": 60,
        "buffer.obsolescence": {"exponential": {"rate": 0.3}},
    }
    found = analytic.exact_values(queue(changes))["throughput", None][0]
    assert erlang_a_throughput(2.1, 1.0, 0.3, 2) == pytest.approx(found, rel=1e-12)


def test_erlang_b_holds_for_services_of_any_law() -> None:
    """Insensitivity: with two services of the same mean the chain of one of them agrees."""
    none = {"activation.static": 3, "buffer.servers": 3, "buffer.waiting_places": 0}
    hyper = {"hyperexponential": {"probabilities": [0.9, 0.1], "rates": [3.0, 0.2]}}
    fixed = {"deterministic": {"value": 0.8}}
    of_chain = analytic.exact_values(queue(none | {"buffer.service": hyper}))
    of_erlang = analytic.exact_values(queue(none | {"buffer.service": fixed}))
    for at in range(4):
        key = "level_probability", at
        assert of_erlang[key][0] == pytest.approx(of_chain[key][0], rel=1e-12)
    assert of_erlang["loss_probability", None][0] == pytest.approx(
        of_chain["loss_probability", None][0], rel=1e-12
    )


@pytest.mark.parametrize("target", ["static", "threshold"])
def test_the_best_number_of_robots_for_two_servers(target: str) -> None:
    """Every policy once more, each by the formula of its own scenario."""
    priced = queue(
        {
            "robots.available": 4,
            "buffer.servers": 2,
            "buffer.waiting_places": 1,
            "costs.loss": 1.0,
            "costs.starvation": 0.4,
            "costs.response": 0.05,
        }
    )
    found = analytic.optimize(priced, target)
    rules: list[Any] = [{"static": number} for number in range(1, 5)]
    if target == "threshold":
        rules += [
            {"threshold": {"robots": sorted(numbers, reverse=True), "at": at}}
            for size in (2, 3)
            for numbers in combinations(range(1, 5), size)
            for at in combinations_with_replacement(range(3), size - 1)
        ]
    costs = [
        analytic.exact_values(priced.with_("activation", rule))["control_cost", None][0]
        for rule in rules
    ]
    assert found.cost == pytest.approx(min(costs), rel=1e-12)
    assert analytic.exact_values(priced.with_(found.changes))["control_cost", None][
        0
    ] == pytest.approx(found.cost, rel=1e-12)


def test_what_the_search_does_not_cover_is_refused() -> None:
    two = {"buffer.servers": 2, "costs.loss": 1.0}
    lognormal = {"buffer.service": {"lognormal": {"mean": 1.0, "sd": 2.0}}}
    with pytest.raises(ScenarioError, match="service times are not of phase type"):
        analytic.optimize(queue(two | lognormal), "threshold")
    with pytest.raises(ScenarioError, match="2 servers index pages at a time"):
        analytic.optimize(queue(two), "switching")


def test_quantiles_of_two_exponential_servers() -> None:
    """M/M/2/K: a page that n others wait ahead of stays for n + 1 ends of services, and its own."""
    shares = (0.1, 0.5, 0.95)
    plain = {"activation.static": 3, "buffer.servers": 2, "buffer.obsolescence": "never"}
    scenario = queue(plain | {"buffer.sojourn_quantiles": list(shares)})
    found = analytic.exact_values(scenario)
    service = poisson_parameters(scenario)[1]
    levels = np.array(
        [value for (name, _), (value, _) in found.items() if name == "level_probability"]
    )
    entering = levels[:-1] / levels[:-1].sum()
    grid = np.linspace(0.0, 1.0, 4001)[1:]

    def below(time: float) -> float:
        """The wait is an Erlang time of rate 2 mu, summed over a fine grid of own times."""
        own = -np.log1p(-(grid - grid[0] / 2)) / service
        left = np.maximum(time - own, 0.0)
        waited = sum(
            share * (gammainc(level - 1, 2 * service * left) if level > 1 else 1.0)
            for level, share in enumerate(entering)
        )
        return float(np.mean(np.where(own <= time, waited, 0.0)))

    for share in shares:
        time = found["sojourn_quantile", f"served {share}"][0]
        assert below(time) == pytest.approx(share, abs=3e-4)
    assert found["sojourn_quantile", "all 0.1"][0] < found["sojourn_quantile", "served 0.1"][0]


def test_one_server_has_the_quantiles_of_the_chain_of_one() -> None:
    """With phases and timers, to the last digits."""
    changes = {
        "buffer.service": {"hyperexponential": {"probabilities": [0.9, 0.1], "rates": [3.0, 0.2]}},
        "buffer.obsolescence": {"exponential": {"rate": 0.3}},
    }
    scenario = queue(changes)
    shares = (0.05, 0.5, 0.99)
    of_chain = sojourn_quantiles(chain_of(scenario), solution_of(scenario).stationary, shares)
    chain = servers_chain_of(scenario)
    of_servers = sojourn_quantiles_of_servers(chain, solve_servers(chain), shares)
    assert of_chain.keys() == of_servers.keys()
    for name, times in of_chain.items():
        assert of_servers[name] == pytest.approx(times, rel=1e-10)


def test_servers_whose_robots_stay_in_the_phase_where_they_began_have_no_steady_state() -> None:
    stuck = {"D0": [[-1.0, 0.0], [0.0, -2.0]], "D1": [[1.0, 0.0], [0.0, 2.0]]}
    scenario = scenario_from(
        {
            "name": "stuck",
            "robots": {"available": 1, "deliveries": {"modes": [{"map": stuck}]}},
            "buffer": {
                "waiting_places": 2,
                "servers": 2,
                "service": {"exponential": {"mean": 1.0}},
            },
            "run": {"horizon": 100.0, "warmup": 1.0, "replications": 2},
        }
    )
    predictions, others = predict(scenario)
    assert predictions == []
    reasons = [each.reasons[0] for each in others if "several servers" in each.source]
    assert reasons
    assert all("has no unique steady state" in reason for reason in reasons)
