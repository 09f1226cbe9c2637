"""Sojourn times counted in narrow bins: the same in both engines, and small however many there are.

A bin is a thousandth of an octave wide, so that a quantile is known to a thousandth of itself. Of a
run that indexes a hundred million pages the times themselves would fill a gigabyte.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from scenarios.arrays import Array
from sim import rules
from sim.tally import SojournsTally


def sojourns_tally(
    counts: NDArray[np.integer[Any]], ended: Sequence[int], octave: int
) -> SojournsTally:
    """The tally, from the counts of all bins.

    Parameters
    ----------
    counts : ndarray of int, shape (4, bins)
        By fate.
    ended : sequence of int
        Pages of each fate: most runs have one or two.
    octave : int
        That of the horizon.
    """
    seen = [(fate, np.flatnonzero(counts[fate])) for fate in range(4) if ended[fate]]
    none = np.zeros(0, dtype=np.int64)
    return SojournsTally(
        octave,
        np.concatenate([none, *(fate * rules.TIME_BINS + bins for fate, bins in seen)]),
        np.concatenate([none, *(counts[fate, bins] for fate, bins in seen)]),
    )


def bin_edges(bins: NDArray[np.integer[Any]], octave: int) -> tuple[Array, Array]:
    """Lower and upper edges of bins of `sim.rules.time_bin`.

    Parameters
    ----------
    bins : ndarray of int, shape (k,)
    octave : int
        That of the horizon.
    """
    octaves, parts = np.divmod(bins, rules.BINS_OF_OCTAVE)
    exponents = octaves - rules.OCTAVES + octave
    step = 0.5 / rules.BINS_OF_OCTAVE
    low = np.ldexp(0.5 + step * parts, exponents)
    high = np.ldexp(0.5 + step * (parts + 1), exponents)
    return np.where(bins > 0, low, 0.0), high
