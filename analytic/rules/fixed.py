"""The best fixed number of robots for the indexing queue, or the best set where robots differ."""

from __future__ import annotations

import itertools
import math
import time
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from analytic.index import conditions
from analytic.index.conditions import buffer_and_robots
from analytic.index.formula import reason_against
from analytic.index.optimum import NoOptimumError, Optimum
from analytic.indexing_queue.chain import controlled_chain
from analytic.indexing_queue.measures import service_and_patience, size_of
from analytic.indexing_queue.policy_costs import level_rates, policy_costs
from analytic.machinery.arrival_process import delivery_modes
from analytic.machinery.progress import Progress
from analytic.rules.bound import Bound
from analytic.rules.listed import Compared, compare, first_cheapest
from analytic.rules.searching import (
    CONSTANT,
    COVERED,
    all_costs,
    always,
    check_time,
    cost_of_none,
    descended,
    exact_cost,
    seconds_together,
    uncontrolled,
)
from scenarios import Scenario
from scenarios.activation import Static, These
from scenarios.arrays import Array
from scenarios.choices import class_sizes
from scenarios.deliveries import Independent, Marked, alone, as_modes, order_of
from scenarios.fleet import mean_price, order_of_activation
from scenarios.model import present
from scenarios.sections import Costs

if TYPE_CHECKING:
    import pandas as pd

Set = tuple[int, ...]
"""Robots, in the order of the file."""
Counts = tuple[int, ...]
"""So many robots of each kind."""

MOST_SETS = 2**14
"""Distinct sets of robots up to which all of them are tried."""

_MOST_BOUNDED = 4096
"""Distinct sets up to which all are compared beside a bound."""

_ALIKE = 1e-12
"""Costs that differ by less, relatively, are the same."""

_TOGETHER = 256
"""Numbers of robots that are solved together."""


class BestSets(NamedTuple):
    """The best robots of each number, from none on.

    Attributes
    ----------
    sets : tuple of tuple of int
    costs : tuple of float
        NaN where no set of that size has a cost.
    tried : int
        Sets that were costed.
    distinct : int
        Sets that differ in more than the numbers of robots that are alike.
    """

    sets: tuple[Set, ...]
    costs: tuple[float, ...]
    tried: int
    distinct: int

    @property
    def is_complete(self) -> bool:
        """Whether every distinct set was tried."""
        return self.tried == self.distinct


@dataclass(frozen=True)
class StaticSearch:
    """The cost of every fixed number of robots.

    Attributes
    ----------
    scenario : str
        Its name.
    time_unit : str
    costs : ndarray, shape (available + 1,)
        Per unit time with 0, 1, … robots; NaN where there is none.
    other : tuple of str, float and int, optional
        Another criterion, the cost of what it decides, and that number of robots.
    best : BestSets, optional
        Where robots are not alike: the best ones of each number, whose costs these are.
    classes : tuple of int
        Robots of each class, in the order of the file; empty where there are no classes.
    """

    scenario: str
    time_unit: str
    costs: Array = field(repr=False)
    other: tuple[str, float, int] | None = None
    best: BestSets | None = field(default=None, repr=False)
    classes: tuple[int, ...] = ()

    @property
    def optimum(self) -> int:
        """The number with the least cost, the smallest of several."""
        return first_cheapest(self.costs)

    @property
    def decision(self) -> dict[str, Any]:
        """The best number, or the best robots where they are not alike, of classes how many."""
        return self._chosen(self.optimum)

    def _chosen(self, number: int) -> dict[str, Any]:
        """So many robots, the best ones."""
        if self.best is None:
            return {"robots": number}
        return decision_of_set(self.best.sets[number], self.classes)

    @property
    def changes(self) -> dict[str, Any]:
        """The decision as it stands in a scenario file."""
        return changes_of(self.decision)

    @property
    def is_complete(self) -> bool:
        """Whether nothing was left out of the search."""
        return self.best is None or self.best.is_complete

    def rows(self) -> Iterator[dict[str, Any]]:
        """Number of robots, the best ones where they are not alike, and cost."""
        for robots, cost in enumerate(self.costs.tolist()):
            yield {"robots": robots} | self._chosen(robots) | {"cost": cost}

    def notes(self) -> tuple[str, ...]:
        """What a reader of the rows should know."""
        notes = []
        if np.isnan(self.costs[0]):
            notes.append(
                "0 robots: no cost, for the response has a price and nothing is ever served"
            )
        best = self.best
        if best is not None and best.is_complete:
            of_each = ", by class in the order of the file" if self.classes else ""
            notes.append(f"the best of all {best.distinct:,} different sets of robots{of_each}")
        elif best is not None:
            distinct = best.distinct
            shown = f"{distinct:,}" if distinct < 10**9 else f"{distinct:.1e}"
            notes.append(
                f"not proved to be the best: {best.tried:,} of {shown} different sets were tried, "
                "by adding a robot, leaving one out or exchanging two while that helped"
            )
        return tuple(notes)

    def to_frame(self) -> pd.DataFrame:
        """Number of robots and cost as a DataFrame."""
        import pandas as pd

        return pd.DataFrame(list(self.rows()))


