"""A run that is watched: after each replication the estimates are those of `crawlsim run`.

It begins with the SimPy engine, which needs nothing compiled. Meanwhile a process of its own
compiles the other engine for this scenario; from its first answer on replications come from there.
Both engines give the same tallies to the last bit, so that nobody can tell when that was.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Mapping, Sequence
from concurrent.futures import BrokenExecutor, Executor, Future
from concurrent.futures import TimeoutError as NotYetError
from dataclasses import dataclass

import numpy as np

from analytic.verdicts.crosscheck import ROUNDING
from crawlsim.explore.always_valid import errors_to_each_side
from crawlsim.explore.theory import Key
from scenarios import Results, Scenario, ScenarioError
from scenarios.accessing.policy import Periodic
from scenarios.arrays import Array
from scenarios.model import present
from scenarios.page_data import access_cycle
from scenarios.results import Columns, Rows
from scenarios.sections import Period
from sim import compiled_engine, simpy_engine
from sim.estimates.intervals import interval, is_regular
from sim.estimates.jackknife import estimates_of
from sim.estimates.measures import left_out_of, measures_of
from sim.estimates.outcome import events_of
from sim.estimates.paired import Estimated
from sim.estimates.totals import Totals
from sim.event_rate import expected_events
from sim.laws import draws_and_mean
from sim.page_sums import with_page_sums
from sim.replicate import engine_for
from sim.tally import Tally

LEVEL = 0.95
"""Probability that no always-valid band is ever left by what is true."""

_OWN_ERROR = 0.02
"""Probability of ever leaving it that the band of the lesson's own measure is made for."""

_OTHERS_ERROR = 0.01
"""The same of the bands of all other measures together. What is left up to 1 - `LEVEL` is for means
that are not yet normal, of short and skewed replications (measured: docs/how-to/explore.md)."""

_MOST_SUBJECTS = 64
"""Measures with more subjects, such as those of a million pages, are not shown."""

_MOST_EVENTS = 2e6
"""Events of a replication that the readable engine simulates in ten seconds or so."""

_CHUNK = 8
"""Replications that the other process simulates at once."""

_PATIENCE = 0.1
"""Seconds to wait for the other process, which may be busy for another page."""

_END_EFFECT = 4
"""Which of the values of an estimate says what the ends of the window can do."""

_PART = 1e-9
"""Part of a number of cycles up to which it is a whole number."""


def require_short(scenario: Scenario) -> None:
    """Raise `ScenarioError` for replications of which not one would be seen for a long time."""
    engine_for(scenario)
    events = expected_events(scenario)
    if events > _MOST_EVENTS:
        allowed = (
            f"makes about {events:.2g} events in each replication, more than {_MOST_EVENTS:.2g}: "
            "choose a shorter one"
        )
        raise ScenarioError("run.horizon", scenario.run.horizon, allowed)


def simulate_some(scenario: Scenario, seed: int, which: Sequence[int]) -> list[Tally]:
    """Replications by the compiled engine, which is compiled first where need be."""
    return [compiled_engine.simulate(scenario, replication, seed) for replication in which]


@dataclass(frozen=True)
class Look:
    """What is known after this many replications.

    Attributes
    ----------
    n : int
    keys : sequence of (measure, subject)
        The rows, the lesson's own first.
    values : ndarray, shape (5, rows)
        Estimate, ends of the 95 % interval, ends of the always-valid band.
    reaches : mapping key -> float
        Standard errors from the estimate to the ends of its band; infinite while there is none.
    results : Results
        The estimates, as the formulas are compared with them.
    """

    n: int
    keys: Sequence[Key]
    values: Array
    reaches: Mapping[Key, float]
    results: Results


