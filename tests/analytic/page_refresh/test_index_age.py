"""The mean age of the copies in the index, from the events of the readable engine.

First come first served and newest first: the log says when each page was delivered and when its
indexing ended; everything else is worked out here. |z| below 4.1 with 19 degrees of freedom: a
false alarm of 6e-4 a page; standard errors are below 2 % of the age.
"""

from __future__ import annotations

from collections import deque
from typing import Any

import numpy as np
import pytest
from pipelines import pipeline

from analytic.pipeline import exact_method
from sim.event_log import Row
from sim.simpy_engine import simulate

REPLICATIONS = 20
WARMUP = 500.0
HORIZON = 4500.0


class Rows:
    """An event log in memory."""

    def __init__(self) -> None:
        self.rows: list[Row] = []

    def add(self, row: Row) -> None:
        self.rows.append(row)


def mean_ages(rows: list[Row], pages: int, *, newest_first: bool) -> np.ndarray:
    """Time averages over (warm-up, horizon] of the age of each page's newest indexed copy."""
    waiting: deque[tuple[int, float]] = deque()
    serving: tuple[int, float] | None = None
    born = np.zeros(pages)
    since = np.zeros(pages)
    total = np.zeros(pages)

    def close(page: int, now: float) -> None:
        start = max(since[page], WARMUP)
        end = max(now, WARMUP)
        total[page] += (end - start) * ((end + start) / 2 - born[page])
        since[page] = now

    for _, now, event, _, page, _, _ in rows:
        if event == "delivery":
            assert page is not None
            waiting.append((page, now))
        elif event == "push-out":
            waiting.popleft()
        elif event == "obsolescence":
            waiting.remove(next(each for each in waiting if each[0] == page))
        elif event == "service":
            assert serving is not None
            assert serving[0] == page
            if serving[1] > born[serving[0]]:
                close(serving[0], now)
                born[serving[0]] = serving[1]
            serving = None
        if serving is None and waiting:
            serving = waiting.pop() if newest_first else waiting.popleft()
    for page in range(pages):
        close(page, HORIZON)
    ages: np.ndarray = total / (HORIZON - WARMUP)
    return ages


def simulated(name: str) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Predicted ages, simulated ones, and their standard errors."""
    scenario = pipeline(name).with_({"run.horizon": HORIZON, "run.warmup": 0.0, "clients": None})
    method = exact_method(scenario)
    assert method is not None
    assert method.ages is not None
    predicted = method.ages(scenario)
    found: list[Any] = []
    for replication in range(REPLICATIONS):
        log = Rows()
        simulate(scenario, replication, seed=7, log=log)  # type: ignore[arg-type]
        found.append(mean_ages(log.rows, 5, newest_first=name.startswith("LIFO")))
    mean = np.mean(found, axis=0)
    error = np.std(found, axis=0, ddof=1) / REPLICATIONS**0.5
    return predicted, mean, error


@pytest.mark.thorough
@pytest.mark.statistical
@pytest.mark.parametrize("name", ["static", "batches", "LIFO", "round robin, four robots"])
def test_mean_ages_are_simulated(name: str) -> None:
    predicted, mean, error = simulated(name)
    assert np.all(np.abs(mean - predicted) < 4.1 * error)
    assert np.all(error < 0.02 * predicted)


@pytest.mark.thorough
@pytest.mark.statistical
def test_another_order_of_service_would_be_seen() -> None:
    """Negative control: the ages under LIFO against those under FIFO, 6 standard errors away."""
    predicted, _, error = simulated("static")
    _, other, _ = simulated("LIFO, exponential")
    assert np.any(np.abs(other - predicted) > 6 * error)
