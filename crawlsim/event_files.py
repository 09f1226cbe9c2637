"""Every event of a run as CSV."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from crawlsim.own_files import claim, writing
from sim.event_log import EventLog


@contextmanager
def event_log(
    path: str | Path, option: str = "--trace", *, force: bool = False
) -> Iterator[EventLog]:
    """What a run tells its events; in the end the file is there, or none.

    Parameters
    ----------
    path : path
    option : str
        What a refusal names.
    force : bool
        Whether a file of somebody else may be replaced.

    Raises
    ------
    ScenarioError
        If something of somebody else lies there.
    """
    target = claim(option, path, force=force)
    with (
        writing(option, target, force=force) as complete,
        complete.open("w", encoding="utf-8", newline="") as stream,
    ):
        yield EventLog(stream)
