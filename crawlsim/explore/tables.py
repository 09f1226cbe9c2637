"""The estimates of a page as CSV."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from crawlsim.cli.output import csv_chunks

_COLUMNS = (
    *("measure", "subject", "estimate", "low", "high", "always_low", "always_high"),
    *("theory", "verdict"),
)


def csv_of(events: Sequence[dict[str, Any]]) -> Iterator[str]:
    """The lesson's own measure after each number of replications, then the others after the last.

    Parameters
    ----------
    events : sequence of dict
        As the page gets them.
    """
    return csv_chunks(("replications", *_COLUMNS), _rows(events))


def _rows(events: Sequence[dict[str, Any]]) -> Iterable[tuple[Any, ...]]:
    for event in events:
        own, *others = event["estimates"]
        yield event["n"], *(own[name] for name in _COLUMNS)
    for row in others if events else ():
        yield events[-1]["n"], *(row[name] for name in _COLUMNS)
