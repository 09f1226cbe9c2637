"""Robots that are switched on one at a time: what they may be doing.

A mode is how many robots of each class are active, in which state of their common environment.
Robots that are alike are one class; without an environment there is one state of it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from scenarios.activation import Switching
from scenarios.arrays import Array, IntArray
from scenarios.choices import (
    active_by_class,
    choices_of,
    class_sizes,
    combinations,
    steps_of,
    tables_of,
)
from scenarios.sections import Robots


@dataclass(frozen=True)
class Modes:
    """The modes, by state of the environment and then by numbers of active robots.

    Attributes
    ----------
    rates : sequence of float, or ndarray
        Deliveries per unit time of an active robot of each class, at speed 1.
    sizes : tuple of int
        Robots of each class.
    environment : ndarray, shape (states, states)
        Q, the generator of the environment.
    speeds : ndarray, shape (states,)
        How fast accesses run in each of its states.
    """

    rates: Sequence[float] | Array
    sizes: tuple[int, ...]
    environment: Array = field(default_factory=lambda: np.zeros((1, 1)))
    speeds: Array = field(default_factory=lambda: np.ones(1))

    @property
    def available(self) -> int:
        """Robots of all classes."""
        return sum(self.sizes)

    @property
    def combinations(self) -> int:
        """Combinations of numbers of active robots."""
        return combinations(self.sizes)

    @property
    def states(self) -> int:
        """States of the environment."""
        return len(self.speeds)

    @property
    def number(self) -> int:
        """How many modes there are."""
        return self.states * self.combinations

    @cached_property
    def active(self) -> IntArray:
        """Active robots of each class, shape (modes, classes)."""
        return np.tile(active_by_class(self.sizes), (self.states, 1))

    @cached_property
    def fewer(self) -> IntArray:
        """The mode with a robot of each class less, -1 where there is none."""
        here = np.arange(self.number)[:, None]
        return np.where(self.active > 0, here - steps_of(self.sizes), -1)

    @cached_property
    def more(self) -> IntArray:
        """The mode with a robot of each class more, -1 where there is none."""
        here = np.arange(self.number)[:, None]
        return np.where(self.active < self.sizes, here + steps_of(self.sizes), -1)

    @cached_property
    def heard(self) -> Array:
        """Deliveries per unit time by robots of each class, shape (modes, classes)."""
        by_class = active_by_class(self.sizes) * np.asarray(self.rates)
        return np.kron(self.speeds[:, None], by_class)

    @cached_property
    def deliveries(self) -> Array:
        """Deliveries per unit time, shape (modes,)."""
        result: Array = self.heard.sum(axis=1)
        return result

    @property
    def changes(self) -> Array:
        """Rates between the states of the environment, without a diagonal."""
        return self.environment - np.diag(np.diag(self.environment))


def as_written(tables: IntArray, modes: Modes, inner: tuple[int, ...]) -> list[Any]:
    """What a rule says in each mode, or state of the environment, as a scenario file has it.

    Parameters
    ----------
    tables : ndarray of int, shape (service phases, levels, modes or states)
    modes : Modes
    inner : tuple of int
        Shape of what is said in one state at a level: one number or by active robots.
    """
    by_state = np.moveaxis(tables.reshape(*tables.shape[:2], modes.states, -1), 2, 0)
    written = by_state.reshape(*by_state.shape[:3], *inner)
    if np.all(written == written[:, :1]):
        written = written[:, 0]
    if len(written) == 1 or (written.ndim == 2 + len(inner) and np.all(written == written[:1])):
        written = written[0]
    result: list[Any] = written.tolist()
    return result


def modes_of(robots: Robots, rates: Sequence[float] | Array) -> Modes:
    """The modes of the robots of a scenario, with the deliveries of each class at speed 1."""
    if robots.environment is None:
        return Modes(rates, class_sizes(robots))
    around = robots.environment
    return Modes(rates, class_sizes(robots), np.array(around.Q), np.array(around.speeds))


def choices_by_mode(robots: Robots, rule: Switching) -> IntArray:
    """The class switched on in each state, or `NO_CLASS`; shape (phases or 1, levels, modes).

    Parameters
    ----------
    robots : Robots
    rule : Switching
        With lists for each state of the environment, or one for all of them.
    """
    given = choices_of(robots, rule)
    states = 1 if robots.environment is None else robots.environment.states
    by_state = given.reshape(*tables_of(robots, rule), *given.shape[1:])
    everywhere = np.broadcast_to(by_state, (states, *by_state.shape[1:]))
    return np.moveaxis(everywhere, 0, 2).reshape(*by_state.shape[1:3], -1)
