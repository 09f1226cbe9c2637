"""The tables of docs/pipeline.md: what wrong models give, and the examples.

Run as ``python -m experiments.pipeline_tables``; it takes some seconds. All numbers are exact but
those of the decomposition.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from analytic.pipeline import decomposed, exact_method
from analytic.pipeline.independence import thinned_randomized
from scenarios import Scenario, load
from scenarios.arrays import Array
from scenarios.laws import Exponential

PLACES = 6
SERVICE = 1.0
DELIVERIES = 2.0
CHANGES = np.array([0.02, 0.1, 0.5])
SHARES = np.array([0.1, 0.2, 0.3])
"""Of the overloaded queue that tells the models apart."""


def levels() -> Array:
    """Stationary probabilities of M/M/1/K."""
    weights = (DELIVERIES / SERVICE) ** np.arange(PLACES + 1)
    return weights / weights.sum()


def stale_until(indexed: Array, mu: float, share: float) -> float:
    """Obsolescence rate if a copy accepted at level n is in time with probability indexed[n]."""
    top = np.arange(PLACES + 1)
    enters = DELIVERIES * (top < PLACES)
    leaves = SERVICE * (top > 0)
    system = np.diag(mu + enters + leaves)
    system[top[1:], top[:-1]] -= leaves[1:]
    system[top[:-1], top[1:]] -= (1.0 - share) * enters[:-1]
    stale = np.linalg.solve(system, mu + share * enters * (1.0 - indexed))
    return float(levels() @ stale)


def taken_at_the_start_of_service(mu: float, share: float) -> float:
    """Obsolescence rate if a page's content were read when its service starts.

    Unknown: the probability that no service that begins after the change ends in time with this
    page; for services that began after it (1 … K), for the one that had begun before (1 … K), idle.
    """
    size = PLACES
    idle = 2 * PLACES
    system = np.zeros((2 * size + 1, 2 * size + 1))
    right = np.full(2 * size + 1, mu)
    for old, level in ((old, level) for old in (0, 1) for level in range(1, size + 1)):
        row = old * size + level - 1
        enters = DELIVERIES * (level < size)
        system[row, row] = mu + enters + SERVICE
        if level < size:
            system[row, row + 1] -= enters
        following = idle if level == 1 else level - 2
        system[row, following] -= SERVICE * (1.0 if old else 1.0 - share)
    system[idle, idle] = mu + DELIVERIES
    system[idle, 0] = -DELIVERIES
    stale = np.linalg.solve(system, right)
    return float(levels() @ np.concatenate([stale[idle:], stale[size:idle]]))


def wrong_models() -> dict[str, list[float]]:
    """Obsolescence rates of three pages by model, the exact ones first."""
    places = np.arange(PLACES + 1)
    law = levels()
    found: dict[str, list[float]] = {}
    pages = list(zip(CHANGES.tolist(), SHARES.tolist(), strict=True))
    steps = {"exact": 1, "index refreshed at delivery": None, "… at the start of service": 0}
    for name, step in steps.items():
        found[name] = [
            stale_until(
                np.ones(PLACES + 1)
                if step is None
                else (SERVICE / (SERVICE + mu)) ** (places + step),
                mu,
                share,
            )
            for mu, share in pages
        ]
    start = "content taken at the start of service"
    found[start] = [taken_at_the_start_of_service(*page) for page in pages]
    y = SERVICE / (SERVICE + CHANGES)
    discount = (law[:-1] @ y ** (places[:-1, None] + 1)) / (1.0 - law[-1])
    every = Exponential(rate=DELIVERIES)
    for name, lost in (("losses ignored", 0.0), ("decomposition", float(law[-1]))):
        thinned = thinned_randomized(CHANGES, SHARES, every, lost)
        found[name] = decomposed(thinned, discount).tolist()
    found["no buffer at all"] = thinned_randomized(CHANGES, SHARES, every, 0.0).tolist()
    return found


def example(robots: int, places: int = 21, **changes: Any) -> float:
    """Cost of the twenty Zipf pages, K places, as a share of the weights."""
    given = {"robots.available": robots, "buffer.waiting_places": places - 1} | changes
    scenario = load("pipeline-light").with_(given)
    return cost(scenario)


def cost(scenario: Scenario) -> float:
    """Weighted obsolescence as a share of the weights, by the exact method."""
    method = exact_method(scenario)
    assert method is not None
    assert scenario.model.pages is not None
    weights = scenario.model.pages.weights
    return float(weights @ method.rates(scenario) / weights.sum())


def up_to(robots: int, level: int) -> float:
    """All robots up to a level, none above."""
    rule = {"threshold": {"robots": [robots, 0], "at": [level]}}
    return example(robots, activation=rule)


def timed(robots: int, mean: float) -> float:
    """Exponential timers of a mean."""
    return example(robots, **{"buffer.obsolescence": {"exponential": {"mean": mean}}})


BEST_LEVELS = {8: 3, 10: 3, 16: 2, 30: 1, 100: 0}
TIMERS = (0.5, 1.0, 2.0, 5.0, 10.0, 30.0)


def lines() -> Iterator[str]:
    """The tables."""
    yield "| model | page 0 | page 1 | page 2 |"
    for name, values in wrong_models().items():
        yield f"| {name} | {' | '.join(f'{value:.6f}' for value in values)} |"
    yield "| robots | level | up to it | always |"
    for robots, level in BEST_LEVELS.items():
        yield f"| {robots} | {level} | {up_to(robots, level):.4f} | {example(robots):.4f} |"
    yield f"| robots | never | {' | '.join(f'{mean:g}' for mean in TIMERS)} |"
    for robots in (5, 8, 12, 16):
        values = [example(robots), *(timed(robots, mean) for mean in TIMERS)]
        yield f"| {robots} | {' | '.join(f'{value:.3f}' for value in values)} |"


if __name__ == "__main__":
    print(*lines(), sep="\n")
