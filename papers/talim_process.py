"""The decision process of talim2001, section 2, written out state by state from (1) to (4).

A state is (pages, active robots, kind of the event): 0 a service, 1 a delivery, 2 a fictitious one.
Nothing of `analytic` is used, so that it can refute what is computed there.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components

from scenarios.arrays import Array

State = tuple[int, int, int]
SERVED, DELIVERED, FICTITIOUS = range(3)


class Process(NamedTuple):
    """The decision process.

    Attributes
    ----------
    states : list of State
    costs : ndarray, shape (states,)
        (1), of each event.
    moves : ndarray, shape (2, states, states)
        (2) to (4), corrected, by action; rows of actions that are not allowed are nan.
    """

    states: list[State]
    costs: Array
    moves: Array


class Optimum(NamedTuple):
    """The least cost by value iteration.

    Attributes
    ----------
    low, high : float
        Bounds on it.
    actions : ndarray, shape (states,)
    values : ndarray, shape (states,)
    """

    low: float
    high: float
    actions: Array
    values: Array


def process(places: int, robots: int, access: float, price: float, service: float = 1.0) -> Process:
    """The process with K places, N robots, and the price of starvation gamma.

    Notes
    -----
    Corrected (docs/errata.md): the probabilities of (2) are those of the number of robots after the
    decision, and the queue of (3) holds K pages.
    """
    rate = access * robots + service
    states = [
        (q, r, s)
        for q in range(places + 1)
        for r in range(robots + 1)
        for s in range(3)
        if not ((s == SERVED and q == 0) or (s == DELIVERED and r == 0) or (q, r, s) == (0, 0, 2))
    ]
    number = {state: index for index, state in enumerate(states)}
    moves = np.full((2, len(states), len(states)), np.nan)
    for (q, r, s), origin in number.items():
        for action in _allowed((q, r, s)):
            after = {
                SERVED: (q - 1, min(r + action, robots)),
                DELIVERED: (min(q + 1, places), r - 1 + action),
                FICTITIOUS: (q, r),
            }[s]
            served = service / rate * (after[0] > 0)
            delivered = access * after[1] / rate
            chances = served, delivered, 1.0 - served - delivered
            moves[action, origin] = 0.0
            for kind, chance in enumerate(chances):
                if (*after, kind) in number:
                    moves[action, origin, number[*after, kind]] += chance
    costs = np.array(
        [price * (q == 0) + rate * (q == places and s == DELIVERED) for q, _, s in states]
    )
    return Process(states, costs, moves)


def _allowed(state: State) -> tuple[int, ...]:
    if state[2] == FICTITIOUS:
        return (0,)
    return (1,) if state == (1, 0, SERVED) else (0, 1)


def optimum(given: Process, width: float = 1e-11) -> Optimum:
    """The least cost, by Proposition 2 with theta = T(h)(x)."""
    values = np.zeros(len(given.states))
    while True:
        best = np.nanmin(given.moves @ values, axis=0) + given.costs
        change = best - values
        if np.ptp(change) <= width:
            actions = np.nanargmin(given.moves @ values, axis=0)
            return Optimum(float(change.min()), float(change.max()), actions, values)
        values = best - best[0]


def average_cost(given: Process, actions: Array) -> Array:
    """The long-run cost of a policy from each state, (5), by its stationary distributions."""
    chosen = np.asarray(actions, dtype=int)
    chain = given.moves[chosen, np.arange(len(chosen))]
    result = (chain + np.eye(len(chain))) / 2.0  # aperiodic, with the same averages
    for _ in range(60):
        result = result @ result
        result /= result.sum(axis=1, keepdims=True)
    return np.asarray(result @ given.costs)


def never_entered(given: Process) -> list[State]:
    """States that no other state leads to, whatever is done; all others communicate.

    Raises
    ------
    AssertionError
        If the others do not.
    """
    reached = np.nan_to_num(given.moves).max(axis=0) > 0
    np.fill_diagonal(reached, val=False)
    count, of_state = connected_components(csr_array(reached), connection="strong")
    largest = int(np.argmax(np.bincount(of_state)))
    apart = [state for state, part in zip(given.states, of_state, strict=True) if part != largest]
    entered = reached.any(axis=0)
    assert count == len(apart) + 1
    assert not any(entered[given.states.index(state)] for state in apart)
    return apart
