"""The first tables of docs/pipeline.md: robots, buffers, frequencies, loads, full buffers.

Run as ``python -m experiments.pipeline_examples``; it takes half a minute. All numbers are exact,
but for the loads of many pages and six places, found to two digits.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from scipy.optimize import minimize_scalar

from analytic import optimize
from analytic.page_refresh import best_random_shares
from analytic.pipeline import exact_method, obsolescence_rates, queue_of_pages
from analytic.pipeline.independence import thinned_randomized
from scenarios import Scenario, load
from scenarios.arrays import Array
from scenarios.laws import Exponential

ROBOTS = (3, 5, 6, 7, 8, 9, 10, 12, 16)
PLACES = (6, 21, 101)
BUFFERS = (1, 2, 3, 4, 6, 11, 21, 51, 101)
SYSTEMS = ((8, 21), (16, 21), (16, 6), (30, 51))
"""Robots and places of the table of frequencies."""
FREQUENCIES = ("best without a buffer", "uniform", "the same, discounted weights", "optimal")
PAGES = (5, 20, 200, 2000)
LOADS = (1, 2, 5, 20)
FULL = {
    "push-out": {"buffer.when_full": "push-out"},
    "LIFO": {"buffer.discipline": "lifo"},
    "LIFO + push-out": {"buffer.discipline": "lifo", "buffer.when_full": "push-out"},
}
REPLACED = {"buffer.replace_older_copy": True}
DROPPED = {"buffer.obsolescence": "page-change"}
TOGETHER: dict[str, dict[str, Any]] = {
    "plain": {"buffer.replace_older_copy": False},
    "page-change": {"buffer.replace_older_copy": False} | DROPPED,
    "replace": REPLACED,
    "replace + page-change": REPLACED | DROPPED,
    "LIFO + replace": {"buffer.discipline": "lifo"} | REPLACED,
}
"""What the buffer does with copies of one page."""


def example(robots: int, places: int, **changes: Any) -> Scenario:
    """The twenty Zipf pages with so many robots and places."""
    given = {"robots.available": robots, "buffer.waiting_places": places - 1} | changes
    return load("pipeline-light").with_(given)


def cost(scenario: Scenario) -> float:
    """Weighted obsolescence as a share of the weights, by the exact method."""
    method = exact_method(scenario)
    assert method is not None
    assert scenario.model.pages is not None
    weights = scenario.model.pages.weights
    return float(weights @ method.rates(scenario) / weights.sum())


def indexed_at_once(robots: int) -> float:
    """The cost without a buffer and without a delay."""
    mu, shares = _pages(example(robots, 1))
    return float(shares @ thinned_randomized(mu, shares, Exponential(rate=robots / 10), 0.0))


def _pages(scenario: Scenario) -> tuple[Array, Array]:
    assert scenario.model.pages is not None
    mu = scenario.model.pages.change_rates
    return mu, mu / mu.sum()


def by_frequencies(robots: int, places: int) -> list[float]:
    """Cost with each kind of frequencies, as a share of the weights."""
    rows = optimize(example(robots, places), "frequencies").table
    costs = {row["frequencies"]: row["cost"] for row in rows}
    return [costs[name] / 0.4 for name in FREQUENCIES]


def best_load(pages: int, places: int) -> float:
    """The load with the least cost: pages drawn in proportion to their change rates."""
    mu, shares = _pages(example(1, places, **{"pages.change_rates.zipf.pages": pages}))

    def stale(rate: float) -> float:
        mean = {"robots.access_time.exponential.mean": 1.0 / rate}
        queue = queue_of_pages(example(1, places, **mean))
        return float(shares @ obsolescence_rates(queue, mu, shares))

    found = minimize_scalar(stale, bounds=(0.3, 3.0), method="bounded", options={"xatol": 1e-3})
    return float(found.x)


def best_number(weights: str | Sequence[float]) -> int:
    """The best number of robots for weights, with the frequencies best without a buffer."""
    prices = {"pages.weights": weights, "costs.staleness": 1.0}
    scenario = example(12, 21, **prices)
    assert scenario.model.pages is not None
    mu = scenario.model.pages.change_rates
    c = scenario.model.pages.weights
    shares = best_random_shares(mu, c, Exponential(mean=1.0)).tolist()
    found = optimize(scenario.with_("robots.accessing.frequencies", shares), "static")
    return int(found.decision["robots"])


def weightings() -> dict[str, str | list[float]]:
    """Weights of the pages by their names."""
    mu, _ = _pages(example(1, 2))
    return {
        "all on the fastest page": [1.0] + [0.0] * 19,
        "change rates": "change-rate",
        "uniform": "uniform",
        "inverse change rates": (1.0 / mu).tolist(),
    }


def together(load_: int, **changes: Any) -> float:
    """Two fast and five slow pages, five places, at a load."""
    given = {"robots.available": 10 * load_} | changes
    return cost(load("pipeline-replacement").with_(given))


def lines() -> Iterator[str]:
    """The tables."""
    yield f"| K \\ robots | {' | '.join(map(str, ROBOTS))} |"
    yield _row("no buffer, no delay", map(indexed_at_once, ROBOTS), 3)
    for places in PLACES:
        yield _row(places, (cost(example(robots, places)) for robots in ROBOTS), 3)
    yield f"| K | {' | '.join(map(str, BUFFERS))} |"
    yield _row("ten robots", (cost(example(10, places)) for places in BUFFERS), 3)
    yield f"| robots, K | {' | '.join(FREQUENCIES)} |"
    for system in SYSTEMS:
        yield _row("{}, {}".format(*system), by_frequencies(*system), 5)
    yield f"| K \\ pages | {' | '.join(map(str, PAGES))} |"
    for places in (6, 21):
        yield _row(places, (best_load(pages, places) for pages in PAGES), 2)
    yield "| weights | best number of robots |"
    for name, weights in weightings().items():
        yield f"| {name} | {best_number(weights)} |"
    yield f"| robots | FIFO | {' | '.join(FULL)} |"
    for robots in (5, 8, 12, 16):
        rules = ({}, *FULL.values())
        yield _row(robots, (cost(example(robots, 21, **rule)) for rule in rules), 4)
    yield f"| load | {' | '.join(TOGETHER)} |"
    for each in LOADS:
        yield _row(each, (together(each, **rule) for rule in TOGETHER.values()), 3)


def _row(name: object, values: Any, digits: int) -> str:
    shown = " | ".join(f"{value:.{digits}f}" for value in values)
    return f"| {name} | {shown} |"


if __name__ == "__main__":
    print(*lines(), sep="\n")
