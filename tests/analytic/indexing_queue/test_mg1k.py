"""Services of any law: against the chain for services with phases, textbooks, and simulation."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from scipy.linalg import expm
from systems import BATCHES, PHASES, queue

import sim
from analytic import compare, predict
from analytic.indexing_queue.chain import UNLIMITED_PATIENCE, QueueChain, controlled_chain
from analytic.indexing_queue.measures import solved
from analytic.indexing_queue.mg1k import general_queue, rows_of_general
from analytic.machinery.phase_type import PhaseLaw, as_phase_type
from analytic.machinery.transforms import mean_time, moments, poisson_counts
from analytic.rules.fixed import optimal_fixed_number
from analytic.rules.searching import CONSTANT, _costs_one_by_one, all_costs
from scenarios import Scenario
from scenarios.arrays import Array
from scenarios.laws import (
    Deterministic,
    Distribution,
    Empirical,
    Erlang,
    Exponential,
    Gamma,
    Hyperexponential,
    Lognormal,
    Mixture,
    Pareto,
    Uniform,
    Weibull,
)

MAP = {
    "map": {"D0": [[-2.0, 0.2], [0.1, -0.5]], "D1": [[1.7, 0.1], [0.05, 0.35]]},
}
IN_BATCHES = {
    "available": 3,
    "deliveries": {"thinned": {"process": BATCHES, "keep": [0.4, 0.75, 1.0]}},
}
LEVELS = "level_probability"
NEVER = {"buffer.obsolescence": "never"}

WITH_PHASES: dict[str, dict[str, Any]] = {
    "exponential": {},
    "two phases": {"buffer.service": PHASES},
    "erlang, never": {"buffer.service": {"erlang": {"shape": 3, "mean": 1.2}}} | NEVER,
    "no places": {"buffer.service": PHASES, "buffer.waiting_places": 0},
    "one place": {"buffer.service": PHASES, "buffer.waiting_places": 1},
    "many places, all costs": {
        "buffer.service": PHASES,
        "buffer.waiting_places": 30,
        "activation.static": 3,
        "costs": {"loss": 1.0, "response": 2.0, "robots": 0.1, "starvation": 3.0},
    },
    "very variable": {
        "buffer.service.hyperexponential": {"probabilities": [0.9, 0.1], "rates": [10.0, 0.01]}
    },
    "none above a level": {
        "buffer.service": PHASES,
        "activation.threshold": {"robots": [3, 0], "at": [2]},
    }
    | NEVER,
    "deliveries with a memory": {"buffer.service": PHASES, "robots.access_time": MAP},
    "erlang accesses, a threshold": {
        "buffer.service": PHASES,
        "robots.access_time": {"erlang": {"shape": 2, "mean": 2.0}},
        "activation.threshold": {"robots": [3, 1], "at": [2]},
    },
    "batches": {"buffer.service": PHASES, "robots": IN_BATCHES} | NEVER,
    "batches with timers, rejected": {
        "buffer.service": PHASES,
        "robots": IN_BATCHES,
        "buffer.admission": "reject",
    },
    "batches that enter as a whole": {
        "buffer.service": PHASES,
        "robots": IN_BATCHES,
        "buffer.admission": "complete",
    },
    "robots come back at another level": {
        "buffer.service": PHASES,
        "activation.threshold": {"robots": [3, 1], "at": [3], "back": [1]},
        "costs.switch": 1.0,
    },
    "switched one at a time": {
        "buffer.service": PHASES,
        "activation.switching": {"targets": [3, 3, 2, 1, 0]},
    },
    "switched on after a time": {
        "buffer.service": PHASES,
        "activation.start_up": {"exponential": {"mean": 2.0}},
    },
    "no robot works": {"buffer.service": PHASES, "activation.static": 0},
    "in an environment": {
        "buffer.service": PHASES,
        "robots.environment": {"Q": [[-0.2, 0.2], [0.1, -0.1]], "speeds": [2.0, 0.3]},
    },
    "lifo": {"buffer.service": PHASES, "buffer.discipline": "lifo"},
    "push-out": {"buffer.service": PHASES, "buffer.when_full": "push-out"},
}


@pytest.mark.parametrize("changes", WITH_PHASES.values(), ids=WITH_PHASES)
def test_services_with_phases_are_solved_both_ways(changes: dict[str, Any]) -> None:
    """By their chain, and embedded at the starts of services: every measure."""
    scenario = queue(changes)
    chain = {row[:2]: row[2] for row in solved(scenario).rows if math.isfinite(row[2])}
    found = {row[:2]: row[2] for row in rows_of_general(scenario)}
    assert len(chain) >= 10
    assert {key: found[key] for key in chain} == pytest.approx(chain, rel=1e-11, abs=1e-14)


def poisson_chain(deliveries: Array, obsolescence: float = 0.0) -> QueueChain:
    """Poisson deliveries at rates by level."""
    modes = np.stack([-deliveries, deliveries], axis=1)[:, :, None, None]
    one = PhaseLaw(np.ones(1), -np.ones((1, 1)))
    timer = PhaseLaw(np.ones(1), np.array([[-obsolescence]])) if obsolescence else None
    patience = timer or UNLIMITED_PATIENCE
    return controlled_chain(modes, int, one, patience, len(deliveries) - 1, "partial")


def md1k(load: float, capacity: int) -> list[float]:
    """M/D/1/K by the recursion of textbooks: a_k Poisson arrivals in a service."""
    arrivals = [math.exp(-load) * load**k / math.factorial(k) for k in range(capacity + 1)]
    left = [1.0]
    for n in range(capacity - 1):
        before = sum(left[j] * arrivals[n - j + 1] for j in range(1, n + 1))
        left.append((left[n] - left[0] * arrivals[n] - before) / arrivals[0])
    shares = np.array(left) / sum(left)
    busy = shares[0] + load
    return [*(shares / busy).tolist(), 1.0 - 1.0 / busy]


@pytest.mark.parametrize("load", [0.5, 0.9, 1.3])
def test_constant_services_against_the_textbook(load: float) -> None:
    """Kleinrock (1975), chapter 5: levels left behind, then those found (Cooper, 1981)."""
    found = general_queue(poisson_chain(np.full(8, load)), Deterministic(value=1.0))
    assert found.levels == pytest.approx(md1k(load, 7), rel=1e-11)


def by_matrix_exponentials(D0: Array, D1: Array, service: float, capacity: int) -> Array:
    """Levels of MAP/D/1/K: states (pages, phase) by name, dense exponentials, a linear system."""
    order = len(D0)
    size = capacity * order
    during = np.zeros((2 * size, 2 * size))
    for pages in range(1, capacity + 1):
        here = slice((pages - 1) * order, pages * order)
        higher = slice(pages * order, (pages + 1) * order)
        during[here, here] += D0
        during[here, higher if pages < capacity else here] += D1
    during[size:, size:] = 0.0
    during[:size, size:] = np.eye(size)  # integrates the exponential
    flow = expm(during * service)
    reached, spent = flow[:size, :size], flow[:size, size:]
    empty = np.linalg.inv(-D0)
    onward = np.zeros((size, size))
    onward[:, :order] += reached[:, :order] @ empty @ D1
    onward[:, : size - order] += reached[:, order:]
    system = np.vstack([onward.T - np.eye(size), np.ones(size)])
    start = np.linalg.lstsq(system, np.append(np.zeros(size), 1.0), rcond=None)[0]
    idle = start @ reached[:, :order] @ empty
    times = np.append(idle.sum(), (start @ spent).reshape(capacity, order).sum(axis=1))
    return times / times.sum()


@pytest.mark.parametrize(
    ("access", "service", "capacity", "mean"),
    [
        (MAP["map"], 1.0, 10, 3.716061),
        (
            {"D0": [[-2 / 0.55, 2 / 0.55], [0, -2 / 0.55]], "D1": [[0, 0], [2 / 0.55, 0]]},
            0.5,
            8,
            None,
        ),
        ({"D0": [[-0.4, 0.1], [0.02, -3.02]], "D1": [[0.3, 0.0], [0.0, 3.0]]}, 0.7, 15, None),
    ],
    ids=["map", "erlang", "bursts"],
)
def test_deliveries_with_a_memory_and_constant_services(
    access: Any, service: float, capacity: int, mean: float | None
) -> None:
    """MAP/D/1/K; the mean of the first is from outside the project."""
    scenario = queue(NEVER).with_(
        {
            "robots": {"available": 1, "access_time": {"map": access}},
            "activation": None,
            "buffer.service": {"deterministic": {"value": service}},
            "buffer.waiting_places": capacity - 1,
        }
    )
    found = {row.subject: row.value for row in predict(scenario)[0] if row.measure == LEVELS}
    D0, D1 = (np.array(access[name], dtype=float) for name in ("D0", "D1"))
    expected = by_matrix_exponentials(D0, D1, service, capacity)
    assert [found[level] for level in range(capacity + 1)] == pytest.approx(expected, abs=1e-11)
    if mean is not None:
        assert expected @ np.arange(capacity + 1) == pytest.approx(mean, abs=5e-7)


LAWS: dict[str, Distribution] = {
    "deterministic": Deterministic(value=0.8),
    "uniform": Uniform(low=0.2, high=2.0),
    "narrow uniform": Uniform(mean=1.0, sd=1e-4),
    "gamma": Gamma(mean=1.0, sd=2.5),
    "lognormal": Lognormal(mean=1.0, sd=3.0),
    "weibull": Weibull(mean=1.0, shape=0.6),
    "pareto": Pareto(mean=1.0, shape=1.4),
    "empirical": Empirical(values=(0.0, 0.5, 3.0)),
    "mixture": Mixture(
        probabilities=(0.5, 0.5), of=(Lognormal(mean=1.0, sd=1.0), Deterministic(value=2.0))
    ),
}


@pytest.mark.by_day(
    besides=(
        "lognormal-0.0",
        "lognormal-0.15",
        "weibull-0.0",
        "weibull-0.15",
        "pareto-0.0",
        "pareto-0.15",
    )
)
@pytest.mark.parametrize("obsolescence", [0.0, 0.15])
@pytest.mark.parametrize("law", LAWS.values(), ids=LAWS)
def test_what_must_hold_for_every_law(law: Distribution, obsolescence: float) -> None:
    """Two ways to the rates of pages that are served and that become obsolete, and Little's law."""
    deliveries = np.array([2.0, 2.0, 1.5, 1.5, 0.7, 0.7, 0.7])
    found = general_queue(poisson_chain(deliveries, obsolescence), law)
    level = np.arange(7.0)
    served, obsolete = found.jets["served"], found.jets["obsolete"]
    assert found.levels.sum() == pytest.approx(1.0, rel=1e-12)
    assert found.ended.sum() * mean_time(law) == pytest.approx(1 - found.levels[0], rel=1e-12)
    assert served[0] == pytest.approx(found.ended.sum(), rel=1e-11)
    waiting = float(found.levels @ np.maximum(level - 1, 0))
    assert obsolete[0] == pytest.approx(obsolescence * waiting, rel=1e-11, abs=1e-14)
    assert served[1] + obsolete[1] == pytest.approx(float(found.levels @ level), rel=1e-11)
    assert math.isfinite(served[2]) == math.isfinite(moments(law)[1])


