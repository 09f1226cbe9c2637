"""How speed grows with the system: pages, a whole pipeline, places of the buffer, robots.

Each system is raced by the compiled engine and a baseline, taking turns: a lazy SimPy model for
page refresh, this project's SimPy engine for the others.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any, NamedTuple

import lazy_simpy
from racing import Contestant, compared, options, provenance, race, speeds, three_digits, write

from scenarios import Scenario, scenario_from
from sim import compiled_engine, simpy_engine

LAZY = "SimPy, lazy"
READABLE = "crawlsim, simpy"
COMPILED = "crawlsim, compiled"


class Timed(NamedTuple):
    """Pages delivered, and the CPU seconds it took."""

    pages: int
    seconds: float


class System(NamedTuple):
    """A system to race on: its name, the contestants, and a horizon to begin with."""

    name: str
    entrants: dict[str, Contestant]
    first: float
    horizon: float | None = None
    limit: str = ""


def engine_run(engine: Any, scenario: Scenario) -> Contestant:
    """An engine of this project as a contestant, its full tally and its checks included."""

    def run(horizon: float, seed: int) -> Timed:
        changed = scenario.with_("run.horizon", horizon)
        start = time.process_time()
        tally = engine.simulate(changed, 0, seed)
        seconds = time.process_time() - start
        counted = tally.pages.deliveries.sum() if tally.pages else tally.buffer.delivered
        return Timed(int(counted), seconds)

    return run


def page_refresh(pages: int, changes_per_cycle: float) -> System:
    """One robot takes all pages in turn, one per unit time; no buffer."""
    rate = changes_per_cycle / pages
    scenario = scenario_from(
        {
            "name": "page-refresh",
            "pages": {"change_rates": {"zipf": {"pages": pages, "exponent": 0.0, "total": 1.0}}},
            "robots": {
                "available": 1,
                "access_time": {"exponential": {"rate": 1.0}},
                "accessing": {"policy": "round-robin"},
            },
            "run": {"horizon": 1.0, "warmup": 0.0},
        }
    ).with_("pages.change_rates.zipf.total", rate * pages)

    def lazily(horizon: float, seed: int) -> Timed:
        found = lazy_simpy.run(pages, rate, 1.0, horizon, seed)
        return Timed(found.accesses, found.seconds)

    name = f"page refresh, {pages:,} pages, {changes_per_cycle:g} changes of each per cycle"
    entrants = {LAZY: lazily, COMPILED: engine_run(compiled_engine, scenario)}
    return System(name, entrants, first=max(3.0 * pages, 10_000.0))


def both_engines(name: str, tables: dict[str, Any]) -> System:
    """A system that both engines simulate."""
    scenario = scenario_from({"name": "raced", "run": {"horizon": 1.0, "warmup": 0.0}} | tables)
    engines = {READABLE: simpy_engine, COMPILED: compiled_engine}
    entrants = {each: engine_run(engine, scenario) for each, engine in engines.items()}
    return System(name, entrants, first=2000.0)


def pipeline() -> System:
    """Pages, robots, a buffer that drops changed copies and replaces older ones."""
    return both_engines(
        "pipeline, 10,000 pages, 4 robots",
        {
            "pages": {"change_rates": {"zipf": {"pages": 10_000, "exponent": 1.0, "total": 100.0}}},
            "robots": {
                "available": 4,
                "access_time": {"exponential": {"mean": 4.0}},
                "accessing": {"policy": "round-robin"},
            },
            "buffer": {
                "waiting_places": 10,
                "service": {"exponential": {"mean": 0.9}},
                "obsolescence": "page-change",
                "replace_older_copy": True,
            },
        },
    )


def queue(places: int, robots: int) -> System:
    """Robots that overload a buffer with obsolescence clocks, twice as fast as it is served."""
    return both_engines(
        f"queue, {places:,} waiting places, {robots:,} robots",
        {
            "robots": {"available": robots, "access_time": {"exponential": {"mean": 0.5 * robots}}},
            "buffer": {
                "waiting_places": places,
                "service": {"exponential": {"mean": 1.0}},
                "obsolescence": {"exponential": {"mean": max(2.0 * places, 1.0)}},
            },
        },
    )


def systems() -> list[System]:
    """All systems, in the order of the table."""
    sizes = (100, 1_000, 10_000, 100_000, 1_000_000)
    return [
        *(page_refresh(pages, 1.0) for pages in sizes),
        *(page_refresh(100_000, changes) for changes in (0.1, 3.0)),
        pipeline(),
        *(queue(places, 4) for places in (0, 10, 100, 1_000, 10_000, 100_000)),
        *(queue(20, robots) for robots in (1, 10, 100)),
        queue(20, 1_000)._replace(limit=">= 60"),
        queue(20, 100_000)._replace(limit=">= 60", horizon=5e5),
    ]


def raced(system: System, rounds: int, seconds: float, seed: int) -> dict[str, Any]:
    """Speeds of both contestants, and the ratio of their medians."""
    turns = race(system.entrants, rounds, seconds, seed, system.first, system.horizon)
    entry: dict[str, Any] = {name: speeds(each) for name, each in turns.items()}
    baseline, compiled = entry.values()
    return entry | {"ratio": compiled["median"] / baseline["median"]}


def row(name: str, entry: dict[str, Any]) -> str:
    """One line of the table."""
    cells = [name]
    for contestant, speed in entry.items():
        if contestant != "ratio":
            cells.append(contestant.split(", ")[1])
            cells[-1] += " " + three_digits(speed["median"])
    return "| " + " | ".join([*cells, f"{entry['ratio']:.0f}"]) + " |"


def in_overview(system: System, entry: dict[str, Any]) -> dict[str, Any]:
    """The row of a system in the table of all benchmarks."""
    (peer, theirs), (_, ours) = ((name, each) for name, each in entry.items() if name != "ratio")
    speeds_of_both = (ours["median"], peer, theirs["median"])
    unit = "pages per CPU second"
    return compared(system.name, *speeds_of_both, unit, entry["ratio"], system.limit)


def main(arguments: Sequence[str] | None = None) -> None:
    about = "Race the compiled engine against SimPy on systems of many sizes."
    parsed = options(about, "out/bench_scale.json", 1.0, arguments)
    print("| system | baseline, pages per CPU second | compiled engine | ratio |")
    print("|---|--:|--:|--:|")
    found = {}
    table = []
    for system in systems():
        entry = raced(system, parsed.rounds, parsed.seconds, parsed.seed)
        found[system.name] = entry
        print(row(system.name, entry), flush=True)
        table.append(in_overview(system, entry))
    write(parsed.out, provenance(parsed) | {"systems": found, "compared": table})


if __name__ == "__main__":
    main()
