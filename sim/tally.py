"""What one replication counted, with conservation asserted."""

from __future__ import annotations

import math
from dataclasses import dataclass

from sim import rules

__all__ = ["BufferTally", "ConservationError", "Tally"]

_RELATIVE = 1e-9
_ROUNDING = 2.0**-50


class ConservationError(AssertionError):
    """A replication whose counts do not add up: an error in an engine, never in a scenario."""


@dataclass(frozen=True, slots=True)
class BufferTally:
    """Counts and time integrals of the buffer over the window (warm-up, horizon].

    Attributes
    ----------
    delivered, refused : int
        Pages delivered; of these, pages that did not enter.
    ended, sojourn, sojourn_square : tuple, indexed by fate
        Pages that entered and ended in the window as served, obsolete, pushed out or replaced:
        their number, the sum of their times from entry to end, and of the squares.
    inside_at_start, inside_at_end : int
        Pages in the system at the two ends of the window.
    age_at_start, age_at_end : float
        Their times since entry, summed.
    level_time : tuple of float
        Time with 0, 1, … pages in the system.
    """

    delivered: int
    refused: int
    ended: tuple[int, ...]
    sojourn: tuple[float, ...]
    sojourn_square: tuple[float, ...]
    inside_at_start: int
    inside_at_end: int
    age_at_start: float
    age_at_end: float
    level_time: tuple[float, ...]

    @property
    def lost(self) -> int:
        """Pages refused on arrival or pushed out later."""
        return self.refused + self.ended[rules.PUSHED_OUT]

    def check(self, window: float, horizon: float) -> None:
        """Raise `ConservationError` unless pages, time and sojourns add up.

        Parameters
        ----------
        window : float
            Length of the window.
        horizon : float
            Time of its end, which sets the size of the rounding errors.
        """
        came = self.inside_at_start + self.delivered
        went = self.inside_at_end + self.refused + sum(self.ended)
        _require(came == went, f"{came} pages came, {went} are accounted for")
        total = math.fsum(self.level_time)
        changes = 2 + self.delivered + sum(self.ended)
        rounding = changes * horizon * _ROUNDING
        _require(min(self.level_time) >= 0, "a level has negative time")
        _require(
            abs(total - window) <= _RELATIVE * window + rounding,
            f"the levels' times sum to {total!r}, not to the window {window!r}",
        )
        in_system = math.fsum(level * time for level, time in enumerate(self.level_time))
        sojourns = math.fsum(self.sojourn) + self.age_at_end - self.age_at_start
        scale = in_system + self.age_at_start
        _require(
            abs(in_system - sojourns) <= _RELATIVE * scale + rounding * len(self.level_time),
            f"Little's law: level integral {in_system!r}, sojourns {sojourns!r}",
        )


@dataclass(frozen=True, slots=True)
class Tally:
    """Everything that one replication counted over the window (warm-up, horizon].

    `robots_time` is the time integral of the number of active robots.
    """

    window: float
    buffer: BufferTally
    robots_time: float

    def check(self, horizon: float, robots: int) -> None:
        """Raise `ConservationError` unless all parts add up; `robots` is the number available."""
        self.buffer.check(self.window, horizon)
        most = robots * self.window * (1 + _RELATIVE)
        _require(0 <= self.robots_time <= most, "more active robots than there are")


def _require(holds: bool, message: str) -> None:
    if not holds:
        raise ConservationError(message)
