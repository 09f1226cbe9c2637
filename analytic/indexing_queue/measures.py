"""Measures of the indexing queue from the stationary law of its chain."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from analytic.indexing_queue.chain import QueueChain
from scenarios.measures import Subject
from scenarios.sections import Costs

__all__ = ["control_cost", "fate_rates", "level_probabilities", "queue_measures", "sojourn_moments"]

Array = NDArray[np.floating[Any]]
Row = tuple[str, Subject, float]


def level_probabilities(chain: QueueChain, law: Array) -> Array:
    """Fraction of time with 0, 1, … pages in the system, shape (levels,)."""
    levels: Array = np.zeros(chain.top + 1)
    np.add.at(levels, chain.level, law)
    return levels


def fate_rates(chain: QueueChain, law: Array) -> dict[str, float]:
    """Pages per unit time that are delivered, lost, obsolete and served.

    avrachenkov2011, Theorems 2 and 3: numerators and the intensity of the input flow.
    """
    sizes = np.arange(len(chain.batch_rates))
    refused = sizes - chain.accepted[chain.level]
    lost = sum(float(law @ (chain.batch_rates[batch] * refused[:, batch])) for batch in sizes[1:])
    return {
        "delivered": float(law @ (sizes[1:] @ chain.batch_rates[1:])),
        "lost": lost,
        "obsolete": float(law @ chain.obsolete_rate),
        "served": float(law @ chain.served_rate),
    }


def control_cost(rates: dict[str, float], others: dict[str, float], costs: Costs) -> float:
    """The cost per unit time: each price times its measure, terms without a price left out.

    Parameters
    ----------
    rates : dict
        Of `fate_rates`.
    others : dict
        "starvation", "response" (mean sojourn of served pages) and "robots".

    Notes
    -----
    avrachenkov2011 (2) and talim2001 section 2, joined.
    """
    terms = others | {"loss": rates["lost"], "obsolescence": rates["obsolete"]}
    prices = {name: getattr(costs, name) for name in terms}
    return math.fsum(prices[name] * terms[name] for name in terms if prices[name])


def queue_measures(chain: QueueChain, law: Array, costs: Costs, *, ordered: bool) -> Iterator[Row]:
    """Every measure of the queue, as (measure, subject, value).

    Parameters
    ----------
    chain : QueueChain
    law : ndarray, shape (states,)
        Stationary probabilities.
    costs : Costs
    ordered : bool
        Whether pages are served first come first served and nothing is pushed out; only then
        are the sojourn times those of the tagged page. Otherwise Little's law gives the means.
    """
    levels, rates = level_probabilities(chain, law), fate_rates(chain, law)
    delivered = rates["delivered"]
    in_system = float(levels @ np.arange(len(levels)))
    robots = float(law @ chain.active)
    yield "arrival_rate", None, delivered
    yield "loss_rate", None, rates["lost"]
    yield "throughput", None, rates["served"]
    yield "starvation_probability", None, float(levels[0])
    yield "mean_active_robots", None, robots
    yield "mean_in_system", None, in_system
    for level, probability in enumerate(levels):
        yield "level_probability", level, float(probability)
    if delivered > 0:
        yield "loss_probability", None, rates["lost"] / delivered
        yield "obsolescence_probability", None, rates["obsolete"] / delivered
        yield "success_probability", None, rates["served"] / delivered
        yield "sojourn_time", "all", in_system / delivered
    others = {"starvation": float(levels[0]), "robots": robots, "response": math.nan}
    if ordered:
        sojourns = list(sojourn_moments(chain, law))
        yield from sojourns
        means = {subject: value for name, subject, value in sojourns if name == "sojourn_time"}
        others["response"] = means.get("served", math.nan)
    yield "control_cost", None, control_cost(rates, others, costs)


def _tagged_starts(chain: QueueChain, law: Array) -> list[Array]:
    """Pages that enter per unit time, by their position and the phases ahead of them.

    Entry p is a vector over (service phase, timer phases of the pages ahead, own timer phase) of
    a page that enters at position p + 1 counted from the server.
    """
    gamma, phases, timers = chain.timer.start, len(chain.service.start), len(chain.timer.start)
    starts = [np.zeros(phases * timers**waiting) for waiting in range(chain.top)]
    for level in range(chain.top + 1):
        here = chain.level == level
        for batch in range(1, len(chain.batch_rates)):
            flow = (law[here] * chain.batch_rates[batch, here]).reshape(chain.order, -1).sum(0)
            ahead = np.kron(flow, chain.service.start) if level == 0 else flow
            for place in range(int(chain.accepted[level, batch])):
                position = level + place + 1
                if position > 1:
                    ahead = np.kron(ahead, gamma)
                starts[position - 1] += ahead
    return starts


def _tagged_chain(chain: QueueChain) -> tuple[Array, Array, Array]:
    """Sub-generator of the tagged page, and its rates of being served and of going stale.

    Positions 1 … top; at position p the phases of the service, of the p - 2 pages ahead and of
    the page itself (catalogue, section 3).
    """
    service, timer = chain.service, chain.timer
    phases, timers = len(service.start), len(timer.start)
    sizes = [phases * timers**waiting for waiting in range(chain.top)]
    starts = np.concatenate([[0], np.cumsum(sizes)])
    generator = np.zeros((starts[-1], starts[-1]))
    served, obsolete = np.zeros(starts[-1]), np.zeros(starts[-1])
    served[:phases] = service.exit_rates
    generator[:phases, :phases] = service.generator
    for position in range(2, chain.top + 1):
        here = slice(starts[position - 1], starts[position])
        ahead = slice(starts[position - 2], starts[position - 1])
        generator[here, here] = _phase_changes(service.generator, timer.generator, position - 1)
        picked = np.kron(np.ones((timers, 1)), np.eye(timers ** (position - 2)))
        generator[here, ahead] = np.kron(
            service.exit_rates[:, None] * service.start[None, :], picked
        ) + np.kron(np.eye(phases), _stale_ahead(timer.exit_rates, position - 2))
        obsolete[here] = np.tile(timer.exit_rates, sizes[position - 2])
    return generator, served, obsolete


def _phase_changes(service: Array, timer: Array, waiting: int) -> Array:
    total = service
    for _ in range(waiting):
        total = np.kron(total, np.eye(len(timer))) + np.kron(np.eye(len(total)), timer)
    return total


def _stale_ahead(exits: Array, ahead: int) -> Array:
    """Rates at which one of the pages ahead goes stale, the tagged page's own phase last."""
    timers = len(exits)
    gone = np.zeros((timers ** (ahead + 1), timers**ahead))
    for place in range(ahead):
        before, after = np.eye(timers**place), np.eye(timers ** (ahead - place))
        gone += np.kron(np.kron(before, exits[:, None]), after)
    return gone


def sojourn_moments(chain: QueueChain, law: Array) -> Iterator[Row]:
    """First and second moments of the time from entry to end, by class of pages.

    avrachenkov2011, Theorem 4 and Corollary 1; the tagged page of the catalogue's section 3.
    """
    starts = np.concatenate(_tagged_starts(chain, law))
    delivered = fate_rates(chain, law)["delivered"]
    if not starts.any():
        return
    generator, served, obsolete = _tagged_chain(chain)
    ends = {"served": served, "obsolete": obsolete, "accepted": served + obsolete}
    columns = np.stack(list(ends.values()), axis=1)
    reach = np.linalg.solve(-generator, columns)
    once = np.linalg.solve(-generator, reach)
    twice = 2.0 * np.linalg.solve(-generator, once)
    for index, name in enumerate(ends):
        flow = float(starts @ reach[:, index])
        if flow > 0:
            yield "sojourn_time", name, float(starts @ once[:, index]) / flow
            yield "sojourn_time_second_moment", name, float(starts @ twice[:, index]) / flow
    entered = 2
    yield "sojourn_time_second_moment", "all", float(starts @ twice[:, entered]) / delivered
