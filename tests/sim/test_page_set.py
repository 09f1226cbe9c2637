"""Pages that come and go: the rules of the model, read off the event log, and what is conserved."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from scenarios import Scenario, ScenarioError, scenario_from
from sim import rules, run
from sim.page_set import PagesComeAndGo
from sim.replicate import engine_for
from sim.simpy_engine import simulate
from sim.tally import ConservationError, PageSetTally, Tally


def page_set(changes: dict[str, Any] | None = None) -> Scenario:
    base = scenario_from(
        {
            "name": "few",
            "page_set": {
                "birth_rate": 0.5,
                "lifetime": {"exponential": {"mean": 20.0}},
                "change_rate": 0.1,
                "discovery": {"exponential": {"mean": 4.0}},
            },
            "robots": {
                "available": 1,
                "access_time": {"exponential": {"mean": 1.0}},
                "accessing": {"policy": "round-robin"},
            },
            "run": {"horizon": 800.0, "warmup": 50.0, "replications": 2},
        }
    )
    return base.with_(changes) if changes else base


class Rows:
    """A log that keeps its rows."""

    def __init__(self) -> None:
        self.rows: list[Any] = []

    def add(self, row: Any) -> None:
        """One event."""
        self.rows.append(row)


def logged(
    scenario: Scenario, seed: int = 1
) -> tuple[Tally, list[tuple[float, str, Any, Any, int]]]:
    """The tally, and time, event, robot, page and length of the list of each event."""
    log = Rows()
    tally = simulate(scenario, 0, seed, log)
    return tally, [(row[1], row[2], row[3], row[4], row[5]) for row in log.rows]


SYSTEMS: dict[str, dict[str, Any]] = {
    "in turn": {},
    "drawn": {"robots.accessing.policy": "randomized"},
    "at once": {"page_set.first_access": "at-once"},
    "three robots": {"robots.available": 3, "page_set.discovery": "at-birth"},
}


@pytest.mark.parametrize("changes", SYSTEMS.values(), ids=SYSTEMS)
def test_counts_and_the_list_are_those_of_the_log(changes: dict[str, Any]) -> None:
    tally, rows = logged(page_set(changes))
    counted = tally.page_set
    assert counted is not None
    window = [row for row in rows if row[0] > 50.0]
    assert counted.born == sum(row[1] == "birth" for row in window)
    assert counted.discovered == sum(row[1] == "discovery" for row in window)
    assert counted.wasted == sum(row[1] == "gone" for row in window)
    assert counted.accesses == sum(row[1] in ("gone", "delivery") for row in window)
    assert counted.listed_at_end == rows[-1][4]
    known = {row[3] for row in rows if row[1] == "discovery"}
    gone = [row[3] for row in rows if row[1] == "gone"]
    if changes.get("robots.available", 1) == 1:
        assert len(gone) == len(set(gone))  # once found gone, never accessed again
    first_number = min(row[3] for row in rows if row[1] == "birth")
    fetched = {row[3] for row in rows if row[1] == "delivery"}
    assert fetched - known <= set(range(first_number))  # nothing unknown but what was there at 0


def test_a_cycle_fetches_every_page_once_and_new_pages_wait_for_the_next_one() -> None:
    """Cycles are told apart by the first page that comes again."""
    _, rows = logged(page_set({"page_set.lifetime.exponential.mean": 60.0}))
    known_at = {row[3]: row[0] for row in rows if row[1] == "discovery"}
    accesses = [(row[0], row[3]) for row in rows if row[1] in ("delivery", "gone")]
    order: dict[int, int] = {}
    cycle: list[int] = []
    cycles = []
    for _, page in accesses:
        if page in cycle:
            cycles.append(cycle)
            cycle = []
        cycle.append(page)
    assert len(cycles) > 8
    for before, after in pairwise(cycles):
        order = {page: place for place, page in enumerate(after)}
        stayed = [order[page] for page in before if page in order]
        assert stayed == sorted(stayed)  # survivors keep their order
        new = [page for page in after if page not in before]
        assert new == sorted(new, key=known_at.__getitem__)  # new ones follow as they became known
        assert all(order[page] > max(stayed) for page in new)


def test_first_accesses_at_once_come_next() -> None:
    """A page that becomes known is fetched by the access that starts next, unless others wait."""
    _, rows = logged(page_set({"page_set.first_access": "at-once"}))
    ends = [(row[0], row[3]) for row in rows if row[1] in ("delivery", "gone")]
    waiting: list[int] = []
    expected: list[tuple[int, int]] = []
    place = 0
    for time, event, _, page, _ in rows:
        if event == "discovery" and time > 0:
            waiting.append(page)
        elif event in ("delivery", "gone"):
            place += 1  # the access that starts now is the next one to end
            if waiting:
                expected.append((place, waiting.pop(0)))
    assert len(expected) > 100
    assert all(ends[n][1] == page for n, page in expected if n < len(ends))


def test_page_time_is_counted_within_the_window_only() -> None:
    """Two windows that follow each other have the page-time of the whole."""
    runs = [
        simulate(page_set({"run.warmup": first, "run.horizon": last}), 0, 2).page_set
        for first, last in ((0.0, 300.0), (0.0, 120.0), (120.0, 300.0))
    ]
    whole, first, second = runs
    for name in ("existing_time", "known_time", "indexed_time", "fresh_time", "gone_time"):
        both = getattr(first, name) + getattr(second, name)
        assert both == pytest.approx(getattr(whole, name), rel=1e-12)
    for name in ("born", "discovered", "removed", "accesses", "wasted"):
        assert getattr(first, name) + getattr(second, name) == getattr(whole, name)
    assert first.listed_at_end == second.listed_at_start


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"removed": 1}, "accounted for"),
        ({"listed_at_start": 1}, "accounted for"),
        ({"accesses": -(10**6)}, "pages removed by"),
        ({"fresh_time": 1e6}, "units of page-time"),
        ({"known_time": 1e6}, "units of page-time"),
        ({"gone_time": 1e9}, "gone for longer"),
    ],
)
def test_counts_that_do_not_add_up_are_noticed(changes: dict[str, Any], message: str) -> None:
    tally = simulate(page_set(), 0, 1).page_set
    assert isinstance(tally, PageSetTally)
    wrong = replace(tally, **{name: getattr(tally, name) + by for name, by in changes.items()})
    with pytest.raises(ConservationError, match=message):
        wrong.check(750.0, 800.0)


def test_nobody_works_and_no_page_is_known() -> None:
    """Robots that are switched off, and a list that is always empty."""
    idle = simulate(page_set({"activation.static": 0}), 0, 1).page_set
    assert idle is not None
    assert idle.accesses == 0
    assert idle.removed == 0
    never = {"page_set.lifetime": {"deterministic": {"value": 1.0}}}
    never["page_set.discovery"] = {"deterministic": {"value": 2.0}}
    for policy in ("round-robin", "randomized"):
        nothing = simulate(page_set(never | {"robots.accessing.policy": policy}), 0, 1).page_set
        assert nothing is not None
        assert nothing.discovered == 0
        assert nothing.born > 0


def test_more_pages_than_can_be_kept_are_refused() -> None:
    with pytest.raises(ScenarioError, match=r"makes about 2e\+10 pages exist at a time"):
        engine_for(page_set({"page_set.birth_rate": 1e9}))


@pytest.mark.parametrize("engine", ["compiled", "simpy"])
def test_a_list_that_outgrows_what_can_be_kept_is_refused(
    engine: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A page lives for a moment and stays on the list: few exist, and more and more are known."""
    monkeypatch.setattr("sim.event_rate._MOST_PAGES", 2000)
    short = {"page_set.birth_rate": 500.0, "page_set.lifetime": {"exponential": {"mean": 0.01}}}
    with pytest.raises(ScenarioError, match="list of known pages grow beyond 2e\\+03"):
        run(page_set(short | {"page_set.discovery": "at-birth"}), replications=2, engine=engine)


