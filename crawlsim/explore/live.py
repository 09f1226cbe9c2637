"""A run that is watched: after each replication the estimates are those of `crawlsim run`.

It begins with the SimPy engine, which needs nothing compiled. Meanwhile a process of its own
compiles the other engine for this scenario; from its first answer on replications come from there.
Both engines give the same tallies to the last bit, so that nobody can tell when that was.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from concurrent.futures import BrokenExecutor, Executor, Future
from concurrent.futures import TimeoutError as NotYetError
from dataclasses import dataclass

import numpy as np

from crawlsim.explore.always_valid import errors_to_each_side
from scenarios import Estimate, Scenario
from scenarios.arrays import Array
from scenarios.measures import Subject
from sim import compiled_engine, simpy_engine
from sim.estimates.intervals import interval
from sim.estimates.jackknife import estimates_of
from sim.estimates.totals import Totals
from sim.tally import Tally

LEVEL = 0.95
"""Probability that no always-valid band is ever left by what is true."""

_OWN_ERROR = 0.04
"""The part of 1 - `LEVEL` that the lesson's own measure gets; the others share what is left."""

_MOST_SUBJECTS = 64
"""Measures with more subjects, such as those of a million pages, are not shown."""

_CHUNK = 8
"""Replications that the other process simulates at once."""

_PATIENCE = 0.1
"""Seconds to wait for the other process, which may be busy for another page."""

Key = tuple[str, Subject]


def simulate_some(scenario: Scenario, seed: int, which: Sequence[int]) -> list[Tally]:
    """Replications by the compiled engine, which is compiled first where need be."""
    return [compiled_engine.simulate(scenario, replication, seed) for replication in which]


@dataclass(frozen=True)
class Look:
    """What is known after so many replications.

    Attributes
    ----------
    n : int
    keys : sequence of (measure, subject)
        The rows, the lesson's own first.
    values : ndarray, shape (5, rows)
        Estimate, ends of the 95 % interval, ends of the always-valid band.
    """

    n: int
    keys: Sequence[Key]
    values: Array


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
        self._lock = threading.Lock()
        self._tallies: list[Tally] = []
        self._totals: Totals | None = None
        self._looks: list[Look] = []
        self._ahead: tuple[int, Future[list[Tally]]] | None = None
        self._compiled = False
        self._alone = False

    def look(self, n: int) -> Look:
        """What is known after n replications, n >= 2; all looks before are taken as well."""
        with self._lock:
            while len(self._looks) < n - 1:
                self._looks.append(self._next_look())
            return self._looks[n - 2]

    def looks(self, n: int) -> Sequence[Look]:
        """The looks after 2, 3, …, n replications."""
        self.look(n)
        return self._looks[: n - 1]

    def _next_look(self) -> Look:
        n = len(self._looks) + 2
        while self._count < n:
            self._add(self._more())
        assert self._totals is not None
        totals = self._totals if self._count == n else _first(self._totals, n)
        return look_at(totals, self.scenario, self.own)

    @property
    def _count(self) -> int:
        return 0 if self._totals is None else self._totals.count

    def _add(self, tallies: Sequence[Tally]) -> None:
        new = Totals.of(tallies)
        self._totals = new if self._totals is None else _joined(self._totals, new)

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


def look_at(totals: Totals, scenario: Scenario, own: Key) -> Look:
    """The estimates of a run with their intervals and always-valid bands.

    Parameters
    ----------
    totals : Totals
    scenario : Scenario
    own : (measure, subject)
        The row that comes first, and is known best.
    """
    n = totals.count
    blocks = [
        each
        for each in estimates_of(totals, scenario).blocks
        if len(each.subjects) <= _MOST_SUBJECTS
    ]
    keys: list[Key] = [(each.measure, subject) for each in blocks for subject in each.subjects]
    others = max(len(keys) - 1, 1)
    reach = {
        True: errors_to_each_side(n, _OWN_ERROR),
        False: errors_to_each_side(n, (1.0 - LEVEL - _OWN_ERROR) / others),
    }
    columns = []
    for block in blocks:
        for place, subject in enumerate(block.subjects):
            estimated = Estimate(block.measure, subject, *block.values[:, place].tolist())
            own_reach = reach[(block.measure, subject) == own]
            always = always_valid(estimated, own_reach)
            columns.append((estimated.estimate, estimated.low, estimated.high, *always))
    values = np.array(columns).T
    if own in keys:
        place = keys.index(own)
        order = [place, *(each for each in range(len(keys)) if each != place)]
        keys = [keys[each] for each in order]
        values = values[:, order]
    return Look(n, keys, values)


def always_valid(row: Estimate, reach: float) -> tuple[float, float]:
    """Ends of the always-valid band of an estimate; nan while there is none.

    It is the interval of the measure with more standard errors to each side, and what the two ends
    of the windows can do, which no number of replications shows.

    Parameters
    ----------
    row : Estimate
    reach : float
        Standard errors to each side.
    """
    if not np.isfinite(reach):
        return np.nan, np.nan
    low, high = interval(row.measure, row.estimate, row.standard_error, row.sample, reach)
    return float(low) - row.end_effect_bound, float(high) + row.end_effect_bound


def _first(totals: Totals, n: int) -> Totals:
    return totals._each(lambda values: values[:n])


def _joined(one: Totals, other: Totals) -> Totals:
    own = {name: np.concatenate([values, other.own[name]]) for name, values in one.own.items()}
    parts = {
        part: {
            name: np.concatenate([values, other.parts[part][name]]) for name, values in of.items()
        }
        for part, of in one.parts.items()
    }
    return Totals(own, parts)