def decision_of_set(chosen: Set, classes: Sequence[int]) -> dict[str, Any]:
    """A set of robots as a decision: how many of each class, or which where there are none."""
    if classes:
        return {"robots": list(numbers_of_classes(chosen, classes))}
    return {"these": list(chosen)}


def changes_of(decision: dict[str, Any]) -> dict[str, Any]:
    """A decision of fixed robots as it stands in a scenario file."""
    rule = {"static": decision["robots"]} if "robots" in decision else decision
    return {"activation": rule}


def best_fixed_number(scenario: Scenario) -> StaticSearch:
    """The cost of each fixed number of robots, from 0 to all that are available.

    Where robots are of several classes, or those of an independent or marked process are not alike,
    that of the best ones of each number.

    Raises
    ------
    NoOptimumError
        If there are no [costs], they have no exact value here, or there are too many numbers.

    Notes
    -----
    The static problem of talim2001, section 4, for every queue of avrachenkov2011, section 3.
    """
    if scenario.buffer is None or scenario.robots is None:
        raise NoOptimumError("there is no [buffer]")
    if (kinds := kinds_of_robots(scenario)) and len(kinds) > 1:
        if scenario.robots.classes is not None:
            return static_search(scenario, cheapest_numbers(scenario, kinds))
        return static_search(scenario, cheapest_sets(scenario, kinds))
    every = range(scenario.robots.available + 1)
    parts = [every[start : start + _TOGETHER] for start in range(0, len(every), _TOGETHER)]
    return static_search(
        scenario, np.concatenate([all_costs(scenario, part, CONSTANT) for part in parts])
    )


def static_search(scenario: Scenario, costs: Array | BestSets) -> StaticSearch:
    """The search whose costs these are, by number of robots, or of the best robots of each number.

    Raises
    ------
    NoOptimumError
        If no number has a cost.
    """
    best = costs if isinstance(costs, BestSets) else None
    values = np.array(best.costs) if best else np.asarray(costs)
    if np.isnan(values).all():
        why = "nothing is served, or the steady state is not unique"
        raise NoOptimumError(f"no number has a cost: {why}")
    robots = scenario.robots
    sizes = [each.available for each in (robots.classes if robots else None) or ()]
    classes = tuple(sizes) if best else ()
    return StaticSearch(scenario.name, scenario.time_unit, values, best=best, classes=classes)


def optimal_fixed_number(scenario: Scenario) -> Optimum:
    """The best fixed number of robots; the table has the cost of each.

    Raises
    ------
    NoOptimumError
        As `best_fixed_number`.
    """
    optimum = static_optimum(best_fixed_number(scenario))
    return optimum if optimum.search.best else replace(optimum, proved=None, gap=None)


def static_optimum(search: StaticSearch) -> Optimum:
    """The optimum of a search of fixed numbers, as every optimiser returns it."""
    return Optimum(
        target="static",
        cost=float(search.costs[search.optimum]),
        decision=search.decision,
        changes=search.changes,
        table=list(search.rows()),
        notes=search.notes(),
        search=search,
        proved=search.is_complete,
        gap=0.0 if search.is_complete else None,
    )


