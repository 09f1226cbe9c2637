"""The best frequencies for the accessing policy of a scenario, and what follows from them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from analytic.index import page_conditions as conditions
from analytic.index.accesses import AccessedPages, accessed_pages, slots_of_long_run
from analytic.index.formula import Formula
from analytic.index.optimum import NoOptimumError, Optimum
from analytic.machinery.transforms import log_transform, mean_time
from analytic.page_refresh.formulas import FORMULAS
from analytic.page_refresh.hosts import host_limits, hosts_never_wait
from analytic.page_refresh.obsolescence import crawl_rates, erlang_two
from analytic.page_refresh.optimum import best_random_shares, best_shares, capped_shares
from scenarios import Scenario
from scenarios.accessing.index import IndexPolicy
from scenarios.accessing.randomized import Randomized
from scenarios.arrays import Array
from scenarios.laws import Deterministic, Distribution
from scenarios.text import shortened, visible

_KEY = "robots.accessing.frequencies"
_APPROXIMATE = "found as if one robot made all accesses, at constant intervals of the same mean"
_MOST_PLANNED = 2**21
"""Accesses of a run up to which they are planned for a cost, one by one: a second or two."""
_NAMED = 8
_LONGEST_NAME = 60
"""Pages named for each reason for which some are never accessed."""


@dataclass(frozen=True, slots=True)
class FrequencySearch:
    """The best frequencies beside what they follow from; all arrays of shape (pages,).

    Parameters
    ----------
    change_rates, weights : ndarray
        Change rates per unit time, and weights.
    shares : ndarray
        Frequencies, which sum to 1; some can be 0.
    time_unit : str
        Of the change rates.
    alone : ndarray, optional
        Frequencies that another criterion would choose, such as those without a buffer.
    """

    change_rates: Array
    weights: Array
    shares: Array
    time_unit: str
    alone: Array | None = None


def optimal_frequencies(scenario: Scenario) -> Optimum:
    """The access frequencies that suit the scenario's pages and weights best.

    Under random choices those of coffman1998 (12)-(15), else those of (7), for the law of the time
    from one access to the next; within the limits of hosts where these want a spacing. The cost is
    the weighted obsolescence under the file's own policy, where it has an exact value; the bound
    holds for every schedule.

    Parameters
    ----------
    scenario : Scenario

    Raises
    ------
    NoOptimumError
        If there are no pages, if the policy takes no frequencies, or if the mean time between
        accesses is not known.
    """
    if scenario.model.pages is None:
        raise NoOptimumError("there are no [pages]")
    accessed = accessed_pages(scenario)
    policy = accessed.policy
    if "frequencies" not in type(policy).model_fields:
        # Through a buffer the frequencies of random choices are the ones with a known optimum.
        other = "deadline" if scenario.buffer is None else "randomized"
        raise NoOptimumError(
            f'policy = "{policy.policy}" takes no frequencies; one that does: '
            f"--set robots.accessing.policy={other}"
        )
    law, approximate = _time_between_accesses(scenario)
    if law is None:
        raise NoOptimumError("the mean time between accesses is not known")
    notes = [_APPROXIMATE] * approximate
    if hosts_never_wait(scenario) is not None:
        limits = host_limits(accessed, mean_time(law))
        capped = capped_shares(accessed.change_rates, accessed.weights, law, *limits)
        total = float(capped.shares.sum())
        shares = (
            capped.shares / total if total else np.full(len(capped.shares), 1 / len(capped.shares))
        )
        shares = shares / shares.sum()
        said = f"of the hosts, {int(capped.tight.sum())} get all the accesses that they allow"
        if 0 < total < 1 - 1e-9:
            said += f"; robots wait for hosts {1.0 - total:.2g} of the time"
        notes.append(said)
    else:
        find = best_random_shares if isinstance(policy, Randomized) else best_shares
        shares = find(accessed.change_rates, accessed.weights, law)
    bound, reason = _bound(scenario)
    decision = shares.tolist()
    decided = scenario.with_(_KEY, decision)
    if not_planned := _not_planned(decided):
        notes.append(not_planned)
    if bound is None:
        notes.append(f"no bound over all schedules: {reason}")
    cost = _cost(decided)
    words = ["uniform", "change-rate"] if accessed.change_rates.any() else ["uniform"]
    table = [{"frequencies": word, "cost": _cost(scenario.with_(_KEY, word))} for word in words]
    return Optimum(
        target="frequencies",
        cost=cost,
        lower_bound=bound,
        decision={"frequencies": decision},
        changes={_KEY: decision},
        table=[*table, {"frequencies": "optimal", "cost": cost}],
        notes=notes,
        search=FrequencySearch(accessed.change_rates, accessed.weights, shares, scenario.time_unit),
        measure="weighted_obsolescence",
        kind="approximation" if approximate else "exact",
    )


def _time_between_accesses(scenario: Scenario) -> tuple[Distribution | None, bool]:
    """As `pace_of_accesses`, and constant times where accesses wait for hosts."""
    law, approximate = conditions.pace_of_accesses(scenario)
    if law is None or hosts_never_wait(scenario) is None:
        return law, approximate
    return Deterministic(value=mean_time(law)), True


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
    if _not_planned(scenario) is not None:
        return None
    for formula in FORMULAS:
        if formula.kind != "exact" or formula.function is crawl_rates:
            continue  # crawl rates cost nothing, but take a whole plan
        if formula.reason_against(scenario) is None:
            return _weighted(formula, scenario)
    return None


def _not_planned(scenario: Scenario) -> str | None:
    """Why a plan that the formulas would make is too long for a comparison of several."""
    reasons = (conditions.planned_policy(scenario), conditions.one_robot(scenario))
    if any(reasons) or scenario.buffer is not None:
        return None
    slots = slots_of_long_run(scenario)
    if slots <= _MOST_PLANNED:
        return None
    return (
        f"no cost: it is counted along {slots:,} accesses of the long run, and more than "
        f"{_MOST_PLANNED:,} are not planned here; solve or check of the written scenario (--out) "
        "gives it"
    )


def _weighted(formula: Formula, scenario: Scenario) -> float:
    """The weighted obsolescence that a formula gives, without what it gives of every page."""
    values = formula.evaluate(scenario)
    return next(value for measure, _, value in values if measure == "weighted_obsolescence")


def index_numbers(scenario: Scenario, policy: IndexPolicy) -> dict[str, list[float]] | None:
    """The `exponents` and `values` of an index policy; None without a mean time per access.

    ``l = -ln E e^{-mu X}`` or ``mu E X``, as the policy asks, of the time X from one access to the
    next, the time for which robots wait included; and ``w = c / mu`` relative to the largest, 0 for
    pages that never change, at hosts that are at their limits divided by the price of their
    accesses.

    Parameters
    ----------
    scenario : Scenario
    policy : IndexPolicy
        Whittle or crawl-value.
    """
    accessed = accessed_pages(scenario)
    rates = accessed.change_rates
    law, _ = _time_between_accesses(scenario)
    if law is None:
        return None
    values = np.divide(accessed.weights, rates, out=np.zeros(len(rates)), where=rates > 0)
    if hosts_never_wait(scenario) is not None:
        limits = host_limits(accessed, mean_time(law))
        used = float(capped_shares(rates, accessed.weights, law, *limits).shares.sum())
        law = Deterministic(value=mean_time(law) / min(used, 1.0)) if used else law
        values *= _price_factors(accessed, law)
    exponents = log_transform(law, rates) if policy.uses_transform else rates * mean_time(law)
    values /= values.max(initial=0.0) or 1.0
    return {"exponents": exponents.tolist(), "values": values.tolist()}


def _price_factors(accessed: AccessedPages, law: Distribution) -> Array:
    """What the values of an index are to be multiplied by, for each page.

    An access to a page of a tight host has to be worth more than elsewhere: the price of an access,
    ``w P(2, l / x)`` for any page of the host that is accessed, over that of all hosts with room.
    Divided by it, an index asks for each host's limit and no more.
    """
    host, cap = host_limits(accessed, mean_time(law))
    rates = accessed.change_rates
    shares, tight = capped_shares(rates, accessed.weights, law, host, cap)
    price = np.zeros(len(rates))
    some = shares > 0
    with np.errstate(divide="ignore"):
        worth = accessed.weights[some] / rates[some]
    price[some] = worth * erlang_two(log_transform(law, rates[some]) / shares[some])
    at_host = np.zeros(len(cap))
    np.maximum.at(at_host, host, price)
    elsewhere = at_host[~tight & (at_host > 0)]
    least = elsewhere.max() if len(elsewhere) else at_host[at_host > 0].min(initial=np.inf)
    if not 0 < least < np.inf:
        return np.ones(len(rates))
    at_host[~tight] = least
    factor: Array = np.where(at_host > 0, least / np.where(at_host > 0, at_host, 1.0), 1.0)[host]
    return np.minimum(factor, 1.0)


def notes_on_unaccessed(
    change_rates: ArrayLike,
    weights: ArrayLike,
    shares: ArrayLike,
    names: Sequence[str] | None = None,
) -> list[str]:
    """Which pages have the frequency 0, one sentence for each reason.

    Parameters
    ----------
    change_rates, weights, shares : array_like, shape (pages,)
        Change rates mu, weights c, and frequencies, of which the best are 0 where ``c / mu`` is
        too small beside that of other pages (coffman1998, section 3).
    names : sequence of str, optional
        What the pages are called; by default their numbers.
    """
    mu = np.asarray(change_rates, dtype=float)
    c = np.asarray(weights, dtype=float)
    idle = np.asarray(shares, dtype=float) == 0
    reasons = {
        "change rate 0: a copy is never out of date": idle & (mu == 0),
        "weight 0: a copy that is out of date costs nothing": idle & (mu > 0) & (c == 0),
        "too many changes for the weight: an access gains more at another page": (
            idle & (mu > 0) & (c > 0)
        ),
    }
    notes = []
    for reason, chosen in reasons.items():
        if chosen.any():
            pages = np.flatnonzero(chosen).tolist()
            few = pages[:_NAMED]
            called = map(str, few) if names is None else (_called(names[page]) for page in few)
            first = ", ".join(called) + ", …" * (len(pages) > _NAMED)
            counted = " (counted from 0)" * (names is None)
            are = "is" if len(pages) == 1 else "are"
            notes.append(
                f"{len(pages)} of {len(chosen)} pages {are} never accessed: "
                f"{first}{counted}; {reason}"
            )
    return notes


def _called(name: str) -> str:
    return visible(shortened(name, _LONGEST_NAME))
