"""What is said of pipelines that no exact result covers: never judged, and how far off.

The simulations have fixed seeds and standard errors below 0.0015 of the weighted share; a bound on
an error is an observation of the systems named here, not a guarantee.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from pipelines import pipeline

import sim
from analytic import compare, overall, predict
from analytic.index.formula import Formula
from analytic.indexing_queue import NotConvergedError, chain_of, solution, solve_chain
from analytic.machinery.phase_type import as_phase_type, moment
from analytic.machinery.refusal import NoAnswerError
from analytic.machinery.transforms import moments, survival, transform
from analytic.pipeline import FORMULAS, approximations, exact_method
from analytic.pipeline.approximations import APPROXIMATIONS, moment_match, with_phases
from analytic.pipeline.independence import (
    replacement_rates_and_ages,
    thinned_ages,
    thinned_cyclic,
    thinned_randomized,
)
from analytic.pipeline.patience import drop_rates, level_probabilities, patience_rates_and_ages
from scenarios import Scenario, load
from scenarios.laws import (
    Deterministic,
    Empirical,
    Erlang,
    Exponential,
    Gamma,
    Hyperexponential,
    Pareto,
    Uniform,
)
from scenarios.page_data import access_shares

CONSTANT = {"buffer.service": {"deterministic": {"value": 1.0}}}
UNIFORM = {"buffer.service": {"uniform": {"low": 0.0, "high": 2.0}}}
LIFO = {"buffer.discipline": "lifo"}
REPLACE = {"buffer.replace_older_copy": True}
CHANGE = {"buffer.obsolescence": "page-change"}
ROUND = {"robots.accessing": {"policy": "round-robin"}}
REGULAR = {"robots.available": 3, "robots.access_time": {"deterministic": {"value": 3.4}}}
TIMED = {"buffer.obsolescence": {"uniform": {"low": 0.0, "high": 6.0}}}
LATE = {
    "robots.available": 16,
    "buffer.obsolescence": {"deterministic": {"value": 8.0}},
}
GAMMA = {"buffer.obsolescence": {"gamma": {"shape": 3.0, "mean": 8.0}}}
ERLANG = {"buffer.obsolescence": {"erlang": {"shape": 3, "mean": 8.0}}}
FEW = {"buffer.waiting_places": 3}
THRESHOLD = {"activation": {"threshold": {"robots": [9, 1], "at": [3]}}}

APPROXIMATED: dict[str, tuple[str, dict[str, Any], float]] = {
    "constant service": ("moment match", CONSTANT, 0.01),
    "uniform service, threshold": ("moment match", UNIFORM | THRESHOLD, 0.01),
    "three regular robots": ("moment match", REGULAR, 0.01),
    "three regular robots on one list": ("moment match", REGULAR | ROUND, 0.01),
    "newest first, constant service": ("moment match", LIFO | CONSTANT, 0.01),
    "replacement": ("copies replaced independently", REPLACE, 0.005),
    "replacement, threshold": ("copies replaced independently", REPLACE | THRESHOLD, 0.005),
    "replacement, constant service": ("moment match", REPLACE | CONSTANT, 0.03),
    "page-change": ("copies dropped independently", CHANGE, 0.005),
    "page-change, constant service": ("moment match", CHANGE | CONSTANT, 0.04),
    "uniform timers": ("timers of any law", TIMED, 0.006),
    "constant timers": ("timers of any law", LATE, 0.008),
    "gamma timers, threshold": ("timers of any law", GAMMA | THRESHOLD, 0.008),
    "uniform timers and service, few places": ("moment match", TIMED | UNIFORM | FEW, 0.01),
}
"""By name: the row, what differs from twenty pages with nine robots, the largest error seen."""


DECOMPOSITION: Formula = next(row for row in FORMULAS if row.number == "decomposition")


def twenty(changes: dict[str, Any]) -> Scenario:
    short = {"robots.available": 9, "run.horizon": 20_000.0}
    return load("pipeline-light").with_(short | changes)


@pytest.mark.by_day("uniform service, threshold", "page-change", "page-change, constant service")
@pytest.mark.statistical
@pytest.mark.parametrize("name", APPROXIMATED)
def test_approximations_are_near_and_never_judged(name: str) -> None:
    name_of_row, changes, bound = APPROXIMATED[name]
    scenario = twenty(changes)
    assert exact_method(scenario) is None
    rows = [row for row in predict(scenario)[0] if row.source.startswith("pipeline")]
    assert {row.kind for row in rows} == {"approximation"}
    of_few_phases = "pipeline accesses of few phases"  # where accesses have none
    assert {row.source for row in rows} - {of_few_phases} == {f"pipeline {name_of_row}"}
    rows = [row for row in rows if row.source != of_few_phases]
    results = sim.run(scenario)
    judged = compare(rows, results)
    assert {row.verdict for row in judged} == {"not judged"}
    assert overall(judged) == "not judged"
    (weighted,) = (row for row in judged if row.measure == "weighted_obsolescence")
    assert weighted.standard_error / 0.4 < 0.0015
    assert abs(weighted.estimated - weighted.predicted) / 0.4 < bound


@pytest.mark.parametrize(
    ("changes", "missing"),
    [
        (REPLACE | CHANGE, "waiting pages become obsolete"),
        (REPLACE | LIFO, "last come first served"),
        (CHANGE | CONSTANT | LIFO, "last come first served"),
        (ROUND | LIFO, "last come first served"),
        (ROUND | THRESHOLD, "the number of active robots depends on the level"),
        (LATE | CONSTANT, "coefficient of variation of 1 in place of 0"),
        (TIMED | CONSTANT, "coefficient of variation of 1 in place of 0.33"),
        (ROUND | CONSTANT | LIFO, "not with phase-type laws either: last come first served"),
    ],
    ids=str,
)
def test_what_is_missing_is_named(changes: dict[str, Any], missing: str) -> None:
    predictions, others = predict(twenty(changes))
    assert not {row.measure for row in predictions} & {"weighted_obsolescence", "index_age"}
    reasons = [row.reason for row in others if row.source.startswith("pipeline")]
    assert len(reasons) >= 12
    assert any(missing in reason for reason in reasons)


def test_replacement_of_equal_pages_is_exact() -> None:
    """Which others wait is then uniform given their number: against the chain of labels."""
    changes = {
        "pages.change_rates": [0.2, 0.2, 0.05, 0.05, 0.0],
        "robots.accessing.frequencies": "uniform",
        "activation": {"threshold": {"robots": [3, 1], "at": [2]}},
    }
    scenario = pipeline("replacement").with_(changes)
    method = exact_method(scenario)
    assert method is not None
    assert method.name == "dropping and replacement"
    assert method.ages is not None
    deliveries = np.array([1.2, 1.2, 1.2, 0.4, 0.4, 0.4, 0.4])
    found = replacement_rates_and_ages([0.2, 0.2, 0.05, 0.05, 0.0], [0.2] * 5, deliveries, 1.0)
    assert found.rates == pytest.approx(method.rates(scenario), rel=1e-10)
    assert found.ages == pytest.approx(method.ages(scenario), rel=1e-10)


def test_replacement_of_twenty_zipf_pages() -> None:
    """Simulated to 0.0005 beforehand."""
    share = 1 / np.arange(1.0, 21.0)
    share /= share.sum()
    for robots, stale in ((8, 0.4011), (16, 0.3542)):
        found = replacement_rates_and_ages(0.4 * share, share, [robots / 10] * 22, 1.0)
        assert share @ found.rates == pytest.approx(stale, abs=0.0025)


def test_pages_that_are_never_brought_or_never_change() -> None:
    found = replacement_rates_and_ages([0.1, 0.0, 0.1], [0.0, 0.5, 0.5], [1.0] * 4, 1.0)
    assert found.rates[:2].tolist() == [1.0, 0.0]
    assert np.isinf(found.ages[0])
    assert found.ages[1] == pytest.approx(found.ages[2], rel=1e-12)


@pytest.mark.parametrize(
    ("law", "phases", "variation"),
    [
        (Deterministic(value=2.0), 16, 1 / 16),
        (Uniform(low=0.0, high=2.0), 16, 1 / 3),
        (Uniform(low=0.5, high=1.5), 16, 1 / 12),
        (Uniform(low=0.5, high=1.5), 4, 1 / 4),
        (Gamma(shape=0.4, mean=3.0), 16, 2.5),
        (Gamma(shape=2.7, mean=3.0), 16, 1 / 2.7),
        (Empirical(values=(1.0, 1.0, 4.0)), 16, 0.5),
        (Gamma(shape=2.7, mean=3.0), 1, 1.0),
    ],
)
def test_moment_matches_have_the_moments(law: Any, phases: int, variation: float) -> None:
    found = as_phase_type(moment_match(law, phases))
    assert found is not None
    mean = moments(law)[0]
    assert len(found.start) <= max(phases, 2)
    assert moment(found, 1) == pytest.approx(mean, rel=1e-12)
    assert moment(found, 2) == pytest.approx(mean**2 * (1 + variation), rel=1e-8)


def test_moment_matches_are_for_laws_without_phases_only() -> None:
    assert with_phases(twenty({})) == twenty({})
    replaced = with_phases(twenty(CONSTANT))
    assert replaced is not None
    assert replaced.buffer is not None
    assert replaced.buffer.service == Erlang(shape=16, mean=1.0)
    assert replaced.robots == twenty({}).robots


@pytest.mark.parametrize("lost", [0.0, 0.3])
def test_ages_of_a_thinned_index_are_the_slopes_of_its_rates(lost: float) -> None:
    cycle = np.array([2, 1, 2, 0, 2, 2, 1])
    law = Uniform(low=0.5, high=2.5)
    ages = thinned_ages([0.1] * 4, law, lost, cycle)
    slopes = thinned_cyclic([1e-5] * 4, cycle, law, lost) / 1e-5
    assert ages[:3] == pytest.approx(slopes[:3], rel=1e-3)
    assert np.isinf(ages[3])
    shares = np.array([0.1, 0.6])
    slopes = thinned_randomized([1e-6] * 2, shares, law, lost) / 1e-6
    assert thinned_ages(shares, law, lost) == pytest.approx(slopes, rel=1e-3)


@pytest.mark.parametrize("name", ["static", "cyclic, constant"])
def test_ages_of_the_decomposition_where_an_exact_one_exists(name: str) -> None:
    """Light load: within 2 %; without the delay in the buffer no page would be."""
    robots = {"robots.available": 1, "robots.access_time": {"exponential": {"mean": 5.0}}}
    scenario = pipeline(name).with_(robots)
    method = exact_method(scenario)
    assert method is not None
    assert method.ages is not None
    exact = method.ages(scenario)
    exact = exact[np.isfinite(exact)]
    rows = DECOMPOSITION.evaluate(scenario)
    near = np.array([value for measure, _, value in rows if measure == "index_age"])
    assert near == pytest.approx(exact, rel=0.02)
    assert (abs(near - 1.25 - exact) / exact).min() > 0.02


def test_chains_that_would_take_too_long_are_not_followed(monkeypatch: pytest.MonkeyPatch) -> None:
    """A bound on the passes over the states, and one on the pages that are followed."""
    timers = {"buffer.obsolescence": {"erlang": {"shape": 2, "mean": 3.0}}}
    scenario = load("pipeline-light").with_(timers | {"buffer.waiting_places": 11})
    queue = chain_of(scenario)
    assert solve_chain(queue).passes > 5
    monkeypatch.setattr(solution, "MOST_WORK", 5 * queue.states)
    with pytest.raises(NotConvergedError, match="5 passes left"):
        solve_chain(queue)
    assert approximations._discounts_fit(scenario) is None
    monkeypatch.setattr(approximations, "_MOST_FOLLOWED", 20 * queue.states - 1)
    assert "20 change rates take too long" in str(approximations._discounts_fit(scenario))


# --- timers of any law --------------------------------------------------------------------------

TIMERS = (
    Exponential(mean=2.0),
    Erlang(shape=3, mean=2.0),
    Gamma(shape=0.3, mean=2.0),
    Deterministic(value=2.0),
    Uniform(low=0.5, high=3.5),
    Hyperexponential(probabilities=(0.5, 0.5), rates=(2.0, 2 / 7)),
    Empirical(values=(0.5, 1.0, 4.5)),
)


@pytest.mark.parametrize("law", TIMERS, ids=lambda law: law.key)
def test_survivals_have_the_moments(law: Any) -> None:
    edges = np.linspace(0.0, 80.0, 160_001)
    middle = (edges[1:] + edges[:-1]) / 2
    left = survival(law, middle)
    mean, second = moments(law)
    assert left.sum() * 5e-4 == pytest.approx(mean, rel=1e-3)
    assert 2 * (left @ middle) * 5e-4 == pytest.approx(second, rel=1e-3)
    assert (np.diff(left) <= 0).all()


@pytest.mark.by_day(besides=("exponential", "hyperexponential"))
@pytest.mark.parametrize("law", TIMERS, ids=lambda law: law.key)
def test_one_waiting_page_is_dropped_as_its_timer_says(law: Any) -> None:
    """It is the next in service: served with probability E exp(-s T) less, for any law."""
    drops = drop_rates(law, 0.7, 1)
    expired = float(transform(law, 0.7))
    assert drops.total[1] / (0.7 + drops.total[1]) == pytest.approx(expired, rel=1e-3)


def test_exponential_timers_have_their_rate_and_the_exact_result() -> None:
    drops = drop_rates(Exponential(mean=2.0), 1.0, 20)
    assert drops.oldest[1:] == pytest.approx(0.5, rel=1e-3)
    assert drops.other[2:] == pytest.approx(0.5, rel=1e-3)
    scenario = twenty({"buffer.obsolescence": {"exponential": {"mean": 2.0}}})
    method = exact_method(scenario)
    assert method is not None
    assert method.ages is not None
    shares = np.array(access_shares(scenario.robots.accessing, scenario.model.pages))
    changes = scenario.model.pages.change_rates
    found = patience_rates_and_ages(changes, shares, [0.9] * 22, 1.0, drops)
    assert found.rates == pytest.approx(method.rates(scenario), rel=2e-4)
    assert found.ages == pytest.approx(method.ages(scenario), rel=2e-4)


def test_old_pages_alone_are_dropped_under_constant_timers() -> None:
    drops = drop_rates(Deterministic(value=2.0), 1.0, 20)
    assert drops.other == pytest.approx(0.0, abs=1e-3)
    assert (np.diff(drops.oldest) > 0).all()


def test_the_law_of_the_level_is_exact() -> None:
    """Erlang timers, robots by level: the chain of all timers. Exponential ones miss by 1 %."""
    changes = {"activation": {"threshold": {"robots": [9, 4], "at": [2]}}}
    scenario = twenty(ERLANG | FEW | changes)
    rows = {(row.measure, row.subject): row.value for row in predict(scenario)[0]}
    exact = [rows["level_probability", level] for level in range(5)]
    deliveries = [0.9, 0.9, 0.9, 0.4, 0.4]
    law = level_probabilities(deliveries, 1.0, drop_rates(Erlang(shape=3, mean=8.0), 1.0, 3))
    assert law == pytest.approx(exact, rel=1e-4)
    wrong = level_probabilities(deliveries, 1.0, drop_rates(Exponential(mean=8.0), 1.0, 3))
    assert abs(wrong / exact - 1).max() > 0.01
    drops = drop_rates(Erlang(shape=3, mean=8.0), 1.0, 3)
    shares = np.array(access_shares(scenario.robots.accessing, scenario.model.pages))
    near = patience_rates_and_ages(
        scenario.model.pages.change_rates, shares, deliveries, 1.0, drops
    )
    found = [rows["obsolescence_rate", page] for page in range(20)]
    assert near.rates == pytest.approx(found, abs=0.002)


@pytest.mark.parametrize("others", [{}, CONSTANT, CONSTANT | FEW])
def test_two_spellings_of_one_law_have_one_answer(others: dict[str, Any]) -> None:
    """Given under both, or refused under both."""
    said = []
    for law in (ERLANG, GAMMA):
        rows = {row.number: row.reason_against(twenty(law | others)) for row in APPROXIMATIONS}
        said.append([number for number, reason in rows.items() if reason is None])
    assert said[0] == said[1]
    assert len(said[0]) == (0 if others == CONSTANT else 1)


def test_a_law_without_a_variance_has_no_squared_variation() -> None:
    assert approximations._variation(Gamma(shape=0.5, mean=3.0)) == pytest.approx(2.0)
    with pytest.raises(NoAnswerError, match="the variance of these pareto times is infinite"):
        approximations._variation(Pareto(shape=1.5, mean=3.0))


@pytest.mark.parametrize("waiting", [0, 2])
def test_patience_that_is_all_but_exponential_has_the_exact_rows(waiting: int) -> None:
    """A Weibull law of shape 1 + 1e-9 has no phases; each page's age is still that of the limit."""
    base = pipeline("static").with_("buffer.waiting_places", waiting)
    timers = ({"weibull": {"mean": 2.0, "shape": 1 + 1e-9}}, {"exponential": {"mean": 2.0}})
    near, limit = (base.with_("buffer.obsolescence", each) for each in timers)
    rows = predict(limit)[0]
    exact = {(row.measure, row.subject): row.value for row in rows if row.kind == "exact"}
    found = list(approximations._with_patience(near))
    assert {measure for measure, _, _ in found} == {
        *("weighted_obsolescence", "obsolescence_rate", "index_age", "stale_answer_probability")
    }
    for measure, page, value in found:
        assert value == pytest.approx(exact[measure, page], rel=1e-7, abs=1e-12)


def test_robots_have_jointly_as_many_phases_as_are_few_enough() -> None:
    """As many each as the root of the limit; a quarter of it where services have phases as well."""
    uniform = {"robots.access_time": {"uniform": {"low": 0.5, "high": 1.5}}}
    for active in (1, 2, 3):
        scenario = pipeline("static").with_({**uniform, "activation": {"static": active}})
        access = scenario.model.fleet.law  # type: ignore[union-attr]
        for beside in (False, True):
            joint = approximations._MOST_JOINT // (4 if beside else 1)
            wanted = next(n for n in range(1000, 0, -1) if n**active <= joint)
            found = approximations._phases_of_robots(scenario, access, beside_service=beside)
            assert found == min(approximations._MOST_PHASES, wanted)
    exponential = pipeline("static")
    law = exponential.model.fleet.law  # type: ignore[union-attr]
    assert approximations._phases_of_robots(exponential, law, beside_service=False) == 1
