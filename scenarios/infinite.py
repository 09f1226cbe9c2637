"""Which quantities of a system are infinite, and which estimates have no variance.

A run would give a finite number for such a quantity, and an interval that means nothing. The tails
of the laws say which: a tail index a says that ``P(X > t)`` falls like ``t^-a``: moments below a
are finite, from a on not.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from scenarios.activation import Free, Levels, Static, Threshold, total_of
from scenarios.laws import Law
from scenarios.measures import Subject
from scenarios.model import Queue
from scenarios.scenario import Scenario
from scenarios.sections import Robots


class Infinite(NamedTuple):
    """A measure that is infinite, or whose estimates have no variance, and why.

    Attributes
    ----------
    measure : str
    subjects : tuple or None
        Of which subjects; None: of all.
    reason : str
    """

    measure: str
    subjects: tuple[Subject, ...] | None
    reason: str

    def covers(self, subject: Subject) -> bool:
        """Whether a subject is among them."""
        return self.subjects is None or subject in self.subjects

    def __str__(self) -> str:
        """As people read it."""
        named = f" {', '.join(map(str, self.subjects))}" if self.subjects else ""
        return f"{self.measure}{named}: {self.reason}"


def infinite_quantities(scenario: Scenario) -> dict[str, Infinite]:
    """The measures that are infinite in the long run, by name.

    Notes
    -----
    The second moment of a sojourn time is the mean of its square. A page that is served spends its
    own service. An obsolete one has waited through its patience P while all c servers worked: that
    takes longer than t with a probability like ``t^-(p + c(a - 1))`` with the tail indices p of a
    patience and a of a service.
    Ages: no copy comes for longer than t before a given time where all servers are in services, or
    all robots in accesses, that began before: like ``t^-(sum of a - 1)``, whose integral is
    infinite where the sum is at most 1. Robots are those of an empty system, which it is by then.
    """
    found = [*_sojourns("sojourn_time_second_moment", scenario, moment=2), *_ages(scenario, 1.0)]
    return {each.measure: each for each in found}


def without_variance(scenario: Scenario) -> dict[str, Infinite]:
    """The measures whose estimates have no variance, by name: no interval holds, and no test.

    Those that are infinite themselves are not named again.

    Notes
    -----
    An estimate averages over pages, or over the time between copies, and needs twice the moments of
    what it estimates: the mean sojourn time the second moment of a service, the second moment the
    fourth. Between copies that come with the tail index b + 1, b as above, the integral of the
    age is like the square of the time: it has a variance where b > 3. A change is waited for as
    long as what is left of such a time: its mean is finite, its variance where b > 1. Shares,
    levels and rates are bounded in a window whose length is given: they always have one.
    """
    found = [
        *_sojourns("sojourn_time", scenario, moment=2),
        *_sojourns("sojourn_time_second_moment", scenario, moment=4),
        *_ages(scenario, 3.0),
        *(each._replace(measure="time_to_refresh") for each in _ages(scenario, 1.0)),
    ]
    if scenario.prices.response and found and found[0].measure == "sojourn_time":
        found.append(Infinite("control_cost", None, f"its response: {found[0].reason}"))
    infinite = infinite_quantities(scenario)
    return {
        each.measure: each._replace(subjects=_others(each, infinite.get(each.measure)))
        for each in found
        if each.measure not in infinite or _others(each, infinite[each.measure])
    }


def _others(each: Infinite, infinite: Infinite | None) -> tuple[Subject, ...] | None:
    """The subjects of one that are not among those of the other."""
    if infinite is None or each.subjects is None:
        return each.subjects if infinite is None else ()
    return tuple(subject for subject in each.subjects if subject not in (infinite.subjects or ()))


def tail_lines(scenario: Scenario) -> Iterator[str]:
    """What has no row and what has no interval, and why, as people read it."""
    for each in infinite_quantities(scenario).values():
        yield f"infinite: {each}"
    for each in without_variance(scenario).values():
        yield f"no interval: {each}"


_MOMENTS = {2: "the variance", 4: "the fourth moment"}


def _sojourns(measure: str, scenario: Scenario, moment: int) -> Iterator[Infinite]:
    """The classes of pages whose sojourn times lack a moment."""
    queue = scenario.model.queue
    served = math.inf if queue is None else _of_services(queue)
    if queue is None or served > moment:
        return
    dropped = _tail(queue.timer) + queue.servers * (served - 1.0) <= moment
    classes = ["served", *["obsolete"] * dropped, "accepted", "all"]
    if queue.classes is not None:
        groups = range(queue.classes.count)
        classes += [f"{name} {group}" for name in ("served", "accepted") for group in groups]
    reason = f"{_MOMENTS[moment]} of service times is infinite (tail index {served:g})"
    yield Infinite(measure, tuple(classes), reason)


def _ages(scenario: Scenario, least: float) -> Iterator[Infinite]:
    """Ages, where the sum of the tail indices less 1 is not above a number."""
    queue = scenario.model.queue
    if scenario.model.pages is None:
        return
    if queue is not None:
        served = [_of_services(queue)] * queue.servers
        if _seldom_free(served, least):
            yield _age("all servers", served, least)
            return
    if scenario.robots is not None and _seldom_free(tails := _of_robots(scenario), least):
        yield _age("all robots", tails, least)


def _age(which: str, tails: list[float], least: float) -> Infinite:
    if len(tails) == 1:
        times = "service" if which == "all servers" else "access"
        lacking = _MOMENTS[2 if least == 1.0 else 4]
        reason = f"{lacking} of {times} times is infinite (tail index {tails[0]:g})"
    else:
        reason = f"{which} are busy for so long at once (tail index {min(tails):g})"
    return Infinite("index_age", None, reason)


def _seldom_free(tails: Iterable[float], least: float) -> bool:
    """Whether the time until the first of several is free again lacks a moment."""
    return 0.0 < sum(each - 1.0 for each in tails) <= least


def _of_services(queue: Queue) -> float:
    """The tail index of a service: the least of those times that make it up."""
    per_page = None if queue.batch is None else queue.batch.per_page
    return min(_tail(queue.service), _tail(per_page))


def _tail(law: object) -> float:
    """The tail index of a time; infinite for what is not a law: a size, or none at all."""
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
        count = total_of(rule.threshold.robots[0])
    elif isinstance(rule, Levels):
        count = rule.robots[0]
    elif isinstance(rule, Free):
        count = rule.when_empty
    fleet = scenario.model.fleet
    assert fleet is not None
    laws = [_tail(each.law) for each in fleet.classes]
    return [laws[each] for each in fleet.in_order[:count]]
