"""How many robots are active, and for how long: by the level, or by thresholds passed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from scenarios.model import Hysteresis
from sim import rules
from sim.buffer import Buffer
from sim.pages import DirectIndex

Target = Buffer | DirectIndex


class ActiveRobots(Protocol):
    """What a fleet asks of the rule that says how many of it are active."""

    @property
    def number(self) -> int:
        """Of active robots now."""

    def follow(self, now: float) -> None:
        """The level has changed."""

    def limit(self, now: float, active_at: Sequence[int]) -> None:
        """From now on these numbers count."""

    def end_warmup(self, now: float) -> None:
        """Forget what was counted so far: the warm-up is over."""

    def time(self, now: float, level_time: Sequence[float]) -> float:
        """Time integral of the active robots since the end of the warm-up."""

    @property
    def switched_on(self) -> int | None:
        """Robots switched on since then; None if they are not counted."""


class ActiveByLevel:
    """The level says how many are active; nothing else is counted about them.

    Parameters
    ----------
    buffer : Buffer or DirectIndex
    active_at : sequence of int
        Active robots at each level.
    """

    switched_on = None

    def __init__(self, buffer: Target, active_at: Sequence[int]) -> None:
        self._buffer = buffer
        self._active_at = active_at
        self._counted = [0.0] * len(active_at)
        self._time = 0.0

    @property
    def number(self) -> int:
        """Of active robots now."""
        return self._active_at[self._buffer.level]

    def follow(self, now: float) -> None:
        """Nothing: the level is looked at when it counts."""

    def limit(self, now: float, active_at: Sequence[int]) -> None:
        """Change the number of active robots at each level from now on."""
        level_time = self._buffer.time_at_levels(now)
        self._time = self.time(now, level_time)
        self._counted = list(level_time)
        self._active_at = active_at

    def end_warmup(self, now: float) -> None:  # noqa: ARG002  # same call for all rules
        """Forget what was counted so far: the warm-up is over."""
        self._counted = [0.0] * len(self._active_at)
        self._time = 0.0

    def time(self, now: float, level_time: Sequence[float]) -> float:  # noqa: ARG002  # same call for all rules
        """Time integral of the active robots since the end of the warm-up."""
        since = [time - before for time, before in zip(level_time, self._counted, strict=True)]
        return self._time + rules.time_of_robots(since, self._active_at)


class ActiveTime:
    """The time integral of the active robots, closed whenever their number changes."""

    def __init__(self, number: int) -> None:
        self.number = number
        self.switched_on = 0
        self._since = self._total = 0.0

    def change(self, now: float, number: int) -> None:
        """Change the number of active robots from now on."""
        if number != self.number:
            self.until(now)
            self.switched_on += max(number - self.number, 0)
            self.number = number

    def restart(self, now: float) -> None:
        """Count from now on."""
        self.switched_on = 0
        self._since = now
        self._total = 0.0

    def until(self, now: float) -> float:
        """The integral up to now."""
        self._total += self.number * (now - self._since)
        self._since = now
        return self._total


class ActiveByThresholds:
    """Thresholds say it, of which the level passes one here and goes back there.

    Parameters
    ----------
    buffer : Buffer
    active_at : sequence of int
        Active robots by the number of thresholds that are passed.
    given : Hysteresis
    """

    def __init__(self, buffer: Target, active_at: Sequence[int], given: Hysteresis) -> None:
        self._buffer = buffer
        self._active_at = active_at
        self._given = given
        self._passed = 0
        self._time = ActiveTime(active_at[0])

    @property
    def number(self) -> int:
        """Of active robots now."""
        return self._active_at[self._passed_now]

    @property
    def switched_on(self) -> int:
        """Robots switched on since the end of the warm-up."""
        return self._time.switched_on

    @property
    def _passed_now(self) -> int:
        given = self._given
        return rules.thresholds_passed(self._buffer.level, self._passed, given.at, given.back)

    def follow(self, now: float) -> None:
        """The level has changed."""
        self._passed = self._passed_now
        self._time.change(now, self._active_at[self._passed])

    def limit(self, now: float, active_at: Sequence[int]) -> None:
        """Change the number of active robots for each number of thresholds passed."""
        self._active_at = active_at
        self.follow(now)

    def end_warmup(self, now: float) -> None:
        """Forget what was counted so far: the warm-up is over."""
        self._time.restart(now)

    def time(self, now: float, level_time: Sequence[float]) -> float:  # noqa: ARG002  # same call for all rules
        """Time integral of the active robots since the end of the warm-up."""
        return self._time.until(now)
