"""Joint delivery processes of all robots, and their common form: one BMAP per number of robots.

The four interpretations of avrachenkov2011 (formulas of section 1): independent robots,
thinned batches, marked batches, and free modes. `as_modes` writes the first three as the fourth.
"""

from __future__ import annotations

import math
from typing import Annotated, Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from pydantic import ConfigDict, Field, RootModel, model_validator

from scenarios.base import Matrix, Number, OneKey, Section
from scenarios.errors import refused
from scenarios.processes import Map, Markovian, Mmpp, Poisson
from scenarios.validity import check_batches

__all__ = [
    "Deliveries",
    "Independent",
    "Marked",
    "MarkedRobots",
    "Modes",
    "Thinned",
    "ThinnedProcess",
    "as_modes",
    "batch_matrices",
    "joint_shape",
]

Array = NDArray[np.floating[Any]]

LARGEST_ORDER = 1024
"""Largest number of joint phases; the matrices of more would not fit."""


def batch_matrices(process: Markovian) -> Array:
    """D0, D1, … of a Markovian process.

    Returns
    -------
    ndarray, shape (largest batch + 1, order, order)
    """
    if isinstance(process, Poisson):
        return np.array([[[-process.rate]], [[process.rate]]])
    if isinstance(process, Mmpp):
        arrivals = np.diag(process.rates)
        return np.array([np.array(process.Q) - arrivals, arrivals])
    if isinstance(process, Map):
        return np.array([process.D0, process.D1])
    return np.array(process.D)


class Modes(RootModel[tuple[Markovian, ...]]):
    """Interpretation 4: a process for each number of active robots, with a common phase."""

    model_config = ConfigDict(frozen=True)
    key: ClassVar[str] = "modes"

    @model_validator(mode="after")
    def _one_order(self) -> Modes:
        orders = [batch_matrices(process).shape[1] for process in self.root]
        for index, order in enumerate(orders):
            if order != orders[0]:
                allowed = f"has {order} phases; must have {orders[0]} as [0] has"
                raise refused(allowed, key=f"[{index}]")
        return self

    @property
    def robots(self) -> int:
        """Number of robots for which there is an entry."""
        return len(self.root)


class Independent(RootModel[tuple[Markovian, ...]]):
    """Interpretation 1: one independent process per robot; a switched-off one runs on unheard."""

    model_config = ConfigDict(frozen=True)
    key: ClassVar[str] = "independent"

    @model_validator(mode="after")
    def _moderate(self) -> Independent:
        order = 1
        for process in self.root:
            order *= batch_matrices(process).shape[1]
            if order > LARGEST_ORDER:
                raise refused(f"together have more than {LARGEST_ORDER} joint phases")
        return self

    @property
    def robots(self) -> int:
        """Number of robots for which there is an entry."""
        return len(self.root)


class ThinnedProcess(Section):
    """One process, of which a share of the batches is kept for each number of robots."""

    process: Markovian
    keep: tuple[Annotated[Number, Field(ge=0, le=1)], ...]


class Thinned(RootModel[ThinnedProcess]):
    """Interpretation 2: whole batches are kept with a probability given by the active robots."""

    model_config = ConfigDict(frozen=True)
    key: ClassVar[str] = "thinned"

    @property
    def robots(self) -> int:
        """Number of robots for which there is an entry."""
        return len(self.root.keep)


class MarkedRobots(Section):
    """A common chain whose batches carry the number of the robot that brings them."""

    D0: Matrix
    robots: tuple[tuple[Matrix, ...], ...]

    @model_validator(mode="after")
    def _valid(self) -> MarkedRobots:
        batches = [
            (f"robots[{robot}][{index}]", matrix)
            for robot, matrices in enumerate(self.robots)
            for index, matrix in enumerate(matrices)
        ]
        check_batches("D0", self.D0, batches)
        return self


class Marked(RootModel[MarkedRobots]):
    """Interpretation 3: the batches of a switched-off robot are not delivered."""

    model_config = ConfigDict(frozen=True)
    key: ClassVar[str] = "marked"

    @property
    def robots(self) -> int:
        """Number of robots for which there is an entry."""
        return len(self.root.robots)


