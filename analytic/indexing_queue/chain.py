"""The Markov chain of the indexing queue: level, arrival phase, service phase, patience phases.

avrachenkov2011, section 3 (the Lemma on the blocks of the generator), as derived in
docs/theory/indexing-queue.md. States are ordered by level, then by arrival phase, service phase and
the phases of the waiting pages' patience in their order of arrival. That order matters: counting
the pages in each phase is another model.

`QueueChain` keeps the factors of the blocks, `rate_blocks` multiplies them out.
Push-out does not change how many pages there are: what it does to each is in `unordered_sojourns`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from typing import TYPE_CHECKING, Any, NamedTuple, assert_never

import numpy as np
import scipy
from numpy.typing import NDArray

from analytic.machinery.phase_type import PhaseLaw
from analytic.machinery.refusal import NoAnswerError
from analytic.machinery.robot_modes import Modes
from analytic.machinery.state_space import Move
from scenarios.arrays import Array, Indices, IntArray
from scenarios.model import ServiceOrder

if TYPE_CHECKING:
    from scipy.sparse import coo_array

Moves = dict[int, Array]
Matrix = Any
"""A dense matrix, or a sparse one of scipy."""

Block = tuple[int, int, Matrix]
"""Rates from a level to another one, and these levels."""

Identity = Callable[[int], Matrix]

_LARGEST_BLOCK = 256
"""States of a level up to which blocks of rates are dense matrices."""

UNLIMITED_PATIENCE = PhaseLaw(np.ones(1), np.zeros((1, 1)))
"""Patience that never runs out: one phase without exit."""


def accepted_pages(level: int, batch: int, capacity: int, admission: str) -> int:
    """Pages of a batch that enter when it meets `level` pages.

    Parameters
    ----------
    level, batch : int
    capacity : int
        Pages that the buffer holds, the one in service included.
    admission : {"partial", "reject", "complete"}

    Notes
    -----
    avrachenkov2011, section 2: partial admission, complete rejection, complete admission.
    """
    room = max(capacity - level, 0)
    entering = {
        "partial": min(batch, room),
        "reject": batch if batch <= room else 0,
        "complete": batch if room else 0,
    }
    return entering[admission]


def count_states(order: int, service_phases: int, patience_phases: int, top: int) -> int:
    """Number of states: ``W (1 + M (1 + R + … + R^(top - 1)))``.

    avrachenkov2011, section 3; for one phase of patience ``W (1 + M top)``.
    """
    vectors: int = sum(patience_phases**waiting for waiting in range(top))
    return order * (1 + service_phases * vectors)


@dataclass(frozen=True)
class QueueChain:
    """The chain in the factors of its Kronecker products; no matrix over its states.

    Parameters
    ----------
    arrivals : tuple of dict, one per level
        By the number of pages that enter, the rates from arrival phase to arrival phase, shape
        (phases, order, order): one matrix for each service phase after the event, or a single one
        where that does not matter. Entry 0 holds changes of phase without an entry, refused
        batches included; its diagonal is zero.
    turnover : tuple of ndarray, one per level
        Probabilities of the arrival phase after a service completion at that level (from level 1
        on), given the one before, shape (phases, order, order) in the same sense.
    batch_rates : ndarray, shape (levels, largest batch + 1, order, service phases or 1)
        Rate of deliveries of k pages at once, by level, arrival phase and service phase, or where
        that does not matter by the first two (k = 0 is not used).
    active : ndarray, shape (levels, order, service phases or 1)
        Active robots.
    accepted : ndarray of int, shape (levels, largest batch + 1)
        Pages of a batch that enter.
    service, patience : PhaseLaw
    start : int or None
        State at time 0, needed where the chain has closed classes that cannot be reached from it.
    by_class : ndarray or None
        Active robots of each class, shape (classes, order), where the arrival phase says it.
    settled : ndarray of int or None
        Where switches of robots are counted: the arrival phase after an event that leaves the
        system at a level, by the one before, shape (levels, order). Obsolescence changes it too
        then, not only deliveries and services.
    """

    arrivals: tuple[Moves, ...]
    turnover: tuple[Array, ...]
    batch_rates: Array
    active: Array
    accepted: NDArray[np.intp]
    service: PhaseLaw
    patience: PhaseLaw
    start: int | None = None
    by_class: Array | None = None
    settled: IntArray | None = None

    @property
    def top(self) -> int:
        """The highest level."""
        return len(self.arrivals) - 1

    @property
    def order(self) -> int:
        """Arrival phases (or numbers of active robots)."""
        return int(self.active.shape[1])

    @property
    def service_phases(self) -> int:
        """M, phases of a service."""
        return len(self.service.start)

    @property
    def patience_phases(self) -> int:
        """R, phases of a page's patience."""
        return len(self.patience.start)

    @cached_property
    def inner(self) -> tuple[int, ...]:
        """States of each level per arrival phase: ``1, M, M R, M R^2, …``."""
        vectors = (self.patience_phases**waiting for waiting in range(self.top))
        return (1, *(self.service_phases * each for each in vectors))

    @cached_property
    def obsolescence(self) -> list[Array]:
        """Obsolescences per unit time of n = 0, 1, … waiting pages, by the phases of all of them.

        Shapes (R^n,): a fourth of the memory that the probabilities of two phases need.
        """
        rates: list[Array] = [np.zeros(1)]
        for _ in range(self.top - 1):
            rates.append((rates[-1][:, None] + self.patience.exit_rates).ravel())
        return rates

    @property
    def starts(self) -> NDArray[np.int64]:
        """First state of each level, and the number of states, shape (levels + 1,)."""
        sizes = self.order * np.array(self.inner, dtype=np.int64)
        return np.concatenate([[0], np.cumsum(sizes)])

    @property
    def states(self) -> int:
        """Number of states."""
        return count_states(self.order, self.service_phases, self.patience_phases, self.top)


