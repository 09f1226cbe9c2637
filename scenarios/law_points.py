"""The distributions that both sides speak of, and the times at which they are compared."""

from __future__ import annotations

from dataclasses import dataclass

from scenarios.measures import Subject


@dataclass(frozen=True, slots=True)
class Law:
    """One distribution: what varies, the word for what is counted, and its definition."""

    measure: str
    subject: Subject
    counted: str
    definition: str


LAWS: tuple[Law, ...] = (
    Law("sojourn_time", "served", "served pages", "time from entry to end, of pages indexed"),
    Law("sojourn_time", "obsolete", "obsolete pages", "time from entry to end, of pages dropped"),
    Law(
        "level_at_arrival",
        None,
        "delivered pages",
        "pages in the system that a delivered page finds, those of its batch ahead of it included",
    ),
    Law(
        "cycle_time",
        None,
        "busy cycles",
        "time between two successive arrivals to an empty system",
    ),
)
"""Those of a buffer with its indexing engine."""


@dataclass(frozen=True, slots=True)
class LawPoints:
    """What a simulation counts so that distributions can be compared: how many times lie between.

    Levels at arrivals are counted one by one, and need no points.

    Attributes
    ----------
    served, obsolete : tuple of float
        Sojourn times, ascending; empty where they are not compared.
    cycle : tuple of float
        Cycle times, in the same way.
    """

    served: tuple[float, ...] = ()
    obsolete: tuple[float, ...] = ()
    cycle: tuple[float, ...] = ()
