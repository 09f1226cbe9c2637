"""eckstein2005, computed anew."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from analytic.probing import (
    Interval,
    Profile,
    actual_cost,
    best_schedule,
    expected_cost,
    first_arrival_times,
    grid_error,
    grid_of,
    join,
    refined,
    times_of,
    uniform_times,
)
from analytic.probing.programme import improved_by_moves, paper_schedule
from papers import eckstein_policies as policies
from papers.computed import Experiment, Figure, Line, Number, agreed, table_lines
from papers.eckstein_policies import (
    HORIZON,
    SLOTS,
    SOURCES,
    above_the_optimum,
    costs_table,
    deviation,
    drawn_updates,
    experiments,
    profile,
    results,
)
from scenarios import load
from scenarios.arrays import Array
from scenarios.rates import PiecewiseConstant, Rate

if TYPE_CHECKING:
    from analytic.probing.kernels import Grid

_INSTANCES = 300
_EQUAL = 1e-11
"""Relative difference of two sums that is put down to rounding."""


def _rate(*values: float, breaks: tuple[float, ...] = (0.0,), period: float = 1.0) -> Rate:
    return Rate(breaks=breaks, values=values, period=period)


_ONE = _rate(1.0)
_BY_DAY = _rate(1.0, 3.0, 1.0, breaks=(0.0, 8 / 24, 18 / 24))
"""Importance of Figure 1: work from 8:00 to 18:00."""


def _random_profile(rng: np.random.Generator) -> Profile:
    """Rates of up to four pieces in each of one to four days, some of them 0."""

    def rate() -> Rate:
        pieces = int(rng.integers(1, 5))
        breaks = (0.0, *np.sort(rng.random(pieces - 1)).tolist())
        values = [*rng.choice([0.0, 0.2, 1.0, 3.0, 10.0], pieces - 1), 1.0]
        return Rate(breaks=breaks, values=tuple(values), period=1.0)

    return Profile(rate(), rate(), float(rng.uniform(1.0, 4.0)))


def _violations(holds: Callable[[np.random.Generator, Profile], bool]) -> float:
    """In how many random models something does not hold; one seed for each."""
    seeds = map(np.random.default_rng, range(_INSTANCES))
    return float(sum(not holds(rng, _random_profile(rng)) for rng in seeds))


# -- integrals -------------------------------------------------------------------------------------


def _by_midpoints(rates: Profile, start: float, end: float) -> float:
    """(5), and (12) where it ends before it starts, without `Profile.between`.

    ``A(t, f)`` is linear in t within a cell: its integral is its value in the middle.
    """
    low, high = sorted((start, end))
    inside = rates.edges[(rates.edges > low) & (rates.edges < high)]
    cuts = np.concatenate([[low], inside, [high]])
    middles = (cuts[1:] + cuts[:-1]) / 2
    heights = rates.updates[np.searchsorted(rates.edges, middles) - 1]
    sums = np.concatenate([[0.0], np.cumsum(rates.importance * np.diff(rates.edges))])
    waits = np.abs(np.interp(end, rates.edges, sums) - np.interp(middles, rates.edges, sums))
    return float(heights * np.diff(cuts) @ waits)


def _signed(rates: Profile, start: float, end: float) -> Interval:
    """The integrals from start to end; reversed where it ends before it starts."""
    if start <= end:
        return rates.between(start, end)
    found = rates.between(end, start)
    cost = found.updates * found.importance - found.cost
    return found._replace(updates=-found.updates, importance=-found.importance, cost=cost)


def _near(value: float, other: float) -> bool:
    return math.isclose(value, other, rel_tol=_EQUAL, abs_tol=_EQUAL)


def _reversed_cost(rng: np.random.Generator, rates: Profile) -> bool:
    early, late = np.sort(rng.random(2)) * rates.horizon
    return _near(float(_signed(rates, late, early).cost), _by_midpoints(rates, late, early))


def _joined_in_order(rng: np.random.Generator, rates: Profile) -> bool:
    s, v, f = np.sort(rng.random(3)) * rates.horizon
    cost = join(rates.between(s, v), rates.between(v, f)).cost
    return _near(float(cost), _by_midpoints(rates, s, f))


def _joined_in_any_order(rng: np.random.Generator, rates: Profile) -> bool:
    s, v, f = rng.random(3) * rates.horizon
    cost = join(_signed(rates, s, v), _signed(rates, v, f)).cost
    return _near(float(cost), _by_midpoints(rates, s, f))


def _steepest(rates: Profile) -> float:
    """The upper bounds of the two rates, multiplied."""
    return float(rates.updates.max() * rates.importance.max())


def _below_the_square(rng: np.random.Generator, rates: Profile) -> bool:
    s, f = rng.random(2) * rates.horizon
    cost = float(_signed(rates, s, f).cost)
    return bool(0 <= cost <= _steepest(rates) / 2 * (f - s) ** 2 * (1 + _EQUAL))


def _changes_little(rng: np.random.Generator, rates: Profile) -> bool:
    s, f = rng.random(2) * rates.horizon
    most = float(rng.choice([0.01, 0.1, 1.0])) * rates.horizon
    start, end = np.clip(np.array([s, f]) + rng.uniform(-most, most, 2), 0, rates.horizon)
    change = abs(float(_signed(rates, s, f).cost - _signed(rates, start, end).cost))
    return change <= 2 * _steepest(rates) * (most**2 + abs(float(f - s)) * most) * (1 + _EQUAL)


def _first_day() -> float:
    return float(_dbworld().between(0.0, 1.0).cost)


def _week_of_importance() -> float:
    return float(_dbworld().between(0.0, 7.0).importance)


_PROBES = (1.0, 2.0, 4.0, 28.0)
_TRACE = (0.5, 1.25, 1.5, 3.75)


def _of_one_interval() -> float:
    return actual_cost(_dbworld(), _PROBES, _TRACE[1:3])


def _of_one_update(hour: float = 4.0) -> float:
    """An update at that hour, probed at 18:00, in the units of Figure 1."""
    day = Profile(_ONE, _BY_DAY, 1.0)
    return actual_cost(day, (18 / 24, 1.0), [hour / 24])


# -- schedules -------------------------------------------------------------------------------------


def _dbworld() -> Profile:
    """DBWorld at preference ratio 3."""
    return profile("dbworld", 3)


@cache
def _on_the_grid(probes: int, apart: int = 1) -> tuple[float, ...]:
    """The best times on the grid of hours for DBWorld."""
    found = best_schedule(grid_of(_dbworld(), SLOTS), probes, apart)
    return times_of(HORIZON, SLOTS, found.slots)


def _best_continuous(spacing: float = 0.0) -> float:
    start = _on_the_grid(28, max(round(spacing * 24), 1))
    return refined(_dbworld(), start, spacing).cost


def _longest_gap() -> float:
    return float(np.diff([0.0, *_on_the_grid(28, 12)]).max())


def _programme(probes: int) -> float:
    return paper_schedule(grid_of(_dbworld(), SLOTS), probes).cost


def _read_off() -> float:
    """What the schedule costs that Algorithm 2 reads off."""
    found = paper_schedule(grid_of(_dbworld(), SLOTS), 28)
    return expected_cost(_dbworld(), _times(_dbworld(), found.slots))


def _programme_is_exhaustive(rng: np.random.Generator, rates: Profile) -> bool:
    """Algorithms 1, 2 and 4 against all schedules of 4 probes on 9 slots."""
    slots = 9
    apart = int(rng.integers(1, 3))
    found = paper_schedule(grid_of(rates, slots), 4, apart)
    every = (
        (*inner, slots)
        for inner in itertools.combinations(range(1, slots), 3)
        if min(np.diff([0, *inner, slots])) >= apart
    )
    least = min(expected_cost(rates, _times(rates, path)) for path in every)
    return _near(found.cost, least) and _near(
        expected_cost(rates, _times(rates, found.slots)), least
    )


def _times(rates: Profile, slots: Sequence[int] | NDArray[np.int64]) -> tuple[float, ...]:
    return times_of(rates.horizon, int(slots[-1]), np.array(slots))


def cost_matrix(grid: Grid, corrected: bool = False) -> Array:
    """K of Algorithm 4 as printed, shape (slots + 1, slots + 1).

    As printed the inner loop begins at i = j - 1: it overwrites ``K[j - 1, j]``, and every A' has a
    slot too many. Corrected it begins at j - 2.
    """
    slots = len(grid.cost)
    cost = np.zeros((slots + 1, slots + 1))
    cost[np.arange(slots), np.arange(1, slots + 1)] = grid.cost
    weights = np.append(grid.importance, 0.0)
    for j in range(slots, corrected, -1):
        wait = 0.0
        for i in range(j - 1 - corrected, -1, -1):
            wait += weights[i + 1]
            cost[i, j] = cost[i, i + 1] + grid.updates[i] * wait + cost[i + 1, j]
    return cost


def read_off(cost: Array, probes: int) -> tuple[float, NDArray[np.int64]]:
    """D(n, 0) of Algorithm 1 on a matrix K, and the slots of Algorithm 2."""
    slots = len(cost) - 1
    allowed = np.where(np.triu(np.ones_like(cost), 1) > 0, cost, np.inf)
    best = allowed[:, slots]
    choices = []
    for _ in range(probes - 1):
        totals = allowed + best
        choices.append(totals.argmin(axis=1))
        best = totals.min(axis=1)
    path = [0]
    for choice in reversed(choices):
        path.append(int(choice[path[-1]]))
    return float(best[0]), np.array([*path[1:], slots])


def _wrong_cells() -> float:
    """Cells of K, by Algorithm 4 corrected, that are not the cost of their interval."""
    matrix = cost_matrix(grid_of(_dbworld(), SLOTS), corrected=True)
    i, j = np.triu_indices(SLOTS + 1, 1)
    times = np.arange(SLOTS + 1) * HORIZON / SLOTS
    costs = _dbworld().between(times[i], times[j]).cost
    return float((np.abs(matrix[i, j] - costs) > _EQUAL * costs).sum())


def _as_printed() -> float:
    """True cost of the schedule that Algorithm 4 as printed leads to."""
    _, path = read_off(cost_matrix(grid_of(_dbworld(), SLOTS)), 28)
    return expected_cost(_dbworld(), _times(_dbworld(), path))


def _moved() -> float:
    return expected_cost(_dbworld(), improved_by_moves(_dbworld(), _on_the_grid(28))[0])


def _on_the_grid_as_good() -> float:
    return best_schedule(grid_of(Profile(_ONE, _ONE, 1.0), 4), 2).cost


def _of_exactly_three() -> float:
    """Three probes 1 apart on [0, 3], with a burst of updates from 1.4 to 1.5."""
    burst = _rate(0.1, 10.0, 0.1, breaks=(0.0, 1.4, 1.5), period=3.0)
    return best_schedule(grid_of(Profile(burst, _ONE, 3.0), 30), 3, 10).cost


def _moved_together() -> float:
    """Where the first of two probes .4 apart comes from 1.1; updates are between 1 and 2 only."""
    middle = _rate(0.0, 1.0, 0.0, breaks=(0.0, 1.0, 2.0), period=3.0)
    return refined(Profile(middle, _ONE, 3.0), (1.1, 1.5, 3.0), 0.4).times[0]


def _without_updates() -> float:
    quiet = _rate(0.0, 1.0, breaks=(0.0, 0.5))
    return float(Profile(quiet, _ONE, 1.0).between(0.1, 0.4).cost)


def _too_near(pairs: int = 2000) -> float:
    """Pairs of times at least 3 apart that come nearer when rounded, ties down; ties among them."""
    rng = np.random.default_rng(0)
    first = rng.integers(0, 40, pairs) / 4
    second = first + 3 + rng.integers(0, 8, pairs) / 4
    rounded = [np.ceil(times - 0.5) for times in (first, second)]
    return float((rounded[1] - rounded[0] < 3).sum())


def _local_minima() -> float:
    """Local minima of the cost of two probes, the first one at any full hour."""
    bends = np.sign(np.diff([cost for _, cost in policies.of_two_probes()]))
    turns = bends[bends != 0]
    return float(((turns[:-1] < 0) & (turns[1:] > 0)).sum())


def _split_budget(probes: int = 56) -> float:
    """Least cost of so many probes of both sources together."""
    grids = [grid_of(profile(source, 3), SLOTS) for source in SOURCES]
    costs = [[best_schedule(grid, n).cost for n in range(1, probes)] for grid in grids]
    return min(one + other for one, other in zip(costs[0], reversed(costs[1]), strict=True))


# -- data ------------------------------------------------------------------------------------------


def _per_week(source: str) -> float:
    return float(profile(source, 1).between(0.0, 7.0).updates)


def _from_weekday(rate: PiecewiseConstant, day: int) -> Rate:
    """A weekly rate that begins with another day."""
    last = max(place for place, start in enumerate(rate.breaks) if start <= day)
    pieces = {
        (start - day) % 7: value for start, value in zip(rate.breaks, rate.values, strict=True)
    }
    pieces.setdefault(0.0, rate.values[last])
    starts = sorted(pieces)
    return Rate(breaks=tuple(starts), values=tuple(pieces[s] for s in starts), period=7.0)


def _effect_of_the_weekday(source: str) -> float:
    """How far the optimum of 28 probes at ratio 3 depends on the first weekday, in per cent."""
    sections = load(f"{source}-uniform").source
    assert sections is not None
    costs = []
    for day in range(7):
        updates = _from_weekday(sections.updates, day)
        importance = _from_weekday(sections.importance, day)
        shifted = Profile(updates, importance, HORIZON)
        costs.append(best_schedule(grid_of(shifted, SLOTS), 28).cost)
    return 100 * (max(costs) / min(costs) - 1)


# -- what section 5 says ---------------------------------------------------------------------------


def _at_ratio_3(claim: Callable[..., list[bool]]) -> float:
    """In how many cases of both sources a claim holds at ratio 3."""
    return float(sum(claim([e for source in SOURCES for e in experiments(source, 3)])))


def _always(claim: Callable[..., list[bool]]) -> float:
    """In how many cases of both sources and all ratios a claim holds."""
    return float(sum(claim(results())))


def _cost_of(source: str, ratio: int, probes: int, name: str = "cost") -> float:
    """Of DOE."""
    (found,) = (
        each for each in experiments(source, ratio) if (each.probes, each.policy) == (probes, "DOE")
    )
    return float(getattr(found, name))


def _of_first_arrival() -> float:
    return expected_cost(_dbworld(), first_arrival_times(_dbworld(), 28))


NUMBERS: Mapping[str, Number] = {
    "(1)": _week_of_importance,
    "(2)": lambda: actual_cost(_dbworld(), _PROBES, _TRACE),
    "(3)": _of_one_update,
    "(4)": _of_one_interval,
    "(5)": lambda: agreed(_first_day(), _by_midpoints(_dbworld(), 0.0, 1.0)),
    "(6)": lambda: expected_cost(_dbworld(), uniform_times(HORIZON, 28)),
    "(7)": _best_continuous,
    "(8)": lambda: _best_continuous(0.75),
    "(9)": lambda: agreed(expected_cost(_dbworld(), _on_the_grid(28)), _programme(28)),
    "(10)": lambda: agreed(_programme(1), expected_cost(_dbworld(), (HORIZON,))),
    "(11)": lambda: agreed(_programme(2), min(cost for _, cost in policies.of_two_probes())),
    "(12)": lambda: _violations(_reversed_cost),
    "(13)": lambda: _violations(_joined_in_order),
    "(14)": _wrong_cells,
    "(15)": lambda: _violations(_changes_little),
    "Lemma 3": lambda: _violations(_joined_in_any_order),
    "Proposition 5": lambda: _violations(_programme_is_exhaustive),
    "Lemma 6": lambda: _violations(_below_the_square),
    "Lemma 6, proof": _without_updates,
    "Lemma 7": lambda: _violations(_changes_little),
    "Proposition 8": lambda: grid_error(_dbworld(), 671, 28)[0],
    "Proposition 8, proof, second case": _too_near,
    "Corollary 9": lambda: above_the_optimum("dbworld", 1343),
    "Algorithm 1": lambda: _programme(28),
    "Algorithm 2": _read_off,
    "Algorithm 4": _as_printed,
    "Algorithm 10": _moved,
    "Figure 1": _of_one_update,
    "Figure 1, caption": lambda: _of_one_update(8.0),
    "Figure 2": _local_minima,
    "Figure 4": lambda: _cost_of("micronet", 3, 28),
    "Figure 5": lambda: _cost_of("dbworld", 1, 28),
    "Figure 8": lambda: _at_ratio_3(policies.far_less_apart),
    "Figure 10": lambda: _at_ratio_3(policies.least_improved),
    "Figure 11": lambda: _at_ratio_3(policies.fewest_moves),
    "section 1, O(1/n) error bound": lambda: above_the_optimum("dbworld", 671),
    "section 3, (9) clearly has a higher optimal objective value": _on_the_grid_as_good,
    "section 3, D(m, N) = 0 for m = 0..M": _of_exactly_three,
    "Table 1, D(m, i)": lambda: _programme(28),
    "section 4, p_i - p_(i-1) <= delta": _longest_gap,
    "section 4, blocks of probes": _moved_together,
    "section 5.1, dates of the traces": lambda: 20 * _per_week("dbworld"),
    "section 5.1, 174 updates": lambda: 184 / 7 * _per_week("micronet"),
    "section 5.1, testing sets of four weeks": lambda: 253 / _per_week("dbworld"),
    "section 5.1, first weekday": lambda: _effect_of_the_weekday("micronet"),
    "section 5.2, training set sample": lambda: 833.0 - 580.0,
    "section 5.3, costs fall as n increases": lambda: _always(policies.falling),
    "section 5.3, DOE yields the lowest cost for any n": lambda: _cost_of("micronet", 4, 168),
    "section 5.3, differences shrink as n grows": lambda: _always(policies.nearer),
    "section 5.3, DOE performs better for MicroNet": lambda: _at_ratio_3(
        policies.better_for_micronet
    ),
    "section 5.3, large differences for low n fall": lambda: deviation("dbworld", 168),
    "section 5.4, DOE performs best after Algorithm 10": lambda: _cost_of(
        "micronet", 3, 168, "improved"
    ),
    "section 5.4, DOE improves more for bigger n": lambda: _always(policies.more_for_more_probes),
    "section 5.4, moves grow exponentially": lambda: _always(policies.exponential),
    "section 6, first arrival suboptimal": _of_first_arrival,
    "section 7, several sources under one budget": _split_budget,
}


def _drawn_table(source: str, weeks: int, title: str) -> Iterator[str]:
    """The rates of a table, and those fitted to a trace drawn from them: updates over time."""
    span = 7.0 * weeks
    rates = profile(source, 1, span)
    updates = drawn_updates(source, span)
    cells = np.searchsorted(rates.edges, updates, "right") - 1
    rows: list[Line] = []
    for value in dict.fromkeys(rates.updates.tolist()):
        those = rates.updates == value
        time = float(np.diff(rates.edges)[those].sum())
        fitted = int(those[cells].sum()) / time
        rows.append({"printed": value, "fitted to ours": fitted, "± SE": math.sqrt(fitted / time)})
    yield f"updates per day, {len(updates)} drawn in {weeks} weeks at the rates of {title}"
    yield from table_lines(rows)


def _of_policies(name: str, ratio: int = 3) -> Experiment:
    return lambda: policies.of_both(lambda source: costs_table(source, ratio, name))


def _moves() -> Iterator[str]:
    yield from policies.of_both(lambda source: costs_table(source, 3, "moves"))
    yield from table_lines(policies.fits_table())


EXPERIMENTS: Mapping[str, Experiment] = {
    "Table 2": lambda: _drawn_table("dbworld", 20, "Table 2"),
    "Table 3": lambda: _drawn_table("micronet", 26, "Table 3"),
    "Figure 3": lambda: itertools.chain(
        _drawn_table("dbworld", 20, "Table 2"), _drawn_table("micronet", 26, "Table 3")
    ),
    "Figure 4": _of_policies("cost"),
    "Figure 5": _of_policies("cost", 1),
    "Figure 6": lambda: policies.of_traces(lambda s: policies.actual_costs(s, False)),
    "Figure 7": lambda: policies.of_traces(policies.discrepancies),
    "Figure 8": _of_policies("improved"),
    "Figure 9": lambda: policies.of_traces(lambda s: policies.actual_costs(s, True)),
    "Figure 10": _of_policies("improvement"),
    "Figure 11": _moves,
    "Corollary 9": lambda: policies.of_both(policies.grid_table),
}
FIGURES: Mapping[str, Figure] = policies.FIGURES
