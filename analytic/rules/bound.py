"""The cheapest rule, and the cheapest mixture of rules, that keep bounds on long-run averages.

Each bound says that a rate, its excess, is 0 or less. Excesses are priced: of all rules that keep
the bounds, mixtures in long turns included, none costs less than the best one for ``cost + sum of
multipliers × excesses``, with any multipliers >= 0. The cheapest mixture is a linear programme of
one row for each bound, with a column for each rule; the simplex method solves it, and the search
for the best rule at its multipliers finds the next column (Altman, Constrained Markov Decision
Processes, 1999, chapter 4; Dantzig and Wolfe, 1960).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, Generic, NamedTuple, Protocol, TypeVar

import numpy as np

from analytic.index.optimum import NoOptimumError, NoRuleError, Rule
from scenarios.arrays import Array, IntArray
from scenarios.measures import Subject

_MOST = 200
_TIE = 1e-12
_NOISE = 1e-14
"""Rounding of a sum, relatively to its terms: some fifty times that of one operation."""

ALIKE = 1e-10
CHEAPER = 1e-9
"""Costs this close, relatively, are the same, and a mixture must be cheaper by so much."""

COUNTED = {
    "arrival_rate": "delivered",
    "loss_rate": "loss",
    "loss_probability": "loss",
    "obsolescence_probability": "obsolescence",
    "success_probability": "served",
    "starvation_probability": "starvation",
    "mean_active_robots": "robots",
    "throughput": "served",
    "mean_in_system": "level",
    "idle_indexers": "idle",
    "level_probability": "at level",
    "sojourn_time": "level",
}
"""Measures that may be bounded, and what each counts per unit time."""

SHARES = ("loss_probability", "obsolescence_probability", "success_probability")
"""Those that are shares of the delivered pages."""

_SOJOURNS = {"all": "delivered", "accepted": "entered"}
"""Pages whose mean sojourn time is the pages in the system per page: Little's law."""


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
    subject : int, str or None
        A level, or a class of pages.
    """

    measure: str
    above: bool
    value: float
    subject: Subject = None

    def __str__(self) -> str:
        """As the user writes it."""
        return f"{self.name} {'>=' if self.above else '<='} {self.value!r}"

    @property
    def name(self) -> str:
        """The measure, with its subject where it has one."""
        return self.measure if self.subject is None else f"{self.measure} {self.subject}"

    @property
    def rate(self) -> str:
        """What the measure counts: loss, obsolescence, served, level, …, or "at level 3"."""
        counted = COUNTED[self.measure]
        return f"{counted} {self.subject}" if counted == "at level" else counted

    @property
    def per(self) -> str:
        """What it is counted per: time, delivered, or entered."""
        if self.measure == "sojourn_time":
            return _SOJOURNS[str(self.subject)]
        return "delivered" if self.is_share else "time"

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


def require_quotient(bound: Bound) -> None:
    """Refuse what is no quotient of two rates, which could not be mixed.

    Raises
    ------
    NoOptimumError
    """
    if bound.measure == "sojourn_time":
        if bound.subject not in _SOJOURNS:
            raise NoOptimumError("a bound on sojourn_time is of all, or of accepted pages")
    elif not isinstance(bound.subject, int if bound.measure == "level_probability" else type(None)):
        allowed = "level_probability goes with a level, no other measure with a subject"
        raise NoOptimumError(f"{bound.name}: {allowed}")


def in_words(bounds: Sequence[Bound]) -> str:
    """All of them, as the user writes them."""
    return " and ".join(map(str, bounds))


def level_counts(rate: str, levels: IntArray) -> Array | None:
    """What is counted per unit time with each number of pages; None of what is not of levels."""
    if rate == "level":
        return levels.astype(float)
    if rate in ("starvation", "idle"):  # of one indexer
        return (levels == 0).astype(float)
    if rate.startswith("at level "):
        return (levels == int(rate.rpartition(" ")[2])).astype(float)
    return None


class Point(NamedTuple, Generic[Rule]):
    """A rule, its cost per unit time, and for each bound its excess, and the measure."""

    rule: Rule
    cost: float
    excess: tuple[float, ...]
    values: tuple[float, ...]

    @property
    def keeps(self) -> bool:
        """Whether it keeps every bound."""
        return all(each <= 0 for each in self.excess)

    @property
    def beyond(self) -> float:
        """By how much it breaks the bounds, all together."""
        return math.fsum(each for each in self.excess if each > 0)

    def priced(self, multipliers: Sequence[float] | Array, of_cost: float = 1.0) -> float:
        """Cost and prices of the excesses."""
        return of_cost * self.cost + math.fsum(
            price * each for price, each in zip(multipliers, self.excess, strict=True)
        )


class Rules(Protocol[Rule]):
    """Rules of one kind beside bounds."""

    def cheapest(self, multipliers: Array, of_cost: float = 1.0) -> tuple[Point[Rule], float]:
        """The best rule for cost and prices of the excesses, and a bound below every one."""

    def nearest(self, last: Point[Rule]) -> Point[Rule]:
        """Of rules that do not keep the bounds the one that comes nearest; at last this was met."""

    def single(
        self, mixture: Sequence[Point[Rule]], multipliers: Array, /
    ) -> tuple[Point[Rule] | None, bool | None]:
        """The cheapest known that keeps the bounds, and whether no other is cheaper.

        From the rules of the cheapest mixture, and its multipliers.
        """


class Found(NamedTuple, Generic[Rule]):
    """What was found.

    Attributes
    ----------
    single : Point
        The cheapest rule known that keeps the bounds.
    proved : bool or None
        Whether no other single one is cheaper; None where it is not said.
    free_cost : float
        Of the best rule without the bounds.
    mixture : tuple of Point
        The rules of the cheapest mixture; those that keep the bounds first.
    shares : tuple of float
        Of the time that each of them gets.
    lower : float
        No rule that keeps the bounds costs less, nor any mixture.
    """

    single: Point[Rule]
    proved: bool | None
    free_cost: float
    mixture: tuple[Point[Rule], ...]
    shares: tuple[float, ...]
    lower: float

    @property
    def mixed_cost(self) -> float:
        """Cost per unit time of the mixture."""
        return _cost_of(self.mixture, self.shares)

    @property
    def is_mixed(self) -> bool:
        """Whether the mixture is cheaper than the single rule."""
        return self.mixed_cost < self.single.cost * (1 - CHEAPER) - 1e-12


def _cost_of(mixture: Sequence[Point[Rule]], shares: Sequence[float]) -> float:
    return math.fsum(share * each.cost for share, each in zip(shares, mixture, strict=True))


def cheapest_within(
    rules: Rules[Rule],
    bounds: Sequence[Bound],
    words: Callable[[Rule], str],
    rounding: float = ALIKE,
) -> Found[Rule]:
    """The cheapest rule that keeps some bounds, and the cheapest mixture.

    Parameters
    ----------
    rules : Rules
    bounds : sequence of Bound
    words : callable
        From a rule to its words, for a refusal.
    rounding : float
        Costs this close, relatively, are the same.

    Raises
    ------
    NoRuleError
        If no rule keeps them.
    """
    lower = -math.inf

    def best(multipliers: Array, of_cost: float) -> Point[Rule]:
        nonlocal lower
        point, below = rules.cheapest(multipliers, of_cost)
        if of_cost:
            lower = max(lower, below)
        return point

    first = best(np.zeros(len(bounds)), 1.0)
    solution = _Programme(best, first, rounding).solved()
    if solution.last is not None:
        nearest = rules.nearest(solution.last)
        values = ", ".join(f"{each:.6g}" for each in nearest.values)
        has = f"the nearest, {words(nearest.rule)} has {values}"
        raise NoRuleError(f"no rule of this kind keeps {in_words(bounds)}; {has}")
    mixture, shares = solution.mixture, solution.shares
    single, proved = rules.single(mixture, solution.multipliers)
    if single is None:
        turns = _turns([words(each.rule) for each in mixture], shares)
        raise NoRuleError(
            f"no single rule was found that keeps {in_words(bounds)}; on average they are kept by "
            f"{turns}: cost {_cost_of(mixture, shares):.6g}"
        )
    lower = max(min(lower, single.cost), 0.0)
    if proved is False:
        proved = single.cost <= lower * (1 + CHEAPER)
    return Found(single, proved, first.cost, mixture, shares, lower)


class _Mixture(NamedTuple, Generic[Rule]):
    """The solution of a programme.

    Attributes
    ----------
    mixture, shares
        As of `Found`.
    multipliers : ndarray, shape (bounds,)
    last : Point or None
        Where no mixture keeps the bounds, the last rule that was tried.
    """

    mixture: tuple[Point[Rule], ...]
    shares: tuple[float, ...]
    multipliers: Array
    last: Point[Rule] | None = None


class _Column(NamedTuple, Generic[Rule]):
    """A column of the programme: a rule, what a bound leaves over, or what is still too much."""

    entries: Array
    point: Point[Rule] | None = None
    too_much: bool = False


class _Programme(Generic[Rule]):
    """The linear programme of the cheapest mixture, by the simplex method with its columns found.

    Rows are the bounds, and that the shares sum to 1. What the first rule breaks them by is a
    column of its own until the bounds are kept. A rule is looked for where no column that is known
    lowers the cost; of these the first enters, and of those used up at once the first leaves, so
    that none comes back again and again where several bounds are just kept (Bland, 1977).

    Parameters
    ----------
    best : callable
        From multipliers and the weight of the cost to the best rule.
    first : Point
        The best one without bounds.
    rounding : float
        Costs this close, relatively, are the same.
    """

    def __init__(
        self, best: Callable[[Array, float], Point[Rule]], first: Point[Rule], rounding: float
    ) -> None:
        self._best = best
        self._first = first
        self._rounding = rounding
        self._size = len(first.excess)
        slacks: list[_Column[Rule]] = [_Column(each) for each in np.eye(self._size + 1)[:-1]]
        over = np.maximum(first.excess, 0.0)
        too_much: _Column[Rule] = _Column(np.append(-over, 0.0), too_much=True)
        self._columns = [too_much, *slacks]
        self._most = np.zeros(self._size)
        self._know(first)
        self._basis = [self._size + 1, *range(1, self._size + 1)]
        if over.any():
            self._basis[1 + int(np.argmax(over))] = 0

    def _know(self, point: Point[Rule]) -> None:
        self._columns.append(_Column(np.array([*point.excess, 1.0]), point))
        self._most = np.maximum(self._most, np.abs(point.excess))

    @property
    def _units(self) -> Array:
        """Of each bound the largest excess that is known, so that all rows are of one size."""
        return np.append(np.where(self._most > 0, self._most, 1.0), 1.0)

    def _scaled(self, columns: Sequence[_Column[Rule]]) -> Array:
        """The columns in these units; what a bound leaves over is one of them."""
        left = [each.point is None and not each.too_much for each in columns]
        entries = np.column_stack([each.entries for each in columns])
        return np.where(left, entries, entries / self._units[:, None])

    def solved(self) -> _Mixture[Rule]:
        """The cheapest mixture; or that none keeps the bounds."""
        if self._breaks:
            last = self._improved(0.0)
            if self._breaks:
                return _Mixture((), (), np.zeros(self._size), last or self._first)
        if 0 in self._basis:
            self._take_out(self._basis.index(0))
        self._improved(1.0)
        shares = zip(self._columns_of_basis, self._shares().tolist(), strict=True)
        used = [(each.point, share) for each, share in shares if each.point and share > _TIE]
        used.sort(key=lambda each: not each[0].keeps)
        mixture, of_each = zip(*used, strict=True)
        return _Mixture(mixture, of_each, self._multipliers(1.0))

    @property
    def _columns_of_basis(self) -> list[_Column[Rule]]:
        return [self._columns[each] for each in self._basis]

    @property
    def _breaks(self) -> bool:
        """Whether the bounds are still broken."""
        return 0 in self._basis and self._shares()[self._basis.index(0)] > _TIE

    def _matrix(self) -> Array:
        return self._scaled(self._columns_of_basis)

    def _shares(self) -> Array:
        return np.linalg.solve(self._matrix(), np.eye(self._size + 1)[-1])

    def _prices(self, of_cost: float) -> Array:
        """Dual values of the rows, at the cost, or at what is too much."""
        paid = [_paid(each, of_cost) for each in self._columns_of_basis]
        return np.linalg.solve(self._matrix().T, paid)

    def _multipliers(self, of_cost: float) -> Array:
        prices: Array = np.maximum(-self._prices(of_cost) / self._units, 0.0)
        return prices[:-1]

    def _improved(self, of_cost: float) -> Point[Rule] | None:
        """Find rules until none lowers the cost, or, at no weight of the cost, none is too much."""
        point = None
        self._pivoted(of_cost)
        for _ in range(_MOST):
            if not of_cost and not self._breaks:
                break
            point = self._best(self._multipliers(of_cost), of_cost)
            self._know(point)
            if not self._pivoted(of_cost):
                break
        return point

    def _pivoted(self, of_cost: float) -> bool:
        """Whether any column that is known could enter; afterwards none lowers the cost."""
        for number in range(_MOST):
            others = (n for n in range(1, len(self._columns)) if n not in self._basis)
            lowers = self._lowers(of_cost)
            entering = next((n for n in others if lowers(self._columns[n])), None)
            if entering is None or not self._entered(entering):
                return number > 0
        return True

    def _lowers(self, of_cost: float) -> Callable[[_Column[Rule]], bool]:
        """What says whether the cost falls, by more than rounding, where a column enters."""
        prices = self._prices(of_cost)
        paid = [abs(_paid(each, of_cost)) for each in self._columns_of_basis]

        def lowers(column: _Column[Rule]) -> bool:
            entries = self._scaled([column])[:, 0]
            saved = float(prices @ entries) - _paid(column, of_cost)
            noise = _NOISE * (max(paid) + float(np.abs(prices) @ np.abs(entries)))
            return saved > max(self._rounding * abs(float(prices[-1])), noise)

        return lowers

    def _entered(self, number: int) -> bool:
        """Whether a column could take the place of the one that is used up first."""
        shares = np.maximum(self._shares(), 0.0)
        rates = np.linalg.solve(self._matrix(), self._scaled([self._columns[number]])[:, 0])
        falls = rates > _TIE * np.abs(rates).max()
        if not falls.any():
            return False
        steps = np.where(falls, shares / np.where(falls, rates, 1.0), np.inf)
        tied = np.flatnonzero(steps <= steps.min() + _TIE).tolist()
        self._basis[min(tied, key=self._basis.__getitem__)] = number
        return True

    def _take_out(self, place: int) -> None:
        """Replace a column without a share by the one that is most unlike the others."""
        rates = np.abs(np.linalg.solve(self._matrix(), self._scaled(self._columns))[place])
        rates[self._basis] = 0.0
        self._basis[place] = int(np.argmax(rates))


def _paid(column: _Column[Any], of_cost: float) -> float:
    """What a column costs, or what of it is too much."""
    if of_cost:
        return column.point.cost if column.point else 0.0
    return float(column.too_much)


# --- in words ------------------------------------------------------------------------------------


def notes_of(
    found: Found[Rule],
    bounds: Sequence[Bound],
    words: Callable[[Rule], str],
    kept: str | None = None,
) -> tuple[str, ...]:
    """What was found, in words; `kept` says how many rules keep the bounds where all were tried."""
    single = found.single
    few = len(bounds) == 1
    price = _price_of_bounds(single.cost, found.free_cost, "the bound" if few else "the bounds")
    less = f"no rule of this kind that keeps {'it' if few else 'them'}, and no mixture, costs less"
    below = f"{less} than {found.lower:.10g}"
    values = zip(bounds, single.values, strict=True)
    has = ", ".join(f"{bound.name} = {value:.6g}" for bound, value in values)
    notes = [has, *((kept, price) if kept else (price, below))]
    if found.proved is False:
        notes.append(
            "best single rule met on the way from those of the mixture, one decision after the "
            "other; not proved"
        )
    if found.is_mixed:
        turns = _turns([words(each.rule) for each in found.mixture], found.shares)
        less = f"cheaper by {100 * (1 - found.mixed_cost / single.cost):.3g} %"
        within = f"within the bound{'' if few else 's'} on average"
        notes.append(f"{less}, and {within}: {turns}, in long turns: cost {found.mixed_cost:.6g}")
    return tuple(notes)


def _price_of_bounds(cost: float, free: float, those: str) -> str:
    few = those == "the bound"
    costs, keeps = ("costs", "it") if few else ("cost", "them")
    if cost <= free + 1e-9 * abs(free):
        return f"{those} {costs} nothing: the best rule of this kind keeps {keeps}"
    they = "it costs" if few else "they cost"
    if free == 0:
        return f"without {those} the cost is 0; {they} {cost:.6g} more"
    return f"without {those}: cost {free:.6g}; {they} {100 * (cost / free - 1):.3g} % more"


def _turns(rules: Sequence[str], shares: Sequence[float]) -> str:
    """Rules that take turns, in words: how much of the time each of them gets."""
    *most, last = rules
    said = [f"{one} for {100 * share:.6g} %" for one, share in zip(most, shares, strict=False)]
    return f"{', '.join(said)} of the time, {last} for the rest"