@pytest.mark.parametrize(
    ("begin", "end", "expected"),
    [(0.0, 5.0, 3.0), (3.0, 4.0, 1.0), (3.0, 99.0, 7.0), (0.0, 1.0, 0.0), (12.0, 13.0, 0.0)],
)
def test_the_overlap_of_two_times(begin: float, end: float, expected: float) -> None:
    assert rules.overlap(begin, end, 2.0, 10.0) == expected


def test_places_are_drawn_alike() -> None:
    """Of 30 places and 30000 draws: a place 20 % too rare would be seen; false alarm 1e-4."""
    stream = np.random.default_rng(3)
    drawn = [rules.place_drawn(stream.random(), 30) for _ in range(30_000)]
    counts = np.bincount(drawn, minlength=30)
    assert len(counts) == 30
    assert float(((counts - 1000) ** 2 / 1000).sum()) < 68.0
    assert rules.place_drawn(1.0 - 2**-53, 3) == 2


def test_a_replication_checks_its_own_robots(monkeypatch: pytest.MonkeyPatch) -> None:
    """One robot cannot have been active for longer than the window."""
    tally_of = PagesComeAndGo._tally

    def two_active(pages: PagesComeAndGo) -> Tally:
        tally = tally_of(pages)
        return replace(tally, robots_time=2 * tally.window)

    monkeypatch.setattr(PagesComeAndGo, "_tally", two_active)
    with pytest.raises(ConservationError, match="more active robots than there are"):
        simulate(page_set(), 0, 1)
