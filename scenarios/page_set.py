"""A set of pages that come and go: births, lifetimes, changes, and when a page becomes known."""

from __future__ import annotations

from typing import Annotated, Literal

from scenarios.base import ByType, NonNegative, Positive, Section
from scenarios.laws import Distribution


class PageSet(Section):
    """Pages that are born as a Poisson process and vanish, all of them alike.

    `discovery` is the time from the birth of a page until it is known to the robots, and
    `first_access` says whether it is then fetched next, or when its turn comes.
    """

    birth_rate: Positive
    lifetime: Distribution
    change_rate: NonNegative
    discovery: Annotated[Literal["at-birth"] | Distribution, ByType()] = "at-birth"
    first_access: Literal["in-turn", "at-once"] = "in-turn"

    @property
    def delay(self) -> Distribution | None:
        """The law of the time until a page is known; None where it is from its birth on."""
        return None if isinstance(self.discovery, str) else self.discovery
