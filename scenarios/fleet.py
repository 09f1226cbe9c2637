"""The robots of a scenario one by one: their classes, and the order in which they become active.

Robots are numbered class by class, in the order of the file.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate
from math import fsum

from scenarios.activation import Activation, ByName, Numbers, Static, These, Threshold
from scenarios.deliveries import Independent, Marked
from scenarios.errors import refused
from scenarios.sections import AccessTime, Robots
from scenarios.validity import check_length


def access_times(robots: Robots) -> list[tuple[AccessTime, int]]:
    """The access times of all classes with how many robots have them; none of joint deliveries."""
    if robots.classes is not None:
        return [(each.access_time, each.available) for each in robots.classes]
    return [] if robots.access_time is None else [(robots.access_time, robots.available)]


def numbers_by_class(robots: Robots, given: Numbers, key: str) -> tuple[int, ...]:
    """How many robots of each class are meant; a whole number means the first ones.

    Raises
    ------
    ScenarioError
        Naming the key, if there are no such classes, or fewer robots.
    """
    classes = robots.classes
    if classes is None:
        if not isinstance(given, int):
            raise refused("must be a whole number; robots.classes are needed for more", key=key)
        return (given,)
    available = [each.available for each in classes]
    if isinstance(given, int):
        before = [0, *accumulate(available)]
        return tuple(
            min(max(given - start, 0), count)
            for start, count in zip(before, available, strict=False)
        )
    if isinstance(given, ByName):
        names = [each.name for each in classes]
        if set(names) != set(given.root):
            shown = ", ".join(name or "one without a name" for name in names)
            raise refused(f"must name every class: {shown}", key=key, value=given.root)
        numbers = tuple(given.root[name] for name in names if name is not None)
        entries = [f"{key}.{name}" for name in names]
    else:
        numbers = given
        entries = [f"{key}[{index}]" for index in range(len(given))]
    check_length(key, numbers, len(classes), "class")
    for index, (number, most) in enumerate(zip(numbers, available, strict=True)):
        if number > most:
            allowed = f"must be at most robots.classes[{index}].available ({most})"
            raise refused(allowed, key=entries[index], value=number)
    return numbers


def order_of_activation(robots: Robots, rule: Activation | None) -> Sequence[int]:
    """All robots in the order in which they become active, by their numbers.

    Whenever the rule has n robots active, they are the first n.
    """
    every = range(robots.available)
    if isinstance(rule, Static):
        steps: tuple[Numbers, ...] = (rule.root,)
    else:
        steps = rule.threshold.robots if isinstance(rule, Threshold) else ()
    if robots.classes is None or all(isinstance(step, int) for step in steps):
        return every
    starts = [0, *accumulate(each.available for each in robots.classes)]
    order: dict[int, None] = {}
    for step in reversed(steps):
        numbers = numbers_by_class(robots, step, "")
        for start, number in zip(starts, numbers, strict=False):
            order |= dict.fromkeys(range(start, start + number))
    return list(order | dict.fromkeys(every))


def class_of_each(robots: Robots) -> list[int]:
    """The class of each robot by its number; empty where there are no classes."""
    classes = robots.classes or ()
    return [index for index, each in enumerate(classes) for _ in range(each.available)]


def priced_alone(robots: Robots) -> tuple[str, int] | None:
    """What has a price of its own, and how many of them: robots or classes; None: neither."""
    if robots.classes is not None:
        return "class", len(robots.classes)
    told_apart = isinstance(robots.deliveries, Independent | Marked)
    return ("robot", robots.available) if told_apart else None


def mean_price(robots: Robots, rule: Activation | None, prices: Sequence[float]) -> float:
    """The mean price of the active robots where always the same ones are active; 0 of none.

    Parameters
    ----------
    robots : Robots
    rule : Activation or None
        A fixed number or set of robots; all of them otherwise.
    prices : sequence of float
        One for each of `priced_alone`.
    """
    if isinstance(rule, These):
        active: Sequence[int] = rule.root
    else:
        count = rule.robots if isinstance(rule, Static) else robots.available
        active = order_of_activation(robots, rule)[:count]
    counts = [count for _, count in access_times(robots)]
    of_robot = [index for index, count in enumerate(counts) for _ in range(count)]
    paid = [prices[of_robot[robot] if of_robot else robot] for robot in active]
    return fsum(paid) / len(paid) if paid else 0.0
