"""The verdicts of those who watch: they remember whether a band was ever left."""

from __future__ import annotations

from asyncio import Task
from collections.abc import Sequence
from threading import Lock
from typing import Any

from crawlsim.explore.always_valid import errors_to_each_side
from crawlsim.explore.lesson import Opened
from crawlsim.explore.live import LEVEL, Look, Run
from crawlsim.explore.sides import Difference
from crawlsim.explore.theory import Exact, Key, Theory
from scenarios import ScenarioError
from scenarios.measures import MEASURES
from sim.estimates.paired import paired_difference

_FLOOR = 0.001
"""Half-width of the band of a share that is narrow enough, whatever the share is."""

_VALUES = ("estimate", "low", "high", "always_low", "always_high")


class Watched:
    """What was seen so far of one run and its theory, which may come later than the first looks.

    Parameters
    ----------
    opened : Opened
        The lesson.
    differs : sequence of Difference
        Where what is simulated is not what is assumed.
    run : Run
    theory : Task
        What the formulas say, sooner or later.
    """

    def __init__(
        self, opened: Opened, differs: Sequence[Difference], run: Run, theory: Task[Theory]
    ) -> None:
        self.run = run
        self._narrow = opened.lesson.narrow
        self._differs = [each.record() for each in differs]
        self.theory = theory
        self._exact: Exact | None = None
        self._lock = Lock()
        self._last: Look | None = None
        self._waiting: list[Look] = []
        self._left: dict[Key, dict[str, int]] = {}

    def look(self, n: int) -> Look:
        """Look at the bands after 2, 3, …, n replications, each once; the last look."""
        with self._lock:
            while self._last is None or self._last.n < n:
                self._last = self.run.look(2 if self._last is None else self._last.n + 1)
                self._waiting.append(self._last)
                self._compare_waiting()
            return self._last if self._last.n == n else self.run.look(n)

    def _compare_waiting(self) -> None:
        """Compare what was seen with the theory, as soon as there is one."""
        if self._exact is None and self.theory.done():
            refused = isinstance(self.theory.exception(), ScenarioError)
            self._exact = {} if refused else self.theory.result().exact
        if self._exact is not None:
            for each in self._waiting:
                self._compare(each, self._exact)
            self._waiting.clear()

    def _compare(self, look: Look, exact: Exact) -> None:
        for key, values in zip(look.keys, look.values.T, strict=True):
            if key not in exact:
                continue
            predicted, _ = exact[key]
            _, low, high, always_low, always_high = values.tolist()
            left = self._left.setdefault(key, {})
            if predicted < low or predicted > high:
                left.setdefault("interval", look.n)
            if predicted < always_low or predicted > always_high:
                left.setdefault("band", look.n)

    def record(self, look: Look) -> dict[str, Any]:
        """One event for JSON."""
        with self._lock:  # the theory may have come since
            self._compare_waiting()
        rows = [self._row(key, look, place) for place, key in enumerate(look.keys)]
        return {"n": look.n, "level": LEVEL, "estimates": rows, "differs": self._differs}

    def _row(self, key: Key, look: Look, place: int) -> dict[str, Any]:
        values = dict(zip(_VALUES, look.values[:, place].tolist(), strict=True))
        predicted, source = (self._exact or {}).get(key, (None, None))
        left = {what: n for what, n in self._left.get(key, {}).items() if n <= look.n}
        return {
            "measure": key[0],
            "subject": key[1],
            **values,
            "theory": predicted,
            "source": source,
            "verdict": self._verdict(key[0], values, predicted, left),
            "interval_left_at": left.get("interval"),
            "band_left_at": left.get("band"),
        }

    def _verdict(
        self, measure: str, values: dict[str, float], predicted: float | None, left: dict[str, int]
    ) -> str | None:
        """The verdict; None where nothing is predicted."""
        if predicted is None:
            return "not yet" if self._exact is None else None
        if "band" in left:
            return "disagrees"
        floor = _FLOOR if MEASURES[measure].is_fraction else 0.0
        enough = max(self._narrow * abs(predicted), floor)
        half = (values["always_high"] - values["always_low"]) / 2
        return "agrees" if half <= enough else "not yet"


def event_record(watched: Sequence[Watched], n: int) -> dict[str, Any]:
    """What a page gets after n replications: with another run, how far its own estimate differs."""
    one, *others = watched
    look = one.look(n)
    event = one.record(look)
    for other in others:
        event["other"] = other.record(other.look(n))
        event["difference"] = _difference_record(one.run, other.run, look)
    return event


def _difference_record(one: Run, other: Run, look: Look) -> dict[str, Any]:
    """By how much the other run's own estimate is larger, on common random numbers."""
    paired = paired_difference(*(each.estimated(look.keys[0], look.n) for each in (other, one)))
    half = errors_to_each_side(look.n, 1.0 - LEVEL) * paired.standard_error
    return {
        "estimate": paired.difference,
        "low": paired.low,
        "high": paired.high,
        "always_low": paired.difference - half,
        "always_high": paired.difference + half,
    }
