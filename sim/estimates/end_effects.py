"""How far the two ends of a finite window can shift an estimate away from the long run.

With deterministic times every replication counts the same partial cycle and has the same start:
the standard error is 0, and says nothing about that. These bounds do not shrink with replications,
only with the length of the window.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from scenarios import Scenario
from scenarios.accessing import Accessing
from scenarios.accessing.due import Due
from scenarios.accessing.index import IndexPolicy
from scenarios.accessing.policy import Indices, Periodic, Planned
from scenarios.arrays import Array
from scenarios.page_data import PageData, access_cycle, realised_shares
from scenarios.page_groups import (
    QUANTILES,
    followed_pages,
    group_sizes,
    groupings,
    largest_in_groups,
)
from scenarios.sections import Period, Servers
from sim import rules
from sim.engine_inputs import SpacingLaw, spacing_laws, switched_together
from sim.estimates.totals import Part, Totals
from sim.page_sums import sums_by_group, weighted_sum

Bounds = dict[str, Array]
"""Each measure's largest shifts, shape (subjects,)."""

_STRAYING = 4.0
"""Accesses by which a stretch of a plan without a period may differ from a page's share: 3.8
at most were measured, of 2 to 100 pages under "billiard", and less than 3 under all others."""


def end_effect_bounds(totals: Totals, scenario: Scenario) -> Bounds:
    """Largest shift of each measure by the ends of the window; measures left out have none.

    Nor has any where interventions change the system: there the window itself is what is meant.

    Parameters
    ----------
    totals : Totals
        Those of all replications.
    scenario : Scenario
    """
    if scenario.interventions:
        return {}
    window = float(totals.own["window"].mean())
    robots = np.maximum(totals.own["robots_time"].mean(keepdims=True) / window, 1.0)
    means = {
        name: {field: values.mean(axis=0) for field, values in part.items()}
        for name, part in totals.parts.items()
    }
    bounds: Bounds = {}
    with np.errstate(divide="ignore", invalid="ignore"):
        if "buffer" in means:
            queue = scenario.model.queue
            in_service = queue.capacity - queue.waiting_places if queue else 1
            bounds["arrival_rate"] = robots / window
            bounds["loss_rate"] = bounds["throughput"] = np.maximum(robots, in_service) / window
        if "page_sums" in means and scenario.model.pages is not None:
            bounds |= _of_pages(means, window, robots, scenario, scenario.model.pages)
        if "servers" in means and scenario.servers is not None:
            bounds |= _of_servers(means["servers"], window, scenario.servers)
        if "switched_on" in totals.own:
            bounds["switch_rate"] = np.array([switched_together(scenario) / window])
        if scenario.costs.model_fields_set:
            bounds["control_cost"] = _of_cost(bounds, robots / window, scenario)
    return bounds


def unevenness(cycle: ArrayLike, subjects: int) -> Array:
    """Most accesses that a stretch of a repeated cycle has above or below a subject's share.

    The spread of ``accesses so far - share × slots so far``: its lows are just before accesses, its
    highs just after. Less than 1 for accesses at equal distances.

    Parameters
    ----------
    cycle : array_like of int, shape (slots,)
        The subject (page, server) of each slot.
    subjects : int

    Returns
    -------
    ndarray, shape (subjects,)
        0 for subjects that are never accessed.
    """
    cycle = np.asarray(cycle)
    counts = np.bincount(cycle, minlength=subjects)
    if counts.max() == 1:  # as in round-robin; of many pages what follows takes much memory
        return np.where(counts > 0, 1.0 - 1.0 / len(cycle), 0.0)
    slots = np.argsort(cycle, kind="stable")
    first = np.cumsum(counts) - counts
    accessed = counts > 0
    earlier = np.arange(len(slots)) - np.repeat(first, counts)
    share = np.repeat(counts / len(slots), counts)
    before = earlier - share * slots
    after = before + 1 - share
    starts = first[accessed]
    spread = np.zeros(subjects)
    spread[accessed] = np.maximum.reduceat(after, starts) - np.minimum.reduceat(before, starts)
    return spread


