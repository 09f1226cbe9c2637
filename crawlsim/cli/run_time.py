"""How long simulating will take, said in advance: what short replications took here."""

from __future__ import annotations

import math
import os
import time
from collections.abc import Sequence
from itertools import pairwise
from typing import Any, NamedTuple

from crawlsim.cli.options import RunOptions
from crawlsim.cli.tables import warn
from scenarios import Scenario
from scenarios.page_groups import only_sums
from scenarios.text import number, quantity
from sim.event_rate import expected_events

_QUANTILE = 1.96

_COUNTED = {
    "loss_rate": "loss_probability",
    "loss_probability": "loss_probability",
    "obsolescence_probability": "obsolescence_probability",
}
"""Measures that count pages, and the share of all pages that predicts how many there will be."""

_RARE = 0.02
"""Above this share pages are not rare, and their counts vary less than independent events do."""

_LONG = 300.0
"""Seconds from which on it is said in advance how long a command will take."""

_QUICK = {"compiled": 1e8, "simpy": 1e7}
"""Events and pages in all that take an engine a few minutes at most."""

_MOST_TRIED = {"compiled": 40_000_000, "simpy": 1_000_000}
"""Pages that an engine sets up in some ten seconds."""

_LARGE = 10_000_000
_GIGABYTES = 0.2
_GIGABYTES_PER_PAGE = 185e-9
_GIGABYTES_PER_PAGE_OF_ANOTHER = 110e-9
"""Pages from which on memory is told, and what is taken without any, for each page, and for each of
a worker beside the first (measured, where robots and a buffer take most)."""

_FEWEST = 1000.0
"""Events of the shortest trial: hardly more than what a replication takes to be set up."""

_MANY = 20
"""Replications that tell what the results of many more take, where all that they count is kept."""

_TOUCHED = 0.1
"""Events of the second trial for each page: fewer take no time beside its set-up."""

_LONGER = 4.0
_LONG_ENOUGH = 0.3
"""How much longer each trial is than the one before, and seconds beyond the set-up that tell."""


class Cost(NamedTuple):
    """CPU seconds: of the results in the end, and of each replication its set-up and its events."""

    results: float
    set_up: float
    events: float

    @property
    def replication(self) -> float:
        """Of a whole one."""
        return self.set_up + self.events


def say_how_long(scenarios: Sequence[Scenario], options: RunOptions, label: str) -> None:
    """Warn where simulating will take much memory, or five minutes or more.

    Of the largest one; how long is told by short trials.

    Parameters
    ----------
    scenarios : sequence of Scenario
        All that will be simulated, one after the other: the cells of a sweep for example.
    options : RunOptions
    label : str
        What messages call them.
    """
    from sim.replicate import engine_for

    work = [each.run.replications * (expected_events(each) + _pages(each)) for each in scenarios]
    if not work:
        return
    largest = scenarios[work.index(max(work))]
    engine = engine_for(largest, options.engine)
    most = max(map(_pages, scenarios))
    if most >= _LARGE and engine == "compiled":
        workers = options.jobs if options.cluster is None else 1
        where = f"with --jobs {workers}" if options.cluster is None else "on each worker"
        each = _GIGABYTES_PER_PAGE + (workers - 1) * _GIGABYTES_PER_PAGE_OF_ANOTHER
        gigabytes = _GIGABYTES + most * each
        warn(f"{label}: {most:,} pages take up to {gigabytes:.2g} GB of memory {where}")
    unknown = largest.probing is not None or _pages(largest) > _MOST_TRIED[engine]
    if sum(work) < _QUICK[engine] or unknown:
        return
    cost = cost_of(largest, engine)
    cores = 1 if options.cluster else min(options.jobs, _cores())
    seconds = sum(_seconds(each, largest, cost, cores) for each in scenarios)
    if seconds < _LONG:
        return
    where = "on one core of the cluster" if options.cluster else f"with --jobs {options.jobs}"
    least = " at least" if options.precision is not None else ""
    of_which = "" if len(scenarios) == 1 else " of the largest"
    warn(
        f"{label}: some {_duration(seconds)}{least} {where}: by a short trial, a replication"
        f"{of_which} takes {_duration(cost.set_up)} to be set up and {_duration(cost.events)} to "
        "be simulated; a shorter run.horizon or fewer replications take less"
    )


