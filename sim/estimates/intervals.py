"""Intervals of estimates, and the samples behind those that are shares.

An interval of a share or of the loss rate holds all values p that are not further from the estimate
than so many standard errors *as they would be if p were true*: Wilson's interval, with Student's t,
and with the variance that replications show. It is not empty where nothing was seen, and lies in
[0, 1] by itself.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from scenarios import Scenario
from scenarios.accessing.policy import Planned
from scenarios.measures import MEASURES
from scenarios.page_data import access_shares, change_rates
from scenarios.rare import dispersion
from sim.estimates.buffer import pages_ended
from sim.estimates.servers import packets_ended
from sim.estimates.totals import Array, Part, Totals, Values

Samples = dict[str, Array]
"""Each measure's samples, shape (subjects,): events, or time for rates; 0 where it is no share."""

_FATES = (
    "loss_probability",
    "obsolescence_probability",
    "success_probability",
    "replacement_probability",
)
_LEVELS = ("starvation_probability", "level_probability")
_RATES = ("arrival_rate", "throughput", "crawl_rate")


def interval(
    measure: str, estimate: ArrayLike, error: ArrayLike, sample: ArrayLike, quantile: float
) -> tuple[Array, Array]:
    """Lower and upper end of the interval of an estimate, in units of the measure.

    Parameters
    ----------
    measure : str
        A key of `scenarios.MEASURES`; none of them is ever negative.
    estimate, error, sample : array_like
        The estimates, their standard errors, and the samples of `samples_of`.
    quantile : float
        Standard errors to each side: a quantile of Student's t.

    Returns
    -------
    low, high : ndarray
        nan where the estimate or its error is undefined.
    """
    estimate, error, sample = np.broadcast_arrays(
        np.asarray(estimate, dtype=float), np.asarray(error, dtype=float), sample
    )
    plain_low, plain_high = (
        np.maximum(estimate - quantile * error, 0.0),
        estimate + quantile * error,
    )
    is_fraction = MEASURES[measure].is_fraction
    turned = is_fraction & (estimate > 0.5)
    rare = np.where(turned, 1.0 - estimate, estimate)
    reach = quantile**2 * dispersion(rare, error, np.where(sample > 0, sample, 1.0))
    below = rare + reach / 2 - np.sqrt(reach * rare + reach**2 / 4)
    above = rare + reach / 2 + np.sqrt(reach * rare + reach**2 / 4)
    below = np.where(rare > 0, np.maximum(below, 0.0), 0.0)
    above = np.minimum(above, 1.0) if is_fraction else above
    low = np.where(turned, 1.0 - above, below)
    high = np.where(turned, 1.0 - below, above)
    known = ~(np.isnan(estimate) | np.isnan(error) | math.isnan(quantile))
    low, high = np.where(sample > 0, low, plain_low), np.where(sample > 0, high, plain_high)
    return np.where(known, low, np.nan), np.where(known, high, np.nan)


def samples_of(totals: Totals, scenario: Scenario, values: Values) -> Samples:
    """The sample behind each share and rate; measures left out are neither.

    Each replication counts as one event at least, also where nothing came.

    Parameters
    ----------
    totals : Totals
        Those of all replications.
    scenario : Scenario
    values : dict
        `measures_of` their sum.
    """
    found: Samples = {}
    if "buffer" in totals.parts:
        found |= _of_buffer(totals.parts["buffer"], scenario)
    if "pages" in totals.parts:
        found |= _of_pages(totals, scenario)
    if "servers" in totals.parts:
        packets = packets_ended(totals.parts["servers"]).sum(axis=0)
        found["preemption_probability"] = np.append(packets, packets.sum())
    if scenario.probing is not None:
        found["source_freshness"] = np.array([float(len(totals.own["window"]))])
    found = {name: np.maximum(sample, totals.count) for name, sample in found.items()}
    time = totals.own["window"].sum()
    if "loss_rate" in values:
        found["loss_rate"] = np.array([time])
    for name in _RATES:
        if name in values:
            found[name] = np.where(values[name][1][0] == 0, time, 0.0)
    return found


def _of_buffer(part: Part, scenario: Scenario) -> Samples:
    pages = np.array([pages_ended(part).sum()])
    found = dict.fromkeys((*_FATES, *_LEVELS), pages)
    if scenario.buffer is not None and scenario.buffer.obsolescence == "never":
        found["obsolescence_probability"] = np.array([np.inf])
    return found


def _of_pages(totals: Totals, scenario: Scenario) -> Samples:
    """Accesses; of a page that never changes nothing but 0 is possible.

    The shares of a policy that draws nothing are no matter of chance.
    """
    assert scenario.pages is not None
    assert scenario.robots is not None
    deliveries = totals.parts["pages"]["deliveries"].sum(axis=0)
    changing = change_rates(scenario.pages) > 0
    found = {"obsolescence_rate": np.where(changing, deliveries, np.inf)}
    policy = scenario.robots.accessing
    if policy is not None and not isinstance(policy, Planned):
        visited = access_shares(policy, scenario.pages) > 0
        found["crawl_frequency"] = np.where(visited, deliveries.sum(), np.inf)
    if "clients" in totals.parts:
        asked = totals.parts["clients"]["queries"].sum()
        found["stale_answer_probability"] = np.array([min(asked, deliveries.sum())])
    return found
