"""What `optimize` answers where no formula gives the best decision, and how it says so."""

from __future__ import annotations

import json
import math
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from systems import queue

import crawlsim as program
from analytic import optimize, predict
from analytic.index.optimum import NoOptimumError
from analytic.index.targets import approximate_optimum
from crawlsim import searching
from crawlsim.searching import Family, SearchRequest, Simulated, next_best
from experiments.choosing import controlled_queue, of_search
from scenarios import ScenarioError, load
from sim.estimates import choosing as procedure

CONSTANT = {"deterministic": {"value": 1.0}}
SHORT = {"run.horizon": 400.0, "run.warmup": 20.0}
QUEUE = load("four-robots-one-threshold", {"robots.access_time": CONSTANT, **SHORT})
QUICK = {"indifference": 5.0, "replications": 10, "max_replications": 20}


def test_where_there_is_an_exact_answer_it_is_the_one() -> None:
    scenario = load("four-robots-one-threshold")
    found = program.optimize(scenario, "threshold")
    assert (found.kind, found.promise) == ("exact", None)
    assert replace(found, search=None) == replace(optimize(scenario, "threshold"), search=None)


def test_all_that_stands_against_an_exact_answer_is_named_at_once() -> None:
    changes = {
        "buffer.service": CONSTANT,
        "buffer.obsolescence": {"uniform": {"low": 1.0, "high": 2.0}},
    }
    found = program.optimize(QUEUE.with_(changes), "static", **QUICK)
    assert found.kind == "simulated"
    for reason in ("access times are deter", "service times are not", "timers are not of phase"):
        assert reason in found.notes[0]
    assert found.notes[0].startswith("no exact answer: ")
    assert found.notes[0].endswith("instead searched by simulation")


@pytest.mark.by_day("static", "threshold")
@pytest.mark.parametrize("target", ["static", "threshold", "switching"])
def test_the_answer_is_the_same_for_any_workers_and_either_engine(target: str) -> None:
    scenario = QUEUE.with_({"robots.available": 2, "activation": {"static": 2}})
    with ThreadPoolExecutor(2) as executor:
        found = [
            program.optimize(scenario, target, **QUICK, **how)
            for how in ({}, {"executor": executor}, {"engine": "simpy"})
        ]
    first, *others = (replace(each, search=None) for each in found)
    assert first.kind == "simulated"
    assert all(each == first for each in others)
    other = program.optimize(scenario, target, **QUICK, seed=scenario.run.seed + 1)
    assert other.cost != first.cost


def test_the_approximation_that_solve_shows_is_taken_first() -> None:
    changes = {"costs.staleness": 2.5, "buffer.service": CONSTANT, "robots.available": 4}
    scenario = load("pipeline-more-robots", {**changes, "buffer.waiting_places": 3})
    found = program.optimize(scenario, "static")
    assert (found.kind, found.proved) == ("approximation", False)
    assert "not of phase type (deterministic)" in found.notes[0]
    (shown,) = (
        row for row in predict(scenario.with_(found.changes))[0] if row.measure == "control_cost"
    )
    assert (shown.kind, shown.value) == ("approximation", found.cost)
    assert min(row["cost"] for row in found.table) == found.cost
    asked = program.optimize(scenario.with_(SHORT), "static", kind="simulated", **QUICK)
    assert asked.kind == "simulated"


def test_frequencies_need_no_price_and_robots_one_of_pages() -> None:
    few = {"pages.change_rates": [0.1, 0.3], "buffer.waiting_places": 1, "costs": None}
    scenario = load("pipeline-more-robots", few | {"buffer.service": CONSTANT})
    found = approximate_optimum(scenario, "frequencies")
    assert (found.kind, found.measure) == ("approximation", "weighted_obsolescence")
    with pytest.raises(NoOptimumError, match="its cost has no approximation"):
        approximate_optimum(scenario, "static")


def test_frequencies_are_the_best_of_the_moment_match() -> None:
    scenario = load("pipeline-more-robots", {"costs.staleness": 2.5, "buffer.service": CONSTANT})
    found = program.optimize(scenario, "frequencies")
    assert (found.kind, found.proved) == ("approximation", False)
    assert found.notes[0].startswith("no exact answer: service times are not of phase type")
    rows = predict(scenario.with_(found.changes))[0]
    (shown,) = (row.value for row in rows if row.measure == "control_cost")
    assert found.cost == pytest.approx(shown, rel=1e-12)
    with pytest.raises(ScenarioError, match="has no exact answer"):
        program.optimize(scenario, "frequencies", kind="exact")


@pytest.mark.thorough
def test_the_promise_is_kept_where_the_optimum_is_known() -> None:
    """20 searches, the second best just worse than the indifference; false alarms: 1e-3."""
    found = of_search(0.045, 10, 20)
    assert found.good >= 0.95 - 4 * math.sqrt(0.05 * 0.95 / 40)
    assert found.bounded >= 0.95 - 4 * math.sqrt(0.05 * 0.95 / 40)


