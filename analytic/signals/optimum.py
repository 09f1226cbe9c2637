"""The levels at which pages are best accessed, for the robots of a scenario that hear signals."""

from __future__ import annotations

from typing import Any

import numpy as np

from analytic.index.accesses import accessed_pages, time_per_access
from analytic.index.formula import Kind
from analytic.index.optimum import NoOptimumError, Optimum
from analytic.machinery.active_robots import most_active
from analytic.page_refresh import FrequencySearch, notes_on_unaccessed
from analytic.signals.cycles import cycles_at
from analytic.signals.formulas import FORMULAS, signals_of_pages
from analytic.signals.levels import best_levels
from scenarios import Scenario
from scenarios.arrays import Array
from scenarios.base import LARGEST
from scenarios.model import Listening, present
from scenarios.signals import SignalRates

_HALVINGS = 45
"""Of a level that is made less: 3e-14 of it are left."""

_KEYS = ("robots.accessing.levels", "robots.accessing.budget")


def optimal_signal_levels(scenario: Scenario) -> Optimum:
    """The levels at which the pages are best accessed, and how often each then is.

    Of as many accesses per unit time as the robots can give, or of `accessing.budget`. No policy
    that hears the signals, by whatever levels, comes below the bound; a robot that takes the page
    of the greatest crawl value nears it the more the more pages there are. Where pages fall due at
    levels these are less by what accesses take, and the cost is what a formula says of them.

    Parameters
    ----------
    scenario : Scenario
        Whose robots hear signals.

    Raises
    ------
    NoOptimumError
        If the mean access time is not known.
    """
    time = time_per_access(scenario)
    if not np.isfinite(time):
        raise NoOptimumError("the mean time between accesses is not known")
    accessed, signals = accessed_pages(scenario), signals_of_pages(scenario)
    mu, w = accessed.change_rates, accessed.weights
    budget = getattr(accessed.policy, "budget", None)
    accesses = 1.0 / time if budget is None else min(budget, 1.0 / time)
    best = best_levels(signals, w, accesses)
    bound = float(w @ (1.0 - best.fresh))
    notes = []
    if budget is not None and budget * time > 1.0:
        notes.append(f"the robots can give {1.0 / time:.4g} accesses per unit time, at most")
    cost: float | None = bound
    kind: Kind = "approximation"
    levels, changes = best.levels, {}
    listening = present(scenario.model.hearing).listening
    if listening is Listening.UP_TO_LEVEL:
        levels = _earlier(signals, best.levels, time * most_active(scenario))
        levels[np.isinf(levels) & (best.rates > 0)] = LARGEST  # by signals alone: inf is never
        changes = dict(zip(_KEYS, (levels.tolist(), None), strict=True))
        cost, kind, reason = _worth(scenario.with_(changes))
        notes += [f"no cost: {reason}"] * (cost is None)
    elif listening is Listening.BLINDLY:
        cost = None
        notes.append("no cost: signals that are followed blindly have no formula")
        notes.append(
            f'the bound is {bound:.6g}: "crawl-value" nears it, and "due" takes the levels'
        )
        if scenario.model.unresolved:
            changes = {"robots.accessing.frequencies": _deaf_shares(mu, w, accesses).tolist()}
            notes.append("frequencies are those that are best without signals")
    else:
        notes.append("the cost is that of very many pages: fewer are above it")
    shares = best.rates / max(float(best.rates.sum()), np.finfo(float).tiny)
    return Optimum(
        target="frequencies",
        cost=cost,
        lower_bound=bound,
        decision={"levels": levels.tolist(), "rates": best.rates.tolist()},
        changes=changes,
        table=[{"levels": "optimal", "cost": cost, "accesses per unit time": accesses}],
        notes=[*notes, *notes_on_unaccessed(mu, w, shares, accessed.pages.names)],
        search=FrequencySearch(mu, w, shares, scenario.time_unit),
        measure="weighted_obsolescence",
        kind=kind,
    )


def _deaf_shares(change_rates: Array, weights: Array, accesses: float) -> Array:
    """Shares of the accesses that are best where nothing is heard."""
    none = np.zeros(change_rates.shape)
    rates = best_levels(SignalRates(change_rates, none, none), weights, accesses).rates
    return rates / float(rates.sum())


def _earlier(signals: SignalRates, levels: Array, access: float) -> Array:
    """Levels that are reached earlier, by the mean time of an access, or at once.

    Pages that no age makes due stay as they are. Numbers of signals are rounded up.
    """
    wanted = np.maximum(cycles_at(signals, levels).lengths - access, 0.0)
    finite = np.isfinite(levels)
    low, high = np.zeros(levels.shape), np.where(finite, levels, 0.0)
    for _ in range(_HALVINGS):
        middle = 0.5 * (low + high)
        late = cycles_at(signals, middle).lengths > wanted
        low, high = np.where(late, low, middle), np.where(late, middle, high)
    earlier = np.where(signals.silent > 0, np.where(wanted > 0, high, 0.0), np.ceil(high))
    return np.where(finite, earlier, levels)


def _worth(scenario: Scenario) -> tuple[float | None, Kind, str | None]:
    """The weighted obsolescence that a formula gives, or why none does."""
    formula = FORMULAS[-1]
    reason = formula.reason_against(scenario)
    if reason is not None:
        return None, "exact", reason
    found: dict[Any, float] = {
        name: each for name, page, each in formula.evaluate(scenario) if page is None
    }
    return found["weighted_obsolescence"], "exact", None
