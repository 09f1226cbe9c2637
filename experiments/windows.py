"""Train and test: rates fitted to one window plan the probes, the next window says what they cost.

The expected cost of eckstein2005 (5) is a promise of the fitted rate. Here the updates that really
came after the fit are made to wait for the probes that were planned without them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import special

from analytic.index.targets import TARGETS, resolve
from analytic.probing import Profile, expected_cost, probe_times
from crawlsim.logs.fit.source_changes import equal_breaks, periodic_intensity
from scenarios import Scenario, scenario_from
from scenarios.arrays import Array

__all__ = ["Paid", "Plan", "TrainAndTest", "train_and_test"]


class Plan(NamedTuple):
    """How to train and to test; times in the unit of the trace.

    Attributes
    ----------
    train : float
        Length of the window that is fitted.
    horizon : float
        Length of the window that is planned and paid, a multiple of `period`.
    probes : int
    period : float
        Of the rate.
    pieces : int
        Equal pieces of the period in which the rate is constant.
    """

    train: float
    horizon: float
    probes: int
    period: float
    pieces: int


class Paid(NamedTuple):
    """What a policy cost over all windows.

    Attributes
    ----------
    policy : str
    promised : float
        Mean expected cost by the rates of the training windows.
    paid, error : float
        Mean actual cost per window, and its standard error over windows.
    less, less_error : float
        How much less than uniform probes, as a share of their cost, and its standard error.
    low, high : float
        95 % interval of that share, by Student's t.
    """

    policy: str
    promised: float
    paid: float
    error: float
    less: float
    less_error: float
    low: float
    high: float


@dataclass(frozen=True)
class TrainAndTest:
    """Costs of each policy in each test window.

    Attributes
    ----------
    starts : ndarray, shape (windows,)
        Where the test windows begin.
    promised, paid : mapping of str to ndarray, shape (windows,)
        Expected and actual costs by policy.
    updates : ndarray of int, shape (windows,)
        Updates in each test window.
    """

    starts: Array
    promised: Mapping[str, Array]
    paid: Mapping[str, Array]
    updates: NDArray[np.int64]

    def table(self) -> list[Paid]:
        """One row per policy, with error bars over windows."""
        uniform = self.paid["uniform"]
        return [self._row(policy, costs, uniform) for policy, costs in self.paid.items()]

    def _row(self, policy: str, costs: Array, uniform: Array) -> Paid:
        """Share saved: a ratio of sums, its error by the residuals of the windows."""
        number = len(costs)
        ratio = costs.sum() / uniform.sum()
        residuals = costs - ratio * uniform
        error = float(np.sqrt((residuals**2).sum() * number / (number - 1)) / uniform.sum())
        reach = float(special.stdtrit(number - 1, 0.975)) * error
        return Paid(
            policy,
            float(self.promised[policy].mean()),
            float(costs.mean()),
            float(costs.std(ddof=1) / np.sqrt(number)),
            float(1 - ratio),
            error,
            float(1 - ratio - reach),
            float(1 - ratio + reach),
        )


def train_and_test(times: Array, plan: Plan) -> TrainAndTest:
    """Fit, plan and pay, window after window.

    Parameters
    ----------
    times : ndarray
        Distinct times of updates, increasing.
    plan : Plan

    Raises
    ------
    ValueError
        If there is no room for two test windows, or the plan is not one.
    """
    periods = plan.horizon / plan.period
    if round(periods) < 1 or abs(periods - round(periods)) > 1e-9:
        raise ValueError(f"the horizon must be a multiple of the period {plan.period:g}")
    first = np.ceil((times[0] + plan.train) / plan.period) * plan.period
    starts = np.arange(first, times[-1] - plan.horizon, plan.horizon)
    kept = [start for start in starts if len(_between(times, start - plan.train, start))]
    if len(kept) < 2:
        raise ValueError("the trace is too short for two test windows after the first training")
    rows = [_window(times, float(start), plan) for start in kept]
    policies = list(rows[0][0])
    promised, paid, updates = zip(*rows, strict=True)
    return TrainAndTest(
        np.array(kept),
        {policy: np.array([row[policy] for row in promised]) for policy in policies},
        {policy: np.array([row[policy] for row in paid]) for policy in policies},
        np.array(updates),
    )


def _between(times: Array, start: float, end: float) -> Array:
    """The times in (start, end]."""
    first, last = np.searchsorted(times, [start, end], "right")
    return times[first:last]


def _window(
    times: Array, start: float, plan: Plan
) -> tuple[dict[str, float], dict[str, float], int]:
    """Promised and paid costs of each policy in one test window, and its updates."""
    scenario = _scenario(_between(times, start - plan.train, start), start, plan)
    assert scenario.source is not None
    profile = Profile(scenario.source.updates, scenario.source.importance, plan.horizon)
    updates = _between(times, start, start + plan.horizon) - start
    updates = updates[(updates > 0) & (updates < plan.horizon)]
    promised = {}
    paid = {}
    for policy, probes in _schedules(scenario, plan).items():
        following = np.array(probes)[np.searchsorted(probes, updates, "left")]
        promised[policy] = expected_cost(profile, probes)
        paid[policy] = float(profile.between(updates, following).importance.sum())
    return promised, paid, len(updates)


def _scenario(seen: Array, start: float, plan: Plan) -> Scenario:
    """The source with the rate of the training window; every unit of waiting costs one."""
    breaks = equal_breaks(plan.pieces, plan.period)
    found = periodic_intensity(seen, breaks, plan.period, (start - plan.train, start))
    updates: dict[str, Any] = {
        "breaks": breaks.tolist(),
        "values": found.values.tolist(),
        "period": plan.period,
    }
    importance = {"breaks": [0.0], "values": [1.0], "period": plan.period}
    probing = {"horizon": plan.horizon, "probes": plan.probes, "policy": "uniform"}
    source = {"updates": updates, "importance": importance}
    return scenario_from({"name": "window", "source": source, "probing": probing})


def _schedules(scenario: Scenario, plan: Plan) -> dict[str, Sequence[float]]:
    """Probe times by each policy; the optimal ones where this version has a solver for them."""
    found: dict[str, Sequence[float]] = {
        policy: probe_times(scenario.with_("probing.policy", policy))
        for policy in ("uniform", "first-arrival", "threshold")
    }
    if "probes" in TARGETS:
        slots = max(plan.probes, round(plan.horizon / plan.period * max(plan.pieces, 168)))
        wanted = {"probing.policy": "optimal", "probing.slots": slots}
        found["optimal"] = probe_times(resolve(scenario.with_(wanted)))
    return found
