"""What each accessing policy costs, exactly, against the bound over all schedules.

Run as ``python -m experiments.policy_comparison --out out/policies``: prints tables as Markdown and
writes them with a figure there, in half a minute. Constant access times of 1; the policies with
frequencies get the optimal ones, random choices their own optimum. A policy with a period is
costed by coffman1998 (3), the others along the sequence that they choose, after a first part. The
last table has the mean and the largest excess of the index policy over a family of cases: few
pages to many, gamma, lognormal and Zipf change rates, equal, proportional and random weights, loads
of 0.1, 1 and 3 changes per access, access times constant, exponential and hyperexponential.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from itertools import chain, product
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import NDArray

from analytic import predict, resolve
from analytic.index.accesses import law_between_accesses
from analytic.machinery.transforms import log_transform
from analytic.page_refresh import schedule_bound, sequence_obsolescence
from crawlsim.report.drawing import dress, legend_above
from scenarios import Scenario, scenario_from
from scenarios.accessing.whittle import Whittle
from scenarios.laws import Deterministic, Distribution, Exponential, Hyperexponential

POLICIES: dict[str, dict[str, Any]] = {
    "whittle": {"policy": "whittle"},
    "crawl-value": {"policy": "crawl-value"},
    "billiard": {"policy": "billiard", "frequencies": "optimal"},
    "balanced": {"policy": "balanced", "frequencies": "optimal"},
    "deadline": {"policy": "deadline", "frequencies": "optimal"},
    "deficit": {"policy": "deficit", "frequencies": "optimal"},
    "dyadic": {"policy": "dyadic", "frequencies": "optimal"},
    "golden-ratio": {"policy": "golden-ratio", "frequencies": "optimal"},
    "randomized": {"policy": "randomized", "frequencies": "optimal"},
    "uniform": {"policy": "round-robin"},
    "proportional": {"policy": "billiard", "frequencies": "change-rate"},
}
LOADS = (0.1, 0.3, 1.0, 3.0)
PAGES = 60
SEEDS = {5: 6, 20: 2, 100: 1}
"""How many draws of the change rates, by the number of pages: few pages differ more."""
LAWS = (
    Deterministic(value=1.0),
    Exponential(mean=1.0),
    Hyperexponential(probabilities=(0.9, 0.1), rates=(1.8, 0.2)),
)
COLOURS = ("#0072b2", "#c24a00", "#00805e", "#b07800", "#8a4a8f", "#5a6270")
MARKERS = "os^Dv<"

Row = dict[str, Any]
Array = NDArray[Any]


def pages(load: float, kind: str, seed: int = 1) -> tuple[NDArray[Any], NDArray[Any]]:
    """Change rates that sum to `load`, and weights: equal, as the change rates, or at random."""
    generator = np.random.default_rng(seed)
    rates = generator.gamma(1.0, size=PAGES)
    rates *= load / rates.sum()
    weights = {"equal": np.ones(PAGES), "change rates": rates, "random": generator.random(PAGES)}
    return rates, weights[kind]


def system(rates: NDArray[Any], weights: NDArray[Any], accessing: dict[str, Any]) -> Scenario:
    """One robot with constant access times."""
    slots = 400.0 * len(rates)
    return resolve(
        scenario_from(
            {
                "name": "pages",
                "pages": {"change_rates": rates.tolist(), "weights": weights.tolist()},
                "robots": {
                    "available": 1,
                    "access_time": {"deterministic": {"value": 1.0}},
                    "accessing": accessing,
                },
                "run": {"horizon": 1.2 * slots, "warmup": 0.2 * slots},
            }
        )
    )


def cost_and_bound(scenario: Scenario) -> tuple[float, float]:
    """The exact weighted obsolescence, and the bound over all schedules in the long run."""
    (cost,) = [
        each.value
        for each in predict(scenario)[0]
        if (each.measure, each.kind) == ("weighted_obsolescence", "exact")
    ]
    assert scenario.model.pages is not None
    rates = scenario.model.pages.change_rates
    weights = scenario.model.pages.weights
    return cost, schedule_bound(rates, weights, law_between_accesses(scenario))


def table(kind: str) -> list[Row]:
    """Cost over bound of every policy, one column per load."""
    rows = []
    for name, accessing in POLICIES.items():
        row: Row = {"policy": name}
        for load in LOADS:
            cost, bound = cost_and_bound(system(*pages(load, kind), accessing))
            row[f"load {load:g}"] = cost / bound
        rows.append(row)
    return rows


def family(count: int, seeds: int) -> Iterator[tuple[Array, Array, Distribution]]:
    """Change rates, weights and law of the access times of every case with so many pages."""
    cases = product(("gamma", "lognormal", "zipf"), range(seeds), (0.1, 1.0, 3.0), LAWS)
    for kind, seed, load, law in cases:
        generator = np.random.default_rng([count, seed])
        rates = _drawn(kind, count, generator)
        rates *= load / rates.sum()
        for weights in (np.ones(count), rates, generator.random(count)):
            yield rates, weights, law


def _drawn(kind: str, count: int, generator: np.random.Generator) -> Array:
    """Change rates of one kind; those of zipf are not drawn."""
    if kind == "zipf":
        return 1.0 / np.arange(1, count + 1)
    return generator.gamma(1.0, size=count) if kind == "gamma" else generator.lognormal(size=count)


def index_excess(rates: Array, weights: Array, law: Distribution) -> float:
    """Cost of the index policy over the bound, minus 1; a quarter of its accesses do not count."""
    exponents = log_transform(law, rates)
    values = weights / rates
    numbers = {"exponents": exponents.tolist(), "values": (values / values.max()).tolist()}
    plan = chain.from_iterable(Whittle(policy="whittle", **numbers).plan(weights))
    slots = max(100 * len(rates), 3000)
    sequence = np.fromiter(plan, dtype=np.intp, count=slots)
    cost = weights @ sequence_obsolescence(rates, sequence, law, slots // 4)
    return float(cost) / schedule_bound(rates, weights, law) - 1.0


def index_table() -> list[Row]:
    """Mean and largest excess of the index policy in per cent, by the number of pages."""
    rows: list[Row] = []
    for count, seeds in SEEDS.items():
        excess = [100 * index_excess(*case) for case in family(count, seeds)]
        mean = float(np.mean(excess))
        rows.append(
            {"pages": str(count), "cases": str(len(excess)), "mean": mean, "largest": max(excess)}
        )
    means, largest = ([row[key] for row in rows] for key in ("mean", "largest"))
    cases = str(sum(int(row["cases"]) for row in rows))
    mean = float(np.mean(means))
    return [*rows, {"pages": "all alike", "cases": cases, "mean": mean, "largest": max(largest)}]


def draw(tables: dict[str, list[Row]]) -> Axes:
    """How far each policy is above the bound, in per cent, for all weights at one load."""
    ax = Figure(figsize=(5.2, 3.8), layout="constrained").add_subplot()
    dress(ax, f"cost above the bound at load {LOADS[2]:g} (per cent)", "")
    names = list(POLICIES)
    for (kind, rows), colour, marker in zip(tables.items(), COLOURS, MARKERS, strict=False):
        above = [100 * (row[f"load {LOADS[2]:g}"] - 1) for row in rows]
        label = f"weights: {kind}"
        ax.plot(above, range(len(names)), marker, color=colour, ms=5.5, mfc="none", label=label)
    ax.set_yticks(range(len(names)), names)
    ax.invert_yaxis()
    ax.set_xscale("symlog", linthresh=0.1)
    ax.set_xlim(left=0)
    ax.set_xticks([0, 0.1, 1, 10, 100], ["0", "0.1", "1", "10", "100"])
    legend_above(ax)
    return ax


def markdown(title: str, rows: Sequence[Row]) -> str:
    """A table as Markdown below its title."""
    columns = list(rows[0])
    lines = [title, "", "| " + " | ".join(columns) + " |"]
    lines += ["|---|" + "--:|" * (len(columns) - 1)]
    for row in rows:
        cells = [f"{row[c]:.4f}" if isinstance(row[c], float) else row[c] for c in columns]
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the tables, and write them and the figure."""
    parser = argparse.ArgumentParser(description="Accessing policies against the bound.")
    out = Path("out/policies")
    parser.add_argument("--out", type=Path, default=out, help="folder (%(default)s)")
    parsed = parser.parse_args(arguments)
    tables = {kind: table(kind) for kind in ("equal", "change rates", "random")}
    text = "\n".join(markdown(f"Weights: {kind}", rows) for kind, rows in tables.items())
    text += "\n" + markdown("whittle above the bound, per cent", index_table())
    parsed.out.mkdir(parents=True, exist_ok=True)
    (parsed.out / "tables.md").write_text(text, encoding="utf-8")
    draw(tables).figure.savefig(parsed.out / "policies.png", dpi=130)
    print(text)


if __name__ == "__main__":
    main()
