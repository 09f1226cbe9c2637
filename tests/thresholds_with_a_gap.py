"""Queues whose thresholds have a way back of their own, robot by robot from the words of the model.

States are dictionaries' keys, rates are written down event by event, and the stationary law is
that of a dense matrix. Robots are exponential, or deliver together; services are of phase type.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from scenarios import Scenario, scenario_from

__all__ = ["measured", "random_tables", "switching_pipeline"]

OFF, STARTING, ON = range(3)


class State(NamedTuple):
    """Pages that wait, phases of the services, thresholds passed, each robot, and their phase."""

    waiting: int
    serving: tuple[int, ...]
    passed: int
    robots: tuple[int, ...]
    phase: int

    @property
    def level(self) -> int:
        return self.waiting + len(self.serving)


class Queue(NamedTuple):
    """The numbers of a scenario.

    `accesses` are rates by robot, or `joint` has D0, D1, … by the number of active robots.
    """

    accesses: list[float]
    joint: list[Any]
    numbers: list[int]
    at: list[int]
    back: list[int]
    start: float
    alpha: list[float]
    T: list[list[float]]
    patience: float
    servers: int
    places: int
    admission: str

    @property
    def exits(self) -> list[float]:
        return [-sum(row) for row in self.T]

    def after(self, state: State) -> State:
        """Robots are switched after an event."""
        passed = state.passed
        while passed < len(self.at) and state.level > self.at[passed]:
            passed += 1
        while passed and state.level <= self.back[passed - 1]:
            passed -= 1
        robots = list(state.robots)
        for robot in range(len(robots)):
            if robot >= self.numbers[passed]:
                robots[robot] = OFF
            elif robots[robot] == OFF:
                robots[robot] = STARTING if self.start else ON
        return state._replace(passed=passed, robots=tuple(robots))

    def moves(self, state: State) -> Iterator[tuple[float, State, int, int, int]]:
        """Rate, state after the event, and pages delivered, lost and obsolete with it."""
        for rate, size, phase in self.batches(state):
            capacity = self.places + self.servers
            room = max(capacity - state.level, 0)
            enters = {"partial": min(size, room), "reject": size if size <= room else 0}
            enters["complete"] = size if room else 0
            entering = enters[self.admission]
            for share, joined in self.joined(state._replace(phase=phase), entering):
                yield rate * share, self.after(joined), size, size - entering, 0
        for server, phase in enumerate(state.serving):
            rest = state.serving[:server] + state.serving[server + 1 :]
            for other, rate in enumerate(self.T[phase]):
                if other != phase:
                    serving = tuple(sorted((*rest, other)))
                    yield rate, state._replace(serving=serving), 0, 0, 0
            for share, left in self.taken(state._replace(serving=rest)):
                yield self.exits[phase] * share, self.after(left), 0, 0, 0
        fewer = self.after(state._replace(waiting=state.waiting - 1)) if state.waiting else state
        yield self.patience * state.waiting, fewer, 0, 0, 1
        for robot, doing in enumerate(state.robots):
            if doing == STARTING:
                robots = list(state.robots)
                robots[robot] = ON
                yield self.start, state._replace(robots=tuple(robots)), 0, 0, 0

    def batches(self, state: State) -> Iterator[tuple[float, int, int]]:
        if self.accesses:
            for robot, doing in enumerate(state.robots):
                if doing == ON:
                    yield self.accesses[robot], 1, state.phase
            return
        for size, matrix in enumerate(self.joint[self.numbers[state.passed]]):
            for phase, rate in enumerate(matrix[state.phase]):
                if size or phase != state.phase:
                    yield rate, size, phase

    def joined(self, state: State, pages: int) -> Iterator[tuple[float, State]]:
        if not pages:
            yield 1.0, state
        elif len(state.serving) < self.servers:
            for phase, share in enumerate(self.alpha):
                serving = tuple(sorted((*state.serving, phase)))
                for rest, after in self.joined(state._replace(serving=serving), pages - 1):
                    yield share * rest, after
        else:
            yield 1.0, state._replace(waiting=state.waiting + pages)

    def taken(self, state: State) -> Iterator[tuple[float, State]]:
        if not state.waiting:
            yield 1.0, state
            return
        for phase, share in enumerate(self.alpha):
            serving = tuple(sorted((*state.serving, phase)))
            yield share, state._replace(waiting=state.waiting - 1, serving=serving)


def queue_of(tables: dict[str, Any]) -> Queue:
    """The numbers of the tables of a scenario."""
    robots, buffer, rule = tables["robots"], tables["buffer"], tables["activation"]
    threshold, service = rule["threshold"], buffer["service"]
    accesses, joint = [], []
    if "deliveries" in robots:
        joint = [[np.zeros((2, 2)).tolist()]]
        joint += [[each["map"]["D0"], each["map"]["D1"]] for each in robots["deliveries"]["modes"]]
        if "bmap" in robots["deliveries"]["modes"][0]:
            raise AssertionError
    elif "classes" in robots:
        for each in robots["classes"]:
            mean = each["access_time"]["exponential"]["mean"]
            accesses += [1 / mean] * each["available"]
    else:
        accesses = [1 / robots["access_time"]["exponential"]["mean"]] * robots["available"]
    alpha, T = [1.0], [[-1.0]]
    if "exponential" in service:
        T = [[-1 / service["exponential"]["mean"]]]
    else:
        alpha, T = service["phase-type"]["alpha"], service["phase-type"]["T"]
    patience = buffer.get("obsolescence", "never")
    return Queue(
        accesses=accesses,
        joint=joint,
        numbers=threshold["robots"],
        at=threshold["at"],
        back=threshold["back"],
        start=1 / rule["start_up"]["exponential"]["mean"] if "start_up" in rule else 0.0,
        alpha=alpha,
        T=T,
        patience=0.0 if patience == "never" else 1 / patience["exponential"]["mean"],
        servers=buffer.get("servers", 1),
        places=buffer["waiting_places"],
        admission=buffer.get("admission", "partial"),
    )


def measured(tables: dict[str, Any]) -> dict[Any, float]:
    """What a dense matrix over all states says, by measure, levels by their number."""
    queue = queue_of(tables)
    robots = [ON if robot < queue.numbers[0] else OFF for robot in range(len(queue.accesses))]
    if not queue.accesses:
        robots = [ON if each < queue.numbers[0] else OFF for each in range(max(queue.numbers))]
    first = State(0, (), 0, tuple(robots), 0)
    states, rates = {first: 0}, []
    for state in (todo := [first]):
        for rate, after, *counted in queue.moves(state):
            if rate > 0:
                if after not in states:
                    states[after] = len(states)
                    todo.append(after)
                switched = sum(
                    a == OFF != b for a, b in zip(state.robots, after.robots, strict=True)
                )
                rates.append((states[state], states[after], rate, *counted, switched))
    generator = np.zeros((len(states), len(states)))
    flows = np.zeros((len(states), 4))
    for row, column, rate, *counted in rates:
        generator[row, column] += rate
        flows[row] += rate * np.array(counted)
    generator -= np.diag(generator.sum(axis=1))
    system = np.vstack([generator.T, np.ones(len(states))])
    law = np.linalg.lstsq(system, np.append(np.zeros(len(states)), 1.0), rcond=None)[0]
    delivered, lost, obsolete, switches = law @ flows
    found: dict[Any, float] = {
        "arrival_rate": delivered,
        "loss_rate": lost,
        "throughput": delivered - lost - obsolete,
        "obsolescence_probability": obsolete / delivered,
        "switch_rate": switches,
        "mean_active_robots": sum(
            law[index] * queue.numbers[state.passed] for state, index in states.items()
        ),
        "mean_in_system": sum(law[index] * state.level for state, index in states.items()),
    }
    for state, index in states.items():
        key = "level_probability", state.level
        found[key] = found.get(key, 0.0) + law[index]
    costs = tables["costs"]
    found["control_cost"] = (
        costs["loss"] * lost
        + costs["robots"] * found["mean_active_robots"]
        + costs["starvation"] * found["level_probability", 0]
        + costs["switch"] * switches
    )
    return found


def random_tables(number: int) -> dict[str, Any]:
    """One of many small systems."""
    random = np.random.default_rng([2026, number])

    def mean(low: float = 0.3, high: float = 3.0) -> dict[str, Any]:
        return {"exponential": {"mean": float(np.exp(random.uniform(np.log(low), np.log(high))))}}

    available = int(random.integers(1, 5))
    kind = random.choice(["alike", "start-up", "classes", "joint"], p=[0.3, 0.3, 0.2, 0.2])
    robots: dict[str, Any] = {"available": available, "access_time": mean()}
    if kind == "classes":
        parts = [available, int(random.integers(1, 3))]
        robots = {"classes": [{"available": each, "access_time": mean()} for each in parts]}
        available = sum(parts)
    if kind == "joint":
        modes = []
        for _ in range(available):
            D1 = random.uniform(0, 1, (2, 2)) * random.integers(0, 2, (2, 2)) + 0.05
            hidden = random.uniform(0.05, 1, 2)
            D0 = np.array([[0.0, hidden[0]], [hidden[1], 0.0]])
            D0 -= np.diag(D0.sum(axis=1) + D1.sum(axis=1))
            modes.append({"map": {"D0": D0.tolist(), "D1": D1.tolist()}})
        robots = {"available": available, "deliveries": {"modes": modes}}
    servers = int(random.integers(1, 3))
    places = int(random.integers(0, 5))
    service = mean(0.1, 1.5)
    if random.random() < 0.4:
        T = [[-3.0, float(random.uniform(0, 2))], [float(random.uniform(0, 0.5)), -1.0]]
        service = {"phase-type": {"alpha": [0.6, 0.4], "T": T}}
    buffer: dict[str, Any] = {"waiting_places": places, "servers": servers, "service": service}
    if random.random() < 0.6:
        buffer["obsolescence"] = mean(0.5, 5.0)
    count = int(random.integers(1, min(available + 1, 3) + 1))
    numbers = sorted(random.choice(available + 1, size=count, replace=False).tolist(), reverse=True)
    numbers[0] = max(numbers[0], 1)
    at = sorted(random.integers(0, places + servers + 1, size=count - 1).tolist())
    back = sorted(int(random.integers(0, level + 1)) for level in at)
    rule: dict[str, Any] = {"threshold": {"robots": numbers, "at": at, "back": back}}
    if kind == "start-up":
        rule["start_up"] = mean()
    return {
        "name": f"random-{number}",
        "robots": robots,
        "activation": rule,
        "buffer": buffer,
        "costs": {"loss": 1.0, "robots": 0.1, "starvation": 2.0, "switch": 0.3},
        "run": {"horizon": 1000.0, "warmup": 100.0, "replications": 2},
    }


def switching_pipeline(changes: dict[str, Any] | None = None) -> Scenario:
    """Two of four robots rest above five pages, and come back at two."""
    base = scenario_from(
        {
            "name": "hysteresis",
            "robots": {"available": 4, "access_time": {"exponential": {"mean": 1.0}}},
            "activation": {"threshold": {"robots": [4, 2], "at": [5], "back": [2]}},
            "buffer": {"waiting_places": 6, "service": {"exponential": {"mean": 0.35}}},
            "costs": {"loss": 1.0, "starvation": 1.0, "switch": 0.2},
            "run": {"horizon": 2000.0, "warmup": 100.0, "replications": 8},
        }
    )
    return base.with_(changes) if changes else base
