"""The optimum where the mean response has a price: a quotient of two rewards."""

from __future__ import annotations

from heapq import heappop, heappush
from typing import NamedTuple

from analytic.robot_control.controlled_queue import ControlledQueue, Rewards
from analytic.robot_control.rule_measures import measures_of_targets
from analytic.robot_control.switching import Solved, solved
from scenarios.sections import Costs

__all__ = ["with_response"]

_NEAR = 1e-4
"""Relative distance of the cost to its bound at which the search ends."""

_MOST = 400
"""Problems solved at most; the bound holds whenever the search ends."""


class _Point(NamedTuple):
    """A rule: its full cost, its mean response and its throughput."""

    cost: float
    response: float
    throughput: float
    solution: Solved


class _Problem:
    """Minimise ``c + w A / B``: c a cost, A the sojourn times and B the number of pages served."""

    def __init__(self, queue: ControlledQueue, costs: Costs) -> None:
        self.queue, self.costs = queue, costs
        self.base, self.price = queue.rewards(costs), costs.response
        self.best: _Point | None = None
        self.count = 0

    def solve(self, sojourn: float, served: float) -> tuple[Solved, _Point]:
        """The best rule for ``c + sojourn · A + served · B``; it may be the best of all so far."""
        linear = self.base.plus(sojourn, self.queue.sojourn).plus(served, self.queue.served)
        return self._tried(linear)

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


def _bound(problem: _Problem, low: float, high: float, enough: float) -> float:
    """A bound below the cost of every rule whose throughput B is between `low` and `high`.

    There ``c + w A / B >= c + (w / high) A``, and for any multiplier ``nu (B - edge) <= 0`` where
    the edge is `high` for nu >= 0 and `low` for nu < 0. The best multiplier is looked for; any
    gives a bound, and the search ends when the bound is `enough`.
    """
    assert problem.best is not None
    weight, best = problem.price / high, problem.best
    guess = -weight * best.response
    found, point = problem.solve(weight, guess)
    value, left, right = found.lower - guess * low, guess - abs(guess), 0.0
    for _ in range(12):
        if value >= enough or low <= point.throughput <= high:
            break
        left, right = (guess, max(right, guess)) if point.throughput > high else (left, guess)
        guess = (left + right) / 2
        found, point = problem.solve(weight, guess)
        value = max(value, found.lower - guess * (low if guess < 0 else high))
    return value


def with_response(queue: ControlledQueue, costs: Costs) -> Solved:
    """The best targets, and a bound below every rule, where the mean response has a price.

    Notes
    -----
    ``c + w A / B`` is no cost per unit time, and a rule that is best for its own tangent may be a
    local optimum. So the range of B is cut into intervals, each with a bound; the interval with the
    least bound is halved until no bound is below the best cost found, or the work is done.
    """
    problem = _Problem(queue, costs)
    _dinkelbach(problem)
    heap: list[tuple[float, float, float]] = []
    heappush(heap, (-float("inf"), 0.0, problem.most_served()))
    assert problem.best is not None
    while problem.count < _MOST:
        enough = problem.best.cost * (1 - _NEAR)
        lower, low, high = heap[0]
        if lower >= enough:
            break
        heappop(heap)
        middle = (low + high) / 2
        for part in ((low, middle), (middle, high)):
            heappush(heap, (max(lower, _bound(problem, *part, enough)), *part))
    solution = problem.best.solution
    return Solved(solution.targets, problem.best.cost, min(heap[0][0], problem.best.cost))