@pytest.mark.parametrize("law", LAWS.values(), ids=LAWS)
def test_counts_of_poisson_events_have_the_moments_of_the_law(law: Distribution) -> None:
    """``E N = L E X`` and ``E N (N - 1) = L² E X²``, where the tail is light enough to see it."""
    rate = 3.0
    counts = poisson_counts(law, rate, 6000)
    k = np.arange(6000.0)
    if not isinstance(law, Pareto | Lognormal):
        mean, second = moments(law)
        assert counts.sum() == pytest.approx(1.0, rel=1e-12)
        assert counts @ k == pytest.approx(rate * mean, rel=1e-11)
        assert counts @ (k * (k - 1)) == pytest.approx(rate**2 * second, rel=1e-11)
    assert (counts >= 0).all()


@pytest.mark.parametrize(
    "law",
    [
        Exponential(mean=0.7),
        Erlang(shape=4, mean=2.0),
        Hyperexponential(probabilities=(0.3, 0.7), rates=(0.2, 5.0)),
    ],
)
def test_counts_from_the_phases_are_those_of_the_closed_form(law: Distribution) -> None:
    from analytic.laws import phase_type

    assert as_phase_type(law) is not None
    by_phases = phase_type.poisson_counts(law, 2.5, 200)
    assert poisson_counts(law, 2.5, 200) == pytest.approx(by_phases, rel=1e-11, abs=1e-300)