def kinds_of_robots(scenario: Scenario) -> list[list[int]]:
    """The robots by class, or those of an independent or marked process that are alike together.

    Alike are those with equal entries and prices. Empty where robots are not told apart: free
    modes, thinned batches, accesses of their own without classes.
    """
    robots = scenario.robots
    if robots is not None and robots.classes is not None:
        starts = [0, *itertools.accumulate(each.available for each in robots.classes)]
        return [list(range(start, end)) for start, end in itertools.pairwise(starts)]
    deliveries = robots.deliveries if robots else None
    if not isinstance(deliveries, Independent | Marked):
        return []
    prices = scenario.costs.robots
    processes = deliveries.root if isinstance(deliveries, Independent) else deliveries.root.robots
    paid = prices if isinstance(prices, tuple) else [prices] * len(processes)
    kinds: dict[object, list[int]] = {}
    for robot, entry in enumerate(zip(processes, paid, strict=True)):
        kinds.setdefault(entry, []).append(robot)
    return list(kinds.values())


def cheapest_sets(scenario: Scenario, kinds: list[list[int]]) -> BestSets:
    """The cheapest robots of each number, of an independent or marked process.

    Raises
    ------
    NoOptimumError
        If the cost has no exact value, or the sets take too long.
    """
    cost = cost_of_sets(scenario, kinds)
    return best_sets(kinds, cost, f"{scenario.name}: sets of robots")


def cost_of_sets(scenario: Scenario, kinds: list[list[int]]) -> Callable[[Set], float]:
    """The cost of each set of robots of an independent or marked process.

    Robots that are not chosen run on unheard, so that their phases do not matter.

    Raises
    ------
    NoOptimumError
        If the cost has no exact value, or the sets take too long.
    """
    free = uncontrolled(_unpriced(scenario))
    buffer, robots = buffer_and_robots(scenario)
    deliveries = robots.deliveries
    assert isinstance(deliveries, Independent | Marked)
    _, phases, patience, top = size_of(free)
    sizes = phases * patience ** np.minimum(np.arange(top), 60.0)

    def seconds(chosen: Set) -> float:
        order = order_of(deliveries, chosen)
        return seconds_together([float(order), *(order * sizes).tolist()], 1, CONSTANT)

    some = itertools.islice(_all_counts(kinds), MOST_SETS)
    spent = sum(seconds(_named(kinds, counts)) for counts in some)
    check_time(spent, "the sets of robots take")
    laws = service_and_patience(free)
    capacity = buffer.capacity

    def cost(chosen: Set) -> float:
        if not chosen:
            return cost_of_none(scenario)
        modes = as_modes(alone(deliveries, chosen))
        chain = controlled_chain(modes, always(len(chosen)), *laws, capacity, buffer.admission)
        prices = prices_of_set(scenario, These(chosen))
        return float(policy_costs(level_rates([chain], prices), CONSTANT.follows(1))[0])

    return cost


def _unpriced(scenario: Scenario) -> Scenario:
    """The scenario without prices of single robots, which do not matter to what is covered."""
    priced = isinstance(scenario.costs.robots, tuple)
    return scenario.with_("costs.robots", 0.0) if priced else scenario


def prices_of_set(scenario: Scenario, rule: Static | These) -> Costs:
    """The prices while always the same robots are active."""
    _, robots = buffer_and_robots(scenario)
    given = scenario.costs.robots
    price = mean_price(robots, rule, given) if isinstance(given, tuple) else given
    return scenario.prices.model_copy(update={"robots": price})


def numbers_of_classes(chosen: Set, classes: Sequence[int]) -> Counts:
    """How many robots of each class are in a set; `classes` says how many there are."""
    ends = list(itertools.accumulate(classes))
    which = [bisect_right(ends, robot) for robot in chosen]
    return tuple(which.count(index) for index in range(len(classes)))


def cheapest_numbers(scenario: Scenario, kinds: list[list[int]]) -> BestSets:
    """The cheapest numbers of robots of each class, for each number of robots together.

    Raises
    ------
    NoOptimumError
        If the cost has no exact value, or the sets take too long.
    """
    cost = cost_of_numbers(scenario, kinds)
    return best_sets(kinds, cost, f"{scenario.name}: robots by class", prefer=max)


