"""Times counted in narrow bins: the same in both engines, and small however many there are.

A bin is a thousandth of an octave wide, so that a quantile is known to a thousandth of itself. Of a
run that indexes a hundred million pages the times themselves would fill a gigabyte.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sim import rules
from sim.tally import TimesTally

_NONE = np.zeros(0, dtype=np.int64)


class TimeCounter:
    """Times by row, put into their bins many at once; of the bins only those with times are kept.

    Parameters
    ----------
    octave : int
        That of the horizon.
    """

    _AT_ONCE = 2**14

    def __init__(self, octave: int) -> None:
        self._octave = octave
        self._rows: list[int] = []
        self._times: list[float] = []
        self._seen = [_NONE, _NONE]
        self._later: list[tuple[NDArray[Any], NDArray[Any]]] = []

    def add(self, row: int, time: float) -> None:
        """A time was seen."""
        self._rows.append(row)
        self._times.append(time)
        if len(self._times) >= self._AT_ONCE:
            self._count()

    def add_all(self, rows: NDArray[np.integer[Any]], times: NDArray[np.floating[Any]]) -> None:
        """Many were."""
        bins = rows * rules.TIME_BINS + rules.time_bins(times, self._octave)
        self._later.append(np.unique(bins, return_counts=True))
        if sum(len(bins) for bins, _ in self._later) > len(self._seen[0]):
            self._settle()

    def tally(self) -> TimesTally:
        """What was counted."""
        self._count()
        self._settle()
        return TimesTally(self._octave, *self._seen)

    def _count(self) -> None:
        self.add_all(np.array(self._rows, dtype=np.int64), np.array(self._times))
        self._rows.clear()
        self._times.clear()

    def _settle(self) -> None:
        """Join what came later with what was there: seldom, since that takes as long as both."""
        self._seen = summed([(self._seen[0], self._seen[1]), *self._later])
        self._later.clear()


def summed(parts: Iterable[tuple[NDArray[Any], NDArray[Any]]]) -> list[NDArray[Any]]:
    """Bins that are listed in some of the parts, ascending, and what is in them all together.

    Parameters
    ----------
    parts : iterable of (bins, counts)
    """
    bins, counts = map(np.concatenate, zip(*parts, strict=True))
    listed, which = np.unique(bins, return_inverse=True)
    return [listed, np.bincount(which, counts, len(listed)).astype(np.int64)]


def sojourns_tally(
    counts: NDArray[np.integer[Any]], ended: Sequence[int], octave: int
) -> TimesTally:
    """The tally of sojourn times, from the counts of all bins.

    Parameters
    ----------
    counts : ndarray of int, shape (fates, bins)
        By fate, of those that occur.
    ended : sequence of int
        Pages of each fate: most runs have one or two.
    octave : int
        That of the horizon.
    """
    seen = [(fate, _occupied(counts[fate])) for fate in range(len(counts)) if ended[fate]]
    return TimesTally(
        octave,
        np.concatenate([_NONE, *(fate * rules.TIME_BINS + bins for fate, bins in seen)]),
        np.concatenate([_NONE, *(counts[fate, bins] for fate, bins in seen)]),
    )


def _occupied(counts: NDArray[np.integer[Any]]) -> NDArray[np.integer[Any]]:
    """The bins with pages; looking for the first is quicker than listing an empty half."""
    with_pages = counts > 0
    first = int(with_pages.argmax())
    return first + with_pages[first:].nonzero()[0]


def bin_edges(number: int, octave: int) -> tuple[float, float]:
    """Lower and upper edge of a bin of `sim.rules.time_bin`.

    Parameters
    ----------
    number : int
    octave : int
        That of the horizon.
    """
    low, high = (
        math.ldexp(0.5 + 0.5 * part / rules.BINS_OF_OCTAVE, octaves - rules.OCTAVES + octave)
        for octaves, part in (divmod(each, rules.BINS_OF_OCTAVE) for each in (number, number + 1))
    )
    return (low if number else 0.0), high
