"""Baseline of page refresh: one robot in SimPy that samples changes lazily.

The robot takes all pages in turn; a page's first change after an access is drawn at that access,
so that changes are no events of their own. Access times are exponential.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Generator
from typing import NamedTuple

import numpy as np
import simpy

Process = Generator[simpy.Event, object, None]


class Refreshes(NamedTuple):
    """Accesses, the mean fraction of time out of date, and the CPU seconds that it took."""

    accesses: int
    obsolescence: float
    seconds: float


class Robot:
    """One robot, its pages, and what they have been out of date."""

    def __init__(self, pages: int, change_rate: float, access_rate: float, seed: int) -> None:
        self.env = simpy.Environment()
        self.pages = pages
        self.change_mean = 1 / change_rate
        self.access_mean = 1 / access_rate
        self.changes, self.times = map(np.random.default_rng, np.random.SeedSequence(seed).spawn(2))
        self.next_change = [
            self.changes.standard_exponential() * self.change_mean for _ in range(pages)
        ]
        self.stale_time = [0.0] * pages
        self.accesses = 0

    def crawl(self) -> Process:
        """Access page after page for ever."""
        while True:
            for page in range(self.pages):
                yield self.env.timeout(self.times.standard_exponential() * self.access_mean)
                self.accesses += 1
                now = self.env.now
                if self.next_change[page] < now:
                    self.stale_time[page] += now - self.next_change[page]
                    gap = self.changes.standard_exponential() * self.change_mean
                    self.next_change[page] = now + gap


def run(pages: int, change_rate: float, access_rate: float, horizon: float, seed: int) -> Refreshes:
    """Simulate the time from 0 to the horizon."""
    start = time.process_time()
    robot = Robot(pages, change_rate, access_rate, seed)
    robot.env.process(robot.crawl())
    robot.env.run(until=horizon)
    stale = sum(robot.stale_time)
    stale += sum(horizon - change for change in robot.next_change if change < horizon)
    seconds = time.process_time() - start
    return Refreshes(robot.accesses, stale / pages / horizon, seconds)


if __name__ == "__main__":
    print(run(1000, 1.0, float(sys.argv[1]) if len(sys.argv) > 1 else 1000.0, 100.0, seed=1))
