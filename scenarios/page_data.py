"""What the words of [pages] and of an accessing policy stand for, as numbers.

Each array is computed once for all who ask, and is read-only.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache, wraps
from typing import ParamSpec, TypeVar

import numpy as np

from scenarios.accessing import Accessing
from scenarios.accessing.cyclic import Cyclic
from scenarios.accessing.due import Due
from scenarios.accessing.policy import Indices, Periodic, require_pages
from scenarios.arrays import Array
from scenarios.columns import Column, given_entries, names_beside
from scenarios.laws import Distribution
from scenarios.sections import Pages, PageSize, Robots, Zipf, ZipfHosts, ZipfSizes
from scenarios.signals import SignalRates, signal_rates

_GOLDEN = (5**0.5 - 1) / 2

Sections = ParamSpec("Sections")
Values = TypeVar("Values")


def _once(compute: Callable[Sections, Values]) -> Callable[Sections, Values]:
    """The same function, whose last result is kept; of an array, read-only."""

    @wraps(compute)
    def computed(*sections: Sections.args, **named: Sections.kwargs) -> Values:
        values = compute(*sections, **named)
        if isinstance(values, np.ndarray):
            values.flags.writeable = False
        return values

    return lru_cache(maxsize=1)(computed)  # type: ignore[return-value]  # sections are hashable


@dataclass(frozen=True)
class PageData:
    """What a file says of each page, as numbers: `Scenario.model` has it as `pages`.

    Attributes
    ----------
    section : Pages
        The entries of the file.
    """

    section: Pages

    @property
    def count(self) -> int:
        """Number of pages."""
        return self.section.count

    @property
    def host_count(self) -> int:
        """Number of hosts, those without pages included; 0 where pages have none."""
        return self.section.host_count

    @property
    def refresh_quantiles(self) -> tuple[float, ...]:
        """The shares of the times to refresh that were asked for."""
        return self.section.refresh_quantiles

    @property
    @_once
    def change_rates(self) -> Array:
        """Change rate of each page, shape (pages,)."""
        given = self.section.change_rates
        if isinstance(given, Zipf):
            law = given.root
            parts = np.arange(1.0, law.pages + 1) ** -law.exponent
            return law.total * parts / parts.sum()
        return np.array(given_entries(given))

    @property
    @_once
    def signals(self) -> SignalRates:
        """Changes and signals of each page, of pages that have signals."""
        assert self.section.signals is not None
        return signal_rates(self.section.signals, self.change_rates)

    @property
    def signal_delay(self) -> Distribution | None:
        """Time until a signal is heard, of pages that have signals; None: at once."""
        assert self.section.signals is not None
        return self.section.signals.delay

    @property
    @_once
    def weights(self) -> Array:
        """Weight of each page in the cost and among the queries, shape (pages,)."""
        if self.section.weights == "change-rate":
            return self.change_rates
        if self.section.weights == "uniform":
            return np.ones(self.count)
        return np.array(given_entries(self.section.weights))

    @property
    @_once
    def hosts(self) -> Indices:
        """The host of each page, shape (pages,).

        Of hosts given by their sizes, page i lies where the fractional part of ``(i + 1/2) phi``
        falls among their shares: sizes are right to a few pages, and pages that follow each other
        are spread.
        """
        given = self.section.hosts
        assert given is not None
        if isinstance(given, ZipfHosts):
            law = given.root
            ends = np.cumsum(np.arange(1.0, law.hosts + 1) ** -law.exponent)
            point = _spread(self.count)
            return np.minimum(np.searchsorted(ends / ends[-1], point, side="right"), law.hosts - 1)
        return np.array(given_entries(given), dtype=np.intp)

    @property
    def sizes(self) -> Array:
        """Size of each page, shape (pages,).

        Of sizes given by a power law, page i has the rank that the fractional part of
        ``(i + 1/2) phi`` has among those of all pages: pages that follow each other differ.
        """
        given = self.section.sizes
        assert given is not None
        if isinstance(given, ZipfSizes):
            law = given.root
            parts = np.arange(1.0, self.count + 1) ** -law.exponent
            return law.mean * (parts / parts.mean())[_spread(self.count).argsort().argsort()]
        return np.array(given_entries(given))

    @property
    @_once
    def priorities(self) -> Array:
        """Priority of each page, the lowest first, shape (pages,); 0 where none are given."""
        given = self.section.priority
        numbers = 0.0 if given is None else given_entries(given)
        return np.broadcast_to(np.array(numbers, dtype=float), self.count).copy()

    @property
    @_once
    def classes(self) -> Indices:
        """The same as whole numbers, of pages whose order of indexing it says."""
        return self.priorities.astype(np.intp)

    @property
    @_once
    def names(self) -> tuple[str, ...] | None:
        """What the pages are called, each on one line: by the scenario, or by the file of rates.

        None where neither says it.
        """
        given: Sequence[str] | None = given_entries(self.section.names)
        if given is None and isinstance(self.section.change_rates, Column):
            beside = names_beside(self.section.change_rates)
            given = beside[1] if beside else None
        if given is None or len(given) != self.count:  # the file has changed meanwhile
            return None
        return tuple(" ".join(name.split()) for name in given)


def _spread(count: int) -> Array:
    """A number from 0 to 1 for each page, equally spaced up to their order."""
    return (np.arange(count) + 0.5) * _GOLDEN % 1.0


@_once
def page_service_times(service: PageSize, pages: PageData) -> Array:
    """How long the indexing of each page takes, shape (pages,)."""
    return service.constant + service.time_per_unit * pages.sizes


@_once
def host_spacings(robots: Robots, pages: PageData) -> Array:
    """Least time between the starts of two accesses at each host, shape (hosts,).

    No entries where pages have no hosts, 0 where a host has no limit.
    """
    given = robots.host_spacing
    if given is None:
        return np.zeros(pages.host_count)
    return np.broadcast_to(np.array(given, dtype=float), pages.host_count).copy()


@_once
def access_shares(policy: Accessing, pages: PageData) -> Array:
    """Share of the accesses that the policy is to give each page, shape (pages,).

    Those of a template are what it holds; "optimal" must have been resolved to numbers before.
    """
    if isinstance(policy, Cyclic):
        return _shares_in(policy.cycle_of(np.zeros(0)), pages)
    frequencies = getattr(policy, "frequencies", "uniform")
    if frequencies == "change-rate":
        rates = pages.change_rates
        return rates / rates.sum()
    if frequencies == "uniform":
        return np.full(pages.count, 1.0 / pages.count)
    return np.array(given_entries(frequencies), dtype=float)


@_once
def due_intervals(policy: Due, pages: PageData) -> Array:
    """After how long each page is due again, shape (pages,); inf of pages that never are.

    "optimal" must have been resolved to numbers before.
    """
    given = np.array(given_entries(policy.intervals), dtype=float)
    return np.broadcast_to(given, pages.count).copy()


@_once
def due_levels(policy: Due, pages: PageData) -> Array:
    """At which level each page is due, shape (pages,); inf of pages that never are.

    "optimal" must have been resolved to numbers before.
    """
    given = np.array(given_entries(policy.levels), dtype=float)
    return np.broadcast_to(given, pages.count).copy()


@_once
def access_cycle(policy: Periodic, pages: PageData) -> Indices:
    """One period of the policy: the page of each slot."""
    return require_pages(policy, policy.cycle_of(access_shares(policy, pages)), pages.count)


def realised_shares(policy: Accessing, pages: PageData) -> Array:
    """Share of the accesses that each page gets: of a period a whole number of slots."""
    if isinstance(policy, Periodic):
        return _shares_in(access_cycle(policy, pages), pages)
    return access_shares(policy, pages)


def _shares_in(cycle: Indices, pages: PageData) -> Array:
    return np.bincount(cycle, minlength=pages.count) / len(cycle)
