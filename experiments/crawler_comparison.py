"""How far from the optimum the visits of crawlers in use are, at equal bandwidth.

Run as ``python -m experiments.crawler_comparison --out out/crawlers``: prints tables as Markdown
and writes them with a figure there, in half a minute. Change rates are gamma with a mean of one a
week; the load is the number of changes per visit. Rates are costed as if evenly spaced, the best
that any schedule can do with them, and as if at random. The crawlers that adapt their intervals to
what a visit found are simulated: alone, each page at the intervals of its rule, and with one robot
that visits the page that has been due for longest, and waits where none is due. Tuned, one of the
two factors of the rule is such that it takes the bandwidth that there is; that is a formula.
"""

from __future__ import annotations

import argparse
import heapq
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain
from math import exp, inf, log, sqrt
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import NDArray
from scipy.optimize import brentq
from scipy.stats import t as student

from analytic.page_refresh import (
    best_shares,
    equal_spacing_bound,
    randomized_obsolescence,
    sequence_obsolescence,
)
from crawlsim.report.drawing import dress, legend_above
from experiments.crawlers import (
    adaptive_changed_share,
    adaptive_intervals,
    harmonic_rates,
    random_visit_rates,
)
from scenarios.accessing.whittle import Whittle
from scenarios.laws import Deterministic, Exponential

Array = NDArray[Any]
Row = dict[str, Any]

PAGES = 300
LOADS = (0.1, 0.3, 1.0, 3.0)
COLOURS = (
    "#222222", "#0072b2", "#c24a00", "#00805e", "#b07800", "#8a4a8f", "#5a6270", "#9a1f40"
)  # fmt: skip
MINUTE = 1 / 10080
HOUR = 1 / 168
DAY = 1 / 7


@dataclass(frozen=True)
class Rule:
    """How the interval to the next visit follows from what a visit found; times in weeks."""

    increase: float
    decrease: float
    shortest: float = 0.0
    longest: float = inf

    def following(self, interval: Any, changed: Any) -> Any:
        """Shorter where the page had changed, longer where it had not; numbers or arrays."""
        shorter = interval - self.decrease * (interval - self.shortest * self.to_shortest)
        longer = (1.0 + self.increase) * interval
        new = np.where(changed, shorter, longer)
        return np.clip(new, self.shortest, self.longest)

    to_shortest: bool = False
    """Whether the decrease is a part of the way to the shortest interval, or to none."""


NUTCH = Rule(0.2, 0.2, MINUTE, 365 * DAY)
"""The factors of the class AdaptiveFetchSchedule; its delivered configuration has 0.4 and 0.2."""
STORM = Rule(0.5, 0.5, HOUR, 14 * DAY, to_shortest=True)
ADAPTIVE = {"Nutch": NUTCH, "StormCrawler": STORM}
UNLIMITED = {"Nutch": Rule(0.2, 0.2), "StormCrawler": Rule(0.5, 0.5)}


class Interval(NamedTuple):
    """A mean over replications, and the half-width of its 95 % interval."""

    mean: float
    half_width: float

    @classmethod
    def of(cls, values: Sequence[float]) -> Interval:
        """By Student's t."""
        n = len(values)
        half = float(student.ppf(0.975, n - 1)) * float(np.std(values, ddof=1)) / sqrt(n)
        return cls(float(np.mean(values)), half)

    def contains(self, value: float, times: float = 1.0) -> bool:
        """Whether a value lies in the interval, or in one so many times as wide."""
        return abs(value - self.mean) <= times * self.half_width


def pages(kind: str, count: int = PAGES, seed: int = 1) -> tuple[Array, Array]:
    """Change rates per week, of mean 1, and weights: equal, or at random between 0 and 1."""
    generator = np.random.default_rng(seed)
    rates = generator.gamma(1.0, size=count)
    weights = generator.random(count)
    return rates / rates.mean(), np.ones(count) if kind == "equal" else weights


def optimal(rates: Array, weights: Array, budget: float) -> Array:
    """Visits per week by coffman1998 (7)."""
    return budget * best_shares(rates, weights, Deterministic(value=1.0 / budget))


