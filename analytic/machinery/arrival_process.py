"""Markovian arrival processes: what robots deliver, as matrices per number of active robots."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from itertools import chain, combinations_with_replacement, pairwise

import numpy as np
import scipy

from analytic.machinery.markov import closed_classes, stationary
from analytic.machinery.phase_type import as_phase_type, exponential_rate, phase_count
from analytic.machinery.refusal import NoAnswerError
from scenarios.arrays import Array
from scenarios.deliveries import LARGEST_ORDER, batch_matrices, joint_size, modes_of, superposed
from scenarios.environment import Environment
from scenarios.model import Fleet, Gaps, present
from scenarios.processes import Map, Mmpp
from scenarios.text import counted

_MOST_RATES = 30_000_000
"""Numbers of robots times joint phases squared: 480 MB of matrices."""


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
    if fleet.shortens:
        return None
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
    if isinstance(gaps, Map | Mmpp):
        hidden, ends = batch_matrices(gaps)
        return hidden, ends
    phases = as_phase_type(gaps)
    return None if phases is None else (phases.generator, np.outer(phases.exit_rates, phases.start))


def gap_order(gaps: Gaps) -> int | None:
    """Phases of the accesses of one robot, without building them; None if not Markovian."""
    if isinstance(gaps, Map | Mmpp):
        return len(gaps.D0 if isinstance(gaps, Map) else gaps.Q)
    return phase_count(gaps)


def robot_map(fleet: Fleet, gaps: Gaps) -> tuple[Array, Array]:
    """D0 and D1 of what one robot delivers, which has Markovian accesses.

    An access that fails changes the phase as any other one, and delivers nothing. Where it is
    shorter then, by the factor sigma, each phase is there twice: first those of accesses that
    deliver, then those of the others, whose rates are divided by sigma. With D0 and D1 of the
    accesses, p the share of the others and (1 - p, p) drawn anew after each access, these are
    ``[[D0, 0], [(1-p) D1, D0 + p D1] / sigma]`` and ``[[(1-p) D1, p D1], [0, 0]]``.
    """
    hidden, ends = present(gap_map(gaps))
    failing = fleet.failing
    if failing is None or not failing.shortens:
        failed = fleet.failure_probability * ends
        return hidden + failed, ends - failed
    p, faster = failing.probability, 1.0 / failing.share_of_time
    none = np.zeros_like(hidden)
    silent = np.block([[hidden, none], [faster * (1 - p) * ends, faster * (hidden + p * ends)]])
    return silent, np.block([[(1 - p) * ends, p * ends], [none, none]])


def joint_order(fleet: Fleet, numbers: Sequence[int]) -> int:
    """Number of joint phases of the deliveries of the robots, where so many may be active.

    Parameters
    ----------
    fleet : Fleet
    numbers : sequence of int
        As `delivery_modes`.

    Raises
    ------
    NoAnswerError
        If there are more than `LARGEST_ORDER`, or too many numbers of robots beside them: the
        matrices are not built.
    """
    if fleet.deliveries is not None:
        return joint_size(fleet.deliveries)[0]
    if delivery_rates(fleet) is not None:
        return 1
    if fleet.environment is not None:
        return fleet.environment.states
    twice = 2 if fleet.shortens else 1
    orders = [twice * (gap_order(each.gaps) or 1) for each in fleet.classes]
    if max(orders) == 1:
        return 1
    joint = 1
    most = max(numbers)
    for index, robots in chain(*_heard_together(fleet, numbers)):
        # of several phases there are at least as many counts as phases, and as robots
        large = orders[index] > 1 and max(orders[index], robots) > LARGEST_ORDER
        joint *= LARGEST_ORDER + 1 if large else math.comb(robots + orders[index] - 1, robots)
        if joint > LARGEST_ORDER:
            phases = " or ".join(str(order) for order in sorted(set(orders)))
            have = "has" if most == 1 else "have"
            many = f"{counted(most, 'robot')} with access times of {phases} phases {have}"
            raise NoAnswerError(f"{many} more than {LARGEST_ORDER} joint phases")
    if (most + 1) * joint**2 > _MOST_RATES:
        raise NoAnswerError(
            f"{counted(most, 'robot')} with {joint} joint phases need too much memory"
        )
    return joint


def _heard_together(fleet: Fleet, numbers: Sequence[int]) -> list[list[tuple[int, int]]]:
    """Class and number of the robots between each two numbers in use, 0 among them."""
    ends = sorted({0, *numbers})
    return [[*Counter(fleet.in_order[before:end]).items()] for before, end in pairwise(ends)]


def delivery_modes(fleet: Fleet, numbers: Sequence[int]) -> Array:
    """D0, D1, … of all robots together while some of them are active.

    Robots with accesses of their own superpose; one that is switched off runs on unheard
    (interpretation 1 of avrachenkov2011). Those of one class that are always heard together are
    counted: the phase says how many of them are in each phase of their accesses
    (docs/theory/indexing-queue.md). Exponential access times need a single phase. Of accesses that
    fail `robot_map` says what they do. In an environment the phase is
    its state, which runs on with no robot active: thinned batches (interpretation 2). Of the
    activation only a rule that names robots or their classes matters: it says which are the first
    to become active.

    Parameters
    ----------
    fleet : Fleet
    numbers : sequence of int
        Numbers of robots that may be active.

    Returns
    -------
    ndarray, shape (largest number + 1, largest batch + 1, order, order)
        NaN for a number that may not be active, where that is not known.
    """
    largest = max(numbers)
    if fleet.deliveries is not None:
        return modes_of(fleet.deliveries, fleet.rule)[: largest + 1]
    rates = total_rates(fleet)
    if rates is not None:
        rates = rates[: largest + 1]
        return np.stack([-rates, rates], axis=1)[:, :, None, None]
    if fleet.environment is not None:
        return environment_modes(fleet, fleet.environment, largest)
    own = [robot_map(fleet, each.gaps) for each in fleet.classes]
    groups = _heard_together(fleet, numbers)
    processes = [np.zeros((2, 1, 1))]  # nobody
    processes += [
        np.array([_counted_moves(matrix, robots) for matrix in own[index]])
        for index, robots in chain(*groups)
    ]
    heard = superposed(processes)
    modes = np.full((largest + 1, *heard.shape[1:]), np.nan)
    modes[sorted({0, *numbers})] = heard[np.cumsum([0, *map(len, groups)]) + 1]
    return modes


def _counts(order: int, robots: int) -> list[tuple[int, ...]]:
    """How many robots are in each phase, for all that may be; of one robot in order of phase."""
    each = combinations_with_replacement(range(order), robots)
    return [tuple(map(phases.count, range(order))) for phases in each]


def _counted_moves(rates: Array, robots: int) -> Array:
    """Rates of robots alike between the counts of those in each phase, from those of one robot."""
    counts = _counts(len(rates), robots)
    place = {each: index for index, each in enumerate(counts)}
    total = np.zeros((len(counts), len(counts)))
    for before, after in np.argwhere(rates).tolist():
        for index, each in enumerate(counts):
            if each[before]:
                moved = [*each]
                moved[before] -= 1
                moved[after] += 1
                total[index, place[tuple(moved)]] += each[before] * rates[before, after]
    return total


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


def start_phases(fleet: Fleet, numbers: Sequence[int], modes: Array, active: int) -> Array:
    """Law of the joint phase at time 0.

    Every access has just begun; the phase of joint deliveries has the stationary law of the mode
    of the empty system. Where such a law is not unique, it is phase 0. An environment is
    stationary.

    Parameters
    ----------
    fleet : Fleet
    numbers : sequence of int
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
    if fleet.shortens:
        p = fleet.failure_probability
        firsts = [np.concatenate([(1 - p) * each, p * each]) for each in firsts]
    for index, robots in chain(*_heard_together(fleet, numbers)):
        counts = np.array(_counts(len(firsts[index]), robots))
        ways = scipy.special.gammaln(robots + 1) - scipy.special.gammaln(counts + 1).sum(axis=1)
        joint = np.kron(
            joint, np.exp(ways + scipy.special.xlogy(counts, firsts[index]).sum(axis=1))
        )
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
