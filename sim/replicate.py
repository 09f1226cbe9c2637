"""Replications of a scenario on any executor, until there are enough of them."""

from __future__ import annotations

import logging
import math
import warnings
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import (
    FIRST_COMPLETED,
    BrokenExecutor,
    CancelledError,
    Executor,
    Future,
    wait,
)
from dataclasses import dataclass, replace
from functools import cache, partial
from numbers import Real
from os import cpu_count
from typing import Any

import numpy as np

from scenarios import Estimate, Results, Scenario, ScenarioError
from scenarios.base import one_of
from scenarios.files import System, scenario_of
from scenarios.interrupts import interrupts_watched
from scenarios.law_points import LawPoints
from scenarios.measures import PAGE_MEASURES
from scenarios.page_groups import finds_worst, is_group, only_sums
from scenarios.text import counted
from sim import compiled_engine, simpy_engine
from sim.estimates import results_from
from sim.estimates.page_pool import PagePool
from sim.event_log import EventLog
from sim.event_rate import require_progress
from sim.page_spool import PageSpool
from sim.page_sums import with_page_sums, without_pages
from sim.tally import Tally

ENGINES: dict[str, Any] = {"compiled": compiled_engine, "simpy": simpy_engine}
"""Engines by name, the fastest first. Each has `covers` and `simulate`, and says whether it
`writes_log`, and whether it runs `unlocked`: without the interpreter's lock, in threads."""

_CHUNKS = 256
"""Workers get thousands of short replications in at least this many chunks."""

_AHEAD = 2
"""Replications of many pages that are begun, per worker, before the next one to be counted."""

_log = logging.getLogger(__name__)

Progress = Callable[[int, int], None]


def engine_for(scenario: Scenario, name: str | None = None, logged: bool = False) -> str:
    """The named engine, or the fastest that covers the scenario and writes a log if one is wanted.

    Raises
    ------
    ScenarioError
        If there is no such engine, it does not simulate some part of the scenario, or the
        scenario's times are too short for any clock.
    """
    if name is not None and name not in ENGINES:
        raise ScenarioError("engine", name, f"must be {one_of(name, ENGINES)}")
    if name is not None and logged and not ENGINES[name].writes_log:
        raise ScenarioError("engine", name, "writes no event log; simpy does")
    able = [each for each, engine in ENGINES.items() if engine.writes_log or not logged]
    refusals = []
    for candidate in [name] if name else able:
        try:
            ENGINES[candidate].covers(scenario)
        except ScenarioError as refusal:
            refusals.append(refusal)
        else:
            require_progress(scenario)
            for each in refusals:
                _say(each.allowed)
            return candidate
    raise refusals[-1]


@cache
def _say(line: str) -> None:
    """Log a line, once."""
    _log.info("%s", line)


def run(
    system: System,
    *,
    seed: int | None = None,
    replications: int | None = None,
    first: int = 0,
    engine: str | None = None,
    executor: Executor | None = None,
    progress: Progress | None = None,
    log: EventLog | None = None,
    points: LawPoints | None = None,
    spool: PageSpool | None = None,
) -> Results:
    """Simulate a scenario.

    Parameters
    ----------
    system : Scenario, str, Path or mapping
        A scenario, the name of one in the library, the path of a file, or its tables.
    seed, replications : int, optional
        Default: those of the scenario's [run].
    first : int
        The number of the first replication. Each has random streams of its own: a run that begins
        where another one ended continues it.
    engine : str, optional
        Default: the fastest that covers the scenario.
    executor : concurrent.futures.Executor, optional
        Where the replications run; default: this process. The results are the same anywhere.
    progress : callable, optional
        Called with (replications done, replications in all).
    log : EventLog, optional
        Receives every event; the replications then run in this process.
    points : LawPoints, optional
        Where distributions are to be compared (`analytic.exact_laws`); the paths stay the same.
    spool : PageSpool, optional
        Receives what each replication has of each page.

    Returns
    -------
    Results

    Raises
    ------
    ScenarioError
        If the scenario has a part that the engine does not simulate.
    TypeError
        If it is no system.
    """
    scenario = scenario_of(system)
    given = {"run.seed": seed, "run.replications": replications}
    changes = {key: value for key, value in given.items() if value is not None}
    scenario = scenario.with_(changes) if changes else scenario
    chosen = engine_for(scenario, engine, logged=log is not None)
    counted = Counted(scenario, spool)
    work = partial(_simulate, chosen, scenario, log, points, counted.wants_pages)
    which = range(first, first + scenario.run.replications)
    _simulate_all(work, which, which.stop, executor if log is None else None, progress, counted)
    return _results(counted, scenario, chosen)