def _seconds(scenario: Scenario, tried: Scenario, cost: Cost, cores: int) -> float:
    """Seconds of a run on a number of cores, from the cost of one that differs in its numbers."""
    set_up = cost.set_up * max(_pages(scenario), 1) / max(_pages(tried), 1)
    events = cost.events * expected_events(scenario) / max(expected_events(tried), 1.0)
    return cost.results + math.ceil(scenario.run.replications / cores) * (set_up + events)


def _pages(scenario: Scenario) -> int:
    return 0 if scenario.model.pages is None else scenario.model.pages.count


def _cores() -> int:
    """Those that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def cost_of(scenario: Scenario, engine: str | None) -> Cost:
    """What a run costs, by replications each longer than the last, until one is long enough to say.

    The first one compiles, those after it are set up and have hardly an event; what later ones take
    beyond each other is the pace. So neither the set-up counts, nor the start, when robots may be
    active that rest later.

    Parameters
    ----------
    scenario : Scenario
    engine : str or None
    """
    whole = max(expected_events(scenario), 1.0)
    first = share = min(_FEWEST / whole, 1.0)
    _spent(scenario, engine, share, 1)
    tried = 1 if only_sums(scenario) else min(scenario.run.replications, _MANY)
    *_, shortest, results = _spent(scenario, engine, share, tried)
    if not only_sums(scenario):
        results *= scenario.run.replications / tried
    spent = shortest
    pace = 0.0
    longer = max(_LONGER * share, _TOUCHED * _pages(scenario) / whole)
    while share < 1.0 and spent - shortest < max(_LONG_ENOUGH, 0.5 * shortest):
        before, at = spent, share
        share = min(longer, 1.0)
        spent, _ = _spent(scenario, engine, share, 1)
        pace = max(spent - before, 0.0) / (share - at)
        longer = _LONGER * share
    set_up = max(shortest - first * pace, 0.0)
    return Cost(results, set_up, spent + (1.0 - share) * pace - set_up)


def _spent(scenario: Scenario, engine: str | None, share: float, replications: int) -> list[float]:
    """CPU seconds of each replication for a share of its time, and of the results after them."""
    from sim.replicate import run

    short = scenario.with_({"run.warmup": 0.0, "run.horizon": share * scenario.run.horizon})
    times = [time.process_time()]

    def note(*_: int) -> None:
        times.append(time.process_time())

    run(short, replications=replications, engine=engine, progress=note)
    note()
    return [after - before for before, after in pairwise(times)]


def events_needed(relative: float) -> float:
    """Independent events that it takes for a 95 % interval of this relative half-width."""
    return (_QUANTILE / relative) ** 2


def say_in_advance(scenario: Scenario, precision: Any, options: RunOptions, label: str) -> None:
    """Warn where the pages to be counted are so rare that the precision is out of reach.

    By the formulas, where they cover the scenario: the expected number in a replication, how many
    replications that makes, and how long they would take by short trials. Rare pages
    come in bursts, so that it takes more rather than less; of pages that are not rare nothing is
    said.

    Parameters
    ----------
    scenario : Scenario
    precision : sim.Precision
    options : RunOptions
    label : str
        What messages call the scenario.
    """
    seconds: float | None = None
    for name in precision.measures or scenario.judged:
        expected = _expected(scenario, name)
        if expected == 0:
            warn(f"{label}: {name} is 0 by formula; no number of replications makes it precise")
        if not expected:
            continue
        needed = math.ceil(events_needed(precision.relative) / expected)
        if needed > precision.most:
            seconds = seconds or cost_of(scenario, options.engine).replication
            warn(
                f"{label}: {name} counts {number(expected)} pages in a replication, by "
                f"formula; a precision of {100 * precision.relative:g} % takes at least "
                f"{number(float(needed))} replications, some {_duration(needed * seconds)} on one "
                f"core; --max-replications {precision.most} stops first; a longer run.horizon "
                "counts more"
            )


def _expected(scenario: Scenario, name: str) -> float | None:
    """Pages counted in the window of a replication, where a formula says so and they are rare."""
    from analytic import exact_values

    if name not in _COUNTED or scenario.buffer is None:
        return None
    values = exact_values(scenario)
    share, arrivals = values.get((_COUNTED[name], None)), values.get(("arrival_rate", None))
    if share is None or arrivals is None or share[0] > _RARE:
        return None
    return share[0] * arrivals[0] * scenario.run.window


def _duration(seconds: float) -> str:
    """A time for people."""
    units = (("years", 365.25 * 86400), ("days", 86400), ("hours", 3600), ("minutes", 60))
    for name, length in units:
        if seconds >= 2 * length:
            return f"{seconds / length:.3g} {name}"
    return quantity(f"{seconds:.2g}", "second")
