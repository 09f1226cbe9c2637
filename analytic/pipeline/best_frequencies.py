"""The best frequencies of random choices for pages that go through the buffer."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from analytic.optimum import Optimum
from analytic.page_refresh import FrequencySearch, best_random_shares, optimal_frequencies
from analytic.pipeline.conditions import law_without_buffer
from analytic.pipeline.methods import METHODS, exact_method
from analytic.pipeline.queues import Delays, PageQueue
from analytic.pipeline.random_pages import obsolescence_rates, obsolescence_slopes
from analytic.pipeline.reading import queue_of_pages
from scenarios import Scenario
from scenarios.distributions import Exponential
from scenarios.page_data import change_rates, page_weights

__all__ = ["BestShares", "best_end_to_end_shares", "discounted_shares", "end_to_end_frequencies"]

Array = NDArray[np.floating[Any]]

_KEY = "robots.accessing.frequencies"
_ROUNDS = 200
_GAP = 1e-12
"""What the certified gap may be, relative to the cost."""


class BestShares(NamedTuple):
    """The best shares, their weighted obsolescence, and a bound below that of all shares."""

    shares: Array
    cost: float
    lower_bound: float


def best_end_to_end_shares(
    queue: PageQueue, changes: ArrayLike, weights: ArrayLike, start: ArrayLike | None = None
) -> BestShares:
    """The frequencies with the least weighted obsolescence, end to end.

    Parameters
    ----------
    queue : PageQueue
    changes, weights : array_like, shape (pages,)
        Change rates mu and weights c, >= 0.
    start : array_like, shape (pages,), optional
        Shares to begin with; uniform ones otherwise.

    Notes
    -----
    ``min sum c r(f)`` over ``sum f = 1`` is separable and convex (`obsolescence_slopes`), so that
    the tangents at any f bound the cost of all shares from below, by ``max g - f g`` with the gains
    ``g = -c r'``. Each round solves the problem with hyperbolas in place of the r, which have their
    slopes and curvatures: ``-c r' = a / (b + f)²``, so that ``f = sqrt(a / multiplier) - b`` or 0.
    Without a buffer they are exact (coffman1998, Lemma 4.1 with exponential accesses). A page gets
    nothing iff its slope at 0 is not above the multiplier.
    """
    mu, c = np.asarray(changes, dtype=float), np.asarray(weights, dtype=float)
    asked = (mu > 0) & (c > 0)
    shares = np.full(len(mu), 1.0 / len(mu)) if start is None else np.asarray(start, dtype=float)
    if not asked.any() or not queue.entering.any():
        return BestShares(shares, *[float(c @ obsolescence_rates(queue, mu, shares))] * 2)
    shares = np.where(asked, shares, 0.0)
    shares /= shares.sum()
    best = _evaluated(queue, mu[asked], c[asked], shares[asked])
    for _ in range(_ROUNDS):
        if best.gap <= _GAP * best.cost:
            break
        following = _improved(queue, mu[asked], c[asked], best)
        if following is None:
            break
        best = following
    shares[asked] = best.shares
    return BestShares(shares, best.cost, max(best.cost - best.gap, 0.0))


class _Point(NamedTuple):
    shares: Array
    cost: float
    gains: Array
    curvatures: Array

    @property
    def gap(self) -> float:
        """How far below the cost that of the best shares can be."""
        return float(self.gains.max() - self.shares @ self.gains)


def _evaluated(queue: PageQueue, mu: Array, c: Array, shares: Array) -> _Point:
    slopes = obsolescence_slopes(queue, mu, shares)
    return _Point(shares, float(c @ slopes.rates), -c * slopes.first, c * slopes.second)


def _improved(queue: PageQueue, mu: Array, c: Array, point: _Point) -> _Point | None:
    """A better point on the way to the optimum of the hyperbolas, or None."""
    target = _of_hyperbolas(point)
    step = 1.0
    while step > 1e-6:
        shares = point.shares + step * (target - point.shares)
        following = _evaluated(queue, mu, c, shares)
        if following.cost < point.cost or following.gap < point.gap:
            return following
        step /= 2.0
    return None


def _of_hyperbolas(point: _Point) -> Array:
    """``f = sqrt(a / multiplier) - b``, at least 0, that sum to 1."""
    gains = np.maximum(point.gains, np.finfo(float).tiny)
    reach = 2.0 * gains / np.maximum(point.curvatures, np.finfo(float).tiny)
    root, offset = np.sqrt(gains) * reach, reach - point.shares
    order = np.argsort(-root / np.maximum(offset, np.finfo(float).tiny), kind="stable")
    sums, offsets = np.cumsum(root[order]), np.cumsum(offset[order])
    scales = (1.0 + offsets) / sums
    active = np.flatnonzero(root[order] * scales > offset[order])
    scale = scales[active[-1]] if len(active) else scales[0]
    shares = np.maximum(root * scale - offset, 0.0)
    result: Array = shares / shares.sum()
    return result


def discounted_shares(queue: PageQueue, changes: ArrayLike, weights: ArrayLike) -> Array:
    """Frequencies of the problem without a buffer, with weights for the delay in it.

    Parameters are those of `best_end_to_end_shares`.

    Notes
    -----
    To first order the end-to-end problem is that of coffman1998 with weights ``c E exp(-mu W)``, W
    the sojourn of a page that enters, and as many deliveries as enter.
    """
    mu, c = np.asarray(changes, dtype=float), np.asarray(weights, dtype=float)
    entering = queue.law * queue.entering
    stale = sum(
        Delays(queue.service, mu).stale(queue.level, queue.phase, ahead) @ rates
        for ahead, rates in enumerate(np.cumsum(entering[::-1], axis=0)[::-1])
    )
    rate = float(np.arange(1, len(entering) + 1) @ entering.sum(axis=1))
    return best_random_shares(mu, c * (1.0 - stale / rate), Exponential(rate=rate))


def end_to_end_frequencies(scenario: Scenario) -> Optimum:
    """The frequencies that suit the whole path best, and what those of coffman1998 cost.

    Where deliveries are not of pages drawn at random, first come first served, without timers, the
    obsolescence of a page may depend on the others' frequencies: then those of
    `optimal_frequencies`, as if there were no buffer.

    Raises
    ------
    NoOptimumError
        As `optimal_frequencies`.
    """
    uniform = _with_uniform(scenario)
    method = exact_method(uniform) if uniform is not None else None
    if uniform is None or method is None or method.number != METHODS[0].number:
        return optimal_frequencies(scenario)
    assert scenario.pages is not None
    mu, c = change_rates(scenario.pages), page_weights(scenario.pages)
    queue = queue_of_pages(uniform)
    found = best_end_to_end_shares(queue, mu, c)
    bound = f"no frequencies of random choices cost less than {found.lower_bound:.10g}"
    return Optimum(
        target="frequencies",
        cost=found.cost,
        lower_bound=None,
        decision={"frequencies": found.shares.tolist()},
        changes={_KEY: found.shares.tolist()},
        table=list(_alternatives(uniform, queue, found)),
        notes=[bound, "more: per cent above the optimum"],
        search=FrequencySearch(mu, c, found.shares, scenario.time_unit),
    )


def _with_uniform(scenario: Scenario) -> Scenario | None:
    """The scenario with uniform random choices, or None where it has no frequencies."""
    policy = scenario.robots.accessing if scenario.robots else None
    if scenario.buffer is None or policy is None or "frequencies" not in type(policy).model_fields:
        return None
    return scenario.with_(_KEY, "uniform")


def _alternatives(
    uniform: Scenario, queue: PageQueue, found: BestShares
) -> Iterator[dict[str, Any]]:
    """The cost of the words that a file can have, of the papers' frequencies, and of the best."""
    assert uniform.pages is not None
    mu, c = change_rates(uniform.pages), page_weights(uniform.pages)
    rows = {"uniform": np.full(len(mu), 1.0 / len(mu))}
    if mu.any():
        rows["change-rate"] = mu / mu.sum()
    law = law_without_buffer(uniform)
    if law is not None:
        rows["coffman1998 (12)-(15), no buffer"] = best_random_shares(mu, c, law)
    if queue.entering.any():
        rows["the same, discounted weights"] = discounted_shares(queue, mu, c)
    rows["optimal"] = found.shares
    for name, shares in rows.items():
        cost = float(c @ obsolescence_rates(queue, mu, shares))
        more = 100 * (cost / found.cost - 1) if found.cost else 0.0
        yield {"frequencies": name, "cost": cost, "more": more}
