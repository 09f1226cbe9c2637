"""How far formulas of a frontier are off where access times are not exponential.

``python -m experiments.frontier_approximation [--systems N] [--seed N]`` draws random systems,
simulates them, and prints the errors of "frontier, other access times" beside the standard errors.
"""

from __future__ import annotations

import argparse
from typing import Any

import numpy as np

import sim
from analytic import predict
from scenarios import Scenario, scenario_from

_LAWS = {
    "constant": {"deterministic": {"value": 1.0}},
    "Erlang of 4 phases": {"erlang": {"shape": 4, "mean": 1.0}},
    "gamma of scv 4": {"gamma": {"shape": 0.25, "mean": 1.0}},
}


def system(law: dict[str, Any], stream: np.random.Generator) -> Scenario:
    """A random frontier with this law of access times: 3 to 40 pages, at a load of 0.3 to 1.5."""
    pages = int(stream.integers(3, 41))
    robots = int(stream.integers(1, min(pages, 6)))
    load = stream.uniform(0.3, 1.5)
    intervals = stream.uniform(0.3, 3.0, pages) * pages / (robots * load)
    return scenario_from(
        {
            "name": "random",
            "pages": {
                "change_rates": (stream.uniform(0.05, 3.0, pages) / intervals).tolist(),
                "weights": "uniform",
            },
            "robots": {
                "available": robots,
                "access_time": law,
                "accessing": {"policy": "due", "intervals": intervals.tolist()},
            },
            "run": {"horizon": 20000.0, "warmup": 1000.0, "replications": 10},
        }
    )


def errors(scenario: Scenario) -> tuple[float, float, float]:
    """Relative errors of the mean wait and of the staleness; how long a wait is in accesses."""
    found = sim.run(scenario)
    said = {(row.measure, row.subject): row.value for row in predict(scenario)[0]}
    wait = found.find("frontier_delay").estimate
    stale = found.find("weighted_obsolescence").estimate
    return (
        said["frontier_delay", None] / wait - 1.0,
        said["weighted_obsolescence", None] / stale - 1.0,
        wait,
    )


def main() -> None:
    """Draw, simulate, and print a row for each law."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--systems", type=int, default=40, help="of each law")
    parser.add_argument("--seed", type=int, default=1)
    asked = parser.parse_args()
    print("law | wait: median, worst | wait above 0.1 accesses: worst | staleness: median, worst")
    for name, law in _LAWS.items():
        stream = np.random.default_rng(asked.seed)
        found = np.array([errors(system(law, stream)) for _ in range(asked.systems)])
        waits, stale, long = found.T
        worst = np.abs(waits[long > 0.1]).max(initial=0.0)
        print(
            f"{name} | {np.median(np.abs(waits)):.1%}, {np.abs(waits).max():.1%} | {worst:.1%} | "
            f"{np.median(np.abs(stale)):.2%}, {np.abs(stale).max():.2%}"
        )


if __name__ == "__main__":
    main()