def controlled_chain(
    modes: Array,
    robots_at: Callable[[int], int],
    service: PhaseLaw,
    patience: PhaseLaw,
    capacity: int,
    admission: str,
) -> QueueChain:
    """The chain under a number of active robots that depends on the level (static, threshold).

    Parameters
    ----------
    modes : ndarray, shape (robots + 1, largest batch + 1, order, order)
        D0, D1, … for each number of active robots; the phase is kept at a change of mode. The
        diagonal of D0 is not used.
    robots_at : callable
        Active robots at a level.
    service, patience : PhaseLaw
        Laws of the service time, and of a waiting page's patience (or `UNLIMITED_PATIENCE`).
    capacity : int
        Pages that the buffer holds, the one in service included.
    admission : {"partial", "reject", "complete"}
        Levels reach ``capacity + largest batch - 1`` under "complete".

    Notes
    -----
    avrachenkov2011, Lemma of section 3, as derived in docs/theory/indexing-queue.md.
    """
    order = modes.shape[2]
    accepted = admitted_by_level(modes, capacity, admission)
    top = len(accepted) - 1
    robots = [robots_at(level) for level in range(top + 1)]
    delivered = modes.sum(axis=3)

    # levels with the same robots and admissions share their matrices
    @cache
    def moves(active: int, entering: tuple[int, ...]) -> Moves:
        total: Moves = {}
        for batch, pages in enumerate(entering):
            total[pages] = total.get(pages, 0.0) + modes[active, batch][None]
        return without_stays(total)

    return QueueChain(
        arrivals=tuple(map(moves, robots, map(tuple, accepted.tolist()))),
        turnover=(np.eye(order)[None],) * (top + 1),
        batch_rates=delivered[robots][..., None],
        active=np.repeat(np.array(robots, dtype=float)[:, None], order, axis=1)[..., None],
        accepted=accepted,
        service=service,
        patience=patience,
    )


def admitted_by_level(modes: Array, capacity: int, admission: str) -> NDArray[np.intp]:
    """Pages of a batch that enter, shape (levels, largest batch + 1)."""
    largest = modes.shape[1] - 1
    top = capacity + (largest - 1 if admission == "complete" else 0)
    return np.array(
        [
            [accepted_pages(level, batch, capacity, admission) for batch in range(largest + 1)]
            for level in range(top + 1)
        ]
    )


