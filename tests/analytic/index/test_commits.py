"""An index that commits: what is searched, by formulas of the system without commits."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.integrate import quad

import analytic
import sim
from analytic import check_scenario, optimize, predict, resolve
from analytic.index.commits import staleness_of_commits, unchanged_share, without_commits
from analytic.transient.start_up import suggested_warmup
from scenarios import Scenario, ScenarioError, load, scenario_from

PAGES: dict[str, Any] = {
    "name": "commits",
    "pages": {"change_rates": [0.3, 0.2, 0.1, 0.05, 0.0], "weights": [1.0, 2.0, 1.0, 3.0, 1.0]},
    "robots": {
        "available": 1,
        "access_time": {"exponential": {"mean": 0.5}},
        "accessing": {"policy": "randomized", "frequencies": "uniform"},
    },
    "index": {"commit_interval": 3.0},
    "clients": {"query_rate": 2.0},
    "costs": {"staleness": 2.0},
    "run": {"horizon": 20000.0, "warmup": 100.0, "replications": 40},
}
BUFFER = {"waiting_places": 4, "service": {"exponential": {"mean": 0.4}}}


def pages(changes: dict[str, Any] | None = None) -> Scenario:
    return scenario_from(PAGES).with_(changes or {})


def values(scenario: Scenario, kind: str = "exact") -> dict[Any, float]:
    return {
        (each.measure, each.subject): each.value
        for each in predict(scenario)[0]
        if each.kind == kind
    }


def test_the_share_unchanged_is_the_mean_over_the_time_since_the_commit() -> None:
    for rate, interval in [(0.0, 2.0), (1e-9, 1.0), (0.7, 3.0), (40.0, 5.0)]:
        mean, _ = quad(lambda age: np.exp(-rate * age) / interval, 0.0, interval)  # noqa: B023
        assert unchanged_share([rate], interval)[0] == pytest.approx(mean, rel=1e-9)


def test_fresh_shares_are_those_without_commits_times_the_share_unchanged() -> None:
    scenario = pages()
    with_, without = values(scenario), values(scenario.with_("index", None))
    factor = unchanged_share(PAGES["pages"]["change_rates"], 3.0)
    weights = np.array(PAGES["pages"]["weights"])
    rates = []
    for page, share in enumerate(factor):
        fresh = (1.0 - without["obsolescence_rate", page]) * share
        rates.append(1.0 - fresh)
        assert with_["obsolescence_rate", page] == pytest.approx(1.0 - fresh, rel=1e-13)
    total = float(weights @ rates)
    assert with_["weighted_obsolescence", None] == pytest.approx(total, rel=1e-13)
    assert with_["control_cost", None] == pytest.approx(2.0 * total, rel=1e-13)
    asked = with_["stale_answer_probability", None]
    assert asked == pytest.approx(total / weights.sum(), rel=1e-13)
    assert with_["crawl_rate", 0] == without["crawl_rate", 0]
    assert ("time_to_refresh", None) in without
    assert ("time_to_refresh", None) not in with_


def test_bounds_rise_by_what_is_always_stale() -> None:
    scenario = pages()
    more = staleness_of_commits(scenario)
    lower, before = (values(each, "lower bound") for each in (scenario, without_commits(scenario)))
    assert lower["weighted_obsolescence", None] == pytest.approx(
        before["weighted_obsolescence", None] + more, rel=1e-13
    )


@pytest.mark.thorough
@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"buffer": BUFFER},
        {"index.phase": 1.0},
        {"robots.access_time": {"deterministic": {"value": 0.5}}},
        {"robots.accessing": {"policy": "due", "intervals": [1.0, 2.0, 3.0, 4.0, 5.0]}},
        {"buffer": BUFFER | {"obsolescence": "page-change", "waiting_places": 2}, "costs": None},
    ],
    ids=["drawn", "buffer", "phase", "constant", "due", "page-change"],
)
def test_simulation_could_have_refuted_it(changes: dict[str, Any]) -> None:
    scenario = pages(changes)
    predictions, _ = predict(scenario)
    rows = check_scenario(scenario, predictions, sim.run(scenario, seed=7))
    judged = [row for row in rows if row.measure in ("obsolescence_rate", "weighted_obsolescence")]
    assert judged
    assert "disagrees" not in {row.verdict for row in rows}
    wrong = [row for row in judged if row.kind == "exact" and row.subject in (0, 1, None)]
    assert all(abs(row.z) < 4.5 for row in wrong)
    factor = unchanged_share(PAGES["pages"]["change_rates"], 3.0)
    for row in wrong:  # without the commits each of them would be refuted
        if row.subject is not None:
            without = 1.0 - (1.0 - row.predicted) / factor[row.subject]
            assert abs(row.estimated - without) > 20.0 * row.standard_error


def test_given_commits_may_keep_step_with_constant_accesses() -> None:
    scenario = pages({"robots.access_time": {"deterministic": {"value": 0.5}}, "index.phase": 0.0})
    predictions, others = predict(scenario)
    assert not {each.measure for each in predictions} & {"obsolescence_rate", "control_cost"}
    assert any("keep step" in each.reason for each in others)
    assert {"crawl_rate"} <= {each.measure for each in predictions}


def test_over_time_only_what_is_not_searched_is_known() -> None:
    scenario = pages({"interventions": [{"at": 50.0, "until": 60.0, "change_factor": 3.0}]})
    predictions, others = predict(scenario)
    known = {each.measure for each in predictions}
    assert "crawl_rate" in known
    assert "obsolescence_rate" not in known
    assert any("in the long run only" in each.reason for each in others)
    course = analytic.course_of(scenario.with_("run.observe", 10.0))
    assert not {row.measure for row in course.course} & {"obsolescence_rate"}


def test_groups_of_many_pages_have_the_means_of_their_pages() -> None:
    rates = np.linspace(0.01, 0.8, 60).tolist()
    few = pages({"pages": {"change_rates": rates, "weights": "uniform"}})
    many = few.with_("run.page_rows", 10)
    of_each, of_groups = values(few), values(many)
    tenth = [of_each["obsolescence_rate", page] for page in range(6)]
    assert of_groups["obsolescence_rate", "tenth 1"] == pytest.approx(np.mean(tenth), rel=1e-12)
    assert of_groups["weighted_obsolescence", None] == pytest.approx(
        of_each["weighted_obsolescence", None], rel=1e-12
    )


@pytest.mark.thorough
def test_the_best_frequencies_see_what_a_commit_leaves_of_freshness() -> None:
    """A page that changes many times between commits is not worth a visit more."""
    scenario = pages({"pages": {"change_rates": [5.0, 0.2], "weights": "uniform"}, "costs": None})
    best = optimize(scenario, "frequencies")
    without = optimize(scenario.with_("index", None), "frequencies")
    assert best.decision["frequencies"][0] < without.decision["frequencies"][0]
    shares = np.linspace(0.02, 0.98, 49)
    costs = [
        values(scenario.with_("robots.accessing.frequencies", [share, 1.0 - share]))[
            "weighted_obsolescence", None
        ]
        for share in shares.tolist()
    ]
    more = staleness_of_commits(scenario)
    assert best.cost + more <= min(costs) + 1e-12
    assert best.cost + more == pytest.approx(min(costs), rel=1e-3)
    assert best.lower_bound <= best.cost
    assert f"{more:.4g} comes on top of each cost" in best.notes[0]
    decided = resolve(scenario.with_("robots.accessing.frequencies", "optimal"))
    assert decided.robots.accessing.frequencies == pytest.approx(best.decision["frequencies"])


@pytest.mark.by_day("obsolescence")
@pytest.mark.parametrize(
    ("changes", "price"),
    [({"costs": None}, 1.0), ({"buffer": BUFFER, "costs": {"staleness": 3.0}}, 3.0)],
    ids=["obsolescence", "cost"],
)
def test_an_optimum_says_what_commits_add(changes: dict[str, Any], price: float) -> None:
    two = {"pages": {"change_rates": [5.0, 0.2], "weights": "uniform"}}
    scenario = pages(two | changes)
    more = price * staleness_of_commits(scenario)
    said = optimize(scenario, "frequencies").notes
    assert any(f"{more:.4g} comes on top of each cost and bound" in note for note in said)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"index.commit_interval": -1.0}, "index.commit_interval"),
        ({"index.phase": 3.0}, "index.phase"),
        ({"index.phase": -1.0}, "index.phase"),
        ({"pages": None, "robots.accessing": None, "clients": None, "costs": None}, "index"),
    ],
)
def test_what_is_no_commit_is_refused(changes: dict[str, Any], said: str) -> None:
    with pytest.raises(ScenarioError, match=said):
        scenario_from(PAGES | {"buffer": BUFFER}).with_(changes)


def test_the_library_has_one() -> None:
    scenario = load("commits-every-half-minute")
    found = values(scenario)
    before = values(scenario.with_("index", None))
    assert found["index_age", 0] == pytest.approx(before["index_age", 0] + 15.0, rel=1e-13)
    assert found["loss_rate", None] == before["loss_rate", None]


def test_an_interval_of_zero_is_no_commit_at_all() -> None:
    """So that a sweep can begin with it."""
    assert pages({"index.commit_interval": 0.0}).model.commits is None
    assert values(pages({"index.commit_interval": 0.0})) == values(pages({"index": None}))


@pytest.mark.thorough
def test_what_is_searched_remembers_a_start_until_the_next_commit() -> None:
    """In most replications nothing was committed when a warm-up without that time is over."""
    slow = pages({"index.commit_interval": 1000.0, "run.horizon": 2000.0, "run.replications": 400})
    warmup, rule = suggested_warmup(slow)
    assert 1000.0 < warmup < 1200.0
    assert "to the next commit" in rule
    for given in (warmup - 1000.0, warmup):
        scenario = slow.with_("run.warmup", given)
        rows = check_scenario(scenario, predict(scenario)[0], sim.run(scenario))
        assert "disagrees" not in {row.verdict for row in rows}
        short = {row.measure for row in rows if row.warmup_too_short}
        assert ("obsolescence_rate" in short) == (given < warmup)


@pytest.mark.parametrize(
    "changes",
    [
        {"robots.access_time": {"uniform": {"low": 0.49, "high": 0.51}}},
        {"pages.hosts": [0, 0, 0, 0, 0], "robots.host_spacing": 1.0},
        {"robots.accessing": {"policy": "due", "intervals": [1.0, 2.0, 3.0, 4.0, 5.0]}},
    ],
    ids=["nearly constant", "polite", "due"],
)
def test_what_nearly_keeps_step_with_given_commits_has_no_formula(changes: dict[str, Any]) -> None:
    known = {each.measure for each in predict(pages(changes | {"index.phase": 0.0}))[0]}
    drawn = {each.measure for each in predict(pages(changes))[0]}
    assert "weighted_obsolescence" in drawn
    assert not known & {"weighted_obsolescence", "obsolescence_rate", "control_cost"}


def test_rare_losses_do_not_ask_what_is_searched() -> None:
    """Committed or not, the losses are the same."""
    system = pages(
        {
            "buffer": {"waiting_places": 12, "service": {"exponential": {"mean": 0.2}}},
            "costs": None,
            "run": {"horizon": 500.0, "warmup": 20.0, "replications": 10},
        }
    )
    found, without = (
        sim.rare_losses(each, precision=0.5) for each in (system, system.with_("index", None))
    )
    assert 0.0 < found.probability < 1e-5
    assert found.probability == without.probability
