"""The event log of a simulation: one row per event."""

from __future__ import annotations

import csv
import io

__all__ = ["COLUMNS", "EventLog"]

COLUMNS = ("replication", "time", "event", "robot", "page", "level", "active")

Row = tuple[int, float, str, int | None, int | None, int, int]


class EventLog:
    """Rows (replication, time, event, robot, page, level, active) in the order of the events.

    Without [pages], `page` is the running number of the page among those that entered. `level`
    and `active` are the pages in the system and the active robots after the event.
    """

    def __init__(self) -> None:
        self.rows: list[Row] = []

    def add(self, row: Row) -> None:
        """Append one event."""
        self.rows.append(row)

    def to_csv(self) -> str:
        """The log as CSV text with a header."""
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow(COLUMNS)
        writer.writerows(self.rows)
        return text.getvalue()
