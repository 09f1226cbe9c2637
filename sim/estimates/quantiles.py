"""Quantiles of sojourn times: order statistics of the pages of all replications together.

The interval is the one of Woodruff (1952): that of the share of pages below the quantile, carried
over to times. It needs no density, and is as lopsided as the distribution.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from scenarios import Scenario
from scenarios.arrays import Array
from scenarios.results import Columns
from sim import rules
from sim.estimates.jackknife import jackknife_error, t_quantile
from sim.sojourn_times import bin_edges
from sim.tally import Tally

_FATES = {
    "served": (rules.SERVED,),
    "obsolete": (rules.OBSOLETE,),
    "accepted": (rules.SERVED, rules.OBSOLETE, rules.PUSHED_OUT, rules.REPLACED),
    "all": (rules.SERVED, rules.OBSOLETE, rules.PUSHED_OUT, rules.REPLACED),
}


class Times(NamedTuple):
    """How many pages of a class were in the system for how long.

    Attributes
    ----------
    low, high : ndarray, shape (k,)
        Edges of the bins, ascending.
    counts : ndarray, shape (k,)
        Pages in each bin.
    refused : int
        Pages with time 0.
    """

    low: Array
    high: Array
    counts: Array
    refused: float

    @property
    def pages(self) -> float:
        """Number of pages."""
        return self.refused + float(self.counts.sum())

    def quantile(self, share: float) -> float:
        """The least time that so large a share of the pages do not exceed; nan without pages.

        Within a bin the times are taken to be spread evenly.
        """
        if not self.pages or share > 1:
            return math.nan
        wanted = share * self.pages - self.refused
        if wanted <= 0:
            return 0.0
        sums = np.cumsum(self.counts)
        which = min(int(np.searchsorted(sums, wanted)), len(sums) - 1)
        part = (wanted - (sums[which] - self.counts[which])) / self.counts[which]
        return float(self.low[which] + min(part, 1.0) * (self.high[which] - self.low[which]))

    def below(self, time: float) -> float:
        """Pages whose time is at most that, with the same spread within a bin."""
        parts = np.clip((time - self.low) / (self.high - self.low), 0.0, 1.0)
        return self.refused + float(self.counts @ parts)


def served_quantile(tallies: Sequence[Tally], share: float) -> float:
    """Quantile of the time from delivery to the end of indexing, over all replications."""
    return _pooled([_times_of(tally, "served") for tally in tallies]).quantile(share)


def quantile_columns(
    tallies: Sequence[Tally], scenario: Scenario
) -> tuple[Columns, Columns, Columns] | None:
    """The measure sojourn_quantile at the shares that the scenario asks for; None if at none.

    Parameters
    ----------
    tallies : sequence of Tally
    scenario : Scenario

    Returns
    -------
    estimates, replications, leave_one_out : Columns
        Classes without pages are left out.
    """
    shares = scenario.buffer.sojourn_quantiles if scenario.buffer else ()
    rows = [
        (f"{name} {share!r}", *_row([_times_of(tally, name) for tally in tallies], share))
        for name in (_classes(tallies) if shares else ())
        for share in shares
    ]
    if not rows:
        return None
    subjects, *values = zip(*rows, strict=True)
    estimates, replications, left_out = (
        Columns("sojourn_quantile", subjects, np.array(each).T) for each in values
    )
    return estimates, replications, left_out


def _classes(tallies: Sequence[Tally]) -> Iterator[str]:
    ended = np.sum([tally.buffer.ended for tally in tallies if tally.buffer], axis=0)
    refused = sum(tally.buffer.refused for tally in tallies if tally.buffer)
    for name, fates in _FATES.items():
        if ended[list(fates)].sum() + (refused if name == "all" else 0) > 0:
            yield name


def _times_of(tally: Tally, name: str) -> Times:
    """Those of one class in one replication."""
    assert tally.sojourns is not None
    assert tally.buffer is not None
    fates, bins = np.divmod(tally.sojourns.bins, rules.TIME_BINS)
    chosen = np.isin(fates, _FATES[name])
    seen, where = np.unique(bins[chosen], return_inverse=True)
    counts = np.bincount(where, tally.sojourns.counts[chosen], len(seen)).astype(float)
    refused = tally.buffer.refused if name == "all" else 0
    return Times(*bin_edges(seen, tally.sojourns.octave), counts, refused)


def _pooled(times: Sequence[Times]) -> Times:
    """Those of all replications together."""
    low, where = np.unique(np.concatenate([each.low for each in times]), return_inverse=True)
    high = np.empty(len(low))
    high[where] = np.concatenate([each.high for each in times])
    counts = np.bincount(where, np.concatenate([each.counts for each in times]), len(low)).astype(
        float
    )
    return Times(low, high, counts, sum(each.refused for each in times))


def _row(times: Sequence[Times], share: float) -> tuple[list[float], list[float], list[float]]:
    """The six values of an estimate, the quantile of each replication, and those without one.

    The share of pages below the quantile is a ratio of sums over replications, its error the
    jackknife's, but not below that of independent pages: replications that happen to be alike
    prove nothing.
    """
    pooled = _pooled(times)
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
    slope = (high - low) / (2 * width * error)
    values = [estimate, slope * error, low, high, 2.0 * estimate / rules.BINS_OF_OCTAVE, 0.0]
    left_out = estimate - slope * (shares - shares.mean())
    return values, [each.quantile(share) for each in times], left_out.tolist()
