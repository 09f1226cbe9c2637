"""How often the intervals of simulated quantiles hold the exact quantile.

`python -m experiments.quantile_coverage` prints the table of docs/measures.md.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import analytic
import sim
from scenarios import Scenario, load

SHARES = (0.5, 0.95, 0.99)
_SCENARIOS = {
    "one-robot": "exponential",
    "sojourn-quantiles": "hyperexponential, timers",
}
_RUNS = 400
_SIZES = ((5, 300.0), (5, 3000.0), (40, 3000.0))
"""Replications, and how long each is observed."""


class Coverage(NamedTuple):
    """Of the runs of a scenario: how many gave an interval, and how many of these were right."""

    scenario: str
    replications: int
    pages: float
    share: float
    defined: int
    held: int


def coverage(scenario: Scenario, replications: int, window: float, runs: int) -> Iterator[Coverage]:
    """The coverage of the intervals of served pages, over seeds 0, 1 and so on.

    Parameters
    ----------
    scenario : Scenario
    replications : int
    window : float
        Length of the window of a replication, after a warm-up of 200.
    runs : int
    """
    asked = scenario.with_(
        {
            "buffer.sojourn_quantiles": list(SHARES),
            "run.warmup": 200.0,
            "run.horizon": 200.0 + window,
        }
    )
    exact = {
        row.subject: row.value
        for row in analytic.predict(asked)[0]
        if row.measure == "sojourn_quantile"
    }
    defined = dict.fromkeys(SHARES, 0)
    held = dict.fromkeys(SHARES, 0)
    pages = 0
    for seed in range(runs):
        results = sim.run(asked, seed=seed, replications=replications)
        pages += results.events
        for share in SHARES:
            subject = f"served {share}"
            row = results.rows.find("sojourn_quantile", subject)
            if row is None or not row.low <= row.high:
                continue
            defined[share] += 1
            held[share] += row.low <= exact[subject] <= row.high
    for share in SHARES:
        yield Coverage(
            scenario.name, replications, pages / runs, share, defined[share], held[share]
        )


def main() -> None:
    """Print the table."""
    print("| services | replications | pages in all | quantile | defined | holds |")
    print("|---|---|---|---|---|---|")
    for name, services in _SCENARIOS.items():
        for replications, window in _SIZES:
            for row in coverage(load(name), replications, window, _RUNS):
                holds = 100 * row.held / row.defined if row.defined else float("nan")
                print(
                    f"| {services} | {replications} | {row.pages:.0f} | {row.share} "
                    f"| {100 * row.defined / _RUNS:.0f} % | {holds:.1f} % |"
                )


if __name__ == "__main__":
    main()
