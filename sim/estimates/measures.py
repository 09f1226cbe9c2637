"""Every measure of a scenario as a function of totals."""

from __future__ import annotations

import numpy as np

from scenarios import Scenario
from scenarios.activation import Switching
from scenarios.arrays import Array
from scenarios.laws import Exponential
from scenarios.measures import Subject
from scenarios.page_data import page_weights
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
_SOJOURNS = {"sojourn_time": "sojourn", "sojourn_time_second_moment": "sojourn_square"}


def measures_of(totals: Totals, scenario: Scenario) -> Values:
    """Every measure of a scenario as a function of totals; nan where it is undefined."""
    parts = totals.parts
    window = totals.own["window"]
    values: Values = {}
    with np.errstate(divide="ignore", invalid="ignore"):
        if scenario.robots is not None:
            values["mean_active_robots"] = single(totals.own["robots_time"] / window)
        if "buffer" in parts:
            values |= _of_buffer(parts["buffer"], window, scenario)
        if "pages" in parts and scenario.pages is not None:
            values |= _of_pages(parts["pages"], window, page_weights(scenario.pages))
        if "ages" in parts:
            values["index_age"] = numbered(parts["ages"]["age_time"] / window[:, None])
        if "clients" in parts:
            clients = parts["clients"]
            values["stale_answer_probability"] = single(clients["stale"] / clients["queries"])
        if "servers" in parts:
            values |= _of_servers(parts["servers"], window)
        if "probing" in parts and scenario.probing is not None:
            # Per path: all windows have the length of the horizon.
            sums = parts["probing"]
            paths = window / scenario.probing.horizon
            values["obsolescence_cost"] = single(sums["cost"] / paths)
            values["source_freshness"] = single(sums["fresh_time"] / window)
        if scenario.costs.model_fields_set:
            values["control_cost"] = single(_control_cost(values, totals, scenario))
    return values


def _of_buffer(part: Part, window: Array, scenario: Scenario) -> Values:
    """Rates, shares of the four fates, time averages and sojourn times."""
    deliveries = _delivery_rate_when_full(scenario)
    lost = part["refused"] + part["ended"][:, rules.PUSHED_OUT]
    full = part["level_time"][:, -1]
    fates = pages_ended(part)
    shares = part["level_time"] / window[:, None]
    levels = np.arange(shares.shape[1], dtype=float)
    values = {
        "arrival_rate": single(part["delivered"] / window),
        "loss_rate": single((lost if deliveries is None else deliveries * full) / window),
        "throughput": single(part["ended"][:, rules.SERVED] / window),
        "loss_probability": single(lost / fates),
        "obsolescence_probability": single(part["ended"][:, rules.OBSOLETE] / fates),
        "success_probability": single(part["ended"][:, rules.SERVED] / fates),
    }
    if scenario.buffer and scenario.buffer.replace_older_copy:
        values["replacement_probability"] = single(part["ended"][:, rules.REPLACED] / fates)
    values |= {
        "starvation_probability": single(shares[:, 0]),
        "mean_in_system": single(shares @ levels),
        "level_probability": numbered(shares),
    }
    never = scenario.buffer is not None and scenario.buffer.obsolescence == "never"
    classes = {name: of for name, of in _CLASSES.items() if not (never and name == "obsolete")}
    subjects = (*classes, "all")

    def by_class(by_fate: Array, in_all: Array) -> Array:
        """Sums over the fates of each class, then `in_all`; shape (n, classes + 1)."""
        return np.stack([*(by_fate[:, list(of)].sum(axis=1) for of in classes.values()), in_all], 1)

    ended = by_class(part["ended"], fates)
    for measure, name in _SOJOURNS.items():
        values[measure] = subjects, by_class(part[name], part[name].sum(axis=1)) / ended
    return values


def pages_ended(part: Part) -> Array:
    """Pages whose fate was decided in the window, those refused on arrival included."""
    ended: Array = part["refused"] + part["ended"].sum(axis=1)
    return ended


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


def _of_pages(part: Part, window: Array, weights: Array) -> Values:
    """Obsolescence rate, access rate and share of the accesses of each page, and their cost."""
    stale = part["stale_time"] / window[:, None]
    return {
        "weighted_obsolescence": single(stale @ weights),
        "obsolescence_rate": numbered(stale),
        "crawl_rate": numbered(part["deliveries"] / window[:, None]),
        "crawl_frequency": numbered(
            part["deliveries"] / part["deliveries"].sum(axis=1, keepdims=True)
        ),
    }


def _of_servers(part: Part, window: Array) -> Values:
    """Fraction of each server's and of all packets that are lost, and packets per unit time.

    Over the packets that ended in the window, lost or served, as all shares are; nan at a server
    that got none.
    """
    lost = part["lost"]
    ended = packets_ended(part)
    everywhere = lost.sum(axis=1, keepdims=True) / ended.sum(axis=1, keepdims=True)
    shares = np.concatenate([lost / ended, everywhere], axis=1)
    return {
        "preemption_probability": ((*range(lost.shape[1]), "all"), shares),
        "arrival_rate": single(part["arrived"].sum(axis=1) / window),
        "loss_rate": single(lost.sum(axis=1) / window),
        "throughput": single(part["served"].sum(axis=1) / window),
    }


def packets_ended(part: Part) -> Array:
    """Packets lost or served in the window, by server."""
    ended: Array = part["lost"] + part["served"]
    return ended


def _control_cost(values: Values, totals: Totals, scenario: Scenario) -> Array:
    """Prices times measures; a price of 0 leaves its measure out, defined or not."""

    def measured(measure: str, subject: Subject = None) -> Array:
        subjects, columns = values[measure]
        column: Array = columns[:, subjects.index(subject)]
        return column

    terms = {}
    if "servers" in totals.parts:
        terms["loss"] = measured("loss_rate")
    if "mean_active_robots" in values:
        terms["robots"] = measured("mean_active_robots")
    if "buffer" in totals.parts:
        terms |= {
            "loss": measured("loss_rate"),
            "obsolescence": totals.parts["buffer"]["ended"][:, rules.OBSOLETE]
            / totals.own["window"],
            "starvation": measured("starvation_probability"),
            "response": measured("sojourn_time", "served"),
        }
    if "pages" in totals.parts:
        terms["staleness"] = measured("weighted_obsolescence")
    cost = np.zeros(totals.count)
    for name, value in terms.items():
        price = getattr(scenario.costs, name)
        if price:
            cost = cost + price * value
    return cost