def free_chain(
    modes: Array,
    robots: Sequence[Array],
    service: PhaseLaw,
    patience: PhaseLaw,
    capacity: int,
    admission: str,
) -> QueueChain:
    """The chain under numbers of active robots by level, arrival phase and service phase.

    Parameters
    ----------
    modes, service, patience, capacity, admission
        As `controlled_chain`.
    robots : sequence of ndarray of int, one per level
        Shape (order, service phases); at level 0 (order, 1).

    Notes
    -----
    The Lemma of avrachenkov2011, section 3, with the mode of each state in place of that of each
    level: a row of each matrix is taken from the matrices of its own mode.
    """
    accepted = admitted_by_level(modes, capacity, admission)
    phases = np.arange(modes.shape[2])
    delivered = modes.sum(axis=3)
    arrivals = []
    for entering, numbers in zip(accepted.tolist(), robots, strict=True):
        total: Moves = {}
        for batch, pages in enumerate(entering):
            rows = modes[numbers.T, batch, phases]
            total[pages] = total.get(pages, 0.0) + rows
        arrivals.append(without_stays(total))
    by_state = np.stack(
        [np.broadcast_to(each, (len(phases), len(service.start))) for each in robots]
    )
    rates = delivered[by_state, :, phases[:, None]]
    return QueueChain(
        arrivals=tuple(arrivals),
        turnover=(np.eye(len(phases))[None],) * len(robots),
        batch_rates=np.moveaxis(rates, 3, 1),
        active=by_state.astype(float),
        accepted=accepted,
        service=service,
        patience=patience,
    )


def without_stays(moves: Moves) -> Moves:
    """The same moves without those that change nothing, and without matrices of zeros."""
    if 0 in moves:
        moves[0] = moves[0] * (1 - np.eye(moves[0].shape[1]))
    return {entering: matrices for entering, matrices in moves.items() if matrices.any()}


def switched_chain(
    modes: Modes, choices: IntArray, service: PhaseLaw, patience: PhaseLaw, capacity: int
) -> QueueChain:
    """The chain of robots that are switched on one at a time; the arrival phase is their mode.

    Parameters
    ----------
    modes : Modes
    choices : ndarray of int, shape (service phases or 1, levels, modes)
        As `analytic.machinery.robot_modes.choices_by_mode`.
    service, patience : PhaseLaw
    capacity : int
        Pages that the buffer holds, the one in service included.

    Notes
    -----
    talim2001, section 2: a robot is switched off by its delivery; then, and at a service
    completion, one robot may be switched on. A change of the environment is not such an occasion.
    docs/theory/switching.md.
    """
    here = np.arange(modes.number)
    moved = np.column_stack([modes.more, here])  # NO_CLASS is -1, the last entry
    changes = np.kron(modes.changes, np.eye(modes.combinations))
    heard = modes.heard
    levels = range(capacity + 1)

    def decided(level: int, before: IntArray) -> Array:
        """Where robots go on from modes after an event, one matrix per service phase."""
        rows = choices if level > 0 else choices[:1]
        matrices = np.zeros((len(rows), len(here), len(here)))
        matrices[np.arange(len(rows))[:, None], here, moved[before, rows[:, level, before]]] = 1.0
        return matrices

    def moves(level: int) -> Moves:
        after = min(level + 1, capacity)
        total: Moves = {0: changes[None]} if modes.states > 1 else {}
        for rates, fewer in zip(heard.T, modes.fewer.T, strict=True):
            # a mode without such a robot has the rate 0, wherever it would go
            delivered = rates[:, None] * decided(after, np.maximum(fewer, 0))
            total[after - level] = total.get(after - level, 0.0) + delivered
        return total

    pages = np.stack([np.zeros(modes.number), modes.deliveries])
    active = modes.active.sum(axis=1, dtype=float)
    return QueueChain(
        arrivals=tuple(without_stays(moves(level)) for level in levels),
        turnover=tuple(decided(max(level - 1, 0), here) for level in levels),
        batch_rates=np.repeat(pages[None], capacity + 1, axis=0)[..., None],
        active=np.repeat(active[None], capacity + 1, axis=0)[..., None],
        accepted=np.array([[0, int(level < capacity)] for level in levels]),
        service=service,
        patience=patience,
        start=modes.combinations - 1,
        by_class=modes.active.T.astype(float),
    )


def dense_generator(chain: QueueChain) -> Array:
    """Rates between all states of a small chain, shape (states, states); no diagonal."""
    generator = np.zeros((chain.states, chain.states))
    add_blocks(generator, rate_blocks(chain), chain.starts)
    return generator


class Entries(NamedTuple):
    """Rates between all states, entry by entry; several of the same states add up.

    Attributes
    ----------
    rises : ndarray of int, shape (entries,)
        Levels that are risen, -1 where one is left.
    rows, columns : ndarray of int, shape (entries,)
        The states before and afterwards; where they are the same the rate has no meaning.
    rates : ndarray, shape (entries,)
    """

    rises: Indices
    rows: Indices
    columns: Indices
    rates: Array


