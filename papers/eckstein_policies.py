"""The experiments of eckstein2005, section 5: four policies, before and after Algorithm 10.

The sources are those of Tables 2 and 3. The numbers of probes are ours, and so is the iota of
Algorithm 10: the paper gives neither. Its traces are lost; actual costs are those of traces drawn
from the tables. Day 0 is a Monday.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from typing import Any, NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from analytic.probing import (
    Profile,
    actual_cost,
    best_schedule,
    cost_variance,
    expected_cost,
    first_arrival_times,
    grid_of,
    profile_of,
    refined,
    threshold_times,
    times_of,
    uniform_times,
)
from analytic.probing.programme import improved_by_moves
from crawlsim.report.drawing import SIMULATED, THEORY, dress, legend_above, logarithmic, panel
from papers.computed import Line, table_lines
from scenarios import load
from scenarios.arrays import Array

SOURCES = {"dbworld": "DBWorld", "micronet": "MicroNet"}
RATIOS = (1, 2, 3, 4)
PROBES = (4, 7, 14, 21, 28, 42, 56, 84, 112, 140, 168)
SLOTS = 672
HORIZON = 28.0
IOTA = 1e-6
POLICIES = ("uniform", "threshold", "first arrival", "DOE")
"""DOE: discrete optimal expected, the best schedule on the grid of hours."""


class Experiment(NamedTuple):
    """One schedule: its expected cost, and what Algorithm 10 makes of it."""

    source: str
    ratio: int
    probes: int
    policy: str
    cost: float
    improved: float
    moves: int

    @property
    def improvement(self) -> float:
        """Share of the cost that Algorithm 10 saves."""
        return 1 - self.improved / self.cost


@cache
def profile(source: str, ratio: float, horizon: float = HORIZON) -> Profile:
    """The rates of Table 2 or 3, and working hours that count so many times as much."""
    base = load(f"{source}-uniform")
    assert base.source is not None
    values = [ratio if value > 1 else 1.0 for value in base.source.importance.values]
    changes = {"source.importance.values": values, "probing.horizon": horizon}
    return profile_of(base.with_(changes))


def schedules(rates: Profile, probes: int) -> dict[str, tuple[float, ...]]:
    """The four policies of section 5.2, each with exactly so many probes."""
    best = best_schedule(grid_of(rates, SLOTS), probes)
    return {
        "uniform": uniform_times(HORIZON, probes),
        "threshold": threshold_times(rates, probes),
        "first arrival": first_arrival_times(rates, probes),
        "DOE": times_of(HORIZON, SLOTS, best.slots),
    }


@cache
def experiments(source: str, ratio: int) -> tuple[Experiment, ...]:
    """All policies and numbers of probes for one source and ratio."""
    rates = profile(source, ratio)
    found = []
    for probes in PROBES:
        for policy, times in schedules(rates, probes).items():
            better, moves = improved_by_moves(rates, times, least=IOTA)
            costs = expected_cost(rates, times), expected_cost(rates, better)
            found.append(Experiment(source, ratio, probes, policy, *costs, moves))
    return tuple(found)


@cache
def results() -> tuple[Experiment, ...]:
    """All of both sources and the four ratios."""
    return tuple(e for name in SOURCES for ratio in RATIOS for e in experiments(name, ratio))


def cases(results: Sequence[Experiment]) -> list[dict[str, Experiment]]:
    """The four policies side by side, for each source, ratio and number of probes."""
    found: dict[Any, dict[str, Experiment]] = {}
    for each in results:
        found.setdefault((each.source, each.ratio, each.probes), {})[each.policy] = each
    return list(found.values())


def series(results: Sequence[Experiment]) -> list[list[Experiment]]:
    """Every policy against the number of probes, for each source and ratio."""
    found: dict[Any, list[Experiment]] = {}
    for each in results:
        found.setdefault((each.source, each.ratio, each.policy), []).append(each)
    return list(found.values())


def fit(line: Sequence[Experiment]) -> tuple[float, float, float]:
    """Exponent of n in the number of moves; R² of that power law, and of an exponential."""
    moves = np.array([each.moves for each in line], dtype=float)
    numbers = np.array([each.probes for each in line], dtype=float)
    some = moves > 0
    counts = np.log(moves[some])
    exponent = 0.0
    shares = []
    for x in (numbers[some], np.log(numbers[some])):
        slope, start = np.polyfit(x, counts, 1)
        rest = counts - start - slope * x
        shares.append(1 - float(rest @ rest) / float(((counts - counts.mean()) ** 2).sum()))
        exponent = float(slope)
    return exponent, shares[1], shares[0]


# -- what the text says ----------------------------------------------------------------------------


def _wins(all_: Sequence[Experiment], key: Callable[[Experiment], float]) -> list[bool]:
    """Whether DOE has the least in each case; ties, to rounding, are DOE's."""
    return [key(case["DOE"]) <= min(map(key, case.values())) + 1e-9 for case in cases(all_)]


