"""The path of the robots' environment over one replication, drawn before it begins.

It depends on nothing else that happens, so that both engines follow the same path: all numbers come
from a stream of its own, and no event is needed for a change.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from scenarios.environment import Environment
from scenarios.model import present
from sim import rules
from sim.draws import stationary_phase, stationary_phases
from sim.speeds import NEVER, Speed

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
    """The environment from time 0, when it is stationary, to a time, on arrays.

    Parameters
    ----------
    environment : Environment
    stream : Generator
        Gives the first state, then blocks of exponential times and of uniform numbers.
    end : float
        The last sojourn begins after it; it is not ended.
    """
    states = [stationary_phase(np.array(environment.Q), stream)]
    begins = [np.zeros(1)]
    if environment.states > 1:
        _follow(np.array(environment.Q), stream, end, begins, states)
    visited = np.array(states)
    ends = np.append(np.concatenate(begins)[1:], NEVER)
    values = np.array(environment.speeds)[visited]
    sums = np.cumsum(values * np.diff(ends, prepend=0.0))
    return Path(Speed(ends, values, sums, np.zeros(1, dtype=np.int64)), visited)


def _follow(generator: Any, stream: Any, end: float, begins: list[Any], states: list[int]) -> None:
    """Add sojourns, block by block, until one begins after the end."""
    rates = generator - np.diag(np.diag(generator))
    totals = rates.sum(axis=1)
    means = 1.0 / totals
    following = [
        rules.cumulative((row / total).tolist()) for row, total in zip(rates, totals, strict=True)
    ]
    now = 0.0
    while now <= end:
        times = stream.standard_exponential(_TOGETHER)
        uniforms = stream.random(_TOGETHER)
        after = [np.searchsorted(sums, uniforms, side="right").tolist() for sums in following]
        state = states[-1]
        left = []
        for step in range(_TOGETHER):
            left.append(state)
            state = after[state][step]
            states.append(state)
        begins.append(np.cumsum(np.append(now, times * means[left]))[1:])
        now = begins[-1][-1]


def as_lists(path: Path) -> Path:
    """The same path on lists."""
    return Path(Speed(*(each.tolist() for each in path.speed)), path.states.tolist())


def mean_speed(environment: Environment) -> float:
    """Mean speed in the long run."""
    return float(stationary_law(environment) @ environment.speeds)


def changes_per_time(environment: Environment) -> float:
    """Changes of the state per unit time in the long run."""
    return float(stationary_law(environment) @ -np.diag(np.array(environment.Q)))


def stationary_law(environment: Environment) -> Any:
    """Stationary law of the state, shape (states,)."""
    # Every state reaches every other one.
    return present(stationary_phases(np.array(environment.Q)))
