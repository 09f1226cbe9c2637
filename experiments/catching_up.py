"""How far the fluid is off that says how long robots take to catch up after an outage.

``python -m experiments.catching_up [--outages N] [--seed N]`` draws random outages, simulates them,
and prints what the fluid says beside the mean of the simulation.
"""

from __future__ import annotations

import argparse

import numpy as np

import sim
from analytic import predict, resolve
from scenarios import Scenario, scenario_from

_LEAST = 0.1
"""Shorter times are those of chance."""


def outage(stream: np.random.Generator) -> Scenario:
    """50 to 400 pages due every 5 to 40, 4 to 40 robots at loads from 0.3 to 0.9, some gone."""
    pages, robots = int(stream.integers(50, 401)), int(stream.integers(4, 41))
    load, lasts = stream.uniform(0.3, 0.9), stream.uniform(1.0, 15.0)
    intervals = stream.choice([5.0, 10.0, 20.0, 40.0], pages)
    left = int(stream.integers(0, max(1, int(0.8 * load * robots))))
    mean = float(load * robots / (1.0 / intervals).sum())
    return scenario_from(
        {
            "name": "outage",
            "pages": {"change_rates": [0.1] * pages, "weights": "uniform"},
            "robots": {
                "available": robots,
                "access_time": {"exponential": {"mean": mean}},
                "accessing": {"policy": "due", "intervals": intervals.tolist()},
            },
            "interventions": [{"at": 100.0, "until": 100.0 + lasts, "robots": left}],
            "run": {"horizon": 400.0, "warmup": 0.0, "replications": 40},
        }
    )


def main() -> None:
    """Draw, simulate, and print both numbers of each outage and the errors of all."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--outages", type=int, default=25)
    parser.add_argument("--seed", type=int, default=1)
    asked = parser.parse_args()
    stream = np.random.default_rng(asked.seed)
    errors = []
    for _ in range(asked.outages):
        scenario = resolve(outage(stream))
        said = [row.value for row in predict(scenario)[0] if row.measure == "catch_up_time"]
        found = sim.run(scenario).find("catch_up_time")
        print(f"fluid {said}, simulated {found.estimate:.3g} ± {1.96 * found.standard_error:.2g}")
        if said and found.estimate > _LEAST:
            errors.append(abs(said[0] / found.estimate - 1.0))
    print(f"of {len(errors)}: median error {np.median(errors):.1%}, largest {max(errors):.1%}")


if __name__ == "__main__":
    main()
