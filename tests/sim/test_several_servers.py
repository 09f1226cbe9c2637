"""Several servers of the indexing engine: small systems by hand, and what always holds."""

from __future__ import annotations

from typing import Any

import pytest
from systems import queue

import sim
from scenarios import ScenarioError, scenario_from
from sim import compiled_engine, simpy_engine
from sim.streams import stream

ENGINES = (compiled_engine.simulate, simpy_engine.simulate)

# A page each time unit, and 2.5 time units to index it, by two servers with one waiting place.
BY_HAND: dict[str, Any] = {
    "name": "by-hand",
    "robots": {"available": 1, "access_time": {"deterministic": {"value": 1.0}}},
    "buffer": {
        "waiting_places": 1,
        "servers": 2,
        "service": {"deterministic": {"value": 2.5}},
    },
    "run": {"horizon": 8.0, "warmup": 0.0, "replications": 1},
}


@pytest.mark.parametrize("simulate", ENGINES)
def test_two_servers_by_hand(simulate: Any) -> None:
    """Page 1 at server 0 until 3.5, 2 at server 1 until 4.5; 3 waits until 3.5, 4 until 4.5.

    5 waits from 5 to 6, 6 finds two in service and 5 just started, and waits until 7; 7 until
    8.5; 8 finds 5, 6 in service and 7 waiting: lost.
    """
    buffer = simulate(scenario_from(BY_HAND), 0, 1).buffer
    # Levels: 1 from 1, 2 from 2, 3 from 3, 2 at 3.5, 3 at 4, 2 at 4.5, 3 at 5, 2 and 3 at 6, at 7.
    assert buffer.level_time == (1.0, 1.0, 2.0, 4.0)
    assert (buffer.delivered, buffer.refused) == (8, 1)
    assert buffer.ended == (4, 0, 0, 0)
    assert buffer.sojourn[0] == 2.5 + 2.5 + 3.0 + 3.0
    assert buffer.age_at_end == 3.0 + 2.0 + 1.0


@pytest.mark.parametrize("simulate", ENGINES)
def test_a_page_that_is_overtaken_never_overwrites_the_newer_copy(simulate: Any) -> None:
    """Delivered at 2 and 4, indexed at 5.5 and 4.25: from 4.25 on the copy is that of time 4."""
    overtaken = (seed for seed in range(99) if long_then_short(stream(seed, 0, "service")))
    pages = {
        "pages": {"change_rates": [0.0]},
        "robots.access_time.deterministic.value": 2.0,
        "robots.accessing": {"policy": "round-robin"},
        "buffer.service": {"empirical": {"values": [0.25, 3.5]}},
        "run.horizon": 5.75,
    }
    tally = simulate(scenario_from(BY_HAND).with_(pages), 0, next(overtaken))
    assert tally.buffer.ended == (2, 0, 0, 0)
    assert tally.buffer.sojourn[0] == 3.5 + 0.25
    assert tally.ages.age_time.tolist() == [4.25**2 / 2 + (1.75**2 - 0.25**2) / 2]


def long_then_short(service: Any) -> bool:
    return bool(service.random() >= 0.5 > service.random())


def test_idle_indexers_are_measured_where_the_file_speaks_of_servers() -> None:
    assert sim.run(queue()).rows.find("idle_indexers") is None
    one = sim.run(queue({"buffer.servers": 1}))
    assert one.find("idle_indexers").estimate == one.find("starvation_probability").estimate
    three = sim.run(queue({"buffer.servers": 3, "buffer.waiting_places": 1}))
    shares = [three.find("level_probability", level).estimate for level in range(3)]
    expected = shares[0] + 2 / 3 * shares[1] + 1 / 3 * shares[2]
    assert three.find("idle_indexers").estimate == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"buffer.servers": 0}, "buffer.servers = 0"),
        ({"buffer.servers": 1.5}, "buffer.servers = 1.5"),
        (
            {"activation.switching.targets": [3, 3, 2, 1, 0]},
            "has 5 entries; must have 6, one per level",
        ),
        (
            {
                "activation.switching.targets": [[3, 3, 2, 1, 0, 0]] * 2,
                "buffer.service": {"phase-type": {"alpha": [1, 0], "T": [[-2, 2], [0, -2]]}},
            },
            "must be one list",
        ),
    ],
)
def test_what_cannot_be_is_refused(changes: dict[str, Any], said: str) -> None:
    with pytest.raises(ScenarioError) as refusal:
        queue({"buffer.servers": 2} | changes)
    assert said in str(refusal.value)
