"""How long a system remembers its start: what a warm-up should not be shorter than."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from analytic.arrival_process import gap_map
from analytic.indexing_queue import relaxation_time_of
from analytic.markov import closed_classes, relaxation_time
from analytic.page_conditions import resolved_frequencies, time_per_access
from scenarios import Scenario, ScenarioError
from scenarios.accessing.index import IndexPolicy
from scenarios.accessing.policy import Periodic
from scenarios.page_data import access_shares, change_rates
from scenarios.processes import ArrivalProcess, Map, Mmpp
from scenarios.sections import AccessTime

__all__ = ["START_LEFT", "start_up_times", "suggested_warmup"]

START_LEFT = 10
"""A suggested warm-up is so many times what the system remembers: e^-10 = 5e-5 is left."""

_SHARE = 20
"""Where nothing is known of a start, one of so many parts of the horizon is given to it."""

Array = NDArray[np.floating[Any]]

_LARGEST_ORDER = 400
"""Phases up to which eigenvalues are computed."""


def start_up_times(scenario: Scenario) -> list[tuple[str, float]]:
    """Times in which a system forgets its start, each with its name; only those that are known.

    Relaxation times of the queue, of the access times and of the arrivals of packets; the cycle of
    the pages, or the mean time between visits of the page that is drawn most rarely; the mean time
    to the first change of a page that is never visited.
    """
    queue = relaxation_time_of(scenario)
    times = [] if queue is None else [("the relaxation time of the queue", queue)]
    if scenario.robots is not None:
        times += _relaxation("the relaxation time of the access times", scenario.robots.access_time)
    if scenario.servers is not None:
        times += _relaxation("the relaxation time of the arrivals", scenario.servers.arrivals)
    return [*times, *_visits(scenario)]


def suggested_warmup(scenario: Scenario) -> tuple[float, str]:
    """A warm-up that is long enough, and by which rule.

    Ten times the longest time in which the system forgets its start: the relaxation time of its
    chain where that is solved, else the longest of the other times that are known (a cycle of the
    pages, the mean time between visits of the rarest); a twentieth of the horizon where none is.

    Raises
    ------
    ScenarioError
        If the horizon is not longer than the warm-up.
    """
    known = start_up_times(scenario)
    if not known:
        return scenario.run.horizon / _SHARE, "a twentieth of the horizon: nothing else is known"
    name, time = max(known, key=lambda each: each[1])
    warmup = START_LEFT * time
    if warmup >= scenario.run.horizon:
        allowed = f"must be longer than a warm-up of {START_LEFT} times {name} ({time:.6g})"
        raise ScenarioError("run.horizon", scenario.run.horizon, allowed, scenario.name)
    return warmup, f"{START_LEFT} times {name}"


def _relaxation(
    name: str, process: AccessTime | ArrivalProcess | None
) -> Iterator[tuple[str, float]]:
    """That of the phase of a process, where it has one and forgets it."""
    if not isinstance(process, Map | Mmpp):
        return
    generator = sum(gap_map(process) or (), start=np.zeros(1))
    if len(generator) <= _LARGEST_ORDER and len(closed_classes(generator)) == 1:
        yield name, relaxation_time(generator)


def _visits(scenario: Scenario) -> Iterator[tuple[str, float]]:
    """Times between visits of pages, and to the first change of a page without visits."""
    policy = scenario.robots.accessing if scenario.robots else None
    if scenario.pages is None or policy is None or resolved_frequencies(scenario) is not None:
        return
    if isinstance(policy, IndexPolicy):
        return
    shares, access = access_shares(policy, scenario.pages), time_per_access(scenario)
    if isinstance(policy, Periodic):
        cycle = policy.cycle_of(shares)
        shares = np.bincount(cycle, minlength=len(shares)) / len(cycle)
        name, time = "the cycle of the pages", len(cycle) * access
    else:
        rarest = int(np.argmin(np.where(shares > 0, shares, np.inf)))
        name = f"the mean time between visits of page {rarest}"
        time = access / float(shares[rarest])
    if math.isfinite(time):
        yield name, time
    yield from _first_change(shares, change_rates(scenario.pages))


def _first_change(shares: Array, rates: Array) -> Iterator[tuple[str, float]]:
    """Of the page that changes most rarely among those that are never visited and do change."""
    waiting = np.where((shares == 0) & (rates > 0), rates, np.inf)
    page = int(np.argmin(waiting))
    if waiting[page] < math.inf:
        name = f"the mean time to the first change of page {page}, which is never visited"
        yield name, 1.0 / float(waiting[page])
