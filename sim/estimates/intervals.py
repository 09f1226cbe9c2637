"""Intervals of estimates, and the samples behind those that are shares.

An interval of a share or of the loss rate holds all values p that are not further from the estimate
than z standard errors *as they would be if p were true*: Wilson's interval, with Student's t,
and with the variance that replications show. It is not empty where nothing was seen, and lies in
[0, 1] by itself. Other rates of what is counted keep the ordinary interval; but two replications
may happen to count the same, so that their error too is held up where little was counted.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from scenarios import Scenario
from scenarios.accessing.policy import Planned
from scenarios.activation import Static
from scenarios.arrays import Array
from scenarios.laws import Deterministic
from scenarios.measures import MEASURES
from scenarios.model import Never
from scenarios.page_data import PageData, access_shares
from scenarios.page_groups import QUANTILES, followed_pages, largest_in_groups
from scenarios.rare import CLUSTERING, share_dispersion
from sim.engine_inputs import share_of_time, switched_together
from sim.estimates.measures import packets_ended, pages_ended, pages_of_classes
from sim.estimates.totals import Part, Totals, Values

Samples = dict[str, Array]
"""Each measure's samples, shape (subjects,): events, or time for rates; 0 where it has no share."""

_FATES = (
    "loss_probability",
    "obsolescence_probability",
    "success_probability",
    "replacement_probability",
)
_FATES_OF_CLASSES = _FATES[:2]
_LEVELS = ("starvation_probability", "level_probability")
_HALF = 0.5

_SUFFICIENT = 0.9
"""Probability with which the replications named for a limit leave it out."""

_ALIKE = 1e-9
"""Difference of the sides of an interval that is symmetrical but for rounding."""

_COUNTED = ("arrival_rate", "throughput", "crawl_rate", "wasted_rate")


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
    spread = share_dispersion(_rarer(measure, estimate), error, np.where(sample > 0, sample, 1.0))
    held_up = np.where(sample > 0, np.sqrt(spread * np.maximum(estimate, 0.0)), 0.0)
    half = quantile * np.maximum(error, held_up)
    low = np.maximum(estimate - half, 0.0)
    high = estimate + half
    if MEASURES[measure].is_fraction or measure == "loss_rate":
        is_share = sample > 0
    else:
        is_share = (sample > 0) & (estimate == 0)
    below, above = _wilson(measure, estimate, quantile**2 * spread)
    low = np.where(is_share, below, low)
    high = np.where(is_share, above, high)
    known = ~(np.isnan(estimate) | np.isnan(error) | math.isnan(quantile))
    return np.where(known, low, np.nan), np.where(known, high, np.nan)


def _rarer(measure: str, estimate: Array) -> Array:
    """The share of the event or of its complement, whichever happened less often."""
    if not MEASURES[measure].is_fraction:
        return estimate
    return np.where(estimate > _HALF, 1.0 - estimate, estimate)


def _wilson(measure: str, estimate: Array, reach: Array) -> tuple[Array, Array]:
    """The p with ``(estimate - p)² <= reach p``, of the rarer side where it is a fraction."""
    rarer = _rarer(measure, estimate)
    middle = rarer + reach / 2
    half = np.sqrt(reach * rarer + reach**2 / 4)
    below = np.where(rarer > 0, np.maximum(middle - half, 0.0), 0.0)
    above = middle + half
    if not MEASURES[measure].is_fraction:
        return below, above
    above = np.minimum(above, 1.0)
    turned = estimate > _HALF
    return np.where(turned, 1.0 - above, below), np.where(turned, 1.0 - below, above)


def replications_to_exclude(
    limit: float, estimate: float, low: float, high: float, replications: int
) -> float:
    """Replications whose interval leaves a value out, in nine of ten cases if the estimate is true.

    The error of an estimate shrinks with the root of their number, and the end of the interval of a
    share is where the error *as it would be there* reaches the estimate (`interval`). It is told by
    its shape: its longer side is the one towards 1/2.

    Parameters
    ----------
    limit : float
        Within the interval.
    estimate, low, high : float
        With the ends of the 95 % interval.
    replications : int
        Behind these.

    Returns
    -------
    float
        nan where the interval is undefined, and infinite where the estimate is the limit.
    """
    from scipy.special import ndtri, stdtrit

    if math.isnan(high - low):
        return math.nan
    distance = abs(limit - estimate)
    if distance == 0:
        return math.inf
    upper, lower = high - estimate, estimate - low
    is_cut_off = low == 0 < estimate
    end = high if limit > estimate or is_cut_off else low
    shrunk = ((end - estimate) / distance) ** 2
    if not is_cut_off and not math.isclose(upper, lower, rel_tol=_ALIKE):  # it is that of a share
        shrunk *= limit / end if upper > lower else (1 - limit) / (1 - end)
    # Of many replications Student's quantile is that of the normal law, of these few it is not.
    errors = (ndtri(0.975) + ndtri(_SUFFICIENT)) / stdtrit(replications - 1, 0.975)
    return max(replications + 1.0, float(replications * shrunk * errors**2))


