"""A line every ten seconds on a stderr that is no terminal, while a command is at work.

On a terminal there is a progress bar. A log file or a pipe gets lines, but none of a short run.
"""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field

import click

EVERY = 10.0
"""Seconds between two lines, and before the first."""


@dataclass
class Stage:
    """A part of the work whose steps are counted.

    Attributes
    ----------
    title : str
    things : str
        What is counted: "replications", "cells".
    done : int
    total : int or None
    since : float
        When it began, by a monotonic clock.
    """

    title: str
    things: str
    done: int = 0
    total: int | None = None
    since: float = field(default_factory=time.monotonic)

    def words(self) -> str:
        """How far it is, and how long it will take at that pace."""
        if self.total is None:
            return f"{self.title}: at work"
        counted = f"{self.title}: {self.done:,} of {self.total:,} {self.things}"
        if not 0 < self.done < self.total:
            return counted
        left = (time.monotonic() - self.since) * (self.total - self.done) / self.done
        return f"{counted}, about {left:.0f} s left"


_stages: list[Stage] = []
"""What is going on, the innermost last."""

_said_at = 0.0
"""When anything was last said, by a monotonic clock."""


@contextmanager
def stage(title: str, things: str) -> Iterator[Stage]:
    """Count steps of a part of the work; within another one it stands behind that."""
    here = Stage(title, things)
    _stages.append(here)
    try:
        yield here
    finally:
        _stages.remove(here)


def something_was_said() -> None:
    """Somebody else has just said how far the work is: no line is due for a while."""
    global _said_at
    _said_at = time.monotonic()


@contextmanager
def lines_while_waiting(command: str) -> Iterator[None]:
    """Say every ten seconds how far a command is, where stderr is no terminal."""
    if sys.stderr is None or sys.stderr.isatty():
        yield
        return
    finished = threading.Event()
    something_was_said()
    speaker = threading.Thread(target=_speak, args=(command, finished), daemon=True)
    speaker.start()
    try:
        yield
    finally:
        finished.set()
        speaker.join()


def _speak(command: str, finished: threading.Event) -> None:
    begun = time.monotonic()
    while not finished.wait(max(_said_at + EVERY - time.monotonic(), 0.0)):
        if time.monotonic() < _said_at + EVERY:
            continue
        words = "; ".join(each.words() for each in _stages) or f"{command}: at work"
        with suppress(OSError, ValueError):  # nobody reads any more
            click.echo(f"crawlsim: {words} ({time.monotonic() - begun:.0f} s)", err=True)
        something_was_said()