class Run:
    """Replications of one scenario with one seed, as many as were asked for so far.

    Parameters
    ----------
    scenario : Scenario
        With everything decided.
    own : (measure, subject)
        The lesson's own row.
    executor : Executor
        Another process.
    """

    def __init__(self, scenario: Scenario, own: Key, executor: Executor) -> None:
        self.scenario = scenario
        self.own = own
        self._executor = executor
        self._ends = ends_count(scenario)
        self._lock = threading.Lock()
        self._totals: Totals | None = None
        self._ahead: tuple[int, Future[list[Tally]]] | None = None
        self._compiled = False
        self._alone = False

    def look(self, n: int) -> Look:
        """What is known after n replications, n >= 2."""
        with self._lock:
            while self._count < n:
                self._add(self._more())
            return look_at(self._first(n), self.scenario, self.own, self._ends)

    def estimated(self, key: Key, n: int) -> Estimated:
        """An estimate after n replications, with what comparisons need of it."""
        with self._lock:
            totals = self._first(n)
        measure, subject = key
        subjects, (estimates,) = measures_of(totals.together(), self.scenario)[measure]
        place = subjects.index(subject)
        left_out = left_out_of(totals, self.scenario)[measure][1]
        return Estimated(float(estimates[place]), left_out[:, place])

    def _first(self, n: int) -> Totals:
        assert self._totals is not None
        return self._totals if self._count == n else self._totals.first(n)

    @property
    def _count(self) -> int:
        return 0 if self._totals is None else self._totals.count

    def _add(self, tallies: Sequence[Tally]) -> None:
        new = Totals.of([with_page_sums(each, self.scenario) for each in tallies])
        self._totals = new if self._totals is None else self._totals.followed_by(new)

    def _more(self) -> list[Tally]:
        """The next replications: from the other process, if it has them, else by SimPy."""
        try:
            if fresh := self._compiled_ones():
                return fresh
        except NotYetError:
            pass
        except BrokenExecutor:
            self._alone = True
        return [simpy_engine.simulate(self.scenario, self._count, self.scenario.run.seed)]

    def _compiled_ones(self) -> list[Tally]:
        """What the other process has simulated of what is to come; it then goes on from here."""
        if self._alone:
            return []
        seed = self.scenario.run.seed
        if self._ahead is None:
            which = range(self._count, self._count + _CHUNK)
            task = self._executor.submit(simulate_some, self.scenario, seed, which)
            self._ahead = self._count, task
        start, answer = self._ahead
        tallies = answer.result(_PATIENCE if self._compiled else 0.0)
        self._compiled = True
        self._ahead = None
        return tallies[self._count - start :]


def look_at(totals: Totals, scenario: Scenario, own: Key, ends: bool = False) -> Look:
    """The estimates of a run with their intervals and always-valid bands.

    Parameters
    ----------
    totals : Totals
    scenario : Scenario
    own : (measure, subject)
        The row that comes first, and has the narrowest band.
    ends : bool
        Whether `ends_count`.
    """
    blocks = [
        each
        for each in estimates_of(totals, scenario).blocks
        if len(each.subjects) <= _MOST_SUBJECTS
    ]
    if not ends:
        blocks = [_without_ends(each) for each in blocks]
    keys = [(each.measure, subject) for each in blocks for subject in each.subjects]
    own = own if own in keys else next((key for key in keys if key[0] == own[0]), own)
    others_reach = errors_to_each_side(totals.count, _OTHERS_ERROR / max(len(keys) - 1, 1))
    reaches = dict.fromkeys(keys, others_reach)
    values = np.concatenate([_with_band(each, others_reach) for each in blocks], axis=1)
    if own in keys:
        block = next(each for each in blocks if each.measure == own[0])
        reaches[own] = errors_to_each_side(totals.count, _OWN_ERROR)
        first = _with_band(block, reaches[own])[:, [block.subjects.index(own[1])]]
        place = keys.index(own)
        values = np.concatenate([first, np.delete(values, place, axis=1)], axis=1)
        keys = [own, *keys[:place], *keys[place + 1 :]]
    events = events_of(totals)
    results = Results(
        scenario.name, "", scenario.run.seed, totals.count, Rows(blocks), {}, events=events
    )
    return Look(totals.count, keys, values, reaches, results)


def ends_count(scenario: Scenario) -> bool:
    """Whether the ends of the window shift all replications alike.

    They do where everything goes by the clock, unless the window is of whole cycles. Elsewhere
    a window that begins after the warm-up begins anywhere.
    """
    if not is_regular(scenario):
        return False
    cycles = scenario.run.window / _cycle_time(scenario)
    return abs(cycles - round(cycles)) > _PART * cycles


def _cycle_time(scenario: Scenario) -> float:
    """Time after which a system that goes by the clock begins anew."""
    if scenario.servers is not None and scenario.model.traffic is not None:
        gap = scenario.model.traffic.law
        routing = scenario.servers.routing
        slots = len(routing.root) if isinstance(routing, Period) else 1
    else:
        robots, fleet = present(scenario.robots), present(scenario.model.fleet)
        gap = fleet.law
        policy = robots.accessing
        slots = 1
        if isinstance(policy, Periodic) and scenario.model.pages is not None:
            length = len(access_cycle(policy, scenario.model.pages))
            slots = length // math.gcd(length, robots.available)
    return slots * float(draws_and_mean(present(gap))[1])


def _without_ends(block: Columns) -> Columns:
    """The same, without what the ends of the window can do to it."""
    values = block.values.copy()
    values[_END_EFFECT] = 0.0
    return block._replace(values=values)


def _with_band(block: Columns, reach: float) -> Array:
    """Estimates, their intervals and always-valid bands; nan while there are none.

    A band is the interval of the measure with more standard errors to each side, and what the two
    ends of the windows can do, which no number of replications shows. Where all replications count
    the same it still holds what differs in the last bits.
    """
    estimate, error, low, high, end_effect, sample = block.values
    if not np.isfinite(reach):
        none = np.full_like(estimate, np.nan)
        return np.stack([estimate, low, high, none, none])
    below, above = interval(block.measure, estimate, error, sample, reach)
    more = end_effect + ROUNDING * np.abs(estimate)
    return np.stack([estimate, low, high, below - more, above + more])