def samples_of(totals: Totals, scenario: Scenario, values: Values) -> Samples:
    """The sample behind each share and each rate of what is counted; measures left out are neither.

    Each replication counts as one event at least, also where nothing came. Pages and packets that
    come in long bursts count less, since what befalls them comes in bursts too.

    Parameters
    ----------
    totals : Totals
        Those of all replications.
    scenario : Scenario
    values : dict
        `measures_of` their sum.
    """
    samples: Samples = {}
    if "buffer" in totals.parts:
        ended = _ended(totals)
        pages = ended.sum(axis=0) / _burstiness(ended)
        samples |= dict.fromkeys((*_FATES, *_LEVELS), pages)
        if "page_classes" in totals.parts:
            ended = np.hstack([ended, pages_of_classes(totals.parts["page_classes"])])
            pages = ended.sum(axis=0) / _burstiness(ended)
            samples |= dict.fromkeys(_FATES_OF_CLASSES, pages)
        queue = scenario.model.queue
        if queue is not None and isinstance(queue.patience, Never):
            samples["obsolescence_probability"] = np.array([np.inf])
    if "page_sums" in totals.parts and scenario.model.pages is not None:
        samples |= _of_pages(totals, scenario.model.pages, scenario)
    if "servers" in totals.parts:
        packets = packets_ended(totals.parts["servers"])
        every = np.column_stack([packets, packets.sum(axis=1)])
        samples["preemption_probability"] = every.sum(axis=0) / _burstiness(every)
    if "page_set" in totals.parts:
        samples |= _of_page_set(totals.parts["page_set"])
    if scenario.probing is not None:
        samples["source_freshness"] = np.array([float(len(totals.own["window"]))])
    samples = {name: np.maximum(sample, totals.count) for name, sample in samples.items()}
    samples |= _of_rates(totals, scenario, values)
    if "page_sums" in totals.parts and "pages" not in totals.parts:
        samples |= _but_of_quantiles(samples, values)
    return samples


def _of_rates(totals: Totals, scenario: Scenario, values: Values) -> Samples:
    """The time behind each rate; less where what is counted comes several at a time."""
    samples: Samples = {}
    time = totals.own["window"].sum()
    if "loss_rate" in values:
        samples["loss_rate"] = time / _burstiness(_ended(totals))
    if "switch_rate" in values:
        samples["switch_rate"] = np.array([time / switched_together(scenario)])
    counted = ("throughput",) if is_regular(scenario) else _COUNTED
    for name in values.keys() & counted:
        samples[name] = np.broadcast_to(time, values[name][1].shape[1:])
    return samples


def _but_of_quantiles(samples: Samples, values: Values) -> Samples:
    """The samples of the measures that have quantiles over the pages, which are not shares."""
    return {
        name: np.where([each not in QUANTILES for each in values[name][0]], samples[name], 0.0)
        for name in samples.keys() & {"obsolescence_rate", "crawl_rate"}
    }


def _ended(totals: Totals) -> Array:
    """Pages, or packets, that ended in each replication; shape (replications, 1)."""
    if "servers" in totals.parts:
        ended: Array = packets_ended(totals.parts["servers"]).sum(axis=1)
    else:
        ended = pages_ended(totals.parts["buffer"])
    return ended[:, None]


def _burstiness(counts: Array) -> Array:
    """How much more burstily something comes than `CLUSTERING` allows for; at least 1.

    Of independent arrivals the counts of replications vary as much as their mean. The variance is
    divided by the number of replications, not by one less: it says little where these are few, and
    there Student's t is wide.

    Parameters
    ----------
    counts : ndarray, shape (replications, k)

    Returns
    -------
    ndarray, shape (k,)
    """
    mean = np.maximum(counts.mean(axis=0), 1.0)
    return np.maximum(counts.var(axis=0) / mean / CLUSTERING, 1.0)


