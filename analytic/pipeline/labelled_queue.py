"""What the chain of labels says of the queue itself: levels, what becomes of the pages, cost."""

from __future__ import annotations

import math

import numpy as np

from analytic.active_robots import robots_at
from analytic.formula import Values
from analytic.indexing_queue.measures import control_cost
from analytic.pipeline.labels import LabelledPage
from analytic.pipeline.walked import labelled
from scenarios import Scenario


def labelled_queue(scenario: Scenario) -> Values:
    """Levels, rates and shares of the queue where copies of a page leave it together.

    Of a scenario that meets the conditions of (4). A delivery that takes the place of its waiting
    older copy needs no room: it is lost only where the buffer is full and none of its copies waits.
    """
    found = _any_page(scenario)
    levels = found.levels
    fates = found.fates
    in_system = float(levels @ np.arange(len(levels)))
    yield "starvation_probability", None, float(levels[0])
    yield "mean_in_system", None, in_system
    for level, probability in enumerate(levels.tolist()):
        yield "level_probability", level, probability
    yield "mean_active_robots", None, _active(scenario, found)
    yield "arrival_rate", None, fates.delivered
    yield "loss_rate", None, fates.lost
    yield "throughput", None, fates.served
    assert scenario.buffer is not None
    shares = {"loss": fates.lost, "success": fates.served, "obsolescence": fates.dropped}
    if scenario.buffer.replace_older_copy:
        shares["replacement"] = fates.replaced
    for name, rate in shares.items():
        yield f"{name}_probability", None, rate / fates.delivered
    yield "sojourn_time", "all", in_system / fates.delivered


def labelled_cost(scenario: Scenario) -> float:
    """The control cost without that of staleness; no price may be on the response time."""
    found = _any_page(scenario)
    rates = {"lost": found.fates.lost, "obsolete": found.fates.dropped}
    others = {"starvation": float(found.levels[0]), "robots": _active(scenario, found)}
    return control_cost(rates, others | {"response": math.nan}, scenario.costs)


def _any_page(scenario: Scenario) -> LabelledPage:
    """Of the queue every page says the same."""
    found = labelled(scenario)
    assert not isinstance(found, str)
    return found[0]


def _active(scenario: Scenario, found: LabelledPage) -> float:
    at = robots_at(scenario)
    return float(found.levels @ [at(level) for level in range(len(found.levels))])
