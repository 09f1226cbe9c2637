"""Sojourn times counted in narrow bins: the same in both engines, and small however many there are.

A bin is a thousandth of an octave wide, so that a quantile is known to a thousandth of itself. Of a
run that indexes a hundred million pages the times themselves would fill a gigabyte.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sim import rules
from sim.tally import SojournsTally

_FATES = 4


class SojournCounter:
    """Sojourn times by fate, put into their bins many at once.

    Parameters
    ----------
    octave : int
        That of the horizon.
    """

    _AT_ONCE = 2**14

    def __init__(self, octave: int) -> None:
        self._octave = octave
        self._times: list[list[float]] = [[] for _ in range(_FATES)]
        self._counts = np.zeros((_FATES, rules.TIME_BINS), dtype=np.int64)

    def add(self, fate: int, time: float) -> None:
        """A page ended."""
        times = self._times[fate]
        times.append(time)
        if len(times) >= self._AT_ONCE:
            self._count(fate)

    def tally(self, ended: Sequence[int]) -> SojournsTally:
        """What was counted; `ended` as in `sojourns_tally`."""
        for fate in range(_FATES):
            self._count(fate)
        return sojourns_tally(self._counts, ended, self._octave)

    def _count(self, fate: int) -> None:
        bins = rules.time_bins(np.array(self._times[fate]), self._octave)
        self._counts[fate] += np.bincount(bins, minlength=rules.TIME_BINS)
        self._times[fate].clear()


def sojourns_tally(
    counts: NDArray[np.integer[Any]], ended: Sequence[int], octave: int
) -> SojournsTally:
    """The tally, from the counts of all bins.

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
    none = np.zeros(0, dtype=np.int64)
    return SojournsTally(
        octave,
        np.concatenate([none, *(fate * rules.TIME_BINS + bins for fate, bins in seen)]),
        np.concatenate([none, *(counts[fate, bins] for fate, bins in seen)]),
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
