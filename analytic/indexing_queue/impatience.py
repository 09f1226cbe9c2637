"""Timers of any law, served in order: M(n)/M/c/K+G.

The ages of the waiting pages have a density in product form (Brandt and Brandt, 1999), whatever the
delivery rates at the levels, 0 at the highest included; docs/theory/buffer-approximations.md.
So a page that waits meets a wait W that is offered to it, of a density that its own timer does not
change, and is served if its timer is longer.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import scipy

from analytic.index import conditions
from analytic.index.conditions import buffer_of, poisson_parameters
from analytic.index.formula import Values, dependent
from analytic.indexing_queue.measures import KnownLevels, all_rows
from analytic.indexing_queue.several_servers import idle_servers
from analytic.indexing_queue.sojourns import Row, moment_rows, with_service
from analytic.machinery.active_robots import robots_at
from analytic.machinery.phase_type import PhaseLaw, phase_count
from analytic.machinery.refusal import Remembered
from analytic.machinery.transforms import jumps, mean_time, survival
from scenarios import Scenario
from scenarios.arrays import Array
from scenarios.laws import Distribution, Hyperexponential, PhaseType
from scenarios.model import present

_MOST_PLACES = 3000
_MOST_PHASES = 30
"""Waiting places, and phases of a timer without a formula: the integrals take a second or two."""

_PANELS = 120
_ORDER = 12
"""Panels of equal width, and as many that shrink towards 0; Gauss's points in each."""


class TimerPoints(NamedTuple):
    """Points at which waiting times are integrated.

    Attributes
    ----------
    times, weights : ndarray
        Ascending.
    alive : ndarray
        The probability that a timer Y is longer.
    below, moment : ndarray
        ``F(x) = ∫_0^x P(Y > u) du`` and ``∫_0^x u P(Y > u) du``.
    """

    times: Array
    weights: Array
    alive: Array
    below: Array
    moment: Array


def timer_points(law: Distribution, rate: float, waiting: int) -> TimerPoints:
    """Points for integrals of ``e^{-rate x} F(x)^k``, k below the number of waiting places.

    Parameters
    ----------
    law : Distribution
        Of the timers.
    rate : float
        At which services end while pages wait.
    waiting : int
        Places.
    """
    farthest = (waiting + 12.0 * np.sqrt(waiting) + 40.0) / rate
    near = min(mean_time(law), farthest) * 1e-9
    edges = np.union1d(
        np.linspace(0.0, farthest, _PANELS + 1), np.geomspace(near, farthest, _PANELS)
    )
    edges = np.union1d(edges, [each for each in jumps(law) if 0.0 < each < farthest])
    nodes, shares = np.polynomial.legendre.leggauss(_ORDER)
    width = np.diff(edges)[:, None]
    times = edges[:-1, None] + width * (nodes + 1.0) / 2.0
    weights = width * shares / 2.0
    alive = np.stack([survival(law, panel) for panel in times])  # exact where there are few points
    until = _antiderivative(nodes)

    def integrated(values: Array) -> Array:
        whole = (values * weights).sum(axis=1)
        before = np.append(0.0, np.cumsum(whole)[:-1])
        return np.asarray(before[:, None] + width / 2.0 * (values @ until.T))

    below, moment = integrated(alive), integrated(times * alive)
    return TimerPoints(*(each.ravel() for each in (times, weights, alive, below, moment)))


def _antiderivative(nodes: Array) -> Array:
    """From values at the points to the integrals from -1 to each of them."""
    legendre = np.polynomial.legendre
    integrals = [
        legendre.legval(nodes, legendre.legint(unit, lbnd=-1)) for unit in np.eye(len(nodes))
    ]
    return np.array(integrals).T @ np.linalg.inv(legendre.legvander(nodes, len(nodes) - 1))


class ImpatientQueue(NamedTuple):
    """The queue at an arbitrary time.

    Attributes
    ----------
    levels : ndarray, shape (K + 1,)
        Fraction of time with 0, 1, …, K pages in the system.
    at_once : float
        Pages per unit time that find a free server.
    waits : ndarray, shape (2, 3)
        Of the waits of pages that are served and of those that become obsolete: the rate of the
        pages, times the moments of order 0, 1 and 2.
    """

    levels: Array
    at_once: float
    waits: Array


