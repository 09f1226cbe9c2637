"""From tallies to estimates: ratios of sums over replications, with jackknife standard errors.

Every measure is a function of totals. The estimate is that function of the sums over all
replications; leaving out one replication at a time gives its standard error; Student's t with
replications - 1 degrees of freedom gives the interval.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from scenarios import Results, Scenario
from scenarios.arrays import Array
from scenarios.results import Columns, Replications, Rows
from sim.estimates.buffer import buffer_measures, control_cost, pages_ended
from sim.estimates.controls import controls_of
from sim.estimates.end_effects import end_effect_bounds
from sim.estimates.intervals import interval, samples_of
from sim.estimates.pages import age_measures, client_measures, page_measures
from sim.estimates.probing import probing_measures
from sim.estimates.servers import packets_ended, server_measures
from sim.estimates.totals import Totals, Values, single
from sim.tally import Tally

_CONFIDENCE = 0.95

_FEW_SUBJECTS = 64
"""Estimates without each replication are kept of measures with at most so many subjects."""

_ROUNDING = 1e-14
"""Errors below this share of the estimates are those of their last bits."""


def measures_of(totals: Totals, scenario: Scenario) -> Values:
    """Every measure of a scenario as a function of totals; nan where it is undefined."""
    values: Values = {}
    with np.errstate(divide="ignore", invalid="ignore"):
        if scenario.robots is not None:
            robots = totals.own["robots_time"] / totals.own["window"]
            values["mean_active_robots"] = single(robots)
        if "buffer" in totals.parts:
            values |= buffer_measures(totals, scenario)
        if "pages" in totals.parts:
            values |= page_measures(totals, scenario)
        if "ages" in totals.parts:
            values |= age_measures(totals)
        if "clients" in totals.parts:
            values |= client_measures(totals)
        if "servers" in totals.parts:
            values |= server_measures(totals)
        if "probing" in totals.parts:
            values |= probing_measures(totals, scenario)
        if scenario.costs.model_fields_set:
            values["control_cost"] = single(control_cost(values, totals, scenario))
    return values


def t_quantile(probability: float, degrees: int) -> float:
    """Quantile of Student's t distribution."""
    from scipy.special import stdtrit

    return float(stdtrit(degrees, probability))


def jackknife_error(leave_one_out: Array) -> Array:
    """Standard errors from the estimates with one replication left out; nan for a single one.

    Parameters
    ----------
    leave_one_out : ndarray, shape (replications, …)

    Returns
    -------
    ndarray, shape (…)
    """
    count = len(leave_one_out)
    if count < 2:
        return np.full(leave_one_out.shape[1:], math.nan)
    deviations = leave_one_out - leave_one_out.mean(axis=0)
    errors: Array = np.sqrt((count - 1) / count * np.sum(deviations**2, axis=0))
    rounding = _ROUNDING * np.abs(leave_one_out).max(axis=0)
    return np.where(errors < rounding, 0.0, errors)


def estimates_of(totals: Totals, scenario: Scenario, without: Values | None = None) -> Rows:
    """Every measure's estimate, standard error, 95 % interval, end effect and sample.

    Parameters
    ----------
    totals : Totals
    scenario : Scenario
    without : dict, optional
        `measures_of` the totals without each replication, where they are known already.
    """
    together = measures_of(totals.together(), scenario)
    without = measures_of(totals.leave_one_out(), scenario) if without is None else without
    samples = samples_of(totals, scenario, together)
    bounds = end_effect_bounds(totals, scenario)
    count = totals.count
    quantile = t_quantile((1 + _CONFIDENCE) / 2, count - 1) if count > 1 else math.nan
    blocks = []
    for measure, (subjects, (estimate,)) in together.items():
        error = jackknife_error(without[measure][1])
        bound = np.broadcast_to(bounds.get(measure, 0.0), estimate.shape)
        sample = np.broadcast_to(samples.get(measure, 0.0), estimate.shape)
        low, high = interval(measure, estimate, error, sample, quantile)
        values = np.stack([estimate, error, low, high, bound, sample])
        blocks.append(Columns(measure, subjects, values))
    return Rows(blocks)


def _estimates_and_few(totals: Totals, scenario: Scenario) -> tuple[Rows, Values]:
    """The estimates, and those without each replication of measures with few subjects.

    Of many subjects they are gone when this returns: a million pages have no room for them.
    """
    without = measures_of(totals.leave_one_out(), scenario)
    few = {name: found for name, found in without.items() if len(found[0]) <= _FEW_SUBJECTS}
    return estimates_of(totals, scenario, without), few


def results_from(tallies: Sequence[Tally], scenario: Scenario, engine: str, seed: int) -> Results:
    """The results of a run: estimates, and the value of each replication."""
    totals = Totals.of(tallies)
    estimates, few = _estimates_and_few(totals, scenario)
    each = measures_of(totals, scenario)
    return Results(
        scenario=scenario.name,
        engine=engine,
        seed=seed,
        count=len(tallies),
        estimates=estimates,
        replications=Replications([Columns(name, *values) for name, values in each.items()]),
        controls=controls_of(totals, scenario),
        leave_one_out=Replications([Columns(name, *values) for name, values in few.items()]),
        events=_sample(totals),
    )


def _sample(totals: Totals) -> int:
    """Pages that ended; packets at the server that had fewest, of those that had any."""
    if "servers" in totals.parts:
        packets = packets_ended(totals.parts["servers"]).sum(axis=0)
        return int(packets[packets > 0].min(initial=packets.sum()))
    return int(pages_ended(totals.parts["buffer"]).sum()) if "buffer" in totals.parts else 0
