"""What is kept of many pages: sums over groups of them, and a few pages by themselves.

Which groups there are and which pages are followed depends on the scenario alone, so that a run and
the formulas speak of the same ones, and nothing is chosen by what came out.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from scenarios.accessing.policy import Indices
from scenarios.arrays import Array
from scenarios.page_data import PageData

if TYPE_CHECKING:
    from scenarios.scenario import Scenario

FOLLOWED = 20
"""Pages that are followed by themselves, and pages that are called the worst."""

MOST_POOLED = 20_000_000
"""Pages up to which the worst ones are found; of more, nothing of a single page is sent around."""

SHARES = (0.01, 0.1, 0.25, 0.5, 0.75, 0.9, 0.99)
"""Of the quantiles over the pages."""

QUANTILES = tuple(f"quantile {share:g}" for share in SHARES)
"""What they are called."""

_PARTS = 10
_TENTH = "tenth "
_MOST_HOSTS = 64
_BLOCK = 2**18


class Grouping(NamedTuple):
    """Pages divided into groups.

    Attributes
    ----------
    names : tuple of str
    of_page : ndarray of uint8, shape (pages,)
        Which of them each page belongs to.
    """

    names: tuple[str, ...]
    of_page: NDArray[np.unsignedinteger[Any]]


def blocks_of(count: int) -> Iterator[slice]:
    """The pages, some at a time, in their order."""
    return (slice(start, start + _BLOCK) for start in range(0, count, _BLOCK))


def only_sums(scenario: Scenario) -> bool:
    """Whether there are so many pages that sums are kept in place of a row for each."""
    return scenario.model.pages is not None and scenario.model.pages.count > scenario.run.page_rows


def finds_worst(scenario: Scenario) -> bool:
    """Whether sums over the replications are kept of each page, which show the worst ones."""
    return scenario.model.pages is not None and scenario.model.pages.count <= MOST_POOLED


@lru_cache(maxsize=1)
def groupings(pages: PageData) -> tuple[Grouping, ...]:
    """The pages by change rate, in tenths, the slowest first; and by host, of up to 64 hosts.

    Pages of equal rates are never parted: where many are equal, some tenths are larger, and those
    that have no page are left out.
    """
    given = [Grouping(*_by_rate(pages))]
    if 0 < pages.host_count <= _MOST_HOSTS:
        hosts = pages.hosts.astype(np.uint8)
        given.append(_without_empty([f"host {n}" for n in range(pages.host_count)], hosts))
    return tuple(given)


def is_group(subject: object) -> bool:
    """Whether a subject of a measure of pages is a group of them."""
    return isinstance(subject, str) and subject not in QUANTILES


def is_tenth(subject: object) -> bool:
    """Whether a subject is one of the tenths, which have every page between them."""
    return isinstance(subject, str) and subject.startswith(_TENTH)


def _by_rate(pages: PageData) -> Grouping:
    rates = pages.change_rates
    last = [-(-part * len(rates) // _PARTS) - 1 for part in range(1, _PARTS)]
    edges = np.partition(rates, np.unique(last))[last]
    tenth = np.empty(len(rates), dtype=np.uint8)
    for some in blocks_of(len(rates)):
        tenth[some] = np.searchsorted(edges, rates[some], side="left")
    return _without_empty([f"{_TENTH}{part}" for part in range(1, _PARTS + 1)], tenth)


def _without_empty(names: list[str], of_page: NDArray[np.unsignedinteger[Any]]) -> Grouping:
    present = np.flatnonzero(np.bincount(of_page, minlength=len(names)))
    place = np.zeros(len(names), dtype=np.uint8)
    place[present] = np.arange(len(present))
    return Grouping(tuple(names[n] for n in present), place[of_page])


def group_names(pages: PageData) -> tuple[str, ...]:
    """Of all groupings, one after the other."""
    return tuple(name for grouping in groupings(pages) for name in grouping.names)


@lru_cache(maxsize=1)
def group_sizes(pages: PageData) -> Array:
    """Number of pages in each group."""
    sizes = [np.bincount(each.of_page, minlength=len(each.names)) for each in groupings(pages)]
    return np.concatenate(sizes).astype(float)


def largest_in_groups(pages: PageData, values: Array) -> Array:
    """The largest value of a page of each group, shape (groups,)."""
    largest = []
    for each in groupings(pages):
        found = np.full(len(each.names), -np.inf)
        for some in blocks_of(len(values)):
            np.maximum.at(found, each.of_page[some], values[some])
        largest.append(found)
    return np.concatenate(largest)


@lru_cache(maxsize=1)
def followed_pages(pages: PageData) -> tuple[int, ...]:
    """The pages of the largest weight × change rate, the largest first; of equal ones the first."""
    return tuple(largest_products(pages.weights, pages.change_rates, FOLLOWED).tolist())


def largest_products(one: Array, other: Array, count: int) -> Indices:
    """Where the largest products of two arrays stand, the largest first; of equal ones the first.

    Block by block, so that it takes no memory of the size of the arrays.
    """
    places = np.zeros(0, dtype=np.intp)
    products = np.zeros(0)
    for some in blocks_of(len(one)):
        new = one[some] * other[some]
        if len(places) == count:
            places_above = np.flatnonzero(new > products[-1])
        else:
            places_above = np.arange(len(new))
        both = np.concatenate([products, new[places_above]])
        order = np.argsort(-both, kind="stable")[:count]
        places = np.concatenate([places, some.start + places_above])[order]
        products = both[order]
    return places
