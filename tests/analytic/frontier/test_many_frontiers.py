"""Random frontiers beside their formulas: right ones are hardly ever refuted."""

from __future__ import annotations

import numpy as np
import pytest

import sim
from analytic import compare, predict
from scenarios import Scenario, scenario_from

SYSTEMS = 300


def random_frontier(stream: np.random.Generator) -> Scenario:
    """2 to 30 pages, robots for some or all of them, at loads from 0.2 to 2; half with commits."""
    pages = int(stream.integers(2, 31))
    robots = int(stream.integers(1, pages + 2))
    intervals = stream.choice([0.5, 1.0, 2.0, 5.0], pages) * stream.uniform(0.5, 2.0)
    mean = float(stream.uniform(0.2, 2.0) * robots / (1.0 / intervals).sum())
    commits = {"index": {"commit_interval": float(intervals.mean() * stream.uniform(0.1, 2.0))}}
    return scenario_from(
        (commits if stream.random() < 0.5 else {})  # half of them
        | {
            "name": "random",
            "pages": {
                "change_rates": (stream.uniform(0.05, 2.0, pages) / intervals).tolist(),
                "weights": "uniform",
                "refresh_quantiles": [0.5, 0.95],
            },
            "robots": {
                "available": robots,
                "access_time": {"exponential": {"mean": mean}},
                "accessing": {
                    "policy": "due",
                    "intervals": intervals.tolist(),
                    "first": str(stream.choice(["spread", "at-once"])),
                    "delay_quantiles": [0.9],
                },
            },
            "run": {"horizon": 3000.0, "warmup": 300.0, "replications": 20},
        }
    )


@pytest.mark.nightly
@pytest.mark.statistical
def test_three_hundred_random_frontiers_agree() -> None:
    """At most one row in a thousand disagrees, of some twenty thousand; each family at 1e-3."""
    stream = np.random.default_rng(50)
    refuted = rows = 0
    for _ in range(SYSTEMS):
        scenario = random_frontier(stream)
        for row in compare(predict(scenario)[0], sim.run(scenario)):
            rows += 1
            refuted += row.verdict == "disagrees"
    assert rows > 10_000
    assert refuted <= rows / 1000
