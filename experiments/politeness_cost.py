"""What a least time between accesses to a host costs, simulated, against the bound.

Run as ``python -m experiments.politeness_cost --out out/politeness``: prints tables as Markdown and
writes them with a figure there, in half a minute. 200 pages on 20 hosts whose sizes follow Zipf's
law; one robot with accesses of mean 1; a change per access in all. The bound is that over all
schedules in time; "blind" is the index without the prices of hosts at their limits.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

import sim
from analytic import predict, resolve
from analytic.index.accesses import law_between_accesses
from analytic.page_refresh import schedule_bound
from crawlsim.report.drawing import dress
from scenarios import Scenario, scenario_from

LAWS: dict[str, dict[str, Any]] = {
    "constant": {"deterministic": {"value": 1.0}},
    "exponential": {"exponential": {"mean": 1.0}},
}
POLICIES: dict[str, dict[str, Any]] = {
    "whittle": {"policy": "whittle"},
    "crawl-value": {"policy": "crawl-value"},
    "deadline": {"policy": "deadline", "frequencies": "optimal"},
    "golden-ratio": {"policy": "golden-ratio", "frequencies": "optimal"},
    "whittle, blind": {"policy": "whittle"},
    "round-robin": {"policy": "round-robin"},
}
SPACINGS = (0.0, 2.0, 4.0, 6.0, 10.0, 20.0, 40.0)
PAGES = 200
HOSTS = 20
COLOURS = ("#0072b2", "#c24a00", "#00805e", "#b07800", "#8a4a8f", "#5a6270")
MARKERS = "os^Dv<"


class Cost(NamedTuple):
    """An estimate of the weighted obsolescence, half the width of its interval, and the bound."""

    estimate: float
    half: float
    bound: float


def system(law: str, policy: str, spacing: float, horizon: float) -> Scenario:
    """The scenario of one cell of the table, ready to run."""
    generator = np.random.default_rng(1)
    rates = generator.gamma(1.0, size=PAGES)
    made = scenario_from(
        {
            "name": "polite",
            "pages": {
                "change_rates": (rates / rates.sum()).tolist(),
                "weights": generator.random(PAGES).tolist(),
                "hosts": {"zipf": {"hosts": HOSTS, "exponent": 1.0}},
            },
            "robots": {
                "available": 1,
                "access_time": LAWS[law],
                "accessing": POLICIES[policy],
                "host_spacing": spacing,
            },
            "run": {"horizon": horizon, "warmup": horizon / 10, "replications": 10},
        }
    )
    if "blind" not in policy:
        return resolve(made)
    return resolve(made.with_("robots.host_spacing", 0.0)).with_("robots.host_spacing", spacing)


def cost(scenario: Scenario) -> Cost:
    """Simulated, with the bound over all schedules in time; the same at no spacing."""
    found = sim.run(scenario).find("weighted_obsolescence")
    assert found is not None
    return Cost(found.estimate, found.high - found.estimate, bound_of(scenario))


def bound_of(scenario: Scenario) -> float:
    """Of all schedules in the long run, with the spacing or without."""
    known = predict(scenario)[0]
    in_time = [p.value for p in known if p.source == "coffman1998 (7) in time"]
    assert scenario.model.pages is not None
    rates = scenario.model.pages.change_rates
    weights = scenario.model.pages.weights
    own = schedule_bound(rates, weights, law_between_accesses(scenario))
    return in_time[0] if in_time else own


def table(law: str, horizon: float) -> dict[str, list[Cost]]:
    """Costs of every policy, one per spacing."""
    return {
        policy: [cost(system(law, policy, spacing, horizon)) for spacing in SPACINGS]
        for policy in POLICIES
    }


def markdown(law: str, rows: dict[str, list[Cost]]) -> str:
    """Cost over bound, with half the width of the 95 % interval, and the bound itself."""
    head = " | ".join(f"{spacing:g}" for spacing in SPACINGS)
    lines = [f"Access times: {law}", "", f"| spacing | {head} |"]
    lines.append("|---|" + "--:|" * len(SPACINGS))
    for policy, costs in rows.items():
        cells = [f"{c.estimate / c.bound:.3f} ± {c.half / c.bound:.3f}" for c in costs]
        lines.append(f"| {policy} | " + " | ".join(cells) + " |")
    bounds = " | ".join(f"{c.bound:.4g}" for c in next(iter(rows.values())))
    return "\n".join([*lines, f"| bound | {bounds} |"]) + "\n"


def draw(tables: dict[str, dict[str, list[Cost]]]) -> Figure:
    """Cost over bound against the spacing, with 95 % intervals, a panel per law."""
    figure = Figure(figsize=(8.2, 3.8), layout="constrained")
    axes: Sequence[Axes] = figure.subplots(1, len(tables), sharey=True)
    where = np.arange(len(SPACINGS))
    for ax, (law, rows) in zip(axes, tables.items(), strict=True):
        dress(ax, "least time between accesses to a host", "")
        ax.set_title(f"access times {law}", fontsize=9, loc="left")
        for (policy, costs), colour, marker in zip(rows.items(), COLOURS, MARKERS, strict=True):
            ratios = [c.estimate / c.bound for c in costs]
            halves = [c.half / c.bound for c in costs]
            style: dict[str, Any] = {"color": colour, "marker": marker, "ms": 4, "lw": 1.0}
            ax.errorbar(where, ratios, yerr=halves, label=policy, capsize=2, **style)
        ax.axhline(1.0, color="#333333", lw=0.9, ls="--")
        ax.set_xticks(where, [f"{spacing:g}" for spacing in SPACINGS])
    axes[0].set_ylabel("weighted obsolescence over the bound", fontsize=9)
    handles, names = axes[0].get_legend_handles_labels()
    figure.legend(handles, names, loc="outside upper center", ncols=6, fontsize=8, frameon=False)
    return figure


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the tables, and write them and the figure."""
    parser = argparse.ArgumentParser(description="The cost of politeness.")
    out = Path("out/politeness")
    parser.add_argument("--out", type=Path, default=out, help="folder (%(default)s)")
    parser.add_argument("--horizon", type=float, default=20000.0, help="%(default)s")
    parsed = parser.parse_args(arguments)
    tables = {law: table(law, parsed.horizon) for law in LAWS}
    text = "\n".join(markdown(law, rows) for law, rows in tables.items())
    parsed.out.mkdir(parents=True, exist_ok=True)
    (parsed.out / "tables.md").write_text(text, encoding="utf-8")
    draw(tables).savefig(parsed.out / "politeness.png", dpi=130)
    print(text)


if __name__ == "__main__":
    main()