def _of_pages(
    means: Mapping[str, Part], window: float, robots: Array, scenario: Scenario, section: PageData
) -> Bounds:
    """A page's count is off by the partial cycle, and by its share of one access of each robot.

    Its state forgets an access, and the start of the run, after about the time
    ``1 / (accesses + changes per unit time)``: that much for the start, which is as good as an
    access, and for each access that a stretch of the cycle has too many. Its age grows between
    accesses and falls at each: by its sawtooth, twice its mean at most, for one access and each
    too many; accesses that are drawn begin no cycle. A plan without a period strays from its
    shares; those of an index are the ones that were counted.
    """
    policy = scenario.model.accessing
    accesses = means["page_sums"]["accesses"]
    if "pages" not in means:
        return _of_page_sums(means["page_sums"], window, robots, section, policy)
    deliveries = means["pages"]["deliveries"]
    uneven: Array = np.zeros(section.count)
    if policy is None or isinstance(policy, IndexPolicy | Due):
        shares: Array = deliveries / np.maximum(accesses, 1.0)
    else:
        shares = realised_shares(policy, section)
    if isinstance(policy, Periodic):
        uneven = unevenness(access_cycle(policy, section), section.count)
    elif policy is None or isinstance(policy, Planned):
        uneven = np.full(section.count, _STRAYING)
    elif isinstance(policy, Due):  # each page has a cycle of its own
        uneven = np.ones(section.count)
    expected = shares * accesses
    stale = _of_staleness(expected, uneven, section.change_rates * window)
    weights = section.weights
    weighted = weighted_sum(stale, weights)
    bounds = {
        "crawl_rate": (uneven + robots * shares) / window,
        "crawl_frequency": uneven / accesses,
        "obsolescence_rate": stale,
        "weighted_obsolescence": np.array([weighted]),
        "stale_answer_probability": np.array([weighted / weights.sum()]),
    }
    each, whole = _of_refresh_times(
        means["pages"]["refreshes"], means["pages"]["refresh_time"], uneven
    )
    bounds["time_to_refresh"] = np.append(whole, each[section.change_rates > 0])
    bounds |= _of_fetches(expected, 1.0 + uneven, _largest(section), robots * shares, window)
    if "ages" in means and isinstance(policy, Planned):
        ages = means["ages"]["age_time"] / window
        bounds["index_age"] = np.where(expected > 0, 2.0 * ages * (1.0 + uneven) / expected, 0.0)
    return bounds


def _of_refresh_times(
    refreshes: Array, times: Array, uneven: Array, pages: Array | float = 1.0
) -> tuple[Array, float]:
    """Of mean times to refresh of some pages each, and of all of them together.

    For the start, and for each access too many of a page, one time more or less, which is twice
    their mean at most: that shifts a mean of n of them by itself over n at most.
    """
    shift = (1.0 + uneven) * pages * np.divide(times, np.maximum(refreshes, 1.0))
    return shift / np.maximum(refreshes, 1.0), float(shift.sum() / np.maximum(refreshes.sum(), 1.0))


def _of_fetches(
    expected: Array, strayed: Array, largest: Array, begun: Array, window: float
) -> Bounds:
    """Of the share of accesses that find no change, and of the bytes; of all pages first.

    An access too many finds a change or none, and so does the first one, that looks back to the
    start; each fetches the page at most.
    """
    in_all = max(float(expected.sum()), 1.0)
    shares = strayed / np.maximum(expected, 1.0)
    fetched = (strayed + begun) * largest / window
    return {
        "unchanged_share": np.append(strayed.sum() / in_all, shares),
        "bytes_rate": np.append(fetched.sum(), fetched),
    }


def _largest(section: PageData) -> Array:
    """Bytes that an access to each page fetches at most; 0 where sizes are unknown."""
    return np.zeros(section.count) if section.section.sizes is None else section.sizes


def _of_subjects(values: Array, section: PageData) -> Array:
    """The sums of each group, and the values of the single pages."""
    return np.append(sums_by_group(section, values), values[list(followed_pages(section))])


