"""Chains explored state by state, as naively as can be: oracles of the exact solutions."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np


def explored(
    moves: Callable[[Any], Iterable[tuple[float, Any]]],
    starts: list[Any],
    ends: tuple[str, ...] = (),
) -> tuple[Any, Any, Any]:
    """Index of the states, rates between them, and rates of each end.

    `moves` says of a state the rates, and the states or ends that they lead to.
    """
    index = {state: place for place, state in enumerate(starts)}
    todo, entries = list(starts), []
    for state in todo:
        for rate, after in moves(state):
            if rate > 0 and after not in ends and after not in index:
                index[after] = len(index)
                todo.append(after)
            if rate > 0:
                entries.append((index[state], after, rate))
    Q, out = np.zeros((len(index),) * 2), np.zeros((len(index), len(ends)))
    for row, after, rate in entries:
        if after in ends:
            out[row, ends.index(after)] += rate
        else:
            Q[row, index[after]] += rate
    return index, Q, out