def _spread(case: dict[str, Experiment], name: str) -> float:
    """Largest cost over smallest, less one."""
    costs = [getattr(each, name) for each in case.values()]
    return float(max(costs) / min(costs) - 1)


def _range(case: dict[str, Experiment]) -> float:
    """Largest cost less the smallest."""
    costs = [each.cost for each in case.values()]
    return max(costs) - min(costs)


def _ends(all_: Sequence[Experiment]) -> Iterator[tuple[dict[str, Experiment], ...]]:
    """The cases with the fewest and with the most probes, for each source and ratio."""
    few, many = (
        [case for case in cases(all_) if case["DOE"].probes == number]
        for number in (min(PROBES), max(PROBES))
    )
    return zip(few, many, strict=True)


def falling(all_: Sequence[Experiment]) -> list[bool]:
    """Whether the cost of a policy falls with every larger n."""
    return [bool((np.diff([each.cost for each in line]) < 0).all()) for line in series(all_)]


def cheapest(all_: Sequence[Experiment]) -> list[bool]:
    """Whether DOE costs least."""
    return _wins(all_, lambda each: each.cost)


def nearer(all_: Sequence[Experiment]) -> list[bool]:
    """Whether the costs at the largest n differ by less than at the least."""
    return [_range(last) < _range(first) for first, last in _ends(all_)]


def better_for_micronet(all_: Sequence[Experiment]) -> list[bool]:
    """Whether DOE saves more of the next best policy's cost for MicroNet."""
    saved: dict[Any, dict[str, float]] = {}
    for case in cases(all_):
        doe = case["DOE"]
        others = min(each.cost for each in case.values() if each is not doe)
        saved.setdefault((doe.ratio, doe.probes), {})[doe.source] = 1 - doe.cost / others
    return [each["micronet"] > each["dbworld"] for each in saved.values()]


def far_less_apart(all_: Sequence[Experiment]) -> list[bool]:
    """Whether the improved costs differ by less than half as much as those before."""
    return [_spread(case, "improved") < _spread(case, "cost") / 2 for case in cases(all_)]


def least_improved(all_: Sequence[Experiment]) -> list[bool]:
    """Whether DOE improves less than any other policy."""
    return _wins(all_, lambda each: each.improvement)


