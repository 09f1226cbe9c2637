"""Messages about initialisation bias: what an insufficient warm-up leaves in the estimates."""

from __future__ import annotations

import math
from typing import NamedTuple

from crawlsim.ranking import Record
from scenarios import Scenario
from scenarios.text import units

SHORT_WARM_UPS = "short_warm_ups"
"""Entry of what came out of a cell."""


class ShortWarmUp(NamedTuple):
    """One source of initialisation bias that is left when counting begins.

    Attributes
    ----------
    words : str
    measures : tuple of str
        What it may bias; empty: every estimate.
    is_known : bool
        Whether it is known to be too short; else nobody knows how long would be long enough.
    """

    words: str
    measures: tuple[str, ...]
    is_known: bool

    def may_bias(self, measure: str) -> bool:
        """Whether an estimate may be off for it."""
        return not self.measures or measure in self.measures


def short_warm_ups(scenario: Scenario) -> list[ShortWarmUp]:
    """All of them; none where the warm-up is long enough."""
    from analytic.transient.start_up import remembered_starts

    warmup, unit = scenario.run.warmup, scenario.time_unit
    found = []
    for each in remembered_starts(scenario):
        words = each.name
        if is_known := math.isfinite(each.time):
            times = each._replace(later=0.0).rule
            longer = f"{times} ({each.time:.6g} {units(unit, each.time)})"
            if each.later:
                longer += f" and {each.later:.6g} {units(unit, each.later)} until the next commit"
            words = (
                f"the warm-up ({warmup:g} {units(unit, warmup)}) is shorter than {longer}; "
                f"it may bias {', '.join(each.measures) or 'every estimate'}"
            )
        found.append(ShortWarmUp(words, each.measures, is_known))
    return found


def short_warm_ups_in(record: Record) -> list[ShortWarmUp]:
    """Those of a cell of a sweep, from what came out of it; none where it does not say."""
    return [
        ShortWarmUp(words, tuple(measures), is_known)
        for words, measures, is_known in record.get(SHORT_WARM_UPS, ())
    ]
