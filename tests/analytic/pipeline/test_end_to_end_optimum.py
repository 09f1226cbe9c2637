"""The best decisions end to end: known examples, certificates, and what stands against them.

Exact values against exact values; nothing is simulated.
"""

from __future__ import annotations

import json
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from analytic import optimize, predict, resolve
from analytic.indexing_queue import chain_of
from analytic.page_refresh import best_random_shares
from analytic.pipeline import obsolescence_rates, queue_of_pages
from analytic.pipeline.best_frequencies import (
    BestShares,
    _improved,
    _of_hyperbolas,
    _Point,
    least_shares,
)
from analytic.pipeline.costs import own_criterion
from analytic.pipeline.random_pages import PageQueue, obsolescence_slopes, page_queue
from scenarios import Scenario, ScenarioError, load
from scenarios.laws import Exponential


def example(robots: int, places: int, **changes: Any) -> Scenario:
    """Twenty Zipf pages; the cost is the share of stale answers."""
    given = {"robots.available": robots, "buffer.waiting_places": places - 1}
    priced = load("pipeline-more-robots").with_({"costs.staleness": 2.5} | given)
    return priced.with_({key.replace("__", "."): value for key, value in changes.items()})


def predicted_cost(scenario: Scenario) -> float:
    (row,) = (row for row in predict(scenario)[0] if row.measure == "control_cost")
    return row.value


def best_shares(queue: PageQueue, changes: Any, weights: Any) -> BestShares:
    """The frequencies with the least weighted obsolescence, first come first served, no timers."""
    slopes = partial(obsolescence_slopes, queue)
    return least_shares(slopes, np.array(changes), np.array(weights))


# robots, places: coffman1998, uniform, discounted weights, exact optimum
FREQUENCIES = {
    (8, 21): (0.44086, 0.52183, 0.43997, 0.43988),
    (16, 21): (0.63905, 0.64347, 0.62539, 0.62539),
    (16, 6): (0.41991, 0.49503, 0.41826, 0.41826),
    (30, 51): (0.80470, 0.78627, 0.78174, 0.78174),
}


@pytest.mark.parametrize(("robots", "places"), FREQUENCIES)
def test_the_best_frequencies(robots: int, places: int) -> None:
    scenario = example(robots, places)
    found = optimize(scenario, "frequencies")
    costs = {row["frequencies"]: row["cost"] for row in found.table}
    names = (
        "best without a buffer",
        "uniform",
        "the same, discounted weights",
        "optimal",
    )
    assert [costs[name] for name in names] == pytest.approx(FREQUENCIES[robots, places], abs=5e-6)
    bound = float(found.notes[0].rpartition(" ")[2])
    assert found.cost == pytest.approx(bound, rel=1e-9)
    decided = scenario.with_(found.changes)
    assert predicted_cost(decided) == pytest.approx(found.cost, rel=1e-12)


def test_the_fastest_page_is_given_up() -> None:
    shares = optimize(example(30, 51), "frequencies").decision["frequencies"]
    assert shares[0] == 0.0
    assert min(shares[1:]) > 0.01
    best = resolve(load("pipeline-best-frequencies"))
    policy = best.robots.accessing if best.robots else None
    assert getattr(policy, "frequencies", None) == tuple(shares)


@pytest.mark.parametrize("seed", range(6))
def test_no_other_frequencies_cost_less(seed: int) -> None:
    """Against the certified bound, and against points around the optimum."""
    draw = np.random.default_rng(seed)
    mu = 10.0 ** draw.uniform(-3, 1, 12)
    weights = draw.exponential(size=12)
    queue = queue_of_pages(example(int(draw.integers(3, 20)), 8, activation={"static": 3}))
    best = best_shares(queue, mu, weights)
    assert best.shares.sum() == pytest.approx(1.0)
    assert best.lower_bound == pytest.approx(best.cost, rel=1e-9)
    for _ in range(20):
        other = 0.95 * best.shares + 0.05 * draw.dirichlet(np.ones(12))
        assert weights @ obsolescence_rates(queue, mu, other) >= best.cost * (1 - 1e-12)


