"""Accesses that find no change, and what all of them fetch: formulas by hand, and simulations."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from scipy.stats import gamma

import sim
from analytic import check_scenario, course_of, optimize, predict
from scenarios import Scenario, ScenarioError, scenario_from

RATES = [0.3, 0.2, 0.1, 0.0]
SIZES = [90e3, 20e3, 5e3, 4e5]
SAME = 300.0

PAGES: dict[str, Any] = {
    "name": "unchanged",
    "pages": {"change_rates": RATES, "sizes": SIZES},
    "robots": {
        "available": 1,
        "access_time": {"erlang": {"shape": 2, "mean": 0.5}},
        "accessing": {"policy": "cyclic", "template": [0, 1, 0, 2, 0, 3]},
        "unchanged": {"bytes": SAME},
    },
    "run": {"horizon": 8000.0, "warmup": 200.0, "replications": 20},
}
DUE = {"policy": "due", "intervals": [1.0, 2.0, 3.0, 4.0]}
KINDS: dict[str, dict[str, Any]] = {
    "listed": {},
    "drawn": {
        "robots.accessing": {"policy": "randomized", "frequencies": [0.4, 0.3, 0.2, 0.1]},
        "robots.access_time": {"exponential": {"mean": 0.5}},
    },
    "by deadline": {"robots.accessing": {"policy": "deadline", "frequencies": "uniform"}},
    "in step": {"robots.available": 2, "robots.access_time": {"deterministic": {"value": 0.5}}},
    "failing": {"robots.failure": {"probability": 0.3, "retries": 1}},
    "never waiting": {"robots.accessing": DUE, "robots.available": 4},
    "waiting": {
        "robots.accessing": DUE,
        "robots.access_time": {"exponential": {"mean": 0.5}},
    },
    "committed": {"index": {"commit_interval": 1.0}},
    "buffered": {"buffer": {"waiting_places": 1, "service": {"exponential": {"mean": 0.7}}}},
}


def pages(changes: dict[str, Any] | None = None) -> Scenario:
    return scenario_from(PAGES).with_(changes or {})


def exact(scenario: Scenario) -> dict[tuple[str, Any], float]:
    predictions, _ = predict(scenario)
    return {(row.measure, row.subject): row.value for row in predictions if row.kind == "exact"}


def of_erlang(mu: float, shape: int, mean: float) -> float:
    """E exp(-mu X)."""
    return (1 + mu * mean / shape) ** -shape


def test_a_list_by_hand() -> None:
    """Of the distances 2, 2, 2 and 6 of its slots the pages are unchanged with h^d."""
    found = exact(pages())
    cycle = 6 * 0.5
    bytes_in_all = 0.0
    share = 0.0
    for page, distances in enumerate([[2, 2, 2], [6], [6], [6]]):
        h = of_erlang(RATES[page], 2, 0.5)
        same = np.mean([h**d for d in distances])
        rate = len(distances) / cycle
        assert found["unchanged_share", page] == pytest.approx(same, rel=1e-12)
        fetched = rate * (same * SAME + (1 - same) * SIZES[page])
        assert found["bytes_rate", page] == pytest.approx(fetched, rel=1e-12)
        bytes_in_all += fetched
        share += same * len(distances) / 6
    assert found["bytes_rate", None] == pytest.approx(bytes_in_all, rel=1e-12)
    assert found["unchanged_share", None] == pytest.approx(share, rel=1e-12)


def test_pages_that_are_drawn_by_hand() -> None:
    """The next access to a page comes after a geometric number of exponential times."""
    found = exact(pages(KINDS["drawn"]))
    for page, f in enumerate([0.4, 0.3, 0.2, 0.1]):
        same = (f / 0.5) / (f / 0.5 + RATES[page])
        assert found["unchanged_share", page] == pytest.approx(same, rel=1e-12)


def test_pages_that_fall_due_by_hand() -> None:
    found = exact(pages(KINDS["never waiting"]))
    for page, away in enumerate(DUE["intervals"]):
        same = math.exp(-RATES[page] * float(away)) * of_erlang(RATES[page], 2, 0.5)
        assert found["unchanged_share", page] == pytest.approx(same, rel=1e-12)


SHORTER = {"bytes": SAME, "share_of_time": 0.25}
KINDS["shorter"] = KINDS["never waiting"] | {"robots.unchanged": SHORTER}


def test_shorter_accesses_by_hand() -> None:
    """Cycle by cycle, with the law of the access integrated by a rule of many points."""
    found = exact(pages(KINDS["shorter"]))
    points = (np.arange(200_000) + 0.5) / 200_000
    times = gamma.ppf(points, 2, scale=0.25)
    busy = 0.0
    for page, (mu, away) in enumerate(zip(RATES, DUE["intervals"], strict=True)):
        same = math.exp(-mu * float(away))
        cycle = float(away) + (0.25 * same + 1 - same) * 0.5
        ends = float(away) + 0.25 * times
        fresh = np.mean((1 - np.exp(-mu * ends)) / mu) if mu else np.mean(ends)
        assert found["crawl_rate", page] == pytest.approx(1 / cycle, rel=1e-9)
        assert found["unchanged_share", page] == pytest.approx(same, rel=1e-9)
        stale = 1 - fresh / cycle if mu else 0.0
        assert found["obsolescence_rate", page] == pytest.approx(stale, abs=1e-6)
        fetched = (same * SAME + (1 - same) * SIZES[page]) / cycle
        assert found["bytes_rate", page] == pytest.approx(fetched, rel=1e-9)
        busy += 1 - float(away) / cycle
    assert found["busy_robots", None] == pytest.approx(busy, rel=1e-9)


@pytest.mark.parametrize("kind", ["listed", "drawn", "by deadline", "in step", "waiting"])
def test_no_other_formula_knows_of_shorter_accesses(kind: str) -> None:
    scenario = pages(KINDS[kind] | {"robots.unchanged": SHORTER})
    predictions, others = predict(scenario)
    assert predictions == []
    assert any("share_of_time" in other.reason for other in others)
    with pytest.raises(ScenarioError, match="accesses to unchanged pages are shorter"):
        optimize(scenario.with_("robots.accessing", {"policy": "deadline"}), "frequencies")
    courses = pages(KINDS[kind] | {"robots.unchanged": SHORTER, "run.observe": 1000.0})
    assert not course_of(courses).course.columns


def test_shorter_accesses_are_more() -> None:
    """A robot that never rests: an access takes (1 - (1 - s) u) of its time in the mean."""
    changes = KINDS["drawn"] | {"robots.unchanged": SHORTER}
    results = sim.run(pages(changes))
    share = results.find("unchanged_share", None).estimate
    rate = sum(results.find("crawl_rate", page).estimate for page in range(4))
    assert rate == pytest.approx(1 / (0.5 * (1 - 0.75 * share)), rel=0.02)


@pytest.mark.by_day(besides=("listed", "waiting", "shorter", "buffered"))
@pytest.mark.parametrize("kind", KINDS)
def test_simulations_agree(kind: str) -> None:
    """By `check` at its own level; it tells shares of single pages apart to some per cent."""
    scenario = pages(KINDS[kind])
    predictions, _ = predict(scenario)
    rows = [
        row
        for row in check_scenario(scenario, predictions, sim.run(scenario))
        if row.measure in ("unchanged_share", "bytes_rate")
    ]
    assert len(rows) == 10
    for row in rows:
        assert row.verdict in ("agrees", "inconclusive"), row
        assert row.estimated == pytest.approx(row.predicted, rel=0.05)


@pytest.mark.by_day(besides=("buffer",))
@pytest.mark.parametrize(
    "changes",
    [
        {"buffer": {"waiting_places": 1, "service": {"exponential": {"mean": 0.7}}}},
        {"index": {"commit_interval": 3.0}},
        {"clients": {"query_rate": 1.0}},
    ],
    ids=["buffer", "commits", "clients"],
)
def test_what_comes_after_the_fetch_makes_no_difference(changes: dict[str, Any]) -> None:
    short = {"run.horizon": 300.0, "run.replications": 3}
    plain, other = (sim.run(pages(short | each)) for each in ({}, changes))
    for measure in ("unchanged_share", "bytes_rate"):
        for subject in (None, 0, 1, 2, 3):
            one, two = (each.find(measure, subject) for each in (plain, other))
            assert one.estimate == two.estimate


def test_nobody_counts_what_is_not_asked_for() -> None:
    short = pages({"run.horizon": 300.0, "run.replications": 2})
    asked = sim.run(short)
    without = sim.run(short.with_("robots.unchanged", None))
    names = {row.measure for row in asked.estimates} - {row.measure for row in without.estimates}
    assert names == {"unchanged_share", "bytes_rate"}
    of_both = {(row.measure, row.subject): row.estimate for row in asked.estimates}
    for row in without.estimates:
        assert of_both[row.measure, row.subject] == row.estimate
    of_shares = sim.run(short.with_("pages.sizes", None))
    assert "unchanged_share" in {row.measure for row in of_shares.estimates}
    assert "bytes_rate" not in {row.measure for row in of_shares.estimates}


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"robots.unchanged": {"share_of_time": 0.0}}, "robots.unchanged.share_of_time"),
        ({"robots.unchanged": {"share_of_time": 1.5}}, "robots.unchanged.share_of_time"),
        ({"robots.unchanged": {"bytes": -1.0}}, "robots.unchanged.bytes"),
        (
            {
                "robots.unchanged": {"share_of_time": 0.5},
                "robots.access_time": None,
                "robots.deliveries": {"independent": [{"poisson": {"rate": 1.0}}]},
            },
            "goes with access_time or classes",
        ),
    ],
)
def test_refusals(changes: dict[str, Any], words: str) -> None:
    with pytest.raises(ScenarioError, match=words):
        pages(changes)


def test_pages_are_needed() -> None:
    tables = {
        "name": "no-pages",
        "robots": PAGES["robots"] | {"accessing": None},
        "buffer": {"waiting_places": 1, "service": {"exponential": {"mean": 0.7}}},
        "run": PAGES["run"],
    }
    del tables["robots"]["accessing"]  # type: ignore[index]
    with pytest.raises(ScenarioError, match=r"needs \[pages\]"):
        scenario_from(tables)
