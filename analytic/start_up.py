"""How long a system remembers its start: what a warm-up should not be shorter than."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from analytic.arrival_process import gap_map, gap_order
from analytic.indexing_queue import empty_probability, relaxation_time_of, stays_of
from analytic.markov import closed_classes, relaxation_time
from analytic.page_conditions import resolved_frequencies, time_per_access
from scenarios import Scenario, ScenarioError
from scenarios.accessing.index import IndexPolicy
from scenarios.accessing.policy import Periodic
from scenarios.arrays import Array
from scenarios.page_data import access_shares, change_rates
from scenarios.processes import ArrivalProcess, Map, Mmpp
from scenarios.sections import AccessTime

START_LEFT = 10
"""A suggested warm-up is so many times what the system remembers: e^-10 = 5e-5 is left."""

_ONCE = 1.01
"""A cycle is over after one of them; a little more, so that no rounding cuts it short."""

_SHARE = 20
"""Where nothing is known of a start, one of so many parts of the horizon is given to it."""

_SOJOURNS = ("sojourn_time", "sojourn_time_second_moment")
_STALENESS = (
    "obsolescence_rate",
    "index_age",
    "weighted_obsolescence",
    "stale_answer_probability",
)
_OF_PAGES = (*_STALENESS, "control_cost")


_LARGEST_ORDER = 400
"""Phases up to which eigenvalues are computed."""


class Memory(NamedTuple):
    """For how long a system remembers its start in one respect.

    Attributes
    ----------
    name : str
    time : float
    needed : float
        After how many such times it has forgotten.
    measures : tuple of str
        Which measures follow it; empty: all of them.
    pages : ndarray, shape (pages,), optional
        The time of each page, where it is `time` of the slowest.
    """

    name: str
    time: float
    needed: float = START_LEFT
    measures: tuple[str, ...] = ()
    pages: Array | None = None

    @property
    def long_enough(self) -> float:
        """A warm-up after which it is forgotten."""
        return self.needed * self.time


def start_up_times(scenario: Scenario) -> list[tuple[str, float]]:
    """Times in which a system forgets its start, each with its name; only those that are known.

    Relaxation times of the queue, of the access times and of the arrivals of packets; the longest
    stay of a waiting page, where pages are not served in their order; the cycle of the pages, or
    the mean time between visits of the page that is drawn most rarely; the mean time to the first
    change of a page that is never visited.
    """
    return [(each.name, each.time) for each in _memories(scenario)]


def _memories(scenario: Scenario) -> list[Memory]:
    queue = relaxation_time_of(scenario)
    found = [] if queue is None else [_queue_memory(scenario, queue)]
    found += _oldest_page(scenario)
    if scenario.robots is not None:
        found += _relaxation("the relaxation time of the access times", scenario.robots.access_time)
    if scenario.servers is not None:
        found += _relaxation("the relaxation time of the arrivals", scenario.servers.arrivals)
    return [*found, *_visits(scenario)]


def _queue_memory(scenario: Scenario, relaxation: float) -> Memory:
    """That of the queue, which starts empty: the rarer that is, the longer it takes to forget.

    After a time t the distance from the stationary law is at most sqrt(1 / p) e^(-t / relaxation),
    with the stationary probability p of the start (exactly so for reversible chains).
    """
    empty = empty_probability(scenario) or 1.0
    rarity = -math.log(empty) / 2 if 0 < empty < 1 else 0.0
    return Memory("the relaxation time of the queue", relaxation, START_LEFT + rarity)


def _oldest_page(scenario: Scenario) -> Iterator[Memory]:
    """That of the ages in a buffer that does not serve its pages in their order.

    The numbers of pages forget the start sooner than their ages do: under "lifo" the page at the
    bottom is served when the busy period ends.
    """
    buffer = scenario.buffer
    if buffer is None or (buffer.discipline == "fifo" and buffer.when_full == "lose-new"):
        return
    stays = stays_of(scenario)
    if stays is not None and math.isfinite(stays.longest):
        measures = (*_SOJOURNS, *(_STALENESS if scenario.pages else ()), "control_cost")
        yield Memory("the longest stay of a waiting page", stays.longest, measures=measures)


def suggested_warmup(scenario: Scenario) -> tuple[float, str]:
    """A warm-up that is long enough, and by which rule.

    Of the times in which the system forgets its start the longest, as often as it takes: ten times
    a relaxation time (e^-10 = 5e-5 is left), for a queue that hardly ever starves more, since it
    starts empty: half the logarithm of how rare that is; ten of the longest stays of a
    waiting page, where pages are not served in their order; a cycle of the pages once, or as often
    as it takes to have each of them indexed. A twentieth of
    the horizon where no such time is known.

    Raises
    ------
    ScenarioError
        If the horizon is not longer than the warm-up.
    """
    known = _memories(scenario)
    if not known:
        return scenario.run.horizon / _SHARE, "a twentieth of the horizon: nothing else is known"
    longest = max(known, key=lambda each: each.long_enough)
    warmup = longest.long_enough
    rule = f"{longest.needed:.3g} times {longest.name}"
    if warmup >= scenario.run.horizon:
        allowed = f"must be longer than a warm-up of {rule} ({longest.time:.6g})"
        raise ScenarioError("run.horizon", scenario.run.horizon, allowed, scenario.name)
    return warmup, rule


def needed_warmup(scenario: Scenario) -> float:
    """The shortest warm-up after which nothing known of the system remembers the start; 0 if none.

    Parameters
    ----------
    scenario : Scenario
        Its own warm-up and horizon do not matter.
    """
    return max((each.long_enough for each in _memories(scenario)), default=0.0)


def remembered_starts(scenario: Scenario) -> list[Memory]:
    """In which respects the scenario's own warm-up is too short to forget the start."""
    warmup = scenario.run.warmup
    if scenario.probing is not None:
        return []
    return [each for each in _memories(scenario) if warmup * _ONCE < each.long_enough]


