"""Times that lie ready to be put into bins, where quantiles of them are asked for."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from sim.compiled_engine.jit import inner
from sim.compiled_engine.records import record, record_type, records
from sim.sojourn_times import TimeCounter

_ENTRY = record_type([("row", np.int64), ("time", np.float64)])

_AT_ONCE = 2**14


class KeptTimes(NamedTuple):
    """The last times of pages that were seen.

    Attributes
    ----------
    state : record
        How many are `kept`, and whether the warm-up is over, so that they count (`counts`).
    entries : record array, shape (room,)
        The time of each, and the row that it belongs to; no entries if not asked for.
    by_page : bool
        Whether each page has a row, else all have one.
    """

    state: Any
    entries: Any
    by_page: bool


def new_kept_times(asked: bool, most: int, by_page: bool) -> KeptTimes:
    """Before any was seen; after the room has been asked for, at most `most` are seen."""
    entries = records((_AT_ONCE + most) * asked, _ENTRY)
    return KeptTimes(record(kept=0, counts=False), entries, by_page)


def count_times(kept: KeptTimes, counter: TimeCounter) -> None:
    """Put them into their bins."""
    ready = kept.entries[: kept.state.kept]
    if len(ready):
        counter.add_all(ready.row, np.ascontiguousarray(ready.time))
        kept.state.kept = 0


@inner
def has_room(kept: KeptTimes) -> bool:
    """Whether there is room for all that one event may see."""
    return kept.state.kept < _AT_ONCE


@inner
def keep_time(kept: KeptTimes, page: int, time: float) -> None:
    """A time was seen."""
    if len(kept.entries) > 0 and kept.state.counts:
        entry = kept.entries[kept.state.kept]
        entry.row = page if kept.by_page else 0
        entry.time = time
        kept.state.kept += 1