Deliveries = Annotated[Modes | Independent | Thinned | Marked, OneKey()]
"""The joint delivery process of all robots."""


def joint_shape(deliveries: Deliveries) -> tuple[int, int]:
    """Number of joint phases, and the largest batch, without the matrices of all robots.

    Those of `as_modes`, of shape (robots + 1, largest batch + 1, phases, phases).
    """
    if isinstance(deliveries, Marked):
        return len(deliveries.root.D0), max(map(len, deliveries.root.robots))
    if isinstance(deliveries, Thinned):
        shapes = [batch_matrices(deliveries.root.process).shape]
    else:
        shapes = [batch_matrices(process).shape for process in deliveries.root]
    largest = max(shape[0] for shape in shapes) - 1
    if isinstance(deliveries, Independent):
        return math.prod(shape[1] for shape in shapes), largest
    return shapes[0][1], largest


def _stack(matrices: list[Array], largest: int) -> Array:
    """Pad each stack D0 … Dk with zero matrices up to `largest`, and stack them."""
    padded = [
        np.concatenate([each, np.zeros((largest + 1 - len(each), *each.shape[1:]))])
        for each in matrices
    ]
    return np.array(padded)


def as_modes(deliveries: Deliveries) -> Array:
    """D0, D1, … while 0, 1, … robots are active.

    With no robot active nothing is delivered: the phase stands still where the modes are free,
    and runs on under the other three interpretations.

    Returns
    -------
    ndarray, shape (robots + 1, largest batch + 1, order, order)

    Notes
    -----
    avrachenkov2011, section 2; the catalogue's section 1, "the four arrival interpretations".
    """
    if isinstance(deliveries, Modes):
        return _free_modes(deliveries)
    if isinstance(deliveries, Thinned):
        batches = batch_matrices(deliveries.root.process)
        return np.array([_thin(batches, keep) for keep in (0.0, *deliveries.root.keep)])
    if isinstance(deliveries, Independent):
        robots = _lifted([batch_matrices(process) for process in deliveries.root])
        hidden = sum((each[0] for each in robots), np.zeros_like(robots[0][0]))
    else:
        hidden = np.array(deliveries.root.D0)
        robots = [_unmarked(each, hidden.shape) for each in deliveries.root.robots]
    return _first_robots_heard(hidden, robots)


def _free_modes(deliveries: Modes) -> Array:
    matrices = [batch_matrices(process) for process in deliveries.root]
    still = np.zeros_like(matrices[0])
    return _stack([still, *matrices], max(len(each) for each in matrices) - 1)


def _thin(batches: Array, keep: float) -> Array:
    thinned = keep * batches
    thinned[0] = batches[0] + (1 - keep) * batches[1:].sum(axis=0)
    return thinned


def _unmarked(batches: tuple[Matrix, ...], shape: tuple[int, ...]) -> Array:
    """The batches of one robot with an empty D0 in front."""
    return np.array([np.zeros(shape), *map(np.array, batches)])


def _lifted(robots: list[Array]) -> list[Array]:
    """Each robot's matrices on the joint phase (Kronecker products with identities)."""
    orders = [each.shape[1] for each in robots]
    lifted = []
    for place, each in enumerate(robots):
        before, after = int(np.prod(orders[:place])), int(np.prod(orders[place + 1 :]))
        joint = [np.kron(np.kron(np.eye(before), matrix), np.eye(after)) for matrix in each]
        lifted.append(np.array(joint))
    return lifted


def _first_robots_heard(hidden: Array, robots: list[Array]) -> Array:
    """Modes in which the first r robots deliver and the others move the phase unheard."""
    largest = max(len(each) for each in robots) - 1
    stacks = _stack(robots, largest)
    modes = []
    for active in range(len(robots) + 1):
        mode = stacks[:active].sum(axis=0)
        mode[0] = hidden + stacks[active:, 1:].sum(axis=(0, 1))
        modes.append(mode)
    return np.array(modes)