class Counted:
    """What the replications counted, taken in their order; of many pages only what is kept.

    Parameters
    ----------
    scenario : Scenario
    spool : PageSpool, optional
        Receives what each has of each page.

    Attributes
    ----------
    tallies : list of Tally
    pool : PagePool or None
        Of many pages what all replications have of each.
    """

    def __init__(self, scenario: Scenario, spool: PageSpool | None) -> None:
        self.tallies: list[Tally] = []
        self.pool: PagePool | None = None
        self._spool = spool
        self._has_rows = not only_sums(scenario)
        if scenario.model.pages is not None and not self._has_rows and finds_worst(scenario):
            self.pool = PagePool(scenario.model.pages)

    @property
    def wants_pages(self) -> bool:
        """Whether replications are to hand in what they have of each page."""
        return self._has_rows or self.is_heavy

    @property
    def is_heavy(self) -> bool:
        """Whether replications hand in so much that few of them may wait for their turn."""
        return self.pool is not None or self._spool is not None

    def take(self, tallies: list[Tally]) -> None:
        """The next replications; nothing is left in the list."""
        while tallies:
            tally = tallies.pop(0)
            if self._spool is not None:
                self._spool.add(tally)
            if self.pool is not None and tally.pages is not None:
                self.pool.add(tally.pages)
            self.tallies.append(tally if self._has_rows else without_pages(tally))


def _results(counted: Counted, scenario: Scenario, engine: str) -> Results:
    """The results, with the counts of distributions where there are any."""
    tallies = counted.tallies
    results = results_from(tallies, scenario, engine, scenario.run.seed, counted.pool)
    laws = [tally.laws for tally in tallies if tally.laws is not None]
    if not laws:
        return results
    counts = {
        ("sojourn_time", "served"): [each.served for each in laws],
        ("sojourn_time", "obsolete"): [each.obsolete for each in laws],
        ("level_at_arrival", None): [each.levels for each in laws],
        ("cycle_time", None): [each.cycle for each in laws],
    }
    return replace(results, law_counts={key: np.array(rows) for key, rows in counts.items()})