def _of_staleness(expected: Array, uneven: Array | float, changes: Array) -> Array:
    """Of the shares of time that pages are out of date, from expected accesses and changes."""
    events = expected + changes
    return np.where(events > 0, (1.0 + uneven) / events, 0.0)


class _Summed(NamedTuple):
    """What bounds of pages that are summed up are made of: of each group, then of each single page.

    Attributes
    ----------
    shares : ndarray
        Of the accesses.
    uneven, most_uneven : ndarray
        Accesses that a stretch has too many: of the group as one page, and of its worst page.
    stale : ndarray
        Shifts of obsolescence rates, summed over the pages.
    weighted : ndarray, shape (1 + groups,)
        The same with weights, of all pages first.
    """

    shares: Array
    uneven: Array
    most_uneven: Array
    stale: Array
    weighted: Array


def _of_page_sums(
    part: Part, window: float, robots: Array, section: PageData, policy: Accessing | None
) -> Bounds:
    """The same where pages are summed up: a group is accessed as if it were one page."""
    if policy is None or (isinstance(policy, Planned | Due) and not isinstance(policy, Periodic)):
        summed = _of_counts(part, window, section)
    else:
        summed = _of_shares(part, window, section, policy)
    sizes = np.append(group_sizes(section), np.ones(len(followed_pages(section))))
    bounds = {
        "crawl_rate": _and_quantiles((summed.uneven + robots * summed.shares) / window),
        "crawl_frequency": summed.uneven / part["accesses"],
        "obsolescence_rate": _and_quantiles(summed.stale / sizes),
        "weighted_obsolescence": summed.weighted,
        "stale_answer_probability": summed.weighted[:1] / section.weights.sum(),
    }
    each, _ = _of_refresh_times(
        np.append(part["group_refreshes"], part["followed_refreshes"]),
        np.append(part["group_refresh_time"], part["followed_refresh_time"]),
        summed.most_uneven,
        sizes,
    )
    most, total = np.array([float(summed.most_uneven.max())]), np.array([part["refreshes"]])
    _, whole = _of_refresh_times(total, np.array([part["refresh_time"]]), most, section.count)
    bounds["time_to_refresh"] = np.append(whole, each)
    bounds |= _of_fetches(
        np.append(part["group_deliveries"], part["followed_deliveries"]),
        (1.0 + summed.most_uneven) * sizes,
        _of_subjects(_largest(section), section) / sizes,
        robots * summed.shares,
        window,
    )
    if len(part["group_age_time"]) and isinstance(policy, Planned):
        of_single = part["followed_age_time"] / np.maximum(part["followed_deliveries"], 1.0)
        ages = np.append(part["group_age_unsettled"], of_single) / sizes / window
        bounds["index_age"] = _and_quantiles(2.0 * ages * (1.0 + summed.most_uneven))
    return bounds


def _of_counts(part: Part, window: float, section: PageData) -> _Summed:
    """Of a plan without a period each replication has summed up what its own accesses say."""
    counted = np.append(part["group_deliveries"], part["followed_deliveries"])
    uneven = np.full(len(counted), _STRAYING)
    changes = section.change_rates[list(followed_pages(section))] * window
    single = _of_staleness(part["followed_deliveries"], _STRAYING, changes)
    weighted = np.append(part["unsettled"], part["group_weighted_unsettled"])
    return _Summed(
        shares=counted / np.maximum(part["accesses"], 1.0),
        uneven=uneven,
        most_uneven=uneven,
        stale=np.append((1.0 + _STRAYING) * part["group_unsettled"], single),
        weighted=(1.0 + _STRAYING) * weighted,
    )


def _of_shares(part: Part, window: float, section: PageData, policy: Accessing) -> _Summed:
    """Of pages that are drawn, or listed in a period, it is known how often each is accessed."""
    followed = list(followed_pages(section))
    weights = section.weights
    shares = realised_shares(policy, section)
    each: Array = np.zeros(section.count)
    groups: Array = np.zeros(len(group_sizes(section)))
    if isinstance(policy, Periodic):
        cycle = access_cycle(policy, section)
        each = unevenness(cycle, section.count)
        groups = _unevenness_of_groups(cycle, section)
    shift = _of_staleness(shares * part["accesses"], each, section.change_rates * window)
    whole = weighted_sum(shift, weights)
    return _Summed(
        shares=np.append(sums_by_group(section, shares), shares[followed]),
        uneven=np.append(groups, each[followed]),
        most_uneven=np.append(largest_in_groups(section, each), each[followed]),
        stale=np.append(sums_by_group(section, shift), shift[followed]),
        weighted=np.append(whole, sums_by_group(section, shift, weights)),
    )


