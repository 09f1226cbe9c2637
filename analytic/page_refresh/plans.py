"""The accesses that a policy without draws plans for one run."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from analytic.page_conditions import MOST_SLOTS, slots_of_run
from scenarios import Scenario
from scenarios.accessing.policy import Planned
from scenarios.page_data import access_shares
from scenarios.sections import Pages

Indices = NDArray[Any]


def planned_slots(scenario: Scenario) -> tuple[int, Indices]:
    """About how many accesses belong to the warm-up, and the pages of all up to the horizon.

    The simulation's numbers are random by the square root of this; at most 2^24 are written out.
    """
    assert scenario.pages is not None
    assert scenario.robots is not None
    assert isinstance(scenario.robots.accessing, Planned)
    skipped, slots = slots_of_run(scenario)
    slots = min(max(slots, 1), MOST_SLOTS)
    return min(skipped, slots - 1), _first(scenario.robots.accessing, scenario.pages, slots)


@lru_cache(maxsize=1)
def _first(policy: Planned, pages: Pages, slots: int) -> Indices:
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