def rate_entries(chain: QueueChain) -> Entries:
    """The rates of `rate_blocks` that are not zero."""
    return entries_of(rate_blocks(chain, _identity_of(chain)), chain.starts)


def entries_of(blocks: Iterable[Block], starts: Sequence[int] | IntArray) -> Entries:
    """What is not zero in blocks of rates between levels, where these start in the chain."""
    parts = []
    for origin, target, block in blocks:
        rows, columns, rates = _entries_of(block)
        rises = np.full(len(rows), target - origin)
        parts.append((rises, starts[origin] + rows, starts[target] + columns, rates))
    return Entries(*map(np.concatenate, zip(*parts, strict=True)))


def add_blocks(rates: Array, blocks: Iterable[Block], starts: Sequence[int] | IntArray) -> None:
    """Add blocks of rates between levels to those between all states."""
    for origin, target, block in blocks:
        rows = slice(starts[origin], starts[origin + 1])
        rates[rows, starts[target] : starts[target + 1]] += block


def _identity_of(chain: QueueChain) -> Identity:
    """Sparse, where blocks between the largest levels would be large matrices of zeros."""
    return np.eye if np.diff(chain.starts).max() <= _LARGEST_BLOCK else _sparse_identity


def _sparse_identity(size: int) -> coo_array:
    return scipy.sparse.eye_array(size, format="coo")


def _entries_of(block: Matrix) -> tuple[Indices, Indices, Array]:
    """Rows, columns and values of what is not zero, row by row."""
    if isinstance(block, np.ndarray):
        rows, columns = block.nonzero()
        return rows, columns, block[rows, columns]
    entries = block.tocsr().tocoo()
    return entries.row.astype(np.intp), entries.col.astype(np.intp), entries.data


def rate_blocks(chain: QueueChain, identity: Identity = np.eye) -> Iterator[Block]:
    """Blocks of rates (from level, to level, block); blocks of the same levels add up.

    They are sparse where the identity matrices are that `identity` makes.
    """
    for level, moves in enumerate(chain.arrivals):
        if level >= 1:
            yield level, level, _own_phases(chain, level, identity)
            yield level, level - 1, _service(chain, level, identity)
        if level >= 2 and chain.patience.exit_rates.any():
            yield level, level - 1, _obsolescence(chain, level, identity)
        for entering, matrices in moves.items():
            yield level, level + entering, _arrivals(chain, level, entering, matrices, identity)


def _by_phase(matrices: Array, first: Matrix, rest: Matrix) -> Matrix:
    """``sum over phases m of A[m] ⊗ (first, column m only) ⊗ rest``."""
    if len(matrices) == 1:
        return kron(matrices[0], kron(first, rest))
    phases = np.eye(len(matrices))
    parts = [
        kron(matrix, kron(first * into, rest))
        for matrix, into in zip(matrices, phases, strict=True)
    ]
    return sum(parts[1:], start=parts[0])


def _arrivals(
    chain: QueueChain, level: int, entering: int, matrices: Array, identity: Identity
) -> Matrix:
    """Deliveries of which `entering` pages enter, from the level upwards."""
    service = chain.service
    if level == 0:
        if entering == 0:
            return np.asarray(matrices[0])
        return _by_phase(
            matrices, service.start[None, :], _powers(chain.patience.start, entering - 1)
        )
    already_waiting = identity(chain.patience_phases ** (level - 1))
    waiting = kron(already_waiting, _powers(chain.patience.start, entering))
    return _by_phase(matrices, np.eye(chain.service_phases), waiting)


def _service(chain: QueueChain, level: int, identity: Identity) -> Matrix:
    """Service completions; the page picked up, the oldest, no longer has a patience phase."""
    done = chain.service.exit_rates[:, None]
    if level == 1:
        return kron(chain.turnover[1][0], done)
    phases = chain.patience_phases
    picked = kron(np.ones((phases, 1)), identity(phases ** (level - 2)))
    return _by_phase(chain.turnover[level], done * chain.service.start[None, :], picked)


def _obsolescence(chain: QueueChain, level: int, identity: Identity) -> Matrix:
    """Obsolescences: the patience of one waiting page runs out."""
    gone = one_gone(chain.patience.exit_rates, level - 1, identity)
    if chain.settled is None:
        return kron(identity(chain.order * chain.service_phases), gone)
    settled = np.eye(chain.order)[chain.settled[level - 1]]
    return kron(settled, kron(identity(chain.service_phases), gone))


