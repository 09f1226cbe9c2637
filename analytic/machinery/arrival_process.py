"""Markovian arrival processes: what robots deliver, as matrices per number of active robots."""

from __future__ import annotations

import math

import numpy as np

from analytic.machinery.markov import closed_classes, stationary
from analytic.machinery.phase_type import as_phase_type, exponential_rate, phase_count
from analytic.machinery.refusal import NoAnswerError
from scenarios.arrays import Array
from scenarios.deliveries import LARGEST_ORDER, Independent, as_modes, modes_of
from scenarios.environment import Environment
from scenarios.model import Fleet, Gaps, present
from scenarios.processes import Map, Mmpp
from scenarios.text import counted


def access_rate(gaps: Gaps) -> float | None:
    """Rate of the accesses of one robot where their times are exponential, else None."""
    return None if isinstance(gaps, Mmpp | Map) else exponential_rate(gaps)


def delivery_rates(fleet: Fleet) -> list[float] | None:
    """Rate at which an active robot of each class delivers, where all are exponential, else None.

    Without classes all robots are of one. In an environment the rate is not constant: None.
    """
    return None if fleet.environment is not None else rates_at_speed_one(fleet)


def rates_at_speed_one(fleet: Fleet) -> list[float] | None:
    """The same, of robots in an environment while its speed is 1."""
    rates = []
    for each in fleet.classes:
        rate = access_rate(each.gaps)
        if rate is None:
            return None
        rates.append(rate * (1.0 - fleet.failure_probability))
    return rates or None


def total_rates(fleet: Fleet) -> Array | None:
    """Deliveries per unit time while 0, 1, … robots are active; None if not all exponential.

    Returns
    -------
    ndarray, shape (robots + 1,)
    """
    rates = delivery_rates(fleet)
    return None if rates is None else _totals(fleet, rates)


def _totals(fleet: Fleet, rates: list[float]) -> Array:
    if len(rates) == 1:
        return rates[0] * np.arange(fleet.available + 1.0)
    each = np.array(rates)[fleet.in_order]
    return np.concatenate([[0.0], np.cumsum(each)])


def gap_map(gaps: Gaps) -> tuple[Array, Array] | None:
    """D0 and D1 of the accesses of one robot; None where they are not Markovian, or too large."""
    if isinstance(gaps, Mmpp):
        arrivals = np.diag(gaps.rates)
        return np.array(gaps.Q) - arrivals, arrivals
    if isinstance(gaps, Map):
        return np.array(gaps.D0), np.array(gaps.D1)
    phases = as_phase_type(gaps)
    return None if phases is None else (phases.generator, np.outer(phases.exit_rates, phases.start))


def gap_order(gaps: Gaps) -> int | None:
    """Phases of the accesses of one robot, without building them; None if not Markovian."""
    if isinstance(gaps, Map | Mmpp):
        return len(gaps.D0 if isinstance(gaps, Map) else gaps.Q)
    return phase_count(gaps)


def joint_order(fleet: Fleet, active: int) -> int:
    """Number of joint phases of the deliveries of `active` robots with accesses of their own.

    The first ones that the rule makes active.

    Raises
    ------
    NoAnswerError
        If there are more than `LARGEST_ORDER`: the matrices are not built.
    """
    if fleet.deliveries is not None or delivery_rates(fleet) is not None:
        return 1
    if fleet.environment is not None:
        return fleet.environment.states
    orders = [gap_order(each.gaps) or 1 for each in fleet.classes]
    if max(orders) == 1:
        return 1
    joint = 1
    for index in fleet.in_order[:active]:
        joint *= orders[index]
        if joint > LARGEST_ORDER:
            phases = " or ".join(str(order) for order in sorted(set(orders)))
            have = "has" if active == 1 else "have"
            many = f"{counted(active, 'robot')} with access times of {phases} phases {have}"
            raise NoAnswerError(f"{many} more than {LARGEST_ORDER} joint phases")
    return joint


def delivery_modes(fleet: Fleet, largest: int) -> Array:
    """D0, D1, … of all robots together while 0, 1, … `largest` are active.

    Robots with accesses of their own superpose; one that is switched off runs on unheard
    (interpretation 1 of avrachenkov2011). Exponential access times need a single phase. An access
    that fails changes the phase as any other one, and delivers nothing. In an environment the phase
    is its state, which runs on with no robot active: thinned batches (interpretation 2). Of the
    activation only a rule that names robots or their classes matters: it says which are the first
    to become active.

    Returns
    -------
    ndarray, shape (largest + 1, largest batch + 1, order, order)
    """
    if fleet.deliveries is not None:
        return modes_of(fleet.deliveries, fleet.rule)[: largest + 1]
    rates = total_rates(fleet)
    if rates is not None:
        rates = rates[: largest + 1]
        return np.stack([-rates, rates], axis=1)[:, :, None, None]
    if fleet.environment is not None:
        return environment_modes(fleet, fleet.environment, largest)
    own = []
    for each in fleet.classes:
        matrices = present(gap_map(each.gaps))
        failed = fleet.failure_probability * matrices[1]
        own.append(Map(D0=_rows(matrices[0] + failed), D1=_rows(matrices[1] - failed)))
    heard = tuple(own[index] for index in fleet.in_order[:largest])
    return as_modes(Independent(independent=heard))


