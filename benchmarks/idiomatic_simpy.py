"""Baseline: the benchmark queue as the SimPy manual would write it.

A process per page, a `Resource` as the server, and ``turn | timeout`` for a page that may go
stale while it waits. `queue.toml` describes the same queue.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Generator

import numpy as np
import simpy
from outcome import Outcome

ROBOTS, FEWER_ROBOTS = 4, 2  # active up to the threshold, and above it
THRESHOLD = 13  # pages in the system
DELIVERY_RATE = 0.55  # of one robot
PLACES = 20  # 19 to wait, 1 at the server

Process = Generator[simpy.Event, object, None]


class Queue:
    """The queue, with its random streams and its counters."""

    def __init__(self, seed: int) -> None:
        self.env = simpy.Environment()
        self.server = simpy.Resource(self.env, capacity=1)
        seeds = np.random.SeedSequence(seed).spawn(4)
        self.gaps, self.choices, self.services, self.timers = map(np.random.default_rng, seeds)
        self.delivered = self.lost = self.obsolete = self.served = 0
        self.level = 0
        self.level_since = self.level_integral = self.idle_time = 0.0

    def service_time(self) -> float:
        """Half of the pages start in phase 1 (rate 2), half of these go on to phase 2 (rate 1)."""
        draw = self.services
        if draw.random() < 0.5:
            first = draw.standard_exponential() / 2.0
            return first + draw.standard_exponential() if draw.random() < 0.5 else first
        return draw.standard_exponential()

    def lifetime(self) -> float:
        """Phase 1 (mean 8) for 7 pages in 10, 4 in 10 of these go on to phase 2 (mean 10)."""
        draw = self.timers
        if draw.random() < 0.7:
            first = draw.standard_exponential() * 8.0
            return first + draw.standard_exponential() * 10.0 if draw.random() < 0.4 else first
        return draw.standard_exponential() * 10.0

    def change_level(self, step: int) -> None:
        """Account for the level up to now, then change it."""
        elapsed = self.env.now - self.level_since
        self.level_integral += self.level * elapsed
        if self.level == 0:
            self.idle_time += elapsed
        self.level_since = self.env.now
        self.level += step

    def robots(self) -> Process:
        """All robots together; above the threshold only some of the pages are delivered."""
        while True:
            yield self.env.timeout(self.gaps.standard_exponential() / (ROBOTS * DELIVERY_RATE))
            if self.level > THRESHOLD and self.choices.random() >= FEWER_ROBOTS / ROBOTS:
                continue
            self.delivered += 1
            if self.level == PLACES:
                self.lost += 1
            else:
                self.change_level(+1)
                self.env.process(self.page())

    def page(self) -> Process:
        """One page: wait for the server or go stale, then be indexed."""
        with self.server.request() as turn:
            if not turn.triggered:
                yield turn | self.env.timeout(self.lifetime())
                if not turn.triggered:
                    self.change_level(-1)
                    self.obsolete += 1
                    return
            yield self.env.timeout(self.service_time())
            self.change_level(-1)
            self.served += 1


def simulate(horizon: float, seed: int) -> Queue:
    """The queue after the horizon."""
    queue = Queue(seed)
    queue.env.process(queue.robots())
    queue.env.run(until=horizon)
    queue.change_level(0)
    return queue


def run(horizon: float, seed: int) -> Outcome:
    """Simulate the time from 0 to the horizon."""
    start = time.process_time()
    queue = simulate(horizon, seed)
    seconds = time.process_time() - start
    return Outcome(queue.delivered, queue.lost, queue.obsolete, queue.served, seconds)


if __name__ == "__main__":
    print(run(float(sys.argv[1]) if len(sys.argv) > 1 else 50_000.0, seed=1))
