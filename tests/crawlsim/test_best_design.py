"""The best combination of entries, against every combination by dense matrices."""

from __future__ import annotations

import json
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from thresholds_with_a_gap import measured

from analytic import exact_values, predict
from analytic.index.optimum import NoOptimumError
from crawlsim import best_design, load, optimize
from crawlsim.best_design import at_the_ends
from crawlsim.bounds import WrittenBound
from scenarios import Scenario, ScenarioError, scenario_from

PRICES = ("indexer", "waiting_place", "access")


def small_tables(number: int) -> dict[str, Any]:
    """One of many small systems, with prices of all sizes."""
    random = np.random.default_rng([41, number])
    rates = random.uniform(0.5, 3.0, 2)
    phases = {"alpha": [0.4, 0.6], "T": [[-rates[0], 0.3 * rates[0]], [0.0, -rates[1]]]}
    service = [{"exponential": {"mean": 1 / rates[0]}}, {"phase-type": phases}][number % 2]
    tables: dict[str, Any] = {
        "name": "bought",
        "robots": {
            "available": 1,
            "access_time": {"exponential": {"mean": float(random.uniform(0.5, 3.0))}},
        },
        "buffer": {"waiting_places": 0, "servers": 1, "service": service},
        "costs": {
            name: float(10.0 ** random.uniform(-2.0, 0.5))
            for name in ("loss", "starvation", "robots", *PRICES)
        },
    }
    if number % 3 == 0:
        tables["buffer"]["obsolescence"] = {"exponential": {"mean": 4.0}}
    return tables


OVER = {
    "robots.available": [1, 2, 3],
    "buffer.servers": [1, 2, 3],
    "buffer.waiting_places": [0, 1, 2],
}


def costs_by_matrices(tables: dict[str, Any]) -> dict[tuple[int, ...], tuple[float, float]]:
    """Cost and loss probability of each design, robot by robot and indexer by indexer."""
    costs = tables["costs"] | {"switch": 0.0}
    found = {}
    for robots, servers, places in product(*OVER.values()):
        design = {
            **tables,
            "robots": {**tables["robots"], "available": robots},
            "buffer": {**tables["buffer"], "servers": servers, "waiting_places": places},
            "activation": {"threshold": {"robots": [robots], "at": [], "back": []}},
            "costs": costs,
        }
        rows = measured(design)
        cost = rows["control_cost"] + costs["access"] * rows["arrival_rate"]
        cost += costs["indexer"] * servers + costs["waiting_place"] * places
        found[robots, servers, places] = cost, rows["loss_rate"] / rows["arrival_rate"]
    return found


@pytest.mark.by_day(every=12, besides=("12", "24", "72", "84", "96"))
@pytest.mark.parametrize("number", range(100))
def test_no_design_costs_less(number: int) -> None:
    """All of them; and of those that keep a bound that some break."""
    tables = small_tables(number)
    every = costs_by_matrices(tables)
    best = optimize(scenario_from(tables), "design", over=OVER)
    assert best.cost == pytest.approx(min(cost for cost, _ in every.values()), rel=1e-9)
    assert every[tuple(best.decision.values())][0] == pytest.approx(best.cost, rel=1e-9)
    assert (list(best.decision), best.proved, best.kind) == (list(OVER), True, "exact")
    limit = float(np.quantile([loss for _, loss in every.values()], 0.4))
    bounds = [f"loss_probability <= {limit!r}", "mean_active_robots > 1.5"]
    kept = optimize(scenario_from(tables), "design", over=OVER, subject_to=bounds)
    least = min(cost for at, (cost, loss) in every.items() if loss <= limit and at[0] > 1)
    assert kept.cost == pytest.approx(least, rel=1e-9)
    assert len(kept.table) < len(best.table) == 27


def bought(**changes: Any) -> Scenario:
    return scenario_from(small_tables(0)).with_({"run.horizon": 2000.0, **changes})


def test_a_rule_that_is_best_in_each_design() -> None:
    """The thresholds are found anew for each number of places."""
    scenario = bought(**{"robots.available": 3, "activation": {"optimal": "threshold"}})
    best = optimize(scenario, "design", over={"buffer.waiting_places": range(1, 4)})
    costs = []
    for places in range(1, 4):
        design = scenario.with_("buffer.waiting_places", places)
        costs.append(optimize(design, "threshold").cost)
    assert best.cost == pytest.approx(min(each for each in costs if each is not None), rel=1e-12)


def test_where_nothing_is_exact_designs_are_simulated() -> None:
    laws = {
        "robots.access_time": {"uniform": {"low": 0.5, "high": 1.5}},
        "buffer.service": {"lognormal": {"mean": 0.8, "sd": 0.5}},
        "buffer.obsolescence": "never",
    }
    scenario = bought(**laws)
    over = {"buffer.servers": [1, 2], "buffer.waiting_places": [0, 3]}
    best = optimize(scenario, "design", over=over, replications=10, max_replications=40)
    assert best.kind == "simulated"
    assert best.decision == best.changes
    assert list(best.decision) == list(over)
    assert best.promise is not None
    assert len(best.table) == 4
    assert best.cost == min(row["cost"] for row in best.table)
    assert "waiting_places = 0: service times are not of phase type" in best.notes[0]
    with pytest.raises(ScenarioError, match="bounds are kept by exact values alone"):
        optimize(scenario, "design", over=over, subject_to="loss_probability <= 0.5")