def cost_of_numbers(scenario: Scenario, kinds: list[list[int]]) -> Callable[[Set], float]:
    """The cost of each set of robots of classes, of which their numbers by class matter.

    By elimination where the queue is a Markov chain with one server, else by the formula of the
    control cost that covers it.

    Raises
    ------
    NoOptimumError
        If the cost has no exact value, or the sets take too long.
    """
    buffer, robots = buffer_and_robots(scenario)
    sizes = tuple(map(len, kinds))
    free = _unpriced(scenario).with_("activation", None)
    reason = reason_against(COVERED, free)
    fleet = present(scenario.model.fleet)

    def by_formula(numbers: Counts) -> float:
        given = scenario.with_("activation", {"static": list(numbers)})
        return exact_cost(given, reason or "its cost has no formula")

    def by_elimination(numbers: Counts) -> float:
        rule = Static(numbers)
        active = rule.robots
        order = order_of_activation(robots, rule)
        modes = delivery_modes(replace(fleet, rule=rule, order=order), [active])
        laws = service_and_patience(free)
        chain = controlled_chain(modes, always(active), *laws, buffer.capacity, buffer.admission)
        prices = prices_of_set(scenario, rule)
        return float(policy_costs(level_rates([chain], prices), CONSTANT.follows(1))[0])

    eliminated = reason is None and conditions.one_server(scenario) is None
    cost_of = by_elimination if eliminated else by_formula

    def cost(chosen: Set) -> float:
        if not chosen:
            return cost_of_none(scenario)
        return cost_of(numbers_of_classes(chosen, sizes))

    every = tuple(range(sum(sizes)))
    begun = time.perf_counter()
    cost(every)
    spent = time.perf_counter() - begun
    check_time(spent * min(_distinct(kinds), MOST_SETS), "the numbers of robots by class take")
    return cost


def costs_of_all_sets(scenario: Scenario, sets: Sequence[Set], kinds: list[list[int]]) -> Array:
    """The cost of each of some sets, by the prices of the scenario, shape (sets,)."""
    robots = scenario.robots
    by_class = robots is not None and robots.classes is not None
    cost = (cost_of_numbers if by_class else cost_of_sets)(scenario, kinds)
    return np.array([cost(each) for each in sets])


def all_sets(scenario: Scenario, kinds: list[list[int]], most: int) -> list[Set]:
    """All sets that differ in more than robots that are alike, in the order in which they win ties.

    Raises
    ------
    NoOptimumError
        If there are more than `most`.
    """
    if (distinct := _distinct(kinds)) > most:
        raise NoOptimumError(f"there are {distinct:.3g} different sets of robots, limit {most}")
    by_class = scenario.robots is not None and scenario.robots.classes is not None
    sets = [_named(kinds, counts) for counts in _all_counts(kinds)]
    sets.sort(reverse=by_class)
    return sorted(sets, key=len)


def _distinct(kinds: list[list[int]]) -> int:
    """How many sets differ in more than the numbers of robots that are alike."""
    return math.prod(len(kind) + 1 for kind in kinds)


def best_sets(
    kinds: list[list[int]],
    cost: Callable[[Set], float],
    doing: str,
    most: int = MOST_SETS,
    prefer: Callable[[Iterable[Set]], Set] = min,
) -> BestSets:
    """The cheapest set of each size.

    Robots that are alike are counted, not listed: of each kind the first ones of the file stand for
    any. Of more than `most` distinct sets the beginnings of the file's list are tried, and those
    that a descent meets: it begins with none, with all and with the best beginning, adds a robot,
    leaves one out or exchanges two while that helps.

    Parameters
    ----------
    kinds : list of list of int
        As `kinds_of_robots`.
    cost : callable
        Of a set, in increasing order; NaN where it has none.
    doing : str
        What a long search says that it does.
    most : int
    prefer : callable
        Which of equally cheap sets of one size is given: the first in lexicographic order, or with
        `max` the last, which has fewest robots of the first class.
    """
    distinct = _distinct(kinds)
    tried: dict[Set, float] = {}
    progress = Progress(doing, distinct if distinct <= most else None)

    def costs_of(given: Iterable[Counts]) -> Array:
        values = []
        for counts in given:
            chosen = _named(kinds, counts)
            if chosen not in tried:
                tried[chosen] = cost(chosen)
                progress.step()
            values.append(tried[chosen])
        return np.array(values)

    if distinct <= most:
        costs_of(_all_counts(kinds))
    else:
        all_robots = sum(map(len, kinds))
        first = [tuple(sum(r < n for r in kind) for kind in kinds) for n in range(all_robots + 1)]
        best = first[int(np.argmin(np.nan_to_num(costs_of(first), nan=math.inf)))]
        move = partial(_neighbours, most=tuple(map(len, kinds)))
        for start in (first[0], first[-1], best):
            descended(start, [move], costs_of)
    sizes = range(sum(map(len, kinds)) + 1)
    sets = tuple(_cheapest(tried, size, prefer) for size in sizes)
    costs = tuple(tried.get(each, math.nan) for each in sets)
    return BestSets(sets, costs, len(tried), distinct)