def environment_modes(fleet: Fleet, environment: Environment, largest: int) -> Array:
    """D0 and D1 of robots with exponential access times in an environment.

    With ``lambda`` the deliveries of all that are active together at speed 1,
    ``D1 = lambda diag(speeds)`` and ``D0 = Q - D1``.

    Returns
    -------
    ndarray, shape (largest + 1, 2, states, states)
    """
    rates = present(rates_at_speed_one(fleet))
    totals = _totals(fleet, rates)[: largest + 1]
    modes = totals[:, None, None] * np.diag(environment.speeds)
    return np.stack([np.array(environment.Q) - modes, modes], axis=1)


def start_phases(fleet: Fleet, modes: Array, active: int) -> Array:
    """Law of the joint phase at time 0.

    Every access has just begun; the phase of joint deliveries has the stationary law of the mode
    of the empty system. Where such a law is not unique, it is phase 0. An environment is
    stationary.

    Parameters
    ----------
    fleet : Fleet
    modes : ndarray, shape (robots + 1, largest batch + 1, order, order)
        As `delivery_modes`.
    active : int
        Robots that are active while the system is empty.

    Returns
    -------
    ndarray, shape (order,)
    """
    order = modes.shape[2]
    if order == 1:
        return np.ones(1)
    if fleet.deliveries is not None or fleet.environment is not None:
        law = _unique_stationary(modes[active].sum(axis=0))
        return np.eye(order)[0] if law is None else law
    joint: Array = np.ones(1)
    firsts = [_first_phases(each.gaps) for each in fleet.classes]
    for index in fleet.in_order[: len(modes) - 1]:
        joint = np.kron(joint, firsts[index])
    return joint


def start_of_environment(fleet: Fleet) -> Array:
    """Law of the state of the environment at time 0; a single state where there is none."""
    if fleet.environment is None:
        return np.ones(1)
    return stationary(np.array(fleet.environment.Q))


def _first_phases(gaps: Gaps) -> Array:
    """Law of the phase in which the accesses of a robot begin."""
    phases = None if isinstance(gaps, Mmpp | Map) else as_phase_type(gaps)
    if phases is not None:
        return phases.start
    matrices = present(gap_map(gaps))
    hidden, arrivals = matrices
    before = _unique_stationary(hidden + arrivals)
    return np.eye(len(hidden))[0] if before is None else interval_phases(hidden, arrivals)


def _unique_stationary(generator: Array) -> Array | None:
    return stationary(generator) if len(closed_classes(generator)) == 1 else None


def _rows(matrix: Array) -> tuple[tuple[float, ...], ...]:
    return tuple(tuple(float(entry) for entry in row) for row in matrix)


def mean_rate(batches: Array) -> float:
    """Pages per unit time of a stationary BMAP: ``theta · sum k D_k · 1``.

    Parameters
    ----------
    batches : ndarray, shape (largest batch + 1, order, order)
        D0, D1, …

    Notes
    -----
    avrachenkov2011, section 2 (fundamental rate).
    """
    sizes = np.arange(len(batches))
    pages = np.tensordot(sizes, batches, axes=1).sum(axis=1)
    return float(stationary(batches.sum(axis=0)) @ pages)


def interval_phases(D0: Array, D1: Array) -> Array:
    """Phase just after an arrival: ``q = s D1 / (s D1 e)``, where ``s (D0 + D1) = 0``.

    Not s itself: that is the distribution at an arbitrary time.

    Parameters
    ----------
    D0, D1 : ndarray, shape (order, order)

    Notes
    -----
    altman2000, section 5.2.
    """
    after = stationary(D0 + D1) @ D1
    return after / after.sum()


def embedded_period(D0: Array, D1: Array) -> int:
    """Period of the phases at arrivals, the chain ``(-D0)^{-1} D1``; 1 where they forget the start.

    Where it is p, the phase after arrival k says what k is modulo p. From the zeros of the
    matrices alone; of the recurrent phases.

    Parameters
    ----------
    D0, D1 : ndarray, shape (order, order)
        With one closed class of phases.
    """
    silent = np.eye(len(D0), dtype=bool) | (D0 > 0)
    for _ in range(len(D0).bit_length()):
        silent = silent @ silent
    steps = silent @ (D1 > 0)
    recurrent = closed_classes(steps.astype(float))[0]
    edges = steps[np.ix_(recurrent, recurrent)]
    depth = {0: 0}
    period = 0
    reached = [0]
    for phase in reached:
        for after in np.flatnonzero(edges[phase]).tolist():
            if after not in depth:
                depth[after] = depth[phase] + 1
                reached.append(after)
            period = math.gcd(period, depth[phase] + 1 - depth[after])
    return period
