"""Measures of the indexing queue from the stationary law of its chain."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from analytic.indexing_queue.chain import QueueChain
from analytic.indexing_queue.marginals import Marginals, marginals_of
from analytic.indexing_queue.tagged import sojourn_moments
from scenarios.arrays import Array
from scenarios.measures import Subject
from scenarios.sections import Costs

Row = tuple[str, Subject, float]


def level_probabilities(chain: QueueChain, law: Array) -> Array:
    """Fraction of time with 0, 1, … pages in the system, shape (levels,)."""
    return marginals_of(chain, law).levels


def fate_rates(chain: QueueChain, marginals: Marginals) -> dict[str, float]:
    """Pages per unit time that are delivered, lost, obsolete and served.

    avrachenkov2011, Theorems 2 and 3: numerators and the intensity of the input flow.
    """
    sizes = np.arange(chain.batch_rates.shape[1])
    batches = np.einsum("ikw,iw->ik", chain.batch_rates, marginals.phases.sum(axis=2))
    refused = sizes - chain.accepted
    served = marginals.phases[1:] @ chain.service.exit_rates
    return {
        "delivered": float((batches * sizes).sum()),
        "lost": float((batches * refused)[:, 1:].sum()),
        "obsolete": float(marginals.stale.sum()),
        "served": float(served.sum()),
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
    sojourns = list(sojourn_moments(chain, law)) if ordered else None
    yield from measures_of(chain, marginals_of(chain, law), costs, sojourns)


def measures_of(
    chain: QueueChain, marginals: Marginals, costs: Costs, sojourns: list[Row] | None
) -> Iterator[Row]:
    """The same from sums of the law, with the sojourn times; None where they are not known."""
    levels = marginals.levels
    rates = fate_rates(chain, marginals)
    delivered = rates["delivered"]
    in_system = float(levels @ np.arange(len(levels)))
    robots = float((marginals.phases.sum(axis=2) * chain.active).sum())
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
        if sojourns is not None:
            squares = {row[1]: row[2] for row in sojourns if row[0].endswith("second_moment")}
            entering = (rates["served"] + rates["obsolete"]) / delivered
            yield "sojourn_time_second_moment", "all", entering * squares.get("accepted", 0.0)
    yield from sojourns or ()
    means = {row[1]: row[2] for row in sojourns or () if row[0] == "sojourn_time"}
    others = {"starvation": float(levels[0]), "robots": robots}
    others["response"] = means.get("served", math.nan)
    yield "control_cost", None, control_cost(rates, others, costs)
