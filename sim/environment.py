"""The path of the robots' environment over one replication, drawn before it begins.

It depends on nothing else that happens, so that both engines follow the same path: all numbers come
from a stream of its own, and no event is needed for a change.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from scenarios.environment import Environment
from sim import rules
from sim.draws import stationary_phase, stationary_phases
from sim.speeds import Speed, speed_over_time

_TOGETHER = 256
"""Sojourns that are drawn at once."""


class Path(NamedTuple):
    """The environment over time; lists in the one engine, arrays in the other.

    Attributes
    ----------
    speed : Speed
        That of the accesses, a piece for each sojourn in a state.
    states : sequence of int
        The state of each piece.
    """

    speed: Speed
    states: Any


def draw_path(environment: Environment, stream: Any, end: float) -> Path:
    """The environment from time 0, when it is stationary, to a time.

    Parameters
    ----------
    environment : Environment
    stream : Generator
        Gives the first state, then blocks of exponential times and of uniform numbers.
    end : float
        The last sojourn lasts at least so long; it is not ended.
    """
    generator = np.array(environment.Q)
    state = stationary_phase(generator, stream)
    begins, states = [0.0], [state]
    if environment.states > 1:
        _follow(generator, stream, end, begins, states)
    return Path(speed_over_time(begins, [environment.speeds[each] for each in states]), states)


def _follow(
    generator: Any, stream: Any, end: float, begins: list[float], states: list[int]
) -> None:
    """Add sojourns, until one begins after the end."""
    rates = generator - np.diag(np.diag(generator))
    totals = rates.sum(axis=1)
    means = (1.0 / totals).tolist()
    following = [
        rules.cumulative((row / total).tolist()) for row, total in zip(rates, totals, strict=True)
    ]
    now, state = begins[0], states[0]
    while now <= end:
        times = stream.standard_exponential(_TOGETHER).tolist()
        for time, uniform in zip(times, stream.random(_TOGETHER).tolist(), strict=True):
            now += time * means[state]
            state = rules.pick(following[state], uniform)
            begins.append(now)
            states.append(state)


def as_arrays(path: Path) -> Path:
    """The same path on arrays."""
    return Path(Speed(*map(np.array, path.speed)), np.array(path.states))


def mean_speed(environment: Environment) -> float:
    """Mean speed in the long run."""
    return float(stationary_law(environment) @ environment.speeds)


def changes_per_time(environment: Environment) -> float:
    """Changes of the state per unit time in the long run."""
    return float(stationary_law(environment) @ -np.diag(np.array(environment.Q)))


def stationary_law(environment: Environment) -> Any:
    """Stationary law of the state, shape (states,)."""
    law = stationary_phases(np.array(environment.Q))
    assert law is not None  # every state reaches every other one
    return law
