"""What one replication counted, part by part, with conservation asserted."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, fields
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sim import rules

RELATIVE = 1e-9
"""Sums of times may be off by this share."""

ROUNDING = 2.0**-50
"""Rounding of one time, relative to the horizon."""


class ConservationError(AssertionError):
    """A replication whose counts do not add up: an error in an engine, never in a scenario."""


def require(holds: bool, message: str) -> None:
    """Raise `ConservationError` with the message unless it holds."""
    if not holds:
        raise ConservationError(message)


@dataclass(frozen=True, slots=True)
class BufferTally:
    """Counts and time integrals of the buffer over the window (warm-up, horizon].

    Attributes
    ----------
    delivered, refused : int
        Pages delivered; of these, pages that did not enter.
    ended, sojourn, sojourn_square : tuple, indexed by fate
        Pages that entered and ended in the window as served, obsolete, pushed out or replaced:
        their number, the sum of their times from entry to end, and of the squares.
    inside_at_start, inside_at_end : int
        Pages in the system at the two ends of the window.
    age_at_start, age_at_end : float
        Their times since entry, summed.
    level_time : tuple of float
        Time with 0, 1, … pages in the system.
    """

    delivered: int
    refused: int
    ended: tuple[int, ...]
    sojourn: tuple[float, ...]
    sojourn_square: tuple[float, ...]
    inside_at_start: int
    inside_at_end: int
    age_at_start: float
    age_at_end: float
    level_time: tuple[float, ...]

    @property
    def lost(self) -> int:
        """Pages refused on arrival or pushed out later."""
        return self.refused + self.ended[rules.PUSHED_OUT]

    @property
    def time_in_system(self) -> float:
        """Time integral of the pages in the system."""
        return math.fsum(level * time for level, time in enumerate(self.level_time))

    def check(self, window: float, horizon: float, from_orbit: int = 0) -> None:
        """Raise `ConservationError` unless pages, time and sojourns add up.

        Parameters
        ----------
        window : float
            Length of the window.
        horizon : float
            Time of its end, which sets the size of the rounding errors.
        from_orbit : int
            Pages that came back from orbit, less those that joined it.
        """
        came = self.inside_at_start + self.delivered + from_orbit
        went = self.inside_at_end + self.refused + sum(self.ended)
        require(came == went, f"{came} pages came, {went} are accounted for")
        total = math.fsum(self.level_time)
        changes = 2 + self.delivered + abs(from_orbit) + sum(self.ended)
        rounding = changes * horizon * ROUNDING
        require(min(self.level_time) >= 0, "a level has negative time")
        require(
            abs(total - window) <= RELATIVE * window + rounding,
            f"the levels' times sum to {total!r}, not to the window {window!r}",
        )
        in_system = self.time_in_system
        sojourns = math.fsum(self.sojourn) + self.age_at_end - self.age_at_start
        scale = in_system + self.age_at_start
        require(
            abs(in_system - sojourns) <= RELATIVE * scale + rounding * len(self.level_time),
            f"Little's law: level integral {in_system!r}, sojourns {sojourns!r}",
        )


@dataclass(frozen=True, slots=True)
class BatchesTally:
    """Batches over the window, where servers take pages in batches.

    Attributes
    ----------
    ended : int
        Those whose service ended.
    busy_time : float
        Time integral of the servers with a batch.
    """

    ended: int
    busy_time: float

    def check(self, served: int, time_in_system: float) -> None:
        """Raise `ConservationError` unless each batch had a page.

        Parameters
        ----------
        served : int
            Pages whose service ended.
        time_in_system : float
            Time integral of the pages in the system.
        """
        require(self.ended <= served, f"{self.ended} batches with {served} pages")
        most = time_in_system * (1 + RELATIVE)
        require(0 <= self.busy_time <= most, "servers were busy without pages")


@dataclass(frozen=True, slots=True)
class OrbitTally:
    """Pages in orbit over the window, where those that find no room come back.

    Attributes
    ----------
    joined, left : int
        Pages that found no room, and of those in orbit the ones that entered.
    time : float
        Time integral of the pages in orbit.
    inside_at_start, inside_at_end : int
        Pages in orbit at the two ends of the window.
    """

    joined: int
    left: int
    time: float
    inside_at_start: int
    inside_at_end: int

    def check(self, window: float, horizon: float) -> None:  # noqa: ARG002  # same call for all parts
        """Raise `ConservationError` unless the pages in orbit add up."""
        inside = self.inside_at_start + self.joined - self.left
        require(inside == self.inside_at_end >= 0, f"{inside} pages in orbit are not there")
        most = (self.inside_at_start + self.joined) * window * (1 + RELATIVE)
        require(0 <= self.time <= most, "pages were in orbit longer than the window")


@dataclass(frozen=True, slots=True)
class RestsTally:
    """What an indexer did over the window that rests when it finds no page.

    Attributes
    ----------
    resumed : int
        How often it came back, idle or away before.
    set_up_time : float
        For how long it was setting up.
    """

    resumed: int
    set_up_time: float

    def check(self, window: float, horizon: float) -> None:  # noqa: ARG002  # same call for all parts
        """Raise `ConservationError` unless it set up for a part of the window."""
        most = window * (1 + RELATIVE)
        require(0 <= self.set_up_time <= most, "the indexer set up longer than the window")


@dataclass(frozen=True, slots=True)
class PageClassesTally:
    """The pages of each class over the window, where the buffer tells classes apart.

    Attributes
    ----------
    refused : tuple of int
        As of `BufferTally`, of each class.
    ended, sojourn, sojourn_square : tuple of tuples
        Likewise, by class and then by fate.
    """

    refused: tuple[int, ...]
    ended: tuple[tuple[int, ...], ...]
    sojourn: tuple[tuple[float, ...], ...]
    sojourn_square: tuple[tuple[float, ...], ...]

    def check(self, buffer: BufferTally) -> None:
        """Raise `ConservationError` unless the pages of all classes are those of the buffer."""
        require(sum(self.refused) == buffer.refused, "pages of no class were refused")
        by_fate = tuple(map(sum, zip(*self.ended, strict=True)))
        require(by_fate == buffer.ended, "pages of no class, or of two, have ended")
        time, of_all = math.fsum(map(math.fsum, self.sojourn)), math.fsum(buffer.sojourn)
        require(abs(time - of_all) <= RELATIVE * of_all, "times of pages of no class, or of two")


class _Arrays:
    """Counts that hold arrays: equal where these are."""

    __slots__ = ()

    def __eq__(self, other: object) -> bool:
        names = [each.name for each in fields(self)]  # type: ignore[arg-type]  # all are dataclasses
        pairs = ((getattr(self, name), getattr(other, name)) for name in names)
        return type(self) is type(other) and all(np.array_equal(*pair) for pair in pairs)


@dataclass(frozen=True, slots=True, eq=False)
class PagesTally(_Arrays):
    """Per page, over the window.

    Attributes
    ----------
    deliveries : ndarray of int, shape (pages,)
        Accesses that ended with a delivery, lost ones included.
    stale_time : ndarray of float, shape (pages,)
        Time during which the copy in the index was out of date.
    refreshes : ndarray of int, shape (pages,)
        How often a change became searchable that had made the searchable copy out of date.
    refresh_time : ndarray of float, shape (pages,)
        How long after these changes that was, summed.
    found : ndarray of int, shape (pages,)
        Deliveries of a page that had changed since the one before; no entries if not asked for.
    bytes : ndarray of float, shape (pages,)
        Fetched by the deliveries; no entries where sizes are unknown.
    """

    deliveries: NDArray[np.integer[Any]]
    stale_time: NDArray[np.floating[Any]]
    refreshes: NDArray[np.integer[Any]]
    refresh_time: NDArray[np.floating[Any]]
    found: NDArray[np.integer[Any]] = field(default_factory=lambda: np.zeros(0, np.int64))
    bytes: NDArray[np.floating[Any]] = field(default_factory=lambda: np.zeros(0))

    def check(self, window: float, horizon: float) -> None:
        """Raise `ConservationError` if a page was stale for less than nothing or too long."""
        longest = window * (1 + RELATIVE) + horizon * ROUNDING
        require(self.stale_time.min() >= 0, "a page was stale for a negative time")
        require(self.stale_time.max() <= longest, "a page was stale for longer than the window")
        require(self.refresh_time.min() >= 0, "a change was searchable before it was made")
        if len(self.found):
            possible = (self.found >= 0) & (self.found <= self.deliveries)
            require(bool(possible.all()), "more accesses found a change than were made")


@dataclass(frozen=True, slots=True, eq=False)
class AgesTally(_Arrays):
    """How old the copies in the index were, over the window; where pages go through a buffer.

    Attributes
    ----------
    age_time : ndarray of float, shape (pages,)
        Time integral of the time since the delivery of the copy in the index.
    """

    age_time: NDArray[np.floating[Any]]

    def check(self, window: float, horizon: float) -> None:
        """Raise `ConservationError` if a copy is from the future, or older than the run."""
        oldest = window * (horizon - window / 2) * (1 + RELATIVE) + horizon**2 * ROUNDING
        require(self.age_time.min() >= 0, "a copy in the index was delivered after its indexing")
        require(self.age_time.max() <= oldest, "a copy in the index was older than the run")


@dataclass(frozen=True, slots=True, eq=False)
class PageSumsTally(_Arrays):
    """What is left of the pages once they are summed up; of few pages only the first four sums.

    Attributes
    ----------
    accesses : int
        Deliveries of all pages.
    weighted_stale_time : float
        Weight × time out of date, summed over the pages.
    found, bytes : int, float
        Deliveries of pages that had changed, and what was fetched; of all pages.
    refreshes, refresh_time : int, float
        Those of all pages.
    group_deliveries, group_stale_time, group_weighted, group_age_time : ndarray, shape (groups,)
        Sums over the pages of each group of `scenarios.page_groups`.
    group_refreshes, group_refresh_time, group_found, group_bytes : ndarray, shape (groups,)
        Likewise.
    unsettled : float
        Weight / (deliveries + expected changes), summed: what the ends of the window may shift.
    group_unsettled, group_weighted_unsettled : ndarray, shape (groups,)
        The same of each group, without weights and with them.
    group_age_unsettled : ndarray, shape (groups,)
        Age / deliveries, summed.
    followed_deliveries, followed_stale_time, followed_age_time : ndarray, shape (followed,)
    followed_refreshes, followed_refresh_time, followed_found, followed_bytes : ndarray
        Those of the pages that are followed by themselves.
    delivery_quantiles, stale_quantiles, age_quantiles : ndarray, shape (shares,)
        Deliveries, and times, that so large a share of the pages does not exceed.

    Ages are there where pages go through a buffer; else their arrays have no entries.
    """

    accesses: int
    weighted_stale_time: float
    refreshes: int
    refresh_time: float
    unsettled: float
    found: int
    bytes: float
    group_deliveries: NDArray[Any]
    group_stale_time: NDArray[Any]
    group_weighted: NDArray[Any]
    group_refreshes: NDArray[Any]
    group_refresh_time: NDArray[Any]
    group_found: NDArray[Any]
    group_bytes: NDArray[Any]
    group_unsettled: NDArray[Any]
    group_weighted_unsettled: NDArray[Any]
    group_age_time: NDArray[Any]
    group_age_unsettled: NDArray[Any]
    followed_deliveries: NDArray[Any]
    followed_stale_time: NDArray[Any]
    followed_refreshes: NDArray[Any]
    followed_refresh_time: NDArray[Any]
    followed_found: NDArray[Any]
    followed_bytes: NDArray[Any]
    followed_age_time: NDArray[Any]
    delivery_quantiles: NDArray[Any]
    stale_quantiles: NDArray[Any]
    age_quantiles: NDArray[Any]


@dataclass(frozen=True, slots=True)
class ClientsTally:
    """Queries in the window, and how many of them met a copy that was out of date."""

    queries: int
    stale: int

    def check(self, window: float, horizon: float) -> None:  # noqa: ARG002  # same call for all parts
        """Raise `ConservationError` if more queries were stale than were asked."""
        require(0 <= self.stale <= self.queries, "more stale answers than queries")


@dataclass(frozen=True, slots=True, eq=False)
class FrontierTally(_Arrays):
    """Pages that fell due and waited for a robot, over the window (warm-up, horizon].

    Attributes
    ----------
    fell_due, started : int
        Pages that fell due, and accesses that began.
    waiting_at_start, waiting_at_end : int
        Due pages at the two ends of the window.
    delay : float
        Times from falling due to the start of the access, summed over those that began.
    caught_up : int
        1: after the last intervention few enough pages waited some time, whatever the window.
    catch_up : float
        How long that took.
    waiting_time, busy_time : float
        Time integrals of the due pages that wait, and of the robots with an access.
    page_started, page_delay : ndarray, shape (pages,)
        The same of each page; no entries where pages are many.
    """

    fell_due: int
    started: int
    waiting_at_start: int
    waiting_at_end: int
    delay: float
    caught_up: int
    catch_up: float
    waiting_time: float
    busy_time: float
    page_started: NDArray[np.integer[Any]]
    page_delay: NDArray[np.floating[Any]]

    def check(self, window: float, robots: int) -> None:
        """Raise `ConservationError` unless pages add up, and robots are not overworked.

        Parameters
        ----------
        window : float
            Length of the window.
        robots : int
            Number available.
        """
        came = self.waiting_at_start + self.fell_due
        went = self.started + self.waiting_at_end
        require(came == went, f"{came} pages fell due, {went} are accounted for")
        most = robots * window * (1 + RELATIVE)
        require(0 <= self.busy_time <= most, "more busy robots than there are")
        require(min(self.delay, self.waiting_time) >= 0, "a page was accessed before it was due")
        if len(self.page_started):
            require(int(self.page_started.sum()) == self.started, "accesses of no page, or of two")


@dataclass(frozen=True, slots=True)
class ServersTally:
    """Per server, over the window (warm-up, horizon].

    Attributes
    ----------
    arrived, lost, served : tuple of int
        Packets sent to the server, packets lost there and services completed. A packet is counted
        as lost when it is lost, whenever it came.
    inside_at_start, inside_at_end : tuple of int
        Packets in service and waiting at the two ends of the window.
    busy_time : tuple of float
        Time with a packet in service.
    spaced : tuple of int
        Packets sent to the server that were not its first, whose distance from the one before is
        known, whenever that came.
    spacing_cost : tuple of float
        What these cost by their distances, without weights; 0 where distances have no cost.
    places : tuple of int
        Packets that may wait at the server.
    """

    arrived: tuple[int, ...]
    lost: tuple[int, ...]
    served: tuple[int, ...]
    inside_at_start: tuple[int, ...]
    inside_at_end: tuple[int, ...]
    busy_time: tuple[float, ...]
    spaced: tuple[int, ...]
    spacing_cost: tuple[float, ...]
    places: tuple[int, ...]

    def check(self, window: float, horizon: float) -> None:
        """Raise `ConservationError` unless packets and time add up at every server.

        Parameters
        ----------
        window : float
            Length of the window.
        horizon : float
            Time of its end, which sets the size of the rounding errors.
        """
        for server, arrived in enumerate(self.arrived):
            came = self.inside_at_start[server] + arrived
            went = self.lost[server] + self.served[server] + self.inside_at_end[server]
            require(came == went, f"server {server}: {came} packets came, {went} accounted for")
            first = arrived - self.spaced[server]
            require(first in {0, 1}, f"server {server}: {first} packets came first")
        require(min(self.spacing_cost) >= 0, "accesses had a negative cost")
        for inside in (*self.inside_at_start, *self.inside_at_end):
            require(inside >= 0, "a server holds less than no packet")
        for server, places in enumerate(self.places):
            inside = max(self.inside_at_start[server], self.inside_at_end[server])
            require(inside <= 1 + places, f"server {server} holds {inside} packets")
        require(min(self.busy_time) >= 0, "a server was busy for a negative time")
        changes = 2 + max(self.served)
        longest = window * (1 + RELATIVE) + changes * horizon * ROUNDING
        require(max(self.busy_time) <= longest, "a server was busy for longer than the window")


@dataclass(frozen=True, slots=True)
class ProbingTally:
    """Counts and costs over one path of [0, horizon].

    Attributes
    ----------
    updates : int
        Updates of the source.
    probes : int
        Probes made.
    seen : int
        Updates seen by a probe, counted probe by probe.
    pending : int
        Updates not yet seen at the end; none, since the last probe is at the horizon.
    cost : float
        Integral of the importance from each update to the probe that sees it, summed.
    fresh_time : float
        Time without an update that no probe has seen.
    largest_wait : float
        The largest such integral that one update can have: that of a whole interval.
    """

    updates: int
    probes: int
    seen: int
    pending: int
    cost: float
    fresh_time: float
    largest_wait: float

    def check(self, window: float, horizon: float) -> None:  # noqa: ARG002  # same call for all parts
        """Raise `ConservationError` unless each update was seen once, at a possible cost.

        The fresh time must not exceed the window, and is all of it without updates.
        """
        require(
            self.updates == self.seen + self.pending,
            f"{self.updates} updates, {self.seen} seen and {self.pending} pending",
        )
        require(self.pending == 0, f"{self.pending} updates were never seen")
        most = self.updates * self.largest_wait * (1 + RELATIVE)
        require(
            0 <= self.cost <= most,
            f"{self.updates} updates cost {self.cost!r}, which must lie in [0, {most!r}]",
        )
        least = 0.0 if self.updates else window * (1 - RELATIVE)
        require(
            least <= self.fresh_time <= window * (1 + RELATIVE),
            f"fresh for {self.fresh_time!r}, which must lie in [{least!r}, {window!r}]",
        )


@dataclass(frozen=True, slots=True)
class PageSetTally:
    """Pages that come and go, over the window (warm-up, horizon].

    Attributes
    ----------
    born, discovered, removed : int
        Pages that were born, that became known, and that left the list of known pages since an
        access found them gone.
    listed_at_start, listed_at_end : int
        Pages on that list at the two ends of the window.
    accesses, wasted : int
        Accesses to a page that ended; of these, those that found it gone.
    existing_time, known_time, indexed_time, fresh_time : float
        Page-time: time that pages existed, summed over them; of this, while they were known, had a
        copy in the index, and had one that was up to date.
    gone_time : float
        Time that pages were on the list although they had vanished, summed over them.
    """

    born: int
    discovered: int
    removed: int
    listed_at_start: int
    listed_at_end: int
    accesses: int
    wasted: int
    existing_time: float
    known_time: float
    indexed_time: float
    fresh_time: float
    gone_time: float

    def check(self, window: float, horizon: float) -> None:
        """Raise `ConservationError` unless pages add up, and no copy is better than its page."""
        came = self.listed_at_start + self.discovered
        went = self.listed_at_end + self.removed
        require(came == went, f"{came} pages came onto the list, {went} are accounted for")
        require(
            0 <= self.removed <= self.wasted <= self.accesses,
            f"{self.removed} pages removed by {self.wasted} of {self.accesses} accesses",
        )
        changes = 2 + self.born + self.accesses + self.listed_at_start
        rounding = changes * horizon * ROUNDING
        times = self.existing_time, self.known_time, self.indexed_time, self.fresh_time
        for more, less in pairwise(times):
            allowed = more * (1 + RELATIVE) + rounding
            require(0 <= less <= allowed, f"{less!r} of {more!r} units of page-time")
        most = (self.listed_at_start + self.discovered) * window * (1 + RELATIVE) + rounding
        require(0 <= self.gone_time <= most, "pages were gone for longer than they were listed")
        require(self.known_time + self.gone_time <= most, "pages were listed for too long")


@dataclass(frozen=True, slots=True, eq=False)
class TimesTally(_Arrays):
    """How often times were seen in the window, by row: a fate of the pages, or a page.

    Attributes
    ----------
    octave : int
        That of the horizon.
    bins : ndarray of int, shape (k,)
        ``row * rules.TIME_BINS + rules.time_bin(time, octave)`` of what was seen, ascending.
    counts : ndarray of int, shape (k,)
        Times in each of these bins.
    """

    octave: int
    bins: NDArray[np.integer[Any]]
    counts: NDArray[np.integer[Any]]

    def of_row(self, row: int) -> tuple[NDArray[np.integer[Any]], NDArray[np.integer[Any]]]:
        """Bins of the times of one row, each listed once, and how many are in them."""
        first, end = self.bins.searchsorted([row * rules.TIME_BINS, (row + 1) * rules.TIME_BINS])
        return self.bins[first:end] - row * rules.TIME_BINS, self.counts[first:end]

    def check(self, ended: Sequence[int] | NDArray[np.integer[Any]], message: str) -> None:
        """Raise `ConservationError` with the message unless each row has so many times."""
        ends = self.bins.searchsorted(np.arange(len(ended) + 1) * rules.TIME_BINS)
        counted = np.diff(np.append(0, self.counts.cumsum())[ends])
        require(np.array_equal(counted, ended), message)


@dataclass(frozen=True, slots=True)
class LawsTally:
    """Counts for the comparison of distributions, over the window (warm-up, horizon].

    Attributes
    ----------
    served, obsolete, cycle : tuple of int
        Times below the first of the points asked for, from there to the second, …, from the last
        on: sojourns of pages that ended in the window, cycles that ended in it. Where they began
        does not matter.
    levels : tuple of int
        Pages delivered in the window that found 0, 1, … pages in the system, those of their own
        batch ahead of them included.
    """

    served: tuple[int, ...]
    obsolete: tuple[int, ...]
    cycle: tuple[int, ...]
    levels: tuple[int, ...]

    def check(self, buffer: BufferTally) -> None:
        """Raise `ConservationError` unless these are the pages that the buffer counted."""
        ended = sum(self.served), sum(self.obsolete)
        expected = buffer.ended[rules.SERVED], buffer.ended[rules.OBSOLETE]
        require(ended == expected, "sojourn times of other pages than those that ended")
        counted = sum(self.levels)
        require(counted == buffer.delivered, "levels found by other pages than those delivered")


@dataclass(frozen=True, slots=True, eq=False)
class CourseTally(_Arrays):
    """The system at the times of observation, and what was counted in the interval up to each.

    Attributes
    ----------
    level, active : ndarray of int, shape (times,)
        Pages in the system and active robots.
    waiting, busy : ndarray of int, shape (times,)
        Due pages that wait, and robots with an access; no entries where pages do not fall due.
    stale_weight : ndarray of float, shape (times,)
        Weights of the pages whose copies are out of date, summed.
    counts : ndarray of int, shape (times, 7)
        In the order of `rules.DELIVERED` and those after it.
    stale : ndarray of bool, shape (times, pages)
        Whether the copy of each page is out of date; no columns where pages are not followed.
    deliveries : ndarray of int, shape (times, pages)
        Counted deliveries of each page in the interval.
    """

    level: NDArray[np.integer[Any]]
    active: NDArray[np.integer[Any]]
    waiting: NDArray[np.integer[Any]]
    busy: NDArray[np.integer[Any]]
    stale_weight: NDArray[np.floating[Any]]
    counts: NDArray[np.integer[Any]]
    stale: NDArray[np.bool_]
    deliveries: NDArray[np.integer[Any]]

    def check(self, robots: int, by_page: bool, comes_back: bool = False) -> None:
        """Raise `ConservationError` unless pages add up over each interval.

        Parameters
        ----------
        robots : int
            Number available.
        by_page : bool
            Whether what a page delivers goes into the buffer, which counts it too.
        comes_back : bool
            Whether pages may be in orbit, of which there are never fewer than none.
        """
        counts = self.counts
        went = counts[:, rules.LOST : rules.QUERIES].sum(axis=1)
        change = np.diff(self.level, prepend=0)
        require(bool(np.all(counts >= 0)), "a count of an interval is negative")
        outside = counts[:, rules.DELIVERED] - went - change
        broken = np.flatnonzero(np.cumsum(outside) < 0 if comes_back else outside)
        require(not broken.size, f"pages do not add up in the intervals {broken[:5].tolist()}")
        for working in (self.active, self.busy):
            require(bool(np.all(working <= robots)), "more active robots than there are")
        answered = counts[:, rules.STALE_ANSWERS] <= counts[:, rules.QUERIES]
        require(bool(np.all(answered)), "more stale answers than queries in an interval")
        if by_page and self.deliveries.shape[1]:
            same = self.deliveries.sum(axis=1) == counts[:, rules.DELIVERED]
            require(bool(np.all(same)), "pages delivered without the buffer in an interval")


@dataclass(frozen=True, slots=True)
class SourcesTally:
    """Counts and costs of several sources over one path of [0, horizon].

    Attributes
    ----------
    updates, probes, seen, pending, cost, fresh_time, largest_wait : tuple, indexed by source
        Those of a `ProbingTally`.
    """

    updates: tuple[int, ...]
    probes: tuple[int, ...]
    seen: tuple[int, ...]
    pending: tuple[int, ...]
    cost: tuple[float, ...]
    fresh_time: tuple[float, ...]
    largest_wait: tuple[float, ...]

    @classmethod
    def of(cls, each: Sequence[ProbingTally]) -> SourcesTally:
        """What was counted of each source, put together."""
        names = [field.name for field in fields(ProbingTally)]
        return cls(*(tuple(getattr(one, name) for one in each) for name in names))

    def check(self, window: float, horizon: float) -> None:
        """Raise `ConservationError` unless each update was seen once, at a possible cost."""
        columns = [getattr(self, field.name) for field in fields(self)]
        for values in zip(*columns, strict=True):
            ProbingTally(*values).check(window, horizon)


@dataclass(frozen=True, slots=True)
class Tally:
    """Everything that one replication counted over the window (warm-up, horizon].

    Attributes
    ----------
    window : float
        Length of the window.
    robots_time : float
        Time integral of the number of active robots.
    class_time : tuple of float or None
        That of each class, where robots of classes are switched one at a time.
    switched_on : int or None
        Robots switched on, where that is counted.
    unchanged : int or None
        Accesses of active robots that found their page unchanged and delivered nothing, likewise.
    buffer, batches, orbit, rests, page_classes, pages, ages, frontier, clients, servers, probing
    sources, page_set
        The parts that the scenario has, else None.
    sojourns : TimesTally or None
        By fate, where there is a buffer.
    delays : TimesTally or None
        From falling due to the start of the access, where their quantiles are asked for: by page,
        or all in one row where pages are many.
    refresh_times : TimesTally or None
        From a change until it can be searched, where their quantiles are asked for; likewise.
    laws : LawsTally or None
        Where distributions are to be compared.
    course : CourseTally or None
        Where it is observed: from time 0 on, whatever the window.
    page_sums : PageSumsTally or None
        Of pages that were summed up (`sim.page_sums`); of many pages in place of `pages` and
        `ages`.
    """

    window: float
    robots_time: float = 0.0
    class_time: tuple[float, ...] | None = None
    switched_on: int | None = None
    unchanged: int | None = None
    buffer: BufferTally | None = None
    batches: BatchesTally | None = None
    orbit: OrbitTally | None = None
    rests: RestsTally | None = None
    page_classes: PageClassesTally | None = None
    pages: PagesTally | None = None
    ages: AgesTally | None = None
    frontier: FrontierTally | None = None
    clients: ClientsTally | None = None
    servers: ServersTally | None = None
    probing: ProbingTally | None = None
    sources: SourcesTally | None = None
    page_set: PageSetTally | None = None
    sojourns: TimesTally | None = None
    delays: TimesTally | None = None
    refresh_times: TimesTally | None = None
    laws: LawsTally | None = None
    course: CourseTally | None = None
    page_sums: PageSumsTally | None = None

    def check(self, horizon: float, robots: int) -> None:
        """Raise `ConservationError` unless all parts add up; `robots` is the number available."""
        self._check_buffer(horizon)
        whole = self.orbit, self.rests, self.pages, self.ages, self.clients, self.servers
        for part in (*whole, self.probing, self.sources, self.page_set):
            if part is not None:
                part.check(self.window, horizon)
        if self.frontier is not None:
            self.frontier.check(self.window, robots)
        most = robots * self.window * (1 + RELATIVE)
        require(0 <= self.robots_time <= most, "more active robots than there are")
        if self.class_time is not None:
            amiss = abs(math.fsum(self.class_time) - self.robots_time)
            require(min(self.class_time) >= 0, "a class was active for a negative time")
            require(amiss <= RELATIVE * most, "active robots of no class, or of two")
        if self.buffer is not None and self.pages is not None:
            delivered = int(self.pages.deliveries.sum())
            require(delivered == self.buffer.delivered, "pages delivered without the buffer")
        if self.buffer is not None and self.batches is not None:
            self.batches.check(self.buffer.ended[rules.SERVED], self.buffer.time_in_system)
        if self.buffer is not None and self.page_classes is not None:
            self.page_classes.check(self.buffer)
        self._check_times()
        if self.buffer is not None and self.laws is not None:
            self.laws.check(self.buffer)
        if self.course is not None:
            by_page = self.buffer is not None and self.pages is not None
            self.course.check(robots, by_page, self.orbit is not None)

    def _check_buffer(self, horizon: float) -> None:
        if self.buffer is not None:
            from_orbit = self.orbit.left - self.orbit.joined if self.orbit else 0
            self.buffer.check(self.window, horizon, from_orbit)

    def _check_times(self) -> None:
        """Raise `ConservationError` unless times were counted of what was counted itself."""
        if self.buffer is not None and self.sojourns is not None:
            message = "sojourn times of other pages than those that ended"
            self.sojourns.check(self.buffer.ended, message)
        if self.frontier is not None and self.delays is not None:
            started = self.frontier.page_started
            each = started if len(started) else [self.frontier.started]
            self.delays.check(each, "delays of other accesses than those that began")
        if self.pages is not None and self.refresh_times is not None:
            same = self.refresh_times.counts.sum() == self.pages.refreshes.sum()
            require(bool(same), "times of other changes than those that became searchable")
