"""The best frequencies of random choices for pages that go through the buffer."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from analytic import page_conditions
from analytic.optimum import Optimum
from analytic.page_refresh import FrequencySearch, best_random_shares, optimal_frequencies
from analytic.page_refresh.hosts import hosts_never_wait
from analytic.page_refresh.unvisited import notes_on_unvisited
from analytic.pipeline.conditions import (
    changes_matter_to_the_queue,
    law_without_buffer,
    times_between_known,
)
from analytic.pipeline.criteria import more_than, said_more
from analytic.pipeline.formulas import COST, queue_cost
from analytic.pipeline.listed import queue_of_one_robot
from analytic.pipeline.methods import exact_method, nearest_reason
from analytic.pipeline.one_robot import random_slopes
from analytic.pipeline.queues import Delays, PageQueue
from analytic.pipeline.random_pages import obsolescence_slopes
from analytic.pipeline.reading import queue_of_pages
from analytic.pipeline.separable import BestShares, SlopesOf, least_shares
from analytic.pipeline.walked import slopes_by_counts, slopes_by_timers
from analytic.progress import Progress
from scenarios import Scenario
from scenarios.arrays import Array
from scenarios.laws import Distribution, Exponential
from scenarios.page_data import change_rates, page_weights

_KEY = "robots.accessing.frequencies"
_ALONE = "best without a buffer"
_PROVED = 1e-9
"""Certified gaps, relative to the cost, from which on frequencies are not called the best."""


def best_end_to_end_shares(
    queue: PageQueue, changes: ArrayLike, weights: ArrayLike, start: ArrayLike | None = None
) -> BestShares:
    """The frequencies with the least weighted obsolescence, end to end, FIFO without timers.

    Parameters
    ----------
    queue : PageQueue
    changes, weights : array_like, shape (pages,)
        Change rates mu and weights c, >= 0.
    start : array_like, shape (pages,), optional
        Shares to begin with; uniform ones otherwise.

    Notes
    -----
    ``min sum c r(f)`` over ``sum f = 1`` is separable and convex (`obsolescence_slopes`), and is
    solved with a certified gap (`least_shares`).
    """
    mu = np.asarray(changes, dtype=float)
    c = np.asarray(weights, dtype=float)
    begun = None if start is None else np.asarray(start, dtype=float)
    return least_shares(partial(obsolescence_slopes, queue), mu, c, begun)


def discounted_shares(queue: PageQueue, changes: ArrayLike, weights: ArrayLike) -> Array:
    """Frequencies of the problem without a buffer, with weights for the delay in it.

    Parameters are those of `best_end_to_end_shares`.

    Notes
    -----
    To first order the end-to-end problem is that of coffman1998 with weights ``c E exp(-mu W)``, W
    the sojourn of a page that enters, and as many deliveries as enter.
    """
    mu = np.asarray(changes, dtype=float)
    c = np.asarray(weights, dtype=float)
    entering = queue.law * queue.entering
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
    if method is None or page_conditions.randomized_policy(scenario) is not None:
        return None
    if method.number == "(1)":
        return partial(obsolescence_slopes, queue_of_pages(scenario))
    if method.number == "(2)":
        return slopes_by_counts(scenario)
    if method.number == "(3)":
        return slopes_by_timers(scenario)
    if method.number == "(6)":
        return partial(random_slopes, queue_of_one_robot(scenario))
    return None


def end_to_end_frequencies(scenario: Scenario) -> Optimum:
    """The frequencies that suit the whole path best, what others cost, and who is never visited.

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
    found = _best_frequencies(scenario)
    search: FrequencySearch = found.search
    unvisited = notes_on_unvisited(search.rates, search.weights, search.shares)
    return replace(found, notes=[*found.notes, *unvisited])


def _best_frequencies(scenario: Scenario) -> Optimum:
    uniform = _with_uniform(scenario)
    if uniform is None:
        return optimal_frequencies(scenario)
    slopes = slopes_of(uniform)
    if slopes is None:
        return _as_without_buffer(scenario)
    assert uniform.pages is not None
    mu = change_rates(uniform.pages)
    c = page_weights(uniform.pages)
    followed = _followed(slopes, f"{scenario.name}: frequencies, rounds of the search")
    found = least_shares(followed, mu, c)
    given = _compared(uniform, found)
    price = _units(uniform)
    costs = {name: price.cost(float(c @ slopes(mu, each).rates)) for name, each in given.items()}
    cost = costs["optimal"]
    bound = price.cost(found.lower_bound)
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
        lower_bound=None,
        decision={"frequencies": found.shares.tolist()},
        changes={_KEY: found.shares.tolist()},
        table=_rows(costs, cost),
        notes=[*notes, *price.notes],
        search=FrequencySearch(mu, c, found.shares, scenario.time_unit, given.get(_ALONE)),
        measure=price.measure,
        proved=gap <= 100.0 * _PROVED,
        gap=gap,
    )


def _followed(slopes: SlopesOf, doing: str) -> SlopesOf:
    """The same function; what takes long says how many times it was asked."""
    progress = Progress(doing)

    def asked(mu: Array, shares: Array) -> Any:
        found = slopes(mu, shares)
        progress.step()
        return found

    return asked


