"""Blocks of times as compiled code takes from them."""

from __future__ import annotations

from typing import Any, NamedTuple

from sim.compiled_engine.jit import at, inner


class Times(NamedTuple):
    """Times drawn in advance, one row per stream.

    Attributes
    ----------
    drawn : ndarray of float
        The blocks of all rows.
    rows : record array, shape (rows,)
        Where the times of each row that are left begin (`first`) and `end`, and the most that one
        event can take (`needs`).
    used_up : ndarray of bool, shape (1,)
        Whether some row holds less than that.
    """

    drawn: Any
    rows: Any
    used_up: Any


@inner
def take(times: Times, row: int) -> float:
    """The next time of a row; notes when the row may not serve another event."""
    its = times.rows[at(row)]
    first = its.first
    its.first = first + 1
    if first + 1 + its.needs > its.end:
        times.used_up[0] = True
    return times.drawn[at(first)]
