"""The cheapest rule, and the cheapest mixture of rules, that keep a bound on a long-run average.

The bound says that a rate, the excess, is 0 or less. It is priced: of all rules that keep it,
mixtures in long turns included, none costs less than the best one for ``cost + multiplier ×
excess``, with any multiplier >= 0. That of the edge of the lower convex hull of the points
(excess, cost) at excess 0 gives the cheapest mixture, of two rules (Lagrange; Altman, Constrained
Markov Decision Processes, 1999, chapter 4).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, Generic, NamedTuple, Protocol, TypeVar

import numpy as np

from analytic.index.optimum import NoRuleError, Rule

_MOST = 100

ALIKE = 1e-10
CHEAPER = 1e-9
"""Costs this close, relatively, are the same, and a mixture must be cheaper by so much."""

COUNTED = {
    "loss_rate": "loss",
    "loss_probability": "loss",
    "obsolescence_probability": "obsolescence",
    "success_probability": "served",
    "starvation_probability": "starvation",
    "mean_active_robots": "robots",
    "throughput": "served",
}
"""Measures that may be bounded, and what each counts per unit time."""

SHARES = ("loss_probability", "obsolescence_probability", "success_probability")
"""Those that are shares of the delivered pages."""


class Counts(Protocol):
    """Something that is counted per unit time."""

    def plus(self, factor: float, other: Any) -> Any:
        """The sum with a multiple of another."""


Rewards = TypeVar("Rewards", bound=Counts)


class Bound(NamedTuple):
    """A bound on a measure.

    Parameters
    ----------
    measure : str
        Of `COUNTED`.
    above : bool
        Whether the measure must be at least the value, and not at most.
    value : float
    """

    measure: str
    above: bool
    value: float

    def __str__(self) -> str:
        """As the user writes it."""
        return f"{self.measure} {'>=' if self.above else '<='} {self.value!r}"

    @property
    def rate(self) -> str:
        """What the measure counts: loss, obsolescence, starvation, robots, or served."""
        return COUNTED[self.measure]

    @property
    def is_share(self) -> bool:
        """Whether the measure is a share of the delivered pages, and not a rate."""
        return self.measure in SHARES

    def excess_rate(self, counted: Rewards, total: Rewards) -> Rewards:
        """What the excess counts, from what the measure counts and its total."""
        over: Rewards = counted.plus(-self.value, total)
        less: Rewards = over.plus(-2.0, over)
        return less if self.above else over

    def excess(self, counted: Any, total: Any, rounding: float = ALIKE) -> Any:
        """By how much a rule breaks the bound, per unit time: 0 or less where it is kept.

        Parameters
        ----------
        counted, total : float or ndarray
            The measure is their quotient.
        rounding : float
            What is less, relatively to the total, is none.
        """
        over = counted - self.value * total
        kept = np.abs(over) <= rounding * total
        return np.where(kept, 0.0, -over if self.above else over)


class Point(NamedTuple, Generic[Rule]):
    """A rule, its cost per unit time, its excess, and the measure that is bounded."""

    rule: Rule
    cost: float
    excess: float
    value: float

    def priced(self, multiplier: float) -> float:
        """Cost and price of the excess."""
        return self.cost + multiplier * self.excess


Edge = tuple[Point[Rule], Point[Rule]]
"""Two rules that take turns: the first keeps the bound, the second breaks it."""


class Rules(Protocol[Rule]):
    """Rules of one kind beside a bound."""

    def cheapest(self, multiplier: float) -> tuple[Point[Rule], float]:
        """The best rule for cost and price of the excess, and a bound below that of every one."""

    def nearest(self) -> Point[Rule]:
        """A rule that keeps the bound; where none does, the one that comes nearest."""

    def single(self, edge: Edge[Rule], /) -> tuple[Point[Rule], bool | None]:
        """The cheapest known that keeps the bound, and whether no other is cheaper.

        From those of the cheapest mixture: the same twice where the best rule keeps the bound.
        """


class Found(NamedTuple, Generic[Rule]):
    """What was found.

    Attributes
    ----------
    single : Point
        The cheapest rule known that keeps the bound.
    proved : bool or None
        Whether no other single one is cheaper; None where it is not said.
    free_cost : float
        Of the best rule without the bound.
    edge : (Point, Point)
        The rules of the cheapest mixture; the same twice where one does.
    lower : float
        No rule that keeps the bound costs less, nor any mixture.
    """

    single: Point[Rule]
    proved: bool | None
    free_cost: float
    edge: Edge[Rule]
    lower: float

    @property
    def share(self) -> float:
        """Of the time that the first rule of the mixture gets, which then meets the bound."""
        inside, outside = self.edge
        width = outside.excess - inside.excess
        return outside.excess / width if width > 0 else 1.0

    @property
    def mixed_cost(self) -> float:
        """Cost per unit time of the mixture."""
        inside, outside = self.edge
        return self.share * inside.cost + (1.0 - self.share) * outside.cost

    @property
    def is_mixed(self) -> bool:
        """Whether the mixture is cheaper than the single rule."""
        return self.mixed_cost < self.single.cost * (1 - CHEAPER) - 1e-12


def cheapest_within(
    rules: Rules[Rule], bound: Bound, words: Callable[[Rule], str], rounding: float = ALIKE
) -> Found[Rule]:
    """The cheapest rule that keeps a bound, and the cheapest mixture.

    Parameters
    ----------
    rules : Rules
    bound : Bound
    words : callable
        From a rule to its words, for a refusal.
    rounding : float
        Costs this close, relatively, are the same.

    Raises
    ------
    NoRuleError
        If no rule keeps it.
    """
    lower = -math.inf

    def best(multiplier: float) -> Point[Rule]:
        nonlocal lower
        point, below = rules.cheapest(multiplier)
        lower = max(lower, below)
        return point

    inside = outside = best(0.0)
    free_cost = outside.cost
    if outside.excess > 0:
        inside = rules.nearest()
        if inside.excess > 0:
            has = f"{words(inside.rule)} has {inside.value:.6g}"
            raise NoRuleError(f"no rule of this kind keeps {bound}; the nearest, {has}")
        inside, outside = _edge_of_hull(inside, outside, best, rounding)
    single, proved = rules.single((inside, outside))
    lower = max(min(lower, single.cost), 0.0)
    if proved is False:
        proved = single.cost <= lower * (1 + CHEAPER)
    return Found(single, proved, free_cost, (inside, outside), lower)


def _edge_of_hull(
    inside: Point[Rule],
    outside: Point[Rule],
    best: Callable[[float], Point[Rule]],
    rounding: float,
) -> Edge[Rule]:
    """The ends of the edge of the lower convex hull at excess 0.

    From a rule that keeps the bound and the cheapest of all, which breaks it.
    """
    for _ in range(_MOST):
        multiplier = (inside.cost - outside.cost) / (outside.excess - inside.excess)
        if multiplier <= 0:  # by rounding only: nothing is cheaper than without the bound
            break
        point = best(multiplier)
        if point.priced(multiplier) >= inside.priced(multiplier) - rounding * abs(inside.cost):
            break
        if point.excess <= 0:
            inside = point
        else:
            outside = point
    return inside, outside


# --- in words ------------------------------------------------------------------------------------


def notes_of(
    found: Found[Rule], bound: Bound, words: Callable[[Rule], str], kept: str | None = None
) -> tuple[str, ...]:
    """What was found, in words; `kept` says how many rules keep the bound where all were tried."""
    single = found.single
    price = _price_of_bound(single.cost, found.free_cost)
    less = "no rule of this kind that keeps it, and no mixture, costs less than"
    below = f"{less} {found.lower:.10g}"
    notes = [f"{bound.measure} = {single.value:.6g}", *((kept, price) if kept else (price, below))]
    if found.proved is False:
        notes.append(
            "best single rule met on the way from those of the mixture, one decision after the "
            "other; not proved"
        )
    if found.is_mixed:
        first, second = (words(each.rule) for each in found.edge)
        notes.append(_in_turns(first, second, found.share, found.mixed_cost, single.cost))
    return tuple(notes)


def _price_of_bound(cost: float, free: float) -> str:
    if cost <= free + 1e-9 * abs(free):
        return "the bound costs nothing: the best rule of this kind keeps it"
    if free == 0:
        return f"without the bound the cost is 0; it costs {cost:.6g} more"
    return f"without the bound: cost {free:.6g}; it costs {100 * (cost / free - 1):.3g} % more"


def _in_turns(first: str, second: str, share: float, cost: float, best: float) -> str:
    """A mixture of two rules in words, beside the best single one."""
    less = 100 * (1 - cost / best)
    return (
        f"cheaper by {less:.3g} %, and within the bound on average: {first} for "
        f"{100 * share:.6g} % of the time, {second} for the rest, in long turns: cost {cost:.6g}"
    )
