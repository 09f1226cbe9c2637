"""The best frequencies of random choices for pages that go through the buffer."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from analytic.index import page_conditions
from analytic.index.accesses import accessed_pages
from analytic.index.conditions import discipline_of
from analytic.index.formula import Formula
from analytic.index.optimum import NoOptimumError, Optimum
from analytic.machinery.progress import Progress
from analytic.page_refresh import (
    FrequencySearch,
    best_random_shares,
    notes_on_unaccessed,
    optimal_frequencies,
)
from analytic.page_refresh.hosts import hosts_never_wait
from analytic.pipeline import conditions as own
from analytic.pipeline.approximations import MATCHED, approximation_of, with_phases
from analytic.pipeline.costs import APPROXIMATE_COST, COST, more_than, queue_cost, said_more
from analytic.pipeline.exact_methods import exact_method, nearest_reason
from analytic.pipeline.random_pages import (
    Delays,
    PageQueue,
    Slopes,
    SlopesOf,
    obsolescence_rates,
    queue_of_pages,
)
from scenarios import Scenario
from scenarios.arrays import Array
from scenarios.laws import Distribution, Exponential
from scenarios.model import present

_KEY = "robots.accessing.frequencies"
_ALONE = "best without a buffer"
_PROVED = 1e-9
"""Certified gaps, relative to the cost, from which on frequencies are not called the best."""
_ROUNDS = 200
_GAP = 1e-12
"""What the certified gap may be, relative to the cost."""
_TINY = float(np.finfo(float).tiny)


class BestShares(NamedTuple):
    """The best shares, their weighted obsolescence, and a bound below that of all shares."""

    shares: Array
    cost: float
    lower_bound: float


def least_shares(
    slopes: SlopesOf, changes: Array, weights: Array, start: Array | None = None
) -> BestShares:
    """The shares with the least ``sum c r(f)``, each r convex and decreasing in its own share.

    Parameters
    ----------
    slopes : callable
        From change rates and shares to `Slopes`, of any pages.
    changes, weights : ndarray, shape (pages,)
        Change rates mu and weights c, >= 0.
    start : ndarray, shape (pages,), optional
        Shares to begin with; uniform ones otherwise.

    Notes
    -----
    The tangents at any f bound the cost of all shares from below, by ``max g - f g`` with the gains
    ``g = -c r'``. Each round solves the problem with hyperbolas in place of the r, which have their
    slopes and curvatures: ``-c r' = a / (b + f)²``, so that ``f = sqrt(a / multiplier) - b`` or 0.
    Without a buffer they are exact (coffman1998, Lemma 4.1 with exponential accesses). A page gets
    nothing iff its slope at 0 is not above the multiplier.
    """
    matters = (changes > 0) & (weights > 0)
    shares = np.full(len(changes), 1.0 / len(changes)) if start is None else start
    if not matters.any():
        cost = float(weights @ slopes(changes, shares).rates)
        return BestShares(shares, cost, cost)
    shares = np.where(matters, shares, 0.0)
    shares /= shares.sum()

    def evaluated(given: Array) -> _Point:
        rates, first, second = slopes(changes[matters], given)
        c = weights[matters]
        return _Point(given, float(c @ rates), -c * first, c * second)

    best = evaluated(shares[matters])
    for _ in range(_ROUNDS):
        if best.gap <= _GAP * best.cost:
            break
        better = _improved(best, evaluated)
        if better is None:
            break
        best = better
    shares[matters] = best.shares
    return BestShares(shares, best.cost, max(best.cost - best.gap, 0.0))


class _Point(NamedTuple):
    """Shares, their cost, and what a little more of each would gain, to second order."""

    shares: Array
    cost: float
    gains: Array
    curvatures: Array

    @property
    def gap(self) -> float:
        """How far below the cost that of the best shares can be."""
        return max(float(self.gains.max() - self.shares @ self.gains), 0.0)


def _improved(point: _Point, evaluated: Callable[[Array], _Point]) -> _Point | None:
    """A better point on the way to the optimum of the hyperbolas, or None."""
    target = _of_hyperbolas(point)
    step = 1.0
    while step > 1e-6:
        following = evaluated(point.shares + step * (target - point.shares))
        if following.cost < point.cost or following.gap < point.gap:
            return following
        step /= 2.0
    return None


def _of_hyperbolas(point: _Point) -> Array:
    """``f = sqrt(a / multiplier) - b``, at least 0, that sum to 1."""
    gains = np.maximum(point.gains, _TINY)
    reach = 2.0 * gains / np.maximum(point.curvatures, _TINY)
    root = np.sqrt(gains) * reach
    offset = reach - point.shares
    order = np.argsort(-root / np.maximum(offset, _TINY), kind="stable")
    sums = np.cumsum(root[order])
    offsets = np.cumsum(offset[order])
    scales = (1.0 + offsets) / sums
    active = np.flatnonzero(root[order] * scales > offset[order])
    scale = scales[active[-1]] if len(active) else scales[0]
    shares = np.maximum(root * scale - offset, 0.0)
    return shares / shares.sum()


def discounted_shares(queue: PageQueue, changes: ArrayLike, weights: ArrayLike) -> Array:
    """Frequencies of the problem without a buffer, with weights for the delay in it.

    Parameters
    ----------
    queue : PageQueue
    changes, weights : array_like, shape (pages,)
        Change rates mu and weights c, >= 0.

    Notes
    -----
    To first order the end-to-end problem is that of coffman1998 with weights ``c E exp(-mu W)``, W
    the sojourn of a page that enters, and as many deliveries as enter.
    """
    mu = np.asarray(changes, dtype=float)
    c = np.asarray(weights, dtype=float)
    entering = queue.stationary * queue.entering
    stale = sum(
        Delays(queue.service, mu).stale(queue.level, queue.phase, ahead) @ rates
        for ahead, rates in enumerate(np.cumsum(entering[::-1], axis=0)[::-1])
    )
    rate = float(np.arange(1, len(entering) + 1) @ entering.sum(axis=1))
    return best_random_shares(mu, c * (1.0 - stale / rate), Exponential(rate=rate))


def slopes_of(scenario: Scenario) -> SlopesOf | None:
    """Obsolescence rates as functions of shares, where each depends on the page's own share only.

    None where pages are not drawn at random, where copies are dropped or replaced because of what
    other pages do, and where no exact method covers the scenario.
    """
    method = exact_method(scenario)
    return None if method is None else method.freshness(scenario).slopes


def end_to_end_frequencies(scenario: Scenario) -> Optimum:
    """The best frequencies end to end, what others cost, and which pages are never fetched.

    In the units of the file's prices where it prices staleness, and with what else they make the
    system cost; otherwise the weighted obsolescence. Where the obsolescence of a page depends on
    the frequencies of others (page-change dropping, replacement, pages in a period) no optimum is
    known: then those of `optimal_frequencies`, as if there were no buffer, under that name, with
    what they cost through it.

    Raises
    ------
    NoOptimumError
        As `optimal_frequencies`.
    """
    uniform = _with_uniform(scenario)
    slopes = slopes_of(uniform) if uniform is not None else None
    if uniform is None:
        best = optimal_frequencies(scenario)
    elif slopes is None:
        best = _as_without_buffer(scenario)
    else:
        best = _best_end_to_end(uniform, slopes)
    unaccessed = _unaccessed(scenario, best.search)
    return replace(best, notes=[*best.notes, *unaccessed])


def approximate_frequencies(scenario: Scenario) -> Optimum:
    """The frequencies that are best end to end for the moment match that `solve` shows.

    Raises
    ------
    NoOptimumError
        If it shows none, or its best frequencies are not known either.
    """
    uniform = _with_uniform(scenario)
    row = approximation_of(uniform) if uniform is not None else None
    slopes = slopes_of(with_phases(uniform)) if uniform is not None and row is MATCHED else None
    if uniform is None or slopes is None:
        raise NoOptimumError("no approximation of its staleness has known best frequencies")
    best = _best_end_to_end(uniform, slopes, APPROXIMATE_COST)
    unaccessed = _unaccessed(scenario, best.search)
    note = f"no exact answer: {_why_none(scenario)}; instead all below is of its moment match"
    return replace(best, notes=[note, *best.notes, *unaccessed])


def _unaccessed(scenario: Scenario, search: FrequencySearch) -> list[str]:
    """Notes on the pages that are never accessed, by their names."""
    names = present(scenario.model.pages).names
    return notes_on_unaccessed(search.change_rates, search.weights, search.shares, names)


def _with_uniform(scenario: Scenario) -> Scenario | None:
    """The scenario with uniform random choices, or None where it has no frequencies."""
    policy = scenario.model.accessing
    if scenario.buffer is None or policy is None or "frequencies" not in type(policy).model_fields:
        return None
    return scenario.with_(_KEY, "uniform")


def _best_end_to_end(uniform: Scenario, slopes: SlopesOf, row: Formula = COST) -> Optimum:
    """The best frequencies by some slopes; the row says what they cost with all prices."""
    pages = accessed_pages(uniform)
    mu = pages.change_rates
    c = pages.weights
    progress = Progress(f"{uniform.name}: frequencies, rounds of the search")

    def followed(changes: Array, shares: Array) -> Slopes:
        values = slopes(changes, shares)
        progress.step()
        return values

    best = least_shares(followed, mu, c)
    given = _compared(uniform, best)
    price = _units(uniform, row)
    costs = {name: price.cost(float(c @ slopes(mu, each).rates)) for name, each in given.items()}
    cost = costs["optimal"]
    bound = price.cost(best.lower_bound)
    gap = 100.0 * max(cost - bound, 0.0) / bound if bound else 0.0
    notes = [
        f"no frequencies of random choices cost less than {bound:.10g}",
        f"certified gap {gap:.1g} %",
        "more: per cent above the optimum",
    ]
    if _ALONE in costs:
        notes.append(f"{_ALONE} (coffman1998): {said_more(costs[_ALONE], cost)}")
    return Optimum(
        target="frequencies",
        cost=cost,
        decision={"frequencies": best.shares.tolist()},
        changes={_KEY: best.shares.tolist()},
        table=_rows(costs, cost),
        notes=[*notes, *price.notes],
        search=FrequencySearch(mu, c, best.shares, uniform.time_unit, given.get(_ALONE)),
        measure=price.measure,
        proved=gap <= 100.0 * _PROVED,
        gap=gap,
    )


class _Units(NamedTuple):
    """What a weighted obsolescence costs: the file's prices, or itself where it has none."""

    price: float
    others: float
    measure: str
    notes: tuple[str, ...]

    def cost(self, weighted: float) -> float:
        """Of a weighted obsolescence, with what the queue costs whatever the frequencies."""
        return self.others + self.price * weighted


