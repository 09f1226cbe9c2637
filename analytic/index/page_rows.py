"""What a formula says of the pages: a row for each, or of many pages what a simulation keeps.

The sums are made here anew, from the groups that the scenario names: the simulation makes its own.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence

import numpy as np
from numpy.typing import ArrayLike

from scenarios import Scenario
from scenarios.arrays import Array
from scenarios.measures import Subject
from scenarios.model import present
from scenarios.page_data import PageData
from scenarios.page_groups import followed_pages, groupings, only_sums

_SUMMED = ("crawl_rate", "crawl_frequency", "bytes_rate", "weighted_obsolescence")
"""Measures of a group that are those of its pages together; others are means."""


def page_rows(
    scenario: Scenario, measure: str, values: Array, counts: Array | None = None
) -> Iterator[tuple[str, Subject, float]]:
    """Rows of one measure from its values for all pages; undefined ones are left out.

    Parameters
    ----------
    scenario : Scenario
    measure : str
    values : ndarray, shape (pages,)
        nan where it is undefined.
    counts : ndarray, shape (pages,), optional
        What the values are means over, where a group's is not the mean of its pages.
    """
    if not only_sums(scenario):
        for page, value in enumerate(values.tolist()):
            if math.isfinite(value):
                yield measure, page, value
        return
    yield from _of_groups(scenario, measure, values, counts)
    if measure == "obsolescence_rate":
        weighted = present(scenario.model.pages).weights * values
        yield from _of_groups(scenario, "weighted_obsolescence", weighted)
    for page in followed_pages(present(scenario.model.pages)):
        if math.isfinite(values[page]):
            yield measure, page, float(values[page])


def quantile_rows(
    scenario: Scenario,
    measure: str,
    shares: Sequence[float],
    of_all: Array,
    of_each: Mapping[int, Array],
) -> Iterator[tuple[str, Subject, float]]:
    """Rows of quantiles, of all pages and of those with a row; undefined ones are left out.

    Parameters
    ----------
    scenario : Scenario
    measure : str
    shares : sequence of float
    of_all : ndarray, shape (shares,)
    of_each : mapping of int to ndarray, shape (shares,)
        By page.
    """
    rows = {"": of_all}
    if not only_sums(scenario):
        rows |= {f"{page} ": times for page, times in of_each.items()}
    for name, times in rows.items():
        for share, time in zip(shares, times.tolist(), strict=True):
            if math.isfinite(time):
                yield measure, f"{name}{share!r}", time


def stale_answers(obsolescence: ArrayLike, weights: ArrayLike) -> float:
    """Probability that a query is answered from an out-of-date copy: ``sum c r / sum c``.

    coffman1998 (1) at Poisson queries, which see time averages.

    Parameters
    ----------
    obsolescence : array_like, shape (pages,)
        Obsolescence rates r.
    weights : array_like, shape (pages,)
        In proportion to the queries of the pages, c.
    """
    c = np.asarray(weights, dtype=float)
    return float(c @ np.asarray(obsolescence, dtype=float) / c.sum())


def freshness_rows(
    scenario: Scenario, weights: Array, obsolescence: Array, ages: Array | None = None
) -> Iterator[tuple[str, Subject, float]]:
    """What follows from the obsolescence rate of every page, and from the ages of their copies.

    Parameters
    ----------
    scenario : Scenario
    weights, obsolescence : ndarray, shape (pages,)
    ages : ndarray, shape (pages,), optional
        nan of pages that are never fetched.
    """
    total = float(weights @ obsolescence)
    yield "weighted_obsolescence", None, total
    yield from page_rows(scenario, "obsolescence_rate", obsolescence)
    if ages is not None:
        yield from page_rows(scenario, "index_age", ages)
    if scenario.clients is not None and weights.any():
        yield "stale_answer_probability", None, stale_answers(obsolescence, weights)
    if scenario.model.pages is not None and scenario.buffer is None:
        yield from _times_to_refresh(scenario, scenario.model.pages, obsolescence)


def _times_to_refresh(
    scenario: Scenario, section: PageData, obsolescence: Array
) -> Iterator[tuple[str, Subject, float]]:
    """Where copies can be searched as soon as they are delivered: Little's law.

    Then a change is waited for only while a page is out of date, and one at most; that begins with
    the rate of its changes while it is not. Of pages that are never up to date in the long run
    there is no such time.
    """
    begun = section.change_rates * (1.0 - obsolescence)
    with np.errstate(divide="ignore", invalid="ignore"):
        times: Array = np.divide(obsolescence, begun)
        yield from page_rows(scenario, "time_to_refresh", times, begun)
        yield "time_to_refresh", None, float(obsolescence[begun > 0].sum() / begun.sum())


def changes_found(scenario: Scenario, obsolescence: Array) -> Array:
    """Accesses of each page per unit time that find a change, if each delivers; shape (pages,).

    Parameters
    ----------
    scenario : Scenario
    obsolescence : ndarray, shape (pages,)
        Shares of time for which the copy that was fetched last is out of date.

    Notes
    -----
    A copy goes out of date with the rate of the changes while it is not, and each time exactly one
    access finds that. So of the y accesses of a page, ``1 - mu (1 - r) / y`` find no change, which
    is ``E e^{-mu C}`` of the time C from one to the next: own result, docs/theory/freshness.md.
    """
    return present(scenario.model.pages).change_rates * (1.0 - obsolescence)


def fetch_rows(
    scenario: Scenario, rates: Array, found: Array
) -> Iterator[tuple[str, Subject, float]]:
    """How many accesses find their page unchanged, and the bytes that all of them fetch.

    Parameters
    ----------
    scenario : Scenario
    rates : ndarray, shape (pages,)
        Accesses of each page per unit time that deliver.
    found : ndarray, shape (pages,)
        Those of them that find a change.
    """
    unchanged = present(scenario.robots).unchanged
    if unchanged is None:
        return
    section = present(scenario.model.pages)
    same = rates - found
    with np.errstate(divide="ignore", invalid="ignore"):
        yield "unchanged_share", None, float(same.sum() / rates.sum())
        yield from page_rows(scenario, "unchanged_share", same / rates, rates)
    if section.section.sizes is not None:
        fetched = unchanged.bytes * same + section.sizes * found
        yield "bytes_rate", None, float(fetched.sum())
        yield from page_rows(scenario, "bytes_rate", fetched)


def _of_groups(
    scenario: Scenario, measure: str, values: Array, counts: Array | None = None
) -> Iterator[tuple[str, Subject, float]]:
    if counts is not None:
        values = np.where(counts > 0, values * counts, 0.0)
    for grouping in groupings(present(scenario.model.pages)):
        sums: Array = np.bincount(grouping.of_page, values, len(grouping.names)).astype(float)
        if measure not in _SUMMED:
            sums = sums / np.bincount(grouping.of_page, counts, len(grouping.names))
        for name, value in zip(grouping.names, sums.tolist(), strict=True):
            if math.isfinite(value):
                yield measure, name, value
