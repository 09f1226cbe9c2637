"""A plan carried out in `sim`, with change times from the posterior."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from scipy import special

import sim
from crawlsim.logs.plan.planning import stale_share, stale_shares
from crawlsim.logs.plan.schedule import Schedule
from scenarios import ScenarioError, scenario_from
from scenarios.errors import MISSING

_POLICY = "deadline"
_MOST_PAGES = 500
_DRAWS = 24
_ACCESSES = 60
_WARMUP = 10
_CONFIDENCE = 0.95


@dataclass(frozen=True)
class SimulatedPlan:
    """The stale share of a plan that one robot carries out, beside what was expected of it.

    Attributes
    ----------
    pages, draws : int
        Pages of the log that were simulated, and posterior draws of their rates, a run each.
    expected, simulated : float
        Mean stale shares over the same draws.
    low, high : float
        95 % interval of the simulated one, given the draws.
    keeps : bool
        Whether the share of these visits of all pages, off by as much as the simulated one, is
        within the interval that was promised.
    """

    pages: int
    draws: int
    expected: float
    simulated: float
    low: float
    high: float
    keeps: bool

    def record(self) -> dict[str, Any]:
        """The entries for JSON."""
        return asdict(self)


def simulated_plan(schedule: Schedule, seed: int = 1) -> SimulatedPlan:
    """The plan carried out by one robot that fetches the page that is due first.

    Parameters
    ----------
    schedule : Schedule
        Of more than 500 pages as many at equal distances in the list are simulated.
    seed : int

    Raises
    ------
    ScenarioError
        If nothing is promised.

    Notes
    -----
    The robot is always busy, each access takes the same time, and a page whose turn coincides with
    another's waits: the plan's equal intervals can only nearly be kept.
    """
    if schedule.asked.hours is not None:
        allowed = "does not go with --active: its robot has no nights"
        raise ScenarioError("--simulate", MISSING, allowed)
    if schedule.expected is None:
        allowed = f"there is no promise to keep: {schedule.no_promise}"
        raise ScenarioError("--simulate", MISSING, allowed)
    number = min(len(schedule.urls), _MOST_PAGES)
    pages = np.linspace(0, len(schedule.urls) - 1, number).astype(np.int64)
    visits = 1 / schedule.intervals[pages]
    unit = number / visits.sum()  # seconds between two visits of a page, on average
    importance = schedule.importance[pages] / schedule.importance[pages].sum()
    expected = []
    simulated = []
    for draw in np.linspace(0, schedule.forecast.draws.shape[1] - 1, _DRAWS).astype(int).tolist():
        rates = schedule.forecast.grid[schedule.forecast.draws[pages, draw]]
        expected.append(float(importance @ stale_share(rates, visits)))
        scenario = scenario_from(
            {
                "name": "plan",
                "pages": {
                    "change_rates": (rates * unit).tolist(),
                    "weights": importance.tolist(),
                },
                "robots": {
                    "available": 1,
                    "access_time": {"deterministic": {"value": 1 / number}},
                    "accessing": {
                        "policy": _POLICY,
                        "frequencies": (visits / visits.sum()).tolist(),
                    },
                },
                "run": {
                    "horizon": float(_WARMUP + _ACCESSES),
                    "warmup": float(_WARMUP),
                    "replications": 1,
                },
            }
        )
        results = sim.run(scenario, seed=seed + draw)
        estimate = next(
            each for each in results.estimates if each.measure == "weighted_obsolescence"
        )
        simulated.append(estimate.estimate)
    off = np.array(simulated) - np.array(expected)
    error = float(off.std(ddof=1) / np.sqrt(_DRAWS))
    half = float(special.stdtrit(_DRAWS - 1, (1 + _CONFIDENCE) / 2)) * error
    mean = float(np.mean(simulated))
    promised = schedule.expected["plan"]
    of_all = stale_shares(schedule.forecast, 1 / schedule.intervals, schedule.importance).mean()
    return SimulatedPlan(
        pages=number,
        draws=_DRAWS,
        expected=float(np.mean(expected)),
        simulated=mean,
        low=mean - half,
        high=mean + half,
        keeps=bool(promised.low <= of_all + off.mean() <= promised.high),
    )
