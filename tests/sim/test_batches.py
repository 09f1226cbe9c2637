"""Servers that take batches of pages: short runs, by hand, in both engines."""

from __future__ import annotations

from typing import Any

import pytest

import sim
from scenarios import Scenario, scenario_from
from sim import compiled_engine, simpy_engine
from sim.tally import BatchesTally, ConservationError, Tally

ENGINES = {"compiled": compiled_engine.simulate, "simpy": simpy_engine.simulate}

CLOCKWORK: dict[str, Any] = {
    "name": "clockwork",
    "robots": {"available": 1, "access_time": {"deterministic": {"value": 1.0}}},
    "buffer": {
        "waiting_places": 5,
        "service": {"deterministic": {"value": 2.5}},
        "batch": {"most": 4, "least": 3},
    },
    "run": {"horizon": 12.4, "warmup": 0.0, "replications": 2},
}
"""Pages come at 1, 2, 3, …"""


def clockwork(changes: dict[str, Any]) -> Scenario:
    scenario = scenario_from(CLOCKWORK)
    return scenario.with_(changes) if changes else scenario


@pytest.fixture(params=[pytest.param("compiled", marks=pytest.mark.as_python), "simpy"])
def simulate(request: Any) -> Any:
    return lambda changes: ENGINES[request.param](clockwork(changes), 0, 1)


def counted(tally: Tally) -> tuple[int, int, int, float, float]:
    """Batches, pages indexed, pages lost, times in the system, time of busy servers."""
    assert tally.buffer is not None
    assert tally.batches is not None
    buffer, batches = tally.buffer, tally.batches
    times = sum(buffer.sojourn)
    return batches.ended, buffer.ended[0], buffer.refused, times, batches.busy_time


@pytest.mark.parametrize(
    ("changes", "batches", "pages", "lost", "times", "busy"),
    [
        # from 3 to 5.5, 6 to 8.5, 9 to 11.5, and from 12 on
        ({}, 3, 9, 0, 3 * (4.5 + 3.5 + 2.5), 7.9),
        # one page from 1.7 to 4.2, then 3, 2, 3 and 2 without a pause
        ({"buffer.batch.wait": 0.7}, 4, 9, 0, 3.2 + 11.1 + 7.4 + 11.1, 10.7),
        # 4 time units each: from 3 to 7 and to 11, before the page of that time enters
        (
            {"buffer.batch.per_page": {"deterministic": {"value": 0.5}}},
            *(2, 6, 0, 6 + 5 + 4 + 7 + 6 + 5, 9.4),
        ),
        # two may wait, and a third is lost but where it lets the server begin: 6 and 10 are
        (
            {"buffer.waiting_places": 2, "buffer.service": {"deterministic": {"value": 4.0}}},
            *(2, 6, 2, 6 + 5 + 4 + 7 + 6 + 4, 9.4),
        ),
        # pages wait 1.5 before an idle server, too: there are never three
        ({"buffer.obsolescence": {"deterministic": {"value": 1.5}}}, 0, 0, 0, 10 * 1.5, 0.0),
        # the second server begins with 4, 5, 6 at 6, while the first is busy until 9
        (
            {"buffer.servers": 2, "buffer.service": {"deterministic": {"value": 6.0}}},
            *(2, 6, 0, 2 * (8 + 7 + 6), 6 + 6 + 3.4 + 0.4),
        ),
        (
            {"buffer.batch": 4, "buffer.service": {"deterministic": {"value": 3.5}}},
            # 1 from 1 to 4.5, then 2, 3, 4 to 8, then 5, 6, 7 to 11.5
            *(3, 7, 0, 3.5 + 6 + 5 + 4 + 6.5 + 5.5 + 4.5, 11.4),
        ),
    ],
    ids=["least", "wait", "per-page", "full", "patience", "two-servers", "a-number"],
)
def test_clockwork(
    simulate: Any,
    changes: dict[str, Any],
    batches: int,
    pages: int,
    lost: int,
    times: float,
    busy: float,
) -> None:
    found = counted(simulate(changes))
    assert found == pytest.approx((batches, pages, lost, times, busy), rel=1e-12)


def test_a_page_is_taken_that_would_be_dropped_at_that_very_time(simulate: Any) -> None:
    """At 2.2 the pages 1 and 2, until 4.7; page 3 is dropped at 4.2; at 5.2 the pages 4 and 5."""
    changes = {
        "buffer.batch": {"most": 4, "least": 4, "wait": 1.2},
        "buffer.obsolescence": {"deterministic": {"value": 1.2}},
    }
    tally = simulate(changes | {"run.horizon": 6.0})
    assert tally.buffer.ended[:2] == (2, 1)
    assert tally.batches == BatchesTally(ended=1, busy_time=pytest.approx(2.5 + 0.8))


