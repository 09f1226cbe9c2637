"""Progress of a long search, logged as it goes on; the command line shows it on stderr."""

from __future__ import annotations

import logging
import time
from collections.abc import Iterable, Iterator
from typing import TypeVar

_LOG = logging.getLogger(__name__)
T = TypeVar("T")

PATIENCE = 2.0
"""Seconds before the first report."""
EVERY = 5.0
"""Seconds between two reports."""


class Progress:
    """Reports on one search; a short one makes none.

    Parameters
    ----------
    doing : str
        What the search does, in words.
    total : int, optional
        Steps in all, if known: then the time left is estimated.
    """

    def __init__(self, doing: str, total: int | None = None) -> None:
        self.doing = doing
        self.total = total
        self.done = 0
        self._start = time.monotonic()
        self._next = self._start + PATIENCE

    def begin_again(self, doing: str) -> None:
        """Another part of the search, whose steps are counted from 0."""
        self.doing = doing
        self.done = 0

    def step(self, steps: int = 1) -> None:
        """Count steps that are done, and report now and then."""
        self.done += steps
        now = time.monotonic()
        if now < self._next:
            return
        self._next = now + EVERY
        spent = now - self._start
        if self.total is None or self.done >= self.total:
            _LOG.info("%s: %s so far, %.0f s", self.doing, f"{self.done:,}", spent)
            return
        left = spent * (self.total - self.done) / self.done
        said = f"{self.done:,} of {self.total:,}"
        _LOG.info("%s: %s, about %.0f s left", self.doing, said, left)


def followed(items: Iterable[T], doing: str, total: int | None = None) -> Iterator[T]:
    """The items, one after the other, with reports on how many are done (`Progress`)."""
    progress = Progress(doing, total)
    for each in items:
        yield each
        progress.step()
