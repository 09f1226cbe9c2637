"""Rules that switch robots of several classes: which class, for each state of the system.

The robots that are active are counted class by class; a combination of these numbers has a place,
in the order in which nested lists have their entries.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from math import prod
from typing import Any

import numpy as np

from scenarios.activation import Switching
from scenarios.arrays import IntArray
from scenarios.errors import refused
from scenarios.sections import Buffer, RobotClass, Robots
from scenarios.service_phases import seen_phases
from scenarios.text import counted
from scenarios.validity import check_length

NO_CLASS = -1
"""The choice that switches nobody on."""


def class_sizes(robots: Robots) -> tuple[int, ...]:
    """Robots that there are of each class; all of them where there are no classes."""
    if robots.classes is None:
        return (robots.available,)
    return tuple(each.available for each in robots.classes)


def combinations(sizes: tuple[int, ...]) -> int:
    """How many combinations of numbers of active robots there are."""
    return prod(size + 1 for size in sizes)


def active_by_class(sizes: tuple[int, ...]) -> IntArray:
    """Active robots of each class in each combination, shape (combinations, classes)."""
    return np.array(list(product(*(range(size + 1) for size in sizes))))


def steps_of(sizes: tuple[int, ...]) -> IntArray:
    """By how much one robot more of each class moves the place of a combination."""
    after = [prod(size + 1 for size in sizes[index + 1 :]) for index in range(len(sizes))]
    return np.array(after, dtype=np.int64)


def tells_classes_apart(robots: Robots | None, rule: object) -> bool:
    """Whether robots of classes are switched one at a time, so that each class has its own mean."""
    return robots is not None and robots.classes is not None and isinstance(rule, Switching)


def tables_of(robots: Robots, rule: Switching) -> tuple[int, int]:
    """How many states of the environment, and phases of the service, a rule tells apart.

    Its lists of targets, or tables of choices, are in this order.
    """
    tables = len(rule.targets if rule.choices is None else choices_of(robots, rule))
    states = 1 if robots.environment is None or tables == 1 else robots.environment.states
    return states, tables // states


def looks_at_service(robots: Robots | None, rule: Switching) -> bool:
    """Whether the rule has a table for each phase of the service."""
    return robots is not None and tables_of(robots, rule)[1] > 1


def choices_of(robots: Robots, rule: Switching) -> IntArray:
    """The class switched on in each state, or `NO_CLASS`.

    Where the rule has targets, it is the first class with a robot that is not active, if fewer are
    active than the target.

    Returns
    -------
    ndarray of int, shape (tables, levels, combinations)
        One table for each state of the environment and phase of the service that are told apart.
    """
    sizes = class_sizes(robots)
    if rule.choices is not None:
        given = np.array(rule.choices)
        depth = len(sizes) + 1
        levels = given.shape[-depth]
        return given.reshape(-1, levels, combinations(sizes))
    active = active_by_class(sizes)
    idle = active < np.array(sizes)
    first = np.where(idle.any(axis=1), idle.argmax(axis=1), NO_CLASS)
    wanted = active.sum(axis=1) < np.array(rule.targets)[..., None]
    return np.where(wanted, first, NO_CLASS)


def check_choices(rule: Switching, buffer: Buffer, robots: Robots) -> None:
    """Refuse choices that do not fit the classes, the levels and what else is seen.

    Raises
    ------
    ScenarioError
        Naming the entry of ``activation.switching.choices``.
    """
    key = "activation.switching.choices"
    classes = robots.classes
    if classes is None:
        raise refused("needs robots.classes", key=key, value=rule.choices)
    levels = (buffer.capacity + 1, f"level 0 … {buffer.capacity_in_words}")
    shape = [levels, *_numbers_of(classes)]
    more = _depth(rule.choices) - len(shape)
    shape = [*_told_apart(more, buffer, robots, key, rule.choices), *shape]
    for place, choice in _entries(rule.choices, shape, key):
        _check_choice(choice, place[-len(classes) - 1 :], classes, _named(key, place))


def check_targets(rule: Switching, buffer: Buffer, robots: Robots) -> None:
    """Refuse targets that do not fit the levels and what else is seen.

    Raises
    ------
    ScenarioError
        Naming the entry of ``activation.switching.targets``.
    """
    key = "activation.switching.targets"
    given = rule.root.targets
    shape = _told_apart(_depth(given) - 1, buffer, robots, key, given)
    levels = (buffer.capacity + 1, f"level 0 … {buffer.capacity_in_words}")
    for _ in _entries(given, [*shape, levels], key):
        pass


def _told_apart(
    more: int, buffer: Buffer, robots: Robots, key: str, given: Any
) -> list[tuple[int, str]]:
    """What the outer lists of a rule are for: states of the environment, phases of the service."""
    around = robots.environment
    states = 1 if around is None else around.states
    outer = []
    if more > 0 and around is not None and states > 1:
        if not around.seen:
            raise refused("must be one list: robots.environment.seen = false", key=key, value=given)
        outer.append((states, "state of the environment"))
    if more > len(outer):
        if buffer.servers > 1:
            allowed = f"must be one list: {buffer.servers} servers have no one service phase"
            raise refused(allowed, key=key, value=given)
        if buffer.batches is not None:
            allowed = "must be one list: a server that waits for a batch has no service phase"
            raise refused(allowed, key=key, value=given)
        if (resting := buffer.resting) is not None:
            allowed = f"must be one list: with buffer.{resting} pages wait without a service phase"
            raise refused(allowed, key=key, value=given)
        seen = seen_phases(buffer.service)
        outer.append((1 if seen is None else len(seen.alpha), "phase of the service"))
    return outer


def _numbers_of(classes: tuple[RobotClass, ...]) -> Iterator[tuple[int, str]]:
    for index, each in enumerate(classes):
        which = each.name or f"class {index}"
        yield each.available + 1, f"number of active robots of {which}, 0 … {each.available}"


def _depth(given: Any) -> int:
    """How deep the lists are nested, along the first entries."""
    depth = 0
    while isinstance(given, tuple):
        depth += 1
        given = given[0] if given else None
    return depth


def _named(key: str, place: tuple[int, ...]) -> str:
    return key + "".join(f"[{index}]" for index in place)


def _entries(
    given: Any, shape: list[tuple[int, str]], key: str, place: tuple[int, ...] = ()
) -> Iterator[tuple[tuple[int, ...], int]]:
    """The numbers in nested lists, with their places; lists of another shape are refused."""
    if not shape:
        if isinstance(given, tuple):
            allowed = "must be a number: the class that is switched on, or -1"
            raise refused(allowed, key=_named(key, place), value=given)
        yield place, given
        return
    needed, of_each = shape[0]
    if not isinstance(given, tuple):
        allowed = f"must be a list of {counted(needed, 'entry')}, one per {of_each}"
        raise refused(allowed, key=_named(key, place), value=given)
    check_length(_named(key, place), given, needed, of_each)
    for index, each in enumerate(given):
        yield from _entries(each, shape[1:], key, (*place, index))


def _check_choice(
    choice: int, state: tuple[int, ...], classes: tuple[RobotClass, ...], key: str
) -> None:
    """Refuse a class that does not exist, or has no robot left, and rest where nothing goes on."""
    level, *active = state
    if choice == NO_CLASS:
        if not level and not any(active):
            allowed = "must be a class: with nothing in the system, some robot must be active"
            raise refused(allowed, key=key, value=choice)
        return
    if not 0 <= choice < len(classes):
        allowed = f"must be a class, 0 … {len(classes) - 1}, or -1: nobody is switched on"
        raise refused(allowed, key=key, value=choice)
    if active[choice] == classes[choice].available:
        all_active = f"no robot of class {choice} is at rest in that state"
        raise refused(f"must be another class, or -1: {all_active}", key=key, value=choice)