def _units(scenario: Scenario, row: Formula = COST) -> _Units:
    plain = "weighted_obsolescence"
    if not scenario.prices.staleness:
        return _Units(1.0, 0.0, plain, ())
    reason = row.reason_against(scenario)
    if reason is not None:
        said = f"without the other prices, whose cost does not depend on frequencies: {reason}"
        return _Units(1.0, 0.0, plain, (said,))
    return _Units(scenario.prices.staleness, queue_cost(scenario), "control_cost", ())


def _rows(costs: Mapping[str, float | None], best: float | None) -> list[dict[str, Any]]:
    return [
        {"frequencies": name, "cost": cost, "more": more_than(cost, best)}
        for name, cost in costs.items()
    ]


def _compared(uniform: Scenario, best: BestShares) -> dict[str, Array]:
    """The words that a file can have, the papers' frequencies, and the best."""
    pages = accessed_pages(uniform)
    mu = pages.change_rates
    c = pages.weights
    rows = _words(mu)
    law = own.law_without_buffer(uniform)
    if law is not None:
        rows[_ALONE] = best_random_shares(mu, c, law)
    method = exact_method(uniform)
    if method is not None and method.function is obsolescence_rates:
        queue = queue_of_pages(uniform)
        if queue.entering.any():
            rows["the same, discounted weights"] = discounted_shares(queue, mu, c)
    rows["optimal"] = best.shares
    return rows


