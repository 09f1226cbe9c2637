"""The event log of a simulation: one row per event."""

from __future__ import annotations

import csv
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Protocol, TextIO, TypeVar

from scenarios import ScenarioError
from sim.staging import staging

COLUMNS = ("replication", "time", "event", "robot", "page", "level", "active")

LogEvent = Callable[[float, str, int | None, int | None], None]
"""Writes one line: time, event, robot or server, page or packet."""

Row = tuple[int, float, str, int | None, int | None, int, int]
T = TypeVar("T")


class Log(Protocol):
    """What the engine tells of every event."""

    def add(self, row: Row) -> None:
        """One event, after it."""


class EventLog:
    """Writes rows (replication, time, event, robot, page, level, active) as CSV.

    Without [pages], `page` is the running number of the page among those that entered. `level`
    and `active` are the pages in the system and the active robots after the event.

    With [pages], "change" is a change of a page of the web, also one that nobody notices because
    another change came first. With [clients], "fresh-answer" and "stale-answer" are queries.

    With a host spacing, "access" is the start of an access by a robot to a page; "failure" is the
    end of one that delivers nothing.

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


def _is_log(path: Path) -> bool:
    """Whether a file begins as an event log does, so that a new one may take its place."""
    header = ",".join(COLUMNS).encode()
    if not path.is_file():  # a pipe or a device
        return False
    with path.open("rb") as stream:
        return stream.read(len(header)) == header


def log_to_file(path: str, work: Callable[[EventLog], T]) -> T:
    """Do some work with a log; the file appears once the work is done, or not at all.

    Raises
    ------
    ScenarioError
        If the file cannot be written, or one is there that is no event log.
    """
    target = Path(path)
    try:
        if target.is_dir():
            raise ScenarioError("--trace", path, "is a folder")
        if target.exists() and not _is_log(target):
            allowed = "is there and is no event log; give a name of its own"
            raise ScenarioError("--trace", path, allowed)
    except OSError as error:
        raise _refusal(path, error) from None
    with ExitStack() as until_the_end:
        try:
            folder = until_the_end.enter_context(staging(target.absolute().parent))
            complete = folder / target.name
            stream = until_the_end.enter_context(complete.open("w", encoding="utf-8", newline=""))
        except OSError as error:
            raise _refusal(path, error) from None
        result = work(EventLog(stream))
        stream.close()
        complete.replace(target)
    return result


def _refusal(path: str, error: OSError) -> ScenarioError:
    return ScenarioError("--trace", path, f"cannot be written: {error.strerror}")
