"""Joint deliveries written out robot by robot, without `as_modes`: what the words say.

Each fleet stands in for `sim.robots.JointRobots` in a replication.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from scenarios import Scenario
from scenarios.activation import Threshold
from scenarios.deliveries import Independent, Marked, Thinned, batch_matrices
from sim import rules
from sim.buffer import Buffer
from sim.clock import Alarm, Clock
from sim.search_engine import SearchEngine
from sim.tally import Tally

__all__ = ["simulate_robot_by_robot"]

Decide = Callable[[int, int], int]


class Chain:
    """One BMAP on the clock; what its batches become is decided by a function of (mark, size)."""

    def __init__(self, clock: Clock, events: list[tuple[int, int, Any]], hidden: Any, stream: Any):
        self.clock = clock
        self.hidden = hidden
        self.events = events
        self.stream = stream
        self.phase = 0
        self.heard: Callable[[float, int, int], None] | None = None

    def start(self, now: float = 0.0) -> None:
        rate = -self.hidden[self.phase, self.phase]
        self.clock.once(now + self.stream.exponential(1 / rate), 2**53, self.jump)

    def jump(self, alarm: Alarm) -> None:
        quiet = self.hidden[self.phase].copy()
        quiet[self.phase] = 0.0
        rates = [quiet] + [matrix[self.phase] for _, _, matrix in self.events]
        weights = np.concatenate(rates)
        chosen = self.stream.choice(len(weights), p=weights / weights.sum())
        event, self.phase = divmod(int(chosen), len(quiet))
        if event:
            mark, size, _ = self.events[event - 1]
            assert self.heard is not None
            self.heard(alarm.time, mark, size)
        self.start(alarm.time)


class Fleet:
    """The chains of a scenario and how many of their batches are delivered."""

    def __init__(self, scenario: Scenario, clock: Clock, buffer: Buffer, stream: Any) -> None:
        self.scenario = scenario
        self.buffer = buffer
        self.stream = stream
        assert scenario.robots is not None
        deliveries = scenario.robots.deliveries
        if isinstance(deliveries, Independent):
            self.chains = [
                self.chain(clock, batch_matrices(process), robot)
                for robot, process in enumerate(deliveries.root)
            ]
        elif isinstance(deliveries, Thinned):
            self.chains = [self.chain(clock, batch_matrices(deliveries.root.process), 0)]
        else:
            assert isinstance(deliveries, Marked)
            events = [
                (robot, size + 1, np.array(matrix))
                for robot, matrices in enumerate(deliveries.root.robots)
                for size, matrix in enumerate(matrices)
            ]
            self.chains = [Chain(clock, events, np.array(deliveries.root.D0), stream)]
        for chain in self.chains:
            chain.heard = self.hear

    def chain(self, clock: Clock, batches: Any, mark: int) -> Chain:
        events = [(mark, size, batches[size]) for size in range(1, len(batches))]
        return Chain(clock, events, batches[0], self.stream)

    @property
    def active(self) -> int:
        rule = self.scenario.activation
        assert isinstance(rule, Threshold)
        return rules.threshold_robots(self.buffer.level, rule.robots, rule.at)

    def hear(self, now: float, robot: int, size: int) -> None:
        assert self.scenario.robots is not None
        deliveries = self.scenario.robots.deliveries
        if isinstance(deliveries, Thinned):
            kept = self.stream.random() < deliveries.root.keep[self.active - 1]
        else:
            kept = robot < self.active
        if kept:
            self.buffer.deliver(now, (None,) * size)

    def start(self) -> None:
        for chain in self.chains:
            chain.start()

    def end_warmup(self, now: float) -> None:
        pass

    switched_on = None

    def robots_time(self, now: float, level_time: Any) -> float:  # noqa: ARG002  # the engine's call
        rule = self.scenario.activation
        assert isinstance(rule, Threshold)
        active = [rules.threshold_robots(i, rule.robots, rule.at) for i in range(len(level_time))]
        return float(np.dot(active, level_time))

    def class_time(self) -> None:
        """The robots are of one class."""


def simulate_robot_by_robot(scenario: Scenario, replication: int, seed: int) -> Tally:
    """One replication in which each robot (or mark) is followed by itself."""
    run = SearchEngine(scenario, replication, seed, None)
    stream = np.random.default_rng([seed, replication])
    run._buffer.level_changed = None  # the engine's own fleet is not to hear of the levels
    run._robots = partial(Fleet, scenario, run.clock)(run._buffer, stream)  # type: ignore[assignment]
    return run.run()
