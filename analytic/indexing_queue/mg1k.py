"""The indexing queue with services of any law: embedded at the starts of services.

Deliveries are Poisson with a rate that depends on the level, waiting pages have exponential
obsolescence timers or none. During a service the level is a birth-death process with generator G on
1…K: up at the delivery rate, down at ``(n - 1) theta``. Uniformised at a rate L it makes steps
``U = I + G / L``, and the number of steps in a service has the probabilities w of
`transforms.poisson_counts`; whatever the law, everything follows from these.

Notation of the docstrings: X a service time, K the capacity, ``D = diag(delivery rates)`` of the
pages that enter, B the generator of a waiting page: its position a, the pages that wait ahead, goes
down at ``a theta``, and the page itself is lost at theta. A jet of a time T is ``(1, T, T²/2)`` in
expectation, so that jets of sums are products.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from analytic.index.conditions import delivery_rates_at_levels, service_law, timer_rate
from analytic.index.formula import Values, dependent
from analytic.indexing_queue.measures import control_cost, level_rows
from analytic.indexing_queue.sojourns import FACTORIALS, moment_rows
from analytic.machinery.active_robots import robots_at
from analytic.machinery.markov import stationary
from analytic.machinery.phase_type import has_phases
from analytic.machinery.refusal import NoAnswerError, Remembered
from analytic.machinery.transforms import mean_time, moments, poisson_counts
from scenarios import Scenario
from scenarios.arrays import Array
from scenarios.laws import Distribution

_MOST_STEPS = 2**18
_MOST_WORK = 5 * 10**9
"""Steps, and products of the matrices over all steps: some ten seconds."""

_MOST_LEVELS = 1000
"""Pages in the buffer: matrices of this order are eliminated in seconds."""

_FEW_STEPS = 4096
"""Steps that are made without asking whether the levels have settled before."""

_NEGLIGIBLE = 1e-17
_SETTLED = 1e-15
_STEPS_PER_CHANGE = 1.25
"""Steps of the uniformised chain per change of its fastest level; at 1 it could be periodic."""


class GeneralQueue(NamedTuple):
    """The queue at arbitrary times.

    Attributes
    ----------
    levels : ndarray, shape (K + 1,)
        Fraction of time with 0, 1, …, K pages in the system.
    throughput : float
        Services per unit time.
    jets : dict of str to ndarray, shape (3,)
        Of the sojourn times of pages that are served and of those that become obsolete: pages per
        unit time, and these times the mean and half the second moment.
    """

    levels: Array
    throughput: float
    jets: dict[str, Array]


class _Chain(NamedTuple):
    """The steps of a birth-death process: probabilities to stay, and to go down and up."""

    stay: Array
    down: Array
    up: Array

    def after(self, vectors: Array) -> Array:
        """Probabilities of the states one step later, along the last axis."""
        moved = vectors * self.stay
        moved[..., :-1] += vectors[..., 1:] * self.down[1:]
        moved[..., 1:] += vectors[..., :-1] * self.up[:-1]
        return moved


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


def general_queue(deliveries: Array, law: Distribution, obsolescence: float) -> GeneralQueue:
    """Levels and sojourn times of the queue with services of any law.

    Parameters
    ----------
    deliveries : ndarray, shape (K + 1,)
        Delivery rate at each level, positive at 0; at K pages are lost.
    law : Distribution
        Of the service times X.
    obsolescence : float
        theta, the rate at which a waiting page becomes obsolete; 0: never.

    Raises
    ------
    NoAnswerError
        If the levels settle too slowly during a long service.

    Notes
    -----
    Of a service ``P = E e^{GX}`` and ``A = E ∫ e^{Gt} dt``; pi, the level at its start, is
    stationary for "P, one page less, from an empty system on with one page". One cycle takes
    ``C = E X + e / deliveries[0]`` with ``e = (pi P)(1)``; then level 0 has the share
    ``e / (deliveries[0] C)``, and level n ``(pi A)(n) / C``.
    Courtois and Georges (1971) without timers; docs/derivations.md.
    """
    capacity = len(deliveries) - 1
    if capacity > _MOST_LEVELS:
        raise NoAnswerError(f"the buffer holds {capacity} pages, limit {_MOST_LEVELS}")
    leaving = obsolescence * np.arange(float(capacity))
    entering = np.append(deliveries[1:-1], 0.0)
    mean = mean_time(law)
    rate = _STEPS_PER_CHANGE * max(float((entering + leaving).max()), 0.1 / mean)
    chain = _Chain(1.0 - (leaving + entering) / rate, leaving / rate, entering / rate)
    steps = _steps(chain, law, rate, obsolescence)
    reached, time = _over_a_service(chain, steps)
    onward = np.zeros_like(reached)
    onward[:, 0] = reached[:, 0]
    onward[:, :-1] += reached[:, 1:]
    start = stationary(onward)
    idle = float(start @ reached[:, 0]) / deliveries[0]
    cycle = mean + idle
    levels = np.append(idle, start @ time) / cycle
    service = np.array([1.0, mean, moments(law)[1] / 2])
    waits: Array = np.zeros((2, 3))
    with np.errstate(invalid="ignore"):  # where services have no second moment, nor have sojourns
        if capacity > 1:
            waits = _waits(chain, steps, start / cycle, entering, obsolescence, service)
        waits[0, 0] += deliveries[0] * levels[0]
        jets = {"served": _sum(waits[0], service), "obsolete": waits[1]}
    return GeneralQueue(levels, 1.0 / cycle, jets)


def _steps(chain: _Chain, law: Distribution, rate: float, obsolescence: float) -> _Steps:
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
            _require_few(count, count, len(chain.stay))
            settled = _settled_after(chain)
            if obsolescence:
                settled = max(settled, math.log(1 / _NEGLIGIBLE) * rate / obsolescence)
        _require_few(count, settled, len(chain.stay))
        count *= 2
    further = later + np.append(np.cumsum(more[:0:-1])[::-1], 0.0)
    second = rate**2 * moments(law)[1] / 2
    rest = max(second - math.fsum(further), 0.0) if math.isfinite(second) else math.inf
    return _Steps(rate, exactly, more, (beyond, later, rest))


def _settled_after(chain: _Chain) -> float:
    """Steps after which one more changes nothing, by squaring."""
    power: Array = chain.after(np.eye(len(chain.stay)))
    for doubling in range(_MOST_STEPS.bit_length()):
        square = power @ power
        if np.abs(square - power).max() < _SETTLED:
            return 2.0**doubling
        power = square / square.sum(axis=1, keepdims=True)
    return math.inf


def _require_few(count: int, settled: float, capacity: int) -> None:
    """Refuse what would take too long."""
    steps = min(2.0 * count, settled)
    if steps > _MOST_STEPS or steps * capacity**2 > _MOST_WORK:
        raise NoAnswerError(
            f"the levels of the buffer, up to {capacity}, take more than {count} steps in a long "
            "service, and have not settled by then"
        )


def _over_a_service(chain: _Chain, steps: _Steps) -> tuple[Array, Array]:
    """``E e^{GX} = Σ P(N = k) U^k`` and ``E ∫ e^{Gt} dt = Σ P(N > k) U^k / L``."""
    power: Array = np.eye(len(chain.stay))
    reached = np.zeros_like(power)
    time = np.zeros_like(power)
    for exactly, more in zip(steps.exactly.tolist(), steps.more.tolist(), strict=True):
        reached += exactly * power
        time += more * power
        power = chain.after(power)
    reached += steps.beyond[0] * power
    time += steps.beyond[1] * power
    return reached, time / steps.rate


def _waits(
    chain: _Chain, steps: _Steps, start: Array, entering: Array, theta: float, service: Array
) -> Array:
    """Jets of the waiting times of pages that find a service going on: until served, until lost.

    Parameters
    ----------
    start : ndarray, shape (K,)
        Services per unit time that start at each level.
    entering : ndarray, shape (K,)
        Rates at which pages enter at each level.
    service : ndarray, shape (3,)
        The jet of a service.
    """
    ahead = np.arange(len(chain.stay) - 1.0)
    position = _Chain(
        1.0 - (ahead + 1.0) * theta / steps.rate, ahead * theta / steps.rate, np.zeros(len(ahead))
    )
    jets, alive = _rest_of_service(chain, position, steps, start, entering)
    services, during = _whole_service(position, steps, theta, service)
    served = np.zeros(3)
    while True:
        served += jets[:, 0]
        jets = jets[:, 1:]
        if not jets.size:
            return np.array([served, theta * alive])
        alive += _sum(jets.sum(axis=1), during)
        jets = _moved(jets, services)


def _rest_of_service(
    chain: _Chain, position: _Chain, steps: _Steps, start: Array, entering: Array
) -> tuple[Array, Array]:
    """Jets of the wait until the service ends that is going on, and what is waited meanwhile.

    Returns
    -------
    jets : ndarray, shape (3, K - 1)
        By the position at the end, of pages that still wait.
    alive : ndarray, shape (3,)
        ``E ∫ t^i / i! dt`` over that time, per unit time.

    Notes
    -----
    The first row and the last column of ``exp([[G, D, 0, 0], [0, B, I, 0], [0, 0, B, I],
    [0, 0, 0, B]] X)``, uniformised.
    """
    level = start
    jets: Array = np.zeros((3, len(position.stay)))
    total = np.zeros_like(jets)
    alive = np.zeros(3)
    for exactly, more in zip(steps.exactly.tolist(), steps.more.tolist(), strict=True):
        total += exactly * jets
        alive += more * jets.sum(axis=1)
        arriving = (level * entering)[:-1]
        later = position.after(jets)
        later[0] += arriving / steps.rate
        later[1:] += jets[:-1] / steps.rate
        jets = later
        level = chain.after(level)
    none, one, two = steps.beyond
    total += none * jets
    alive += one * jets.sum(axis=1)
    if position.stay[0] == 1.0:  # without timers jets go on to grow; at rest no page enters
        total[1:] += one / steps.rate * jets[:-1]
        total[2] += two / steps.rate**2 * jets[0] if jets[0].any() else 0.0
    return total, alive / steps.rate


def _whole_service(
    position: _Chain, steps: _Steps, theta: float, service: Array
) -> tuple[Array, Array]:
    """``E e^{BX} X^i / i!`` for i = 0, 1, 2, and ``E ∫_0^X e^{-theta t} t^i / i! dt``.

    From ``Σ_k P(N = k + i) choose(k + i, i) S^k / L^i`` with ``S = I + B / L``.
    """
    size = len(position.stay)
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
        power = position.after(power)
        still *= alive
        if still < _NEGLIGIBLE:
            break
    return services, during / steps.rate


def _moved(jets: Array, services: Array) -> Array:
    """The jets one service later, by position; each page has moved up as pages ahead left."""
    size = jets.shape[1]
    plain, once, twice = (jets @ each[:size, :size] for each in services)
    return np.array([plain[0], plain[1] + once[0], plain[2] + once[1] + twice[0]])


def _sum(first: Array, second: Array) -> Array:
    """The jet of a sum of independent times."""
    return np.array([first[: i + 1] @ second[i::-1] for i in range(3)])


# --- of a scenario ------------------------------------------------------------------------------


@Remembered
def _queue_of(scenario: Scenario) -> GeneralQueue:
    deliveries, obsolescence = _parameters(scenario)
    return general_queue(deliveries, service_law(scenario), obsolescence)


def _parameters(scenario: Scenario) -> tuple[Array, float]:
    """Deliveries at each level and obsolete pages of one waiting page, per unit time."""
    return delivery_rates_at_levels(scenario), timer_rate(scenario)


def _mean_active(scenario: Scenario) -> float:
    """Robots that work, on average."""
    at = robots_at(scenario)
    levels = _queue_of(scenario).levels
    return float(levels @ np.array([at(level) for level in range(len(levels))], dtype=float))


def service_without_phases(scenario: Scenario) -> str | None:
    """Service times have no phases; else the chain of them has an answer."""
    return "service times have phases" if has_phases(service_law(scenario)) else None


def work_when_empty(scenario: Scenario) -> str | None:
    """Robots work while the system is empty."""
    return None if robots_at(scenario)(0) else "no robot works while the system is empty"


@dependent
def levels_settle(scenario: Scenario) -> str | None:
    """Levels settle soon enough during a long service, or services are short."""
    _queue_of(scenario)
    return None


def of_levels(scenario: Scenario) -> Values:
    """Everything that follows from the levels."""
    levels = _queue_of(scenario).levels
    yield from level_rows(levels, _mean_active(scenario), _rates(scenario))
    if scenario.model.hysteresis is not None:
        yield "switch_rate", None, _switch_rate(scenario)


def _switch_rate(scenario: Scenario) -> float:
    """Robots switched on per unit time: a level is left downwards as often as upwards."""
    deliveries, _ = _parameters(scenario)
    at = robots_at(scenario)
    levels = _queue_of(scenario).levels
    active = np.array([at(level) for level in range(len(levels))], dtype=float)
    return float((levels * deliveries)[:-1] @ np.maximum(-np.diff(active), 0.0))


def _rates(scenario: Scenario) -> dict[str, float]:
    deliveries, obsolescence = _parameters(scenario)
    queue = _queue_of(scenario)
    waiting = np.maximum(np.arange(len(queue.levels)) - 1.0, 0.0)
    return {
        "delivered": float(queue.levels @ deliveries),
        "lost": float(queue.levels[-1] * deliveries[-1]),
        "obsolete": obsolescence * float(queue.levels @ waiting),
        "served": queue.throughput,
    }


def of_sojourns(scenario: Scenario) -> Values:
    """Moments of sojourn times by class of pages; the second only where services have one."""
    jets = _queue_of(scenario).jets
    moments = np.stack([jets["served"], jets["obsolete"]]) * FACTORIALS
    return moment_rows(moments, _rates(scenario)["delivered"])


def of_costs(scenario: Scenario) -> Values:
    """The control cost."""
    queue = _queue_of(scenario)
    rates = _rates(scenario)
    served = queue.jets["served"]
    others = {
        "starvation": float(queue.levels[0]),
        "robots": _mean_active(scenario),
        "response": float(served[1] / served[0]),
        "switch": _switch_rate(scenario),
    }
    yield "control_cost", None, control_cost(rates, others, scenario.prices)
