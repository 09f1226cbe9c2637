"""End-to-end freshness: exact results against each other, known limits, and the simulation.

The simulated families have a false-alarm probability of 1e-3 each, with fixed seeds; a difference
of 2 % of the weighted obsolescence is seen with probability 0.95 or more, for otherwise the verdict
would not be *agrees*.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from pipelines import BASE, PIPELINES, pipeline

import sim
from analytic import compare, overall, predict
from analytic.indexing_queue import chain_of, controlled_chain, solve_chain
from analytic.indexing_queue.chain import UNLIMITED_PATIENCE
from analytic.indexing_queue.one_robot import delivered_queue
from analytic.machinery.phase_type import as_phase_type
from analytic.page_refresh import cyclic_obsolescence, randomized_obsolescence
from analytic.pipeline import (
    METHODS,
    counted_slopes,
    decomposed,
    dropped_independently,
    exact_method,
    labelled_page,
    listed_rate,
    obsolescence_rates,
    shared_rate,
    single_place_rates,
)
from analytic.pipeline.dropping_and_replacement import PageClass
from analytic.pipeline.independence import thinned_cyclic, thinned_randomized
from analytic.pipeline.patience import old_and_new
from analytic.pipeline.periodic_lists import (
    fetching,
    random_slopes,
    shared_age,
)
from analytic.pipeline.random_pages import PageQueue, index_ages, obsolescence_slopes, page_queue
from experiments import decomposition_map
from experiments.unlimited_buffer import unlimited_age, unlimited_rates
from scenarios import Scenario, load, scenario_from
from scenarios.laws import (
    Deterministic,
    Erlang,
    Exponential,
    Gamma,
    Hyperexponential,
    PhaseType,
)
from scenarios.model import QueueDiscipline, ServiceOrder

ROOT = Path(__file__).parents[3]
FRESHNESS = {"obsolescence_rate", "weighted_obsolescence", "stale_answer_probability"}
CHANGES = np.array([0.05, 0.1, 0.2, 0.4, 0.0])
SHARES = np.array([0.1, 0.2, 0.25, 0.25, 0.2])
SERVICES = [
    Exponential(mean=1.0),
    Erlang(shape=3, mean=1.0),
    Hyperexponential(probabilities=(0.8, 0.2), rates=(2.0, 1 / 3)),
]


def poisson_queue(deliveries: float, service: Any, places: int) -> PageQueue:
    modes = np.array([[0.0, 0.0], [-deliveries, deliveries]])[:, :, None, None]
    law = as_phase_type(service)
    assert law is not None
    chain = controlled_chain(modes, lambda _: 1, law, UNLIMITED_PATIENCE, places, "partial")
    return page_queue(chain)


def freshness(scenario: Scenario) -> list[Any]:
    """Predictions of the index of pipelines, first method that covers it."""
    method = exact_method(scenario)
    assert method is not None
    return [
        row
        for row in predict(scenario)[0]
        if row.source == f"pipeline {method.name}" and row.measure in FRESHNESS
    ]


# -- the exact results and the simulation ----------------------------------------------------------


@pytest.mark.by_day("cyclic, exponential, heard up to a level")
@pytest.mark.statistical
@pytest.mark.parametrize("name", PIPELINES)
def test_the_simulation_agrees(name: str) -> None:
    """Every page: no disagreement; the weighted sum, the answers, the fastest pages: agrees."""
    scenario = pipeline(name)
    method = exact_method(scenario)
    assert method is not None
    assert method.name == PIPELINES[name][0]
    with ThreadPoolExecutor(2) as executor:
        results = sim.run(scenario, executor=executor)
    rows = compare(freshness(scenario), results)
    assert {row.verdict for row in rows} <= {"agrees", "inconclusive"}
    settled = {(row.measure, row.subject): row.verdict for row in rows}
    for key in (("weighted_obsolescence", None), ("stale_answer_probability", None)):
        assert settled[key] == "agrees"
    assert sum(verdict == "agrees" for verdict in settled.values()) >= len(settled) - 1


def test_no_scenario_is_covered_by_two_methods() -> None:
    for name in PIPELINES:
        scenario = pipeline(name)
        covering = [
            method.name
            for method in METHODS
            if all(condition(scenario) is None for condition in method.conditions)
        ]
        assert covering == [PIPELINES[name][0]], name


WRONG = {
    "index refreshed at delivery": (0.167465, 0.334475, 0.626352),
    "index refreshed at the start of service": (0.231932, 0.545686, 0.916920),
    "content taken at the start of service": (0.183753, 0.394798, 0.750636),
    "losses ignored": (0.177928, 0.504390, 0.920023),
    "no buffer at all": (0.090909, 0.200000, 0.454545),
}
"""What wrong models give for K = 6, service 1, deliveries 2, pages .02, .1, .5 with .1, .2, .3."""
EXACT = (0.246992, 0.586987, 0.944613)
DECOMPOSED = (0.247430, 0.588082, 0.945287)
OVERLOADED = {
    "pages.change_rates": [0.02, 0.1, 0.5, 0.0],
    "robots.accessing.frequencies": [0.1, 0.2, 0.3, 0.4],
    "robots.access_time.exponential.mean": 1.5,
}


def test_the_exact_values_and_the_decomposition_of_an_overloaded_pipeline() -> None:
    scenario = scenario_from(BASE).with_(OVERLOADED)
    rates = {row.subject: row.value for row in freshness(scenario)}
    assert [rates[page] for page in range(3)] == pytest.approx(EXACT, abs=5e-7)
    mu = np.array([0.02, 0.1, 0.5])
    shares = np.array([0.1, 0.2, 0.3])
    queue = poisson_queue(2.0, SERVICES[0], 6)
    p = queue.stationary
    y = 1 / (1 + mu)
    discount = sum(p[n] * y ** (n + 1) for n in range(6)) / (1 - p[6])
    every = Exponential(mean=0.5)
    lossy = decomposed(thinned_randomized(mu, shares, every, p[6]), discount)
    assert lossy == pytest.approx(DECOMPOSED, abs=5e-7)
    lossless = decomposed(thinned_randomized(mu, shares, every, 0.0), discount)
    assert lossless == pytest.approx(WRONG["losses ignored"], abs=5e-7)
    bare = thinned_randomized(mu, shares, every, 0.0)
    assert bare == pytest.approx(WRONG["no buffer at all"], abs=5e-7)


@pytest.mark.thorough
@pytest.mark.statistical
def test_every_wrong_model_is_refuted_by_the_simulation() -> None:
    """Each wrong value is 8 standard errors away at least; the exact ones are within 4.6."""
    scenario = scenario_from(BASE).with_(OVERLOADED | {"run.horizon": 100_000.0})
    with ThreadPoolExecutor(2) as executor:
        results = sim.run(scenario, executor=executor)
    for page, exact in enumerate(EXACT):
        row = results.find("obsolescence_rate", page)
        assert row is not None
        assert abs(row.estimate - exact) < 4.6 * row.standard_error
        for values in WRONG.values():
            assert abs(row.estimate - values[page]) > 8 * row.standard_error


# -- the lesson: .439, .522, .639 ------------------------------------------------------------------


def example(robots: int, places: int = 20) -> Scenario:
    """Twenty Zipf pages, deliveries robots / 10, service 1; the cost as a share of the weights."""
    changes = {"robots.available": robots, "buffer.waiting_places": places}
    return load("pipeline-light").with_(changes)


def cost(scenario: Scenario) -> float:
    method = exact_method(scenario)
    assert method is not None
    assert scenario.pages is not None
    weights = scenario.model.pages.weights
    return float(weights @ method.rates(scenario) / weights.sum())


TABLE_1 = {
    5: (0.597, 0.488, 0.455, 0.433, 0.420, 0.412, 0.409, 0.410, 0.420),
    20: (0.597, 0.488, 0.456, 0.439, 0.441, 0.470, 0.522, 0.603, 0.639),
    100: (0.597, 0.488, 0.456, 0.439, 0.443, 0.494, 0.754, 0.892, 0.897),
}


@pytest.mark.parametrize("places", TABLE_1)
def test_more_robots_make_the_index_staler(places: int) -> None:
    robots = (3, 5, 6, 7, 8, 9, 10, 12, 16)
    costs = [cost(example(each, places)) for each in robots]
    assert costs == pytest.approx(TABLE_1[places], abs=5e-4)


def test_without_a_buffer_every_robot_helps() -> None:
    pages = example(1).model.pages
    assert pages is not None
    mu = pages.change_rates
    share = mu / mu.sum()
    costs = [
        float(share @ randomized_obsolescence(mu, share, Exponential(rate=robots / 10)))
        for robots in (3, 5, 6, 7, 8, 9, 10, 12, 16)
    ]
    assert costs == pytest.approx(
        (0.571, 0.444, 0.400, 0.364, 0.333, 0.308, 0.286, 0.250, 0.200), abs=5e-4
    )


def test_a_bigger_buffer_makes_the_index_staler() -> None:
    costs = [cost(example(10, K - 1)) for K in (1, 2, 3, 4, 6, 11, 21, 51, 101)]
    expected = (0.463, 0.411, 0.399, 0.399, 0.409, 0.449, 0.522, 0.651, 0.754)
    assert costs == pytest.approx(expected, abs=5e-4)
    assert cost(example(16, 2)) == pytest.approx(0.374, abs=5e-4)


@pytest.mark.statistical
@pytest.mark.thorough
@pytest.mark.parametrize(("robots", "exact"), [(7, 0.439), (10, 0.522), (16, 0.639)])
def test_the_lesson_is_simulated(robots: int, exact: float) -> None:
    """Standard errors below 0.0015: neighbours differ by 50 of them (seed of the file)."""
    with ThreadPoolExecutor(2) as executor:
        results = sim.run(example(robots).with_("run.horizon", 40_000.0), executor=executor)
    row = results.find("weighted_obsolescence")
    assert row is not None
    assert row.standard_error / 0.4 < 0.0015
    assert abs(row.estimate / 0.4 - exact) < 4 * row.standard_error / 0.4 + 5e-4


@pytest.mark.thorough
def test_throwing_pages_away_makes_the_index_fresher() -> None:
    """Tables of timers, last come first served and push-out, to the printed digits."""
    for robots, mean, expected in ((16, 2, 0.370), (12, 2, 0.388), (8, 10, 0.420), (5, 0.5, 0.537)):
        timed = {"buffer.obsolescence": {"exponential": {"mean": float(mean)}}}
        assert cost(example(robots).with_(timed)) == pytest.approx(expected, abs=5e-4)
    lifo = {"buffer.discipline": "lifo"}
    out = {"buffer.when_full": "push-out"}
    table = {
        5: (0.4878, 0.4847, 0.4847),
        8: (0.4406, 0.4036, 0.4034),
        12: (0.5735, 0.3808, 0.3677),
        16: (0.5627, 0.3750, 0.3503),
    }
    for robots, expected_row in table.items():
        found = [cost(example(robots).with_(each)) for each in (out, lifo, lifo | out)]
        assert found == pytest.approx(expected_row, abs=5e-5)


def test_robots_on_one_list_slide_from_cyclic_to_random() -> None:
    table = {
        4: (0.678, 0.692, 0.707, 0.717, 0.722, 0.728),
        20: (0.488, 0.489, 0.496, 0.515, 0.539, 0.585),
    }
    queue = poisson_queue(0.9, SERVICES[0], 6)
    for pages, expected in table.items():
        slots = np.arange(pages) == 0
        mu = 0.9 / pages
        found = [shared_rate(queue, fetching(slots, r), 0.9, mu) for r in (1, 2, 4, 8, 16)]
        found.append(float(obsolescence_rates(queue, [mu], [1 / pages])[0]))
        assert found == pytest.approx(expected, abs=5e-4)


def test_page_change_dropping_of_many_pages_is_approximated() -> None:
    mu = example(5).model.pages.change_rates  # type: ignore[arg-type]
    share = mu / mu.sum()
    expected = {5: 0.4852, 8: 0.4078, 12: 0.4098, 16: 0.4666}
    for robots, value in expected.items():
        found = share @ dropped_independently(mu, share, [robots / 10] * 22, 1.0)
        assert found == pytest.approx(value, abs=5e-5)
    scenario = example(8).with_("buffer.obsolescence", "page-change")
    (row,) = (r for r in predict(scenario)[0] if r.measure == "weighted_obsolescence")
    assert (row.kind, row.value / 0.4) == ("approximation", pytest.approx(0.4078, abs=5e-5))


@pytest.mark.parametrize(
    ("targets", "stale"),
    [
        ([16, 16, 16, 16, 14, 12, 10, 8, 6, 4, 3, 0], 0.4478),
        ([16, 12, 10, 7, 6, 4, 2, 1, 0, 0, 0, 0], 0.4000),
    ],
)
def test_switching_by_losses_and_by_freshness(targets: list[int], stale: float) -> None:
    rule = {"activation": {"switching": {"targets": targets}}}
    assert cost(example(16, 10).with_(rule)) == pytest.approx(stale, abs=5e-5)


@pytest.mark.statistical
def test_where_nothing_exact_applies_the_decomposition_is_near() -> None:
    """Three Erlang robots on one list of twenty pages: within 0.02, ages 3 %, and so named."""
    changes: dict[str, Any] = {
        "robots.accessing": {"policy": "round-robin"},
        "robots.access_time": {"erlang": {"shape": 2, "mean": 4.0}},
    }
    scenario = example(3).with_(changes)
    assert exact_method(scenario) is None
    rows = [row for row in predict(scenario)[0] if row.source.startswith("pipeline decomposition")]
    assert {row.kind for row in rows} == {"approximation"}
    with ThreadPoolExecutor(2) as executor:
        results = sim.run(scenario, executor=executor)
    for row in rows:
        found = results.find(row.measure, row.subject)
        assert found is not None
        largest = 0.03 * row.value if row.measure == "index_age" else 0.02
        assert abs(found.estimate - row.value) < largest
    assert {row.verdict for row in compare(rows, results)} == {"not judged"}


# -- the exact results against each other ----------------------------------------------------------


@pytest.mark.parametrize("service", SERVICES, ids=lambda law: law.key)
@pytest.mark.parametrize("load_", [0.3, 1.0, 3.0])
def test_counting_old_pages_gives_the_same(service: Any, load_: float) -> None:
    scenario = scenario_from(BASE).with_(
        {"buffer.service": {service.key: service.model_dump(exclude_none=True)}}
        | {"robots.access_time": {"exponential": {"mean": 3 / load_}}}
    )
    chain = chain_of(scenario)
    law = solve_chain(chain).stationary
    plain = obsolescence_rates(page_queue(chain), CHANGES, SHARES)
    counted = counted_slopes(old_and_new(chain), law, CHANGES, SHARES)
    assert counted.rates == pytest.approx(plain, rel=1e-12)


def test_phases_of_timers_that_do_not_matter() -> None:
    """Phases with equal exit rates, the first of which moves to the second, are exponential."""
    service = as_phase_type(Exponential(mean=1.0))
    places = 4
    assert service is not None
    modes = np.array([[0.0, 0.0], [-1.2, 1.2]])[:, :, None, None]
    single = as_phase_type(Exponential(mean=2.0))
    double = as_phase_type(PhaseType(alpha=(0.4, 0.6), T=((-0.8, 0.3), (0.0, -0.5))))
    assert single is not None
    assert double is not None
    found = []
    for timer in (single, double):
        chain = controlled_chain(modes, lambda _: 1, service, timer, places, "partial")
        law = solve_chain(chain).stationary
        found.append(counted_slopes(old_and_new(chain), law, CHANGES, SHARES).rates)
    assert found[1] == pytest.approx(found[0], rel=1e-10)


@pytest.mark.parametrize(
    "rules", [QueueDiscipline(), QueueDiscipline(ServiceOrder.NEWEST_FIRST, pushes_out_oldest=True)]
)
def test_labels_that_do_not_matter(rules: QueueDiscipline) -> None:
    """Without dropping and replacement the forward chain of labels gives what the counts give."""
    scenario = scenario_from(BASE).with_("buffer.waiting_places", 3)
    chain = chain_of(scenario)
    law = solve_chain(chain).stationary
    lost = np.array([[1.2]]) if rules.pushes_out_oldest else None
    counted = old_and_new(chain, rules.order, lost)
    expected = counted_slopes(counted, law, [0.2, 0.05], [0.3, 0.2]).rates
    classes = PageClass(2, 0.2, 0.3), PageClass(2, 0.05, 0.2)
    every = (np.array([[1.2]]),) * (chain.top + 1)
    for kind, value in enumerate(expected):
        page = labelled_page(chain, every, classes, kind, rules)
        assert page.rate == pytest.approx(value, rel=1e-10)
        assert page.levels == pytest.approx(law, rel=1e-10)


def test_the_phases_of_deliveries_in_the_chain_of_labels() -> None:
    scenario = pipeline("MAP deliveries").with_("buffer.waiting_places", 2)
    chain = chain_of(scenario)
    expected = obsolescence_rates(page_queue(chain), [0.2, 0.05], [0.3, 0.7])
    arrivals = np.array([[3.8, 0.0], [0.0, 0.3]])
    classes = PageClass(1, 0.2, 0.3), PageClass(1, 0.05, 0.7)
    rate = labelled_page(chain, (arrivals,) * 4, classes, 0, QueueDiscipline()).rate
    assert rate == pytest.approx(expected[0], rel=1e-10)


def test_one_robot_by_three_methods() -> None:
    """Exponential accesses: by random pages, by the shared list, by the chain at deliveries."""
    for service in SERVICES:
        queue = poisson_queue(0.9, service, 5)
        law = as_phase_type(service)
        assert law is not None
        delivered = delivered_queue(law, 5, Exponential(mean=1 / 0.9))
        for mu in (1e-4, 0.1, 20.0):
            random = float(obsolescence_rates(queue, [mu], [0.3])[0])
            by_deliveries = random_slopes(delivered, [mu], [0.3]).rates
            assert by_deliveries == pytest.approx([random], rel=1e-10)
            slots = np.array([1, 0, 0, 1, 0, 0, 0], dtype=bool)
            shared = shared_rate(queue, fetching(slots, 1), 0.9, mu)
            assert listed_rate(delivered, slots, mu) == pytest.approx(shared, rel=1e-10)


def test_gamma_accesses_of_a_whole_shape_are_erlang() -> None:
    law = as_phase_type(SERVICES[2])
    assert law is not None
    slots = np.array([1, 0, 0], dtype=bool)
    found = [
        listed_rate(delivered_queue(law, 4, access), slots, 0.2)
        for access in (Gamma(shape=3.0, mean=1.1), Erlang(shape=3, mean=1.1))
    ]
    assert found[0] == pytest.approx(found[1], rel=1e-12)
    scenario = scenario_from(BASE).with_(
        {"robots.available": 1, "robots.access_time": {"erlang": {"shape": 3, "mean": 1.1}}}
    )
    plain = obsolescence_rates(page_queue(chain_of(scenario)), CHANGES, SHARES)
    service = as_phase_type(Exponential(mean=1.0))
    assert service is not None
    delivered = delivered_queue(service, 6, Erlang(shape=3, mean=1.1))
    assert random_slopes(delivered, CHANGES, SHARES).rates == pytest.approx(plain, rel=1e-10)


def test_closed_forms() -> None:
    deliveries = 0.7
    service = 1.3
    law = Exponential(rate=service)
    single = poisson_queue(deliveries, law, 1)
    expected = single_place_rates(CHANGES, SHARES, deliveries, service)
    assert obsolescence_rates(single, CHANGES, SHARES) == pytest.approx(expected, rel=1e-13)
    many = poisson_queue(deliveries, law, 150)
    unlimited = unlimited_rates(CHANGES, SHARES, deliveries, service)
    assert obsolescence_rates(many, CHANGES, SHARES) == pytest.approx(unlimited, rel=1e-11)
    with pytest.raises(ValueError, match="must be below 1"):
        unlimited_rates(CHANGES, SHARES, 1.3, 1.3)


def test_the_known_mean_age_of_one_page() -> None:
    """(1/s) (1 + 1/rho + rho²/(1 - rho)); r is mu times it for small mu; every method has it."""
    for rho in (0.2, 0.5, 0.8):
        queue = poisson_queue(rho * 2.0, Exponential(rate=2.0), 200)
        age = unlimited_age(rho * 2.0, 2.0)
        assert index_ages(queue, [1.0]) == pytest.approx([age], rel=1e-12)
        assert obsolescence_rates(queue, [1e-9], [1.0]) == pytest.approx([1e-9 * age], rel=1e-6)
    queue = poisson_queue(0.9, SERVICES[2], 5)
    assert index_ages(queue, [0.25, 0.0])[1] == np.inf
    for robots in (1, 3):
        age = shared_age(queue, fetching(np.arange(4) == 0, robots), 0.9)
        rate = shared_rate(queue, fetching(np.arange(4) == 0, robots), 0.9, 1e-9)
        assert rate == pytest.approx(1e-9 * age, rel=1e-6)
    assert shared_age(queue, fetching(np.arange(4) < 0, 3), 0.9) == np.inf


def test_instant_indexing_gives_the_formulas_without_a_buffer() -> None:
    """coffman1998, Lemma 4.1 and (3)."""
    instant = Exponential(mean=1e-9)
    queue = poisson_queue(0.9, instant, 3)
    bare = randomized_obsolescence(CHANGES, SHARES, Exponential(rate=0.9))
    assert obsolescence_rates(queue, CHANGES, SHARES) == pytest.approx(bare, rel=1e-7)
    service = as_phase_type(instant)
    assert service is not None
    cycle = np.array([3, 2, 3, 1, 3, 2, 0])
    for access in (Deterministic(value=1.1), Gamma(shape=0.5, mean=1.1)):
        delivered = delivered_queue(service, 2, access)
        expected = cyclic_obsolescence(CHANGES[:4], cycle, access)
        for page in range(4):
            found = listed_rate(delivered, cycle == page, CHANGES[page])
            assert found == pytest.approx(expected[page], rel=1e-6)


def test_thinned_lists_without_losses_are_the_formula_3() -> None:
    cycle = np.array([3, 2, 3, 1, 3, 2, 0])
    access = Erlang(shape=2, mean=1.1)
    expected = cyclic_obsolescence(CHANGES, cycle, access)
    assert thinned_cyclic(CHANGES, cycle, access, 0.0) == pytest.approx(expected, rel=1e-12)
    h = np.exp(-0.2)
    lost = 0.3
    d = 3
    found = thinned_cyclic([0.2] * d, np.arange(d), Deterministic(value=1.0), lost)
    equal = 1 - (1 - h**d) * (1 - lost) / (d * 0.2 * (1 - lost * h**d))
    assert found == pytest.approx([equal] * d, rel=1e-12)


@pytest.mark.parametrize("share", [1e-8, 0.01, 1.0])
@pytest.mark.parametrize("change", [1e-6, 1e-2, 1e2])
def test_no_digit_is_lost(change: float, share: float) -> None:
    """Against rational arithmetic: three places, service 1, deliveries 3/4."""
    queue = poisson_queue(0.75, Exponential(mean=1.0), 3)
    exact = float(_by_fractions(Fraction(change), Fraction(share), Fraction(3, 4), 3))
    found = float(obsolescence_rates(queue, [change], [share])[0])
    assert found == pytest.approx(exact, rel=5e-14)


def _by_fractions(mu: Fraction, f: Fraction, rate: Fraction, places: int) -> Fraction:
    """The linear system of a birth-death queue with service 1, by Gauss without rounding."""
    y = 1 / (1 + mu)
    size = places + 1
    rows = [[Fraction(0)] * (size + 1) for _ in range(size)]
    for n in range(size):
        enters = rate if n < places else Fraction(0)
        rows[n][n] = mu + enters + (1 if n else 0)
        rows[n][-1] = mu + f * enters * (1 - y ** (n + 1))
        if n:
            rows[n][n - 1] -= 1
        if n < places:
            rows[n][n + 1] -= (1 - f) * rate
    for n in range(size):
        for other in range(n + 1, size):
            factor = rows[other][n] / rows[n][n]
            rows[other] = [a - factor * b for a, b in zip(rows[other], rows[n], strict=True)]
    z = [Fraction(0)] * size
    for n in reversed(range(size)):
        z[n] = (rows[n][-1] - sum(rows[n][k] * z[k] for k in range(n + 1, size))) / rows[n][n]
    law = [rate**n for n in range(size)]
    return sum((p * each for p, each in zip(law, z, strict=True)), Fraction(0)) / sum(law)


def test_slopes_are_the_derivatives_with_batches_too() -> None:
    for name in ("static", "batches", "switching"):
        queue = page_queue(chain_of(pipeline(name)))
        step = 1e-5
        slopes = obsolescence_slopes(queue, CHANGES, SHARES)
        above = obsolescence_slopes(queue, CHANGES, SHARES + step)
        below = obsolescence_slopes(queue, CHANGES, SHARES - step)
        first = (above.rates - below.rates) / (2 * step)
        assert slopes.first == pytest.approx(first, rel=1e-5, abs=1e-9)
        second = (above.first - below.first) / (2 * step)
        assert slopes.second == pytest.approx(second, rel=1e-4, abs=1e-7)


def test_a_page_never_fetched_is_stale_and_one_that_never_changes_is_not() -> None:
    for name in ("static", "LIFO", "Erlang timers"):
        scenario = pipeline(name).with_(
            {
                "pages.change_rates": [0.1, 0.0, 0.2],
                "robots.accessing.frequencies": [0.0, 0.5, 0.5],
            }
        )
        method = exact_method(scenario)
        assert method is not None
        rates = method.rates(scenario)
        assert rates[0] == pytest.approx(1.0, rel=1e-12)
        assert rates[1] == 0.0
        assert 0 < rates[2] < 1


def test_ages_by_the_methods_of_the_index() -> None:
    """r / mu for small mu, by every method that gives ages."""
    for name in (
        "static",
        "switching",
        "batches",
        "LIFO, switching",
        "LIFO, push-out, timers, MAP",
        "Erlang timers",
    ):
        scenario = pipeline(name)
        slow = scenario.with_("pages.change_rates", [1e-8] * 5)
        method = exact_method(scenario)
        assert method is not None
        assert method.ages is not None
        assert method.rates(slow) / 1e-8 == pytest.approx(method.ages(slow), rel=1e-4), name


@pytest.mark.thorough
def test_the_map_of_the_decomposition(tmp_path: Path) -> None:
    """The table of the coarse grid, the bursts, and that it draws."""
    worst = decomposition_map.map_of_errors(*decomposition_map.COARSE)
    table = [
        [0.093, 0.073, 0.035, 0.0068, 0.0018],
        [0.093, 0.078, 0.047, 0.0151, 0.0033],
        [0.915, 0.788, 0.632, 0.575, 0.430],
    ]
    assert worst.max(axis=2) == pytest.approx(np.array(table), rel=0.015, abs=5e-5)
    assert decomposition_map.bursty_errors() == pytest.approx(
        [-0.0035, -0.0188, -0.0617, -0.1191], abs=6e-5
    )
    drawn = decomposition_map.drawn(np.repeat(worst[:2], 2, axis=2) + 1e-6)
    drawn.savefig(tmp_path / "map.png")
    assert (tmp_path / "map.png").stat().st_size > 10_000


# -- a planted error is caught ---------------------------------------------------------------------


@pytest.mark.thorough
@pytest.mark.statistical
@pytest.mark.parametrize(
    ("simulated", "predicted"),
    [
        ({}, {"buffer.waiting_places": 4}),
        ({}, {"buffer.discipline": "lifo"}),
        ({"buffer.when_full": "push-out"}, {}),
        ({"buffer.obsolescence": {"exponential": {"mean": 2.0}}}, {}),
        ({}, {"buffer.service": {"erlang": {"shape": 2, "mean": 1.0}}}),
    ],
    ids=str,
)
def test_a_wrong_rule_is_caught(simulated: dict[str, Any], predicted: dict[str, Any]) -> None:
    busy = scenario_from(BASE).with_("robots.available", 5)
    with ThreadPoolExecutor(2) as executor:
        results = sim.run(busy.with_(simulated), executor=executor)
    assert overall(compare(freshness(busy.with_(predicted)), results)) == "disagrees"


@pytest.mark.by_day(every=2)
@pytest.mark.parametrize(
    ("changes", "name", "reason"),
    [
        (
            {"buffer.service": {"deterministic": {"value": 1.0}}},
            "random pages",
            "not of phase type",
        ),
        ({"robots.access_time": {"deterministic": {"value": 1.0}}}, "one robot", "3 robots share"),
        ({"robots.accessing": {"policy": "whittle"}}, "random pages", "still to be found"),
        (
            {"buffer.obsolescence": {"uniform": {"low": 0.0, "high": 1.0}}},
            "phase-type timers",
            "phase type",
        ),
        ({"buffer.discipline": "lifo"}, "random pages", "last come first served"),
        ({"buffer.replace_older_copy": True}, "random pages", "newer copies replace"),
        ({"activation": {"static": 0}}, "random pages", "no robot is active"),
        (
            {"pages.change_rates.zipf": None},
            "decomposition",
            "an exact method covers it: random pages",
        ),
    ],
    ids=str,
)
def test_a_reason_is_given_where_a_result_does_not_hold(
    changes: dict[str, Any], name: str, reason: str
) -> None:
    changes = {key: value for key, value in changes.items() if value is not None}
    others = predict(scenario_from(BASE).with_(changes))[1]
    (found,) = (row.reason for row in others if row.source == f"pipeline {name}")
    assert reason in found


def test_hosts_that_want_to_be_left_alone_are_not_modelled() -> None:
    """Robots that wait deliver less: no row of the pipeline answers, and each says why."""
    changes = {"pages.hosts": [0] * 20, "robots.host_spacing": 3.0, "activation": None}
    polite = load("pipeline-more-robots").with_(changes | {"robots.available": 3})
    predictions, refusals = predict(polite)
    assert not [row for row in predictions if row.source.startswith("pipeline")]
    own = [each for each in refusals if each.source.startswith("pipeline")]
    reasons = [reason for each in own for reason in each.reasons]
    assert reasons.count("robots may wait for hosts") >= 8