def test_instant_indexing_gives_the_frequencies_of_coffman1998() -> None:
    scenario = example(9, 4, buffer__service={"exponential": {"mean": 1e-9}})
    assert scenario.pages is not None
    mu = scenario.model.pages.change_rates
    weights = np.ones(20)
    best = best_shares(page_queue(chain_of(scenario)), mu, weights)
    expected = best_random_shares(mu, weights, Exponential(rate=0.9))
    assert best.shares == pytest.approx(expected, abs=1e-6)


def test_pages_that_never_change_get_nothing() -> None:
    queue = queue_of_pages(example(5, 6))
    best = best_shares(queue, [0.0, 0.1, 0.1], [1.0, 1.0, 1.0])
    assert best.shares == pytest.approx([0.0, 0.5, 0.5], abs=1e-9)
    nothing = best_shares(queue, [0.0, 0.0], [1.0, 1.0])
    assert (nothing.cost, nothing.lower_bound) == (0.0, 0.0)


@pytest.mark.parametrize(
    ("places", "robots", "best", "of_talim"), [(21, 7, 0.4391, 0.5217), (6, 11, 0.4088, 0.4091)]
)
def test_the_best_number(places: int, robots: int, best: float, of_talim: float) -> None:
    found = optimize(example(16, places), "static")
    assert found.decision == {"robots": robots}
    assert found.cost == pytest.approx(best, abs=5e-5)
    assert "robots = 10, best by loss and" in found.notes[1]
    assert f"{of_talim:.4f}"[:5] in found.notes[1]
    assert predicted_cost(example(16, places).with_(found.changes)) == found.cost


def test_weights_matter_for_the_best_number() -> None:
    inverse = (1 / example(1, 2).model.pages.change_rates).tolist()  # type: ignore[arg-type]
    only = [1.0] + [0.0] * 19
    for weights, robots in ((only, 5), ("change-rate", 7), ("uniform", 8), (inverse, 8)):
        scenario = example(12, 21, pages__weights=weights)
        assert scenario.pages is not None
        rates = scenario.model.pages.change_rates, scenario.model.pages.weights
        shares = best_random_shares(*rates, Exponential(mean=1.0)).tolist()
        scenario = scenario.with_("robots.accessing.frequencies", shares)
        assert optimize(scenario, "static").decision == {"robots": robots}


def test_all_thresholds_by_the_quick_way_are_those_of_the_formulas() -> None:
    """Every policy of three robots and four levels, with prices on everything."""
    prices = {"loss": 1.0, "starvation": 0.7, "response": 0.1, "robots": 0.02, "staleness": 2.5}
    scenario = example(3, 3, costs=prices)
    search = optimize(scenario, "threshold").search
    assert len(search.costs) == 35
    assert np.isnan(search.costs[0])  # no robot, no response
    lists = (((3, 2, 1), (0, 1)), ((3, 1), (2,)), ((2,), ()), ((3, 2, 1), (1, 1)), ((3, 0), (0,)))
    for robots, at in lists:
        rule = {"threshold": {"robots": list(robots), "at": list(at)}}
        expected = predicted_cost(scenario.with_("activation", rule))
        assert search.cost_of(robots, at) == pytest.approx(expected, rel=1e-12)
    best = optimize(scenario, "threshold")
    assert predicted_cost(scenario.with_(best.changes)) == pytest.approx(best.cost, rel=1e-12)


def test_thresholds_one_by_one_are_those_of_the_quick_way() -> None:
    """An Erlang law of one phase is exponential; two phases with equal exit rates are too."""
    quick = optimize(example(3, 3), "threshold")
    law = {"phase-type": {"alpha": [0.4, 0.6], "T": [[-1.5, 0.5], [0.0, -1.0]]}}
    again = optimize(example(3, 3, buffer__service=law), "threshold")
    assert again.decision == quick.decision
    assert again.search.costs == pytest.approx(quick.search.costs, rel=1e-10)


