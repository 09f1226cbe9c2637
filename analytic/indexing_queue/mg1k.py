"""The indexing queue with services of any law: embedded at the starts of services.

Deliveries are those of any `QueueChain`: their rates depend on the level and on a phase. Waiting
pages have exponential obsolescence timers or none. During a service level and phase are a Markov
chain with generator G on the levels 1…K: up by deliveries, down at ``(n - 1) theta``. Uniformised
at a rate L it makes steps ``U = I + G / L``, and the number of steps in a service has the
probabilities w of `transforms.poisson_counts`; whatever the law, everything follows from these.

Notation of the docstrings: X a service time, K the highest level, D the rates at which pages
enter, by state and position, B the generator of a waiting page: its position a, the pages that wait
ahead, goes down at ``a theta``, and the page itself is lost at theta. A jet of a time T is
``(1, T, T²/2)`` in expectation, so that jets of sums are products. Vectors of probabilities are
columns.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import scipy

from analytic.index import conditions
from analytic.index.conditions import service_law
from analytic.index.formula import Values, dependent
from analytic.indexing_queue.chain import UNLIMITED_PATIENCE, QueueChain, rate_entries
from analytic.indexing_queue.hysteresis import switched_on
from analytic.indexing_queue.levels_and_fates import (
    Marginals,
    fate_rates,
    mean_active,
    mean_active_by_class,
)
from analytic.indexing_queue.measures import KnownLevels, all_rows, chain_of
from analytic.indexing_queue.sojourns import FACTORIALS, Row, moment_rows
from analytic.machinery.markov import closed_classes, stationary
from analytic.machinery.phase_type import PhaseLaw, has_phases
from analytic.machinery.refusal import NoAnswerError, Remembered
from analytic.machinery.transforms import mean_time, moments, poisson_counts
from scenarios import Scenario
from scenarios.arrays import Array
from scenarios.laws import Distribution

_MOST_STEPS = 2**18
_MOST_WORK = 5 * 10**9
"""Steps, and products of the matrices over all steps: some ten seconds."""

_MOST_STATES = 1000
"""Levels times phases: matrices of this order are eliminated in seconds."""

_FEW_STEPS = 4096
"""Steps that are made without asking whether the levels have settled before."""

_NEGLIGIBLE = 1e-17
_SETTLED = 1e-15
_STEPS_PER_CHANGE = 1.25
"""Steps of the uniformised chain per change of its fastest state; at 1 it could be periodic."""

_SILENT = PhaseLaw(np.ones(1), np.zeros((1, 1)))
_UNIT = PhaseLaw(np.ones(1), -np.ones((1, 1)))
"""A service that does not end, and one that ends at rate 1."""

Matrix = Any
"""A sparse matrix of scipy."""


class GeneralQueue(NamedTuple):
    """The queue at arbitrary times.

    Attributes
    ----------
    phases : ndarray, shape (K + 1, order)
        Fraction of time with 0, 1, …, K pages in the system, by the phase of the deliveries.
    ended : ndarray, shape (K * order,)
        Services that end in each state, from level 1 on, per unit time.
    jets : dict of str to ndarray, shape (3,)
        Of the sojourn times of pages that are served and of those that become obsolete: pages per
        unit time, and these times the mean and half the second moment.
    """

    phases: Array
    ended: Array
    jets: dict[str, Array]

    @property
    def levels(self) -> Array:
        """Fraction of time with 0, 1, …, K pages in the system."""
        return self.phases.sum(axis=1)


class _Parts(NamedTuple):
    """What a `QueueChain` does during a service, at its end, and while the system is empty.

    Attributes
    ----------
    during : csr_matrix, shape (busy states, busy states)
        Rates to the row's state from the column's; as in all that follow.
    ended : csr_matrix, shape (states, busy states)
        Where the end of a service leads.
    entering : csr_matrix, shape (positions, busy states)
        Rates at which pages enter, by the pages that wait ahead.
    first : ndarray, shape (positions, order)
        The same of pages that come to an empty system with the one that is served at once.
    from_empty : ndarray, shape (order, states)
        Rates from the row's state.
    """

    during: Matrix
    ended: Matrix
    entering: Matrix
    first: Array
    from_empty: Array


def _parts(chain: QueueChain) -> _Parts:
    order = chain.order
    busy = chain.top * order
    rises, rows, columns, rates = rate_entries(replace(chain, service=_SILENT))
    moving = rows != columns
    rises, rows, columns, rates = (each[moving] for each in (rises, rows, columns, rates))
    empty = rows < order
    within = rows[~empty] - order, columns[~empty] - order, rates[~empty]
    from_empty = np.zeros((order, chain.states))
    np.add.at(from_empty, (rows[empty], columns[empty]), rates[empty])
    waiting = np.zeros((chain.top - 1, chain.states))
    for ahead in range(int(rises.max(initial=0))):  # pages of the same batch
        rising = rises > ahead
        position = rows[rising] // order - 1 + ahead
        seen = position >= 0  # else the page is served at once
        np.add.at(waiting, (position[seen], rows[rising][seen]), rates[rising][seen])
    only_services = replace(
        chain, service=_UNIT, patience=UNLIMITED_PATIENCE, arrivals=({},) * (chain.top + 1)
    )
    falls, before, after, shares = rate_entries(only_services)
    done = falls == -1
    return _Parts(
        scipy.sparse.csr_matrix((within[2], (within[1], within[0])), shape=(busy, busy)),
        scipy.sparse.csr_matrix(
            (shares[done], (after[done], before[done] - order)), shape=(chain.states, busy)
        ),
        scipy.sparse.csr_matrix(waiting[:, order:]),
        waiting[:, :order],
        from_empty,
    )


class _Steps(NamedTuple):
    """How many steps there are in a service.

    Attributes
    ----------
    rate : float
        L, steps per unit time.
    exactly, more, further : ndarray, shape (steps,)
        ``P(N = k)``, ``P(N > k)`` and ``E (N - k - 1)^+`` for the number N of steps.
    beyond : tuple of float
        ``E choose(N - n, j)`` over N >= n, the number of entries, for j = 0, 1, 2; the last is
        infinite where service times have no second moment.
    """

    rate: float
    exactly: Array
    more: Array
    beyond: tuple[float, float, float]


def general_queue(chain: QueueChain, law: Distribution) -> GeneralQueue:
    """Levels and sojourn times of the queue with services of any law.

    Parameters
    ----------
    chain : QueueChain
        Whose services and timers have one phase; how long its services take is not looked at.
    law : Distribution
        Of the service times X.

    Raises
    ------
    NoAnswerError
        If the levels settle too slowly during a long service, or there is no unique steady state.

    Notes
    -----
    Of a service ``P = E e^{GX}`` and ``A = E ∫ e^{Gt} dt``. Services that begin in a state, each
    E X long, and the empty states are a semi-Markov process: from a state on by P and one page
    less, from an empty one at its rates. It has the shares of time of the Markov chain with rates
    ``P / E X``; sigma, services begun per unit time, are these shares divided by E X, and the
    share of each state is ``sigma A``. Courtois and Georges (1971) without phases and timers;
    docs/derivations.md.
    """
    order = chain.order
    size = chain.top * order
    if size > _MOST_STATES:
        raise NoAnswerError(f"levels times phases are {size}, limit {_MOST_STATES}")
    parts = _parts(chain)
    theta = float(chain.patience.exit_rates[0])
    mean = mean_time(law)
    out = np.asarray(parts.during.sum(axis=0)).ravel()
    rate = _STEPS_PER_CHANGE * max(float(out.max()), 0.1 / mean)
    step = (parts.during / rate + scipy.sparse.diags(1.0 - out / rate)).tocsr()
    steps = _steps(step, law, rate, theta)
    reached, time = _over_a_service(step, steps)
    rates = np.zeros((order + size, order + size))
    rates[:order] = parts.from_empty
    rates[order:] = (parts.ended @ reached).T / mean
    if len(classes := closed_classes(rates, chain.start)) != 1:
        raise NoAnswerError(f"its chain has {len(classes)} closed classes")
    shares = stationary(rates, chain.start)
    start = shares[order:] / mean
    phases = np.append(shares[:order], time @ start).reshape(-1, order)
    service = np.array([1.0, mean, moments(law)[1] / 2])
    waits: Array = np.zeros((2, 3))
    with np.errstate(invalid="ignore"):  # where services have no second moment, nor have sojourns
        if chain.top > 1:
            arrived = parts.first @ phases[0]
            waits = _waits(step, steps, start, arrived, parts.entering, theta, service)
        waits[0, 0] += float((phases[0] @ parts.from_empty[:, order:]).sum())
        jets = {"served": _sum(waits[0], service), "obsolete": waits[1]}
    return GeneralQueue(phases, reached @ start, jets)


def _steps(step: Matrix, law: Distribution, rate: float, obsolescence: float) -> _Steps:
    """Steps until hardly a service lasts longer, or until nothing depends on how many there are."""
    mean = rate * mean_time(law)
    settled = math.inf
    count = 64
    while True:
        exactly = poisson_counts(law, rate, count)
        beyond = max(1.0 - math.fsum(exactly), 0.0)
        more = beyond + np.append(np.cumsum(exactly[:0:-1])[::-1], 0.0)
        later = max(mean - math.fsum(more), 0.0)
        if (beyond < 1e-15 and later < 1e-15 * mean) or count >= settled:
            break
        if count >= _FEW_STEPS and settled == math.inf:
            _require_few(count, count, step)
            settled = _settled_after(step)
            if obsolescence:
                settled = max(settled, math.log(1 / _NEGLIGIBLE) * rate / obsolescence)
        _require_few(count, settled, step)
        count *= 2
    further = later + np.append(np.cumsum(more[:0:-1])[::-1], 0.0)
    second = rate**2 * moments(law)[1] / 2
    rest = max(second - math.fsum(further), 0.0) if math.isfinite(second) else math.inf
    return _Steps(rate, exactly, more, (beyond, later, rest))


def _settled_after(step: Matrix) -> float:
    """Steps after which one more changes nothing, by squaring."""
    power: Array = step.toarray()
    for doubling in range(_MOST_STEPS.bit_length()):
        square = power @ power
        if np.abs(square - power).max() < _SETTLED:
            return 2.0**doubling
        power = square / square.sum(axis=0)
    return math.inf


def _require_few(count: int, settled: float, step: Matrix) -> None:
    """Refuse what would take too long."""
    steps = min(2.0 * count, settled)
    states = step.shape[0]
    if steps > _MOST_STEPS or steps * step.nnz * states > 3 * _MOST_WORK:
        raise NoAnswerError(
            f"the {states} states of the buffer take more than {count} steps in a long service, "
            "and have not settled by then"
        )


def _over_a_service(step: Matrix, steps: _Steps) -> tuple[Array, Array]:
    """``E e^{GX} = Σ P(N = k) U^k`` and ``E ∫ e^{Gt} dt = Σ P(N > k) U^k / L``."""
    power: Array = np.eye(step.shape[0])
    reached = np.zeros_like(power)
    time = np.zeros_like(power)
    for exactly, more in zip(steps.exactly.tolist(), steps.more.tolist(), strict=True):
        reached += exactly * power
        time += more * power
        power = step @ power
    reached += steps.beyond[0] * power
    time += steps.beyond[1] * power
    return reached, time / steps.rate


def _waits(
    step: Matrix,
    steps: _Steps,
    start: Array,
    arrived: Array,
    entering: Matrix,
    theta: float,
    service: Array,
) -> Array:
    """Jets of the waiting times of pages that do not find the system empty: until served, lost.

    Parameters
    ----------
    start : ndarray, shape (busy states,)
        Services per unit time that start in each state.
    arrived : ndarray, shape (K - 1,)
        Pages per unit time that come with one that is served at once, by position.
    entering : csr_matrix, shape (K - 1, busy states)
        Rates at which pages enter at each position.
    service : ndarray, shape (3,)
        The jet of a service.
    """
    ahead = np.arange(float(len(arrived)))
    falling = ahead * theta / steps.rate
    position = scipy.sparse.diags(
        [1.0 - (ahead + 1.0) * theta / steps.rate, falling[1:]], [0, 1], format="csr"
    )
    jets, alive = _rest_of_service((step, position), steps, start, arrived, entering)
    services, during = _whole_service(position, steps, theta, service)
    served = np.zeros(3)
    while True:
        served += jets[0]
        jets = jets[1:]
        if not jets.size:
            return np.array([served, theta * alive])
        alive += _sum(jets.sum(axis=0), during)
        jets = _moved(jets, services)


def _rest_of_service(
    moves: tuple[Matrix, Matrix], steps: _Steps, start: Array, arrived: Array, entering: Matrix
) -> tuple[Array, Array]:
    """Jets of the wait until the service ends that is going on, and what is waited meanwhile.

    Returns
    -------
    jets : ndarray, shape (K - 1, 3)
        By the position at the end, of pages that still wait.
    alive : ndarray, shape (3,)
        ``E ∫ t^i / i! dt`` over that time, per unit time.

    Notes
    -----
    The first row and the last column of ``exp([[G, D, 0, 0], [0, B, I, 0], [0, 0, B, I],
    [0, 0, 0, B]] X)``, uniformised.
    """
    step, position = moves
    level = start
    jets: Array = np.zeros((len(arrived), 3))
    jets[:, 0] = arrived
    total = np.zeros_like(jets)
    alive = np.zeros(3)
    for exactly, more in zip(steps.exactly.tolist(), steps.more.tolist(), strict=True):
        total += exactly * jets
        alive += more * jets.sum(axis=0)
        later = position @ jets
        later[:, 0] += entering @ level / steps.rate
        later[:, 1:] += jets[:, :-1] / steps.rate
        jets = later
        level = step @ level
    none, one, two = steps.beyond
    total += none * jets
    alive += one * jets.sum(axis=0)
    if position[0, 0] == 1.0:  # without timers jets go on to grow; at rest no page enters
        total[:, 1:] += one / steps.rate * jets[:, :-1]
        total[:, 2] += two / steps.rate**2 * jets[:, 0] if jets[:, 0].any() else 0.0
    return total, alive / steps.rate


def _whole_service(
    position: Matrix, steps: _Steps, theta: float, service: Array
) -> tuple[Array, Array]:
    """``E e^{BX} X^i / i!`` for i = 0, 1, 2, and ``E ∫_0^X e^{-theta t} t^i / i! dt``.

    From ``Σ_k P(N = k + i) choose(k + i, i) S^k / L^i`` with ``S = I + B / L``.
    """
    size = position.shape[0]
    if not theta:
        return service[:, None, None] * np.eye(size), np.zeros(3)
    power: Array = np.eye(size)
    services = np.zeros((3, size, size))
    during = np.zeros(3)
    alive = 1.0 - theta / steps.rate
    still = 1.0
    for k in range(len(steps.exactly) - 2):
        for i, choices in enumerate((1.0, k + 1.0, (k + 1.0) * (k + 2.0) / 2)):
            scale = choices / steps.rate**i
            services[i] += scale * float(steps.exactly[k + i]) * power
            during[i] += scale * float(steps.more[k + i]) * still
        power = position @ power
        still *= alive
        if still < _NEGLIGIBLE:
            break
    return services, during / steps.rate


def _moved(jets: Array, services: Array) -> Array:
    """The jets one service later, by position; each page has moved up as pages ahead left."""
    size = len(jets)
    plain, once, twice = (each[:size, :size] @ jets for each in services)
    return np.column_stack(
        [plain[:, 0], plain[:, 1] + once[:, 0], plain[:, 2] + once[:, 1] + twice[:, 0]]
    )


def _sum(first: Array, second: Array) -> Array:
    """The jet of a sum of independent times."""
    return np.array([first[: i + 1] @ second[i::-1] for i in range(3)])


# --- of a scenario ------------------------------------------------------------------------------


def _chain_of(scenario: Scenario) -> QueueChain:
    """The chain with services of the same mean that have one phase."""
    mean = mean_time(service_law(scenario))
    return chain_of(scenario.with_("buffer.service", {"exponential": {"mean": mean}}))


@Remembered
def _rows_of(scenario: Scenario) -> tuple[Row, ...]:
    """Every measure; the second moment of sojourn times only where services have one."""
    chain = _chain_of(scenario)
    queue = general_queue(chain, service_law(scenario))
    waiting = np.maximum(np.arange(chain.top + 1.0) - 1.0, 0.0)
    obsolete = queue.phases * (chain.patience.exit_rates * waiting[:, None])
    marginals = Marginals(queue.phases[..., None], obsolete[..., None])
    rates = fate_rates(chain, marginals)
    sojourns = None
    if conditions.first_come_first_served(scenario) is None:
        jets = np.stack([queue.jets["served"], queue.jets["obsolete"]])
        sojourns = list(moment_rows(jets * FACTORIALS))
    robots = mean_active(chain, marginals), mean_active_by_class(chain, queue.phases)
    switches = None
    if chain.settled is not None:
        ended = np.append(np.zeros(chain.order), queue.ended).reshape(obsolete.shape)
        switches = switched_on(chain, ended + obsolete)
    levels = KnownLevels.of(queue.levels)
    return tuple(all_rows(levels, robots, rates, scenario.prices, sojourns, switches))


def rows_of_general(scenario: Scenario) -> Values:
    """Every measure of the queue with services of any law."""
    return _rows_of(scenario)


def service_without_phases(scenario: Scenario) -> str | None:
    """Service times have no phases; else the chain of them has an answer."""
    return "service times have phases" if has_phases(service_law(scenario)) else None


@dependent
def levels_settle(scenario: Scenario) -> str | None:
    """The steady state is unique; levels settle during a long service, or services are short."""
    _rows_of(scenario)
    return None