def _and_quantiles(bounds: Array) -> Array:
    """Of quantiles over the pages, which nothing is compared with, there is no bound."""
    return np.append(bounds, np.zeros(len(QUANTILES)))


def _unevenness_of_groups(cycle: Indices, section: PageData) -> Array:
    """Those of the accesses of each group as a whole."""
    return np.concatenate(
        [unevenness(each.of_page[cycle], len(each.names)) for each in groupings(section)]
    )


def _of_servers(part: Part, window: float, section: Servers) -> Bounds:
    """At each server the packets inside at an end, and what a partial period has too many.

    In the rates, one arrival as well.
    """
    uneven: Array = np.zeros(section.count)
    if isinstance(section.routing, Period):
        uneven = unevenness(np.array(section.routing.root), section.count)
    ended = part["lost"] + part["served"]
    inside = 1.0 + np.array(section.places)
    packets = np.where(part["arrived"] + ended > 0, inside + uneven, 0.0)
    shares = np.append(packets / ended, packets.sum() / ended.sum())
    rate = np.array([(1.0 + packets.sum()) / window])
    return {
        "preemption_probability": shares,
        "arrival_rate": np.array([1.0 / window]),
        "loss_rate": rate,
        "throughput": rate,
    } | ({"routing_cost": _of_routing_cost(part, packets, section)} if section.is_costed else {})


def _of_routing_cost(part: Part, packets: Array, section: Servers) -> Array:
    """What the packets of a partial period, and the first ones, make of the mean cost.

    Of losses those of `_of_servers`. By distance a packet costs at most the spread of a server's
    costs more or less than their mean; all together, that of all costs in the period.
    """
    weights = np.array(section.weight_of_each)
    if section.spacing_cost is None:
        ended = part["lost"] + part["served"]
        paid = weights * packets
        return np.append(paid / ended, paid.sum() / ended.sum())
    shifts = np.zeros(section.count + 1)
    if not isinstance(section.routing, Period):
        return shifts
    word = np.array(section.routing.root)
    lowest, highest = np.inf, -np.inf
    for server, law in enumerate(spacing_laws(section)):
        slots = np.flatnonzero(word == server)
        if not len(slots):
            continue
        distances = np.diff(slots, append=slots[0] + len(word)).tolist()
        low, high = _extremes(law, distances)
        low, high = weights[server] * low, weights[server] * high
        lowest, highest = min(lowest, low), max(highest, high)
        if len(slots) > 1:
            shifts[server] = (high - low) * len(slots) / part["spaced"][server]
    shifts[-1] = (highest - lowest) * (len(word) + section.count) / part["spaced"].sum()
    return shifts


def _extremes(law: SpacingLaw, distances: Sequence[int]) -> tuple[float, float]:
    """The least and the greatest cost at some distances, whatever the times."""
    if law.law == rules.FADING:
        return 0.0, law.first
    costs = [rules.spacing_cost(*law, each, 0.0) for each in distances]
    return min(costs), max(costs)


def _of_cost(bounds: Bounds, obsolete: Array, scenario: Scenario) -> Array:
    """Prices times the shifts of what they are paid for."""
    costs = scenario.prices
    none = np.zeros(1)
    cost = costs.staleness * bounds.get("weighted_obsolescence", none)[:1]  # of all pages
    cost = cost + costs.loss * bounds.get("loss_rate", none)
    cost = cost + costs.switch * bounds.get("switch_rate", none)
    cost = cost + costs.delivery * bounds.get("arrival_rate", obsolete)
    cost = cost + costs.delivered_byte * bounds.get("bytes_rate", none)[:1]
    return cost + (costs.obsolescence * obsolete if scenario.buffer is not None else 0.0)
