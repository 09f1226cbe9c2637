"""Quantiles of times: order statistics of the pages, or accesses, of all replications together.

The interval is the one of Woodruff (1952): that of the share of pages below the quantile, carried
over to times. It needs no density, and is as lopsided as the distribution.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from scenarios import Scenario
from scenarios.model import present
from scenarios.page_groups import only_sums
from scenarios.results import Columns
from sim import rules
from sim.estimates.jackknife import jackknife_error, t_quantile
from sim.sojourn_times import bin_edges, summed
from sim.tally import Tally, TimesTally

_FATES = {
    "served": (rules.SERVED,),
    "obsolete": (rules.OBSOLETE,),
    "accepted": (rules.SERVED, rules.OBSOLETE, rules.PUSHED_OUT, rules.REPLACED),
    "all": (rules.SERVED, rules.OBSOLETE, rules.PUSHED_OUT, rules.REPLACED),
}


Bins = tuple[NDArray[np.integer[Any]], NDArray[np.integer[Any]]]
"""Bins of times, ascending, and how many are in each."""


class Times(NamedTuple):
    """How many pages of a class were in the system for how long.

    Attributes
    ----------
    octave : int
        That of the horizon.
    first : int
        The first bin that is listed.
    sums : ndarray of int, shape (k,)
        Pages in the bins from there to each one.
    refused : int
        Those with time 0.
    """

    octave: int
    first: int
    sums: NDArray[np.integer[Any]]
    refused: int

    @property
    def pages(self) -> int:
        """Number of pages."""
        return self.refused + (int(self.sums[-1]) if len(self.sums) else 0)

    def quantile(self, share: float) -> float:
        """The least time that so large a share of the pages do not exceed; nan without pages.

        Within a bin the times are taken to be spread evenly.
        """
        if not self.pages or share > 1:
            return math.nan
        wanted = share * self.pages - self.refused
        if wanted <= 0 or not len(self.sums):
            return 0.0
        which = min(int(np.searchsorted(self.sums, wanted)), len(self.sums) - 1)
        before = self._before(which)
        part = (wanted - before) / (self.sums[which] - before)
        low, high = bin_edges(self.first + which, self.octave)
        return low + min(float(part), 1.0) * (high - low)

    def below(self, time: float) -> float:
        """Pages whose time is at most that, with the same spread within a bin."""
        number = rules.time_bin(time, self.octave)
        which = number - self.first
        if which < 0:
            return self.refused
        if which >= len(self.sums):
            return self.pages
        low, high = bin_edges(number, self.octave)
        before = self._before(which)
        return (
            self.refused + before + float(self.sums[which] - before) * (time - low) / (high - low)
        )

    def _before(self, which: int) -> int:
        return int(self.sums[which - 1]) if which else 0


def served_quantiles(tallies: Sequence[Tally], shares: Sequence[float]) -> dict[float, float]:
    """Quantiles of the time from delivery to the end of indexing, over all replications."""
    served = _times_of(tallies, "served")
    return {share: served.quantile(share) for share in shares}


def quantile_columns(
    tallies: Sequence[Tally], scenario: Scenario
) -> Iterator[tuple[Columns, Columns, Columns]]:
    """The measures of quantiles at the shares that the scenario asks for.

    Parameters
    ----------
    tallies : sequence of Tally
    scenario : Scenario

    Yields
    ------
    estimates, replications, leave_one_out : Columns
        Classes without pages are left out, and pages without an access.
    """
    queue, frontier, section = scenario.model.queue, scenario.model.frontier, scenario.model.pages
    if queue is not None and queue.sojourn_quantiles:
        sources = [(f"{name} ", partial(_times_of, name=name)) for name in _classes(tallies)]
        yield from _columns("sojourn_quantile", tallies, sources, queue.sojourn_quantiles)
    if frontier is not None and frontier.policy.delay_quantiles:
        pages = len(present(tallies[0].frontier).page_started)
        shares = frontier.policy.delay_quantiles
        yield from _columns("frontier_delay_quantile", tallies, _by_page("delays", pages), shares)
    if section is not None and section.refresh_quantiles:
        of_pages = _by_page("refresh_times", 0 if only_sums(scenario) else section.count)
        shares = section.refresh_quantiles
        yield from _columns("time_to_refresh_quantile", tallies, of_pages, shares)


def _by_page(part: str, pages: int) -> list[tuple[str, Callable[[Sequence[Tally]], Times]]]:
    """The times of all pages, and of each where they have rows."""
    each = [(f"{page} ", partial(_of_page, part=part, page=page)) for page in range(pages)]
    return [("", partial(_of_page, part=part, page=None)), *each]


def _columns(
    measure: str,
    tallies: Sequence[Tally],
    sources: Iterable[tuple[str, Callable[[Sequence[Tally]], Times]]],
    shares: Sequence[float],
) -> Iterator[tuple[Columns, Columns, Columns]]:
    """Those of one measure, from the times that each subject has in some replications."""
    rows = [
        (f"{name}{share!r}", *_row(together, each, share))
        for name, times in sources
        for together, each in [(times(tallies), [times([tally]) for tally in tallies])]
        if together.pages
        for share in shares
    ]
    if rows:
        subjects, *values = zip(*rows, strict=True)
        estimates, replications, left_out = (
            Columns(measure, subjects, np.array(each).T) for each in values
        )
        yield estimates, replications, left_out


def _classes(tallies: Sequence[Tally]) -> Iterator[str]:
    ended = np.sum([tally.buffer.ended for tally in tallies if tally.buffer], axis=0)
    refused = sum(tally.buffer.refused for tally in tallies if tally.buffer)
    for name, fates in _FATES.items():
        if ended[list(fates)].sum() + (refused if name == "all" else 0) > 0:
            yield name


def _times_of(tallies: Sequence[Tally], name: str) -> Times:
    """Those of one class in some replications together."""
    parts = []
    refused = 0
    for tally in tallies:
        assert tally.sojourns is not None
        assert tally.buffer is not None
        parts += [tally.sojourns.of_row(fate) for fate in _FATES[name]]
        refused += tally.buffer.refused if name == "all" else 0
        octave = tally.sojourns.octave
    return _in_all(octave, parts, refused)


def _of_page(tallies: Sequence[Tally], part: str, page: int | None) -> Times:
    """Those of one page, or of all, in some replications together.

    What is in the first bin is a rounding error of a time of 0.
    """
    parts = []
    at_once = 0
    for tally in tallies:
        times: TimesTally = getattr(tally, part)
        if page is None:
            bins, counts = summed([(times.bins % rules.TIME_BINS, times.counts)])
        else:
            bins, counts = times.of_row(page)
        zeros = int(len(bins) > 0 and bins[0] == 0)
        at_once += int(counts[:zeros].sum())
        parts.append((bins[zeros:], counts[zeros:]))
        octave = times.octave
    return _in_all(octave, parts, at_once)


def _in_all(octave: int, parts: Iterable[Bins], refused: int) -> Times:
    """The times of several tallies together, bins that are listed once in each."""
    parts = [part for part in parts if len(part[0])]
    first = min((int(bins[0]) for bins, _ in parts), default=0)
    end = max((int(bins[-1]) + 1 for bins, _ in parts), default=0)
    counts = np.zeros(end - first, dtype=np.int64)
    for bins, pages in parts:
        counts[bins - first] += pages
    return Times(octave, first, np.cumsum(counts), refused)


def _row(
    pooled: Times, times: Sequence[Times], share: float
) -> tuple[list[float], list[float], list[float]]:
    """The six values of an estimate, the quantile of each replication, and those without one.

    The share of pages below the quantile is a ratio of sums over replications, its error the
    jackknife's, but not below that of independent pages: replications that happen to be alike
    prove nothing.
    """
    estimate = pooled.quantile(share)
    pages = np.array([each.pages for each in times])
    below = np.array([each.below(estimate) for each in times])
    with np.errstate(invalid="ignore", divide="ignore"):
        shares = (below.sum() - below) / (pages.sum() - pages)
    independent = math.sqrt(share * (1 - share) / pooled.pages)
    error = max(float(jackknife_error(shares)), independent)
    width = t_quantile(len(times) - 1)
    low = pooled.quantile(max(share - width * error, 0.0))
    high = pooled.quantile(share + width * error)
    # Where low is 0 the distribution may begin with a step, below which nothing varies.
    span = (high - low) / 2 if low > 0 else high - estimate
    slope = span / (width * error)
    values = [estimate, slope * error, low, high, 2.0 * estimate / rules.BINS_OF_OCTAVE, 0.0]
    left_out = estimate - slope * (shares - shares.mean())
    return values, [each.quantile(share) for each in times], left_out.tolist()