def uniform(rates: Array, weights: Array, budget: float) -> Array:  # noqa: ARG001  # one signature
    """All pages alike."""
    return np.full(len(rates), budget / len(rates))


def proportional(rates: Array, weights: Array, budget: float) -> Array:  # noqa: ARG001  # as above
    """In proportion to the change rates."""
    return budget * rates / rates.sum()


RATES: dict[str, Callable[[Array, Array, float], Array]] = {
    "Azar et al.": random_visit_rates,
    "LambdaCrawl": harmonic_rates,
    "uniform": uniform,
    "proportional": proportional,
}


def spaced_cost(rates: Array, weights: Array, visits: Array) -> float:
    """Weighted obsolescence of evenly spaced visits."""
    budget = float(visits.sum())
    law = Deterministic(value=1.0 / budget)
    return float(weights @ equal_spacing_bound(rates, visits / budget, law))


def random_cost(rates: Array, weights: Array, visits: Array) -> float:
    """Weighted obsolescence of visits at random times."""
    budget = float(visits.sum())
    law = Exponential(mean=1.0 / budget)
    return float(weights @ randomized_obsolescence(rates, visits / budget, law))


def index_cost(rates: Array, weights: Array, budget: float, rounds: int = 150) -> float:
    """Weighted obsolescence along the very visits of the index policy; a third is a warm-up."""
    load = rates / budget
    values = (weights / rates).tolist()
    policy = Whittle(policy="whittle", exponents=load.tolist(), values=values)
    slots = rounds * len(rates)
    plan = chain.from_iterable(policy.plan(load))
    sequence = np.fromiter(plan, dtype=np.intp, count=slots)
    law = Deterministic(value=1.0 / budget)
    return float(weights @ sequence_obsolescence(rates, sequence, law, slots // 3))


def least_cost(rates: Array, weights: Array, budget: float) -> float:
    """The bound over all schedules of this bandwidth."""
    return spaced_cost(rates, weights, optimal(rates, weights, budget))


class Alone(NamedTuple):
    """What one replication of pages that are visited at their own intervals saw.

    The share of visits that found a change; each page's time out of date and all its time.
    """

    changed: float
    stale: Array
    elapsed: Array
    visits: int


def alone(rule: Rule, rates: Array, visits: int, generator: np.random.Generator) -> Alone:
    """Every page at the intervals of the rule; half of the visits are a warm-up.

    A visit finds a change with the probability of the exponential time to it; the copy was out of
    date since then.
    """
    interval = np.exp(generator.uniform(-1.0, 1.0, size=len(rates))) / rates
    changed = 0
    stale = np.zeros(len(rates))
    elapsed = np.zeros(len(rates))
    for visit in range(visits):
        until_change = generator.exponential(size=len(rates)) / rates
        found = until_change < interval
        if visit >= visits // 2:
            changed += int(found.sum())
            stale += np.where(found, interval - until_change, 0.0)
            elapsed += interval
        interval = rule.following(interval, found)
    seen = visits - visits // 2
    return Alone(changed / (seen * len(rates)), stale, elapsed, seen)


def by_robot(
    rule: Rule, rates: Array, budget: float, weeks: float, generator: np.random.Generator
) -> Array:
    """Obsolescence rates with one robot of that bandwidth, which visits the page due for longest.

    The first half of the time is a warm-up.
    """
    count = len(rates)
    step = 1.0 / budget
    interval = [count * step] * count
    due = [(place * step, page) for place, page in enumerate(generator.permutation(count).tolist())]
    change = (generator.exponential(size=count) / rates).tolist()
    following = _plain(rule)
    end = weeks
    begin = end / 2
    stale = [0.0] * count
    draws = iter(generator.exponential(size=int(weeks * budget) + 1).tolist())
    now = 0.0
    while max(now, due[0][0]) + step <= end:
        now = max(now, due[0][0]) + step
        page = due[0][1]
        found = change[page] < now
        if found:
            stale[page] += max(0.0, now - max(change[page], begin))
            change[page] = now + next(draws) / rates[page]
        interval[page] = following(interval[page], found)
        heapq.heapreplace(due, (now + interval[page], page))
    late = [max(0.0, end - max(when, begin)) for when in change]
    return (np.array(stale) + late) / (end - begin)


def _plain(rule: Rule) -> Callable[[float, bool], float]:
    """`Rule.following` for single numbers."""
    target = rule.shortest * rule.to_shortest

    def following(interval: float, found: bool) -> float:
        new = interval - rule.decrease * (interval - target) if found else interval
        new *= 1.0 if found else 1.0 + rule.increase
        return min(max(new, rule.shortest), rule.longest)

    return following


def tuned(load: float) -> tuple[float, float]:
    """Increase and decrease that give so many changes per visit; the larger of the two is 0.2."""
    own = adaptive_intervals(0.2, 0.2).changes_per_visit

    def factors(smaller: float) -> tuple[float, float]:
        return (0.2, smaller) if load > own else (smaller, 0.2)

    def missed(logarithm: float) -> float:
        return adaptive_intervals(*factors(exp(logarithm))).changes_per_visit - load

    return factors(exp(brentq(missed, log(2e-3), log(0.2), xtol=1e-6)))


def fixed_points(replications: int = 20, visits: int = 800) -> list[Row]:
    """Share of the visits that find a change, and obsolescence: solved and simulated."""
    rates, _ = pages("equal")
    rows = []
    for place, (name, rule) in enumerate(UNLIMITED.items()):
        law = adaptive_intervals(rule.increase, rule.decrease)
        runs = [
            alone(rule, rates, visits, np.random.default_rng([7, place, run]))
            for run in range(replications)
        ]
        rows.append(
            {
                "rule": name,
                "changed": adaptive_changed_share(rule.increase, rule.decrease),
                "changed, simulated": Interval.of([run.changed for run in runs]),
                "obsolescence": law.obsolescence,
                "obsolescence, simulated": Interval.of(
                    [float((rates @ run.stale) / (rates @ run.elapsed)) for run in runs]
                ),
                "changes per visit": law.changes_per_visit,
            }
        )
    return rows


def unlimited_ratios(kind: str, replications: int = 10, visits: int = 3000) -> list[Row]:
    """Cost of the adaptive rules over the least cost of the bandwidth that each takes."""
    rates, weights = pages(kind)
    rows = []
    for name, rule in {**ADAPTIVE, **{f"{n}, no limits": r for n, r in UNLIMITED.items()}}.items():
        ratios = []
        loads = []
        for run in range(replications):
            found = alone(rule, rates, visits, np.random.default_rng([8, run]))
            budget = float((found.visits / found.elapsed).sum())
            cost = float(weights @ (found.stale / found.elapsed))
            ratios.append(cost / least_cost(rates, weights, budget))
            loads.append(float(rates.sum()) / budget)
        rows.append({"rule": name, "load": float(np.mean(loads)), "ratio": Interval.of(ratios)})
    return rows


@lru_cache
def robot_runs(name: str, load: float, replications: int, weeks: float) -> list[Array]:
    """Obsolescence rates of all pages, replication by replication; longer at high loads."""
    rates, _ = pages("equal")
    budget = float(rates.sum()) / load
    return [
        by_robot(
            ADAPTIVE[name], rates, budget, weeks * max(1.0, load), np.random.default_rng([9, run])
        )
        for run in range(replications)
    ]


def costs(kind: str, replications: int, weeks: float) -> Iterator[tuple[str, float, list[float]]]:
    """What visits what costs at which load: a number, or one of each replication."""
    rates, weights = pages(kind)
    for load in LOADS:
        budget = float(rates.sum()) / load
        yield "index (whittle)", load, [index_cost(rates, weights, budget)]
        for name, rule in RATES.items():
            visits = rule(rates, weights, budget)
            yield f"{name}, evenly spaced", load, [spaced_cost(rates, weights, visits)]
            yield f"{name}, at random", load, [random_cost(rates, weights, visits)]
        adapted = adaptive_intervals(*tuned(load)).obsolescence
        yield "adaptive, tuned", load, [float(weights.sum()) * adapted]
        for name in ADAPTIVE:
            runs = robot_runs(name, load, replications, weeks)
            yield f"{name}, simulated", load, [float(weights @ run) for run in runs]


def table(kind: str, replications: int = 10, weeks: float = 300.0) -> list[Row]:
    """Cost over the least cost of the bandwidth, one column per load."""
    rates, weights = pages(kind)
    rows: dict[str, Row] = {}
    for name, load, found in costs(kind, replications, weeks):
        least = least_cost(rates, weights, float(rates.sum()) / load)
        ratios = [cost / least for cost in found]
        value = Interval.of(ratios) if len(ratios) > 1 else ratios[0]
        rows.setdefault(name, {"visits": name})[f"load {load:g}"] = value
    return list(rows.values())


def draw(rows: list[Row]) -> Axes:
    """Cost above the least cost against the load; evenly spaced rates, and the simulated rules."""
    ax = Figure(figsize=(5.6, 4.0), layout="constrained").add_subplot()
    dress(ax, "changes per visit", "cost above the optimum (per cent)")
    shown = [row for row in rows if "at random" not in row["visits"]]
    for row, colour, marker in zip(shown, COLOURS, "*os^Dv<>", strict=True):
        values = [row[f"load {load:g}"] for load in LOADS]
        name = row["visits"].removesuffix(", evenly spaced").removesuffix(", simulated")
        if isinstance(values[0], Interval):
            means = [100 * (each.mean - 1) for each in values]
            bars = [100 * each.half_width for each in values]
            ax.errorbar(
                LOADS, means, bars, color=colour, marker=marker, ms=4, capsize=2, label=name
            )
        else:
            above = [100 * (each - 1) for each in values]
            ax.plot(LOADS, above, "--", color=colour, marker=marker, ms=4, lw=1, label=name)
    ax.set_xscale("log")
    ax.set_xticks(LOADS, [f"{load:g}" for load in LOADS])
    ax.minorticks_off()
    ax.set_yscale("symlog", linthresh=1.0)
    ax.set_yticks([0, 0.5, 1, 10, 100, 1000], ["0", "0.5", "1", "10", "100", "1000"])
    ax.set_ylim(bottom=-0.03)
    legend_above(ax, columns=3)
    return ax


def cell(value: Any) -> str:
    """A number or an interval as the documents print it."""
    if isinstance(value, Interval):
        return f"{value.mean:.4f} ± {value.half_width:.4f}"
    return f"{value:.4f}" if isinstance(value, float) else str(value)


def markdown(title: str, rows: Sequence[Row]) -> str:
    """A table as Markdown below its title."""
    columns = list(rows[0])
    lines = [title, "", "| " + " | ".join(columns) + " |"]
    lines += ["|---|" + "--:|" * (len(columns) - 1)]
    lines += ["| " + " | ".join(cell(row[column]) for column in columns) + " |" for row in rows]
    return "\n".join(lines) + "\n"


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the tables, and write them and the figure."""
    parser = argparse.ArgumentParser(description="Crawlers against the optimum.")
    out = Path("out/crawlers")
    parser.add_argument("--out", type=Path, default=out, help="folder (%(default)s)")
    parsed = parser.parse_args(arguments)
    tables = {kind: table(kind) for kind in ("equal", "random")}
    parts = [markdown(f"Weights: {kind}", rows) for kind, rows in tables.items()]
    parts.append(markdown("Adaptive intervals without limits", fixed_points()))
    parts.append(markdown("Each at its own bandwidth, equal weights", unlimited_ratios("equal")))
    parsed.out.mkdir(parents=True, exist_ok=True)
    (parsed.out / "tables.md").write_text("\n".join(parts), encoding="utf-8")
    draw(tables["equal"]).figure.savefig(parsed.out / "crawlers.png", dpi=130)
    print("\n".join(parts))


if __name__ == "__main__":
    main()
