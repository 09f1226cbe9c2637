"""What the query of a request asks for: the state of the page, which stands in its address."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from starlette.datastructures import QueryParams
from starlette.exceptions import HTTPException

from crawlsim.explore.lesson import Opened
from crawlsim.explore.simulated_and_assumed import Sides, sides_of
from scenarios import Scenario, ScenarioError
from scenarios.base import listed, one_of
from scenarios.files import parse_value
from scenarios.measures import Subject
from scenarios.sections import LARGEST_SEED

SIDES = ("simulated", "assumed")

MOST = 100_000
"""Replications that can be asked for."""

_FASTEST = 1000
"""Replications a second that can be asked for."""


class Refused(HTTPException):
    """A request that is refused, with one sentence."""

    def __init__(self, sentence: str, status: int = 400) -> None:
        super().__init__(status, sentence)


@dataclass(frozen=True)
class Asked:
    """What is asked for.

    Attributes
    ----------
    opened : Opened
        The lesson.
    sides : Sides
        With every change of the query.
    other : Sides or None
        Those of a second run that it is compared with: the same with further changes.
    until : int or None
        Replications after which the stream ends.
    after : int
        The number of replications that the page has seen already.
    speed : float
        Replications a second.
    every : bool
        Whether the events come as fast as they can.
    """

    opened: Opened
    sides: Sides
    other: Sides | None
    until: int | None
    after: int
    speed: float
    every: bool

    @property
    def own(self) -> tuple[str, Subject]:
        """The measure of the lesson and its subject."""
        return self.opened.lesson.measure, self.opened.lesson.subject

    def side(self, name: str) -> Scenario:
        """A side by its name, with as many replications as are shown.

        Raises
        ------
        Refused
            If there is no such side.
        """
        if name not in SIDES:
            raise Refused(f"side = {name} must be {listed(SIDES)}")
        scenario = self.sides.simulated if name == "simulated" else self.sides.assumed
        return scenario if self.until is None else scenario.with_("run.replications", self.until)


def asked_for(lessons: Mapping[str, Opened], query: QueryParams) -> Asked:
    """What a query asks for.

    Parameters
    ----------
    lessons : mapping
        By their keys; the first is that of a query without one.
    query : QueryParams

    Raises
    ------
    Refused
        If it cannot be had.
    """
    key = query.get("lesson", next(iter(lessons)))
    if key not in lessons:
        raise Refused(f"lesson = {key} must be {one_of(key, lessons)}")
    opened = lessons[key]
    changes = dict(_changes("set", query.getlist("set")))
    seed = whole(query, "seed", 0, LARGEST_SEED)
    if seed is not None:
        changes["run.seed"] = seed
    changes.setdefault("run.seed", opened.scenario.run.seed)  # a file that is exported names it
    others = dict(_changes("other", query.getlist("other")))
    try:
        sides = sides_of(opened, changes)
        other = sides_of(opened, changes | others) if others else None
    except ScenarioError as error:
        raise Refused(f"set: {_sentence(error)}") from None
    return Asked(
        opened=opened,
        sides=sides,
        other=other,
        until=whole(query, "until", 2, MOST),
        after=whole(query, "after", 1, MOST) or 1,
        speed=float(whole(query, "speed", 1, _FASTEST) or opened.lesson.speed),
        every=query.get("every") == "1",
    )


def _changes(name: str, given: Sequence[str]) -> Iterator[tuple[str, Any]]:
    """Keys and values, as those of `--set`."""
    seen = set()
    for each in given:
        key, sign, text = each.partition("=")
        key = key.strip()
        if not sign or not key:
            raise Refused(f"{name} = {each} must be KEY=VALUE")
        if key in seen:
            raise Refused(f"{name}: {key} is set twice")
        seen.add(key)
        yield key, parse_value(text)


def whole(query: QueryParams, name: str, least: int, most: int) -> int | None:
    """A whole number in a range; None where the query has none."""
    text = query.get(name)
    if text is None:
        return None
    is_number = text.isascii() and text.isdecimal() and len(text) <= len(str(most))
    if not is_number or not least <= int(text) <= most:
        raise Refused(f"{name} = {text} must be a whole number from {least} to {most}")
    return int(text)


def _sentence(error: ScenarioError) -> str:
    """A refusal on one line."""
    return " ".join(str(error).split("\n"))
