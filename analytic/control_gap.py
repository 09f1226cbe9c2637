"""What the simple rules cost: one system under rules of growing power.

Two powers are compared, and they are not the same thing. A rule of avrachenkov2011 switches any
number of robots on **and off** at any event. A rule of talim2001 switches on at most one robot per
event and recalls none: the number of active robots follows the level with a delay. The best of the
first kind can cost far less than the best of the second; that is the price of the switching rule,
not a fault of the optimisation.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from analytic.indexing_queue.fixed_robots import optimal_fixed_number
from analytic.indexing_queue.thresholds import optimal_thresholds
from analytic.robot_control.curve_rules import best_curves, best_level, level_targets
from analytic.robot_control.switching import best_switching
from scenarios import Scenario

__all__ = ["RuleCost", "control_gap"]


class RuleCost(NamedTuple):
    """The best rule of one kind.

    Attributes
    ----------
    rule : str
        Its kind, in words.
    switching : str
        "none", "one at a time, none recalled" or "free".
    decision : str
        What was found.
    cost : float
        Exact cost per unit time.
    more : float
        Per cent above the best rule that switches one robot at a time.
    changes : mapping or None
        What puts it into the scenario; None where a scenario file has no words for it.
    """

    rule: str
    switching: str
    decision: str
    cost: float
    more: float
    changes: Mapping[str, Any] | None


LIMITED = "one at a time, none recalled"


def control_gap(scenario: Scenario) -> list[RuleCost]:
    """The best rule of every kind for one system, dearest kinds first within a power.

    A fixed number; one level or two constant levels for switching on; targets by level, which are
    the optimum of talim2001; thresholds with free switching (avrachenkov2011).

    Raises
    ------
    NoOptimumError
        If one of the optima is not known.
    """
    search = best_switching(scenario)
    queue, costs, least = search.queue, scenario.costs, search.cost
    fixed, free = optimal_fixed_number(scenario), optimal_thresholds(scenario)
    level, level_cost = best_level(queue, costs)
    curves = best_curves(queue, costs)
    places = range(1, queue.places, queue.phases)
    simple = [int(n) for n in level_targets(queue, level)[[0, *places]]]
    rows: list[tuple[str, str, str, float | None, Mapping[str, Any] | None]] = [
        ("fixed number", "none", f"{fixed.decision['robots']} robots", fixed.cost, fixed.changes),
        (
            "one level for all",
            LIMITED,
            f"on iff at most {level} pages are left",
            level_cost,
            _switching(simple),
        ),
        (
            "two levels for all",
            LIMITED,
            f"on iff a service meets at most {curves.service}, a delivery {curves.delivery}",
            curves.cost,
            None,
        ),
        ("targets by level", LIMITED, f"{search.decision}", least, _switching(search.decision)),
        ("thresholds", "free", _listed(free.decision), free.cost, free.changes),
    ]
    return [
        RuleCost(rule, power, decision, cost, 100 * (cost / least - 1), changes)
        for rule, power, decision, cost, changes in rows
        if cost is not None
    ]


def _switching(targets: list[Any]) -> dict[str, Any]:
    return {"activation": {"switching": {"targets": targets}}}


def _listed(decision: Mapping[str, Any]) -> str:
    numbers, levels = (", ".join(map(str, decision[key])) for key in ("robots", "at"))
    return f"{numbers} robots at {levels}" if levels else f"{numbers} robots"