def test_fetching_only_while_the_buffer_is_short() -> None:
    """Up to level j all robots, none above: j and costs of docs/pipeline.md, lesson 4."""
    for robots, level, cost in ((10, 3, 0.3986), (16, 2, 0.3743), (30, 1, 0.3537)):
        rule = {"threshold": {"robots": [robots, 0], "at": [level]}}
        costs = [
            predicted_cost(example(robots, 21, activation=rule | {"threshold": each}))
            for each in ({"robots": [robots, 0], "at": [level + step]} for step in (-1, 0, 1))
        ]
        assert costs[1] == pytest.approx(cost, abs=5e-5)
        assert costs[1] < min(costs[0], costs[2])


def test_of_very_many_policies_some_are_searched_and_it_is_said() -> None:
    """16 robots, 21 places; all up to level 2 and none above cost .3743 (docs/pipeline.md)."""
    found = optimize(example(16, 21), "threshold")
    assert found.cost is not None
    assert found.cost < 0.3743
    assert found.proved is False
    assert found.notes[0].startswith("best found: ")
    assert "of 2.2e+10" in found.notes[0]
    said, edge = found.notes[-2:]
    assert "best by loss and 1.095 starvation alone" in said
    assert edge.startswith("16 robots are all that are available")
    assert len(found.search.curves) == 6


def test_switching_is_better_than_by_the_other_criterion_alone() -> None:
    scenario = example(6, 4, costs={"loss": 1e-9, "starvation": 1.5e-9, "staleness": 2.5})
    found = optimize(scenario, "switching")
    assert found.cost is not None
    targets = found.decision["targets"]
    assert predicted_cost(scenario.with_(found.changes)) == pytest.approx(found.cost, rel=1e-12)
    for level in range(len(targets)):
        for other in range(int(level == 0), 7):
            changed = [*targets[:level], other, *targets[level + 1 :]]
            rule = {"switching": {"targets": changed}}
            assert predicted_cost(scenario.with_("activation", rule)) >= found.cost * (1 - 1e-12)
    alone = optimize(own_criterion(scenario)[0], "switching")
    assert predicted_cost(scenario.with_(alone.changes)) >= found.cost
    assert "best by loss and starvation alone" in found.notes[1]


def test_without_a_price_on_staleness_nothing_changes() -> None:
    scenario = load("optimal-thresholds")
    assert optimize(scenario, "threshold").decision == {"robots": [4, 3, 1], "at": [1, 3]}
    frequencies = optimize(load("randomized-erlang"), "frequencies")
    assert frequencies.lower_bound is not None


def test_none_is_tried_by_the_other_criterion_too() -> None:
    """With next to no price on staleness both criteria are one: so are their decisions and costs.

    Of the policies with a robot at every level the best costs 180 times as much.
    """
    changes = {"buffer__waiting_places": 1, "buffer__service": {"exponential": {"mean": 1.97}}}
    access = {"exponential": {"mean": 0.31}}
    prices = {"loss": 0.115, "starvation": 0.308}
    scenario = example(2, 3, **changes, robots__access_time=access, costs=prices)
    found = optimize(scenario.with_("costs.staleness", 1e-9), "threshold")
    (said,) = (note for note in found.notes if "best by" in note)
    assert said.startswith("robots = [2, 0], at = [1], best by loss and starvation alone: ")
    assert said.endswith(", the same")
    plain = optimize(scenario, "threshold")
    assert plain.cost is not None
    assert found.cost is not None
    assert 0 not in plain.decision["robots"]
    assert plain.cost > 100 * found.cost
    (least,) = (note for note in plain.notes if "at least one robot" in note)
    assert least == (
        "at least one robot at every level, as in avrachenkov2011; none is tried where the file's "
        "own rule lists 0, or with [costs] staleness"
    )
    listed = {"threshold": {"robots": [2, 0], "at": [0]}}
    with_none = optimize(scenario.with_("activation", listed), "threshold")
    assert with_none.cost == pytest.approx(found.cost, rel=1e-5)
    assert not [note for note in with_none.notes if "at least one robot" in note]


def test_a_policy_that_draws_no_pages_gets_the_frequencies_without_a_buffer() -> None:
    policy = {"policy": "golden-ratio", "cycle": 21}
    found = optimize(example(1, 6, robots__accessing=policy), "frequencies")
    assert any("without a buffer" in note for note in found.notes)


