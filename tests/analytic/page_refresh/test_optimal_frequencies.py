"""`optimize --target frequencies`, and frequencies that a file leaves to be found."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import sim
from analytic import optimize, predict, resolve
from analytic.page_refresh import best_random_shares, best_shares
from crawlsim.cli import main
from scenarios import Scenario, ScenarioError, load
from scenarios.laws import Deterministic, Exponential, Gamma

GOLDEN = {"policy": "golden-ratio", "frequencies": "optimal"}
MMPP = {"mmpp": {"Q": [[-1.0, 1.0], [1.0, -1.0]], "rates": [1.0, 3.0]}}
KEY = "robots.accessing.frequencies"


def erlang(**changes: Any) -> Scenario:
    base = load("randomized-erlang").with_({"pages.weights": [1.0, 0.2, 3.0]})
    return base.with_(changes) if changes else base


def exact(scenario: Scenario) -> float:
    (cost,) = [
        each.value
        for each in predict(scenario)[0]
        if each.measure == "weighted_obsolescence" and each.kind == "exact"
    ]
    return cost


@pytest.mark.parametrize(
    ("accessing", "find"), [({"policy": "randomized"}, best_random_shares), (GOLDEN, best_shares)]
)
def test_the_policy_gets_its_own_optimum(accessing: dict[str, Any], find: Any) -> None:
    scenario = erlang(**{"robots.accessing": accessing})
    found = optimize(scenario, "frequencies")
    law = scenario.robots.access_time if scenario.robots else None
    rates = scenario.pages.change_rates if scenario.pages else ()
    assert found.decision["frequencies"] == find(rates, [1.0, 0.2, 3.0], law).tolist()
    decided = scenario.with_(found.changes)
    assert found.cost == pytest.approx(exact(decided), rel=1e-14)
    assert found.lower_bound is not None
    assert found.lower_bound <= found.cost
    costs = {row["frequencies"]: row["cost"] for row in found.table}
    assert costs["optimal"] == found.cost
    assert costs["uniform"] == pytest.approx(exact(scenario.with_(KEY, "uniform")))
    assert all(found.cost <= cost for cost in costs.values()) or accessing is GOLDEN


def test_no_small_change_of_random_choices_helps() -> None:
    found = optimize(erlang(), "frequencies")
    best = np.array(found.decision["frequencies"])
    for move in np.eye(3):
        moved = (1 - 1e-3) * best + 1e-3 * move
        assert exact(erlang(**{KEY: moved.tolist()})) > (found.cost or 0.0)


def test_optimal_in_a_file_is_resolved() -> None:
    scenario = erlang(**{KEY: "optimal"})
    with pytest.raises(ScenarioError, match="still to be resolved"):
        sim.run(scenario, replications=1)
    resolved = resolve(scenario)
    assert resolved == scenario.with_(optimize(scenario, "frequencies").changes)
    assert resolve(resolved) == resolved


def test_where_there_is_no_exact_cost_it_is_null_and_the_note_says_what_was_done() -> None:
    made = erlang(**{"robots.access_time": MMPP})
    found = optimize(made, "frequencies")
    assert (found.cost, found.lower_bound) == (None, None)
    assert "at constant intervals of the same mean" in found.notes[0]
    assert "access times are not independent" in found.notes[1]
    law = Deterministic(value=0.5)
    expected = best_random_shares(made.pages.change_rates, [1.0, 0.2, 3.0], law)
    assert found.decision["frequencies"] == pytest.approx(expected.tolist())


def test_exponential_robots_are_one_fast_one() -> None:
    two = erlang(**{"robots.available": 2, "robots.access_time": {"exponential": {"mean": 3.0}}})
    found = optimize(two, "frequencies")
    expected = best_random_shares(two.pages.change_rates, [1.0, 0.2, 3.0], Exponential(mean=1.5))
    assert found.decision["frequencies"] == pytest.approx(expected.tolist())
    assert found.cost is not None
    assert found.lower_bound is not None
    assert found.lower_bound < found.cost
    wrong = best_random_shares(two.pages.change_rates, [1.0, 0.2, 3.0], Gamma(shape=2.0, mean=1.5))
    assert np.abs(wrong - expected).max() > 1e-3


@pytest.mark.parametrize(
    ("name", "changes", "says"),
    [
        ("cyclic-constant", {}, 'policy = "cyclic" takes no frequencies'),
        ("one-robot", {}, r"there are no \[pages\]"),
        ("randomized-erlang", {"activation.static": 0}, "mean time between accesses is not known"),
    ],
)
def test_what_has_no_optimum_is_refused(name: str, changes: dict[str, Any], says: str) -> None:
    scenario = load(name).with_(changes) if changes else load(name)
    with pytest.raises(ScenarioError, match=says):
        optimize(scenario, "frequencies")


def test_the_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """JSON as promised, the decision in the written file, long lists cut in the table."""
    monkeypatch.chdir(tmp_path)

    def call(*words: str) -> str:
        with pytest.raises(SystemExit) as stop:
            main(["optimize", *words, "--target", "frequencies"])
        assert stop.value.code == 0
        return capsys.readouterr().out

    (found,) = json.loads(call("randomized-erlang", "--json", "--out", "best.toml"))
    assert list(found)[:5] == ["scenario", "target", "cost", "lower_bound", "decision"]
    assert list(found["decision"]) == ["frequencies"]
    assert exact(load("best.toml")) == pytest.approx(found["cost"], rel=1e-12)
    assert ", … 246 in all]" in call("golden-ratio-246")
    changes = ["robots.accessing.policy=golden-ratio", "robots.access_time.uniform={low=1,high=3}"]
    options = [word for change in changes for word in ("--set", change)]
    assert "–" in call("client-queries", *options)


def some_idle(rates: list[float], weights: list[float]) -> Scenario:
    """Regular accesses, two per unit time."""
    return load("deadline-frequencies").with_(
        {
            "pages": {"change_rates": rates, "weights": weights},
            "robots.access_time": {"deterministic": {"value": 0.5}},
            "robots.accessing": {"policy": "deadline", "frequencies": "optimal"},
        }
    )


def test_pages_that_are_never_visited_are_named_with_the_reason() -> None:
    """By hand: c / mu of page 4 is 1/500 of what the others have, and it gets nothing."""
    made = some_idle([1.0, 0.0, 2.0, 0.5, 500.0, 1.0], [1.0, 1.0, 1.0, 0.0, 1.0, 1.0])
    found = optimize(made, "frequencies")
    shares = found.decision["frequencies"]
    assert [page for page, share in enumerate(shares) if share == 0] == [1, 3, 4]
    unvisited = [note for note in found.notes if "never accessed" in note]
    expected = {"1": "change rate 0", "3": "weight 0", "4": "too many changes for the weight"}
    assert len(unvisited) == 3
    for note, (page, reason) in zip(unvisited, expected.items(), strict=True):
        assert note.startswith(f"1 of 6 pages is never accessed: {page} (counted from 0); {reason}")


def test_of_many_pages_that_are_never_visited_the_first_are_named() -> None:
    made = some_idle([0.0, 1.0] * 30, [1.0] * 60)
    (note,) = [note for note in optimize(made, "frequencies").notes if "never accessed" in note]
    assert note.startswith("30 of 60 pages are never accessed: 0, 2, 4, 6, 8, 10, 12, 14, … (")


def test_where_every_page_is_visited_nothing_is_said(crawlsim: Any) -> None:
    code, out, _ = crawlsim("optimize", "deadline-frequencies", "--target", "frequencies")
    assert code == 0
    assert "never accessed" not in out


@pytest.mark.by_day("pipeline-light")
@pytest.mark.parametrize("name", ["pipeline-light", "pipeline-page-change"])
def test_through_a_buffer_they_are_named_too(name: str) -> None:
    """The first has an optimum there; the second takes the best frequencies without a buffer."""
    made = load(name).with_("pages.change_rates", [0.0, *([0.05] * 6)])
    found = optimize(made, "frequencies")
    assert any("1 of 7 pages is never accessed: 0 (" in note for note in found.notes)
