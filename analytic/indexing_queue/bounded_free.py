"""The best numbers of robots by level and phases that keep a bound on a measure."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from analytic import conditions
from analytic.indexing_queue.free_switching import QueueProcess, queue_process
from analytic.rules.bound import Bound
from analytic.rules.of_process import BoundedProcess, Rate
from analytic.transforms import mean_time
from scenarios import Scenario

_PRICES = ("loss", "obsolescence", "starvation", "robots")


def rates_of(scenario: Scenario, numbers: Sequence[int]) -> dict[str, Rate]:
    """What is counted per unit time in each state with each number of robots, by its name.

    Also "time", of which one unit passes per unit time, and "delivered".
    """
    every: dict[str, Rate] = {}
    for price in _PRICES:
        process = queue_process(scenario.with_("costs", {price: 1.0}), numbers).process
        every[price] = Rate(process.costs, process.option_costs)
    pace = process.decisions.diagonal()
    every["time"] = Rate(np.zeros(len(pace)), np.repeat(1.0 / pace, len(numbers)))
    busy = every["time"].plus(-1.0, every["starvation"])
    nothing = busy.plus(-1.0, busy)
    if conditions.timer_of(scenario) is None:
        every["obsolescence"] = nothing
    every["served"] = nothing.plus(1.0 / mean_time(conditions.service_law(scenario)), busy)
    ended = every["loss"].plus(1.0, every["obsolescence"])
    every["delivered"] = ended.plus(1.0, every["served"])
    return every


def bounded_free(
    scenario: Scenario, numbers: Sequence[int], bound: Bound
) -> tuple[QueueProcess, BoundedProcess]:
    """The queue as a decision process of level and phases, with a bound.

    Parameters
    ----------
    scenario : Scenario
        Its [activation] is ignored.
    numbers : sequence of int
        Numbers of robots that may be active, increasing.
    bound : Bound

    Raises
    ------
    NoOptimumError
        If costs have no exact value here, or the chain is too large.

    Notes
    -----
    The rate of pages indexed is that of a busy server, 1 / (mean service): an identity in the long
    run, so that it holds for means under any rule.
    """
    queue = queue_process(scenario, numbers)
    rates = rates_of(scenario, numbers)
    total = rates["delivered" if bound.is_share else "time"]
    return queue, BoundedProcess(queue.process, bound, rates[bound.rate], total)
