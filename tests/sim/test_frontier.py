"""Pages that fall due, event by event: what a reader of docs/model.md would work out by hand."""

from __future__ import annotations

from typing import Any

import pytest

import sim
from scenarios import Scenario, ScenarioError, scenario_from
from sim import simpy_engine
from sim.rules import MOST_OVERDUE, PRIORITY, next_due, next_pause, urgency

TWO: dict[str, Any] = {
    "name": "two-pages",
    "pages": {"change_rates": [0.1, 0.1], "weights": "uniform"},
    "robots": {
        "available": 1,
        "access_time": {"deterministic": {"value": 1.0}},
        "accessing": {"policy": "due", "intervals": [2.0, 3.0], "first": "at-once"},
    },
    "run": {"horizon": 12.0, "warmup": 0.0, "replications": 1},
}

Event = tuple[float, str, int | None, int | None]


class Kept:
    """A log that keeps its rows."""

    def __init__(self) -> None:
        self.rows: list[Any] = []

    def add(self, row: Any) -> None:
        self.rows.append(row)


def events(scenario: Scenario, *kinds: str) -> list[Event]:
    """Time, kind, robot and page of the events of these kinds."""
    log = Kept()
    simpy_engine.simulate(scenario, 0, 1, log)
    return [(row[1], row[2], row[3], row[4]) for row in log.rows if row[2] in kinds]


def starts(changes: dict[str, Any] | None = None) -> list[tuple[float, int | None]]:
    """When accesses begin, and of which page."""
    scenario = scenario_from(TWO)
    scenario = scenario.with_(changes) if changes else scenario
    return [(time, page) for time, _, _, page in events(scenario, "access")]


def test_a_page_is_due_again_an_interval_after_its_delivery() -> None:
    """Page 0 at 0, 3, 6, 9, 12; page 1 is due at 0, waits for the robot, and then every 4."""
    assert starts() == [
        (0.0, 0), (1.0, 1), (3.0, 0), (5.0, 1), (6.0, 0), (9.0, 0), (10.0, 1), (12.0, 0),
    ]  # fmt: skip
    tally = simpy_engine.simulate(scenario_from(TWO), 0, 1).frontier
    assert tally is not None
    # Page 1 waits from 0 to 1, and from 9 to 10. What happens at 0 is before the window.
    assert (tally.delay, tally.waiting_time, tally.busy_time) == (2.0, 2.0, 7.0)
    assert (tally.waiting_at_start, tally.fell_due, tally.started) == (1, 6, 7)


def test_quantiles_of_delays_count_every_access_alike() -> None:
    """Of the seven accesses after the start two wait, each for 1, both of them to page 1."""
    scenario = scenario_from(TWO).with_("robots.accessing.delay_quantiles", [0.7, 0.8])
    found = sim.run(scenario).rows
    known = {row.subject: row.estimate for row in found.of_measure("frontier_delay_quantile")}
    assert [known[each] for each in ("0.7", "0 0.7", "0 0.8")] == [0.0, 0.0, 0.0]
    for subject in ("0.8", "1 0.7", "1 0.8"):
        assert known[subject] == pytest.approx(1.0, rel=1e-3)


def test_or_after_its_start() -> None:
    """An access of 1 and an interval of 2: every 2; of 0.5 the page is due as it is delivered."""
    one = {"pages.change_rates": [0.1], "robots.accessing.from": "start", "run.horizon": 4.5}
    times = [time for time, _ in starts({**one, "robots.accessing.intervals": 2.0})]
    assert times == [0.0, 2.0, 4.0]
    times = [time for time, _ in starts({**one, "robots.accessing.intervals": 0.5})]
    assert times == [0.0, 1.0, 2.0, 3.0, 4.0]


THREE = {
    "pages.change_rates": [0.1, 0.1, 0.1],
    "robots.accessing.intervals": [1.0, 4.0, 1.5],
    "run.horizon": 7.5,
}