def more_for_more_probes(all_: Sequence[Experiment]) -> list[bool]:
    """Whether DOE improves more with the larger half of the numbers of probes."""
    middle = PROBES[len(PROBES) // 2]
    lines = [line for line in series(all_) if line[0].policy == "DOE"]
    return [
        max(each.improvement for each in line if each.probes < middle)
        < min(each.improvement for each in line if each.probes > middle)
        for line in lines
    ]


def fewest_moves(all_: Sequence[Experiment]) -> list[bool]:
    """Whether Algorithm 10 makes the fewest moves from DOE."""
    return _wins(all_, lambda each: each.moves)


def exponential(all_: Sequence[Experiment]) -> list[bool]:
    """Whether an exponential of n fits the numbers of moves better than a power of n."""
    return [exp > power for _, power, exp in map(fit, series(all_))]


def smoothest(all_: Sequence[Experiment]) -> list[bool]:
    """Whether the moves from DOE follow their power of n best, for each source and ratio."""
    found: dict[Any, dict[str, float]] = {}
    for line in series(all_):
        found.setdefault((line[0].source, line[0].ratio), {})[line[0].policy] = fit(line)[1]
    return [each["DOE"] == max(each.values()) for each in found.values()]


# -- traces of ours --------------------------------------------------------------------------------


@cache
def drawn_updates(source: str, horizon: float = HORIZON) -> Array:
    """The times of updates drawn at the rates of Table 2 or 3, in order; one seed for each."""
    rates = profile(source, 1, horizon)
    generator = np.random.default_rng(7 + [*SOURCES].index(source))
    counts = generator.poisson(rates.updates * np.diff(rates.edges))
    starts = np.repeat(rates.edges[:-1], counts)
    widths = np.repeat(np.diff(rates.edges), counts)
    updates: Array = np.sort(starts + widths * generator.random(len(starts)))
    return updates


def actual_costs(source: str, improved: bool) -> Iterator[Line]:
    """What the updates drawn cost under each policy, improved or not, at ratio 3."""
    rates = profile(source, 3)
    for probes in PROBES:
        row: dict[str, Any] = {"n": probes}
        for policy, times in schedules(rates, probes).items():
            taken = improved_by_moves(rates, times, least=IOTA)[0] if improved else times
            row[policy] = actual_cost(rates, taken, drawn_updates(source))
        yield row


def deviation(source: str, probes: int) -> float:
    """Standard deviation of the cost of DOE over its mean, at ratio 3."""
    rates = profile(source, 3)
    times = schedules(rates, probes)["DOE"]
    return math.sqrt(cost_variance(rates, times)) / expected_cost(rates, times)


def discrepancies(source: str) -> Iterator[Line]:
    """Actual less expected cost of DOE over the actual one, of the updates drawn; ratio 3.

    With the range of it for an actual cost within 1.96 standard deviations of its mean.
    """
    rates = profile(source, 3)
    for probes in PROBES:
        times = schedules(rates, probes)["DOE"]
        actual = actual_cost(rates, times, drawn_updates(source)) / expected_cost(rates, times)
        most = 1.96 * deviation(source, probes)
        shares = {"of the trace": actual, "95 % from": 1 - most, "95 % to": 1 + most}
        yield {"n": probes} | {name: 1 - 1 / share for name, share in shares.items()}


# -- tables ----------------------------------------------------------------------------------------


def costs_table(source: str, ratio: int, name: str) -> list[Line]:
    """Cost, improved cost, improvement or moves: a row for each n, a column for each policy."""
    return [
        {"n": case["DOE"].probes} | {policy: getattr(case[policy], name) for policy in POLICIES}
        for case in cases(experiments(source, ratio))
    ]


def fits_table() -> list[Line]:
    """How the number of moves grows."""
    rows: list[Line] = []
    for line in series(results()):
        exponent, power, exp = fit(line)
        first = line[0]
        row = {"source": first.source, "ratio": first.ratio, "from": first.policy}
        fits = {"R² of the power law": power, "R² of an exponential": exp}
        rows.append(row | {"exponent of n": exponent} | fits)
    return rows


@cache
def above_the_optimum(source: str, slots: int) -> float:
    """How much the best 28 probes on a grid cost above the continuous optimum, ratio 3."""
    rates = profile(source, 3)
    finest = best_schedule(grid_of(rates, 672_000), 28)
    least = refined(rates, times_of(HORIZON, 672_000, finest.slots)).cost
    return best_schedule(grid_of(rates, slots), 28).cost - least


def grid_table(source: str) -> list[Line]:
    """How the grid's optimum comes near the continuous one: as 1/N² with every break on it."""
    grids = (672, 1344, 2688, 5376, 671, 1343, 2687, 5375)
    return [{"source": source, "N": n, "above": above_the_optimum(source, n)} for n in grids]


def of_both(table: Callable[[str], Sequence[Line] | Iterator[Line]]) -> Iterator[str]:
    """A table of each source, as lines."""
    for source, title in SOURCES.items():
        yield title
        yield from table_lines(list(table(source)))


def of_traces(table: Callable[[str], Sequence[Line] | Iterator[Line]]) -> Iterator[str]:
    """The same of the updates drawn, and how many these are."""
    for source, title in SOURCES.items():
        expected = float(profile(source, 1).between(0.0, HORIZON).updates)
        drawn = len(drawn_updates(source))
        yield f"{title}, {drawn} updates drawn where {expected:.1f} are expected"
        yield from table_lines(list(table(source)))


# -- figures ---------------------------------------------------------------------------------------

_COLOURS = {"of the trace": SIMULATED, "95 % from": THEORY, "95 % to": THEORY}
_COLOURS |= zip(POLICIES, ("#5a6270", "#00805e", "#b07800", "#0072b2"), strict=True)
_PROBES = "probes in four weeks"


def of_two_probes() -> list[tuple[float, float]]:
    """The first of two probes at each hour, and their expected cost; DBWorld, ratio 3."""
    rates = profile("dbworld", 3)
    times = (np.arange(1, SLOTS) * HORIZON / SLOTS).tolist()
    return [(time, expected_cost(rates, (time, HORIZON))) for time in times]


def _cost_of_an_update() -> Figure:
    """Figure 1: an update at 4:00, work from 8:00 to 18:00."""
    ax = panel(None, "hour of the probe", "cost of the update")
    ax.plot([4, 8, 18, 24], [0, 4, 34, 40], color=SIMULATED)
    return _figure(ax)


def _cost_of_two() -> Figure:
    """Figure 2."""
    ax = panel(None, "time of the first of two probes, days", "expected cost")
    ax.plot(*zip(*of_two_probes(), strict=True), color=SIMULATED, lw=1.1)
    return _figure(ax)


def _scatter() -> Figure:
    """Figure 3, of traces of ours."""
    axes = _of_both_sources("day", "hour of the update")
    for ax, source, weeks in zip(axes, SOURCES, (20, 26), strict=True):
        updates = drawn_updates(source, 7.0 * weeks)
        ax.plot(updates, 24 * (updates % 1), ".", color=SIMULATED, ms=2.5)
    return _figure(axes[0])


def _against_n(
    table: Callable[[str], Sequence[Line]], label: str, names: Sequence[str], log: bool
) -> Figure:
    """Columns of a table against the number of probes, DBWorld above MicroNet."""
    axes = _of_both_sources(_PROBES, label)
    for ax, source in zip(axes, SOURCES, strict=True):
        rows = table(source)
        numbers = [row["n"] for row in rows]
        for name in names:
            values = [row[name] if row[name] > 0 or not log else np.nan for row in rows]
            ax.plot(numbers, values, "o-", color=_COLOURS[name], ms=3.5, lw=1.1, label=name)
        if log:
            logarithmic(ax, "x", "y")
    legend_above(axes[0], columns=4)
    return _figure(axes[0])


def _of_both_sources(x: str, y: str) -> list[Axes]:
    axes = list(Figure(figsize=(5.2, 6.0), layout="constrained").subplots(2))
    for ax, title in zip(axes, SOURCES.values(), strict=True):
        dress(ax, x, f"{title}: {y}")
    return axes


def _figure(ax: Axes) -> Figure:
    figure = ax.figure
    assert isinstance(figure, Figure)
    return figure


def _of_policies(name: str, label: str, ratio: int = 3, log: bool = True) -> Callable[[], Any]:
    return lambda: _against_n(lambda s: costs_table(s, ratio, name), label, POLICIES, log)


def _of_a_trace(improved: bool) -> Callable[[], Any]:
    return lambda: _against_n(
        lambda source: list(actual_costs(source, improved)), "actual cost", POLICIES, True
    )


FIGURES: Mapping[str, Callable[[], Any]] = {
    "Figure 1": _cost_of_an_update,
    "Figure 2": _cost_of_two,
    "Figure 3": _scatter,
    "Figure 4": _of_policies("cost", "expected cost"),
    "Figure 5": _of_policies("cost", "expected cost", ratio=1),
    "Figure 6": _of_a_trace(False),
    "Figure 7": lambda: _against_n(
        lambda source: list(discrepancies(source)),
        "difference over actual cost",
        ("of the trace", "95 % from", "95 % to"),
        False,
    ),
    "Figure 8": _of_policies("improved", "expected cost, improved"),
    "Figure 9": _of_a_trace(True),
    "Figure 10": _of_policies("improvement", "share of the cost saved", log=False),
    "Figure 11": _of_policies("moves", "moves of Algorithm 10"),
}
