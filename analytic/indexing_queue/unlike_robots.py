"""The best set of robots of each size, where the robots of a joint process are not alike."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator
from typing import NamedTuple

from analytic.progress import Progress, followed
from scenarios import Scenario
from scenarios.deliveries import Independent, Marked

Set = tuple[int, ...]

MOST_SETS = 2**14
"""Distinct sets of robots that are all tried."""

_ALIKE = 1e-12
"""Costs that differ by less, relatively, are the same."""


class BestSets(NamedTuple):
    """The best robots of each number, from none on.

    Attributes
    ----------
    sets : tuple of tuple of int
    costs : tuple of float
        NaN where no set of so many has a cost.
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


def kinds_of_robots(scenario: Scenario) -> list[list[int]]:
    """The robots of an independent or marked process, those with equal entries together.

    Empty where robots are not told apart: free modes, thinned batches, trips of their own.
    """
    deliveries = scenario.robots.deliveries if scenario.robots else None
    if not isinstance(deliveries, Independent | Marked):
        return []
    entries = deliveries.root if isinstance(deliveries, Independent) else deliveries.root.robots
    kinds: list[list[int]] = []
    for robot, entry in enumerate(entries):
        same = next((kind for kind in kinds if entries[kind[0]] == entry), None)
        if same is None:
            kinds.append([robot])
        else:
            same.append(robot)
    return kinds


def best_sets(
    kinds: list[list[int]], cost: Callable[[Set], float], doing: str, most: int = MOST_SETS
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
    """
    distinct = math.prod(len(kind) + 1 for kind in kinds)
    found: dict[Set, float] = {}
    if distinct <= most:
        for chosen in followed(distinct_sets(kinds), doing, distinct):
            found[chosen] = cost(chosen)
    else:
        _descend(kinds, cost, found, Progress(doing))
    sizes = range(sum(map(len, kinds)) + 1)
    sets = tuple(_cheapest(found, size) for size in sizes)
    costs = tuple(found.get(each, math.nan) for each in sets)
    return BestSets(sets, costs, len(found), distinct)


def distinct_sets(kinds: list[list[int]]) -> Iterator[Set]:
    """Every set of robots, one of those that differ only in robots that are alike."""
    counts = itertools.product(*(range(len(kind) + 1) for kind in kinds))
    return (_named(kinds, each) for each in counts)


def _named(kinds: list[list[int]], counts: tuple[int, ...]) -> Set:
    """So many robots of each kind, the first ones of the file."""
    chosen = (kind[:count] for kind, count in zip(kinds, counts, strict=True))
    return tuple(sorted(itertools.chain.from_iterable(chosen)))


def _cheapest(found: dict[Set, float], size: int) -> Set:
    """The cheapest set of a size; of equals the first in alphabetical order."""
    some = {each: cost for each, cost in found.items() if len(each) == size}
    least = min((cost for cost in some.values() if not math.isnan(cost)), default=math.nan)
    alike = (each for each, cost in some.items() if cost <= least + _ALIKE * abs(least))
    return min(alike, default=min(some, default=()))


def _descend(
    kinds: list[list[int]],
    cost: Callable[[Set], float],
    found: dict[Set, float],
    progress: Progress,
) -> None:
    """Fill in the costs of sets that walks to the best neighbour meet."""

    def costed(counts: tuple[int, ...]) -> float:
        chosen = _named(kinds, counts)
        if chosen not in found:
            found[chosen] = cost(chosen)
            progress.step()
        value = found[chosen]
        return math.inf if math.isnan(value) else value

    most = tuple(map(len, kinds))
    first = [tuple(sum(r < n for r in kind) for kind in kinds) for n in range(sum(most) + 1)]
    for start in (first[0], first[-1], min(first, key=costed)):
        here = start
        paid = costed(start)
        is_moving = True
        while is_moving:
            best = min(_neighbours(here, most), key=costed)
            is_moving = costed(best) < paid - _ALIKE * abs(paid) or math.isinf(paid)
            if is_moving and costed(best) < math.inf:
                here = best
                paid = costed(best)
            else:
                is_moving = False


def _neighbours(counts: tuple[int, ...], most: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
    """One robot more, one less, and one of a kind in place of one of another."""
    kinds = range(len(counts))
    more = [kind for kind in kinds if counts[kind] < most[kind]]
    less = [kind for kind in kinds if counts[kind] > 0]
    for added, left_out in itertools.product([None, *more], [None, *less]):
        if added != left_out:
            yield tuple(
                count + (kind == added) - (kind == left_out) for kind, count in enumerate(counts)
            )
