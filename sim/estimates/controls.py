"""Control variates: what a run counted beside its estimates, and whose mean is known.

A replication in which the services happened to be long has more obsolete pages; what it should
have had follows from how much longer they were than their mean. Three numbers of a replication
have a known mean of 0, whatever buffer and robots do:

- deliveries minus their rate times the time of active robots, with exponential access times and
  no waiting for hosts (a martingale: exact from any start);
- indexed pages times the mean service minus the time that the servers were busy: on average they
  index 1 / (mean service) pages per unit of busy time (the identity of talim2001, throughput =
  (1 - starvation) / mean service with one server, for any law; exact in the stationary regime, so
  that it takes a warm-up; not where the page says how long its service takes, whose mean depends on
  the pages that are served);
- obsolete pages minus their rate times the time that pages waited, with exponential timers
  (a martingale again).
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from scenarios import Results, Scenario
from scenarios.arrays import Array
from scenarios.laws import Exponential
from scenarios.results import Columns, Rows
from scenarios.sections import PageSize
from sim import rules
from sim.engine_inputs import exponential_delivery
from sim.estimates.intervals import interval
from sim.estimates.jackknife import jackknife_error, t_quantile
from sim.estimates.totals import Part, Totals
from sim.laws import draws_and_mean

_CONSTANT = 1e-12
"""A control whose spread is below this share of what it is made of does not vary."""

LEAST_REPLICATIONS = 10
"""With fewer the coefficients are not worth estimating, and the estimates stay as they are."""


def controls_of(totals: Totals, scenario: Scenario) -> dict[str, tuple[float, ...]]:
    """The controls of each replication, per unit time, by name.

    None without a buffer, and none where interventions change the rates that they rely on.

    Parameters
    ----------
    totals : Totals
        One entry per replication.
    scenario : Scenario
    """
    if "buffer" not in totals.parts or scenario.interventions:
        return {}
    part = totals.parts["buffer"]
    window = totals.own["window"]
    controls = {}
    for name, counted, expected in _pairs(part, totals, scenario):
        values = (counted - expected) / window
        spread = np.std(values) if len(values) > 1 else np.inf
        if spread > _CONSTANT * np.max(np.abs(expected / window)):
            controls[name] = tuple(values.tolist())
    return controls


def _pairs(part: Part, totals: Totals, scenario: Scenario) -> Iterator[tuple[str, Array, Array]]:
    """Name, what was counted, and what it is on average given the rest."""
    queue = scenario.model.queue
    if queue is None:
        return
    levels = np.arange(part["level_time"].shape[1], dtype=float)
    if (access := exponential_delivery(scenario)) is not None:
        yield "deliveries", part["delivered"], 1 / access * totals.own["robots_time"]
    if (
        queue.gathers is not None
    ):  # levels do not say how many servers work, and how many pages wait
        return
    if scenario.run.warmup > 0 and not isinstance(queue.service, PageSize):
        idle = part["level_time"] @ np.maximum(queue.servers - levels, 0)
        busy = queue.servers * totals.own["window"] - idle
        mean = draws_and_mean(queue.service)[1]
        yield "services", part["ended"][:, rules.SERVED] * mean, busy
    if isinstance(queue.patience, Exponential):
        waiting = part["level_time"] @ np.maximum(levels - queue.servers, 0)
        rate = 1 / draws_and_mean(queue.patience)[1]
        yield "obsolescence", part["ended"][:, rules.OBSOLETE], rate * waiting


def controlled(results: Results) -> Results:
    """The same results with estimates corrected by control variates, and how much that gained.

    The estimate is the intercept of the regression of the jackknife's pseudo-values on the
    controls; its standard error that of the intercept, with replications - controls - 1 degrees of
    freedom. Measures with many subjects, undefined ones and those that do not vary stay as they
    are; so do all with fewer than ten replications.

    Parameters
    ----------
    results : Results

    Returns
    -------
    Results
        With `variance_ratios`: the variance with controls divided by that without, by measure and
        subject.
    """
    design = np.array(list(results.controls.values())).T
    if not results.controls or results.count < LEAST_REPLICATIONS + design.shape[1]:
        return results
    ratios: dict[Any, float] = {}
    blocks = []
    for block in results.rows.blocks:
        values = block.values.copy()
        for column, subject in enumerate(block.subjects):
            without = results.leave_one_out.get((block.measure, subject))
            if without is None:
                break
            corrected = _regressed(float(values[0, column]), np.array(without), design)
            if corrected is not None:
                quantile = t_quantile(corrected.degrees)
                ends = interval(
                    block.measure, corrected.estimate, corrected.error, values[5, column], quantile
                )
                values[:4, column] = corrected.estimate, corrected.error, *ends
                ratios[block.measure, subject] = corrected.variance_ratio
        blocks.append(Columns(block.measure, block.subjects, values))
    return replace(results, estimates=Rows(blocks), variance_ratios=ratios)


class _Regressed(NamedTuple):
    estimate: float
    error: float
    degrees: int
    variance_ratio: float


def _regressed(estimate: float, without: Array, design: Array) -> _Regressed | None:
    """The estimate corrected by regression on the controls; None where nothing can be gained."""
    error = float(jackknife_error(without))
    if not error > 0 or math.isnan(estimate):
        return None
    count = len(design)
    pseudo = count * estimate - (count - 1) * without
    matrix = np.column_stack([np.ones(count), design / design.std(axis=0)])
    coefficients, _, rank, _ = np.linalg.lstsq(matrix, pseudo)
    degrees = count - int(rank)
    residuals = pseudo - matrix @ coefficients
    spread = np.linalg.pinv(matrix.T @ matrix)[0, 0]
    variance = float(residuals @ residuals) / degrees * float(spread)
    return _Regressed(float(coefficients[0]), math.sqrt(variance), degrees, variance / error**2)
