"""Sojourn times: a page followed from its entry to its end, served or obsolete.

avrachenkov2011, Theorem 4 and Corollary 1, as derived in docs/theory/indexing-queue.md. The state
of the tagged page is its position, the phase of the service, and the patience phases of the pages
ahead and of its own. What happens behind the page, and to the robots, does not matter.

Classes of pages are "served", "obsolete", "accepted" (all pages that enter) and "all" (with time 0
for pages refused on arrival).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import scipy
from numpy.typing import ArrayLike

from analytic.indexing_queue.chain import QueueChain, kron, one_gone, with_patience
from analytic.indexing_queue.levels_and_fates import fate_rates, marginals_of
from analytic.indexing_queue.position_times import integrated_times
from analytic.machinery.absorbing import (
    Absorbing,
    AbsorbingChain,
    DenseStages,
    Stages,
    ends_by_stage,
)
from analytic.machinery.markov import until_exit
from analytic.machinery.phase_type import PhaseLaw, moment
from analytic.machinery.progress import Progress
from scenarios.arrays import Array
from scenarios.measures import Subject

Row = tuple[str, Subject, float]

LARGEST_DENSE = 200
"""States of a position up to which it is solved with a dense matrix."""

MOST_PASSES = 300
"""Passes of Gauss-Seidel within a position; more are needed where phases change much faster than
pages move up. The integral takes about as long as that."""

ROUNDING = 1e-15
"""Relative changes of this size are rounding."""

FACTORIALS = np.array([1.0, 1.0, 2.0])
"""k! for the moments of order 0, 1 and 2."""


class Ends(NamedTuple):
    """Rates at which pages end, in sum over some vector of states."""

    served: Any
    obsolete: Any

    @property
    def accepted(self) -> Any:
        """Both."""
        return self.served + self.obsolete


def batch_flows(chain: QueueChain, level: int, here: Array) -> Array:
    """Batches of each size per unit time, by what is within the level.

    Parameters
    ----------
    chain : QueueChain
    level : int
    here : ndarray, shape (order, states within an arrival phase)
        Probabilities of the states of the level.

    Returns
    -------
    ndarray, shape (largest batch + 1, states within an arrival phase)
    """
    rates = chain.batch_rates[level]
    if rates.shape[2] == 1 or level == 0:
        return rates[..., 0] @ here
    by_phase = here.reshape(chain.order, chain.service_phases, -1)
    flows = np.einsum("kwm,wmr->kmr", rates, by_phase)
    return flows.reshape(len(rates), -1)


def entries(chain: QueueChain, stationary: Array) -> list[Array]:
    """Pages that enter per unit time, by their position and the phases ahead of them.

    Entry p is a vector over (service phase, patience phases of the pages ahead, own patience phase)
    of a page that enters at position p + 1 counted from the server.
    """
    vectors: list[Array] = [np.zeros(states) for states in chain.inner[1:]]
    starts = chain.starts
    for level in range(chain.top + 1):
        here = stationary[starts[level] : starts[level + 1]].reshape(chain.order, -1)
        flows = batch_flows(chain, level, here)
        accepted = chain.accepted[level]
        for ahead in range(int(accepted[1:].max(initial=0))):  # pages of the same batch
            entering = flows[1:][accepted[1:] > ahead].sum(axis=0)
            if level == 0:
                entering = np.kron(entering, chain.service.start)
            for _ in range(ahead + (level > 0)):
                entering = np.kron(entering, chain.patience.start)
            vectors[level + ahead] += entering
    return vectors


def sojourn_moments(chain: QueueChain, stationary: Array) -> Iterator[Row]:
    """First and second moments of the time from entry to end, by class of pages.

    avrachenkov2011, Theorem 4 and Corollary 1, as derived in docs/theory/indexing-queue.md.
    "accepted" are all pages that enter; classes without pages are left out.

    Parameters
    ----------
    chain : QueueChain
    stationary : array, shape (states,)
        Its stationary distribution.
    """
    ends = np.array(ends_of(chain, entries(chain, stationary), 3))
    return moment_rows(ends.T * FACTORIALS)


def moment_rows(moments: Array, delivered: float = 0.0) -> Iterator[Row]:
    """First and second moments of sojourn times by class of pages.

    Parameters
    ----------
    moments : ndarray, shape (kinds, 3)
        Of order 0, 1 and 2: of pages that are served, become obsolete, and end otherwise.
    delivered : float, optional
        Pages delivered per unit time, for the second moment of all of them.
    """
    served, obsolete, *_ = moments
    accepted = moments.sum(axis=0)
    classes = {"served": served, "obsolete": obsolete, "accepted": accepted}
    for name, (pages, once, twice) in classes.items():
        if pages > 0:
            yield "sojourn_time", name, float(once / pages)
            yield "sojourn_time_second_moment", name, float(twice / pages)
    if delivered > 0:
        yield "sojourn_time_second_moment", "all", float(accepted[2] / delivered)


def with_service(waits: Array, at_once: float, service: PhaseLaw) -> Array:
    """Moments of sojourn times from those of the waits: a service follows, whatever came before.

    Parameters
    ----------
    waits : ndarray, shape (kinds, 3)
        As `moment_rows` takes them.
    at_once : float
        Pages per unit time that do not wait.
    service : PhaseLaw
    """
    moments = waits.copy()
    served = moments[0]
    first, second = moment(service, 1), moment(service, 2)
    served[2] += 2.0 * first * served[1] + second * (served[0] + at_once)
    served[1] += first * (served[0] + at_once)
    served[0] += at_once
    return moments


def then_served(waits: AbsorbingChain, at_once: float, service: PhaseLaw) -> AbsorbingChain:
    """The chain of a page from that of its wait: where that ends by a service, this is followed.

    Parameters
    ----------
    waits : AbsorbingChain
        Its first kind of end is the beginning of the service.
    at_once : float
        Pages per unit time that do not wait.
    service : PhaseLaw
    """
    begun, *others = waits.ends.T
    own = len(service.start)
    moves = scipy.sparse.block_array(
        [
            [waits.moves, np.outer(begun, service.start)],
            [None, service.generator - np.diag(np.diag(service.generator))],
        ],
        format="csr",
    )
    ends = np.zeros((len(begun) + own, 1 + len(others)))
    ends[len(begun) :, 0] = service.exit_rates
    ends[: len(begun), 1:] = np.transpose(others)
    return AbsorbingChain(np.append(waits.start, at_once * service.start), moves, ends)


def sojourn_transform(chain: QueueChain, stationary: Array, s: ArrayLike) -> dict[str, Array]:
    """Laplace-Stieltjes transform ``E exp(-s V)`` of the sojourn time V, by class of pages.

    Parameters
    ----------
    chain : QueueChain
    stationary : ndarray, shape (states,)
        Stationary probabilities.
    s : array_like
        Real, >= 0 (a complex s is refused); per unit time.

    Returns
    -------
    dict of ndarray
        By class, of the shape of s; classes without pages are left out.

    Raises
    ------
    ValueError
        If an s is complex, negative or not finite.

    Notes
    -----
    avrachenkov2011, Theorem 4: ``a (sI - T)^-1 t_c / a (-T)^-1 t_c``.
    """
    points = _not_negative("s", s)
    starts = entries(chain, stationary)
    progress = Progress(f"sojourn times in a chain of {chain.states:,} states", points.size)
    ends = []
    for each in points.ravel():
        ends.append(ends_of(chain, starts, 1, float(each))[0])
        progress.step()
    return _by_class(chain, stationary, starts, np.array(ends).reshape(*points.shape, 2))


def sojourn_cdf(chain: QueueChain, stationary: Array, times: ArrayLike) -> dict[str, Array]:
    """Distribution function ``P(V <= t)`` of the sojourn time V, by class of pages.

    Parameters
    ----------
    chain : QueueChain
    stationary : ndarray, shape (states,)
        Stationary probabilities.
    times : array_like
        t >= 0.

    Returns
    -------
    dict of ndarray
        By class, of the shape of `times`; classes without pages are left out. That of "all" jumps
        at 0 to the loss probability.

    Raises
    ------
    ValueError
        If a time is negative or not finite, or so long that a million jumps are expected in it.

    Notes
    -----
    avrachenkov2011, Theorem 4: ``1 - a e^{Tt} f_c / a f_c`` with ``f_c = (-T)^-1 t_c``, here
    ``∫_0^t a e^{Tu} t_c du`` by uniformisation: the page ends with jump k + 1 of a Poisson process
    with probabilities that are sums of products, and that jump comes before t with probability
    ``gammainc(k + 1, rate t)``. Absolute error below 1e-14 times the number of jumps' logarithm.
    """
    points = _not_negative("times", times)
    starts = entries(chain, stationary)
    return _by_class(chain, stationary, starts, _TaggedPage(chain, starts).ended(points))


def sojourn_quantiles(
    chain: QueueChain, stationary: Array, shares: Sequence[float]
) -> dict[str, Array]:
    """Least time t with ``P(V <= t) >= q``, V the sojourn time, by class of pages.

    Parameters
    ----------
    chain : QueueChain
    stationary : ndarray, shape (states,)
        Stationary probabilities.
    shares : sequence of float
        q, between 0 and 1.

    Returns
    -------
    dict of ndarray, shape of `shares`
        Classes without pages are left out. That of "all" is 0 up to the loss probability.

    Raises
    ------
    NoAnswerError
        If the page may make a million jumps and more before it ends.

    Notes
    -----
    The root of the distribution function of `sojourn_cdf`, whose sum over jumps is kept.
    """
    starts = entries(chain, stationary)
    pages = ends_of(chain, starts, 1)[0]
    fates = fate_rates(chain, marginals_of(chain, stationary))

    def by_class(ended: Array) -> dict[str, Array]:
        return shares_by_class(ended, pages, fates)

    return _TaggedPage(chain, starts).quantiles(by_class, shares)


def _not_negative(name: str, values: ArrayLike) -> Array:
    if np.iscomplexobj(values):
        raise ValueError(f"{name} = {values!r} must be real")
    array = np.asarray(values, dtype=float)
    if not np.all((array >= 0) & np.isfinite(array)):
        raise ValueError(f"{name} = {values!r} must be finite and >= 0")
    return array


def fastest_rate(chain: QueueChain) -> float:
    """Largest rate out of a state of the tagged page."""
    service = np.max(-np.diag(chain.service.generator))
    return float(service + (chain.top - 1) * np.max(-np.diag(chain.patience.generator)))


def _by_class(
    chain: QueueChain, stationary: Array, starts: list[Array], rates: Array
) -> dict[str, Array]:
    """Per page of each class, from rates of served and obsolete pages, shape (…, 2)."""
    pages = ends_of(chain, starts, 1)[0]
    return shares_by_class(rates, pages, fate_rates(chain, marginals_of(chain, stationary)))


def shares_by_class(ended: Array, pages: Ends, fates: Mapping[str, float]) -> dict[str, Array]:
    """Of the pages of each class those that have ended.

    Parameters
    ----------
    ended : ndarray, shape (…, 2)
        Served and obsolete pages that have.
    pages : Ends
        All of them.
    fates : mapping
        Pages that are delivered, and lost.
    """
    every = Ends(ended[..., 0], ended[..., 1])
    result = {
        name: getattr(every, name) / getattr(pages, name)
        for name in ("served", "obsolete", "accepted")
        if getattr(pages, name) > 0
    }
    if fates["delivered"] > 0:
        result["all"] = (fates["lost"] + every.accepted) / fates["delivered"]
    return result


@dataclass(frozen=True)
class _TaggedPage(Absorbing):
    """A page followed from its entry to its end, served or obsolete.

    Attributes
    ----------
    chain : QueueChain
    starts : list of ndarray
        Of `entries`.
    """

    chain: QueueChain
    starts: list[Array]

    @property
    def rate(self) -> float:
        """Largest rate out of a state."""
        return fastest_rate(self.chain)

    def ends_by_jump(self) -> Iterator[Array]:
        """Rates of pages that end with each jump, served and obsolete."""
        from analytic.indexing_queue.kernels import step, tables_of, working_space

        rate = self.rate
        positions = _positions_alone(self.chain)
        tables = tables_of(positions)
        (flow, spare, _) = working_space(positions)
        second = int(positions.starts[2])  # the state of level 0, then those of position 1
        own = self.chain.patience.exit_rates
        dropped = np.tile(own, (positions.states - second) // len(own))
        probabilities = np.concatenate([np.zeros(1), *self.starts])
        rates = np.empty_like(flow)
        total = probabilities.sum()
        while True:
            served = probabilities[1:second] @ self.chain.service.exit_rates
            yield np.array([served, probabilities[second:] @ dropped]) / rate
            step(tables, probabilities, (flow, spare, rates), rate)
            if probabilities.sum() <= 1e-18 * total:
                return


def _positions_alone(chain: QueueChain) -> QueueChain:
    """The chain of the positions: one arrival phase, no arrivals."""
    empty = np.zeros((chain.top + 1, 1, 1))
    return replace(
        chain,
        arrivals=({},) * (chain.top + 1),
        turnover=(np.ones((1, 1, 1)),) * (chain.top + 1),
        batch_rates=empty[:, None],
        active=empty,
        settled=None,
    )


def ends_of(chain: QueueChain, entries: list[Array], powers: int, shift: float = 0.0) -> list[Ends]:
    """``a (sI - T)^-k t`` for k = 1 … powers: with T the moves of the page, t its ends.

    Parameters
    ----------
    chain : QueueChain
    entries : list of ndarray
        a, of `entries`.
    powers : int
    shift : float
        s, one more rate out of every state, >= 0.

    Returns
    -------
    list of Ends
        One for each power.

    Raises
    ------
    NotConvergedError
        If the integral over the time at a position of a large chain loses pages.

    """
    stages: Stages
    if chain.inner[-1] <= LARGEST_DENSE:
        stages = DenseStages(
            partial(one_closer, chain), partial(position_times, chain, shift=shift)
        )
    else:
        stages = _Large(chain, shift)
    ends = ends_by_stage(stages, partial(_ends_at, chain), entries, powers)
    return [Ends(*map(float, row)) for row in ends]


def _ends_at(chain: QueueChain, position: int, spent: Array) -> tuple[float, float]:
    """Services and obsolescences of the page itself, while it is at a position."""
    if position == 1:
        return float(spent @ chain.service.exit_rates), 0.0
    own = chain.patience.exit_rates
    return 0.0, float(spent.reshape(-1, len(own)).sum(axis=0) @ own)


def one_closer(chain: QueueChain, waiting: int) -> Array:
    """Rates at which the last of `waiting` pages moves up: a service, or an obsolescence ahead."""
    service = chain.service
    phases = chain.patience_phases
    picked = kron(np.ones((phases, 1)), np.eye(phases ** (waiting - 1)))
    closer: Array = kron(service.exit_rates[:, None] * service.start[None, :], picked)
    if waiting > 1:
        gone = kron(one_gone(chain.patience.exit_rates, waiting - 1), np.eye(phases))
        closer += kron(np.eye(chain.service_phases), gone)
    return closer


def position_times(chain: QueueChain, position: int, shift: float = 0.0) -> Array:
    """Mean time in each state of a position from each start; nothing is subtracted.

    Parameters
    ----------
    chain : QueueChain
    position : int
        1 for the page in service.
    shift : float
        One more rate out of every state.
    """
    service = chain.service
    within = with_patience(service.generator, chain.patience, position - 1)
    ends = np.repeat(service.exit_rates, len(within) // len(service.start)) + shift
    if position > 1:
        gone = one_gone(chain.patience.exit_rates, position - 1).sum(axis=1)
        ends = ends + np.tile(gone, len(within) // len(gone))
    return until_exit(within[None].copy(), ends[None], np.eye(len(within))[None])[0]


class _Large:
    """The positions of a large chain, without matrices, by the passes of `kernels`."""

    def __init__(self, chain: QueueChain, shift: float) -> None:
        from analytic.indexing_queue.kernels import tables_of, working_space

        self.chain = _positions_alone(chain)
        self.shift = shift
        self.tables = tables_of(self.chain)
        _, self.spare, self.code = working_space(self.chain)
        self.slow = False

    def passed(self, position: int, above: Array) -> Array:
        """What a vector at the next position passes on to this one."""
        from analytic.indexing_queue.kernels import from_above

        flow = np.zeros(self.chain.inner[position])
        from_above(self.tables, above, position, 1, flow, self.spare)
        return flow

    def spent(self, position: int, arriving: Array) -> Array:
        """Time spent at a position by what arrives there."""
        if not self.slow:
            here = self._relaxed(position, arriving)
            if here is not None:
                return here
            self.slow = True
        return integrated_times(self.chain, position - 1, arriving, self.shift)

    def _relaxed(self, position: int, arriving: Array) -> Array | None:
        """The same by Gauss-Seidel; None if phases go to and fro too fast for it."""
        from analytic.indexing_queue.kernels import block_times, number_phases, relax

        waiting = position - 1
        patience = self.chain.patience_phases
        times = block_times(self.tables, position, waiting, self.shift)
        number_phases(patience, position, patience**waiting, self.code)
        here = np.zeros(self.chain.inner[position])
        for count in range(MOST_PASSES):
            change = relax(self.tables, here, arriving, times, self.code, count % 2 == 0)
            if change <= ROUNDING:
                return here
        return None
