"""Pages summed up: what a replication keeps of many pages, and which of them are the worst.

Sums are made block by block in the order of the pages, and those of the blocks are added without
rounding: the bits are the same wherever a replication runs. What all replications have of a single
page is added in the order of the replications, as it is for few pages: their number may grow, the
memory does not.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np

from scenarios import Scenario
from scenarios.arrays import Array
from scenarios.page_data import change_rates, page_weights
from scenarios.page_groups import SHARES, blocks_of, followed_pages, groupings, only_sums
from scenarios.sections import Pages
from sim.tally import PagesTally, PageSumsTally, Tally

_NONE = np.zeros(0)


def with_page_sums(tally: Tally, scenario: Scenario) -> Tally:
    """The same tally with its pages summed up; one without pages, or with sums, as it is.

    Parameters
    ----------
    tally : Tally
    scenario : Scenario
    """
    if tally.pages is None or tally.page_sums is not None or scenario.pages is None:
        return tally
    pages = tally.pages
    ages = _NONE if tally.ages is None else tally.ages.age_time
    weights = page_weights(scenario.pages)
    sums = PageSumsTally(
        accesses=int(pages.deliveries.sum()),
        weighted_stale_time=weighted_sum(pages.stale_time, weights),
        refreshes=int(pages.refreshes.sum()),
        refresh_time=_sum(pages.refresh_time),
        **(_of_many(pages, ages, scenario.pages, tally.window) if only_sums(scenario) else _FEW),
    )
    return replace(tally, page_sums=sums)


def without_pages(tally: Tally) -> Tally:
    """The same tally with nothing left of single pages."""
    return replace(tally, pages=None, ages=None)


_NO_AGES: dict[str, Any] = dict.fromkeys(
    ("group_age_time", "group_age_unsettled", "followed_age_time", "age_quantiles"), _NONE
)
_FEW: dict[str, Any] = (
    {"unsettled": 0.0}
    | dict.fromkeys(
        (
            *("group_deliveries", "group_stale_time", "group_weighted"),
            *("group_unsettled", "group_weighted_unsettled"),
            *("group_refreshes", "group_refresh_time"),
            *("followed_deliveries", "followed_stale_time"),
            *("followed_refreshes", "followed_refresh_time"),
            *("delivery_quantiles", "stale_quantiles"),
        ),
        _NONE,
    )
    | _NO_AGES
)
"""Of few pages there is a row for each, and no other sums."""


def _of_many(pages: PagesTally, ages: Array, section: Pages, window: float) -> dict[str, Any]:
    """Groups, single pages, quantiles over all."""
    weights = page_weights(section)
    unsettled = _unsettled(pages, section, window)
    followed = list(followed_pages(section))
    return {
        "unsettled": weighted_sum(unsettled, weights),
        "group_deliveries": sums_by_group(section, pages.deliveries),
        "group_stale_time": sums_by_group(section, pages.stale_time),
        "group_weighted": sums_by_group(section, pages.stale_time, weights),
        "group_unsettled": sums_by_group(section, unsettled),
        "group_weighted_unsettled": sums_by_group(section, unsettled, weights),
        "group_refreshes": sums_by_group(section, pages.refreshes),
        "group_refresh_time": sums_by_group(section, pages.refresh_time),
        "followed_deliveries": pages.deliveries[followed],
        "followed_stale_time": pages.stale_time[followed],
        "followed_refreshes": pages.refreshes[followed],
        "followed_refresh_time": pages.refresh_time[followed],
        "delivery_quantiles": _quantiles(pages.deliveries),
        "stale_quantiles": _quantiles(pages.stale_time),
        **(_of_ages(pages, ages, section) if len(ages) else _NO_AGES),
    }


def _of_ages(pages: PagesTally, ages: Array, section: Pages) -> dict[str, Any]:
    return {
        "group_age_time": sums_by_group(section, ages),
        "group_age_unsettled": sums_by_group(section, ages / np.maximum(pages.deliveries, 1)),
        "followed_age_time": ages[list(followed_pages(section))],
        "age_quantiles": _quantiles(ages),
    }


def _unsettled(pages: PagesTally, section: Pages, window: float) -> Array:
    """Of each page 1 / (deliveries + expected changes); 0 where nothing happens."""
    events = change_rates(section) * window
    events += pages.deliveries
    unsettled: Array = np.divide(1.0, events, out=events, where=events > 0)
    return unsettled


def _sum(values: Array) -> float:
    """The sum over the pages."""
    return math.fsum(float(values[some].sum()) for some in blocks_of(len(values)))


def weighted_sum(values: Array, weights: Array) -> float:
    """The sum of products over the pages."""
    return math.fsum(float((values[some] * weights[some]).sum()) for some in blocks_of(len(values)))


def sums_by_group(section: Pages, values: Any, weights: Array | None = None) -> Array:
    """The sums over the pages of each group, of all groupings one after the other.

    Parameters
    ----------
    section : Pages
    values : ndarray, shape (pages,)
    weights : ndarray, shape (pages,), optional
    """
    sums: list[float] = []
    for grouping in groupings(section):
        parts = [
            np.bincount(
                grouping.of_page[some],
                values[some] if weights is None else values[some] * weights[some],
                len(grouping.names),
            ).tolist()
            for some in blocks_of(len(values))
        ]
        sums += map(math.fsum, zip(*parts, strict=True))
    return np.array(sums)


def _quantiles(values: Any) -> Array:
    """The least values that the shares of `SHARES` do not exceed."""
    places = [math.ceil(share * len(values)) - 1 for share in SHARES]
    return np.partition(values, sorted(set(places)))[places].astype(float)
