"""Measures of the buffer as functions of totals."""

from __future__ import annotations

import numpy as np

from scenarios import Scenario
from sim import rules
from sim.estimates.totals import Array, Part, Totals, Values

__all__ = ["buffer_measures", "control_cost", "pages_ended"]

_CLASSES: dict[str, tuple[int, ...]] = {
    "served": (rules.SERVED,),
    "obsolete": (rules.OBSOLETE,),
    "accepted": (rules.SERVED, rules.OBSOLETE, rules.PUSHED_OUT, rules.REPLACED),
}


def buffer_measures(totals: Totals, scenario: Scenario) -> Values:
    """Rates, shares, time averages and sojourn times; nan where undefined."""
    part, window = totals.parts["buffer"], totals.own["window"]
    values = _rates(part, window) | _shares(part, scenario) | _time_averages(part, window)
    return values | _sojourns(part, scenario)


def pages_ended(part: Part) -> Array:
    """Pages whose fate was decided in the window, those refused on arrival included."""
    ended: Array = part["refused"] + part["ended"].sum(axis=1)
    return ended


def _lost(part: Part) -> Array:
    lost: Array = part["refused"] + part["ended"][:, rules.PUSHED_OUT]
    return lost


def _rates(part: Part, window: Array) -> Values:
    return {
        ("arrival_rate", None): part["delivered"] / window,
        ("loss_rate", None): _lost(part) / window,
        ("throughput", None): part["ended"][:, rules.SERVED] / window,
    }


def _shares(part: Part, scenario: Scenario) -> Values:
    """Shares of the four fates among the pages that ended in the window."""
    fates = pages_ended(part)
    counts = {
        "loss_probability": _lost(part),
        "obsolescence_probability": part["ended"][:, rules.OBSOLETE],
        "success_probability": part["ended"][:, rules.SERVED],
    }
    if scenario.buffer and scenario.buffer.replace_older_copy:
        counts["replacement_probability"] = part["ended"][:, rules.REPLACED]
    return {(name, None): count / fates for name, count in counts.items()}


def _time_averages(part: Part, window: Array) -> Values:
    levels = part["level_time"].shape[1]
    shares = part["level_time"] / window[:, None]
    values: Values = {
        ("starvation_probability", None): shares[:, 0],
        ("mean_in_system", None): shares @ np.arange(levels, dtype=float),
    }
    return values | {("level_probability", level): shares[:, level] for level in range(levels)}


def _sojourns(part: Part, scenario: Scenario) -> Values:
    never = scenario.buffer is not None and scenario.buffer.obsolescence == "never"
    names = [name for name in _CLASSES if not (never and name == "obsolete")]
    values: Values = {}
    for measure, sums in (
        ("sojourn_time", part["sojourn"]),
        ("sojourn_time_second_moment", part["sojourn_square"]),
    ):
        for name in names:
            fates = list(_CLASSES[name])
            values[measure, name] = sums[:, fates].sum(1) / part["ended"][:, fates].sum(1)
        values[measure, "all"] = sums.sum(axis=1) / pages_ended(part)
    return values


def control_cost(values: Values, totals: Totals, scenario: Scenario) -> Array:
    """Prices times measures; a price of 0 leaves its measure out, defined or not."""
    window = totals.own["window"]
    terms = {}
    if "servers" in totals.parts:
        terms["loss"] = values["loss_rate", None]
    if ("mean_active_robots", None) in values:
        terms["robots"] = values["mean_active_robots", None]
    if "buffer" in totals.parts:
        terms |= {
            "loss": values["loss_rate", None],
            "obsolescence": totals.parts["buffer"]["ended"][:, rules.OBSOLETE] / window,
            "starvation": values["starvation_probability", None],
            "response": values["sojourn_time", "served"],
        }
    if "pages" in totals.parts:
        terms["staleness"] = values["weighted_obsolescence", None]
    cost = np.zeros(totals.count)
    for name, value in terms.items():
        price = getattr(scenario.costs, name)
        if price:
            cost = cost + price * value
    return cost
