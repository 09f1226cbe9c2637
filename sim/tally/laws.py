"""How often sojourn times, cycle times and levels at arrivals lay where."""

from __future__ import annotations

from dataclasses import dataclass

from sim import rules
from sim.tally.buffer import BufferTally
from sim.tally.conservation import require


@dataclass(frozen=True, slots=True)
class LawsTally:
    """Counts for the comparison of distributions, over the window (warm-up, horizon].

    Attributes
    ----------
    served, obsolete, cycle : tuple of int
        Times below the first of the points asked for, from there to the second, …, from the last
        on: sojourns of pages that ended in the window, cycles that ended in it. Where they began
        does not matter.
    levels : tuple of int
        Pages delivered in the window that found 0, 1, … pages in the system, those of their own
        batch ahead of them included.
    """

    served: tuple[int, ...]
    obsolete: tuple[int, ...]
    cycle: tuple[int, ...]
    levels: tuple[int, ...]

    def check(self, buffer: BufferTally) -> None:
        """Raise `ConservationError` unless these are the pages that the buffer counted."""
        ended = sum(self.served), sum(self.obsolete)
        expected = buffer.ended[rules.SERVED], buffer.ended[rules.OBSOLETE]
        require(ended == expected, "sojourn times of other pages than those that ended")
        found = sum(self.levels)
        require(found == buffer.delivered, "levels found by other pages than those delivered")
