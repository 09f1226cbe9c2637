"""Counts and time integrals of the buffer."""

from __future__ import annotations

import math
from dataclasses import dataclass

from sim import rules
from sim.tally.conservation import RELATIVE, ROUNDING, require


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
        require(came == went, f"{came} pages came, {went} are accounted for")
        total = math.fsum(self.level_time)
        changes = 2 + self.delivered + sum(self.ended)
        rounding = changes * horizon * ROUNDING
        require(min(self.level_time) >= 0, "a level has negative time")
        require(
            abs(total - window) <= RELATIVE * window + rounding,
            f"the levels' times sum to {total!r}, not to the window {window!r}",
        )
        in_system = math.fsum(level * time for level, time in enumerate(self.level_time))
        sojourns = math.fsum(self.sojourn) + self.age_at_end - self.age_at_start
        scale = in_system + self.age_at_start
        require(
            abs(in_system - sojourns) <= RELATIVE * scale + rounding * len(self.level_time),
            f"Little's law: level integral {in_system!r}, sojourns {sojourns!r}",
        )
