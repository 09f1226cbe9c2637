"""Indexers of which only some may work: which indexings go on; both engines call this.

Those that began first go on, as many as may; the others stop, each with its page in its indexer,
and go on where they stopped. Like `sim.rules`, this file knows no engine, so that it compiles.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from sim.speeds import NEVER, Speed, end_of_work, work_until

_NO_PAGE = -1
_STOPPED = -1.0

AS_IT_WAS = -1.0
"""Instead of a time: the indexing goes on, or stands still, as before."""


class Indexings(NamedTuple):
    """What goes on in each indexer; lists in the one engine, arrays in the other.

    Attributes
    ----------
    begun : mutable sequence of int
        Its place in the order of beginnings; negative where there is no page.
    left : mutable sequence of float
        Work that was left when it went on last, or stopped.
    since : mutable sequence of float
        `work_until` then; negative while it stands still.
    counts : mutable sequence of int
        How many may go on, and how many have begun.
    """

    begun: Any
    left: Any
    since: Any
    counts: Any


def no_indexings(indexers: int, working: int) -> Indexings:
    """Nothing in so many indexers, of which some may work."""
    return Indexings([_NO_PAGE] * indexers, [0.0] * indexers, [_STOPPED] * indexers, [working, 0])


def let_work(indexings: Indexings, indexers: int) -> None:
    """From now on so many indexers may work."""
    indexings.counts[0] = indexers


def begin_indexing(indexings: Indexings, indexer: int, work: float) -> None:
    """A page comes to an indexer; `end_from_now` says whether its indexing goes on."""
    indexings.begun[indexer] = indexings.counts[1]
    indexings.counts[1] += 1
    indexings.left[indexer] = work
    indexings.since[indexer] = _STOPPED


def end_indexing(indexings: Indexings, indexer: int) -> None:
    """A page is indexed."""
    indexings.begun[indexer] = _NO_PAGE


def end_from_now(indexings: Indexings, speed: Speed, now: float, indexer: int) -> float:
    """When an indexing ends that has to go on from now, or to stop; else `AS_IT_WAS`."""
    begun = indexings.begun[indexer]
    ahead = 0
    for other in indexings.begun:
        ahead += _NO_PAGE < other < begun
    goes_on = indexings.since[indexer] >= 0.0
    may_go_on = ahead < indexings.counts[0]
    if begun == _NO_PAGE or may_go_on == goes_on:
        return AS_IT_WAS
    done = work_until(speed, now)
    if may_go_on:
        indexings.since[indexer] = done
        end: float = end_of_work(speed, now, indexings.left[indexer])
        return end
    indexings.left[indexer] = max(indexings.left[indexer] - (done - indexings.since[indexer]), 0.0)
    indexings.since[indexer] = _STOPPED
    return NEVER