@pytest.mark.parametrize(
    ("order", "pages"),
    [
        # 0 at 0, 1 at 1, 2 at 2; page 0 has been due since 2.
        ("first-due", [0, 1, 2, 0, 2, 0, 1, 2]),
        # 0 at 0, the first to fall due; 2 at 1; at 2 page 0 is not due yet as the robot is free.
        ("priority", [0, 2, 1, 0, 2, 0, 2]),
    ],
)
def test_orders_of_the_frontier(order: str, pages: list[int]) -> None:
    changes = {**THREE, "robots.accessing.order": order, "pages.priority": [1, 2, 0]}
    assert [page for _, page in starts(changes)][: len(pages)] == pages


def test_the_most_overdue_page_is_late_by_its_own_interval() -> None:
    assert urgency(MOST_OVERDUE, 3.0, 4.0, 0.0) == 0.75
    assert urgency(MOST_OVERDUE, 1.0, 1.0, 0.0) > urgency(MOST_OVERDUE, 3.0, 4.0, 0.0)
    assert urgency(MOST_OVERDUE, 0.0, 0.0, 0.0) == float("inf")
    assert urgency(PRIORITY, 9.0, 1.0, 0.0) > urgency(PRIORITY, 9.0, 1.0, 1.0)


def test_a_back_off_grows_and_a_success_resets_it() -> None:
    pauses = [0.0]
    for _ in range(4):
        pauses.append(next_pause(pauses[-1], 0.5, 3.0, 10.0))
    assert pauses[1:] == [0.5, 1.5, 4.5, 10.0]
    assert next_due(7.0, 6.0, 2.0, 0.5, False) == 7.5
    assert next_due(7.0, 6.0, 2.0, 0.0, False) == 9.0
    assert next_due(7.0, 6.0, 2.0, 0.0, True) == 8.0
    assert next_due(7.0, 6.0, 0.5, 0.0, True) == 7.0


def test_an_access_that_takes_too_long_fails_and_is_tried_after_its_back_off() -> None:
    """Ends at 0.5, failed; again after 1, 2, 4."""
    changes = {
        "pages.change_rates": [0.1],
        "robots.accessing.intervals": 2.0,
        "robots.failure": {"probability": 0.0, "timeout": 0.5, "backoff": {"first": 1.0}},
        "run.horizon": 11.0,
    }
    assert starts(changes) == [(0.0, 0), (1.5, 0), (4.0, 0), (8.5, 0)]
    scenario = scenario_from(TWO).with_(changes)
    assert events(scenario, "delivery") == []
    assert [time for time, *_ in events(scenario, "failure")] == [0.5, 2.0, 4.5, 9.0]


def test_without_a_back_off_it_is_tried_after_its_interval() -> None:
    changes = {
        "pages.change_rates": [0.1],
        "robots.accessing.intervals": 2.0,
        "robots.failure": {"probability": 0.0, "timeout": 0.5},
        "run.horizon": 6.0,
    }
    assert starts(changes) == [(0.0, 0), (2.5, 0), (5.0, 0)]


def test_a_timeout_runs_on_while_the_robots_stand_still() -> None:
    """At speed 0 from 0.5 on, the access that began at 0 times out at 2."""
    changes = {
        "robots.failure": {"probability": 0.0, "timeout": 2.0},
        "interventions": [{"at": 0.5, "until": 100.0, "robot_speed": 0.0}],
    }
    scenario = scenario_from(TWO).with_(changes)
    assert [time for time, *_ in events(scenario, "failure")][:2] == [2.0, 4.0]


def test_a_robot_that_is_switched_off_ends_its_access_and_delivers() -> None:
    changes = {"interventions": [{"at": 0.5, "until": 8.0, "robots": 0}]}
    scenario = scenario_from(TWO).with_(changes)
    assert events(scenario, "delivery")[0] == (1.0, "delivery", 0, 0)
    times = [time for time, *_ in events(scenario, "access")]
    # Page 1 has been due since 0, page 0 since 3; the outage is over just after 8.
    assert times[:3] == pytest.approx([0.0, 8.0, 9.0], rel=1e-9)
    assert [page for *_, page in events(scenario, "access")][:3] == [0, 1, 0]


def test_a_page_whose_host_is_to_be_left_alone_is_passed_over() -> None:
    """Pages 0 and 1 share a host: 1 waits for it, 2 does not; two robots."""
    changes = {
        "pages.change_rates": [0.1, 0.1, 0.1],
        "pages.hosts": [0, 0, 1],
        "robots.accessing.intervals": 50.0,
        "robots.available": 2,
        "robots.host_spacing": 4.0,
    }
    assert starts(changes) == [(0.0, 0), (0.0, 2), (4.0, 1)]


