"""From tallies to estimates: ratios of sums over replications, with jackknife standard errors.

Every measure is a function of totals. The estimate is that function of the sums over all
replications; leaving out one replication at a time gives its standard error; Student's t with
replications - 1 degrees of freedom gives the interval.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from scenarios import Scenario
from scenarios.arrays import Array
from scenarios.measures import Subject
from scenarios.results import Columns, Rows
from sim.estimates.end_effects import end_effect_bounds
from sim.estimates.intervals import interval, samples_of
from sim.estimates.measures import left_out_of, measures_of
from sim.estimates.totals import Totals, Values

_ROUNDING = 1e-14
"""Errors below this share of the estimates are those of their last bits."""


def t_quantile(degrees: int) -> float:
    """Standard errors to each side of a 95 % interval, by Student's t; nan without degrees."""
    from scipy.special import stdtrit

    return float(stdtrit(degrees, 0.975)) if degrees > 0 else math.nan


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
    return rounded_errors(errors, np.abs(leave_one_out).max(axis=0))


def rounded_errors(errors: Array, sizes: Array) -> Array:
    """Errors, with 0 in place of those that come from the last bits of numbers of these sizes."""
    return np.where(errors < _ROUNDING * sizes, 0.0, errors)


def _errors(subjects: Sequence[Subject], leave_one_out: Array) -> Array:
    """Those of all subjects; of the whole system with the same bits, whether it has parts or not.

    Of a single column numpy adds in another order than of several.
    """
    if len(subjects) == 1 or subjects[0] is not None:
        return jackknife_error(leave_one_out)
    whole, parts = leave_one_out[:, :1].copy(), leave_one_out[:, 1:]
    return np.append(jackknife_error(whole), jackknife_error(parts))


def estimates_of(totals: Totals, scenario: Scenario, left_out: Values | None = None) -> Rows:
    """Every measure's estimate, standard error, 95 % interval, end effect and sample.

    Parameters
    ----------
    totals : Totals
    scenario : Scenario
    left_out : dict, optional
        `measures_of` the totals with one replication left out, where they are known already.
    """
    together = measures_of(totals.together(), scenario)
    left_out = left_out_of(totals, scenario) if left_out is None else left_out
    samples = samples_of(totals, scenario, together)
    bounds = end_effect_bounds(totals, scenario)
    quantile = t_quantile(totals.count - 1)
    blocks = []
    for measure, (subjects, (estimate,)) in together.items():
        error = _errors(subjects, left_out[measure][1])
        bound = np.broadcast_to(bounds.get(measure, 0.0), estimate.shape)
        sample = np.broadcast_to(samples.get(measure, 0.0), estimate.shape)
        low, high = interval(measure, estimate, error, sample, quantile)
        values = np.stack([estimate, error, low, high, bound, sample])
        blocks.append(Columns(measure, subjects, values))
    return Rows(blocks)