def _relaxation(name: str, process: AccessTime | ArrivalProcess | None) -> Iterator[Memory]:
    """That of the phase of a process, where it has one and forgets it."""
    if not isinstance(process, Map | Mmpp):
        return
    if (gap_order(process) or 0) > _LARGEST_ORDER:
        return
    generator = sum(gap_map(process) or (), start=np.zeros(1))
    if len(closed_classes(generator)) == 1:
        yield Memory(name, relaxation_time(generator))


def _visits(scenario: Scenario) -> Iterator[Memory]:
    """Times between visits of pages, and to the first change of a page without visits."""
    policy = scenario.robots.accessing if scenario.robots else None
    if scenario.pages is None or policy is None or resolved_frequencies(scenario) is not None:
        return
    if isinstance(policy, IndexPolicy):
        return
    shares = access_shares(policy, scenario.pages)
    access = time_per_access(scenario)
    if isinstance(policy, Periodic):
        cycle = policy.cycle_of(shares)
        shares = np.bincount(cycle, minlength=len(shares)) / len(cycle)
        time = len(cycle) * access
        rounds = _rounds(scenario)
        visits = Memory("the cycle of the pages", time, rounds, _OF_PAGES)
    else:
        rarest = int(np.argmin(np.where(shares > 0, shares, np.inf)))
        name = f"the mean time between visits of page {rarest}"
        with np.errstate(divide="ignore"):
            times = access / (shares * _indexed(scenario))
        times = np.where(np.isfinite(times), times, 0.0)
        visits = Memory(name, float(times[rarest]), START_LEFT, _OF_PAGES, times)
    if math.isfinite(visits.time):
        yield visits
    yield from _first_change(shares, change_rates(scenario.pages))


def _indexed(scenario: Scenario) -> float:
    """Share of the accesses that reach the index; 1 where it is not known."""
    stays = stays_of(scenario) if scenario.buffer is not None else None
    return stays.served if stays is not None and stays.served > 0 else 1.0


def _rounds(scenario: Scenario) -> float:
    """Cycles after which each page has been indexed, but for e^-10 = 5e-5."""
    lost = 1.0 - _indexed(scenario)
    return _ONCE + (START_LEFT / -math.log(lost) if lost > 0 else 0.0)


def _first_change(shares: Array, rates: Array) -> Iterator[Memory]:
    """Of the page that changes most rarely among those that are never visited and do change."""
    waiting = np.where((shares == 0) & (rates > 0), rates, np.inf)
    page = int(np.argmin(waiting))
    if waiting[page] < math.inf:
        name = f"the mean time to the first change of page {page}, which is never visited"
        times = np.where(waiting < math.inf, 1.0 / waiting, 0.0)
        yield Memory(name, float(times[page]), START_LEFT, _OF_PAGES, times)
