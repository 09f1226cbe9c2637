"""Hosts of a scenario that want to be left alone: whether accesses wait for them, and the limits.

Also the sequence that a policy without draws or period plans, up to its long run.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from analytic.index import page_conditions as conditions
from analytic.index.accesses import (
    MOST_SLOTS,
    AccessedPages,
    access_law,
    accessed_pages,
    is_planned,
    slots_of_long_run,
    time_per_access,
)
from analytic.machinery.transforms import shortest
from scenarios import Scenario
from scenarios.accessing.policy import Periodic, Planned
from scenarios.arrays import Array
from scenarios.page_data import PageData, access_shares, host_spacings

Indices = NDArray[Any]

_BEGINNING = 4
"""The first of this many parts of a plan is its beginning, which the long run forgets."""

_MARGIN = 1e-9
"""What sums of access times may miss by rounding, relatively."""


def host_limits(accessed: AccessedPages, time: float) -> tuple[Indices, Array]:
    """Host of each page, and caps as shares of accesses of which there is one per `time`."""
    if accessed.robots.host_spacing is None:
        return np.zeros(accessed.pages.count, dtype=np.intp), np.array([np.inf])
    with np.errstate(divide="ignore"):
        caps = time / host_spacings(accessed.robots, accessed.pages)
    return accessed.pages.hosts, caps


def waits_or_shared(scenario: Scenario) -> str | None:
    """Several robots, or accesses that wait for their hosts."""
    if conditions.one_robot(scenario) is not None or hosts_never_wait(scenario) is not None:
        return None
    return "one robot that never waits"


def slots_of_run(scenario: Scenario) -> tuple[int, int]:
    """About how many accesses lie before the warm-up's end, and before the horizon."""
    time = time_per_access(scenario)
    return int(scenario.run.warmup / time), math.ceil(scenario.run.horizon / time)


def mean_known(scenario: Scenario) -> str | None:
    """The mean time between accesses is known."""
    known = np.isfinite(time_per_access(scenario))
    return None if known else "the mean time between accesses is not known"


def hosts_never_wait(scenario: Scenario) -> str | None:
    """No access has to wait for its host."""
    if scenario.model.pages is None or scenario.robots is None:
        return None
    spacing = host_spacings(scenario.robots, scenario.model.pages)
    if not np.any(spacing):
        return None
    if conditions.one_robot(scenario) is not None:
        return "several robots may wait for a host"
    law = access_law(scenario)
    least = 0.0 if law is None else shortest(law)
    if least >= spacing.max():
        return None
    waits = "accesses may wait for their hosts"
    if least == 0.0 or conditions.resolved_frequencies(scenario) is not None:
        return waits
    distance = _least_distances(scenario)
    return None if np.all(distance * least > spacing * (1 + _MARGIN)) else waits


def _least_distances(scenario: Scenario) -> Array:
    """Least number of slots between two accesses to each host; 1 where pages are drawn."""
    accessed = accessed_pages(scenario)
    pages = accessed.pages
    if isinstance(accessed.policy, Periodic):
        sequence = np.concatenate([accessed.cycle, accessed.cycle])
    elif conditions.planned_policy(scenario) is None:
        sequence = planned_slots(scenario)[1]
    else:
        return np.ones(pages.host_count)
    hosts = pages.hosts[sequence]
    order = np.argsort(hosts, kind="stable")
    gaps = np.where(np.diff(hosts[order]) == 0, np.diff(order), len(sequence)).astype(float)
    least = np.full(pages.host_count, np.inf)
    np.minimum.at(least, hosts[order[1:]], gaps)
    return np.where(np.isinf(least), float(len(sequence)), least)


def slots_in_window(scenario: Scenario) -> Indices:
    """About which pages a plan accesses in the window; of 2^24 accesses at most.

    The simulation's number of accesses is random by the square root of it.
    """
    accessed = accessed_pages(scenario)
    assert is_planned(accessed.policy)
    skipped, slots = slots_of_run(scenario)
    slots = min(max(slots, 1), MOST_SLOTS)
    return _first_slots(accessed.policy, accessed.pages, slots)[min(skipped, slots - 1) :]


def planned_slots(scenario: Scenario) -> tuple[int, Indices]:
    """Slots at the beginning of a plan that do not count, and its pages up to its long run."""
    accessed = accessed_pages(scenario)
    assert is_planned(accessed.policy)
    slots = slots_of_long_run(scenario)
    return slots // _BEGINNING, _first_slots(accessed.policy, accessed.pages, slots)


@lru_cache(maxsize=1)
def _first_slots(policy: Planned, pages: PageData, slots: int) -> Indices:
    """The first pages of the plan; read-only, since it is kept for the formulas that share it."""
    blocks = []
    count = 0
    for block in policy.plan(access_shares(policy, pages)):
        blocks.append(block)
        count += len(block)
        if count >= slots:
            break
    sequence = np.concatenate(blocks)[:slots]
    sequence.flags.writeable = False
    return sequence
