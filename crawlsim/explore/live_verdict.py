"""Agrees, disagrees or not yet: the verdict of the live page, which remembers every band left."""

from __future__ import annotations

from asyncio import Task
from collections.abc import Mapping, Sequence
from threading import Lock
from typing import Any

from analytic.index.names import shown
from analytic.verdicts.careful_errors import prices_of
from analytic.verdicts.crosscheck import Sight, look_at_predictions
from crawlsim.explore.always_valid import errors_to_each_side
from crawlsim.explore.lesson import Opened
from crawlsim.explore.live import LEVEL, Look, Run
from crawlsim.explore.simulated_and_assumed import BrokenAssumption
from crawlsim.explore.theory import SIGNS, Key, Known, Theory
from scenarios import ScenarioError
from sim.estimates.paired import paired_difference

_VALUES = ("estimate", "low", "high", "always_low", "always_high")


class Watched:
    """What was seen so far of one run and its theory, which may come later than the first looks.

    Parameters
    ----------
    opened : Opened
        The lesson.
    broken : sequence of BrokenAssumption
        Where what is simulated is not what is assumed.
    run : Run
    theory : Task
        What the formulas say, sooner or later.
    """

    def __init__(
        self, opened: Opened, broken: Sequence[BrokenAssumption], run: Run, theory: Task[Theory]
    ) -> None:
        self.run = run
        self._narrow = opened.lesson.narrow
        self._broken = [each.record() for each in broken]
        self.theory = theory
        self._known: Known | None = None
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
        if self._known is None and self.theory.done():
            refused = isinstance(self.theory.exception(), ScenarioError)
            self._known = {} if refused else self.theory.result().known
        if self._known is not None:
            for each in self._waiting:
                self._compare(each, self._known)
            self._waiting.clear()

    def _compare(self, look: Look, known: Known) -> None:
        for key, values in zip(look.keys, look.values.T, strict=True):
            if key not in known:
                continue
            left = self._left.setdefault(key, {})
            value, kind = known[key].value, known[key].kind
            is_below = value < values[1] and kind != "lower bound"
            if is_below or (value > values[2] and kind != "upper bound"):
                left.setdefault("interval", look.n)
        for key, sight in self._sights(look, known).items():
            if sight.refutes:
                self._left[key].setdefault("band", look.n)

    def _sights(self, look: Look, known: Known) -> dict[Key, Sight]:
        """What the look says of each value, or bound, that it has an estimate of."""
        keys = [key for key in look.keys if key in known]
        predictions = [known[key] for key in keys]
        reaches = [look.reaches[key] for key in keys]
        prices = prices_of(self.run.scenario, predictions)
        sights = look_at_predictions(predictions, look.results, reaches, self._narrow, prices)
        return dict(zip(keys, sights, strict=True))

    def record(self, look: Look) -> dict[str, Any]:
        """One event for JSON."""
        with self._lock:  # the theory may have come since
            self._compare_waiting()
        sights = {} if self._known is None else self._sights(look, self._known)
        rows = [self._row(key, look, place, sights) for place, key in enumerate(look.keys)]
        return {"n": look.n, "level": LEVEL, "estimates": rows, "broken": self._broken}

    def _row(self, key: Key, look: Look, place: int, sights: Mapping[Key, Sight]) -> dict[str, Any]:
        values = dict(zip(_VALUES, look.values[:, place].tolist(), strict=True))
        known = (self._known or {}).get(key)
        left = {what: n for what, n in self._left.get(key, {}).items() if n <= look.n}
        return {
            "measure": key[0],
            "subject": key[1],
            **values,
            "theory": None if known is None else known.value,
            "sign": None if known is None else SIGNS.get(known.kind, ""),
            "source": None if known is None else known.source,
            "formula": None if known is None else shown(known.source),
            "verdict": self._verdict(sights.get(key), left),
            "interval_left_at": left.get("interval"),
            "band_left_at": left.get("band"),
        }

    def _verdict(self, sight: Sight | None, left: Mapping[str, int]) -> str | None:
        """The verdict; None where nothing is predicted."""
        if sight is None:
            return "not yet" if self._known is None else None
        if "band" in left:
            return "disagrees"
        return "agrees" if sight.settles else "not yet"


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
