"""The decision process of talim2001, section 2, written out state by state from (1) to (4).

A state is (pages, active robots, kind of the event): 0 a service, 1 a delivery, 2 a fictitious one.
Nothing of `analytic` is used, so that it can refute what is computed there. Value iteration stops
where the optimum is known to a given width, or as the paper prints it: that is no bound, and some
printed costs were read off too early.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components

from scenarios.arrays import Array

State = tuple[int, int, int]
SERVED, DELIVERED, FICTITIOUS = range(3)

TAU = 0.99999
STOP = 1e-5
REFERENCE = (1, 1, DELIVERED)
"""Of the printed iteration: a delivery with one page and one robot; the printed numbers of
iterations come out."""


class Process(NamedTuple):
    """The decision process.

    Attributes
    ----------
    states : list of State
    costs : ndarray, shape (states,)
        (1), of each event.
    moves : sparse array, shape (2 states, states)
        (2) to (4), corrected: first without switching a robot on, then with it.
    forbidden : ndarray, shape (2, states)
        0, and infinity where an action is not allowed.
    """

    states: list[State]
    costs: Array
    moves: csr_array
    forbidden: Array

    def by_action(self, values: Array) -> Array:
        """What is expected after each action, shape (2, states)."""
        expected: Array = (self.moves @ values).reshape(2, -1) + self.forbidden
        return expected

    def applied(self, values: Array) -> Array:
        """T(h): the cost of an event, and the least that is expected after it."""
        result: Array = self.costs + self.by_action(values).min(axis=0)
        return result


class Iterated(NamedTuple):
    """Where a value iteration has stopped.

    Attributes
    ----------
    low, high : float
        Bounds on the optimum.
    values : ndarray, shape (states,)
    iterations : int
    """

    low: float
    high: float
    values: Array
    iterations: int


class Optimum(NamedTuple):
    """The least cost by value iteration.

    Attributes
    ----------
    low, high : float
        Bounds on it.
    actions : ndarray, shape (states,)
    """

    low: float
    high: float
    actions: Array


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
    rows, columns, chances = [], [], []
    forbidden = np.full((2, len(states)), np.inf)
    for (q, r, s), origin in number.items():
        for action in _allowed((q, r, s)):
            after = {
                SERVED: (q - 1, min(r + action, robots)),
                DELIVERED: (min(q + 1, places), r - 1 + action),
                FICTITIOUS: (q, r),
            }[s]
            served = service / rate * (after[0] > 0)
            delivered = access * after[1] / rate
            forbidden[action, origin] = 0.0
            for kind, chance in enumerate((served, delivered, 1.0 - served - delivered)):
                if (*after, kind) in number:
                    rows.append(action * len(states) + origin)
                    columns.append(number[*after, kind])
                    chances.append(chance)
    moves = csr_array((chances, (rows, columns)), shape=(2 * len(states), len(states)))
    costs = np.array(
        [price * (q == 0) + rate * (q == places and s == DELIVERED) for q, _, s in states]
    )
    return Process(states, costs, moves, forbidden)


def _allowed(state: State) -> tuple[int, ...]:
    if state[2] == FICTITIOUS:
        return (0,)
    return (1,) if state == (1, 0, SERVED) else (0, 1)


def value_iteration(
    applied: Callable[[Array], Array], values: Array, width: float, most: int = 1_000_000
) -> Iterated:
    """The least cost by relative value iteration, with a stop that is a bound.

    Parameters
    ----------
    applied : callable
        T: the least cost of a step and what comes after it, from what comes after.
    values : ndarray, shape (states,)
        Where to begin.
    width : float
        Of the bounds at which it stops.
    most : int
        Iterations at most; the bounds hold whenever it stops.

    Notes
    -----
    Proposition 2 with ``theta = T(h)(x)`` in place of ``tau T(h)(x)``; the bounds are the least and
    the largest change of a value.
    """
    for iteration in itertools.count(1):
        after = applied(values)
        change = after - values
        if np.ptp(change) <= width or iteration == most:
            break
        values = after - after[0]
    return Iterated(float(change.min()), float(change.max()), values, iteration)


def optimum(given: Process, width: float = 1e-11) -> Optimum:
    """The least cost, and what attains it."""
    found = value_iteration(given.applied, np.zeros(len(given.states)), width)
    actions: Array = given.by_action(found.values).argmin(axis=0)
    return Optimum(found.low, found.high, actions)


def printed_iteration(given: Process, most: int = 100_000) -> tuple[float, int]:
    """The cost that Proposition 2 reads off at its stop, and its iterations as the paper counts.

    Parameters
    ----------
    given : Process
    most : int
        Iterations at most.
    """
    reference = given.states.index(REFERENCE)
    values = np.zeros(len(given.states))
    for iteration in itertools.count(2):
        applied = given.applied(values)
        cost = float(applied[reference])
        following = (1 - TAU) * values + TAU * (applied - cost)
        stopped = bool(np.all(np.abs(following - values) <= STOP * np.abs(values)))
        if stopped or iteration > most:
            break
        values = following
    return cost, iteration


def average_cost(given: Process, actions: Array) -> Array:
    """The long-run cost of a policy from each state, (5), by its stationary distributions."""
    count = len(given.states)
    chain = given.moves[np.asarray(actions, dtype=int) * count + np.arange(count)].toarray()
    result = (chain + np.eye(count)) / 2.0  # aperiodic, with the same averages
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
    count = len(given.states)
    reached = (given.moves[:count] + given.moves[count:]).toarray() > 0
    np.fill_diagonal(reached, val=False)
    parts, of_state = connected_components(csr_array(reached), connection="strong")
    largest = int(np.argmax(np.bincount(of_state)))
    apart = [state for state, part in zip(given.states, of_state, strict=True) if part != largest]
    entered = reached.any(axis=0)
    assert parts == len(apart) + 1
    assert not any(entered[given.states.index(state)] for state in apart)
    return apart