def is_regular(scenario: Scenario) -> bool:
    """Whether deliveries come by the clock, so that every replication counts the same."""
    if scenario.page_set is not None:  # births never do
        return False
    if (traffic := scenario.model.traffic) is not None:
        return isinstance(traffic.gaps, Deterministic)
    robots, fleet = scenario.robots, scenario.model.fleet
    rule = scenario.activation
    if robots is None or robots.host_spacing is not None or share_of_time(scenario) < 1:
        return False
    if fleet is None or len(fleet.classes) != 1:
        return False
    if fleet.failing is not None:
        return False
    planned = isinstance(scenario.model.accessing, Planned | None)
    always = rule is None or isinstance(rule, Static)
    return planned and always and isinstance(fleet.classes[0].gaps, Deterministic)


def _of_page_set(part: Part) -> Samples:
    """Pages that were born or became known, of which each has a share, and accesses."""
    pages = np.array([part["born"].sum() + part["listed_at_start"].sum()])
    return {
        **dict.fromkeys(("known_share", "indexed_share", "fresh_share", "gone_share"), pages),
        "wasted_share": np.array([part["accesses"].sum()]),
    }


def _of_pages(totals: Totals, pages: PageData, scenario: Scenario) -> Samples:
    """Accesses; of a page that never changes nothing but 0 is possible.

    The shares of a policy that draws nothing are no matter of chance, where no access fails.
    """
    accesses = totals.parts["page_sums"]["accesses"].sum()
    rates = pages.change_rates
    policy = scenario.model.accessing
    drawn = are_drawn(scenario)
    shares = None if policy is None else access_shares(policy, pages)
    if "pages" in totals.parts:
        deliveries = totals.parts["pages"]["deliveries"].sum(axis=0)
        samples = samples_of_pages(deliveries, accesses, rates, shares, drawn)
        asked = np.where(rates > 0, deliveries, np.inf)
    else:
        samples = _of_groups(totals.parts["page_sums"], pages, rates, shares, drawn)
        asked = samples["obsolescence_rate"][: -len(QUANTILES)]
    samples["unchanged_share"] = np.append(accesses, asked)
    if "clients" in totals.parts:
        asked = totals.parts["clients"]["queries"].sum()
        samples["stale_answer_probability"] = np.array([min(asked, accesses)])
    return samples


def samples_of_pages(
    deliveries: Array, accesses: float, rates: Array, shares: Array | None, drawn: bool
) -> Samples:
    """The samples of single pages, of all of them or of some.

    Parameters
    ----------
    deliveries : ndarray, shape (pages,)
    accesses : float
        Deliveries of all pages there are.
    rates, shares : ndarray, shape (pages,)
        Change rates, and shares of the accesses.
    drawn : bool
        Whether it is a matter of chance which page an access delivers.
    """
    samples: Samples = {"obsolescence_rate": np.where(rates > 0, deliveries, np.inf)}
    if shares is not None and drawn:
        samples["crawl_frequency"] = np.where(shares > 0, accesses, np.inf)
    return samples


def are_drawn(scenario: Scenario) -> bool:
    """Whether it is a matter of chance which page an access delivers."""
    fleet = scenario.model.fleet
    planned = isinstance(scenario.model.accessing, Planned)
    return not planned or (fleet is not None and fleet.failing is not None)


def _of_groups(
    part: Part, pages: PageData, rates: Array, shares: Array | None, drawn: bool
) -> Samples:
    """The same where pages are summed up: of a group all its accesses, of a quantile nothing."""
    single = list(followed_pages(pages))
    counted = np.hstack([part["group_deliveries"], part["followed_deliveries"]]).sum(axis=0)
    change = np.append(largest_in_groups(pages, rates), rates[single]) > 0
    stale = np.where(change, counted, np.inf)
    samples = {"obsolescence_rate": np.append(stale, np.zeros(len(QUANTILES)))}
    if shares is not None and drawn:
        accessed = np.append(largest_in_groups(pages, shares), shares[single]) > 0
        samples["crawl_frequency"] = np.where(accessed, part["accesses"].sum(), np.inf)
    return samples
