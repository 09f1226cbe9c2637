"""Packets lost by servers without buffers, when each is sent n packets after the last one.

Throughout, `f_m(n)` is the probability that a packet sent to server m is lost when the next packet
sent there is the n-th after it: ``P(S > tau_1 + … + tau_n)`` for interval-stationary gaps tau and
an independent service S. Under the preemptive discipline the packet in service is lost. Under the
non-preemptive one the new packet is, and the fraction lost is the same for exponential services
only.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import reduce

import numpy as np
from numpy.typing import ArrayLike

from analytic.arrival_process import gap_map, interval_phases
from analytic.markov import stationary
from analytic.phase_type import PhaseLaw
from analytic.transforms import matrix_transform
from scenarios.arrays import Array
from scenarios.laws import Distribution, Exponential
from scenarios.processes import ArrivalProcess, Map, Mmpp, Poisson


def renewal_loss(transform: ArrayLike, distance: ArrayLike) -> Array:
    """Probability ``f(n) = h(mu)^n`` that an exponential service outlasts n independent gaps.

    Parameters
    ----------
    transform : array_like
        h, the transform of one gap at the service rate; lambda / (lambda + mu) for Poisson
        arrivals, e^(-mu d) for constant gaps.
    distance : array_like of int
        n.

    Notes
    -----
    altman2000, Example 2.1 (Poisson); Lemma 5.2 with one phase.
    """
    return np.asarray(np.power(transform, distance), dtype=float)


def map_loss(hidden: ArrayLike, arrivals: ArrayLike, rate: float, distance: ArrayLike) -> Array:
    """Probability ``f(n) = q [(mu I - C)^{-1} D]^n e`` that an exponential service outlasts n gaps.

    Parameters
    ----------
    hidden, arrivals : array_like, shape (order, order)
        C and D; for an MMPP ``Q - Lambda`` and ``Lambda``.
    rate : float
        mu.
    distance : array_like of int
        n.

    Notes
    -----
    altman2000, sections 5.1, 5.2 and Lemma 5.2. q is the law of the phase just after an arrival.
    """
    c = np.asarray(hidden, dtype=float)
    d = np.asarray(arrivals, dtype=float)
    step = np.linalg.solve(rate * np.eye(len(c)) - c, d)
    return _survival(interval_phases(c, d), step, distance)


def phase_type_loss(arrivals: ArrivalProcess, service: PhaseLaw, distance: ArrayLike) -> Array:
    """Probability ``f(n) = (q ⊗ alpha) A^n e`` that a phase-type service outlasts n gaps.

    Parameters
    ----------
    arrivals : ArrivalProcess
    service : PhaseLaw
        alpha and T.
    distance : array_like of int
        n.

    Notes
    -----
    altman2000, section 2 with the arrivals of section 5: ``A = -(C ⊕ T)^{-1} (D ⊗ I)``, and
    ``A = E e^{T tau}`` for independent gaps of any law. Not convex in n for all services.
    """
    service = _as_arrays(service)
    start = np.kron(phases_at_arrivals(arrivals), service.start)
    return _survival(start, over_gap(arrivals, service.generator), distance)


def random_loss(arrivals: ArrivalProcess, service: PhaseLaw, probability: float) -> float:
    """Fraction of its packets that a server loses to which each packet is sent at random.

    The mixture ``sum_n p (1 - p)^(n-1) f(n) = p (q ⊗ alpha) A (I - (1 - p) A)^{-1} e``; with
    independent gaps and an exponential service ``p h / (1 - (1 - p) h)``.

    Parameters
    ----------
    arrivals : ArrivalProcess
    service : PhaseLaw
        Of any kind under the preemptive discipline, exponential under the other.
    probability : float
        p > 0, that a packet is sent to this server.

    Notes
    -----
    The distance of two packets to the server is geometric, and independent of the gaps.
    """
    service = _as_arrays(service)
    start = np.kron(phases_at_arrivals(arrivals), service.start)
    gap = _thinned(over_gap(arrivals, service.generator), probability)
    return float(start @ gap.sum(axis=1))


def non_preemptive_loss(
    arrivals: ArrivalProcess, service: PhaseLaw, distances: Sequence[int]
) -> float:
    """Fraction of its packets that a server loses if a packet that finds it busy is lost.

    Parameters
    ----------
    arrivals : ArrivalProcess
    service : PhaseLaw
    distances : sequence of int
        The server's cyclic distances.

    Notes
    -----
    Ours (altman2000, section 2, has the discipline for exponential services). The phases of
    arrivals and of the service, free included, just before the server's own packets form a chain
    over the places of its period; a packet is lost where it finds the server busy.
    """
    service = _as_arrays(service)
    step = over_gap(arrivals, _with_end(service))
    powers = {each: np.linalg.matrix_power(step, each) for each in set(distances)}
    return _busy_at_arrivals([powers[each] for each in distances], service)


def random_non_preemptive_loss(
    arrivals: ArrivalProcess, service: PhaseLaw, probability: float
) -> float:
    """Fraction of its packets lost by a server that is sent each packet with a probability.

    As `non_preemptive_loss`, with the gap between its own packets a geometric number of gaps.
    """
    service = _as_arrays(service)
    step = over_gap(arrivals, _with_end(service))
    return _busy_at_arrivals([_thinned(step, probability)], service)


def gap_law(arrivals: ArrivalProcess) -> Distribution | None:
    """Law of the independent gaps of a renewal process, or None where gaps are dependent."""
    if isinstance(arrivals, Map | Mmpp):
        return None
    return Exponential(rate=arrivals.rate) if isinstance(arrivals, Poisson) else arrivals.gap


def phases_at_arrivals(arrivals: ArrivalProcess) -> Array:
    """Law q of the arrival phase just after an arrival; a single phase for independent gaps."""
    matrices = None if gap_law(arrivals) else gap_map(arrivals)
    return np.ones(1) if matrices is None else interval_phases(*matrices)


def over_gap(arrivals: ArrivalProcess, generator: Array) -> Array:
    """What happens to the phases (of arrivals, of the service) from one arrival to the next."""
    law = gap_law(arrivals)
    if law is not None:
        return matrix_transform(law, generator)
    matrices = gap_map(arrivals)
    assert matrices is not None
    hidden, marked = matrices
    own = np.eye(len(generator))
    joint = np.kron(hidden, own) + np.kron(np.eye(len(hidden)), generator)
    result: Array = np.linalg.solve(-joint, np.kron(marked, own))
    return result


def _survival(start: Array, step: Array, distance: ArrayLike) -> Array:
    """``start step^n e`` for each n >= 1."""
    alive = np.ones(len(step))
    values = []
    for _ in range(np.max(distance)):
        alive = step @ alive
        values.append(start @ alive)
    result: Array = np.array(values)[np.asarray(distance) - 1]
    return result


def _thinned(step: Array, probability: float) -> Array:
    """The same over a geometric number of gaps: ``p A (I - (1 - p) A)^{-1}``."""
    others = np.eye(len(step)) - (1 - probability) * step
    result: Array = probability * np.linalg.solve(others, step)
    return result


def _as_arrays(service: PhaseLaw) -> PhaseLaw:
    """The same law where its vector and matrix are given as lists."""
    return PhaseLaw(*(np.asarray(part, dtype=float) for part in service))


def _with_end(service: PhaseLaw) -> Array:
    """Generator of the service phases with the free server as the last one."""
    busy = np.hstack([service.generator, service.exit_rates[:, None]])
    return np.vstack([busy, np.zeros(busy.shape[1])])


def _busy_at_arrivals(gaps: Iterable[Array], service: PhaseLaw) -> float:
    """Probability that the server's own packets find it busy, averaged over its places."""
    size = len(service.start) + 1
    enters = np.eye(size)
    enters[-1] = [*service.start, 0.0]
    steps = [np.kron(np.eye(len(gap) // size), enters) @ np.maximum(gap, 0.0) for gap in gaps]
    law = stationary(reduce(np.matmul, steps))
    busy = 0.0
    for step in steps:
        busy += law.reshape(-1, size)[:, :-1].sum()
        law = law @ step
    return float(busy / len(steps))