def impatient_queue(
    deliveries: Array, service: float, law: Distribution, servers: int = 1
) -> ImpatientQueue:
    """Levels and waiting times where timers have any law.

    Parameters
    ----------
    deliveries : ndarray, shape (K + 1,)
        Delivery rate at each level; at K pages are lost.
    service : float
        mu, the rate of each server.
    law : Distribution
        Of the timers Y of waiting pages.
    servers : int
        c, at most K.

    Notes
    -----
    ``p_{c+k} = p_c lambda_c … lambda_{c+k-1} ∫ e^{-c mu x} P(Y > x) F(x)^{k-1} / (k-1)! dx``. Pages
    whose offered wait is x come at the rate ``phi(x) = p_c c mu e^{-c mu x} Σ_k lambda_c …
    lambda_{c+k-1} F(x)^{k-1} / (k-1)!``: of these the share ``P(Y > x)`` is served.
    """
    capacity = len(deliveries) - 1
    waiting = capacity - servers
    rate = servers * service
    with np.errstate(divide="ignore"):
        births = np.log(deliveries[:-1].astype(float))
    climbs = np.append(0.0, np.cumsum(births))
    deaths = np.log(service * np.minimum(np.arange(1.0, capacity + 1.0), servers))
    logs = climbs[: servers + 1] - np.append(0.0, np.cumsum(deaths[:servers]))
    if not waiting:
        levels = np.exp(logs - logs.max())
        levels /= levels.sum()
        return ImpatientQueue(levels, float(deliveries[:-1] @ levels[:-1]), np.zeros((2, 3)))
    at = timer_points(law, rate, waiting)
    k = np.arange(float(waiting))[:, None]
    steps = climbs[servers + 1 :, None] - climbs[servers]
    with np.errstate(divide="ignore", invalid="ignore"):
        terms = (
            steps
            + np.where(k > 0, k * np.log(at.below), 0.0)
            - scipy.special.gammaln(k + 1.0)
            - rate * at.times
        )
        alive = np.log(at.alive) + np.log(at.weights)
        above = logs[-1] + np.logaddexp.reduce(terms + alive, axis=1)
    logs = np.append(logs, above)
    scale = np.logaddexp.reduce(logs)
    levels = np.exp(logs - scale)
    offered = rate * np.exp(np.logaddexp.reduce(terms, axis=0) + logs[servers] - scale) * at.weights
    x, ended = at.times, 1.0 - at.alive
    served = [offered @ (at.alive * x**power) for power in range(3)]
    obsolete = [
        offered @ each
        for each in (ended, at.below - x * at.alive, 2.0 * at.moment - x**2 * at.alive)
    ]
    at_once = float(deliveries[:servers] @ levels[:servers])
    return ImpatientQueue(levels, at_once, np.array([served, obsolete]))


# --- of a scenario ------------------------------------------------------------------------------


@Remembered
def _rows_of(scenario: Scenario) -> tuple[Row, ...]:
    deliveries, service = poisson_parameters(scenario)
    buffer = buffer_of(scenario)
    law = present(conditions.timer_of(scenario))
    queue = impatient_queue(deliveries, service, law, buffer.servers)
    at = robots_at(scenario)
    levels = queue.levels
    active = float(levels @ np.array([at(level) for level in range(len(levels))], dtype=float))
    waits = queue.waits
    rates = {
        "delivered": float(levels @ deliveries),
        "lost": float(levels[-1] * deliveries[-1]),
        "obsolete": float(waits[1, 0]),
        "served": float(waits[0, 0]) + queue.at_once,
    }
    sojourns = with_service(waits, queue.at_once, PhaseLaw(np.ones(1), np.array([[-service]])))
    rows = all_rows(
        KnownLevels.of(levels), (active, []), rates, scenario.prices, list(moment_rows(sojourns))
    )
    return (*rows, *_idle(levels, buffer.servers))


def _idle(levels: Array, servers: int) -> Iterator[Row]:
    if servers > 1:
        yield "idle_indexers", None, idle_servers(levels, servers)


def rows_of_impatience(scenario: Scenario) -> Values:
    """Every measure of the queue with timers of any law."""
    return _rows_of(scenario)


def other_timers(scenario: Scenario) -> str | None:
    """Waiting pages have obsolescence timers that are not exponential."""
    if conditions.timer_of(scenario) is None:
        return "waiting pages do not become obsolete"
    exponential = conditions.exponential_patience_or_none(scenario) is None
    return "obsolescence timers are exponential" if exponential else None


@dependent
def few_places(scenario: Scenario) -> str | None:
    """At most 3000 pages can wait, and the survival of their timers is soon known."""
    places = buffer_of(scenario).waiting_places
    if places > _MOST_PLACES:
        return f"{places} pages can wait, limit {_MOST_PLACES}"
    law = conditions.timer_of(scenario)
    if isinstance(law, PhaseType | Hyperexponential) and (phase_count(law) or 0) > _MOST_PHASES:
        return f"obsolescence timers have {phase_count(law)} phases, limit {_MOST_PHASES}"
    _rows_of(scenario)
    return None