@pytest.mark.thorough
def test_a_constant_that_is_far_too_small_is_found_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """Planted: the boundary lies so low that the first stage decides; windows of ten services."""
    monkeypatch.setattr(procedure, "squared_constant", lambda *_: 1e-9)
    monkeypatch.setattr(procedure, "LEAST_REPLICATIONS", 2)
    monkeypatch.setattr(searching, "LEAST_REPLICATIONS", 2)
    assert of_search(0.045, 2, 40, window=8.0).good < 0.95 - 4 * math.sqrt(0.05 * 0.95 / 40)


def test_rules_see_the_same_random_numbers() -> None:
    """A fixed number, and thresholds that never switch: the same costs, but for planted seeds."""
    scenario = controlled_queue()
    rules = {
        (0,): {"activation": {"static": 2}},
        (1,): {"activation": {"threshold": {"robots": [2, 1], "at": [4]}}},
    }
    simulated = Simulated(scenario, rules, SearchRequest(), 0)
    one, other = (simulated.values(point, 0, 10) for point in rules)
    assert np.array_equal(one, other)
    simulated.scenarios[1,] = simulated.scenarios[1,].with_("run.seed", 2)
    assert not np.array_equal(one, simulated.values((1,), 0, 10))


def test_rounds_do_not_share_replications(monkeypatch: pytest.MonkeyPatch) -> None:
    """Else what was chosen for its luck in one round would be lucky in the next one, too."""
    monkeypatch.setattr(searching, "_MOST_RULES", 4)
    seen: dict[int, set[int]] = {}
    run = searching.sim.run

    def noted(scenario: Any, *, first: int, replications: int, **how: Any) -> Any:
        seen.setdefault(first // 20, set()).update(range(first, first + replications))
        return run(scenario, first=first, replications=replications, **how)

    monkeypatch.setattr(searching.sim, "run", noted)
    changes = {"robots.available": 7, "activation.static": 7}
    asked = {"replications": 10, "max_replications": 20}
    found = program.optimize(QUEUE.with_(changes), "static", **asked)
    assert found.promise is not None
    assert found.promise["rounds"] == len(seen) - 1 == 2
    assert sum(map(len, seen.values())) == len(set().union(*seen.values()))
    assert "coarse to fine" in found.notes[1]


def test_every_rule_lies_on_the_way_to_the_finest_grid() -> None:
    """The chosen point and its neighbours are in the next round, up to those of the coarse grid."""
    ranges = (range(1, 30), range(0, 30))
    family = Family(ranges, lambda point: {"point": point}, dict, "")
    steps = family.grids()
    assert steps[-1] == 1
    assert all(sum(1 for _ in family.points(step)) <= 100 for step in steps[:1])
    around = (10, 29)
    near = dict(family.points(1, around, 3))
    assert set(near) == {(n, m) for n in range(8, 13) for m in range(27, 30)}


@pytest.mark.thorough
def test_the_command_says_what_it_is(crawlsim: Any, tmp_path: Any) -> None:
    words = ["optimize", "four-robots-one-threshold", "--target", "threshold", "--set"]
    words += ["robots.access_time={deterministic={value=1.0}}", "--set", "run.horizon=400"]
    words += ["--set", "run.warmup=20", "--indifference", "2", "--replications", "10"]
    code, out, _ = crawlsim(*words, "--out", str(tmp_path / "best.toml"))
    said = " ".join(out.split())
    assert code == 0
    assert out.splitlines()[0].endswith("per time unit (simulated)")
    assert "no exact answer: access times are deterministic" in said
    assert "with a probability of at least 95 %" in said
    (found,) = json.loads(crawlsim(*words, "--jobs", "2", "--json")[1])
    assert found["kind"] == "simulated"
    assert found["promise"]["indifference"] == 2.0
    assert load(tmp_path / "best.toml").activation is not None
    assert list(found["decision"]) == ["robots", "at"]
    code, out, err = crawlsim(*words, "--figure", str(tmp_path / "a.svg"))
    assert (code, out) == (2, "")
    assert "does not go with a simulated search" in err


def test_a_search_that_the_limit_stopped_says_so(crawlsim: Any) -> None:
    words = ["optimize", "one-robot", "--target", "static", "--kind", "simulated"]
    words += ["--set", "costs.loss=1", "--set", "costs.starvation=1", "--set", "run.horizon=11"]
    words += ["--set", "robots.available=3", "--set", "run.warmup=10"]
    code, out, err = crawlsim(*words, "--indifference", "1e-6", "--max-replications", "20")
    assert code == 0
    assert "not settled within 1e-06 by --max-replications 20" in err
    assert "--max-replications was reached" in " ".join(out.split())


def test_an_interrupted_search_ends_as_a_sweep_does(
    crawlsim: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(*_: Any, **__: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(searching.sim, "run", interrupted)
    code, out, _ = crawlsim("optimize", "talim-static-k5", "--target=static", "--kind=simulated")
    assert (code, out) == (130, "")


@pytest.mark.parametrize(
    ("target", "changes", "says"),
    [
        ("static", {"costs": None}, "try it with prices, such as --set costs.loss=1"),
        ("frequencies", {}, "compared by crawlsim sweep FILE"),
    ],
)
def test_what_cannot_be_searched_names_the_nearest_command(
    target: str, changes: dict[str, Any], says: str
) -> None:
    with pytest.raises(ScenarioError, match="has no exact answer") as refusal:
        next_best(QUEUE.with_(changes), target, SearchRequest())
    assert says in refusal.value.allowed


def test_pages_without_a_queue_are_sent_to_their_frequencies() -> None:
    pages = load("cyclic-constant")
    with pytest.raises(ScenarioError) as refusal:
        next_best(pages, "static", SearchRequest())
    found_by = "how often to access each page is found by --target frequencies"
    assert refusal.value.allowed.endswith(found_by)
    with pytest.raises(ScenarioError) as refusal:
        next_best(QUEUE.with_("costs", None), "static", SearchRequest())
    assert found_by not in refusal.value.allowed


@pytest.mark.parametrize(
    ("asked", "key"),
    [
        ({"kind": "best"}, "--kind"),
        ({"indifference": math.inf}, "--indifference"),
        ({"confidence": 1.0}, "--confidence"),
        ({"first": 9}, "--replications"),
        ({"most": 19}, "--max-replications"),
    ],
)
def test_what_no_search_can_keep_is_refused(asked: dict[str, Any], key: str) -> None:
    with pytest.raises(ScenarioError) as refusal:
        SearchRequest(**asked)
    assert refusal.value.key == key


def test_every_rule_is_simulated_once() -> None:
    """Lines that fall to no robot at levels 1 and 2 are rounded alike."""
    family = searching.FAMILIES["switching"](load("talim-switching"))
    rules = [repr(rule) for _, rule in family.points(1)]
    assert len(rules) == len(set(rules))


def rules_of(scenario: Any) -> list[Any]:
    family = searching.FAMILIES["threshold"](scenario)
    return [rule["activation"] for _, rule in family.points(1)]


@pytest.mark.parametrize("robots", [[2, 1], [2, 0]])
def test_single_thresholds_are_every_rule_of_two_numbers(robots: list[int]) -> None:
    """Counted out: three robots, two waiting places and the indexer's make levels 0 to 2."""
    scenario = controlled(robots, {})
    least = min(robots)
    expected = [
        {"threshold": {"robots": [more, less], "at": [at]}}
        for more in range(1, 4)
        for less in range(least, more)
        for at in range(3)
    ]
    fixed = [{"threshold": {"robots": [more], "at": []}} for more in range(1, 4)]
    assert sorted(map(repr, rules_of(scenario))) == sorted(map(repr, [*expected, *fixed]))
    family = searching.FAMILIES["threshold"](scenario)
    assert family.words == (
        f"fixed numbers and single thresholds between two numbers, {least} to 3"
    )
    assert family.decision({"activation": expected[0]}) == expected[0]["threshold"]


@pytest.mark.parametrize("start_up", [None, {"exponential": {"mean": 2.0}}])
@pytest.mark.parametrize("robots", [[2, 1], [2, 0]])
def test_where_switches_count_a_rule_has_a_way_back(
    robots: list[int], start_up: dict[str, Any] | None
) -> None:
    """Back at the level of the threshold or below; robots start as slowly as under the file's."""
    asked = {"costs.switch": 1.0} if start_up is None else {"activation.start_up": start_up}
    scenario = controlled(robots, asked)
    least = min(robots)
    started = {} if start_up is None else {"start_up": start_up}
    expected = [
        {"threshold": {"robots": [more, less], "at": [at], "back": [back]}, **started}
        for more in range(1, 4)
        for less in range(least, more)
        for at in range(3)
        for back in range(at + 1)
    ]
    fixed = [
        {"threshold": {"robots": [more], "at": [], "back": []}, **started} for more in range(1, 4)
    ]
    assert sorted(map(repr, rules_of(scenario))) == sorted(map(repr, [*expected, *fixed]))
    family = searching.FAMILIES["threshold"](scenario)
    assert family.words == (
        f"fixed numbers, and two numbers with a threshold and a way back, {least} to 3"
    )
    assert family.decision({"activation": expected[0]}) == expected[0]["threshold"]


def controlled(robots: list[int], changes: dict[str, Any]) -> Any:
    small = {"buffer.waiting_places": 2, "costs": {"loss": 1.0, "starvation": 1.0}}
    given = {"activation": {"threshold": {"robots": robots, "at": [1]}}}
    return queue({**small, **given, **changes})


@pytest.mark.parametrize("left_out", [0, 2])
def test_rules_without_a_cost_are_counted(left_out: int) -> None:
    family = Family((range(3),), lambda _: None, lambda _: {}, "numbers of robots")
    promise = {
        **{"better_by_at_most": 0.0, "settled": True, "confidence": 0.95},
        **{"rules": 3, "replications": 30, "rounds": 1},
    }
    told = searching._notes(family, promise, left_out)
    count = "2 rules left out: their cost is undefined in some replications"
    assert (count in told) == (left_out == 2)
    assert len(told) == 2 + (left_out == 2)
