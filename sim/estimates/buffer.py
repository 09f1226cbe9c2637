"""Measures of the buffer as functions of totals."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from scenarios import Scenario
from scenarios.activation import Switching
from scenarios.arrays import Array
from scenarios.laws import Exponential
from scenarios.measures import Subject
from scenarios.processes import Map, Mmpp
from sim import rules
from sim.draws import gap_law
from sim.estimates.totals import Part, Totals, Values, numbered, single
from sim.laws import draws_and_mean
from sim.layout import robots_at_levels, robots_may_wait

_CLASSES: dict[str, tuple[int, ...]] = {
    "served": (rules.SERVED,),
    "obsolete": (rules.OBSOLETE,),
    "accepted": (rules.SERVED, rules.OBSOLETE, rules.PUSHED_OUT, rules.REPLACED),
}


def buffer_measures(totals: Totals, scenario: Scenario) -> Values:
    """Rates, shares, time averages and sojourn times; nan where undefined."""
    part = totals.parts["buffer"]
    window = totals.own["window"]
    values = _rates(part, window, scenario) | _shares(part, scenario) | _time_averages(part, window)
    return values | _sojourns(part, scenario)


def pages_ended(part: Part) -> Array:
    """Pages whose fate was decided in the window, those refused on arrival included."""
    ended: Array = part["refused"] + part["ended"].sum(axis=1)
    return ended


def _lost(part: Part) -> Array:
    lost: Array = part["refused"] + part["ended"][:, rules.PUSHED_OUT]
    return lost


def _rates(part: Part, window: Array, scenario: Scenario) -> Values:
    """Rates on counts, and the loss rate as a time average where that is possible."""
    deliveries = _delivery_rate_when_full(scenario)
    full = part["level_time"][:, -1]
    lost = _lost(part) if deliveries is None else deliveries * full
    return {
        "arrival_rate": single(part["delivered"] / window),
        "loss_rate": single(lost / window),
        "throughput": single(part["ended"][:, rules.SERVED] / window),
    }


def _delivery_rate_when_full(scenario: Scenario) -> float | None:
    """Deliveries per unit time while no place is free, each of which loses a page.

    Known where access times are exponential, no robot waits for a host, and the level alone says
    how many are heard: the time with a full buffer then gives the loss rate with no bias and less
    variance than the losses themselves (measured: docs/measures.md).
    """
    robots = scenario.robots
    section = scenario.buffer
    counted = section is None or section.replace_older_copy or robots is None
    if counted or robots_may_wait(scenario) or isinstance(scenario.activation, Switching):
        return None
    access = robots.access_time if robots else None
    law = access if access is None or isinstance(access, Mmpp | Map) else gap_law(access)
    if not isinstance(law, Exponential):
        return None
    mean = draws_and_mean(law)[1]
    return robots_at_levels(scenario)[-1] / mean


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
    return {name: single(count / fates) for name, count in counts.items()}


def _time_averages(part: Part, window: Array) -> Values:
    shares = part["level_time"] / window[:, None]
    levels = np.arange(shares.shape[1], dtype=float)
    return {
        "starvation_probability": single(shares[:, 0]),
        "mean_in_system": single(shares @ levels),
        "level_probability": numbered(shares),
    }


def _sojourns(part: Part, scenario: Scenario) -> Values:
    never = scenario.buffer is not None and scenario.buffer.obsolescence == "never"
    names = [name for name in _CLASSES if not (never and name == "obsolete")]
    subjects = (*names, "all")
    ended = _by_class(part["ended"], names, pages_ended(part))
    values: Values = {}
    for measure, sums in (
        ("sojourn_time", part["sojourn"]),
        ("sojourn_time_second_moment", part["sojourn_square"]),
    ):
        values[measure] = subjects, _by_class(sums, names, sums.sum(axis=1)) / ended
    return values


def _by_class(by_fate: Array, names: Sequence[str], in_all: Array) -> Array:
    """Sums over the fates of each class, then `in_all`; shape (n, classes + 1)."""
    sums = [by_fate[:, list(_CLASSES[name])].sum(axis=1) for name in names]
    return np.stack([*sums, in_all], axis=1)


def _of(values: Values, measure: str, subject: Subject = None) -> Array:
    subjects, columns = values[measure]
    column: Array = columns[:, subjects.index(subject)]
    return column


def control_cost(values: Values, totals: Totals, scenario: Scenario) -> Array:
    """Prices times measures; a price of 0 leaves its measure out, defined or not."""
    window = totals.own["window"]
    terms = {}
    if "servers" in totals.parts:
        terms["loss"] = _of(values, "loss_rate")
    if "mean_active_robots" in values:
        terms["robots"] = _of(values, "mean_active_robots")
    if "buffer" in totals.parts:
        terms |= {
            "loss": _of(values, "loss_rate"),
            "obsolescence": totals.parts["buffer"]["ended"][:, rules.OBSOLETE] / window,
            "starvation": _of(values, "starvation_probability"),
            "response": _of(values, "sojourn_time", "served"),
        }
    if "pages" in totals.parts:
        terms["staleness"] = _of(values, "weighted_obsolescence")
    cost = np.zeros(totals.count)
    for name, value in terms.items():
        price = getattr(scenario.costs, name)
        if price:
            cost = cost + price * value
    return cost