def _words(mu: Array) -> dict[str, Array]:
    rows = {"uniform": np.full(len(mu), 1.0 / len(mu))}
    if mu.any():
        rows["change-rate"] = mu / mu.sum()
    return rows


def _as_without_buffer(scenario: Scenario) -> Optimum:
    """The frequencies that are best without a buffer, by that name, and their cost through it."""
    alone = optimal_frequencies(scenario)
    pages = accessed_pages(scenario)
    mu = pages.change_rates
    c = pages.weights
    shares = np.array(alone.decision["frequencies"])
    said_of_them = [each for each in alone.notes if "no bound" not in each]
    law = _known_law(scenario)
    if law is not None:
        shares = best_random_shares(mu, c, law)
        said_of_them = []
    costs, measure = _costs_through(scenario, {**_words(mu), _ALONE: shares})
    cost = costs[_ALONE]
    said = "their cost through it is not known exactly" if cost is None else f"cost {cost:.6g}"
    notes = [
        f"no optimum is known: {_why_none(scenario)}",
        f"these frequencies are the best without a buffer; {said}",
    ]
    known = {each: more for each in costs if (more := more_than(costs[each], cost)) is not None}
    least = min(known, key=lambda each: known[each], default=_ALONE)
    if known and known[least] < 0:
        notes.append(f"{least} costs less: {costs[least]:.6g}")
    return Optimum(
        target="frequencies",
        cost=cost,
        decision={"frequencies": shares.tolist()},
        changes={_KEY: shares.tolist()},
        table=_rows(costs, cost),
        notes=[*notes, *said_of_them],
        search=FrequencySearch(mu, c, shares, scenario.time_unit),
        measure=measure,
        proved=False,
        kind="approximation",
    )


