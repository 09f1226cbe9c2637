"""The best frequencies for the accessing policy of a scenario."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from analytic import page_conditions as conditions
from analytic.formula import Formula
from analytic.optimum import NoOptimumError, Optimum
from analytic.page_refresh.formulas import FORMULAS
from analytic.page_refresh.hosts import (
    hosts_never_wait,
    price_factors,
    shares_within_limits,
)
from analytic.page_refresh.obsolescence import crawl_rates
from analytic.page_refresh.optimum import best_random_shares, best_shares
from analytic.transforms import log_transform, mean_time
from scenarios import Scenario
from scenarios.accessing.index import IndexPolicy
from scenarios.accessing.randomized import Randomized
from scenarios.laws import Deterministic, Distribution
from scenarios.page_data import change_rates, page_weights

_KEY = "robots.accessing.frequencies"
_NO_BOUND = "no bound over all schedules: "
_APPROXIMATE = "found as if one robot made all accesses, at constant intervals of the same mean"
_TIGHT = "of the hosts, {} get all the accesses that they allow"
_MOST_PLANNED = 2**21
"""Accesses of a run up to which they are planned for a cost, one by one: a second or two."""
_NOT_PLANNED = (
    "no cost: it is counted along the {:,} accesses of the run, and more than {:,} are not planned "
    "here; solve or check of the written scenario (--out) gives it"
)
_IDLE = "; robots wait for hosts {:.2g} of the time"


@dataclass(frozen=True, slots=True)
class FrequencySearch:
    """The best frequencies beside what they follow from; all arrays of shape (pages,).

    Attributes
    ----------
    rates, weights : ndarray
        Change rates per unit time, and weights.
    shares : ndarray
        Frequencies, which sum to 1; some can be 0.
    time_unit : str
        Of the change rates.
    alone : ndarray, optional
        Frequencies that another criterion would choose, such as those without a buffer.
    """

    rates: NDArray[Any]
    weights: NDArray[Any]
    shares: NDArray[Any]
    time_unit: str
    alone: NDArray[Any] | None = None


def optimal_frequencies(scenario: Scenario) -> Optimum:
    """The access frequencies that suit the scenario's pages and weights best.

    Under random choices those of coffman1998 (12)-(15), else those of (7), for the law of the time
    from one access to the next; within the limits of hosts where these want a spacing. The cost is
    the weighted obsolescence under the file's own policy, where it has an exact value; the bound
    holds for every schedule.

    Raises
    ------
    NoOptimumError
        If there are no pages, if the policy takes no frequencies, or if the mean time between
        accesses is not known.
    """
    if scenario.pages is None or scenario.robots is None or scenario.robots.accessing is None:
        raise NoOptimumError("there are no [pages]")
    policy = scenario.robots.accessing
    if "frequencies" not in type(policy).model_fields:
        # Through a buffer the frequencies of random choices are the ones with a known optimum.
        other = "deadline" if scenario.buffer is None else "randomized"
        raise NoOptimumError(
            f'policy = "{policy.policy}" takes no frequencies; one that does: '
            f"--set robots.accessing.policy={other}"
        )
    shares, notes = _shares(scenario)
    decided = scenario.with_(_KEY, shares.tolist())
    bound, reason = _bound(scenario)
    cost = _cost(decided)
    return Optimum(
        target="frequencies",
        cost=cost,
        lower_bound=bound,
        decision={"frequencies": shares.tolist()},
        changes={_KEY: shares.tolist()},
        table=list(_alternatives(scenario, cost)),
        notes=[*notes, *_not_planned(scenario), *[f"{_NO_BOUND}{reason}"] * (bound is None)],
        search=FrequencySearch(
            change_rates(scenario.pages), page_weights(scenario.pages), shares, scenario.time_unit
        ),
    )


def index_numbers(scenario: Scenario, policy: IndexPolicy) -> dict[str, list[float]] | None:
    """The `exponents` and `values` of an index policy; None without a mean time per access.

    ``l = -ln E e^{-mu X}`` or ``mu E X``, as the policy asks, of the time X from one access to the
    next, the time for which robots wait included; and ``w = c / mu`` relative to the largest, 0 for
    pages that never change, at hosts that are at their limits divided by the price of their
    accesses (`hosts.price_factors`).
    """
    assert scenario.pages is not None
    law, _ = _pace(scenario)
    if law is None:
        return None
    polite = hosts_never_wait(scenario) is not None
    if polite:
        used = float(shares_within_limits(scenario, law).shares.sum())
        law = Deterministic(value=mean_time(law) / min(used, 1.0)) if used else law
    rates = change_rates(scenario.pages)
    weights = page_weights(scenario.pages)
    exponents = log_transform(law, rates) if policy.uses_transform else rates * mean_time(law)
    values = np.divide(weights, rates, out=np.zeros(len(rates)), where=rates > 0)
    if polite:
        values *= price_factors(scenario, law)
    values /= values.max(initial=0.0) or 1.0
    return {"exponents": exponents.tolist(), "values": values.tolist()}


def _pace(scenario: Scenario) -> tuple[Distribution | None, bool]:
    """As `conditions.pace_of_accesses`, and constant times where accesses wait for hosts."""
    law, approximate = conditions.pace_of_accesses(scenario)
    if law is None or hosts_never_wait(scenario) is None:
        return law, approximate
    return Deterministic(value=mean_time(law)), True


def _shares(scenario: Scenario) -> tuple[NDArray[Any], list[str]]:
    """The frequencies, and what a reader should know of them."""
    assert scenario.pages is not None
    assert scenario.robots is not None
    rates = change_rates(scenario.pages)
    weights = page_weights(scenario.pages)
    law, approximate = _pace(scenario)
    if law is None:
        raise NoOptimumError("the mean time between accesses is not known")
    notes = [_APPROXIMATE] * approximate
    if hosts_never_wait(scenario) is not None:
        return _shares_with_limits(scenario, law, notes)
    randomized = isinstance(scenario.robots.accessing, Randomized)
    find = best_random_shares if randomized else best_shares
    return find(rates, weights, law), notes


def _shares_with_limits(
    scenario: Scenario, law: Distribution, notes: list[str]
) -> tuple[NDArray[Any], list[str]]:
    """The frequencies within the limits of hosts, as shares of the accesses that there are."""
    found = shares_within_limits(scenario, law)
    total = float(found.shares.sum())
    said = _TIGHT.format(int(found.tight.sum()))
    said += _IDLE.format(1.0 - total) if 0 < total < 1 - 1e-9 else ""
    shares = found.shares / total if total else np.full(len(found.shares), 1 / len(found.shares))
    return shares / shares.sum(), [*notes, said]


def _bound(scenario: Scenario) -> tuple[float | None, str]:
    """The bound over all schedules, or the reason why there is none."""
    reasons = []
    for formula in FORMULAS:
        if formula.number in ("Theorem 3.4", "(7)", "(7) in time"):
            reason = formula.reason_against(scenario)
            if reason is None:
                return _weighted(formula, scenario), ""
            reasons.append(reason)
    return None, reasons[0]


def _cost(scenario: Scenario) -> float | None:
    """The exact weighted obsolescence of a scenario, where there is one that does not take long."""
    if _not_planned(scenario):
        return None
    for formula in FORMULAS:
        if formula.kind != "exact" or formula.function is crawl_rates:
            continue  # crawl rates are no cost, but take a whole plan
        if formula.reason_against(scenario) is None:
            return _weighted(formula, scenario)
    return None


def _not_planned(scenario: Scenario) -> list[str]:
    """Why a plan that the formulas would make is too long for a comparison of several."""
    reasons = (conditions.planned_policy(scenario), conditions.one_robot(scenario))
    if any(reasons) or scenario.buffer is not None:
        return []
    slots = conditions.slots_of_run(scenario)[1]
    return [_NOT_PLANNED.format(slots, _MOST_PLANNED)] * (slots > _MOST_PLANNED)


def _weighted(formula: Formula, scenario: Scenario) -> float:
    """The weighted obsolescence that a formula gives, without what it gives of every page."""
    values = formula.evaluate(scenario)
    return next(value for measure, _, value in values if measure == "weighted_obsolescence")


def _alternatives(scenario: Scenario, best: float | None) -> Iterator[dict[str, Any]]:
    """The cost of the words that a file can have, and of the optimum, under the file's policy."""
    assert scenario.pages is not None
    words = ["uniform", "change-rate"] if change_rates(scenario.pages).any() else ["uniform"]
    for word in words:
        yield {"frequencies": word, "cost": _cost(scenario.with_(_KEY, word))}
    yield {"frequencies": "optimal", "cost": best}
