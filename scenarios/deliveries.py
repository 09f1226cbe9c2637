"""Joint delivery processes of all robots, and their common form: one BMAP per number of robots.

The four interpretations of avrachenkov2011, section 2 (docs/theory/indexing-queue.md): independent
robots, thinned batches, marked batches, and free modes. `as_modes` writes the first three as the
fourth.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache
from typing import Annotated, ClassVar, Self

import numpy as np
from pydantic import Field, model_validator

from scenarios.activation import Activation, These
from scenarios.arrays import Array
from scenarios.base import Matrix, Number, OneKey, Section
from scenarios.errors import refused
from scenarios.processes import Map, Markovian, Mmpp, Poisson
from scenarios.text import counted
from scenarios.validity import check_batches, check_probabilities

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


class _Joint(Section):
    """A process of all robots together; each page is of a class drawn by the shares, if any."""

    whole: ClassVar[bool] = True
    shares: tuple[Number, ...] | None = None

    @model_validator(mode="after")
    def _shares_valid(self) -> Self:
        if self.shares is not None:
            check_probabilities("shares", self.shares)
        return self


class Modes(_Joint):
    """Interpretation 4: a process for each number of active robots, with a common phase."""

    key: ClassVar[str] = "modes"
    modes: tuple[Markovian, ...]

    @property
    def root(self) -> tuple[Markovian, ...]:
        """By the number of active robots, from one on."""
        return self.modes

    @model_validator(mode="after")
    def _one_order(self) -> Modes:
        orders = [batch_matrices(process).shape[1] for process in self.root]
        for index, order in enumerate(orders):
            if order != orders[0]:
                allowed = f"has {counted(order, 'phase')}; must have {orders[0]} as [0] has"
                raise refused(allowed, key=f"modes[{index}]")
        return self

    @property
    def robots(self) -> int:
        """Number of robots for which there is an entry."""
        return len(self.root)


class Independent(_Joint):
    """Interpretation 1: one independent process per robot; a switched-off one runs on unheard."""

    key: ClassVar[str] = "independent"
    independent: tuple[Markovian, ...]

    @property
    def root(self) -> tuple[Markovian, ...]:
        """One for each robot."""
        return self.independent

    @model_validator(mode="after")
    def _moderate(self) -> Independent:
        order = 1
        for process in self.root:
            order *= batch_matrices(process).shape[1]
            if order > LARGEST_ORDER:
                allowed = f"together have more than {LARGEST_ORDER} joint phases"
                raise refused(allowed, key="independent")
        return self

    @property
    def robots(self) -> int:
        """Number of robots for which there is an entry."""
        return len(self.root)


class ThinnedProcess(Section):
    """One process; for each number of robots a share of its batches is kept."""

    process: Markovian
    keep: tuple[Annotated[Number, Field(ge=0, le=1)], ...]


class Thinned(_Joint):
    """Interpretation 2: whole batches are kept with a probability given by the active robots."""

    key: ClassVar[str] = "thinned"
    thinned: ThinnedProcess

    @property
    def root(self) -> ThinnedProcess:
        """The process, and what is kept of it."""
        return self.thinned

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


class Marked(_Joint):
    """Interpretation 3: the batches of a switched-off robot are not delivered."""

    key: ClassVar[str] = "marked"
    marked: MarkedRobots

    @property
    def root(self) -> MarkedRobots:
        """The common chain."""
        return self.marked

    @property
    def robots(self) -> int:
        """Number of robots for which there is an entry."""
        return len(self.root.robots)


Deliveries = Annotated[Modes | Independent | Thinned | Marked, OneKey()]
"""The joint delivery process of all robots."""


def joint_size(deliveries: Deliveries) -> tuple[int, int]:
    """Joint phases and the largest batch of `as_modes`, which is not built."""
    if isinstance(deliveries, Marked):
        return len(deliveries.root.D0), max(map(len, deliveries.root.robots))
    if isinstance(deliveries, Thinned):
        sizes = [batch_matrices(deliveries.root.process).shape]
    else:
        sizes = [batch_matrices(process).shape for process in deliveries.root]
    orders = [order for _, order, _ in sizes]
    joint = math.prod(orders) if isinstance(deliveries, Independent) else orders[0]
    return joint, max(count for count, _, _ in sizes) - 1


def brings_pages(deliveries: Deliveries, active: int) -> bool:
    """Whether this many active robots ever deliver a page; `as_modes` is not built."""
    if isinstance(deliveries, Marked):
        heard = [matrix for robot in deliveries.root.robots[:active] for matrix in robot]
        return any(np.any(matrix) for matrix in heard)
    if isinstance(deliveries, Thinned):
        kept = (0.0, *deliveries.root.keep)[active]
        return kept > 0 and _has_batches(deliveries.root.process)
    if isinstance(deliveries, Independent):
        return any(_has_batches(process) for process in deliveries.root[:active])
    return active > 0 and _has_batches(deliveries.root[active - 1])


def _has_batches(process: Markovian) -> bool:
    return bool(batch_matrices(process)[1:].any())


def _stack(matrices: list[Array], largest: int) -> Array:
    """Pad each stack D0 … Dk with zero matrices up to `largest`, and stack them."""
    padded = [
        np.concatenate([each, np.zeros((largest + 1 - len(each), *each.shape[1:]))])
        for each in matrices
    ]
    return np.array(padded)


@lru_cache(maxsize=8)
def modes_of(deliveries: Deliveries, activation: Activation | None) -> Array:
    """`as_modes` under a rule; where that names its robots, that many of them are active.

    The array is that of all who ask, and cannot be written.
    """
    first = activation.root if isinstance(activation, These) else ()
    modes = as_modes(deliveries, first)
    modes.flags.writeable = False
    return modes


def as_modes(deliveries: Deliveries, first: Sequence[int] = ()) -> Array:
    """D0, D1, … while 0, 1, … robots are active.

    With no robot active nothing is delivered: the phase stands still where the modes are free,
    and runs on under the other three interpretations.

    Parameters
    ----------
    deliveries : Deliveries
    first : sequence of int
        Independent or marked robots that become active before the others; the order of the file
        otherwise.

    Returns
    -------
    ndarray, shape (robots + 1, largest batch + 1, order, order)

    Notes
    -----
    avrachenkov2011, section 2; the matrices are derived in docs/theory/indexing-queue.md.
    """
    if isinstance(deliveries, Modes):
        return _free_modes(deliveries)
    if isinstance(deliveries, Thinned):
        batches = batch_matrices(deliveries.root.process)
        return np.array([_thin(batches, keep) for keep in (0.0, *deliveries.root.keep)])
    if isinstance(deliveries, Independent):
        return superposed([batch_matrices(process) for process in deliveries.root], first)
    hidden = np.array(deliveries.root.D0)
    robots = [_unmarked(each, hidden.shape) for each in deliveries.root.robots]
    return _first_robots_heard(hidden, robots, first)


def superposed(processes: Sequence[Array], first: Sequence[int] = ()) -> Array:
    """D0, D1, … of independent processes while the first 0, 1, … of them are heard.

    Parameters
    ----------
    processes : sequence of ndarray, shape (largest batch + 1, order, order)
        D0, D1, … of each.
    first : sequence of int
        As `as_modes`.
    """
    lifted = _lifted(processes)
    hidden = sum((each[0] for each in lifted), np.zeros_like(lifted[0][0]))
    return _first_robots_heard(hidden, lifted, first)


def alone(deliveries: Independent | Marked, robots: Sequence[int]) -> Independent | Marked:
    """The joint process of some robots, where nobody hears the others: one entry for each."""
    if isinstance(deliveries, Independent):
        return Independent(independent=tuple(deliveries.root[robot] for robot in robots))
    marked = deliveries.root.robots
    unheard = [np.array(each).sum(axis=0) for r, each in enumerate(marked) if r not in robots]
    hidden = np.array(deliveries.root.D0) + sum(unheard, np.zeros((1, 1)))
    rows = tuple(map(tuple, hidden.tolist()))
    own = tuple(marked[robot] for robot in robots)
    return Marked(marked=MarkedRobots(D0=rows, robots=own))


def order_of(deliveries: Independent | Marked, robots: Sequence[int]) -> int:
    """Number of phases of `alone`."""
    if isinstance(deliveries, Marked):
        return len(deliveries.root.D0)
    return math.prod(batch_matrices(deliveries.root[robot]).shape[1] for robot in robots)


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


def _lifted(robots: Sequence[Array]) -> list[Array]:
    """Each robot's matrices on the joint phase (Kronecker products with identities)."""
    orders = [each.shape[1] for each in robots]
    lifted = []
    for place, each in enumerate(robots):
        before = int(np.prod(orders[:place]))
        after = int(np.prod(orders[place + 1 :]))
        joint = [np.kron(np.kron(np.eye(before), matrix), np.eye(after)) for matrix in each]
        lifted.append(np.array(joint))
    return lifted


def _first_robots_heard(hidden: Array, robots: list[Array], first: Sequence[int]) -> Array:
    """Modes in which the first r robots deliver and the others move the phase unheard."""
    largest = max(len(each) for each in robots) - 1
    others = [robot for robot in range(len(robots)) if robot not in first]
    stacks = _stack([robots[robot] for robot in (*first, *others)], largest)
    modes = []
    for active in range(len(robots) + 1):
        mode = stacks[:active].sum(axis=0)
        mode[0] = hidden + stacks[active:, 1:].sum(axis=(0, 1))
        modes.append(mode)
    return np.array(modes)
