"""The best intervals of pages that fall due, and what they cost."""

from __future__ import annotations

from typing import Any

import numpy as np

from analytic.frontier.formulas import STEADY
from analytic.index.accesses import access_law, accessed_pages, time_per_access
from analytic.index.conditions import never_resting
from analytic.index.formula import Kind
from analytic.index.optimum import NoOptimumError, Optimum
from analytic.machinery.active_robots import most_active
from analytic.machinery.transforms import mean_time
from analytic.page_refresh import (
    FrequencySearch,
    capped_shares,
    in_time_bound,
    notes_on_unaccessed,
)
from analytic.page_refresh.hosts import host_limits
from scenarios import Scenario
from scenarios.arrays import Array
from scenarios.laws import Deterministic
from scenarios.model import present

_ACCESSES = "accesses per unit time"
_KEYS = ("robots.accessing.intervals", "robots.accessing.budget")


def optimal_intervals(scenario: Scenario) -> Optimum:
    """The intervals at which the pages get the best accesses per unit time.

    These are those of coffman1998 (7) in time, of `accessing.budget` accesses per unit time or, by
    default, as many as the robots can give; an interval is what is left of the time between two
    accesses without the access itself, at least 0. Pages that are best never accessed are never
    due. The bound holds for every schedule of so many accesses per unit time.

    Parameters
    ----------
    scenario : Scenario

    Raises
    ------
    NoOptimumError
        If pages do not fall due, or the mean access time is not known.
    """
    if never_resting(scenario) is None:
        raise NoOptimumError("pages do not fall due")
    frontier, accessed = present(scenario.model.frontier), accessed_pages(scenario)
    time = time_per_access(scenario)
    if not np.isfinite(time):
        raise NoOptimumError("the mean time between accesses is not known")
    given = frontier.policy.budget
    pace = time if given is None else max(1.0 / given, time)
    mu, c = accessed.change_rates, accessed.weights
    limits = host_limits(accessed, pace)
    shares = capped_shares(mu, c, Deterministic(value=pace), *limits).shares
    intervals = _intervals(
        shares / max(1.0, float(shares.sum())), pace, time * most_active(scenario)
    )
    changes = {_KEYS[0]: intervals.tolist(), _KEYS[1]: None}
    decided = scenario.with_(changes)
    best, kind = _worth(decided)
    cost = best["cost"]
    notes = ["access times are not exponential: the cost is near"] * (kind == "approximation")
    notes += notes_on_unaccessed(mu, c, shares, present(scenario.model.pages).names)
    if given is not None and 1.0 / given < time:
        notes.append(f"the robots can give {1.0 / time:.4g} accesses per unit time, at most")
    if cost is None:
        notes.append(f"no cost: {_why_none(decided)}")
    return Optimum(
        target="frequencies",
        cost=cost,
        lower_bound=in_time_bound(mu, c, pace, *limits),
        decision={"intervals": intervals.tolist()},
        changes=changes,
        table=[*_as_given(scenario), {"intervals": "optimal", **best}],
        notes=notes,
        search=FrequencySearch(mu, c, shares, scenario.time_unit),
        measure="weighted_obsolescence",
        kind=kind,
    )


def _as_given(scenario: Scenario) -> list[dict[str, Any]]:
    """A row with the worth of the intervals of the file, where it has some."""
    if present(scenario.model.frontier).policy.unresolved:
        return []
    return [{"intervals": "as given", **_worth(scenario)[0]}]


def _intervals(shares: Array, pace: float, access: float) -> Array:
    with np.errstate(divide="ignore"):
        between = np.where(shares > 0, pace / shares, np.inf)
    intervals: Array = np.maximum(between - access, 0.0)
    return intervals


def _worth(scenario: Scenario) -> tuple[dict[str, float | None], Kind]:
    """The weighted obsolescence and the accesses that a formula gives, and whether it is exact."""
    for formula in STEADY:
        if formula.reason_against(scenario) is None:
            found = {name: each for name, page, each in formula.evaluate(scenario) if page is None}
            accesses = found["busy_robots"] / mean_time(present(access_law(scenario)))
            return {"cost": found["weighted_obsolescence"], _ACCESSES: accesses}, formula.kind
    return {"cost": None, _ACCESSES: None}, "exact"


def _why_none(scenario: Scenario) -> str:
    """What stands against the formula that lacks least."""
    return min((present(each.reason_against(scenario)) for each in STEADY), key=len)
