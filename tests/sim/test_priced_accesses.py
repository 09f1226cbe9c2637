"""Accesses and bytes that have a price, those that fail included, against the log of events."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import sim
from scenarios import Scenario, ScenarioError, load, scenario_from
from sim.event_log import Row

SIZES = [9.0, 2.0, 5.0]
PAGES: dict[str, Any] = {
    "name": "priced",
    "pages": {"change_rates": [0.1, 0.3, 0.5], "weights": "uniform", "sizes": SIZES},
    "robots": {
        "available": 2,
        "access_time": {"gamma": {"mean": 0.8, "sd": 0.6}},
        "accessing": {"policy": "cyclic", "template": [0, 1, 2, 1]},
        "failure": {"probability": 0.3, "retries": 1},
        "unchanged": {"bytes": 0.25},
    },
    "costs": {"access": 1.0},
    "run": {"horizon": 400.0, "warmup": 20.0, "replications": 60, "seed": 5},
}
QUEUE: dict[str, Any] = {
    **PAGES,
    "buffer": {"waiting_places": 2, "service": {"exponential": {"mean": 0.5}}},
    "activation": {"threshold": {"robots": [2, 1], "at": [1]}},
}
DUE: dict[str, Any] = {
    **PAGES,
    "robots": {
        **PAGES["robots"],
        "accessing": {"policy": "due", "intervals": [3.0, 2.0, 1.5]},
        "failure": {"probability": 0.2, "backoff": {"first": 0.5}, "timeout": 1.5},
    },
}


class Counts:
    """Accesses of the window by replication: those that fail, and those that deliver.

    A robot that rests is not heard, whether its access fails or not.
    """

    def __init__(self, scenario: Scenario) -> None:
        self.warmup = scenario.run.warmup
        self.ended = np.zeros((scenario.run.replications, 2))

    def add(self, row: Row) -> None:
        replication, time, event, robot, _, _, active = row
        rests = event == "failure" and robot is not None and robot >= active
        if time > self.warmup and event in ("failure", "delivery", "loss") and not rests:
            self.ended[replication, int(event != "failure")] += 1


def costs_and_counts(tables: dict[str, Any]) -> tuple[Any, Any, Scenario]:
    """The cost of each replication, and what the log has of it."""
    scenario = scenario_from(tables)
    counts = Counts(scenario)
    results = sim.run(scenario, engine="simpy", log=counts)
    row = results.rows.find("control_cost")
    assert row is not None
    n = scenario.run.replications
    without = np.array(results.leave_one_out["control_cost", None])
    return n * row.estimate - (n - 1) * without, counts.ended, scenario


@pytest.mark.thorough
@pytest.mark.parametrize("tables", [PAGES, QUEUE], ids=["pages", "queue"])
def test_accesses_that_fail_are_paid_on_average(tables: dict[str, Any]) -> None:
    """They are not counted, and estimates by deliveries have no bias and no more variance."""
    costs, ended, scenario = costs_and_counts(tables)
    logged = ended.sum(axis=1) / scenario.run.window
    difference = costs - logged
    assert abs(difference.mean()) < 4 * difference.std(ddof=1) / np.sqrt(len(costs))
    assert difference.std() < 0.2
    assert logged.mean() > 1.2 * ended[:, 1].mean() / scenario.run.window


@pytest.mark.thorough
def test_of_pages_that_fall_due_every_access_is_counted() -> None:
    """When it begins: as many end but for those at the ends of the window."""
    costs, ended, scenario = costs_and_counts(DUE)
    logged = ended.sum(axis=1) / scenario.run.window
    assert np.abs(costs - logged).max() <= 2 / scenario.run.window * (1 + 1e-9)
    assert (ended[:, 0] > 0.2 * ended.sum(axis=1)).mean() > 0.9  # timeouts beside failures


@pytest.mark.thorough  # two worlds to compile
@pytest.mark.parametrize("tables", [PAGES, DUE], ids=["pages", "due"])
def test_accesses_that_fail_fetch_as_much_as_others(tables: dict[str, Any]) -> None:
    """Both prices at once, in both engines."""
    scenario = scenario_from({**tables, "costs": {"access": 0.3, "byte": 0.7}})
    rows = [sim.run(scenario, replications=8, engine=each).rows for each in ("simpy", "compiled")]
    for row in rows[0]:
        other = rows[1].find(row.measure, row.subject)
        assert other is not None
        assert (row.estimate, row.standard_error) == (other.estimate, other.standard_error)
    cost, fetched = (rows[0].find(name) for name in ("control_cost", "bytes_rate"))
    alone = sim.run(scenario_from(tables), replications=8).rows.find("control_cost")
    delivered = sum(
        row.estimate for row in rows[0] if row.measure == "crawl_rate" and row.subject is not None
    )
    assert cost is not None
    assert fetched is not None
    assert alone is not None
    attempts = alone.estimate / delivered
    assert cost.estimate == pytest.approx(
        0.3 * alone.estimate + 0.7 * attempts * fetched.estimate, rel=1e-9
    )


@pytest.mark.parametrize(
    ("changes", "key", "needs"),
    [
        ({"costs.indexer": 1.0}, "costs.indexer", "needs [buffer]"),
        ({"costs.waiting_place": 1.0}, "costs.waiting_place", "needs [buffer]"),
        ({"costs.byte": 1.0, "pages.sizes": None}, "costs.byte", "pages.sizes"),
        ({"costs.byte": 1.0, "robots.unchanged": None}, "costs.byte", "robots.unchanged"),
        ({"costs.access": -1.0}, "costs.access", "must be >= 0"),
    ],
)
def test_a_price_needs_what_it_is_of(changes: dict[str, Any], key: str, needs: str) -> None:
    with pytest.raises(ScenarioError) as refusal:
        scenario_from(PAGES).with_(changes)
    assert refusal.value.key == key
    assert needs in refusal.value.allowed


def test_accesses_have_a_price_where_robots_make_them() -> None:
    with pytest.raises(ScenarioError, match=r"needs \[robots\]") as refusal:
        load("routing-two-servers", {"costs.access": 1.0})
    assert refusal.value.key == "costs.access"