def _known_law(scenario: Scenario) -> Distribution | None:
    """Law of the time between accesses of random choices, None where a constant stands for it."""
    if (
        page_conditions.randomized_policy(scenario) is not None
        or hosts_never_wait(scenario) is not None
        or not own.times_between_known(scenario)
    ):
        return None
    return own.law_without_buffer(scenario)


def _costs_through(
    scenario: Scenario, rows: Mapping[str, Array]
) -> tuple[dict[str, float | None], str]:
    """Cost of each row, end to end, None where it has no exact value; and what it is."""
    weights = accessed_pages(scenario).weights
    costs: dict[str, float | None] = {}
    measure = "weighted_obsolescence"
    for name, shares in rows.items():
        given = scenario.with_(_KEY, shares.tolist())
        method = exact_method(given)
        price = _units(given)
        costs[name] = price.cost(float(weights @ method.rates(given))) if method else None
        measure = price.measure if method else measure
    return costs, measure


def _why_none(scenario: Scenario) -> str:
    """Why the best frequencies are not known."""
    if own.copies_leave_together(scenario):
        what = "replaced" if discipline_of(scenario).replaces else "dropped"
        return f"copies of a page are {what} together, so that each page depends on all frequencies"
    policy = accessed_pages(scenario).policy
    if page_conditions.randomized_policy(scenario) is not None and policy is not None:
        return f'policy = "{policy.policy}" does not draw its pages independently'
    return nearest_reason(scenario.with_(_KEY, "uniform"))
