"""Packets lost by servers without buffers, when each is sent n packets after the last one.

Throughout, `f_m(n)` is the probability that a packet sent to server m is lost when the next packet
sent there is the n-th after it: ``P(S > tau_1 + … + tau_n)`` for interval-stationary gaps tau and
an independent service S. Under the preemptive discipline the packet in service is lost. Under the
non-preemptive one the new packet is, and the fraction lost is the same for exponential services
only.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import reduce

import numpy as np
from numpy.typing import ArrayLike

from analytic.machinery.arrival_process import embedded_period, gap_map, interval_phases
from analytic.machinery.markov import stationary
from analytic.machinery.phase_type import PhaseLaw
from analytic.machinery.transforms import log_transform, matrix_transform
from analytic.routing.spacing import Entry, Row, SpacingCosts, powers, scaled, tabulated
from scenarios.arrays import Array
from scenarios.model import gaps_of, present
from scenarios.processes import gap_law
from scenarios.sections import AccessTime


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


def map_loss(D0: ArrayLike, D1: ArrayLike, rate: float, distance: ArrayLike) -> Array:
    """Probability ``q [(mu I - D0)^{-1} D1]^n e`` that an exponential service outlasts n gaps.

    Parameters
    ----------
    D0, D1 : array_like, shape (order, order)
        C and D of the paper; for an MMPP ``Q - Lambda`` and ``Lambda``.
    rate : float
        mu.
    distance : array_like of int
        n.

    Notes
    -----
    altman2000, sections 5.1, 5.2 and Lemma 5.2. q is the distribution of the phase just after an
    arrival.
    """
    D0 = np.asarray(D0, dtype=float)
    D1 = np.asarray(D1, dtype=float)
    step = np.linalg.solve(rate * np.eye(len(D0)) - D0, D1)
    return _survival(interval_phases(D0, D1), step, distance)


def phase_type_loss(arrivals: AccessTime, service: PhaseLaw, distance: ArrayLike) -> Array:
    """Probability ``f(n) = (q ⊗ alpha) A^n e`` that a phase-type service outlasts n gaps.

    Parameters
    ----------
    arrivals : Distribution or ArrivalProcess
    service : PhaseLaw
        alpha and T.
    distance : array_like of int
        n.

    Notes
    -----
    altman2000, section 2 with the arrivals of section 5: ``A = -(D0 ⊕ T)^{-1} (D1 ⊗ I)``, and
    ``A = E e^{T tau}`` for independent gaps of any law. Not convex in n for all services.
    """
    service = _as_arrays(service)
    start = np.kron(phases_at_arrivals(arrivals), service.start)
    return _survival(start, over_gap(arrivals, service.generator), distance)


def random_loss(arrivals: AccessTime, service: PhaseLaw, probability: float) -> float:
    """Fraction of its packets that a server loses to which each packet is sent at random.

    The mixture ``sum_n p (1 - p)^(n-1) f(n) = p (q ⊗ alpha) A (I - (1 - p) A)^{-1} e``; with
    independent gaps and an exponential service ``p h / (1 - (1 - p) h)``.

    Parameters
    ----------
    arrivals : Distribution or ArrivalProcess
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
    arrivals: AccessTime, service: PhaseLaw, distances: Sequence[int], places: int = 0
) -> float:
    """Fraction of its packets that a server loses where those that find no free place are lost.

    Parameters
    ----------
    arrivals : Distribution or ArrivalProcess
    service : PhaseLaw
    distances : sequence of int
        The server's cyclic distances.
    places : int
        Packets that may wait at the server, beside the one in service.

    Notes
    -----
    Ours (altman2000, section 2, has the discipline for exponential services, and no waiting
    places). The phases of arrivals, the packets at the server and the phase of the service, just
    before the server's own packets, form a chain over its slots of the period; a packet is lost
    where it finds all places taken.
    """
    service = _as_arrays(service)
    step = over_gap(arrivals, _with_levels(service, places))
    powers = {each: np.linalg.matrix_power(step, each) for each in set(distances)}
    return _full_at_arrivals([powers[each] for each in distances], service, places)


def random_non_preemptive_loss(
    arrivals: AccessTime, service: PhaseLaw, probability: float, places: int = 0
) -> float:
    """Fraction of its packets lost by a server that is sent each packet with a probability.

    As `non_preemptive_loss`, with the gap between its own packets a geometric number of gaps.

    Parameters
    ----------
    arrivals : Distribution or ArrivalProcess
        Of all packets.
    service : PhaseLaw
    probability : float
        With which a packet is sent to this server.
    places : int
        Packets that may wait at the server.
    """
    service = _as_arrays(service)
    step = over_gap(arrivals, _with_levels(service, places))
    return _full_at_arrivals([_thinned(step, probability)], service, places)


def loss_costs(
    arrivals: AccessTime, services: Sequence[PhaseLaw], weights: Sequence[float] | None = None
) -> SpacingCosts:
    """Costs of packets: the probabilities ``f_m(n)`` that a packet is lost, times its weight.

    Parameters
    ----------
    arrivals : Distribution or ArrivalProcess
    services : sequence of PhaseLaw
        Of each server; under the non-preemptive discipline exponential ones only.
    weights : sequence of float, optional
        Of a packet lost by each server; 1 where none are given.

    Raises
    ------
    ValueError
        If there is no service, or one that may never end.
    """
    _check_services(services)
    each = [1.0] * len(services) if weights is None else list(weights)
    pairs = list(zip(each, services, strict=True))
    rows = [scaled(weight, survival_row(arrivals, service)) for weight, service in pairs]
    costs = tabulated(rows, np.zeros(len(rows)), 0.0)
    rates = [_rate_of(service) for service in services]
    if any(rate is None for rate in rates):
        return costs
    far = [survival_at(arrivals, rate) for rate in rates if rate]
    return replace(costs, beyond=tuple(map(scaled, each, far)))


