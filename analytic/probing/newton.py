"""Groups of probes that keep together, and Newton's step for all that are inside of a cell."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from scenarios.arrays import Array

if TYPE_CHECKING:
    from analytic.probing.descent import Cells


_TIGHT = 1e-7
"""Relative excess over the spacing below which two probes keep together; a smaller one would let
them jam."""
_ROUNDING = 1e-10
"""Relative errors of a spacing, and of a pivot."""
_HALVINGS = 12


def _tight(times: Array, spacing: float) -> NDArray[np.bool_]:
    """Which probes come just the spacing after the one before; entry 0 is the first."""
    limit = spacing * (1 + _TIGHT) + 4 * np.finfo(float).eps * times[-1]
    tight: NDArray[np.bool_] = np.diff(times) <= limit
    return tight


def groups(times: Array, spacing: float) -> Iterator[tuple[int, int]]:
    """First and last probe of every group that keeps together; 0 is the start, n the horizon."""
    tight = _tight(times, spacing)
    first = 0
    for i in range(1, len(times) + 1):
        if i == len(times) or not tight[i - 1]:
            yield first, i - 1
            first = i


def snap(edges: Array, times: Array) -> None:
    """Put probes that are a rounding error from an edge on it."""
    places = np.clip(np.searchsorted(edges, times), 1, len(edges) - 1)
    for near in (edges[places - 1], edges[places]):
        close = np.abs(times - near) <= 16 * np.finfo(float).eps * edges[-1]
        snapped = np.where(close, near, times)
        apart = np.diff(snapped) > 0
        alone = np.append(True, apart) & np.append(apart, True)
        times[close & alone] = near[close & alone]


def newton(cells: Cells, times: Array, spacing: float, tiny: float) -> float:
    """Newton's step, cut where a probe leaves its cell and halved until it helps; what it saves."""
    from analytic.probing.descent import total

    step = _newton_step(cells, times, spacing)
    present = total(cells, times)
    gaps = np.minimum(np.diff(times), spacing * (1 - _ROUNDING))
    for _ in range(_HALVINGS if step.any() else 0):
        trial = times + step
        snap(cells.edges, trial)
        close = ((np.diff(trial) <= 0) | (np.diff(trial) < gaps)).any()
        if not close and (saved := present - total(cells, trial)) > -tiny:
            times[:] = trial
            return max(float(saved), 0.0)
        step /= 2
    return 0.0


def _newton_step(cells: Cells, times: Array, spacing: float) -> Array:
    """Shifts of all probes p_0, …, p_n: those of one group alike, 0 for fixed ones."""
    from analytic.probing.descent import derivatives

    edges = cells.edges
    last = len(times) - 1
    _, slopes, own, cross = derivatives(cells, times)
    on_edge = edges[np.searchsorted(edges, times)] == times
    step = np.zeros(len(times))
    system = []
    for first, end in groups(times, spacing):
        fixed = first == 0 or end == last or on_edge[first : end + 1].any()
        members = slice(first - 1, end)
        inner = 2 * float(cross[first - 1 : end - 1].sum()) if not fixed else 0.0
        curve = 0.0 if fixed else float(own[members].sum()) + inner
        slope = 0.0 if fixed else float(slopes[members].sum())
        system.append((first, end, curve, slope))
    shifts = _tridiagonal(system, cross)
    for (first, end, _, _), shift in zip(system, shifts, strict=True):
        step[first : end + 1] = _inside(edges, times[first : end + 1], shift)
    return step


def _tridiagonal(system: list[tuple[int, int, float, float]], cross: Array) -> list[float]:
    """``-H^-1 g`` over the groups that are free and where H is positive definite so far, else 0."""
    pivots: list[float] = []
    sides: list[float] = []
    for first, _, curve, slope in system:
        pivot = curve
        side = -slope
        if pivots and pivots[-1] > 0 and curve > 0:
            factor = cross[first - 2] / pivots[-1]
            pivot -= factor * cross[first - 2]
            side -= factor * sides[-1]
        pivots.append(pivot if pivot > _ROUNDING * curve else 0.0)
        sides.append(side)
    shifts = [0.0] * len(system)
    for k in range(len(system) - 1, -1, -1):
        if pivots[k] > 0:
            end = system[k][1]
            following = cross[end - 1] * shifts[k + 1] if k + 1 < len(system) else 0.0
            shifts[k] = float((sides[k] - following) / pivots[k])
    return shifts


def _inside(edges: Array, members: Array, shift: float) -> float:
    """The shift, cut where a probe comes to the edge of its cell."""
    right = np.minimum(np.searchsorted(edges, members, "right"), len(edges) - 1)
    least = float((edges[right - 1] - members).max())
    return min(max(shift, least), float((edges[right] - members).min()))
