"""From tallies to estimates: ratios of sums over replications, with jackknife standard errors.

Every measure is a function of totals. The estimate is that function of the sums over all
replications; leaving out one replication at a time gives its standard error; Student's t with
replications - 1 degrees of freedom gives the interval.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from scenarios import Estimate, Results, Scenario
from scenarios.measures import Subject
from sim import rules
from sim.tally import Tally

__all__ = ["Totals", "estimates_of", "jackknife_error", "results_from", "t_quantile"]

Array = NDArray[np.floating[Any]]
Values = dict[tuple[str, Subject], Array]

_CONFIDENCE = 0.95
_CLASSES: dict[str, tuple[int, ...]] = {
    "served": (rules.SERVED,),
    "obsolete": (rules.OBSOLETE,),
    "accepted": (rules.SERVED, rules.OBSOLETE, rules.PUSHED_OUT, rules.REPLACED),
}


@dataclass(frozen=True, slots=True)
class Totals:
    """Counts and integrals, one entry per replication (or per sum over replications).

    Shapes: (n,) for `window`, `delivered`, `refused`, `robots_time`; (n, fates) for `ended`,
    `sojourn`, `sojourn_square`; (n, levels) for `level_time`.
    """

    window: Array
    delivered: Array
    refused: Array
    robots_time: Array
    ended: Array
    sojourn: Array
    sojourn_square: Array
    level_time: Array

    @classmethod
    def of(cls, tallies: Sequence[Tally]) -> Totals:
        """The tallies of all replications."""
        parts = [tally.buffer for tally in tallies]
        return cls(
            window=np.array([tally.window for tally in tallies]),
            delivered=np.array([part.delivered for part in parts], dtype=float),
            refused=np.array([part.refused for part in parts], dtype=float),
            robots_time=np.array([tally.robots_time for tally in tallies]),
            ended=np.array([part.ended for part in parts], dtype=float),
            sojourn=np.array([part.sojourn for part in parts]),
            sojourn_square=np.array([part.sojourn_square for part in parts]),
            level_time=np.array([part.level_time for part in parts]),
        )

    def together(self) -> Totals:
        """The sum over all replications, as one entry."""
        return Totals(*(values.sum(axis=0, keepdims=True) for values in self._fields()))

    def without_each(self) -> Totals:
        """The sums over all replications but one, one entry for each left out."""
        return Totals(*(values.sum(axis=0) - values for values in self._fields()))

    def _fields(self) -> list[Array]:
        return [getattr(self, name) for name in self.__slots__]


def measures_of(totals: Totals, scenario: Scenario) -> Values:
    """Every measure of a buffer scenario as a function of totals; nan where it is undefined."""
    with np.errstate(divide="ignore", invalid="ignore"):
        values = _rates(totals) | _shares(totals, scenario) | _time_averages(totals)
        values |= _sojourns(totals, scenario)
        if scenario.costs.model_fields_set:
            values["control_cost", None] = _control_cost(values, totals, scenario)
    return values


def _lost(totals: Totals) -> Array:
    return totals.refused + totals.ended[:, rules.PUSHED_OUT]


def _rates(totals: Totals) -> Values:
    return {
        ("arrival_rate", None): totals.delivered / totals.window,
        ("loss_rate", None): _lost(totals) / totals.window,
        ("throughput", None): totals.ended[:, rules.SERVED] / totals.window,
    }


def _shares(totals: Totals, scenario: Scenario) -> Values:
    """Shares of the four fates among the pages that ended in the window."""
    fates = totals.refused + totals.ended.sum(axis=1)
    counts = {
        "loss_probability": _lost(totals),
        "obsolescence_probability": totals.ended[:, rules.OBSOLETE],
        "success_probability": totals.ended[:, rules.SERVED],
    }
    if scenario.buffer and scenario.buffer.replace_older_copy:
        counts["replacement_probability"] = totals.ended[:, rules.REPLACED]
    return {(name, None): count / fates for name, count in counts.items()}


def _time_averages(totals: Totals) -> Values:
    levels = totals.level_time.shape[1]
    shares = totals.level_time / totals.window[:, None]
    values: Values = {
        ("starvation_probability", None): shares[:, 0],
        ("mean_active_robots", None): totals.robots_time / totals.window,
        ("mean_in_system", None): shares @ np.arange(levels, dtype=float),
    }
    return values | {("level_probability", level): shares[:, level] for level in range(levels)}


def _sojourns(totals: Totals, scenario: Scenario) -> Values:
    never = scenario.buffer is not None and scenario.buffer.obsolescence == "never"
    names = [name for name in _CLASSES if not (never and name == "obsolete")]
    values: Values = {}
    for measure, sums in (
        ("sojourn_time", totals.sojourn),
        ("sojourn_time_second_moment", totals.sojourn_square),
    ):
        for name in names:
            fates = list(_CLASSES[name])
            values[measure, name] = sums[:, fates].sum(1) / totals.ended[:, fates].sum(1)
        pages = totals.ended.sum(axis=1) + totals.refused
        values[measure, "all"] = sums.sum(axis=1) / pages
    return values


def _control_cost(values: Values, totals: Totals, scenario: Scenario) -> Array:
    """Prices times measures; a price of 0 leaves its measure out, defined or not."""
    obsolete_rate = totals.ended[:, rules.OBSOLETE] / totals.window
    terms = {
        "loss": values["loss_rate", None],
        "obsolescence": obsolete_rate,
        "starvation": values["starvation_probability", None],
        "response": values["sojourn_time", "served"],
        "robots": values["mean_active_robots", None],
    }
    prices = {name: getattr(scenario.costs, name) for name in terms}
    cost = np.zeros(len(totals.window))
    for name, value in terms.items():
        if prices[name]:
            cost = cost + prices[name] * value
    return cost


def t_quantile(probability: float, degrees: int) -> float:
    """Quantile of Student's t distribution."""
    from scipy.special import stdtrit

    return float(stdtrit(degrees, probability))


def jackknife_error(without_each: Array) -> float:
    """Standard error from the estimates with one replication left out; nan for a single one.

    Parameters
    ----------
    without_each : ndarray, shape (replications,)
    """
    count = len(without_each)
    if count < 2:
        return math.nan
    deviations = without_each - without_each.mean()
    return float(np.sqrt((count - 1) / count * np.sum(deviations**2)))


def estimates_of(totals: Totals, scenario: Scenario) -> tuple[Estimate, ...]:
    """Estimate, standard error and 95 % interval of every measure."""
    together = measures_of(totals.together(), scenario)
    without = measures_of(totals.without_each(), scenario)
    count = len(totals.window)
    quantile = t_quantile((1 + _CONFIDENCE) / 2, count - 1) if count > 1 else math.nan
    rows = []
    for (measure, subject), value in together.items():
        estimate = float(value[0])
        error = jackknife_error(without[measure, subject])
        half = quantile * error
        rows.append(Estimate(measure, subject, estimate, error, estimate - half, estimate + half))
    return tuple(rows)


def results_from(tallies: Sequence[Tally], scenario: Scenario, engine: str, seed: int) -> Results:
    """The results of a run: estimates, and the value of each replication."""
    totals = Totals.of(tallies)
    each = measures_of(totals, scenario)
    ended = totals.refused.sum() + totals.ended.sum()
    return Results(
        scenario=scenario.name,
        engine=engine,
        seed=seed,
        count=len(tallies),
        estimates=estimates_of(totals, scenario),
        replications={key: _plain(values) for key, values in each.items()},
        events=int(ended),
    )


def _plain(values: Any) -> tuple[float, ...]:
    return tuple(float(value) for value in values)