def test_without_prices_there_is_nothing_to_minimise() -> None:
    with pytest.raises(ScenarioError, match=r"needs \[costs\]"):
        optimize(bought(costs=None), "design", over={"buffer.servers": [1, 2]})


def test_the_approximation_that_solve_shows_is_taken_first() -> None:
    constant = {"buffer.service": {"deterministic": {"value": 1.0}}, "costs.indexer": 0.1}
    scenario = load("pipeline-more-robots").with_({"costs.staleness": 2.5, **constant})
    best = optimize(scenario, "design", over={"buffer.waiting_places": [1, 3]})
    assert best.kind == "approximation"
    rows = predict(scenario.with_(best.changes))[0]
    (shown,) = (row.value for row in rows if row.measure == "control_cost")
    assert best.cost == shown
    assert "no exact method covers its obsolescence rates" in best.notes[0]
    assert "searched by the approximation of the cost that solve shows" in best.notes[0]


def test_the_command(crawlsim: Any, tmp_path: Path) -> None:
    file = tmp_path / "bought.toml"
    words = ["optimize", "several-indexers", "--target", "design", "--set", "costs.indexer=0.2"]
    over = ["--over", "buffer.servers=1..4", "--over", "buffer.waiting_places=0,2,4"]
    code, out, _ = crawlsim(*words, *over, "--out", str(file), "--json")
    (found,) = json.loads(out)
    assert (code, len(found["table"])) == (0, 12)
    decided = exact_values(load(file))["control_cost", None][0]
    assert decided == pytest.approx(found["cost"], rel=1e-12)
    assert load(file).buffer.servers == found["decision"]["buffer.servers"]  # type: ignore[union-attr]
    code, out, _ = crawlsim(*words, *over[:2])
    assert code == 0
    assert "that was asked for" not in out
    assert "all 4 designs solved: none costs less" in out


def test_a_best_value_at_an_end_of_its_range_is_said_to_be_one() -> None:
    """Of one indexer there is no less."""
    over = {"a": [1, 2, 3], "b": [2, 3], "c": [0.1, 0.2], "d": [1, 2], "e": ["x", "y"]}
    said = [*at_the_ends(over, {"a": 3, "b": 2, "c": 0.1, "d": 1, "e": "x"})]
    assert said == [
        "a = 3 is the largest that was asked for; more may be better",
        "b = 2 is the smallest that was asked for; less may be better",
        "c = 0.1 is the smallest that was asked for; less may be better",
    ]
    assert [*at_the_ends(over, {"a": 2, "b": 3, "c": 0.2, "d": 2, "e": "y"})] == [
        f"{key} is the largest that was asked for; more may be better"
        for key in ("b = 3", "c = 0.2", "d = 2")
    ]


SERVERS = ["--target", "design", "--over", "buffer.servers=1,2"]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--target", "design"], '--target = "design"\nneeds --over KEY=V1,V2'),
        (["--target", "static", "--over", "buffer.servers=1,2"], "goes with --target design"),
        (["--target", "design", "--over", "buffer.servers"], "must be KEY=VALUE,VALUE"),
        (
            ["--target", "design", "--over", "buffer.servers=0..2"],
            "buffer.servers = 0\nmust be >= 1",
        ),
        (["--target", "design", "--over", "buffer.serves=1"], "did you mean servers"),
        (["--target", "designs"], "did you mean design"),
        (
            ["--target", "design", "--over", "robots.available=1,2", "--set", "buffer.servers=x"],
            "must be",
        ),
        (
            [*SERVERS, "--subject-to", "loss_probability < 1e-9"],
            "no design keeps loss_probability < 1e-09; at best loss_probability is",
        ),
        (
            [*SERVERS, "--subject-to", "x < 1"],
            "must be a measure",
        ),
    ],
)
def test_what_is_refused_says_what_is_allowed(crawlsim: Any, words: list[str], said: str) -> None:
    code, out, err = crawlsim("optimize", "several-indexers", *words)
    assert (code, out) == (2, "")
    assert said in err, err


def test_a_bound_on_what_no_formula_gives_is_refused() -> None:
    """Beside one that a formula gives; without bounds nothing is asked for."""
    tables = {**small_tables(0), "name": "bought"}
    scenario = scenario_from(tables)
    given = WrittenBound("loss_probability", "<=", 0.5)
    (value,) = best_design._values([given], scenario)
    assert value == exact_values(scenario)["loss_probability", None][0]
    assert best_design._values([], scenario) == []
    with pytest.raises(NoOptimumError, match=r"^switch_rate has no exact value$"):
        best_design._values([given, WrittenBound("switch_rate", "<=", 0.5)], scenario)
