"""Pages through the buffer into the index: rules on small deterministic systems, known numbers."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import sim
from scenarios import Scenario, scenario_from
from sim.pages import Pages
from sim.simpy_engine import simulate

SCRIPTED: dict[str, Any] = {
    "name": "scripted",
    "pages": {"change_rates": [0.0, 0.0, 0.0]},
    "robots": {
        "available": 2,
        "access_time": {"deterministic": {"value": 1.0}},
        "accessing": {"policy": "round-robin"},
    },
    "activation": {"threshold": {"robots": [2, 1], "at": [0]}},
    "buffer": {"waiting_places": 5, "service": {"deterministic": {"value": 1.5}}},
    "run": {"horizon": 3.25, "warmup": 0.0, "replications": 1},
}


def test_a_discarded_robot_keeps_its_page_for_its_next_access() -> None:
    """Robot 0 takes pages 0, 2, 0; robot 1 takes page 1 at time 0 and is never heard."""
    tally = simulate(scenario_from(SCRIPTED), 0, seed=1)
    assert tally.pages is not None
    assert tally.pages.deliveries.tolist() == [2, 0, 1]


class Scripted:
    """A stream of exponentials that gives what it is told."""

    def __init__(self, *values: float) -> None:
        self.values = list(values)

    def standard_exponential(self) -> float:
        return self.values.pop(0)


def test_changes_are_drawn_at_a_delivery_only_if_the_last_one_has_passed() -> None:
    stream = Scripted(5.0, 3.0)
    pages = Pages([1.0, 0.0], stream)
    assert pages.deliver(2.0, 0).stale_from == 5.0
    assert pages.deliver(6.0, 0).stale_from == 9.0
    assert pages.deliver(6.0, 1).stale_from == math.inf
    assert stream.values == []


def test_stale_time_by_hand() -> None:
    """Copies: at 0 stale from 5; delivered at 2 (stale from 5), indexed at 7: stays stale;
    delivered at 6 (stale from 9), indexed at 8: fresh until 9. Stale 5 … 8 and 9 … 10.
    """
    pages = Pages([1.0], Scripted(5.0, 3.0))
    first = pages.deliver(2.0, 0)
    second = pages.deliver(6.0, 0)
    pages.index(7.0, first)
    assert pages.is_stale(7.5, 0)
    pages.index(8.0, second)
    assert not pages.is_stale(8.5, 0)
    assert pages.tally(10.0).stale_time.tolist() == [4.0]


def test_an_older_copy_never_overwrites_a_newer_one() -> None:
    pages = Pages([1.0], Scripted(5.0, 4.0))
    older = pages.deliver(4.0, 0)
    newer = pages.deliver(6.0, 0)
    pages.index(7.0, newer)
    pages.index(8.0, older)
    assert not pages.is_stale(9.0, 0)
    assert pages.tally(9.0).stale_time.tolist() == [2.0]


def test_a_page_that_is_never_visited_is_stale_from_its_first_change() -> None:
    pages = Pages([1.0], Scripted(5.0))
    pages.end_warmup(1.0)
    assert pages.tally(9.0).stale_time.tolist() == [4.0]


def replacement(changes: dict[str, Any]) -> Scenario:
    """One robot delivers pages 0, 1, 0, 1, … at 1, 2, 3, …; each service takes 10."""
    return scenario_from(SCRIPTED).with_(
        {
            "pages.change_rates": [0.0, 0.0],
            "robots.available": 1,
            "activation": {"static": 1},
            "buffer.service.deterministic.value": 10.0,
            "buffer.replace_older_copy": True,
            "run.horizon": 6.5,
            **changes,
        }
    )


def test_a_newer_copy_takes_the_place_of_its_waiting_older_copy() -> None:
    """Page 0 at 1 is in service; page 1 at 2 waits; page 0 at 3 waits; 4 and 5 and 6 replace."""
    counted = simulate(replacement({}), 0, seed=1).buffer
    assert counted is not None
    assert counted.ended == (0, 0, 0, 3)
    assert counted.inside_at_end == 3
    assert counted.sojourn[3] == (4 - 2) + (5 - 3) + (6 - 4)


def test_a_replacing_copy_needs_no_free_place() -> None:
    counted = simulate(replacement({"buffer.waiting_places": 2}), 0, seed=1).buffer
    assert counted is not None
    assert (counted.refused, counted.ended[3]) == (0, 3)


EXAMPLE: dict[str, Any] = {
    "name": "example",
    "pages": {"change_rates": {"zipf": {"pages": 20, "exponent": 1.0, "total": 0.4}}},
    "robots": {
        "available": 12,
        "access_time": {"exponential": {"mean": 10.0}},
        "accessing": {"policy": "randomized", "frequencies": "change-rate"},
    },
    "buffer": {"waiting_places": 20, "service": {"exponential": {"mean": 1.0}}},
    "clients": {"query_rate": 1.0},
    "run": {"horizon": 9000.0, "warmup": 500.0, "replications": 16, "seed": 3},
}

LIFO = {"buffer.discipline": "lifo"}
PUSH_OUT = {"buffer.when_full": "push-out"}
PAGE_CHANGE = {"buffer.obsolescence": "page-change"}
REPLACE = {"buffer.replace_older_copy": True}


@pytest.mark.statistical
@pytest.mark.parametrize(
    ("changes", "cost"),
    [
        ({"robots.available": 5}, 0.4878),
        ({"robots.available": 8}, 0.4409),
        ({}, 0.6031),
        (PUSH_OUT, 0.5735),
        (LIFO, 0.3808),
        (LIFO | PUSH_OUT, 0.3677),
        (PAGE_CHANGE, 0.4092),
        (REPLACE, 0.3617),
        (REPLACE | PAGE_CHANGE, 0.3543),
        (LIFO | REPLACE | PAGE_CHANGE, 0.3462),
    ],
    ids=str,
)
def test_weighted_obsolescence_of_the_pipeline(changes: dict[str, Any], cost: float) -> None:
    """The row of twelve robots in docs/pipeline.md, lesson 6 (exact, or simulated to 0.0005).

    Each |z| below 4.1 with 15 degrees of freedom: false alarm 1e-3 per row, 1e-2 for all; seed 3.
    Neighbouring rows of the table differ by 5 to 40 standard errors.
    """
    results = sim.run(scenario_from(EXAMPLE).with_(changes))
    row = results.find("weighted_obsolescence")
    assert row is not None
    error = math.hypot(row.standard_error / 0.4, 0.0005)
    assert error < 0.006
    assert abs(row.estimate / 0.4 - cost) < 4.1 * error
    stale = results.find("stale_answer_probability")
    assert stale is not None
    assert abs(stale.estimate - cost) < 4.1 * math.hypot(stale.standard_error, 0.0005)


@pytest.mark.statistical
def test_obsolescence_rates_of_an_overloaded_pipeline() -> None:
    """Exact values of docs/pipeline.md, wrong models: K = 6, service 1, deliveries 2 (seed 3).

    Wrong models give .1675, .2319, .1838, .1779 for page 0: five standard errors away or more.
    """
    overloaded = scenario_from(EXAMPLE).with_(
        {
            "pages.change_rates": [0.02, 0.1, 0.5, 0.0],
            "robots.accessing.frequencies": [0.1, 0.2, 0.3, 0.4],
            "robots.available": 3,
            "robots.access_time": {"exponential": {"rate": 2 / 3}},
            "buffer.waiting_places": 5,
            "run.horizon": 30_000.0,
        }
    )
    results = sim.run(overloaded)
    for page, exact in ((0, 0.246992), (1, 0.586987), (2, 0.944613), (3, 0.0)):
        row = results.find("obsolescence_rate", page)
        assert row is not None
        assert abs(row.estimate - exact) <= 4.6 * row.standard_error
    first = results.find("obsolescence_rate", 0)
    assert first is not None
    assert first.standard_error < 0.003


@pytest.mark.statistical
def test_joint_deliveries_ask_the_policy_page_by_page() -> None:
    """Batches of two from a round-robin of three pages: each page gets a third of the accesses."""
    batches = scenario_from(EXAMPLE).with_(
        {
            "pages.change_rates": [0.1, 0.1, 0.1],
            "robots.available": 1,
            "robots.accessing": {"policy": "round-robin"},
            "robots.deliveries.modes": [{"bmap": {"D": [[[-1.0]], [[0.5]], [[0.5]]]}}],
            "run.warmup": 0.0,
            "run.horizon": 500.0,
        }
    )
    results = sim.run(batches)
    shares = [results.find("crawl_frequency", page).estimate for page in range(3)]
    assert shares == pytest.approx([1 / 3] * 3, abs=1e-3)


def test_per_page_estimates_of_many_pages_stay_in_order() -> None:
    many = scenario_from(EXAMPLE).with_(
        {"pages.change_rates.zipf.pages": 300, "run.horizon": 600.0, "run.replications": 3}
    )
    results = sim.run(many)
    rows = [row for row in results.estimates if row.measure == "obsolescence_rate"]
    assert [row.subject for row in rows] == list(range(300))
    assert np.all(np.diff([row.estimate for row in rows][:3]) != 0)
