"""Which of many alarms goes off first: a knock-out tournament."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from sim.compiled_engine.jit import inner


class Alarms(NamedTuple):
    """Times of numbered alarms, inf where one is not set.

    Attributes
    ----------
    time : ndarray of float, shape (places,)
        A power of two of them.
    order : ndarray of int, shape (places,)
        Who goes first at equal times.
    winner : ndarray of int, shape (2 * places,)
        Node n of a binary tree holds the first of its two children's alarms; node 1 is the root,
        and the leaves are the alarms themselves.
    """

    time: Any
    order: Any
    winner: Any


def new_alarms(count: int) -> Alarms:
    """So many alarms, none of them set; at equal times the lower number goes first."""
    places = 1 << max(count - 1, 0).bit_length()
    winner = np.zeros(2 * places, dtype=np.int64)
    winner[places:] = np.arange(places)
    for node in range(places - 1, 0, -1):
        winner[node] = winner[2 * node]
    return Alarms(np.full(places, np.inf), np.arange(places), winner)


@inner
def set_alarm(alarms: Alarms, index: int, time: float) -> None:
    """Set an alarm, or switch it off with inf.

    The comparisons are free of branches, which nobody could predict.
    """
    alarms.time[index] = time
    first = index
    order = alarms.order[index]
    node = index + len(alarms.time)
    while node > 1:
        other = alarms.winner[node ^ 1]
        its_time = alarms.time[other]
        its_order = alarms.order[other]
        wins = (its_time < time) | ((its_time == time) & (its_order < order))
        first = other if wins else first
        time = its_time if wins else time
        order = its_order if wins else order
        node >>= 1
        alarms.winner[node] = first


@inner
def soonest(alarms: Alarms) -> int:
    """The alarm that goes off first; its time is inf where none is set."""
    return alarms.winner[1]