@pytest.mark.by_day(besides=("changes4-threshold-at most 20000 are searched",))
@pytest.mark.parametrize(
    ("changes", "target", "reason"),
    [
        ({"buffer__service": {"deterministic": {"value": 1.0}}}, "static", "no exact method"),
        ({"buffer__replace_older_copy": True}, "static", "no exact method"),
        ({"buffer__waiting_places": 200}, "switching", "at most 750 are searched"),
        (
            {"buffer__service": {"erlang": {"shape": 2, "mean": 1.0}}, "robots__available": 40},
            "threshold",
            "22 levels × 40 robots; at most 750 are searched",
        ),
        ({"buffer__waiting_places": 9999}, "threshold", "at most 20000 are searched"),
    ],
)
def test_what_has_no_optimum_says_why(changes: dict[str, Any], target: str, reason: str) -> None:
    with pytest.raises(ScenarioError, match=reason):
        optimize(example(9, 21, **changes), target)


def test_the_command_shows_the_price_of_the_other_criterion(
    crawlsim: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    priced = ("pipeline-more-robots", "--set", "costs.staleness=2.5")
    words = (*priced, "--set", "robots.available=12")
    code, out, _ = crawlsim("optimize", *words, "--target", "static", "--out", "best.toml")
    assert code == 0
    assert "static: robots = 7, cost 0.439064" in " ".join(out.split())
    assert "(talim2001): 0.521677, 18.8 % more" in " ".join(out.split())
    code, out, _ = crawlsim("solve", "best.toml", "--json")
    rows = json.loads(out)[0]["predictions"]
    (cost,) = (row["value"] for row in rows if row["measure"] == "control_cost")
    assert cost == pytest.approx(0.439064, abs=5e-7)
    small = (*priced, "--set", "buffer.waiting_places=2", "--set", "robots.available=3")
    assert crawlsim("optimize", *small, "--target", "switching", "--figure", "a.svg")[0] == 0
    assert crawlsim("optimize", *small, "--target", "threshold", "--figure", "b.svg")[0] == 0
    assert crawlsim("optimize", *words, "--target", "frequencies", "--figure", "c.svg")[0] == 0


@pytest.mark.thorough
def test_the_best_buffer_by_number_of_pages() -> None:
    """The more pages, the less the delay counts against the refresh interval: best loads."""
    for pages, load_, available in ((5, 0.66, 9), (200, 0.84, 11)):
        scenario = example(available, 21, pages__change_rates__zipf__pages=pages)
        finer = scenario.with_(
            {"robots.available": 100, "robots.access_time.exponential.mean": 100.0}
        )
        assert finer.pages is not None
        weights = finer.model.pages.weights
        mu = finer.model.pages.change_rates
        shares = mu / mu.sum()
        costs = {
            robots: float(weights @ obsolescence_rates(_queue(finer, robots), mu, shares))
            for robots in range(60, 96)
        }
        best = min(costs, key=lambda robots: costs[robots])
        assert best / 100 == pytest.approx(load_, abs=0.0101)
        assert all(a > b for a, b in pairwise(costs[r] for r in range(60, best + 1)))


def _queue(scenario: Scenario, robots: int) -> Any:
    return queue_of_pages(scenario.with_("activation", {"static": robots}))


def test_a_step_that_is_too_long_is_halved_until_it_helps() -> None:
    """The cost is least a quarter of the way to where the hyperbolas have their optimum."""
    start = _Point(np.array([0.5, 0.5]), 1.0, np.array([2.0, 1.0]), np.array([1.0, 1.0]))
    end = _of_hyperbolas(start)
    tried = []

    def evaluated(shares: np.ndarray) -> _Point:
        part = float((shares - start.shares)[0] / (end - start.shares)[0])
        tried.append(part)
        better = part == pytest.approx(0.25)
        return _Point(shares, 0.9 if better else 1.1, start.gains * 9.0, start.curvatures)

    found = _improved(start, evaluated)
    assert found is not None
    assert tried == pytest.approx([1.0, 0.5, 0.25])
    assert found.shares == pytest.approx(start.shares + 0.25 * (end - start.shares))
    worse = _Point(end, 2.0, start.gains * 9.0, start.curvatures)
    assert _improved(start, lambda _: worse) is None
