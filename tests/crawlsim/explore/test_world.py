"""The world of the live page: the events of a replication, as its engine has them."""

from collections import Counter
from typing import Any

import pytest

from analytic import resolve
from crawlsim.explore.lesson import library
from crawlsim.explore.own_scenario import opened
from crawlsim.explore.simulated_and_assumed import sides_of
from crawlsim.explore.world import Worlds, _robots
from scenarios import Scenario, load
from sim import simpy_engine

SCENARIOS = {each.key: sides_of(each, {}).simulated for each in library()}
SCENARIOS |= {
    name: sides_of(opened(name), {}).simulated
    for name in (
        "pipeline-replacement",
        "several-indexers",
        "batches-complete",
        "talim-switching",
        "failing-fetches",
        "polite-hosts",
        "back-off",
        "routing-three-servers",
        "day-and-night",
    )
}


def watched(scenario: Scenario, size: int, replication: int = 0) -> list[dict[str, Any]]:
    """All the events of a replication, part by part."""
    worlds = Worlds()
    events: list[dict[str, Any]] = []
    while True:
        part = worlds.part(scenario, replication, len(events), size)
        assert ("setup" in part) == (not events)
        events += part["events"]
        if part["ended"]:
            return events
        assert len(part["events"]) == size


@pytest.mark.parametrize("name", SCENARIOS)
def test_the_events_are_those_of_the_replication(name: str) -> None:
    """They count what it counts, and the buffer never holds anything but what moved there."""
    scenario = resolve(SCENARIOS[name])
    if scenario.probing is None:
        scenario = scenario.with_({"run.warmup": 0.0, "run.horizon": scenario.run.horizon / 4})
    events = watched(scenario, size=1000)
    times = [each["time"] for each in events]
    assert times == sorted(times)
    counted = Counter(each["kind"] for each in events)
    tally = simpy_engine.simulate(scenario, 0, scenario.run.seed)
    if tally.buffer is not None:
        served, obsolete, pushed_out, replaced = tally.buffer.ended
        assert (counted["service"], counted["obsolescence"]) == (served, obsolete)
        assert (counted["push-out"], counted["replacement"]) == (pushed_out, replaced)
        assert counted["loss"] == tally.buffer.refused
    if tally.clients is not None:
        assert counted["stale-answer"] == tally.clients.stale
        assert counted["fresh-answer"] == tally.clients.queries - tally.clients.stale
    if tally.probing is not None:
        assert counted["update"] == tally.probing.updates
        assert counted["probe"] == tally.probing.probes
    if tally.servers is not None:
        assert counted["arrival"] == sum(tally.servers.arrived)
    inside: dict[int, tuple[int, float | None]] = {}
    for each in events:
        for number, _, place, until in each.get("inside", ()):
            if place is None:
                _, due = inside.pop(number)
                assert due is None or each["time"] <= due
            else:
                inside[number] = place, until
        if tally.buffer is not None and each["kind"] in ("service", "obsolescence", "replacement"):
            assert each["level"] == len(inside)


def test_pages_fall_due_and_are_accessed_as_they_are_counted() -> None:
    """So that what is drawn of the frontier is its length; an outage is announced."""
    (lesson,) = [each for each in library() if each.key == "due-pages"]
    outage = {"interventions": [{"at": 96.0, "until": 104.0, "robots": 1}], "run.warmup": 0.0}
    scenario = sides_of(lesson, outage).simulated
    counted = Counter(each["kind"] for each in watched(scenario, size=1000))
    tally = simpy_engine.simulate(scenario, 0, scenario.run.seed).frontier
    assert tally is not None
    assert counted["access"] == tally.started
    assert counted["due"] == tally.fell_due
    setup = Worlds().part(scenario, 0, 0, 1)["setup"]
    assert setup["frontier"]
    assert [each["text"] for each in setup["interventions"]] == ["at most 1 robot works"]


def test_who_goes_on_sees_the_same_as_who_begins_anew() -> None:
    scenario = SCENARIOS["more-robots"]
    worlds = Worlds()
    first = worlds.part(scenario, 2, 0, 300)["events"]
    then = worlds.part(scenario, 2, 300, 100)["events"]
    assert then == Worlds().part(scenario, 2, 300, 100)["events"]
    assert first + then == watched(scenario, 4000, replication=2)[:400]
    assert first != watched(scenario, 300)[:300]


def test_a_robot_that_never_ends_keeps_nobody_waiting() -> None:
    """A part is simulated when it is asked for."""
    scenario = load("one-robot").with_("run.horizon", 1e9)
    assert len(Worlds().part(scenario, 0, 0, 50)["events"]) == 50


def test_only_some_pages_are_shown() -> None:
    scenario = load("golden-ratio-246").with_(
        {"pages.change_rates.zipf.pages": 2000, "robots.accessing": {"policy": "round-robin"}}
    )
    part = Worlds().part(scenario, 0, 0, 2000)
    assert part["setup"]["pages"] == {"count": 2000, "shown": 600}
    changed = {each["page"] for each in part["events"] if each["kind"] == "change"}
    assert max(changed) < 600


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("talim-switching", (False, True, False)),
        ("polite-hosts", (False, False, True)),
        ("due-pages", (False, False, True)),
        ("batches-complete", (True, False, False)),
    ],
)
def test_a_world_says_what_its_robots_are(name: str, said: tuple[bool, ...]) -> None:
    scenario = SCENARIOS[name]
    assert scenario.robots is not None
    robots = _robots(scenario, scenario.robots)
    assert (robots["joint"], robots["switched"], robots["may_wait"]) == said
    assert robots["count"] == scenario.robots.available


def test_what_is_other_than_usual_is_announced_in_words() -> None:
    """An indexer that does not work is no indexer that works: all of them are stopped."""
    changes = {
        "interventions": [
            {"at": 96.0, "until": 104.0, "robots": 2, "indexers": 1},
            {"at": 104.0, "until": 110.0, "indexers": 2, "robot_speed": 0.0, "service_speed": 2.5},
            {"at": 120.0, "until": 130.0, "indexers": 0},
        ],
        "run.warmup": 0.0,
    }
    scenario = SCENARIOS["several-indexers"].with_(changes)
    setup = Worlds().part(scenario, 0, 0, 1)["setup"]
    assert setup["interventions"] == [
        {"begin": 96.0, "end": 104.0, "text": "at most 2 robots work, at most 1 indexer works"},
        {
            "begin": 104.0,
            "end": 110.0,
            "text": "at most 2 indexers work, robots stopped, indexing × 2.5",
        },
        {"begin": 120.0, "end": 130.0, "text": "indexing stopped"},
    ]


def test_replications_that_nobody_watched_for_longest_are_forgotten(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Who goes on with one that is forgotten sees the same, from its beginning on."""
    monkeypatch.setattr("crawlsim.explore.world._OPEN", 2)
    scenario = SCENARIOS["one-queue"]
    worlds = Worlds()
    for replication in (0, 1, 2):
        worlds.part(scenario, replication, 0, 5)
    assert [key[0][1] for key in worlds._under_way] == [1, 2]
    again = worlds.part(scenario, 0, 5, 5)
    assert again["events"] == Worlds().part(scenario, 0, 0, 10)["events"][5:]
