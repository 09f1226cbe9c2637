"""The event log of a simulation: one row per event."""

from __future__ import annotations

import csv
from collections.abc import Callable
from typing import Protocol, TextIO, TypeVar

COLUMNS = ("replication", "time", "event", "robot", "page", "level", "active")

LogEvent = Callable[[float, str, int | None, int | None], None]
"""Writes one line: time, event, robot or server, page or packet."""

Row = tuple[int, float, str, int | None, int | None, int, int]
T = TypeVar("T")


class Log(Protocol):
    """What the engine reports of every event."""

    def add(self, row: Row) -> None:
        """One event, after it."""


class EventLog:
    """Writes rows (replication, time, event, robot, page, level, active) as CSV.

    Without [pages], `page` is the running number of the page among those that entered. `level`
    and `active` are the pages in the system and the active robots after the event.

    With [pages], "change" is a change of a page of the web, also one that nobody notices because
    another change came first. With [clients], "fresh-answer" and "stale-answer" are queries.

    Where pages come back, "orbit" is one that finds no room, and "retrial" one that does then.

    With signals that robots hear, "signal" is one that is heard, of a change or of none.

    With a host spacing, "access" is the start of an access by a robot to a page; "failure" is the
    end of one that delivers nothing, "unchanged" where that is as the page is unchanged.

    With [servers], events are "arrival", "loss" (of the packet in service or of the new one) and
    "service"; `robot` is the server, `page` the running number of the packet, counted from 0,
    `level` the packets at all servers after the event; `active` is 0.

    With [probing], events are "update" and "probe"; `robot` is empty, and so is `page`, but where
    there are several sources it is the number of one; `level` is the number of its updates that no
    probe has seen yet, after the event; `active` is 0.

    Parameters
    ----------
    stream : text stream
    """

    def __init__(self, stream: TextIO) -> None:
        self._writer = csv.writer(stream, lineterminator="\n")
        self._writer.writerow(COLUMNS)

    def add(self, row: Row) -> None:
        """Write one event."""
        self._writer.writerow(row)
