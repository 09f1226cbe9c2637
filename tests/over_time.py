"""The indexing queue over time, from the words of the model and by scipy's matrix exponential.

States and events are those of `papers.queue_by_events`; the settings of each stretch are read off
the file once more, and rewards are integrated by one exponential of ``[[Q, R], [0, 0]]``.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Iterator
from itertools import pairwise, product
from typing import Any, NamedTuple

import numpy as np
from scipy.linalg import expm, null_space

from papers.queue_by_events import Event, Jump, Queue, State, batches_of
from scenarios import Scenario
from scenarios.activation import Switching
from scenarios.deliveries import Independent, Marked, Thinned
from scenarios.processes import Map, Mmpp

Numbers = dict[tuple[str, int | None], float]
COUNTED = ("arrival_rate", "loss_rate", "throughput", "obsolete_rate")


class Settings(NamedTuple):
    limit: int
    robot_speed: float
    service_speed: float


class Changed(Queue):
    """The queue under some settings."""

    def __init__(self, scenario: Scenario, settings: Settings) -> None:
        super().__init__(scenario)
        self.settings = settings

    def active(self, state: State) -> int:
        return min(self.settings.limit, super().active(state))

    def robot_events(self, state: State) -> Iterator[Jump]:
        for rate, robots, size in super().robot_events(state):
            yield self.settings.robot_speed * rate, robots, size

    def service_events(self, state: State) -> Iterator[Event]:
        for event in super().service_events(state):
            yield event._replace(rate=self.settings.service_speed * event.rate)


def changes(scenario: Scenario, end: float) -> list[tuple[float, float, Any]]:
    """When each intervention is in force up to `end`: from, to, and what it is."""
    found = []
    for each in scenario.interventions:
        for k in range(10_000 if each.every else 1):
            begin = each.at + k * (each.every or 0.0)
            if begin >= end:
                break
            until = math.inf if each.until is None else each.until + k * (each.every or 0.0)
            found.append((begin, until, each))
    return found


def settings_at(given: list[tuple[float, float, Any]], time: float, most: int) -> Settings:
    """What is in force just after a time."""
    limit, robots, service = most, 1.0, 1.0
    for begin, until, each in given:
        if begin <= time < until:
            limit = limit if each.robots is None else min(limit, each.robots)
            robots *= 1.0 if each.robot_speed is None else each.robot_speed
            service *= 1.0 if each.service_speed is None else each.service_speed
    return Settings(limit, robots, service)


def begins(scenario: Scenario) -> list[tuple[float, State]]:
    """The states at time 0 with their probabilities."""
    empty = Queue(scenario).empty()
    fleet: Any = scenario.robots
    if isinstance(scenario.activation, Switching):
        return [(1.0, empty)]
    joint = fleet.deliveries
    if joint is None:
        laws = [_after_an_arrival(fleet.access_time)] * len(empty.robots)
    else:
        laws = _joint_laws(joint, Queue(scenario).active(empty))
    return [
        (
            math.prod(law[phase] for law, phase in zip(laws, phases, strict=True)),
            State(None, (), phases),
        )
        for phases in product(*(np.flatnonzero(law).tolist() for law in laws))
    ]


def _after_an_arrival(access: Any) -> Any:
    hidden, arrivals = map(np.array, batches_of(access))
    if isinstance(access, Map | Mmpp):
        after = _null(hidden + arrivals) @ arrivals
        return after / after.sum()
    exits = arrivals.sum(axis=1)
    return arrivals[np.argmax(exits)] / exits.max()


def _joint_laws(joint: Any, active: int) -> list[Any]:
    if isinstance(joint, Independent):
        return [_null(sum(map(np.array, batches_of(each)))) for each in joint.root]
    if isinstance(joint, Marked):
        marked = [np.array(each) for robot in joint.root.robots for each in robot]
        return [_null(np.array(joint.root.D0) + sum(marked))]
    process = joint.root.process if isinstance(joint, Thinned) else joint.root[active - 1]
    return [_null(sum(map(np.array, batches_of(process))))]


def _null(generator: Any) -> Any:
    vector = null_space(generator.T)[:, 0]
    return vector / vector.sum()


class Stretch(NamedTuple):
    """Numbers at the end of an interval, and expected counts and integrals over it."""

    begin: float
    end: float
    at_end: Numbers
    over: Numbers
    row: Any


def stretches(scenario: Scenario, stops: Any, row: Any = None) -> list[Stretch]:
    """From 0 to the last stop, cut at all stops and changes; from the start, or from a row."""
    end = max(stops)
    fleet: Any = scenario.robots
    given = changes(scenario, end)
    times = {0.0, *stops, *(t for b, u, _ in given for t in (b, u) if t < end)}
    cuts = sorted(times)
    queues = {}
    for begin in cuts[:-1]:
        settings = settings_at(given, begin, fleet.available)
        queues[settings] = Changed(scenario, settings)
    first = begins(scenario)
    number = _states(list(queues.values()), [state for _, state in first])
    if row is None:
        row = np.zeros(len(number))
        for share, state in first:
            row[number[state]] += share
    matrices = {settings: _matrix(queue, number) for settings, queue in queues.items()}
    found = []
    for begin, until in pairwise(cuts):
        settings = settings_at(given, begin, fleet.available)
        matrix = matrices[settings]
        size = len(number)
        after = np.concatenate([row, np.zeros(len(matrix) - size)]) @ expm(matrix * (until - begin))
        row = after[:size]
        levels = [len(state.pages) for state in number]
        at_end: Numbers = {("mean_in_system", None): float(row @ levels)}
        at_end["mean_active_robots", None] = sum(
            p * queues[settings].active(state) for p, state in zip(row, number, strict=True)
        )
        for level in range(max(levels) + 1):
            at_end["level_probability", level] = float(row[np.array(levels) == level].sum())
        over = dict(zip(_rewards(number), after[size:].tolist(), strict=True))
        found.append(Stretch(begin, until, at_end, over, row))
    return found


def _states(queues: list[Changed], first: list[State]) -> dict[State, int]:
    number = {state: index for index, state in enumerate(first)}
    todo = deque(number)
    while todo:
        state = todo.popleft()
        for queue in queues:
            for event in queue.events(state):
                if event.after not in number:
                    number[event.after] = len(number)
                    todo.append(event.after)
    return number


def _rewards(number: dict[State, int]) -> list[tuple[str, int | None]]:
    top = max(len(state.pages) for state in number)
    levels: list[tuple[str, int | None]] = [("level_probability", n) for n in range(top + 1)]
    return [*((name, None) for name in (*COUNTED, "mean_active_robots")), *levels]


def _matrix(queue: Changed, number: dict[State, int]) -> Any:
    """``[[Q, R], [0, 0]]``."""
    columns = {key: len(number) + place for place, key in enumerate(_rewards(number))}
    matrix = np.zeros((len(number) + len(columns),) * 2)
    fates = {"lost": "loss_rate", "served": "throughput", "obsolete": "obsolete_rate"}
    for state, row in number.items():
        for event in queue.events(state):
            matrix[row, number[event.after]] += event.rate
            matrix[row, row] -= event.rate
            matrix[row, columns["arrival_rate", None]] += event.rate * event.delivered
            for fate, _ in event.ended:
                matrix[row, columns[fates[fate], None]] += event.rate
        matrix[row, columns["mean_active_robots", None]] = queue.active(state)
        matrix[row, columns["level_probability", len(state.pages)]] = 1.0
    return matrix