def test_the_level_of_the_buffer_holds_robots_back() -> None:
    """With a page in the system nobody works, else two robots do."""
    changes = {
        "robots.available": 2,
        "robots.accessing.intervals": 0.5,
        "buffer": {"waiting_places": 5, "service": {"deterministic": {"value": 10.0}}},
        "activation.threshold": {"robots": [2, 0], "at": [0]},
        "run.horizon": 30.0,
    }
    # Both deliver at 1; the indexer is busy until 21, and nobody is fetched before.
    assert starts(changes) == [(0.0, 0), (0.0, 1), (21.0, 0), (21.0, 1)]


@pytest.mark.parametrize(("horizon", "found"), [(12.0, (1, 2.0)), (9.5, (0, 0.0))])
def test_the_robots_have_caught_up_when_few_pages_wait(
    horizon: float, found: tuple[int, float]
) -> None:
    """Pages 1 and 2 have waited since 0, page 0 since 3; one robot takes them at 8, 9 and 10."""
    changes = {
        "interventions": [{"at": 0.5, "until": 8.0, "robots": 0}],
        "robots.accessing.caught_up": 0.0,
        "pages.change_rates": [0.1, 0.1, 0.1],
        "robots.accessing.intervals": [2.0, 30.0, 30.0],
        "run.horizon": horizon,
    }
    tally = simpy_engine.simulate(scenario_from(TWO).with_(changes), 0, 1).frontier
    assert tally is not None
    assert (tally.caught_up, tally.catch_up) == pytest.approx(found, rel=1e-9)


def test_pages_that_are_taken_as_the_outage_ends_are_caught_up_at_once() -> None:
    """One page waits for a robot that is switched on again: after 0, not after rounding."""
    changes = {
        "interventions": [{"at": 0.5, "until": 9.0, "robots": 0}],
        "robots.accessing.caught_up": 0.0,
        "pages.change_rates": [0.1],
        "robots.accessing.intervals": 3.0,
    }
    tally = simpy_engine.simulate(scenario_from(TWO).with_(changes), 0, 1).frontier
    assert tally is not None
    assert (tally.caught_up, tally.catch_up) == (1, 0.0)


REFUSED = {
    "robots.accessing.policy": {"robots.accessing": {"policy": "dew", "intervals": 1.0}},
    "robots.accessing.intervals": {"robots.accessing.intervals": [1.0]},
    "robots.accessing.frequencies": {"robots.accessing.frequencies": "uniform"},
    "robots.accessing.budget": {"robots.accessing.budget": 2.0},
    "robots.accessing.order": {"robots.accessing.order": "priority"},
    "robots.failure.retries": {"robots.failure": {"probability": 0.1, "retries": 1}},
    "robots.failure.backoff.most": {
        "robots.failure": {"probability": 0.1, "backoff": {"first": 2.0, "most": 1.0}}
    },
    "robots.failure.timeout": {
        "robots.accessing": {"policy": "round-robin"},
        "robots.failure": {"probability": 0.1, "timeout": 1.0},
    },
    "activation.switching": {
        "activation.switching.targets": [1, 1],
        "buffer": {"waiting_places": 0, "service": {"exponential": {"mean": 1.0}}},
    },
    "robots.deliveries": {"robots.deliveries.modes": [{"poisson": {"rate": 1.0}}]},
}


@pytest.mark.parametrize("key", REFUSED)
def test_what_does_not_go_together_is_refused_by_its_key(key: str) -> None:
    with pytest.raises(ScenarioError) as refusal:
        scenario_from(TWO).with_(REFUSED[key])
    assert refusal.value.key == key


def test_the_policy_may_be_a_table_as_others_are() -> None:
    nested = {
        **TWO,
        "robots": {
            **TWO["robots"],
            "accessing": {"policy": {"due": {"intervals": [2.0, 3.0]}}, "first": "at-once"},
        },
    }
    assert scenario_from(nested).as_file() == scenario_from(TWO).as_file()
