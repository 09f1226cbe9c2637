"""Pages summed up: what a replication keeps of many pages, and which of them are the worst.

Sums are made block by block in the order of the pages, and those of the blocks are added without
rounding: the bits are the same wherever a replication runs. What all replications have of a single
page is added in the order of the replications, as it is for few pages: their number may grow, the
memory does not.
"""

from __future__ import annotations

import math
from dataclasses import fields, replace
from typing import Any

import numpy as np

from scenarios import Scenario
from scenarios.arrays import Array
from scenarios.model import present
from scenarios.page_data import PageData
from scenarios.page_groups import SHARES, blocks_of, followed_pages, groupings, only_sums
from sim.tally import PagesTally, PageSumsTally, Tally


def with_page_sums(tally: Tally, scenario: Scenario) -> Tally:
    """The same tally with its pages summed up; one without pages, or with sums, as it is.

    Parameters
    ----------
    tally : Tally
    scenario : Scenario
    """
    if tally.pages is None or tally.page_sums is not None or scenario.model.pages is None:
        return tally
    pages = with_bytes(tally.pages, scenario)
    ages = np.zeros(0) if tally.ages is None else tally.ages.age_time
    weights = scenario.model.pages.weights
    whole = {
        "accesses": int(pages.deliveries.sum()),
        "weighted_stale_time": weighted_sum(pages.stale_time, weights),
        "refreshes": int(pages.refreshes.sum()),
        "refresh_time": _sum(pages.refresh_time),
        "found": int(pages.found.sum()),
        "bytes": _sum(pages.bytes),
        "unsettled": 0.0,
    }
    none = dict.fromkeys((each.name for each in fields(PageSumsTally)), np.zeros(0))
    sums: dict[str, Any] = none | whole
    if only_sums(scenario):
        sums |= _of_many(pages, ages, scenario.model.pages, tally.window)
    return replace(tally, pages=pages, page_sums=PageSumsTally(**sums))


def with_bytes(pages: PagesTally, scenario: Scenario) -> PagesTally:
    """The same tally with the bytes that were fetched, where the scenario says how many are.

    Parameters
    ----------
    pages : PagesTally
    scenario : Scenario
    """
    unchanged, section = present(scenario.robots).unchanged, present(scenario.model.pages)
    if unchanged is None or section.section.sizes is None:
        return pages
    same = pages.deliveries - pages.found
    return replace(pages, bytes=unchanged.bytes * same + section.sizes * pages.found)


def without_pages(tally: Tally) -> Tally:
    """The same tally with nothing left of single pages."""
    return replace(tally, pages=None, ages=None)


_COUNTED = ("deliveries", "stale_time", "refreshes", "refresh_time")
"""What is summed of every page: attributes of a `PagesTally`."""


_ASKED = ("found", "bytes")
"""The same, where somebody asks for it."""


def _of_many(pages: PagesTally, ages: Array, section: PageData, window: float) -> dict[str, Any]:
    """Groups, single pages, quantiles over all; of ages where there are any."""
    weights = section.weights
    unsettled = _unsettled(pages, section, window)
    counted = {name: getattr(pages, name) for name in _COUNTED}
    counted |= {name: values for name in _ASKED if len(values := getattr(pages, name))}
    if len(ages):
        counted["age_time"] = ages
    followed = list(followed_pages(section))
    sums: dict[str, Any] = {
        "unsettled": weighted_sum(unsettled, weights),
        "group_weighted": sums_by_group(section, pages.stale_time, weights),
        "group_unsettled": sums_by_group(section, unsettled),
        "group_weighted_unsettled": sums_by_group(section, unsettled, weights),
        "delivery_quantiles": _quantiles(pages.deliveries),
        "stale_quantiles": _quantiles(pages.stale_time),
    }
    for name, values in counted.items():
        sums[f"group_{name}"] = sums_by_group(section, values)
        sums[f"followed_{name}"] = values[followed]
    if len(ages):
        mean_ages = ages / np.maximum(pages.deliveries, 1)
        sums["group_age_unsettled"] = sums_by_group(section, mean_ages)
        sums["age_quantiles"] = _quantiles(ages)
    return sums


def _unsettled(pages: PagesTally, section: PageData, window: float) -> Array:
    """Of each page 1 / (deliveries + expected changes); 0 where nothing happens."""
    events = section.change_rates * window
    events += pages.deliveries
    unsettled: Array = np.divide(1.0, events, out=events, where=events > 0)
    return unsettled


def _sum(values: Array) -> float:
    """The sum over the pages."""
    return math.fsum(float(values[some].sum()) for some in blocks_of(len(values)))


def weighted_sum(values: Array, weights: Array) -> float:
    """The sum of products over the pages."""
    return math.fsum(float((values[some] * weights[some]).sum()) for some in blocks_of(len(values)))


def sums_by_group(section: PageData, values: Any, weights: Array | None = None) -> Array:
    """The sums over the pages of each group, of all groupings one after the other.

    Parameters
    ----------
    section : PageData
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
