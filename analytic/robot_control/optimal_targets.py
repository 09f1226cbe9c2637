"""The best targets: for a cost per unit time, and where the mean response has a price.

The first by whichever solver covers the queue; the second, a quotient of two rewards, by a sequence
of the first.
"""

from __future__ import annotations

from heapq import heappop, heappush
from typing import NamedTuple

import numpy as np

from analytic.index.optimum import Best
from analytic.machinery.bounds import at_most
from analytic.machinery.decision_process import evaluate, policy_iteration
from analytic.robot_control.switched_queue import Rewards, SwitchedQueue
from analytic.robot_control.target_rules import best_targets, is_covered, measures_of_targets
from scenarios.arrays import IntArray
from scenarios.sections import Costs

WIDTH = 1e-10
"""Bounds closer than this are close enough, relatively to the largest cost per unit time of any
state; an optimum that is far smaller has too few digits left in the values."""

MOST_GENERAL = 20_000
"""States, where the structure of the chain is not used: half a minute (measured)."""


_NEAR = 1e-4
"""Relative distance of the cost to its bound at which the search with a response ends."""

_MOST = 400
"""Problems that this search solves at most; the bound holds whenever it ends."""

_STEPS = 6
"""Multipliers tried for each interval of throughputs."""


def solved(
    queue: SwitchedQueue, rewards: Rewards, targets: IntArray | None = None
) -> Best[IntArray]:
    """The best targets for a cost per unit time.

    Parameters
    ----------
    queue : SwitchedQueue
    rewards : Rewards
    targets : ndarray of int, shape (levels,), optional
        Where to begin; otherwise so many robots that the load is one.

    Notes
    -----
    By structure where service is exponential and pages do not become obsolete; the general solver
    is used where that leaves the bounds apart, and for every other queue.
    """
    if targets is None:
        balanced = max(int(queue.levels.service_rates.max() / queue.modes.rates[0]), 1)
        targets = np.full(queue.levels.number, min(balanced, queue.modes.available))
    if not is_covered(queue):
        return _generally(queue, rewards, targets)
    structured = best_targets(queue, rewards, targets)
    largest = float(np.abs(queue.earned(rewards)).max())
    fast = Best(structured.targets, structured.gain, structured.lower)
    if structured.gain - structured.lower <= WIDTH * largest or queue.states > MOST_GENERAL:
        return fast
    other = _generally(queue, rewards, fast.rule)
    best = min(fast, other, key=lambda each: each.cost)
    return best._replace(lower=max(fast.lower, other.lower))


def _generally(queue: SwitchedQueue, rewards: Rewards, targets: IntArray) -> Best[IntArray]:
    """The same for any queue, by policy iteration on its decision process.

    Should the optimum be no target rule, the targets are those up to which it switches on without
    a gap at each level, with their own cost; the bound is that of the optimum.
    """
    process = queue.process(rewards)
    optimum = policy_iteration(process, queue.towards(targets))
    (targets,) = queue.targets(optimum.policy)
    return Best(targets, evaluate(process, queue.towards(targets)).gain, optimum.lower)


class _Point(NamedTuple):
    """A rule: its full cost, its mean response and its throughput."""

    cost: float
    response: float
    throughput: float
    solution: Best[IntArray]


class _Problem:
    """Minimise ``c + w A / B``: c a cost, A the sojourn times and B the number of pages served."""

    def __init__(self, queue: SwitchedQueue, costs: Costs) -> None:
        self.queue = queue
        self.costs = costs
        self.base = queue.costs(costs)
        self.price = costs.response
        self.count = 0
        self.best = self._solve(self.base, None)

    def solve(self, sojourn: float, served: float) -> _Point:
        """The best rule for ``c + sojourn · A + served · B``; it may be the best of all so far."""
        return self._tried(
            self.base.plus(sojourn, self.queue.sojourn).plus(served, self.queue.counted["served"])
        )

    @property
    def enough(self) -> float:
        """A bound at which the search ends."""
        return self.best.cost * (1 - _NEAR)

    def most_served(self) -> float:
        """A bound above the throughput of every rule."""
        fewest = self.queue.rewards().plus(-1.0, self.queue.counted["served"])
        return -self._tried(fewest).solution.lower

    def _tried(self, linear: Rewards) -> _Point:
        point = self._solve(linear, self.best.solution.rule)
        if point.cost < self.best.cost:
            self.best = point
        return point

    def _solve(self, linear: Rewards, start: IntArray | None) -> _Point:
        self.count += 1
        solution = solved(self.queue, linear, start)
        measures = measures_of_targets(self.queue, solution.rule)
        cost = measures.cost(self.costs)
        return _Point(cost, measures.response, measures.throughput, solution)


def _dinkelbach(problem: _Problem) -> _Point:
    """Rules that are best for the tangent of the quotient, as long as they get better.

    Where the response is all that has a price this is Dinkelbach's iteration for a quotient.
    """
    point = problem.best
    while problem.count < _MOST:
        weight = problem.price / point.throughput
        following = problem.solve(weight, -weight * point.response)
        if not following.cost < point.cost * (1 - 1e-13):
            return point
        point = following
    return point


class _Interval(NamedTuple):
    """A bound below the cost of every rule with a throughput in it, and the multiplier used."""

    bound: float
    low: float
    high: float
    multiplier: float


def _bounded(problem: _Problem, parent: _Interval, edges: tuple[float, float]) -> _Interval:
    """The bound of a part of an interval.

    There ``c + w A / B >= c + (w / high) A``, and for any multiplier ``nu (B - edge) <= 0`` where
    the edge is `high` for nu >= 0 and `low` for nu < 0. Any multiplier gives a bound; a good one
    has a best rule inside the interval. The search begins with that of the whole.
    """
    low, high = edges
    weight = problem.price / high
    multiplier = parent.multiplier
    best = _Interval(parent.bound, low, high, multiplier)
    step = 0.02 * weight * problem.best.response
    last = 0
    for _ in range(_STEPS):
        point = problem.solve(weight, multiplier)
        value = point.solution.lower - multiplier * (low if multiplier < 0 else high)
        if value > best.bound:
            best = _Interval(value, low, high, multiplier)
        side = (point.throughput > high) - (point.throughput < low)
        if side == 0 or best.bound >= problem.enough:
            break
        step *= -0.4 if side == -last else 1.6
        step = abs(step) * side
        last = side
        multiplier += step
    return best


def with_response(queue: SwitchedQueue, costs: Costs) -> Best[IntArray]:
    """The best targets, and a bound below every rule, where the mean response has a price.

    Notes
    -----
    ``c + w A / B`` is not a cost per unit time, and a rule that is best for its own tangent may be
    a local optimum. So the range of B is cut into intervals, each with a bound; the interval with
    the least bound is halved until no bound is below the best cost known, or `_MOST` problems are
    solved.
    """
    problem = _Problem(queue, costs)
    first = _dinkelbach(problem)
    slope = -problem.price * first.response / first.throughput
    heap = [_Interval(-float("inf"), 0.0, problem.most_served(), slope)]
    while problem.count < _MOST and heap[0].bound < problem.enough:
        whole = heappop(heap)
        middle = (whole.low + whole.high) / 2
        for edges in ((whole.low, middle), (middle, whole.high)):
            heappush(heap, _bounded(problem, whole, edges))
    solution = problem.best.solution
    cost = problem.best.cost
    return Best(solution.rule, cost, at_most(cost, heap[0].bound))
