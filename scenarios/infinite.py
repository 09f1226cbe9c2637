"""Which quantities of a system are infinite, as the tails of its laws have it.

A run would give a finite number for such a quantity, and an interval that means nothing. A tail
index a says that ``P(X > t)`` falls like ``t^-a``: moments below a are finite, from a on not.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import NamedTuple

from scenarios.activation import Free, Levels, Static, Threshold, total_of
from scenarios.fleet import access_times, classes_in_order
from scenarios.laws import Law
from scenarios.measures import Subject
from scenarios.processes import Renewal
from scenarios.scenario import Scenario
from scenarios.sections import Robots


class Infinite(NamedTuple):
    """A measure that is infinite, of which subjects (None: of all), and why."""

    measure: str
    subjects: tuple[Subject, ...] | None
    reason: str

    def __str__(self) -> str:
        """As people read it."""
        named = f" {', '.join(map(str, self.subjects))}" if self.subjects else ""
        return f"infinite: {self.measure}{named}: {self.reason}"


def infinite_quantities(scenario: Scenario) -> dict[str, Infinite]:
    """The measures that are infinite in the long run, by name.

    Notes
    -----
    Second moments of sojourn times: a page that is served spends its own service. An obsolete one
    has waited through its patience P while all c servers worked: that takes longer than t with a
    probability like ``t^-c(a - 1)`` with the tail index a of a service.
    Ages: no copy comes for longer than t before a given time where all servers are in services, or
    all robots in accesses, that began before: like ``t^-(sum of a - 1)``, whose integral is
    infinite where the sum is at most 1. Robots are those of an empty system, which it is by then.
    """
    found = []
    buffer = scenario.buffer
    served = math.inf if buffer is None else _tail(buffer.service)
    if buffer is not None and served <= 2.0:
        patience = _tail(buffer.obsolescence)
        dropped = patience + buffer.servers * (served - 1.0) <= 2.0
        classes = ("served", *["obsolete"] * dropped, "accepted", "all")
        reason = f"the variance of service times is infinite (tail index {served:g})"
        found.append(Infinite("sojourn_time_second_moment", classes, reason))
    if scenario.pages is not None:
        if buffer is not None and _never_free([served] * buffer.servers):
            found.append(_age("all servers", [served] * buffer.servers))
        elif scenario.robots is not None and _never_free(tails := _of_robots(scenario)):
            found.append(_age("all robots", tails))
    return {each.measure: each for each in found}


def _age(which: str, tails: list[float]) -> Infinite:
    if len(tails) == 1:
        times = "service" if which == "all servers" else "access"
        reason = f"the variance of {times} times is infinite (tail index {tails[0]:g})"
    else:
        reason = f"{which} are busy for so long at once (tail index {min(tails):g})"
    return Infinite("index_age", None, reason)


def _never_free(tails: Iterable[float]) -> bool:
    """Whether the time until the first of several is free again has an infinite mean."""
    return 0.0 < sum(each - 1.0 for each in tails) <= 1.0


def _tail(law: object) -> float:
    """The tail index of a time; infinite for what is no law: a size, or none at all."""
    if isinstance(law, Renewal):
        law = law.gap
    return law.tail_index if isinstance(law, Law) else math.inf


def _of_robots(scenario: Scenario) -> list[float]:
    """Tail indices of the access times of the robots that work in an empty system."""
    robots = scenario.robots
    assert isinstance(robots, Robots)
    rule = scenario.activation
    count = robots.available
    if isinstance(rule, Static):
        count = total_of(rule.root)
    elif isinstance(rule, Threshold):
        count = total_of(rule.root.robots[0])
    elif isinstance(rule, Levels):
        count = rule.robots[0]
    elif isinstance(rule, Free):
        count = rule.when_empty
    laws = [_tail(law) for law, _ in access_times(robots)]
    return [laws[each] for each in classes_in_order(robots, rule)[:count]] if laws else []