def test_a_pareto_law_of_shape_two_has_no_second_moment_of_served_pages() -> None:
    """Those of obsolete pages exist: no wait is longer than the patience."""
    rows, _ = predict(queue({"buffer.service.pareto": {"mean": 1.0, "shape": 1.8}}))[:2]
    given = {row.subject for row in rows if row.measure == "sojourn_time_second_moment"}
    assert given == {"obsolete"}
    assert {row.subject for row in rows if row.measure == "sojourn_time"} == {
        "all",
        "served",
        "obsolete",
        "accepted",
    }


@pytest.mark.thorough
def test_a_lognormal_service_in_a_simulation() -> None:
    """Of 18 rows at 4 standard errors a false alarm in 900; 3 % of the service would show."""
    scenario = queue(
        {
            "buffer.service.lognormal": {"mean": 1.0, "sd": 1.5},
            "run": {"horizon": 5000.0, "warmup": 200.0, "replications": 40, "seed": 23},
        }
    )
    assert worst(scenario, scenario) < 4
    slower = scenario.with_("buffer.service.lognormal", {"mean": 1.03, "sd": 1.5})
    assert worst(slower, scenario) > 6


def worst(predicted: Scenario, simulated: Scenario) -> float:
    """The largest difference in standard errors."""
    rows = [row for row in predict(predicted)[0] if row.kind == "exact"]
    assert len(rows) > 15
    return max(abs(row.z) for row in compare(rows, sim.run(simulated)) if math.isfinite(row.z))


def test_the_best_number_of_robots_is_exact_for_any_service() -> None:
    """The same costs as the chain's where it has some, and those of `solve` where it has none."""
    prices = {"loss": 1.0, "starvation": 3.0, "robots": 0.1}
    scenario = queue().with_({**NEVER, "costs": prices})
    every = range(scenario.robots.available + 1)
    by_chain = all_costs(scenario, every, CONSTANT)
    np.testing.assert_allclose(
        _costs_one_by_one(scenario, every, CONSTANT, "it has one"), by_chain, rtol=1e-10
    )
    constant = scenario.with_("buffer.service", {"deterministic": {"value": 0.7}})
    search = optimal_fixed_number(constant)
    assert search.kind == "exact"
    best = search.decision["robots"]
    costs = []
    for robots in every[1:]:
        rows = predict(constant.with_("activation", {"static": robots}))[0]
        costs.append(next(row.value for row in rows if row.measure == "control_cost"))
    assert best == 1 + int(np.argmin(costs))
    assert search.cost == pytest.approx(min(costs), rel=1e-12)
