"""What the words of [pages] and of an accessing policy stand for, as numbers.

Each array is computed once for all who ask, and is read-only.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache, wraps
from typing import Any, ParamSpec, TypeVar

import numpy as np
from numpy.typing import NDArray

from scenarios.accessing import Accessing
from scenarios.accessing.cyclic import Cyclic
from scenarios.accessing.due import Due
from scenarios.accessing.policy import Indices, Periodic
from scenarios.arrays import Array
from scenarios.columns import Column, given_entries, names_beside
from scenarios.sections import Pages, PageSize, Robots, Zipf, ZipfHosts, ZipfSizes
from scenarios.signals import SignalRates, signal_rates

_GOLDEN = (5**0.5 - 1) / 2

Sections = ParamSpec("Sections")
Values = TypeVar("Values", bound=NDArray[Any])


def _once(compute: Callable[Sections, Values]) -> Callable[Sections, Values]:
    """The same function, whose last result is kept."""

    @wraps(compute)
    def computed(*sections: Sections.args, **named: Sections.kwargs) -> Values:
        values = compute(*sections, **named)
        values.flags.writeable = False
        return values

    return lru_cache(maxsize=1)(computed)  # type: ignore[return-value]  # sections are hashable


@_once
def change_rates(pages: Pages) -> Array:
    """Change rate of each page, shape (pages,)."""
    given = pages.change_rates
    if isinstance(given, Zipf):
        law = given.root
        parts = np.arange(1.0, law.pages + 1) ** -law.exponent
        return law.total * parts / parts.sum()
    return np.array(given_entries(given))


@lru_cache(maxsize=1)
def page_signals(pages: Pages) -> SignalRates:
    """Changes and signals of each page, of pages that have signals."""
    assert pages.signals is not None
    return signal_rates(pages.signals, change_rates(pages))


@_once
def page_weights(pages: Pages) -> Array:
    """Weight of each page in the cost and among the queries, shape (pages,)."""
    if pages.weights == "change-rate":
        return change_rates(pages)
    if pages.weights == "uniform":
        return np.ones(pages.count)
    return np.array(given_entries(pages.weights))


@_once
def page_hosts(pages: Pages) -> Indices:
    """The host of each page, shape (pages,).

    Of hosts given by their sizes, page i lies where the fractional part of ``(i + 1/2) phi`` falls
    among their shares: sizes are right to a few pages, and pages that follow each other are spread.
    """
    given = pages.hosts
    assert given is not None
    if isinstance(given, ZipfHosts):
        law = given.root
        ends = np.cumsum(np.arange(1.0, law.hosts + 1) ** -law.exponent)
        point = _spread(pages.count)
        return np.minimum(np.searchsorted(ends / ends[-1], point, side="right"), law.hosts - 1)
    return np.array(given_entries(given), dtype=np.intp)


def _spread(count: int) -> Array:
    """A number from 0 to 1 for each page, equally spaced up to their order."""
    return (np.arange(count) + 0.5) * _GOLDEN % 1.0


def page_sizes(pages: Pages) -> Array:
    """Size of each page, shape (pages,).

    Of sizes given by a power law, page i has the rank that the fractional part of
    ``(i + 1/2) phi`` has among those of all pages: pages that follow each other differ.
    """
    given = pages.sizes
    assert given is not None
    if isinstance(given, ZipfSizes):
        law = given.root
        parts = np.arange(1.0, pages.count + 1) ** -law.exponent
        return law.mean * (parts / parts.mean())[_spread(pages.count).argsort().argsort()]
    return np.array(given_entries(given))


@_once
def page_service_times(service: PageSize, pages: Pages) -> Array:
    """How long the indexing of each page takes, shape (pages,)."""
    return service.constant + service.time_per_unit * page_sizes(pages)


@_once
def host_spacings(robots: Robots, pages: Pages) -> Array:
    """Least time between the starts of two accesses at each host, shape (hosts,).

    No entries where pages have no hosts, 0 where a host has no limit.
    """
    given = robots.host_spacing
    if given is None:
        return np.zeros(pages.host_count)
    return np.broadcast_to(np.array(given, dtype=float), pages.host_count).copy()


@_once
def access_shares(policy: Accessing, pages: Pages) -> Array:
    """Share of the accesses that the policy is to give each page, shape (pages,).

    Those of a template are what it holds; "optimal" must have been resolved to numbers before.
    """
    if isinstance(policy, Cyclic):
        return _shares_in(policy.cycle_of(np.zeros(0)), pages)
    frequencies = getattr(policy, "frequencies", "uniform")
    if frequencies == "change-rate":
        rates = change_rates(pages)
        return rates / rates.sum()
    if frequencies == "uniform":
        return np.full(pages.count, 1.0 / pages.count)
    return np.array(given_entries(frequencies), dtype=float)


@_once
def due_intervals(policy: Due, pages: Pages) -> Array:
    """After how long each page is due again, shape (pages,); inf of pages that never are.

    "optimal" must have been resolved to numbers before.
    """
    given = np.array(given_entries(policy.intervals), dtype=float)
    return np.broadcast_to(given, pages.count).copy()


@_once
def due_levels(policy: Due, pages: Pages) -> Array:
    """At which level each page is due, shape (pages,); inf of pages that never are.

    "optimal" must have been resolved to numbers before.
    """
    given = np.array(given_entries(policy.levels), dtype=float)
    return np.broadcast_to(given, pages.count).copy()


@_once
def page_priorities(pages: Pages) -> Array:
    """Priority of each page, the lowest first, shape (pages,); 0 where none are given."""
    given = 0.0 if pages.priority is None else given_entries(pages.priority)
    return np.broadcast_to(np.array(given, dtype=float), pages.count).copy()


@_once
def access_cycle(policy: Periodic, pages: Pages) -> Indices:
    """One period of the policy: the page of each slot."""
    return policy.cycle_of(access_shares(policy, pages))


@lru_cache(maxsize=1)
def page_names(pages: Pages) -> tuple[str, ...] | None:
    """What the pages are called, each on one line: by the scenario, or by the file of their rates.

    None where neither says it.
    """
    given: Sequence[str] | None = given_entries(pages.names)
    if given is None and isinstance(pages.change_rates, Column):
        beside = names_beside(pages.change_rates)
        given = beside[1] if beside else None
    if given is None or len(given) != pages.count:  # the file has changed meanwhile
        return None
    return tuple(" ".join(name.split()) for name in given)


def realised_shares(policy: Accessing, pages: Pages) -> Array:
    """Share of the accesses that each page gets: of a period a whole number of slots."""
    if isinstance(policy, Periodic):
        return _shares_in(access_cycle(policy, pages), pages)
    return access_shares(policy, pages)


def _shares_in(cycle: Indices, pages: Pages) -> Array:
    return np.bincount(cycle, minlength=pages.count) / len(cycle)