def _own_phases(chain: QueueChain, level: int, identity: Identity) -> Matrix:
    """Changes of the service phase and of the patience phases."""
    inner = with_patience(chain.service.generator, chain.patience, level - 1, identity)
    return kron(identity(chain.order), inner)


def kron(left: Matrix, right: Matrix) -> Matrix:
    """Kronecker product of two matrices, sparse if one is; of small ones faster than numpy's."""
    if not (isinstance(left, np.ndarray) and isinstance(right, np.ndarray)):
        return scipy.sparse.kron(left, right, format="coo")
    rows = left.shape[0] * right.shape[0]
    columns = left.shape[1] * right.shape[1]
    products: Array = left[:, None, :, None] * right[None, :, None, :]
    return products.reshape(rows, columns)


def _powers(row: Array, exponent: int) -> Array:
    """Kronecker power of a row vector, shape (1, len(row) ** exponent)."""
    result: Array = np.ones((1, 1))
    for _ in range(exponent):
        result = kron(result, row[None, :])
    return result


def with_patience(
    first: Array, patience: PhaseLaw, waiting: int, identity: Identity = np.eye
) -> Matrix:
    """Kronecker sum of a matrix of phase changes and the patience of `waiting` pages."""
    pages = [patience.generator] * waiting
    if len(patience.start) == 1:  # rates of single phases simply add up
        pages = [patience.generator * waiting]
    total = first
    for page in pages:
        total = kron(total, identity(len(page))) + kron(identity(total.shape[0]), page)
    return total


def one_gone(exits: Array, waiting: int, identity: Identity = np.eye) -> Matrix:
    """Rates at which one of `waiting` pages becomes obsolete and its phase leaves the list.

    Shape (R^waiting, R^(waiting - 1)) for R = ``len(exits)`` phases of patience.
    """
    phases = len(exits)
    if phases == 1:
        return exits[:, None] * waiting

    def gone_from(place: int) -> Matrix:
        before = identity(phases**place)
        return kron(kron(before, exits[:, None]), identity(phases ** (waiting - 1 - place)))

    return sum(map(gone_from, range(1, waiting)), start=gone_from(0))


def next_in_line(order: ServiceOrder, waiting: int) -> int:
    """Place of the page that is served next among those that wait, where the oldest has place 0."""
    match order:
        case ServiceOrder.OLDEST_FIRST:
            return 0
        case ServiceOrder.NEWEST_FIRST:
            return waiting - 1
        case ServiceOrder.BY_CLASS:
            raise NoAnswerError("pages are served by class")
        case _:
            assert_never(order)


def settled_moves(chain: QueueChain, moves: Iterable[Move]) -> Iterator[Move]:
    """The same moves, after which robots may be switched.

    Parameters
    ----------
    chain : QueueChain
    moves : iterable of Move
        To states with a `level` and a phase of the `arrivals`.
    """
    if chain.settled is None:
        yield from moves
        return
    for move in moves:
        yield move._replace(after=settled_state(chain, move.after))


def settled_state(chain: QueueChain, state: Any) -> Any:
    """A state after an event, once robots have been switched."""
    if chain.settled is None:
        return state
    return state._replace(arrivals=int(chain.settled[state.level, state.arrivals]))


def service_moves(
    chain: QueueChain, state: Any, following: Iterable[tuple[float, Any]], kind: int = 0
) -> Iterator[Move]:
    """The service in progress changes its phase, or it ends.

    Parameters
    ----------
    chain : QueueChain
    state : NamedTuple
        With the `level`, the phase of the `arrivals`, and the `phase` of the service.
    following : iterable
        States after the end, before the arrivals change their phase, and their probabilities.
    kind : int
        Of the moves at which it ends.
    """
    service = chain.service
    for phase, rate in enumerate(service.generator[state.phase].tolist()):
        if phase != state.phase:
            yield Move(rate, state._replace(phase=phase))
    done = float(service.exit_rates[state.phase])
    turnover = chain.turnover[state.level]
    for share, after in following:
        shifts = turnover[after.phase if len(turnover) > 1 else 0][state.arrivals]
        for arrivals in np.flatnonzero(shifts).tolist():
            rate = done * share * float(shifts[arrivals])
            yield Move(rate, after._replace(arrivals=arrivals), kind)