def _simulate_all(
    work: Callable[[Sequence[int]], list[Tally]],
    which: Sequence[int],
    in_all: int,
    executor: Executor | None,
    progress: Progress | None,
    counted: Counted,
) -> None:
    """Run some replications by whose workers there are, and count them in their order."""
    size = max(1, len(which) // _CHUNKS) if executor and not counted.is_heavy else 1
    chunks = [which[start : start + size] for start in range(0, len(which), size)]
    ahead = _AHEAD * _width(executor) if executor and counted.is_heavy else len(chunks)
    done = 0
    with interrupts_watched():
        for part in _in_order(executor, work, chunks, ahead):
            done += len(part)
            counted.take(part)
            if progress:
                progress(which[0] + done, in_all)


def _width(executor: Executor) -> int:
    """How many chunks its workers are at together, where it says so: by `width`, or as pools do."""
    width = getattr(executor, "width", None) or getattr(executor, "_max_workers", None)
    return int(width or cpu_count() or 1)


def _in_order(
    executor: Executor | None,
    work: Callable[[Sequence[int]], list[Tally]],
    chunks: Sequence[Sequence[int]],
    ahead: int,
) -> Iterator[list[Tally]]:
    """The results of the chunks in their order; an error comes at once.

    No more than this many chunks are begun ahead of the next one to come. If workers die, and their
    executor with them, the remaining chunks run in this process: that costs time, but no results.
    """
    if executor is None:
        yield from map(work, chunks)
        return
    futures: dict[Future[list[Tally]], int] = {}
    found: dict[int, list[Tally]] = {}
    begun = given = 0
    try:
        while given < len(chunks):
            for index in range(begun, min(given + ahead, len(chunks))):
                futures[executor.submit(work, chunks[index])] = index
                begun = index + 1
            _move_done(futures, found)
            while given in found:
                given += 1
                yield found.pop(given - 1)
    except Exception as error:
        of_cluster = type(error).__module__.split(".")[0] == "distributed"
        if not (of_cluster or isinstance(error, BrokenExecutor | CancelledError)):
            raise  # the work itself is at fault
        _log.warning("workers died (%s); the rest runs in this process", type(error).__name__)
        for index in range(given, len(chunks)):
            yield found.pop(index) if index in found else work(chunks[index])
    finally:
        for future in futures:
            future.cancel()


def _move_done(futures: dict[Future[list[Tally]], int], found: dict[int, list[Tally]]) -> None:
    """Wait for a chunk, and move those that are done; nothing else then holds what they found."""
    for future in wait(futures, return_when=FIRST_COMPLETED).done:
        part = future.result()
        found[futures.pop(future)] = part


def _simulate(
    engine: str,
    scenario: Scenario,
    log: EventLog | None,
    points: LawPoints | None,
    wants_pages: bool,
    which: Sequence[int],
) -> list[Tally]:
    """Some replications, their pages summed up; what single pages did only where it is wanted."""
    simulate = ENGINES[engine].simulate
    seed = scenario.run.seed
    asked = {} if points is None else {"points": points}
    tallies = []
    for replication in which:
        try:
            tally = with_page_sums(simulate(scenario, replication, seed, log, **asked), scenario)
            tallies.append(tally if wants_pages else without_pages(tally))
        except Exception as error:
            error.add_note(f"{scenario.name}, replication {replication}, seed {seed}, {engine}")
            raise
    return tallies


def _is_aside(row: Estimate, scenario: Scenario) -> bool:
    """Whether it is a single page, or a quantile, beside the groups of many pages."""
    is_page = row.measure in PAGE_MEASURES and not is_group(row.subject)
    return is_page and only_sums(scenario)


@dataclass(frozen=True, slots=True)
class Precision:
    """When a run is precise enough: relative half-widths of the 95 % intervals.

    Parameters
    ----------
    relative : float
        Largest half-width divided by the estimate.
    measures : str or sequence of str
        The measures it must hold for; empty: all of the scenario's `judged`, else all measures
        of the whole system that are not 0. Of many pages it holds for the groups.
    most : int
        Largest number of replications.
    """

    relative: float
    measures: Sequence[str] = ()
    most: int = 1000

    def __post_init__(self) -> None:
        if isinstance(self.measures, str):
            object.__setattr__(self, "measures", (self.measures,))
        if not isinstance(self.relative, Real) or not 0 < self.relative <= 1:
            raise ScenarioError("precision", self.relative, "must be > 0 and at most 1")

    def check(self, results: Results) -> None:
        """Raise `ScenarioError` for a measure that the scenario does not have."""
        known = [block.measure for block in results.rows.blocks]
        for name in self.measures:
            if name not in known:
                allowed = f"{results.scenario} has no such measure; it has {one_of(name, known)}"
                raise ScenarioError("--measure", name, allowed)

    def _rows(self, results: Results, scenario: Scenario) -> tuple[list[Estimate], list[str]]:
        """The estimates that must be precise, and the measures left aside, never seen above 0."""
        names = self.measures or scenario.judged
        if names:
            every = [row for name in names for row in results.rows.of_measure(name)]
            return [row for row in every if not _is_aside(row, scenario)], []
        estimates = map(results.rows.find, (block.measure for block in results.rows.blocks))
        rows = [row for row in estimates if row is not None]
        return [r for r in rows if r.estimate != 0], [r.measure for r in rows if r.estimate == 0]

    def concerns(self, results: Results, scenario: Scenario) -> tuple[list[str], list[str]]:
        """The measures that must be precise, and those left aside, never seen above 0."""
        rows, unseen = self._rows(results, scenario)
        return list(dict.fromkeys(row.measure for row in rows)), unseen

    def shortfall(self, results: Results, scenario: Scenario) -> str | None:
        """How the results fall short of the precision, in words; None where they do not."""
        needed, unseen = self._needed(results, scenario)
        if needed is not None and needed <= results.count:
            return None
        words = f"after {counted(results.count, 'replication')} the precision is not reached"
        if needed is not None:
            return f"{words}; about {needed} would be needed"
        names = ", ".join(unseen)
        return f"{words}, and how many it takes is unknown: {names} was never above 0"

    def _needed(self, results: Results, scenario: Scenario) -> tuple[int | None, list[str]]:
        """Replications that the precision takes, as far as can be seen, and what hides them.

        None where a measure is undefined, or was 0 in every replication: what has never been seen
        is not known precisely.
        """
        needed = [0]
        unseen: dict[str, None] = {}
        for row in self._rows(results, scenario)[0]:
            half = max(row.high - row.estimate, row.estimate - row.low)
            if math.isnan(half) or row.estimate == 0:
                unseen[row.measure] = None
            else:
                relative = half / (self.relative * abs(row.estimate))
                needed.append(math.ceil(results.count * relative**2))
        return None if unseen else max(needed), list(unseen)

    def next_count(self, results: Results, scenario: Scenario) -> int:
        """Replications to have next; the present number when precise enough or at the limit."""
        needed, _ = self._needed(results, scenario)
        if needed is not None and needed <= results.count:
            return results.count
        wanted = 2 * results.count if needed is None else min(needed, 2 * results.count)
        return max(results.count, min(wanted, self.most))


def run_to_precision(
    system: System,
    precision: Precision | float,
    *,
    engine: str | None = None,
    executor: Executor | None = None,
    progress: Progress | None = None,
    refine: Callable[[Results], Results] | None = None,
    points: LawPoints | None = None,
    spool: PageSpool | None = None,
) -> Results:
    """Simulate, adding replications until the precision is met or its limit is reached.

    The scenario's own number of replications comes first; the same seed continues, so that the
    result is that of a single run with the final number. Stopping on the intervals themselves
    makes them slightly too short: with n replications at the first look their true coverage is
    near 95 % only when n is not small. `refine`, such as `sim.controlled`, corrects the estimates
    before they are judged.

    Parameters
    ----------
    system : Scenario, str, Path or mapping
        As of `run`.
    precision : Precision or float
        When to stop; a number is the largest half-width divided by the estimate, and a warning
        says if it is not reached.
    engine : str, optional
        "compiled" or "simpy"; by default the faster one.
    executor : concurrent.futures.Executor, optional
        By whose workers replications run; by default by none.
    progress : callable, optional
        Called with the number of replications that are done, and with how many there are to be.
    refine : callable, optional
        From results to results, before they are judged.
    points : LawPoints, optional
        Where distributions are to be counted (`analytic.points_of`).
    spool : PageSpool, optional
        Receives what each replication has of each page.

    Raises
    ------
    ScenarioError
        If the precision is asked of a measure that the scenario does not have.
    """
    scenario = scenario_of(system)
    wanted = precision if isinstance(precision, Precision) else Precision(precision)
    chosen = engine_for(scenario, engine)
    counted = Counted(scenario, spool)
    work = partial(_simulate, chosen, scenario, None, points, counted.wants_pages)
    count = min(scenario.run.replications, wanted.most)
    while True:
        which = range(len(counted.tallies), count)
        _simulate_all(work, which, count, executor, progress, counted)
        results = _results(counted, scenario, chosen)
        results = refine(results) if refine else results
        wanted.check(results)
        count = wanted.next_count(results, scenario)
        if count == len(counted.tallies):
            break
    if wanted is not precision and (missed := wanted.shortfall(results, scenario)):
        warnings.warn(f"{missed}; Precision(…, most=…) allows more", stacklevel=2)
    return results
