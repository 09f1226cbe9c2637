"""The optimum where the mean response has a price: a quotient of two rewards."""

from __future__ import annotations

from heapq import heappop, heappush
from typing import NamedTuple

from analytic.robot_control.controlled_queue import ControlledQueue, Rewards
from analytic.robot_control.optimal_targets import Solved, solved
from analytic.robot_control.rule_measures import measures_of_targets
from scenarios.sections import Costs

_NEAR = 1e-4
"""Relative distance of the cost to its bound at which the search ends."""

_MOST = 400
"""Problems solved at most; the bound holds whenever the search ends."""

_STEPS = 6
"""Multipliers tried for each interval."""


class _Point(NamedTuple):
    """A rule: its full cost, its mean response and its throughput."""

    cost: float
    response: float
    throughput: float
    solution: Solved


class _Problem:
    """Minimise ``c + w A / B``: c a cost, A the sojourn times and B the number of pages served."""

    def __init__(self, queue: ControlledQueue, costs: Costs) -> None:
        self.queue = queue
        self.costs = costs
        self.base = queue.rewards(costs)
        self.price = costs.response
        self.best: _Point | None = None
        self.count = 0

    def solve(self, sojourn: float, served: float) -> tuple[Solved, _Point]:
        """The best rule for ``c + sojourn · A + served · B``; it may be the best of all so far."""
        linear = self.base.plus(sojourn, self.queue.sojourn).plus(served, self.queue.served)
        return self._tried(linear)

    @property
    def enough(self) -> float:
        """A bound at which the search ends."""
        assert self.best is not None
        return self.best.cost * (1 - _NEAR)

    def most_served(self) -> float:
        """A bound above the throughput of every rule."""
        none = self.base.plus(-1.0, self.base)
        return -self._tried(none.plus(-1.0, self.queue.served))[0].lower

    def _tried(self, linear: Rewards) -> tuple[Solved, _Point]:
        start = None if self.best is None else self.best.solution.targets
        found = solved(self.queue, linear, start)
        measures = measures_of_targets(self.queue, found.targets)
        cost = measures.cost(self.costs)
        point = _Point(cost, measures.response, measures.throughput, found)
        if self.best is None or point.cost < self.best.cost:
            self.best = point
        self.count += 1
        return found, point


def _dinkelbach(problem: _Problem) -> _Point:
    """Rules that are best for the tangent of the quotient, as long as they get better.

    Where the response is all that has a price this is Dinkelbach's iteration for a quotient.
    """
    _, point = problem.solve(0.0, 0.0)
    while problem.count < _MOST:
        weight = problem.price / point.throughput
        _, following = problem.solve(weight, -weight * point.response)
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
    assert problem.best is not None
    low, high = edges
    weight = problem.price / high
    multiplier = parent.multiplier
    found = _Interval(parent.bound, low, high, multiplier)
    step = 0.02 * weight * problem.best.response
    last = 0
    for _ in range(_STEPS):
        linear, point = problem.solve(weight, multiplier)
        value = linear.lower - multiplier * (low if multiplier < 0 else high)
        if value > found.bound:
            found = _Interval(value, low, high, multiplier)
        side = (point.throughput > high) - (point.throughput < low)
        if side == 0 or found.bound >= problem.enough:
            break
        step *= -0.4 if side == -last else 1.6
        step = abs(step) * side
        last = side
        multiplier += step
    return found


def with_response(queue: ControlledQueue, costs: Costs) -> Solved:
    """The best targets, and a bound below every rule, where the mean response has a price.

    Notes
    -----
    ``c + w A / B`` is no cost per unit time, and a rule that is best for its own tangent may be a
    local optimum. So the range of B is cut into intervals, each with a bound; the interval with the
    least bound is halved until no bound is below the best cost found, or the work is done.
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
    assert problem.best is not None
    solution = problem.best.solution
    return Solved(solution.targets, problem.best.cost, min(heap[0].bound, problem.best.cost))
