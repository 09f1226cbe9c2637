"""Changes of pages in the event log: all of them, and no number is different for it."""

from typing import Any

import numpy as np
import pytest

from scenarios import Scenario, scenario_from
from sim import compiled_engine, simpy_engine
from sim.event_log import Row
from sim.tally import Tally

PIPELINE: dict[str, Any] = {
    "name": "changes",
    "pages": {"change_rates": [0.4, 0.02, 0.0, 0.1, 1.5], "weights": "uniform"},
    "robots": {
        "available": 3,
        "access_time": {"erlang": {"shape": 2, "mean": 2.0}},
        "accessing": {"policy": "round-robin"},
    },
    "buffer": {"waiting_places": 3, "service": {"exponential": {"mean": 0.9}}},
    "clients": {"query_rate": 3.0},
    "run": {"horizon": 2000.0, "warmup": 0.0},
}
SYSTEMS: dict[str, dict[str, Any]] = {
    "plain": {},
    "newest first": {"buffer.discipline": "lifo"},
    "replaced": {"buffer.replace_older_copy": True},
    "dropped": {"buffer.obsolescence": "page-change"},
    "pushed out": {"buffer.when_full": "push-out"},
    "failing": {"robots.failure": {"probability": 0.3, "retries": 1}},
    "no buffer": {"buffer": None},
    "faster and slower": {
        "interventions": [
            {"at": 5.0, "until": 9.0, "every": 20.0, "change_factor": 3.0},
            {"at": 12.0, "until": 13.0, "every": 20.0, "change_factor": 0.0},
        ]
    },
}


class Rows:
    """An event log in memory."""

    def __init__(self) -> None:
        self.rows: list[Row] = []

    def add(self, row: Row) -> None:
        self.rows.append(row)


def logged(scenario: Scenario, seed: int = 1) -> tuple[Tally, list[Row]]:
    log = Rows()
    return simpy_engine.simulate(scenario, 0, seed, log), log.rows


def system(name: str) -> Scenario:
    return scenario_from(PIPELINE).with_(SYSTEMS[name])


Copy = tuple[int, int, int]
"""Of a page: its index, the number of its delivery, how often the page had changed by then."""


class Indexer:
    """One indexer and its buffer, as the log tells of them."""

    def __init__(self, newest_first: bool) -> None:
        self.waiting: list[Copy] = []
        self.serving: Copy | None = None
        self.newest_first = newest_first

    def hears(self, event: str, copy: Copy) -> Copy | None:
        """What an event puts into the index."""
        same = next((at for at, each in enumerate(self.waiting) if each[0] == copy[0]), -1)
        served = None
        if event == "delivery":
            self.waiting.append(copy)
        elif event == "replacement":
            self.waiting[same] = copy
        elif event in ("push-out", "obsolescence"):
            self.waiting.pop(same)
        elif event == "service":
            served, self.serving = self.serving, None
        if self.serving is None and self.waiting:
            self.serving = self.waiting.pop(-1 if self.newest_first else 0)
        return served


def stale_times(scenario: Scenario, rows: list[Row]) -> list[float]:
    """How long the copy of each page in the index was out of date, from the log.

    It is from the first change after its delivery on.
    """
    assert scenario.pages is not None
    count = scenario.pages.count
    buffer = scenario.buffer
    indexer = Indexer(buffer is not None and buffer.discipline == "lifo") if buffer else None
    changed = [0] * count
    newest = [(page, 0, 0) for page in range(count)]
    stale = [0.0] * count
    since = [0.0] * count
    ends = [(0, scenario.run.horizon, "end", None, page, 0, 0) for page in range(count)]
    for number, (_, now, event, _, page, _, _) in enumerate([*rows, *ends], start=1):
        assert page is not None
        is_stale = newest[page][2] < changed[page]
        stale[page] += (now - since[page]) * is_stale
        since[page] = now
        if event.endswith("-answer"):
            assert event == ("stale-answer" if is_stale else "fresh-answer")
        changed[page] += event == "change"
        copy = page, number, changed[page]
        if indexer is not None:
            indexed = indexer.hears(event, copy)
        else:
            indexed = copy if event == "delivery" else None
        if indexed is not None:
            assert indexed[0] == page
            newest[page] = max(newest[page], indexed)
    return stale


@pytest.mark.by_day("no buffer")
@pytest.mark.parametrize("name", SYSTEMS)
def test_the_log_says_which_pages_are_out_of_date(name: str) -> None:
    scenario = system(name)
    tally, rows = logged(scenario)
    assert tally.pages is not None
    assert stale_times(scenario, rows) == pytest.approx(tally.pages.stale_time, rel=1e-9)


@pytest.mark.by_day("no buffer")
@pytest.mark.parametrize("name", SYSTEMS)
def test_a_log_changes_no_number(name: str) -> None:
    scenario = system(name)
    with_log, _ = logged(scenario)
    assert repr(with_log) == repr(simpy_engine.simulate(scenario, 0, 1))
    assert repr(with_log) == repr(compiled_engine.simulate(scenario, 0, 1))


@pytest.mark.thorough
@pytest.mark.parametrize("name", ["plain", "no buffer"])
def test_changes_are_a_poisson_process_of_the_rate_of_the_page(name: str) -> None:
    """Twenty thousand units of time: counts, and gaps whose square has twice that of their mean."""
    scenario = system(name).with_({"run.horizon": 20000.0, "clients": None})
    _, rows = logged(scenario)
    changes = [(row[4], row[1]) for row in rows if row[2] == "change"]
    assert scenario.pages is not None
    for page, rate in enumerate(scenario.model.pages.change_rates):
        times = [time for where, time in changes if where == page]
        assert abs(len(times) - 20000.0 * rate) <= 4.5 * (20000.0 * rate) ** 0.5
        if rate:
            gaps = rate * np.diff(times)
            assert abs(np.mean(gaps**2) - 2.0) < 4.5 * (20.0 / len(gaps)) ** 0.5


def test_changes_follow_the_interventions() -> None:
    """Three times as many in four of twenty, none in one: 1.35 of the usual rate."""
    _, rows = logged(system("faster and slower"))
    changes = [row[1] % 20.0 for row in rows if row[2] == "change"]
    usual = 2.02 * 2000.0
    assert abs(len(changes) - 1.35 * usual) < 4.5 * (1.35 * usual) ** 0.5
    assert not [time for time in changes if 12.0 < time < 13.0]
    fast = sum(5.0 < time < 9.0 for time in changes)
    assert abs(fast - 0.6 * usual) < 4.5 * (0.6 * usual) ** 0.5
