"""Compiled: many probes moved at once, each by its own small step, by dynamic programming.

In a tight chain no probe can move alone, and which of its parts should move together is not known
beforehand. What is left of the times when every minimum spacing is taken out, ``s_i = p_i - i
delta``, needs to be monotone only. So each s_i may stay, go to one of the near points of a lattice
that all share, or let its probe stand on a near edge; the best combination of all is a shortest
path. Since all share the lattice, probes that should keep together find the same point.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from analytic.compiling import compiled
from analytic.probing.descent import Cells, interval

Array = Any

_NEAR = 2
_PLACES = 2 * _NEAR + 4
"""The present one, lattice points on both sides, an edge on both sides."""


@compiled
def _places(cells: Cells, rests: Array, spacing: float, width: float) -> Array:
    """Where each probe may go, rising; row i for probe i."""
    last = len(rests) - 1
    room = cells.edges[-1] - last * spacing
    places = np.empty((last + 1, _PLACES))
    for i in range(last + 1):
        now = rests[i]
        places[i] = now
        if 0 < i < last:
            base = np.floor(now / width)
            for k in range(2 * _NEAR):
                places[i, k + 1] = min(max((base + k + 1 - _NEAR) * width, 0.0), room)
            after: Any = np.searchsorted(cells.edges, now + i * spacing, "right")
            for k in range(2):
                edge = cells.edges[min(max(after - 1 + k, 0), len(cells.edges) - 1)]
                rest = edge - i * spacing
                if abs(rest - now) <= _NEAR * width and 0 <= rest <= room:
                    places[i, 2 * _NEAR + 1 + k] = rest
            places[i] = np.sort(places[i])
    return places


@compiled
def lattice_moves(cells: Cells, times: Array, spacing: float, width: float, least: float) -> float:
    """Move all probes at once to the best near places; what it saves, 0 if less than `least`.

    `times` are p_0, …, p_n; probes at different times stay so.
    """
    last = len(times) - 1
    rests = times - np.arange(last + 1) * spacing
    for i in range(1, last):
        rests[i] = max(rests[i], rests[i - 1])
    places = _places(cells, rests, spacing, width)
    hair = 0.0 if spacing > 0 else 16 * np.finfo(np.float64).eps * times[-1]
    best = np.full((last + 1, _PLACES), np.inf)
    before = np.zeros((last + 1, _PLACES), np.int64)
    best[0] = 0.0
    present = 0.0
    for i in range(1, last + 1):
        present += interval(cells, times[i - 1], times[i])[2]
        for k in range(_PLACES):
            for j in range(_PLACES):
                gap = places[i, k] - places[i - 1, j]
                if gap < hair or best[i - 1, j] == np.inf:
                    continue
                start = places[i - 1, j] + (i - 1) * spacing
                cost = best[i - 1, j] + interval(cells, start, places[i, k] + i * spacing)[2]
                if cost < best[i, k]:
                    best[i, k] = cost
                    before[i, k] = j
    k = int(np.argmin(best[last]))
    saved: float = present - best[last, k]
    if not saved > least:
        return 0.0
    for i in range(last, 0, -1):
        if i < last:
            times[i] = places[i, k] + i * spacing
        k = before[i, k]
    return saved
