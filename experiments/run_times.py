"""How well it is foretold what a run takes: twenty systems, from 10 to ten million pages.

``python -m experiments.run_times`` runs them, one after the other, and prints the table of
``docs/how-to/sweeps.md``: CPU seconds, which other programs on the machine change little. It takes
some ten minutes, and twice as long where nothing is compiled yet.
"""

from __future__ import annotations

import time
from typing import Any, NamedTuple

from crawlsim.cli.run_time import cost_of
from scenarios import Scenario, load, scenario_from
from sim import run
from sim.event_rate import expected_events

EVENTS = 4e7
"""Accesses, arrivals and updates in all that the longer runs ask for."""


class Case(NamedTuple):
    """A system, in words, and how much of it is run."""

    words: str
    scenario: Scenario
    replications: int = 4
    events: float = EVENTS
    engine: str = "compiled"


def pages(count: int, robots: int = 1, **more: Any) -> Scenario:
    """Pages fetched in turn, or as said otherwise."""
    return scenario_from(
        {
            "name": "pages",
            "pages": {"change_rates": {"zipf": {"pages": count, "exponent": 0.8, "total": 50.0}}},
            "robots": {
                "available": robots,
                "access_time": {"exponential": {"mean": 0.8}},
                "accessing": more.pop("accessing", {"policy": "round-robin"}),
            },
            "run": {"horizon": 1.0, "warmup": 0.0, "replications": 4, "seed": 1},
            **more,
        }
    )


def drawn(count: int, robots: int = 1, **more: Any) -> Scenario:
    """Pages drawn with equal probabilities."""
    accessing = {"policy": "randomized", "frequencies": "uniform"}
    return pages(count, robots, accessing=accessing, **more)


def indexed(count: int) -> Scenario:
    """Pages drawn by 38 robots, before a buffer of 500 places and three indexers."""
    service = {"exponential": {"mean": 0.0625}}
    return drawn(count, 38, buffer={"waiting_places": 500, "servers": 3, "service": service})


def crowd() -> Scenario:
    """A queue of 5,000 slow robots that never rest."""
    return scenario_from(
        {
            "name": "crowd",
            "robots": {"available": 5000, "access_time": {"exponential": {"mean": 5000.0}}},
            "buffer": {"waiting_places": 50, "service": {"exponential": {"mean": 0.9}}},
            "run": {"horizon": 1.0, "warmup": 0.0, "replications": 4, "seed": 1},
        }
    )


def cases() -> list[Case]:
    """All that are run."""
    threshold = load("four-robots-one-threshold")
    return [
        Case("10 pages in turn", pages(10)),
        Case("1,000 pages in turn", pages(1000), 1000),
        Case("1e5 pages in turn", pages(100_000), 100),
        Case("1e6 pages in turn", pages(1_000_000), 20),
        Case("1e7 pages in turn", pages(10_000_000), 4, 4 * EVENTS),
        Case("1e7 pages drawn", drawn(10_000_000), 2),
        Case("10 pages, 38 robots, buffer", indexed(10)),
        Case("1e4 pages, 38 robots, buffer", indexed(10_000), 40),
        Case("1e6 pages, 38 robots, buffer", indexed(1_000_000), 2, 1.14e7),
        Case("1e6 pages, as many accesses", indexed(1_000_000), 40),
        Case("1e7 pages, 38 robots, buffer", indexed(10_000_000), 2),
        Case("golden ratio, 246 pages", load("golden-ratio-246"), 10),
        Case("four robots, one threshold", threshold, 40),
        Case("robots that mostly rest", load("talim-switching"), 40),
        Case("5,000 robots, buffer", crowd(), 10),
        Case("outage of the indexer", load("indexer-outage"), 20_000, 0.0),
        Case("pages that come and go", load("pages-come-and-go"), 10, 1e7),
        Case("packets for four servers", load("routing-four-servers"), 10),
        Case("SimPy: four robots, one threshold", threshold, 4, 1e6, "simpy"),
        Case("SimPy: 1e5 pages, buffer", indexed(100_000), 4, 1e6, "simpy"),
    ]


def as_long_as_said(case: Case) -> Scenario:
    """Its system with so many replications, which have so many events in all."""
    scenario = case.scenario.with_({"run.warmup": 0.0, "run.replications": case.replications})
    if not case.events:
        return scenario
    horizon = scenario.run.horizon * case.events / case.replications / expected_events(scenario)
    return scenario.with_("run.horizon", horizon)


def foretold(scenario: Scenario, engine: str) -> float:
    """CPU seconds, by short trials."""
    cost = cost_of(scenario, engine)
    return cost.results + scenario.run.replications * cost.replication


def taken(scenario: Scenario, engine: str) -> float:
    """CPU seconds that it really takes."""
    start = time.process_time()
    run(scenario, engine=engine)
    return time.process_time() - start


def main() -> None:
    """Print the table."""
    print("| system | replications | foretold | took | ratio |\n|---|--:|--:|--:|--:|")
    for case in cases():
        scenario = as_long_as_said(case)
        said = foretold(scenario, case.engine)
        took = taken(scenario, case.engine)
        numbers = f"{case.replications:,} | {said:.2g} | {took:.2g} | {said / took:.2f}"
        print(f"| {case.words} | {numbers} |", flush=True)


if __name__ == "__main__":
    main()
