"""Hours of the day in which a crawler is active: what visits find after a night."""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np

from crawlsim.logs.plan.allocation import DAY
from scenarios import ScenarioError
from scenarios.arrays import Array

_HOURS = re.compile(r"(\d{1,2})(?::([0-5]\d))?-(\d{1,2})(?::([0-5]\d))?", re.ASCII).fullmatch


@dataclass(frozen=True)
class ActiveHours:
    """The hours, in UTC, in which pages are visited, at equal intervals of active time.

    Attributes
    ----------
    begin : float
        Seconds after midnight.
    length : float
        Seconds, less than a day.
    """

    begin: float
    length: float

    @property
    def night(self) -> float:
        """Seconds of a day without a visit."""
        return DAY - self.length

    def gaps(self, visits: Array) -> tuple[Array, Array, Array]:
        """Times between two visits, the shorter and the longer one, and the share of the longer.

        Parameters
        ----------
        visits : ndarray
            Per second, nights included.

        Notes
        -----
        Between two visits lies the active time ``s``, and ``s / length`` nights on average: that
        rounded down, or one more.
        """
        active = self.length / DAY / visits
        nights = np.floor(active / self.length)
        shorter = active + nights * self.night
        return shorter, shorter + self.night, active / self.length - nights

    def stale_share(self, rates: Array, visits: Array) -> Array:
        """Share of time, nights included, for which pages are out of date."""
        shorter, longer, share = self.gaps(visits)
        changed = -(1 - share) * np.expm1(-rates * shorter) - share * np.expm1(-rates * longer)
        return 1 - visits * changed / rates

    def delayed(self, rates: Array, visits: Array) -> Array:
        """Changes per second times the mean time to the visit that finds each."""
        shorter, longer, share = self.gaps(visits)
        return rates * visits * ((1 - share) * shorter**2 + share * longer**2) / 2

    def after(self, moment: float, seconds: float) -> float:
        """The time at which some seconds of active time have passed."""
        day, into = divmod(moment - self.begin, DAY)
        days, rest = divmod(min(into, self.length) + seconds, self.length)
        return self.begin + (day + days) * DAY + rest


def active_hours(text: str) -> ActiveHours:
    """Hours such as ``08-20``, ``8:30-17`` or, over midnight, ``22-06``.

    Raises
    ------
    ScenarioError
        If it is not that.
    """
    found = _HOURS(text.strip())
    if found is not None:
        hour, minute, last_hour, last_minute = (int(each or 0) for each in found.groups())
        begin = 3600.0 * hour + 60.0 * minute
        end = 3600.0 * last_hour + 60.0 * last_minute
        length = (end - begin) % DAY
        if max(begin, end) <= DAY and length:
            return ActiveHours(begin % DAY, length)
    allowed = "must be two different hours of the day in UTC, such as 08-20, 8:30-17 or 22-06"
    raise ScenarioError("--active", text, allowed)
