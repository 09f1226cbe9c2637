"""Measures of the indexing queue from the stationary law of its chain."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from analytic.indexing_queue.chain import QueueChain, one_gone, with_clocks
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


def _tagged_blocks(chain: QueueChain) -> list[tuple[Array, Array]]:
    """The sub-generator of the tagged page, position by position.

    Entry p holds the rates within position p + 1 and from there to position p, over the phases of
    the service, of the pages ahead that wait and of the page itself (catalogue, section 3).
    """
    service, timer = chain.service, chain.timer
    phases, timers = len(service.start), len(timer.start)
    picked_up = service.exit_rates[:, None] * service.start[None, :]
    blocks: list[tuple[Array, Array]] = [(service.generator, np.zeros((phases, 0)))]
    for waiting in range(1, chain.top):
        ahead = timers ** (waiting - 1)
        closer = np.kron(picked_up, np.kron(np.ones((timers, 1)), np.eye(ahead)))
        if waiting > 1:
            stale_ahead = np.kron(one_gone(timer.exit_rates, waiting - 1), np.eye(timers))
            closer += np.kron(np.eye(phases), stale_ahead)
        blocks.append((with_clocks(service.generator, timer, waiting), closer))
    return blocks


def _tagged_ends(chain: QueueChain) -> list[Array]:
    """Rates at which the tagged page is served, goes stale, and either, for each position."""
    served, stale = chain.service.exit_rates, chain.timer.exit_rates
    ends = [np.stack([served, np.zeros_like(served), served], axis=1)]
    for waiting in range(1, chain.top):
        obsolete = np.tile(stale, len(served) * len(stale) ** (waiting - 1))
        ends.append(np.stack([np.zeros_like(obsolete), obsolete, obsolete], axis=1))
    return ends


def _until_the_end(blocks: list[tuple[Array, Array]], rewards: list[Array]) -> list[Array]:
    """``(-T)^-1 rewards`` from the first position upwards; what is impossible stays exactly 0."""
    found: list[Array] = []
    for (within, closer), reward in zip(blocks, rewards, strict=True):
        later = closer @ found[-1] if found else 0.0
        found.append(np.linalg.solve(-within, reward + later))
    return found


def sojourn_moments(chain: QueueChain, law: Array) -> Iterator[Row]:
    """First and second moments of the time from entry to end, by class of pages.

    avrachenkov2011, Theorem 4 and Corollary 1; the tagged page of the catalogue's section 3.
    """
    starts, blocks = _tagged_starts(chain, law), _tagged_blocks(chain)
    reach = _until_the_end(blocks, _tagged_ends(chain))
    once = _until_the_end(blocks, reach)
    twice = _until_the_end(blocks, once)

    def flows(vectors: list[Array]) -> Array:
        return sum(start @ each for start, each in zip(starts, vectors, strict=True))  # type: ignore[return-value]  # there is a position

    pages, time, half_square = flows(reach), flows(once), flows(twice)
    for index, name in enumerate(("served", "obsolete", "accepted")):
        if pages[index] > 0:
            yield "sojourn_time", name, float(time[index] / pages[index])
            square = float(2 * half_square[index] / pages[index])
            yield "sojourn_time_second_moment", name, square
    delivered = fate_rates(chain, law)["delivered"]
    if delivered > 0:
        yield "sojourn_time_second_moment", "all", float(2 * half_square[-1] / delivered)