def test_pages_delivered_together_are_taken_together(simulate: Any) -> None:
    """Three at once find the server free: a batch of three, not of one, without a place to wait."""
    together = {
        "robots.deliveries.modes": [{"bmap": {"D": [[[-0.2]], [[0.0]], [[0.0]], [[0.2]]]}}],
        "buffer.waiting_places": 0,
        "buffer.batch": 3,
        "run.horizon": 400.0,
    }
    tally = simulate(together)
    assert tally.buffer.refused % 3 == 0
    assert tally.buffer.ended[0] == 3 * tally.batches.ended > 100


def test_the_newest_pages_are_taken_last_come_first_served(simulate: Any) -> None:
    """At 6.5 of 2 … 6 the last three are taken, and at 12 of 2, 3 and 7 … 12 the same."""
    changes = {
        "buffer.discipline": "lifo",
        "buffer.batch": 3,
        "buffer.service": {"deterministic": {"value": 5.5}},
        "run.horizon": 12.2,
    }
    tally = simulate(changes)
    assert tally.buffer.ended[0] == 4
    assert sum(tally.buffer.sojourn) == pytest.approx(5.5 + 8.0 + 7.0 + 6.0)


def test_one_page_at_a_time_is_the_same_path_as_without_batches(simulate: Any) -> None:
    """But for timers, which are drawn for pages that are taken at once, too."""
    changes = {"robots.access_time": {"exponential": {"mean": 0.9}}, "run.horizon": 300.0}
    one = simulate(changes | {"buffer.batch": 1, "buffer.servers": 2})
    other = ENGINES["simpy"](
        scenario_from(
            CLOCKWORK
            | {
                "buffer": {
                    "waiting_places": 5,
                    "servers": 2,
                    "service": {"deterministic": {"value": 2.5}},
                }
            }
        ).with_(changes),
        0,
        1,
    )
    assert one.buffer == other.buffer
    assert one.batches.ended == one.buffer.ended[0]


TOGETHER = [[-0.5], [0.35], [0.0], [0.0], [0.15]]


@pytest.mark.as_python
@pytest.mark.parametrize(
    "changes",
    [
        # four at once find an idle server and two pages that wait for a third one
        {
            "robots.deliveries.modes": [{"bmap": {"D": [[each] for each in TOGETHER]}}],
            "robots.access_time": None,
            "buffer": {
                "waiting_places": 2,
                "service": {"exponential": {"mean": 2.0}},
                "when_full": "push-out",
                "batch": {"most": 3, "least": 3},
            },
        },
        # now the one, now the other server is the first that is idle
        {
            "robots.access_time": {"exponential": {"mean": 1.0}},
            "buffer.servers": 2,
            "buffer.service": {"exponential": {"mean": 3.0}},
            "buffer.batch": {"most": 4, "least": 3, "wait": 1.6},
        },
    ],
    ids=["pushed out", "two servers"],
)
def test_both_engines_take_the_same_pages(changes: dict[str, Any]) -> None:
    scenario = clockwork(changes | {"run.horizon": 3000.0})
    tallies = [simulate(scenario, 0, 1) for simulate in ENGINES.values()]
    assert tallies[0] == tallies[1]
    assert counted(tallies[0])[0] > 300


@pytest.mark.as_python
def test_measures_of_batches() -> None:
    """Of 12.4: three batches of three, and busy for 7.9; starved until 1."""
    rows = sim.run(clockwork({})).rows
    assert rows.find("mean_batch").estimate == 3.0
    assert rows.find("idle_indexers").estimate == pytest.approx(1 - 7.9 / 12.4)
    assert rows.find("starvation_probability").estimate == pytest.approx(1.0 / 12.4)
    several = sim.run(clockwork({"buffer.batch": 1, "buffer.servers": 2})).rows
    assert several.find("mean_batch").estimate == 1.0


def test_batches_without_pages_break_conservation() -> None:
    with pytest.raises(ConservationError, match="3 batches with 2 pages"):
        BatchesTally(3, 1.0).check(2, 1.0)
    with pytest.raises(ConservationError, match="busy without pages"):
        BatchesTally(1, 2.0).check(2, 1.0)