def _check_services(services: Sequence[PhaseLaw]) -> None:
    if not len(services):
        raise ValueError("services are missing: one law per server, and at least one")
    for server, service in enumerate(services):
        leaves = -np.diagonal(service.generator)
        if not (np.all(leaves > 0) and np.all(np.isfinite(leaves))):
            rates = ", ".join(f"{rate + 0.0:g}" for rate in leaves)
            raise ValueError(f"server {server} has the rates {rates}: all must be > 0 and finite")


def survival_row(arrivals: AccessTime, service: PhaseLaw) -> Row:
    """``f(1), …, f(n)`` as a function of n, ``f(n) = P(S > X_n)``.

    Parameters
    ----------
    arrivals : Distribution or ArrivalProcess
        X_n is the time of n gaps.
    service : PhaseLaw
        S.
    """
    law = gap_law(arrivals)
    rate = _rate_of(service)
    if law is not None and rate is not None:
        exponent = float(log_transform(law, rate))
        return lambda n: np.exp(-exponent * np.arange(1, n + 1))
    step = over_gap(arrivals, service.generator)
    start = np.kron(phases_at_arrivals(arrivals), service.start)
    return lambda n: start @ powers(step, step.sum(axis=1), n)


def survival_at(arrivals: AccessTime, rate: float) -> Entry:
    """``f(n) = E e^(-mu X_n)`` as a function of n, however large.

    Parameters
    ----------
    arrivals : Distribution or ArrivalProcess
        X_n is the time of n gaps.
    rate : float
        mu.
    """
    law = gap_law(arrivals)
    if law is not None:
        exponent = float(log_transform(law, rate))
        return lambda n: math.exp(-exponent * n)
    step = over_gap(arrivals, np.array([[-rate]]))
    start = phases_at_arrivals(arrivals)
    return lambda n: float(start @ np.linalg.matrix_power(step, n).sum(axis=1))


def _rate_of(service: PhaseLaw) -> float | None:
    """Rate of an exponential service; None of another."""
    return float(-service.generator[0, 0]) if len(service.start) == 1 else None


def gap_matrices(arrivals: AccessTime) -> tuple[Array, Array]:
    """D0 and D1 of a process with a Markovian form, as every process with dependent gaps has."""
    return present(gap_map(gaps_of(arrivals)))


def dependent_gaps(arrivals: AccessTime) -> tuple[Array, Array] | None:
    """D0 and D1 of a process whose gaps depend on each other; None where they are independent."""
    return gap_map(gaps_of(arrivals)) if gap_law(arrivals) is None else None


def arrival_period(arrivals: AccessTime) -> int:
    """Period of the phases at arrivals; 1 where they forget their start, or there are none."""
    matrices = dependent_gaps(arrivals)
    return 1 if matrices is None else embedded_period(*matrices)


def phases_at_arrivals(arrivals: AccessTime) -> Array:
    """Distribution q of the phase just after an arrival; a single phase for independent gaps."""
    matrices = dependent_gaps(arrivals)
    return np.ones(1) if matrices is None else interval_phases(*matrices)


def over_gap(arrivals: AccessTime, generator: Array) -> Array:
    """Transition matrix of the phases (of arrivals, of the service) from arrival to arrival."""
    law = gap_law(arrivals)
    if law is not None:
        return matrix_transform(law, generator)
    D0, D1 = gap_matrices(arrivals)
    own = np.eye(len(generator))
    joint = np.kron(D0, own) + np.kron(np.eye(len(D0)), generator)
    return np.linalg.solve(-joint, np.kron(D1, own))


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
    return probability * np.linalg.solve(others, step)


def _as_arrays(service: PhaseLaw) -> PhaseLaw:
    """The same law with its vector and matrix as arrays, where they are given as lists."""
    return PhaseLaw(*(np.asarray(part, dtype=float) for part in service))


def _with_levels(service: PhaseLaw, places: int) -> Array:
    """Generator of the packets at a server and the phase of its service, without arrivals.

    Levels places + 1, …, 1, each with all phases; the idle server is the last state.
    """
    phases = len(service.start)
    size = (places + 1) * phases + 1
    rates = np.zeros((size, size))
    begins = np.outer(service.exit_rates, service.start)
    for level in range(places + 1):
        here = slice(level * phases, (level + 1) * phases)
        rates[here, here] = service.generator
        if level < places:
            rates[here, (level + 1) * phases : (level + 2) * phases] = begins
        else:
            rates[here, -1] = service.exit_rates
    return rates


def _with_one_more(service: PhaseLaw, places: int) -> Array:
    """The state after a packet has come: one level up, or as it was where it is lost."""
    phases = len(service.start)
    size = (places + 1) * phases + 1
    enters = np.zeros((size, size))
    enters[:phases, :phases] = np.eye(phases)
    waits = np.arange(phases, size - 1)
    enters[waits, waits - phases] = 1.0
    enters[-1, size - 1 - phases : size - 1] = service.start
    return enters


def _full_at_arrivals(gaps: Iterable[Array], service: PhaseLaw, places: int) -> float:
    """Probability that the server's own packets find no place, averaged over its slots."""
    enters = _with_one_more(service, places)
    size = len(enters)
    steps = [np.kron(np.eye(len(gap) // size), enters) @ np.maximum(gap, 0.0) for gap in gaps]
    found = stationary(reduce(np.matmul, steps))
    full = 0.0
    for step in steps:
        full += found.reshape(-1, size)[:, : len(service.start)].sum()
        found = found @ step
    return float(full / len(steps))