def _all_counts(kinds: list[list[int]]) -> Iterator[Counts]:
    """Every number of robots of each kind."""
    return itertools.product(*(range(len(kind) + 1) for kind in kinds))


def _named(kinds: list[list[int]], counts: Counts) -> Set:
    """So many robots of each kind, the first ones of the file."""
    chosen = (kind[:count] for kind, count in zip(kinds, counts, strict=True))
    return tuple(sorted(itertools.chain.from_iterable(chosen)))


def _cheapest(tried: dict[Set, float], size: int, prefer: Callable[[Iterable[Set]], Set]) -> Set:
    """The cheapest set of a size; of equals the preferred one."""
    some = {each: cost for each, cost in tried.items() if len(each) == size}
    least = min((cost for cost in some.values() if not math.isnan(cost)), default=math.nan)
    alike = [each for each, cost in some.items() if cost <= least + _ALIKE * abs(least)]
    return prefer(alike or some or [()])


def _neighbours(counts: Counts, most: Counts) -> Iterator[Counts]:
    """One robot more, one less, and one of a kind in place of one of another."""
    kinds = range(len(counts))
    more = [kind for kind in kinds if counts[kind] < most[kind]]
    less = [kind for kind in kinds if counts[kind] > 0]
    for added, left_out in itertools.product([None, *more], [None, *less]):
        if added != left_out:
            yield tuple(
                count + (kind == added) - (kind == left_out) for kind, count in enumerate(counts)
            )


# --- beside a bound ------------------------------------------------------------------------------


def fixed_within(scenario: Scenario, bounds: Sequence[Bound]) -> Optimum:
    """The best fixed robots that keep some bounds."""
    if (kinds := kinds_of_robots(scenario)) and len(kinds) > 1:
        return _best_set_within(scenario, kinds, bounds)
    search = best_fixed_number(scenario)
    numbers = range(len(search.costs))

    def costs_of(one: Scenario) -> Array:
        return all_costs(one, numbers, CONSTANT)

    def rule_of(rule: int) -> dict[str, Any]:
        return {"static": rule}

    def words(rule: int) -> str:
        return f"robots = {rule}"

    compared = compare(scenario, search.costs, costs_of, rule_of, bounds, words)
    return _static_answer(replace(search, costs=compared.rules.kept), compared)


def _best_set_within(
    scenario: Scenario, kinds: list[list[int]], bounds: Sequence[Bound]
) -> Optimum:
    """The best numbers by class, or set of robots that differ, of all that keep some bounds."""
    robots = scenario.robots
    sets = all_sets(scenario, kinds, _MOST_BOUNDED)
    classes = class_sizes(robots) if robots is not None and robots.classes is not None else ()

    def costs_of(one: Scenario) -> Array:
        return costs_of_all_sets(one, sets, kinds)

    def rule_of(rule: int) -> dict[str, Any]:
        given: dict[str, Any] = changes_of(decision_of_set(sets[rule], classes))["activation"]
        return given

    def words(rule: int) -> str:
        ((name, entries),) = decision_of_set(sets[rule], classes).items()
        return f"{name} = {entries}"

    compared = compare(scenario, costs_of(scenario), costs_of, rule_of, bounds, words)
    sizes = np.array([len(each) for each in sets])
    best = [first_cheapest(compared.rules.kept, sizes == size) for size in range(sizes.max() + 1)]
    kept = [float(compared.rules.kept[rule]) for rule in best]
    chosen = BestSets(tuple(sets[rule] for rule in best), tuple(kept), len(sets), len(sets))
    return _static_answer(static_search(scenario, chosen), compared)


def _static_answer(search: StaticSearch, compared: Compared) -> Optimum:
    optimum = static_optimum(search)
    rows = [row for row in optimum.table if not np.isnan(row["cost"])]
    kept = replace(optimum, table=rows, proved=None, gap=None)
    return replace(kept, lower_bound=compared.bound, notes=compared.notes)