class _Units(NamedTuple):
    """What a weighted obsolescence costs: the file's prices, or itself where it has none."""

    price: float
    others: float
    measure: str
    notes: tuple[str, ...]

    def cost(self, weighted: float) -> float:
        """Of a weighted obsolescence, with what the queue costs whatever the frequencies."""
        return self.others + self.price * weighted


def _units(scenario: Scenario) -> _Units:
    plain = "weighted_obsolescence"
    if not scenario.costs.staleness:
        return _Units(1.0, 0.0, plain, ())
    reason = COST.reason_against(scenario)
    if reason is not None:
        said = f"without the other prices, whose cost does not depend on frequencies: {reason}"
        return _Units(1.0, 0.0, plain, (said,))
    return _Units(scenario.costs.staleness, queue_cost(scenario), "control_cost", ())


def _rows(costs: Mapping[str, float | None], best: float | None) -> list[dict[str, Any]]:
    return [
        {"frequencies": name, "cost": cost, "more": more_than(cost, best)}
        for name, cost in costs.items()
    ]


def _with_uniform(scenario: Scenario) -> Scenario | None:
    """The scenario with uniform random choices, or None where it has no frequencies."""
    policy = scenario.robots.accessing if scenario.robots else None
    if scenario.buffer is None or policy is None or "frequencies" not in type(policy).model_fields:
        return None
    return scenario.with_(_KEY, "uniform")


def _compared(uniform: Scenario, found: BestShares) -> dict[str, Array]:
    """The words that a file can have, the papers' frequencies, and the best."""
    assert uniform.pages is not None
    mu = change_rates(uniform.pages)
    c = page_weights(uniform.pages)
    rows = _words(mu)
    law = law_without_buffer(uniform)
    if law is not None:
        rows[_ALONE] = best_random_shares(mu, c, law)
    method = exact_method(uniform)
    if method is not None and method.number == "(1)":
        queue = queue_of_pages(uniform)
        if queue.entering.any():
            rows["the same, discounted weights"] = discounted_shares(queue, mu, c)
    rows["optimal"] = found.shares
    return rows


def _words(mu: Array) -> dict[str, Array]:
    rows = {"uniform": np.full(len(mu), 1.0 / len(mu))}
    if mu.any():
        rows["change-rate"] = mu / mu.sum()
    return rows


def _as_without_buffer(scenario: Scenario) -> Optimum:
    """The frequencies that are best without a buffer, by that name, and their cost through it."""
    found = optimal_frequencies(scenario)
    assert scenario.pages is not None
    mu = change_rates(scenario.pages)
    c = page_weights(scenario.pages)
    shares = np.array(found.decision["frequencies"])
    said_of_them = found.notes
    law = _known_law(scenario)
    if law is not None:
        shares = best_random_shares(mu, c, law)
        said_of_them = []
    rows: dict[str, Any] = _words(mu)
    name = _ALONE
    rows[name] = shares
    costs, measure = _costs_through(scenario, rows)
    cost = costs[name]
    said = "their cost through it is not known exactly" if cost is None else f"cost {cost:.6g}"
    notes = [
        f"no optimum is known: {_why_none(scenario)}",
        f"these frequencies are the best without a buffer; {said}",
    ]
    known = {each: more for each in costs if (more := more_than(costs[each], cost)) is not None}
    least = min(known, key=lambda each: known[each], default=name)
    if known and known[least] < 0:
        notes.append(f"{least} costs less: {costs[least]:.6g}")
    return Optimum(
        target="frequencies",
        cost=cost,
        lower_bound=None,
        decision={"frequencies": shares.tolist()},
        changes={_KEY: shares.tolist()},
        table=_rows(costs, cost),
        notes=[*notes, *(each for each in said_of_them if "no bound" not in each)],
        search=FrequencySearch(mu, c, shares, scenario.time_unit),
        measure=measure,
        proved=False,
    )


def _known_law(scenario: Scenario) -> Distribution | None:
    """Law of the time between accesses of random choices, None where a constant stands for it."""
    if (
        page_conditions.randomized_policy(scenario) is not None
        or hosts_never_wait(scenario) is not None
        or not times_between_known(scenario)
    ):
        return None
    return law_without_buffer(scenario)


def _costs_through(
    scenario: Scenario, rows: Mapping[str, Array]
) -> tuple[dict[str, float | None], str]:
    """Cost of each row, end to end, None where it has no exact value; and what it is."""
    assert scenario.pages is not None
    weights = page_weights(scenario.pages)
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
    if changes_matter_to_the_queue(scenario) is None:
        what = "replaced" if scenario.buffer and scenario.buffer.replace_older_copy else "dropped"
        return f"copies of a page are {what} together, so that each page depends on all frequencies"
    policy = scenario.robots.accessing if scenario.robots else None
    if page_conditions.randomized_policy(scenario) is not None and policy is not None:
        return f'policy = "{policy.policy}" does not draw its pages independently'
    return nearest_reason(scenario.with_(_KEY, "uniform"))
